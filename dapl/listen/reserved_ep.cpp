// SPDX-License-Identifier: BSD-2-Clause
#include "dapl/listen/reserved_ep.hpp"

#include <utility>

#include "dapl/ep/ep.hpp"

namespace dapl {

ReservedEp::ReservedEp(Ep* ep) : handle(ep ? ep->handle() : DAT_HANDLE_NULL), ep_(ep) {}

void ReservedEp::reserve() {
    if (ep_) ep_->state.move(ep_->is_complete() ? EpCause::kReserve : EpCause::kReserveIncomplete);
}

void ReservedEp::taken() {
    if (Ep* const ep = std::exchange(ep_, nullptr)) ep->state.move(EpCause::kRequest);
}

void ReservedEp::release() {
    if (Ep* const ep = std::exchange(ep_, nullptr)) ep->state.move(EpCause::kRelease);
}

}  // namespace dapl
