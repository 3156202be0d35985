// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The private entry by which a process ends a registration of another process: what users of the
/// registration see, in which states of the owner it works, which keys it takes, and that nothing
/// is transferred under the key once it has returned true. The owner is a child process, and the
/// test ends the registration.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include <atomic>
#include <vector>

#include "providers/soft/softverbs/arena/fault_points.hpp"
#include "providers/soft/softverbs/arena/layout.hpp"
#include "providers/soft/softverbs/end_registration.hpp"
#include "test/softverbs/verbs_pair.hpp"

namespace test {
namespace {

using softverbs::FaultPoint;

class VerbsEndRegistration : public OnBothPaths {
  protected:
    ~VerbsEndRegistration() override { softverbs::at_fault_point = nullptr; }
};
INSTANTIATE_ON_BOTH_PATHS(VerbsEndRegistration);

constexpr std::size_t kSize = 64 << 10;
constexpr std::uint8_t kGuard = 0xa5;

Options small(int access = kAllAccess) {
    Options options;
    options.buffer = kSize;
    options.access = access;
    return options;
}

/// Retries: the call returns false while somebody is in the middle of a short operation on the
/// memory.
bool end_soon(pid_t pid, std::uint32_t key) {
    return eventually([&] { return softverbs_end_registration(pid, key); });
}

/// The other end of the connection, in the test's process.
struct Requester {
    explicit Requester(Child& owner) : host(small()), qp(host) { at = qp.connect(owner.channel()); }
    ibv_wc_status rdma(ibv_wr_opcode opcode, std::uint32_t length = kSize) {
        fill(host.buffer.data(), length, 99);
        require(qp.rdma(1, opcode, {host.sge(0, length)}, at.address, at.rkey) == 0, "posted");
        return host.wait().status;
    }
    ibv_wc_status add() {
        require(
            qp.atomic(1, IBV_WR_ATOMIC_FETCH_AND_ADD, host.sge(0, 8), at.address, at.rkey, 1) == 0,
            "posted");
        return host.wait().status;
    }
    Host host;
    Qp qp;
    Address at;
};

/// An owner whose memory must stay unchanged. Reports at the end whether it has.
void own(Channel& channel) {
    Host host(small(kAllAccess));
    Qp qp(host);
    fill(host.buffer.data(), kSize, 1);
    qp.connect(channel);
    channel.receive<char>();
    channel.send(holds(host.buffer.data(), kSize, 1));
    channel.receive<char>();
}

bool finish(Child& owner) {
    owner.channel().send('?');
    const bool untouched = owner.channel().receive<bool>();
    owner.channel().send('.');
    return owner.wait() == 0 && untouched;
}

TEST_P(VerbsEndRegistration, APeersWriteIsRefusedAfterItAndTheMemoryIsAsItWas) {
    for (const std::uint32_t length :
         {std::uint32_t{8}, std::uint32_t{4096}, std::uint32_t{kSize}}) {
        Child owner(own);
        Requester requester(owner);
        EXPECT_TRUE(softverbs_end_registration(owner.pid(), requester.at.rkey));
        EXPECT_EQ(requester.rdma(IBV_WR_RDMA_WRITE, length), IBV_WC_REM_ACCESS_ERR);
        EXPECT_TRUE(finish(owner)) << length;
    }
}

TEST_P(VerbsEndRegistration, APeersReadIsRefusedAfterItAndBringsNothing) {
    Child owner(own);
    Requester requester(owner);
    EXPECT_TRUE(softverbs_end_registration(owner.pid(), requester.at.rkey));
    EXPECT_EQ(requester.rdma(IBV_WR_RDMA_READ), IBV_WC_REM_ACCESS_ERR);
    EXPECT_TRUE(holds(requester.host.buffer.data(), kSize, 99));
    EXPECT_TRUE(finish(owner));
}

TEST_P(VerbsEndRegistration, APeersAtomicOperationIsRefusedAfterIt) {
    Child owner(own);
    Requester requester(owner);
    EXPECT_TRUE(softverbs_end_registration(owner.pid(), requester.at.rkey));
    EXPECT_EQ(requester.add(), IBV_WC_REM_ACCESS_ERR);
    EXPECT_TRUE(finish(owner));
}

TEST_P(VerbsEndRegistration, ASecondTimeItAnswersTheSame) {
    Child owner(own);
    Requester requester(owner);
    EXPECT_TRUE(softverbs_end_registration(owner.pid(), requester.at.rkey));
    EXPECT_TRUE(softverbs_end_registration(owner.pid(), requester.at.rkey));
    EXPECT_TRUE(finish(owner));
}

TEST_P(VerbsEndRegistration, AStoppedOwnersRegistrationEndsAsWell) {
    Child owner(own);
    Requester requester(owner);
    owner.kill(SIGSTOP);
    owner.wait_until_stopped();
    EXPECT_TRUE(softverbs_end_registration(owner.pid(), requester.at.rkey));
    owner.kill(SIGCONT);
    EXPECT_EQ(requester.rdma(IBV_WR_RDMA_WRITE), IBV_WC_REM_ACCESS_ERR);
    EXPECT_TRUE(finish(owner));
}

TEST_P(VerbsEndRegistration, ADeadOwnersRegistrationHasEnded) {
    Child owner(own);
    Requester requester(owner);
    const pid_t pid = owner.pid();
    owner.kill();
    siginfo_t info;
    ASSERT_EQ(waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOWAIT), 0);
    EXPECT_TRUE(softverbs_end_registration(pid, requester.at.rkey)) << "not waited for yet";
    EXPECT_EQ(owner.wait(), 128 + SIGKILL);
    EXPECT_TRUE(softverbs_end_registration(pid, requester.at.rkey)) << "gone";
}

// -- what the owner itself sees

/// @return the status of one request of the owner's, after its registration has ended.
template <class Request>
ibv_wc_status owners_request(Request request, bool& peer_untouched) {
    Child owner([&](Channel& channel) {
        Host host(small());
        Qp qp(host);
        fill(host.buffer.data(), kSize, 1);
        const Address peer = qp.connect(channel);
        channel.receive<char>();
        request(qp, host, peer);
        const ibv_wc_status status = host.wait().status;
        require(holds(host.buffer.data(), kSize, 1), "nothing came");
        channel.send(status);
        channel.receive<char>();
        require(ibv_dereg_mr(host.mr) == 0, "deregistered");
        host.mr = ibv_reg_mr(host.pd, host.buffer.data(), kSize, kAllAccess);
        require(host.mr != nullptr, "and registered again");
    });
    Requester peer(owner);
    fill(peer.host.buffer.data(), kSize, 2);
    require(peer.qp.post_receive(5, {peer.host.sge(0, kSize)}) == 0, "posted");
    EXPECT_TRUE(softverbs_end_registration(owner.pid(), peer.at.rkey));
    owner.channel().send('e');
    const auto status = owner.channel().receive<ibv_wc_status>();
    peer_untouched = holds(peer.host.buffer.data(), kSize, 2);
    owner.channel().send('.');
    EXPECT_EQ(owner.wait(), 0);
    return status;
}

TEST_P(VerbsEndRegistration, TheOwnersSendFromItIsALocalProtectionError) {
    bool untouched = false;
    for (const std::uint32_t length :
         {std::uint32_t{8}, std::uint32_t{100}, std::uint32_t{kSize}}) {
        const auto send = [&](Qp& qp, Host& host, const Address&) {
            require(qp.send(1, {host.sge(0, length)}) == 0, "posted");
        };
        EXPECT_EQ(owners_request(send, untouched), IBV_WC_LOC_PROT_ERR) << length;
        EXPECT_TRUE(untouched);
    }
}

TEST_P(VerbsEndRegistration, TheOwnersWriteFromItIsALocalProtectionError) {
    bool untouched = false;
    for (const std::uint32_t length : {std::uint32_t{8}, std::uint32_t{kSize}}) {
        const auto write = [&](Qp& qp, Host& host, const Address& peer) {
            require(
                qp.rdma(1, IBV_WR_RDMA_WRITE, {host.sge(0, length)}, peer.address, peer.rkey) == 0,
                "posted");
        };
        EXPECT_EQ(owners_request(write, untouched), IBV_WC_LOC_PROT_ERR) << length;
        EXPECT_TRUE(untouched);
    }
}

TEST_P(VerbsEndRegistration, TheOwnersReadIntoItIsALocalProtectionError) {
    bool untouched = false;
    const auto read = [](Qp& qp, Host& host, const Address& peer) {
        require(qp.rdma(1, IBV_WR_RDMA_READ, {host.sge(0, kSize)}, peer.address, peer.rkey) == 0,
                "posted");
    };
    EXPECT_EQ(owners_request(read, untouched), IBV_WC_LOC_PROT_ERR);
}

/// Long messages are placed by the sender, short ones wait in the queue until the owner polls.
TEST_P(VerbsEndRegistration, AReceiveIntoItGetsNoData) {
    for (const std::uint32_t length :
         {std::uint32_t{8}, std::uint32_t{100}, std::uint32_t{kSize}}) {
        Child owner([](Channel& channel) {
            Host host(small());
            Qp qp(host);
            fill(host.buffer.data(), kSize, 1);
            require(qp.post_receive(5, {host.sge(0, kSize)}) == 0, "posted");
            qp.connect(channel);
            channel.receive<char>();
            require(host.wait().wr_id == 5, "the receive ends");
            channel.send(holds(host.buffer.data(), kSize, 1));
            channel.receive<char>();
        });
        Requester sender(owner);
        if (length < 1000) {
            // The message has arrived before the registration ends.
            ASSERT_EQ(sender.qp.send(1, {sender.host.sge(0, length)}), 0);
            EXPECT_EQ(sender.host.wait().status, IBV_WC_SUCCESS);
        }
        EXPECT_TRUE(softverbs_end_registration(owner.pid(), sender.at.rkey));
        if (length >= 1000) {
            // The message waits for another receive.
            ASSERT_EQ(sender.qp.send(1, {sender.host.sge(0, length)}), 0);
        }
        EXPECT_TRUE(finish(owner)) << length;
    }
}

/// Posts two receives into memory whose registration ends, and one into other memory.
void receive_elsewhere(Channel& channel, bool shared) {
    Options options = small();
    options.shared_receives = shared;
    Host host(options);
    Qp qp(host);
    std::vector<std::uint8_t> other(kSize);
    const int access = IBV_ACCESS_LOCAL_WRITE;
    ibv_mr* const elsewhere = ibv_reg_mr(host.pd, other.data(), kSize, access);
    require(elsewhere != nullptr, "memory is registered");
    fill(host.buffer.data(), kSize, 1);
    for (const std::uint64_t id : {5, 6})
        require(qp.post_receive(id, {host.sge(0, kSize)}) == 0, "posted");
    const ibv_sge segment{reinterpret_cast<std::uintptr_t>(other.data()), kSize, elsewhere->lkey};
    require(qp.post_receive(7, {segment}) == 0, "posted");
    qp.connect(channel);
    const auto length = channel.receive<std::uint32_t>();
    for (const std::uint64_t id : {5, 6}) {
        const ibv_wc skipped = host.wait();
        require(skipped.wr_id == id, "the receives come back in their order");
        require(skipped.status == IBV_WC_WR_FLUSH_ERR, "flushed");
    }
    const ibv_wc taken = host.wait();
    require(taken.wr_id == 7 && taken.status == IBV_WC_SUCCESS, "the next one has the message");
    require(taken.byte_len == length && holds(other.data(), length, 99), "all of it");
    channel.receive<char>();
    channel.send(holds(host.buffer.data(), kSize, 1));
    channel.receive<char>();
    ibv_dereg_mr(elsewhere);
}

TEST_P(VerbsEndRegistration, AReceiveIntoItIsSkippedAndTheNextTakesTheMessage) {
    for (const bool shared : {false, true})
        for (const std::uint32_t length : {8u, 100u, 5000u, std::uint32_t{kSize}}) {
            Child owner([=](Channel& channel) { receive_elsewhere(channel, shared); });
            Requester sender(owner);
            EXPECT_TRUE(softverbs_end_registration(owner.pid(), sender.at.rkey));
            fill(sender.host.buffer.data(), length, 99);
            ASSERT_EQ(sender.qp.send(1, {sender.host.sge(0, length)}), 0);
            owner.channel().send(length);
            EXPECT_EQ(sender.host.wait().status, IBV_WC_SUCCESS) << length;
            EXPECT_TRUE(finish(owner)) << length;
        }
}

/// The agent answers when the registration of the memory that it was asked to fill has ended.
TEST_P(VerbsEndRegistration, WhatAnAgentBringsTooLateIsNotPlaced) {
    if (std::string(GetParam()) != "agent") GTEST_SKIP() << "of the agent path";
    Child owner([](Channel& channel) {
        Host host(small());
        Qp qp(host);
        fill(host.buffer.data(), kSize, 1);
        const Address peer = qp.connect(channel);
        static std::uint32_t key;
        static std::atomic<bool> asked{false};
        key = host.mr->lkey;
        softverbs::at_fault_point = [](FaultPoint point) {
            if (point != FaultPoint::kAgentAsked || asked.exchange(true)) return;
            // This thread itself is in the middle of the request.
            require(!softverbs_end_registration(getpid(), key), "not surely ended");
        };
        require(qp.rdma(1, IBV_WR_RDMA_READ, {host.sge(0, kSize)}, peer.address, peer.rkey) == 0,
                "posted");
        require(host.wait().status == IBV_WC_LOC_PROT_ERR, "a local protection error");
        require(asked, "the agent was asked");
        channel.receive<char>();
        channel.send(holds(host.buffer.data(), kSize, 1));
        channel.receive<char>();
    });
    Requester peer(owner);
    EXPECT_TRUE(finish(owner));
}

TEST_P(VerbsEndRegistration, ReregistrationGivesItANewKey) {
    Child owner([](Channel& channel) {
        Host host(small());
        Qp qp(host);
        qp.connect(channel);
        channel.receive<char>();
        const std::uint32_t before = host.mr->rkey;
        require(
            ibv_rereg_mr(host.mr, IBV_REREG_MR_CHANGE_ACCESS, nullptr, nullptr, 0, kAllAccess) == 0,
            "reregistered");
        require(host.mr->rkey != before, "another key");
        channel.send(host.mr->rkey);
        channel.receive<char>();
    });
    Requester peer(owner);
    EXPECT_TRUE(softverbs_end_registration(owner.pid(), peer.at.rkey));
    owner.channel().send('e');
    peer.at.rkey = owner.channel().receive<std::uint32_t>();
    EXPECT_EQ(peer.rdma(IBV_WR_RDMA_WRITE), IBV_WC_SUCCESS);
    owner.channel().send('.');
    EXPECT_EQ(owner.wait(), 0);
}

// -- windows

ibv_wc_status bind(Host& host, Qp& qp, ibv_mw* window, std::uint64_t address) {
    if (window->type == IBV_MW_TYPE_1) {
        ibv_mw_bind request{};
        request.send_flags = IBV_SEND_SIGNALED;
        request.bind_info = {host.mr, address, 4096, IBV_ACCESS_REMOTE_WRITE};
        require(ibv_bind_mw(qp.get(), window, &request) == 0, "posted");
        return host.wait().status;
    }
    std::vector<ibv_sge> none;
    ibv_send_wr wr = Qp::request(7, IBV_WR_BIND_MW, none);
    wr.bind_mw.mw = window;
    wr.bind_mw.rkey = ibv_inc_rkey(window->rkey);
    wr.bind_mw.bind_info = {host.mr, address, 4096, IBV_ACCESS_REMOTE_WRITE};
    require(qp.post(wr) == 0, "posted");
    window->rkey = wr.bind_mw.rkey;
    return host.wait().status;
}

/// Registers the same memory twice and binds a window to each region. Only one region ends.
void own_windows(Channel& channel, ibv_mw_type type) {
    Host host(small(kAllAccess | IBV_ACCESS_MW_BIND));
    ibv_mr* const other = ibv_reg_mr(host.pd, host.buffer.data(), kSize, host.options.access);
    require(other != nullptr, "registered twice");
    ibv_mw* windows[] = {ibv_alloc_mw(host.pd, type), ibv_alloc_mw(host.pd, type)};
    Qp qp(host);
    qp.connect(channel);
    ibv_mr* const first = host.mr;
    require(bind(host, qp, windows[0], host.address()) == IBV_WC_SUCCESS, "bound");
    host.mr = other;
    require(bind(host, qp, windows[1], host.address()) == IBV_WC_SUCCESS, "bound");
    channel.send(windows[0]->rkey);
    channel.send(windows[1]->rkey);
    channel.receive<char>();
    require(ibv_dereg_mr(first) == 0, "nothing is bound to it any more");
    channel.send('d');
    channel.receive<char>();
    for (ibv_mw* window : windows) require(ibv_dealloc_mw(window) == 0, "deallocated");
}

TEST_P(VerbsEndRegistration, WindowsBoundToItEndAndOthersStay) {
    for (const ibv_mw_type type : {IBV_MW_TYPE_1, IBV_MW_TYPE_2}) {
        Child owner([&](Channel& channel) { own_windows(channel, type); });
        Requester peer(owner);
        const std::uint32_t region = peer.at.rkey;
        const auto ended = owner.channel().receive<std::uint32_t>();
        const auto stays = owner.channel().receive<std::uint32_t>();
        EXPECT_FALSE(softverbs_end_registration(owner.pid(), ended)) << "a window's key";
        peer.at.rkey = ended;
        EXPECT_EQ(peer.rdma(IBV_WR_RDMA_WRITE, 4096), IBV_WC_SUCCESS);
        EXPECT_TRUE(softverbs_end_registration(owner.pid(), region));
        peer.at.rkey = stays;
        EXPECT_EQ(peer.rdma(IBV_WR_RDMA_WRITE, 4096), IBV_WC_SUCCESS);
        peer.at.rkey = ended;
        EXPECT_EQ(peer.rdma(IBV_WR_RDMA_WRITE, 4096), IBV_WC_REM_ACCESS_ERR);
        owner.channel().send('e');
        owner.channel().receive<char>();
        owner.channel().send('.');
        EXPECT_EQ(owner.wait(), 0);
    }
}

TEST_P(VerbsEndRegistration, NoWindowCanBeBoundToIt) {
    Child owner([](Channel& channel) {
        Host host(small(kAllAccess | IBV_ACCESS_MW_BIND));
        ibv_mw* window = ibv_alloc_mw(host.pd, IBV_MW_TYPE_2);
        Qp qp(host);
        qp.connect(channel);
        channel.receive<char>();
        require(bind(host, qp, window, host.address()) == IBV_WC_MW_BIND_ERR, "refused");
        require(ibv_dealloc_mw(window) == 0, "deallocated");
    });
    Requester peer(owner);
    EXPECT_TRUE(softverbs_end_registration(owner.pid(), peer.at.rkey));
    owner.channel().send('e');
    EXPECT_EQ(owner.wait(), 0);
}

// -- whose keys

TEST_P(VerbsEndRegistration, OfOtherProcessesAndOtherKeysItTouchesNothing) {
    Child owner(own), bystander(own);
    Requester peer(owner), other(bystander);
    const std::uint32_t key = peer.at.rkey;
    EXPECT_FALSE(softverbs_end_registration(owner.pid(), 0));
    EXPECT_FALSE(softverbs_end_registration(owner.pid(), key + 1)) << "never given";
    EXPECT_FALSE(softverbs_end_registration(owner.pid(), 0xffffffff)) << "no such entry";
    EXPECT_FALSE(softverbs_end_registration(owner.pid(), key ^ 1 << 30)) << "far in the table";
    if (other.at.rkey != key) {
        EXPECT_FALSE(softverbs_end_registration(owner.pid(), other.at.rkey));
        EXPECT_FALSE(softverbs_end_registration(bystander.pid(), key));
    }
    EXPECT_FALSE(softverbs_end_registration(1, key)) << "no user of the device";
    EXPECT_FALSE(softverbs_end_registration(0, key));
    EXPECT_FALSE(softverbs_end_registration(-1, key));
    EXPECT_EQ(peer.rdma(IBV_WR_RDMA_READ), IBV_WC_SUCCESS);
    EXPECT_EQ(other.rdma(IBV_WR_RDMA_READ), IBV_WC_SUCCESS);
    EXPECT_TRUE(finish(owner));
    EXPECT_TRUE(finish(bystander));
}

TEST_P(VerbsEndRegistration, AKeyFromBeforeIsNotTheOneThatStandsNow) {
    Child owner([](Channel& channel) {
        Host host(small());
        Qp qp(host);
        const std::uint32_t before = host.mr->rkey;
        require(ibv_rereg_mr(host.mr, IBV_REREG_MR_CHANGE_TRANSLATION, nullptr, host.buffer.data(),
                             kSize - 1, 0) == 0,
                "a new key");
        channel.send(before);
        qp.connect(channel);
        channel.receive<char>();
    });
    const auto before = owner.channel().receive<std::uint32_t>();
    Requester peer(owner);
    ASSERT_NE(before, peer.at.rkey);
    EXPECT_FALSE(softverbs_end_registration(owner.pid(), before));
    EXPECT_EQ(peer.rdma(IBV_WR_RDMA_READ, 8), IBV_WC_SUCCESS);
    owner.channel().send('.');
    EXPECT_EQ(owner.wait(), 0);
}

/// A process may have any file among its descriptors, also one that is named like an arena.
TEST_P(VerbsEndRegistration, WhatOnlyLooksLikeAnArenaIsNotTouched) {
    constexpr std::uint32_t kKey = 3u << softverbs::kKeyIndexShift | 0x345;
    for (const bool sealed : {false, true}) {
        for (const bool whole : {false, true}) {
            if (sealed && whole) continue;
            Child owner([&](Channel& channel) {
                using softverbs::ArenaHeader;
                using softverbs::MrEntry;
                const int fd = memfd_create("softverbs-arena", MFD_ALLOW_SEALING);
                const auto size = static_cast<off_t>(softverbs::kArenaSize);
                require(ftruncate(fd, whole ? size : size - 4096) == 0, "a size");
                const auto put = [&](std::uint64_t at, const auto& value) {
                    require(
                        pwrite(fd, &value, sizeof value, static_cast<off_t>(at)) == sizeof value,
                        "written");
                };
                put(offsetof(ArenaHeader, magic), softverbs::kArenaMagic);
                put(offsetof(ArenaHeader, size), softverbs::kArenaSize);
                put(offsetof(ArenaHeader, owner), std::int32_t{getpid()});
                const std::uint64_t entry = softverbs::kMrTable + 3 * sizeof(MrEntry);
                put(entry + offsetof(MrEntry, key), kKey);
                put(entry + offsetof(MrEntry, last_key), kKey);
                if (sealed) require(fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK) == 0, "sealed");
                channel.meet();
                channel.receive<char>();
                std::uint32_t key = 0;
                require(pread(fd, &key, sizeof key, static_cast<off_t>(entry)) == sizeof key,
                        "read");
                require(key == kKey, "untouched");
            });
            owner.channel().meet();
            EXPECT_FALSE(softverbs_end_registration(owner.pid(), kKey));
            owner.channel().send('.');
            EXPECT_EQ(owner.wait(), 0);
        }
    }
}

