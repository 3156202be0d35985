// SPDX-License-Identifier: BSD-2-Clause
#include "providers/soft/softverbs/fabric/service.hpp"

#include <cerrno>
#include <climits>
#include <ctime>

#include "support/base/made_node.hpp"
#include "support/log/log.hpp"
#include "support/thread/start_thread.hpp"

namespace softverbs {
namespace {

/// Names the watch in its events. The descriptor is not enough: by the time an event is handled, a
/// handler of the same batch may have closed it, and opened and watched another one with the same
/// number.
std::uint64_t watch_of(int fd, std::uint32_t serial) {
    return std::uint64_t{serial} << 32 | static_cast<std::uint32_t>(fd);
}

}  // namespace

Result<void> Service::start() {
    if (const int error = poller_.open()) return tl::unexpected(error);
    stopping_ = false;
    if (const int error = support::start_thread(thread_, run, this)) return tl::unexpected(error);
    started_ = true;
    return {};
}

void Service::stop() {
    if (started_) {
        stopping_.store(true);
        poller_.wake();
        pthread_join(thread_, nullptr);
        service_thread_.store(pthread_t{});
        started_ = false;
    }
    poller_.close();
}

void Service::abandon() {
    service_thread_.store(pthread_t{});
    started_ = false;
    poller_.close();
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

/// Does not wait the first time: other threads free memory too.
void Service::await_memory(int tries) {
    const timespec pause{0, 1'000'000};
    if (tries > 0) nanosleep(&pause, nullptr);
}

template <class Call>
void Service::run_handler(const Call& handler) {
    if (!persist(handler)) support::report<support::kServiceOutOfMemory>();
}

void Service::loop() {
    while (!stopping_.load()) {
        poller_.wait<64>(next_timeout(), [this](std::uint64_t watch, std::uint32_t events) {
            dispatch(watch, events);
        });
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
    const int error = poller_.add(fd, events, watch_of(fd, serial));
    if (error == 0) return {};
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
    poller_.change(fd, events, watch_of(fd, serial));
}

void Service::unwatch(int fd) {
    poller_.remove(fd);
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
    poller_.wake();
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
    if (is_first && !on_service_thread()) poller_.wake();
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

/// @return the time to the next timer in milliseconds, rounded up; 0 if something is posted; -1 for
/// no limit.
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
