// SPDX-License-Identifier: BSD-2-Clause
#include "dapl/base/counters.hpp"

namespace dapl {

std::uint64_t EvdCounters::value(int which) const {
    const std::uint64_t found = total(kFoundOnDevice);
    const std::uint64_t empty = total(kDeviceEmpty);
    switch (which) {
        case DCNT_EVD_DEQUEUE:
            return value(DCNT_EVD_DEQUEUE_FOUND) + value(DCNT_EVD_DEQUEUE_NOT_FOUND);
        case DCNT_EVD_DEQUEUE_FOUND:
        case DCNT_EVD_DEQUEUE_POLL_FOUND:
            return total(which) + found;
        case DCNT_EVD_DEQUEUE_NOT_FOUND:
            return total(which) + empty;
        case DCNT_EVD_DEQUEUE_POLL:
            return total(which) + found + empty;
        default:
            return total(which);
    }
}

}  // namespace dapl
