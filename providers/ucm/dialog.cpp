// SPDX-License-Identifier: BSD-2-Clause
#include "providers/ucm/dialog.hpp"

#include <infiniband/verbs.h>

namespace dapl::ucm {
namespace {

/// Peers before version 8 have 16 bits of a port.
constexpr std::uint32_t kOldPort = 0xFFFF;

bool is_same_port(std::uint32_t one, std::uint32_t other) {
    return (one & kOldPort) == (other & kOldPort);
}

}  // namespace

RequestKey key_of(const Message& request) {
    return {request.sender.lid, request.sender.gid,  request.source_qpn,      request.sender.qpn,
            request.source_id,  request.source_port, request.destination_port};
}

QpAddress sender_of(const Message& message) {
    QpAddress service = message.sender;
    service.qpn = message.source_qpn;
    service.qp_type = IBV_QPT_UD;
    return service;
}

Dialog::Dialog(std::uint32_t own_qpn, const QpAddress& peer, std::uint16_t peer_port,
               std::uint32_t id)
    : peer_(peer) {
    last_.source_qpn = own_qpn;
    last_.destination_qpn = peer.qpn;
    last_.source_port = last_.source_id = id;
    last_.destination_port = peer_port;
}

Dialog::Dialog(const Message& request, std::uint32_t id)
    : peer_(sender_of(request)), request_(key_of(request)) {
    last_.source_qpn = request.destination_qpn;
    last_.destination_qpn = request.source_qpn;
    last_.source_port = request.destination_port;
    last_.destination_port = request.source_port;
    last_.source_id = id;
    last_.destination_id = request.source_id;
    last_.other_address = encode(request.sender);
}

const Message& Dialog::say(Operation operation) {
    last_ = answer(operation);
    return last_;
}

Message Dialog::answer(Operation operation) const {
    Message message = last_;
    message.operation = operation;
    message.private_data_size = 0;
    return message;
}

bool Dialog::is_from_peer(const Message& message) const {
    return message.source_qpn == peer_.qpn && message.destination_qpn == last_.source_qpn &&
           message.sender.lid == peer_.lid &&
           is_same_port(message.source_port, last_.destination_port) &&
           is_same_port(message.destination_port, last_.source_port) &&
           (message.destination_id == 0 || message.destination_id == last_.source_id);
}

Message refusal(const Message& message, const QpAddress& own) {
    Message answer;
    answer.operation = Operation::kManagerReject;
    answer.source_port = message.destination_port;
    answer.destination_port = message.source_port;
    answer.source_qpn = message.destination_qpn;
    answer.destination_qpn = message.source_qpn;
    answer.source_id = message.destination_id;
    answer.destination_id = message.source_id;
    answer.sender = own;
    // The active side of the reference goes by this type, and takes that of a datagram endpoint for
    // the answer to one.
    answer.sender.qp_type = message.sender.qp_type;
    answer.other_address = encode(message.sender);
    return answer;
}

}  // namespace dapl::ucm
