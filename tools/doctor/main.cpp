// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// dat_doctor: what is wrong with one machine, or between two.
#include <cstdio>

#include "tools/common/options.hpp"
#include "tools/doctor/examination.hpp"

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
    doctor::Options options;
    const tools::Parsed parsed = tools::parse(doctor::command_line(options), argc, argv);
    if (parsed.exit_status) return *parsed.exit_status;
    return tools::run("dat_doctor", [&] { return run(options); });
}
