// SPDX-License-Identifier: BSD-2-Clause
#include "tools/stat/hang.hpp"

#include <fmt/core.h>

#include <algorithm>

#include "tools/common/count_text.hpp"
#include "tools/stat/ends.hpp"

namespace stat_tool {
namespace {

class Finder {
  public:
    Finder(const std::vector<Process>& asked, const std::vector<Process>& others,
           std::int64_t limit_ms)
        : limit_ms_(limit_ms) {
        for (const Process& process : asked) add_ends(process, ends_);
        for (const Process& process : others) add_ends(process, ends_);
    }
    void look_at(const Process& process);
    std::vector<Finding> take() { return std::move(findings_); }

  private:
    const End* peer_of(const End& end) const { return stat_tool::peer_of(end, ends_); }
    void look_at(const Process& process, const Ia& ia);
    void look_at(const End& end);
    void look_at_requests(const End& end);
    void look_at_receives(const End& end);
    void look_at_waits(const End& end);
    void add(const End& end, const char* kind, std::string text, std::string next_step) {
        findings_.push_back(
            {end.process->pid, kind, end.ep->id,
             fmt::format("EP {} (peer {}): {}", end.ep->id, peer_text(*end.ep), text),
             std::move(next_step)});
    }

    const std::int64_t limit_ms_;
    std::vector<End> ends_;
    std::vector<Finding> findings_;
};

/// @return the state of the receives at one end.
std::string receives_text(const Ep& ep) {
    if (!ep.srq.empty()) return fmt::format("receives of SRQ {}", ep.srq);
    return tools::count_text(ep.receives.posted, "receive") + " posted";
}

bool has_no_receives(const Ep& ep) {
    return ep.srq.empty() && ep.receives.posted == 0;
}

/// @return whether a thread waits for events of this side: at the EVD itself or at its CNO.
bool is_waited_for(const Ia& ia, const Work& work) {
    const Evd* evd = find_evd(ia, work.evd);
    if (!evd) return false;
    if (evd->waiter) return true;
    return std::any_of(ia.cnos.begin(), ia.cnos.end(), [&](const Cno& cno) {
        return cno.id == evd->cno && cno.known && cno.waiters > 0;
    });
}

bool waits_for_a_message(const End& end) {
    const bool can_get_one = !has_no_receives(*end.ep);
    return end.ep->state == "CONNECTED" && end.ep->requests.posted == 0 && can_get_one &&
           is_waited_for(*end.ia, end.ep->receives);
}

/// @return the likely cause of requests that do not complete, and what to do.
std::string advice(const End& end, const End* peer, std::int64_t limit_ms) {
    const Evd* evd = find_evd(*end.ia, end.ep->requests.evd);
    if (evd && !evd->waiter && evd->unlooked_ms >= limit_ms)
        return fmt::format(
            "the program has not polled EVD {} for {}: completions may be waiting there", evd->id,
            duration_text(evd->unlooked_ms));
    if (!peer)
        return "the other end is not visible: start it with OPENDAT_STATUS=on too, or run dat_stat "
               "on its machine";
    if (peer->ep->state != "CONNECTED")
        return fmt::format("the peer's EP is {}: see what its program does", peer->ep->state);
    if (end.ep->requests.operation == "send" && has_no_receives(*peer->ep))
        return "a message waits for a receive: let the peer's program post some";
    return fmt::format("see what process {} ({}) does", peer->process->pid, peer->process->program);
}

void Finder::look_at_requests(const End& end) {
    const Work& work = end.ep->requests;
    if (work.posted == 0 || work.oldest_ms < limit_ms_ || work.idle_ms < limit_ms_) return;
    const End* peer = peer_of(end);
    const std::string there =
        peer ? receives_text(*peer->ep) + " there" : "the other end is not visible";
    add(end, "no-completion",
        fmt::format(
            "nothing completed for {}; {} posted, the oldest a {} of {} bytes with cookie {}; {}, "
            "{} here",
            duration_text(std::min(work.oldest_ms, work.idle_ms)),
            tools::count_text(work.posted, "request"), work.operation, work.bytes, work.cookie,
            there, receives_text(*end.ep)),
        advice(end, peer, limit_ms_));
}

/// Reports the same from the end that holds up the other.
void Finder::look_at_receives(const End& end) {
    const End* peer = has_no_receives(*end.ep) ? peer_of(end) : nullptr;
    if (!peer) return;
    const Work& work = peer->ep->requests;
    if (work.operation != "send" || work.oldest_ms < limit_ms_ || work.idle_ms < limit_ms_) return;
    add(end, "no-receives",
        fmt::format(
            "nothing completed for {} at the other end; {} posted there, the oldest a send; "
            "0 receives posted here",
            duration_text(std::min(work.oldest_ms, work.idle_ms)),
            tools::count_text(work.posted, "request")),
        "let the program post receives");
}

/// Reports only one of the two ends, the one that is examined first.
void Finder::look_at_waits(const End& end) {
    if (!waits_for_a_message(end) || end.ep->receives.idle_ms < limit_ms_) return;
    const End* peer = peer_of(end);
    if (!peer || !waits_for_a_message(*peer) || peer->ep->receives.idle_ms < limit_ms_) return;
    const bool is_told_there =
        std::any_of(findings_.begin(), findings_.end(), [&](const Finding& each) {
            return each.kind == "both-wait" && each.object == peer->ep->id;
        });
    if (is_told_there) return;
    add(end, "both-wait",
        fmt::format(
            "both ends wait for a message from the other, and none has arrived for {}; {} there, "
            "{} here",
            duration_text(std::min(end.ep->receives.idle_ms, peer->ep->receives.idle_ms)),
            receives_text(*peer->ep), receives_text(*end.ep)),
        fmt::format("find out which of the two should send: this one or process {}",
                    peer->process->pid));
}

void Finder::look_at(const End& end) {
    if (!end.ep->history.empty()) {
        const Change& last = end.ep->history.back();
        const bool is_between = end.ep->state == "ACTIVE_CONNECTION_PENDING" ||
                                end.ep->state == "COMPLETION_PENDING" ||
                                end.ep->state == "DISCONNECT_PENDING";
        if (is_between && last.age_ms >= limit_ms_)
            add(end, "connecting",
                fmt::format("{} for {}, since {}", end.ep->state, duration_text(last.age_ms),
                            last.why),
                "check whether the peer's program answers: `dat_stat --hang` there");
    }
    if (end.ep->state != "CONNECTED" && end.ep->state != "DISCONNECT_PENDING" &&
        end.ep->type == "RC")
        return;
    look_at_requests(end);
    look_at_receives(end);
    look_at_waits(end);
}

void Finder::look_at(const Process& process, const Ia& ia) {
    if (ia.busy)
        findings_.push_back(
            {process.pid, "locked", "",
             fmt::format("IA {}: a thread held its lock during the query", ia.name),
             "find out in which call its threads are: `dat_trace PID`, `gdb -p PID`"});
    for (const Ep& ep : ia.eps) look_at({&process, &ia, &ep});
    for (const Request& request : ia.requests)
        if (request.age_ms >= limit_ms_)
            findings_.push_back(
                {process.pid, "unanswered", request.id,
                 fmt::format(
                     "a connection request from {} to qualifier {} has not been answered for {}",
                     request.peer, request.conn_qual, duration_text(request.age_ms)),
                 "let the program take its event and call dat_cr_accept or dat_cr_reject"});
    for (const Evd& evd : ia.evds)
        if (evd.waiting > 0 && !evd.waiter && evd.streams != std::vector<std::string>{"async"} &&
            evd.unlooked_ms >= limit_ms_)
            findings_.push_back(
                {process.pid, "untaken", evd.id,
                 fmt::format("EVD {}: {} event{}, and the program has not polled it for {}", evd.id,
                             evd.waiting, evd.waiting == 1 ? " waits" : "s wait",
                             duration_text(evd.unlooked_ms)),
                 "let the program dequeue them with dat_evd_wait or dat_evd_dequeue"});
}

void Finder::look_at(const Process& process) {
    if (process.stopped)
        findings_.push_back({process.pid, "stopped", "", "the process is stopped",
                             "continue it, with `kill -CONT` or in its debugger"});
    for (const Library& library : process.libraries) {
        if (library.busy)
            findings_.push_back(
                {process.pid, "locked", "",
                 fmt::format("{}: a call that opens or closes an adapter instance did not return "
                             "during the query",
                             library.file),
                 "find out in which call its threads are: `dat_trace PID`, `gdb -p PID`"});
        for (const Ia& ia : library.ias) look_at(process, ia);
    }
}

}  // namespace

std::vector<Finding> find_hangs(const std::vector<Process>& asked,
                                const std::vector<Process>& others, std::int64_t limit_ms) {
    Finder finder(asked, others, limit_ms);
    for (const Process& process : asked) finder.look_at(process);
    return finder.take();
}

}  // namespace stat_tool
