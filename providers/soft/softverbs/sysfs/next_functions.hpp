// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The functions that ours stand in front of: libc's, or those of another preloaded library between
/// us and libc. Ours may be called in signal handlers, as libc's may, so the next ones are looked
/// up when the library is loaded; a constructor that runs before ours looks up what it calls.
#pragma once

#include <dirent.h>
#include <glob.h>
#include <sys/stat.h>
#include <sys/types.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <type_traits>

namespace softverbs {

class NextFunction {
  public:
    constexpr NextFunction(const char* name, const char* version)
        : name_(name), version_(version) {}
    void find();

  protected:
    void* get() const { return function_.load(std::memory_order_acquire); }

  private:
    const char* const name_;
    const char* const version_;
    std::atomic<void*> function_{nullptr};
};

template <class Function>
class Next : public NextFunction {
  public:
    using NextFunction::NextFunction;
    /// Fails with ENOSYS if there is no such function.
    template <class... Arguments>
    auto operator()(Arguments... arguments) {
        auto* const function = reinterpret_cast<Function*>(get());
        if (function) [[likely]]
            return function(arguments...);
        return find_and_call(arguments...);
    }

  private:
    template <class... Arguments>
    [[gnu::cold, gnu::noinline]] auto find_and_call(Arguments... arguments) {
        find();
        auto* const function = reinterpret_cast<Function*>(get());
        using Result = decltype(function(arguments...));
        if (function) return function(arguments...);
        errno = ENOSYS;
        if constexpr (std::is_pointer_v<Result>)
            return Result{nullptr};
        else
            return Result{-1};
    }
};

using Filter = int(const dirent*);
using Compare = int(const dirent**, const dirent**);
using Filter64 = int(const dirent64*);
using Compare64 = int(const dirent64**, const dirent64**);
using GlobError = int(const char*, int);

// NOLINTBEGIN(readability-identifier-naming,bugprone-reserved-identifier): the C library's names
#define NEXT(version, name, type) extern constinit Next<type> next_##name;
#include "providers/soft/softverbs/sysfs/next_functions.def"
#undef NEXT
// NOLINTEND(readability-identifier-naming,bugprone-reserved-identifier)

}  // namespace softverbs
