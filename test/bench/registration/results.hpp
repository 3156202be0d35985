// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// What an experiment leaves behind: tables of numbers, and claims that the numbers show or refute.
#pragma once

#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

namespace registration {

/// How the experiments are run.
struct Run {
    std::string directory;  ///< of the results
    double scale = 1;       ///< of durations and counts
    double seconds(double wanted) const { return wanted * scale; }
    int count(int wanted) const {
        const int scaled = static_cast<int>(wanted * scale);
        return scaled > 0 ? scaled : 1;
    }
};

/// A file of comma-separated values with a head line.
class Csv {
  public:
    Csv(const std::string& path, const std::string& columns);
    /// A line, formatted as by printf.
    [[gnu::format(printf, 2, 3)]] void row(const char* format, ...);

  private:
    struct Close {
        void operator()(std::FILE* file) const { std::fclose(file); }
    };
    std::unique_ptr<std::FILE, Close> file_;
};

/// The result of one experiment. A claim that is refuted is a result; what the checker finds wrong
/// is a failure of the program.
class Experiment {
  public:
    Experiment(const Run& run, std::string id);
    /// Says how much the checker has looked at.
    ~Experiment();
    Experiment(const Experiment&) = delete;
    Experiment& operator=(const Experiment&) = delete;

    /// @param name of the file, after the experiment's; may be empty.
    Csv csv(const std::string& name, const std::string& columns) const;
    /// @param statement what was to be shown. @param numbers what was found, as by printf.
    [[gnu::format(printf, 4, 5)]] void claim(const char* statement, bool shown, const char* numbers,
                                             ...);
    /// @param looked_at how many things. @param wrong how many of them were not as they must be.
    void check(const char* what, std::uint64_t looked_at, std::uint64_t wrong);

    const Run& run;

    /// Whether any experiment of this process has failed its check.
    static bool failed;

  private:
    std::string path(const std::string& rest) const { return run.directory + "/" + id_ + rest; }
    const std::string id_;
    std::unique_ptr<Csv> claims_;
};

/// @param share 0.5: the median. @return 0 where there are none. Sorts them.
double percentile(std::vector<double>& values, double share);

/// Jain's index: 1 when all have the same, 1/n when one has all.
double fairness(const std::vector<double>& values);

}  // namespace registration
