// SPDX-License-Identifier: BSD-2-Clause
#include "tools/doctor/report.hpp"

#include <algorithm>

#include "tools/common/terminal.hpp"

namespace doctor {
namespace {

constexpr int kWarningsStatus = 3;

const char* to_text(Severity severity) {
    return severity == Severity::kError ? "error" : "warning";
}

std::string to_text(const Finding& finding) {
    const bool error = finding.kind->severity == Severity::kError;
    std::string text =
        tools::coloured(stdout, error ? tools::Colour::kBad : tools::Colour::kWarning,
                        std::string(finding.kind->id) + ' ' + to_text(finding.kind->severity));
    text += std::string(": ") + finding.kind->title + '\n';
    text += "    found: " + tools::printable(finding.evidence) + '\n';
    if (!finding.mend.empty()) text += "    fix:   " + tools::printable(finding.mend) + '\n';
    return text;
}

tools::Json to_json(const Finding& finding) {
    tools::Json one = tools::Json::object();
    one.put("id", finding.kind->id)
        .put("severity", to_text(finding.kind->severity))
        .put("title", finding.kind->title)
        .put("evidence", finding.evidence)
        .put("mend", finding.mend);
    return one;
}

tools::Json to_json(const std::optional<Side>& side) {
    tools::Json one = tools::Json::object();
    if (!side) return one;
    one.put("release", side->release)
        .put("manager", side->manager)
        .put("device", side->device)
        .put("link", side->link)
        .put("mtu", side->mtu)
        .put("gid", side->gid)
        .put("address", side->address);
    return one;
}

const char* verdict_of(const Findings& findings) {
    const int status = findings.exit_status();
    return status == 0 ? "healthy" : status == kWarningsStatus ? "warnings" : "fails";
}

}  // namespace

int Findings::exit_status() const {
    const bool error = std::any_of(all_.begin(), all_.end(), [](const Finding& finding) {
        return finding.kind->severity == Severity::kError;
    });
    if (error) return 1;
    return all_.empty() ? 0 : kWarningsStatus;
}

std::string to_text(const Report& report) {
    std::string text = ports_text(report.modules, report.ports);
    for (const Finding& finding : report.findings.all()) text += to_text(finding);
    text += "examined:";
    for (const std::string& check : report.checks)
        text += (check == report.checks.front() ? " " : ", ") + check;
    text += '\n';
    if (report.findings.all().empty())
        return text + tools::coloured(stdout, tools::Colour::kGood, "nothing is wrong") + '\n';
    return text + std::to_string(report.findings.all().size()) + " found" +
           (report.findings.exit_status() == 1 ? "; something would fail" : "; warnings only") +
           '\n';
}

tools::Json to_json(const Report& report) {
    tools::Json checks = tools::Json::array();
    for (const std::string& check : report.checks) checks.add(check);
    tools::Json modules = tools::Json::array();
    for (const std::string& module : report.modules) modules.add(module);
    tools::Json findings = tools::Json::array();
    for (const Finding& finding : report.findings.all()) findings.add(to_json(finding));
    tools::Json document = tools::Json::document("dat_doctor");
    document.put("ia", report.ia)
        .put("verdict", verdict_of(report.findings))
        .put("checks", std::move(checks))
        .put("kernel_modules", std::move(modules))
        .put("ports", ports_json(report.ports))
        .put("findings", std::move(findings))
        .put("here", to_json(report.here))
        .put("peer", to_json(report.peer));
    return document;
}

}  // namespace doctor
