// SPDX-License-Identifier: BSD-2-Clause
#include "device/locked_memory.hpp"

#include <sys/resource.h>

#include <cerrno>
#include <fstream>
#include <limits>
#include <string>

namespace dapl {
namespace {

constexpr std::uint64_t kKibibyte = 1024;
constexpr std::uint64_t kIpcLock = std::uint64_t{1} << 14;  // CAP_IPC_LOCK

bool is_first_name_space(std::istream& users) {
    std::uint64_t inside = 1;
    std::uint64_t outside = 1;
    std::uint64_t count = 0;
    users >> inside >> outside >> count;
    return inside == 0 && outside == 0 && count == std::numeric_limits<std::uint32_t>::max();
}

}  // namespace

bool LockedMemory::forbids(std::uint64_t bytes) const {
    return limit != kUnlimited && (pinned >= limit || bytes > limit - pinned);
}

LockedMemory locked_memory(std::istream& status, std::istream& users, std::uint64_t limit) {
    LockedMemory memory{limit, 0, 0};
    bool capable = false;
    std::string name;
    std::string value;
    while (status >> name && std::getline(status, value)) {
        if (name == "VmPin:") memory.pinned = std::stoull(value) * kKibibyte;
        if (name == "VmLck:") memory.locked = std::stoull(value) * kKibibyte;
        if (name == "CapEff:") capable = (std::stoull(value, nullptr, 16) & kIpcLock) != 0;
    }
    if (capable && is_first_name_space(users)) memory.limit = LockedMemory::kUnlimited;
    return memory;
}

LockedMemory locked_memory() {
    rlimit limit{};
    getrlimit(RLIMIT_MEMLOCK, &limit);
    static_assert(RLIM_INFINITY == LockedMemory::kUnlimited);
    std::ifstream status("/proc/self/status");
    std::ifstream users("/proc/self/uid_map");
    return locked_memory(status, users, limit.rlim_cur);
}

bool may_be_lock_limit(int error_number) {
    return error_number == ENOMEM || error_number == EAGAIN;
}

}  // namespace dapl
