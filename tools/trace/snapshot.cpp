// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Takes snapshots. The trace object is found by its first bytes where libraries have their data,
/// not by its section header: the library's file may have been replaced since the process started,
/// or be on another machine than the core file.
#include "tools/trace/snapshot.hpp"

#include <fmt/core.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <memory>

#include "support/base/processor.hpp"
#include "tools/common/failure.hpp"

namespace tracing {
namespace {

using support::TraceObject;
using support::TraceRing;

/// Largest data of a library; a larger mapping belongs to something else.
constexpr std::uint64_t kLargestData = 64 << 20;
constexpr std::size_t kMostLibraries = 64;
constexpr std::uint64_t kLargestRing = 1 << 20;
/// Limit for all rings of a process, in records: 1 GiB.
constexpr std::uint64_t kMostRecords = 1 << 24;
constexpr int kTries = 3;

Moment moment_now(support::TraceClock clock) {
    Moment now{0, support::nanoseconds(CLOCK_MONOTONIC), support::nanoseconds(CLOCK_REALTIME)};
    now.ticks = now.monotonic_ns;
    if (clock == support::TraceClock::kTimeStamps) now.ticks = support::processor_ticks();
    return now;
}

Moment copy_of(const support::TraceMoment& moment) {
    return {moment.ticks, moment.monotonic_ns, moment.realtime_ns};
}

/// Copies a structure as bytes; its atomics are then read as usual.
template <class T>
std::unique_ptr<T> read_copy(const Image& image, std::uint64_t address) {
    auto copy = std::make_unique<T>();
    return image.read(address, static_cast<void*>(copy.get()), sizeof(T)) ? std::move(copy)
                                                                          : nullptr;
}

std::string text_of(const std::atomic<std::uint64_t> (&words)[2]) {
    const std::uint64_t copy[2] = {words[0], words[1]};
    char text[sizeof copy];
    std::memcpy(text, copy, sizeof copy);
    return std::string(text, strnlen(text, sizeof text));
}

bool is_dat(const Mapping& mapping) {
    const std::string name = mapping.path.substr(mapping.path.rfind('/') + 1);
    return name.starts_with("libdat") || name.starts_with("libdapl");
}

class Reader {
  public:
    explicit Reader(const Image& image) : image_(image) {}
    Snapshot read();

  private:
    void scan(const Mapping& mapping);
    void add_library(const Mapping& mapping, std::uint64_t address);
    void add_threads(const TraceObject& object, Library& library);
    bool read_thread(std::uint64_t address, Thread& thread);
    [[noreturn]] void tell_nothing() const;

