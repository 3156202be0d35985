// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Command lines parsed by getopt: the parser and the help come from one table.
#pragma once

#include <getopt.h>

#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

namespace tools {

struct GetoptOption {
    int letter;  ///< or a value of 256 and above for an option without a letter
    const char* name;
    const char* argument;  ///< nullptr for none
    const char* help;
};

/// The arguments of getopt_long().
struct Syntax {
    std::string letters;
    std::vector<option> names;
};

/// Prints the option's line of the help.
void print_option(std::FILE* to, const GetoptOption& option);
void add_option(Syntax& syntax, const GetoptOption& option);

template <std::size_t count>
Syntax getopt_syntax(const GetoptOption (&options)[count]) {
    Syntax syntax;
    for (const GetoptOption& option : options) add_option(syntax, option);
    syntax.names.push_back({});
    return syntax;
}

/// @return whether `text` is a number from `minimum` to `maximum`; reports on stderr if it is not.
/// @param tool, name the program and the option, for the message
bool parse_number(const char* tool, const char* name, const char* text, std::uint32_t minimum,
                  std::uint32_t maximum, std::uint32_t& value);

}  // namespace tools
