// SPDX-License-Identifier: BSD-2-Clause
#include "providers/soft/verbs/write_guard.hpp"

#include <linux/userfaultfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include <cerrno>

namespace softverbs {
namespace {

#if !defined(UFFD_FEATURE_WP_HUGETLBFS_SHMEM)  // Linux 5.19
#define UFFD_FEATURE_WP_HUGETLBFS_SHMEM (1 << 12)
#endif
#if !defined(MADV_POPULATE_READ)  // Linux 5.14
#define MADV_POPULATE_READ 22
#endif

/// Without UFFD_USER_MODE_ONLY, with which a read(2) into a protected page would fail with EFAULT.
UniqueFd open_faults() {
    UniqueFd faults(static_cast<int>(syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK)));
    uffdio_api api{};
    api.api = UFFD_API;
    api.features = UFFD_FEATURE_PAGEFAULT_FLAG_WP | UFFD_FEATURE_WP_HUGETLBFS_SHMEM;
    if (faults.valid() && ioctl(faults.get(), UFFDIO_API, &api) != 0) faults.reset();
    return faults;
}

}  // namespace

bool WriteGuard::is_permitted() {
    return open_faults().valid();
}

int WriteGuard::hold(PageRange pages) {
    faults_ = open_faults();
    if (!faults_.valid()) return errno;
    uffdio_register range{};
    range.range = {pages.begin, pages.length()};
    range.mode = UFFDIO_REGISTER_MODE_WP;
    uffdio_writeprotect protect{};
    protect.range = range.range;
    protect.mode = UFFDIO_WRITEPROTECT_MODE_WP;
    // Only pages that are there can be protected: reading makes them.
    const bool held =
        ioctl(faults_.get(), UFFDIO_REGISTER, &range) == 0 &&
        madvise(reinterpret_cast<void*>(pages.begin), pages.length(), MADV_POPULATE_READ) == 0 &&
        ioctl(faults_.get(), UFFDIO_WRITEPROTECT, &protect) == 0;
    if (held) {
        pages_ = pages;
        return 0;
    }
    const int cause = errno;
    faults_.reset();
    return cause;
}

/// Also where other pages stand by now, whose writers wait all the same.
WriteGuard::~WriteGuard() {
    if (!faults_.valid() || pages_.empty()) return;
    uffdio_range range{pages_.begin, pages_.length()};
    ioctl(faults_.get(), UFFDIO_UNREGISTER, &range);
    ioctl(faults_.get(), UFFDIO_WAKE, &range);
}

}  // namespace softverbs
