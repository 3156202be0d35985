// SPDX-License-Identifier: BSD-2-Clause
#include "test/bench/registration/results.hpp"

#include <algorithm>
#include <cmath>
#include <cstdarg>
#include <limits>
#include <numeric>
#include <stdexcept>

namespace registration {
namespace {

std::string formatted(const char* format, va_list arguments) {
    char text[1000];
    std::vsnprintf(text, sizeof text, format, arguments);
    return text;
}

}  // namespace

bool Experiment::failed = false;

Csv::Csv(const std::string& path, const std::string& columns)
    : file_(std::fopen(path.c_str(), "we")) {
    if (!file_) throw std::runtime_error("cannot write " + path);
    std::fprintf(file_.get(), "%s\n", columns.c_str());
}

void Csv::row(const char* format, ...) {
    va_list arguments;
    va_start(arguments, format);
    std::fprintf(file_.get(), "%s\n", formatted(format, arguments).c_str());
    va_end(arguments);
    std::fflush(file_.get());
}

Experiment::Experiment(const Run& run, std::string id)
    : run(run),
      id_(std::move(id)),
      claims_(std::make_unique<Csv>(path(".claims"), "verdict\tclaim\tnumbers")) {}

Experiment::~Experiment() = default;

Csv Experiment::csv(const std::string& name, const std::string& columns) const {
    return {path((name.empty() ? "" : "-" + name) + ".csv"), columns};
}

void Experiment::note(Verdict verdict, const char* statement, const char* numbers) {
    constexpr const char* kTexts[] = {"shown", "refuted", "undecided"};
    const char* const text = kTexts[static_cast<int>(verdict)];
    std::printf("%s: %s: %s (%s)\n", id_.c_str(), statement, text, numbers);
    std::fflush(stdout);
    claims_->row("%s\t%s\t%s", text, statement, numbers);
}

void Experiment::claim(const char* statement, bool shown, const char* numbers, ...) {
    va_list arguments;
    va_start(arguments, numbers);
    const std::string found = formatted(numbers, arguments);
    va_end(arguments);
    note(shown ? Verdict::kShown : Verdict::kRefuted, statement, found.c_str());
}

void Experiment::claim(const char* statement, Verdict verdict, const char* numbers, ...) {
    va_list arguments;
    va_start(arguments, numbers);
    const std::string found = formatted(numbers, arguments);
    va_end(arguments);
    note(verdict, statement, found.c_str());
}

void Experiment::check(const char* what, std::uint64_t looked_at, std::uint64_t wrong) {
    std::printf("%s: checker: %s: %llu looked at, %llu wrong\n", id_.c_str(), what,
                static_cast<unsigned long long>(looked_at), static_cast<unsigned long long>(wrong));
    std::fflush(stdout);
    claims_->row("checker\t%s\t%llu looked at, %llu wrong", what,
                 static_cast<unsigned long long>(looked_at),
                 static_cast<unsigned long long>(wrong));
    if (wrong != 0) failed = true;
}

double percentile(std::vector<double>& values, double share) {
    if (values.empty()) return 0;
    std::sort(values.begin(), values.end());
    const auto place = static_cast<std::size_t>(share * static_cast<double>(values.size()));
    return values[std::min(place, values.size() - 1)];
}

Estimate estimate(const std::vector<double>& values) {
    // Quantiles of 0.995 for 1 and more degrees of freedom.
    constexpr double kQuantiles[kMostRounds - 1] = {63.657, 9.925, 5.841, 4.604, 4.032, 3.707,
                                                    3.499,  3.355, 3.250, 3.169, 3.106};
    const auto count = static_cast<double>(values.size());
    const double mean = std::accumulate(values.begin(), values.end(), 0.0) / count;
    if (values.size() < 2) return {mean, std::numeric_limits<double>::infinity()};
    double squares = 0;
    for (const double value : values) squares += (value - mean) * (value - mean);
    return {mean, kQuantiles[values.size() - 2] * std::sqrt(squares / (count - 1) / count)};
}

Verdict all_above(const std::vector<Estimate>& estimates, double bound) {
    Verdict verdict = Verdict::kShown;
    for (const Estimate& one : estimates) {
        if (one.mean + one.error < bound) return Verdict::kRefuted;
        if (one.mean - one.error <= bound) verdict = Verdict::kUndecided;
    }
    return verdict;
}

bool is_enough(const Run& run, int rounds, const std::vector<Verdict>& verdicts) {
    constexpr int kFewestRounds = 3;
    const int most = run.count(kMostRounds);
    if (rounds >= most) return true;
    if (rounds < kFewestRounds) return false;
    return std::find(verdicts.begin(), verdicts.end(), Verdict::kUndecided) == verdicts.end();
}

double fairness(const std::vector<double>& values) {
    double sum = 0, squares = 0;
    for (const double value : values) sum += value, squares += value * value;
    return squares == 0 ? 1 : sum * sum / (static_cast<double>(values.size()) * squares);
}

}  // namespace registration
