// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// A process of the same user joins the fabric and writes random values into every field that it
/// shares with its victim, while the victim transfers, waits for events, resizes and closes. The
/// victim must end each round in time, no byte outside its registered memory may change, and
/// nothing of the round may be left. TEST_SEED repeats a round as the first one; TEST_SCALE
/// multiplies their number.
#include <fcntl.h>
#include <linux/falloc.h>
#include <sys/mman.h>

#include <algorithm>
#include <random>

#include "providers/soft/softverbs/verbs/adapter.hpp"
#include "providers/soft/softverbs/verbs/completion_ring.hpp"
#include "test/softverbs/attacker.hpp"
#include "test/softverbs/datagram_pair.hpp"
#include "test/softverbs/verbs_pair.hpp"

namespace test {
namespace {

using softverbs::ArenaHeader;
using softverbs::ArenaView;
using softverbs::CqHeader;
using softverbs::MrEntry;
using softverbs::QpEntry;
using softverbs::RingPlace;
using softverbs::SrqHeader;

constexpr int kRounds = 100;
/// The attacker exits after this, so that transfers that it claims to be carrying out last no
/// longer.
constexpr auto kLongestAttack = 100ms;

/// One object in an arena, or its ring.
struct Extent {
    std::uint64_t offset;
    std::uint64_t bytes;
};

/// The objects of an arena that are in use when the attack begins, found through the layout.
class Fields {
  public:
    explicit Fields(ArenaView arena) : arena_(arena) {
        add(0, offsetof(ArenaHeader, qp_kick_summary));
        add(offsetof(ArenaHeader, qp_kick_summary),
            sizeof(ArenaHeader) - offsetof(ArenaHeader, qp_kick_summary));
        add_queue_pairs();
        for (std::uint32_t i = 0; i < kObjects; ++i) {
            add_completion_queue(i);
            add_shared_receive_queue(i);
            if (entry<MrEntry>(softverbs::kMrTable, i).last_key != 0)
                add(softverbs::kMrTable + i * sizeof(MrEntry), sizeof(MrEntry));
        }
    }

    /// Changes one word: to any value, a likely one, itself with one bit flipped, one more or less,
    /// or the value of another field.
    void scribble(std::mt19937& random) const {
        constexpr std::uint32_t kLikely[] = {0, 1, 2, 0xffffffff, 0x80000000, 0x7fffffff, 256};
        std::uint32_t* const word = any(random);
        const std::uint32_t now = __atomic_load_n(word, __ATOMIC_RELAXED);
        const std::uint32_t values[] = {static_cast<std::uint32_t>(random()),
                                        kLikely[random() % std::size(kLikely)],
                                        now ^ 1u << random() % 32,
                                        now + 1,
                                        now - 1,
                                        __atomic_load_n(any(random), __ATOMIC_RELAXED)};
        __atomic_store_n(word, values[random() % std::size(values)], __ATOMIC_RELAXED);
    }

  private:
    /// More than a round has of each kind.
    static constexpr std::uint32_t kObjects = 16;

    template <class Entry>
    Entry& entry(std::uint64_t table, std::uint32_t index) const {
        return reinterpret_cast<Entry*>(arena_.base() + table)[index];
    }
    void add(std::uint64_t offset, std::uint64_t bytes) {
        if (bytes != 0 && bytes <= arena_.size() && offset <= arena_.size() - bytes)
            extents_.push_back({offset, bytes});
    }
    void add_queue_pairs() {
        for (std::uint32_t i = 0; i < kObjects; ++i) {
            const auto& qp = entry<QpEntry>(softverbs::kQpTable, i);
            if (qp.qp_num == 0) continue;
            add(softverbs::kQpTable + i * sizeof(QpEntry), sizeof(QpEntry));
            add(qp.ring_offset, std::uint64_t{qp.ring_size} * qp.slot_stride);
        }
    }
    void add_completion_queue(std::uint32_t index) {
        const auto& cq = entry<CqHeader>(softverbs::kCqTable, index);
        if (cq.live == 0) return;
        add(softverbs::kCqTable + index * sizeof(CqHeader), sizeof(CqHeader));
        const RingPlace ring = RingPlace::decode(cq.ring);
        add(ring.offset, ring.size() * sizeof(softverbs::CqClaim));
        add(ring.offset + ring.size() * sizeof(softverbs::CqClaim),
            ring.size() * sizeof(softverbs::CqEntry));
    }
    void add_shared_receive_queue(std::uint32_t index) {
        const auto& srq = entry<SrqHeader>(softverbs::kSrqTable, index);
        if (srq.live == 0) return;
        add(softverbs::kSrqTable + index * sizeof(SrqHeader), sizeof(SrqHeader));
        const RingPlace order = RingPlace::decode(srq.order);
        add(order.offset, order.size() * sizeof(std::uint32_t));
        add(srq.sections[0], std::uint64_t{srq.first_size} * srq.slot_stride);
    }
    std::uint32_t* any(std::mt19937& random) const {
        const Extent& extent = extents_[random() % extents_.size()];
        return reinterpret_cast<std::uint32_t*>(arena_.base() + extent.offset) +
               random() % (extent.bytes / sizeof(std::uint32_t));
    }

