// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Finds the functions of the system's own libibverbs and librdmacm, which our exports interpose.
#pragma once

#include <atomic>
#include <cerrno>
#include <type_traits>

namespace softverbs {

/// A library of the system, if the process has loaded it: a program that uses real devices is
/// linked with it or has opened it. All functions are thread safe.
class SystemLibrary {
  public:
    /// @param stem prefix of its file name
    /// @param probe one of its functions that we export as well, to recognise a library through
    /// which a look-up leads back to us
    constexpr SystemLibrary(const char* stem, const char* probe) : stem_(stem), probe_(probe) {}
    /// @return the function in this version, else in any version; nullptr if the library lacks it
    /// or is not loaded.
    void* find(const char* name, const char* version);

  private:
    void* handle();

    const char* const stem_;
    const char* const probe_;
    std::atomic<void*> handle_{nullptr};
};

extern SystemLibrary system_verbs;
extern SystemLibrary system_cm;

/// One function of a system library, looked up at its first call and kept.
template <class Function>
class SystemFunction {
  public:
    constexpr SystemFunction(SystemLibrary& library, const char* name, const char* version)
        : library_(library), name_(name), version_(version) {}
    /// @return nullptr when it cannot be called.
    Function* find() {
        Function* function = function_.load(std::memory_order_acquire);
        if (function) return function;
        function = reinterpret_cast<Function*>(library_.find(name_, version_));
        function_.store(function, std::memory_order_release);
        return function;
    }

  private:
    SystemLibrary& library_;
    const char* const name_;
    const char* const version_;
    std::atomic<Function*> function_{nullptr};
};

/// @return the result of a call whose function the system's library lacks, because it is older than
/// the program expects.
template <class Type>
Type unavailable() {
    errno = EOPNOTSUPP;
    if constexpr (std::is_pointer_v<Type>)
        return nullptr;
    else if constexpr (!std::is_void_v<Type>)
        return static_cast<Type>(-1);
}

}  // namespace softverbs
