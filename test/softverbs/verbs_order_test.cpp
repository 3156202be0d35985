// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// In-order placement: whoever polls the last byte of a write sees all of it. The same check is
/// shown to catch a copy that is not in order.
#include <sys/mman.h>

#include <algorithm>
#include <atomic>

#include "test/softverbs/verbs_pair.hpp"

namespace test {
namespace {

constexpr std::size_t kLargest = 1 << 20;
constexpr std::uint32_t kNoRound = 1u << 31;

/// Shared by the writer and the process that polls.
struct Board {
    std::atomic<std::uint32_t> cleared;  ///< rounds for which the buffer is ready
    std::atomic<std::uint32_t> checked;  ///< rounds that were checked
    std::atomic<std::uint32_t> violations;
    std::atomic<std::uint32_t> size;  ///< of the next round; 0 ends
    std::uint8_t memory[kLargest + 64];
};

class SharedBoard {
  public:
    SharedBoard() {
        void* memory =
            mmap(nullptr, sizeof(Board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        if (memory == MAP_FAILED) throw std::runtime_error("mmap failed");
        board_ = new (memory) Board{};
    }
    ~SharedBoard() { munmap(board_, sizeof(Board)); }
    Board* operator->() const { return board_; }
    Board& operator*() const { return *board_; }

  private:
    Board* board_;
};

template <class Condition>
void spin(Condition condition) {
    const auto end = Clock::now() + kDeadline;
    for (int turns = 0; !condition();) {
        if (++turns % 1000 != 0) continue;
        sched_yield();
        require(Clock::now() < end, "the other side goes on");
    }
}

std::uint8_t look(const std::uint8_t* at) {
    return __atomic_load_n(at, __ATOMIC_ACQUIRE);
}

/// Polls the last byte. After each poll it reads other bytes, so that their cache lines are present
/// and a late store to them is caught.
bool arrives_whole(const std::uint8_t* memory, std::uint32_t size) {
    bool samples = false;
    spin([&] {
        const bool arrived = look(memory + size - 1) != 0;
        samples = look(memory) != 0 && look(memory + size / 3) != 0 &&
                  look(memory + size / 2) != 0 && look(memory + size - size / 4 - 1) != 0;
        return arrived;
    });
    bool whole = samples;
    for (std::uint32_t i = 0; i < size && whole; i += size > 4096 ? 61 : 1)
        whole = look(memory + i) != 0;
    for (std::uint32_t i = 1; i <= std::min(size, 256u) && whole; ++i)
        whole = look(memory + size - i) != 0;
    return whole;
}

void watch(Board& board, std::uint8_t* memory) {
    for (std::uint32_t round = 1;; ++round) {
        board.cleared.store(round);
        spin([&] { return board.size.load() != kNoRound; });
        const std::uint32_t size = board.size.load();
        if (size == 0) return;
        if (!arrives_whole(memory, size)) board.violations.fetch_add(1);
        // Waits for late stores, which the next round would find otherwise.
        spin([&] { return std::find(memory, memory + size, 0) == memory + size; });
        std::memset(memory, 0, size);
        board.size.store(kNoRound);
        board.checked.store(round);
    }
}

/// @param write places `size` bytes, none of them zero.
void write_rounds(Board& board, const std::function<void(std::uint32_t size)>& write,
                  const std::vector<std::pair<std::uint32_t, int>>& plan,
                  bool until_violation = false) {
    std::uint32_t round = 0;
    for (const auto& [size, count] : plan) {
        for (int i = 0; i < count && !(until_violation && board.violations.load()); ++i) {
            ++round;
            spin([&] { return board.cleared.load() >= round; });
            board.size.store(size);
            write(size);
            spin([&] { return board.checked.load() >= round; });
        }
    }
    spin([&] { return board.cleared.load() > round; });
    board.size.store(0);
}

std::vector<std::pair<std::uint32_t, int>> every_size() {
    std::vector<std::pair<std::uint32_t, int>> plan;
    for (std::uint32_t size = 1; size <= 256; ++size) plan.emplace_back(size, scaled(6));
    plan.emplace_back(4096, scaled(400));
    plan.emplace_back(65536, scaled(100));
    plan.emplace_back(1 << 20, scaled(6));
    return plan;
}

class VerbsOrder : public OnBothPaths {
  protected:
    void SetUp() override {
        if (kThreadSanitizer) GTEST_SKIP() << "it knows no order of plain stores, which this tests";
    }
};
INSTANTIATE_ON_BOTH_PATHS(VerbsOrder);
/// The memory that is written begins within a page.
TEST_P(VerbsOrder, WhoPollsTheLastByteOfAWriteSeesAllOfIt) {
    SharedBoard board;
    board->size.store(kNoRound);
    Child child([&](Channel& channel) {
        Host host;
        Qp qp(host);
        qp.connect(channel);
        watch(*board, host.buffer.data() + 24);
        channel.meet();
    });
    Host host;
    Qp qp(host);
    const Address peer = qp.connect(child.channel());
    std::memset(host.buffer.data(), 0x5a, kLargest);
    write_rounds(
        *board,
        [&](std::uint32_t size) {
            qp.rdma(1, IBV_WR_RDMA_WRITE, {host.sge(0, size)}, peer.address + 24, peer.rkey);
            require(host.wait().status == IBV_WC_SUCCESS, "written");
        },
        every_size());
    child.channel().meet_after([&] { return board->checked.load(); });
    EXPECT_EQ(board->violations.load(), 0u);
    EXPECT_EQ(child.wait(), 0);
}

TEST_P(VerbsOrder, WhoPollsTheLastByteWithinOneProcessSeesAllOfIt) {
    SharedBoard board;
    board->size.store(kNoRound);
    Child child([&](Channel& channel) {
        Host host;
        Qp from(host);
        Qp to(host);
        from.connect(to.address());
        to.connect(from.address());
        std::uint8_t* memory = host.buffer.data() + (2 << 20);
        std::memset(host.buffer.data(), 0x5a, kLargest);
        Thread watcher([&] { watch(*board, memory); });
        write_rounds(
            *board,
            [&](std::uint32_t size) {
                from.rdma(1, IBV_WR_RDMA_WRITE, {host.sge(0, size)}, host.address(2 << 20),
                          host.mr->rkey);
                require(host.wait().status == IBV_WC_SUCCESS, "written");
            },
            every_size());
        watcher.join();
        channel.meet();
    });
    child.channel().meet_after([&] { return board->checked.load(); });
    EXPECT_EQ(board->violations.load(), 0u);
    EXPECT_EQ(child.wait(), 0);
}

/// Proves that the check can fail: it catches a copy that stores its tail before its head, as the C
/// library's memcpy does for some sizes on some processors.
TEST(VerbsOrderCheck, TheSameCheckCatchesACopyThatStoresItsTailFirst) {
    if (!is_long_run()) GTEST_SKIP() << "in check-long: it must win a race";
    SharedBoard board;
    board->size.store(kNoRound);
    Child child([&](Channel& channel) {
        watch(*board, board->memory);
        channel.meet();
    });
    const auto tail_first = [&](std::uint32_t size) {
        std::memset(board->memory + size - 1, 0x5a, 1);
        for (int i = 0; i < 20; ++i) sched_yield();
        std::memset(board->memory, 0x5a, size - 1);
    };
    write_rounds(*board, tail_first, {{2, 200}, {128, 200}, {65536, 200}}, true);
    child.channel().meet_after([&] { return board->checked.load(); });
    EXPECT_GT(board->violations.load(), 0u);
    EXPECT_EQ(child.wait(), 0);
}

}  // namespace
}  // namespace test
