// SPDX-License-Identifier: BSD-2-Clause
#include "providers/soft/softverbs/fabric/peer.hpp"

#include <poll.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <unistd.h>

#include <cerrno>
#include <string>
#include <string_view>
#include <utility>

#include "providers/soft/softverbs/fabric/bell.hpp"
#include "providers/soft/softverbs/fabric/handshake.hpp"
#include "providers/soft/softverbs/fabric/process.hpp"

namespace softverbs {
namespace {

/// A peer that no longer reads must not use up our memory.
constexpr std::size_t kMaxOutgoingBytes = 32 * 1024 * 1024;
constexpr std::size_t kMaxOutgoingFds = 256;

/// PIDFD_GET_INFO of <linux/pidfd.h>, in its first form; headers older than Linux 6.13 lack it.
struct ProcessInfo {
    std::uint64_t mask;
    std::uint64_t cgroup;
    std::uint32_t ids[11];
    std::int32_t exit_code;  ///< as a waitpid() status
};
static_assert(sizeof(ProcessInfo) == 64);
constexpr unsigned long kGetProcessInfo = _IOWR(0xff, 11, ProcessInfo);
constexpr std::uint64_t kExitInfo = 1 << 3;

std::vector<int> raw(const std::vector<UniqueFd>& fds) {
    std::vector<int> numbers;
    numbers.reserve(fds.size());
    for (const UniqueFd& fd : fds) numbers.push_back(fd.get());
    return numbers;
}

Result<std::vector<UniqueFd>> duplicates(std::span<const int> fds) {
    std::vector<UniqueFd> copies;
    for (const int fd : fds) {
        copies.push_back(UniqueFd::duplicate(fd));
        if (!copies.back().valid()) return tl::unexpected(errno);
    }
    return copies;
}

}  // namespace

Peer::~Peer() {
    if (arena_mapped_here_) munmap(arena_, arena_size_);
}

void Peer::ring_doorbell() const {
    (void)ring_bell(doorbell_.get());
}

Result<void> Peer::send(MessageType type, std::span<const std::byte> body,
                        std::span<const int> fds) {
    MessageHeader header = {};
    header.type = static_cast<std::uint16_t>(type);
    return transmit(header, body, fds);
}

Result<Reply> Peer::request(MessageType type, std::span<const std::byte> body, Deadline deadline,
                            std::span<const int> fds) {
    if (!alive()) return tl::unexpected(ENOTCONN);
    if (process_.service().on_service_thread()) return tl::unexpected(EDEADLK);
    CancellationDisabled no_cancellation;
    MessageHeader header = {};
    header.type = static_cast<std::uint16_t>(type);
    {
        support::MutexLock lock(mutex_);
        header.request_id = ++last_request_;
        pending_[header.request_id];
    }
    const auto sent = transmit(header, body, fds);
    const timespec until = to_timespec(deadline);
    support::MutexLock lock(mutex_);
    bool in_time = true;
    while (sent && alive() && in_time && !pending_[header.request_id].done)
        in_time = replied_.wait_until(mutex_, until);
    Pending result = std::move(pending_[header.request_id]);
    pending_.erase(header.request_id);
    if (result.done) return std::move(result.reply);
    if (!sent) return tl::unexpected(sent.error());
    return tl::unexpected(alive() ? ETIMEDOUT : ECONNRESET);
}

Result<void> Peer::reply(const Message& message, std::span<const std::byte> body,
                         std::span<const int> fds) {
    MessageHeader header = {};
    header.type = static_cast<std::uint16_t>(message.type);
    header.is_reply = 1;
    header.request_id = message.request_id;
    return transmit(header, body, fds);
}

Result<void> Peer::transmit(const MessageHeader& unsized, std::span<const std::byte> body,
                            std::span<const int> fds) {
    if (body.size() > kMaxMessageBody || fds.size() > kMaxMessageFds)
        return tl::unexpected(EMSGSIZE);
    MessageHeader header = unsized;
    header.length = static_cast<std::uint32_t>(body.size());
    CancellationDisabled no_cancellation;
    Result<void> outcome = tl::unexpected(ENOMEM);
    Service::persist(
        [&] { outcome = is_self_ ? deliver_to_self(header, body, fds) : put(header, body, fds); });
    return outcome;
}

Result<void> Peer::put(const MessageHeader& header, std::span<const std::byte> body,
                       std::span<const int> fds) {
    std::vector<std::byte> record = record_of(header, body);
    support::MutexLock lock(mutex_);
    if (!alive() || links_.empty()) return tl::unexpected(ENOTCONN);
    const int socket = links_.front().get();
    if (outgoing_.empty()) {
        const int error = send_record(socket, record, fds);
        if (error == 0) return {};
        if (error != EAGAIN && error != ENOBUFS)
            return tl::unexpected(error == EPIPE ? ENOTCONN : error);
    }
    if (outgoing_bytes_ + record.size() > kMaxOutgoingBytes ||
        outgoing_fds_ + fds.size() > kMaxOutgoingFds)
        return tl::unexpected(ENOBUFS);
    auto kept = duplicates(fds);
    if (!kept) return tl::unexpected(kept.error());
    const std::size_t size = record.size();
    outgoing_.push_back({std::move(record), std::move(*kept)});
    outgoing_bytes_ += size;
    outgoing_fds_ += fds.size();
    process_.service().change(socket, EPOLLIN | EPOLLOUT);
    return {};
}

void Peer::flush() {
    support::MutexLock lock(mutex_);
    if (links_.empty()) return;
    const int socket = links_.front().get();
    while (!outgoing_.empty()) {
        const Outgoing& next = outgoing_.front();
        const int error = send_record(socket, next.record, raw(next.fds));
        if (error == EAGAIN || error == ENOBUFS) return;
        // Any other error means that the link has ended, which its own event reports.
        outgoing_bytes_ -= next.record.size();
        outgoing_fds_ -= next.fds.size();
        outgoing_.pop_front();
    }
    process_.service().change(socket, EPOLLIN);
}

/// The service thread acts as both ends, so that handlers see one kind of peer.
Result<void> Peer::deliver_to_self(const MessageHeader& header, std::span<const std::byte> body,
                                   std::span<const int> fds) {
    if (!alive()) return tl::unexpected(ENOTCONN);
    auto kept = duplicates(fds);
    if (!kept) return tl::unexpected(kept.error());
    auto copy = std::make_shared<Outgoing>();
    copy->record.assign(body.begin(), body.end());
    copy->fds = std::move(*kept);
    process_.service().post([self = shared_from_this(), header, copy] {
        Message message{static_cast<MessageType>(header.type), header.request_id, copy->record,
                        std::move(copy->fds)};
        self->process_.dispatch(self, message, header.is_reply != 0);
    });
    return {};
}

void Peer::complete_request(Message& message) {
    support::MutexLock lock(mutex_);
    const auto found = pending_.find(message.request_id);
    if (found == pending_.end()) return;  // the caller of request() has given up
    found->second.reply.body.assign(message.body.begin(), message.body.end());
    found->second.done = true;
    found->second.reply.fds = std::move(message.fds);
    replied_.notify_all();
}

bool Peer::has_ended() const {
    if (is_self_) return false;
    if (!pidfd_.valid()) return !alive();
    const CancellationDisabled guard;
    pollfd ended{pidfd_.get(), POLLIN, 0};
    return poll(&ended, 1, 0) == 1;
}

bool Peer::wait_for_end() const {
    constexpr std::chrono::milliseconds kPatience{5};
    const CancellationDisabled guard;
    const auto is_known = [this] {
        const ProcessEnd end = how_it_ended();
        return end.signal != 0 || end.exit_code >= 0;
    };
    const Deadline deadline = Clock::now() + kPatience;
    while (!is_self_ && !end_awaited_ && !is_known() && Clock::now() < deadline) {
        const timespec pause{0, 100000};
        nanosleep(&pause, nullptr);
    }
    end_awaited_ = true;
    return has_ended();
}

ProcessEnd Peer::how_it_ended() const {
    ProcessInfo info{};
    info.mask = kExitInfo;
    const CancellationDisabled guard;
    if (!pidfd_.valid() || ioctl(pidfd_.get(), kGetProcessInfo, &info) != 0) return {};
    if ((info.mask & kExitInfo) == 0) return {};
    if (WIFSIGNALED(info.exit_code)) return {WTERMSIG(info.exit_code), -1};
    return {0, WEXITSTATUS(info.exit_code)};
}

bool Peer::mark_dead() {
    support::MutexLock lock(mutex_);
    alive_.store(false);
    if (std::exchange(ended_, true)) return false;
    outgoing_.clear();
    outgoing_bytes_ = 0;
    outgoing_fds_ = 0;
    replied_.notify_all();
    return true;
}

}  // namespace softverbs
