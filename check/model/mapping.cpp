// SPDX-License-Identifier: BSD-2-Clause
#include "check/model/mapping.hpp"

#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

namespace check {
namespace {

std::uint64_t page_of(std::uint64_t memory) {
    static const auto size = static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
    return memory & ~(size - 1);
}

/// Asks by a call that reads a signal set there before it refuses its first argument.
bool is_readable(std::uint64_t memory) {
    constexpr std::uint64_t kSetBytes = 8;
    constexpr long kNoSuchAction = ~0L;
    const long code =
        syscall(SYS_rt_sigprocmask, kNoSuchAction, memory & ~(kSetBytes - 1), nullptr, kSetBytes);
    return code == -1 && errno == EINVAL;
}

bool is_page_mapped(std::uint64_t page) {
    unsigned char residence;
    return mincore(reinterpret_cast<void*>(page), 1, &residence) == 0 || errno != ENOMEM;
}

}  // namespace

bool can_be_read(std::uint64_t memory, std::uint64_t length) {
    const std::uint64_t last = memory + length - 1;
    const int before = errno;
    const bool can = is_readable(memory) && (page_of(memory) == page_of(last) || is_readable(last));
    errno = before;
    return can;
}

/// Asks mincore() last, since it takes ten times as long.
bool is_mapped(std::uint64_t memory, std::uint64_t length) {
    if (can_be_read(memory, length)) [[likely]]
        return true;
    const int before = errno;
    const bool is = is_page_mapped(page_of(memory)) && is_page_mapped(page_of(memory + length - 1));
    errno = before;
    return is;
}

}  // namespace check
