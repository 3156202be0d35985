// SPDX-License-Identifier: BSD-2-Clause
#include "tools/info/explanation.hpp"

#include <fmt/core.h>

#include <new>

#include "config.h"
#include "dat/registry/lifetime.hpp"
#include "dat/registry/open_failure.hpp"
#include "dat/registry/provider_errors.hpp"
#include "support/log/captured_messages.hpp"
#include "tools/common/failure.hpp"
#include "tools/common/libraries.hpp"
#include "tools/info/explain_records.hpp"

namespace info {
namespace {

using support::Standing;
constexpr int kAsyncLength = 8;

class Explainer {
  public:
    Explainer(dat::Registry& registry, const std::string& ia_name, bool thread_safe)
        : registry_(registry),
          asked_{ia_name, DAT_VERSION_MAJOR, DAT_VERSION_MINOR, thread_safe},
          sink_(collect_into(facts_)),
          tell_(sink_) {}

    KnownFacts explain() {
        tell_.note("asked_for", asked_.ia_name + " " + version_text(asked_), "dat_ia_open", "");
        explain_libdat2();
        const support::CapturedMessages told;
        const auto lease = registry_.acquire(asked_);
        const dat::Key served = registry_.served_key(asked_);
        explain_records(tell_, registry_, asked_, served,
                        lease && lease->record ? lease->record->where : "");
        if (lease) {
            explain_provider(*lease);
            registry_.release(*lease);
        } else {
            dat::report_no_provider(registry_, asked_, lease.error());
        }
        explain_messages(told);
        return std::move(facts_);
    }

  private:
    void explain_libdat2() {
        const tools::FoundLibrary found = tools::find_libdat2("libdat2.so.2");
        if (found.file.empty())
            return tell_.add("libdat2", "none", "loader", Standing::kDegraded,
                             found.error +
                                 "; programs that are linked with it do not start: install it, "
                                 "then run ldconfig");
        tell_.add("libdat2", found.file, tools::found_by("libdat2.so.2", found.file),
                  found.opendat ? Standing::kWorks : Standing::kDegraded,
                  found.opendat ? ""
                                : "programs load another libdat2; this dry run uses OpenDAT's: "
                                  "see ldconfig -p | grep libdat2");
    }

    void explain_messages(const support::CapturedMessages& told) {
        for (const support::CapturedMessage& message : told.all()) {
            if (message.message->level > support::Level::kWarning) continue;
            const bool fails = message.message->level == support::Level::kError;
            tell_.add("message", fmt::format("{} [{}]", message.text, message.message->id),
                      "libdat2", fails ? Standing::kFails : Standing::kDegraded, message.next_step);
        }
    }

    void explain_provider(const dat::Lease& lease) {
        const support::ProviderMark* mark = dat::mark_of(*lease.provider);
        explain_library(lease, mark);
        if (lease.key != asked_)
            tell_.note("record_serves", version_text(lease.key), "libdat2",
                       "a thread-safe provider also serves programs that do not request one");
        if (!mark) return try_to_open();
        const std::size_t first = facts_.size();
        mark->explain(asked_.ia_name.c_str(), lease.record ? lease.record->ia_params.c_str() : "",
                      sink_);
        if (!lease.record) return;
        for (std::size_t i = first; i < facts_.size(); ++i)
            if (facts_[i].source == "ia_params") facts_[i].source = lease.record->where;
    }

    /// Reports the records of the same key that come before the one in use.
    void explain_passed_over(const dat::Lease& lease) {
        for (const dat::Candidate& candidate : lease.entry->candidates) {
            if (&candidate == lease.record) return;
            const auto library = dat::ProviderLibrary::load(candidate.library);
            tell_.note("passed_over", fmt::format("{}: {}", candidate.where, candidate.library),
                       "loader", library ? "it registers no provider" : library.error());
        }
    }

    void explain_library(const dat::Lease& lease, const support::ProviderMark* mark) {
        if (!lease.entry || !lease.record) return;
        explain_passed_over(lease);
        const std::string file = tools::resolved(lease.entry->library.file());
        const std::string version = tools::version_in(file);
        tell_.add("library", file, tools::found_by(lease.record->library, file));
        tell_.note("library_version", version.empty() ? "unknown" : version, "file name",
                   mark ? std::string("of OpenDAT ") + mark->release : "it is not OpenDAT's");
        if (mark && std::string(mark->release) != PACKAGE_VERSION)
            tell_.add("release", mark->release, "library", Standing::kDegraded,
                      "this libdat2 is of OpenDAT " PACKAGE_VERSION
                      ": install libraries of one release");
    }

    /// Opens the IA for real, because the provider cannot explain its choices.
    void try_to_open() {
        std::string name = asked_.ia_name;
        DAT_IA_HANDLE ia = DAT_HANDLE_NULL;
        DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
        const DAT_RETURN code =
            dat_ia_openv(name.data(), kAsyncLength, &async, &ia, asked_.major, asked_.minor,
                         asked_.thread_safe ? DAT_TRUE : DAT_FALSE);
        if (code == DAT_SUCCESS) dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG);
        tell_.add("open", tools::code_name(code), "dat_ia_open",
                  code == DAT_SUCCESS ? Standing::kWorks : Standing::kFails,
                  code == DAT_SUCCESS
                      ? "opened and closed; this provider does not explain its choices"
                      : "this provider does not explain its choices; see its own "
                        "messages");
    }

    dat::Registry& registry_;
    const dat::Key asked_;
    KnownFacts facts_;
    const support::FactSink sink_;
    const support::Facts tell_;
};

}  // namespace

KnownFacts explain_ia(const std::string& ia_name, bool thread_safe) {
    const auto registry = dat::registry();
    if (!registry) throw std::bad_alloc();
    return Explainer(*registry, ia_name, thread_safe).explain();
}

}  // namespace info
