// SPDX-License-Identifier: BSD-2-Clause
// Messages to an unprivileged process when a kernel device may pin no more of its memory.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <vector>

#include "dapl/provider/entry.hpp"
#include "test/dapl/fake_device.hpp"
#include "test/support/process.hpp"
#include "test/support/sanitizer.hpp"

namespace {

namespace entry = dapl::entry;
using test::Channel;
using test::Child;
using test::require;

constexpr rlim_t kLimit = 64 * 1024;
constexpr uid_t kNobody = 65534;
constexpr DAT_RETURN kNoResources = 0x00030000;

/// @param body runs as a user to whom the limit applies, on a device that refuses with this error.
/// @return what the process prints to stderr.
std::string told_when_refused(int error, const std::function<void(DAT_IA_HANDLE)>& body) {
    return test::captured_stderr([&] {
        Child child([&](Channel&) {
            const rlimit limit{kLimit, kLimit};
            require(setrlimit(RLIMIT_MEMLOCK, &limit) == 0, "the limit is set");
            if (geteuid() == 0) require(setresuid(kNobody, kNobody, kNobody) == 0, "no privileges");
            const fake::OpenIa open;
            fake::refuse(error);
            body(open.ia);
            fake::refuse(0);
        });
        EXPECT_EQ(child.wait(), 0);
    });
}

DAT_RETURN register_range(DAT_IA_HANDLE ia, DAT_PZ_HANDLE pz, void* address, std::size_t bytes) {
    DAT_REGION_DESCRIPTION region;
    region.for_va = address;
    DAT_LMR_HANDLE lmr = nullptr;
    return entry::lmr_create(ia, DAT_MEM_TYPE_VIRTUAL, region, bytes, pz,
                             DAT_MEM_PRIV_LOCAL_READ_FLAG, DAT_VA_TYPE_VA, &lmr, nullptr, nullptr,
                             nullptr, nullptr);
}

void register_in_vain(DAT_IA_HANDLE ia, std::size_t bytes, int error = ENOMEM) {
    fake::refuse(0);
    DAT_PZ_HANDLE pz = nullptr;
    require(entry::pz_create(ia, &pz) == DAT_SUCCESS, "the zone is made");
    fake::refuse(error);
    std::vector<char> memory(bytes);
    require(register_range(ia, pz, memory.data(), bytes) == kNoResources, "the code");
}

void queue_in_vain(DAT_IA_HANDLE ia, DAT_RETURN code) {
    DAT_EVD_HANDLE evd = nullptr;
    require(entry::evd_create(ia, 8, nullptr, DAT_EVD_DTO_FLAG, &evd) == code, "the code");
}

#define SKIP_UNDER_THREAD_SANITIZER() \
    if (test::kThreadSanitizer) GTEST_SKIP() << "the thread sanitizer cannot follow the child"

TEST(LockLimit, that_forbids_a_registration_is_told_once_in_a_process) {
    SKIP_UNDER_THREAD_SANITIZER();
    EXPECT_EQ(
        told_when_refused(ENOMEM,
                          [](DAT_IA_HANDLE ia) {
                              register_in_vain(ia, 100 * 1024 + 1);
                              register_in_vain(ia, 100 * 1024 + 1);
                          }),
        "opendat: warning: device fake0 cannot register 101 KiB: the limit of locked memory "
        "is 64 KiB, of which devices hold 0 KiB (other locked memory: 0 KiB); raise the limit "
        "(`ulimit -l`, memlock in /etc/security/limits.conf, LimitMEMLOCK= of a systemd "
        "service) [DAT104]\n");
}

TEST(LockLimit, is_not_blamed_for_a_registration_that_it_permits) {
    SKIP_UNDER_THREAD_SANITIZER();
    EXPECT_EQ(told_when_refused(ENOMEM,
                                [](DAT_IA_HANDLE ia) {
                                    register_in_vain(ia, 4096);
                                    register_in_vain(ia, 4096);
                                }),
              "opendat: info: device fake0 cannot register 4 KiB: Cannot allocate memory; further "
              "messages are suppressed; compare the objects in use with the limits that "
              "`ibv_devinfo -v` shows; if none is reached, free memory, or raise the limit of the "
              "control group [DAT116]\n");
}

TEST(LockLimit, has_nothing_to_do_with_memory_that_is_not_there) {
    SKIP_UNDER_THREAD_SANITIZER();
    EXPECT_EQ(
        told_when_refused(EFAULT, [](DAT_IA_HANDLE ia) { register_in_vain(ia, 4096, EFAULT); }),
        "");
}

TEST(LockLimit, has_nothing_to_do_with_a_range_that_wraps_whatever_failed_before) {
    SKIP_UNDER_THREAD_SANITIZER();
    EXPECT_EQ(told_when_refused(0,
                                [](DAT_IA_HANDLE ia) {
                                    DAT_PZ_HANDLE pz = nullptr;
                                    require(entry::pz_create(ia, &pz) == DAT_SUCCESS, "a zone");
                                    auto* last = reinterpret_cast<char*>(~std::uintptr_t{0});
                                    errno = ENOMEM;
                                    require(register_range(ia, pz, last, 4096) == kNoResources,
                                            "the code");
                                }),
              "");
}

TEST(LockLimit, that_is_nearly_used_up_is_told_where_a_queue_lacks_memory) {
    SKIP_UNDER_THREAD_SANITIZER();
    EXPECT_EQ(told_when_refused(ENOMEM, [](DAT_IA_HANDLE ia) { queue_in_vain(ia, kNoResources); }),
              "opendat: warning: device fake0 refuses a completion queue: Cannot allocate memory; "
              "the limit of locked memory is 64 KiB, of which devices hold 0 KiB (other locked "
              "memory: 0 KiB); raise the limit (`ulimit -l`, memlock in /etc/security/limits.conf, "
              "LimitMEMLOCK= of a systemd service) [DAT105]\n");
}

TEST(LockLimit, is_not_blamed_for_another_refusal_of_a_queue) {
    SKIP_UNDER_THREAD_SANITIZER();
    EXPECT_EQ(
        told_when_refused(EINVAL, [](DAT_IA_HANDLE ia) { queue_in_vain(ia, 0x00060000); }),
        "opendat: warning: device fake0 refuses a completion queue: Invalid argument; compare "
        "the objects in use with the limits that `ibv_devinfo -v` shows [DAT102]\n");
}

}  // namespace
