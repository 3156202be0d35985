// SPDX-License-Identifier: BSD-2-Clause
#include "dat/tools/strerror/catalogue.hpp"

#include <dat2/udat.h>
#include <infiniband/verbs.h>

#include <algorithm>
#include <cctype>
#include <charconv>

#include "dapl/support/edit_distance.hpp"
#include "dapl/support/messages.hpp"

namespace explaining {
namespace {

struct Help {
    const support::Message* message;
    const char* causes;
    const char* next_step;
};

constexpr Help kHelp[] = {
#define HELP(message, causes, next_step) {&support::message, causes, next_step},
#include "dat/tools/strerror/message_help.def"
#undef HELP
};

/// The text with "..." where evidence is filled in.
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
#include "dapl/support/dat_codes.def"
#undef TYPE
#undef SUBTYPE
    all.push_back({"type", "DAT_EXTENSION_BASE", long{DAT_EXTENSION_BASE},
                   "the code is one of the provider's extensions", "a call of an extension failed",
                   "see the extension's page; the provider names it (dat_strerror)"});
#define TYPE(...)
#define SUBTYPE(name, meaning, causes, next_step) \
    all.push_back({"subtype", #name, long{name}, meaning, causes, next_step});
#include "dapl/support/dat_codes.def"
#undef TYPE
#undef SUBTYPE
}

void add_statuses(std::vector<Entry>& all) {
#define COMPLETION_STATUS(name, number, dat, text, causes, next_step) \
    all.push_back(                                                    \
        {"completion status", #name, number, text ", which DAT calls " #dat, causes, next_step});
#include "dapl/support/completion_statuses.def"
#undef COMPLETION_STATUS
}

/// DAT's own: several of verbs share one, whose causes are put together.
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
#include "dapl/support/completion_statuses.def"
#undef COMPLETION_STATUS
#define EVENT(...)
#define DTO_STATUS(name, meaning, causes, next_step) \
    add(#name, long{name}, meaning, causes, next_step);
#include "dat/tools/strerror/events.def"
#undef EVENT
#undef DTO_STATUS
}

void add_reasons(std::vector<Entry>& all) {
#define REJECT_REASON(number, name, meaning, next_step)     \
    all.push_back({"reject reason", #name, number, meaning, \
                   "the peer's connection manager or program refused the request", next_step});
#include "dapl/support/reject_reasons.def"
#undef REJECT_REASON
}

void add_events(std::vector<Entry>& all) {
#define EVENT(name, meaning, causes, next_step) \
    all.push_back({"event", #name, long{name}, meaning, causes, next_step});
#define DTO_STATUS(...)
#include "dat/tools/strerror/events.def"
#undef EVENT
#undef DTO_STATUS
}

std::string upper_case(std::string_view text) {
    std::string result(text);
    for (char& c : result) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
    return result;
}

/// The number that the whole of a text is; DAT_RETURN has 32 bits, and programs print it with or
/// without a sign.
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

/// "opendat: error: ... [DAT240]" becomes DAT240.
std::string_view message_id_in(std::string_view word) {
    const std::size_t begin = word.rfind('[');
    const std::size_t end = word.rfind(']');
    if (begin == std::string_view::npos || end == std::string_view::npos || end < begin)
        return word;
    return word.substr(begin + 1, end - begin - 1);
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
    return found;
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
    for (auto& [distance, known] : names) nearest.push_back(std::move(known));
    return nearest;
}

}  // namespace explaining
