// SPDX-License-Identifier: BSD-2-Clause
#include "tools/softverbs/explore/shrink.hpp"

#include <algorithm>

namespace softverbs::explore {
namespace {

/// @return the bounds of `parts` parts of a list: the i-th begins at [i] and ends before [i + 1].
std::vector<std::ptrdiff_t> bounds(std::size_t size, std::size_t parts) {
    std::vector<std::ptrdiff_t> all;
    for (std::size_t i = 0; i <= parts; ++i)
        all.push_back(static_cast<std::ptrdiff_t>(size * i / parts));
    return all;
}

/// @return the parts alone, and then, if these are others, the list without each part.
std::vector<Rules> candidates(const Rules& rules, std::size_t parts) {
    const auto at = bounds(rules.size(), parts);
    std::vector<Rules> all;
    for (std::size_t i = 0; i < parts; ++i)
        all.emplace_back(rules.begin() + at[i], rules.begin() + at[i + 1]);
    for (std::size_t i = 0; i < parts && parts > 2; ++i) {
        Rules rest(rules.begin(), rules.begin() + at[i]);
        rest.insert(rest.end(), rules.begin() + at[i + 1], rules.end());
        all.push_back(std::move(rest));
    }
    return all;
}

}  // namespace

Rules shrink(Rules rules, const TryAll& try_all) {
    for (std::size_t parts = 2; rules.size() >= 2;) {
        parts = std::min(parts, rules.size());
        auto all = candidates(rules, parts);
        if (const auto found = try_all(all)) {
            // What is left of a list without one part has the same parts; they are not tried again
            // as wholes.
            parts = *found < parts ? 2 : std::max<std::size_t>(parts - 1, 2);
            rules = std::move(all[*found]);
        } else if (parts == rules.size()) {
            break;
        } else {
            parts *= 2;
        }
    }
    return rules;
}

}  // namespace softverbs::explore
