// SPDX-License-Identifier: BSD-2-Clause
#include "dat/registry/open_failure.hpp"

#include <algorithm>
#include <atomic>
#include <cerrno>

#include "support/base/edit_distance.hpp"
#include "support/base/limits.hpp"
#include "support/log/log.hpp"

namespace dat {
namespace {

std::atomic<int> g_failures{0};

bool all_are_told() {
    return support::trace_level() >= static_cast<int>(support::Level::kTrace);
}

template <class Tell>
void count_failure(const Tell& tell) {
    const bool all = all_are_told();
    const int count = g_failures.fetch_add(1, std::memory_order_relaxed) + 1;
    if (count <= kFailuresTold || all) tell();
    if (count == kFailuresTold && !all) support::report<support::kFurtherFailuresHidden>(count);
}

template <const support::Message& message, class... Arguments>
void report_failure(const Arguments&... arguments) {
    count_failure([&] { support::report<message>(arguments...); });
}

/// @return the version and thread safety as a record writes them.
std::string version_text(const Key& key) {
    return fmt::format("u{}.{} {}", key.major, key.minor,
                       key.thread_safe ? "threadsafe" : "nonthreadsafe");
}

std::string nearest_name(const std::list<Entry>& entries, const std::string& name) {
    const auto nearer = [&name](const Entry& a, const Entry& b) {
        return support::edit_distance(name, a.key.ia_name) <
               support::edit_distance(name, b.key.ia_name);
    };
    return std::min_element(entries.begin(), entries.end(), nearer)->key.ia_name;
}

void report_unreadable(const Registry& registry, const Key& asked) {
    if (!registry.tells_unreadable_file()) return count_failure([] {});
    const ConfFile& file = registry.file();
    report_failure<support::kNoConfFile>(asked.ia_name, file.path, file.unreadable);
}

void report_not_in_file(const Registry& registry, const Key& asked) {
    const std::list<Entry>& entries = registry.entries();
    const ConfFile& file = registry.file();
    const auto same_name = std::find_if(entries.begin(), entries.end(), [&](const Entry& entry) {
        return entry.key.ia_name == asked.ia_name;
    });
    if (same_name != entries.end())
        report_failure<support::kOtherVersion>(asked.ia_name, version_text(asked), file.path,
                                               version_text(same_name->key));
    else if (!file.unreadable.empty() && entries.empty())
        report_unreadable(registry, asked);
    else if (entries.empty())
        report_failure<support::kNoRecords>(asked.ia_name, file.path);
    else
        report_failure<support::kUnknownIa>(asked.ia_name, file.path,
                                            nearest_name(entries, asked.ia_name));
}

}  // namespace

bool further_failures_are_hidden() {
    return g_failures.load(std::memory_order_relaxed) >= kFailuresTold && !all_are_told();
}

void count_told_failure() {
    count_failure([] {});
}

void report_no_provider(const Registry& registry, const Key& asked, const NoProvider& failure) {
    if (failure.reasons.empty()) return report_not_in_file(registry, asked);
    if (failure.limit != 0)
        return count_failure(
            [&] { support::report_limit(failure.limit, "the library of IA " + asked.ia_name); });
    std::string all;
    for (const std::string& reason : failure.reasons) all += (all.empty() ? "" : " | ") + reason;
    report_failure<support::kNoProvider>(asked.ia_name, all);
}

void report_refused(const Lease& lease, DAT_RETURN code, const std::string& code_text) {
    const Candidate* record = lease.record;
    const bool is_limit = DAT_GET_TYPE(code) == DAT_INSUFFICIENT_RESOURCES;
    report_failure<support::kOpenRefused>(
        lease.key.ia_name,
        record ? fmt::format("{}: {} for '{}'", record->where, record->library, record->ia_params)
               : "the program's own provider",
        code_text,
        is_limit ? "raise the limit that is reached: locked memory (`ulimit -l`), descriptors "
                   "(`ulimit -n`) or memory (`ulimit -v`), or close unused objects"
                 : "check the arguments of dat_ia_open, and that the device exists on this "
                   "machine");
}

}  // namespace dat
