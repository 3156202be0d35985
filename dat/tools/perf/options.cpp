// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The only file that includes CLI11, which takes long to compile.
#include "dat/tools/perf/options.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <iostream>
#include <sstream>

#include "config.h"
#include "dat/tools/perf/cpus.hpp"

namespace perf {

namespace {

/// @return a number with K, M or G (2^10, 2^20, 2^30) behind it, or nothing.
std::optional<std::uint64_t> parse_size(const std::string& text) {
    static const std::string units = "KMG";
    std::size_t end = 0;
    if (text.empty() || text[0] < '0' || text[0] > '9' || text.size() > 12) return std::nullopt;
    std::uint64_t size = std::stoull(text, &end);
    if (end + 1 == text.size()) {
        const std::size_t unit = units.find(static_cast<char>(std::toupper(text[end])));
        if (unit == std::string::npos) return std::nullopt;
        size <<= 10 * (unit + 1);
        ++end;
    }
    if (end != text.size() || size < 1 || size > kLargestSize) return std::nullopt;
    return size;
}

/// Takes `SIZE` or `FROM-TO`, which is FROM and its doubles up to TO.
std::vector<std::uint64_t> parse_sizes(const std::string& text) {
    const std::size_t dash = text.find('-');
    const std::optional<std::uint64_t> first = parse_size(text.substr(0, dash));
    const std::optional<std::uint64_t> last =
        dash == std::string::npos ? first : parse_size(text.substr(dash + 1));
    if (!first || !last || *last < *first) {
        throw CLI::ValidationError("--size", "'" + text +
                                                 "' is not a size from 1 to 1G, nor FROM-TO; K, M "
                                                 "and G may stand behind a number");
    }
    std::vector<std::uint64_t> sizes;
    for (std::uint64_t size = *first; size <= *last; size *= 2) sizes.push_back(size);
    return sizes;
}

template <class Value, class Names>
Value find_name(const char* option, const Names& names, const std::string& text) {
    for (std::size_t i = 0; i < names.size(); ++i)
        if (names[i] == text) return static_cast<Value>(i);
    std::string known;
    for (const auto& name : names) known += (known.empty() ? "" : ", ") + std::string(name);
    throw CLI::ValidationError(option, "'" + text + "' is not one of: " + known);
}

/// An option whose argument is a list with commas; `take` is called for each word. CLI11's own
/// lists would take the words that follow, too.
template <class Take>
void add_list(CLI::App& app, const std::string& names, const std::string& help, Take take) {
    app.add_option_function<std::string>(
           names,
           [take](const std::string& list) {
               std::istringstream words(list);
               std::string word;
               do {
                   std::getline(words, word, ',');
                   take(word);
               } while (!words.eof());
           },
           help)
        ->type_name("LIST");
}

int parse_cpu(const std::string& text) {
    if (!text.empty() && text.size() < 7 &&
        text.find_first_not_of("0123456789") == std::string::npos)
        return std::stoi(text);
    throw CLI::ValidationError("--cpu", "'" + text + "' is not a number of a processor");
}

/// The help says what an option is for; its limits are told to who goes beyond them.
template <class Number>
CLI::Validator limits(Number least, Number most) {
    return CLI::Range(least, most).description("");
}

constexpr std::array<std::string_view, 2> kCompletionNames = {"polling", "blocking"};
constexpr std::array<std::string_view, 2> kDirectionNames = {"one", "two"};

/// The lists as they are given, and the parser that fills them.
struct CommandLine {
    CLI::App app{
        "Measures latency, bandwidth and message rate of a DAT provider between two processes.\n"
        "  dat_perf [OPTION]...          server: waits for one client, and does what it asks\n"
        "  dat_perf [OPTION]... HOST     client of the server on HOST\n"
        "  dat_perf --both [OPTION]...   both, on this machine",
        "dat_perf"};
    Options options;
    std::vector<Test> tests;
    std::vector<bool> blocking;
    std::vector<bool> two_ways;
    std::string memory = "best";

