// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// dat_strerror: what a code, name or message of DAT means, what causes it, and what to do.
#include <cstdio>

#include "tools/common/json.hpp"
#include "tools/common/options.hpp"
#include "tools/common/terminal.hpp"
#include "tools/strerror/catalogue.hpp"

namespace {

using namespace explaining;

struct Options {
    std::vector<std::string> words;
    bool list = false;
    bool json = false;
};

void check(const Options& options) {
    if (options.words.empty() != options.list)
        throw tools::WrongUsage("either CODE|NAME|MESSAGE-ID or --list is required");
}

tools::CommandLine command_line(Options& options) {
    return {
        "dat_strerror",
        "Explains the codes, events and messages of DAT: what they mean, likely causes, what "
        "to do.\n"
        "  dat_strerror 0x800a0064                 what a call returned\n"
        "  dat_strerror DAT_PROVIDER_NOT_FOUND     a name\n"
        "  dat_strerror DAT240                     the id in brackets at the end of a message\n"
        "  dat_strerror DOC-012                    a finding of dat_doctor\n"
        "  dat_strerror \"TEXT\"                     what verbs, the reference or an MPI printed",
        {{"words", "CODE|NAME|MESSAGE-ID", "what to explain", tools::list(options.words),
          tools::kAnyNumber},
         {"-l,--list", nullptr, "list everything that can be explained, a line each",
          tools::flag(options.list)},
         {"-j,--json", nullptr, "print one JSON document (doc/schema/dat_strerror.json)",
          tools::flag(options.json)}},
        {},
        "Exit status: 0 explained, 1 something is unknown, 2 wrong usage.",
        [&options] { check(options); }};
}

std::string code_text(const Entry& entry) {
    if (!entry.code) return "";
    char text[32];
    std::snprintf(text, sizeof text, *entry.code > 0xff ? " (%#lx)" : " (%ld)", *entry.code);
    return text;
}

void print(const Entry& entry) {
    const std::string heading = tools::coloured(stdout, tools::Colour::kHeading, entry.name) +
                                code_text(entry) + ", " + entry.kind;
    std::printf("%s\n  meaning:    %s\n  causes:     %s\n  what to do: %s\n", heading.c_str(),
                entry.meaning.c_str(), entry.causes.c_str(), entry.next_step.c_str());
}

void print_line(const Entry& entry) {
    std::printf("%-46s %-18s %s\n", (entry.name + code_text(entry)).c_str(), entry.kind.c_str(),
                entry.meaning.c_str());
}

tools::Json to_json(const Entry& entry) {
    tools::Json json = tools::Json::object();
    json.put("kind", entry.kind).put("name", entry.name);
    if (entry.code)
        json.put("code", *entry.code);
    else
        json.put("code", nullptr);
    json.put("meaning", entry.meaning)
        .put("causes", entry.causes)
        .put("next_step", entry.next_step);
    return json;
}

void print_json(const std::vector<Entry>& entries, const std::vector<std::string>& unknown) {
    tools::Json all = tools::Json::array();
    for (const Entry& entry : entries) all.add(to_json(entry));
    tools::Json words = tools::Json::array();
    for (const std::string& word : unknown) words.add(word);
    tools::Json document = tools::Json::document("dat_strerror");
    document.put("entries", std::move(all)).put("unknown", std::move(words));
    std::fputs(document.text().c_str(), stdout);
}

void tell_unknown(const std::string& word) {
    std::string names;
    for (const std::string& name : nearest_names(word)) names += (names.empty() ? "" : ", ") + name;
    std::fprintf(stderr,
                 "dat_strerror: '%s' is not a known code, name, message id or text of DAT; the "
                 "nearest names are "
                 "%s; dat_strerror --list shows all\n",
                 word.c_str(), names.c_str());
}

int explain(const Options& options) {
    std::vector<Entry> entries;
    std::vector<std::string> unknown;
    if (options.list) entries = catalogue();
    for (const std::string& word : options.words) {
        const std::vector<Entry> found = look_up(word);
        if (found.empty()) unknown.push_back(word);
        entries.insert(entries.end(), found.begin(), found.end());
    }
    if (options.json)
        print_json(entries, unknown);
    else
        for (const Entry& entry : entries) options.list ? print_line(entry) : print(entry);
    for (const std::string& word : unknown) tell_unknown(word);
    return unknown.empty() ? tools::flush_output() : tools::kFailureStatus;
}

}  // namespace

int main(int argc, char** argv) {
    Options options;
    const tools::Parsed parsed = tools::parse(command_line(options), argc, argv);
    if (parsed.exit_status) return *parsed.exit_status;
    return tools::run("dat_strerror", [&] { return explain(options); });
}
