// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The measurements of dat_perf with verbs only: the same loops and waits, depth, rate of signalled
/// requests, clock and histogram, without DAT. perftest differs in some of these: each of its
/// writes is signalled, its sends are signalled at another rate, and its medians are of another
/// distribution.
///
/// usage: verbs_perf DEVICE GID_INDEX latency|bandwidth send|write|read BYTES COUNT CPU PEER_CPU
///        [requester|responder IN OUT]
/// Prints microseconds (half a round trip for send and write, the median), or 10^6 bytes a second.
/// Without a role it forks, and runs both. The descriptors IN and OUT are pipes from and to the
/// other side, which may be in another container.
#include <infiniband/verbs.h>
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "test/bench/processes.hpp"
#include "tools/perf/histogram.hpp"
#include "tools/perf/spin.hpp"
#include "tools/perf/ticks.hpp"

namespace {

constexpr unsigned kDepth = 128;
constexpr unsigned kReceives = 2 * kDepth;
constexpr unsigned kSignalRate = 32;
constexpr unsigned kBurst = 16;
constexpr std::size_t kApart = 4096;  ///< distance of what the two sides write
constexpr std::uint32_t kInlineBytes = 64;
constexpr std::uint8_t kReadsAtOnce = 16;
constexpr int kAccess = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ;
constexpr std::uint64_t kReceive = 1ULL << 32;  ///< wr_id of a receive; that of a request is how
                                                ///< many it completes

void require(bool good, const char* what) {
    if (good) return;
    std::fprintf(stderr, "verbs_perf: %s failed: %s\n", what, std::strerror(errno));
    std::exit(1);
}

struct Options {
    std::string device;
    std::uint8_t gid_index;
    bool latency;
    ibv_wr_opcode operation;
    std::uint32_t bytes;
    std::uint64_t count;
    int cpu, peer_cpu;
};

/// What one side sends to the other before they connect.
struct Place {
    std::uint32_t queue_pair, key;
    std::uint64_t address, credit;
    ibv_gid gid;
};

void pin_to(int cpu) {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(cpu, &set);
    require(sched_setaffinity(0, sizeof set, &set) == 0, "sched_setaffinity");
}

class Side {
  public:
    explicit Side(const Options& options) : options_(options), memory_(4 * part()) {
        open();
        domain_ = ibv_alloc_pd(context_);
        queue_ = ibv_create_cq(context_, kReceives + kDepth + kBurst, nullptr, nullptr, 0);
        require(domain_ && queue_, "the first objects");
        region_ = ibv_reg_mr(domain_, memory_.data(), memory_.size(), kAccess);
        require(region_, "ibv_reg_mr");
        create_queue_pair();
        for (unsigned left = kReceives; left > 0; --left) post_receive();
    }
    void meet(int in, int out) {
        Place own{pair_->qp_num, region_->rkey, address(part()), address_of_credit(0), {}};
        require(ibv_query_gid(context_, 1, options_.gid_index, &own.gid) == 0, "ibv_query_gid");
        require(write(out, &own, sizeof own) == sizeof own, "write");
        require(read(in, &peer_, sizeof peer_) == sizeof peer_, "read");
        connect();
    }
    /// Resets the counters for a pass; must precede the start of the pass on the other side.
    void prepare(std::uint64_t count) {
        left_ = count;
        patience_ = {};
        posted_ = received_ = 0;
        credit(0) = 0;
        last_byte_in() = 0;
    }
    void run(bool requester, perf::Histogram& ticks) {
        if (!options_.latency) return stream(requester);
        if (options_.operation == IBV_WR_SEND) return exchange_messages(requester, ticks);
        if (options_.operation == IBV_WR_RDMA_WRITE) return exchange_writes(requester, ticks);
        if (requester) one_at_a_time(ticks);
    }

