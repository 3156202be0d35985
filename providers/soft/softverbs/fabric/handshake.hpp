// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The handshake that turns a link into a peer's: both ends send a Hello at once and wait for the
/// other's. Service thread only.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "providers/soft/softverbs/fabric/process.hpp"

namespace softverbs {

/// Long enough for a loaded machine; then a stopped process is given up.
inline constexpr auto kHandshakePatience = std::chrono::seconds(10);

/// Body of the first record in each direction. The record carries the descriptors of the arena, the
/// doorbell and the page file.
struct Hello {
    std::uint32_t version;
    std::uint32_t slot;
    MemberId member;
    std::uint64_t fabric;
    std::uint64_t arena_size;  ///< bytes
    std::uint64_t pages_size;  ///< bytes of the page file, the third descriptor; 0: none
    /// faults::Identity of the sender; zeros behind the text, if there is room.
    std::array<char, 64> program = {};
    std::array<char, 16> rank = {};
    /// The member that the sender connects to; 0: it was connected to. The slot, and with it the
    /// socket's name, may belong to a later member by now.
    MemberId wanted = 0;
};
static_assert(sizeof(Hello) == 128);

/// Checks a peer's memory before it is mapped. A file that can be truncated could kill us with
/// SIGBUS, and so could huge pages, which a hole in the file may take away for good.
/// @return what is wrong with it, beginning with `what`; "" if nothing is.
std::string fault_of_memory(int fd, std::uint64_t size, const std::string& what);

struct Process::Handshake {
    UniqueFd link;
    MemberRef wanted;  ///< id 0: the other end connected to us
    pid_t pid = 0;
    Deadline deadline = Clock::now() + kHandshakePatience;
    Service::TimerId timer = 0;
    bool finished = false;
    std::vector<FoundHandler> found;
};

/// A record as received from a socket; `message` refers to the buffer it was read into.
struct Record {
    Message message;
    bool is_reply = false;
};

/// Receives one record, without waiting. @return EAGAIN; ECONNRESET at the end of the link; EPROTO
/// for garbage.
Result<Record> receive_record(int link, std::span<std::byte> buffer);
/// Sends without waiting. @return 0 or an errno; EAGAIN when the socket is full.
int send_record(int link, std::span<const std::byte> record, std::span<const int> fds);
std::vector<std::byte> record_of(const MessageHeader& header, std::span<const std::byte> body);
timespec to_timespec(Deadline deadline);

}  // namespace softverbs
