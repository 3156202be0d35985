// SPDX-License-Identifier: BSD-2-Clause
#include "providers/soft/softverbs/memory/transfer.hpp"

#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "providers/soft/softverbs/memory/memory_check.hpp"

namespace softverbs {
namespace {

/// The widest word that a program polls, in bytes.
constexpr std::uint64_t kTail = 8;

void* pointer(std::uint64_t address) {
    return reinterpret_cast<void*>(address);
}

template <class Word>
void store_release(std::uint8_t* to, const std::uint8_t* from) {
    Word word;
    std::memcpy(&word, from, sizeof word);
    __atomic_store_n(reinterpret_cast<Word*>(to), word, __ATOMIC_RELEASE);
}

/// Stores in ascending order, each word after all before it.
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

/// Walks the two lists of ranges side by side, and calls step(local, remote, length, is_last) for
/// each piece that is contiguous in both.
template <class Step>
void walk(const Plan& plan, Step step) {
    std::uint64_t left = plan.length;
    std::uint64_t local_done = 0;
    std::uint64_t remote_done = 0;
    for (std::uint32_t l = 0, r = 0; left != 0 && l < plan.num_local && r < plan.num_remote;) {
        const std::uint64_t piece = std::min(
            {plan.local[l].length - local_done, plan.remote[r].length - remote_done, left});
        if (piece != 0)
            step(plan.local[l].here + local_done, plan.remote[r].here + remote_done, piece,
                 piece == left);
        left -= piece;
        local_done += piece;
        remote_done += piece;
        if (local_done == plan.local[l].length) local_done = 0, ++l;
        if (remote_done == plan.remote[r].length) remote_done = 0, ++r;
    }
}

/// Sets `out` to bytes [offset, offset + length) of the ranges. @return number of ranges in `out`.
template <class Range>
std::uint32_t cut_ranges(std::span<const Range> ranges, std::uint64_t offset, std::uint64_t length,
                         Range* out) {
    std::uint32_t count = 0;
    for (const Range& range : ranges) {
        if (length == 0) break;
        if (offset >= range.length) {
            offset -= range.length;
            continue;
        }
        const std::uint64_t piece = std::min(range.length - offset, length);
        out[count] = range;
        out[count].address += offset;
        out[count].length = piece;
        if (range.here) out[count].here += offset;
        ++count;
        offset = 0;
        length -= piece;
    }
    return count;
}

/// The elements of a system call's vector: kMaxSge ranges, one byte in front of them, and one more
/// where the last bytes are an element of their own.
struct Vector {
    iovec elements[kMaxSge + 2];
    unsigned count = 0;
    std::uint64_t bytes = 0;

