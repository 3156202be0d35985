// SPDX-License-Identifier: BSD-2-Clause
#include "tools/trace/timeline.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string_view>

#include "tools/common/failure.hpp"
#include "tools/trace/clocks.hpp"

namespace tracing {
namespace {

using support::TraceEvent;
using support::TraceRecord;

/// Processes of one machine share CLOCK_MONOTONIC: the time of day minus it, which is the time of
/// boot, differs by less than this between them.
constexpr std::int64_t kSameMachine = 100'000'000;

bool is_sent(const TraceRecord& record) {
    return record.event == static_cast<std::uint16_t>(TraceEvent::kSent);
}
bool is_received(const TraceRecord& record) {
    return record.event == static_cast<std::uint16_t>(TraceEvent::kReceived);
}
std::uint64_t ports_of(const TraceRecord& record) {
    return record.values[0];
}
std::uint64_t swapped(std::uint64_t ports) {
    return ports << 32 | ports >> 32;
}
std::uint32_t own_port(const TraceRecord& record) {
    return static_cast<std::uint32_t>(ports_of(record) >> 32);
}
/// @return the id of the second object that an event is about, or 0.
std::uint64_t other_object(const TraceRecord& record) {
    switch (static_cast<TraceEvent>(record.event)) {
        case TraceEvent::kReturn:
            return record.values[1];
        case TraceEvent::kCompletion:
            return record.values[4];
        case TraceEvent::kTrigger:
        case TraceEvent::kTriggerTaken:
            return record.values[0];
        default:
            return 0;
    }
}
std::string_view label_of(const TraceRecord& record) {
    const auto* text = reinterpret_cast<const char*>(&record.values[2]);
    return {text, strnlen(text, 24)};
}

End end_of(const Event& event) {
    return {event.source, event.record->object, own_port(*event.record)};
}
/// Wraps around: times in broken records may be anything.
std::int64_t sum(std::int64_t a, std::int64_t b) {
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
}
std::int64_t difference(std::int64_t a, std::int64_t b) {
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) - static_cast<std::uint64_t>(b));
}

/// A message, with its records at both ends.
struct Passage {
    const Event* sent;
    const Event* received;
};

class Builder {
  public:
    explicit Builder(std::span<const Snapshot> snapshots) : snapshots_(snapshots) {}
    Timeline build();

  private:
    void add_events(std::size_t source, const Clocks& clocks, std::int64_t offset);
    const Event* find_sent(const Event& received) const;
    void find_passages();
    void join(const End& one, const End& other);
    void settle_shifts(const std::vector<std::size_t>& machines);

    std::span<const Snapshot> snapshots_;
    Timeline timeline_;
    /// Keyed by the ports as the sender has them.
    std::multimap<std::uint64_t, const Event*> sent_;
    std::vector<Passage> passages_;
};

void Builder::add_events(std::size_t source, const Clocks& clocks, std::int64_t offset) {
    for (const Library& library : snapshots_[source].libraries)
        for (const Thread& thread : library.threads)
            for (const TraceRecord& record : thread.records) {
                const std::int64_t time =
                    sum(clocks.monotonic_ns(library.clock, record.time), offset);
                timeline_.events.push_back({time, source, &library, &thread, &record});
            }
}

/// Ports are reused, so the record that is nearest in time is chosen.
const Event* Builder::find_sent(const Event& received) const {
    const auto [first, end] = sent_.equal_range(swapped(ports_of(*received.record)));
    const Event* nearest = nullptr;
    const auto distance = [&](const Event& event) {
        return std::abs(static_cast<double>(event.time_ns) - static_cast<double>(received.time_ns));
    };
    for (auto each = first; each != end; ++each) {
        const Event& sent = *each->second;
        if (label_of(*sent.record) != label_of(*received.record)) continue;
        if (sent.source == received.source && sent.record->object == received.record->object)
            continue;
        if (!nearest || distance(sent) < distance(*nearest)) nearest = &sent;
    }
    return nearest;
}

void Builder::find_passages() {
    for (const Event& event : timeline_.events)
        if (is_sent(*event.record)) sent_.emplace(ports_of(*event.record), &event);
    for (const Event& event : timeline_.events) {
        if (!is_received(*event.record)) continue;
        if (const Event* sent = find_sent(event)) passages_.push_back({sent, &event});
    }
    for (const Passage& passage : passages_) join(end_of(*passage.sent), end_of(*passage.received));
    for (const Passage& passage : passages_) {
        const auto of_sent = timeline_.connection_of(*passage.sent);
        const auto of_received = timeline_.connection_of(*passage.received);
        if (of_sent) timeline_.connection_with.emplace(passage.received->record, *of_sent);
        if (of_received) timeline_.connection_with.emplace(passage.sent->record, *of_received);
    }
    auto& numbers = timeline_.message_numbers;
    for (const Passage& passage : passages_)
        numbers.emplace(passage.received->record,
                        numbers.emplace(passage.sent->record, numbers.size() + 1).first->second);
    for (Connection& connection : timeline_.connections)
        std::sort(connection.ends.begin(), connection.ends.end());
}

