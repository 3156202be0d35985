// SPDX-License-Identifier: BSD-2-Clause
#include "tools/common/getopt_table.hpp"

#include <cerrno>
#include <cstdlib>

namespace tools {

void print_option(std::FILE* to, const GetoptOption& option) {
    char names[64];
    const char* argument = option.argument ? option.argument : "";
    const char* equals = option.argument ? "=" : "";
    if (option.letter < 256) {
        std::snprintf(names, sizeof names, "-%c, --%s%s%s", option.letter, option.name, equals,
                      argument);
    } else {
        std::snprintf(names, sizeof names, "    --%s%s%s", option.name, equals, argument);
    }
    std::fprintf(to, "  %-26s  %s\n", names, option.help);
}

void add_option(Syntax& syntax, const GetoptOption& option) {
    const int has_argument = option.argument ? required_argument : no_argument;
    syntax.names.push_back({option.name, has_argument, nullptr, option.letter});
    if (option.letter >= 256) return;
    syntax.letters += static_cast<char>(option.letter);
    if (option.argument) syntax.letters += ':';
}

bool parse_number(const char* tool, const char* name, const char* text, std::uint32_t minimum,
                  std::uint32_t maximum, std::uint32_t& value) {
    char* end = nullptr;
    errno = 0;
    const unsigned long long number = std::strtoull(text, &end, 0);
    if (*text >= '0' && *text <= '9' && *end == '\0' && errno == 0 && number >= minimum &&
        number <= maximum) {
        value = static_cast<std::uint32_t>(number);
        return true;
    }
    std::fprintf(stderr, "%s: %s: '%s' is not a number from %u to %u\n", tool, name, text, minimum,
                 maximum);
    return false;
}

}  // namespace tools
