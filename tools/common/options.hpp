// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Command lines of the tools: a table of options, from which come the parser, the help and, by way
/// of the help, the completion of shells. CLI11 does the work behind it and is compiled once, in
/// options.cpp.
///
/// All tools share one vocabulary. These letters have no other meaning in any tool:
/// `-i,--ia`, `-s,--size`, `-t,--timeout`, `-j,--json`, `-v,--verbose`, `-q,--quiet`,
/// `-V,--version`,
/// `-h,--help`. What a tool called differently before stands in Option::aliases.
#pragma once

#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

namespace tools {

/// Exit statuses that all tools share. Those of one tool alone begin at 3.
inline constexpr int kFailureStatus = 1;
inline constexpr int kUsageStatus = 2;

/// Thrown by a Take for an argument that is not accepted, and by a tool for options that do not go
/// together; parse() prints it.
class WrongUsage : public std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// Takes the argument of an option, "" for a flag; called for each time that the option is given,
/// in the order of the command line.
using Take = std::function<void(const std::string&)>;

inline constexpr int kAnyNumber = -1;

struct Option {
    const char* names;     ///< `-j,--json`, or `host` for a word that is no option
    const char* argument;  ///< what the help calls it; nullptr for a flag
    /// One line, lower case; the default in brackets at its end. Completion reads the words that an
    /// argument can be from `one of A, B, C` or `some of A, B, C` at its beginning.
    const char* help;
    Take take;
    /// For a word that is no option: how often it may be there, 1 or kAnyNumber, and whether it
    /// must be.
    int maximum = 1;
    bool required = false;
    const char* aliases =
        nullptr;  ///< `-P,--provider`: old spellings, which the help does not show
};

struct Command {
    const char* name;
    const char* help;
    std::vector<Option> options;
};

struct CommandLine {
    const char* tool;
    const char* summary;  ///< what it does, and lines of usage
    std::vector<Option> options;
    std::vector<Command> commands;  ///< where there are any, one must be given
    const char* footer;             ///< the exit statuses
    /// What must hold for the options together; throws WrongUsage where it does not. Called once
    /// all are there.
    std::function<void()> check = {};
};

struct Parsed {
    std::optional<int>
        exit_status;      ///< the process is to end with it: help was printed, or what is wrong
    std::string command;  ///< the one of CommandLine::commands that was given
};

/// Adds -h,--help and -V,--version to the table and obeys it. What is wrong is told on stderr.
Parsed parse(const CommandLine& line, int argc, char** argv);
/// To be called when all is printed: a full disk or a closed pipe is a failure too. @return the
/// exit status
int flush_output();
/// Does a tool's work, and tells on stderr what it throws. @return what it returns, else
/// `failure_status`
int run(const char* tool, const std::function<int()>& work, int failure_status = kFailureStatus);

// -- targets
// -------------------------------------------------------------------------------------------
Take flag(bool& target);
Take text(std::string& target);
Take list(std::vector<std::string>& target);
Take choice(std::string& target, std::vector<std::string> known);
/// @return what calls `number` for an argument that is a number, `word` for any other: for a letter
/// that had another meaning before.
Take number_or(Take number, Take word);

/// @return the number that the whole of `text` is. @throw WrongUsage unless it is within the limits
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
