// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// dat_doctor: what is wrong with one machine, or between two.
#include <cstdio>
#include <exception>

#include "dat/tools/doctor/examination.hpp"
#include "dat/tools/options.hpp"

namespace {

int run(const doctor::Options& options) {
    const doctor::Report report = doctor::examine(options);
    const std::string text = options.json ? to_json(report).text() : to_text(report);
    std::fwrite(text.data(), 1, text.size(), stdout);
    const int flushed = tools::flush_output();
    return flushed != 0 ? flushed : report.findings.exit_status();
}

}  // namespace

int main(int argc, char** argv) {
    int exit_status = 0;
    const std::optional<doctor::Options> options = doctor::parse_options(argc, argv, exit_status);
    if (!options) return exit_status;
    return tools::run("dat_doctor", [&] { return run(*options); });
}
