// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// A process that makes single requests for memory of this one, on command.
#pragma once

#include "test/softverbs/verbs_pair.hpp"

namespace test {

struct Order {
    bool go = false;
    ibv_wr_opcode opcode = IBV_WR_RDMA_WRITE;
    std::uint64_t address = 0;
    std::uint32_t key = 0;
};
struct Answer {
    ibv_wc_status status = IBV_WC_GENERAL_ERR;
    std::uint64_t word = 0;  ///< the peer's first 8 bytes afterwards
};

/// Moves 8 bytes for each order, which writes take from pattern 9; atomic operations add 1. Each
/// has a new connection, because a refusal breaks it.
inline void request_as_told(Channel& channel) {
    Host host;
    for (;;) {
        const auto order = channel.receive<Order>();
        if (!order.go) return;
        Qp qp(host);
        qp.connect(channel);
        fill(host.buffer.data(), 8, 9);
        const bool is_atomic = order.opcode == IBV_WR_ATOMIC_FETCH_AND_ADD;
        const int cause =
            is_atomic ? qp.atomic(1, order.opcode, host.sge(0, 8), order.address, order.key, 1)
                      : qp.rdma(1, order.opcode, {host.sge(0, 8)}, order.address, order.key);
        require(cause == 0, "posted");
        Answer answer{host.wait().status};
        std::memcpy(&answer.word, host.buffer.data(), sizeof answer.word);
        channel.send(answer);
    }
}

class Peer {
  public:
    explicit Peer(Host& host) : host_(host) {}
    ~Peer() {
        child_.channel().send(Order{});
        EXPECT_EQ(child_.wait(), 0);
    }
    /// @param domain protection domain of the queue pair that the request arrives on; the host's if
    /// null.
    Answer request(ibv_wr_opcode opcode, std::uint64_t address, std::uint32_t key,
                   ibv_pd* domain = nullptr) {
        child_.channel().send(Order{true, opcode, address, key});
        ibv_qp_init_attr attributes{};
        attributes.send_cq = attributes.recv_cq = host_.cq;
        attributes.cap = {4, 4, 1, 1, 0};
        attributes.qp_type = IBV_QPT_RC;
        Qp qp(host_, ibv_create_qp(domain ? domain : host_.pd, &attributes));
        qp.connect(child_.channel());
        return child_.channel().receive<Answer>();
    }
    ibv_wc_status write(std::uint64_t address, std::uint32_t key, ibv_pd* domain = nullptr) {
        return request(IBV_WR_RDMA_WRITE, address, key, domain).status;
    }

  private:
    Host& host_;
    Child child_{request_as_told};
};

/// @return the bytes that a peer writes.
inline bool holds_written(const std::uint8_t* data) {
    return holds(data, 8, 9);
}

}  // namespace test