    void add_ends();
    void add_measurements();
    void add_amounts();
    void add_output();
};

void CommandLine::add_ends() {
    app.add_option("host", options.host, "machine of the server")->type_name("HOST");
    app.add_flag("-b,--both", options.both, "start client and server, pinned to two processors");
    app.add_option("-P,--provider", options.provider, "provider, as named in dat.conf (soft0)")
        ->type_name("NAME")
        ->take_last();
    app.add_option("-p,--port", options.port, "TCP port where the two meet (15829)")
        ->type_name("N")
        ->take_last()
        ->check(limits(1, 65535));
    add_list(app, "--cpu", "processors for the threads of this side",
             [this](const std::string& word) { options.cpus.push_back(parse_cpu(word)); });
    add_list(app, "--peer-cpu", "with --both: processors of the server",
             [this](const std::string& word) { options.peer_cpus.push_back(parse_cpu(word)); });
    app.add_option("--timeout", options.terms.timeout_seconds,
                   "give up when the other side stands still for so long (30)")
        ->type_name("SECONDS")
        ->take_last()
        ->check(limits(1, 86400));
}

void CommandLine::add_measurements() {
    add_list(app, "-t,--test", "latency, bandwidth, rate (all)", [this](const std::string& word) {
        tests.push_back(find_name<Test>("--test", kTestNames, word));
        options.tests = tests;
    });
    add_list(app, "-o,--operation",
             "send, write, write-immediate, read, fetch-add, compare-swap (all that there are); "
             "register, register-write",
             [this](const std::string& word) {
                 options.operations.push_back(
                     find_name<Operation>("--operation", kOperationNames, word));
             });
    add_list(app, "-s,--size", "bytes of a transfer, such as 8,4K or 1-1G (several)",
             [this](const std::string& word) {
                 for (const std::uint64_t size : parse_sizes(word)) options.sizes.push_back(size);
             });
    add_list(app, "-c,--completion", "polling, blocking (polling)",
             [this](const std::string& word) {
                 blocking.push_back(find_name<int>("--completion", kCompletionNames, word) == 1);
                 options.blocking = blocking;
             });
    add_list(app, "-d,--direction", "one, two: who sends in bandwidth and rate (one)",
             [this](const std::string& word) {
                 two_ways.push_back(find_name<int>("--direction", kDirectionNames, word) == 1);
                 options.two_ways = two_ways;
             });
}

void CommandLine::add_amounts() {
    app.add_option("-T,--threads", options.terms.threads, "threads of each side (1)")
        ->type_name("N")
        ->take_last()
        ->check(limits(1, 256));
    app.add_option("-E,--endpoints", options.terms.endpoints, "endpoints of each thread (1)")
        ->type_name("N")
        ->take_last()
        ->check(limits(1, 4096));
    app.add_option("-n,--iterations", options.iterations,
                   "operations of each endpoint (what fits into --seconds)")
        ->type_name("N")
        ->take_last()
        ->check(limits(1, 1'000'000'000));
    app.add_option("--seconds", options.seconds, "length of each measurement (0.25)")
        ->type_name("SECONDS")
        ->take_last()
        ->check(limits(0.001, 3600.0));
    app.add_option("-w,--warm-up", options.warm_up,
                   "operations that are not measured (a fifth of the measurement)")
        ->type_name("N")
        ->take_last()
        ->check(limits(1, 1'000'000'000));
    app.add_option("--depth", options.terms.depth, "requests under way at an endpoint (128)")
        ->type_name("N")
        ->take_last()
        ->check(limits(1, 65536));
    app.add_option("--signal-rate", options.terms.signal_rate,
                   "ask for a completion every N requests (32)")
        ->type_name("N")
        ->take_last()
        ->check(limits(1, 65536));
    app.add_option("-m,--memory", memory,
                   "library, ordinary, best: the library's where it gives some (best)")
        ->type_name("KIND")
        ->take_last();
}

void CommandLine::add_output() {
    app.add_flag("--check", options.terms.check, "check what arrives, in each measurement");
    app.add_flag("--histogram", options.histogram, "print how the latencies are spread");
    app.add_flag("--json", options.json, "print one JSON document");
    app.set_version_flag("-V,--version", "dat_perf " PACKAGE_VERSION, "print the version");
    app.set_help_flag("-h,--help", "print this text");
    app.footer("\nExit status: 0 measured, 1 something failed, 2 wrong usage.");
}

void require(bool good, const char* what) {
    if (!good) throw CLI::ValidationError(what);
}

void finish(CommandLine& line) {
    Options& options = line.options;
    options.terms.memory = find_name<Memory>("--memory", kMemoryNames, line.memory);
    require(!options.both || options.host.empty(), "--both takes no HOST");
    require(options.both || options.peer_cpus.empty(), "--peer-cpu needs --both");
    options.terms.signal_rate = std::min(options.terms.signal_rate, options.terms.depth);
    if (!options.both) return;
    const std::vector<int> allowed = allowed_cpus();
    if (allowed.size() < 2) return;
    if (options.cpus.empty()) options.cpus = {allowed[0]};
    if (options.peer_cpus.empty()) options.peer_cpus = {allowed[1]};
}

void add_unique(std::vector<Measurement>& all, const Measurement& one) {
    const bool known = std::any_of(all.begin(), all.end(), [&](const Measurement& other) {
        return other.test == one.test && other.operation == one.operation &&
               other.size == one.size && other.blocking == one.blocking &&
               other.two_ways == one.two_ways;
    });
    if (!known) all.push_back(one);
}

}  // namespace

std::vector<std::uint64_t> usual_sizes(Test test) {
    if (test == Test::rate) return {8};
    if (test == Test::bandwidth) return {4 << 10, 64 << 10, 1 << 20};
    return {8, 256, 4 << 10, 64 << 10, 1 << 20};
}

std::string size_name(std::uint64_t size) {
    static const char* const units[] = {"B", "KiB", "MiB", "GiB"};
    unsigned unit = 0;
    for (; size >= 1024 && size % 1024 == 0 && unit < 3; size /= 1024) ++unit;
    return std::to_string(size) + " " + units[unit];
}

std::vector<Measurement> Options::measurements(unsigned offered) const {
    std::vector<Measurement> all;
    std::vector<Operation> chosen = operations;
    for (unsigned i = 0; i < kOperations && operations.empty(); ++i)
        if (!is_registration(static_cast<Operation>(i)))
            chosen.push_back(static_cast<Operation>(i));
    for (const Test test : tests)
        for (const Operation operation : chosen) {
            if (!(offered >> static_cast<unsigned>(operation) & 1)) continue;
            if (is_registration(operation) && test != Test::latency) continue;
            for (const std::uint64_t size : sizes.empty() ? usual_sizes(test) : sizes)
                for (const bool wait : blocking)
                    for (const bool two : two_ways)
                        add_unique(all, {test, operation, is_atomic(operation) ? kAtomicSize : size,
                                         wait, two && test != Test::latency});
        }
    return all;
}

std::optional<Options> parse_options(int argc, char** argv, int& exit_status) {
    CommandLine line;
    line.add_ends();
    line.add_measurements();
    line.add_amounts();
    line.add_output();
    try {
        line.app.parse(argc, argv);
        finish(line);
    } catch (const CLI::ParseError& error) {
        if (error.get_exit_code() == 0) {
            line.app.exit(error);
            exit_status = 0;
        } else {
            std::cerr << "dat_perf: " << error.what() << "; dat_perf --help lists the options\n";
            exit_status = kUsageStatus;
        }
        return std::nullopt;
    }
    exit_status = 0;
    return line.options;
}

}  // namespace perf
