// SPDX-License-Identifier: BSD-2-Clause
#include "tools/stat/prometheus.hpp"

#include <fmt/core.h>

#include <cctype>
#include <map>

namespace stat_tool {
namespace {

/// A metric with all its samples, which the format requires to be together.
struct Metric {
    std::string type, help, samples;
};

std::string escaped(const std::string& value) {
    std::string text;
    for (const char c : value) {
        if (c == '\\' || c == '"') text += '\\';
        text += c == '\n' ? std::string("\\n") : std::string(1, c);
    }
    return text;
}

class Page {
  public:
    void gauge(const std::string& name, const char* help, const std::string& labels, double value) {
        add(name, "gauge", help, labels, fmt::format("{}", value));
    }
    /// @param of counters such as "DCNT_EP_POST_SEND".
    void counters(const Counters& of, const std::string& labels) {
        for (const auto& [name, value] : of)
            add(metric_name(name), "counter", "counter " + name + " of dat_ib_query_counters",
                labels, fmt::format("{}", value));
    }
    std::string text() const {
        std::string text;
        for (const auto& [name, metric] : metrics_)
            text += fmt::format("# HELP {0} {1}\n# TYPE {0} {2}\n{3}", name, metric.help,
                                metric.type, metric.samples);
        return text;
    }

  private:
    static std::string metric_name(std::string_view counter) {
        constexpr std::string_view kPrefix = "DCNT_";
        if (counter.starts_with(kPrefix)) counter.remove_prefix(kPrefix.size());
        std::string name = "opendat_";
        for (const char c : counter) {
            const auto byte = static_cast<unsigned char>(c);
            name += std::isalnum(byte) ? static_cast<char>(std::tolower(byte)) : '_';
        }
        return name + "_total";
    }
    void add(const std::string& name, const char* type, const std::string& help,
             const std::string& labels, const std::string& value) {
        Metric& metric = metrics_[name];
        metric.type = type;
        metric.help = escaped(help);
        metric.samples += fmt::format("{}{{{}}} {}\n", name, labels, value);
    }
    std::map<std::string, Metric> metrics_;
};

std::string label(const char* name, const std::string& value) {
    return fmt::format(",{}=\"{}\"", name, escaped(value));
}

double seconds(std::int64_t milliseconds) {
    return static_cast<double>(milliseconds) / 1e3;
}

void add_ep(Page& page, const Ep& ep, const std::string& of_ia) {
    const std::string labels = of_ia + label("ep", ep.id) + label("peer", peer_text(ep));
    page.gauge("opendat_ep_connected", "1 while the EP is connected", labels,
               ep.state == "CONNECTED" ? 1 : 0);
    page.gauge("opendat_ep_posted_requests",
               "posted requests whose completions have not been consumed", labels,
               static_cast<double>(ep.requests.posted));
    page.gauge("opendat_ep_oldest_request_seconds", "lower bound of the age of the oldest of them",
               labels, seconds(ep.requests.oldest_ms));
    if (ep.srq.empty())
        page.gauge("opendat_ep_posted_receives",
                   "posted receives whose completions have not been consumed", labels,
                   static_cast<double>(ep.receives.posted));
    page.counters(ep.counters, labels);
}

void add_ia(Page& page, const Ia& ia, const std::string& of_library) {
    const std::string labels = of_library + label("ia", ia.name) + label("ia_id", ia.id);
    page.gauge("opendat_ia_lmrs", "memory regions", labels, static_cast<double>(ia.lmrs));
    page.gauge("opendat_ia_lmr_bytes", "registered memory", labels,
               static_cast<double>(ia.lmr_bytes));
    page.gauge("opendat_ia_unanswered_requests", "unanswered connection requests", labels,
               static_cast<double>(ia.requests.size()));
    page.counters(ia.counters, labels);
    for (const Ep& ep : ia.eps) add_ep(page, ep, labels);
    for (const Evd& evd : ia.evds) {
        const std::string of_evd = labels + label("evd", evd.id);
        page.gauge("opendat_evd_waiting", "events waiting in the library", of_evd,
                   static_cast<double>(evd.waiting));
        page.gauge("opendat_evd_queue_length", "capacity of the event queue", of_evd,
                   static_cast<double>(evd.queue_length));
        page.counters(evd.counters, of_evd);
    }
    for (const Srq& srq : ia.srqs)
        page.gauge("opendat_srq_posted_receives",
                   "posted receives whose completions have not been consumed",
                   labels + label("srq", srq.id), static_cast<double>(srq.posted));
}

}  // namespace

std::string to_prometheus(const std::vector<Process>& processes) {
    Page page;
    for (const Process& process : processes)
        for (const Library& library : process.libraries) {
            const std::string labels = fmt::format("pid=\"{}\"", process.pid) +
                                       label("program", process.program) +
                                       label("library", library.file);
            page.gauge("opendat_busy", "1 while an adapter instance is being opened or closed",
                       labels, library.busy ? 1 : 0);
            for (const Ia& ia : library.ias) add_ia(page, ia, labels);
        }
    return page.text();
}

}  // namespace stat_tool
