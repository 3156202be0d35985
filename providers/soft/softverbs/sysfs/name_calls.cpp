// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Calls that follow a path or return one. Paths in a tree are returned as those in /sys.
#include <unistd.h>

#include <cstdlib>

#include "providers/soft/softverbs/export/export.hpp"
#include "providers/soft/softverbs/sysfs/next_functions.hpp"
#include "providers/soft/softverbs/sysfs/paths.hpp"
#include "providers/soft/softverbs/sysfs/rewritten.hpp"

// NOLINTBEGIN(readability-identifier-naming,bugprone-reserved-identifier): the C library's names

using namespace softverbs;

EXPORTED ssize_t readlink(const char* __restrict path, char* __restrict text,
                          std::size_t size) noexcept {
    return with_path(AT_FDCWD, path,
                     [=](const char* there) { return next_readlink(there, text, size); });
}

EXPORTED ssize_t readlinkat(int directory, const char* __restrict path, char* __restrict text,
                            std::size_t size) noexcept {
    return with_path(directory, path, [=](const char* there) {
        return next_readlinkat(directory, there, text, size);
    });
}

EXPORTED ssize_t __readlink_chk(const char* path, char* text, std::size_t size,
                                std::size_t capacity) noexcept {
    return with_path(AT_FDCWD, path, [=](const char* there) {
        return next___readlink_chk(there, text, size, capacity);
    });
}

EXPORTED ssize_t __readlinkat_chk(int directory, const char* path, char* text, std::size_t size,
                                  std::size_t capacity) noexcept {
    return with_path(directory, path, [=](const char* there) {
        return next___readlinkat_chk(directory, there, text, size, capacity);
    });
}

EXPORTED char* realpath(const char* __restrict path, char* __restrict resolved) noexcept {
    return to_sys(with_path(AT_FDCWD, path,
                            [=](const char* there) { return next_realpath(there, resolved); }));
}

EXPORTED char* __realpath_chk(const char* path, char* resolved, std::size_t capacity) noexcept {
    return to_sys(with_path(AT_FDCWD, path, [=](const char* there) {
        return next___realpath_chk(there, resolved, capacity);
    }));
}

EXPORTED char* canonicalize_file_name(const char* path) noexcept {
    return to_sys(with_path(AT_FDCWD, path,
                            [](const char* there) { return next_canonicalize_file_name(there); }));
}

EXPORTED int chdir(const char* path) noexcept {
    return with_path(AT_FDCWD, path, [](const char* there) { return next_chdir(there); });
}

EXPORTED char* getcwd(char* text, std::size_t size) noexcept {
    return to_sys(next_getcwd(text, size));
}

EXPORTED char* __getcwd_chk(char* text, std::size_t size, std::size_t capacity) noexcept {
    return to_sys(next___getcwd_chk(text, size, capacity));
}

EXPORTED char* get_current_dir_name() noexcept {
    return to_sys(next_get_current_dir_name());
}

// NOLINTEND(readability-identifier-naming,bugprone-reserved-identifier)
