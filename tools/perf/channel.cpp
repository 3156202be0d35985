// SPDX-License-Identifier: BSD-2-Clause
#include "tools/perf/channel.hpp"

#include "tools/common/failure.hpp"

namespace perf {

using tools::Deadline;
using tools::Failure;

namespace {

constexpr std::size_t kLongestLine = 1 << 20;
constexpr const char* kFailed = "failed";
/// A failed side waits so long for a report that the other side failed first.
constexpr double kLastWordSeconds = 1;

}  // namespace

void Channel::send(const std::string& kind, const std::string& text) {
    const std::string line = kind + ' ' + text + '\n';
    tools::send_bytes(socket_, line.data(), line.size(), "a line to the other side",
                      Deadline(timeout_seconds_));
}

std::string Channel::next_line(double seconds) {
    const Deadline deadline(seconds);
    for (;;) {
        const std::size_t end = received_.find('\n');
        if (end != std::string::npos) {
            std::string line = received_.substr(0, end);
            received_.erase(0, end + 1);
            return line;
        }
        if (received_.size() > kLongestLine) {
            throw Failure("receive from the other side", "a line without an end", "shorter lines",
                          "check that the other side is a dat_perf");
        }
        char bytes[4096];
        const std::size_t count = tools::receive_some(socket_, bytes, sizeof bytes,
                                                      "a line from the other side", deadline);
        received_.append(bytes, count);
    }
}

std::string Channel::receive_any(std::string& text, double patience) {
    const std::string line = next_line(timeout_seconds_ + patience);
    const std::size_t space = line.find(' ');
    text = space == std::string::npos ? "" : line.substr(space + 1);
    std::string kind = line.substr(0, space);
    if (kind == kFailed) throw PeerFailure(text);
    return kind;
}

std::string Channel::receive(const std::string& kind, double patience) {
    std::string text;
    const std::string got = receive_any(text, patience);
    if (got != kind) {
        throw Failure("receive from the other side", "'" + got.substr(0, 40) + "'",
                      "'" + kind + "'", "run the same version of dat_perf on both sides");
    }
    return text;
}

std::string Channel::failure_of_peer() {
    try {
        for (;;) {
            const std::string line = next_line(kLastWordSeconds);
            if (line.rfind(kFailed, 0) == 0) return line.substr(line.find(' ') + 1);
        }
    } catch (const std::exception&) {
        return "";  // it sent no report
    }
}

}  // namespace perf
