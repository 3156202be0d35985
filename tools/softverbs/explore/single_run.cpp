// SPDX-License-Identifier: BSD-2-Clause
#include "tools/softverbs/explore/single_run.hpp"

#include <sys/wait.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>
#include <stdexcept>

#include "tools/softverbs/explore/child.hpp"
#include "tools/softverbs/explore/core_files.hpp"
#include "tools/softverbs/explore/files.hpp"
#include "tools/softverbs/explore/stacks.hpp"

namespace softverbs::explore {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr double kFilterSeconds = 60;

/// The directory of a run. The fabric and TMPDIR have short paths, because sockets are made in
/// them.
class Place {
  public:
    explicit Place(std::string path) : path_(std::move(path)) { fs::create_directories(tmp()); }
    ~Place() {
        std::error_code ignored;
        fs::remove_all(path_, ignored);
    }
    Place(const Place&) = delete;
    Place& operator=(const Place&) = delete;

    const std::string& path() const { return path_; }
    std::string tmp() const { return path_ + "/tmp"; }
    std::string fabric() const { return path_ + "/fabric"; }
    std::string rules() const { return path_ + "/rules"; }
    std::string log() const { return path_ + "/log"; }
    std::string output() const { return path_ + "/out"; }
    std::string errors() const { return path_ + "/err"; }
    /// In the environment of each process of the run.
    std::string mark() const { return fabric_mark(fabric()); }

  private:
    std::string path_;
};

Child child_of(const Options& options, const Tool& tool, const Order& order, const Place& place) {
    std::vector<std::string> more = {"--fabric", place.fabric()};
    if (!order.rules.empty()) {
        write_file(place.rules(), order.rules);
        more.insert(more.end(), {"--faults", "@" + place.rules(), "--seed",
                                 std::to_string(order.seed), "--fault-log", place.log()});
    }
    Child child;
    child.words = words_of(options, tool.program, more);
    child.environment = {{"TMPDIR", place.tmp()}};
    child.removed = {"SOFTVERBS_FAULTS=", "SOFTVERBS_FAULTS_SEED=", "SOFTVERBS_FAULTS_LOG="};
    child.out = place.output();
    child.err = place.errors();
    return child;
}

/// @return each rule of the log once, without its comment.
Rules read_log(const std::string& path) {
    std::ifstream file(path);
    Rules rules;
    for (std::string line; std::getline(file, line);) {
        const auto end = line.find_last_not_of(' ', line.find("  #"));
        std::string rule = line.substr(0, line.find("  #"));
        if (end != line.npos && std::find(rules.begin(), rules.end(), rule) == rules.end())
            rules.push_back(std::move(rule));
    }
    return rules;
}

bool kills(const std::string& rule) {
    return rule.ends_with("-> kill") || rule.ends_with("-> kill_peer");
}

/// @return the output as it is compared.
std::string normalized(const Options& options, const Place& place, int stop) {
    if (options.normalize.empty()) return read_file(place.output());
    Child filter;
    filter.words = {"/bin/sh", "-c", options.normalize};
    filter.in = place.output();
    filter.out = place.path() + "/normal";
    if (!run_helper(filter, kFilterSeconds, stop))
        throw std::runtime_error("--normalize: '" + options.normalize + "' failed");
    return read_file(filter.out);
}

void inspect(const Tool& tool, const Place& place, pid_t first, int stop, Run& run) {
    run.queue_pairs = tool.describe(place.fabric());
    run.stacks = stacks_of(processes_of(first, place.mark()), place.path(), stop);
}

std::string stacks_in_cores(const CoreFiles& cores, const Place& place, int stop) {
    std::string text;
    std::error_code ignored;
    for (const std::string& core : cores.take()) {
        text += stacks_in_core(core, place.path(), stop);
        fs::remove(core, ignored);
    }
    return text;
}

}  // namespace

std::vector<std::string> words_of(const Options& options, const std::string& program,
                                  const std::vector<std::string>& more) {
    std::vector<std::string> words = {program, "run"};
    words.insert(words.end(), options.device.begin(), options.device.end());
    words.insert(words.end(), more.begin(), more.end());
    words.emplace_back("--");
    words.insert(words.end(), options.command.begin(), options.command.end());
    return words;
}

Run carry_out(const Options& options, const Tool& tool, const Order& order,
              const std::string& directory, int stop) {
    const Place place(directory);
    Run run;
    run.seed = order.seed;
    const auto begin = Clock::now();
    const std::optional<CoreFiles> cores =
        order.keeps_cores ? std::optional(CoreFiles()) : std::nullopt;
    const pid_t first = spawn(child_of(options, tool, order, place));
    if (cores) cores->enable(first);
    int status = 0;
    const Wait how = await(first, options.timeout, stop, status);
    run.seconds = std::chrono::duration<double>(Clock::now() - begin).count();
    if (how == Wait::kTimedOut && order.inspects) inspect(tool, place, first, stop, run);
    end_all(first, place.mark());
    if (how != Wait::kEnded) waitpid(first, &status, 0);
    if (cores) run.stacks = stacks_in_cores(*cores, place, stop);
    if (how == Wait::kStopped) return run;
    run.ending.timed_out = how == Wait::kTimedOut;
    run.ending.wait_status = status;
    run.log = read_log(place.log());
    run.ending.was_killed = std::any_of(run.log.begin(), run.log.end(), kills);
    run.output = read_file(place.output());
    run.errors = read_file(place.errors());
    if (!options.ignore_output) run.ending.output = normalized(options, place, stop);
    run.is_complete = true;
    return run;
}

}  // namespace softverbs::explore
