// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Fuzzes what anybody in the partition can send to a service queue pair: a datagram of any bytes.
/// A message that is taken keeps the bounds that the reader promises, and reads the same again
/// after it has been written.
///
/// Input: the bytes of the datagram.
#include <infiniband/verbs.h>

#include <cstdint>

#include "providers/ucm/dialog.hpp"
#include "providers/ucm/message.hpp"
#include "test/fuzz/input.hpp"

namespace {

using dapl::ucm::Dialog;
using dapl::ucm::Message;
using dapl::ucm::Operation;
using test::require;

void expect_offer(const Message& message) {
    require(message.sender.qpn <= dapl::exchange::kLargestQpn, "queue pair numbers have 24 bits");
    require(message.mtu <= IBV_MTU_4096, "the MTU is one that queue pairs have");
    if (message.sender.qp_type == IBV_QPT_UD)
        require(message.sender.is_unicast(), "datagrams go to one queue pair of a consumer");
}

void check_request(const Message& message) {
    const Dialog passive(message, 5);
    require(passive.request() == dapl::ucm::key_of(message), "a repetition is recognised");
    require(passive.peer_port() == message.source_port, "answers go to the requester's port");
    Message confirm = message;
    confirm.operation = Operation::kReadyToUse;
    confirm.destination_id = 5;
    require(passive.is_from_peer(confirm), "the peer's next message belongs to the dialog");
    confirm.source_qpn += 1;
    require(!passive.is_from_peer(confirm), "another service's does not");
}

void check(const Message& message) {
    require(message.version >= dapl::exchange::kLowestVersion, "the version is one that is served");
    require(message.private_data_size <= dapl::exchange::kMaxPrivateData,
            "private data has its bound");
    require(dapl::ucm::carries_data(message.operation) || message.private_data_size == 0,
            "other messages have none");
    for (std::size_t i = message.private_data_size; i < message.private_data.size(); ++i)
        require(message.private_data[i] == std::byte{0}, "zeros follow the private data");
    const bool is_request = message.operation == Operation::kRequest;
    if (is_request || message.operation == Operation::kReply) expect_offer(message);
    if (is_request) check_request(message);
    const auto again = dapl::ucm::decode(dapl::ucm::encode(message).all());
    require(again.has_value(), "what was taken can be sent");
    require(again->private_data == message.private_data && again->source_id == message.source_id &&
                again->source_port == message.source_port,
            "it reads the same again");
    const auto refused =
        dapl::ucm::decode(dapl::ucm::encode(dapl::ucm::refusal(message, message.sender)).all());
    require(refused && refused->destination_port == message.source_port,
            "a rejection of it can be read");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::span bytes(reinterpret_cast<const std::byte*>(data), size);
    const auto message = dapl::ucm::decode(bytes);
    if (message)
        check(*message);
    else
        require(!message.error().cause.empty(), "a refusal has a cause");
    return 0;
}
