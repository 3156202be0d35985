// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The file of a table: creation, lookup, checks, mapping. Members join and leave under a lock of
/// the directory, so that nobody joins a file that is being removed. Each member also keeps a
/// shared flock of the file, which the kernel releases when the member dies: a file that can be
/// locked exclusively has no members.
#pragma once

#include <memory>
#include <string>

#include "broker/table/table.hpp"
#include "support/base/private_directory.hpp"
#include "support/base/result.hpp"
#include "support/base/unique_fd.hpp"

namespace dapl::memory {

/// Keeps other processes from joining or leaving while it lives. A child forked in that time has a
/// copy of the descriptor, so closing it would not release the lock.
class DirectoryLock {
  public:
    explicit DirectoryLock(const support::PrivateDirectory& directory);
    ~DirectoryLock();
    DirectoryLock(const DirectoryLock&) = delete;
    DirectoryLock& operator=(const DirectoryLock&) = delete;
    /// @return whether the lock is held; false if another process did not release it in time.
    bool valid() const { return fd_.valid(); }

  private:
    support::UniqueFd fd_;
};

class TableFile {
  public:
    struct Fault {
        std::string why;
        int error = 0;  ///< errno value if a call failed
    };

    /// Opens and joins the table of an adapter; creates one if there is none in use. Requires the
    /// directory's lock. Reports failures to the user.
    /// @param terms nullptr: creates none, and does not report that there is none.
    static support::Result<std::unique_ptr<TableFile>> join(
        const support::PrivateDirectory& directory, const std::string& adapter, const Terms* terms);
    /// Opens a table for a snapshot, without joining it. Reports nothing to the user.
    static tl::expected<std::unique_ptr<TableFile>, Fault> look(
        const support::PrivateDirectory& directory, const std::string& adapter);

    ~TableFile();
    TableFile(const TableFile&) = delete;
    TableFile& operator=(const TableFile&) = delete;

    const Table& table() const { return table_; }
    /// Removes the file if nobody else uses it. Requires the directory's lock.
    void remove_if_last(const support::PrivateDirectory& directory, const std::string& adapter);
    /// For a forked child, which does not inherit the mapping: forgets it.
    void abandon();

  private:
    TableFile(support::UniqueFd fd, void* base, std::uint64_t size)
        : fd_(std::move(fd)), base_(base), size_(size) {}
    static tl::expected<std::unique_ptr<TableFile>, Fault> map(support::UniqueFd fd);
    static tl::expected<std::unique_ptr<TableFile>, Fault> check(support::UniqueFd fd);
    static tl::expected<support::UniqueFd, Fault> make(const support::PrivateDirectory& directory,
                                                       const std::string& adapter,
                                                       const Terms& terms);

    support::UniqueFd fd_;
    void* base_;
    std::uint64_t size_;
    Table table_;
};

}  // namespace dapl::memory
