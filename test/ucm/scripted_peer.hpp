// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// A peer whose every message a test writes: a service queue pair of its own on softverbs, without
/// the connection manager's code.
#pragma once

#include <infiniband/verbs.h>

#include <array>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "dapl/verbs/handles.hpp"
#include "providers/exchange/path.hpp"
#include "providers/ucm/message.hpp"
#include "test/support/process.hpp"

namespace test {

using dapl::exchange::QpAddress;
using dapl::ucm::Message;
using dapl::ucm::Operation;

/// @return a context of soft0's that no adapter instance uses.
inline verbs::Context open_soft0() {
    int count = 0;
    ibv_device** const list = ibv_get_device_list(&count);
    verbs::Context context;
    for (int i = 0; i < count && !context; ++i)
        if (std::string(ibv_get_device_name(list[i])) == "soft0")
            context.reset(ibv_open_device(list[i]));
    ibv_free_device_list(list);
    require(context != nullptr, "soft0 is there");
    return context;
}

inline verbs::QueuePair datagram_queue_pair(ibv_pd* domain, ibv_cq* queue, std::uint32_t entries) {
    ibv_qp_init_attr wanted{};
    wanted.qp_type = IBV_QPT_UD;
    wanted.send_cq = wanted.recv_cq = queue;
    wanted.cap = {entries, entries, 1, 1, 0};
    verbs::QueuePair made(ibv_create_qp(domain, &wanted));
    ibv_qp_attr attributes{};
    attributes.qp_state = IBV_QPS_INIT;
    attributes.port_num = 1;
    attributes.qkey = dapl::exchange::kQueueKey;
    ibv_modify_qp(made.get(), &attributes,
                  IBV_QP_STATE | IBV_QP_PORT | IBV_QP_PKEY_INDEX | IBV_QP_QKEY);
    attributes.qp_state = IBV_QPS_RTR;
    ibv_modify_qp(made.get(), &attributes, IBV_QP_STATE);
    attributes.qp_state = IBV_QPS_RTS;
    ibv_modify_qp(made.get(), &attributes, IBV_QP_STATE | IBV_QP_SQ_PSN);
    return made;
}

class ScriptedPeer {
  public:
    static constexpr std::size_t kEntries = 256;
    static constexpr std::size_t kSlot = 512;
    static constexpr int kAccess = IBV_ACCESS_LOCAL_WRITE;

    ScriptedPeer()
        : context_(open_soft0()),
          domain_(ibv_alloc_pd(context_.get())),
          queue_(ibv_create_cq(context_.get(), 2 * kEntries, nullptr, nullptr, 0)),
          buffers_((kEntries + 1) * kSlot),
          region_(ibv_reg_mr(domain_.get(), buffers_.data(), buffers_.size(), kAccess)),
          queue_pair_(datagram_queue_pair(domain_.get(), queue_.get(), kEntries)) {
        for (std::size_t index = 0; index < kEntries; ++index) post_receive(index);
        ibv_port_attr port{};
        ibv_query_port(context_.get(), 1, &port);
        ibv_gid gid{};
        ibv_query_gid(context_.get(), 1, 0, &gid);
        address.lid = port.lid;
        address.qpn = queue_pair_->qp_num;
        std::memcpy(address.gid.data(), &gid, sizeof gid);
        address.qp_type = IBV_QPT_UD;
        ibv_ah_attr way{};
        way.dlid = port.lid;
        way.port_num = 1;
        handle_.reset(ibv_create_ah(domain_.get(), &way));
    }

    void send(std::span<const std::byte> bytes, std::uint32_t to) {
        std::byte* const place = buffers_.data() + kEntries * kSlot;
        std::memcpy(place, bytes.data(), bytes.size());
        ibv_sge from{reinterpret_cast<std::uintptr_t>(place),
                     static_cast<std::uint32_t>(bytes.size()), region_->lkey};
        ibv_send_wr request{}, *refused = nullptr;
        request.wr_id = kEntries;
        request.sg_list = &from;
        request.num_sge = 1;
        request.opcode = IBV_WR_SEND;
        request.send_flags = IBV_SEND_SIGNALED;
        request.wr.ud.ah = handle_.get();
        request.wr.ud.remote_qpn = to;
        request.wr.ud.remote_qkey = dapl::exchange::kQueueKey;
        const std::size_t before = sent_;
        require(ibv_post_send(queue_pair_.get(), &request, &refused) == 0, "a message is sent");
        require(eventually([&] {
                    poll();
                    return sent_ > before;
                }),
                "it has been sent");
    }
    void send(const Message& message, std::uint32_t to) {
        send(dapl::ucm::encode(message).all(), to);
    }
    void send(const Message& message) { send(message, message.destination_qpn); }

