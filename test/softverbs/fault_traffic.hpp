// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The processes of the tests about dying besides the survivor: a client that uses every operation
/// of a connection and checks the outcome, and the nursery that starts and ends clients. The
/// nursery is forked before its parent has threads, and has none itself.
#pragma once

#include <arpa/inet.h>
#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>
#include <sys/mman.h>

#include <atomic>
#include <cstdint>
#include <vector>

#include "providers/soft/softverbs/failure.hpp"
#include "test/softverbs/verbs_pair.hpp"
#include "test/support/process.hpp"

namespace test {

/// A client's description of itself, sent as private data of its connection request.
struct ClientHello {
    std::uint64_t address = 0;  ///< of its memory
    std::uint32_t rkey = 0;
    std::uint32_t number = 0;
    bool is_steady = false;          ///< its messages are counted, and it disconnects at the end
    bool shares_receives = false;    ///< both ends use a shared receive queue
    bool breaks_connection = false;  ///< with a write that is not permitted, after other requests
};

/// The survivor's first message.
struct Welcome {
    std::uint64_t pattern_address;
    std::uint64_t area_address;
    std::uint32_t rkey;
    std::uint32_t window_key;
};

/// Header of every message that consumes a receive, except for a write with immediate data.
struct MessageHead {
    std::uint32_t sequence;
    std::uint32_t length;
    std::uint32_t sum;
};

inline std::uint32_t checksum(const std::uint8_t* data, std::size_t length) {
    std::uint32_t sum = 17;
    for (std::size_t i = 0; i < length; ++i) sum = sum * 31 + data[i];
    return sum;
}
inline void write_message(std::uint8_t* at, std::uint32_t length, std::uint32_t sequence) {
    MessageHead head{sequence, length, 0};
    fill(at + sizeof head, length - sizeof head, sequence);
    head.sum = checksum(at + sizeof head, length - sizeof head);
    std::memcpy(at, &head, sizeof head);
}
inline bool is_message(const std::uint8_t* at, std::uint32_t length, std::uint32_t sequence) {
    MessageHead head;
    if (length < sizeof head) return false;
    std::memcpy(&head, at, sizeof head);
    return head.sequence == sequence && head.length == length &&
           head.sum == checksum(at + sizeof head, length - sizeof head);
}

// A client's part of the survivor's memory.
inline constexpr std::size_t kImmediateSlots =
    128;  ///< more than receives, so that no slot is overwritten before it is checked
inline constexpr std::size_t kImmediateSize = 256;
inline constexpr std::size_t kCounterAt = kImmediateSlots * kImmediateSize;
inline constexpr std::size_t kSwapAt = kCounterAt + 8;
inline constexpr std::size_t kBulkAt = kCounterAt + 64;
inline constexpr std::size_t kBulkSize = 20000;
inline constexpr std::size_t kAreaSize = kBulkAt + kBulkSize + 224;
inline constexpr std::size_t kPatternSize = 2000;
inline constexpr std::uint32_t kPatternRound = 77;

// A client's memory.
inline constexpr std::size_t kSlotSize = 24 << 10;
inline constexpr std::size_t kWindow = 4;  ///< outstanding requests
inline constexpr std::size_t kClientReceives = 16;
inline constexpr std::size_t kReceiveSize = 4096;
inline constexpr std::size_t kClientReceivesAt = kWindow * kSlotSize;
inline constexpr std::size_t kClientAreaAt = kClientReceivesAt + kClientReceives * kReceiveSize;
inline constexpr std::size_t kClientMemory = kClientAreaAt + kBulkSize + 480;

/// State that all processes of a test share.
struct SharedState {
    std::atomic<bool> stop{false};  ///< the steady client is to end
    std::atomic<bool> ended{false};
    std::atomic<std::uint32_t> steady_total{0};  ///< messages that the steady client has sent
    std::atomic<bool> steady_done{false};
    std::atomic<std::uint32_t> reached[64]{};  ///< how often each fault point was reached

