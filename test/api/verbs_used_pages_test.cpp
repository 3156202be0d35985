// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Path S: which of the memory that programs have, with no setting, peers come to map.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "test/api/verbs_pages.hpp"

namespace test {
namespace {

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

/// A process whose memory is written to.
/// @param poll as be_written_to() has it.
void own_pages(Channel& channel, bool poll) {
    Host host;
    Qp qp(host);
    qp.connect(channel);
    be_written_to(host, channel, poll);
}

void write_to(Child& owner) {
    Host host;
    Qp qp(host);
    qp.connect(owner.channel());
    write_until_shared(host, qp, owner.channel());
    owner.channel().meet();
    require(owner.wait() == 0, "the owner is content");
}

TEST_F(UsedPages, AreExchangedOnceTrafficIsWorthItWhereWritersCanBeHeldUp) {
    if (!may_hold_writers()) GTEST_SKIP() << "userfaultfd is not permitted here";
    Child owner([](Channel& channel) { own_pages(channel, false); });
    write_to(owner);
}

TEST_F(UsedPages, AreExchangedByTheOnlyThreadOfAnOrdinaryUserWhenItPolls) {
    if (geteuid() != 0) GTEST_SKIP() << "this is the way of the test above then";
    if (kThreadSanitizer) GTEST_SKIP() << "its own thread is one too many";
    Child writer([](Channel& channel) {
        drop_privileges();
        Child owner([](Channel& inner) { own_pages(inner, true); });
        write_to(owner);
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

}  // namespace
}  // namespace test
