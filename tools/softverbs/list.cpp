// SPDX-License-Identifier: BSD-2-Clause
#include "tools/softverbs/list.hpp"

#include <fmt/format.h>

#include <cstdio>

#include "tools/softverbs/members.hpp"
#include "tools/softverbs/print.hpp"

namespace softverbs::tool {
namespace {

std::string path_of(const Options& options) {
    return options.fabric.empty() ? Directory::chosen_path() : options.fabric;
}

/// @return nullopt when it cannot be used, which has been reported.
std::optional<std::unique_ptr<Directory>> open_fabric(const std::string& path) {
    auto directory = Directory::open_existing(path);
    if (!directory) return std::nullopt;
    return std::move(*directory);
}

void tell_leftovers(const Index::Leftovers& found, bool dry_run) {
    const char* verb = dry_run ? "would remove" : "removed";
    for (const Index::MemberInfo& member : found.members)
        fmt::print("{} the record of dead member {} and its {} blocks of QP numbers\n", verb,
                   member.member.slot, member.blocks.size());
    for (const std::string& name : found.sockets) fmt::print("{} the socket {}\n", verb, name);
    if (found.members.empty() && found.sockets.empty()) fmt::print("nothing to remove\n");
}

}  // namespace

int list(const Options& options) {
    const std::string path = path_of(options);
    const auto directory = open_fabric(path);
    if (!directory) return kFailed;
    Index::Survey survey;
    std::vector<MemberSnapshot> members;
    if (*directory) {
        auto found = Index::look(**directory);
        if (!found) return kFailed;
        survey = std::move(*found);
        members = ask_members(**directory, survey);
    }
    const std::string text =
        options.json ? as_json(path, survey, members) : as_text(path, survey, members);
    const bool printed = std::fputs(text.c_str(), stdout) >= 0 && std::fflush(stdout) == 0;
    return printed ? 0 : kFailed;
}

std::string fabric_text(const std::string& path) {
    const auto directory = open_fabric(path);
    if (!directory || !*directory) return {};
    const auto survey = Index::look(**directory);
    return survey ? as_text(path, *survey, ask_members(**directory, *survey)) : std::string();
}

int clean(const Options& options) {
    const auto directory = open_fabric(path_of(options));
    if (!directory) return kFailed;
    Index::Leftovers found;
    if (*directory) {
        auto removed = Index::clean(**directory, options.dry_run);
        if (!removed) return kFailed;
        found = std::move(*removed);
    }
    tell_leftovers(found, options.dry_run);
    return std::fflush(stdout) == 0 ? 0 : kFailed;
}

}  // namespace softverbs::tool
