// SPDX-License-Identifier: BSD-2-Clause
#include "providers/soft/softverbs/faults/rule_text.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cmath>

#include "support/base/edit_distance.hpp"

namespace softverbs::faults {
namespace {

using Status = tl::expected<void, std::string>;
using Words = std::vector<std::string_view>;

tl::unexpected<std::string> wrong(std::string text) {
    return tl::unexpected<std::string>(std::move(text));
}

struct Unit {
    const char* name;
    double factor;
};

constexpr Unit kTimes[] = {{"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}, {"min", 60e9}};
constexpr Unit kSizes[] = {
    {"", 1}, {"B", 1}, {"KiB", 1024}, {"MiB", 1024 * 1024}, {"GiB", 1024. * 1024 * 1024}};
constexpr Unit kRates[] = {{"B/s", 1}, {"kB/s", 1e3}, {"MB/s", 1e6}, {"GB/s", 1e9}};

struct ErrnoName {
    const char* name;
    int value;
};
constexpr ErrnoName kErrnos[] = {{"ENOMEM", ENOMEM},
                                 {"EINVAL", EINVAL},
                                 {"EAGAIN", EAGAIN},
                                 {"EPERM", EPERM},
                                 {"EBUSY", EBUSY},
                                 {"EFAULT", EFAULT},
                                 {"EIO", EIO},
                                 {"EMFILE", EMFILE},
                                 {"ENOSPC", ENOSPC},
                                 {"ETIMEDOUT", ETIMEDOUT},
                                 {"EOPNOTSUPP", EOPNOTSUPP}};

/// InfiniBand's reject reason "consumer reject".
constexpr int kRejectedByConsumer = 28;

/// The largest number that a double counts to.
constexpr double kMostUnits = 9007199254740992.0;

/// @return the amount in the unit with factor 1, which is a whole number; nullopt for anything
/// else.
template <std::size_t n>
std::optional<std::uint64_t> amount(std::string_view text, const Unit (&units)[n]) {
    double number = 0;
    const auto [rest, error] =
        std::from_chars(text.data(), text.data() + text.size(), number, std::chars_format::fixed);
    if (error != std::errc() || number < 0) return std::nullopt;
    const std::string_view unit = text.substr(static_cast<std::size_t>(rest - text.data()));
    for (const Unit& known : units) {
        const double all = number * known.factor;
        if (unit == known.name && all <= kMostUnits)
            return static_cast<std::uint64_t>(std::llround(all));
    }
    return std::nullopt;
}

template <std::size_t n>
std::string with_unit(std::uint64_t number, const Unit (&units)[n]) {
    for (std::size_t i = n; i-- > 1;) {
        const auto factor = static_cast<std::uint64_t>(units[i].factor);
        if (factor != 1 && number != 0 && number % factor == 0)
            return fmt::format("{}{}", number / factor, units[i].name);
    }
    return fmt::format("{}{}", number, units[0].name);
}

Status take_time(std::string_view value, Duration& into) {
    const auto found = amount(value, kTimes);
    if (!found) return wrong(fmt::format("'{}' is not a time, like 20ms or 1.5s", value));
    into = Duration(static_cast<Duration::rep>(*found));
    return {};
}

template <class Number>
Status take_number(std::string_view value, Number& into) {
    const auto [rest, error] = std::from_chars(value.data(), value.data() + value.size(), into);
    if (error == std::errc() && rest == value.data() + value.size() && into > 0) return {};
    return wrong(fmt::format("'{}' is not a number from 1 on", value));
}

Status take_service(std::string_view value, Rule& rule) {
    if (take_number(value, rule.service) && rule.service <= 65535) return {};
    return wrong(fmt::format("'{}' is not a port from 1 to 65535", value));
}

/// Takes `64`, `64-4KiB` or `4KiB-`.
Status take_sizes(std::string_view value, Rule& rule) {
    const auto dash = value.find('-');
    const auto smallest = amount(value.substr(0, dash), kSizes);
    const std::string_view end = dash == value.npos ? value : value.substr(dash + 1);
    const auto largest = end.empty() ? std::optional(Rule().largest) : amount(end, kSizes);
    if (!smallest || !largest || *smallest > *largest)
        return wrong(fmt::format("'{}' is not a size or a range of sizes, like 64-4KiB", value));
    rule.smallest = *smallest;
    rule.largest = *largest;
    return {};
}

Status take_probability(std::string_view value, Rule& rule) {
    const auto [rest, error] =
        std::from_chars(value.data(), value.data() + value.size(), rule.probability);
    if (error == std::errc() && rest == value.data() + value.size() && rule.probability >= 0 &&
        rule.probability <= 1)
        return {};
    return wrong(fmt::format("'{}' is not a probability from 0 to 1", value));
}

Status take_type(std::string_view value, Rule& rule) {
    for (const TypeName& known : kTypes) {
        if (value != known.name) continue;
        rule.types = known.bit;
        return {};
    }
    return wrong(fmt::format("'{}' is none of rc, uc, ud, xrc", value));
}

/// Takes `soft1` or `soft1/2`.
Status take_device(std::string_view value, Rule& rule) {
    const auto named = parse_port(value);
    if (!named)
        return wrong(
            fmt::format("'{}' is not one of soft0 to soft15, with /1 or /2 for a port", value));
    rule.device = named->device;
    rule.port = named->port;
    return {};
}

Status take_name(std::string_view value, std::string& into) {
    if (value.empty()) return wrong("there is nothing behind '='");
    into = value;
    return {};
}

/// @return the name among those offered that is most like `text`, for "did you mean".
template <class Table, class Offered>
std::string guess(std::string_view text, const Table& table, const Offered& is_offered) {
    std::vector<std::string_view> names;
    for (const auto& row : table)
        if (is_offered(row)) names.push_back(row.name);
    const auto distance = [&](std::string_view name) { return support::edit_distance(text, name); };
    const auto best = std::min_element(names.begin(), names.end(),
                                       [&](auto a, auto b) { return distance(a) < distance(b); });
    if (best != names.end() && distance(*best) <= 2 && distance(*best) < text.size())
        return fmt::format(", did you mean '{}'?", *best);
    std::string all;
    for (const std::string_view name : names) all += (all.empty() ? "" : ", ") + std::string(name);
    return ", which is none of: " + all;
}

Status take_event(std::string_view value, Rule& rule) {
    for (const EventName& known : kEvents) {
        if (value != known.name) continue;
        rule.event = known.type;
        return {};
    }
    return wrong(
        fmt::format("'{}'{}", value, guess(value, kEvents, [](const auto&) { return true; })));
}

struct Key {
    const char* name;
    std::uint16_t groups;
    Status (*take)(std::string_view value, Rule& rule);
};

constexpr std::uint16_t kOfProcess = kCall | kStep | kConnect | kMessage | kEvent;
constexpr std::uint16_t kCounted = kRequest | kPost | kOfProcess;
constexpr Key kKeys[] = {
    {"program", kCounted | kByClock,
     [](auto value, Rule& rule) { return take_name(value, rule.program); }},
    {"rank", kCounted | kByClock,
     [](auto value, Rule& rule) { return take_name(value, rule.rank); }},
    {"peer", kRequest | kMessage,
     [](auto value, Rule& rule) { return take_name(value, rule.peer); }},
    {"peer_rank", kRequest | kMessage,
     [](auto value, Rule& rule) { return take_name(value, rule.peer_rank); }},
    {"service", kRequest | kPost | kStep | kConnect | kMessage,
     [](auto value, Rule& rule) { return take_service(value, rule); }},
    {"event", kEvent, [](auto value, Rule& rule) { return take_event(value, rule); }},
    {"qp", kRequest | kPost,
     [](auto value, Rule& rule) { return take_number(value, rule.queue_pair); }},
    {"device", kRequest | kPost, [](auto value, Rule& rule) { return take_device(value, rule); }},
    {"type", kRequest | kPost, [](auto value, Rule& rule) { return take_type(value, rule); }},
    {"size", kRequest, [](auto value, Rule& rule) { return take_sizes(value, rule); }},
    {"nth", kCounted, [](auto value, Rule& rule) { return take_number(value, rule.nth); }},
    {"every", kCounted, [](auto value, Rule& rule) { return take_number(value, rule.every); }},
    {"from", kCounted, [](auto value, Rule& rule) { return take_number(value, rule.from); }},
    {"to", kCounted, [](auto value, Rule& rule) { return take_number(value, rule.to); }},
    {"times", kCounted, [](auto value, Rule& rule) { return take_number(value, rule.times); }},
    {"probability", kCounted, [](auto value, Rule& rule) { return take_probability(value, rule); }},
    {"after", kCounted | kByClock,
     [](auto value, Rule& rule) { return take_time(value, rule.after); }},
    {"before", kCounted, [](auto value, Rule& rule) { return take_time(value, rule.before); }},
};

Status take_condition(std::string_view word, Rule& rule) {
    const auto equals = word.find('=');
    if (equals == word.npos)
        return wrong(fmt::format("'{}' is not a condition, like nth=1000", word));
    const std::string_view name = word.substr(0, equals);
    const std::uint16_t group = rule.group();
    for (const Key& key : kKeys)
        if (name == key.name && (key.groups & group) != 0)
            return key.take(word.substr(equals + 1), rule);
    return wrong(fmt::format("'{}'{}", name, guess(name, kKeys, [group](const Key& key) {
                                 return (key.groups & group) != 0;
                             })));
}

Status take_subject(std::string_view word, Rule& rule) {
    for (std::size_t i = 0; i < kSubjectCount; ++i) {
        if (word != kSubjects[i].name) continue;
        rule.subject = static_cast<Subject>(i);
        return {};
    }
    return wrong(
        fmt::format("'{}'{}", word, guess(word, kSubjects, [](const auto&) { return true; })));
}

/// Takes what is in front of the arrow.
Status take_head(Words words, Rule& rule) {
    if (words.empty()) return wrong("the rule says nothing of what it is for");
    if (const Status status = take_subject(words[0], rule); !status) return status;
    std::size_t next = 1;
    if ((rule.group() & kByClock) != 0 && words.size() > 1 && words[1].find('=') == words[1].npos) {
        if (const Status status = take_device(words[1], rule); !status) return status;
        next = 2;
    }
    for (; next < words.size(); ++next)
        if (const Status status = take_condition(words[next], rule); !status) return status;
    return {};
}

Status take_errno(std::string_view word, Rule& rule) {
    for (const ErrnoName& known : kErrnos) {
        if (word != known.name) continue;
        rule.error = known.value;
        return {};
    }
    return wrong(
        fmt::format("'{}'{}", word, guess(word, kErrnos, [](const auto&) { return true; })));
}

Status take_rate(std::string_view word, Rule& rule) {
    const auto found = amount(word, kRates);
    if (!found || *found == 0)
        return wrong(fmt::format("'{}' is not a bandwidth, like 1.5GB/s or 200MB/s", word));
    rule.rate = *found;
    return {};
}

/// Takes a word and the time behind it, if the word is next.
Status take_timed(const char* word, Words& words, Duration& into) {
    if (words.empty() || words[0] != word) return {};
    if (words.size() == 1) return wrong(fmt::format("there is no time behind '{}'", word));
    if (const Status status = take_time(words[1], into); !status) return status;
    if (into == Duration::zero()) return wrong(fmt::format("the time behind '{}' is 0", word));
    words.erase(words.begin(), words.begin() + 2);
    return {};
}

Status take_periods(Words& words, Rule& rule) {
    if (const Status status = take_timed("for", words, rule.duration); !status) return status;
    if ((rule.group() & kByClock) == 0) return {};
    if (const Status status = take_timed("every", words, rule.period); !status) return status;
    if (rule.period != Duration::zero() &&
        (rule.duration == Duration::zero() || rule.period <= rule.duration))
        return wrong("it begins again before it has ended");
    return {};
}

Status take_argument(Words& words, Rule& rule) {
    const auto next = [&] {
        const std::string_view word = words.front();
        words.erase(words.begin());
        return word;
    };
    switch (rule.what().argument) {
        case Argument::kNone:
            return {};
        case Argument::kFor:
            return take_periods(words, rule);
        case Argument::kEvery:
            return take_timed("every", words, rule.period);
        case Argument::kErrno:
            rule.error = ENOMEM;
            return words.empty() ? Status() : take_errno(next(), rule);
        case Argument::kReason:
            rule.error = kRejectedByConsumer;
            return words.empty() ? Status() : take_number(next(), rule.error);
        case Argument::kDuration:
            if (words.empty())
                return wrong(fmt::format("there is no time behind '{}'", rule.what().name));
            return take_time(next(), rule.duration);
        case Argument::kRate:
            if (words.empty()) return wrong("there is no bandwidth behind 'bandwidth'");
            return take_rate(next(), rule);
    }
    return {};
}

/// Takes what is behind the arrow.
Status take_tail(Words words, Rule& rule) {
    if (words.empty()) return wrong("the rule does not say what happens");
    const auto fits = [&](const ActionInfo& action) { return (action.groups & rule.group()) != 0; };
    const auto* const found =
        std::find_if(std::begin(kActions), std::end(kActions),
                     [&](auto& action) { return words[0] == action.name && fits(action); });
    if (found == std::end(kActions))
        return wrong(fmt::format("'{}'{}", words[0], guess(words[0], kActions, fits)));
    rule.action = static_cast<Action>(found - std::begin(kActions));
    words.erase(words.begin());
    if (const Status status = take_argument(words, rule); !status) return status;
    if (!words.empty()) return wrong(fmt::format("'{}' is one word too many", words[0]));
    return {};
}

/// Checks what is only known of the whole rule.
Status check(const Rule& rule) {
    if (rule.nth != 0 && (rule.every != 0 || rule.from != 0 || rule.to != 0 || rule.times != 0))
        return wrong("nth names one alone, so every, from, to and times say nothing beside it");
    if (rule.to != 0 && rule.from > rule.to) return wrong("from is behind to");
    if (rule.before != Duration::zero() && rule.after >= rule.before)
        return wrong("after is not earlier than before");
    if ((rule.group() & (kRequest | kPost)) != 0 && (rule.types & rule.what().types) == 0)
        return wrong(
            fmt::format("'{}' cannot happen on a queue pair of this type", rule.what().name));
    if (rule.event && rule.subject != Subject::kAsyncEvent)
        return wrong("only async_event has several events");
    if (rule.subject == Subject::kDevice && rule.port != 0)
        return wrong("a device fails with all its ports");
    if (rule.what().argument == Argument::kEvery && rule.after == rule.period)
        return wrong("nobody hears of it when the device is opened: it needs after= or 'every'");
    return {};
}

Words words_of(std::string_view text, std::string_view separators) {
    Words words;
    for (std::size_t at = 0; (at = text.find_first_not_of(separators, at)) != text.npos;) {
        const std::size_t end = std::min(text.find_first_of(separators, at), text.size());
        words.push_back(text.substr(at, end - at));
        at = end;
    }
    return words;
}

constexpr std::string_view kArrow = "->", kBlanks = " \t\r";

void print_counts(std::string& text, const Rule& rule) {
    const auto number = [&](const char* name, std::uint64_t value) {
        if (value != 0) text += fmt::format(" {}={}", name, value);
    };
    number("qp", rule.queue_pair);
    number("nth", rule.nth);
    number("every", rule.every);
    number("from", rule.from);
    number("to", rule.to);
    number("times", rule.times);
    if (rule.probability != 1) text += fmt::format(" probability={}", rule.probability);
    if (rule.after != Duration::zero()) text += " after=" + to_text(rule.after);
    if (rule.before != Duration::zero()) text += " before=" + to_text(rule.before);
}

std::string device_text(const Rule& rule) {
    return rule.port == 0 ? fmt::format("soft{}", *rule.device)
                          : fmt::format("soft{}/{}", *rule.device, rule.port);
}

void print_sizes(std::string& text, const Rule& rule) {
    const Rule any;
    if (rule.smallest == any.smallest && rule.largest == any.largest) return;
    text += " size=" + with_unit(rule.smallest, kSizes);
    if (rule.largest == any.largest)
        text += '-';
    else if (rule.largest != rule.smallest)
        text += '-' + with_unit(rule.largest, kSizes);
}

void print_place(std::string& text, const Rule& rule) {
    if ((rule.group() & kByClock) != 0 && rule.device) text += ' ' + device_text(rule);
    if (!rule.program.empty()) text += " program=" + rule.program;
    if (!rule.rank.empty()) text += " rank=" + rule.rank;
    if (!rule.peer.empty()) text += " peer=" + rule.peer;
    if (!rule.peer_rank.empty()) text += " peer_rank=" + rule.peer_rank;
    if (rule.service != 0) text += fmt::format(" service={}", rule.service);
    for (const EventName& known : kEvents)
        if (rule.event == known.type) text += fmt::format(" event={}", known.name);
    if ((rule.group() & kByClock) == 0 && rule.device) text += " device=" + device_text(rule);
    for (const TypeName& known : kTypes)
        if (rule.types == known.bit) text += fmt::format(" type={}", known.name);
    print_sizes(text, rule);
}

std::string argument_text(const Rule& rule) {
    switch (rule.what().argument) {
        case Argument::kNone:
            return {};
        case Argument::kDuration:
            return ' ' + to_text(rule.duration);
        case Argument::kRate:
            return ' ' + with_unit(rule.rate, kRates);
        case Argument::kErrno:
            for (const ErrnoName& known : kErrnos)
                if (known.value == rule.error) return fmt::format(" {}", known.name);
            return {};
        case Argument::kReason:
            return fmt::format(" {}", rule.error);
        case Argument::kEvery:
        case Argument::kFor:
            return (rule.duration == Duration::zero() ? "" : " for " + to_text(rule.duration)) +
                   (rule.period == Duration::zero() ? "" : " every " + to_text(rule.period));
    }
    return {};
}

}  // namespace

std::optional<PortName> parse_port(std::string_view name) {
    constexpr std::string_view kStem = "soft";
    if (name.substr(0, kStem.size()) != kStem) return std::nullopt;
    const std::string_view number = name.substr(kStem.size(), name.find('/') - kStem.size());
    const std::string_view port = name.substr(kStem.size() + number.size());
    PortName found;
    const char* const end = number.data() + number.size();
    const auto [rest, error] = std::from_chars(number.data(), end, found.device);
    const bool is_padded = number.size() > 1 && number[0] == '0';
    if (error != std::errc() || rest != end || is_padded || found.device > 15) return std::nullopt;
    if (port == "/1" || port == "/2") found.port = static_cast<unsigned>(port[1] - '0');
    return port.empty() || found.port != 0 ? std::optional(found) : std::nullopt;
}

tl::expected<Rule, std::string> parse_rule(std::string_view text) {
    auto split = text.find(kArrow);
    std::size_t width = kArrow.size();
    if (split == text.npos) {
        split = text.find(':');
        width = 1;
    }
    if (split == text.npos) return wrong("the rule has no '->' before what happens");
    Rule rule;
    std::string separators(kBlanks);
    separators += ",:";
    auto status = take_head(words_of(text.substr(0, split), separators), rule);
    if (status) status = take_tail(words_of(text.substr(split + width), kBlanks), rule);
    if (status) status = check(rule);
    if (!status) return wrong(status.error());
    return rule;
}

tl::expected<std::vector<Rule>, std::string> parse_rules(std::string_view text) {
    std::vector<Rule> rules;
    std::size_t line_number = 0;
    while (!text.empty()) {
        ++line_number;
        const auto end = std::min(text.find('\n'), text.size());
        std::string_view line = text.substr(0, end);
        text.remove_prefix(std::min(end + 1, text.size()));
        for (const std::string_view one : words_of(line.substr(0, line.find('#')), ";")) {
            if (one.find_first_not_of(kBlanks) == one.npos) continue;
            auto rule = parse_rule(one);
            if (!rule) return wrong(fmt::format("line {}: {}", line_number, rule.error()));
            rules.push_back(std::move(*rule));
        }
    }
    return rules;
}

std::string to_text(const Rule& rule) {
    std::string text = kSubjects[static_cast<std::size_t>(rule.subject)].name;
    print_place(text, rule);
    print_counts(text, rule);
    return text + " -> " + rule.what().name + argument_text(rule);
}

std::string to_text(Duration duration) {
    return with_unit(static_cast<std::uint64_t>(duration.count()), kTimes);
}

}  // namespace softverbs::faults
