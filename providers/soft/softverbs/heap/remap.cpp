// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// mremap() on the heap. Moved pages of a file keep their offset, which would no longer match their
/// address; so the contents are copied to the new place.
#include <cerrno>
#include <cstring>

#include "providers/soft/softverbs/heap/heap.hpp"
#include "providers/soft/softverbs/heap/kernel.hpp"
#include "providers/soft/softverbs/heap/lock.hpp"
#include "providers/soft/softverbs/memory/page_file.hpp"

namespace softverbs::heap {
namespace {

constexpr int kPrivate = MAP_PRIVATE | MAP_ANONYMOUS;

void* fail(int cause) {
    errno = cause;
    return MAP_FAILED;
}

}  // namespace

/// Copies only what was ever touched: the rest reads as zero at both places.
void Heap::copy_pages(const Area& from, std::uint8_t* to) {
    auto at = static_cast<off_t>(from.begin);
    const auto end = static_cast<off_t>(from.end);
    while (fd_ >= 0 && (at = lseek(fd_, at, SEEK_DATA)) >= 0 && at < end) {
        off_t hole = lseek(fd_, at, SEEK_HOLE);
        if (hole > end) hole = end;
        std::memcpy(to + (static_cast<std::uint64_t>(at) - from.begin),
                    kernel::pointer(static_cast<std::uint64_t>(at)),
                    static_cast<std::size_t>(hole - at));
        at = hole;
    }
    if (fd_ < 0) std::memcpy(to, kernel::pointer(from.begin), from.length());
}

/// Called with the lock held. The old pages are one area, which nobody else uses from here on.
void* Heap::move(std::uint64_t address, std::uint64_t length, std::uint64_t new_length, int flags,
                 void* target) {
    Area from;
    if (!areas_.find(address, address + length, from) || from.end != address + length)
        return fail(EFAULT);
    if (from.kind == Kind::kForeign) return fail(EINVAL);
    const auto wanted = reinterpret_cast<std::uintptr_t>(target);
    const bool is_fixed = (flags & MREMAP_FIXED) != 0;
    void* place = target;
    if (is_fixed && !touches(wanted, new_length)) {
        place =
            kernel::map(target, new_length, PROT_READ | PROT_WRITE, kPrivate | MAP_FIXED, -1, 0);
        if (place == MAP_FAILED) return place;
    } else {
        const std::uint64_t at = is_fixed ? wanted : find_place(new_length);
        if (at == 0 || !contains(at, new_length)) return fail(ENOMEM);
        const int first = from.kind == Kind::kReserved ? PROT_NONE : PROT_READ | PROT_WRITE;
        if (!map_here(at, new_length, first, 0)) return MAP_FAILED;
        place = kernel::pointer(at);
    }
    const auto at = reinterpret_cast<std::uintptr_t>(place);
    if (from.kind == Kind::kFile) {
        if ((from.protection & PROT_READ) == 0) kernel::protect(address, length, PROT_READ);
        from.end = address + (length < new_length ? length : new_length);
        copy_pages(from, static_cast<std::uint8_t*>(place));
    }
    if (!contains(at)) {
        kernel::protect(at, new_length, from.protection);
    } else if (from.kind == Kind::kFile) {
        Area made = from;
        made.begin = at;
        made.end = at + new_length;
        if (!made.is_dumped) kernel::advise(at, new_length, MADV_DONTDUMP);
        protect_area(made, from.protection);
    }
    give_back(address, address + length);
    return place;
}

void* Heap::remap(std::uint64_t address, std::uint64_t length, std::uint64_t new_length, int flags,
                  void* target) {
    length = (length + kPage - 1) & ~(kPage - 1);
    new_length = (new_length + kPage - 1) & ~(kPage - 1);
    const bool is_fixed = (flags & MREMAP_FIXED) != 0;
    if (address % kPage != 0 || length == 0 || new_length == 0) return fail(EINVAL);
    if ((flags & ~(MREMAP_MAYMOVE | MREMAP_FIXED)) != 0) return fail(EINVAL);
    const auto wanted = reinterpret_cast<std::uintptr_t>(target);
    if (is_fixed && ((flags & MREMAP_MAYMOVE) == 0 || wanted % kPage != 0 ||
                     (wanted < address + length && address < wanted + new_length)))
        return fail(EINVAL);
    if (!contains(address, length)) return fail(EFAULT);
    const Lock lock(mutex_);
    if (is_fixed) return move(address, length, new_length, flags, target);
    void* const here = kernel::pointer(address);
    if (new_length <= length) {
        if (new_length < length && give_back(address + new_length, address + length) != 0)
            return MAP_FAILED;
        return here;
    }
    Area last;
    if (!areas_.find(address + length - kPage, address + length, last)) return fail(EFAULT);
    if (last.kind != Kind::kForeign && contains(address, new_length) &&
        areas_.is_free(address + length, address + new_length)) {
        if (!map_here(address + length, new_length - length, last.protection, 0)) return MAP_FAILED;
        if (next_ < address + new_length) next_ = address + new_length;
        return here;
    }
    if ((flags & MREMAP_MAYMOVE) == 0) return fail(ENOMEM);
    return move(address, length, new_length, flags, nullptr);
}

}  // namespace softverbs::heap
