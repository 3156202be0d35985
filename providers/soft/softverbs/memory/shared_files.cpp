// SPDX-License-Identifier: BSD-2-Clause
#include "providers/soft/softverbs/memory/shared_files.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/statfs.h>

#include <memory>
#include <string>
#include <utility>

namespace softverbs {
namespace {

bool is_file_of(const struct stat& status, const Mapping& mapping) {
    return S_ISREG(status.st_mode) && status.st_ino == mapping.inode &&
           status.st_dev == mapping.device;
}

bool is_file_of(int fd, const Mapping& mapping) {
    struct stat status = {};
    return fstat(fd, &status) == 0 && is_file_of(status, mapping);
}

UniqueFd open_own(int number) {
    const std::string name = "/proc/self/fd/" + std::to_string(number);
    return UniqueFd(open(name.c_str(), O_RDWR | O_CLOEXEC));
}

/// Opens the file by its path. That may name something else by now: nothing but the very file that
/// is mapped is opened.
UniqueFd open_by_path(const Mapping& mapping) {
    if (mapping.name.empty() || mapping.name[0] != '/') return {};
    const UniqueFd place(open(mapping.name.c_str(), O_PATH | O_CLOEXEC | O_NOFOLLOW));
    return place.valid() && is_file_of(place.get(), mapping) ? open_own(place.get()) : UniqueFd();
}

/// Opens the file behind a descriptor of the application if it is the one mapped. Another thread
/// may close the descriptor and open something else in between, so what was opened is checked
/// again.
UniqueFd open_if_of(int folder, const char* name, const Mapping& mapping) {
    struct stat status = {};
    if (fstatat(folder, name, &status, 0) != 0 || !is_file_of(status, mapping)) return {};
    UniqueFd file(openat(folder, name, O_RDWR | O_CLOEXEC | O_NONBLOCK));
    return file.valid() && is_file_of(file.get(), mapping) ? std::move(file) : UniqueFd();
}

/// Opens a file without a name, which is possible as long as the application has it open.
UniqueFd open_by_descriptor(const Mapping& mapping) {
    const std::unique_ptr<DIR, int (*)(DIR*)> folder(opendir("/proc/self/fd"), &closedir);
    while (const dirent* entry = folder ? readdir(folder.get()) : nullptr) {
        if (entry->d_name[0] == '.') continue;
        UniqueFd file = open_if_of(dirfd(folder.get()), entry->d_name, mapping);
        if (file.valid()) return file;
    }
    return {};
}

}  // namespace

bool is_safe_to_map(int fd) {
    struct statfs system = {};
    const int seals = fcntl(fd, F_GET_SEALS);
    return seals >= 0 && (seals & F_SEAL_SHRINK) != 0 && fstatfs(fd, &system) == 0 &&
           system.f_type == TMPFS_MAGIC;
}

Placement place_in_file(const Mapping& mapping, PageRange pages) {
    if (pages.end > mapping.end) return {{}, PageReason::kMixed};
    UniqueFd file = open_by_path(mapping);
    if (!file.valid()) file = open_by_descriptor(mapping);
    if (!file.valid()) return {{}, PageReason::kNoDescriptor};
    if (!is_safe_to_map(file.get())) return {{}, PageReason::kNoSeal};
    Placement placement{pages, PageReason::kFile};
    placement.file = file.release();
    placement.file_offset = mapping.offset + (pages.begin - mapping.begin);
    placement.file_device = mapping.device;
    placement.file_inode = mapping.inode;
    return placement;
}

}  // namespace softverbs
