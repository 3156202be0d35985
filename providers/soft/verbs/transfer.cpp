// SPDX-License-Identifier: BSD-2-Clause
#include "providers/soft/verbs/transfer.hpp"

#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace softverbs {
namespace {

/// What a program polls is at most this wide.
constexpr std::uint64_t kTail = 8;
/// One call moves at most this much; the kernel's own limit is a page less than 2 GiB.
constexpr std::uint64_t kMaxCall = std::uint64_t{1} << 30;

std::uint8_t* pointer(std::uint64_t address) {
    return reinterpret_cast<std::uint8_t*>(address);
}

template <class Word>
void store_release(std::uint8_t* to, const std::uint8_t* from) {
    Word word;
    std::memcpy(&word, from, sizeof word);
    __atomic_store_n(reinterpret_cast<Word*>(to), word, __ATOMIC_RELEASE);
}

/// Ascending, each piece after all before it.
void store_in_order(std::uint8_t* to, const std::uint8_t* from, std::uint64_t length) {
    while (length != 0) {
        const auto at = reinterpret_cast<std::uintptr_t>(to);
        std::uint64_t width = 1;
        if (at % 8 == 0 && length >= 8) {
            width = 8;
            store_release<std::uint64_t>(to, from);
        } else if (at % 4 == 0 && length >= 4) {
            width = 4;
            store_release<std::uint32_t>(to, from);
        } else if (at % 2 == 0 && length >= 2) {
            width = 2;
            store_release<std::uint16_t>(to, from);
        } else {
            __atomic_store_n(to, *from, __ATOMIC_RELEASE);
        }
        to += width;
        from += width;
        length -= width;
    }
}

/// Walks two lists of ranges side by side. step(local, remote, length, is_last) for each piece that
/// is contiguous in both.
template <class Step>
void walk(const Plan& plan, Step step) {
    std::uint64_t left = plan.length;
    std::uint64_t local_done = 0;
    std::uint64_t remote_done = 0;
    for (std::uint32_t l = 0, r = 0; left != 0 && l < plan.num_local && r < plan.num_remote;) {
        const std::uint64_t piece = std::min(
            {plan.local[l].length - local_done, plan.remote[r].length - remote_done, left});
        if (piece != 0) {
            step(pointer(plan.local[l].address + local_done),
                 pointer(plan.remote[r].address + remote_done), piece, piece == left);
        }
        left -= piece;
        local_done += piece;
        remote_done += piece;
        if (local_done == plan.local[l].length) local_done = 0, ++l;
        if (remote_done == plan.remote[r].length) remote_done = 0, ++r;
    }
}

struct Vectors {
    iovec local[kMaxSge];
    iovec remote[kMaxSge + 1];  ///< the last bytes are an element of their own
    unsigned long num_local = 0;
    unsigned long num_remote = 0;
};

void put(iovec& out, std::uint64_t address, std::uint64_t length) {
    out = {pointer(address), length};
}
void put(LocalRange& out, std::uint64_t address, std::uint64_t length) {
    out = {address, length};
}

/// Bytes [offset, offset + length) of ranges.
template <class Range, class Out>
std::uint32_t cut(std::span<const Range> ranges, std::uint64_t offset, std::uint64_t length,
                  Out* out) {
    std::uint32_t count = 0;
    for (const Range& range : ranges) {
        if (length == 0) break;
        if (offset >= range.length) {
            offset -= range.length;
            continue;
        }
        const std::uint64_t piece = std::min(range.length - offset, length);
        put(out[count++], range.address + offset, piece);
        offset = 0;
        length -= piece;
    }
    return count;
}

void split_tail(Vectors& v) {
    iovec& last = v.remote[v.num_remote - 1];
    if (last.iov_len <= kTail) return;
    v.remote[v.num_remote++] = {static_cast<std::uint8_t*>(last.iov_base) + last.iov_len - kTail,
                                kTail};
    last.iov_len -= kTail;
}

using Call = ssize_t (*)(pid_t, const iovec*, unsigned long, const iovec*, unsigned long,
                         unsigned long);

int copy_process(pid_t pid, const Plan& plan, Call call) {
    for (std::uint64_t offset = 0; offset < plan.length;) {
        const std::uint64_t part = std::min(plan.length - offset, kMaxCall);
        Vectors v;
        v.num_local = cut(plan.locals(), offset, part, v.local);
        v.num_remote = cut(plan.remotes(), offset, part, v.remote);
        if (v.num_remote == 0) return EFAULT;
        if (offset + part == plan.length) split_tail(v);
        const ssize_t moved = call(pid, v.local, v.num_local, v.remote, v.num_remote, 0);
        if (moved < 0) return errno;
        if (static_cast<std::uint64_t>(moved) != part) return EFAULT;
        offset += part;
    }
    return 0;
}

}  // namespace

void ordered_copy(std::uint8_t* to, const std::uint8_t* from, std::uint64_t length) {
    // The tail begins at an aligned address and is at least as wide as what is polled.
    const std::uint64_t end = reinterpret_cast<std::uintptr_t>(to) + length;
    const std::uint64_t aligned = (end - std::min(end, kTail)) & ~(kTail - 1);
    const std::uint64_t start = reinterpret_cast<std::uintptr_t>(to);
    const std::uint64_t body = aligned > start ? aligned - start : 0;
    if (body != 0) std::memcpy(to, from, body);
    store_in_order(to + body, from + body, length - body);
}

std::uint32_t cut_locals(const Plan& plan, std::uint64_t offset, std::uint64_t length,
                         LocalRange* out) {
    return cut(plan.locals(), offset, length, out);
}

void write_local(const Plan& plan) {
    walk(plan, [](std::uint8_t* local, std::uint8_t* remote, std::uint64_t length, bool last) {
        if (last)
            ordered_copy(remote, local, length);
        else
            std::memmove(remote, local, length);
    });
}

void read_local(const Plan& plan) {
    walk(plan, [](std::uint8_t* local, std::uint8_t* remote, std::uint64_t length, bool) {
        std::memmove(local, remote, length);
    });
}

int write_process(pid_t pid, const Plan& plan) {
    return copy_process(pid, plan, &process_vm_writev);
}

int read_process(pid_t pid, const Plan& plan) {
    return copy_process(pid, plan, &process_vm_readv);
}

bool all_mapped(std::span<const LocalRange> ranges) {
    const auto page = static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
    return std::all_of(ranges.begin(), ranges.end(), [page](const LocalRange& range) {
        const std::uint64_t start = range.address & ~(page - 1);
        return msync(pointer(start), range.address + range.length - start, MS_ASYNC) == 0;
    });
}

void gather(std::uint8_t* to, std::span<const LocalRange> from, std::uint64_t offset,
            std::uint64_t length) {
    for (const LocalRange& range : from) {
        if (offset >= range.length) {
            offset -= range.length;
            continue;
        }
        const std::uint64_t piece = std::min(range.length - offset, length);
        if (piece != 0) std::memcpy(to, pointer(range.address + offset), piece);
        to += piece;
        length -= piece;
        offset = 0;
    }
}

void scatter(std::span<const LocalRange> to, const std::uint8_t* from, std::uint64_t offset,
             std::uint64_t length) {
    for (const LocalRange& range : to) {
        if (offset >= range.length) {
            offset -= range.length;
            continue;
        }
        const std::uint64_t piece = std::min(range.length - offset, length);
        if (piece != 0) std::memcpy(pointer(range.address + offset), from, piece);
        from += piece;
        length -= piece;
        offset = 0;
    }
}

}  // namespace softverbs
