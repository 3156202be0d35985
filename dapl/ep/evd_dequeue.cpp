// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// dat_evd_dequeue. It is in dapl/ep because it inlines take_plain_completion(), which needs the
/// EP.
#include "dapl/evd/dequeue.hpp"

#include "dapl/ep/plain_completion.hpp"
#include "dapl/provider/entry.hpp"
#include "support/trace/trace_slots.hpp"

namespace dapl::entry {
namespace {

[[gnu::always_inline]] inline bool take_plain(const Pool& eps, LastEps& last,
                                              const ibv_wc& completion, DAT_EVENT& event) {
    return take_plain_completion(eps, last, completion, event, Release{});
}

}  // namespace

DAT_RETURN evd_dequeue(DAT_EVD_HANDLE handle, DAT_EVENT* event) {
    if (support::data_path_traced()) [[unlikely]]
        return Evd::dequeue_traced(handle, event);
    Evd* evd = from_called_handle<Evd>(handle);
    if (!evd) return error(DAT_INVALID_HANDLE);
    return event ? evd->dequeue(event, take_plain) : bad_argument(2);
}

}  // namespace dapl::entry
