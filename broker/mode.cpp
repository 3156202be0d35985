// SPDX-License-Identifier: BSD-2-Clause
#include "broker/mode.hpp"

#include <algorithm>
#include <atomic>

#include "support/log/log.hpp"
#include "support/settings/settings.hpp"

namespace dapl::memory {

using support::Setting;

namespace {
constexpr struct {
    const char* name;
    Mode mode;
} kModes[] = {{"off", Mode::kOff},
              {"on", Mode::kOn},
              {"transparent", Mode::kTransparent},
              {"per-io", Mode::kPerIo}};
}  // namespace

const char* name_of(Mode mode) {
    return kModes[static_cast<int>(mode)].name;
}

const char* name_of(BracketWay way) {
    return way == BracketWay::kWindows ? "windows" : "registrations";
}

BracketWay bracket_way_of(const std::string& ia_name, bool has_windows) {
    static std::atomic<bool> told{false};
    const std::string wanted = support::setting_text(Setting::kRegistrationBrackets, ia_name);
    if (wanted == name_of(BracketWay::kRegistrations)) return BracketWay::kRegistrations;
    if (wanted != name_of(BracketWay::kWindows) && !told.exchange(true))
        support::report<support::kBadSettingValue>(
            support::setting_label(Setting::kRegistrationBrackets, ia_name), wanted,
            "windows or registrations", "windows");
    return has_windows ? BracketWay::kWindows : BracketWay::kRegistrations;
}

Mode mode_of(const std::string& ia_name) {
    static std::atomic<bool> told{false};
    const std::string wanted = support::setting_text(Setting::kRegistrations, ia_name);
    for (const auto& known : kModes)
        if (wanted == known.name) return known.mode;
    if (!wanted.empty() && !told.exchange(true))
        support::report<support::kBadSettingValue>(
            support::setting_label(Setting::kRegistrations, ia_name), wanted,
            "off, on, transparent or per-io", "off");
    return Mode::kOff;
}

Terms terms_of(const std::string& ia_name, std::uint64_t device_entries) {
    const auto number = [&ia_name](Setting setting) {
        return static_cast<std::uint64_t>(support::setting_integer(setting, ia_name));
    };
    constexpr std::uint64_t kNanosecondsPerMicrosecond = 1000;
    Terms terms;
    terms.entries = number(Setting::kRegistrationEntries);
    if (terms.entries == 0) terms.entries = std::max<std::uint64_t>(device_entries, 1);
    terms.bytes = number(Setting::kRegistrationBytes);
    terms.grace = number(Setting::kRegistrationGrace) * kNanosecondsPerMicrosecond;
    const auto part = [&](Setting setting) {
        return static_cast<std::uint32_t>(
            std::min<std::uint64_t>(terms.entries * number(setting) / 100, UINT32_MAX));
    };
    terms.low = part(Setting::kRegistrationLow);
    terms.high = std::max(terms.low, part(Setting::kRegistrationHigh));
    terms.policy = support::setting_text(Setting::kRegistrationPolicy, ia_name);
    return terms;
}

}  // namespace dapl::memory
