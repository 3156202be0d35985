// SPDX-License-Identifier: BSD-2-Clause
// Counters of IAs, EPs and EVDs: each counts what its name says, in the right object, between two
// real processes. Also resets, return codes and printing.
#include <dat2/dat_ib_extensions.h>
#include <dat2/dat_opendat.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <thread>

#include "test/api/side.hpp"

namespace {

using namespace test;

constexpr DAT_CONN_QUAL kQualifier = 4733;
constexpr DAT_COMPLETION_FLAGS kDefault = DAT_COMPLETION_DEFAULT_FLAG;

DAT_UINT64 counter(DAT_HANDLE handle, int which, bool reset = false) {
    DAT_UINT64 value = ~DAT_UINT64{0};
    succeed(dat_ib_query_counters(handle, which, &value, reset), "dat_ib_query_counters");
    return value;
}

void take(DAT_EVD_HANDLE evd) {
    DAT_EVENT event{};
    DAT_COUNT more = 0;
    succeed(dat_evd_wait(evd, kMicroseconds, 1, &event, &more), "dat_evd_wait");
}

/// All counters of an EP.
using EpValues = std::array<DAT_UINT64, DCNT_EP_ALL_COUNTERS>;
EpValues all_of(DAT_EP_HANDLE ep) {
    EpValues values{};
    succeed(dat_ib_query_counters(ep, DCNT_EP_ALL_COUNTERS, values.data(), 0), "all counters");
    return values;
}

/// Registered memory with all privileges, including remote atomic operations.
class Target {
  public:
    explicit Target(const Side& side) {
        DAT_REGION_DESCRIPTION region{};
        region.for_va = bytes_.data();
        DAT_VLEN size = 0;
        DAT_VADDR address = 0;
        DAT_LMR_CONTEXT local_key = 0;
        succeed(dat_lmr_create(side.ia, DAT_MEM_TYPE_VIRTUAL, region, sizeof bytes_, side.pz,
                               static_cast<DAT_MEM_PRIV_FLAGS>(DAT_MEM_PRIV_ALL_FLAG |
                                                               int{DAT_IB_MEM_PRIV_REMOTE_ATOMIC}),
                               DAT_VA_TYPE_VA, &lmr_, &local_key, &key_, &size, &address),
                "dat_lmr_create");
    }
    ~Target() { dat_lmr_free(lmr_); }
    Target(const Target&) = delete;
    Target& operator=(const Target&) = delete;
    Window window() const { return {reinterpret_cast<DAT_VADDR>(bytes_.data()), key_}; }

