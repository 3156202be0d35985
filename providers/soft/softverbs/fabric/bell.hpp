// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// How one process makes a thread of another look: a descriptor of the owner's, readable once
/// somebody has rung. The owner's end of a Bell is its own alone, and so is the socket that each
/// peer is lent: what a peer does to its own (flags, buffers, shutdown) concerns nobody else, and
/// it cannot take what others have sent. Nobody waits for anybody.
#pragma once

#include <string>

#include "providers/soft/softverbs/fabric/directory.hpp"
#include "providers/soft/softverbs/fabric/result.hpp"

namespace softverbs {

/// Never waits, whatever the descriptor is; no cancellation point. @return false when the owner is
/// gone, or the descriptor is none of a Bell.
bool ring_bell(int socket);

/// Whether a descriptor that a peer sent can be one of a Bell.
bool is_bell_socket(int fd);

class Bell {
  public:
    /// @return an errno.
    static Result<Bell> make();

    /// Readable while somebody has rung and nobody has taken it. The owner's flags.
    int fd() const { return fd_.get(); }
    /// By the owner. As ring_bell().
    bool ring() const { return ring_bell(own_socket_.get()); }
    /// A duplicate of what ring() uses.
    UniqueFd own_socket() const { return UniqueFd::duplicate(own_socket_.get()); }
    /// Takes what has come, without waiting, and not for ever where a peer rings all the time.
    void clear() const;

    /// A socket for a peer. The bell has a name in the fabric's directory from the first one on,
    /// which its owner removes.
    Result<UniqueFd> lend(const Directory& directory, const std::string& name);
    bool has_name() const { return has_name_; }

  private:
    Bell(UniqueFd fd, UniqueFd own_socket)
        : fd_(std::move(fd)), own_socket_(std::move(own_socket)) {}

    UniqueFd fd_;
    UniqueFd own_socket_;
    bool has_name_ = false;
};

}  // namespace softverbs
