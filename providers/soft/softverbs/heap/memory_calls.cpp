// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// mmap() and its relatives, brk() and sbrk(), for the program and for jemalloc. Large private
/// memory without a file comes from the heap, and calls on addresses in the heap are handled there.
/// Everything else goes to the kernel.
#include <cerrno>
#include <cstdarg>
#include <cstdint>

#include "providers/soft/softverbs/heap/heap.hpp"
#include "providers/soft/softverbs/heap/kernel.hpp"
#include "providers/soft/softverbs/heap/start.hpp"

namespace {

using softverbs::heap::Heap;
using softverbs::heap::kSmallestMapping;
namespace kernel = softverbs::heap::kernel;

std::uint64_t number(const void* address) {
    return reinterpret_cast<std::uintptr_t>(address);
}

#if defined(MAP_32BIT)
constexpr int kLowestAddresses = MAP_32BIT;
#else
constexpr int kLowestAddresses = 0;  // other processors cannot ask for them
#endif

/// Whether the mapping is private memory without a file, and none of huge pages, stacks, code and
/// memory that must lie in the lowest 2 GiB.
bool is_ordinary(int protection, int flags) {
    constexpr int kOther = MAP_HUGETLB | MAP_GROWSDOWN | MAP_STACK | kLowestAddresses;
    constexpr int kWanted = MAP_PRIVATE | MAP_ANONYMOUS;
    return (flags & (MAP_TYPE | MAP_ANONYMOUS | kOther)) == kWanted &&
           (protection & PROT_EXEC) == 0;
}

void* map_fixed(Heap& heap, void* address, std::size_t length, int protection, int flags, int fd,
                std::uint64_t offset) {
    if (!heap.contains(number(address), length)) {
        errno = EINVAL;
        return MAP_FAILED;
    }
    if (is_ordinary(protection, flags))
        return heap.map_fixed(number(address), length, protection, flags);
    return heap.map_foreign(address, length, protection, flags, fd, offset);
}

void* map(void* address, std::size_t length, int protection, int flags, int fd,
          std::uint64_t offset) {
    Heap& heap = Heap::of_process();
    // The kernel handles MAP_FIXED_NOREPLACE: it finds the addresses of the heap taken, as it
    // should.
    if ((flags & MAP_FIXED) != 0 && heap.touches(number(address), length))
        return map_fixed(heap, address, length, protection, flags, fd, offset);
    if (heap.is_open() && !address && length >= kSmallestMapping &&
        is_ordinary(protection, flags)) {
        void* const memory = heap.map(length, protection, flags);
        if (memory != MAP_FAILED) return memory;
    }
    return kernel::map(address, length, protection, flags, fd, offset);
}

/// Memory outside the heap is the kernel's; a range that is partly in the heap is refused.
int unmap(void* address, std::size_t length) {
    Heap& heap = Heap::of_process();
    if (heap.contains(number(address), length)) return heap.unmap(number(address), length);
    if (!heap.touches(number(address), length)) return kernel::unmap(number(address), length);
    errno = EINVAL;
    return -1;
}

int protect(void* address, std::size_t length, int protection) {
    Heap& heap = Heap::of_process();
    return heap.contains(number(address), length)
               ? heap.protect(number(address), length, protection)
               : kernel::protect(number(address), length, protection);
}

int advise(void* address, std::size_t length, int advice) {
    Heap& heap = Heap::of_process();
    return heap.contains(number(address), length) ? heap.advise(number(address), length, advice)
                                                  : kernel::advise(number(address), length, advice);
}

}  // namespace

extern "C" {

void* mmap(void* address, std::size_t length, int protection, int flags, int fd,
           off_t offset) noexcept {
    return map(address, length, protection, flags, fd, static_cast<std::uint64_t>(offset));
}

void* mmap64(void* address, std::size_t length, int protection, int flags, int fd,
             off_t offset) noexcept {
    return map(address, length, protection, flags, fd, static_cast<std::uint64_t>(offset));
}

int munmap(void* address, std::size_t length) noexcept {
    return unmap(address, length);
}

int mprotect(void* address, std::size_t length, int protection) noexcept {
    return protect(address, length, protection);
}

int madvise(void* address, std::size_t length, int advice) noexcept {
    return advise(address, length, advice);
}

/// Memory from outside does not move into the heap: the kernel would leave it at the offset of
/// another address.
void* mremap(void* address, std::size_t length, std::size_t new_length, int flags, ...) noexcept {
    void* target = nullptr;
    if ((flags & MREMAP_FIXED) != 0) {
        va_list arguments;
        va_start(arguments, flags);
        target = va_arg(arguments, void*);
        va_end(arguments);
    }
    Heap& heap = Heap::of_process();
    if (heap.contains(number(address)))
        return heap.remap(number(address), length, new_length, flags, target);
    if (target && heap.touches(number(target), new_length)) {
        errno = EINVAL;
        return MAP_FAILED;
    }
    return kernel::remap(number(address), length, new_length, flags, target);
}

int brk(void* address) noexcept {
    Heap& heap = Heap::of_process();
    if (heap.program_break() != 0) return heap.set_program_break(number(address));
    if (kernel::pointer(static_cast<std::uint64_t>(syscall(SYS_brk, address))) == address) return 0;
    errno = ENOMEM;
    return -1;
}

void* sbrk(std::intptr_t increment) noexcept {
    Heap& heap = Heap::of_process();
    std::uint64_t now = heap.program_break();
    if (now == 0) now = static_cast<std::uint64_t>(syscall(SYS_brk, nullptr));
    const std::uint64_t wanted = now + static_cast<std::uint64_t>(increment);
    if (increment != 0 && brk(kernel::pointer(wanted)) != 0) return kernel::pointer(UINT64_MAX);
    return kernel::pointer(now);
}

// For jemalloc, which starts even if there is no heap, but then is not called. With a heap, all its
// memory is of the heap: when freed, other memory could not be distinguished from the C library's.

void* softverbs_je_map(void* address, std::size_t length, int protection, int flags, int,
                       off_t) noexcept {
    Heap& heap = Heap::of_process();
    if (!heap.is_open()) return kernel::map(address, length, protection, flags, -1, 0);
    if ((flags & MAP_FIXED) == 0) return heap.map(length, protection, flags);
    return heap.map_fixed(number(address), length, protection, flags);
}

int softverbs_je_unmap(void* address, std::size_t length) noexcept {
    return unmap(address, length);
}

int softverbs_je_advise(void* address, std::size_t length, int advice) noexcept {
    return advise(address, length, advice);
}

int softverbs_je_protect(void* address, std::size_t length, int protection) noexcept {
    return protect(address, length, protection);
}
}
