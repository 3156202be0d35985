// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// A thread of ours blocks on a poller: the descriptors that it polls, and one by which other
/// threads wake it.
#pragma once

#include <sys/epoll.h>
#include <sys/eventfd.h>

#include <array>
#include <cerrno>
#include <cstdint>

#include "support/base/unique_fd.hpp"

namespace support {

/// All but open() and close() are thread safe.
class Poller {
  public:
    /// The key of the wake-up descriptor; callers must not use it.
    static constexpr std::uint64_t kWakeUp = 0;

    /// @return 0 or an errno value.
    int open() {
        epoll_.reset(epoll_create1(EPOLL_CLOEXEC));
        wake_up_.reset(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
        if (!epoll_.valid() || !wake_up_.valid()) return errno;
        return add(wake_up_.get(), EPOLLIN, kWakeUp);
    }
    void close() {
        epoll_.reset();
        wake_up_.reset();
    }
    /// @param events EPOLLIN, EPOLLOUT; level triggered. @param key what wait() passes to `ready`.
    /// @return 0 or an errno value.
    int add(int descriptor, std::uint32_t events, std::uint64_t key) {
        return control(EPOLL_CTL_ADD, descriptor, events, key);
    }
    int change(int descriptor, std::uint32_t events, std::uint64_t key) {
        return control(EPOLL_CTL_MOD, descriptor, events, key);
    }
    void remove(int descriptor) { epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, descriptor, nullptr); }

    /// Ends the current wait(), or the next one.
    void wake() { eventfd_write(wake_up_.get(), 1); }
    /// Waits until something is ready, somebody wakes it, a signal arrives, or the timeout expires.
    /// @tparam most largest number of events per call. @param timeout in milliseconds; -1: for
    /// ever.
    /// @param ready (std::uint64_t key, std::uint32_t events) -> void, called for each event. Its
    /// descriptor may have been removed already, by another thread or by the call before.
    template <int most, class Ready>
    void wait(int timeout, const Ready& ready) {
        std::array<epoll_event, most> events;
        const int count = epoll_wait(epoll_.get(), events.data(), most, timeout);
        for (int i = 0; i < count; ++i) {
            const epoll_event& event = events[static_cast<std::size_t>(i)];
            if (event.data.u64 != kWakeUp) {
                ready(event.data.u64, event.events);
                continue;
            }
            eventfd_t ignored;
            eventfd_read(wake_up_.get(), &ignored);
        }
    }

  private:
    int control(int operation, int descriptor, std::uint32_t events, std::uint64_t key) {
        epoll_event wanted{};
        wanted.events = events;
        wanted.data.u64 = key;
        return epoll_ctl(epoll_.get(), operation, descriptor, &wanted) == 0 ? 0 : errno;
    }

    UniqueFd epoll_;
    UniqueFd wake_up_;
};

}  // namespace support
