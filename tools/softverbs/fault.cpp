// SPDX-License-Identifier: BSD-2-Clause
#include "tools/softverbs/fault.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <vector>

#include "providers/soft/softverbs/faults/faults.hpp"
#include "providers/soft/softverbs/faults/rule_text.hpp"
#include "support/base/json_writer.hpp"
#include "support/base/text_file.hpp"
#include "tools/softverbs/members.hpp"

namespace softverbs::tool {
namespace {

/// The largest log that is shown, in bytes.
constexpr std::size_t kMostLog = std::size_t{64} << 20;

int print(const std::string& text) {
    const bool done = std::fputs(text.c_str(), stdout) >= 0 && std::fflush(stdout) == 0;
    return done ? 0 : kFailed;
}

int fail(const std::string& path, const std::string& why) {
    fmt::print(stderr, "softverbs fault: {}: {}\n", path, why);
    return kFailed;
}

/// @return the file's lines; none if there is no such file. nullopt when it cannot be read, which
/// has been reported.
std::optional<std::vector<std::string>> lines_of(const std::string& path, std::size_t most) {
    std::vector<std::string> lines;
    const auto text = support::read_text_file(path, most);
    if (!text && text.error().error == ENOENT) return lines;
    if (!text) {
        fail(path, text.error().text);
        return std::nullopt;
    }
    for (std::size_t at = 0; at < text->size();) {
        const std::size_t end = std::min(text->find('\n', at), text->size());
        if (end != at) lines.push_back(text->substr(at, end - at));
        at = end + 1;
    }
    return lines;
}

int print_rules(const std::vector<std::string>& rules, bool json) {
    std::string text;
    if (!json) {
        for (const std::string& rule : rules) text += rule + '\n';
        return print(text);
    }
    support::JsonWriter writer;
    writer.begin_object();
    writer.begin_array("rules");
    for (const std::string& rule : rules) writer.text({}, rule);
    writer.end_array();
    writer.end_object();
    return print(writer.take() + '\n');
}

int print_log(const std::vector<std::string>& lines, bool json) {
    if (!json) return print_rules(lines, false);
    constexpr std::string_view kComment = "  # ";
    support::JsonWriter writer;
    writer.begin_object();
    writer.begin_array("faults");
    for (const std::string& line : lines) {
        const std::size_t comment = std::min(line.find(kComment), line.size());
        writer.begin_object();
        writer.text("rule", line.substr(0, comment));
        writer.text("remark", comment == line.size() ? "" : line.substr(comment + kComment.size()));
        writer.end_object();
    }
    writer.end_array();
    writer.end_object();
    return print(writer.take() + '\n');
}

/// Replaces the rules at once, so that whoever reads them sees all of the old or all of the new.
/// @return 0 or an errno.
int write_rules(const Directory& directory, const std::vector<std::string>& rules) {
    if (rules.empty()) {
        directory.remove(faults::kRulesFile);
        return 0;
    }
    const std::string aside = std::string(faults::kRulesFile) + ".new";
    UniqueFd file(openat(directory.fd(), aside.c_str(),
                         O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600));
    std::string text;
    for (const std::string& rule : rules) text += rule + '\n';
    if (!file.valid()) return errno;
    if (write(file.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size()))
        return errno != 0 ? errno : ENOSPC;
    return renameat(directory.fd(), aside.c_str(), directory.fd(), faults::kRulesFile) == 0 ? 0
                                                                                            : errno;
}

/// Adds the rules, or removes all.
int change(const std::string& path, const Options& options) {
    const auto directory = Directory::open(path);
    if (!directory) return kFailed;
    // For others that change them at the same time.
    if (flock((*directory)->fd(), LOCK_EX) != 0) return fail(path, std::strerror(errno));
    std::vector<std::string> rules;
    if (options.fault == FaultCommand::kAdd) {
        auto before = lines_of(path + '/' + faults::kRulesFile, faults::kMostText);
        if (!before) return kFailed;
        rules = std::move(*before);
        for (const faults::Rule& rule : options.rules) rules.push_back(faults::to_text(rule));
    }
    if (const int cause = write_rules(**directory, rules)) return fail(path, std::strerror(cause));
    if (!Index::note_rules(**directory)) return kFailed;
    const std::size_t told = tell_members(**directory);
    return print(fmt::format("{} rule{} in force, told {} process{}\n", rules.size(),
                             rules.size() == 1 ? "" : "s", told, told == 1 ? "" : "es"));
}

}  // namespace

int fault(const Options& options) {
    const std::string path = options.fabric.empty() ? Directory::chosen_path() : options.fabric;
    if (options.fault == FaultCommand::kAdd || options.fault == FaultCommand::kClear)
        return change(path, options);
    const auto directory = Directory::open_existing(path);
    if (!directory) return kFailed;
    const bool is_log = options.fault == FaultCommand::kLog;
    const auto lines = lines_of(path + '/' + (is_log ? faults::kLogFile : faults::kRulesFile),
                                is_log ? kMostLog : faults::kMostText);
    if (!lines) return kFailed;
    return is_log ? print_log(*lines, options.json) : print_rules(*lines, options.json);
}

}  // namespace softverbs::tool
