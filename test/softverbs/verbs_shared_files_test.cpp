// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Path S: what programs do with memory that is shared from birth, and which memory that is.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <functional>

#include "providers/soft/softverbs/softverbs.h"
#include "test/softverbs/verbs_pages.hpp"

namespace test {
namespace {

class SharedFiles : public testing::Test {
  protected:
    TemporaryFabric fabric_;
};

struct UsedMemory {
    std::uint64_t address;
    std::uint32_t key;
};

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

TEST_F(SharedFiles, ThatAreSealedAreMappedByThePeer) {
    Child child([](Channel& channel) { own_file(F_SEAL_SHRINK, channel); });
    Host host;
    Qp qp(host);
    qp.connect(child.channel());
    write_into_file(host, qp, child.channel());
    EXPECT_EQ(mappings_of("memfd:application"), 1) << "the peer's file is mapped here";
    child.channel().meet();
    EXPECT_EQ(child.wait(), 0);
}

TEST_F(SharedFiles, ThatCouldBeCutShortAreNotMapped) {
    Child child([](Channel& channel) { own_file(0, channel); });
    Host host;
    Qp qp(host);
    qp.connect(child.channel());
    write_into_file(host, qp, child.channel());
    EXPECT_EQ(mappings_of("memfd:application"), 0);
    child.channel().meet();
    EXPECT_EQ(child.wait(), 0);
}

TEST_F(SharedFiles, OrdinaryMemoryIsNeverExchangedForSharedPages) {
    Child child([](Channel& channel) {
        Host host;
        Qp qp(host);
        qp.connect(channel);
        channel.meet();
        require(!is_shared(host.buffer.data() + 8192), "the pages are the program's own");
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
}

/// What an application may do with provided memory, and the effect that it has. Each of these is a
/// limit that doc/compatibility.md names.
class LimitsOfSharedPages : public testing::Test {
  protected:
    LimitsOfSharedPages() : host_(no_buffer()) {
        memory_ = static_cast<std::uint8_t*>(softverbs_memory_alloc(kSize));
        fill(memory_, kSize, 4);
        mr_ = ibv_reg_mr(host_.pd, memory_, kSize, kAllAccess);
        require(mr_ && is_shared(memory_), "pages are shared");
    }
    ~LimitsOfSharedPages() override {
        ibv_dereg_mr(mr_);
        softverbs_memory_free(memory_);
    }
    /// Has a child made by `make` check the memory and change it. @return the child's exit status.
    int in_child(const std::function<pid_t()>& make) {
        const pid_t child = make();
        if (child == 0) {
            const bool whole = holds(memory_, kSize, 4);
            memory_[5000] = 99;
            _exit(whole ? 0 : 1);
        }
        int status = -1;
        waitpid(child, &status, 0);
        return WEXITSTATUS(status);
    }
    static constexpr std::size_t kSize = 64 << 10;
    TemporaryFabric fabric_;
    Host host_;
    std::uint8_t* memory_ = nullptr;
    ibv_mr* mr_ = nullptr;
};

TEST_F(LimitsOfSharedPages, ForkGivesTheChildACopyOfItsOwn) {
    const std::uint8_t before = memory_[5000];
    EXPECT_EQ(in_child([] { return fork(); }), 0);
    EXPECT_EQ(memory_[5000], before);
    EXPECT_TRUE(is_shared(memory_));
}

TEST_F(LimitsOfSharedPages, AChildFreesItsCopyOfProvidedMemory) {
    const pid_t child = fork();
    if (child == 0) {
        const bool whole = holds(memory_, kSize, 4);
        std::memset(memory_, 0, kSize);
        softverbs_memory_free(memory_);
        _exit(whole && !is_shared(memory_) ? 0 : 1);
    }
    int status = -1;
    waitpid(child, &status, 0);
    EXPECT_EQ(WEXITSTATUS(status), 0);
    EXPECT_TRUE(holds(memory_, kSize, 4));
}

TEST_F(LimitsOfSharedPages, ARawCloneSharesThePagesWithItsParent) {
    EXPECT_EQ(in_child([] { return static_cast<pid_t>(syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0)); }),
              0);
    EXPECT_EQ(memory_[5000], 99);
}

TEST_F(LimitsOfSharedPages, MadvDontneedKeepsWhatThePagesHold) {
    ASSERT_EQ(madvise(memory_, kSize, MADV_DONTNEED), 0);
    EXPECT_TRUE(holds(memory_, kSize, 4));
}

TEST_F(LimitsOfSharedPages, MadvRemoveZeroesThePagesForPeersToo) {
    ASSERT_EQ(madvise(memory_, kSize, MADV_REMOVE), 0);
    EXPECT_EQ(std::count(memory_, memory_ + kSize, 0), static_cast<std::ptrdiff_t>(kSize));
    EXPECT_TRUE(is_shared(memory_));
}

}  // namespace
}  // namespace test
