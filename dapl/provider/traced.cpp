// SPDX-License-Identifier: BSD-2-Clause
#include "dapl/provider/traced.hpp"

#include <dat2/dat_ib_extensions.h>

namespace dapl {

void trace_taken(std::uint64_t evd, const DAT_EVENT& event) {
    const auto number = static_cast<std::uint32_t>(event.event_number);
    if (number == DAT_DTO_COMPLETION_EVENT ||
        number == static_cast<std::uint32_t>(DAT_IB_DTO_EVENT)) {
        const auto& dto = event.event_data.dto_completion_event_data;
        support::trace_completion(
            id_of(dto.ep_handle), evd,
            {number, dto.user_cookie.as_64, static_cast<std::uint32_t>(dto.status),
             static_cast<std::uint32_t>(dto.operation), dto.transfered_length});
    } else if (number == DAT_RMR_BIND_COMPLETION_EVENT) {
        const auto& bind = event.event_data.rmr_completion_event_data;
        support::trace_completion(id_of(bind.rmr_handle), evd,
                                  {number, bind.user_cookie.as_64,
                                   static_cast<std::uint32_t>(bind.status), DAT_DTO_BIND_MW, 0});
    } else {
        support::trace_event(evd, number);
    }
}

}  // namespace dapl