/// A child of fork() has its parent's arena open, but no registration.
TEST_P(VerbsEndRegistration, TheOwnersChildrenAreNotTheOwner) {
    Child owner([](Channel& channel) {
        Host host(small());
        Qp qp(host);
        qp.connect(channel);
        int ends[2];
        require(pipe(ends) == 0, "a pipe");
        const pid_t forked = fork();
        if (forked == 0) {
            // Other threads may have held locks at the fork, so only system calls are safe.
            char byte;
            close(ends[1]);
            while (read(ends[0], &byte, 1) > 0) continue;
            _exit(0);
        }
        close(ends[0]);
        channel.send(forked);
        channel.receive<char>();
        close(ends[1]);
        require(waitpid(forked, nullptr, 0) == forked, "the child ends");
    });
    Requester peer(owner);
    const auto forked = owner.channel().receive<pid_t>();
    EXPECT_FALSE(softverbs_end_registration(forked, peer.at.rkey));
    EXPECT_EQ(peer.rdma(IBV_WR_RDMA_READ), IBV_WC_SUCCESS);
    EXPECT_TRUE(softverbs_end_registration(owner.pid(), peer.at.rkey));
    owner.channel().send('.');
    EXPECT_EQ(owner.wait(), 0);
}

/// Both ways: an ordinary user has no permission, and root leaves the other user's alone.
TEST_P(VerbsEndRegistration, AnotherUsersRegistrationsAreLeftAlone) {
    if (kThreadSanitizer) GTEST_SKIP() << "it allows no threads after a fork";
    if (geteuid() != 0) GTEST_SKIP() << "needs two users";
    constexpr uid_t kNobody = 65534;
    Child owner(own);
    Child stranger([&](Channel& channel) {
        const auto theirs = channel.receive<std::uint32_t>();
        require(setresuid(kNobody, kNobody, kNobody) == 0, "another user");
        prctl(PR_SET_DUMPABLE, 1);
        require(!softverbs_end_registration(owner.pid(), theirs), "refused");
        unsetenv("SOFTVERBS_FABRIC");
        TemporaryFabric own_fabric;
        {
            Host host(small());
            channel.send(host.mr->rkey);
            channel.receive<char>();
            Qp one(host), other(host);
            one.connect(other.address());
            other.connect(one.address());
            require(one.rdma(1, IBV_WR_RDMA_WRITE, {host.sge(0, 8)}, host.address(8),
                             host.mr->rkey) == 0 &&
                        host.wait().status == IBV_WC_SUCCESS,
                    "its registration stands");
            channel.send(host.mr->rkey);
        }
    });
    Requester peer(owner);
    stranger.channel().send(peer.at.rkey);
    const auto key = stranger.channel().receive<std::uint32_t>();
    EXPECT_FALSE(softverbs_end_registration(stranger.pid(), key));
    stranger.channel().send('.');
    EXPECT_EQ(stranger.channel().receive<std::uint32_t>(), key);
    EXPECT_EQ(stranger.wait(), 0);
    EXPECT_EQ(peer.rdma(IBV_WR_RDMA_READ), IBV_WC_SUCCESS);
    EXPECT_TRUE(finish(owner));
}

