// SPDX-License-Identifier: BSD-2-Clause
#include "tools/softverbs/options.hpp"

#include <getopt.h>

#include <charconv>
#include <cstdio>
#include <cstring>
#include <vector>

#include "config.h"
#include "providers/soft/softverbs/fabric/devices.hpp"

namespace softverbs::tool {
namespace {

/// A letter, or a value above all letters for an option without one.
enum Code {
    kHelpCode = 'h',
    kVersionCode = 'V',
    kJsonCode = 'j',
    kFabricCode = 1000,
    kCmCode,
    kOnlyCode,
    kDevicesCode,
    kPortsCode,
    kDropInCode,
    kSharedHeapCode,
    kDryCode
};

struct Option {
    Code code;
    const char* name;
    const char* argument;  ///< nullptr for none
    const char* help;
};

constexpr Option kHelp = {kHelpCode, "help", nullptr, "print this help"};
constexpr Option kFabric = {kFabricCode, "fabric", "DIR",
                            "the fabric's directory (default: SOFTVERBS_FABRIC, else your own)"};

struct CommandSyntax {
    const char* name;
    Command command;
    int usage_status;
    const char* operands;
    const char* purpose;
    std::vector<Option> options;
};

const std::vector<CommandSyntax>& commands() {
    static const std::vector<CommandSyntax> all = {
        {"run",
         Command::kRun,
         kRunFailed,
         "PROGRAM [ARGUMENT]...",
         "runs a program on the verbs device soft0",
         {kFabric,
          {kCmCode, "cm", "WHOSE", "which rdma_cm to use, one of soft0, system [soft0]"},
          {kOnlyCode, "only", nullptr, "hide the devices of the system"},
          {kDevicesCode, "devices", "N", "show N devices, soft0 and following; 1 to 16 [1]"},
          {kPortsCode, "ports", "N", "each with N ports; 1 or 2 [1]"},
          {kDropInCode, "drop-in", nullptr, "also for programs that load libibverbs by dlopen"},
          {kSharedHeapCode, "shared-heap", nullptr,
           "malloc and large mmap return memory that peers reach by plain copies"},
          kHelp}},
        {"ls",
         Command::kList,
         kUsage,
         "",
         "lists the processes of a fabric, their queue pairs, completion queues and memory regions",
         {kFabric, {kJsonCode, "json", nullptr, "print JSON, see softverbs(1)"}, kHelp}},
        {"clean",
         Command::kClean,
         kUsage,
         "",
         "removes what dead processes left in a fabric",
         {kFabric, {kDryCode, "dry-run", nullptr, "only show what would be removed"}, kHelp}},
    };
    return all;
}

void print_option(const Option& option) {
    const std::string letter =
        option.code < 256 ? std::string("-") + static_cast<char>(option.code) + ", " : "    ";
    const std::string text =
        letter + "--" + option.name + (option.argument ? std::string("=") + option.argument : "");
    std::printf("  %-18s  %s\n", text.c_str(), option.help);
}

void print_help() {
    std::puts(
        "usage: softverbs COMMAND [OPTION]...\n"
        "RDMA verbs without an adapter: the software device soft0. See softverbs(1) and "
        "softverbs(7).\n\n"
        "commands (softverbs COMMAND --help shows more):");
    for (const CommandSyntax& command : commands())
        std::printf("  %-18s  %s\n", command.name, command.purpose);
    std::puts("\noptions:");
    print_option(kHelp);
    print_option({kVersionCode, "version", nullptr, "print the version"});
}

void print_help(const CommandSyntax& command) {
    std::printf("usage: softverbs %s [OPTION]... %s\nIt %s.\n\n", command.name, command.operands,
                command.purpose);
    for (const Option& option : command.options) print_option(option);
    if (command.command == Command::kRun)
        std::puts(
            "\nExit status: the program's; 125 softverbs itself failed, 126 the program cannot be "
            "executed, 127 it was not found.");
    else
        std::puts("\nExit status: 0 done, 1 failed, 2 wrong usage.");
}

std::nullopt_t wrong_usage(const char* command, int own_status, int& status) {
    std::fprintf(stderr, "softverbs: see `softverbs %s%s--help`\n", command, *command ? " " : "");
    status = own_status;
    return std::nullopt;
}

bool take_count(unsigned& count, const char* option, const char* value, unsigned most) {
    const char* const end = value + std::strlen(value);
    const auto [rest, error] = std::from_chars(value, end, count);
    if (error == std::errc() && rest == end && count >= 1 && count <= most) return true;
    std::fprintf(stderr, "softverbs: %s: '%s' is not a number from 1 to %u\n", option, value, most);
    return false;
}

bool take(Options& options, int code, const char* value) {
    switch (code) {
        case kFabricCode:
            options.fabric = value;
            if (options.fabric.empty())
                std::fputs("softverbs: --fabric: no directory is named\n", stderr);
            return !options.fabric.empty();
        case kCmCode:
            options.cm = value;
            if (options.cm == "system" || options.cm == "soft0") return true;
            std::fprintf(stderr, "softverbs: --cm: '%s' is neither system nor soft0\n", value);
            return false;
        case kOnlyCode:
            return options.only = true;
        case kDevicesCode:
            return take_count(options.devices, "--devices", value, kMostDevices);
        case kPortsCode:
            return take_count(options.ports, "--ports", value, kMostPorts);
        case kDropInCode:
            return options.drop_in = true;
        case kSharedHeapCode:
            return options.shared_heap = true;
        case kJsonCode:
            return options.json = true;
        case kDryCode:
            return options.dry_run = true;
        default:
            return false;  // getopt has reported it
    }
}

/// @param argv with the command's name in argv[0].
std::optional<Options> parse_command(const CommandSyntax& command, int argc, char** argv,
                                     int& status) {
    std::vector<option> names;
    // The first operand ends our options; what follows belongs to the program.
    std::string letters = "+";
    for (const Option& known : command.options) {
        names.push_back(
            {known.name, known.argument ? required_argument : no_argument, nullptr, known.code});
        if (known.code < 256) letters += static_cast<char>(known.code);
    }
    names.push_back({});
    Options options;
    options.command = command.command;
    const std::string own_name = std::string("softverbs ") + command.name;
    std::string shown = own_name;
    argv[0] = shown.data();
    optind = 0;
    int code;
    while ((code = getopt_long(argc, argv, letters.c_str(), names.data(), nullptr)) != -1) {
        if (code == kHelpCode) {
            print_help(command);
            status = 0;
            return std::nullopt;
        }
        if (!take(options, code, optarg))
            return wrong_usage(command.name, command.usage_status, status);
    }
    const bool wants_program = command.command == Command::kRun;
    if (wants_program != (optind < argc)) {
        if (wants_program)
            std::fputs("softverbs run: no program is named\n", stderr);
        else
            std::fprintf(stderr, "%s: unexpected argument '%s'\n", own_name.c_str(), argv[optind]);
        return wrong_usage(command.name, command.usage_status, status);
    }
    options.program = argv + optind;
    return options;
}

}  // namespace

std::optional<Options> parse(int argc, char** argv, int& status) {
    status = 0;
    if (argc < 2) {
        std::fputs("softverbs: no command is named\n", stderr);
        return wrong_usage("", kUsage, status);
    }
    const auto given = [first = argv[1]](const char* letter, const char* name) {
        return std::strcmp(first, letter) == 0 || std::strcmp(first, name) == 0;
    };
    if (given("-h", "--help")) {
        print_help();
        return std::nullopt;
    }
    if (given("-V", "--version")) {
        std::puts("softverbs (" PACKAGE_NAME ") " PACKAGE_VERSION);
        return std::nullopt;
    }
    for (const CommandSyntax& command : commands())
        if (std::strcmp(argv[1], command.name) == 0)
            return parse_command(command, argc - 1, argv + 1, status);
    std::fprintf(stderr, "softverbs: unknown command '%s'\n", argv[1]);
    return wrong_usage("", kUsage, status);
}

}  // namespace softverbs::tool
