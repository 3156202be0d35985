// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Datagram queue pairs in a few lines, for tests.
#pragma once

#include "test/softverbs/verbs_pair.hpp"

namespace test {

inline constexpr std::uint32_t kKey = 0x11111111;
inline constexpr std::uint32_t kHeader = sizeof(ibv_grh);
inline constexpr std::uint32_t kMtu = 4096;

/// A datagram queue pair, ready to send.
class Datagrams {
  public:
    explicit Datagrams(Host& host, std::uint32_t key = kKey) : Datagrams(host, make(host), key) {}
    /// Takes over a queue pair that was made elsewhere.
    Datagrams(Host& host, ibv_qp* made, std::uint32_t key = kKey)
        : host_(host), key_(key), qp_(made) {
        require(qp_ != nullptr, "a queue pair is made");
        require(to(IBV_QPS_INIT, IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY) == 0, "INIT");
        require(to(IBV_QPS_RTR) == 0, "RTR");
        require(to(IBV_QPS_RTS, IBV_QP_SQ_PSN) == 0, "RTS");
    }
    ~Datagrams() { destroy(); }
    Datagrams(const Datagrams&) = delete;
    Datagrams& operator=(const Datagrams&) = delete;

    /// Destroys the queue pair and its address handles. May be called again after a failure.
    int destroy() {
        for (ibv_ah* ah : handles_) ibv_destroy_ah(ah);
        handles_.clear();
        const int cause = qp_ ? ibv_destroy_qp(qp_) : 0;
        if (cause == 0) qp_ = nullptr;
        return cause;
    }
    ibv_qp* get() const { return qp_; }
    std::uint32_t number() const { return qp_->qp_num; }

    int to(ibv_qp_state state, int mask = 0) {
        ibv_qp_attr a{};
        a.qp_state = state;
        a.port_num = host_.options.port;
        a.qkey = key_;
        return ibv_modify_qp(qp_, &a, IBV_QP_STATE | mask);
    }
    ibv_qp_state state() const {
        ibv_qp_attr attributes;
        ibv_qp_init_attr init;
        ibv_query_qp(qp_, &attributes, IBV_QP_STATE, &init);
        return attributes.qp_state;
    }

    /// Makes an address handle for the host's own port, by LID alone or with a global route header.
    /// It is destroyed with the queue pair.
    ibv_ah* handle(bool global = false) { return handle_to(host_, global); }
    ibv_ah* handle_to(const Host& peer, bool global = false) {
        ibv_ah_attr attributes{};
        attributes.port_num = host_.options.port;
        attributes.dlid = peer.port.lid;
        attributes.sl = 3;
        if (global) {
            attributes.is_global = 1;
            attributes.grh.dgid = peer.gid;
            attributes.grh.hop_limit = 64;
            attributes.grh.traffic_class = 0xa5;
            attributes.grh.flow_label = 0x54321;
        }
        return keep(ibv_create_ah(host_.pd, &attributes));
    }
    ibv_ah* keep(ibv_ah* ah) {
        require(ah != nullptr, "an address handle is made");
        handles_.push_back(ah);
        return ah;
    }

    int receive(std::uint64_t id, std::vector<ibv_sge> sges) {
        ibv_recv_wr wr{};
        wr.wr_id = id;
        wr.sg_list = sges.data();
        wr.num_sge = static_cast<int>(sges.size());
        ibv_recv_wr* bad = nullptr;
        return host_.srq ? ibv_post_srq_recv(host_.srq, &wr, &bad) : ibv_post_recv(qp_, &wr, &bad);
    }
    struct Message {
        std::uint32_t to = 0;
        ibv_ah* by = nullptr;
        std::uint32_t key = kKey;
        unsigned flags = IBV_SEND_SIGNALED;
        ibv_wr_opcode opcode = IBV_WR_SEND;
        std::uint32_t immediate = 0;
    };
    int send(std::uint64_t id, std::vector<ibv_sge> sges, const Message& message) {
        ibv_send_wr wr = Qp::request(id, message.opcode, sges, message.flags);
        wr.imm_data = message.immediate;
        wr.wr.ud.ah = message.by;
        wr.wr.ud.remote_qpn = message.to;
        wr.wr.ud.remote_qkey = message.key;
        ibv_send_wr* bad = nullptr;
        return ibv_post_send(qp_, &wr, &bad);
    }

  private:
    static ibv_qp* make(Host& host) {
        ibv_qp_init_attr attributes{};
        attributes.send_cq = attributes.recv_cq = host.cq;
        attributes.srq = host.srq;
        attributes.qp_type = IBV_QPT_UD;
        attributes.cap.max_send_wr = attributes.cap.max_recv_wr = host.options.depth;
        attributes.cap.max_send_sge = attributes.cap.max_recv_sge = host.options.sges;
        attributes.cap.max_inline_data = host.options.inline_data;
        return ibv_create_qp(host.pd, &attributes);
    }

    Host& host_;
    std::uint32_t key_;
    ibv_qp* qp_ = nullptr;
    std::vector<ibv_ah*> handles_;
};

}  // namespace test
