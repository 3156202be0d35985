// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Command lines with CLI11. The only file that includes it, because it takes long to compile.
#include "tools/common/options.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <iostream>

#include "config.h"

namespace tools {
namespace {

/// @return the option's `take`, with the option's name added to its WrongUsage errors.
Take named(const Option& option) {
    return [take = option.take, names = std::string(option.names)](const std::string& word) {
        try {
            take(word);
        } catch (const WrongUsage& error) {
            throw WrongUsage(names + ": " + error.what());
        }
    };
}

CLI::Option* add_one(CLI::App& app, const Option& option) {
    const Take take = named(option);
    if (!option.argument)
        return app
            .add_flag_callback(
                option.names, [take] { take(""); }, option.help)
            ->trigger_on_parse();
    // CLI11 passes only the words that were read since the last call.
    CLI::Option* added = app.add_option(
        option.names,
        [take](const CLI::results_t& words) {
            for (const std::string& word : words) take(word);
            return true;
        },
        option.help);
    added->type_name(option.argument)->type_size(1)->trigger_on_parse();
    if (option.names[0] == '-') {
        added->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
        return added;
    }
    added->required(option.required);
    if (option.maximum == kAnyNumber)
        added->expected(1, CLI::detail::expected_max_vector_size)->allow_extra_args();
    return added;
}

void add(CLI::App& app, const Option& option) {
    add_one(app, option);
    if (!option.aliases) return;
    Option hidden = option;
    hidden.names = option.aliases;
    add_one(app, hidden)->group("");
}

void add_all(CLI::App& app, const std::vector<Option>& options) {
    app.set_help_flag("-h,--help", "print this help");
    for (const Option& option : options) add(app, option);
}

template <class Number>
bool parse_whole(const std::string& text, Number& value) {
    const char* end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data(), end, value);
    return error == std::errc() && stop == end;
}

/// @return the error. An unknown argument is reported before a missing command, because it may be
/// that command, misspelled.
std::string what_is_wrong(const CLI::App& app, const CLI::ParseError& error) {
    const auto unknown = app.remaining();
    if (error.get_name() != "RequiredError" || unknown.empty()) return error.what();
    return "unknown argument " + unknown.front();
}

int usage_error(const char* tool, const std::string& what) {
    std::cerr << tool << ": " << what << "; " << tool << " --help lists the options\n";
    return kUsageStatus;
}

}  // namespace

int flush_output() {
    return std::fflush(stdout) == 0 && !std::ferror(stdout) ? 0 : kFailureStatus;
}

int run(const char* tool, const std::function<int()>& work, int failure_status) {
    try {
        return work();
    } catch (const std::exception& failure) {
        std::fflush(stdout);
        std::fprintf(stderr, "%s: %s\n", tool, failure.what());
        return failure_status;
    }
}

Parsed parse(const CommandLine& line, int argc, char** argv) {
    CLI::App app{line.summary, line.tool};
    add_all(app, line.options);
    app.set_version_flag("-V,--version", std::string(line.tool) + " " PACKAGE_VERSION,
                         "print the version");
    app.footer(std::string("\n") + line.footer + "\n");
    for (const Command& command : line.commands)
        add_all(*app.add_subcommand(command.name, command.help), command.options);
    if (!line.commands.empty()) app.require_subcommand(1);
    try {
        app.parse(argc, argv);
        if (line.check) line.check();
    } catch (const CLI::ParseError& error) {
        if (error.get_exit_code() != 0)
            return {usage_error(line.tool, what_is_wrong(app, error)), ""};
        app.exit(error);
        return {std::cout.flush() ? 0 : kFailureStatus, ""};
    } catch (const WrongUsage& error) {
        return {usage_error(line.tool, error.what()), ""};
    }
    const auto given = app.get_subcommands();
    return {std::nullopt, given.empty() ? "" : given.front()->get_name()};
}

Take flag(bool& target) {
    return [&target](const std::string&) { target = true; };
}

Take number_or(Take number, Take word) {
    return [number = std::move(number), word = std::move(word)](const std::string& text) {
        double value = 0;
        (parse_whole(text, value) ? number : word)(text);
    };
}

Take text(std::string& target) {
    return [&target](const std::string& text) { target = text; };
}

Take list(std::vector<std::string>& target) {
    return [&target](const std::string& text) { target.push_back(text); };
}

Take choice(std::string& target, std::vector<std::string> known) {
    return [&target, known = std::move(known)](const std::string& text) {
        if (std::find(known.begin(), known.end(), text) == known.end()) {
            std::string names;
            for (const std::string& name : known) names += (names.empty() ? "" : ", ") + name;
            throw WrongUsage("'" + text + "' is not one of: " + names);
        }
        target = text;
    };
}

Take object_id(std::uint64_t& target) {
    return [&target](const std::string& text) {
        constexpr int kHexadecimal = 16;
        const bool prefixed = text.starts_with("0x") || text.starts_with("0X");
        const char* begin = text.data() + (prefixed ? 2 : 0);
        const char* end = text.data() + text.size();
        std::uint64_t id = 0;
        const auto [stop, error] = std::from_chars(begin, end, id, kHexadecimal);
        if (error != std::errc() || stop != end || id == 0)
            throw WrongUsage("'" + text + "' is not the id of an object: hexadecimal digits, as " +
                             "after EP in a message");
        target = id;
    };
}

long long parse_integer(const std::string& text, long long least, long long most) {
    long long value = 0;
    if (parse_whole(text, value) && value >= least && value <= most) return value;
    throw WrongUsage("'" + text + "' is not a number from " + std::to_string(least) + " to " +
                     std::to_string(most));
}

double parse_real(const std::string& text, double least, double most) {
    double value = 0;
    if (parse_whole(text, value) && value >= least && value <= most) return value;
    std::ostringstream limits;
    limits << least << " to " << most;
    throw WrongUsage("'" + text + "' is not a number from " + limits.str());
}

}  // namespace tools
