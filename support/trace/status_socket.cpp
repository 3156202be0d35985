// SPDX-License-Identifier: BSD-2-Clause
#include "support/trace/status_socket.hpp"

#include <fmt/core.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <cerrno>
#include <charconv>

#include "support/settings/settings.hpp"

namespace support::status_socket {
namespace {

template <class T>
bool parse_number(std::string_view text, T& number) {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    return error == std::errc() && end == text.data() + text.size() && number >= 0;
}

/// @return the process number that the entry's name begins with, else 0. Also accepts a socket that
/// does not have its final name yet.
pid_t process_of(std::string_view entry) {
    pid_t process = 0;
    return parse_number(entry.substr(0, entry.find('.')), process) ? process : 0;
}

}  // namespace

std::string directory_path(uid_t user) {
    const std::string chosen = setting_text(Setting::kStatusDirectory);
    return chosen.empty() ? PrivateDirectory::default_path(PrivateDirectory::Purpose::kStatus, user)
                          : chosen;
}

std::string to_text(const Name& name) {
    return fmt::format("{}.{}.{}", name.process, name.library, name.serial);
}

std::optional<Name> parse_name(std::string_view text) {
    const auto first = text.find('.');
    const auto last = text.rfind('.');
    if (first == last) return std::nullopt;  // no dot, or one
    Name name{process_of(text), std::string(text.substr(first + 1, last - first - 1)), 0};
    if (name.process == 0 || name.library.empty() ||
        !parse_number(text.substr(last + 1), name.serial))
        return std::nullopt;
    return name;
}

tl::expected<UniqueFd, int> connect(const PrivateDirectory& directory, const std::string& name) {
    sockaddr_un where;
    unsigned length = 0;
    if (const int error = directory.address(name, where, length)) return tl::unexpected(error);
    UniqueFd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!socket.valid() ||
        ::connect(socket.get(), reinterpret_cast<const sockaddr*>(&where), length) != 0)
        return tl::unexpected(errno);
    return socket;
}

void remove_stale(const PrivateDirectory& directory) {
    for (const std::string& entry : directory.entries()) {
        const pid_t process = process_of(entry);
        // The number may be a container's process that is not visible here: a listener decides.
        if (process == 0 || kill(process, 0) == 0 || errno != ESRCH) continue;
        const auto connected = connect(directory, entry);
        if (!connected && connected.error() == ECONNREFUSED) directory.remove(entry);
    }
}

}  // namespace support::status_socket
