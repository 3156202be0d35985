// SPDX-License-Identifier: BSD-2-Clause
#include "tools/softverbs/explore/campaign.hpp"

#include <fmt/core.h>
#include <fmt/ranges.h>
#include <sys/wait.h>

#include <algorithm>

#include "tools/softverbs/explore/stacks.hpp"

namespace softverbs::explore {
namespace {

/// The faults of a log are tried so often, because the program may also depend on time.
constexpr std::size_t kAttempts = 3;
/// A command line can have no longer argument on Linux.
constexpr std::size_t kMostWord = 128 * 1024;

std::string text_of(const Rules& rules) {
    std::string text;
    for (const std::string& rule : rules) text += rule + '\n';
    return text;
}

std::string last_line(const std::string& text) {
    const auto end = text.find_last_not_of('\n');
    if (end == text.npos) return {};
    const auto begin = text.rfind('\n', end);
    return text.substr(begin == text.npos ? 0 : begin + 1, end - (begin == text.npos ? -1 : begin));
}

void require_success(const Run& run, const Options& options) {
    const int status = run.ending.wait_status;
    if (!run.ending.timed_out && status == 0) return;
    const std::string how =
        run.ending.timed_out
            ? fmt::format("has not ended after {} s: raise --timeout", options.timeout)
            : to_text(judge(run.ending, {}, {}, false));
    const std::string said = tools::printable(last_line(run.errors));
    throw BadReference("without faults the command " + how +
                       (said.empty() ? "" : "; its last line of errors: " + said));
}

}  // namespace

Findings Campaign::carry_out() {
    run_reference();
    if (Runner::interrupted() == 0) run_seeds();
    sort_failures();
    progress_.clear();
    findings_.interrupted = Runner::interrupted();
    return std::move(findings_);
}

void Campaign::run_reference() {
    progress_.show("without faults");
    // The output of one run alone does not show that it is always the same.
    auto runs = runner_.carry_out_all(std::vector<Order>(options_.ignore_output ? 1 : 2));
    if (Runner::interrupted() != 0) return;
    for (const Run& run : runs) require_success(run, options_);
    if (runs.front().ending.output != runs.back().ending.output)
        throw BadReference(
            "two runs without faults printed different outputs: filter them with --normalize, or "
            "use --ignore-output");
    findings_.reference = std::move(runs.front());
}

Outcome Campaign::judge_run(const Run& run) const {
    if (!run.is_complete) return {};
    return judge(run.ending, findings_.reference.ending, options_.accepted,
                 !options_.ignore_output);
}

void Campaign::run_seeds() {
    std::vector<Order> orders(options_.seeds);
    for (unsigned i = 0; i < options_.seeds; ++i)
        orders[i] = {options_.first_seed + i, options_.rules, true, false};
    std::size_t failed = 0;
    auto runs = runner_.carry_out_all(orders, [&](Run& run) {
        const Outcome outcome = judge_run(run);
        findings_.results.push_back({run.seed, run.seconds, outcome});
        failed += outcome.is_failure() ? 1 : 0;
        progress_.show(fmt::format("{} of {} runs, {} failed", findings_.results.size(),
                                   orders.size(), failed));
        // A million runs that pass are not kept.
        if (!outcome.is_failure()) run = Run();
    });
    for (Run& run : runs)
        if (run.is_complete) failures_.push_back(std::move(run));
    std::sort(findings_.results.begin(), findings_.results.end(),
              [](const Result& a, const Result& b) { return a.seed < b.seed; });
}

void Campaign::sort_failures() {
    while (!failures_.empty()) {
        shrink_first();
        join_others();
    }
}

std::vector<Run> Campaign::run_with(const std::vector<Rules>& all) {
    std::vector<Order> orders;
    for (const Rules& rules : all)
        orders.push_back({options_.first_seed, text_of(rules), false, false});
    return runner_.carry_out_all(orders);
}

std::optional<std::size_t> Campaign::first_alike(const std::vector<Rules>& all,
                                                 const Outcome& outcome) {
    if (Runner::interrupted() != 0) return std::nullopt;
    const auto runs = run_with(all);
    const auto found = std::find_if(runs.begin(), runs.end(),
                                    [&](const Run& run) { return judge_run(run) == outcome; });
    if (found == runs.end()) return std::nullopt;
    return static_cast<std::size_t>(found - runs.begin());
}

/// Makes a kind of the first failure that has none.
void Campaign::shrink_first() {
    Finding kind;
    kind.example = std::move(failures_.front());
    failures_.erase(failures_.begin());
    kind.outcome = judge_run(kind.example);
    kind.seeds = {kind.example.seed};
    kind.rules = kind.example.log;
    const auto try_all = [&](const std::vector<Rules>& all) {
        progress_.show(fmt::format("seed {} {}: looks for the faults that it needs among {}",
                                   kind.example.seed, to_text(kind.outcome),
                                   kind.example.log.size()));
        return first_alike(all, kind.outcome);
    };
    kind.is_shrunk =
        !kind.rules.empty() && try_all(std::vector<Rules>(kAttempts, kind.rules)).has_value();
    if (kind.is_shrunk) kind.rules = shrink(std::move(kind.rules), try_all);
    kind.command = command_for(kind);
    if (kind.outcome.kind == Kind::kCrash) find_stacks(kind);
    findings_.kinds.push_back(std::move(kind));
}

/// Lets it crash once more, alone, and with core files.
void Campaign::find_stacks(Finding& kind) {
    if (Runner::interrupted() != 0) return;
    progress_.show(fmt::format("seed {}: looks for the stacks of the crash", kind.example.seed));
    const std::string rules = kind.is_shrunk ? text_of(kind.rules) : options_.rules;
    const auto runs = runner_.carry_out_all({{kind.example.seed, rules, false, true}});
    kind.example.stacks = runs.front().stacks;
}

/// Adds to the last kind those failures that belong to it: with the same outcome, and the same
/// stacks or faults of the same shape that are enough for it.
void Campaign::join_others() {
    Finding& kind = findings_.kinds.back();
    const std::string functions = functions_in(kind.example.stacks);
    const bool is_hurried = Runner::interrupted() != 0;
    const auto shapes = shapes_of(kind.rules);
    std::vector<std::size_t> alike;
    for (std::size_t i = failures_.size(); i-- > 0;) {
        if (judge_run(failures_[i]) != kind.outcome) continue;
        const bool is_same = !functions.empty() && functions == functions_in(failures_[i].stacks);
        const bool is_taken_for_it =
            is_hurried || (!kind.is_shrunk && shapes == shapes_of(failures_[i].log));
        if (!is_same && !is_taken_for_it) {
            alike.push_back(i);
            continue;
        }
        kind.seeds.push_back(failures_[i].seed);
        failures_.erase(failures_.begin() + static_cast<std::ptrdiff_t>(i));
        for (std::size_t& later : alike) --later;
    }
    if (kind.is_shrunk) try_others(alike, kind);
    std::sort(kind.seeds.begin(), kind.seeds.end());
}

/// @param alike places in failures_, descending.
void Campaign::try_others(const std::vector<std::size_t>& alike, Finding& kind) {
    const auto shapes = shapes_of(kind.rules);
    std::vector<std::size_t> places;
    std::vector<Rules> all;
    for (const std::size_t place : alike) {
        Rules rules = rules_with(failures_[place].log, shapes);
        if (rules.empty()) continue;
        places.push_back(place);
        all.push_back(std::move(rules));
    }
    progress_.show(fmt::format("tries whether {} more runs fail in this way", all.size()));
    const auto runs = run_with(all);
    for (std::size_t i = 0; i < runs.size(); ++i) {
        if (judge_run(runs[i]) != kind.outcome) continue;
        kind.seeds.push_back(failures_[places[i]].seed);
        failures_.erase(failures_.begin() + static_cast<std::ptrdiff_t>(places[i]));
    }
}

std::string Campaign::command_for(const Finding& kind) const {
    std::vector<std::string> more;
    const std::string shrunk = fmt::format("{}", fmt::join(kind.rules, "; "));
    const bool is_short = shrunk.size() < kMostWord;
    if (!kind.is_shrunk || !is_short) more = {"--seed", std::to_string(kind.example.seed)};
    const std::string rules = kind.is_shrunk && is_short ? shrunk : options_.rules_given;
    more.insert(more.end(), {"--faults", rules});
    return for_shell(words_of(options_, "softverbs", more));
}

}  // namespace softverbs::explore
