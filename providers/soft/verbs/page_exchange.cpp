// SPDX-License-Identifier: BSD-2-Clause
#include "providers/soft/verbs/page_exchange.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <iterator>

#include "providers/soft/fabric/result.hpp"
#include "providers/soft/verbs/page_file.hpp"

#if !defined(MADV_POPULATE_WRITE)  // Linux 5.14
#define MADV_POPULATE_WRITE 23
#endif

namespace softverbs {
namespace {

/// Reads what was ever touched of the pages.
int read_pages(int page_file, PageRange pages, std::uint8_t* to) {
    auto at = static_cast<off_t>(pages.begin);
    const auto end = static_cast<off_t>(pages.end);
    while (at < end) {
        const off_t data = lseek(page_file, at, SEEK_DATA);
        if (data < 0) return errno == ENXIO ? 0 : errno;
        if (data >= end) return 0;
        const off_t hole = std::min(lseek(page_file, data, SEEK_HOLE), end);
        for (at = data; at < hole;) {
            const ssize_t got = pread(page_file, to + (at - static_cast<off_t>(pages.begin)),
                                      static_cast<std::size_t>(hole - at), at);
            if (got <= 0) return got < 0 ? errno : EIO;
            at += got;
        }
    }
    return 0;
}

/// Of a stretch of memory that is there, into the page file at the same addresses. This call and
/// the next are made without libc: a thread sanitizer takes libc's for accesses by this thread,
/// and cannot know that other writers are held up meanwhile.
int write_pages(int page_file, PageRange pages) {
    for (std::uint64_t at = pages.begin; at < pages.end;) {
        const ssize_t put = syscall(SYS_pwrite64, page_file, at, pages.end - at, at);
        if (put <= 0) return put < 0 ? errno : EIO;
        at += static_cast<std::uint64_t>(put);
    }
    return 0;
}

/// @return 0, or -1 with errno.
int map_pages(int page_file, PageRange pages) {
    return syscall(SYS_mmap, pages.begin, pages.length(), PROT_READ | PROT_WRITE,
                   MAP_SHARED | MAP_FIXED | MAP_NORESERVE, page_file, pages.begin) == -1
               ? -1
               : 0;
}

/// Bits of /proc/PID/pagemap.
constexpr std::uint64_t kPresent = std::uint64_t{1} << 63, kSwapped = std::uint64_t{1} << 62;

/// Only pages that were ever touched.
int write_touched_pages(int page_file, PageRange pages) {
    const UniqueFd table(open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC));
    std::uint64_t entries[512];
    for (std::uint64_t at = pages.begin; at < pages.end;) {
        const std::uint64_t count =
            std::min<std::uint64_t>(std::size(entries), (pages.end - at) / kPage);
        const auto bytes = static_cast<ssize_t>(count * sizeof entries[0]);
        if (pread(table.get(), entries, static_cast<std::size_t>(bytes),
                  static_cast<off_t>(at / kPage * 8)) != bytes)
            return write_pages(page_file, {at, pages.end});
        for (std::uint64_t i = 0; i < count;) {
            const std::uint64_t first = i;
            while (i < count && (entries[i] & (kPresent | kSwapped)) != 0) ++i;
            if (const int cause = write_pages(page_file, {at + first * kPage, at + i * kPage}))
                return cause;
            while (i < count && (entries[i] & (kPresent | kSwapped)) == 0) ++i;
        }
        at += count * kPage;
    }
    return 0;
}

}  // namespace

int make_shared(int page_file, PageRange pages, bool all) {
    discard_pages(page_file, pages);  // what an application moved away may have left there
    int cause = all ? write_pages(page_file, pages) : write_touched_pages(page_file, pages);
    if (cause == 0 && map_pages(page_file, pages) != 0) cause = errno;
    if (cause != 0)
        discard_pages(page_file, pages);
    else
        madvise(reinterpret_cast<void*>(pages.begin), pages.length(), MADV_POPULATE_WRITE);
    return cause;
}

int make_private(int page_file, PageRange pages) {
    void* copy = mmap(nullptr, pages.length(), PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (copy == MAP_FAILED) return errno;
    int cause = read_pages(page_file, pages, static_cast<std::uint8_t*>(copy));
    if (cause == 0 && mremap(copy, pages.length(), pages.length(), MREMAP_MAYMOVE | MREMAP_FIXED,
                             reinterpret_cast<void*>(pages.begin)) == MAP_FAILED) {
        cause = errno;
    }
    if (cause != 0) munmap(copy, pages.length());
    return cause;
}

void discard_pages(int page_file, PageRange pages) {
    fallocate(page_file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
              static_cast<off_t>(pages.begin), static_cast<off_t>(pages.length()));
}

}  // namespace softverbs
