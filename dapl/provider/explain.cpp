// SPDX-License-Identifier: BSD-2-Clause
// Calls the library's own open_manager(), as dat_ia_open does, so that the choices are the same.
// The messages that it would report to the user are captured and become facts.
#include "dapl/provider/explain.hpp"

#include <fmt/core.h>
#include <sys/resource.h>

#include <exception>
#include <memory>

#include "dapl/base/codes.hpp"
#include "dapl/base/guard.hpp"
#include "dapl/cm/manager.hpp"
#include "dapl/provider/provider.hpp"
#include "support/log/captured_messages.hpp"

namespace dapl {
namespace {

using support::Standing;

/// Enough for a few connections with their channels, and for what the program itself has open.
constexpr rlim_t kEnoughDescriptors = 256;

void explain_messages(const support::Facts& facts, const support::CapturedMessages& told) {
    for (const support::CapturedMessage& message : told.all()) {
        const bool failed = message.message->level == support::Level::kError;
        const bool warns = message.message->level == support::Level::kWarning;
        facts.add("message", fmt::format("{} [{}]", message.text, message.message->id),
                  "dat_ia_open",
                  failed  ? Standing::kFails
                  : warns ? Standing::kDegraded
                          : Standing::kWorks,
                  message.next_step);
    }
}

void explain_descriptors(const support::Facts& facts) {
    rlimit limit{};
    getrlimit(RLIMIT_NOFILE, &limit);
    const bool enough = limit.rlim_cur >= kEnoughDescriptors;
    facts.add("descriptors",
              limit.rlim_cur == RLIM_INFINITY ? "unlimited" : std::to_string(limit.rlim_cur),
              "RLIMIT_NOFILE", enough ? Standing::kWorks : Standing::kDegraded,
              enough ? "" : "EVDs and connections need descriptors: raise the limit (`ulimit -n`)");
}

void explain_adapter(const support::Facts& facts, const cm::Manager& manager) {
    facts.add("connection_manager", manager.name(), "library");
    manager.explain(facts);
    explain_descriptors(facts);
    facts.note("thread_safety", "thread safe", "library",
               "any thread may make any call, whatever the record of dat.conf says");
}

void dry_run(const Provider& provider, const char* ia_name, const char* ia_params,
             const support::Facts& facts) {
    const support::CapturedMessages told;
    const auto manager = provider.library.open_manager(ia_name, ia_params);
    if (manager) explain_adapter(facts, **manager);
    explain_messages(facts, told);
    if (!manager && told.all().empty())
        facts.add("open",
                  fmt::format("code {:#010x}: {}", manager.error().code, manager.error().cause),
                  "dat_ia_open", Standing::kFails, "open it with DAPL_TRACE_LEVEL=7 to see why");
}

}  // namespace

void explain(const char* ia_name, const char* ia_params, const support::FactSink& sink) {
    const support::Facts facts(sink, ia_name);
    try {
        if (const Provider* provider = find_provider(ia_name))
            dry_run(*provider, ia_name, ia_params, facts);
        else
            facts.add("open", "the library has not registered the name", "dat_ia_open",
                      Standing::kFails);
    } catch (const std::exception& failure) {
        sink.take(sink.listener,
                  {"open", failure.what(), "dat_ia_open", Standing::kFails, "free memory"});
    }
}

}  // namespace dapl