// -- in the middle of something

void stop_here(FaultPoint point) {
    if (point != FaultPoint::kTransferMarked) return;
    softverbs::at_fault_point = nullptr;
    syscall(SYS_kill, getpid(), SIGSTOP);
}

void relay(Child& one, Child& other) {
    const auto address = one.channel().receive<Address>();
    other.channel().send(address);
    one.channel().send(other.channel().receive<Address>());
    for (Child* child : {&one, &other}) child->channel().receive<char>();
    for (Child* child : {&one, &other}) child->channel().send('m');
}

/// Begins a write to its peer and stops in the middle of it.
void stop_in_a_write(Channel& channel) {
    Host host(small());
    Qp qp(host);
    const Address at = qp.connect(channel);
    softverbs::at_fault_point = stop_here;
    channel.send(host.mr->lkey);
    require(qp.rdma(1, IBV_WR_RDMA_WRITE, {host.sge(0, kSize)}, at.address, at.rkey) == 0,
            "posted");
    channel.send(host.wait().status);
    channel.receive<char>();
}

std::uint32_t key_of(Child& owner) {
    return owner.channel().receive<std::uint32_t>();
}

/// Like own(), but sends the key first.
void own_and_tell(Channel& channel) {
    Host host(small());
    channel.send(host.mr->rkey);
    Qp qp(host);
    fill(host.buffer.data(), kSize, 1);
    qp.connect(channel);
    channel.receive<char>();
    channel.send(holds(host.buffer.data(), kSize, 1));
    channel.receive<char>();
}

