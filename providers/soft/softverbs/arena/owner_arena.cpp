// SPDX-License-Identifier: BSD-2-Clause
#include "providers/soft/softverbs/arena/owner_arena.hpp"

#include <dirent.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "providers/soft/softverbs/fabric/handshake.hpp"
#include "providers/soft/softverbs/fabric/process.hpp"

namespace softverbs {
namespace {

/// Reads the file before it is mapped: reading a hole through a mapping would allocate a page.
template <class T>
T read_at(int fd, std::uint64_t offset) {
    T value{};
    const ssize_t got = pread(fd, &value, sizeof value, static_cast<off_t>(offset));
    return got == sizeof value ? value : T{};
}

bool names_arena(int directory, const char* name) {
    char target[64];
    const ssize_t length = readlinkat(directory, name, target, sizeof target);
    return length > 0 && std::string_view(target, static_cast<std::size_t>(length))
                             .starts_with("/memfd:softverbs-arena");
}

/// Returns the file's size, which is sealed against shrinking if fault_of_memory() finds nothing
/// wrong.
std::uint64_t size_of(int fd) {
    struct stat status = {};
    return fstat(fd, &status) == 0 ? static_cast<std::uint64_t>(status.st_size) : 0;
}

bool is_of_this_user(int fd) {
    struct stat status = {};
    return fstat(fd, &status) == 0 && status.st_uid == geteuid();
}

struct CloseDirectory {
    void operator()(DIR* directory) const { closedir(directory); }
};

}  // namespace

std::optional<OwnerArena> OwnerArena::with_region(pid_t pid, std::uint32_t key) {
    const std::string path = "/proc/" + std::to_string(pid) + "/fd";
    const std::unique_ptr<DIR, CloseDirectory> descriptors(opendir(path.c_str()));
    if (!descriptors || !is_of_this_user(dirfd(descriptors.get()))) return std::nullopt;
    std::optional<OwnerArena> found;
    while (const dirent* entry = readdir(descriptors.get())) {
        if (!names_arena(dirfd(descriptors.get()), entry->d_name)) continue;
        // Opens the file anew. The name may refer to another file by now, so everything is checked
        // again.
        OwnerArena arena(UniqueFd(openat(dirfd(descriptors.get()), entry->d_name,
                                         O_RDWR | O_NONBLOCK | O_NOCTTY | O_CLOEXEC)));
        if (!arena.belongs_to(pid) || !arena.has_region(key)) continue;
        if (found) return std::nullopt;
        found.emplace(std::move(arena));
    }
    if (found && !found->map()) found.reset();
    return found;
}

/// Without a search through the descriptors: a process takes many of its own regions at a time away
/// from receives.
std::optional<OwnerArena> OwnerArena::own_with_region(std::uint32_t key) {
    const Process* const process = Process::current();
    if (!process) return std::nullopt;
    const PublishedArena& own = process->arena();
    OwnerArena arena(UniqueFd::duplicate(own.fd));
    if (!arena.has_region(key)) return std::nullopt;
    arena.view_ = ArenaView(own.base, own.size);
    return arena;
}

OwnerArena::OwnerArena(OwnerArena&& other) noexcept
    : file_(std::move(other.file_)),
      mapping_(std::exchange(other.mapping_, MAP_FAILED)),
      view_(std::exchange(other.view_, ArenaView())) {}

OwnerArena::~OwnerArena() {
    if (mapping_ != MAP_FAILED) munmap(mapping_, view_.size());
}

/// Checks that the file is an arena that the process itself has made: a child of fork() has its
/// parent's arena open too.
bool OwnerArena::belongs_to(pid_t pid) const {
    const int fd = file_.get();
    if (!file_.valid() || !is_of_this_user(fd)) return false;
    const auto size = size_of(fd);
    if (!is_arena_size(size) || !fault_of_memory(fd, size, "").empty()) return false;
    return read_at<std::uint64_t>(fd, offsetof(ArenaHeader, magic)) == kArenaMagic &&
           read_at<std::uint64_t>(fd, offsetof(ArenaHeader, size)) == size &&
           read_at<std::int32_t>(fd, offsetof(ArenaHeader, owner)) == pid;
}

bool OwnerArena::has_region(std::uint32_t key) const {
    const int fd = file_.get();
    const std::uint64_t entry = kMrTable + (key >> kKeyIndexShift) * sizeof(MrEntry);
    const auto current = read_at<std::uint32_t>(fd, entry + offsetof(MrEntry, key));
    const auto last = read_at<std::uint32_t>(fd, entry + offsetof(MrEntry, last_key));
    const auto kind = read_at<KeyKind>(fd, entry + offsetof(MrEntry, kind));
    return key != 0 && last == key && (current == key || current == 0) && kind == KeyKind::kRegion;
}

bool OwnerArena::map() {
    const std::uint64_t size = size_of(file_.get());
    mapping_ = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, file_.get(), 0);
    if (mapping_ == MAP_FAILED) return false;
    view_ = ArenaView(mapping_, size);
    madvise(mapping_, size, MADV_DONTDUMP);
    return true;
}

/// Entries are used in the order of their numbers, so the first hole in the table is behind them.
std::uint32_t OwnerArena::used_keys() const {
    const off_t hole = lseek(file_.get(), static_cast<off_t>(kMrTable), SEEK_HOLE);
    if (hole < static_cast<off_t>(kMrTable)) return 0;
    const std::uint64_t bytes = static_cast<std::uint64_t>(hole) - kMrTable;
    return static_cast<std::uint32_t>(std::min<std::uint64_t>(bytes / sizeof(MrEntry), kMaxMrs));
}

}  // namespace softverbs
