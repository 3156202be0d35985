// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Processes that use a table in every possible way, at random, while a separate record watches who
/// holds what.
#include "test/broker/registration_worker.hpp"

namespace registration {
namespace {

constexpr std::uint32_t kEntries = 16;
constexpr int kProcesses = 4;

/// Checks that the numbers of a table agree with each other, while nobody changes it.
void expect_consistent(const TableStatus& status) {
    std::uint64_t entries = 0, bytes = 0;
    for (const ProcessStatus& process : status.processes) {
        entries += process.entries;
        bytes += process.bytes;
    }
    EXPECT_EQ(entries, status.entries);
    EXPECT_EQ(bytes, status.bytes);
    EXPECT_EQ(status.slots.size(), status.entries);
}

void run(const std::string& policy, int operations) {
    const Place place;
    Checker& checker = *Checker::make(kEntries);
    const Terms all = {.entries = kEntries,
                       .bytes = kEntries,
                       .grace = kMillisecond,
                       .low = 1,
                       .high = 2,
                       .policy = policy};
    auto watching = place.join(all, 0);
    std::vector<std::unique_ptr<Child>> children;
    for (int i = 0; i < kProcesses; ++i)
        children.push_back(std::make_unique<Child>([&](Channel& channel) {
            watching->abandon();
            Worker worker(place, all, checker);
            worker.run(operations / kProcesses);
            worker.leave();
            channel.meet();
        }));
    for (auto& child : children) child->channel().receive_whenever<char>();
    const TableStatus status = watching->status();
    EXPECT_EQ(status.entries, 0u) << "lost";
    EXPECT_EQ(status.waiting, 0u);
    EXPECT_EQ(checker.held(), 0u);
    EXPECT_LE(status.entries, kEntries);
    expect_consistent(status);
    for (auto& child : children) child->channel().send('m');
    for (auto& child : children) EXPECT_EQ(child->wait(), 0);
    EXPECT_EQ(checker.faults(), 0);
    EXPECT_GE(checker.operations(), static_cast<std::uint64_t>(operations - kProcesses));
    printf("# %s: %llu operations, %llu granted, %llu announced, %llu revoked\n", policy.c_str(),
           static_cast<unsigned long long>(checker.operations()),
           static_cast<unsigned long long>(status.granted),
           static_cast<unsigned long long>(status.announced),
           static_cast<unsigned long long>(status.revoked));
}

TEST(RegistrationStress, ManyProcessesAtRandomLoseNoEntryAndServeEveryWaiter) {
    if (test::kThreadSanitizer) GTEST_SKIP() << "ThreadSanitizer cannot follow threads after fork";
    run("weighted-fair-lru", test::scaled(1'000'000));
}

TEST(RegistrationStress, WithEveryOtherPolicyToo) {
    if (test::kThreadSanitizer) GTEST_SKIP() << "ThreadSanitizer cannot follow threads after fork";
    for (const char* policy : {"lru", "lfu", "clock", "random"}) run(policy, test::scaled(20'000));
}

}  // namespace
}  // namespace registration
