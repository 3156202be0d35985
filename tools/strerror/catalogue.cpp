// SPDX-License-Identifier: BSD-2-Clause
#include "tools/strerror/catalogue.hpp"

#include <dat2/udat.h>
#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>

#include <algorithm>
#include <cctype>
#include <charconv>

#include "support/base/edit_distance.hpp"
#include "support/base/messages.hpp"
#include "tools/doctor/finding.hpp"

namespace explaining {
namespace {

struct Help {
    const support::Message* message;
    const char* causes;
    const char* next_step;
};

constexpr Help kHelp[] = {
#define HELP(message, causes, next_step) {&support::message, causes, next_step},
#include "tools/strerror/message_help.def"
#undef HELP
};

/// @return the text with "..." in place of the arguments.
std::string with_ellipses(std::string_view text) {
    std::string result;
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] != '{') {
            result += text[i];
            continue;
        }
        result += "...";
        i = text.find('}', i);
    }
    return result;
}

void add_messages(std::vector<Entry>& all) {
    for (const support::Message* message : support::kMessages) {
        const auto* help = std::find_if(std::begin(kHelp), std::end(kHelp),
                                        [&](const Help& one) { return one.message == message; });
        if (help == std::end(kHelp)) continue;
        all.push_back({"message", message->id, std::nullopt, with_ellipses(message->text),
                       help->causes, help->next_step});
    }
}

