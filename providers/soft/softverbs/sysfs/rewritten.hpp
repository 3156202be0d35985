// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Path arguments of the C library's functions: those in the devices' part of /sys are replaced by
/// paths in the process's tree (tree.hpp), so that every function then works on real files. All
/// others pass unchanged, at the cost of one comparison.
#pragma once

#include <fcntl.h>
#include <limits.h>

#include <cstdint>

#include "providers/soft/softverbs/sysfs/device_node.hpp"

namespace softverbs {

/// A path argument that begins like one of ours. Keeps errno. Allocates only when the process asks
/// for such a path first.
class Rewritten {
  public:
    /// @param directory that a relative path begins at, or AT_FDCWD.
    Rewritten(int directory, const char* path);
    Rewritten(const Rewritten&) = delete;
    Rewritten& operator=(const Rewritten&) = delete;

    /// The path in the tree, or the one that was given.
    const char* path() const { return path_; }
    bool is_ours() const { return path_ == buffer_; }
    /// Whether open() with these flags may go on; else errno is that of a file of sysfs that cannot
    /// be written.
    bool permits(int flags) const;

  private:
    const char* path_;
    char buffer_[PATH_MAX];
};

/// Whether a path begins with "/sys/", or with "sys/", as programs write it that hold a descriptor
/// of the root directory.
inline bool may_be_ours(const char* path) {
    if (reinterpret_cast<std::intptr_t>(path) < kLowestAddress) return false;
    path += *path == '/';
    return path[0] == 's' && path[1] == 'y' && path[2] == 's' && path[3] == '/';
}

template <class Call>
[[gnu::cold, gnu::noinline]] auto call_in_tree(int directory, const char* path, Call call) {
    const Rewritten rewritten(directory, path);
    return call(rewritten.path());
}

/// Calls with the path, or with the one that stands for it.
template <class Call>
auto with_path(int directory, const char* path, Call call) {
    if (!may_be_ours(path)) [[likely]]
        return call(path);
    return call_in_tree(directory, path, call);
}

template <class Result, class Call>
[[gnu::cold, gnu::noinline]] Result open_in_tree(int directory, const char* path, int flags,
                                                 Result refused, Call call) {
    const Rewritten rewritten(directory, path);
    return rewritten.permits(flags) ? call(rewritten.path()) : refused;
}

/// The same for calls that open a file. @param refused the result of a call that fails.
template <class Result, class Call>
Result open_path(int directory, const char* path, int flags, Result refused, Call call) {
    if (!may_be_ours(path)) [[likely]]
        return call(path);
    return open_in_tree(directory, path, flags, refused, call);
}

}  // namespace softverbs
