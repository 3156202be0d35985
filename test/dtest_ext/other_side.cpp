// SPDX-License-Identifier: BSD-2-Clause
#include "test/dtest_ext/other_side.hpp"

#include <endian.h>

#include <algorithm>
#include <cstring>

#include "test/dtest/side_channel.hpp"
#include "tools/common/failure.hpp"

namespace dtest_ext {

using namespace tools;

namespace {

constexpr double kServerWaitsSeconds = 600;
constexpr MeetingPoint kMeetingPoint{"dtest_ext", 15828, "dtest_ext without -h",
                                     "dtest_ext -h HOST"};

/// A Note on the wire: numbers in network order, texts NUL-terminated.
struct Message {
    char step[64];
    char text[192];
    std::uint64_t numbers[4];
};
static_assert(sizeof(Message) == 288);

template <std::size_t size>
void put(char (&to)[size], const std::string& text) {
    text.copy(to, std::min(text.size(), size - 1));
}

/// Sanitises a text from the peer, which may contain anything: cuts it at the array's size and
/// replaces control characters.
template <std::size_t size>
std::string take(const char (&from)[size]) {
    std::string text(from, strnlen(from, size - 1));
    for (char& c : text)
        if (c < ' ' || c > '~') c = '?';
    return text;
}

Socket meet_client(const Options& options, const dtest::Record& mine) {
    const Socket listener = listen_for_client(kMeetingPoint);
    std::printf("%s: server, waits for its client\n", options.provider.c_str());
    std::fflush(stdout);
    Socket client = accept_client(listener, kMeetingPoint, Deadline(kServerWaitsSeconds));
    dtest::send_record(client, mine, Deadline(options.timeout_seconds));
    return client;
}

}  // namespace

OtherSide::OtherSide(const Options& options, const dtest::Record& mine)
    : socket_(meet_client(options, mine)),
      record_(mine),
      patience_seconds_(options.timeout_seconds) {}

OtherSide::OtherSide(const Options& options)
    : socket_(connect_to_server(options.host, kMeetingPoint, Deadline(options.timeout_seconds))),
      record_(dtest::receive_record(socket_, Deadline(options.timeout_seconds))),
      patience_seconds_(options.timeout_seconds) {
    if (!record_.terms || !(record_.terms->modes & dtest::Terms::kExtensions)) {
        throw Failure("server's record", "that of another program", "that of a dtest_ext",
                      "start dtest_ext on both sides: it checks more than other programs answer");
    }
    if (*record_.terms != options.terms()) {
        throw Failure("options", "this client has " + options.terms().options(),
                      "the server's " + record_.terms->options(),
                      "start both sides with the same ones");
    }
}

Note OtherSide::exchange(const std::string& step, const Note& mine) const {
    const Deadline deadline(patience_seconds_);
    const std::string what = "what the other side says at '" + step + "'";
    Message message{};
    put(message.step, step);
    put(message.text, mine.text);
    for (std::size_t i = 0; i < mine.numbers.size(); ++i)
        message.numbers[i] = htobe64(mine.numbers[i]);
    send_bytes(socket_, &message, sizeof message, what.c_str(), deadline);
    auto* bytes = reinterpret_cast<char*>(&message);
    for (std::size_t got = 0; got < sizeof message;)
        got += receive_some(socket_, bytes + got, sizeof message - got, what.c_str(), deadline);
    if (take(message.step) != step) {
        throw Failure("steps", "the other side is at '" + take(message.step) + "'",
                      "'" + step + "'", "start the same dtest_ext on both sides");
    }
    Note theirs{take(message.text), {}};
    for (std::size_t i = 0; i < theirs.numbers.size(); ++i)
        theirs.numbers[i] = be64toh(message.numbers[i]);
    return theirs;
}

}  // namespace dtest_ext
