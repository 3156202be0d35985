// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Sets up links, whichever end connects them: from connect or accept to the Peer that uses the
/// link.
#include "providers/soft/softverbs/fabric/handshake.hpp"

#include <linux/magic.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>

#include <cerrno>
#include <cstring>
#include <string>

#include "support/base/limits.hpp"
#include "support/log/log.hpp"

namespace softverbs {
namespace {

constexpr auto kBacklogRetry = std::chrono::milliseconds(2);
constexpr auto kDescriptorRetry = std::chrono::milliseconds(100);

/// @return the text in the field, which need not end with a zero.
template <std::size_t kSize>
std::string_view text_in(const std::array<char, kSize>& field) {
    return {field.data(), strnlen(field.data(), field.size())};
}

}  // namespace

std::string fault_of_memory(int fd, std::uint64_t size, const std::string& what) {
    struct stat status = {};
    struct statfs system = {};
    const int seals = fcntl(fd, F_GET_SEALS);
    if (seals < 0 || !(seals & F_SEAL_SHRINK)) return what + " not sealed against shrinking";
    if (fstatfs(fd, &system) != 0 || system.f_type != TMPFS_MAGIC)
        return what + " not made of ordinary pages";
    if (fstat(fd, &status) != 0 || size == 0 || static_cast<std::uint64_t>(status.st_size) != size)
        return what + " not as long as announced";
    return {};
}

void Process::find_peer(const MemberRef& member, FoundHandler found) {
    if (!service_.on_service_thread()) {
        service_.post([this, member, found = std::move(found)] { find_peer(member, found); });
        return;
    }
    if (auto known = known_peer(member.id)) return found(std::move(known));
    SharedHandshake& known = connecting_[member.id];
    if (known) {
        known->found.push_back(std::move(found));
        return;
    }
    auto handshake = std::make_shared<Handshake>();
    handshake->wanted = member;
    handshake->found.push_back(std::move(found));
    known = handshake;
    connect_link(handshake);
}

void Process::connect_link(const SharedHandshake& handshake) {
    if (!Service::persist([&] { try_to_connect(handshake); }))
        finish_handshake(handshake, tl::unexpected(ENOMEM));
}

void Process::try_to_connect(const SharedHandshake& handshake) {
    auto link = directory_->connect(Index::socket_name(handshake->wanted.slot));
    if (link) {
        handshake->link = std::move(*link);
        return begin_handshake(handshake);
    }
    if (link.error() == EAGAIN && Clock::now() < handshake->deadline) {
        service_.at(Clock::now() + kBacklogRetry, [this, handshake] { connect_link(handshake); });
        return;
    }
    const bool gone = link.error() == ECONNREFUSED || link.error() == ENOENT;
    if (gone) index_->bury(handshake->wanted);
    finish_handshake(handshake, tl::unexpected(gone                     ? ECONNREFUSED
                                               : link.error() == EAGAIN ? ETIMEDOUT
                                                                        : link.error()));
}

void Process::accept_links() {
    for (;;) {
        auto handshake = std::make_shared<Handshake>();
        const int link = accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
        if (link < 0 && (errno == EMFILE || errno == ENFILE)) {
            // Links in the backlog go on waiting; retrying at once would spin.
            service_.change(listener_.get(), 0);
            service_.at(Clock::now() + kDescriptorRetry,
                        [this] { service_.change(listener_.get(), EPOLLIN); });
        }
        if (link < 0) return;
        look_at_devices();
        handshake->link.reset(link);
        if (!Service::persist([&] { begin_handshake(handshake); }))
            finish_handshake(handshake, tl::unexpected(ENOMEM));
    }
}

void Process::begin_handshake(const SharedHandshake& handshake) {
    ucred other = {};
    socklen_t length = sizeof other;
    const int link = handshake->link.get();
    if (getsockopt(link, SOL_SOCKET, SO_PEERCRED, &other, &length) != 0)
        return finish_handshake(handshake, tl::unexpected(errno));
    handshake->pid = other.pid;
    if (other.uid != geteuid()) {
        support::report<support::kPeerRefused>(other.pid, other.uid, "a fabric has one user");
        return finish_handshake(handshake, tl::unexpected(EACCES));
    }
    if (!handshake->timer)
        handshake->timer = service_.at(handshake->deadline, [this, handshake] {
            finish_handshake(handshake, tl::unexpected(ETIMEDOUT));
        });
    Hello hello = {kFabricVersion, index_->self().slot, index_->self().id,
                   fabric_hash(),  arena_.size,         arena_.pages_size};
    self_->identity_.program.copy(hello.program.data(), hello.program.size());
    self_->identity_.rank.copy(hello.rank.data(), hello.rank.size());
    hello.wanted = handshake->wanted.id;
    MessageHeader header = {};
    header.type = static_cast<std::uint16_t>(MessageType::kHello);
    header.length = sizeof hello;
    const auto doorbell = lend(*doorbell_, "doorbell");
    if (!doorbell) return finish_handshake(handshake, tl::unexpected(doorbell.error()));
    const int all[] = {arena_.fd, doorbell->get(), arena_.pages_fd};
    const std::span<const int> fds(all, arena_.pages_size != 0 ? 3 : 2);
    const std::vector<std::byte> record = record_of(header, bytes_of(hello));
    auto watched = service_.watch(
        link, EPOLLIN, [this, handshake](std::uint32_t) { handshake_readable(handshake); });
    if (!watched) return finish_handshake(handshake, tl::unexpected(watched.error()));
    if (const int error = send_record(link, record, fds))
        finish_handshake(handshake, tl::unexpected(error == EPIPE ? ECONNREFUSED : error));
}

void Process::handshake_readable(const SharedHandshake& handshake) {
    if (handshake->finished) return;
    auto record = receive_record(handshake->link.get(), receive_buffer_);
    if (!record && record.error() == EAGAIN) return;
    if (!record && record.error() != EPROTO)
        return finish_handshake(handshake, tl::unexpected(ECONNREFUSED));
    if (!record || record->message.type != MessageType::kHello || !record->message.as<Hello>()) {
        support::report<support::kPeerGarbage>(handshake->pid, "no valid greeting");
        return finish_handshake(handshake, tl::unexpected(EPROTO));
    }
    FoundPeer adopted = tl::unexpected(ENOMEM);
    try {
        adopted = adopt(*handshake, record->message);
    } catch (const std::bad_alloc&) {
        support::report<support::kServiceOutOfMemory>();
    }
    finish_handshake(handshake, adopted);
}

void Process::finish_handshake(const SharedHandshake& handshake, const FoundPeer& outcome) {
    if (std::exchange(handshake->finished, true)) return;
    if (handshake->timer) service_.cancel(handshake->timer);
    if (handshake->link.valid()) {  // no peer took it over
        service_.unwatch(handshake->link.get());
        handshake->link.reset();
    }
    if (handshake->wanted.id) connecting_.erase(handshake->wanted.id);
    for (const FoundHandler& found : std::exchange(handshake->found, {}))
        if (!Service::persist([&] { found(outcome); }))
            support::report<support::kServiceOutOfMemory>();
}

/// Checks the other end's Hello and gives the link to its Peer. When both sides connect at once, a
/// Peer gets two links.
Process::FoundPeer Process::adopt(Handshake& handshake, Message& message) {
    const Hello& hello = *message.as<Hello>();
    if (hello.version != kFabricVersion) {
        support::report<support::kFabricVersion>(handshake.pid, hello.version, kFabricVersion);
        return tl::unexpected(EPROTO);
    }
    // Another member may have taken the slot since the index was read. It must not take the link
    // for its own: the end that connected is about to close it.
    const bool is_wanted = handshake.wanted.id == 0 || handshake.wanted.id == hello.member;
    const bool is_meant = hello.wanted == 0 || hello.wanted == index_->self().id;
    if (!is_wanted || !is_meant || hello.fabric != fabric_hash() ||
        hello.member == index_->self().id)
        return tl::unexpected(ECONNREFUSED);
    auto peer = known_peer(hello.member);
    if (peer && (peer->pid() != handshake.pid || has_all_links(*peer))) {
        support::report<support::kPeerGarbage>(
            handshake.pid, "the member id of another process, or too many greetings");
        return tl::unexpected(EPROTO);
    }
    if (!peer) {
        auto made = make_peer(handshake, message);
        if (!made) return made;
        peer = *made;
    }
    const auto given = give_link(peer, handshake);
    if (!given) return tl::unexpected(given.error());
    return peer;
}

/// Gives the link to its Peer. Other threads find a new peer only once it has its link: they may
/// send at once. A new peer whose link could not be watched is forgotten again.
Result<void> Process::give_link(const std::shared_ptr<Peer>& peer, Handshake& handshake) {
    Result<void> given = tl::unexpected(ENOMEM);
    const bool is_known = known_peer(peer->member().id) != nullptr;
    service_.unwatch(handshake.link.get());
    try {
        const auto watched = watch_link(peer, std::move(handshake.link));
        if (watched) {
            support::MutexLock lock(mutex_);
            peers_[peer->member().id] = peer;
        }
        given = watched;
    } catch (const std::bad_alloc&) {
        support::report<support::kServiceOutOfMemory>();
    }
    if (!given && !is_known) forget(peer);
    return given;
}

void Process::forget(const std::shared_ptr<Peer>& peer) {
    {
        support::MutexLock lock(mutex_);
        peers_.erase(peer->member().id);
    }
    peer->mark_dead();
    close_peer(*peer);
}

bool Process::has_all_links(Peer& peer) {
    constexpr std::size_t kMostLinks = 2;
    support::MutexLock lock(peer.mutex_);
    return peer.links_.size() >= kMostLinks;
}

/// Checks the memory and the doorbell of a Hello that came with all its descriptors, and reports a
/// fault.
bool Process::check_memory(const Handshake& handshake, const Message& message) {
    const Hello& hello = *message.as<Hello>();
    const bool has_pages = hello.pages_size != 0;
    std::string fault = fault_of_memory(message.fds[0].get(), hello.arena_size, "an arena that is");
    if (fault.empty() && has_pages)
        fault = fault_of_memory(message.fds[2].get(), hello.pages_size, "a page file that is");
    if (fault.empty() && !is_bell_socket(message.fds[1].get()))
        fault = "a doorbell that is not a datagram socket";
    if (!fault.empty()) support::report<support::kPeerGarbage>(handshake.pid, fault);
    return fault.empty();
}

int Peer::map_arena(int fd, std::size_t size) {
    void* const arena = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (arena == MAP_FAILED) return errno;
    madvise(arena, size, MADV_DONTDUMP);
    arena_ = static_cast<std::byte*>(arena);
    arena_size_ = size;
    arena_mapped_here_ = true;
    return 0;
}

Result<std::shared_ptr<Peer>> Process::make_peer(const Handshake& handshake, Message& message) {
    const Hello& hello = *message.as<Hello>();
    const bool has_pages = hello.pages_size != 0;
    const std::string link = "the link to process " + std::to_string(handshake.pid);
    if (message.fds.size() != (has_pages ? 3 : 2)) {
        support::report_limit(EMFILE, link);
        return tl::unexpected(EMFILE);
    }
    if (!check_memory(handshake, message)) return tl::unexpected(EPROTO);
    std::shared_ptr<Peer> peer(new Peer(*this));
    if (const int error = peer->map_arena(message.fds[0].get(), hello.arena_size)) {
        support::report_limit(error,
                              link + fmt::format(", which shares {} MiB", hello.arena_size >> 20));
        return tl::unexpected(error);
    }
    peer->pid_ = handshake.pid;
    peer->member_ = {hello.slot, hello.member};
    peer->identity_ = faults::Identity::made_safe(text_in(hello.program), text_in(hello.rank));
    peer->doorbell_ = std::move(message.fds[1]);
    if (has_pages) {
        peer->pages_ = std::move(message.fds[2]);
        peer->pages_size_ = hello.pages_size;
    }
    if (handshake.pid > 0) {
        peer->pidfd_.reset(static_cast<int>(syscall(SYS_pidfd_open, handshake.pid, 0)));
        if (!peer->pidfd_.valid() && errno == ESRCH) return tl::unexpected(ECONNREFUSED);
    }
    if (peer->pidfd_.valid()) {
        auto watched = service_.watch(peer->pidfd_.get(), EPOLLIN,
                                      [this, peer](std::uint32_t) { peer_died(peer); });
        if (!watched) return tl::unexpected(watched.error());
    }
    return peer;
}

}  // namespace softverbs
