// SPDX-License-Identifier: BSD-2-Clause
#include "tools/softverbs/options.hpp"

#include <getopt.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <vector>

#include "config.h"
#include "providers/soft/softverbs/fabric/devices.hpp"
#include "providers/soft/softverbs/faults/rule_files.hpp"
#include "tools/softverbs/explore/options.hpp"

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
    kExplainCode,
    kCheckCode,
    kDevicesCode,
    kPortsCode,
    kLinkCode,
    kDropInCode,
    kSharedHeapCode,
    kFaultsCode,
    kSeedCode,
    kFaultLogCode,
    kTimeScaleCode,
    kDryCode
};

struct Option {
    Code code;
    const char* name;
    const char* argument;  ///< nullptr for none
    const char* help;
    bool may_lack_argument = false;
};

constexpr unsigned kMostTimeScale = 100000;

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
          {kExplainCode, "explain", nullptr, "say at the end which devices it took, and why"},
          {kCheckCode, "check", "LIST",
           "check its verbs calls: all of them, or some of memory, buffers, queues, life", true},
          {kDevicesCode, "devices", "N", "show N devices, soft0 and following; 1 to 16 [1]"},
          {kPortsCode, "ports", "N", "each with N ports; 1 or 2 [1]"},
          {kLinkCode, "link", "LAYER",
           "the devices' link layer, one of infiniband, roce [infiniband]"},
          {kDropInCode, "drop-in", nullptr, "also for programs that load libibverbs by dlopen"},
          {kSharedHeapCode, "shared-heap", nullptr,
           "malloc and large mmap return memory that peers reach by plain copies"},
          {kFaultsCode, "faults", "RULES", "apply fault rules, or those of a file: @FILE"},
          {kSeedCode, "seed", "N", "of rules with a probability; 0 to 2147483647 [1]"},
          {kTimeScaleCode, "time-scale", "N", "the device's timers run N times as fast [1]"},
          {kFaultLogCode, "fault-log", "FILE",
           "log the faults that were applied there, as rules [faults.log in the fabric]"},
          kHelp}},
        {"ls",
         Command::kList,
         kUsage,
         "",
         "lists the processes of a fabric, their queue pairs, completion queues and memory regions",
         {kFabric, {kJsonCode, "json", nullptr, "print JSON, see softverbs(1)"}, kHelp}},
        {"port",
         Command::kPort,
         kUsage,
         "DEVICE[/PORT] [down|up]",
         "shows or changes the link of a port, for all processes of a fabric",
         {kFabric, kHelp}},
        {"device",
         Command::kDevice,
         kUsage,
         "DEVICE [remove|add]",
         "shows whether a device is there, removes it, or adds it again",
         {kFabric, kHelp}},
        {"fault",
         Command::kFault,
         kUsage,
         "[list] | add RULE|@FILE | clear | log",
         "lists or changes the fault rules of a fabric, or shows its log of faults",
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

std::string argument_of(const Option& option) {
    if (!option.argument) return {};
    const std::string text = std::string("=") + option.argument;
    return option.may_lack_argument ? "[" + text + "]" : text;
}

int getopt_argument(const Option& option) {
    if (!option.argument) return no_argument;
    return option.may_lack_argument ? optional_argument : required_argument;
}

void print_option(const Option& option) {
    const std::string letter =
        option.code < 256 ? std::string("-") + static_cast<char>(option.code) + ", " : "    ";
    const std::string text = letter + "--" + option.name + argument_of(option);
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
    std::printf("  %-18s  %s\n", "explore", explore::kPurpose);
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
            "executed, 127 it was not found; with --check 99 if anything was found.");
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

/// Takes the rules of a file for the program, which then needs no reader of YAML. A list that is
/// too long for the environment is left to it; the program may change its directory.
void take_file(Options& options, const std::string& path, const std::vector<faults::Rule>& rules) {
    constexpr std::size_t kMostInEnvironment = 64 * 1024;
    options.faults = faults::to_text(rules);
    if (options.faults.empty() || options.faults.size() > kMostInEnvironment)
        options.faults = "@" + path;
}

/// Complains of rules that are wrong before the program starts. @return whether they are right.
bool take_faults(Options& options, const char* value) {
    options.faults = value;
    const bool is_file = value[0] == '@';
    const std::string path = is_file ? std::filesystem::absolute(value + 1).string() : "";
    const auto rules = is_file ? faults::read_rules_file(path) : faults::parse_rules(value);
    if (rules) {
        if (is_file) take_file(options, path, *rules);
        return true;
    }
    std::fprintf(stderr, "softverbs: --faults: %s%s%s\n", path.c_str(), is_file ? ": " : "",
                 rules.error().c_str());
    return false;
}

bool take_seed(Options& options, const char* value) {
    constexpr unsigned kMostSeed = 2147483647;
    unsigned seed = 0;
    options.seed = value;
    return options.seed == "0" || take_count(seed, "--seed", value, kMostSeed);
}

bool take_check(Options& options, const std::string& list) {
    constexpr std::string_view kWords[] = {"on",    "memory", "buffers",    "queues",
                                           "order", "life",   "portability"};
    for (std::size_t at = 0; at <= list.size();) {
        const std::size_t end = std::min(list.find(',', at), list.size());
        const std::string word = list.substr(at, end - at);
        if (std::find(std::begin(kWords), std::end(kWords), word) == std::end(kWords)) {
            std::fprintf(stderr,
                         "softverbs: --check: '%s' is none of on, memory, buffers, queues, order, "
                         "life, portability\n",
                         word.c_str());
            return false;
        }
        at = end + 1;
    }
    options.check = list;
    return true;
}

bool take(Options& options, int code, const char* value) {
    switch (code) {
        case kFaultsCode:
            return take_faults(options, value);
        case kSeedCode:
            return take_seed(options, value);
        case kFaultLogCode:
            options.fault_log = std::filesystem::absolute(value).string();
            return true;
        case kTimeScaleCode:
            return take_count(options.time_scale, "--time-scale", value, kMostTimeScale);
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
        case kExplainCode:
            return options.explain = true;
        case kCheckCode:
            return take_check(options, value ? value : "on");
        case kDevicesCode:
            return take_count(options.devices, "--devices", value, kMostDevices);
        case kPortsCode:
            return take_count(options.ports, "--ports", value, kMostPorts);
        case kLinkCode:
            options.link = value;
            if (parse_link_layer(value)) return true;
            std::fprintf(stderr, "softverbs: --link: '%s' is neither infiniband nor roce\n", value);
            return false;
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

bool complain(const CommandSyntax& command, const std::string& what) {
    std::fprintf(stderr, "softverbs %s: %s\n", command.name, what.c_str());
    return false;
}

/// Takes the operands of `port` and `device`: which one, and what is to become of it.
bool take_change(const CommandSyntax& command, char** operands, int count, Options& options) {
    const bool is_port = command.command == Command::kPort;
    if (count == 0) return complain(command, "no device is named");
    const std::string named = operands[0];
    const auto found = faults::parse_port(named);
    if (!found || (!is_port && found->port != 0))
        return complain(command, "'" + named + "' is not one of soft0 to soft15" +
                                     (is_port ? ", with /1 or /2 behind it for its port" : ""));
    options.port = {found->device, std::max(found->port, 1u)};
    if (count == 1) return true;
    options.change = operands[1];
    const bool is_known = is_port ? options.change == "down" || options.change == "up"
                                  : options.change == "remove" || options.change == "add";
    if (!is_known)
        return complain(command, "'" + options.change + "' is neither " +
                                     (is_port ? "down nor up" : "remove nor add"));
    return count == 2 ||
           complain(command, std::string("unexpected argument '") + operands[2] + "'");
}

/// Takes a rule, or those of a file.
bool take_rules(const CommandSyntax& command, const std::string& given, Options& options) {
    if (given[0] == '@') {
        auto rules = faults::read_rules_file(given.substr(1));
        if (!rules) return complain(command, given.substr(1) + ": " + rules.error());
        options.rules = std::move(*rules);
        return true;
    }
    auto rule = faults::parse_rule(given);
    if (!rule) return complain(command, rule.error());
    options.rules = {std::move(*rule)};
    return true;
}

/// Takes what `fault` is to do.
bool take_fault_command(const CommandSyntax& command, char** operands, int count,
                        Options& options) {
    struct Name {
        const char* name;
        FaultCommand command;
        int operands;
    };
    constexpr Name kNames[] = {{"list", FaultCommand::kList, 0},
                               {"add", FaultCommand::kAdd, 1},
                               {"clear", FaultCommand::kClear, 0},
                               {"log", FaultCommand::kLog, 0}};
    if (count == 0) return true;
    const std::string_view named = operands[0];
    const Name* const found = std::find_if(std::begin(kNames), std::end(kNames),
                                           [&](const Name& known) { return named == known.name; });
    if (found == std::end(kNames))
        return complain(command, "'" + std::string(named) + "' is none of list, add, clear, log");
    if (count - 1 != found->operands)
        return complain(command, found->operands != 0 ? "add takes one rule, in quotes"
                                                      : std::string(named) + " takes no argument");
    options.fault = found->command;
    if (found->operands == 0) return true;
    return take_rules(command, operands[1], options);
}

/// @return whether the operands are as many as the command takes, and make sense.
bool take_operands(const CommandSyntax& command, char** operands, int count, Options& options) {
    switch (command.command) {
        case Command::kRun:
            return count != 0 || complain(command, "no program is named");
        case Command::kPort:
        case Command::kDevice:
            return take_change(command, operands, count, options);
        case Command::kFault:
            return take_fault_command(command, operands, count, options);
        default:
            return count == 0 ||
                   complain(command, std::string("unexpected argument '") + operands[0] + "'");
    }
}

/// @param argv with the command's name in argv[0].
std::optional<Options> parse_command(const CommandSyntax& command, int argc, char** argv,
                                     int& status) {
    std::vector<option> names;
    // The first operand ends our options; what follows belongs to the program.
    std::string letters = "+";
    for (const Option& known : command.options) {
        names.push_back({known.name, getopt_argument(known), nullptr, known.code});
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
    if (!take_operands(command, argv + optind, argc - optind, options))
        return wrong_usage(command.name, command.usage_status, status);
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