    static SharedState& make() {
        void* memory = mmap(nullptr, sizeof(SharedState), PROT_READ | PROT_WRITE,
                            MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        if (memory == MAP_FAILED) throw std::runtime_error("mmap failed");
        return *new (memory) SharedState;
    }
};

/// @return the cause of the failure, for messages.
inline std::string why_failed(ibv_qp* qp) {
    verbs::QueuePairFailure failure{};
    if (!softverbs_failure_of(qp, &failure)) return ", cause unknown";
    return ", cause " + std::to_string(static_cast<int>(failure.cause)) + ", process " +
           std::to_string(failure.pid);
}

class TrafficClient {
  public:
    TrafficClient(SharedState& shared, const ClientHello& hello, std::uint16_t port)
        : shared_(shared), hello_(hello), memory_(kClientMemory) {
        sockaddr_in to{};
        to.sin_family = AF_INET;
        to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        to.sin_port = htons(port);
        require(rdma_create_id(nullptr, &id_, nullptr, RDMA_PS_TCP) == 0, "an identifier");
        require(rdma_resolve_addr(id_, nullptr, reinterpret_cast<sockaddr*>(&to), 5000) == 0,
                "the survivor's address");
        require(rdma_resolve_route(id_, 5000) == 0, "the route");
        make_queues();
        connect();
    }

    /// Sends until it is killed; the steady client sends until it is told to stop.
    void run() {
        wait_until([&] { return welcome_.rkey != 0; });
        if (welcome_.window_key != 0) post_invalidate();
        for (std::uint32_t turn = 0; !(hello_.is_steady && shared_.stop.load()); ++turn) {
            if (hello_.breaks_connection && turn == 20) post_bad_write();
            post(turn);
            usleep(30);  // leaves processor time for the others
        }
        wait_until([&] { return outstanding_ == 0; });
        shared_.steady_total = sequence_;
        shared_.steady_done = true;
        wait_until([&] { return shared_.ended.load(); });
        rdma_disconnect(id_);
    }

  private:
    void make_queues() {
        fill(memory_.data() + kClientAreaAt, kPatternSize, kPatternRound);
        mr_ = ibv_reg_mr(id_->pd, memory_.data(), memory_.size(), kAllAccess);
        cq_ = ibv_create_cq(id_->verbs, 256, nullptr, nullptr, 0);
        require(mr_ && cq_, "memory and a completion queue");
        if (hello_.shares_receives) {
            ibv_srq_init_attr attributes{};
            attributes.attr.max_wr = kClientReceives;
            attributes.attr.max_sge = 1;
            srq_ = ibv_create_srq(id_->pd, &attributes);
            require(srq_ != nullptr, "a shared receive queue");
        }
        ibv_qp_init_attr attributes{};
        attributes.send_cq = attributes.recv_cq = cq_;
        attributes.srq = srq_;
        attributes.qp_type = IBV_QPT_RC;
        attributes.sq_sig_all = 1;
        attributes.cap = {16, kClientReceives, 1, 1, 0};
        require(rdma_create_qp(id_, id_->pd, &attributes) == 0, "a queue pair");
        for (std::uint64_t i = 0; i < kClientReceives; ++i) post_receive(i);
    }

    void connect() {
        hello_.address = address(0);
        hello_.rkey = mr_->rkey;
        rdma_conn_param parameters{};
        parameters.private_data = &hello_;
        parameters.private_data_len = sizeof hello_;
        parameters.responder_resources = parameters.initiator_depth = 4;
        parameters.retry_count = parameters.rnr_retry_count = 7;
        require(rdma_connect(id_, &parameters) == 0, "a connection");
    }

    std::uint64_t address(std::size_t offset) const {
        return reinterpret_cast<std::uintptr_t>(memory_.data()) + offset;
    }

    void post_receive(std::uint64_t id) {
        ibv_sge sge{address(kClientReceivesAt + id * kReceiveSize), kReceiveSize, mr_->lkey};
        ibv_recv_wr wr{};
        wr.wr_id = id;
        wr.sg_list = &sge;
        wr.num_sge = 1;
        ibv_recv_wr* bad = nullptr;
        const int error =
            srq_ ? ibv_post_srq_recv(srq_, &wr, &bad) : ibv_post_recv(id_->qp, &wr, &bad);
        require(error == 0, "a receive");
    }

    void submit(ibv_send_wr& wr, std::uint32_t length) {
        wait_until([&] { return outstanding_ < kWindow; });
        ibv_sge sge{address(slot_ * kSlotSize), length, mr_->lkey};
        wr.wr_id = 1000 + slot_;
        wr.sg_list = &sge;
        wr.num_sge = length ? 1 : 0;
        ibv_send_wr* bad = nullptr;
        require(ibv_post_send(id_->qp, &wr, &bad) == 0, "a request");
        ++outstanding_;
        slot_ = (slot_ + 1) % kWindow;
    }

