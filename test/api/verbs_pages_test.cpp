// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Path S: memory that peers map. Which memory that is, that it stays the application's own, and
/// what happens at its limits.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <functional>
#include <thread>

#include "test/api/verbs_pair.hpp"

namespace test {
namespace {

class VerbsPages : public testing::Test {
  protected:
    VerbsPages() { provided_memory = true; }
    ~VerbsPages() override { provided_memory = false; }
    TemporaryFabric fabric_;
};

/// Mappings of this process whose file's name contains `name`.
int mappings_of(const std::string& name) {
    FILE* maps = fopen("/proc/self/maps", "re");
    int found = 0;
    char line[4400];
    while (fgets(line, sizeof line, maps))
        if (std::string(line).find(name) != std::string::npos) ++found;
    fclose(maps);
    return found;
}

TEST_F(VerbsPages, AWriteToMemoryThatTheLibraryProvidesNeedsNoRightToTouchTheProcess) {
    Child child([](Channel& channel) {
        Host host;
        Qp qp(host);
        qp.connect(channel);
        channel.meet();
        require(holds(host.buffer.data() + 5, 100001, 3), "all is there");
        channel.meet();
    });
    Host host;
    Qp qp(host);
    const Address peer = qp.connect(child.channel());
    fill(host.buffer.data(), 100001, 3);
    const int before = mappings_of("softverbs-pages");
    qp.rdma(1, IBV_WR_RDMA_WRITE, {host.sge(0, 100001)}, peer.address + 5, peer.rkey);
    EXPECT_EQ(host.wait().status, IBV_WC_SUCCESS);
    EXPECT_EQ(mappings_of("softverbs-pages"), before + 1) << "the peer's pages are mapped here";
    child.channel().meet();
    child.channel().meet();
    EXPECT_EQ(child.wait(), 0);
}

TEST_F(VerbsPages, TheMappingOfAPeersPagesGoesWithTheLastQueuePair) {
    Child child([](Channel& channel) {
        Host host;
        Qp qp(host);
        qp.connect(channel);
        channel.meet();
    });
    Host host;
    const int before = mappings_of("softverbs-pages");
    {
        Qp qp(host);
        const Address peer = qp.connect(child.channel());
        qp.rdma(1, IBV_WR_RDMA_WRITE, {host.sge(0, 8)}, peer.address, peer.rkey);
        EXPECT_EQ(host.wait().status, IBV_WC_SUCCESS);
        EXPECT_EQ(mappings_of("softverbs-pages"), before + 1);
        child.channel().meet();
        EXPECT_EQ(child.wait(), 0);
    }
    EXPECT_EQ(mappings_of("softverbs-pages"), before);
}

TEST_F(VerbsPages, ProvidedMemoryIsZeroedBeginsOnAPageAndGoesWhenItIsFreed) {
    auto* memory = static_cast<std::uint8_t*>(softverbs_memory_alloc(10000));
    ASSERT_NE(memory, nullptr);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(memory) % 4096, 0u);
    EXPECT_EQ(std::count(memory, memory + 10000, 0), 10000);
    std::memset(memory, 1, 10000);
    EXPECT_EQ(mappings_of("softverbs-pages"), 1);
    softverbs_memory_free(memory);
    EXPECT_EQ(mappings_of("softverbs-pages"), 0);
    errno = 0;
    EXPECT_EQ(softverbs_memory_alloc(0), nullptr);
    EXPECT_EQ(errno, EINVAL);
    EXPECT_EQ(softverbs_memory_alloc(~std::size_t{0}), nullptr);
    EXPECT_EQ(errno, ENOMEM);
    softverbs_memory_free(nullptr);
    softverbs_memory_free(&errno);
}

TEST_F(VerbsPages, MemoryThatIsFreedWhileItIsRegisteredGoesWithItsLastRegion) {
    Options small;
    small.buffer = 4096;
    Host host(small);
    const int before = mappings_of("softverbs-pages");
    auto* memory = static_cast<std::uint8_t*>(softverbs_memory_alloc(8192));
    ibv_mr* first = ibv_reg_mr(host.pd, memory, 8192, kAllAccess);
    ibv_mr* second = ibv_reg_mr(host.pd, memory + 100, 5000, kAllAccess);
    ASSERT_TRUE(first && second);
    softverbs_memory_free(memory);
    memory[0] = 1;
    ibv_dereg_mr(first);
    memory[8191] = 1;
    EXPECT_GE(mappings_of("softverbs-pages"), before);
    ibv_dereg_mr(second);
    EXPECT_EQ(mappings_of("softverbs-pages"), before);
}

/// Ordinary memory whose pages are exchanged when it is registered.
class ExchangedPages : public testing::Test {
  protected:
    ExchangedPages() { setenv("SOFTVERBS_SHARED_PAGES", "always", 1); }
    ~ExchangedPages() override { unsetenv("SOFTVERBS_SHARED_PAGES"); }
    TemporaryFabric fabric_;
};

/// Private anonymous memory of its own.
class Anonymous {
  public:
    explicit Anonymous(std::size_t size) : size_(size) {
        void* memory =
            mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        require(memory != MAP_FAILED, "memory is mapped");
        data_ = static_cast<std::uint8_t*>(memory);
    }
    ~Anonymous() { munmap(data_, size_); }
    Anonymous(const Anonymous&) = delete;
    Anonymous& operator=(const Anonymous&) = delete;
    std::uint8_t* data() const { return data_; }
    std::size_t size() const { return size_; }

