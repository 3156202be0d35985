// SPDX-License-Identifier: BSD-2-Clause
#include "providers/cma/event.hpp"

#include "dapl/cm/failure.hpp"

namespace dapl::cma {
namespace {

std::size_t field_size(rdma_cm_event_type type) {
    switch (type) {
        case RDMA_CM_EVENT_CONNECT_REQUEST:
            return kInfiniBandFields.request;
        case RDMA_CM_EVENT_CONNECT_RESPONSE:
        case RDMA_CM_EVENT_ESTABLISHED:
            return kInfiniBandFields.accept;
        case RDMA_CM_EVENT_REJECTED:
            return kInfiniBandFields.reject;
        default:
            return 0;
    }
}

#define MEANS(number, name, meaning, next_step) \
    case number:                                \
        return " (" meaning ")";

/// @return " (MEANING)"; empty for a number that the specification does not have.
std::string reject_reason(int number) {
    switch (number) {
#define REJECT_REASON MEANS
#include "support/base/reject_reasons.def"
#undef REJECT_REASON
        default:
            return {};
    }
}

std::string sidr_status(int number) {
    switch (number) {
#define SIDR_STATUS MEANS
#include "support/base/sidr_statuses.def"
#undef SIDR_STATUS
        default:
            return {};
    }
}

#undef MEANS

}  // namespace

std::string to_text(const Event& event) {
    const std::string name = rdma_event_str(event.type);
    if (event.status < 0) return name + ", " + cm::text_of_error(-event.status);
    return name + ", reason " + std::to_string(event.status) +
           (event.is_datagram ? sidr_status(event.status) : reject_reason(event.status));
}

Event::Event(const rdma_cm_event& event, bool is_infiniband)
    : type(event.event),
      status(event.status),
      id(event.id),
      is_datagram(event.id->ps == RDMA_PS_UDP),
      responder_resources(event.param.conn.responder_resources),
      initiator_depth(event.param.conn.initiator_depth) {
    if (is_datagram) {
        way = event.param.ud.ah_attr;
        qkey = event.param.ud.qkey;
        data.assign(event.param.ud.private_data, event.param.ud.private_data_len, 0);
        return;
    }
    data.assign(event.param.conn.private_data, event.param.conn.private_data_len,
                is_infiniband ? field_size(type) : 0);
}

}  // namespace dapl::cma
