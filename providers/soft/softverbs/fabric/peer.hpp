// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The other process of a pair (or this one, seen as its own target): its arena, its doorbell, and
/// the link over which messages travel.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "providers/soft/softverbs/fabric/message.hpp"
#include "providers/soft/softverbs/fabric/result.hpp"
#include "support/thread/mutex.hpp"

namespace softverbs {

class Process;

/// Names a process for as long as the fabric lives; random, so that a number from the past matches
/// nobody.
using MemberId = std::uint64_t;

/// Where a member is to be found.
struct MemberRef {
    std::uint32_t slot = 0;  ///< in the index
    MemberId id = 0;
};

/// How a process ended, as far as the kernel tells others than its parent: Linux 6.15, and once its
/// parent has waited for it.
struct ProcessEnd {
    int signal = 0;      ///< 0: none, or not known
    int exit_code = -1;  ///< -1: a signal, or not known
};

/// A peer's answer to request().
struct Reply {
    std::vector<std::byte> body;
    std::vector<UniqueFd> fds;
};

/// Held by shared_ptr: the arena stays mapped as long as anyone holds one, also after the peer
/// died. All functions are thread safe.
class Peer : public std::enable_shared_from_this<Peer> {
  public:
    ~Peer();
    Peer(const Peer&) = delete;
    Peer& operator=(const Peer&) = delete;

    /// The peer's arena, mapped shared, readable and writable; sealed against shrinking. What it
    /// holds was written by the peer: check before use.
    std::byte* arena() const { return arena_; }
    std::size_t arena_size() const { return arena_size_; }  ///< bytes
    /// The peer's page file, sealed and checked like the arena. @return -1 when it has none.
    int pages_fd() const { return pages_.get(); }
    std::uint64_t pages_size() const { return pages_size_; }  ///< bytes
    /// @return -1 where the kernel gave none.
    int pidfd() const { return pidfd_.get(); }
    /// In this process's name space; 0 when the peer lives in one that we cannot see.
    pid_t pid() const { return pid_; }
    const MemberRef& member() const { return member_; }
    bool is_self() const { return is_self_; }
    /// False once the link has ended; on_peer_death handlers follow on the service thread.
    bool alive() const { return alive_.load(std::memory_order_acquire); }
    /// Whether the process has ended, also when the service thread has not noticed yet, which may
    /// itself be the one who waits for it. One system call.
    bool has_ended() const;
    /// Of a peer whose link has ended: the kernel closes a process's sockets a moment before it
    /// says that the process has ended, and how it did only when its parent has asked. Waits for
    /// both, some milliseconds at most, and once for all callers. @return whether it has ended.
    bool wait_for_end() const;
    ProcessEnd how_it_ended() const;
    /// The same, or its link has: it may then still be there.
    bool gone() const { return !alive() || has_ended(); }
    /// Makes the peer's service thread run its doorbell handlers. One system call; never blocks.
    void ring_doorbell() const;

    /// Queues one record; copies `body`, duplicates `fds`. Order of records is kept. Never blocks.
    /// @return EMSGSIZE, ENOTCONN when the link has ended, ENOBUFS when the peer reads nothing any
    /// more.
    Result<void> send(MessageType type, std::span<const std::byte> body,
                      std::span<const int> fds = {});
    /// send() and wait for the reply. Not from the service thread (EDEADLK).
    /// @return also ETIMEDOUT, ECONNRESET when the peer died meanwhile.
    Result<Reply> request(MessageType type, std::span<const std::byte> body, Deadline deadline,
                          std::span<const int> fds = {}) EXCLUDES(mutex_);
    /// Answers a message that request() sent.
    Result<void> reply(const Message& message, std::span<const std::byte> body,
                       std::span<const int> fds = {});

  private:
    friend class Process;

    struct Outgoing {
        std::vector<std::byte> record;
        std::vector<UniqueFd> fds;
    };
    struct Pending {
        bool done = false;
        Reply reply;
    };

    explicit Peer(Process& process) : process_(process) {}
    /// @return 0 or an errno.
    int map_arena(int fd, std::size_t size);
    Result<void> transmit(const MessageHeader& header, std::span<const std::byte> body,
                          std::span<const int> fds) EXCLUDES(mutex_);
    Result<void> put(const MessageHeader& header, std::span<const std::byte> body,
                     std::span<const int> fds) EXCLUDES(mutex_);
    Result<void> deliver_to_self(const MessageHeader& header, std::span<const std::byte> body,
                                 std::span<const int> fds);
    /// Service thread: the socket takes records again.
    void flush() EXCLUDES(mutex_);
    void complete_request(Message& message) EXCLUDES(mutex_);
    /// Fails what is waiting. @return false when it was dead already.
    bool mark_dead() EXCLUDES(mutex_);

    Process& process_;
    std::byte* arena_ = nullptr;
    std::size_t arena_size_ = 0;
    bool arena_mapped_here_ = false;
    pid_t pid_ = 0;
    MemberRef member_;
    bool is_self_ = false;
    UniqueFd doorbell_;
    UniqueFd pages_;
    std::uint64_t pages_size_ = 0;
    UniqueFd pidfd_;  ///< a forked child may keep the link's other end open; this tells the truth
    std::atomic<bool> alive_{true};
    mutable std::atomic<bool> end_awaited_{false};

    support::Mutex mutex_;
    support::CondVar replied_;
    /// The first is the one we send on; a second one comes from both sides connecting at once.
    std::vector<UniqueFd> links_ GUARDED_BY(mutex_);
    std::deque<Outgoing> outgoing_ GUARDED_BY(mutex_);
    std::size_t outgoing_bytes_ GUARDED_BY(mutex_) = 0;
    std::size_t outgoing_fds_ GUARDED_BY(mutex_) = 0;
    std::uint64_t last_request_ GUARDED_BY(mutex_) = 0;
    std::unordered_map<std::uint64_t, Pending> pending_ GUARDED_BY(mutex_);
    bool ended_ GUARDED_BY(mutex_) = false;  ///< mark_dead() was called
};

}  // namespace softverbs
