// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// A malicious process of the same user in the fabric: it forges completions, sends garbage on its
/// links, passes the wrong descriptors. Its victims may lose connections, but never crash, hang or
/// leak. TEST_SEED chooses another attack. verbs_scribbles_test writes random values to everything
/// that is shared.
#include <rdma/rdma_cma.h>
#include <sys/eventfd.h>

#include <list>
#include <random>
#include <set>

#include "providers/soft/softverbs/arena/kick.hpp"
#include "providers/soft/softverbs/verbs/adapter.hpp"
#include "providers/soft/softverbs/verbs/completion_queue.hpp"
#include "test/softverbs/attacker.hpp"
#include "test/softverbs/datagram_pair.hpp"
#include "test/softverbs/verbs_pair.hpp"
#include "test/support/raw_member.hpp"

namespace test {
namespace {

class VerbsHostile : public testing::Test {
  protected:
    TemporaryFabric fabric_;
};

/// An open device that has everything installed that answers peers.
class OpenDevice {
  public:
    OpenDevice() {
        events_ = rdma_create_event_channel();
        require(rdma_create_id(events_, &listener_, nullptr, RDMA_PS_TCP) == 0, "an identifier");
        sockaddr_in at{};
        at.sin_family = AF_INET;
        at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        require(rdma_bind_addr(listener_, reinterpret_cast<sockaddr*>(&at)) == 0, "a port");
        require(rdma_listen(listener_, 4) == 0, "it listens");
    }
    ~OpenDevice() {
        rdma_destroy_id(listener_);
        rdma_destroy_event_channel(events_);
    }
    bool works() {
        Host host;
        Qp left(host), right(host);
        left.connect(right.address());
        right.connect(left.address());
        right.post_receive(1, {host.sge(0, 100)});
        left.send(2, {host.sge(1000, 100)});
        return host.wait().status == IBV_WC_SUCCESS && host.wait().status == IBV_WC_SUCCESS;
    }