    ArenaView arena_;
    std::vector<Extent> extents_;
};

struct Invitation {
    Address connected;
    std::uint32_t datagrams;
};

/// Connects, and writes into both arenas until its time is over or the victim has closed.
void attack(Channel& channel, unsigned seed) {
    std::mt19937 random(seed);
    Host host;
    Qp qp(host);
    Datagrams datagrams(host);
    channel.send(Invitation{qp.address(), datagrams.number()});
    const auto victim = channel.receive<Invitation>();
    qp.connect(victim.connected);
    const auto peer = owner_of(victim.connected);
    const auto adapter = softverbs::Adapter::join();
    require(adapter.has_value(), "its own device");
    const Fields theirs(arena_of(*peer));
    const Fields mine((*adapter)->arena().view());
    channel.send('m');
    const auto end = Clock::now() + std::chrono::milliseconds(random() % kLongestAttack.count());
    for (int turn = 0; !is_readable(channel.input(), 0s) && Clock::now() < end; ++turn) {
        for (int i = 0; i < 20; ++i) (random() % 4 ? theirs : mine).scribble(random);
        if (turn % 16 == 0) peer->ring_doorbell();
        // Removes memory from under whoever uses it.
        if (turn % 64 == 63)
            fallocate((*adapter)->arena().fd(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                      static_cast<off_t>(softverbs::kHeap), 1 << 20);
    }
    _exit(0);  // its own queues are damaged
}

/// Registered memory between two guard areas, which nobody may write.
class Guarded {
  public:
    explicit Guarded(Host& host) {
        void* const mapped = mmap(nullptr, kGuard + kSize + kGuard, PROT_READ | PROT_WRITE,
                                  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        require(mapped != MAP_FAILED, "memory");
        base_ = static_cast<std::uint8_t*>(mapped);
        fill(base_, kGuard, 1);
        fill(end(), kGuard, 2);
        mr_ = ibv_reg_mr(host.pd, begin(), kSize, kAllAccess);
        require(mr_ != nullptr, "memory is registered");
    }
    ~Guarded() { munmap(base_, kGuard + kSize + kGuard); }
    Guarded(const Guarded&) = delete;
    Guarded& operator=(const Guarded&) = delete;

    ibv_sge sge(std::size_t offset, std::uint32_t length) const {
        return {reinterpret_cast<std::uintptr_t>(begin()) + offset, length, mr_->lkey};
    }
    bool is_whole() const { return holds(base_, kGuard, 1) && holds(end(), kGuard, 2); }
    int destroy() {
        const int cause = mr_ ? ibv_dereg_mr(mr_) : 0;
        if (cause == 0) mr_ = nullptr;
        return cause;
    }

  private:
    static constexpr std::size_t kGuard = 128 << 10, kSize = 256 << 10;
    std::uint8_t* begin() const { return base_ + kGuard; }
    std::uint8_t* end() const { return begin() + kSize; }

    std::uint8_t* base_ = nullptr;
    ibv_mr* mr_ = nullptr;
};

class Victim {
  public:
    Victim(Options options, std::mt19937& random)
        : random_(random),
          host_(options),
          memory_(host_),
          left_(host_),
          right_(host_),
          out_(host_),
          datagrams_(host_) {
        fcntl(host_.channel->fd, F_SETFL, fcntl(host_.channel->fd, F_GETFL) | O_NONBLOCK);
        handle_ = datagrams_.handle();
        left_.connect(right_.address());
        right_.connect(left_.address());
    }

    void meet(Channel& attacker) {
        remote_ = attacker.receive<Invitation>();
        attacker.send(Invitation{out_.address(), datagrams_.number()});
        (void)(out_.ready_to_receive(remote_.connected) == 0 && out_.ready_to_send() == 0);
        attacker.receive<char>();
    }

    /// Posts every kind of request, to the attacker and to ourselves, whatever the outcome.
    void work() {
        transfer(left_, right_.address());
        transfer(right_, left_.address());
        transfer(out_, remote_.connected);
        exchange_datagrams();
        if (random_() % 64 == 0) ibv_resize_cq(host_.cq, 512 << random_() % 3);
        if (random_() % 8 == 0) await_event();
        ibv_wc wc[16];
        ibv_poll_cq(host_.cq, 16, wc);
    }

    /// Closes everything while the attack continues.
    void close() {
        if (random_() % 2) out_.to_error();
        if (random_() % 2) datagrams_.to(IBV_QPS_ERR);
        ibv_wc wc[64];
        for (int i = 0; i < 20; ++i) ibv_poll_cq(host_.cq, 64, wc);
        require(eventually([&] {
                    return left_.destroy() + right_.destroy() + out_.destroy() +
                               datagrams_.destroy() + memory_.destroy() + host_.destroy() ==
                           0;
                }),
                "everything is closed in time");
        require(memory_.is_whole(), "nothing outside the registered memory has changed");
    }

  private:
    std::uint32_t any_length() {
        constexpr std::uint32_t kLengths[] = {0, 8, 60, 170, 3000, 70000};
        return kLengths[random_() % std::size(kLengths)];
    }
    ibv_sge to_send() { return memory_.sge(random_() % 4096, any_length()); }
    ibv_sge to_receive() { return memory_.sge(128 << 10, 80000); }

    void transfer(Qp& qp, const Address& remote) {
        qp.post_receive(random_(), {to_receive()});
        const auto opcode = random_() % 2 ? IBV_WR_RDMA_WRITE : IBV_WR_RDMA_READ;
        switch (random_() % 5) {
            case 0:
            case 1:
                qp.send(1, {to_send()});
                break;
            case 2:
                qp.atomic(4, IBV_WR_ATOMIC_FETCH_AND_ADD, memory_.sge(0, 8), remote.address,
                          remote.rkey, 1);
                break;
            default:
                qp.rdma(2, opcode, {to_send()}, remote.address, remote.rkey);
        }
    }
    void exchange_datagrams() {
        datagrams_.receive(random_(), {to_receive()});
        Datagrams::Message message;
        message.to = random_() % 2 ? datagrams_.number() : remote_.datagrams;
        message.by = handle_;
        ibv_sge sge = to_send();
        sge.length = std::min(sge.length, kMtu);
        datagrams_.send(5, {sge}, message);
    }
    void await_event() {
        ibv_req_notify_cq(host_.cq, 0);
        is_readable(host_.channel->fd, 1ms);
        ibv_cq* cq;
        void* cq_context;
        if (ibv_get_cq_event(host_.channel, &cq, &cq_context) == 0) ibv_ack_cq_events(cq, 1);
    }

    std::mt19937& random_;
    Host host_;
    Guarded memory_;
    Qp left_, right_, out_;
    Datagrams datagrams_;
    ibv_ah* handle_ = nullptr;
    Invitation remote_{};
};

void suffer(Channel& attacker, std::mt19937& random) {
    Options options;
    options.channel = true;
    options.shared_receives = random() % 2;
    options.buffer = 4096;
    Victim victim(options, random);
    victim.meet(attacker);
    const auto end = Clock::now() + std::chrono::milliseconds(random() % 60);
    while (Clock::now() < end) victim.work();
    victim.close();
}

void expect_a_device_that_works() {
    Host host;
    Qp left(host), right(host);
    left.connect(right.address());
    right.connect(left.address());
    right.post_receive(1, {host.sge(0, 100)});
    require(left.send(2, {host.sge(1000, 100)}) == 0, "posted");
    for (int done = 0; done < 2; ++done)
        require(host.wait().status == IBV_WC_SUCCESS, "the device works afterwards");
}

/// Progress of the victim, for the process that watches it.
struct Progress {
    std::atomic<unsigned> seed;
    std::atomic<int> rounds;
};

void be_the_victim(unsigned first_seed, int rounds, Progress& progress) {
    int descriptors = 0;
    for (int round = 0; round < rounds; ++round) {
        const unsigned seed = first_seed + static_cast<unsigned>(round);
        progress.seed = seed;
        progress.rounds = round;
        std::mt19937 random(seed);
        const char* const copies[] = {"auto", "process_vm", "agent"};
        setenv("SOFTVERBS_COPY", copies[random() % std::size(copies)], 1);
        Child attacker([seed](Channel& channel) { attack(channel, ~seed); });
        suffer(attacker.channel(), random);
        (void)write(attacker.channel().output(), "m", 1);  // it may have ended already
        require(attacker.wait() == 0, "the attacker ends in its own time");
        expect_a_device_that_works();
        if (round == 0) descriptors = open_descriptors();
        require(eventually([&] { return open_descriptors() <= descriptors; }), "nothing leaks");
    }
}

class VerbsScribbles : public testing::Test {
  protected:
    TemporaryFabric fabric_;
};

TEST_F(VerbsScribbles, HarmNobodyButTheConnectionsToWhoWritesThem) {
    if (kThreadSanitizer) GTEST_SKIP() << "it cannot follow a child that starts threads";
    void* const shared =
        mmap(nullptr, sizeof(Progress), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(shared, MAP_FAILED);
    auto& progress = *new (shared) Progress{};
    const unsigned chosen = chosen_seed();
    const int rounds = scaled(kRounds);
    Child victim([&](Channel&) { be_the_victim(chosen, rounds, progress); });
    int status = -1;
    for (int seen = -1; status == -1 && seen != progress.rounds;) {
        seen = progress.rounds;
        status = victim.wait();
    }
    EXPECT_EQ(status, 0) << "round " << progress.rounds << ", TEST_SEED=" << progress.seed
                         << (status == -1 ? ": it hangs" : "");
    munmap(shared, sizeof(Progress));
}

}  // namespace
}  // namespace test