TEST_P(VerbsEndRegistration, WhileARequesterIsInTheMiddleItIsNotSure) {
    if (kThreadSanitizer) GTEST_SKIP() << "it allows no threads after a fork";
    Child owner(own_and_tell), requester(stop_in_a_write);
    const std::uint32_t key = key_of(owner);
    Host member(small());  // as a member, it can tell whether a requester lives
    relay(owner, requester);
    requester.channel().receive<std::uint32_t>();
    requester.wait_until_stopped();
    EXPECT_FALSE(softverbs_end_registration(owner.pid(), key));
    EXPECT_FALSE(softverbs_end_registration(owner.pid(), key));
    requester.kill(SIGCONT);
    EXPECT_EQ(requester.channel().receive<ibv_wc_status>(), IBV_WC_REM_ACCESS_ERR)
        << "it had not looked at the key yet";
    EXPECT_TRUE(end_soon(owner.pid(), key));
    requester.channel().send('.');
    EXPECT_EQ(requester.wait(), 0);
    EXPECT_TRUE(finish(owner));
}

TEST_P(VerbsEndRegistration, ARequesterThatDiedInTheMiddleIsNotWaitedFor) {
    if (kThreadSanitizer) GTEST_SKIP() << "it allows no threads after a fork";
    Child owner(own_and_tell), requester(stop_in_a_write);
    const std::uint32_t key = key_of(owner);
    Host member(small());  // as a member, it can tell whether a requester lives
    relay(owner, requester);
    requester.channel().receive<std::uint32_t>();
    requester.wait_until_stopped();
    owner.kill(SIGSTOP);
    owner.wait_until_stopped();
    requester.kill();
    EXPECT_EQ(requester.wait(), 128 + SIGKILL);
    EXPECT_TRUE(end_soon(owner.pid(), key)) << "the owner cannot clear up after it";
    owner.kill(SIGCONT);
    EXPECT_TRUE(finish(owner));
}

