// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Where messages end up: in the posted buffer without the receiver's help, and nowhere else. Also
/// what happens when the program unmaps or protects memory that is registered.
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <string>

#include "test/softverbs/verbs_pair.hpp"
#include "test/support/sanitizer.hpp"

namespace test {
namespace {

class VerbsPlacement : public OnBothPaths {};
INSTANTIATE_ON_BOTH_PATHS(VerbsPlacement);

std::uint8_t byte_of(const Host& host, std::size_t at) {
    return watch(host.buffer.data()[at]);
}

/// Writes where the device may write at the same time, since no completion has been polled yet.
[[gnu::no_sanitize_thread]] void overwrite(volatile std::uint8_t* bytes, std::size_t count,
                                           std::uint8_t value) {
    while (count-- != 0) *bytes++ = value;
}

/// Sends messages of these lengths and waits for nothing but its own completions.
void send_some(Channel& channel, const std::vector<std::uint32_t>& lengths) {
    Host host;
    Qp qp(host);
    qp.connect(channel);
    std::fill(host.buffer.begin(), host.buffer.end(), 0x5a);
    for (const std::uint32_t length : lengths) {
        qp.send(length, {host.sge(0, length)});
        require(host.wait().status == IBV_WC_SUCCESS, "sent");
        channel.meet();
    }
    channel.meet();
}

TEST_P(VerbsPlacement, AReceiverThatOnlyWatchesItsBufferSeesEachMessage) {
    const std::vector<std::uint32_t> lengths{1, 8, 32, 33, 176, 177, 4096};
    Child child([&](Channel& channel) { send_some(channel, lengths); });
    Host host;
    Qp qp(host);
    std::size_t at = 0;
    for (const std::uint32_t length : lengths) {
        ASSERT_EQ(qp.post_receive(at, {host.sge(at, length)}), 0);
        at += 8192;
    }
    qp.connect(child.channel());
    at = 0;
    for (const std::uint32_t length : lengths) {
        child.channel().meet();
        EXPECT_TRUE(eventually([&] { return byte_of(host, at + length - 1) == 0x5a; })) << length;
        at += 8192;
    }
    for (std::size_t i = 0; i < lengths.size(); ++i) {
        const ibv_wc wc = host.wait();
        EXPECT_EQ(wc.status, IBV_WC_SUCCESS);
        EXPECT_EQ(wc.byte_len, lengths[i]);
    }
    child.channel().meet();
    EXPECT_EQ(child.wait(), 0);
}

TEST_P(VerbsPlacement, WhatWasSentByAQueuePairThatHasGoneSinceIsPlacedAllTheSame) {
    for (const bool is_killed : {false, true}) {
        Child child([&](Channel& channel) {
            Host host;
            auto qp = std::make_unique<Qp>(host);
            qp->connect(channel);
            std::fill(host.buffer.begin(), host.buffer.end(), 0x5a);
            qp->send(1, {host.sge(0, 8)});
            require(host.wait().status == IBV_WC_SUCCESS, "sent");
            if (is_killed) raise(SIGKILL);
            qp.reset();
            channel.meet();
        });
        Host host;
        Qp qp(host);
        ASSERT_EQ(qp.post_receive(1, {host.sge(0, 8)}), 0);
        qp.connect(child.channel());
        EXPECT_TRUE(eventually([&] { return byte_of(host, 7) == 0x5a; })) << is_killed;
        if (!is_killed) child.channel().meet();
        EXPECT_EQ(child.wait(), is_killed ? 128 + SIGKILL : 0);
        EXPECT_EQ(host.wait().status, IBV_WC_SUCCESS);
    }
}

TEST_P(VerbsPlacement, WhatWasPlacedBeforeThePollIsNotPlacedAgainByIt) {
    Child child([&](Channel& channel) { send_some(channel, {8}); });
    Host host;
    Qp qp(host);
    ASSERT_EQ(qp.post_receive(1, {host.sge(0, 8)}), 0);
    qp.connect(child.channel());
    child.channel().meet();
    ASSERT_TRUE(eventually([&] { return byte_of(host, 7) == 0x5a; }));
    overwrite(host.buffer.data(), 8, 0x77);
    EXPECT_EQ(host.wait().status, IBV_WC_SUCCESS);
    EXPECT_EQ(byte_of(host, 7), 0x77);
    child.channel().meet();
    EXPECT_EQ(child.wait(), 0);
}

TEST_P(VerbsPlacement, PlacementDirectPlacesAShortMessageBeforeItsSendersCompletion) {
    setenv("SOFTVERBS_PLACEMENT", "direct", 1);
    Child child([&](Channel& channel) { send_some(channel, {8}); });
    Host host;
    Qp qp(host);
    ASSERT_EQ(qp.post_receive(1, {host.sge(0, 8)}), 0);
    qp.connect(child.channel());
    child.channel().meet();
    EXPECT_EQ(byte_of(host, 7), 0x5a);
    EXPECT_EQ(host.wait().status, IBV_WC_SUCCESS);
    child.channel().meet();
    EXPECT_EQ(child.wait(), 0);
    unsetenv("SOFTVERBS_PLACEMENT");
}

TEST_P(VerbsPlacement, DeregWritesNothingIntoMemoryForAMessageThatWasNotPolled) {
    Child child([&](Channel& channel) { send_some(channel, {24}); });
    Host host;
    Qp qp(host);
    Buffer other(4096);
    ibv_mr* mr = ibv_reg_mr(host.pd, other.data(), other.size(), kLocalWrite);
    ASSERT_EQ(qp.post_receive(1, {{reinterpret_cast<std::uintptr_t>(other.data()), 24, mr->lkey}}),
              0);
    qp.connect(child.channel());
    // The message is placed only after some milliseconds: either the registration ends before that,
    // or the buffer has been filled by then and keeps what the program writes to it.
    child.channel().meet();
    overwrite(other.data(), other.size(), 0x66);
    ASSERT_EQ(ibv_dereg_mr(mr), 0);
    overwrite(other.data(), other.size(), 0x66);
    EXPECT_EQ(host.wait().status, IBV_WC_SUCCESS);
    EXPECT_TRUE(std::all_of(other.begin(), other.end(), [](auto byte) { return byte == 0x66; }));
    child.channel().meet();
    EXPECT_EQ(child.wait(), 0);
}

/// Ways in which a program takes registered memory away.
void unmap(void* memory) {
    munmap(memory, 8192);
}
void protect(void* memory) {
    mprotect(memory, 8192, PROT_NONE);
}
using TakeAway = void (*)(void*);

struct Stale {
    Host& host;
    std::uint8_t* data;
    ibv_mr* mr;

