// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The endpoint attribute delayed_ack.
#include <dat2/dat_trclvl.h>

#include <cstring>

#include "test/dtest_ext/connection.hpp"
#include "tools/common/failure.hpp"

namespace dtest_ext {

using namespace tools;

namespace {

std::string lacks_attribute(const Context& context) {
    return context.device.named().count(DAT_ATTR_DELAYED_ACK_SUPPORTED)
               ? ""
               : "no attribute delayed_ack_supported";
}

DAT_RETURN choose(const Connection& connection, const char* value) {
    DAT_NAMED_ATTR attribute{DAT_ATTR_DELAYED_ACK, value};
    DAT_EP_PARAM parameters{};
    parameters.ep_attr.ep_provider_specific = &attribute;
    parameters.ep_attr.ep_provider_specific_count = 1;
    return dat_ep_modify(
        connection.ep(),
        DAT_EP_FIELD_EP_ATTR_NUM_PROVIDER_ATTR | DAT_EP_FIELD_EP_ATTR_PROVIDER_SPECIFIC_ATTR,
        &parameters);
}

std::string chosen(const Connection& connection) {
    DAT_EP_PARAM parameters{};
    require_success(dat_ep_query(connection.ep(), DAT_EP_FIELD_ALL, &parameters), "dat_ep_query",
                    kFault);
    for (int i = 0; i < parameters.ep_attr.ep_provider_specific_count; ++i) {
        const DAT_NAMED_ATTR& attribute = parameters.ep_attr.ep_provider_specific[i];
        if (std::strcmp(attribute.name, DAT_ATTR_DELAYED_ACK) == 0) return attribute.value;
    }
    return "not there";
}

void require_chosen(const Connection& connection, const char* value) {
    const std::string found = chosen(connection);
    if (found != value) throw Failure("delayed_ack by dat_ep_query", found, value, kFault);
}

void write(const Context& context, const Connection& connection) {
    const std::uint32_t size = context.options.size;
    fill(context, context.device.source.at(0), size, 0);
    DAT_LMR_TRIPLET segment = context.device.source.segment(0, size);
    const DAT_RMR_TRIPLET remote = connection.remote(0, size);
    require_success(dat_ep_post_rdma_write(connection.ep(), 1, &segment, make_cookie(3), &remote,
                                           DAT_COMPLETION_DEFAULT_FLAG),
                    "dat_ep_post_rdma_write", kFault);
    const char* what = "completion of a write with delayed_ack";
    require_completion(connection.request_event(what), connection.ep(), what, {3, size});
}

std::string check_attribute(const Context& context) {
    Connection connection(context);
    const bool supported = context.device.says(DAT_ATTR_DELAYED_ACK_SUPPORTED);
    require_chosen(connection, "false");
    const DAT_RETURN code = choose(connection, "true");
    if (supported) {
        require_success(code, "dat_ep_modify", kFault);
    } else {
        require_refusal(code, "dat_ep_modify", DAT_MODEL_NOT_SUPPORTED);
    }
    require_chosen(connection, supported ? "true" : "false");
    mark(context.device.target.at(0), context.device.slot_bytes());
    connection.connect();
    write(context, connection);
    context.other.exchange("written");
    require_bytes(context, context.device.target.at(0), context.options.size, 0, "data written");
    connection.close();
    return supported ? "set, read back, and a completed write is in the peer's memory"
                     : "refused, as delayed_ack_supported says";
}

}  // namespace

const std::vector<Check> kDelayedAckChecks = {
    {"delayed acknowledgement", lacks_attribute, check_attribute},
};

}  // namespace dtest_ext
