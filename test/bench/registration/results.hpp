// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The results of an experiment: tables of numbers, and claims that the numbers show or refute.
#pragma once

#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

namespace registration {

/// How the experiments are run.
struct Run {
    std::string directory;  ///< where the results go
    double scale = 1;       ///< factor for durations and counts
    double seconds(double wanted) const { return wanted * scale; }
    int count(int wanted) const {
        const int scaled = static_cast<int>(wanted * scale);
        return scaled > 0 ? scaled : 1;
    }
};

/// A file of comma-separated values with a header line.
class Csv {
  public:
    Csv(const std::string& path, const std::string& columns);
    /// Writes a line, formatted as by printf.
    [[gnu::format(printf, 2, 3)]] void row(const char* format, ...);

  private:
    struct Close {
        void operator()(std::FILE* file) const { std::fclose(file); }
    };
    std::unique_ptr<std::FILE, Close> file_;
};

enum class Verdict { kShown, kRefuted, kUndecided };

/// The result of one experiment. A refuted claim is a result; an error found by the checker is a
/// failure of the program.
class Experiment {
  public:
    Experiment(const Run& run, std::string id);
    ~Experiment();
    Experiment(const Experiment&) = delete;
    Experiment& operator=(const Experiment&) = delete;

    /// @param name follows the experiment's id in the file's name; may be empty.
    Csv csv(const std::string& name, const std::string& columns) const;
    /// @param statement what was to be shown. @param numbers the evidence, formatted as by printf.
    [[gnu::format(printf, 4, 5)]] void claim(const char* statement, bool shown, const char* numbers,
                                             ...);
    [[gnu::format(printf, 4, 5)]] void claim(const char* statement, Verdict verdict,
                                             const char* numbers, ...);
    /// @param looked_at number of things checked. @param wrong number of errors among them.
    void check(const char* what, std::uint64_t looked_at, std::uint64_t wrong);

    const Run& run;

    /// Whether any experiment of this process has failed its check.
    static bool failed;

  private:
    void note(Verdict verdict, const char* statement, const char* numbers);
    std::string path(const std::string& rest) const { return run.directory + "/" + id_ + rest; }
    const std::string id_;
    std::unique_ptr<Csv> claims_;
};

/// Sorts the values. @param share 0.5: the median. @return 0 if there are no values.
double percentile(std::vector<double>& values, double share);

/// The mean of what repeated runs have given. With 99 % confidence (Student's t distribution) the
/// true one is not farther from it than `error`.
struct Estimate {
    double mean, error;
};
/// @param values of at least one run; the error of one alone is infinite.
Estimate estimate(const std::vector<double>& values);
/// @return whether all estimates are above the bound; undecided while an interval includes it.
Verdict all_above(const std::vector<Estimate>& estimates, double bound);

/// A claim that depends on what is random is repeated until its interval excludes the contrary, or
/// kMostRounds times. @param rounds number of those that are over.
bool is_enough(const Run& run, int rounds, const std::vector<Verdict>& verdicts);
inline constexpr int kMostRounds = 12;

/// @return Jain's index: 1 if all values are the same, 1/n if all but one are 0.
double fairness(const std::vector<double>& values);

}  // namespace registration