    const Image& image_;
    Snapshot snapshot_;
    std::uint64_t records_ = 0;
    std::string unreadable_;  ///< a library whose trace has another layout
    bool missing_ = false;    ///< memory of a DAT library is missing from the core file
};

Snapshot Reader::read() {
    snapshot_.source = image_.source;
    snapshot_.program = image_.program;
    snapshot_.pid = image_.pid;
    char host[256] = {};
    if (image_.running && gethostname(host, sizeof host - 1) == 0) snapshot_.host = host;
    for (const Mapping& mapping : image_.mappings) scan(mapping);
    if (snapshot_.libraries.empty()) tell_nothing();
    if (image_.running) snapshot_.now = moment_now(snapshot_.libraries.front().clock);
    return std::move(snapshot_);
}

void Reader::tell_nothing() const {
    if (!unreadable_.empty())
        throw tools::Failure(image_.source, unreadable_,
                             fmt::format("version {}", support::kTraceVersion),
                             "use the dat_trace of the release that the process uses");
    if (missing_)
        throw tools::Failure(image_.source, "it lacks the memory of its DAT libraries",
                             "a complete core file",
                             "check `ulimit -c`, the free disk space, and that coredump_filter has "
                             "the bits 0x11 (core(5))");
    std::string others;
    for (const Mapping& mapping : image_.mappings) {
        if (is_dat(mapping) && others.find(mapping.path) == std::string::npos)
            others += " " + mapping.path;
    }
    throw tools::Failure(image_.source,
                         others.empty()
                             ? "it has no DAT library in its memory"
                             : "its DAT libraries are of another implementation:" + others,
                         "a program that uses a library of OpenDAT",
                         "check `ldd` of the program and the records of dat.conf");
}

void Reader::scan(const Mapping& mapping) {
    constexpr std::uint64_t kStep = alignof(TraceObject);
    if (mapping.end - mapping.start > kLargestData) return;
    std::vector<char> data(mapping.end - mapping.start);
    if (data.empty() || !image_.read(mapping.start, data.data(), data.size())) {
        missing_ = missing_ || (!image_.running && is_dat(mapping));
        return;
    }
    const std::uint64_t first = (kStep - mapping.start % kStep) % kStep;
    for (std::uint64_t at = first; at + sizeof support::kTraceMagic <= data.size(); at += kStep)
        if (std::memcmp(&data[at], support::kTraceMagic, sizeof support::kTraceMagic) == 0)
            add_library(mapping, mapping.start + at);
}

void Reader::add_library(const Mapping& mapping, std::uint64_t address) {
    const auto object = read_copy<TraceObject>(image_, address);
    if (!object || snapshot_.libraries.size() == kMostLibraries) return;
    if (object->version != support::kTraceVersion || object->size != sizeof(TraceObject) ||
        object->ring_header != sizeof(TraceRing) ||
        object->record_size != sizeof(support::TraceRecord) ||
        object->rings_count != support::kMaxTraceRings) {
        unreadable_ = fmt::format("the trace of {} has version {}", mapping.path, object->version);
        return;
    }
    Library library;
    library.path = mapping.path;
    library.address = address;
    library.side = static_cast<support::TraceSide>(object->side);
    library.level = object->level;
    library.clock = static_cast<support::TraceClock>(object->clock.load());
    library.lost = object->lost;
    add_threads(*object, library);
    snapshot_.libraries.push_back(std::move(library));
}

void Reader::add_threads(const TraceObject& object, Library& library) {
    for (const auto& ring : object.rings) {
        if (ring == 0) return;
        Thread thread;
        for (int tries = 0; tries < kTries; ++tries) {
            if (!read_thread(ring, thread)) continue;
            if (!thread.records.empty()) library.threads.push_back(std::move(thread));
            break;
        }
    }
}

/// @return false when the ring got another owner during the copy, or is not a ring.
bool Reader::read_thread(std::uint64_t address, Thread& thread) {
    const auto before = read_copy<TraceRing>(image_, address);
    if (!before) return false;
    const std::uint64_t capacity = before->capacity;
    const std::uint64_t next = before->next;
    thread = {};
    if (next <= 1) return true;
    if (!std::has_single_bit(capacity) || capacity > kLargestRing ||
        records_ + capacity > kMostRecords)
        return false;
    std::vector<support::TraceRecord> ring(capacity);
    if (!image_.read(address + sizeof(TraceRing), ring.data(), capacity * sizeof ring[0]))
        return false;
    const auto after = read_copy<TraceRing>(image_, address);
    if (!after || after->begun.ticks != before->begun.ticks) return false;
    const std::uint64_t next_after = image_.running ? after->next.load() : next;
    const auto [first, end] = support::trace_window(next, next_after, capacity);
    thread.id = after->last_thread;
    thread.ended = after->thread == 0;
    thread.name = text_of(after->name);
    thread.begun = copy_of(before->begun);
    thread.latest = copy_of(before->latest);
    if (first == 0 || end - first > capacity) return false;
    thread.overwritten = first - 1;
    for (std::uint64_t n = first; n < end; ++n) thread.records.push_back(ring[n & (capacity - 1)]);
    records_ += capacity;
    return true;
}

}  // namespace

Snapshot take_snapshot(const Image& image) {
    return Reader(image).read();
}

}  // namespace tracing
