// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Memory that the processes of an experiment share, and the checker that runs in it.
#pragma once

#include <poll.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <new>
#include <vector>

#include "broker/broker.hpp"
#include "test/support/process.hpp"

namespace registration {

using dapl::memory::kNever;
using dapl::memory::now;
using dapl::memory::Time;

inline constexpr Time kMicrosecond = 1000, kMillisecond = 1000 * kMicrosecond,
                      kSecond = 1000 * kMillisecond;

inline double in_us(Time time) {
    return static_cast<double>(time) / 1e3;
}

/// An object, initially all zero, which is shared with children that are forked after it was made.
template <class Object>
class Shared {
  public:
    Shared()
        : object_(static_cast<Object*>(mmap(nullptr, sizeof(Object), PROT_READ | PROT_WRITE,
                                            MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0))) {
        if (object_ == MAP_FAILED) throw std::bad_alloc();
    }
    ~Shared() { munmap(object_, sizeof(Object)); }
    Shared(const Shared&) = delete;
    Shared& operator=(const Shared&) = delete;
    Object* operator->() const { return object_; }
    Object& operator*() const { return *object_; }

  private:
    Object* const object_;
};

/// Who owns which entry, as the owners report it. Independent of the table, so that it detects an
/// entry that the table loses or grants twice.
struct Ledger {
    static constexpr std::size_t kMost = 1 << 16;
    std::atomic<std::uint64_t> held, most_held, taken, wrong;
    std::atomic<std::uint64_t> asked, granted, refused;  ///< requests, their outcomes
    std::atomic<std::int32_t> owners[kMost];

    /// Records the owner of an entry. To be called before the entry is used.
    void enter(std::uint32_t slot, std::int32_t pid) {
        taken.fetch_add(1);
        std::atomic<std::int32_t>& owner = owners[slot % kMost];
        std::int32_t previous = 0;
        bool is_taken;
        // The table may have noticed the death of the owner before the ledger did, even before the
        // kernel reports it: a process that ends releases its locks first. It may be buried now.
        do is_taken = owner.compare_exchange_strong(previous, pid);
        while (!is_taken && (previous == 0 || ends(previous)));
        held.fetch_sub(is_taken && previous != 0);
        if (!is_taken) report_wrong("entered", slot, pid, previous);
        const std::uint64_t count = held.fetch_add(1) + 1;
        for (std::uint64_t most = most_held;
             most < count && !most_held.compare_exchange_weak(most, count);)
            continue;
    }
    /// To be called before the entry is given back.
    void leave(std::uint32_t slot, std::int32_t pid) {
        std::int32_t owner = pid;
        if (!owners[slot % kMost].compare_exchange_strong(owner, 0))
            report_wrong("left", slot, pid, owner);
        held.fetch_sub(1);
    }
    /// Removes all entries of a dead process.
    void bury(std::int32_t pid) {
        for (std::atomic<std::int32_t>& owner : owners) {
            std::int32_t expected = pid;
            if (owner.load() == pid && owner.compare_exchange_strong(expected, 0))
                held.fetch_sub(1);
        }
    }
    /// @return whether the process is dead, or is about to end.
    static bool ends(std::int32_t pid) {
        const auto patience =
            static_cast<int>(std::chrono::duration_cast<std::chrono::milliseconds>(
                                 test::scaled(std::chrono::seconds(1)))
                                 .count());
        const int fd = static_cast<int>(syscall(SYS_pidfd_open, pid, 0));
        if (fd < 0) return true;
        pollfd ended{fd, POLLIN, 0};
        const bool dead = poll(&ended, 1, patience) == 1;
        close(fd);
        return dead;
    }
    void report_wrong(const char* what, std::uint32_t slot, std::int32_t pid, std::int32_t owner) {
        wrong.fetch_add(1);
        std::fprintf(stderr, "the ledger: process %d %s entry %u, which process %d owns\n", pid,
                     what, slot, owner);
    }
    std::uint64_t unserved() const { return asked - granted - refused; }
};

/// Numbers that several processes collect together.
struct Samples {
    static constexpr std::size_t kMost = 1 << 20;
    std::atomic<std::uint64_t> count;
    float values[kMost];

    void add(double value) {
        const std::uint64_t place = count.fetch_add(1);
        if (place < kMost) values[place] = static_cast<float>(value);
    }
    std::vector<double> all() const {
        const std::uint64_t there = count < kMost ? count.load() : kMost;
        return {values, values + there};
    }
};

}  // namespace registration