    /// @return the slot of the next request. It is free once fewer than kWindow are outstanding,
    /// because requests complete in order.
    std::uint8_t* slot() {
        wait_until([&] { return outstanding_ < kWindow; });
        return memory_.data() + slot_ * kSlotSize;
    }

    void send(ibv_wr_opcode opcode, std::uint32_t length) {
        write_message(slot(), length, sequence_);
        ibv_send_wr wr{};
        wr.opcode = opcode;
        wr.imm_data = htonl(sequence_++);
        submit(wr, length);
    }

    void post_invalidate() {
        write_message(slot(), 40, sequence_++);
        ibv_send_wr wr{};
        wr.opcode = IBV_WR_SEND_WITH_INV;
        wr.invalidate_rkey = welcome_.window_key;
        submit(wr, 40);
    }

    void post_bad_write() {
        ibv_send_wr wr{};
        wr.opcode = IBV_WR_RDMA_WRITE;
        wr.wr.rdma = {welcome_.area_address, welcome_.rkey ^ 0x100};
        submit(wr, 8);
    }

    void one_sided(ibv_wr_opcode opcode, std::uint64_t remote, std::uint32_t length) {
        ibv_send_wr wr{};
        wr.opcode = opcode;
        wr.imm_data = htonl(sequence_);
        wr.wr.rdma = {remote, welcome_.rkey};
        submit(wr, length);
    }

    void atomic(ibv_wr_opcode opcode, std::size_t offset, std::uint64_t compare,
                std::uint64_t swap) {
        expected_[slot_] = compare_of(opcode);
        ibv_send_wr wr{};
        wr.opcode = opcode;
        wr.wr.atomic = {welcome_.area_address + offset, compare, swap, welcome_.rkey};
        submit(wr, 8);
    }
    /// @return what the word holds before the operation: nobody else changes it.
    std::uint64_t compare_of(ibv_wr_opcode opcode) {
        return opcode == IBV_WR_ATOMIC_FETCH_AND_ADD ? added_++ : swapped_++;
    }

    void post(std::uint32_t turn) {
        slot();  // waits until the slot is free
        kinds_[slot_] = turn % 9;
        switch (turn % 9) {
            case 0:
                return send(IBV_WR_SEND, 16);
            case 1:
                return send(IBV_WR_SEND, 150);
            case 2: {
                fill(slot(), 200, sequence_);
                const std::size_t place = sequence_ % kImmediateSlots * kImmediateSize;
                one_sided(IBV_WR_RDMA_WRITE_WITH_IMM, welcome_.area_address + place, 200);
                ++sequence_;
                return;
            }
            case 3:
                return send(IBV_WR_SEND, 3000);
            case 4:
                return atomic(IBV_WR_ATOMIC_FETCH_AND_ADD, kCounterAt, 1, 0);
            case 5:
                return one_sided(IBV_WR_RDMA_READ, welcome_.pattern_address, kPatternSize);
            case 6:
                return send(IBV_WR_SEND_WITH_IMM, 700);
            case 7:
                return atomic(IBV_WR_ATOMIC_CMP_AND_SWP, kSwapAt, swapped_, swapped_ + 1);
            default:
                fill(slot(), kBulkSize, turn);
                return one_sided(IBV_WR_RDMA_WRITE, welcome_.area_address + kBulkAt, kBulkSize);
        }
    }

    template <class Condition>
    void wait_until(Condition condition) {
        const auto end = Clock::now() + kDeadline;
        while (!condition()) {
            ibv_wc wc;
            const int found = ibv_poll_cq(cq_, 1, &wc);
            require(found >= 0, "poll succeeds");
            if (found == 1) finish(wc);
            if (found == 0) {
                require(Clock::now() < end, "the survivor answers in time");
                usleep(20);
            }
        }
    }