    Stale(Host& host, TakeAway take_away) : host(host) {
        data = static_cast<std::uint8_t*>(
            mmap(nullptr, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
        mr = ibv_reg_mr(host.pd, data, 8192, kAllAccess);
        take_away(data);
    }
    ~Stale() { ibv_dereg_mr(mr); }
    ibv_sge sge(std::uint32_t length) const {
        return {reinterpret_cast<std::uintptr_t>(data), length, mr->lkey};
    }
    /// The address and key that a peer gets.
    Address where() const { return {0, 0, mr->rkey, reinterpret_cast<std::uintptr_t>(data)}; }
};

/// Two connected queue pairs. The parameters: whether memory is unmapped or protected, whether both
/// ends are in one process, and the value of SOFTVERBS_COPY.
class StaleMemory : public testing::TestWithParam<std::tuple<bool, bool, const char*>> {
  protected:
    StaleMemory() { setenv("SOFTVERBS_COPY", std::get<2>(GetParam()), 1); }
    ~StaleMemory() override { unsetenv("SOFTVERBS_COPY"); }
    TakeAway take_away() const { return std::get<0>(GetParam()) ? unmap : protect; }
    bool in_one_process() const { return std::get<1>(GetParam()); }

    /// @param near what this end does. @param far what the other end does. Each gets its host, its
    /// queue pair, the other's address and a channel to the other.
    using End = std::function<void(Host&, Qp&, const Address&, Channel&)>;
    void run(const End& near, const End& far) {
        if (in_one_process()) return run_alone(near, far);
        Child child([&](Channel& channel) {
            Host host;
            Qp qp(host);
            const Address peer = qp.connect(channel);
            far(host, qp, peer, channel);
            channel.meet();
        });
        Host host;
        Qp qp(host);
        const Address peer = qp.connect(child.channel());
        near(host, qp, peer, child.channel());
        child.channel().meet();
        EXPECT_EQ(child.wait(), 0);
    }
    TemporaryFabric fabric_;

  private:
    /// Runs both ends in a child, whose crash makes the test fail without ending it.
    static void run_alone(const End& near, const End& far) {
        Child child([&](Channel&) {
            Host near_host, far_host;
            Qp near_qp(near_host), far_qp(far_host);
            near_qp.connect(far_qp.address());
            far_qp.connect(near_qp.address());
            // What one end sends to the other goes through a process that echoes it.
            Child relay([&](Channel& other) { echo(other); });
            far(far_host, far_qp, near_qp.address(), relay.channel());
            near(near_host, near_qp, far_qp.address(), relay.channel());
        });
        EXPECT_EQ(child.wait(), 0);
    }
    static void echo(Channel& channel) {
        for (;;) channel.send(channel.receive<Address>());
    }
};
INSTANTIATE_TEST_SUITE_P(Ways, StaleMemory,
                         testing::Combine(testing::Bool(), testing::Bool(),
                                          testing::Values("process_vm", "agent")),
                         [](const auto& info) {
                             const bool by_agent = std::get<2>(info.param) == std::string("agent");
                             return std::string(std::get<0>(info.param) ? "Unmapped"
                                                                        : "Protected") +
                                    (std::get<1>(info.param) ? "InOneProcess" : "InTwoProcesses") +
                                    (by_agent ? "ByAgent" : "ByProcessVm");
                         });

void nothing(Host&, Qp&, const Address&, Channel&) {}

TEST_P(StaleMemory, AsTheSourceOfAWriteFailsAtItsOwner) {
    for (const std::uint32_t length : {8u, 4096u}) {
        run(
            [&](Host& host, Qp& qp, const Address& peer, Channel&) {
                const Stale stale(host, take_away());
                qp.rdma(1, IBV_WR_RDMA_WRITE, {stale.sge(length)}, peer.address, peer.rkey);
                require(host.wait().status == IBV_WC_LOC_PROT_ERR, "a local protection error");
                require(qp.state() == IBV_QPS_ERR, "the state has changed");
            },
            nothing);
    }
}

TEST_P(StaleMemory, AsTheTargetOfAReadFailsAtItsOwner) {
    for (const std::uint32_t length : {8u, 4096u}) {
        run(
            [&](Host& host, Qp& qp, const Address& peer, Channel&) {
                const Stale stale(host, take_away());
                qp.rdma(1, IBV_WR_RDMA_READ, {stale.sge(length)}, peer.address, peer.rkey);
                require(host.wait().status == IBV_WC_LOC_PROT_ERR, "a local protection error");
            },
            nothing);
    }
}

TEST_P(StaleMemory, AsTheSourceOfASendFailsAtItsOwner) {
    for (const std::uint32_t length : {8u, 100u, 4096u}) {
        run(
            [&](Host& host, Qp& qp, const Address&, Channel& channel) {
                if (!in_one_process()) channel.meet();
                const Stale stale(host, take_away());
                qp.send(1, {stale.sge(length)});
                require(host.wait().status == IBV_WC_LOC_PROT_ERR, "a local protection error");
            },
            [&](Host& host, Qp& qp, const Address&, Channel& channel) {
                require(qp.post_receive(1, {host.sge(0, 8192)}) == 0, "posted");
                if (!in_one_process()) channel.meet();
            });
    }
}

TEST_P(StaleMemory, AsTheTargetOfASendFailsAtItsOwner) {
    for (const std::uint32_t length : {8u, 100u, 4096u}) {
        std::unique_ptr<Stale> stale;
        run(
            [&](Host& host, Qp& qp, const Address&, Channel& channel) {
                if (!in_one_process()) channel.meet();
                qp.send(1, {host.sge(0, length)});
                const ibv_wc_status status = host.wait().status;
                require(length == 4096 ? status == IBV_WC_REM_OP_ERR : status == IBV_WC_SUCCESS,
                        "a message in the queue has arrived, a longer one has not");
                if (stale) require(stale->host.wait().status == IBV_WC_LOC_PROT_ERR, "there");
                stale.reset();
            },
            [&](Host& host, Qp& qp, const Address&, Channel& channel) {
                stale = std::make_unique<Stale>(host, take_away());
                require(qp.post_receive(1, {stale->sge(8192)}) == 0, "posted");
                if (in_one_process()) return;
                channel.meet();
                require(host.wait().status == IBV_WC_LOC_PROT_ERR, "a local protection error");
                require(qp.state() == IBV_QPS_ERR, "the state has changed");
                stale.reset();
            });
    }
}

/// A peer accesses memory that the other end has taken away.
TEST_P(StaleMemory, AsTheRemoteEndOfAWriteOrReadFailsAtTheRequester) {
    for (const ibv_wr_opcode opcode : {IBV_WR_RDMA_WRITE, IBV_WR_RDMA_READ}) {
        for (const std::uint32_t length : {8u, 4096u}) {
            std::unique_ptr<Stale> stale;
            run(
                [&](Host& host, Qp& qp, const Address&, Channel& channel) {
                    const auto there = channel.receive<Address>();
                    qp.rdma(1, opcode, {host.sge(0, length)}, there.address, there.rkey);
                    require(host.wait().status == IBV_WC_REM_ACCESS_ERR, "a remote access error");
                },
                [&](Host& host, Qp&, const Address&, Channel& channel) {
                    stale = std::make_unique<Stale>(host, take_away());
                    channel.send(stale->where());
                });
        }
    }
}

TEST_P(StaleMemory, AsTheWordOfAnAtomicFailsAtTheRequester) {
    for (const ibv_wr_opcode opcode : {IBV_WR_ATOMIC_FETCH_AND_ADD, IBV_WR_ATOMIC_CMP_AND_SWP}) {
        std::unique_ptr<Stale> stale;
        run(
            [&](Host& host, Qp& qp, const Address&, Channel& channel) {
                const auto there = channel.receive<Address>();
                qp.atomic(1, opcode, host.sge(0, 8), there.address, there.rkey, 1);
                require(host.wait().status == IBV_WC_REM_ACCESS_ERR, "a remote access error");
            },
            [&](Host& host, Qp&, const Address&, Channel& channel) {
                stale = std::make_unique<Stale>(host, take_away());
                channel.send(stale->where());
            });
    }
}

TEST_P(StaleMemory, AsTheResultOfAnAtomicFailsAtItsOwner) {
    run(
        [&](Host& host, Qp& qp, const Address& peer, Channel&) {
            const Stale stale(host, take_away());
            qp.atomic(1, IBV_WR_ATOMIC_FETCH_AND_ADD, stale.sge(8), peer.address, peer.rkey, 1);
            require(host.wait().status == IBV_WC_LOC_PROT_ERR, "a local protection error");
        },
        nothing);
}

}  // namespace
}  // namespace test