    void add(void* address, std::uint64_t length) {
        if (length == 0) return;
        elements[count++] = {address, length};
        bytes += length;
    }
    template <class Range>
    void add_all(std::span<const Range> ranges) {
        for (const Range& range : ranges) add(pointer(range.address), range.length);
    }
    /// Makes the last bytes an element of their own: the kernel copies element after element.
    void split_tail() {
        iovec& last = elements[count - 1];
        if (last.iov_len <= kTail) return;
        last.iov_len -= kTail;
        elements[count++] = {static_cast<std::uint8_t*>(last.iov_base) + last.iov_len, kTail};
    }
};

using Call = ssize_t (*)(pid_t, const iovec*, unsigned long, const iovec*, unsigned long,
                         unsigned long);

/// The first byte is copied to or from an address that only the old image has mapped. The kernel
/// looks up the image once for each call and begins with the first element, so that a process which
/// has called execve() is not touched.
int copy_process(const Image& image, const Plan& plan, Call call) {
    std::uint8_t first = 0;
    Vector local, remote;
    local.add(&first, 1);
    remote.add(pointer(image.address), 1);
    for (const LocalRange& range : plan.locals())
        local.add(range.here ? range.here : pointer(range.address), range.length);
    remote.add_all(plan.remotes());
    remote.split_tail();
    const ssize_t moved =
        call(image.pid, local.elements, local.count, remote.elements, remote.count, 0);
    if (moved < 0) return errno == EFAULT ? ESRCH : errno;
    if (moved == 0) return ESRCH;
    return static_cast<std::uint64_t>(moved) == plan.length + 1 ? 0 : EFAULT;
}

}  // namespace

void cut(const Plan& plan, std::uint64_t offset, std::uint64_t length, Plan& piece) {
    piece.num_local = cut_ranges(plan.locals(), offset, length, piece.local);
    piece.num_remote = cut_ranges(plan.remotes(), offset, length, piece.remote);
    piece.length = length;
}

/// Copies the last bytes aside first: storing the others may overwrite their source.
void ordered_copy(std::uint8_t* to, const std::uint8_t* from, std::uint64_t length) {
    // The tail begins at an aligned address and is at least as wide as what is polled.
    const std::uint64_t start = reinterpret_cast<std::uintptr_t>(to);
    const std::uint64_t end = start + length;
    const std::uint64_t aligned = (end - std::min(end, kTail)) & ~(kTail - 1);
    const std::uint64_t body = aligned > start ? aligned - start : 0;
    std::uint8_t tail[2 * kTail];
    std::memcpy(tail, from + body, length - body);
    if (body != 0) std::memmove(to, from, body);
    store_in_order(to + body, tail, length - body);
}

void write_plain(const Plan& plan) {
    walk(plan, [](std::uint8_t* local, std::uint8_t* remote, std::uint64_t length, bool last) {
        if (last)
            ordered_copy(remote, local, length);
        else
            std::memmove(remote, local, length);
    });
}

void read_plain(const Plan& plan) {
    walk(plan, [](std::uint8_t* local, std::uint8_t* remote, std::uint64_t length, bool) {
        std::memmove(local, remote, length);
    });
}

int write_process(const Image& image, const Plan& plan) {
    return copy_process(image, plan, &process_vm_writev);
}

int read_process(const Image& image, const Plan& plan) {
    return copy_process(image, plan, &process_vm_readv);
}

/// Makes the system call directly: it must be no cancellation point, as locks are held; and as with
/// an adapter, the thread sanitizer must see no thread of the program that writes where another one
/// polls.
int read_into_file(int fd, std::uint64_t offset, std::span<const LocalRange> from) {
    Vector vector;
    vector.add_all(from);
    const long moved = syscall(SYS_pwritev, fd, vector.elements, vector.count, offset, 0L);
    return moved >= 0 && static_cast<std::uint64_t>(moved) == vector.bytes ? 0 : EFAULT;
}

int write_from_file(int fd, std::uint64_t offset, std::span<const LocalRange> to) {
    Vector vector;
    vector.add_all(to);
    if (vector.count == 0) return 0;
    vector.split_tail();
    const long moved = syscall(SYS_preadv, fd, vector.elements, vector.count, offset, 0L);
    return moved >= 0 && static_cast<std::uint64_t>(moved) == vector.bytes ? 0 : EFAULT;
}

bool are_there(std::span<const LocalRange> ranges, bool writes) {
    return std::all_of(ranges.begin(), ranges.end(), [writes](const LocalRange& range) {
        return range.here || range.length == 0 ||
               check_memory(pointer(range.address), range.length, writes) == 0;
    });
}

void gather(std::uint8_t* to, std::span<const LocalRange> from) {
    for (const LocalRange& range : from) {
        if (range.length != 0) std::memcpy(to, range.here, range.length);
        to += range.length;
    }
}

void scatter(std::span<const LocalRange> to, const std::uint8_t* from) {
    for (const LocalRange& range : to) {
        if (range.length != 0) std::memcpy(range.here, from, range.length);
        from += range.length;
    }
}

}  // namespace softverbs
