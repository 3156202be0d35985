// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Immediate data: with writes, with sends, and mixed with plain sends on the same receives.
#include "test/dtest_ext/immediate.hpp"
#include "tools/common/failure.hpp"

namespace dtest_ext {

using namespace tools;

std::string lacks_immediate(const Context& context) {
    return context.device.says(DAT_IB_ATTR_IMMED_DATA) ? "" : "DAT_IB_IMMED_DATA is not TRUE";
}

std::string lacks_send_immediate(const Context& context) {
    const std::string lacks = lacks_immediate(context);
    if (!lacks.empty()) return lacks;
    // No attribute reports it. Where the call exists, it fails with another code on an unconnected
    // endpoint.
    Connection probe(context);
    DAT_LMR_TRIPLET segment = context.device.source.segment(0, 8);
    const DAT_RETURN code = dat_ib_post_send_immed(probe.ep(), 1, &segment, make_cookie(0), 0,
                                                   DAT_COMPLETION_DEFAULT_FLAG);
    return DAT_GET_TYPE(code) == DAT_GET_TYPE(DAT_NOT_IMPLEMENTED)
               ? "dat_ib_post_send_immed answers DAT_NOT_IMPLEMENTED"
               : "";
}

void post_write_immediate(const Context& context, const Connection& connection, std::uint32_t size,
                          unsigned index) {
    fill(context, context.device.source.at(0), size, index);
    DAT_LMR_TRIPLET segment = context.device.source.segment(0, size);
    DAT_RMR_TRIPLET remote = connection.remote(0, size);
    require_success(
        dat_ib_post_rdma_write_immed(connection.ep(), 1, &segment, make_cookie(index), &remote,
                                     my_number(context, index), DAT_COMPLETION_DEFAULT_FLAG),
        "dat_ib_post_rdma_write_immed", kFault);
    require_completion(connection.request_event("completion of a write with immediate data"),
                       connection.ep(), "completion of a write with immediate data",
                       {index, size, DAT_IB_DTO_RDMA_WRITE_IMMED, DAT_IB_RDMA_WRITE_IMMED});
}

void post_send_immediate(const Context& context, const Connection& connection, std::uint32_t size,
                         unsigned index) {
    fill(context, context.device.source.at(0), size, index);
    DAT_LMR_TRIPLET segment = context.device.source.segment(0, size);
    require_success(dat_ib_post_send_immed(connection.ep(), 1, &segment, make_cookie(index),
                                           my_number(context, index), DAT_COMPLETION_DEFAULT_FLAG),
                    "dat_ib_post_send_immed", kFault);
    require_completion(connection.request_event("completion of a send with immediate data"),
                       connection.ep(), "completion of a send with immediate data",
                       {index, size, DAT_IB_DTO_SEND_IMMED, DAT_IB_SEND_IMMED});
}

void post_send(const Context& context, Connection& connection, std::uint32_t size, unsigned index) {
    fill(context, context.device.source.at(0), size, index);
    connection.send(size, index);
}

void take_write_immediate(const Context& context, const Connection& connection, std::uint32_t size,
                          unsigned index) {
    const char* what = "receive that takes a write with immediate data";
    const DAT_EVENT event = connection.receive_event(what);
    require_completion(event, connection.ep(), what,
                       {index, size, DAT_IB_DTO_RECV_IMMED, DAT_IB_RDMA_WRITE_IMMED_DATA});
    require_immediate(event, their_number(context, index));
    require_bytes(context, context.device.target.at(0), size, index, "data written");
    require_untouched(context.device.slot(index), context.device.slot_bytes(),
                      "memory of the receive that took a write");
}

void take_send_immediate(const Context& context, const Connection& connection, std::uint32_t size,
                         unsigned index) {
    const char* what = "receive that takes a send with immediate data";
    const DAT_EVENT event = connection.receive_event(what);
    require_completion(event, connection.ep(), what,
                       {index, size, DAT_IB_DTO_RECV_MSG_IMMED, DAT_IB_RDMA_WRITE_IMMED_DATA});
    require_immediate(event, their_number(context, index));
    require_bytes(context, context.device.slot(index), size, index, "data received");
}

void take_send(const Context& context, const Connection& connection, std::uint32_t size,
               unsigned index) {
    const char* what = "receive that takes a send";
    require_completion(connection.receive_event(what), connection.ep(), what, {index, size});
    require_bytes(context, context.device.slot(index), size, index, "data received");
}

namespace {

std::string check_writes(const Context& context) {
    mark(context.device.receive.at(0), Device::kReceives * context.device.slot_bytes());
    Connection connection(context);
    connection.connect(2);
    const std::uint32_t sizes[] = {1, context.options.size};
    for (unsigned i = 0; i < 2; ++i) {
        mark(context.device.target.at(0), context.device.slot_bytes());
        context.other.exchange("write with immediate data");
        post_write_immediate(context, connection, sizes[i], i);
        take_write_immediate(context, connection, sizes[i], i);
    }
    connection.close();
    return format(
        "1 and %u bytes each way, written where they belong, the receives' memory "
        "untouched, numbers 0x%08x and 0x%08x as sent",
        context.options.size, their_number(context, 0), their_number(context, 1));
}

std::string check_sends(const Context& context) {
    Connection connection(context);
    connection.connect(2);
    const std::uint32_t sizes[] = {1, context.options.size};
    for (unsigned i = 0; i < 2; ++i) {
        post_send_immediate(context, connection, sizes[i], i);
        take_send_immediate(context, connection, sizes[i], i);
    }
    connection.close();
    return format("1 and %u bytes each way, received as sent, numbers 0x%08x and 0x%08x as sent",
                  context.options.size, their_number(context, 0), their_number(context, 1));
}

std::string check_mixed(const Context& context) {
    const std::uint32_t size = context.options.size;
    mark(context.device.receive.at(0), Device::kReceives * context.device.slot_bytes());
    mark(context.device.target.at(0), context.device.slot_bytes());
    Connection connection(context);
    connection.connect(4);
    // All writes go to the same memory, so each is checked before the next one.
    for (unsigned i = 0; i < 4; i += 2) {
        post_send(context, connection, size, i);
        take_send(context, connection, size, i);
        context.other.exchange("write after a send");
        post_write_immediate(context, connection, size, i + 1);
        take_write_immediate(context, connection, size, i + 1);
        context.other.exchange("send after a write");
    }
    connection.close();
    return "send, write, send, write each way on receives that were posted alike: each event says "
           "which it was";
}

}  // namespace

const std::vector<Check> kImmediateChecks = {
    {"write with immediate data", lacks_immediate, check_writes, "RDMA_WRITE_WITH_IMMEDIATE_DATA"},
    {"receives that meet sends and writes", lacks_immediate, check_mixed},
    {"send with immediate data", lacks_send_immediate, check_sends},
};

}  // namespace dtest_ext
