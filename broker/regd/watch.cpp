// SPDX-License-Identifier: BSD-2-Clause
#include "broker/regd/watch.hpp"

#include <poll.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

#include "support/thread/start_thread.hpp"

namespace dapl::memory::regd {
namespace {

/// Tells the events of the epoll instance apart.
enum class About : std::uint32_t { kStop, kDirectory, kOther };

/// Edge-triggered: the agent thread reads the socket, and until it has done so there is no news.
bool add_to(int all, int fd, About about) {
    epoll_event event{};
    event.events = EPOLLIN | EPOLLRDHUP | EPOLLET;
    event.data.u32 = static_cast<std::uint32_t>(about);
    return epoll_ctl(all, EPOLL_CTL_ADD, fd, &event) == 0;
}

/// Reads what has appeared, so that the kernel's queue never fills up.
void drain(int directory) {
    alignas(inotify_event) char events[4096];
    while (read(directory, events, sizeof events) > 0) continue;
}

}  // namespace

Watch::Watch(const std::string& directory, Wake wake, void* context)
    : wake_(wake),
      context_(context),
      owner_(getpid()),
      stop_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      directory_(inotify_init1(IN_CLOEXEC | IN_NONBLOCK)),
      all_(epoll_create1(EPOLL_CLOEXEC)) {
    if (!stop_.valid() || !directory_.valid() || !all_.valid() ||
        inotify_add_watch(directory_.get(), directory.c_str(), IN_CREATE | IN_MOVED_TO) < 0 ||
        !add_to(all_.get(), stop_.get(), About::kStop) ||
        !add_to(all_.get(), directory_.get(), About::kDirectory))
        return;
    const auto run = [](void* self) { return static_cast<Watch*>(self)->run(); };
    is_running_ = support::start_thread(thread_, run, this) == 0;
}

Watch::~Watch() {
    if (!is_running_ || owner_ != getpid()) return;
    eventfd_write(stop_.get(), 1);
    pthread_join(thread_, nullptr);
}

void Watch::add(int socket) {
    add_to(all_.get(), socket, About::kOther);
}

bool Watch::follow(pid_t process) {
    if (process != followed_) {
        followed_ = process;
        process_.reset(static_cast<int>(syscall(SYS_pidfd_open, process, 0)));
        if (process_.valid() && !add_to(all_.get(), process_.get(), About::kOther))
            process_.reset();
    }
    pollfd end{process_.get(), POLLIN, 0};
    return process_.valid() && poll(&end, 1, 0) == 0;
}

void* Watch::run() {
    for (;;) {
        epoll_event event{};
        if (epoll_wait(all_.get(), &event, 1, -1) != 1) continue;
        const auto about = static_cast<About>(event.data.u32);
        if (about == About::kStop) return nullptr;
        if (about == About::kDirectory) {
            drain(directory_.get());
            appeared_ = true;
        }
        wake_(context_);
    }
}

}  // namespace dapl::memory::regd