    void finish(const ibv_wc& wc) {
        require(wc.status == IBV_WC_SUCCESS || hello_.breaks_connection,
                std::string("client's request: ") + ibv_wc_status_str(wc.status) + ", " +
                    std::to_string(wc.wr_id) + ", kind " +
                    std::to_string(wc.wr_id < 1000 ? -1 : kinds_[wc.wr_id - 1000]) +
                    why_failed(id_->qp));
        if (wc.wr_id < 1000) return finish_receive(wc);
        --outstanding_;
        const std::size_t slot = wc.wr_id - 1000;
        const std::uint8_t* data = memory_.data() + slot * kSlotSize;
        if (kinds_[slot] == 5) require(holds(data, kPatternSize, kPatternRound), "what was read");
        if (kinds_[slot] == 4 || kinds_[slot] == 7) {
            std::uint64_t found;
            std::memcpy(&found, data, sizeof found);
            require(found == expected_[slot], "what the atomic operation found");
        }
    }

    void finish_receive(const ibv_wc& wc) {
        const std::uint8_t* data = memory_.data() + kClientReceivesAt + wc.wr_id * kReceiveSize;
        if (welcome_.rkey == 0) {
            require(wc.byte_len == sizeof welcome_, "a welcome");
            std::memcpy(&welcome_, data, sizeof welcome_);
        } else {
            require(is_message(data, wc.byte_len, received_++), "the survivor's next message");
        }
        post_receive(wc.wr_id);
    }

    SharedState& shared_;
    ClientHello hello_;
    std::vector<std::uint8_t> memory_;
    rdma_cm_id* id_ = nullptr;
    ibv_cq* cq_ = nullptr;
    ibv_mr* mr_ = nullptr;
    ibv_srq* srq_ = nullptr;
    Welcome welcome_{};
    std::uint32_t sequence_ = 0;
    std::uint32_t received_ = 0;
    std::uint64_t added_ = 0;
    std::uint64_t swapped_ = 0;
    std::size_t outstanding_ = 0;
    std::size_t slot_ = 0;
    std::uint32_t kinds_[kWindow] = {};
    std::uint64_t expected_[kWindow] = {};
};

/// Starts and ends clients on its parent's command.
class Nursery {
  public:
    /// Runs in a client's process before the client begins; `detail` is the caller's.
    using Preparation = std::function<void(std::uint32_t detail)>;

    Nursery(SharedState& shared, Preparation prepare)
        : child_([&shared, prepare](Channel& channel) { serve(shared, prepare, channel); }) {}
    ~Nursery() { child_.kill(SIGTERM); }

    pid_t start(const ClientHello& hello, std::uint16_t port, std::uint32_t detail = 0) {
        child_.channel().send(Command{hello, port, detail, 0});
        return child_.channel().receive<pid_t>();
    }
    /// Runs a process that joins the fabric and leaves it, which removes what clients left behind
    /// that were killed before any member knew them.
    void visit() { require(wait(start({}, 0)) == 0, "the fabric can be joined"); }
    /// @return the status as Child::wait() gives it.
    int end(pid_t client) {
        ::kill(client, SIGKILL);
        return wait(client);
    }
    int wait(pid_t client) {
        child_.channel().send(Command{{}, 0, 0, client});
        return child_.channel().receive<int>();
    }

  private:
    struct Command {
        ClientHello hello;
        std::uint16_t port;
        std::uint32_t detail;
        pid_t awaited;  ///< 0: start a client
    };

    [[noreturn]] static void serve(SharedState& shared, const Preparation& prepare,
                                   Channel& channel) {
        for (;;) {
            const auto command = channel.receive_whenever<Command>();
            if (command.awaited != 0) {
                channel.send(status_of(command.awaited));
                continue;
            }
            const pid_t client = fork();
            if (client == 0) live(shared, prepare, command);
            channel.send(client);
        }
    }

    static int status_of(pid_t client) {
        int status = 0;
        if (!eventually([&] { return waitpid(client, &status, WNOHANG) == client; }, scaled(50s)))
            return -1;
        return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    }

    [[noreturn]] static void live(SharedState& shared, const Preparation& prepare,
                                  const Command& command) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        int status = 0;
        try {
            if (prepare) prepare(command.detail);
            if (command.port == 0)
                ibv_close_device(open_soft0());
            else
                TrafficClient(shared, command.hello, command.port).run();
        } catch (const std::exception& error) {
            fprintf(stderr, "client %u: %s\n", command.hello.number, error.what());
            status = 1;
        }
        fflush(nullptr);
        _exit(status);
    }

    Child child_;
};

}  // namespace test
