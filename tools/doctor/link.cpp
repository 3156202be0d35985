// SPDX-License-Identifier: BSD-2-Clause
#include "tools/doctor/link.hpp"

#include <sys/socket.h>

#include <string_view>

#include "tools/common/failure.hpp"
#include "tools/common/terminal.hpp"

namespace doctor {
namespace {

constexpr const char* kSameRelease = "run dat_doctor of the same release on both sides";

}  // namespace

void Link::send(const std::string& kind, const std::string& text) {
    std::string line = tools::printable(kind + ' ' + text);
    line.resize(std::min(line.size(), kLongestLine - 1));
    line += '\n';
    tools::send_bytes(socket_, line.data(), line.size(), "a line to the other side",
                      tools::Deadline(seconds_));
}

std::string Link::next_line() {
    const tools::Deadline deadline(seconds_);
    for (;;) {
        const std::size_t end = received_.find('\n');
        if (end < kLongestLine) {
            const std::string line = received_.substr(0, end);
            received_.erase(0, end + 1);
            return tools::printable(line);
        }
        if (received_.size() >= kLongestLine)
            throw tools::Failure("receive from the other side", "a line without an end",
                                 "shorter lines", kSameRelease);
        char bytes[kLongestLine];
        const std::size_t count = tools::receive_some(socket_, bytes, sizeof bytes,
                                                      "a line from the other side", deadline);
        received_.append(bytes, count);
    }
}

void Link::throw_failure(const std::string& line) {
    constexpr std::string_view kFailed = "failed ";
    if (line.starts_with(kFailed))
        throw tools::Failure("the other side", line.substr(kFailed.size()), "success",
                             "see what dat_doctor reports there");
}

void Link::look() {
    char bytes[kLongestLine];
    ssize_t count = 0;
    while (received_.size() < kLongestLine &&
           (count = recv(socket_.descriptor(), bytes, sizeof bytes, MSG_DONTWAIT)) > 0)
        received_.append(bytes, static_cast<std::size_t>(count));
    const std::size_t end = received_.find('\n');
    if (end != std::string::npos) throw_failure(tools::printable(received_.substr(0, end)));
    // A last message that was sent before the end is read first.
    if (count == 0 && end == std::string::npos && received_.size() < kLongestLine)
        throw tools::Failure("the other side", "it has ended", "its part of the transfer",
                             "see what dat_doctor reports there");
}

std::string Link::receive(const std::string& kind) {
    const std::string line = next_line();
    throw_failure(line);
    const std::size_t space = line.find(' ');
    const std::string got = line.substr(0, space);
    std::string text = space == std::string::npos ? "" : line.substr(space + 1);
    if (got == kind) return text;
    throw tools::Failure("receive from the other side", "something else", "'" + kind + "'",
                         kSameRelease);
}

}  // namespace doctor
