// SPDX-License-Identifier: BSD-2-Clause
// A peer that is stopped in the middle of a transfer over soft0. Objects that it may still write to
// cannot be freed: the call reports this, affects nothing else, and succeeds once the peer has
// continued.
#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <memory>

#include "test/api/side.hpp"

namespace {

/// Whether this process stops itself at its next copy into another process's memory.
std::atomic<bool> stops{false};

}  // namespace

// The provider library calls this function instead of the C library's.
#pragma GCC visibility push(default)
extern "C" ssize_t process_vm_writev(pid_t pid, const iovec* local, unsigned long num_local,
                                     const iovec* remote, unsigned long num_remote,
                                     unsigned long flags) {
    if (stops.exchange(false)) raise(SIGSTOP);
    return syscall(SYS_process_vm_writev, pid, local, num_local, remote, num_remote, flags);
}
#pragma GCC visibility pop

namespace {

using namespace test;

constexpr DAT_CONN_QUAL kQualifier = 4733;
constexpr DAT_RETURN kInvalidState = DAT_INVALID_STATE;  // without class and subtype
constexpr std::size_t kBytes = 65536;

enum class Act { kWrite, kSend, kEnd };
struct Order {
    Act act = Act::kEnd;
    Window to{};
};

/// The peer: stops itself in each transfer that it is ordered to do, then sends the transfer's
/// status.
void serve(Channel& channel) {
    Side side;
    Buffer buffer(side, kBytes);
    channel.receive<char>();
    const DAT_EP_HANDLE ep = side.connect_to(kQualifier);
    for (;;) {
        const auto order = channel.receive<Order>();
        if (order.act == Act::kEnd) return;
        DAT_LMR_TRIPLET local = buffer.all();
        DAT_RMR_TRIPLET remote = order.to.part(kBytes);
        constexpr auto kFlags = DAT_COMPLETION_DEFAULT_FLAG;
        stops = true;
        succeed(order.act == Act::kSend
                    ? dat_ep_post_send(ep, 1, &local, cookie(1), kFlags)
                    : dat_ep_post_rdma_write(ep, 1, &local, cookie(1), &remote, kFlags),
                "posted");
        channel.send(Side::wait(side.sends, DAT_DTO_COMPLETION_EVENT)
                         .event_data.dto_completion_event_data.status);
    }
}

class StoppedPeer : public testing::Test {
  protected:
    StoppedPeer() {
        setenv("SOFTVERBS_COPY", "process_vm", 1);
        side = std::make_unique<Side>();
        memory = std::make_unique<Buffer>(*side, kBytes);
        side->listen(kQualifier);
        child.channel().send('g');
        ep = side->accept_next();
    }
    ~StoppedPeer() override {
        unsetenv("SOFTVERBS_COPY");
        child.channel().send(Order{});
        EXPECT_EQ(child.wait(), 0);
    }

    void stop_in(Act act, DAT_RMR_CONTEXT key) {
        child.channel().send(Order{act, {memory->all().virtual_address, key}});
        child.wait_until_stopped();
    }
    /// Continues the peer. @return the status of its transfer.
    DAT_DTO_COMPLETION_STATUS go_on() {
        child.kill(SIGCONT);
        return child.channel().receive<DAT_DTO_COMPLETION_STATUS>();
    }
    /// Expects that the call fails, with a message that names the peer.
    template <class Call>
    void expect_refused(const Call& call) {
        DAT_RETURN code = DAT_SUCCESS;
        const std::string told = captured_stderr([&] { code = call(); });
        EXPECT_EQ(code, kInvalidState);
        EXPECT_NE(told.find("DAT311"), std::string::npos) << told;
        EXPECT_NE(told.find(std::to_string(child.pid())), std::string::npos) << told;
    }

