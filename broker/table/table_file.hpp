// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The file of a table: made, found, checked and mapped. Members come and go under a lock of the
/// directory, so that nobody joins a file that somebody removes; and each keeps a shared lock of
/// the file, which the kernel takes back when it dies: a file that can be locked alone is nobody's.
#pragma once

#include <memory>
#include <string>

#include "broker/table/table.hpp"
#include "support/base/private_directory.hpp"
#include "support/base/result.hpp"
#include "support/base/unique_fd.hpp"

namespace dapl::memory {

/// One process at a time comes or goes: keeps the others out while it lives. A child that is forked
/// meanwhile has a copy of the descriptor, so that closing it would not do.
class DirectoryLock {
  public:
    explicit DirectoryLock(const support::PrivateDirectory& directory);
    ~DirectoryLock();
    DirectoryLock(const DirectoryLock&) = delete;
    DirectoryLock& operator=(const DirectoryLock&) = delete;
    /// @return false where somebody else does not let go.
    bool valid() const { return fd_.valid(); }

  private:
    support::UniqueFd fd_;
};

class TableFile {
  public:
    struct Fault {
        std::string why;
        int error = 0;  ///< an errno value where a call failed
    };

    /// Opens and joins the table of an adapter; makes it where there is none that anybody uses.
    /// The directory's lock has to be held. Tells the user what is wrong.
    /// @param terms nullptr: none is made, and that there is none is not told.
    static support::Result<std::unique_ptr<TableFile>> join(
        const support::PrivateDirectory& directory, const std::string& adapter, const Terms* terms);
    /// To look at. Tells nobody.
    static tl::expected<std::unique_ptr<TableFile>, Fault> look(
        const support::PrivateDirectory& directory, const std::string& adapter);

    ~TableFile();
    TableFile(const TableFile&) = delete;
    TableFile& operator=(const TableFile&) = delete;

    const Table& table() const { return table_; }
    /// Removes the file where nobody else uses it. The directory's lock has to be held.
    void remove_if_last(const support::PrivateDirectory& directory, const std::string& adapter);
    /// In a forked child, which has no such mapping: forgets it.
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