TEST_P(VerbsEndRegistration, WhileTheStoppedOwnerIsInTheMiddleItIsNotSure) {
    Child owner(stop_in_a_write);
    Host host(small());
    Qp qp(host);
    qp.connect(owner.channel());
    const std::uint32_t key = key_of(owner);
    owner.wait_until_stopped();
    EXPECT_FALSE(softverbs_end_registration(owner.pid(), key));
    owner.kill(SIGCONT);
    EXPECT_EQ(owner.channel().receive<ibv_wc_status>(), IBV_WC_LOC_PROT_ERR);
    EXPECT_TRUE(end_soon(owner.pid(), key));
    owner.channel().send('.');
    EXPECT_EQ(owner.wait(), 0);
}

// -- traffic

/// In each round a peer writes to the memory without end. When told that the registration has
/// ended, the owner fills the memory anew, and checks it once the peer has been refused.
void own_under_traffic(Channel& channel, int rounds) {
    Host host(small());
    for (int round = 0; round < rounds; ++round) {
        ibv_mr* const region = ibv_reg_mr(host.pd, host.buffer.data(), kSize, kAllAccess);
        require(region != nullptr, "registered");
        ibv_mr* const whole = std::exchange(host.mr, region);
        {
            Qp qp(host);
            channel.send(region->rkey);
            qp.connect(channel);
            channel.receive<char>();
            std::fill(host.buffer.begin(), host.buffer.end(), kGuard);
            channel.send('g');
            channel.receive<char>();
            const bool untouched = std::all_of(host.buffer.begin(), host.buffer.end(),
                                               [](std::uint8_t byte) { return byte == kGuard; });
            channel.send(untouched);
        }
        require(ibv_dereg_mr(region) == 0, "deregistered");
        host.mr = whole;
    }
}

