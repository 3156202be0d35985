// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// A bell, with which one process wakes a thread of another: a descriptor of its owner that becomes
/// readable when somebody rings. The owner keeps its end to itself, and each peer gets a socket of
/// its own: what a peer does to that socket (flags, buffers, shutdown) affects nobody else, and a
/// peer cannot consume what others have sent. Neither side ever waits.
#pragma once

#include <string>

#include "providers/soft/softverbs/fabric/directory.hpp"
#include "providers/soft/softverbs/fabric/result.hpp"

namespace softverbs {

/// Rings without blocking, whatever the descriptor is; not a cancellation point. @return false when
/// the owner is gone, the descriptor is not a bell's, or the kernel lacks memory.
bool ring_bell(int socket);

/// Whether a descriptor that a peer sent can be a bell's.
bool is_bell_socket(int fd);

class Bell {
  public:
    /// @return an errno.
    static Result<Bell> make();

    /// Readable from a ring until clear(). Its file status flags are the owner's own.
    int fd() const { return fd_.get(); }
    /// Rings the owner's own bell, as ring_bell().
    bool ring() const { return ring_bell(own_socket_.get()); }
    /// @return a duplicate of the socket that ring() uses.
    UniqueFd own_socket() const { return UniqueFd::duplicate(own_socket_.get()); }
    /// Consumes the rings that have come, without waiting; at most 64, so that a peer that rings
    /// all the time does not keep the caller here.
    void clear() const;

    /// Makes a socket for a peer. The first call gives the bell a name in the fabric's directory,
    /// which the bell's owner removes.
    Result<UniqueFd> lend(const Directory& directory, const std::string& name);
    /// @return empty before the first lend(). Kept so that removing it takes no memory.
    const std::string& name() const { return name_; }

  private:
    Bell(UniqueFd fd, UniqueFd own_socket)
        : fd_(std::move(fd)), own_socket_(std::move(own_socket)) {}

    UniqueFd fd_;
    UniqueFd own_socket_;
    std::string name_;
};

}  // namespace softverbs
