// SPDX-License-Identifier: BSD-2-Clause
#include "tools/stat/table.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cstdio>

#include "tools/common/count_text.hpp"
#include "tools/common/terminal.hpp"

namespace stat_tool {
namespace {

/// Appends a line to a text. Much of it comes from another process.
template <class... Arguments>
void line(std::string& to, fmt::format_string<const Arguments&...> format,
          const Arguments&... arguments) {
    to += tools::printable(fmt::format(format, arguments...)) + '\n';
}

/// @return the beginning of a line, coloured.
std::string begin(tools::Colour colour, const std::string& text) {
    return tools::coloured(stdout, colour, tools::printable(text));
}

std::string fill_text(std::uint64_t posted, std::uint64_t limit) {
    return limit == 0 ? fmt::format("{}", posted) : fmt::format("{}/{}", posted, limit);
}

std::string receives_text(const Ep& ep) {
    return ep.srq.empty() ? fill_text(ep.receives.posted, ep.receives.limit) : "SRQ";
}

std::string oldest_text(const Work& work) {
    if (work.posted == 0) return "-";
    return fmt::format("{} {} for {}", work.operation, work.cookie, duration_text(work.oldest_ms));
}

std::string bytes_text(std::uint64_t bytes) {
    constexpr std::uint64_t kKibi = 1024, kMebi = kKibi * kKibi;
    if (bytes >= kMebi) return fmt::format("{:.1f} MiB", static_cast<double>(bytes) / kMebi);
    return bytes >= kKibi ? fmt::format("{:.1f} KiB", static_cast<double>(bytes) / kKibi)
                          : fmt::format("{} bytes", bytes);
}

void add_counters(std::string& to, const Counters& counters, bool wanted) {
    if (!wanted) return;
    for (const auto& [name, value] : counters) line(to, "      {:<32} {}", name, value);
}

void add_history(std::string& to, const Ep& ep) {
    constexpr std::size_t kShown = 2;
    const std::size_t count = ep.history.size();
    std::string text;
    for (std::size_t i = count > kShown ? count - kShown : 0; i < count; ++i) {
        const Change& change = ep.history[i];
        if (!text.empty()) text += ", ";
        text += fmt::format("{} -> {} {} ago", change.why, change.to, duration_text(change.age_ms));
    }
    if (!text.empty()) line(to, "      {}", text);
}

void add_eps(std::string& to, const Ia& ia, bool counters) {
    if (ia.eps.empty()) return;
    line(to, "    {:<16} {:<14} {:<22} {:>10} {:>10}  {:<32} {}", "EP", "state", "peer", "requests",
         "receives", "oldest request", "last completion");
    for (const Ep& ep : ia.eps) {
        line(to, "    {:<16} {:<14} {:<22} {:>10} {:>10}  {:<32} {} ago or more", ep.id, ep.state,
             peer_text(ep), fill_text(ep.requests.posted, ep.requests.limit), receives_text(ep),
             oldest_text(ep.requests),
             duration_text(std::min(ep.requests.idle_ms, ep.receives.idle_ms)));
        add_history(to, ep);
        add_counters(to, ep.counters, counters);
    }
}

std::string streams_text(const Evd& evd) {
    std::string text;
    for (const std::string& stream : evd.streams) text += (text.empty() ? "" : ",") + stream;
    return text;
}

void add_evds(std::string& to, const Ia& ia, bool counters) {
    if (ia.evds.empty()) return;
    line(to, "    {:<16} {:<28} {:>8} {:>8}  {}", "EVD", "streams", "waiting", "length",
         "looked at");
    for (const Evd& evd : ia.evds) {
        std::string looked = evd.waiter ? std::string("a thread waits")
                                        : duration_text(evd.unlooked_ms) + " ago or more";
        if (!evd.cno.empty()) looked += ", CNO " + evd.cno;
        if (evd.lost_events) looked += ", events were lost";
        line(to, "    {:<16} {:<28} {:>8} {:>8}  {}", evd.id, streams_text(evd), evd.waiting,
             evd.queue_length, looked);
        add_counters(to, evd.counters, counters);
    }
}

void add_others(std::string& to, const Ia& ia) {
    for (const Cno& cno : ia.cnos)
        line(to, "    CNO {}: {}", cno.id,
             cno.known ? fmt::format("{} EVDs, {} threads wait{}", cno.evds, cno.waiters,
                                     cno.triggered ? ", triggered" : "")
                       : std::string("at work"));
    for (const Srq& srq : ia.srqs)
        line(to, "    SRQ {}: {} receives posted, {} EPs{}", srq.id,
             fill_text(srq.posted, srq.limit), srq.eps, srq.failed ? ", failed" : "");
    for (const ServicePoint& point : ia.service_points)
        line(to, "    {} {}: at qualifier {}", point.kind, point.id, point.conn_qual);
    for (const Request& request : ia.requests)
        line(to, "    CR {}: from {} to qualifier {}, not answered for {} or more", request.id,
             request.peer, request.conn_qual, duration_text(request.age_ms));
}

void add_ia(std::string& to, const Ia& ia, bool counters) {
    line(to, "  IA {}: {} port {}, address {}, {}; {}, {} ({}), {}", ia.name, ia.device, ia.port,
         ia.address.empty() ? "none" : ia.address, ia.manager, tools::count_text(ia.pzs, "PZ"),
         tools::count_text(ia.lmrs, "LMR"), bytes_text(ia.lmr_bytes),
         tools::count_text(ia.rmrs, "RMR"));
    if (ia.busy) line(to, "    a thread holds its lock: what follows is incomplete");
    add_eps(to, ia, counters);
    add_evds(to, ia, counters);
    add_others(to, ia);
    add_counters(to, ia.counters, counters);
}

}  // namespace

std::string to_table(const Process& process, bool counters) {
    std::string text;
    const std::string heading =
        begin(tools::Colour::kHeading, fmt::format("process {}, {}", process.pid, process.program));
    if (process.stopped) text += heading + ": stopped\n";
    for (const Library& library : process.libraries) {
        text += heading;
        line(text, ": {}, ages exact to {}", library.file, duration_text(library.resolution_ms));
        if (library.busy)
            line(text, "  a call that opens or closes an adapter instance has not returned");
        for (const Ia& ia : library.ias) add_ia(text, ia, counters);
    }
    return text;
}

std::string to_list(const std::vector<Process>& processes) {
    std::string text;
    line(text, "{:>8} {:<16} {:>5}  {}", "PID", "program", "EPs", "IAs");
    for (const Process& process : processes) {
        std::size_t eps = 0;
        std::string names;
        for (const Library& library : process.libraries)
            for (const Ia& ia : library.ias) {
                eps += ia.eps.size();
                names += (names.empty() ? "" : ", ") + ia.name;
            }
        line(text, "{:>8} {:<16} {:>5}  {}", process.pid, process.program, eps,
             process.stopped ? "stopped" : names);
    }
    return text;
}

std::string to_text(const std::vector<Finding>& findings, std::int64_t limit_ms) {
    std::string text;
    for (const Finding& finding : findings) {
        text +=
            fmt::format("process {}: {}\n", finding.pid, begin(tools::Colour::kBad, finding.text));
        line(text, "    {}", finding.next_step);
    }
    if (findings.empty())
        text += begin(tools::Colour::kGood,
                      fmt::format("nothing has hung for {}", duration_text(limit_ms))) +
                '\n';
    return text;
}

}  // namespace stat_tool
