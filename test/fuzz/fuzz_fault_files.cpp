// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Fuzzes the reader of YAML files of fault rules with any bytes: the rules that it takes are those
/// of the text that it prints of them.
#include <cstddef>
#include <cstdint>
#include <string>

#include "providers/soft/softverbs/faults/rule_files.hpp"
#include "test/fuzz/input.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace softverbs::faults;
    // A copy of the exact size, so that the address sanitizer catches a read past the end.
    const std::string input(reinterpret_cast<const char*>(data), size);
    const auto rules = parse_yaml_rules(input, opendat_yaml_read_1);
    if (!rules) {
        test::require(rules.error().rfind("line ", 0) == 0, "an error names its line");
        test::require(rules.error().find(", column ") != std::string::npos, "and its column");
        return 0;
    }
    const auto again = parse_rules(to_text(*rules));
    test::require(again && *again == *rules, "the same rules are read again");
    return 0;
}