  private:
    std::uint8_t* data_ = nullptr;
    const std::size_t size_;
};

Options no_buffer() {
    Options options;
    options.buffer = 4096;
    return options;
}

/// Whether the page at an address is one that peers may map.
bool is_shared(const void* address) {
    const auto wanted = reinterpret_cast<std::uintptr_t>(address);
    FILE* maps = fopen("/proc/self/maps", "re");
    bool shared = false;
    char line[4400];
    while (fgets(line, sizeof line, maps)) {
        unsigned long begin = 0, end = 0;
        if (sscanf(line, "%lx-%lx", &begin, &end) == 2 && begin <= wanted && wanted < end)
            shared = std::string(line).find("softverbs-pages") != std::string::npos;
    }
    fclose(maps);
    return shared;
}

TEST_F(ExchangedPages, KeepWhatTheyHoldAndAreThePrivateOnesAgainAtDeregistration) {
    Host host(no_buffer());
    Anonymous memory(64 << 10);
    fill(memory.data(), memory.size(), 7);
    ibv_mr* mr = ibv_reg_mr(host.pd, memory.data(), memory.size(), kAllAccess);
    ASSERT_NE(mr, nullptr);
    EXPECT_TRUE(is_shared(memory.data()));
    EXPECT_TRUE(is_shared(memory.data() + memory.size() - 1));
    EXPECT_TRUE(holds(memory.data(), memory.size(), 7));
    fill(memory.data(), memory.size(), 8);
    ibv_dereg_mr(mr);
    EXPECT_FALSE(is_shared(memory.data()));
    EXPECT_FALSE(is_shared(memory.data() + memory.size() - 1));
    EXPECT_TRUE(holds(memory.data(), memory.size(), 8));
}

TEST_F(ExchangedPages, AreOnlyThoseThatLieWhollyInTheRegion) {
    Host host(no_buffer());
    Anonymous memory(5 * 4096);
    fill(memory.data(), memory.size(), 7);
    ibv_mr* mr = ibv_reg_mr(host.pd, memory.data() + 100, 3 * 4096, kAllAccess);
    EXPECT_FALSE(is_shared(memory.data()));
    EXPECT_TRUE(is_shared(memory.data() + 4096));
    EXPECT_TRUE(is_shared(memory.data() + 2 * 4096));
    EXPECT_FALSE(is_shared(memory.data() + 3 * 4096));
    ibv_dereg_mr(mr);
    EXPECT_TRUE(holds(memory.data(), memory.size(), 7));
}

TEST_F(ExchangedPages, AreNotMadeOfFilesDevicesOrSharedMemory) {
    Host host(no_buffer());
    FILE* file = tmpfile();
    ASSERT_EQ(ftruncate(fileno(file), 8192), 0);
    for (const int flags : {MAP_SHARED, MAP_PRIVATE}) {
        auto* memory = static_cast<std::uint8_t*>(
            mmap(nullptr, 8192, PROT_READ | PROT_WRITE, flags, fileno(file), 0));
        ibv_mr* mr = ibv_reg_mr(host.pd, memory, 8192, kAllAccess);
        ASSERT_NE(mr, nullptr);
        EXPECT_FALSE(is_shared(memory));
        ibv_dereg_mr(mr);
        munmap(memory, 8192);
    }
    fclose(file);
}

TEST_F(ExchangedPages, HaveOnePathWhateverRegionsHoldThem) {
    Host host(no_buffer());
    Anonymous memory(8 * 4096);
    // Page 3 is the edge of the first region, and stays private for the second.
    ibv_mr* edge = ibv_reg_mr(host.pd, memory.data() + 3 * 4096 + 64, 2 * 4096, kAllAccess);
    EXPECT_FALSE(is_shared(memory.data() + 3 * 4096));
    EXPECT_TRUE(is_shared(memory.data() + 4 * 4096));
    ibv_mr* all = ibv_reg_mr(host.pd, memory.data(), memory.size(), kAllAccess);
    EXPECT_FALSE(is_shared(memory.data() + 3 * 4096));
    EXPECT_TRUE(is_shared(memory.data() + 4 * 4096));
    ibv_dereg_mr(edge);
    EXPECT_TRUE(is_shared(memory.data() + 4 * 4096)) << "the other region holds it";
    ibv_dereg_mr(all);
    EXPECT_FALSE(is_shared(memory.data() + 4 * 4096));
}

TEST_F(ExchangedPages, AreNotMadeOfPagesThatAnotherRegionHasAsAnEdge) {
    Host host(no_buffer());
    Anonymous memory(8 * 4096);
    ibv_mr* edge = ibv_reg_mr(host.pd, memory.data() + 3 * 4096 + 64, 128, kAllAccess);
    ibv_mr* all = ibv_reg_mr(host.pd, memory.data(), memory.size(), kAllAccess);
    EXPECT_FALSE(is_shared(memory.data() + 3 * 4096));
    ibv_dereg_mr(edge);
    ibv_dereg_mr(all);
}

/// What a swap without care does: copy, then map over.
void exchange_naively(std::uint8_t* page, int file) {
    (void)!pwrite(file, page, 4096, 0);
    mmap(page, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file, 0);
}
void restore_naively(std::uint8_t* page) {
    static std::uint8_t copy[4096];
    std::memcpy(copy, page, 4096);
    mmap(page, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    std::memcpy(page, copy, 4096);
}

/// Counts in the page for as long as `exchange` runs. @return updates that got lost.
std::uint64_t lost_updates(std::uint8_t* page, const std::function<void()>& exchange) {
    auto* counter = reinterpret_cast<std::uint64_t*>(page + 1024);
    std::atomic<bool> stop{false};
    std::atomic<std::uint64_t> counted{0};
    __atomic_store_n(counter, 0, __ATOMIC_SEQ_CST);
    std::thread writer([&] {
        while (!stop.load(std::memory_order_relaxed)) {
            __atomic_store_n(counter, __atomic_load_n(counter, __ATOMIC_RELAXED) + 1,
                             __ATOMIC_RELAXED);
            counted.fetch_add(1, std::memory_order_relaxed);
        }
    });
    while (counted.load() < 1000) sched_yield();
    exchange();
    stop.store(true);
    writer.join();
    return counted.load() - __atomic_load_n(counter, __ATOMIC_SEQ_CST);
}

/// Whether this process may hold writers up, as root usually may.
bool may_hold_writers() {
    const long faults = syscall(SYS_userfaultfd, O_CLOEXEC);
    if (faults >= 0) close(static_cast<int>(faults));
    return faults >= 0;
}

TEST_F(ExchangedPages, LoseNoUpdateOfAThreadThatWritesMeanwhile) {
    if (!may_hold_writers()) GTEST_SKIP() << "userfaultfd is not permitted here";
    Host host(no_buffer());
    Anonymous memory(16 * 4096);
    const std::uint64_t lost = lost_updates(memory.data() + 4096, [&] {
        for (int i = 0; i < scaled(50); ++i) {
            ibv_mr* mr = ibv_reg_mr(host.pd, memory.data(), memory.size(), kAllAccess);
            require(mr && is_shared(memory.data() + 4096), "the page is shared");
            ibv_dereg_mr(mr);
            require(!is_shared(memory.data() + 4096), "the page is private");
        }
    });
    EXPECT_EQ(lost, 0u);
}

/// The proof that the check can fail.
TEST(ExchangedPagesCheck, TheSameCheckCatchesASwapThatOnlyCopiesAndMapsOver) {
    if (kThreadSanitizer) GTEST_SKIP() << "it slows the writer down so much that little is lost";
    Anonymous memory(4096);
    const int file = memfd_create("naive", MFD_CLOEXEC);
    ASSERT_EQ(ftruncate(file, 4096), 0);
    const auto end = Clock::now() + kDeadline;
    std::uint64_t lost = 0;
    while (lost == 0 && Clock::now() < end) {
        lost += lost_updates(memory.data(), [&] {
            for (int i = 0; i < 200; ++i) {
                exchange_naively(memory.data(), file);
                restore_naively(memory.data());
            }
        });
    }
    close(file);
    EXPECT_GT(lost, 0u);
}

/// Ordinary memory as programs have it, with no setting.
class UsedPages : public testing::Test {
  protected:
    TemporaryFabric fabric_;
};

/// Becomes nobody, who may not hold writers up, with a fabric of its own.
void drop_privileges() {
    const std::string fabric = std::string(getenv("SOFTVERBS_FABRIC")) + "/nobody";
    require(chmod(getenv("SOFTVERBS_FABRIC"), 0755) == 0, "the directory is open");
    mkdir(fabric.c_str(), 0700);
    require(chown(fabric.c_str(), 65534, 65534) == 0, "a fabric");
    require(setgid(65534) == 0 && setuid(65534) == 0, "nobody");
    require(prctl(PR_SET_DUMPABLE, 1) == 0, "dumpable");
    setenv("SOFTVERBS_FABRIC", fabric.c_str(), 1);
}

struct UsedMemory {
    std::uint64_t address;
    std::uint32_t key;
};

/// Writes to the peer's memory until it says that its pages are shared, checking that all arrives.
void write_until_shared(Host& host, Qp& qp, Channel& channel) {
    const auto memory = channel.receive<UsedMemory>();
    for (std::uint32_t round = 1;; ++round) {
        fill(host.buffer.data(), 60000, round);
        qp.rdma(round, IBV_WR_RDMA_WRITE, {host.sge(0, 60000)}, memory.address + 3, memory.key);
        require(host.wait().status == IBV_WC_SUCCESS, "written");
        channel.send(round);
        if (channel.receive<char>() == 'y') return;
        require(round < 100000, "the pages are exchanged some time");
    }
}

void be_written_to(Host& host, Channel& channel, bool poll) {
    Anonymous memory(64 << 10);
    ibv_mr* mr = ibv_reg_mr(host.pd, memory.data(), memory.size(), kAllAccess);
    require(mr && !is_shared(memory.data() + 4096), "registering exchanges nothing");
    channel.send(UsedMemory{reinterpret_cast<std::uintptr_t>(memory.data()), mr->rkey});
    for (bool shared = false; !shared;) {
        const auto round = channel.receive<std::uint32_t>();
        for (int i = 0; poll && i < 1000; ++i) host.is_empty();
        require(holds(memory.data() + 3, 60000, round), "what was written is there");
        shared = is_shared(memory.data() + 4096);
        channel.send(shared ? 'y' : 'n');
    }
    channel.meet();
    ibv_dereg_mr(mr);
    require(!is_shared(memory.data() + 4096), "private again");
}

TEST_F(UsedPages, AreExchangedOnceTrafficIsWorthItWhereWritersCanBeHeldUp) {
    if (!may_hold_writers()) GTEST_SKIP() << "userfaultfd is not permitted here";
    Child child([](Channel& channel) {
        Host host;
        Qp qp(host);
        qp.connect(channel);
        be_written_to(host, channel, false);
    });
    Host host;
    Qp qp(host);
    qp.connect(child.channel());
    write_until_shared(host, qp, child.channel());
    child.channel().meet();
    EXPECT_EQ(child.wait(), 0);
}

TEST_F(UsedPages, AreExchangedByTheOnlyThreadOfAnOrdinaryUserWhenItPolls) {
    if (geteuid() != 0) GTEST_SKIP() << "this is the way of the test above then";
    if (kThreadSanitizer) GTEST_SKIP() << "its own thread is one too many";
    Child writer([](Channel& channel) {
        drop_privileges();
        Child owner([](Channel& inner) {
            Host host;
            Qp qp(host);
            qp.connect(inner);
            be_written_to(host, inner, true);
        });
        Host host;
        Qp qp(host);
        qp.connect(owner.channel());
        write_until_shared(host, qp, owner.channel());
        owner.channel().meet();
        require(owner.wait() == 0, "the owner is content");
        channel.meet();
    });
    writer.channel().meet();
    EXPECT_EQ(writer.wait(), 0);
}

/// Memory of a file that the test maps MAP_SHARED.
class SharedFile {
  public:
    explicit SharedFile(unsigned seals, std::size_t size = 64 << 10)
        : fd_(memfd_create("application", MFD_CLOEXEC | MFD_ALLOW_SEALING)), size_(size) {
        require(ftruncate(fd_, static_cast<off_t>(size)) == 0, "a file");
        if (seals != 0) require(fcntl(fd_, F_ADD_SEALS, seals) == 0, "sealed");
        data_ = static_cast<std::uint8_t*>(
            mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd_, 0));
    }
    ~SharedFile() {
        munmap(data_, size_);
        close(fd_);
    }
    SharedFile(const SharedFile&) = delete;
    SharedFile& operator=(const SharedFile&) = delete;
    std::uint8_t* data() const { return data_; }
    int fd() const { return fd_; }

  private:
    const int fd_;
    const std::size_t size_;
    std::uint8_t* data_ = nullptr;
};

/// Writes once into the peer's file and adds to a word of it.
void write_into_file(Host& host, Qp& qp, Channel& channel) {
    const auto memory = channel.receive<UsedMemory>();
    fill(host.buffer.data(), 60000, 9);
    qp.rdma(1, IBV_WR_RDMA_WRITE, {host.sge(0, 60000)}, memory.address + 17, memory.key);
    require(host.wait().status == IBV_WC_SUCCESS, "written");
    qp.atomic(2, IBV_WR_ATOMIC_FETCH_AND_ADD, host.sge(65536, 8), memory.address + 61440,
              memory.key, 5);
    require(host.wait().status == IBV_WC_SUCCESS, "added");
    channel.meet();
}

void own_file(unsigned seals, Channel& channel) {
    Host host;
    Qp qp(host);
    qp.connect(channel);
    SharedFile file(seals);
    ibv_mr* mr = ibv_reg_mr(host.pd, file.data(), 64 << 10, kAllAccess);
    require(mr != nullptr, "registered");
    channel.send(UsedMemory{reinterpret_cast<std::uintptr_t>(file.data()), mr->rkey});
    channel.meet();
    require(holds(file.data() + 17, 60000, 9), "what was written is there");
    require(*reinterpret_cast<std::uint64_t*>(file.data() + 61440) == 5, "what was added too");
    channel.meet();
    ibv_dereg_mr(mr);
}

TEST_F(UsedPages, OfASealedFileThatTheApplicationSharesAreMappedByThePeer) {
    Child child([](Channel& channel) { own_file(F_SEAL_SHRINK, channel); });
    Host host;
    Qp qp(host);
    qp.connect(child.channel());
    write_into_file(host, qp, child.channel());
    EXPECT_EQ(mappings_of("memfd:application"), 1) << "the peer's file is mapped here";
    child.channel().meet();
    EXPECT_EQ(child.wait(), 0);
}

TEST_F(UsedPages, OfAFileThatCouldBeCutShortAreNotMapped) {
    Child child([](Channel& channel) { own_file(0, channel); });
    Host host;
    Qp qp(host);
    qp.connect(child.channel());
    write_into_file(host, qp, child.channel());
    EXPECT_EQ(mappings_of("memfd:application"), 0);
    child.channel().meet();
    EXPECT_EQ(child.wait(), 0);
}

/// What an application may do with its memory, and what it then finds. Each of these is a limit
/// that doc/compatibility.md names.
class LimitsOfSharedPages : public ExchangedPages {
  protected:
    LimitsOfSharedPages() : host_(no_buffer()), memory_(64 << 10) {
        fill(memory_.data(), memory_.size(), 4);
        mr_ = ibv_reg_mr(host_.pd, memory_.data(), memory_.size(), kAllAccess);
        require(mr_ && is_shared(memory_.data()), "pages are shared");
    }
    ~LimitsOfSharedPages() override { ibv_dereg_mr(mr_); }
    /// What a child that `make` made sees and changes. @return its exit status.
    int in_child(const std::function<pid_t()>& make) {
        const pid_t child = make();
        if (child == 0) {
            const bool whole = holds(memory_.data(), memory_.size(), 4);
            memory_.data()[5000] = 99;
            _exit(whole ? 0 : 1);
        }
        int status = -1;
        waitpid(child, &status, 0);
        return WEXITSTATUS(status);
    }
    Host host_;
    Anonymous memory_;
    ibv_mr* mr_ = nullptr;
};

TEST_F(LimitsOfSharedPages, ForkGivesTheChildACopyOfItsOwn) {
    const std::uint8_t before = memory_.data()[5000];
    EXPECT_EQ(in_child([] { return fork(); }), 0);
    EXPECT_EQ(memory_.data()[5000], before);
    EXPECT_TRUE(is_shared(memory_.data()));
}

TEST_F(LimitsOfSharedPages, ForkGivesTheChildACopyOfProvidedMemoryWhichItMayFree) {
    auto* provided = static_cast<std::uint8_t*>(softverbs_memory_alloc(10000));
    fill(provided, 10000, 6);
    const pid_t child = fork();
    if (child == 0) {
        const bool whole = holds(provided, 10000, 6);
        std::memset(provided, 0, 10000);
        softverbs_memory_free(provided);
        _exit(whole && !is_shared(provided) ? 0 : 1);
    }
    int status = -1;
    waitpid(child, &status, 0);
    EXPECT_EQ(WEXITSTATUS(status), 0);
    EXPECT_TRUE(holds(provided, 10000, 6));
    softverbs_memory_free(provided);
}

TEST_F(LimitsOfSharedPages, ARawCloneSharesThePagesWithItsParent) {
    EXPECT_EQ(in_child([] { return static_cast<pid_t>(syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0)); }),
              0);
    EXPECT_EQ(memory_.data()[5000], 99);
}

