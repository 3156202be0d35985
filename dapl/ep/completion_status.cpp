// SPDX-License-Identifier: BSD-2-Clause
#include "dapl/ep/completion_status.hpp"

#include <iterator>

namespace dapl {
namespace {

#define COMPLETION_STATUS(status, number, ...) static_assert((status) == (number));
#include "support/base/completion_statuses.def"
#undef COMPLETION_STATUS

/// Indexed by ibv_wc_status.
constexpr CompletionStatus kStatuses[] = {
#define COMPLETION_STATUS(status, number, dat, text, causes, next_step) {dat, text, next_step},
#include "support/base/completion_statuses.def"
#undef COMPLETION_STATUS
};
static_assert(std::size(kStatuses) == IBV_WC_TM_RNDV_INCOMPLETE + 1);

}  // namespace

const CompletionStatus& completion_status(ibv_wc_status status) {
    const auto number = static_cast<unsigned>(status);
    return kStatuses[number < std::size(kStatuses) ? number : unsigned{IBV_WC_GENERAL_ERR}];
}

}  // namespace dapl
