// SPDX-License-Identifier: BSD-2-Clause
#include "dat/registry/conf_file.hpp"

#include <optional>
#include <utility>

#include "support/base/text_file.hpp"
#include "support/log/log.hpp"
#include "support/settings/settings.hpp"

namespace dat {
namespace {

/// A real file has a hundred lines; a larger one was meant to be something else.
constexpr std::size_t kMaxFileSize = 16 << 20;

}  // namespace

ConfFile read_conf_file(const ConfPlace& place) {
    ConfFile file{place.path, {}, {}};
    const auto text = support::read_text_file(file.path, kMaxFileSize);
    if (text)
        file.text = read_dat_conf(*text);
    else
        file.unreadable = text.error().text;
    return file;
}

std::vector<ConfPlace> conf_places() {
    if (support::setting_is_set(support::Setting::kDatOverride))
        return {
            {support::setting_text(support::Setting::kDatOverride), "environment DAT_OVERRIDE"}};
    std::vector<ConfPlace> places{{DAT_CONF_DIRECTORY "/dat.conf", "default"}};
    if (places.front().path != "/etc/dat.conf") places.push_back({"/etc/dat.conf", "default"});
    return places;
}

ConfFile read_conf_file() {
    std::optional<ConfFile> first;
    for (const ConfPlace& place : conf_places()) {
        ConfFile file = read_conf_file(place);
        if (file.unreadable.empty()) return file;
        if (!first) first = std::move(file);
    }
    return std::move(*first);
}

void report_problems(const ConfFile& file) {
    const ConfText& text = file.text;
    for (const ConfProblem& problem : text.problems)
        support::report<support::kBadConfLine>(file.path, problem.line, problem.column,
                                               problem.field, problem.found, problem.accepted);
    if (text.bad_lines > text.problems.size())
        support::report<support::kMoreBadConfLines>(file.path,
                                                    text.bad_lines - text.problems.size());
}

}  // namespace dat