    TemporaryFabric fabric;
    Child child{serve};  // forked before this process has threads
    std::unique_ptr<Side> side;
    std::unique_ptr<Buffer> memory;
    DAT_EP_HANDLE ep = DAT_HANDLE_NULL;
};

TEST_F(StoppedPeer, HoldsUpTheLmrThatItWritesToAndNoOther) {
    auto other = std::make_unique<Buffer>(*side, kBytes);
    stop_in(Act::kWrite, memory->remote_key);
    EXPECT_EQ(dat_lmr_free(other->lmr), DAT_SUCCESS);
    expect_refused([&] { return dat_lmr_free(memory->lmr); });
    EXPECT_EQ(go_on(), DAT_DTO_SUCCESS) << "the copy had begun";
    EXPECT_EQ(dat_lmr_free(memory->lmr), DAT_SUCCESS);
}

TEST_F(StoppedPeer, HoldsUpTheLmrOfTheReceiveThatItFillsAndNoOther) {
    auto other = std::make_unique<Buffer>(*side, kBytes);
    DAT_LMR_TRIPLET into = memory->all();
    succeed(dat_ep_post_recv(ep, 1, &into, cookie(1), DAT_COMPLETION_DEFAULT_FLAG), "posted");
    stop_in(Act::kSend, 0);
    EXPECT_EQ(dat_lmr_free(other->lmr), DAT_SUCCESS);
    expect_refused([&] { return dat_lmr_free(memory->lmr); });
    EXPECT_EQ(go_on(), DAT_DTO_SUCCESS);
    EXPECT_EQ(dat_lmr_free(memory->lmr), DAT_SUCCESS);
}

TEST_F(StoppedPeer, HoldsUpTheRmrByWhichItCame) {
    DAT_RMR_HANDLE rmr = DAT_HANDLE_NULL;
    DAT_RMR_CONTEXT context = 0;
    const DAT_LMR_TRIPLET all = memory->all();
    succeed(dat_rmr_create(side->pz, &rmr), "dat_rmr_create");
    succeed(dat_rmr_bind(rmr, memory->lmr, &all, DAT_MEM_PRIV_ALL_FLAG, DAT_VA_TYPE_VA, ep,
                         cookie(2), DAT_COMPLETION_DEFAULT_FLAG, &context),
            "dat_rmr_bind");
    Side::wait(side->sends, DAT_RMR_BIND_COMPLETION_EVENT);
    stop_in(Act::kWrite, context);
    expect_refused([&] { return dat_rmr_free(rmr); });
    expect_refused([&] { return dat_lmr_free(memory->lmr); });
    EXPECT_EQ(go_on(), DAT_DTO_SUCCESS);
    EXPECT_EQ(dat_rmr_free(rmr), DAT_SUCCESS);
    EXPECT_EQ(dat_lmr_free(memory->lmr), DAT_SUCCESS);
    EXPECT_EQ(dat_rmr_free(rmr), DAT_CLASS_ERROR | DAT_INVALID_HANDLE | DAT_INVALID_HANDLE_RMR);
}

TEST_F(StoppedPeer, HoldsUpItsEndpoint) {
    stop_in(Act::kWrite, memory->remote_key);
    expect_refused([&] { return dat_ep_free(ep); });
    DAT_EP_STATE state{};
    EXPECT_EQ(dat_ep_get_status(ep, &state, nullptr, nullptr), DAT_SUCCESS);
    EXPECT_EQ(dat_pz_free(side->pz),
              DAT_CLASS_ERROR | DAT_INVALID_STATE | DAT_INVALID_STATE_PZ_IN_USE);
    go_on();
    EXPECT_EQ(dat_ep_free(ep), DAT_SUCCESS);
    EXPECT_EQ(dat_lmr_free(memory->lmr), DAT_SUCCESS);
    EXPECT_EQ(dat_pz_free(side->pz), DAT_SUCCESS) << "nothing is left in it";
}

TEST_F(StoppedPeer, HoldsUpTheResetOfItsEndpointWhichIsUsableAfterwards) {
    stop_in(Act::kWrite, memory->remote_key);
    EXPECT_EQ(dat_ep_disconnect(ep, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
    side->connection_event(DAT_CONNECTION_EVENT_DISCONNECTED, ep);
    expect_refused([&] { return dat_ep_reset(ep); });
    go_on();
    EXPECT_EQ(dat_ep_reset(ep), DAT_SUCCESS);
    EXPECT_EQ(Side::state(ep), DAT_EP_STATE_UNCONNECTED);
    EXPECT_EQ(dat_ep_free(ep), DAT_SUCCESS);
}

TEST_F(StoppedPeer, HoldsUpTheResizeOfTheEvdThatItCompletesIn) {
    DAT_LMR_TRIPLET into = memory->all();
    succeed(dat_ep_post_recv(ep, 1, &into, cookie(1), DAT_COMPLETION_DEFAULT_FLAG), "posted");
    DAT_EVD_PARAM before{};
    succeed(dat_evd_query(side->receives, DAT_EVD_FIELD_ALL, &before), "dat_evd_query");
    const DAT_COUNT longer = before.evd_qlen + 1;
    stop_in(Act::kSend, 0);
    expect_refused([&] { return dat_evd_resize(side->receives, longer); });
    EXPECT_EQ(go_on(), DAT_DTO_SUCCESS);
    EXPECT_EQ(dat_evd_resize(side->receives, longer), DAT_SUCCESS);
    DAT_EVD_PARAM after{};
    succeed(dat_evd_query(side->receives, DAT_EVD_FIELD_ALL, &after), "dat_evd_query");
    EXPECT_GE(after.evd_qlen, longer);
    Side::wait(side->receives, DAT_DTO_COMPLETION_EVENT);
}

TEST_F(StoppedPeer, HoldsUpTheCloseOfTheAdapterInstance) {
    stop_in(Act::kWrite, memory->remote_key);
    expect_refused([&] { return dat_ia_close(side->ia, DAT_CLOSE_ABRUPT_FLAG); });
    go_on();
    EXPECT_EQ(dat_ia_close(side->ia, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
    side->ia = DAT_HANDLE_NULL;
}

}  // namespace
