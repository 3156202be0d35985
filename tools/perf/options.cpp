// SPDX-License-Identifier: BSD-2-Clause
#include "tools/perf/options.hpp"

#include <algorithm>
#include <sstream>

#include "tools/common/options.hpp"
#include "tools/perf/cpus.hpp"

namespace perf {

namespace {

using tools::WrongUsage;

/// @return the value of a number with an optional K, M or G (2^10, 2^20, 2^30), or nullopt.
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

/// Parses `SIZE` or `FROM-TO`, which is FROM and its doubles up to TO.
std::vector<std::uint64_t> parse_sizes(const std::string& text) {
    const std::size_t dash = text.find('-');
    const std::optional<std::uint64_t> first = parse_size(text.substr(0, dash));
    const std::optional<std::uint64_t> last =
        dash == std::string::npos ? first : parse_size(text.substr(dash + 1));
    if (!first || !last || *last < *first) {
        throw WrongUsage(
            "'" + text +
            "' is neither a size from 1 to 1G nor FROM-TO; a number may end in K, M or G");
    }
    std::vector<std::uint64_t> sizes;
    for (std::uint64_t size = *first; size <= *last; size *= 2) sizes.push_back(size);
    return sizes;
}

template <class Value, class Names>
Value find_name(const Names& names, const std::string& text) {
    for (std::size_t i = 0; i < names.size(); ++i)
        if (names[i] == text) return static_cast<Value>(i);
    std::string known;
    for (const auto& name : names) known += (known.empty() ? "" : ", ") + std::string(name);
    throw WrongUsage("'" + text + "' is not one of: " + known);
}

/// Parses a comma-separated list; `take` is called for each word.
template <class TakeWord>
tools::Take words(TakeWord take) {
    return [take](const std::string& list) {
        std::istringstream words(list);
        std::string word;
        do {
            std::getline(words, word, ',');
            take(word);
        } while (!words.eof());
    };
}

int parse_cpu(const std::string& text) {
    if (!text.empty() && text.size() < 7 &&
        text.find_first_not_of("0123456789") == std::string::npos)
        return std::stoi(text);
    throw WrongUsage("'" + text + "' is not a processor number");
}

constexpr std::array<std::string_view, 2> kCompletionNames = {"polling", "blocking"};
constexpr std::array<std::string_view, 2> kDirectionNames = {"one", "two"};

/// Lists from the command line, which replace the defaults of Options.
struct Lists {
    std::vector<Test> tests;
    std::vector<bool> blocking;
    std::vector<bool> two_ways;
};

using Rows = std::vector<tools::Option>;

/// @param tests handles the argument of --test, whose letter was -t
void add_ends(Rows& rows, Options& options, const tools::Take& tests) {
    const auto cpus = [](std::vector<int>& target) {
        return words([&target](const std::string& word) { target.push_back(parse_cpu(word)); });
    };
    rows.insert(
        rows.end(),
        {{"host", "HOST", "machine of the server", tools::text(options.host)},
         {"-b,--both", nullptr, "start client and server, pinned to two processors",
          tools::flag(options.both)},
         {"-i,--ia", "IA", "adapter, as named in dat.conf [soft0]", tools::text(options.provider),
          1, false, "-P,--provider"},
         {"-p,--port", "PORT", "TCP port where the two meet [15829]",
          tools::number(options.port, 1, 65535)},
         {"--cpu", "LIST", "processors for the threads of this side", cpus(options.cpus)},
         {"--peer-cpu", "LIST", "with --both: processors of the server", cpus(options.peer_cpus)},
         {"-t,--timeout", "SECONDS",
          "give up after this time without progress at the other side [30]; -t with a word: --test",
          tools::number_or(tools::number(options.terms.timeout_seconds, 1, 86400), tests)}});
}

void add_measurements(Rows& rows, Options& options, Lists& lists, const tools::Take& tests) {
    const auto names = [](std::vector<bool>& list, std::vector<bool>& target, const auto& known) {
        return words([&list, &target, &known](const std::string& word) {
            list.push_back(find_name<int>(known, word) == 1);
            target = list;
        });
    };
    rows.insert(
        rows.end(),
        {{"--test", "LIST", "some of latency, bandwidth, rate [all]", tests},
         {"-o,--operation", "LIST",
          "some of send, write, write-immediate, read, fetch-add, compare-swap, register, "
          "register-write [all that are offered, except the last two]",
          words([&](const std::string& word) {
              options.operations.push_back(find_name<Operation>(kOperationNames, word));
          })},
         {"-s,--size", "LIST", "bytes of a transfer, such as 8,4K or 1-1G [several]",
          words([&](const std::string& word) {
              for (const std::uint64_t size : parse_sizes(word)) options.sizes.push_back(size);
          })},
         {"-c,--completion", "LIST", "some of polling, blocking [polling]",
          names(lists.blocking, options.blocking, kCompletionNames)},
         {"-d,--direction", "LIST", "some of one, two: who sends in bandwidth and rate [one]",
          names(lists.two_ways, options.two_ways, kDirectionNames)}});
}

void add_amounts(Rows& rows, Options& options) {
    Terms& terms = options.terms;
    rows.insert(
        rows.end(),
        {{"-T,--threads", "N", "threads of each side [1]", tools::number(terms.threads, 1, 256)},
         {"-E,--endpoints", "N", "endpoints of each thread [1]",
          tools::number(terms.endpoints, 1, 4096)},
         {"-n,--iterations", "N", "operations of each endpoint [what fits into --seconds]",
          tools::number(options.iterations, 1, 1'000'000'000)},
         {"--seconds", "SECONDS", "length of each measurement [0.25]",
          tools::real(options.seconds, 0.001, 3600)},
         {"-w,--warm-up", "N", "operations that are not measured [a fifth of the measurement]",
          tools::number(options.warm_up, 1, 1'000'000'000)},
         {"--depth", "N", "requests under way at an endpoint [128]",
          tools::number(terms.depth, 1, 65536)},
         {"--signal-rate", "N", "request a completion every N requests [32]",
          tools::number(terms.signal_rate, 1, 65536)},
         {"-m,--memory", "KIND",
          "one of library, ordinary, best: the library's where it has some [best]",
          [&terms](const std::string& word) {
              terms.memory = find_name<Memory>(kMemoryNames, word);
          }}});
}

void add_output(Rows& rows, Options& options) {
    rows.insert(
        rows.end(),
        {{"--check", nullptr, "verify the received data in each measurement",
          tools::flag(options.terms.check)},
         {"--histogram", nullptr, "print the distribution of the latencies",
          tools::flag(options.histogram)},
         {"--plot", "FILE", "draw the results into this file (SVG)", tools::text(options.plot)},
         {"-q,--quiet", nullptr, "show no progress on the terminal", tools::flag(options.quiet)},
         {"-j,--json", nullptr, "print one JSON document", tools::flag(options.json)}});
}

void check(const Options& options) {
    if (options.both && !options.host.empty()) throw WrongUsage("--both takes no HOST");
    if (!options.both && !options.peer_cpus.empty()) throw WrongUsage("--peer-cpu requires --both");
}

void finish(Options& options) {
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
    Options options;
    Lists lists;
    Rows rows;
    const tools::Take tests = words([&](const std::string& word) {
        lists.tests.push_back(find_name<Test>(kTestNames, word));
        options.tests = lists.tests;
    });
    add_ends(rows, options, tests);
    add_measurements(rows, options, lists, tests);
    add_amounts(rows, options);
    add_output(rows, options);
    const tools::Parsed parsed = tools::parse(
        {"dat_perf",
         "Measures latency, bandwidth and message rate of a DAT provider between two processes.\n"
         "  dat_perf [OPTION]...          server: waits for one client, and serves it\n"
         "  dat_perf [OPTION]... HOST     client of the server on HOST\n"
         "  dat_perf --both [OPTION]...   both, on this machine",
         std::move(rows),
         {},
         "Exit status: 0 measured, 1 something failed, 2 wrong usage, 130 interrupted.",
         [&options] { check(options); }},
        argc, argv);
    exit_status = parsed.exit_status.value_or(0);
    if (parsed.exit_status) return std::nullopt;
    finish(options);
    return options;
}

}  // namespace perf
