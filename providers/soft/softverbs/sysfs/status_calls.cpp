// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Calls that ask about a file.
#include <sys/xattr.h>
#include <unistd.h>

#include "providers/soft/softverbs/export/export.hpp"
#include "providers/soft/softverbs/sysfs/device_node.hpp"
#include "providers/soft/softverbs/sysfs/next_functions.hpp"
#include "providers/soft/softverbs/sysfs/rewritten.hpp"

// NOLINTBEGIN(readability-identifier-naming,bugprone-reserved-identifier): the C library's names

using namespace softverbs;

// Where the two structures are one, both are of the 64-bit kind.
#if defined(__LP64__)
static_assert(sizeof(struct stat) == sizeof(struct stat64));

namespace {

struct stat* same(struct stat64* status) {
    return reinterpret_cast<struct stat*>(status);
}
struct stat* same(struct stat* status) {
    return status;
}

}  // namespace

#define BOTH(MAKE, name) \
    MAKE(name, stat)     \
    MAKE(name##64, stat64)
#else
#define same(status) status
#define BOTH(MAKE, name) MAKE(name, stat)
#endif

#define STAT(name, type)                                                                      \
    EXPORTED int name(const char* __restrict path, struct type* __restrict status) noexcept { \
        if (is_node(path)) return describe_node(same(status));                                \
        return with_path(AT_FDCWD, path,                                                      \
                         [=](const char* there) { return next_##name(there, status); });      \
    }
BOTH(STAT, stat)
#undef STAT

#define LSTAT(name, type)                                                                     \
    EXPORTED int name(const char* __restrict path, struct type* __restrict status) noexcept { \
        return with_path(AT_FDCWD, path,                                                      \
                         [=](const char* there) { return next_##name(there, status); });      \
    }
BOTH(LSTAT, lstat)
#undef LSTAT

#define STAT_AT(name, type)                                                                       \
    EXPORTED int name(int directory, const char* __restrict path, struct type* __restrict status, \
                      int flags) noexcept {                                                       \
        return with_path(directory, path, [=](const char* there) {                                \
            return next_##name(directory, there, status, flags);                                  \
        });                                                                                       \
    }
BOTH(STAT_AT, fstatat)
#undef STAT_AT

// Programs linked before glibc 2.33 call these.
#define OLD_STAT(name, type)                                                                      \
    EXPORTED int name(int version, const char* path, struct type* status) noexcept {              \
        if (is_node(path)) return describe_node(same(status));                                    \
        return with_path(AT_FDCWD, path,                                                          \
                         [=](const char* there) { return next_##name(version, there, status); }); \
    }
BOTH(OLD_STAT, __xstat)
#undef OLD_STAT

#define OLD_LSTAT(name, type)                                                                     \
    EXPORTED int name(int version, const char* path, struct type* status) noexcept {              \
        return with_path(AT_FDCWD, path,                                                          \
                         [=](const char* there) { return next_##name(version, there, status); }); \
    }
BOTH(OLD_LSTAT, __lxstat)
#undef OLD_LSTAT

#define OLD_STAT_AT(name, type)                                                          \
    EXPORTED int name(int version, int directory, const char* path, struct type* status, \
                      int flags) noexcept {                                              \
        return with_path(directory, path, [=](const char* there) {                       \
            return next_##name(version, directory, there, status, flags);                \
        });                                                                              \
    }
BOTH(OLD_STAT_AT, __fxstatat)
#undef OLD_STAT_AT

EXPORTED int statx(int directory, const char* __restrict path, int flags, unsigned mask,
                   struct statx* __restrict status) noexcept {
    return with_path(directory, path, [=](const char* there) {
        return next_statx(directory, there, flags, mask, status);
    });
}

EXPORTED int access(const char* path, int mode) noexcept {
    if (is_node(path)) return access_node(mode);
    return with_path(AT_FDCWD, path, [=](const char* there) { return next_access(there, mode); });
}

EXPORTED int faccessat(int directory, const char* path, int mode, int flags) noexcept {
    if (is_node(path)) return access_node(mode);
    return with_path(directory, path, [=](const char* there) {
        return next_faccessat(directory, there, mode, flags);
    });
}

EXPORTED int euidaccess(const char* path, int mode) noexcept {
    if (is_node(path)) return access_node(mode);
    return with_path(AT_FDCWD, path,
                     [=](const char* there) { return next_euidaccess(there, mode); });
}

EXPORTED int eaccess(const char* path, int mode) noexcept {
    if (is_node(path)) return access_node(mode);
    return with_path(AT_FDCWD, path, [=](const char* there) { return next_eaccess(there, mode); });
}

// ls asks for them, and shows a failure other than ENODATA or EOPNOTSUPP.
#define GET_ATTRIBUTE(name)                                                     \
    EXPORTED ssize_t name(const char* path, const char* attribute, void* value, \
                          std::size_t size) noexcept {                          \
        return with_path(AT_FDCWD, path, [=](const char* there) {               \
            return next_##name(there, attribute, value, size);                  \
        });                                                                     \
    }
GET_ATTRIBUTE(getxattr)
GET_ATTRIBUTE(lgetxattr)
#undef GET_ATTRIBUTE

#define LIST_ATTRIBUTES(name)                                                                \
    EXPORTED ssize_t name(const char* path, char* list, std::size_t size) noexcept {         \
        return with_path(AT_FDCWD, path,                                                     \
                         [=](const char* there) { return next_##name(there, list, size); }); \
    }
LIST_ATTRIBUTES(listxattr)
LIST_ATTRIBUTES(llistxattr)
#undef LIST_ATTRIBUTES

// NOLINTEND(readability-identifier-naming,bugprone-reserved-identifier)
