// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The other process of a pair (or this one, as its own target): its arena, its doorbell, and the
/// link that carries messages.
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
#include "providers/soft/softverbs/faults/plan.hpp"
#include "support/thread/mutex.hpp"

namespace softverbs {

class Process;

/// Names a process within the fabric; random, so that an id of the past matches nobody.
using MemberId = std::uint64_t;

/// Names a member and its place in the index.
struct MemberRef {
    std::uint32_t slot = 0;  ///< in the index
    MemberId id = 0;
};

/// Says how a process ended, as far as the kernel reports it to processes other than the parent:
/// from Linux 6.15 on, and once the parent has waited for it.
struct ProcessEnd {
    int signal = 0;      ///< 0: none or unknown
    int exit_code = -1;  ///< -1: ended by a signal, or unknown
};

/// A peer's answer to request().
struct Reply {
    std::vector<std::byte> body;
    std::vector<UniqueFd> fds;
};

/// Held by shared_ptr: the arena stays mapped as long as anyone holds one, even after the peer has
/// died. All functions are thread safe.
class Peer : public std::enable_shared_from_this<Peer> {
  public:
    ~Peer();
    Peer(const Peer&) = delete;
    Peer& operator=(const Peer&) = delete;

    /// The peer's arena, mapped shared, readable and writable; sealed against shrinking. Its
    /// contents were written by the peer: check them before use.
    std::byte* arena() const { return arena_; }
    std::size_t arena_size() const { return arena_size_; }  ///< bytes
    /// The peer's page file, sealed and checked like the arena. @return -1 when it has none.
    int pages_fd() const { return pages_.get(); }
    std::uint64_t pages_size() const { return pages_size_; }  ///< bytes
    /// @return -1 if the kernel gave none.
    int pidfd() const { return pidfd_.get(); }
    /// In this process's pid namespace; 0 when the peer lives in one that we cannot see.
    pid_t pid() const { return pid_; }
    const MemberRef& member() const { return member_; }
    /// As the peer has told it.
    const faults::Identity& identity() const { return identity_; }
    bool is_self() const { return is_self_; }
    /// False once the link has ended; on_peer_death handlers follow on the service thread.
    bool alive() const { return alive_.load(std::memory_order_acquire); }
    /// Whether the process has ended. Asks the kernel, as the service thread may not have noticed
    /// yet: it may itself be the caller that waits for this. One system call.
    bool has_ended() const;
    /// For a peer whose link has ended. The kernel closes a process's sockets a moment before it
    /// reports the end of the process, and reports how it ended only once the parent has waited for
    /// it. Waits for both, a few milliseconds at most, and once for all callers. @return whether
    /// the process has ended.
    bool wait_for_end() const;
    ProcessEnd how_it_ended() const;
    /// Whether the process or its link has ended. In the latter case the process may still be
    /// there.
    bool gone() const { return !alive() || has_ended(); }
    /// Makes the peer's service thread run its doorbell handlers. One system call; never blocks.
    void ring_doorbell() const;

    /// Queues one record; copies `body`, duplicates `fds`. Keeps the order of records. Never
    /// blocks.
    /// @return EMSGSIZE, ENOTCONN when the link has ended, ENOBUFS when too much is queued for a
    /// peer that no longer reads.
    Result<void> send(MessageType type, std::span<const std::byte> body,
                      std::span<const int> fds = {});
    /// Does send() and waits for the reply. Not from the service thread (EDEADLK).
    /// @return also ETIMEDOUT, ECONNRESET when the peer died while we waited.
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
    /// Sends the queue, on the service thread, when the socket accepts records again.
    void flush() EXCLUDES(mutex_);
    void complete_request(Message& message) EXCLUDES(mutex_);
    /// Fails everything that waits. @return false when the peer was dead already.
    bool mark_dead() EXCLUDES(mutex_);

    Process& process_;
    std::byte* arena_ = nullptr;
    std::size_t arena_size_ = 0;
    bool arena_mapped_here_ = false;
    pid_t pid_ = 0;
    MemberRef member_;
    faults::Identity identity_;
    bool is_self_ = false;
    UniqueFd doorbell_;
    UniqueFd pages_;
    std::uint64_t pages_size_ = 0;
    UniqueFd pidfd_;  ///< decisive: a forked child may keep the link's other end open
    std::atomic<bool> alive_{true};
    mutable std::atomic<bool> end_awaited_{false};

    support::Mutex mutex_;
    support::CondVar replied_;
    /// The first is the one we send on; there is a second one if both sides connected at once.
    std::vector<UniqueFd> links_ GUARDED_BY(mutex_);
    std::deque<Outgoing> outgoing_ GUARDED_BY(mutex_);
    std::size_t outgoing_bytes_ GUARDED_BY(mutex_) = 0;
    std::size_t outgoing_fds_ GUARDED_BY(mutex_) = 0;
    std::uint64_t last_request_ GUARDED_BY(mutex_) = 0;
    std::unordered_map<std::uint64_t, Pending> pending_ GUARDED_BY(mutex_);
    bool ended_ GUARDED_BY(mutex_) = false;  ///< mark_dead() was called
};

}  // namespace softverbs
