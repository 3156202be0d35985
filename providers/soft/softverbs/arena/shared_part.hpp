// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>

#include "providers/soft/softverbs/arena/layout.hpp"

namespace softverbs {

/// The part of a region that is on shared pages: addresses in the owner, copied from the region's
/// entry.
struct SharedPart {
    std::uint64_t begin;
    std::uint64_t end;
    /// 0: on the owner's page file. Otherwise the key of the entry that names the file.
    std::uint32_t file_key;
    /// Some pages may be on path S in other regions: only the agent's atomic operations are atomic
    /// with respect to those of all other paths.
    bool atomics_by_agent;

    static SharedPart of(const MrEntry& entry, std::uint32_t key) {
        return {entry.shared_begin, entry.shared_end, entry.file >= 0 ? key : 0,
                entry.reason == PageReason::kMixed};
    }
    bool holds(std::uint64_t address, std::uint64_t length) const {
        return address >= begin && address <= end && length <= end - address;
    }
};

}  // namespace softverbs
