// SPDX-License-Identifier: BSD-2-Clause
#include "dapl/ep/delayed_ack.hpp"

#include <dat2/dat_trclvl.h>

#include <cstring>

#include "dapl/adapter/ia.hpp"
#include "dapl/base/codes.hpp"

namespace dapl {
namespace {

/// The attribute lists that dat_ep_query returns, each of one element, in the order of DelayedAck;
/// not const because DAT_EP_ATTR's pointer is not.
DAT_NAMED_ATTR lists[] = {{DAT_ATTR_DELAYED_ACK, "false"},
                          {DAT_ATTR_DELAYED_ACK, "true"},
                          {DAT_ATTR_DELAYED_ACK, "read_back"}};

support::Result<DelayedAck> value_of(const DAT_NAMED_ATTR& attribute) {
    if (!attribute.name || !attribute.value ||
        std::strcmp(attribute.name, DAT_ATTR_DELAYED_ACK) != 0)
        return support::failure(bad_argument(3), "there is no such attribute");
    for (const DAT_NAMED_ATTR& list : lists)
        if (std::strcmp(attribute.value, list.value) == 0)
            return static_cast<DelayedAck>(&list - lists);
    return support::failure(bad_argument(3), "the attribute has no such value");
}

}  // namespace

/// Verified for the software devices soft0 and rdma_rxe, neither of which has a vendor ID: both
/// place data in order, and before they acknowledge or answer. Hardware adapters may answer a
/// zero-byte read while earlier data is still on its way to memory.
bool has_delayed_ack(const Ia& ia) {
    constexpr std::uint32_t kNoVendor = 0xffffff;
    return ia.is_infiniband() && ia.device_attributes.vendor_id == kNoVendor;
}

void set_delayed_ack(DAT_EP_ATTR& attributes, DelayedAck value) {
    attributes.ep_provider_specific = &lists[static_cast<std::size_t>(value)];
    attributes.ep_provider_specific_count = 1;
}

DelayedAck delayed_ack(const DAT_EP_ATTR& attributes) {
    for (const DAT_NAMED_ATTR& list : lists)
        if (attributes.ep_provider_specific == &list) return static_cast<DelayedAck>(&list - lists);
    return DelayedAck::kFalse;  // an EP that is not made yet
}

DAT_COUNT slots_of_requests(const DAT_EP_ATTR& attributes, DelayedAck value) {
    const bool is_confirmed = value != DelayedAck::kFalse;
    return is_confirmed ? 2 * attributes.max_request_dtos : attributes.max_request_dtos;
}

support::Result<DelayedAck> wanted_delayed_ack(const Ia& ia, const DAT_EP_ATTR& wanted) {
    const DAT_COUNT count = wanted.ep_provider_specific_count;
    if (count < 0 || (count > 0 && !wanted.ep_provider_specific))
        return support::failure(bad_argument(3), "the list is missing");
    DelayedAck chosen = DelayedAck::kFalse;
    for (DAT_COUNT i = 0; i < count; ++i) {
        auto value = value_of(wanted.ep_provider_specific[i]);
        if (!value) return value;
        chosen = *value;
    }
    if (chosen == DelayedAck::kTrue && !has_delayed_ack(ia))
        return support::failure(error(DAT_MODEL_NOT_SUPPORTED), "the device does not support it");
    return chosen;
}

}  // namespace dapl
