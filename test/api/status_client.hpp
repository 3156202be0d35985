// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// A client that asks a process for its status through its sockets, as dat_stat does.
#pragma once

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <vector>

#include "test/support/process.hpp"

namespace test {

class Socket {
  public:
    explicit Socket(const std::string& path) : fd_(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
        sockaddr_un where{};
        where.sun_family = AF_UNIX;
        strncpy(where.sun_path, path.c_str(), sizeof where.sun_path - 1);
        error = connect(fd_, reinterpret_cast<sockaddr*>(&where), sizeof where) == 0 ? 0 : errno;
    }
    ~Socket() { ::close(fd_); }
    Socket(const Socket&) = delete;
    Socket& operator=(const Socket&) = delete;

    void say(const std::string& text) const {
        [[maybe_unused]] const ssize_t put = send(fd_, text.data(), text.size(), MSG_NOSIGNAL);
    }
    /// Reads until the other side closes the connection.
    std::string rest() const {
        std::string all;
        for (;;) {
            if (!is_readable(fd_)) throw std::runtime_error("no answer in time");
            char bytes[4096];
            const ssize_t got = recv(fd_, bytes, sizeof bytes, 0);
            if (got <= 0) return all;
            all.append(bytes, static_cast<std::size_t>(got));
        }
    }

    int error;

  private:
    int fd_;
};

/// @return the paths of a process's sockets, one for each provider library that it has loaded.
inline std::vector<std::string> status_sockets(const std::string& directory, pid_t pid) {
    std::vector<std::string> found;
    std::error_code none;
    for (const auto& entry : std::filesystem::directory_iterator(directory, none))
        if (entry.path().filename().string().starts_with(std::to_string(pid) + "."))
            found.push_back(entry.path());
    return found;
}

inline nlohmann::json ask_status(const std::string& path) {
    const Socket socket(path);
    socket.say("status\n");
    const std::string answer = socket.rest();
    const auto head = answer.find('\n');
    if (head == std::string::npos ||
        answer.substr(0, head) != std::to_string(answer.size() - head - 1))
        throw std::runtime_error("the head does not say how long the answer is");
    return nlohmann::json::parse(answer.substr(head + 1));
}

}  // namespace test
