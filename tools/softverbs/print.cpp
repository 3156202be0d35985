// SPDX-License-Identifier: BSD-2-Clause
#include "tools/softverbs/print.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "providers/soft/softverbs/arena/layout.hpp"

namespace softverbs::tool {
namespace {

constexpr int kSchemaVersion = 1;

const char* name_of(Answer answer) {
    switch (answer) {
        case Answer::kShown:
            return "shown";
        case Answer::kSilent:
            return "silent";
        case Answer::kGone:
            return "gone";
        case Answer::kRefused:
            return "refused";
    }
    return "";
}

const char* explain(Answer answer) {
    switch (answer) {
        case Answer::kShown:
            return "";
        case Answer::kSilent:
            return ", does not answer (is it stopped?)";
        case Answer::kGone:
            return ", has just ended";
        case Answer::kRefused:
            return ", gives an unknown answer (another release, or another user's process)";
    }
    return "";
}

std::string address_text(const in6_addr& address) {
    char text[INET6_ADDRSTRLEN] = "";
    const bool is_ipv4 = IN6_IS_ADDR_V4MAPPED(&address);
    inet_ntop(is_ipv4 ? AF_INET : AF_INET6,
              is_ipv4 ? address.s6_addr + 12 : static_cast<const void*>(&address), text,
              sizeof text);
    return text;
}

std::string queue_text(const QueuePairInfo& qp) {
    std::string text = fmt::format("  queue pair 0x{:06x}: {}, {}", qp.number, qp.type, qp.state);
    if (qp.port) text += fmt::format(", {} port {}", device_name(qp.port->device), qp.port->port);
    if (qp.destination) text += fmt::format(", to 0x{:06x}", qp.destination);
    if (qp.receive_cq == kNoCq) return text + "\n";
    text += fmt::format(", receive CQ {}", qp.receive_cq);
    if (qp.srq) return text + fmt::format(", SRQ {}\n", qp.srq - 1);
    return text + fmt::format(", {} receives consumed\n", qp.receives_taken);
}

std::string region_text(const RegionInfo& region) {
    const std::string path = region.shared == 0 ? "path P"
                             : region.shared == region.length
                                 ? "path S"
                                 : fmt::format("path S for {} bytes, else P", region.shared);
    return fmt::format("  {} 0x{:08x}: {} bytes at 0x{:x}, PD {}, {} ({}){}{}\n", region.kind,
                       region.key, region.length, region.address, region.pd, path, region.reason,
                       region.access.empty() ? "" : ", ", fmt::join(region.access, " "));
}

std::string arena_text(const ArenaSnapshot& arena) {
    std::string text;
    for (const QueuePairInfo& qp : arena.queue_pairs) text += queue_text(qp);
    for (const CompletionQueueInfo& cq : arena.completion_queues)
        text += fmt::format("  completion queue {}: {} entries{}\n", cq.index, cq.entries,
                            cq.channel ? fmt::format(", channel {}", cq.channel) : "");
    for (const SharedReceiveQueueInfo& srq : arena.shared_receive_queues)
        text +=
            fmt::format("  shared receive queue {}: receives: {} posted, {} consumed, limit {}\n",
                        srq.index, srq.receives_posted, srq.receives_taken, srq.limit);
    for (const RegionInfo& region : arena.regions) text += region_text(region);
    if (arena.senseless)
        text += fmt::format(
            "  {} entries are invalid: the process has overwritten memory, or is of "
            "another release\n",
            arena.senseless);
    return text;
}

/// For paths and programs' names, the only texts that are not ours.
std::string quoted(const std::string& text) {
    std::string out = "\"";
    for (const char letter : text) {
        const auto code = static_cast<unsigned char>(letter);
        if (letter == '"' || letter == '\\')
            out += fmt::format("\\{}", letter);
        else if (code < 0x20 || code >= 0x7f)
            out += fmt::format("\\u{:04x}", code);
        else
            out += letter;
    }
    return out + "\"";
}

/// @return `element(item)` for each item, in brackets.
template <class Items, class Element>
std::string array(const Items& items, Element element) {
    std::vector<std::string> texts;
    texts.reserve(items.size());
    for (const auto& item : items) texts.push_back(element(item));
    return fmt::format("[{}]", fmt::join(texts, ", "));
}

std::string queue_json(const QueuePairInfo& qp) {
    return fmt::format(
        R"({{"number": {}, "type": "{}", "state": "{}", "device": {}, "port": {}, "destination": {}, "pd": {}, "receive_cq": {}, )"
        R"("srq": {}, "receives_taken": {}}})",
        qp.number, qp.type, qp.state,
        qp.port ? fmt::format(R"("{}")", device_name(qp.port->device)) : "null",
        qp.port ? std::to_string(qp.port->port) : "null",
        qp.destination ? std::to_string(qp.destination) : "null", qp.pd,
        qp.receive_cq != kNoCq ? std::to_string(qp.receive_cq) : "null",
        qp.srq ? std::to_string(qp.srq - 1) : "null", qp.receives_taken);
}

std::string cq_json(const CompletionQueueInfo& cq) {
    return fmt::format(R"({{"index": {}, "entries": {}, "channel": {}}})", cq.index, cq.entries,
                       cq.channel ? std::to_string(cq.channel) : "null");
}

std::string srq_json(const SharedReceiveQueueInfo& srq) {
    return fmt::format(
        R"({{"index": {}, "pd": {}, "receives_posted": {}, "receives_taken": {}, "limit": {}}})",
        srq.index, srq.pd, srq.receives_posted, srq.receives_taken, srq.limit);
}

std::string region_json(const RegionInfo& region) {
    return fmt::format(
        R"({{"key": {}, "kind": "{}", "pd": {}, "access": {}, "address": {}, "length": {}, "shared": {}, )"
        R"("reason": "{}"}})",
        region.key, region.kind, region.pd, array(region.access, quoted), region.address,
        region.length, region.shared, region.reason);
}

std::string member_json(const MemberSnapshot& member) {
    const ArenaSnapshot& arena = member.arena;
    return fmt::format(
        R"({{"member": {}, "pid": {}, "program": {}, "address": "{}", "answer": "{}", "qp_blocks": [{}], )"
        "\n     \"queue_pairs\": {},\n     \"completion_queues\": {},\n"
        "     \"shared_receive_queues\": {},\n     \"regions\": {},\n     \"senseless\": {}}}",
        member.info.member.slot, member.pid ? std::to_string(member.pid) : "null",
        member.program.empty() ? "null" : quoted(member.program), address_text(member.info.address),
        name_of(member.answer), fmt::join(member.info.blocks, ", "),
        array(arena.queue_pairs, queue_json), array(arena.completion_queues, cq_json),
        array(arena.shared_receive_queues, srq_json), array(arena.regions, region_json),
        arena.senseless);
}

std::size_t count_dead(const Index::Survey& survey) {
    return static_cast<std::size_t>(
        std::count_if(survey.members.begin(), survey.members.end(),
                      [](const Index::MemberInfo& member) { return !member.living; }));
}

}  // namespace

std::string as_text(const std::string& path, const Index::Survey& survey,
                    const std::vector<MemberSnapshot>& members) {
    std::string text = fmt::format("fabric {}: {} processes\n", path, members.size());
    for (const MemberSnapshot& member : members) {
        const std::string who = member.pid ? fmt::format("process {}", member.pid)
                                           : "a process of another PID namespace";
        text += fmt::format("{}{}: member {}, address {}{}\n", who,
                            member.program.empty() ? "" : fmt::format(" ({})", member.program),
                            member.info.member.slot, address_text(member.info.address),
                            explain(member.answer));
        text += arena_text(member.arena);
    }
    if (const std::size_t dead = count_dead(survey))
        text += fmt::format("{} exited process{} left files behind: softverbs clean\n", dead,
                            dead == 1 ? "" : "es");
    return text;
}

std::string as_json(const std::string& path, const Index::Survey& survey,
                    const std::vector<MemberSnapshot>& members) {
    return fmt::format(
        "{{\"schema\": \"softverbs-ls\", \"version\": {},\n \"fabric\": {}, \"hash\": \"{:016x}\", "
        "\"dead_members\": {},\n \"processes\": [{}]}}\n",
        kSchemaVersion, quoted(path), survey.hash, count_dead(survey), [&] {
            std::vector<std::string> texts;
            texts.reserve(members.size());
            for (const MemberSnapshot& member : members)
                texts.push_back("\n    " + member_json(member));
            return fmt::format("{}", fmt::join(texts, ","));
        }());
}

}  // namespace softverbs::tool
