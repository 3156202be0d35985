// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// A verbs program in a few lines, for tests: a device with a protection domain, a buffer and
/// queues, and connected queue pairs in two processes.
#pragma once

#include <gtest/gtest.h>
#include <infiniband/verbs.h>

#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <vector>

#include "providers/soft/softverbs/softverbs.h"
#include "test/support/process.hpp"

namespace test {

/// Access rights of memory and of queue pairs.
inline constexpr int kAllAccess = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
                                  IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;
/// An int, because the macro ibv_reg_mr() mixes the enumeration with another, which clang warns
/// about.
inline constexpr int kLocalWrite = IBV_ACCESS_LOCAL_WRITE;

/// @param number of those that SOFTVERBS_DEVICES allows.
inline ibv_context* open_soft(int number) {
    int count = 0;
    ibv_device** list = ibv_get_device_list(&count);
    require(list && number < count, "the device is listed");
    ibv_context* context = ibv_open_device(list[number]);
    ibv_free_device_list(list);
    require(context != nullptr, "the device opens");
    return context;
}

inline ibv_context* open_soft0() {
    return open_soft(0);
}

/// Whether hosts get their buffers from the library, so that peers map the pages.
inline bool provided_memory = false;

/// Zeroed memory of a host.
class Buffer {
  public:
    explicit Buffer(std::size_t size, bool provided = provided_memory)
        : size_(size), provided_(provided) {
        if (provided_) data_ = static_cast<std::uint8_t*>(softverbs_memory_alloc(size));
        if (!provided_) ordinary_.resize(size), data_ = ordinary_.data();
        require(data_ != nullptr, "memory is allocated");
    }
    ~Buffer() {
        if (provided_) softverbs_memory_free(data_);
    }
    Buffer(const Buffer&) = delete;
    Buffer& operator=(const Buffer&) = delete;
    std::uint8_t* data() { return data_; }
    const std::uint8_t* data() const { return data_; }
    std::size_t size() const { return size_; }
    std::uint8_t* begin() { return data_; }
    std::uint8_t* end() { return data_ + size_; }
    std::uint8_t& operator[](std::size_t at) { return data_[at]; }

  private:
    std::vector<std::uint8_t> ordinary_;
    std::uint8_t* data_ = nullptr;
    const std::size_t size_;
    const bool provided_;
};

struct Options {
    int cq_entries = 1024;
    bool channel = false;
    bool shared_receives = false;
    bool signal_all = false;
    std::uint32_t depth = 128;
    std::uint32_t sges = 4;
    std::uint32_t inline_data = 256;
    std::size_t buffer = 4 << 20;
    int access = kAllAccess;
    ibv_qp_type type = IBV_QPT_RC;  ///< or IBV_QPT_UC
    int device = 0;
    std::uint8_t port = 1;
};

/// One of several devices and ports.
inline Options at(int device, std::uint8_t port = 1, ibv_qp_type type = IBV_QPT_RC) {
    Options options;
    options.buffer = 4096;
    options.device = device;
    options.port = port;
    options.type = type;
    return options;
}

/// The objects of one process, without queue pairs.
class Host {
  public:
    explicit Host(Options options = {}) : options(options), buffer(options.buffer) {
        context = open_soft(options.device);
        pd = ibv_alloc_pd(context);
        if (options.channel) channel = ibv_create_comp_channel(context);
        cq = ibv_create_cq(context, options.cq_entries, this, channel, 0);
        require(pd && cq, "objects are made");
        mr = ibv_reg_mr(pd, buffer.data(), buffer.size(), options.access);
        require(mr != nullptr, "memory is registered");
        if (options.shared_receives) {
            ibv_srq_init_attr attributes{};
            attributes.attr.max_wr = options.depth;
            attributes.attr.max_sge = options.sges;
            srq = ibv_create_srq(pd, &attributes);
            require(srq != nullptr, "a shared receive queue is made");
        }
        ibv_query_port(context, options.port, &port);
        ibv_query_gid(context, options.port, 0, &gid);
    }
    ~Host() { destroy(); }
    Host(const Host&) = delete;
    Host& operator=(const Host&) = delete;

