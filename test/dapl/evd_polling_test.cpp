// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// A consumer that polls for software events while another thread posts them.
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>

#include "test/dapl/core_fixture.hpp"
#include "test/support/process.hpp"

namespace {
std::atomic<int> yields{0};
}

/// Replaces the C library's: a thread that must wait for a spin lock calls it.
extern "C" int sched_yield() noexcept {
    ++yields;
    return static_cast<int>(syscall(SYS_sched_yield));
}

namespace test {
namespace {

/// Runs both threads on one processor: if a thread is preempted with the lock held, the other waits
/// for the rest of its own time slice.
class EvdPollingTest : public CoreTest {
  protected:
    EvdPollingTest() {
        sched_getaffinity(0, sizeof before_, &before_);
        cpu_set_t one;
        CPU_ZERO(&one);
        CPU_SET(sched_getcpu(), &one);
        sched_setaffinity(0, sizeof one, &one);
    }
    ~EvdPollingTest() override { sched_setaffinity(0, sizeof before_, &before_); }

  private:
    cpu_set_t before_;
};

TEST_F(EvdPollingTest, WhoPollsAnEmptyQueueOfSoftwareEventsKeepsNobodyFromPostingOne) {
    if (!is_long_run()) GTEST_SKIP() << "in check-long: it counts how often who polls gives way";
    constexpr int kEvents = 100;
    const DAT_EVD_HANDLE polled = evd(DAT_EVD_SOFTWARE_FLAG);
    std::atomic<int> taken{0};
    yields = 0;
    Thread poster([&] {
        DAT_EVENT software{};
        software.event_number = DAT_SOFTWARE_EVENT;
        for (int posted = 0; posted < kEvents; ++posted) {
            while (taken < posted) usleep(100);
            EXPECT_EQ(entry::evd_post_se(polled, &software), DAT_SUCCESS);
        }
    });
    DAT_EVENT event;
    while (taken < kEvents)
        if (entry::evd_dequeue(polled, &event) == DAT_SUCCESS) ++taken;
    poster.join();
    EXPECT_LT(yields, kEvents / 4);
    EXPECT_EQ(entry::evd_free(polled), DAT_SUCCESS);
}

}  // namespace
}  // namespace test