  private:
    void open() {
        int devices = 0;
        ibv_device** list = ibv_get_device_list(&devices);
        for (int i = 0; list && i < devices; ++i)
            if (options_.device == ibv_get_device_name(list[i]))
                context_ = ibv_open_device(list[i]);
        require(context_, "ibv_open_device");
        ibv_free_device_list(list);
    }
    void create_queue_pair() {
        ibv_qp_init_attr wanted{};
        wanted.send_cq = wanted.recv_cq = queue_;
        wanted.qp_type = IBV_QPT_RC;
        wanted.cap = {kDepth + kBurst, kReceives, 1, 1, kInlineBytes};
        pair_ = ibv_create_qp(domain_, &wanted);
        require(pair_, "ibv_create_qp");
        ibv_qp_attr first{};
        first.qp_state = IBV_QPS_INIT;
        first.port_num = 1;
        first.qp_access_flags = kAccess;
        require(ibv_modify_qp(
                    pair_, &first,
                    IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS) == 0,
                "the initial state");
    }
    void connect() {
        ibv_port_attr port{};
        require(ibv_query_port(context_, 1, &port) == 0, "ibv_query_port");
        ibv_qp_attr receive{};
        receive.qp_state = IBV_QPS_RTR;
        receive.ah_attr.is_global = 1;
        receive.ah_attr.grh.dgid = peer_.gid;
        receive.ah_attr.grh.sgid_index = options_.gid_index;
        receive.ah_attr.grh.hop_limit = 64;
        receive.ah_attr.port_num = 1;
        receive.path_mtu = port.active_mtu;
        receive.dest_qp_num = peer_.queue_pair;
        receive.max_dest_rd_atomic = kReadsAtOnce;
        receive.min_rnr_timer = 12;
        require(ibv_modify_qp(pair_, &receive,
                              IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
                                  IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
                                  IBV_QP_MIN_RNR_TIMER) == 0,
                "ready to receive");
        ibv_qp_attr send{};
        send.qp_state = IBV_QPS_RTS;
        send.timeout = 18;
        send.retry_cnt = send.rnr_retry = 7;
        send.max_rd_atomic = kReadsAtOnce;
        require(ibv_modify_qp(pair_, &send,
                              IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
                                  IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC) == 0,
                "ready to send");
    }

    // Layout of memory_: data to send, data received, incoming credit, outgoing credit.
    std::size_t part() const { return (options_.bytes + kApart - 1) / kApart * kApart; }
    std::uint64_t address(std::size_t offset) const {
        return reinterpret_cast<std::uintptr_t>(memory_.data()) + offset;
    }
    std::uint64_t address_of_credit(unsigned which) const { return address((2 + which) * part()); }
    volatile std::uint64_t& credit(unsigned which) {
        return *reinterpret_cast<volatile std::uint64_t*>(address_of_credit(which));
    }
    unsigned char& last_byte_out() { return memory_[options_.bytes - 1]; }
    volatile unsigned char& last_byte_in() { return memory_[part() + options_.bytes - 1]; }

