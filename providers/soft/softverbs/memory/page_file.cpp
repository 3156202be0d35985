// SPDX-License-Identifier: BSD-2-Clause
#include "providers/soft/softverbs/memory/page_file.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace softverbs {
namespace {

/// Copies those of the pages that were ever touched to `to`, and skips holes.
/// @return 0 or an errno.
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

}  // namespace

int make_page_file() {
    const int fd = memfd_create("softverbs-pages", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (fd < 0) return -1;
    if (ftruncate(fd, static_cast<off_t>(kPageFileSize)) == 0 &&
        fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) == 0) {
        return fd;
    }
    const int cause = errno;
    close(fd);
    errno = cause;
    return -1;
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
