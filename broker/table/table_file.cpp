// SPDX-License-Identifier: BSD-2-Clause
#include "broker/table/table_file.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "broker/table/futex.hpp"
#include "broker/table/process_identity.hpp"
#include "broker/table/repair.hpp"
#include "broker/table/table_lock.hpp"
#include "dapl/base/codes.hpp"
#include "support/base/limits.hpp"
#include "support/log/log.hpp"

namespace dapl::memory {
namespace {

using support::PrivateDirectory;
using support::UniqueFd;

/// Timeout for the directory's lock, in ns.
constexpr Time kDoorPatience = 5'000'000'000;
/// Name of a file until it is complete. There is only one at a time, under the directory's lock.
constexpr const char* kUnfinished = "unfinished-registrations";

using Fault = TableFile::Fault;

tl::unexpected<Fault> system_error(int error = errno) {
    return tl::unexpected(Fault{strerror(error), error});
}

std::string name_of(const std::string& adapter) {
    return std::string(kFilePrefix) + adapter;
}

void write_terms(Header& header, const std::string& adapter, const Terms& terms) {
    header.capacity_entries = std::clamp<std::uint64_t>(terms.entries, 1, kMostEntries);
    header.capacity_bytes = terms.bytes;
    header.limit_entries = header.limit_bytes = ~std::uint64_t{0};
    header.grace = terms.grace;
    header.low = terms.low;
    header.high = std::max(terms.low, terms.high);
    adapter.copy(header.adapter, kNameRoom - 1);
    terms.policy.copy(header.policy, kNameRoom - 1);
}

void write_header(const Table& table, std::uint64_t size) {
    Header& header = *table.header;
    header.magic = kTableMagic;
    header.version = kTableVersion;
    header.layout = layout_number();
    header.size = size;
    header.pid_namespace = pid_namespace();
    header.lease.process = kNone;
    header.refusals_end = kNever;
    make_lock(header.mutex);
    repair(table);
}

/// @return what is wrong with a file that should be a table; empty if nothing is.
std::string fault_of(const Header& header, std::uint64_t size) {
    if (header.magic != kTableMagic) return "it is not a registration table";
    if (header.version != kTableVersion || header.layout != layout_number())
        return "another release of the library created it";
    Table table;
    if (header.capacity_entries < 1 || header.capacity_entries > kMostEntries ||
        header.size != size || lay_out(table, nullptr, slots_for(header.capacity_entries)) != size)
        return "its size is not the one in its header";
    if (header.pid_namespace != pid_namespace()) return "processes of another PID namespace use it";
    if (!is_lock(header.mutex) || memchr(header.adapter, 0, kNameRoom) == nullptr)
        return "it has been overwritten";
    return {};
}

std::string fault_of(const struct stat& status) {
    if (!S_ISREG(status.st_mode)) return "it is not a regular file";
    if (status.st_uid != geteuid()) return fmt::format("it belongs to user {}", status.st_uid);
    if (status.st_mode & 077)
        return fmt::format("other users have access to it (mode {:04o})", status.st_mode & 07777);
    if (status.st_size < static_cast<off_t>(sizeof(Header))) return "it is truncated";
    return {};
}

/// @return the file of an adapter's table, its owner and mode checked; invalid if there is none.
tl::expected<UniqueFd, Fault> open_file(const PrivateDirectory& directory,
                                        const std::string& adapter) {
    // O_NONBLOCK: a pipe of that name is opened without waiting, and then refused.
    UniqueFd fd(openat(directory.fd(), name_of(adapter).c_str(),
                       O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
    if (!fd.valid()) {
        if (errno == ENOENT) return fd;
        return system_error();
    }
    struct stat status = {};
    if (fstat(fd.get(), &status) != 0) return system_error();
    if (std::string fault = fault_of(status); !fault.empty())
        return tl::unexpected(Fault{std::move(fault)});
    return fd;
}

support::Result<std::unique_ptr<TableFile>> cannot_use(const PrivateDirectory& directory,
                                                       const std::string& adapter,
                                                       const Fault& fault) {
    if (!support::report_limit(fault.error, "the registration table", directory.path()))
        support::report<support::kRegistrationsUnusable>(directory.path() + "/" + name_of(adapter),
                                                         fault.why);
    return support::failure(error(DAT_INSUFFICIENT_RESOURCES), fault.why);
}

}  // namespace

DirectoryLock::DirectoryLock(const PrivateDirectory& directory)
    : fd_(openat(directory.fd(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {
    for (const Time end = now() + kDoorPatience; fd_.valid(); usleep(500)) {
        if (flock(fd_.get(), LOCK_EX | LOCK_NB) == 0) return;
        if ((errno != EWOULDBLOCK && errno != EINTR) || now() > end) fd_.reset();
    }
}

DirectoryLock::~DirectoryLock() {
    if (fd_.valid()) flock(fd_.get(), LOCK_UN);
}

tl::expected<std::unique_ptr<TableFile>, Fault> TableFile::map(UniqueFd fd) {
    struct stat status = {};
    if (fstat(fd.get(), &status) != 0) return system_error();
    const auto size = static_cast<std::uint64_t>(status.st_size);
    void* const base = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd.get(), 0);
    if (base == MAP_FAILED) return system_error();
    // A forked child is not a member, and must not inherit the mapping.
    madvise(base, size, MADV_DONTFORK);
    return std::unique_ptr<TableFile>(new TableFile(std::move(fd), base, size));
}

tl::expected<UniqueFd, Fault> TableFile::make(const PrivateDirectory& directory,
                                              const std::string& adapter, const Terms& terms) {
    directory.remove(kUnfinished);
    UniqueFd fd(openat(directory.fd(), kUnfinished, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
    if (!fd.valid()) return system_error();
    const std::uint32_t slots = slots_for(std::max<std::uint64_t>(terms.entries, 1));
    Table table;
    const std::uint64_t size = lay_out(table, nullptr, slots);
    // Allocates the pages, so that a full file system is reported here and not by SIGBUS later.
    if (const int error = posix_fallocate(fd.get(), 0, static_cast<off_t>(size)); error != 0)
        return system_error(error);
    UniqueFd copy = UniqueFd::duplicate(fd.get());
    auto file = map(std::move(copy));
    if (!file) return tl::unexpected(file.error());
    lay_out(table, (*file)->base_, slots);
    write_terms(*table.header, adapter, terms);
    write_header(table, size);
    if (renameat(directory.fd(), kUnfinished, directory.fd(), name_of(adapter).c_str()) != 0)
        return system_error();
    return fd;
}

tl::expected<std::unique_ptr<TableFile>, Fault> TableFile::check(UniqueFd fd) {
    auto file = map(std::move(fd));
    if (!file) return file;
    TableFile& it = **file;
    Header& header = *static_cast<Header*>(it.base_);
    if (std::string fault = fault_of(header, it.size_); !fault.empty())
        return tl::unexpected(Fault{std::move(fault)});
    it.table_.capacity_entries = header.capacity_entries;
    it.table_.capacity_bytes = header.capacity_bytes;
    it.table_.grace = header.grace;
    if (lay_out(it.table_, it.base_, slots_for(it.table_.capacity_entries)) != it.size_)
        return tl::unexpected(Fault{"its size changes"});
    return file;
}

support::Result<std::unique_ptr<TableFile>> TableFile::join(const PrivateDirectory& directory,
                                                            const std::string& adapter,
                                                            const Terms* terms) {
    auto fd = open_file(directory, adapter);
    if (!fd) return cannot_use(directory, adapter, fd.error());
    // Each member holds a shared lock. A file that nobody has locked was left by dead processes and
    // is replaced, whatever it contains.
    if (!fd->valid() || flock(fd->get(), LOCK_EX | LOCK_NB) == 0) {
        if (!terms) return support::failure(error(DAT_NAME_NOT_FOUND), "nobody uses it");
        fd = make(directory, adapter, *terms);
    }
    if (!fd) return cannot_use(directory, adapter, fd.error());
    if (flock(fd->get(), LOCK_SH | LOCK_NB) != 0)
        return cannot_use(directory, adapter, {strerror(errno)});
    auto file = check(std::move(*fd));
    if (!file) return cannot_use(directory, adapter, file.error());
    return std::move(*file);
}

tl::expected<std::unique_ptr<TableFile>, Fault> TableFile::look(const PrivateDirectory& directory,
                                                                const std::string& adapter) {
    auto fd = open_file(directory, adapter);
    if (!fd) return tl::unexpected(fd.error());
    if (!fd->valid()) return system_error(ENOENT);
    return check(std::move(*fd));
}

void TableFile::remove_if_last(const PrivateDirectory& directory, const std::string& adapter) {
    if (flock(fd_.get(), LOCK_EX | LOCK_NB) != 0) return;
    struct stat ours = {}, named = {};
    if (fstat(fd_.get(), &ours) != 0) return;
    if (fstatat(directory.fd(), name_of(adapter).c_str(), &named, AT_SYMLINK_NOFOLLOW) != 0) return;
    // The file may have been removed, and another table may have its name now.
    if (ours.st_ino == named.st_ino && ours.st_dev == named.st_dev)
        directory.remove(name_of(adapter));
}

void TableFile::abandon() {
    base_ = nullptr;
    table_ = {};
    fd_.reset();
}

TableFile::~TableFile() {
    if (base_) munmap(base_, size_);
}

}  // namespace dapl::memory
