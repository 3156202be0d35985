// SPDX-License-Identifier: BSD-2-Clause
#include "test/dtest/options.hpp"

#include <algorithm>
#include <cstdio>

#include "config.h"
#include "tools/common/getopt_table.hpp"

namespace dtest {

using namespace tools;

namespace {

constexpr int kHelp = 1000;
constexpr int kTimeout = 1001;
constexpr int kIa = 1002;

constexpr GetoptOption kOptions[] = {
    {'s', "server", nullptr, "run as the server (default)"},
    {'h', "host", "HOST",
     "run as a client of the server on HOST; the provider is then the server's"},
    {'P', "provider", "IA", "provider, as named in dat.conf (default soft0)"},
    {kIa, "ia", "IA", "the same, as other tools call it"},
    {'b', "buffer-length", "N", "bytes of a transfer (default 4194304; 1 with -W alone)"},
    {'B', "burst", "N", "number of RDMA writes (default 1000)"},
    {'S', "signal-rate", "N", "ask for a completion every N RDMA writes (default 10)"},
    {'u', "one-way", nullptr, "RDMA writes in one direction only, client to server"},
    {'w', "write-only", nullptr, "RDMA write stream only"},
    {'W', "write-ping-pong", nullptr, "RDMA write ping-pong only; sets -u -S 1 -B 1000"},
    {'D', "data-check", nullptr, "check each message of the ping-pong as it arrives; implies -W"},
    {'a', "all-sizes", nullptr, "with -W: all powers of two up to -b, and their neighbours"},
    {'i', "increment", "N", "with -W: as -a, but multiples of N"},
    {'c', "cno", nullptr, "wait through a CNO"},
    {'p', "poll", nullptr, "poll with dat_evd_dequeue instead of waiting"},
    {'d', "delay", "SECONDS", "wait so long before accepting (default 0)"},
    {'t', "times", nullptr, "print the time that each step took"},
    {'v', "verbose", nullptr, "print each step"},
    {'U', "usage", nullptr, "print this help and exit with status 244"},
    {kTimeout, "timeout", "SECONDS", "give up when the peer stands still for so long (default 30)"},
    {'V', "version", nullptr, "print the version"},
    {kHelp, "help", nullptr, "print this help"},
};

void print_help(std::FILE* to) {
    std::fputs(
        "\n DAPL USAGE\n\n"
        "usage: dtest [-P NAME] [OPTION]...            server\n"
        "       dtest -h HOST [OPTION]...              client\n"
        "Connects two processes over a DAT provider, transfers data in every way and checks each "
        "byte.\n"
        "Both sides take the same -b, -B, -u, -w, -W, -D, -a and -i.\n\n",
        to);
    for (const GetoptOption& option : kOptions) print_option(to, option);
    std::fputs("\nExit status: 0 all passed, 1 something failed, 244 wrong usage.\n", to);
}

bool take_number(const char* option, const char* text, std::uint32_t minimum, std::uint32_t maximum,
                 std::uint32_t& value) {
    return parse_number("dtest", option, text, minimum, maximum, value);
}

void choose_write_ping_pong(Options& options) {
    options.write_ping_pong = true;
    options.one_way = true;
    options.signal_rate = 1;
    options.burst = 1000;
}

/// Applies one option, in the order of the command line: -W overrides an earlier -S or -B.
bool take(Options& options, int letter, const char* value) {
    switch (letter) {
        case 's':
            options.host.clear();
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
            options.size_given = true;
            return take_number("-b", value, 1, 1 << 30, options.size);
        case 'B':
            return take_number("-B", value, 1, 100'000'000, options.burst);
        case 'S':
            return take_number("-S", value, 1, 1'000'000, options.signal_rate);
        case 'i':
            options.all_sizes = true;
            return take_number("-i", value, 1, 1 << 30, options.increment);
        case 'd':
            return take_number("-d", value, 0, 3600, options.delay_seconds);
        case kTimeout:
            return take_number("--timeout", value, 1, 86400, options.timeout_seconds);
        case 'u':
            options.one_way = true;
            return true;
        case 'w':
            options.write_only = true;
            return true;
        case 'D':
            options.data_check = true;
            [[fallthrough]];
        case 'W':
            choose_write_ping_pong(options);
            return true;
        case 'a':
            options.all_sizes = true;
            return true;
        case 'c':
            options.cno = true;
            return true;
        case 'p':
            options.poll = true;
            return true;
        case 't':
            options.times = true;
            return true;
        case 'v':
            options.verbose = true;
            return true;
        default:
            return false;
    }
}

bool consistent(Options& options) {
    if (options.all_sizes && !options.write_ping_pong) {
        std::fputs("dtest: -a and -i need -W\n", stderr);
        return false;
    }
    if (options.increment > options.size) {
        std::fputs("dtest: -i must not be above -b\n", stderr);
        return false;
    }
    options.signal_rate = std::min(options.signal_rate, options.burst);
    if (options.write_ping_pong && !options.all_sizes && !options.data_check &&
        !options.size_given) {
        options.size = 1;
    }
    return true;
}

}  // namespace

Terms Options::terms() const {
    Terms terms;
    terms.modes = (one_way ? Terms::kOneWay : 0) | (write_only ? Terms::kWriteOnly : 0) |
                  (write_ping_pong ? Terms::kWritePingPong : 0) |
                  (all_sizes ? Terms::kAllSizes : 0);
    terms.size = size;
    terms.burst = burst;
    terms.increment = increment;
    return terms;
}

std::vector<std::uint32_t> Options::sizes() const {
    if (!all_sizes) return {size};
    std::vector<std::uint32_t> middles;
    if (increment != 0) {
        for (std::uint64_t i = 1; i * increment <= size; ++i) {
            middles.push_back(static_cast<std::uint32_t>(i * increment));
        }
    } else {
        for (std::uint32_t power = 1; power < 2 * static_cast<std::uint64_t>(size); power *= 2) {
            middles.push_back(power);
        }
    }
    std::vector<std::uint32_t> result;
    for (const std::uint32_t middle : middles) {
        if (middle > 4) result.push_back(middle - 1);
        result.push_back(middle);
        if (middle > 1 && middle < size) result.push_back(middle + 1);
    }
    return result;
}

std::uint32_t Options::largest_size() const {
    const std::vector<std::uint32_t> all = sizes();
    return all.empty() ? size : *std::max_element(all.begin(), all.end());
}

std::optional<Options> parse_options(int argc, char** argv, int& exit_status) {
    const Syntax syntax = getopt_syntax(kOptions);
    Options options;
    exit_status = kUsageStatus;
    for (int letter; (letter = getopt_long(argc, argv, syntax.letters.c_str(), syntax.names.data(),
                                           nullptr)) != -1;) {
        if (letter == kHelp || letter == 'U') {
            print_help(stdout);
            if (letter == kHelp) exit_status = 0;
            return std::nullopt;
        }
        if (letter == 'V') {
            std::puts("dtest " PACKAGE_VERSION);
            exit_status = 0;
            return std::nullopt;
        }
        if (!take(options, letter, optarg)) {
            std::fputs("dtest: wrong usage; dtest --help lists the options\n", stderr);
            return std::nullopt;
        }
    }
    if (optind < argc) {
        std::fprintf(stderr, "dtest: '%s' is no option; dtest --help lists them\n", argv[optind]);
        return std::nullopt;
    }
    if (!consistent(options)) return std::nullopt;
    exit_status = 0;
    return options;
}

}  // namespace dtest
