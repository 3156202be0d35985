// SPDX-License-Identifier: BSD-2-Clause
#include "support/base/text_file.hpp"

#include <fmt/core.h>
#include <sys/auxv.h>
#include <sys/stat.h>

#include <cerrno>
#include <system_error>

#include "support/base/unique_fd.hpp"

namespace support {
namespace {

tl::unexpected<Unreadable> failed(int error) {
    return tl::unexpected(Unreadable{error, std::generic_category().message(error)});
}

tl::unexpected<Unreadable> refused(std::string text) {
    return tl::unexpected(Unreadable{0, std::move(text)});
}

/// @return why the file is not trusted; empty when only root or the process's own user controls it.
std::string distrust(const struct stat& status) {
    if (status.st_uid != 0 && status.st_uid != geteuid())
        return fmt::format("it belongs to user {}, and this process has elevated privileges",
                           status.st_uid);
    if ((status.st_mode & S_IWOTH) != 0)
        return "everybody may write it, and this process has elevated privileges";
    return {};
}

}  // namespace

tl::expected<std::string, Unreadable> read_text_file(const std::string& path, std::size_t most,
                                                     Owner owner) {
    const UniqueFd file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
    if (!file.valid()) return failed(errno);
    struct stat status;
    if (fstat(file.get(), &status) != 0) return failed(errno);
    if (!S_ISREG(status.st_mode)) return refused("it is not a regular file");
    if (static_cast<std::size_t>(status.st_size) > most)
        return refused(most < 1U << 20 ? fmt::format("it is larger than {} KiB", most >> 10)
                                       : fmt::format("it is larger than {} MiB", most >> 20));
    if (owner == Owner::kTrusted)
        if (std::string reason = distrust(status); !reason.empty())
            return refused(std::move(reason));
    std::string text(static_cast<std::size_t>(status.st_size), '\0');
    std::size_t length = 0;
    while (length < text.size()) {
        const ssize_t n = read(file.get(), text.data() + length, text.size() - length);
        if (n < 0 && errno != EINTR) return failed(errno);
        if (n == 0) break;
        if (n > 0) length += static_cast<std::size_t>(n);
    }
    text.resize(length);
    return text;
}

bool is_privileged() {
    return getauxval(AT_SECURE) != 0 || geteuid() == 0;
}

}  // namespace support
