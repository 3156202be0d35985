// SPDX-License-Identifier: BSD-2-Clause
#include "tools/conf/check.hpp"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <limits>
#include <string_view>
#include <tuple>
#include <utility>

#include "dat/registry/configured_ias.hpp"
#include "support/base/edit_distance.hpp"
#include "support/base/text_file.hpp"
#include "support/settings/setting_values.hpp"
#include "tools/conf/other_ages.hpp"

namespace conf {
namespace {

constexpr std::size_t kMaxFileSize = 16 << 20;
constexpr std::size_t kMaxYamlSize = 256 << 10;

/// Provider libraries by name, including those of others: a name close to one of them is a typing
/// error.
constexpr std::string_view kLibraries[] = {"libdaplofa.so.2", "libdaploscm.so.2",
                                           "libdaploucm.so.2", "libdaplsoft.so.2",
                                           "libdaplomcm.so.2"};

/// @return what to do about a bad line: for fields with two possible words, the nearest one.
std::string hint_for(const dat::ConfProblem& problem) {
    const std::string_view field = problem.field;
    if (problem.found == "the end of the record")
        return "a record has eight fields, see dat.conf(5)";
    if (field == "thread_safety")
        return fmt::format("did you mean {}?",
                           support::nearest_name(problem.found, {"threadsafe", "nonthreadsafe"}));
    if (field == "default")
        return fmt::format("did you mean {}?",
                           support::nearest_name(problem.found, {"default", "nondefault"}));
    return "the line is ignored, see dat.conf(5)";
}

/// @return whether the record is one that no program can open as it is; adds the problem.
bool check_age(const dat::ConfRecord& record, std::vector<Problem>& problems) {
    const auto today = modernised(record);
    if (!today) return false;
    problems.push_back(
        {record.line, 1,
         fmt::format("{} is a record of {}: {}", record.ia_name, today->origin, today->changes),
         "`dat_conf convert FILE --output FILE` makes these changes", false});
    return true;
}

/// Finds library names that are valid but do not work.
void check_library(const dat::ConfRecord& record, std::vector<Problem>& problems) {
    const std::string& library = record.library;
    if (library.find('/') != std::string::npos) {
        if (access(library.c_str(), R_OK) != 0)
            problems.push_back({record.line, 1,
                                fmt::format("lib_path of {} is '{}', which does not exist",
                                            record.ia_name, library),
                                "install it, or name another library", false});
        return;
    }
    for (const std::string_view known : kLibraries)
        if (library == known) return;
    constexpr std::size_t kSlip = 2;
    for (const std::string_view known : kLibraries)
        if (support::edit_distance(library, known) <= kSlip) {
            problems.push_back(
                {record.line, 1,
                 fmt::format("lib_path of {} is '{}', an unknown library", record.ia_name, library),
                 fmt::format("did you mean {}?", known), false});
            return;
        }
}

void read_yaml(File& file) {
    if (file.text.size() > kMaxYamlSize) {
        file.problems.push_back(
            {0, 0, "it is larger than 256 KiB", "a file of this size is not read"});
        return;
    }
    file.yaml = support::read_configuration(file.text, opendat_yaml_read_1);
    dat::ConfiguredIas ias = dat::read_configured_ias(file.path, file.yaml.ias);
    for (const auto* problems : {&file.yaml.problems, &ias.problems})
        for (const support::ConfigurationProblem& problem : *problems)
            file.problems.push_back(
                {problem.line, problem.column, problem_text(problem), problem_hint(problem)});
    file.records = std::move(ias.records);
}

void read_records(File& file) {
    dat::ConfText text = dat::read_dat_conf(file.text, std::numeric_limits<std::size_t>::max());
    for (const dat::ConfProblem& problem : text.problems)
        file.problems.push_back(
            {problem.line, problem.column,
             fmt::format("{} is '{}', expected {}", problem.field, problem.found, problem.accepted),
             hint_for(problem)});
    file.records = std::move(text.records);
}

}  // namespace

bool is_yaml(const std::string& path) {
    return path.ends_with(".yaml") || path.ends_with(".yml");
}

File read_text(const std::string& path, std::string text) {
    File file;
    file.path = path;
    file.is_yaml = is_yaml(path);
    file.text = std::move(text);
    if (file.is_yaml)
        read_yaml(file);
    else
        read_records(file);
    for (const dat::ConfRecord& record : file.records)
        if (!check_age(record, file.problems)) check_library(record, file.problems);
    std::stable_sort(file.problems.begin(), file.problems.end(),
                     [](const Problem& a, const Problem& b) {
                         return std::tie(a.line, a.column) < std::tie(b.line, b.column);
                     });
    return file;
}

File read_file(const std::string& path) {
    auto text = support::read_text_file(path, kMaxFileSize);
    if (text) return read_text(path, std::move(*text));
    File file;
    file.path = path;
    file.is_yaml = is_yaml(path);
    file.problems.push_back(
        {0, 0, "it cannot be read: " + text.error().text, "correct its name or its mode"});
    return file;
}

}  // namespace conf