void add_codes(std::vector<Entry>& all) {
#define TYPE(name, meaning, causes, next_step) \
    all.push_back({"type", #name, long{name}, meaning, causes, next_step});
#define SUBTYPE(...)
#include "support/base/dat_codes.def"
#undef TYPE
#undef SUBTYPE
    all.push_back({"type", "DAT_EXTENSION_BASE", long{DAT_EXTENSION_BASE},
                   "the code is one of the provider's extensions", "a call of an extension failed",
                   "see the extension's page; the provider names it (dat_strerror)"});
#define TYPE(...)
#define SUBTYPE(name, meaning, causes, next_step) \
    all.push_back({"subtype", #name, long{name}, meaning, causes, next_step});
#include "support/base/dat_codes.def"
#undef TYPE
#undef SUBTYPE
}

void add_statuses(std::vector<Entry>& all) {
#define COMPLETION_STATUS(name, number, dat, text, causes, next_step) \
    all.push_back(                                                    \
        {"completion status", #name, number, text ", which DAT calls " #dat, causes, next_step});
#include "support/base/completion_statuses.def"
#undef COMPLETION_STATUS
}

/// Adds DAT's own statuses. Several statuses of verbs map to one, whose causes are joined.
void add_dat_statuses(std::vector<Entry>& all) {
    const auto add = [&all](const char* name, long number, const std::string& text,
                            const char* causes, const char* next_step) {
        const auto known = std::find_if(all.begin(), all.end(), [&](const Entry& entry) {
            return entry.kind == "DTO status" && entry.name == name;
        });
        if (known == all.end())
            all.push_back({"DTO status", name, number, text, causes, next_step});
        else if (known->causes.find(causes) == std::string::npos)
            known->causes += std::string("; ") + causes;
    };
#define COMPLETION_STATUS(name, number, dat, text, causes, next_step) \
    add(#dat, long{dat}, text, causes, next_step);
#include "support/base/completion_statuses.def"
#undef COMPLETION_STATUS
#define EVENT(...)
#define DTO_STATUS(name, meaning, causes, next_step) \
    add(#name, long{name}, meaning, causes, next_step);
#include "tools/strerror/events.def"
#undef EVENT
#undef DTO_STATUS
}

void add_reasons(std::vector<Entry>& all) {
    const char* const causes = "the peer's connection manager or program refused the request";
#define REJECT_REASON(number, name, meaning, next_step) \
    all.push_back({"reject reason", #name, number, meaning, causes, next_step});
#include "support/base/reject_reasons.def"
#undef REJECT_REASON
#define SIDR_STATUS(number, name, meaning, next_step) \
    all.push_back({"SIDR status", #name, number, meaning, causes, next_step});
#include "support/base/sidr_statuses.def"
#undef SIDR_STATUS
}

void add_events(std::vector<Entry>& all) {
#define EVENT(name, meaning, causes, next_step) \
    all.push_back({"event", #name, long{name}, meaning, causes, next_step});
#define DTO_STATUS(...)
#include "tools/strerror/events.def"
#undef EVENT
#undef DTO_STATUS
}

void add_cm_events(std::vector<Entry>& all) {
#define CM_EVENT(name, meaning, causes, next_step) \
    all.push_back({"rdma_cm event", #name, long{name}, meaning, causes, next_step});
#include "tools/strerror/cm_events.def"
#undef CM_EVENT
}

void add_findings(std::vector<Entry>& all) {
#define FINDING_HELP(finding, causes, next_step) \
    all.push_back(                               \
        {"finding", doctor::finding.id, std::nullopt, doctor::finding.title, causes, next_step});
#include "tools/strerror/finding_help.def"
#undef FINDING_HELP
}

void add_symptoms(std::vector<Entry>& all) {
#define SYMPTOM(text, parts, meaning, causes, next_step) \
    all.push_back({"symptom", text, std::nullopt, meaning, causes, next_step});
#define STATUS_TEXT(...)
#include "tools/strerror/symptoms.def"
#undef SYMPTOM
#undef STATUS_TEXT
}

std::string upper_case(std::string_view text) {
    std::string result(text);
    for (char& c : result) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
    return result;
}

/// @return the number that the whole text represents. DAT_RETURN has 32 bits, and programs print it
/// with or without a sign.
std::optional<long> number_of(std::string_view text) {
    const bool hexadecimal = text.size() > 2 && text[0] == '0' && (text[1] | 0x20) == 'x';
    if (hexadecimal) text.remove_prefix(2);
    long value = 0;
    const auto [end, error] =
        std::from_chars(text.data(), text.data() + text.size(), value, hexadecimal ? 16 : 10);
    if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
    if (value < INT32_MIN || value > long{UINT32_MAX}) return std::nullopt;
    return static_cast<long>(static_cast<std::uint32_t>(value));
}

/// @return DAT240 for "opendat: error: ... [DAT240]".
std::string_view message_id_in(std::string_view word) {
    const std::size_t begin = word.rfind('[');
    const std::size_t end = word.rfind(']');
    if (begin == std::string_view::npos || end == std::string_view::npos || end < begin)
        return word;
    return word.substr(begin + 1, end - begin - 1);
}

std::string lower_case(std::string_view text) {
    std::string result(text);
    for (char& c : result) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    return result;
}

bool has_a_part(const std::string& text, std::string_view parts) {
    while (!parts.empty()) {
        const std::string_view part = parts.substr(0, parts.find('|'));
        if (text.find(part) != std::string::npos) return true;
        parts.remove_prefix(std::min(part.size() + 1, parts.size()));
    }
    return false;
}

/// @return the names of the entries that match a text printed by another library.
std::vector<std::string> names_of_text(std::string_view word) {
    const std::string text = lower_case(word);
    std::vector<std::string> names;
#define SYMPTOM(name, parts, ...) \
    if (text == lower_case(name) || has_a_part(text, parts)) names.emplace_back(name);
#define STATUS_TEXT(status, name) \
    if (text == (status)) names.emplace_back(#name);
#include "tools/strerror/symptoms.def"
#undef SYMPTOM
#undef STATUS_TEXT
    return names;
}

std::vector<Entry> look_up_text(std::string_view word) {
    std::vector<Entry> found;
    for (const std::string& name : names_of_text(word))
        for (const Entry& entry : catalogue())
            if (entry.name == name) found.push_back(entry);
    return found;
}

std::vector<Entry> look_up_number(long number) {
    const auto code = static_cast<DAT_RETURN>(number);
    const long type = DAT_GET_TYPE(code);
    const long subtype = DAT_GET_SUBTYPE(code);
    std::vector<Entry> found;
    for (const Entry& entry : catalogue()) {
        if (!entry.code) continue;
        const bool is_code = type != 0 || number == 0;
        if (entry.kind == "type"      ? is_code && *entry.code == type
            : entry.kind == "subtype" ? subtype != 0 && *entry.code == subtype
                                      : *entry.code == number)
            found.push_back(entry);
    }
    return found;
}

/// Looks up `DAT_INVALID_PARAMETER DAT_INVALID_ARG3`, as programs print a code: each word must be
/// known.
std::vector<Entry> look_up_several(std::string_view words) {
    constexpr std::string_view kBetween = " \t,/:()|";
    std::vector<Entry> found;
    std::size_t begin = words.find_first_not_of(kBetween);
    if (begin == std::string_view::npos || words.find_first_of(kBetween, begin) == words.npos)
        return {};
    while (begin != std::string_view::npos) {
        const std::size_t end = std::min(words.find_first_of(kBetween, begin), words.size());
        const std::vector<Entry> one = look_up(words.substr(begin, end - begin));
        if (one.empty()) return {};
        for (const Entry& entry : one)
            if (std::none_of(found.begin(), found.end(), [&](const Entry& known) {
                    return known.name == entry.name && known.kind == entry.kind;
                }))
                found.push_back(entry);
        begin = words.find_first_not_of(kBetween, end);
    }
    return found;
}

}  // namespace

const std::vector<Entry>& catalogue() {
    static const std::vector<Entry> all = [] {
        std::vector<Entry> entries;
        add_messages(entries);
        add_codes(entries);
        add_statuses(entries);
        add_dat_statuses(entries);
        add_reasons(entries);
        add_events(entries);
        add_cm_events(entries);
        add_findings(entries);
        add_symptoms(entries);
        return entries;
    }();
    return all;
}

std::vector<Entry> look_up(std::string_view word) {
    if (const auto number = number_of(word)) return look_up_number(*number);
    const std::string name = upper_case(message_id_in(word));
    std::vector<Entry> found;
    for (const Entry& entry : catalogue())
        if (entry.name == name) found.push_back(entry);
    if (found.empty()) found = look_up_text(word);
    return found.empty() ? look_up_several(word) : found;
}

std::vector<std::string> nearest_names(std::string_view word) {
    constexpr std::size_t kShown = 3;
    const std::string name = upper_case(word);
    std::vector<std::pair<std::size_t, std::string>> names;
    for (const Entry& entry : catalogue())
        names.emplace_back(support::edit_distance(name, entry.name), entry.name);
    std::sort(names.begin(), names.end());
    names.erase(std::unique(names.begin(), names.end()), names.end());
    names.resize(std::min(names.size(), kShown));
    std::vector<std::string> nearest;
    nearest.reserve(names.size());
    for (auto& [distance, known] : names) nearest.push_back(std::move(known));
    return nearest;
}

}  // namespace explaining
