// SPDX-License-Identifier: BSD-2-Clause
#include "test/dtest_ext/options.hpp"

#include <cstdio>

#include "config.h"
#include "tools/common/getopt_table.hpp"

namespace dtest_ext {

using namespace tools;

namespace {

constexpr int kHelp = 1000;
constexpr int kIa = 1001;
constexpr int kTimeout = 1002;
constexpr int kSeed = 1003;
constexpr int kRounds = 1004;

constexpr GetoptOption kOptions[] = {
    {'s', "server", nullptr, "run as the server (default)"},
    {'c', "client", nullptr, "run as a client of the server on this machine, unless -h names one"},
    {'h', "host", "HOST",
     "run as a client of the server on HOST; the provider is then the server's"},
    {'P', "provider", "IA", "provider, as named in dat.conf (default soft0)"},
    {kIa, "ia", "IA", "the same, as other tools call it"},
    {'b', "buffer-length", "N", "bytes of the largest transfer (default 4096)"},
    {'u', "datagrams", nullptr, "datagram endpoints only"},
    {'U', "datagram-endpoints", "N", "the client's datagram endpoints (default 4)"},
    {'m', "many-servers", nullptr, "one datagram endpoint of the server for each of the client"},
    {'q', "query", nullptr, "print the provider's attributes and end"},
    {'p', "counters", nullptr, "print the counters at the end"},
    {'v', "verbose", nullptr, "print each check as it begins"},
    {kSeed, "seed", "N", "what every number and byte that is sent derives from (default 1)"},
    {kRounds, "rounds", "N", "go through all checks so often (default 1)"},
    {kTimeout, "timeout", "SECONDS", "give up when the peer stands still for so long (default 60)"},
    {'V', "version", nullptr, "print the version"},
    {kHelp, "help", nullptr, "print this help"},
};

void print_help(std::FILE* to) {
    std::fputs(
        "usage: dtest_ext [-P NAME] [OPTION]...            server\n"
        "       dtest_ext -h HOST [OPTION]...              client\n"
        "       dtest_ext -q [-P NAME]                     attributes of a provider\n"
        "Checks the extensions of a DAT provider between two processes: immediate data, atomic\n"
        "operations, datagrams, counters and attributes. Both sides take the same -b, -u, -U,\n"
        "-m, --seed and --rounds. The program is installed as dtestx too.\n\n",
        to);
    for (const GetoptOption& option : kOptions) print_option(to, option);
    std::fputs("\nExit status: 0 all passed, 1 something failed, 244 wrong usage.\n", to);
}

bool take_number(const char* option, const char* text, std::uint32_t minimum, std::uint32_t maximum,
                 std::uint32_t& value) {
    return parse_number("dtest_ext", option, text, minimum, maximum, value);
}

bool take(Options& options, int letter, const char* value) {
    switch (letter) {
        case 's':
            options.host.clear();
            return true;
        case 'c':
            if (options.host.empty()) options.host = "localhost";
            return true;
        case 'h':
            options.host = value;
            return !options.host.empty();
        case 'P':
        case kIa:
            options.provider = value;
            options.provider_given = true;
            return true;
        case 'b':
            return take_number("-b", value, 8, 1 << 24, options.size);
        case 'U':
            options.datagrams_only = true;
            return take_number("-U", value, 1, 64, options.datagram_endpoints);
        case kSeed:
            return take_number("--seed", value, 0, 0xffffffff, options.seed);
        case kRounds:
            return take_number("--rounds", value, 1, 1'000'000, options.rounds);
        case kTimeout:
            return take_number("--timeout", value, 1, 86400, options.timeout_seconds);
        case 'm':
            options.many_servers = true;
            [[fallthrough]];
        case 'u':
            options.datagrams_only = true;
            return true;
        case 'q':
            options.query = true;
            return true;
        case 'p':
            options.counters = true;
            return true;
        case 'v':
            options.verbose = true;
            return true;
        default:
            return false;
    }
}

}  // namespace

dtest::Terms Options::terms() const {
    dtest::Terms terms;
    terms.modes = dtest::Terms::kExtensions | (datagrams_only ? dtest::Terms::kDatagrams : 0) |
                  (many_servers ? dtest::Terms::kManyServers : 0);
    terms.size = size;
    terms.burst = datagram_endpoints;
    terms.increment = rounds;
    return terms;
}

std::optional<Options> parse_options(int argc, char** argv, int& exit_status) {
    const Syntax syntax = getopt_syntax(kOptions);
    Options options;
    exit_status = kUsageStatus;
    for (int letter; (letter = getopt_long(argc, argv, syntax.letters.c_str(), syntax.names.data(),
                                           nullptr)) != -1;) {
        if (letter == kHelp || letter == 'V') {
            if (letter == kHelp) print_help(stdout);
            if (letter == 'V') std::puts("dtest_ext " PACKAGE_VERSION);
            exit_status = 0;
            return std::nullopt;
        }
        if (!take(options, letter, optarg)) {
            std::fputs("dtest_ext: wrong usage; dtest_ext --help lists the options\n", stderr);
            return std::nullopt;
        }
    }
    if (optind < argc) {
        std::fprintf(stderr, "dtest_ext: '%s' is no option; dtest_ext --help lists them\n",
                     argv[optind]);
        return std::nullopt;
    }
    exit_status = 0;
    return options;
}

}  // namespace dtest_ext
