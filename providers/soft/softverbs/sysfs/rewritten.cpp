// SPDX-License-Identifier: BSD-2-Clause
#include "providers/soft/softverbs/sysfs/rewritten.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "providers/soft/softverbs/sysfs/own_tree.hpp"
#include "providers/soft/softverbs/sysfs/paths.hpp"

namespace softverbs {
namespace {

bool is_root(int directory) {
    struct stat here, root;
    return fstatat(directory, ".", &here, 0) == 0 && stat("/", &root) == 0 &&
           here.st_dev == root.st_dev && here.st_ino == root.st_ino;
}

/// Writes one path behind the other. @return false if they do not fit.
bool join(char* to, std::string_view folder, std::string_view path) {
    if (folder.size() + 1 + path.size() >= PATH_MAX) return false;
    std::memcpy(to, folder.data(), folder.size());
    to[folder.size()] = '/';
    std::memcpy(to + folder.size() + 1, path.data(), path.size());
    to[folder.size() + 1 + path.size()] = '\0';
    return true;
}

}  // namespace

Rewritten::Rewritten(int directory, const char* path) : path_(path) {
    const int kept = errno;
    const auto below = below_sys(path, sight);
    if (below && (*path == '/' || is_root(directory))) {
        const char* const tree = own_tree();
        if (tree && join(buffer_, tree, *below)) path_ = buffer_;
    }
    errno = kept;
}

bool Rewritten::permits(int flags) const {
    if (!is_ours() || (flags & (O_ACCMODE | O_CREAT | O_TRUNC)) == O_RDONLY) return true;
    if ((flags & O_CREAT) != 0 || access(path_, F_OK) == 0) errno = EACCES;
    return false;
}

}  // namespace softverbs
