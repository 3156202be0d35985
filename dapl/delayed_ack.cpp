// SPDX-License-Identifier: BSD-2-Clause
#include "dapl/delayed_ack.hpp"

namespace dapl {

bool has_delayed_ack(const Ia&) {
    return false;
}

}  // namespace dapl
