// SPDX-License-Identifier: BSD-2-Clause
#include "tools/trace/perfetto.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <utility>
#include <vector>

#include "support/trace/trace_text.hpp"
#include "tools/common/json.hpp"

namespace tracing {
namespace {

using support::TraceEvent;
using support::TraceRecord;
using tools::Json;

/// Above all thread ids of the system.
constexpr std::uint64_t kFirstTrack = 1'000'000'000;
/// Shortest slice, so that an event without duration is visible, and a flow has a slice to begin
/// and end at.
constexpr double kShortestUs = 0.001;

std::string label_of(const TraceRecord& record) {
    char text[25] = {};
    std::memcpy(text, &record.values[2], 24);
    return text;
}

class Writer {
  public:
    Writer(std::span<const Snapshot> snapshots, const Timeline& timeline)
        : snapshots_(snapshots), timeline_(timeline), events_(Json::array()) {
        if (timeline.events.empty()) return;
        first_ns_ = timeline.events.front().time_ns;
        end_us_ = us(timeline.events.back()) + kShortestUs;
    }

    std::string write() {
        add_names();
        for (const Event& event : timeline_.events) add(event);
        for (const auto& [thread, calls] : open_calls_)
            for (const Call& call : calls)
                slice(thread, call.begin_us, end_us_,
                      support::call_name(call.number) + " (has not returned)");
        for (const auto& [key, track] : tracks_)
            slice({key.first, track.id}, track.since_us, end_us_, track.state);
        Json other = Json::object();
        other.put("tool", "dat_trace").put("begins_ns_since_1970", first_ns_);
        Json document = Json::object();
        document.put("displayTimeUnit", "ns")
            .put("otherData", std::move(other))
            .put("traceEvents", std::move(events_));
        return document.text();
    }

  private:
    using Place = std::pair<std::size_t, std::uint64_t>;  ///< source; thread or track
    struct Call {
        std::uint32_t number;
        double begin_us;
    };
    /// The track of an endpoint.
    struct Track {
        std::uint64_t id;
        std::string state;
        double since_us;
    };

    double us(const Event& event) const {
        return static_cast<double>(event.time_ns - first_ns_) / 1e3;
    }
    static Place place_of(const Event& event) { return {event.source, event.thread->id}; }

    static Json entry(const char* phase, const Place& place, const std::string& name) {
        Json one = Json::object();
        one.put("ph", phase).put("pid", place.first + 1).put("tid", place.second).put("name", name);
        return one;
    }

    void name(const char* what, const Place& place, const std::string& text) {
        Json arguments = Json::object();
        arguments.put("name", text);
        Json one = entry("M", place, what);
        one.put("args", std::move(arguments));
        events_.add(std::move(one));
    }

    void add_names() {
        for (std::size_t i = 0; i < snapshots_.size(); ++i) {
            const Snapshot& snapshot = snapshots_[i];
            name("process_name", {i, 0},
                 fmt::format("{} {}{}", snapshot.program, snapshot.source,
                             snapshot.host.empty() ? "" : " on " + snapshot.host));
            for (const Library& library : snapshot.libraries)
                for (const Thread& thread : library.threads)
                    name("thread_name", {i, thread.id}, thread.name);
        }
    }

    Json arguments_of(const Event& event) const {
        Json arguments = Json::object();
        arguments.put("text", support::to_text(*event.record));
        if (const auto connection = timeline_.connection_of(event))
            arguments.put("connection", *connection + 1);
        return arguments;
    }

    void slice(const Place& place, double begin_us, double end_us, const std::string& text) {
        Json one = entry("X", place, text);
        one.put("ts", begin_us).put("dur", std::max(end_us - begin_us, kShortestUs));
        events_.add(std::move(one));
    }
    void slice(const Event& event, double begin_us, const std::string& text) {
        Json one = entry("X", place_of(event), text);
        one.put("ts", begin_us)
            .put("dur", std::max(us(event) - begin_us, kShortestUs))
            .put("args", arguments_of(event));
        events_.add(std::move(one));
    }

    void add(const Event& event) {
        switch (static_cast<TraceEvent>(event.record->event)) {
            case TraceEvent::kCall:
                open_calls_[place_of(event)].push_back({event.record->what, us(event)});
                return;
            case TraceEvent::kReturn:
                return add_return(event);
            case TraceEvent::kState:
                return add_state(event);
            case TraceEvent::kSent:
                return add_message(event, "sent ", "s");
            case TraceEvent::kReceived:
                return add_message(event, "received ", "f");
            default:
                return add_instant(event);
        }
    }

    /// Calls nest: libdat2's contains the provider's. The record of the call may have been
    /// overwritten.
    void add_return(const Event& event) {
        std::vector<Call>& calls = open_calls_[place_of(event)];
        const auto call = std::find_if(calls.rbegin(), calls.rend(), [&](const Call& one) {
            return one.number == event.record->what;
        });
        if (call == calls.rend()) return add_instant(event);
        slice(event, call->begin_us, support::call_name(call->number));
        calls.erase(std::next(call).base(), calls.end());
    }

    void add_state(const Event& event) {
        const auto& values = event.record->values;
        const auto [at, is_new] = tracks_.try_emplace({event.source, event.record->object});
        Track& track = at->second;
        if (is_new) {
            track.id = kFirstTrack + tracks_.size();
            name("thread_name", {event.source, track.id},
                 support::object_name(event.record->object, true));
        } else {
            slice({event.source, track.id}, track.since_us, us(event), track.state);
        }
        track.state = support::ep_state_name(static_cast<std::uint32_t>(values[1]));
        track.since_us = us(event);
    }

    void add_message(const Event& event, const char* verb, const char* phase) {
        const std::string label = label_of(*event.record);
        slice(event, us(event), verb + label);
        const auto number = timeline_.message_numbers.find(event.record);
        if (number == timeline_.message_numbers.end()) return;
        Json flow = entry(phase, place_of(event), label);
        flow.put("cat", "message").put("id", number->second).put("ts", us(event));
        if (*phase == 'f') flow.put("bp", "e");
        events_.add(std::move(flow));
    }

    void add_instant(const Event& event) {
        Json one = entry("i", place_of(event), support::to_text(*event.record));
        one.put("s", "t").put("ts", us(event)).put("args", arguments_of(event));
        events_.add(std::move(one));
    }

    std::span<const Snapshot> snapshots_;
    const Timeline& timeline_;
    Json events_;
    std::int64_t first_ns_ = 0;
    double end_us_ = 0;
    std::map<Place, std::vector<Call>> open_calls_;
    std::map<Place, Track> tracks_;  ///< by source and endpoint
};

}  // namespace

std::string to_trace_events(std::span<const Snapshot> snapshots, const Timeline& timeline) {
    return Writer(snapshots, timeline).write();
}

}  // namespace tracing