TEST_F(LimitsOfSharedPages, MadvDontneedKeepsWhatThePagesHold) {
    ASSERT_EQ(madvise(memory_.data(), memory_.size(), MADV_DONTNEED), 0);
    EXPECT_TRUE(holds(memory_.data(), memory_.size(), 4));
}

TEST_F(LimitsOfSharedPages, MadvRemoveZeroesThePagesForPeersToo) {
    ASSERT_EQ(madvise(memory_.data(), memory_.size(), MADV_REMOVE), 0);
    EXPECT_EQ(std::count(memory_.data(), memory_.data() + memory_.size(), 0),
              static_cast<std::ptrdiff_t>(memory_.size()));
    EXPECT_TRUE(is_shared(memory_.data()));
}

TEST_F(LimitsOfSharedPages, WhatMremapMovedStaysShared) {
    void* moved = mremap(memory_.data(), memory_.size(), memory_.size(), MREMAP_MAYMOVE);
    ASSERT_EQ(moved, memory_.data()) << "nothing needs to move";
    void* place = mmap(nullptr, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    moved = mremap(memory_.data(), 4096, 4096, MREMAP_MAYMOVE | MREMAP_FIXED, place);
    ASSERT_EQ(moved, place);
    EXPECT_TRUE(is_shared(place));
    EXPECT_TRUE(holds(static_cast<std::uint8_t*>(place), 4096, 4));
    ibv_dereg_mr(mr_);
    EXPECT_FALSE(is_shared(memory_.data() + 4096)) << "the others are private again";
    EXPECT_TRUE(is_shared(place)) << "these have left";
    EXPECT_TRUE(holds(static_cast<std::uint8_t*>(place), 4096, 4));
    munmap(place, 4096);
    mr_ = ibv_reg_mr(host_.pd, memory_.data() + 4096, 4096, kAllAccess);
}

TEST_F(UsedPages, AreLeftAloneByTheSettingNever) {
    setenv("SOFTVERBS_SHARED_PAGES", "never", 1);
    Child child([](Channel& channel) {
        Host host;
        Qp qp(host);
        qp.connect(channel);
        channel.meet();
        require(!is_shared(host.buffer.data() + 8192), "nothing was exchanged");
    });
    Host host;
    Qp qp(host);
    const Address peer = qp.connect(child.channel());
    for (int i = 0; i < 1000; ++i) {
        qp.rdma(1, IBV_WR_RDMA_WRITE, {host.sge(0, 1 << 20)}, peer.address, peer.rkey);
        ASSERT_EQ(host.wait().status, IBV_WC_SUCCESS);
    }
    child.channel().meet();
    EXPECT_EQ(child.wait(), 0);
    unsetenv("SOFTVERBS_SHARED_PAGES");
}

TEST_F(ExchangedPages, StayPrivateWhileAQuarterOfAllMappingsIsInUse) {
    Host host(no_buffer());
    unsigned long most = 0;
    FILE* file = fopen("/proc/sys/vm/max_map_count", "re");
    ASSERT_EQ(fscanf(file, "%lu", &most), 1);
    fclose(file);
    if (most > 200000) GTEST_SKIP() << "vm.max_map_count is " << most;
    Anonymous memory(64 << 10);
    {
        // Every other page has other rights, so each is a mapping of its own.
        Anonymous many((most / 4 + 2) * 4096);
        for (std::size_t at = 0; at < many.size(); at += 8192)
            ASSERT_EQ(mprotect(many.data() + at, 4096, PROT_READ), 0);
        ibv_mr* mr = ibv_reg_mr(host.pd, memory.data(), memory.size(), kAllAccess);
        EXPECT_FALSE(is_shared(memory.data()));
        ibv_dereg_mr(mr);
    }
    ibv_mr* mr = ibv_reg_mr(host.pd, memory.data(), memory.size(), kAllAccess);
    EXPECT_TRUE(is_shared(memory.data()));
    ibv_dereg_mr(mr);
}

TEST_F(ExchangedPages, StayPrivateWhileAnythingHasPinnedPagesOfTheProcess) {
    Host host(no_buffer());
    Anonymous memory(64 << 10);
    Anonymous pinned(64 << 10);
    std::uint64_t parameters[15] = {};  // struct io_uring_params
    const int ring = static_cast<int>(syscall(SYS_io_uring_setup, 1, parameters));
    if (ring < 0) GTEST_SKIP() << "io_uring is not permitted here";
    const iovec buffer{pinned.data(), pinned.size()};
    constexpr int kRegisterBuffers = 0;
    if (syscall(SYS_io_uring_register, ring, kRegisterBuffers, &buffer, 1) != 0) {
        close(ring);
        GTEST_SKIP() << "pages cannot be pinned here";
    }
    const auto becomes_shared = [&] {
        ibv_mr* mr = ibv_reg_mr(host.pd, memory.data(), memory.size(), kAllAccess);
        const bool shared = is_shared(memory.data());
        ibv_dereg_mr(mr);
        return shared;
    };
    EXPECT_FALSE(becomes_shared());
    close(ring);
    EXPECT_TRUE(eventually(becomes_shared)) << "the kernel lets go of them a while later";
}

TEST_F(VerbsPages, HolesThatTheOwnerPunchesHurtNobody) {
    Child child([](Channel& channel) {
        Host host;
        Qp qp(host);
        qp.connect(channel);
        channel.meet();
        require(madvise(host.buffer.data(), host.buffer.size(), MADV_REMOVE) == 0, "punched");
        channel.meet();
        channel.meet();
        require(holds(host.buffer.data(), 100000, 5), "what was written then is there");
    });
    Host host;
    Qp qp(host);
    const Address peer = qp.connect(child.channel());
    fill(host.buffer.data(), 100000, 5);
    qp.rdma(1, IBV_WR_RDMA_WRITE, {host.sge(0, 100000)}, peer.address, peer.rkey);
    ASSERT_EQ(host.wait().status, IBV_WC_SUCCESS);
    child.channel().meet();
    child.channel().meet();
    qp.rdma(2, IBV_WR_RDMA_READ, {host.sge(1 << 20, 100000)}, peer.address, peer.rkey);
    ASSERT_EQ(host.wait().status, IBV_WC_SUCCESS);
    EXPECT_EQ(host.buffer[(1 << 20) + 50], 0);
    qp.rdma(3, IBV_WR_RDMA_WRITE, {host.sge(0, 100000)}, peer.address, peer.rkey);
    ASSERT_EQ(host.wait().status, IBV_WC_SUCCESS);
    child.channel().meet();
    EXPECT_EQ(child.wait(), 0);
}

/// Two processes at once: one adds by verbs, the owner's processor adds too.
TEST_F(VerbsPages, AtomicsAreTheProcessorsOwnAndGoTogetherWithThoseOfTheOwner) {
    constexpr int kAdds = 20000;
    Child child([](Channel& channel) {
        Host host;
        Qp qp(host);
        qp.connect(channel);
        auto* word = reinterpret_cast<std::uint64_t*>(host.buffer.data());
        for (int i = 0; i < kAdds; ++i) __atomic_fetch_add(word, 1, __ATOMIC_RELAXED);
        channel.meet();
        require(__atomic_load_n(word, __ATOMIC_SEQ_CST) == 2 * kAdds, "nothing is lost");
    });
    Host host;
    Qp qp(host);
    const Address peer = qp.connect(child.channel());
    for (int i = 0; i < kAdds; ++i) {
        qp.atomic(1, IBV_WR_ATOMIC_FETCH_AND_ADD, host.sge(0, 8), peer.address, peer.rkey, 1);
        ASSERT_EQ(host.wait().status, IBV_WC_SUCCESS);
    }
    child.channel().meet();
    EXPECT_EQ(child.wait(), 0);
}

}  // namespace
}  // namespace test
