// SPDX-License-Identifier: BSD-2-Clause
#include "providers/soft/verbs/page_file.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>

namespace softverbs {

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

}  // namespace softverbs
