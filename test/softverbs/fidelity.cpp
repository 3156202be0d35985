// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// usage: fidelity TABLE [DIFFERENCES [PATTERN]] - breaks each rule of InfiniBand's on protection,
/// states and lengths on the first device, and compares what both queue pairs say with the table.
/// Any verbs device will do: the program knows nothing of softverbs.
///
/// TABLE has a line for each case: `CASE | REQUESTER | RESPONDER`.
/// REQUESTER: completion of the request, completion of the one behind it, state, asynchronous
/// events. Where the post itself is refused, its errno is in the first place.
/// RESPONDER: completions of its two receives, state, asynchronous events.
/// `-` stands for nothing: a receive that is still posted, a request that has not completed.
/// DIFFERENCES says where a device answers otherwise: `CASES | TABLE'S | DEVICE'S | REASON`, which
/// replaces the first text by the second, in all cases whose name matches the pattern, at the last
/// place where it stands; or `CASES | not run | | REASON`. A line that changes nothing fails too.
#include <fnmatch.h>

#include <cstdio>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "test/softverbs/fidelity_cases.hpp"

namespace test {
namespace {

/// Blanks at both ends of a column are for the reader.
std::string trimmed(const std::string& text) {
    const auto first = text.find_first_not_of(' ');
    return first == std::string::npos ? ""
                                      : text.substr(first, text.find_last_not_of(' ') - first + 1);
}

/// @return the columns of each line that is not empty nor a comment.
std::vector<std::vector<std::string>> read_lines(const char* path, std::size_t columns) {
    std::vector<std::vector<std::string>> lines;
    std::ifstream file(path);
    require(file.is_open(), std::string("cannot read ") + path);
    for (std::string line; std::getline(file, line);) {
        if (line.empty() || line[0] == '#') continue;
        std::istringstream rest(line);
        std::vector<std::string>& cells = lines.emplace_back();
        for (std::string cell; std::getline(rest, cell, '|');) cells.push_back(trimmed(cell));
        require(cells.size() == columns, "wrong number of columns: " + line);
    }
    return lines;
}

struct Expected {
    std::string outcome;
    bool is_used = false;
};
using Table = std::map<std::string, Expected>;

Table read_table(const char* path) {
    Table table;
    for (const auto& cells : read_lines(path, 3)) {
        const bool is_new = table.emplace(cells[0], Expected{cells[1] + " | " + cells[2]}).second;
        require(is_new, "said twice: " + cells[0]);
    }
    return table;
}

/// Where a device answers otherwise.
struct Difference {
    std::string cases, wanted, instead, reason;
    bool is_used = false;

    bool forbids() const { return wanted == "not run"; }
    /// @return whether it has changed the expectation.
    bool apply(const std::string& name, std::string& expected) {
        if (fnmatch(cases.c_str(), name.c_str(), 0) != 0) return false;
        const auto at = expected.rfind(wanted);
        if (!forbids() && at == std::string::npos) return false;
        if (!forbids()) expected.replace(at, wanted.size(), instead);
        return is_used = true;
    }
};

std::vector<Difference> read_differences(const char* path) {
    std::vector<Difference> differences;
    for (const auto& cells : read_lines(path, 4))
        differences.push_back({cells[0], cells[1], cells[2], cells[3]});
    return differences;
}

class Report {
  public:
    void line(bool passed, const std::string& name, const std::string& remark = "") {
        std::printf("%sok %d - %s%s\n", passed ? "" : "not ", ++number_, name.c_str(),
                    remark.c_str());
        std::fflush(stdout);
        failures_ += !passed;
    }
    int end() const {
        std::printf("1..%d\n", number_);
        return failures_ != 0;
    }

  private:
    int number_ = 0, failures_ = 0;
};

std::string outcome_of(const Adapter& adapter, const Case& one, const std::string& wanted) {
    Scene scene(adapter, one.setup);
    scene.request.opcode = one.operation.opcode;
    scene.is_remote = one.operation.is_remote;
    scene.is_atomic = one.operation.is_atomic;
    if (one.operation.is_atomic) scene.local[0].length = 8;
    one.spoil(scene);
    scene.post();
    scene.listen(wanted);
    return scene.heard();
}

class Run {
  public:
    Run(Table table, std::vector<Difference> differences)
        : table_(std::move(table)), differences_(std::move(differences)) {}
    void one(const Case& one);
    int end();

  private:
    /// @return why the device does not run the case; empty if it does.
    std::string expect(const std::string& name, std::string& expected);

    Adapter adapter_;
    Table table_;
    std::vector<Difference> differences_;
    Report report_;
};

std::string Run::expect(const std::string& name, std::string& expected) {
    const auto said = table_.find(name);
    if (said != table_.end()) expected = said->second.outcome, said->second.is_used = true;
    for (Difference& difference : differences_) {
        if (difference.apply(name, expected) && difference.forbids()) return difference.reason;
    }
    return "";
}

void Run::one(const Case& one) {
    std::string expected, got;
    std::string lacking = expect(one.name, expected);
    if (!adapter_.has(one.needs)) lacking = "the device lacks it";
    if (!lacking.empty()) return report_.line(true, one.name, " # SKIP " + lacking);
    try {
        got = outcome_of(adapter_, one, expected);
    } catch (const std::exception& error) {
        got = error.what();
    }
    report_.line(got == expected, one.name);
    if (got == expected) return;
    std::printf("# wanted: %s\n# got: %s | %s\n", expected.c_str(), one.name.c_str(), got.c_str());
}

int Run::end() {
    for (const auto& [name, expected] : table_)
        if (!expected.is_used) report_.line(false, name + " (no such case)");
    for (const Difference& difference : differences_)
        if (!difference.is_used)
            report_.line(false, difference.cases + " (no difference: " + difference.wanted + ")");
    return report_.end();
}

/// @param pattern of the names of the cases to be run; nullptr for all.
int run_all(const char* table, const char* differences, const char* pattern) {
    Run run(read_table(table),
            differences ? read_differences(differences) : std::vector<Difference>{});
    const Cases cases;
    for (const Case& one : cases.all())
        if (!pattern || fnmatch(pattern, one.name.c_str(), 0) == 0) run.one(one);
    return run.end();
}

}  // namespace
}  // namespace test

int main(int argc, char** argv) {
    if (argc < 2 || argc > 4) {
        std::fprintf(stderr, "usage: fidelity TABLE [DIFFERENCES [PATTERN]]\n");
        return 2;
    }
    try {
        return test::run_all(argv[1], argc > 2 ? argv[2] : nullptr, argc > 3 ? argv[3] : nullptr);
    } catch (const std::exception& error) {
        std::printf("Bail out! %s\n", error.what());
        return 2;
    }
}
