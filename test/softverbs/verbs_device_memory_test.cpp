// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Regions on memory that is not the program's own: the device's, and what a descriptor stands for.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include "test/softverbs/remote_requests.hpp"

namespace test {
namespace {

constexpr std::size_t kPage = 4096;
constexpr unsigned kZeroBased = kAllAccess | IBV_ACCESS_ZERO_BASED;

class OtherMemory : public testing::Test {
  protected:
    void SetUp() override {
        if (kThreadSanitizer)
            GTEST_SKIP() << "it cannot follow threads of a child made beside threads";
    }
    TemporaryFabric fabric_;
};

ibv_dm* allocate(const Host& host, std::size_t length, std::uint32_t log2_alignment = 0) {
    ibv_alloc_dm_attr attributes{length, log2_alignment, 0};
    return ibv_alloc_dm(host.context, &attributes);
}

TEST_F(OtherMemory, DeviceMemoryIsCopiedInWords) {
    Host host;
    ibv_dm* const memory = allocate(host, 256, 6);
    ASSERT_TRUE(memory);
    std::uint8_t data[256], found[256];
    ASSERT_EQ(ibv_memcpy_from_dm(found, memory, 0, sizeof found), 0);
    EXPECT_EQ(found[255], 0) << "nobody's data is left in it";
    fill(data, sizeof data, 3);
    ASSERT_EQ(ibv_memcpy_to_dm(memory, 0, data, sizeof data), 0);
    ASSERT_EQ(ibv_memcpy_from_dm(found, memory, 0, sizeof found), 0);
    EXPECT_EQ(std::memcmp(data, found, sizeof data), 0);
    ASSERT_EQ(ibv_memcpy_from_dm(found, memory, 128, 4), 0);
    EXPECT_EQ(std::memcmp(data + 128, found, 4), 0);
    for (const auto& [offset, length] : {std::pair<int, int>{3, 4}, {4, 3}, {256, 4}, {0, 260}}) {
        EXPECT_EQ(ibv_memcpy_to_dm(memory, offset, data, length), EINVAL);
        EXPECT_EQ(ibv_memcpy_from_dm(found, memory, offset, length), EINVAL);
    }
    EXPECT_EQ(ibv_free_dm(memory), 0);
}

TEST_F(OtherMemory, DeviceMemoryIsAsMuchAsTheDeviceSays) {
    Host host;
    ibv_device_attr_ex attributes{};
    ASSERT_EQ(ibv_query_device_ex(host.context, nullptr, &attributes), 0);
    ASSERT_GT(attributes.max_dm_size, 0u);
    for (const std::uint64_t size : {std::uint64_t{0}, attributes.max_dm_size + 1}) {
        EXPECT_EQ(allocate(host, size), nullptr);
        EXPECT_EQ(errno, EINVAL);
    }
    EXPECT_EQ(allocate(host, 64, 13), nullptr) << "more than a page's alignment";
    ibv_dm* const most = allocate(host, attributes.max_dm_size);
    ASSERT_TRUE(most);
    EXPECT_EQ(allocate(host, 4), nullptr);
    EXPECT_EQ(errno, ENOMEM);
    EXPECT_EQ(ibv_free_dm(most), 0);
    ibv_dm* const again = allocate(host, 4);
    EXPECT_TRUE(again);
    EXPECT_EQ(ibv_free_dm(again), 0);
}

TEST_F(OtherMemory, PeersReachDeviceMemoryThroughARegion) {
    Host host;
    Peer peer(host);
    ibv_dm* const memory = allocate(host, 256);
    ASSERT_TRUE(memory);
    EXPECT_EQ(ibv_reg_dm_mr(host.pd, memory, 0, 256, unsigned{kAllAccess}), nullptr)
        << "it has no addresses but its own";
    EXPECT_EQ(ibv_reg_dm_mr(host.pd, memory, 128, 132, kZeroBased), nullptr);
    EXPECT_EQ(errno, EINVAL);
    ibv_mr* const mr = ibv_reg_dm_mr(host.pd, memory, 128, 64, kZeroBased);
    ASSERT_TRUE(mr);
    EXPECT_EQ(ibv_free_dm(memory), EBUSY);
    EXPECT_EQ(peer.write(8, mr->rkey), IBV_WC_SUCCESS);
    std::uint8_t found[8];
    ASSERT_EQ(ibv_memcpy_from_dm(found, memory, 136, sizeof found), 0);
    EXPECT_TRUE(holds_written(found));
    const std::uint8_t zeros[8] = {};
    ASSERT_EQ(ibv_memcpy_to_dm(memory, 136, zeros, sizeof zeros), 0);
    EXPECT_EQ(peer.request(IBV_WR_ATOMIC_FETCH_AND_ADD, 8, mr->rkey).status, IBV_WC_SUCCESS);
    EXPECT_EQ(peer.request(IBV_WR_RDMA_READ, 8, mr->rkey).word, 1u);
    EXPECT_EQ(peer.write(60, mr->rkey), IBV_WC_REM_ACCESS_ERR);
    // It is a segment of own requests as well.
    Qp one(host), other(host);
    one.connect(other.address());
    other.connect(one.address());
    ASSERT_EQ(one.rdma(1, IBV_WR_RDMA_WRITE, {{8, 8, mr->lkey}}, host.address(), host.mr->rkey), 0);
    EXPECT_EQ(host.wait().status, IBV_WC_SUCCESS);
    EXPECT_EQ(host.buffer[0], 1);
    EXPECT_EQ(ibv_dereg_mr(mr), 0);
    EXPECT_EQ(ibv_free_dm(memory), 0);
}

/// A file of three pages, whose first one is not registered.
struct File {
    explicit File(unsigned flags = 0) : fd(memfd_create("test", flags)) {
        require(fd >= 0 && ftruncate(fd, 3 * kPage) == 0, "a file");
    }
    ~File() { close(fd); }
    std::uint8_t byte(std::size_t at) const {
        std::uint8_t found = 0;
        require(pread(fd, &found, 1, static_cast<off_t>(at)) == 1, "read");
        return found;
    }
    const int fd;
};

void reach_file(const File& file) {
    Host host;
    Peer peer(host);
    ibv_mr* const mr =
        ibv_reg_dmabuf_mr(host.pd, kPage + 64, kPage, 0x10000040, file.fd, int{kAllAccess});
    ASSERT_TRUE(mr);
    EXPECT_EQ(mr->length, kPage);
    EXPECT_EQ(peer.write(0x10000040, mr->rkey), IBV_WC_SUCCESS);
    EXPECT_EQ(file.byte(kPage + 64), pattern(0, 9));
    EXPECT_EQ(file.byte(kPage + 71), pattern(7, 9));
    EXPECT_EQ(peer.write(0x10000040 - 8, mr->rkey), IBV_WC_REM_ACCESS_ERR);
    EXPECT_EQ(peer.write(0x10000040 + kPage - 4, mr->rkey), IBV_WC_REM_ACCESS_ERR);
    EXPECT_EQ(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_TRANSLATION, nullptr, host.buffer.data(), 64, 0),
              IBV_REREG_MR_ERR_INPUT)
        << "the memory is not the program's to change";
    EXPECT_EQ(ibv_dereg_mr(mr), 0);
}

TEST_F(OtherMemory, ARegionOfAFileHasAMappingOfItsOwn) {
    reach_file(File{});
}

TEST_F(OtherMemory, ASealedFileIsReachedByPlainCopies) {
    File file(MFD_ALLOW_SEALING);
    ASSERT_EQ(fcntl(file.fd, F_ADD_SEALS, F_SEAL_SHRINK), 0);
    reach_file(file);
}

TEST_F(OtherMemory, WhatCannotBeMappedIsRefused) {
    Host host;
    File file;
    int sockets[2];
    ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, sockets), 0);
    const auto refused = [&](std::uint64_t offset, std::size_t length, std::uint64_t iova, int fd,
                             int access) {
        errno = 0;
        return ibv_reg_dmabuf_mr(host.pd, offset, length, iova, fd, access) == nullptr ? errno : 0;
    };
    EXPECT_EQ(refused(0, kPage, 0, sockets[0], kAllAccess), ENODEV);
    EXPECT_EQ(refused(0, kPage, 0, -1, kAllAccess), EBADF);
    EXPECT_EQ(refused(0, 0, 0, file.fd, kAllAccess), EINVAL);
    EXPECT_EQ(refused(64, kPage, 0, file.fd, kAllAccess), EINVAL) << "offset and address in a page";
    EXPECT_EQ(refused(0, kPage, 0, file.fd, kAllAccess | IBV_ACCESS_ON_DEMAND), EINVAL);
    EXPECT_EQ(refused(4 * kPage, kPage, 0, file.fd, kAllAccess), EFAULT) << "behind its end";
    close(sockets[0]);
    close(sockets[1]);
}

}  // namespace
}  // namespace test
