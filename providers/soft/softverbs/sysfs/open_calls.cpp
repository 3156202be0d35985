// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Calls that open files and directories. libsoftverbs.map gives them, as those of the other files
/// here, the C library's version names, without which they would not stand in front of its own.
#include <cstdarg>
#include <cstring>

#include "providers/soft/softverbs/export/export.hpp"
#include "providers/soft/softverbs/sysfs/next_functions.hpp"
#include "providers/soft/softverbs/sysfs/rewritten.hpp"

// NOLINTBEGIN(readability-identifier-naming,bugprone-reserved-identifier): the C library's names

namespace {

using namespace softverbs;

/// The mode is there only with these flags.
bool has_mode(int flags) {
    return (flags & O_CREAT) != 0 || (flags & O_TMPFILE) == O_TMPFILE;
}

/// Returns the flags of open() for a mode of fopen().
int flags_of(const char* mode) {
    return *mode == 'r' && !std::strchr(mode, '+') ? O_RDONLY : O_RDWR;
}

/// Makes glob() call our functions: those that it calls otherwise are the C library's own.
template <class Glob>
void use_ours(Glob& result) {
    result.gl_opendir = [](const char* path) -> void* { return opendir(path); };
    result.gl_closedir = [](void* stream) { closedir(static_cast<DIR*>(stream)); };
}

}  // namespace

#define OPEN(name)                                                                            \
    EXPORTED int name(const char* path, int flags, ...) {                                     \
        mode_t mode = 0;                                                                      \
        if (has_mode(flags)) {                                                                \
            va_list arguments;                                                                \
            va_start(arguments, flags);                                                       \
            mode = va_arg(arguments, mode_t);                                                 \
            va_end(arguments);                                                                \
        }                                                                                     \
        return open_path(AT_FDCWD, path, flags, -1,                                           \
                         [=](const char* there) { return next_##name(there, flags, mode); }); \
    }
OPEN(open)
OPEN(open64)
OPEN(__open)
OPEN(__open64)
#undef OPEN

#define OPEN_AT(name)                                                         \
    EXPORTED int name(int directory, const char* path, int flags, ...) {      \
        mode_t mode = 0;                                                      \
        if (has_mode(flags)) {                                                \
            va_list arguments;                                                \
            va_start(arguments, flags);                                       \
            mode = va_arg(arguments, mode_t);                                 \
            va_end(arguments);                                                \
        }                                                                     \
        return open_path(directory, path, flags, -1, [=](const char* there) { \
            return next_##name(directory, there, flags, mode);                \
        });                                                                   \
    }
OPEN_AT(openat)
OPEN_AT(openat64)
#undef OPEN_AT

// Calls without a mode, checked when they were compiled (_FORTIFY_SOURCE).
#define OPEN_CHECKED(name)                                                              \
    EXPORTED int name(const char* path, int flags) {                                    \
        return open_path(AT_FDCWD, path, flags, -1,                                     \
                         [=](const char* there) { return next_##name(there, flags); }); \
    }
OPEN_CHECKED(__open_2)
OPEN_CHECKED(__open64_2)
#undef OPEN_CHECKED

#define OPEN_AT_CHECKED(name)                                                                      \
    EXPORTED int name(int directory, const char* path, int flags) {                                \
        return open_path(directory, path, flags, -1,                                               \
                         [=](const char* there) { return next_##name(directory, there, flags); }); \
    }
OPEN_AT_CHECKED(__openat_2)
OPEN_AT_CHECKED(__openat64_2)
#undef OPEN_AT_CHECKED

#define CREATE(name)                                                                   \
    EXPORTED int name(const char* path, mode_t mode) {                                 \
        return open_path(AT_FDCWD, path, O_WRONLY, -1,                                 \
                         [=](const char* there) { return next_##name(there, mode); }); \
    }
CREATE(creat)
CREATE(creat64)
#undef CREATE

#define OPEN_STREAM(name)                                                              \
    EXPORTED FILE* name(const char* path, const char* mode) {                          \
        return open_path(AT_FDCWD, path, flags_of(mode), static_cast<FILE*>(nullptr),  \
                         [=](const char* there) { return next_##name(there, mode); }); \
    }
OPEN_STREAM(fopen)
OPEN_STREAM(fopen64)
#undef OPEN_STREAM

#define REOPEN_STREAM(name)                                                                    \
    EXPORTED FILE* name(const char* path, const char* mode, FILE* stream) {                    \
        return open_path(AT_FDCWD, path, flags_of(mode), static_cast<FILE*>(nullptr),          \
                         [=](const char* there) { return next_##name(there, mode, stream); }); \
    }
REOPEN_STREAM(freopen)
REOPEN_STREAM(freopen64)
#undef REOPEN_STREAM

EXPORTED DIR* opendir(const char* path) {
    return with_path(AT_FDCWD, path, [](const char* there) { return next_opendir(there); });
}

EXPORTED int scandir(const char* path, dirent*** names, Filter* filter, Compare* compare) {
    return with_path(AT_FDCWD, path, [=](const char* there) {
        return next_scandir(there, names, filter, compare);
    });
}

EXPORTED int scandir64(const char* path, dirent64*** names, Filter64* filter, Compare64* compare) {
    return with_path(AT_FDCWD, path, [=](const char* there) {
        return next_scandir64(there, names, filter, compare);
    });
}

EXPORTED int scandirat(int directory, const char* path, dirent*** names, Filter* filter,
                       Compare* compare) {
    return with_path(directory, path, [=](const char* there) {
        return next_scandirat(directory, there, names, filter, compare);
    });
}

EXPORTED int scandirat64(int directory, const char* path, dirent64*** names, Filter64* filter,
                         Compare64* compare) {
    return with_path(directory, path, [=](const char* there) {
        return next_scandirat64(directory, there, names, filter, compare);
    });
}

/// Recognises a pattern that begins with "/sys/" as it stands, not one in braces.
EXPORTED int glob(const char* __restrict pattern, int flags, GlobError* report,
                  glob_t* __restrict result) noexcept {
    if (!may_be_ours(pattern) || (flags & GLOB_ALTDIRFUNC) != 0) [[likely]]
        return next_glob(pattern, flags, report, result);
    use_ours(*result);
    result->gl_readdir = [](void* stream) { return readdir(static_cast<DIR*>(stream)); };
    result->gl_lstat = lstat;
    result->gl_stat = stat;
    return next_glob(pattern, flags | GLOB_ALTDIRFUNC, report, result);
}

EXPORTED int glob64(const char* __restrict pattern, int flags, GlobError* report,
                    glob64_t* __restrict result) noexcept {
    if (!may_be_ours(pattern) || (flags & GLOB_ALTDIRFUNC) != 0) [[likely]]
        return next_glob64(pattern, flags, report, result);
    use_ours(*result);
    result->gl_readdir = [](void* stream) { return readdir64(static_cast<DIR*>(stream)); };
    result->gl_lstat = lstat64;
    result->gl_stat = stat64;
    return next_glob64(pattern, flags | GLOB_ALTDIRFUNC, report, result);
}

// NOLINTEND(readability-identifier-naming,bugprone-reserved-identifier)