  private:
    std::array<DAT_UINT64, 8> bytes_{};
    DAT_LMR_HANDLE lmr_ = DAT_HANDLE_NULL;
    DAT_RMR_CONTEXT key_ = 0;
};

/// Counters of the passive side after it has received all messages.
struct Passive {
    EpValues ep;
    DAT_UINT64 listened, requested, accepted, answered, established;
};

/// The passive side: receives one message of each kind and sends its counters, before and after the
/// disconnect.
void serve(Channel& channel) {
    Side side;
    side.listen(kQualifier);
    channel.send('l');
    const DAT_EP_HANDLE ep = side.endpoint();
    Buffer memory(side, 64);
    Target target(side);
    DAT_LMR_TRIPLET all = memory.all();
    for (DAT_UINT64 i = 0; i < 3; ++i)
        succeed(dat_ep_post_recv(ep, 1, &all, cookie(i), kDefault), "dat_ep_post_recv");
    succeed(dat_cr_accept(side.request(), ep, 0, nullptr), "dat_cr_accept");
    side.connection_event(DAT_CONNECTION_EVENT_ESTABLISHED, ep);
    channel.send(target.window());
    for (int i = 0; i < 3; ++i) take(side.receives);
    channel.send(Passive{all_of(ep), counter(side.ia, DCNT_IA_CM_LISTEN),
                         counter(side.ia, DCNT_IA_SP_CR), counter(side.ia, DCNT_IA_SP_CR_ACCEPTED),
                         counter(side.ia, DCNT_IA_CM_REP_TX),
                         counter(side.ia, DCNT_IA_CM_PASSIVE_EST)});
    side.connection_event(DAT_CONNECTION_EVENT_DISCONNECTED, ep);
    channel.send(
        std::array{counter(side.ia, DCNT_IA_CM_DREQ_RX), counter(side.ia, DCNT_IA_CM_DREP_TX),
                   counter(side.ia, DCNT_IA_CM_DREQ_TX), counter(side.ia, DCNT_IA_CM_RTU_RX)});
}

/// Counters are extensions: skips the tests if the device has none.
class Counters : public testing::Test {
  protected:
    void SetUp() override {
        Child child([](Channel& channel) { channel.send(Side().has_extensions()); });
        if (!child.channel().receive<bool>()) GTEST_SKIP() << "the device has no extensions";
    }
    TemporaryFabric fabric_;
};

TEST_F(Counters, CountTransfersAndConnectionsOnBothSides) {
    Child child(serve);
    Channel& channel = child.channel();
    channel.receive<char>();
    Side side;
    const DAT_EP_HANDLE ep = side.connect_to(kQualifier);
    const auto window = channel.receive<Window>();
    Buffer buffer(side, 64);
    DAT_LMR_TRIPLET local = buffer.all();
    DAT_RMR_TRIPLET remote = window.part(48);

    local.segment_length = 40;
    succeed(dat_ep_post_send(ep, 1, &local, cookie(1), kDefault), "a send");
    take(side.sends);
    local.segment_length = 24;
    succeed(dat_ib_post_send_immed(ep, 1, &local, cookie(2), 7, kDefault), "a send with a number");
    take(side.sends);
    local.segment_length = 48;
    succeed(dat_ib_post_rdma_write_immed(ep, 1, &local, cookie(3), &remote, 7, kDefault),
            "a write with a number");
    take(side.sends);
    succeed(dat_ep_post_rdma_write(ep, 1, &local, cookie(4), &remote, kDefault), "a write");
    take(side.sends);
    succeed(dat_ep_post_rdma_read(ep, 1, &local, cookie(5), &remote, kDefault), "a read");
    take(side.sends);
    EXPECT_NE(dat_ep_post_rdma_write(ep, 1, &local, cookie(6), nullptr, kDefault), DAT_SUCCESS);
    local.segment_length = 8;
    remote.segment_length = 8;
    succeed(dat_ib_post_fetch_and_add(ep, 1, &local, cookie(7), &remote, kDefault), "an addition");
    take(side.sends);
    for (int i = 0; i < 2; ++i) {
        succeed(dat_ib_post_cmp_and_swap(ep, 0, 1, &local, cookie(8), &remote, kDefault), "a swap");
        take(side.sends);
    }

    EpValues wanted{};
    wanted[DCNT_EP_CONNECT] = 1;
    wanted[DCNT_EP_POST_SEND] = 2;
    wanted[DCNT_EP_POST_SEND_DATA] = 64;
    wanted[DCNT_EP_POST_WRITE_IMM] = 1;
    wanted[DCNT_EP_POST_WRITE_IMM_DATA] = 48;
    wanted[DCNT_EP_POST_WRITE] = 1;
    wanted[DCNT_EP_POST_WRITE_DATA] = 48;
    wanted[DCNT_EP_POST_READ] = 1;
    wanted[DCNT_EP_POST_READ_DATA] = 48;
    wanted[DCNT_EP_POST_FETCH_ADD] = 1;
    wanted[DCNT_EP_POST_CMP_SWAP] = 2;
    EXPECT_EQ(all_of(ep), wanted) << "what was refused does not count";
    EXPECT_EQ(counter(side.ia, DCNT_IA_CM_REQ_TX), 1U);
    EXPECT_EQ(counter(side.ia, DCNT_IA_CM_REP_RX), 1U);
    EXPECT_EQ(counter(side.ia, DCNT_IA_CM_RTU_TX), 1U);
    EXPECT_EQ(counter(side.ia, DCNT_IA_CM_ACTIVE_EST), 1U);
    EXPECT_EQ(counter(side.connections, DCNT_EVD_CONN_CALLBACK), 1U);

    const auto passive = channel.receive<Passive>();
    EpValues received{};
    received[DCNT_EP_POST_RECV] = 3;
    received[DCNT_EP_POST_RECV_DATA] = 192;
    received[DCNT_EP_RECV] = 1;
    received[DCNT_EP_RECV_DATA] = 40;
    received[DCNT_EP_RECV_IMM] = 1;
    received[DCNT_EP_RECV_IMM_DATA] = 24;
    received[DCNT_EP_RECV_RDMA_IMM] = 1;
    received[DCNT_EP_RECV_RDMA_IMM_DATA] = 48;
    EXPECT_EQ(passive.ep, received);
    EXPECT_EQ(passive.listened, 1U);
    EXPECT_EQ(passive.requested, 1U);
    EXPECT_EQ(passive.accepted, 1U);
    EXPECT_EQ(passive.answered, 1U);
    EXPECT_EQ(passive.established, 1U);

    succeed(dat_ep_disconnect(ep, DAT_CLOSE_GRACEFUL_FLAG), "dat_ep_disconnect");
    EXPECT_EQ(counter(ep, DCNT_EP_DISCONNECT), 1U);
    side.connection_event(DAT_CONNECTION_EVENT_DISCONNECTED, ep);
    EXPECT_EQ(counter(side.ia, DCNT_IA_CM_DREQ_TX), 1U);
    EXPECT_EQ(counter(side.ia, DCNT_IA_CM_DREP_RX), 1U);
    EXPECT_EQ(counter(side.ia, DCNT_IA_CM_DREQ_RX), 0U);
    const std::array<DAT_UINT64, 4> asked_answered_none_ready{1, 1, 0, 1};
    EXPECT_EQ((channel.receive<std::array<DAT_UINT64, 4>>()), asked_answered_none_ready);
    EXPECT_EQ(child.wait(), 0);
}

TEST_F(Counters, TellRefusedRejectedAndUnansweredConnectionsApart) {
    const Side side;
    const DAT_EP_HANDLE ep = side.endpoint();
    succeed(Side::connect(ep, kQualifier), "dat_ep_connect");
    side.connection_event(DAT_CONNECTION_EVENT_NON_PEER_REJECTED, ep);
    EXPECT_EQ(counter(side.ia, DCNT_IA_CM_ERR_REFUSED), 1U) << "nobody listens there";
    EXPECT_EQ(counter(side.ia, DCNT_IA_CM_REQ_RX), 0U);

    side.listen(kQualifier);
    succeed(dat_ep_reset(ep), "dat_ep_reset");
    succeed(Side::connect(ep, kQualifier), "dat_ep_connect");
    succeed(dat_cr_reject(side.request(), 0, nullptr), "dat_cr_reject");
    side.connection_event(DAT_CONNECTION_EVENT_PEER_REJECTED, ep);
    EXPECT_EQ(counter(side.ia, DCNT_IA_SP_CR), 1U);
    EXPECT_EQ(counter(side.ia, DCNT_IA_CM_REQ_RX), 1U);
    EXPECT_EQ(counter(side.ia, DCNT_IA_SP_CR_REJECTED), 1U);
    EXPECT_EQ(counter(side.ia, DCNT_IA_CM_USER_REJ_TX), 1U);
    EXPECT_EQ(counter(side.ia, DCNT_IA_CM_USER_REJ_RX), 1U);
    EXPECT_EQ(counter(side.ia, DCNT_IA_CM_REQ_TX), 2U);
    EXPECT_EQ(counter(side.ia, DCNT_IA_SP_CR_ACCEPTED), 0U);
    EXPECT_EQ(counter(side.ia, DCNT_IA_CM_DREQ_TX), 0U) << "there was no connection";

    constexpr DAT_TIMEOUT kShort = 50'000;
    succeed(dat_ep_reset(ep), "dat_ep_reset");
    succeed(Side::connect(ep, kQualifier, {}, kShort), "dat_ep_connect");
    side.connection_event(DAT_CONNECTION_EVENT_TIMED_OUT, ep);
    EXPECT_EQ(counter(side.ia, DCNT_IA_CM_ERR_TIMEOUT), 1U);
    EXPECT_EQ(counter(side.ia, DCNT_IA_CM_ERR_REFUSED), 1U);
    EXPECT_EQ(counter(ep, DCNT_EP_CONNECT), 3U);
    EXPECT_EQ(counter(side.connections, DCNT_EVD_CONN_CALLBACK), 3U);
}

TEST_F(Counters, CountTheObjectsOfAnIaAndTheirEnds) {
    Side side;
    EXPECT_EQ(counter(side.ia, DCNT_IA_PZ_CREATE), 1U);
    EXPECT_EQ(counter(side.ia, DCNT_IA_EVD_CREATE), 4U) << "the async EVD is nobody's call";
    const DAT_EP_HANDLE ep = side.endpoint();
    const DAT_PSP_HANDLE psp = side.listen(kQualifier);
    DAT_PSP_HANDLE any = DAT_HANDLE_NULL;
    DAT_CONN_QUAL qualifier = 0;
    succeed(dat_psp_create_any(side.ia, &qualifier, side.requests, DAT_PSP_CONSUMER_FLAG, &any),
            "dat_psp_create_any");
    DAT_PZ_HANDLE pz = DAT_HANDLE_NULL;
    succeed(dat_pz_create(side.ia, &pz), "dat_pz_create");
    { const Buffer memory(side); }
    succeed(dat_pz_free(pz), "dat_pz_free");
    succeed(dat_psp_free(psp), "dat_psp_free");
    succeed(dat_psp_free(any), "dat_psp_free");
    succeed(dat_ep_free(ep), "dat_ep_free");
    const DAT_EVD_HANDLE evd = side.evd(DAT_EVD_DTO_FLAG, 8);
    succeed(dat_evd_free(evd), "dat_evd_free");
    const DAT_EP_HANDLE reserved = side.endpoint();
    DAT_RSP_HANDLE rsp = DAT_HANDLE_NULL;
    succeed(dat_rsp_create(side.ia, kQualifier, reserved, side.requests, &rsp), "dat_rsp_create");
    succeed(dat_rsp_free(rsp), "dat_rsp_free");
    DAT_SRQ_ATTR shared{8, 1, DAT_SRQ_LW_DEFAULT};
    DAT_SRQ_HANDLE srq = DAT_HANDLE_NULL;
    succeed(dat_srq_create(side.ia, side.pz, &shared, &srq), "dat_srq_create");
    succeed(dat_srq_free(srq), "dat_srq_free");
    void* memory = nullptr;
    succeed(dat_opendat_memory_alloc(side.ia, 4096, &memory), "dat_opendat_memory_alloc");
    succeed(dat_opendat_memory_alloc(side.ia, 100, &memory), "dat_opendat_memory_alloc");
    succeed(dat_opendat_memory_free(side.ia, memory), "dat_opendat_memory_free");

    std::array<DAT_UINT64, DCNT_IA_ALL_COUNTERS> values{};
    succeed(dat_ib_query_counters(side.ia, DCNT_IA_ALL_COUNTERS, values.data(), 0), "all counters");
    EXPECT_EQ(values[DCNT_IA_PZ_CREATE], 2U);
    EXPECT_EQ(values[DCNT_IA_PZ_FREE], 1U);
    EXPECT_EQ(values[DCNT_IA_LMR_CREATE], 1U);
    EXPECT_EQ(values[DCNT_IA_LMR_FREE], 1U);
    EXPECT_EQ(values[DCNT_IA_EP_CREATE], 2U);
    EXPECT_EQ(values[DCNT_IA_EP_FREE], 1U);
    EXPECT_EQ(values[DCNT_IA_RSP_CREATE], 1U);
    EXPECT_EQ(values[DCNT_IA_RSP_FREE], 1U);
    EXPECT_EQ(values[DCNT_IA_SRQ_CREATE], 1U);
    EXPECT_EQ(values[DCNT_IA_SRQ_FREE], 1U);
    EXPECT_EQ(values[DCNT_IA_MEM_ALLOC], 2U);
    EXPECT_EQ(values[DCNT_IA_MEM_ALLOC_DATA], 4196U);
    EXPECT_EQ(values[DCNT_IA_MEM_FREE], 1U);
    EXPECT_EQ(values[DCNT_IA_PSP_CREATE], 1U);
    EXPECT_EQ(values[DCNT_IA_PSP_CREATE_ANY], 1U);
    EXPECT_EQ(values[DCNT_IA_PSP_FREE], 2U);
    EXPECT_EQ(values[DCNT_IA_EVD_CREATE], 5U);
    EXPECT_EQ(values[DCNT_IA_EVD_FREE], 1U);
    EXPECT_EQ(values[DCNT_IA_CM_LISTEN], 3U);
    if (!side.has_rmrs()) GTEST_SKIP() << "the device has no memory windows";
    DAT_RMR_HANDLE rmr = DAT_HANDLE_NULL;
    succeed(dat_rmr_create(side.pz, &rmr), "dat_rmr_create");
    EXPECT_EQ(counter(side.ia, DCNT_IA_RMR_CREATE), 1U);
    succeed(dat_rmr_free(rmr), "dat_rmr_free");
    EXPECT_EQ(counter(side.ia, DCNT_IA_RMR_FREE), 1U);
}

TEST_F(Counters, CountHowAnEvdWasLookedAt) {
    const Side side;
    for (int i = 0; i < 3; ++i) Side::expect_empty(side.sends);
    EXPECT_EQ(counter(side.sends, DCNT_EVD_DEQUEUE), 3U);
    EXPECT_EQ(counter(side.sends, DCNT_EVD_DEQUEUE_NOT_FOUND), 3U);
    EXPECT_GE(counter(side.sends, DCNT_EVD_DEQUEUE_POLL), 3U);
    EXPECT_EQ(counter(side.sends, DCNT_EVD_DEQUEUE_FOUND), 0U);
    EXPECT_EQ(counter(side.sends, DCNT_EVD_DEQUEUE_POLL_FOUND), 0U);

    const DAT_EVD_HANDLE software = side.evd(DAT_EVD_SOFTWARE_FLAG, 8);
    DAT_EVENT event{};
    event.event_number = DAT_SOFTWARE_EVENT;
    for (int i = 0; i < 2; ++i) succeed(dat_evd_post_se(software, &event), "dat_evd_post_se");
    succeed(dat_evd_dequeue(software, &event), "dat_evd_dequeue");
    take(software);
    Side::expect_empty(software);
    DAT_COUNT more = 0;
    EXPECT_EQ(DAT_GET_TYPE(dat_evd_wait(software, 1000, 1, &event, &more)), DAT_TIMEOUT_EXPIRED);
    EXPECT_EQ(counter(software, DCNT_EVD_DEQUEUE), 2U);
    EXPECT_EQ(counter(software, DCNT_EVD_DEQUEUE_FOUND), 1U);
    EXPECT_EQ(counter(software, DCNT_EVD_DEQUEUE_NOT_FOUND), 1U);
    EXPECT_EQ(counter(software, DCNT_EVD_DEQUEUE_POLL), 0U) << "there is no device to ask";
    EXPECT_EQ(counter(software, DCNT_EVD_WAIT), 2U);
    EXPECT_GE(counter(software, DCNT_EVD_WAIT_BLOCKED), 1U);
    EXPECT_EQ(counter(software, DCNT_EVD_WAIT_NOTIFY), 0U);
}

/// Waits until a thread has gone to sleep in dat_evd_wait() on the EVD.
void await_sleeper(DAT_EVD_HANDLE evd) {
    const auto deadline = std::chrono::steady_clock::now() + kDeadline;
    while (counter(evd, DCNT_EVD_WAIT_BLOCKED) == 0) {
        require(std::chrono::steady_clock::now() < deadline, "the waiter sleeps");
        std::this_thread::yield();
    }
}

TEST_F(Counters, CountWaitersThatSleepAndWhatWakesThem) {
    const Side side;
    const DAT_EVD_HANDLE software = side.evd(DAT_EVD_SOFTWARE_FLAG, 8);
    Thread waiter([software] { take(software); });
    await_sleeper(software);
    DAT_EVENT event{};
    event.event_number = DAT_SOFTWARE_EVENT;
    EXPECT_EQ(dat_evd_post_se(software, &event), DAT_SUCCESS);
    waiter.join();
    EXPECT_EQ(counter(software, DCNT_EVD_WAIT), 1U);
    EXPECT_GE(counter(software, DCNT_EVD_WAIT_NOTIFY), 1U);
    EXPECT_EQ(counter(software, DCNT_EVD_DTO_CALLBACK), 0U) << "it has no completion queue";

    Side peer;
    side.listen(kQualifier);
    const DAT_EP_HANDLE ep = peer.endpoint();
    succeed(Side::connect(ep, kQualifier), "dat_ep_connect");
    const DAT_EP_HANDLE served = side.accept_next();
    peer.connection_event(DAT_CONNECTION_EVENT_ESTABLISHED, ep);
    Buffer in(side), out(peer);
    DAT_LMR_TRIPLET there = in.all(), here = out.all();
    succeed(dat_ep_post_recv(served, 1, &there, cookie(1), kDefault), "dat_ep_post_recv");
    Thread receiver([&side] { take(side.receives); });
    await_sleeper(side.receives);
    EXPECT_EQ(dat_ep_post_send(ep, 1, &here, cookie(2), kDefault), DAT_SUCCESS);
    receiver.join();
    EXPECT_GE(counter(side.receives, DCNT_EVD_WAIT_NOTIFY), 1U);
    EXPECT_GE(counter(side.receives, DCNT_EVD_DTO_CALLBACK), 1U);
    EXPECT_EQ(counter(side.receives, DCNT_EVD_DEQUEUE_POLL_FOUND), 1U);
    EXPECT_EQ(counter(side.receives, DCNT_EVD_DEQUEUE), 0U) << "a wait is no dequeue";
}

TEST_F(Counters, LoseNothingWhereOneThreadCountsAnotherResetsAndAThirdReads) {
    const Side side;
    constexpr DAT_UINT64 kLooks = 20000;
    std::atomic<bool> over{false};
    Thread reader([&] {
        while (!over) EXPECT_LE(counter(side.sends, DCNT_EVD_DEQUEUE), kLooks);
    });
    Thread counted([&] {
        DAT_EVENT event{};
        for (DAT_UINT64 i = 0; i < kLooks; ++i) dat_evd_dequeue(side.sends, &event);
        over = true;
    });
    DAT_UINT64 sum = 0;
    while (!over) sum += counter(side.sends, DCNT_EVD_DEQUEUE, true);
    counted.join();
    reader.join();
    EXPECT_EQ(sum + counter(side.sends, DCNT_EVD_DEQUEUE), kLooks);
}

TEST_F(Counters, BeginAnewWhereTheyAreReset) {
    const Side side;
    EXPECT_EQ(counter(side.ia, DCNT_IA_EVD_CREATE, true), 4U) << "the value before";
    EXPECT_EQ(counter(side.ia, DCNT_IA_EVD_CREATE), 0U);
    side.evd(DAT_EVD_DTO_FLAG, 8);
    EXPECT_EQ(counter(side.ia, DCNT_IA_EVD_CREATE), 1U);
    EXPECT_EQ(counter(side.ia, DCNT_IA_PZ_CREATE), 1U) << "the others go on";
    Side::expect_empty(side.sends);
    counter(side.sends, DCNT_EVD_DEQUEUE, true);
    EXPECT_EQ(counter(side.sends, DCNT_EVD_DEQUEUE), 0U);
    EXPECT_EQ(counter(side.sends, DCNT_EVD_DEQUEUE_NOT_FOUND), 1U);
}

std::string printed_name(DAT_HANDLE handle, int which) {
    testing::internal::CaptureStdout();
    const DAT_RETURN code = dat_ib_print_counters(handle, which, 0);
    const std::string line = testing::internal::GetCapturedStdout();
    succeed(code, "dat_ib_print_counters");
    return line.substr(0, line.find(' '));
}

TEST_F(Counters, ArePrintedByNameOnStandardOutput) {
    const Side side;
    testing::internal::CaptureStdout();
    const DAT_RETURN one = dat_ib_print_counters(side.ia, DCNT_IA_EVD_CREATE, 1);
    const std::string line = testing::internal::GetCapturedStdout();
    EXPECT_EQ(one, DAT_SUCCESS);
    EXPECT_EQ(line, "DCNT_IA_EVD_CREATE             4\n");
    testing::internal::CaptureStdout();
    const DAT_RETURN all = dat_ib_print_counters(side.sends, DCNT_EVD_ALL_COUNTERS, 0);
    const std::string lines = testing::internal::GetCapturedStdout();
    EXPECT_EQ(all, DAT_SUCCESS);
    EXPECT_EQ(std::count(lines.begin(), lines.end(), '\n'), DCNT_EVD_ALL_COUNTERS);
    EXPECT_EQ(counter(side.ia, DCNT_IA_EVD_CREATE), 0U) << "printed and reset";
    EXPECT_EQ(printed_name(side.ia, DCNT_IA_CM_ERR_UNEXPECTED), "DCNT_IA_CM_ERR_UNEXPECTED");
    EXPECT_EQ(printed_name(side.ia, DCNT_IA_DIAG_ERR_SQ_TREE), "DCNT_IA_DIAG_ERR_SQ_TREE");
    const DAT_EP_HANDLE ep = side.endpoint();
    EXPECT_EQ(printed_name(ep, DCNT_EP_POST_CMP_SWAP), "DCNT_EP_POST_CMP_SWAP");
    EXPECT_EQ(printed_name(ep, DCNT_EP_RECV_RDMA_IMM_DATA), "DCNT_EP_RECV_RDMA_IMM_DATA");
    EXPECT_EQ(printed_name(side.sends, DCNT_EVD_DTO_CALLBACK), "DCNT_EVD_DTO_CALLBACK");
}

TEST_F(Counters, AnswerCodesForWhatIsNotThere) {
    const Side side;
    DAT_UINT64 value = 0;
    EXPECT_EQ(dat_ib_query_counters(side.pz, 0, &value, 0),
              DAT_CLASS_ERROR | DAT_INVALID_HANDLE | DAT_INVALID_HANDLE1);
    EXPECT_EQ(dat_ib_query_counters(side.ia, -1, &value, 0),
              DAT_CLASS_ERROR | DAT_INVALID_PARAMETER | DAT_INVALID_ARG2);
    EXPECT_EQ(dat_ib_query_counters(side.sends, DCNT_EVD_ALL_COUNTERS + 1, &value, 0),
              DAT_CLASS_ERROR | DAT_INVALID_PARAMETER | DAT_INVALID_ARG2);
    EXPECT_EQ(dat_ib_query_counters(side.ia, 0, nullptr, 0),
              DAT_CLASS_ERROR | DAT_INVALID_PARAMETER | DAT_INVALID_ARG3);
    EXPECT_EQ(dat_ib_print_counters(side.ia, 1000, 0),
              DAT_CLASS_ERROR | DAT_INVALID_PARAMETER | DAT_INVALID_ARG2);
}

TEST_F(Counters, OfTheDeviceAreSampledBetweenStartAndStop) {
    const Side side;
    EXPECT_EQ(dat_ib_start_counter(side.ia, DCNT_IA_CM), DAT_SUCCESS) << "always counted";
    EXPECT_EQ(dat_ib_stop_counter(side.ia, DCNT_IA_CM), DAT_SUCCESS);
    EXPECT_EQ(dat_ib_start_counter(side.sends, DCNT_IA_LNK),
              DAT_CLASS_ERROR | DAT_INVALID_HANDLE | DAT_INVALID_HANDLE_IA);
    EXPECT_EQ(dat_ib_start_counter(side.ia, static_cast<DAT_IA_COUNTER_TYPE>(9)),
              DAT_CLASS_ERROR | DAT_INVALID_PARAMETER | DAT_INVALID_ARG2);
    const DAT_RETURN started = dat_ib_start_counter(side.ia, DCNT_IA_LNK);
    if (started != DAT_SUCCESS) {
        EXPECT_EQ(started, DAT_CLASS_ERROR | DAT_MODEL_NOT_SUPPORTED) << "it shows none";
    }
    EXPECT_EQ(counter(side.ia, DCNT_IA_LNK_ERR_RCV), 0U);
    EXPECT_EQ(dat_ib_stop_counter(side.ia, DCNT_IA_LNK), DAT_SUCCESS);
}

}  // namespace