void Builder::join(const End& one, const End& other) {
    if (one.object == 0 || other.object == 0) return;
    auto& at = timeline_.connection_at;
    auto& connections = timeline_.connections;
    auto known = at.find({one.source, one.object});
    if (known == at.end()) known = at.find({other.source, other.object});
    const std::size_t number = known == at.end() ? connections.size() : known->second;
    if (number == connections.size()) connections.emplace_back();
    for (const End& end : {one, other})
        if (at.try_emplace({end.source, end.object}, number).second)
            connections[number].ends.push_back(end);
}

/// Shifts relative to the first source only: enough for two machines, and for messages between the
/// first and each of the others. @param machines machine of each source.
void Builder::settle_shifts(const std::vector<std::size_t>& machines) {
    std::map<std::size_t, std::int64_t> least, most;  // bounds for the shift of a machine's times
    for (const Passage& passage : passages_) {
        const std::int64_t gap = difference(passage.received->time_ns, passage.sent->time_ns);
        const std::size_t from = machines[passage.sent->source];
        const std::size_t to = machines[passage.received->source];
        if (from == to) continue;
        if (from == machines[0]) {
            const std::int64_t needed = difference(0, gap);
            least[to] = std::max(least.try_emplace(to, needed).first->second, needed);
        } else if (to == machines[0]) {
            most[from] = std::min(most.try_emplace(from, gap).first->second, gap);
        }
    }
    for (std::size_t source = 0; source < machines.size(); ++source) {
        std::int64_t& shift = timeline_.shifts[source];
        const std::size_t machine = machines[source];
        if (const auto found = most.find(machine); found != most.end())
            shift = std::min(shift, found->second);
        if (const auto found = least.find(machine); found != least.end())
            shift = std::max(shift, found->second);
    }
    for (Event& event : timeline_.events)
        event.time_ns = sum(event.time_ns, timeline_.shifts[event.source]);
}

Timeline Builder::build() {
    std::vector<Clocks> clocks;
    std::vector<std::size_t> machines;
    for (std::size_t source = 0; source < snapshots_.size(); ++source) {
        clocks.emplace_back(snapshots_[source]);
        std::size_t machine = 0;
        while (machine < source &&
               std::abs(static_cast<double>(clocks[machine].offset_ns()) -
                        static_cast<double>(clocks[source].offset_ns())) > kSameMachine)
            ++machine;
        machines.push_back(machine);
        add_events(source, clocks[source], clocks[machine].offset_ns());
    }
    timeline_.shifts.assign(snapshots_.size(), 0);
    find_passages();
    settle_shifts(machines);
    std::stable_sort(timeline_.events.begin(), timeline_.events.end(),
                     [](const Event& a, const Event& b) { return a.time_ns < b.time_ns; });
    return std::move(timeline_);
}

}  // namespace

std::optional<std::size_t> Timeline::connection_of(const Event& event) const {
    const auto found = connection_at.find({event.source, event.record->object});
    if (found != connection_at.end()) return found->second;
    const auto message = connection_with.find(event.record);
    if (message != connection_with.end()) return message->second;
    return std::nullopt;
}

Timeline make_timeline(std::span<const Snapshot> snapshots) {
    return Builder(snapshots).build();
}

void keep_hooks(Timeline& timeline, const std::set<std::uint16_t>& hooks) {
    std::erase_if(timeline.events,
                  [&](const Event& event) { return !hooks.contains(event.record->hook); });
}

void keep_object(Timeline& timeline, std::uint64_t object) {
    std::set<std::size_t> connections;
    for (const auto& [end, connection] : timeline.connection_at)
        if (end.second == object) connections.insert(connection);
    std::erase_if(timeline.events, [&](const Event& event) {
        if (event.library->side == support::TraceSide::kDat) return true;  // knows no ids
        const auto connection = timeline.connection_of(event);
        return event.record->object != object && other_object(*event.record) != object &&
               !(connection && connections.contains(*connection));
    });
    if (timeline.events.empty())
        throw tools::Failure(fmt::format("object {:x}", object), "no event is about it",
                             "an object of these processes whose events are still kept",
                             "give the process that has it (`dat_stat --object`); a larger "
                             "OPENDAT_TRACE_EVENTS keeps more events");
}

}  // namespace tracing
