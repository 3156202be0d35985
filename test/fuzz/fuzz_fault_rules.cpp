// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Fuzzes the reader of fault rules with any bytes: whatever it takes, it prints as text from which
/// it makes the same rule.
#include <cstddef>
#include <cstdint>
#include <string>

#include "providers/soft/softverbs/faults/rule_text.hpp"
#include "test/fuzz/input.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace softverbs::faults;
    // A copy of the exact size, so that the address sanitizer catches a read past the end.
    const std::string input(reinterpret_cast<const char*>(data), size);
    const auto rules = parse_rules(input);
    if (!rules) {
        test::require(rules.error().rfind("line ", 0) == 0, "an error names its line");
        return 0;
    }
    for (const Rule& rule : *rules) {
        const std::string text = to_text(rule);
        const auto again = parse_rule(text);
        test::require(again && *again == rule, "the same rule is read again");
    }
    return 0;
}