    /// @return the bytes of the next message, within the deadline.
    std::vector<std::byte> next_bytes() {
        require(eventually([&] {
                    poll();
                    return !arrived_.empty();
                }),
                "a message arrives");
        std::vector<std::byte> bytes = arrived_.front();
        arrived_.erase(arrived_.begin());
        return bytes;
    }
    Message next() {
        const auto bytes = next_bytes();
        const auto message = dapl::ucm::decode(bytes);
        require(message.has_value(), "the message can be read");
        return *message;
    }
    /// Takes a message of this kind. Drops repetitions of the last message that this function has
    /// taken: on a busy machine the other side sends them before it sees the peer's answer.
    Message next(Operation operation) {
        Message message = next();
        while (message.operation != operation && message.operation == last_ && message.retries > 0)
            message = next();
        last_ = message.operation;
        require(message.operation == operation,
                "operation " + std::to_string(static_cast<int>(message.operation)));
        return message;
    }
    bool has_more() {
        poll();
        return !arrived_.empty();
    }

    /// @return a request from this peer, of queue pair `qpn`.
    Message request(const QpAddress& to, std::uint16_t port, std::uint32_t id,
                    std::uint32_t qpn) const {
        Message message;
        message.operation = Operation::kRequest;
        message.source_port = message.source_id = id;
        message.destination_port = port;
        message.source_qpn = address.qpn;
        message.destination_qpn = to.qpn;
        message.read_limit = 4;
        message.mtu = IBV_MTU_1024;
        message.sender = address;
        message.sender.qpn = qpn;
        message.sender.qp_type = IBV_QPT_RC;
        return message;
    }
    /// @return an answer of this peer to a message. @param id its own.
    Message answer(const Message& message, Operation operation, std::uint32_t id,
                   std::uint32_t qpn) const {
        Message answer;
        answer.operation = operation;
        answer.source_port = message.destination_port;
        answer.destination_port = message.source_port;
        answer.source_qpn = address.qpn;
        answer.destination_qpn = message.source_qpn;
        answer.source_id = id;
        answer.destination_id = message.source_id;
        answer.read_limit = 2;
        answer.mtu = IBV_MTU_1024;
        answer.sender = address;
        answer.sender.qpn = qpn;
        answer.sender.qp_type = IBV_QPT_RC;
        return answer;
    }

    QpAddress address;

  private:
    void post_receive(std::size_t index) {
        ibv_sge place{reinterpret_cast<std::uintptr_t>(buffers_.data() + index * kSlot), kSlot,
                      region_->lkey};
        ibv_recv_wr request{index, nullptr, &place, 1}, *refused = nullptr;
        require(ibv_post_recv(queue_pair_.get(), &request, &refused) == 0, "a receive is posted");
    }
    void poll() {
        ibv_wc completion;
        while (ibv_poll_cq(queue_.get(), 1, &completion) == 1) {
            require(completion.status == IBV_WC_SUCCESS, "the peer's completion");
            if (completion.wr_id == kEntries) {
                ++sent_;
                continue;
            }
            const std::byte* const from = buffers_.data() + completion.wr_id * kSlot;
            arrived_.emplace_back(from + sizeof(ibv_grh), from + completion.byte_len);
            post_receive(completion.wr_id);
        }
    }

    verbs::Context context_;
    verbs::ProtectionDomain domain_;
    verbs::CompletionQueue queue_;
    std::vector<std::byte> buffers_;
    verbs::MemoryRegion region_;
    verbs::AddressHandle handle_;
    verbs::QueuePair queue_pair_;
    std::size_t sent_ = 0;
    std::vector<std::vector<std::byte>> arrived_;
    std::optional<Operation> last_;
};

}  // namespace test
