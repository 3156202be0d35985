// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Immediate data that consumes receives of a shared receive queue (SRQ).
#include "test/dtest_ext/immediate.hpp"
#include "tools/common/failure.hpp"

namespace dtest_ext {

using namespace tools;

namespace {

std::string lacks_shared(const Context& context) {
    const std::string lacks = lacks_immediate(context);
    if (!lacks.empty()) return lacks;
    return context.device.provider_attributes().srq_supported &&
                   context.device.attributes().max_srqs
               ? ""
               : "srq_supported is false";
}

std::string lacks_shared_sends(const Context& context) {
    const std::string lacks = lacks_shared(context);
    return lacks.empty() ? lacks_send_immediate(context) : lacks;
}

std::string check_writes(const Context& context) {
    mark(context.device.receive.at(0), Device::kReceives * context.device.slot_bytes());
    Connection connection(context, true);
    connection.connect(2);
    post_write_immediate(context, connection, context.options.size, 0);
    take_write_immediate(context, connection, context.options.size, 0);
    post_send(context, connection, context.options.size, 1);
    take_send(context, connection, context.options.size, 1);
    connection.close();
    return "a write with immediate data and a send each way on receives of the queue; the events "
           "name the endpoint";
}

std::string check_sends(const Context& context) {
    Connection connection(context, true);
    connection.connect(1);
    post_send_immediate(context, connection, context.options.size, 0);
    take_send_immediate(context, connection, context.options.size, 0);
    connection.close();
    return "one each way on a receive of the queue; the event names the endpoint";
}

}  // namespace

const std::vector<Check> kSharedReceiveChecks = {
    {"write with immediate data and an SRQ", lacks_shared, check_writes},
    {"send with immediate data and an SRQ", lacks_shared_sends, check_sends},
};

}  // namespace dtest_ext