  private:
    rdma_event_channel* events_ = nullptr;
    rdma_cm_id* listener_ = nullptr;
};

TEST_F(VerbsHostile, PassesOtherDescriptorsThanItMustAndIsRefused) {
    OpenDevice device;
    const std::uint64_t fabric = softverbs::Process::current()->fabric_hash();
    const UniqueFd good = sealed_memory(softverbs::kArenaSize);
    const UniqueFd unsealed = sealed_memory(softverbs::kArenaSize, 0);
    const UniqueFd small = sealed_memory(4096);
    const UniqueFd event = silent_bell();
    const UniqueFd counter(eventfd(0, EFD_CLOEXEC));
    const UniqueFd null(open("/dev/null", O_RDWR | O_CLOEXEC));
    const UniqueFd directory(open("/", O_RDONLY | O_CLOEXEC));
    const std::vector<std::vector<int>> wrong = {
        {},
        {good.get()},
        {event.get(), event.get()},
        {event.get(), good.get()},
        {unsealed.get(), event.get()},
        {small.get(), event.get()},
        {null.get(), event.get()},
        {directory.get(), event.get()},
        {good.get(), null.get()},
        {good.get(), counter.get()},
        {good.get(), good.get()},
        {good.get(), event.get(), event.get()},
        {good.get(), event.get(), good.get(), event.get()}};
    const int before = open_descriptors();
    captured_stderr([&] {
        for (const auto& fds : wrong) {
            UniqueFd link = raw_link(fabric_.path());
            ASSERT_TRUE(link.valid());
            greet(link.get(), fabric, 77, fds);
            finish(link);
        }
    });
    EXPECT_TRUE(eventually([&] { return open_descriptors() <= before; }));
    EXPECT_TRUE(device.works());
}

TEST_F(VerbsHostile, SaysNonsenseOnItsLinksInEveryState) {
    OpenDevice device;
    const std::uint64_t fabric = softverbs::Process::current()->fabric_hash();
    const UniqueFd arena = sealed_memory(softverbs::kArenaSize);
    const UniqueFd doorbell = silent_bell();
    const int fds[] = {arena.get(), doorbell.get()};
    std::mt19937 random(chosen_seed());
    const std::size_t lengths[] = {0, 1, 4, 8, 40, 156, 160, 212, 224, 824, 65536};
    const int before = open_descriptors();
    captured_stderr([&] {
        for (int round = 0; round < scaled(300); ++round) {
            UniqueFd link = raw_link(fabric_.path());
            ASSERT_TRUE(link.valid());
            if (random() % 4) greet(link.get(), fabric, 100 + round, fds);
            for (int record = 0; record < 8; ++record) {
                std::vector<std::byte> body(lengths[random() % std::size(lengths)]);
                for (auto& byte : body)
                    byte = static_cast<std::byte>(random() % 3 ? random() % 4 : random());
                MessageHeader header{};
                header.type = static_cast<std::uint16_t>(random() % 14);
                header.is_reply = random() % 8 == 0;
                header.length = static_cast<std::uint32_t>(body.size() + (random() % 16 == 0));
                header.request_id = random() % 3;
                send_raw(link.get(), header, body,
                         std::span(fds).first(random() % 8 ? 0 : random() % 3));
            }
            finish(link);
        }
    });
    EXPECT_TRUE(eventually([&] { return open_descriptors() <= before; }));
    EXPECT_TRUE(device.works());
}

Options with_channel() {
    Options options;
    options.channel = true;
    return options;
}

/// Does everything that a process can do to the descriptor by which it wakes another one.
void mistreat(int fd) {
    const int smallest = 1;
    fcntl(fd, F_SETFL, 0);
    setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &smallest, sizeof smallest);
    const std::string much(100, 'x');
    for (int i = 0; i < 1000; ++i) (void)send(fd, much.data(), much.size(), MSG_DONTWAIT);
    char taken;
    for (int i = 0; i < 1000; ++i) (void)recv(fd, &taken, 1, MSG_DONTWAIT);
    shutdown(fd, SHUT_RDWR);
}

/// @return the number of events that wait for a victim whose descriptor is O_NONBLOCK. @throws when
/// they never end; the watchdog ends a call that blocks.
int take_events(Host& host) {
    int taken = 0;
    ibv_cq* cq = nullptr;
    void* cq_context = nullptr;
    while (ibv_get_cq_event(host.channel, &cq, &cq_context) == 0) {
        ibv_ack_cq_events(cq, 1);
        require(++taken < 10000, "the events come to an end");
    }
    require(errno == EAGAIN, "nothing is left");
    return taken;
}

TEST_F(VerbsHostile, MistreatsTheDescriptorThatItRingsByAndOthersAreHeardAllTheSame) {
    Child attacker([](Channel& channel) {
        Host host;
        Qp qp(host);
        qp.connect(channel);
        const auto adapter = *softverbs::Adapter::join();
        std::vector<int> descriptors;
        {
            support::MutexLock lock(adapter->mutex);
            for (const auto& [key, fd] : adapter->peer_channels) descriptors.push_back(fd->get());
        }
        require(descriptors.size() == 1, "it has the victim's channel");
        mistreat(descriptors.front());
        channel.meet();
        softverbs::Adapter::leave(adapter);
    });
    Child honest([](Channel& channel) {
        Host host;
        Qp qp(host);
        qp.connect(channel);
        for (int i = 0; i < 3; ++i) {
            channel.receive<char>();
            require(qp.send(1, {host.sge(0, 8)}) == 0, "posted");
            require(host.wait().status == IBV_WC_SUCCESS, "sent");
        }
        channel.meet();
    });
    Host host(with_channel());
    fcntl(host.channel->fd, F_SETFL, fcntl(host.channel->fd, F_GETFL) | O_NONBLOCK);
    Qp to_attacker(host), to_honest(host);
    for (int i = 0; i < 3; ++i) ASSERT_EQ(to_honest.post_receive(i, {host.sge(i * 64, 8)}), 0);
    to_attacker.connect(attacker.channel());
    to_honest.connect(honest.channel());
    attacker.channel().meet();
    EXPECT_EQ(fcntl(host.channel->fd, F_GETFL) & O_NONBLOCK, O_NONBLOCK) << "its own flags";
    EXPECT_EQ(take_events(host), 0);
    for (std::uint64_t i = 0; i < 3; ++i) {
        ASSERT_EQ(ibv_req_notify_cq(host.cq, 0), 0);
        honest.channel().send('g');
        ASSERT_TRUE(is_readable(host.channel->fd)) << "the wake-up is lost";
        EXPECT_EQ(take_events(host), 1);
        EXPECT_EQ(host.wait().wr_id, i);
    }
    EXPECT_EQ(attacker.wait(), 0);
    honest.channel().meet();
    EXPECT_EQ(honest.wait(), 0);
}

/// Forges the moderation of a queue and the completions that it holds. For each request the victim
/// gets at most one event, and one more if stay_readable() has put a token beside that of another
/// sender, which match_token() turns into an event.
TEST_F(VerbsHostile, ForgesTheModerationOfAQueue) {
    std::list<Child> attackers;  // forked before the device starts its thread here
    for (const std::uint64_t forgery : {0xffff03ul, 0xfffffful, 0xff00000003ul, ~0ul})
        attackers.emplace_back([forgery](Channel& channel) {
            Host mine;
            Qp qp(mine);
            const Address victim = qp.connect(channel);
            const auto peer = owner_of(victim);
            const softverbs::ArenaView arena = arena_of(*peer);
            const auto queue = channel.receive<std::uint32_t>();
            arena.cq(queue)->moderation = static_cast<std::uint32_t>(forgery * 7);
            arena.cq(queue)->notify = forgery;
            softverbs::set_kick(arena.header().cq_kicks, arena.header().cq_kick_summary, queue);
            for (int i = 0; i < 100; ++i) peer->ring_doorbell();
            channel.meet();
        });
    Host host(with_channel());
    fcntl(host.channel->fd, F_SETFL, fcntl(host.channel->fd, F_GETFL) | O_NONBLOCK);
    Qp other(host), another(host);
    other.connect(another.address());
    another.connect(other.address());
    int requests = 0, events = 0;
    for (Child& attacker : attackers) {
        Qp qp(host);
        qp.connect(attacker.channel());
        ibv_modify_cq_attr wish{IBV_CQ_ATTR_MODERATE, {100, 1}};
        ASSERT_EQ(ibv_modify_cq(host.cq, &wish), 0);
        ASSERT_EQ(ibv_req_notify_cq(host.cq, 0), 0);
        ++requests;
        attacker.channel().send(softverbs::CompletionQueue::of(host.cq).index());
        attacker.channel().meet();
        EXPECT_EQ(attacker.wait(), 0);
        ASSERT_EQ(another.post_receive(1, {host.sge(0, 8)}), 0);
        ASSERT_EQ(other.send(2, {host.sge(64, 8)}), 0);
        for (int i = 0; i < 2; ++i) EXPECT_EQ(host.wait().status, IBV_WC_SUCCESS);
        EXPECT_LE(events += take_events(host), 2 * requests);
    }
}

/// Forges events and wake-ups: the victim gets no more events than it has requested.
TEST_F(VerbsHostile, CountsEventsThatNobodyAskedFor) {
    Child attacker([](Channel& channel) {
        Host host;
        Qp qp(host);
        const Address victim = qp.connect(channel);
        const auto peer = owner_of(victim);
        const softverbs::ArenaView arena = arena_of(*peer);
        const auto queue = channel.receive<std::uint32_t>();
        auto* const header = arena.cq(queue);
        require(header != nullptr, "its queue");
        header->notify = std::uint64_t{0xffffffff} << 24;
        header->deferred_wakes = 0xffffffff;
        softverbs::set_kick(arena.header().cq_kicks, arena.header().cq_kick_summary, queue);
        for (int i = 0; i < 1000; ++i) peer->ring_doorbell();
        channel.meet();
    });
    Host host(with_channel());
    fcntl(host.channel->fd, F_SETFL, fcntl(host.channel->fd, F_GETFL) | O_NONBLOCK);
    Qp qp(host), other(host), another(host);
    other.connect(another.address());
    another.connect(other.address());
    qp.connect(attacker.channel());
    ASSERT_EQ(ibv_req_notify_cq(host.cq, 0), 0);
    attacker.channel().send(softverbs::CompletionQueue::of(host.cq).index());
    attacker.channel().meet();
    EXPECT_TRUE(eventually([&] { return take_events(host) <= 1; }));
    EXPECT_EQ(take_events(host), 0);
    // The service thread still serves, and the queue completes.
    ASSERT_EQ(another.post_receive(1, {host.sge(0, 8)}), 0);
    ASSERT_EQ(other.send(2, {host.sge(64, 8)}), 0);
    for (int i = 0; i < 2; ++i) EXPECT_EQ(host.wait().status, IBV_WC_SUCCESS);
    EXPECT_EQ(attacker.wait(), 0);
}

/// Completions that a peer forges for receives that nobody has posted are ignored, and each posted
/// receive completes once.
TEST_F(VerbsHostile, CompletesReceivesThatWereNotPosted) {
    constexpr int kForged = 40;
    Child attacker([](Channel& channel) {
        Host host;
        Qp qp(host);
        const Address victim = qp.connect(channel);
        const auto peer = owner_of(victim);
        const softverbs::ArenaView arena = arena_of(*peer);
        auto ring = softverbs::CompletionRing::of(arena, channel.receive<std::uint32_t>());
        require(ring.valid(), "its queue");
        for (std::uint32_t i = 0; i < kForged; ++i) {
            const auto place = ring.claim(victim.qp_num, softverbs::Producer::kRequester);
            require(place.entry != nullptr, "room");
            softverbs::Completion forged;
            forged.qp_num = victim.qp_num;
            forged.position = i;
            forged.byte_len = 16;
            forged.flags = softverbs::kInEntry;
            (void)ring.publish(place, forged);
        }
        channel.meet();
    });
    Host host;
    Qp qp(host);
    ASSERT_EQ(qp.post_receive(1, {host.sge(0, 64)}), 0);
    ASSERT_EQ(qp.post_receive(2, {host.sge(64, 64)}), 0);
    qp.connect(attacker.channel());
    attacker.channel().send(softverbs::CompletionQueue::of(host.cq).index());
    attacker.channel().meet();
    EXPECT_EQ(attacker.wait(), 0);
    std::set<std::uint64_t> completed;
    ibv_wc wc[8];
    const auto take = [&] {
        const int found = ibv_poll_cq(host.cq, 8, wc);
        for (int i = 0; i < found; ++i) EXPECT_TRUE(completed.insert(wc[i].wr_id).second);
        return found;
    };
    while (take() != 0) continue;
    ASSERT_EQ(qp.to_error(), 0);
    while (take() != 0) continue;
    EXPECT_EQ(completed, (std::set<std::uint64_t>{1, 2})) << "each receive completes once";
}

/// A queue is invalid if its entries would not begin at a cache line or if it is larger than any
/// queue.
TEST_F(VerbsHostile, MakesACompletionQueueOfASizeThatNoneHas) {
    Host host;
    const auto adapter = *softverbs::Adapter::join();
    const std::uint32_t index = softverbs::CompletionQueue::of(host.cq).index();
    std::atomic<std::uint64_t>& word = adapter->view().cq(index)->ring;
    const std::uint64_t right = word;
    constexpr std::uint64_t kLog2Size = 31;
    for (std::uint64_t forged = 0; forged <= kLog2Size; ++forged) {
        word = (right & ~kLog2Size) | forged;
        const bool exists = forged >= 4 && forged <= 22;
        EXPECT_EQ(softverbs::CompletionRing::of(adapter->view(), index).valid(), exists) << forged;
    }
    word = right;
    softverbs::Adapter::leave(adapter);
}

/// The attacker claims that a queue pair of the victim's own has the turn, for ever.
TEST_F(VerbsHostile, GivesTheTurnAtADatagramQueuePairToOneThatDoesNotTakeIt) {
    Child attacker([](Channel& channel) {
        const Host host;
        for (int i = 0; i < 4; ++i) {
            const auto target = channel.receive<std::uint32_t>();
            const auto named = channel.receive<std::uint32_t>();
            const auto peer = owner_of(Address{.qp_num = target});
            const softverbs::ArenaView arena = arena_of(*peer);
            arena.qp(static_cast<std::uint32_t>(arena.qp_index(target))).turn = named;
            channel.meet();
        }
    });
    Host host;
    Datagrams target(host), sender(host);
    const auto forge = [&](std::uint32_t named) {
        attacker.channel().send(target.number());
        attacker.channel().send(named);
        attacker.channel().meet();
    };
    Datagrams::Message message;
    message.to = target.number();
    message.by = sender.handle();
    for (const std::uint32_t named : {sender.number(), target.number(), 0xffffffffu}) {
        forge(named);
        ASSERT_EQ(target.receive(1, {host.sge(0, 100)}), 0);
        const auto arrives = [&] {  // a datagram may be lost
            require(sender.send(2, {host.sge(1000, 8)}, message) == 0, "posted");
            ibv_wc wc = host.wait();
            if (wc.wr_id == 2) return ibv_poll_cq(host.cq, 1, &wc) == 1;
            return host.wait().wr_id == 2;
        };
        EXPECT_TRUE(eventually(arrives)) << named;
    }
    forge(sender.number());
    EXPECT_EQ(target.destroy(), 0);
    EXPECT_EQ(attacker.wait(), 0);
}

TEST_F(VerbsHostile, TakesAnothersNameAndTheOtherKeepsItsConnection) {
    Child other([](Channel& channel) {
        Host host;
        Qp qp(host);
        qp.connect(channel);
        channel.send(softverbs::Process::current()->member());
        channel.meet();
        require(qp.send(1, {host.sge(0, 8)}) == 0 && host.wait().status == IBV_WC_SUCCESS,
                "its connection is there");
    });
    Host host;
    Qp qp(host);
    qp.post_receive(1, {host.sge(0, 8)});
    qp.connect(other.channel());
    const auto name = other.channel().receive<softverbs::MemberId>();
    const UniqueFd arena = sealed_memory(softverbs::kArenaSize);
    const UniqueFd doorbell = silent_bell();
    const int fds[] = {arena.get(), doorbell.get()};
    const std::string told = captured_stderr([&] {
        // The other's socket is in the directory as well: one of the two links is to ourselves.
        for (const std::string& door : doors(fabric_.path())) {
            UniqueFd link = link_to(door);
            ASSERT_TRUE(link.valid());
            greet(link.get(), softverbs::Process::current()->fabric_hash(), name, fds);
            finish(link);
        }
    });
    EXPECT_NE(told.find("DAT307"), std::string::npos) << told;
    other.channel().meet();
    EXPECT_EQ(host.wait().status, IBV_WC_SUCCESS);
    EXPECT_EQ(other.wait(), 0);
}

}  // namespace
}  // namespace test