    void post_receive() {
        ibv_sge where{address(part()), options_.bytes, region_->lkey};
        ibv_recv_wr receive{};
        ibv_recv_wr* bad = nullptr;
        receive.wr_id = kReceive;
        receive.sg_list = &where;
        receive.num_sge = 1;
        require(ibv_post_recv(pair_, &receive, &bad) == 0, "ibv_post_recv");
    }
    void post_request(ibv_wr_opcode opcode, ibv_sge from, std::uint64_t to, bool signalled,
                      std::uint64_t id) {
        ibv_send_wr request{};
        ibv_send_wr* bad = nullptr;
        request.wr_id = id;
        request.sg_list = &from;
        request.num_sge = 1;
        request.opcode = opcode;
        if (signalled) request.send_flags |= IBV_SEND_SIGNALED;
        if (from.length <= kInlineBytes && opcode != IBV_WR_RDMA_READ)
            request.send_flags |= IBV_SEND_INLINE;
        request.wr.rdma.remote_addr = to;
        request.wr.rdma.rkey = peer_.key;
        require(ibv_post_send(pair_, &request, &bad) == 0, "ibv_post_send");
        ++outstanding_;
    }
    void post(bool last) {
        const bool signalled = last || ++unsignalled_ >= kSignalRate;
        const bool read = options_.operation == IBV_WR_RDMA_READ;
        const std::uint64_t covered = last ? unsignalled_ + 1 : unsignalled_;
        if (signalled) unsignalled_ = 0;
        post_request(options_.operation,
                     {address(read ? part() : 0), options_.bytes, region_->lkey},
                     read ? peer_.address - part() : peer_.address, signalled, covered);
        ++posted_;
        --left_;
        post_owed();
    }
    void post_owed() {
        for (; owed_ > 0; --owed_) post_receive();
    }
    /// Writes to the sender of a stream of sends how many have been received.
    void give_credit() {
        credit(1) = received_;
        post_request(IBV_WR_RDMA_WRITE,
                     {address_of_credit(1), sizeof(std::uint64_t), region_->lkey}, peer_.credit,
                     true, 1);
    }
    bool has_room() {
        if (outstanding_ >= kDepth) return false;
        return options_.latency || options_.operation != IBV_WR_SEND ||
               posted_ - credit(0) < kReceives;
    }
    /// @return the number of completions consumed.
    int take() {
        ibv_wc done[kBurst];
        const int count = ibv_poll_cq(queue_, kBurst, done);
        require(count >= 0, "ibv_poll_cq");
        for (int i = 0; i < count; ++i) {
            if (done[i].status != IBV_WC_SUCCESS) {
                std::fprintf(stderr, "verbs_perf: %s\n", ibv_wc_status_str(done[i].status));
                std::exit(1);
            }
            if (done[i].wr_id != kReceive) {
                outstanding_ -= static_cast<unsigned>(done[i].wr_id);
                continue;
            }
            ++owed_;
            if (!options_.latency) post_owed();
            ++received_;
            if (!options_.latency && received_ % (kReceives / 4) == 0) give_credit();
        }
        return count;
    }
    /// Takes completions until has_come() says so.
    template <class HasCome>
    void take_until(HasCome has_come) {
        perf::SpinWait wait(patience_, perf::SpinWait::For::kQueue);
        while (!has_come())
            if (take() == 0) wait.idle();
    }
    void drain() {
        take_until([this] { return outstanding_ == 0; });
        post_owed();
    }
    /// As dat_perf: a time is recorded while the next operation is under way.
    template <class Post, class Wait>
    void timed(perf::Histogram& ticks, Post post, Wait wait) {
        std::uint64_t before = perf::ticks();
        std::uint64_t took = 0;
        while (left_ > 0) {
            post();
            if (took != 0) ticks.add(took);
            wait();
            const std::uint64_t after = perf::ticks();
            took = after - before;
            before = after;
        }
        if (took != 0) ticks.add(took);
        drain();
    }
    void post_when_there_is_room() {
        take_until([this] { return has_room(); });
        post(left_ == 1);
    }
    void exchange_messages(bool requester, perf::Histogram& ticks) {
        std::uint64_t before = 0;
        timed(
            ticks,
            [&] {
                before = received_;
                if (requester) post_when_there_is_room();
            },
            [&] {
                take_until([&] { return received_ != before; });
                if (!requester) post_when_there_is_room();
            });
    }
    void exchange_writes(bool requester, perf::Histogram& ticks) {
        unsigned char value = 0;
        timed(
            ticks,
            [&] {
                value = static_cast<unsigned char>(posted_ + 1);
                last_byte_out() = value;
                if (requester) post_when_there_is_room();
            },
            [&] {
                perf::SpinWait wait(patience_, perf::SpinWait::For::kMemory);
                while (last_byte_in() != value) wait.idle();
                std::atomic_thread_fence(std::memory_order_acquire);
                if (!requester) post_when_there_is_room();
            });
    }
    void one_at_a_time(perf::Histogram& ticks) {
        timed(
            ticks, [&] { post(true); }, [&] { drain(); });
    }
    void stream(bool requester) {
        if (!requester) {
            if (options_.operation != IBV_WR_SEND) return;
            take_until([this] { return received_ >= left_; });
            return drain();
        }
        while (left_ > 0) {
            for (unsigned burst = 0; burst < kBurst && left_ > 0 && has_room(); ++burst)
                post(left_ == 1);
            take_until([this] { return has_room(); });
        }
        drain();
    }

