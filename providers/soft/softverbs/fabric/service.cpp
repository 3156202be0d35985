// SPDX-License-Identifier: BSD-2-Clause
#include "providers/soft/softverbs/fabric/service.hpp"

#include <sys/epoll.h>
#include <sys/eventfd.h>

#include <array>
#include <cerrno>
#include <climits>
#include <ctime>

#include "support/base/made_node.hpp"
#include "support/log/log.hpp"
#include "support/thread/start_thread.hpp"

namespace softverbs {
namespace {

/// An event says which watch it is of, as its descriptor may be another one by the time that it is
/// handled: a handler of the same batch has closed the one, and opened and watched the other.
std::uint64_t watch_of(int fd, std::uint32_t serial) {
    return std::uint64_t{serial} << 32 | static_cast<std::uint32_t>(fd);
}
epoll_event event_of(int fd, std::uint32_t serial, std::uint32_t events) {
    epoll_event event = {};
    event.events = events;
    event.data.u64 = watch_of(fd, serial);
    return event;
}

}  // namespace

Result<void> Service::start() {
    epoll_.reset(epoll_create1(EPOLL_CLOEXEC));
    wake_.reset(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    if (!epoll_.valid() || !wake_.valid()) return tl::unexpected(errno);
    auto watched = watch(wake_.get(), EPOLLIN, [wake = wake_.get()](std::uint32_t) {
        std::uint64_t count;
        while (read(wake, &count, sizeof count) < 0 && errno == EINTR) continue;
    });
    if (!watched) return watched;
    stopping_ = false;
    const int error = support::start_thread(thread_, run, this);
    if (error != 0) return tl::unexpected(error);
    started_ = true;
    return {};
}

void Service::stop() {
    if (started_) {
        stopping_.store(true);
        wake();
        pthread_join(thread_, nullptr);
        service_thread_.store(pthread_t{});
        started_ = false;
    }
    epoll_.reset();
    wake_.reset();
}

void Service::abandon() {
    service_thread_.store(pthread_t{});
    started_ = false;
    epoll_.reset();
    wake_.reset();
}

bool Service::on_service_thread() const {
    return pthread_equal(pthread_self(), service_thread_.load());
}

void* Service::run(void* service) {
    pthread_setname_np(pthread_self(), "softverbs");
    static_cast<Service*>(service)->service_thread_.store(pthread_self());
    static_cast<Service*>(service)->loop();
    return nullptr;
}

/// The first time at once: others free memory too.
void Service::await_memory(int tries) {
    const timespec pause{0, 1'000'000};
    if (tries > 0) nanosleep(&pause, nullptr);
}

template <class Call>
void Service::run_handler(const Call& handler) {
    if (!persist(handler)) support::report<support::kServiceOutOfMemory>();
}

void Service::loop() {
    std::array<epoll_event, 64> ready;
    while (!stopping_.load()) {
        const int count = epoll_wait(epoll_.get(), ready.data(), ready.size(), next_timeout());
        for (int i = 0; i < count; ++i) dispatch(ready[i].data.u64, ready[i].events);
        run_timers();
        run_posted();
    }
    run_posted();
}

Result<void> Service::watch(int fd, std::uint32_t events, FdHandler handler) {
    auto made = support::made_node<Handlers>(
        fd, Watched{0, std::make_shared<FdHandler>(std::move(handler))});
    Handlers::insert_return_type entered;
    std::uint32_t serial = 0;
    {
        support::MutexLock lock(mutex_);
        serial = made.mapped().serial = ++last_serial_;
        entered = handlers_.insert(std::move(made));
        if (!entered.inserted) std::swap(entered.position->second, entered.node.mapped());
    }
    epoll_event event = event_of(fd, serial, events);
    if (epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event) == 0) return {};
    const int error = errno;
    Handlers::node_type dropped;
    support::MutexLock lock(mutex_);
    dropped = handlers_.extract(fd);
    return tl::unexpected(error);
}

void Service::change(int fd, std::uint32_t events) {
    std::uint32_t serial = 0;
    {
        support::MutexLock lock(mutex_);
        const auto found = handlers_.find(fd);
        if (found == handlers_.end()) return;
        serial = found->second.serial;
    }
    epoll_event event = event_of(fd, serial, events);
    epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, fd, &event);
}

void Service::unwatch(int fd) {
    epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, fd, nullptr);
    Handlers::node_type dropped;  // destroyed without the lock: it may own anything
    support::MutexLock lock(mutex_);
    dropped = handlers_.extract(fd);
}

void Service::dispatch(std::uint64_t watch, std::uint32_t events) {
    const int fd = static_cast<int>(static_cast<std::uint32_t>(watch));
    std::shared_ptr<FdHandler> handler;
    {
        support::MutexLock lock(mutex_);
        // An earlier handler of the same batch may have unwatched it.
        const auto found = handlers_.find(fd);
        if (found != handlers_.end() && watch_of(fd, found->second.serial) == watch)
            handler = found->second.handler;
    }
    if (handler) run_handler([&] { (*handler)(events); });
}

void Service::post(Function function) {
    std::list<Function> one;
    one.push_back(std::move(function));
    {
        support::MutexLock lock(mutex_);
        posted_.splice(posted_.end(), one);
    }
    wake();
}

void Service::wake() {
    const std::uint64_t one = 1;
    while (write(wake_.get(), &one, sizeof one) < 0 && errno == EINTR) continue;
}

void Service::run_posted() {
    for (;;) {
        std::list<Function> batch;
        {
            support::MutexLock lock(mutex_);
            batch.swap(posted_);
        }
        if (batch.empty()) return;
        for (const Function& function : batch) run_handler(function);
    }
}

Service::TimerId Service::at(Deadline deadline, Function function) {
    auto made = support::made_node<Timers>(TimerKey(deadline, 0), std::move(function));
    auto known = support::made_node<Deadlines>(0, deadline);
    bool is_first = false;
    TimerId timer = 0;
    {
        support::MutexLock lock(mutex_);
        timer = ++last_timer_;
        made.key().second = known.key() = timer;
        const auto entry = timers_.insert(std::move(made)).position;
        is_first = entry == timers_.begin();
        timer_deadlines_.insert(std::move(known));
    }
    if (is_first && !on_service_thread()) wake();
    return timer;
}

bool Service::cancel(TimerId timer) {
    Timers::node_type dropped;
    Deadlines::node_type known;
    support::MutexLock lock(mutex_);
    known = timer_deadlines_.extract(timer);
    if (known.empty()) return false;
    dropped = timers_.extract(TimerKey(known.mapped(), timer));
    return true;
}

void Service::run_timers() {
    const Deadline now = Clock::now();
    for (;;) {
        Timers::node_type due;
        Deadlines::node_type known;
        {
            support::MutexLock lock(mutex_);
            if (timers_.empty() || timers_.begin()->first.first > now) return;
            due = timers_.extract(timers_.begin());
            known = timer_deadlines_.extract(due.key().second);
        }
        run_handler(due.mapped());
    }
}

/// In milliseconds, rounded up; -1 for ever.
int Service::next_timeout() {
    support::MutexLock lock(mutex_);
    if (!posted_.empty()) return 0;
    if (timers_.empty()) return -1;
    const auto left = timers_.begin()->first.first - Clock::now();
    if (left <= Clock::duration::zero()) return 0;
    const auto milliseconds = std::chrono::ceil<std::chrono::milliseconds>(left).count();
    return static_cast<int>(std::min<long>(milliseconds, INT_MAX));
}

}  // namespace softverbs
