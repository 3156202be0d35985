// SPDX-License-Identifier: BSD-2-Clause
#include "tools/stat/registrations.hpp"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <iterator>

#include "broker/directory.hpp"
#include "tools/common/json.hpp"
#include "tools/common/terminal.hpp"

namespace stat_tool {
namespace {

namespace memory = dapl::memory;
using memory::ProcessStatus;
using memory::SlotState;
using memory::SlotStatus;
using memory::TableStatus;
using memory::Time;

constexpr std::array kStates{SlotState::kActive, SlotState::kAnnounced, SlotState::kReleased,
                             SlotState::kRevoked};

const char* name_of(SlotState state) {
    switch (state) {
        case SlotState::kActive:
            return "active";
        case SlotState::kAnnounced:
            return "announced";
        case SlotState::kReleased:
            return "released";
        case SlotState::kRevoked:
            return "revoked";
        default:
            return "free";
    }
}

const char* name_of(memory::Class kind) {
    switch (kind) {
        case memory::Class::kRdma:
            return "rdma";
        case memory::Class::kMessaging:
            return "messaging";
        default:
            return "pinned";
    }
}

bool is_wanted(std::int32_t pid, const std::vector<pid_t>& pids) {
    return pids.empty() || std::find(pids.begin(), pids.end(), pid) != pids.end();
}

std::int64_t milliseconds(Time time) {
    return static_cast<std::int64_t>(time / 1'000'000);
}

/// @return the time until an announced slot is taken back; 0 when it has passed.
Time left_until(Time deadline) {
    const Time now = memory::now();
    return deadline > now ? deadline - now : 0;
}

template <class... Arguments>
void line(std::string& to, fmt::format_string<const Arguments&...> format,
          const Arguments&... arguments) {
    fmt::format_to(std::back_inserter(to), format, arguments...);
    to += '\n';
}

std::string capacity_text(std::uint64_t bytes) {
    return bytes == 0 ? std::string("no limit") : fmt::format("{}", bytes);
}

std::string reaper_text(const memory::Terms& terms) {
    if (terms.low == 0) return "nothing is taken back ahead of need";
    return fmt::format("below {} free entries, entries are taken back until {} are free", terms.low,
                       terms.high);
}

/// @return nullptr if the process reports nothing.
const Process* find_told(std::int32_t pid, const std::vector<Process>& told) {
    const auto found = std::find_if(told.begin(), told.end(),
                                    [pid](const Process& process) { return process.pid == pid; });
    return found == told.end() ? nullptr : &*found;
}

template <class Visit>
void each_ia(const Process* process, Visit visit) {
    if (!process) return;
    for (const Library& library : process->libraries)
        for (const Ia& ia : library.ias) visit(ia);
}

void add_process(std::string& to, const ProcessStatus& process, const TableStatus& table,
                 const Process* told) {
    line(to,
         "  process {}{}: {} entries, {} bytes, share {}; waits for {} ({} bytes); granted {}, "
         "refused {}, taken back {}, given back {}{}",
         process.pid, told ? ", " + told->program : std::string(), process.entries, process.bytes,
         process.share, process.waiting_entries, process.waiting_bytes, process.granted,
         process.refused, process.revoked, process.released,
         process.holds_lease ? "; decides for all" : "");
    std::string states;
    for (const SlotState state : kStates) {
        const auto count =
            std::count_if(table.slots.begin(), table.slots.end(), [&](const SlotStatus& slot) {
                return slot.process == process.process && slot.state == state;
            });
        if (count > 0)
            states += fmt::format("{}{} {}", states.empty() ? "" : ", ", count, name_of(state));
    }
    if (!states.empty()) line(to, "    {}", states);
    each_ia(told, [&to](const Ia& ia) {
        line(to, "    IA {}: {} LMRs ({} bytes), {} RMRs", ia.name, ia.lmrs, ia.lmr_bytes, ia.rmrs);
    });
}

/// Shows a slot that is being released; skips active ones.
void add_leaving(std::string& to, const SlotStatus& slot) {
    if (slot.state == SlotState::kActive) return;
    line(to, "    slot {}: {}, {}, {} bytes, busy {}{}", slot.slot, name_of(slot.kind),
         name_of(slot.state), slot.length, slot.busy,
         slot.state == SlotState::kAnnounced
             ? ", taken back in " + duration_text(milliseconds(left_until(slot.deadline)))
             : std::string());
}

tools::Json process_json(const ProcessStatus& process, const Process* told) {
    tools::Json ias = tools::Json::array();
    each_ia(told, [&ias](const Ia& ia) {
        ias.add(std::move(tools::Json::object()
                              .put("name", ia.name)
                              .put("lmrs", ia.lmrs)
                              .put("lmr_bytes", ia.lmr_bytes)
                              .put("rmrs", ia.rmrs)));
    });
    tools::Json json = tools::Json::object();
    json.put("pid", process.pid);
    if (told)
        json.put("program", told->program);
    else
        json.put("program", nullptr);
    return std::move(json.put("share", process.share)
                         .put("entries", process.entries)
                         .put("bytes", process.bytes)
                         .put("waiting_entries", process.waiting_entries)
                         .put("waiting_bytes", process.waiting_bytes)
                         .put("granted", process.granted)
                         .put("refused", process.refused)
                         .put("revoked", process.revoked)
                         .put("released", process.released)
                         .put("holds_lease", process.holds_lease)
                         .put("ias", std::move(ias)));
}

tools::Json slot_json(const SlotStatus& slot) {
    tools::Json json = tools::Json::object();
    json.put("slot", slot.slot)
        .put("pid", slot.pid)
        .put("class", name_of(slot.kind))
        .put("state", name_of(slot.state))
        .put("length", slot.length)
        .put("use_count", slot.use_count)
        .put("busy", slot.busy);
    if (slot.state == SlotState::kAnnounced)
        json.put("goes_in_ns", left_until(slot.deadline));
    else
        json.put("goes_in_ns", nullptr);
    return json;
}

tools::Json table_json(const TableStatus& table, const std::vector<pid_t>& pids,
                       const std::vector<Process>& told) {
    tools::Json processes = tools::Json::array();
    for (const ProcessStatus& process : table.processes)
        if (is_wanted(process.pid, pids))
            processes.add(process_json(process, find_told(process.pid, told)));
    tools::Json slots = tools::Json::array();
    for (const SlotStatus& slot : table.slots)
        if (is_wanted(slot.pid, pids)) slots.add(slot_json(slot));
    tools::Json json = tools::Json::object();
    json.put("adapter", table.adapter)
        .put("policy", table.policy)
        .put("capacity_entries", table.terms.entries)
        .put("capacity_bytes", table.terms.bytes)
        .put("grace_ns", table.terms.grace)
        .put("low", table.terms.low)
        .put("high", table.terms.high)
        .put("entries", table.entries)
        .put("bytes", table.bytes)
        .put("waiting", table.waiting)
        .put("announced", table.announced)
        .put("revoked", table.revoked)
        .put("granted", table.granted)
        .put("refused", table.refused)
        .put("reclaimed_from_dead", table.reclaimed_from_dead)
        .put("processes", std::move(processes))
        .put("slots", std::move(slots));
    return json;
}

}  // namespace

std::vector<TableStatus> read_tables(bool& failed) {
    std::vector<TableStatus> found;
    const std::string directory = memory::directory_path(geteuid());
    for (const std::string& adapter : memory::tables(directory)) {
        auto table = memory::look(directory, adapter);
        if (table) {
            found.push_back(std::move(*table));
            continue;
        }
        std::fprintf(stderr, "dat_stat: the registrations of %s cannot be read: %s\n",
                     adapter.c_str(), table.error().cause.c_str());
        failed = true;
    }
    return found;
}

std::string registrations_table(const std::vector<TableStatus>& tables,
                                const std::vector<pid_t>& pids, const std::vector<Process>& told) {
    std::string text;
    for (const TableStatus& table : tables) {
        const memory::Terms& terms = table.terms;
        line(text, "{}: {} of {} entries, {} bytes of {}; {} wait",
             tools::coloured(stdout, tools::Colour::kHeading,
                             fmt::format("registrations of {}", table.adapter)),
             table.entries, terms.entries, table.bytes, capacity_text(terms.bytes), table.waiting);
        line(text, "  policy {}, grace period {} us; {}", table.policy, terms.grace / 1000,
             reaper_text(terms));
        line(text, "  so far: granted {}, refused {}, announced {}, taken back {}, of the dead {}",
             table.granted, table.refused, table.announced, table.revoked,
             table.reclaimed_from_dead);
        for (const ProcessStatus& process : table.processes) {
            if (!is_wanted(process.pid, pids)) continue;
            add_process(text, process, table, find_told(process.pid, told));
            for (const SlotStatus& slot : table.slots)
                if (slot.process == process.process) add_leaving(text, slot);
        }
    }
    if (tables.empty())
        line(text, "no process of this user shares registrations (OPENDAT_REGISTRATIONS)");
    return text;
}

std::string registrations_json(const std::vector<TableStatus>& tables,
                               const std::vector<pid_t>& pids, const std::vector<Process>& told) {
    tools::Json document = tools::Json::document("dat_stat");
    tools::Json list = tools::Json::array();
    for (const TableStatus& table : tables) list.add(table_json(table, pids, told));
    document.put("processes", tools::Json::array()).put("registrations", std::move(list));
    return document.text();
}

}  // namespace stat_tool
