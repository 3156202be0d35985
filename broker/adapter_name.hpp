// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Adapter names, and the size limits that the tables and the messages of dat_regd share.
#pragma once

#include <fmt/core.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace dapl::memory {

/// Most entries of an adapter that are accounted for. A larger adapter counts as one of this size,
/// because the holder of the lease scans all slots.
inline constexpr std::uint32_t kMostEntries = 65536;
/// Buffer size of an adapter's name, including its terminating NUL.
inline constexpr std::size_t kNameRoom = 256;
/// Prefix of the names of table files.
inline constexpr std::string_view kFilePrefix = "registrations-";

/// @return the device's name and GUID. The GUID distinguishes adapters of the same device name:
/// that of soft0 is its fabric's.
inline std::string adapter_name(const char* device, std::uint64_t guid) {
    return fmt::format("{}-{:016x}", device, guid);
}

/// @return whether the adapter's name can be part of a file name.
inline bool is_file_name(const std::string& adapter) {
    return !adapter.empty() && adapter.size() < kNameRoom - kFilePrefix.size() &&
           std::all_of(adapter.begin(), adapter.end(),
                       [](unsigned char c) { return c > ' ' && c < 127 && c != '/'; });
}

}  // namespace dapl::memory
