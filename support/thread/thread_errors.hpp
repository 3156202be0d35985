// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Counts the errors that a thread has reported through one library. A failed open is reported by
/// one line, from the library that knows most: libdat2 adds its own only if the provider reported
/// nothing.
#pragma once

#include <cstdint>

#include "support/base/facts.hpp"

namespace support {

/// State of the calling thread in one library. Read and written by that thread alone.
struct ThreadErrors {
    std::uint32_t count;     ///< messages of level kError so far, silenced ones included
    std::uint32_t silenced;  ///< not 0: they are counted but not printed
    /// Not 0: the caller of this library reads the same opendat.yaml, and has reported what is
    /// wrong with it.
    std::uint32_t configuration_told;
};

/// @return the calling thread's; lives as long as the thread and the library.
ThreadErrors& thread_errors();

/// DAT_PROVIDER::extension of our providers points at this mark, which is constant and in the
/// library's own memory; other providers have NULL there. An interface between libraries of
/// different releases: another layout needs another magic text.
struct ProviderMark {
    char magic[16];
    ThreadErrors& (*thread_errors)();
    const char* release;
    /// A dry run of ia_open: makes the choices and reports them, including why it would fail; opens
    /// the device and closes it again. Prints nothing, throws nothing. Thread safe.
    /// @param ia_name, ia_params as in dat.conf.
    void (*explain)(const char* ia_name, const char* ia_params, const FactSink& sink);
};
inline constexpr char kProviderMagic[16] = "OpenDAT.mark.2";

}  // namespace support
