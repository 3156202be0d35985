// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The fabric directory: a private directory of one user that holds the members' sockets and the
/// index.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "providers/soft/softverbs/fabric/result.hpp"
#include "support/base/private_directory.hpp"

namespace softverbs {

class Directory {
  public:
    /// Opens SOFTVERBS_FABRIC, else the default. A default other than the usual path, because
    /// another user has made that one, is reported once (PrivateDirectory::default_path). Creates
    /// the directory with mode 0700 if it is missing. Refuses, with EACCES and a message, one that
    /// is a link, belongs to another user, or that others may enter.
    static Result<std::unique_ptr<Directory>> open();
    /// Does the same for a given path.
    static Result<std::unique_ptr<Directory>> open(const std::string& path);
    /// Does the same, but creates nothing. @return a null pointer if there is no such directory.
    static Result<std::unique_ptr<Directory>> open_existing(const std::string& path);
    /// The path that open() uses.
    static std::string chosen_path();

    int fd() const { return directory_.fd(); }
    const std::string& path() const { return directory_.path(); }

    /// Makes a non-blocking listening SOCK_SEQPACKET socket with this name, which must not exist.
    Result<UniqueFd> listen(const std::string& name) const;
    /// Connects without blocking. @return EAGAIN when the listener's queue is full, ECONNREFUSED
    /// when nobody listens, ENOENT.
    Result<UniqueFd> connect(const std::string& name) const;
    /// Gives a socket this name, which must not exist.
    Result<void> bind(int socket, const std::string& name) const;
    /// Makes a datagram socket that is connected to the one with this name.
    Result<UniqueFd> connect_datagrams(const std::string& name) const;
    void remove(const std::string& name) const { directory_.remove(name); }
    /// Names of all entries, in no order.
    std::vector<std::string> entries() const { return directory_.entries(); }
    /// Removes every entry whose name begins with `prefix`.
    void remove_all(const std::string& prefix) const;

  private:
    Result<UniqueFd> connect(UniqueFd socket, const std::string& name) const;
    explicit Directory(support::PrivateDirectory directory) : directory_(std::move(directory)) {}

    support::PrivateDirectory directory_;
};

}  // namespace softverbs
