// SPDX-License-Identifier: BSD-2-Clause
#include "dapl/ep/delayed_ack.hpp"

#include <dat2/dat_trclvl.h>

#include <cstring>

#include "dapl/adapter/ia.hpp"
#include "dapl/base/codes.hpp"

namespace dapl {
namespace {

/// The attribute lists that dat_ep_query returns; not const because DAT_EP_ATTR's pointer is not.
DAT_NAMED_ATTR at_once[] = {{DAT_ATTR_DELAYED_ACK, "false"}};
DAT_NAMED_ATTR delayed_until_placed[] = {{DAT_ATTR_DELAYED_ACK, "true"}};

support::Result<bool> truth_of(const DAT_NAMED_ATTR& attribute) {
    if (!attribute.name || !attribute.value ||
        std::strcmp(attribute.name, DAT_ATTR_DELAYED_ACK) != 0)
        return support::failure(bad_argument(3), "there is no such attribute");
    const bool delayed = std::strcmp(attribute.value, "true") == 0;
    if (!delayed && std::strcmp(attribute.value, "false") != 0)
        return support::failure(bad_argument(3), "the value is neither true nor false");
    return delayed;
}

}  // namespace

/// Verified for the software devices soft0 and rdma_rxe, neither of which has a vendor ID: both
/// place data in order, and before they acknowledge or answer. Hardware adapters may answer a
/// zero-byte read while earlier data is still on its way to memory.
bool has_delayed_ack(const Ia& ia) {
    constexpr std::uint32_t kNoVendor = 0xffffff;
    return ia.is_infiniband() && ia.device_attributes.vendor_id == kNoVendor;
}

void set_delayed_ack(DAT_EP_ATTR& attributes, bool delayed) {
    attributes.ep_provider_specific = delayed ? delayed_until_placed : at_once;
    attributes.ep_provider_specific_count = 1;
}

bool is_delayed(const DAT_EP_ATTR& attributes) {
    return attributes.ep_provider_specific == delayed_until_placed;
}

DAT_COUNT slots_of_requests(const DAT_EP_ATTR& attributes, bool delayed) {
    return delayed ? 2 * attributes.max_request_dtos : attributes.max_request_dtos;
}

support::Result<bool> wanted_delayed_ack(const Ia& ia, const DAT_EP_ATTR& wanted) {
    const DAT_COUNT count = wanted.ep_provider_specific_count;
    if (count < 0 || (count > 0 && !wanted.ep_provider_specific))
        return support::failure(bad_argument(3), "the list is missing");
    bool delayed = false;
    for (DAT_COUNT i = 0; i < count; ++i) {
        support::Result<bool> truth = truth_of(wanted.ep_provider_specific[i]);
        if (!truth) return truth;
        delayed = *truth;
    }
    if (delayed && !has_delayed_ack(ia))
        return support::failure(error(DAT_MODEL_NOT_SUPPORTED), "the device does not support it");
    return delayed;
}

}  // namespace dapl
