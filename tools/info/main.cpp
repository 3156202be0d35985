// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// dat_info: the IAs of this machine, and a dry run of opening one.
#include <cstdio>

#include "tools/common/options.hpp"
#include "tools/info/explanation.hpp"
#include "tools/info/listing.hpp"
#include "tools/info/options.hpp"
#include "tools/info/settings.hpp"

namespace {

using namespace info;

/// @return `status`, unless the output could not be written.
int print(const std::string& text, int status) {
    std::fwrite(text.data(), 1, text.size(), stdout);
    const int flushed = tools::flush_output();
    return flushed != 0 ? flushed : status;
}

int explain(const Options& options) {
    const KnownFacts facts = explain_ia(options.explain, options.thread_safe);
    const support::Standing verdict = verdict_of(facts);
    if (!options.json)
        return print(to_table(facts) + to_sentence(options.explain, verdict),
                     exit_status_of(verdict));
    tools::Json explanation = tools::Json::object();
    explanation.put("ia", options.explain)
        .put("verdict", to_text(verdict))
        .put("facts", to_json(facts));
    tools::Json document = tools::Json::document("dat_info");
    document.put("explanation", std::move(explanation));
    return print(document.text(), exit_status_of(verdict));
}

int list(const Options& options) {
    const Listing listing = list_all();
    return print(options.json ? to_json(listing).text() : to_text(listing, options.verbose),
                 all_open(listing) ? 0 : tools::kFailureStatus);
}

int show(const Options& options) {
    const Settings settings = show_settings(options.ia);
    return print(options.json ? to_json(settings).text() : to_text(settings), 0);
}

int run(const Options& options) {
    if (options.settings) return show(options);
    return options.explain.empty() ? list(options) : explain(options);
}

}  // namespace

int main(int argc, char** argv) {
    Options options;
    const tools::Parsed parsed = tools::parse(command_line(options), argc, argv);
    if (parsed.exit_status) return *parsed.exit_status;
    return tools::run("dat_info", [&] { return run(options); });
}
