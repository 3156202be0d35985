// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// What the fabric's tests share: a member with an arena of its own.
#pragma once
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <array>
#include <atomic>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <thread>
#include <vector>

#include "providers/soft/softverbs/fabric/handshake.hpp"
#include "providers/soft/softverbs/fabric/process.hpp"
#include "test/support/process.hpp"

using namespace softverbs;
using test::captured_stderr;
using test::Channel;
using test::Child;
using test::eventually;
using test::require;
using test::TemporaryFabric;

/// Any port space will do.
inline constexpr std::uint32_t kPortSpace = 0x106;
inline constexpr std::size_t kArenaSize = 64 * 1024;

/// A member with an arena of its own, as the device makes one.
class Member {
  public:
    using Setup = std::function<void(Process&)>;
    explicit Member(const Setup& setup = {}, unsigned seals = F_SEAL_SHRINK | F_SEAL_GROW,
                    std::size_t claimed = kArenaSize)
        : arena_(memfd_create("arena", MFD_CLOEXEC | MFD_ALLOW_SEALING)) {
        if (ftruncate(arena_.get(), kArenaSize) != 0) return;
        fcntl(arena_.get(), F_ADD_SEALS, seals);
        base_ = static_cast<std::byte*>(
            mmap(nullptr, kArenaSize, PROT_READ | PROT_WRITE, MAP_SHARED, arena_.get(), 0));
        auto joined = Process::join([&](Process& process) -> Result<PublishedArena> {
            if (setup) setup(process);
            return PublishedArena{arena_.get(), base_, claimed};
        });
        if (joined)
            process_ = *joined;
        else
            error_ = joined.error();
    }
    ~Member() {
        if (process_) Process::leave();
        munmap(base_, kArenaSize);
    }
    Process* operator->() { return process_; }
    explicit operator bool() const { return process_ != nullptr; }
    int error() const { return error_; }
    std::byte* arena() { return base_; }
    std::uint32_t number() {
        auto block = process_->take_block();
        require(block.has_value(), "a block is had");
        return *block << 8 | 5;
    }

  private:
    UniqueFd arena_;
    std::byte* base_ = nullptr;
    Process* process_ = nullptr;
    int error_ = 0;
};

inline Deadline soon() {
    return Clock::now() + test::kDeadline;
}

/// Makes the process reply to kAgentCopy with the reversed body and the descriptors that it got.
inline void answer_reversed(Process& process) {
    process.handle(MessageType::kAgentCopy,
                   [](const std::shared_ptr<Peer>& peer, Message& message) {
                       std::vector<std::byte> body(message.body.rbegin(), message.body.rend());
                       std::vector<int> fds;
                       for (const UniqueFd& fd : message.fds) fds.push_back(fd.get());
                       require(peer->reply(message, body, fds).has_value(), "the reply is sent");
                   });
}

inline std::vector<std::byte> bytes(const std::string& text) {
    std::vector<std::byte> result(text.size());
    std::memcpy(result.data(), text.data(), text.size());
    return result;
}

/// A child that joins, sends a QP number of its own, and waits to be released.
inline void member_child(Channel& channel) {
    Member member(answer_reversed);
    require(bool(member), "the child joins");
    std::memcpy(member.arena(), "child", 6);
    channel.send(member.number());
    channel.meet();
}

/// @return the names of the members' sockets, without the bells, whose names have a dot.
inline std::vector<std::string> sockets_in(const std::string& directory) {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(directory)) {
        const std::string name = entry.path().filename();
        if (entry.is_socket() && name.find('.') == std::string::npos) names.push_back(name);
    }
    return names;
}

/// A link to the member's socket, for tests that misbehave on it.
inline UniqueFd raw_link(const std::string& fabric) {
    UniqueFd link(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
    sockaddr_un where = {};
    where.sun_family = AF_UNIX;
    strncpy(where.sun_path, (fabric + "/" + sockets_in(fabric).at(0)).c_str(),
            sizeof where.sun_path - 1);
    require(connect(link.get(), reinterpret_cast<sockaddr*>(&where), sizeof where) == 0, "a link");
    return link;
}
