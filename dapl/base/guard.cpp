// SPDX-License-Identifier: BSD-2-Clause
#include "dapl/base/guard.hpp"

#include <atomic>
#include <cerrno>

#include "support/base/limits.hpp"

namespace dapl {

DAT_RETURN out_of_memory() noexcept {
    static std::atomic<bool> told{false};
    support::report_once(told, [] { support::report_limit(ENOMEM, "the objects of a DAT call"); });
    return kOutOfMemory;
}

}  // namespace dapl