    /// Destroys the objects. May be called again after a failure. @return 0 when nothing is left.
    int destroy() {
        const int left = end(srq, ibv_destroy_srq) + end(cq, ibv_destroy_cq) +
                         end(channel, ibv_destroy_comp_channel) + end(mr, ibv_dereg_mr) +
                         end(pd, ibv_dealloc_pd);
        return left == 0 ? end(context, ibv_close_device) : left;  // objects need their device
    }
    /// Waits for one completion. @throws at the deadline.
    ibv_wc wait() {
        const auto end = Clock::now() + kDeadline;
        for (ibv_wc wc;;) {
            const int found = ibv_poll_cq(cq, 1, &wc);
            require(found >= 0, "poll succeeds");
            if (found == 1) return wc;
            require(Clock::now() < end, "a completion arrives in time");
        }
    }
    bool is_empty() {
        ibv_wc wc;
        return ibv_poll_cq(cq, 1, &wc) == 0;
    }
    std::uint64_t address(std::size_t offset = 0) const {
        return reinterpret_cast<std::uintptr_t>(buffer.data()) + offset;
    }
    ibv_sge sge(std::size_t offset, std::uint32_t length) const {
        return {address(offset), length, mr->lkey};
    }

    const Options options;
    Buffer buffer;
    ibv_context* context = nullptr;
    ibv_pd* pd = nullptr;
    ibv_comp_channel* channel = nullptr;
    ibv_cq* cq = nullptr;
    ibv_mr* mr = nullptr;
    ibv_srq* srq = nullptr;
    ibv_port_attr port{};
    union ibv_gid gid {};

  private:
    template <class Object>
    static int end(Object*& object, int (*destroy)(Object*)) {
        if (!object) return 0;
        const int cause = destroy(object);
        if (cause == 0) object = nullptr;
        return cause;
    }
};

/// What the two ends of a connection send each other.
struct Address {
    std::uint32_t qp_num = 0;
    std::uint16_t lid = 0;
    std::uint32_t rkey = 0;
    std::uint64_t address = 0;
};

struct Timing {
    std::uint8_t rnr_retry = 7;
    std::uint8_t min_rnr_timer = 12;
    std::uint8_t timeout = 14;
    std::uint8_t retry_cnt = 7;
};

/// Sleeps until the queue has a completion. @throws when no event arrives: a lost wake-up.
inline ibv_wc sleep_for_completion(Host& host) {
    for (ibv_wc wc;;) {
        if (ibv_poll_cq(host.cq, 1, &wc) == 1) return wc;
        require(ibv_req_notify_cq(host.cq, 0) == 0, "armed");
        if (ibv_poll_cq(host.cq, 1, &wc) == 1) return wc;
        require(is_readable(host.channel->fd), "a wake-up comes");
        ibv_cq* cq = nullptr;
        void* cq_context = nullptr;
        require(ibv_get_cq_event(host.channel, &cq, &cq_context) == 0, "the event is there");
        require(cq == host.cq && cq_context == &host, "of this queue");
        ibv_ack_cq_events(cq, 1);
    }
}

class Qp {
  public:
    /// In INIT, so that receives can be posted.
    explicit Qp(Host& host, int access = kAllAccess) : host_(host) {
        ibv_qp_init_attr attributes{};
        attributes.send_cq = attributes.recv_cq = host.cq;
        attributes.srq = host.srq;
        attributes.qp_type = host.options.type;
        attributes.sq_sig_all = host.options.signal_all;
        attributes.cap.max_send_wr = host.options.depth;
        attributes.cap.max_recv_wr = host.srq ? 0 : host.options.depth;
        attributes.cap.max_send_sge = host.options.sges;
        attributes.cap.max_recv_sge = host.srq ? 0 : host.options.sges;
        attributes.cap.max_inline_data = host.options.inline_data;
        qp_ = ibv_create_qp(host.pd, &attributes);
        require(qp_ != nullptr, "a queue pair is made");
        require(init(access) == 0, "INIT");
    }
    /// Takes over a queue pair that was made elsewhere.
    Qp(Host& host, ibv_qp* made, int access = kAllAccess) : host_(host), qp_(made) {
        require(qp_ != nullptr, "a queue pair is made");
        require(init(access) == 0, "INIT");
    }
    ~Qp() { destroy(); }
    Qp(const Qp&) = delete;
    Qp& operator=(const Qp&) = delete;