/// Writes until it is refused, with all lengths in turn, since each takes another path.
void write_without_end(Channel& channel, int rounds) {
    constexpr std::uint32_t kLengths[] = {8, 64, 4096, kSize};
    Host host(small());
    std::fill(host.buffer.begin(), host.buffer.end(), 0x11);
    for (int round = 0; round < rounds; ++round) {
        Qp qp(host);
        const Address at = qp.connect(channel);
        ibv_wc_status status = IBV_WC_SUCCESS;
        for (std::uint32_t i = 0; status == IBV_WC_SUCCESS; ++i) {
            const std::uint32_t length = kLengths[i % 4];
            require(qp.rdma(1, IBV_WR_RDMA_WRITE, {host.sge(0, length)}, at.address, at.rkey) == 0,
                    "posted");
            status = host.wait().status;
            if (i == 50) channel.send('g');
        }
        channel.send(status);
        channel.receive<char>();
    }
}

TEST_P(VerbsEndRegistration, UnderTrafficNothingLandsOnceItSaysSo) {
    if (kThreadSanitizer) GTEST_SKIP() << "it cannot see an order that another process makes";
    const int rounds = scaled(10);
    Child owner([&](Channel& channel) { own_under_traffic(channel, rounds); });
    Child writer([&](Channel& channel) { write_without_end(channel, rounds); });
    for (int round = 0; round < rounds; ++round) {
        const std::uint32_t key = key_of(owner);
        relay(owner, writer);
        writer.channel().receive<char>();
        ASSERT_TRUE(end_soon(owner.pid(), key));
        owner.channel().send('e');
        owner.channel().receive<char>();
        EXPECT_EQ(writer.channel().receive<ibv_wc_status>(), IBV_WC_REM_ACCESS_ERR);
        owner.channel().send('r');
        EXPECT_TRUE(owner.channel().receive<bool>()) << "round " << round;
        writer.channel().send('n');
    }
    EXPECT_EQ(owner.wait(), 0);
    EXPECT_EQ(writer.wait(), 0);
}

