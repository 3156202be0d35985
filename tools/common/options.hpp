// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Command lines of the tools: the parser, the help and, from the help, shell completion all come
/// from one table of options. Implemented with CLI11, which is compiled only in options.cpp.
///
/// All tools share one vocabulary. These letters have no other meaning in any tool: `-i,--ia`,
/// `-s,--size`, `-t,--timeout`, `-j,--json`, `-v,--verbose`, `-q,--quiet`, `-V,--version`,
/// `-h,--help`. Names that a tool used before are in Option::aliases.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

namespace tools {

/// Exit statuses that all tools share. Those of a single tool begin at 3.
inline constexpr int kFailureStatus = 1;
inline constexpr int kUsageStatus = 2;

/// Thrown by a Take for an argument that is not accepted, and by a tool for options that cannot be
/// combined; parse() prints it.
class WrongUsage : public std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// Receives the argument of an option, "" for a flag; called each time the option is given, in the
/// order of the command line.
using Take = std::function<void(const std::string&)>;

inline constexpr int kAnyNumber = -1;

struct Option {
    const char* names;     ///< `-j,--json`, or `host` for a positional argument
    const char* argument;  ///< its name in the help; nullptr for a flag
    /// One line, lower case, with the default in brackets at the end. Completion reads the possible
    /// words of an argument from `one of A, B, C` or `some of A, B, C` at the beginning.
    const char* help;
    Take take;
    /// For a positional argument: how often it may be given, 1 or kAnyNumber, and whether it must
    /// be given.
    int maximum = 1;
    bool required = false;
    const char* aliases = nullptr;  ///< `-P,--provider`: old spellings that the help does not show
};

struct Command {
    const char* name;
    const char* help;
    std::vector<Option> options;
};

struct CommandLine {
    const char* tool;
    const char* summary;  ///< what the tool does, and usage lines
    std::vector<Option> options;
    std::vector<Command> commands;  ///< if there are any, one must be given
    const char* footer;             ///< the exit statuses
    /// Checks the options together, once all are parsed; throws WrongUsage if they do not fit.
    std::function<void()> check = {};
};

struct Parsed {
    std::optional<int> exit_status;  ///< set when the process must exit: after the help or an error
    std::string command;             ///< the one of CommandLine::commands that was given
};

/// Adds -h,--help and -V,--version to the table and parses the command line. Errors are reported on
/// stderr.
Parsed parse(const CommandLine& line, int argc, char** argv);
/// Called after all output: a full disk or a closed pipe is a failure too. @return the exit status
int flush_output();
/// Runs a tool's work and reports exceptions on stderr. @return what `work` returns, or
/// `failure_status` after an exception
int run(const char* tool, const std::function<int()>& work, int failure_status = kFailureStatus);

// -- targets: what stores an argument
Take flag(bool& target);
Take text(std::string& target);
Take list(std::vector<std::string>& target);
Take choice(std::string& target, std::vector<std::string> known);
/// Takes the id of an object as messages print it: hexadecimal digits, with or without 0x.
Take object_id(std::uint64_t& target);
/// @return a Take that calls `number` for an argument that is a number and `word` for any other:
/// for a letter that had another meaning before.
Take number_or(Take number, Take word);

/// @return the number that the whole `text` represents. @throw WrongUsage if it is out of the
/// limits
double parse_real(const std::string& text, double least, double most);
long long parse_integer(const std::string& text, long long least, long long most);

template <class Number>
Take number(Number& target, long long least, long long most) {
    return [&target, least, most](const std::string& text) {
        target = static_cast<Number>(parse_integer(text, least, most));
    };
}

inline Take real(double& target, double least, double most) {
    return
        [&target, least, most](const std::string& text) { target = parse_real(text, least, most); };
}

}  // namespace tools
