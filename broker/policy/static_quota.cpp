// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// static-quota: a limit for each process, whatever the others do: a quarter of the adapter for
/// each unit of its share, and less if the shares of all are more than four. Nothing is taken back.
#include <algorithm>

#include "broker/policy/policies.hpp"

namespace dapl::memory::policy {
namespace {

constexpr std::uint64_t kShares = 4;

int admit(void*, const DAT_REG_POLICY_TABLE* table, const DAT_REG_POLICY_PROCESS* process,
          std::uint64_t bytes) {
    const std::uint64_t shares = std::max(table->shares, kShares);
    const std::uint64_t share = std::min<std::uint64_t>(process->share, shares);
    const std::uint64_t entries =
        std::max<std::uint64_t>(part_of(table->capacity_entries, share, shares), 1);
    if (process->used_entries >= entries) return 0;
    if (table->capacity_bytes == 0) return 1;
    const std::uint64_t limit = part_of(table->capacity_bytes, share, shares);
    return bytes <= limit && process->used_bytes <= limit - bytes;
}

}  // namespace

const DAT_REG_POLICY kStaticQuota{
    DAT_REG_POLICY_VERSION, "static-quota", nullptr, nullptr, admit, nullptr};

}  // namespace dapl::memory::policy
