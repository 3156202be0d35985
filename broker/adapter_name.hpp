// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Names and sizes of adapters, as tables and the messages of dat_regd hold them.
#pragma once

#include <fmt/core.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace dapl::memory {

/// An adapter with more is accounted as one with so many: the holder of the lease looks at all.
inline constexpr std::uint32_t kMostEntries = 65536;
/// Bytes of an adapter's name with its terminating zero.
inline constexpr std::size_t kNameRoom = 256;
/// Prefix of the files of tables.
inline constexpr std::string_view kFilePrefix = "registrations-";

/// Adapters are told apart by their GUID too: that of soft0 is its fabric's.
inline std::string adapter_name(const char* device, std::uint64_t guid) {
    return fmt::format("{}-{:016x}", device, guid);
}

/// @return whether it may be part of a file's name.
inline bool is_file_name(const std::string& adapter) {
    return !adapter.empty() && adapter.size() < kNameRoom - kFilePrefix.size() &&
           std::all_of(adapter.begin(), adapter.end(),
                       [](unsigned char c) { return c > ' ' && c < 127 && c != '/'; });
}

}  // namespace dapl::memory
