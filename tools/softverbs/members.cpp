// SPDX-License-Identifier: BSD-2-Clause
#include "tools/softverbs/members.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <chrono>
#include <fstream>

#include "providers/soft/softverbs/fabric/handshake.hpp"
#include "tools/common/terminal.hpp"

namespace softverbs::tool {
namespace {

/// Timeout for all members together: a stopped one must not keep the others from being shown.
constexpr std::chrono::seconds kPatience{5};

struct Asked {
    MemberSnapshot snapshot;
    UniqueFd link;
};

std::string program_of(pid_t pid) {
    std::ifstream file("/proc/" + std::to_string(pid) + "/comm");
    std::string name;
    if (pid > 0) std::getline(file, name);
    return tools::printable(name);
}

Asked connect_to(const Directory& directory, const Index::MemberInfo& member) {
    Asked asked;
    asked.snapshot.info = member;
    auto link = directory.connect(Index::socket_name(member.member.slot));
    if (!link) {
        asked.snapshot.answer = link.error() == EAGAIN ? Answer::kSilent : Answer::kGone;
        return asked;
    }
    ucred owner = {};
    socklen_t length = sizeof owner;
    if (getsockopt(link->get(), SOL_SOCKET, SO_PEERCRED, &owner, &length) != 0) return asked;
    asked.snapshot.pid = owner.pid;
    asked.snapshot.program = program_of(owner.pid);
    asked.snapshot.answer = owner.uid == geteuid() ? Answer::kSilent : Answer::kRefused;
    if (asked.snapshot.answer == Answer::kSilent) asked.link = std::move(*link);
    return asked;
}

Answer receive_greeting(Asked& asked) {
    std::vector<std::byte> buffer(sizeof(MessageHeader) + kMaxMessageBody);
    auto record = receive_record(asked.link.get(), buffer);
    if (!record) return record.error() == ECONNRESET ? Answer::kGone : Answer::kRefused;
    const Hello* hello = record->message.as<Hello>();
    const bool proper = record->message.type == MessageType::kHello && hello &&
                        hello->version == kFabricVersion && !record->message.fds.empty();
    if (!proper) return Answer::kRefused;
    if (hello->member != asked.snapshot.info.member.id) return Answer::kGone;
    asked.snapshot.arena =
        read_arena(record->message.fds.front().get(), asked.snapshot.info.blocks);
    return Answer::kShown;
}

}  // namespace

std::vector<MemberSnapshot> ask_members(const Directory& directory, const Index::Survey& survey) {
    std::vector<Asked> all;
    for (const Index::MemberInfo& member : survey.members)
        if (member.living) all.push_back(connect_to(directory, member));
    const Deadline deadline = Clock::now() + kPatience;
    std::vector<MemberSnapshot> snapshots;
    for (Asked& asked : all) {
        using std::chrono::milliseconds;
        const auto left = std::chrono::duration_cast<milliseconds>(deadline - Clock::now());
        pollfd ready{asked.link.get(), POLLIN, 0};
        const int patience = static_cast<int>(std::max(left, milliseconds(0)).count());
        if (asked.link.valid() && poll(&ready, 1, patience) == 1)
            asked.snapshot.answer = receive_greeting(asked);
        asked.link.reset();
        snapshots.push_back(std::move(asked.snapshot));
    }
    return snapshots;
}

std::size_t tell_members(const Directory& directory) {
    std::size_t told = 0;
    const auto survey = Index::look(directory);
    if (!survey) return 0;
    for (const MemberSnapshot& member : ask_members(directory, *survey)) {
        told += member.answer == Answer::kShown;
        if (member.answer == Answer::kSilent)
            fmt::print(stderr,
                       "softverbs: process {} does not answer: it hears of it when it goes on\n",
                       member.pid);
    }
    return told;
}

}  // namespace softverbs::tool