    const Options& options_;
    std::vector<unsigned char> memory_;
    ibv_context* context_ = nullptr;
    ibv_pd* domain_ = nullptr;
    ibv_cq* queue_ = nullptr;
    ibv_mr* region_ = nullptr;
    ibv_qp* pair_ = nullptr;
    Place peer_{};
    std::uint64_t left_ = 0;      ///< to post, or to receive, in this pass
    std::uint64_t posted_ = 0;    ///< in this pass
    std::uint64_t received_ = 0;  ///< in this pass
    unsigned outstanding_ = 0;
    unsigned unsignalled_ = 0;
    unsigned owed_ = 0;  ///< receives to be posted again, after the answer to a message
    support::PollPatience patience_;  ///< of the pass
};

/// Runs a pass to warm up, and then the measured one.
template <class Pass>
void run_passes(Side& side, std::uint64_t count, int in, int out, const Pass& pass) {
    for (const std::uint64_t operations : {count / 5 + 1, count}) {
        side.prepare(operations);
        tell(out);
        hear(in);
        pass(operations);
    }
    tell(out);
    hear(in);
}

void serve(const Options& options, int in, int out) {
    pin_to(options.peer_cpu);
    Side side(options);
    side.meet(in, out);
    run_passes(side, options.count, in, out, [&](std::uint64_t) {
        perf::Histogram unused;
        side.run(false, unused);
    });
}

void measure(const Options& options, int in, int out) {
    pin_to(options.cpu);
    const perf::TickLength tick_length;
    Side side(options);
    side.meet(in, out);
    double result = 0;
    run_passes(side, options.count, in, out, [&](std::uint64_t operations) {
        perf::Histogram ticks;
        const Stopwatch watch;
        side.run(true, ticks);
        const double bytes = static_cast<double>(operations) * options.bytes;
        const double ways = options.operation == IBV_WR_RDMA_READ ? 1 : 2;
        result = options.latency ? static_cast<double>(ticks.percentile(50)) *
                                       tick_length.nanoseconds() / 1e3 / ways
                                 : bytes / watch.seconds() / 1e6;
    });
    std::printf("%.3f\n", result);
}

}  // namespace

int main(int argc, char** argv) {
    const std::string role = argc == 12 ? argv[9] : "";
    const bool is_side = role == "requester" || role == "responder";
    const std::string test = argc == 9 || is_side ? argv[3] : "";
    const std::string operation = argc == 9 || is_side ? argv[4] : "";
    const bool known = (test == "latency" || test == "bandwidth") &&
                       (operation == "send" || operation == "write" || operation == "read");
    if (!known || std::atoi(argv[5]) < 1 || std::atoi(argv[6]) < 1) {
        std::fprintf(stderr,
                     "usage: verbs_perf DEVICE GID_INDEX latency|bandwidth send|write|read BYTES "
                     "COUNT CPU PEER_CPU [requester|responder IN OUT]\n");
        return 2;
    }
    const Options options{argv[1],
                          static_cast<std::uint8_t>(std::atoi(argv[2])),
                          test == "latency",
                          operation == "send"    ? IBV_WR_SEND
                          : operation == "write" ? IBV_WR_RDMA_WRITE
                                                 : IBV_WR_RDMA_READ,
                          static_cast<std::uint32_t>(std::atoi(argv[5])),
                          static_cast<std::uint64_t>(std::atoi(argv[6])),
                          std::atoi(argv[7]),
                          std::atoi(argv[8])};
    if (is_side) {
        const auto& run = role == "requester" ? measure : serve;
        run(options, std::atoi(argv[10]), std::atoi(argv[11]));
        return 0;
    }
    return run_both([&](int in, int out) { measure(options, in, out); },
                    [&](int in, int out) { serve(options, in, out); });
}
