// SPDX-License-Identifier: BSD-2-Clause
#include "device/locked_memory.hpp"

#include <gtest/gtest.h>

#include <cerrno>
#include <sstream>

namespace {

using dapl::LockedMemory;

constexpr const char* kFirstNameSpace = "         0          0 4294967295\n";
constexpr const char* kContainer = "         0     100000      65536\n";
constexpr const char* kUser = "CapEff:\t0000000000000000\n";
constexpr const char* kRoot = "CapEff:\t000001ffffffffff\n";
constexpr std::uint64_t kLimit = 65536;

LockedMemory read(const std::string& status, const char* users = kFirstNameSpace,
                  std::uint64_t limit = kLimit) {
    std::istringstream status_stream(status);
    std::istringstream users_stream(users);
    return dapl::locked_memory(status_stream, users_stream, limit);
}

TEST(LockedMemory, is_read_from_what_the_kernel_says_of_the_process) {
    const LockedMemory memory = read(
        "Name:\ta name: VmPin:\nVmLck:\t      12 kB\nVmPin:\t      40 kB\n" + std::string(kUser));
    EXPECT_EQ(memory.limit, kLimit);
    EXPECT_EQ(memory.locked, 12u * 1024);
    EXPECT_EQ(memory.pinned, 40u * 1024);
    EXPECT_TRUE(memory.forbids(24 * 1024 + 1));
    EXPECT_FALSE(memory.forbids(24 * 1024));
}

TEST(LockedMemory, more_pinned_than_the_limit_forbids_all) {
    EXPECT_TRUE(read("VmPin:\t 65 kB\n").forbids(1));
}

TEST(LockedMemory, root_is_not_bound_by_the_limit_but_a_containers_root_is) {
    EXPECT_FALSE(read(kRoot).forbids(1ULL << 40));
    EXPECT_TRUE(read(kRoot, kContainer).forbids(1ULL << 40));
    EXPECT_TRUE(read(kUser).forbids(1ULL << 40));
}

TEST(LockedMemory, without_a_limit_nothing_is_forbidden) {
    EXPECT_FALSE(read(kUser, kFirstNameSpace, LockedMemory::kUnlimited).forbids(1ULL << 62));
}

TEST(LockedMemory, only_a_lack_of_memory_can_be_its_limit) {
    EXPECT_TRUE(dapl::may_be_lock_limit(ENOMEM));
    EXPECT_TRUE(dapl::may_be_lock_limit(EAGAIN));
    EXPECT_FALSE(dapl::may_be_lock_limit(EINVAL));
    EXPECT_FALSE(dapl::may_be_lock_limit(EFAULT));
}

}  // namespace