/// The same while a thread of the owner's reads into the memory from its peer.
TEST_P(VerbsEndRegistration, UnderTheOwnersOwnTrafficNothingLandsOnceItSaysSo) {
    if (kThreadSanitizer) GTEST_SKIP() << "threads after fork";
    const int rounds = scaled(10);
    Child owner([&](Channel& channel) {
        for (int round = 0; round < rounds; ++round) {
            Host host(small());
            Qp qp(host);
            const Address at = qp.connect(channel);
            Thread reader([&] {
                for (int i = 0;; ++i) {
                    if (i == 50) channel.send(host.mr->lkey);
                    const std::uint32_t length = i % 2 ? 64 : kSize;
                    require(qp.rdma(1, IBV_WR_RDMA_READ, {host.sge(0, length)}, at.address,
                                    at.rkey) == 0,
                            "posted");
                    if (host.wait().status != IBV_WC_SUCCESS) return;
                }
            });
            channel.receive<char>();
            std::fill(host.buffer.begin(), host.buffer.end(), kGuard);
            reader.join();
            channel.send(std::all_of(host.buffer.begin(), host.buffer.end(),
                                     [](std::uint8_t byte) { return byte == kGuard; }));
        }
    });
    Host host(small());
    for (int round = 0; round < rounds; ++round) {
        Qp qp(host);
        qp.connect(owner.channel());
        const std::uint32_t key = key_of(owner);
        ASSERT_TRUE(end_soon(owner.pid(), key));
        owner.channel().send('e');
        EXPECT_TRUE(owner.channel().receive<bool>()) << "round " << round;
    }
    EXPECT_EQ(owner.wait(), 0);
}

}  // namespace
}  // namespace test
