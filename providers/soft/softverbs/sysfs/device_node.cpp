// SPDX-License-Identifier: BSD-2-Clause
#include "providers/soft/softverbs/sysfs/device_node.hpp"

#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstring>

#include "providers/soft/softverbs/sysfs/sight.hpp"

namespace softverbs {

bool is_numbered_node(const char* path) {
    const char* const number = path + kNodeStem.size();
    unsigned device = 0;
    const auto [rest, error] = std::from_chars(number, number + std::strlen(number), device);
    const bool is_canonical = *number != '0' || rest == number + 1;
    return error == std::errc() && *rest == '\0' && is_canonical && device < sight.devices;
}

int access_node(int mode) {
    if ((mode & X_OK) == 0) return 0;
    errno = EACCES;
    return -1;
}

int describe_node(struct stat* status) {
    std::memset(status, 0, sizeof *status);
    status->st_mode = S_IFCHR | S_IRUSR | S_IWUSR;
    status->st_nlink = 1;
    status->st_uid = geteuid();
    status->st_gid = getegid();
    status->st_blksize = 4096;
    return 0;
}

}  // namespace softverbs
