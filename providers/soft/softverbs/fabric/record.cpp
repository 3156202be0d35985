// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Records on a SOCK_SEQPACKET link: sends and receives one, with descriptors.
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "providers/soft/softverbs/fabric/handshake.hpp"

namespace softverbs {
namespace {

constexpr std::size_t kControlSize = CMSG_SPACE(kMaxMessageFds * sizeof(int));

/// Takes ownership of every descriptor received, so that none leaks, whatever is wrong with the
/// record.
void take_descriptors(msghdr& message, std::vector<UniqueFd>& fds) {
    for (cmsghdr* item = CMSG_FIRSTHDR(&message); item; item = CMSG_NXTHDR(&message, item)) {
        if (item->cmsg_level != SOL_SOCKET || item->cmsg_type != SCM_RIGHTS) continue;
        const std::size_t count = (item->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        for (std::size_t i = 0; i < count; ++i) {
            int fd;
            std::memcpy(&fd, CMSG_DATA(item) + i * sizeof fd, sizeof fd);
            fds.emplace_back(fd);
        }
    }
}

bool is_known(const MessageHeader& header) {
    return header.type >= static_cast<std::uint16_t>(MessageType::kHello) &&
           header.type < static_cast<std::uint16_t>(MessageType::kCount) && header.is_reply <= 1;
}

}  // namespace

int send_record(int link, std::span<const std::byte> record, std::span<const int> fds) {
    iovec vector = {const_cast<std::byte*>(record.data()), record.size()};
    alignas(cmsghdr) std::array<std::byte, kControlSize> control = {};
    msghdr message = {};
    message.msg_iov = &vector;
    message.msg_iovlen = 1;
    if (!fds.empty()) {
        message.msg_control = control.data();
        message.msg_controllen = CMSG_SPACE(fds.size_bytes());
        cmsghdr* rights = CMSG_FIRSTHDR(&message);
        rights->cmsg_level = SOL_SOCKET;
        rights->cmsg_type = SCM_RIGHTS;
        rights->cmsg_len = CMSG_LEN(fds.size_bytes());
        std::memcpy(CMSG_DATA(rights), fds.data(), fds.size_bytes());
    }
    while (sendmsg(link, &message, MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
        if (errno != EINTR) return errno;
    return 0;
}

/// When our own table of descriptors is full, the kernel drops those of the record, and the handler
/// sees too few.
Result<Record> receive_record(int link, std::span<std::byte> buffer) {
    iovec vector = {buffer.data(), buffer.size()};
    alignas(cmsghdr) std::array<std::byte, kControlSize> control;
    msghdr message = {};
    message.msg_iov = &vector;
    message.msg_iovlen = 1;
    message.msg_control = control.data();
    message.msg_controllen = control.size();
    Record record;
    record.message.fds.reserve(kMaxMessageFds);  // before anything is received that could be lost
    ssize_t got;
    do got = recvmsg(link, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    while (got < 0 && errno == EINTR);
    if (got < 0) return tl::unexpected(errno);
    if (got == 0) return tl::unexpected(ECONNRESET);
    take_descriptors(message, record.message.fds);
    MessageHeader header;
    if (got < static_cast<ssize_t>(sizeof header) || (message.msg_flags & MSG_TRUNC))
        return tl::unexpected(EPROTO);
    std::memcpy(&header, buffer.data(), sizeof header);
    if (!is_known(header) || header.length != got - sizeof header) return tl::unexpected(EPROTO);
    record.is_reply = header.is_reply != 0;
    record.message.type = static_cast<MessageType>(header.type);
    record.message.request_id = header.request_id;
    record.message.body = std::span<const std::byte>(buffer).subspan(sizeof header, header.length);
    return record;
}

std::vector<std::byte> record_of(const MessageHeader& header, std::span<const std::byte> body) {
    std::vector<std::byte> record(sizeof header + body.size());
    std::memcpy(record.data(), &header, sizeof header);
    if (!body.empty()) std::memcpy(record.data() + sizeof header, body.data(), body.size());
    return record;
}

timespec to_timespec(Deadline deadline) {
    using std::chrono::nanoseconds;
    const auto ns = std::chrono::duration_cast<nanoseconds>(deadline.time_since_epoch()).count();
    return {static_cast<time_t>(ns / 1'000'000'000), static_cast<long>(ns % 1'000'000'000)};
}

}  // namespace softverbs