    /// Destroys the queue pair. May be called again after a failure.
    int destroy() {
        const int cause = qp_ ? ibv_destroy_qp(qp_) : 0;
        if (cause == 0) qp_ = nullptr;
        return cause;
    }
    ibv_qp* get() const { return qp_; }
    Address address() const {
        return {qp_->qp_num, host_.port.lid, host_.mr->rkey, host_.address()};
    }

    int init(int access = kAllAccess) {
        ibv_qp_attr a{};
        a.qp_state = IBV_QPS_INIT;
        a.port_num = host_.options.port;
        a.qp_access_flags = static_cast<unsigned>(access);
        return ibv_modify_qp(qp_, &a,
                             IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
    }
    int ready_to_receive(const Address& peer, const Timing& timing = {}) {
        ibv_qp_attr a{};
        a.qp_state = IBV_QPS_RTR;
        a.path_mtu = IBV_MTU_4096;
        a.dest_qp_num = peer.qp_num;
        a.max_dest_rd_atomic = 16;
        a.min_rnr_timer = timing.min_rnr_timer;
        a.ah_attr.dlid = peer.lid;
        a.ah_attr.port_num = host_.options.port;
        int mask = IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;
        if (is_reliable()) mask |= IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
        return ibv_modify_qp(qp_, &a, mask);
    }
    int ready_to_send(const Timing& timing = {}) {
        ibv_qp_attr a{};
        a.qp_state = IBV_QPS_RTS;
        a.timeout = timing.timeout;
        a.retry_cnt = timing.retry_cnt;
        a.rnr_retry = timing.rnr_retry;
        a.max_rd_atomic = 16;
        int mask = IBV_QP_STATE | IBV_QP_SQ_PSN;
        if (is_reliable()) {
            mask |= IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC;
        }
        return ibv_modify_qp(qp_, &a, mask);
    }
    int to_error() {
        ibv_qp_attr a{};
        a.qp_state = IBV_QPS_ERR;
        return ibv_modify_qp(qp_, &a, IBV_QP_STATE);
    }
    void connect(const Address& peer, const Timing& timing = {}) {
        require_done(ready_to_receive(peer, timing), "RTR");
        require_done(ready_to_send(timing), "RTS");
    }
    /// Exchanges addresses over the channel and connects. @return the peer's address.
    Address connect(Channel& channel, const Timing& timing = {}) {
        channel.send(address());
        const auto peer = channel.receive<Address>();
        connect(peer, timing);
        channel.meet();
        return peer;
    }
    ibv_qp_state state() const {
        ibv_qp_attr attributes;
        ibv_qp_init_attr init;
        ibv_query_qp(qp_, &attributes, IBV_QP_STATE, &init);
        return attributes.qp_state;
    }

    int post_receive(std::uint64_t id, std::vector<ibv_sge> sges) {
        ibv_recv_wr wr{};
        wr.wr_id = id;
        wr.sg_list = sges.data();
        wr.num_sge = static_cast<int>(sges.size());
        ibv_recv_wr* bad = nullptr;
        return host_.srq ? ibv_post_srq_recv(host_.srq, &wr, &bad) : ibv_post_recv(qp_, &wr, &bad);
    }
    static ibv_send_wr request(std::uint64_t id, ibv_wr_opcode opcode, std::vector<ibv_sge>& sges,
                               unsigned flags = IBV_SEND_SIGNALED) {
        ibv_send_wr wr{};
        wr.wr_id = id;
        wr.opcode = opcode;
        wr.send_flags = flags;
        wr.sg_list = sges.data();
        wr.num_sge = static_cast<int>(sges.size());
        return wr;
    }
    int post(ibv_send_wr wr) {
        ibv_send_wr* bad = nullptr;
        return ibv_post_send(qp_, &wr, &bad);
    }
    int send(std::uint64_t id, std::vector<ibv_sge> sges, unsigned flags = IBV_SEND_SIGNALED) {
        return post(request(id, IBV_WR_SEND, sges, flags));
    }
    int rdma(std::uint64_t id, ibv_wr_opcode opcode, std::vector<ibv_sge> sges,
             std::uint64_t remote, std::uint32_t rkey, unsigned flags = IBV_SEND_SIGNALED,
             std::uint32_t imm = 0) {
        ibv_send_wr wr = request(id, opcode, sges, flags);
        wr.wr.rdma.remote_addr = remote;
        wr.wr.rdma.rkey = rkey;
        wr.imm_data = imm;
        return post(wr);
    }
    int atomic(std::uint64_t id, ibv_wr_opcode opcode, ibv_sge result, std::uint64_t remote,
               std::uint32_t rkey, std::uint64_t compare_add, std::uint64_t swap = 0) {
        std::vector<ibv_sge> sges{result};
        ibv_send_wr wr = request(id, opcode, sges);
        wr.wr.atomic.remote_addr = remote;
        wr.wr.atomic.rkey = rkey;
        wr.wr.atomic.compare_add = compare_add;
        wr.wr.atomic.swap = swap;
        return post(wr);
    }

  private:
    static void require_done(int cause, const std::string& what) {
        require(cause == 0, what + ": " + strerror(cause));
    }
    bool is_reliable() const { return qp_->qp_type != IBV_QPT_UC && qp_->qp_type != IBV_QPT_UD; }

    Host& host_;
    ibv_qp* qp_ = nullptr;
};

/// Runs each test on every path by which payload reaches a peer. The parameter is the value of
/// SOFTVERBS_COPY, or "shared" for memory that the library provides.
class OnBothPaths : public testing::TestWithParam<const char*> {
  protected:
    OnBothPaths() {
        const std::string way = GetParam();
        provided_memory = way == "shared";
        if (!provided_memory) setenv("SOFTVERBS_COPY", GetParam(), 1);
    }
    ~OnBothPaths() override {
        unsetenv("SOFTVERBS_COPY");
        provided_memory = false;
    }
    TemporaryFabric fabric_;
};
#define INSTANTIATE_ON_BOTH_PATHS(suite)                                        \
    INSTANTIATE_TEST_SUITE_P(ByProcessVm, suite, testing::Values("process_vm"), \
                             [](const auto&) { return std::string("soft0"); }); \
    INSTANTIATE_TEST_SUITE_P(BySharedPages, suite, testing::Values("shared"),   \
                             [](const auto&) { return std::string("soft0"); }); \
    INSTANTIATE_TEST_SUITE_P(ByAgent, suite, testing::Values("agent"),          \
                             [](const auto&) { return std::string("soft0"); })

/// A pattern that differs from place to place and from round to round.
inline std::uint8_t pattern(std::size_t at, std::uint32_t round) {
    return static_cast<std::uint8_t>(at * 131 + at / 256 * 7 + round * 29 + 1);
}
inline void fill(std::uint8_t* data, std::size_t length, std::uint32_t round) {
    for (std::size_t i = 0; i < length; ++i) data[i] = pattern(i, round);
}
inline bool holds(const std::uint8_t* data, std::size_t length, std::uint32_t round) {
    for (std::size_t i = 0; i < length; ++i)
        if (data[i] != pattern(i, round)) return false;
    return true;
}

}  // namespace test
