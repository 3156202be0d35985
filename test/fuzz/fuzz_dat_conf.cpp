// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Fuzzes the dat.conf reader with any bytes: it keeps its promises, and reads valid lines before
/// and after the bytes.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>

#include "dat/registry/dat_conf.hpp"
#include "test/fuzz/input.hpp"

namespace {

const std::string kGoodLine = R"(good u2.0 nonthreadsafe default library.so dapl.2.0 "lo 0" "")";

using test::require;

bool is_good_line(const dat::ConfRecord& record) {
    return record.ia_name == "good" && record.major == 2 && record.minor == 0 &&
           record.library == "library.so" && record.ia_params == "lo 0";
}

void check(const dat::ConfText& text, std::size_t lines) {
    require(text.records.size() + text.bad_lines <= lines, "a line is read once");
    require(text.problems.size() == std::min(text.bad_lines, dat::kMaxProblems),
            "the problems are the first bad lines");
    for (const dat::ConfRecord& record : text.records) {
        require(record.ia_name.size() < 256, "names fit the API");
        require(record.line >= 1 && static_cast<std::size_t>(record.line) <= lines,
                "records have a line");
        require(record.library.find('\0') == std::string::npos, "texts hold no NUL");
    }
    for (const dat::ConfProblem& problem : text.problems) {
        require(problem.line >= 1 && static_cast<std::size_t>(problem.line) <= lines,
                "problems have a line");
        require(problem.column >= 1, "problems have a column");
        require(problem.found.size() <= dat::kMaxFound, "what was found is cut");
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    // A copy of the exact size, so that the address sanitizer catches a read past the end.
    const std::string input(reinterpret_cast<const char*>(data), size);
    const std::size_t lines =
        1 + static_cast<std::size_t>(std::count(input.begin(), input.end(), '\n'));
    const dat::ConfText alone = dat::read_dat_conf({input.data(), input.size()});
    check(alone, lines);

    const dat::ConfText between =
        dat::read_dat_conf(kGoodLine + '\n' + input + '\n' + kGoodLine + "\r\n");
    check(between, lines + 2);
    require(between.bad_lines == alone.bad_lines, "the same lines are bad");
    require(between.records.size() == alone.records.size() + 2, "the lines around are read");
    require(is_good_line(between.records.front()), "the line before is read");
    require(is_good_line(between.records.back()), "the line behind is read");
    return 0;
}
