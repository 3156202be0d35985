// SPDX-License-Identifier: BSD-2-Clause
#include "device/device_file.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <grp.h>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <system_error>

#include "device/kernel_devices.hpp"

namespace dapl::cm {
namespace {

using Cause = DeviceFault::Cause;
constexpr std::size_t kRoomForEntry = 4096;

std::string user_name(uid_t id) {
    std::array<char, kRoomForEntry> room;
    passwd entry{};
    passwd* found = nullptr;
    getpwuid_r(id, &entry, room.data(), room.size(), &found);
    return found ? found->pw_name : std::to_string(id);
}

std::string group_name(gid_t id) {
    std::array<char, kRoomForEntry> room;
    group entry{};
    group* found = nullptr;
    getgrgid_r(id, &entry, room.data(), room.size(), &found);
    return found ? found->gr_name : std::to_string(id);
}

/// @return the file itself, or the directory that prevents access to it.
std::string what_refuses(const KernelView& view, const std::string& file) {
    struct stat status;
    std::string place = file;
    while (place.size() > 1 && stat((view.root + place).c_str(), &status) != 0)
        place.resize(std::max<std::size_t>(place.rfind('/'), 1));
    return place;
}

std::string advice_for(const struct stat& status, const std::string& file) {
    constexpr mode_t kGroupMay = S_IRGRP | S_IWGRP;
    if ((status.st_mode & kGroupMay) == kGroupMay && status.st_gid != 0)
        return fmt::format("join the group {} (`usermod -aG {} {}`) and log in again",
                           group_name(status.st_gid), group_name(status.st_gid),
                           user_name(geteuid()));
    if (S_ISDIR(status.st_mode)) return fmt::format("`chmod 755 {}` as root", file);
    return fmt::format("`chmod 666 {}` as root, the mode that the udev rules of rdma-core give it",
                       file);
}

}  // namespace

DeviceFault permission_fault(const KernelView& view, const std::string& file, int error) {
    const std::string place = what_refuses(view, file);
    struct stat status {};
    stat((view.root + place).c_str(), &status);
    constexpr mode_t kPermissions = 07777;
    const bool mode_permits =
        faccessat(AT_FDCWD, (view.root + file).c_str(), R_OK | W_OK, AT_EACCESS) == 0;
    return {Cause::kNoPermission, place,
            fmt::format("{}; mode {:04o}, owner {}, group {}; this process runs as {}",
                        std::generic_category().message(error), status.st_mode & kPermissions,
                        user_name(status.st_uid), group_name(status.st_gid), user_name(geteuid())),
            mode_permits ? "give the device to the container (`--device " + file + "`)"
                         : advice_for(status, place)};
}

std::optional<DeviceFault> file_fault(const KernelView& view, const std::string& file,
                                      const std::string& purpose) {
    const std::string path = view.root + file;
    if (faccessat(AT_FDCWD, path.c_str(), R_OK | W_OK, AT_EACCESS) == 0) return std::nullopt;
    if (errno != ENOENT && errno != ENOTDIR) return permission_fault(view, file, errno);
    return DeviceFault{Cause::kNoNode, file,
                       std::generic_category().message(errno) + "; it is needed for " + purpose};
}

}  // namespace dapl::cm
