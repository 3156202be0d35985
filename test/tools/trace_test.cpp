// SPDX-License-Identifier: BSD-2-Clause
// The parts of dat_trace: traces of real processes, of core files made here, and of invalid input.
// This program contains a copy of libsupport and therefore has its own trace.
#include <elf.h>
#include <gtest/gtest.h>
#include <sys/procfs.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <map>

#include "support/log/log.hpp"
#include "test/support/process.hpp"
#include "tools/common/failure.hpp"
#include "tools/trace/core_file.hpp"
#include "tools/trace/dump_file.hpp"
#include "tools/trace/levels.hpp"
#include "tools/trace/machine.hpp"
#include "tools/trace/process.hpp"
#include "tools/trace/report.hpp"
#include "tools/trace/source.hpp"
#include "tools/trace/timeline.hpp"

namespace {

using namespace tracing;
using support::TraceEvent;
using support::TraceRecord;
using test::Channel;
using test::Child;

constexpr std::uint64_t kObject = 0x1a2b50000003;

void tell(std::uint64_t value) {
    support::trace_record(false, TraceEvent::kCall, 29, kObject, value);
}

/// @return the record with this first value, in whatever thread it is; nullptr if there is none.
const TraceRecord* find(const Snapshot& snapshot, std::uint64_t value) {
    for (const Library& library : snapshot.libraries)
        for (const Thread& thread : library.threads)
            for (const TraceRecord& record : thread.records)
                if (record.object == kObject && record.values[0] == value) return &record;
    return nullptr;
}

std::string failure_of(const std::function<void()>& body) {
    try {
        body();
    } catch (const tools::Failure& failure) {
        return failure.what();
    }
    return "nothing failed";
}

void expect_failure(const std::string& part, const std::function<void()>& body) {
    const std::string text = failure_of(body);
    EXPECT_NE(text.find(part), std::string::npos) << text;
}

/// A process in which two threads have recorded an event; it lives until the test ends it.
class Traced {
  public:
    Traced()
        : child_([](Channel& channel) {
              tell(1);
              test::Thread([] {
                  pthread_setname_np(pthread_self(), "worker");
                  tell(2);
              }).join();
              channel.send('r');
              while (channel.receive_whenever<char>() == 'l') channel.send(support::trace_level());
          }) {
        child_.channel().receive<char>();
    }
    pid_t pid() const { return child_.pid(); }
    int level() {
        child_.channel().send('l');
        return child_.channel().receive<int>();
    }

  private:
    Child child_;
};

TEST(TraceOfAProcess, all_threads_also_ended_ones_are_seen_from_outside) {
    const Traced traced;
    const Snapshot snapshot = take_snapshot(Process(traced.pid()));
    ASSERT_EQ(snapshot.libraries.size(), 1u);
    EXPECT_EQ(snapshot.pid, static_cast<std::uint32_t>(traced.pid()));
    EXPECT_EQ(snapshot.libraries[0].threads.size(), 2u);
    ASSERT_NE(find(snapshot, 1), nullptr);
    ASSERT_NE(find(snapshot, 2), nullptr);
    const auto& threads = snapshot.libraries[0].threads;
    const auto worker = std::find_if(threads.begin(), threads.end(),
                                     [](const Thread& thread) { return thread.name == "worker"; });
    ASSERT_NE(worker, threads.end());
    EXPECT_TRUE(worker->ended);
}

TEST(TraceOfAProcess, the_timeline_has_the_order_and_the_time_of_day_of_the_events) {
    const Traced traced;
    const std::vector<Snapshot> snapshots{take_snapshot(Process(traced.pid()))};
    const Timeline timeline = make_timeline(snapshots);
    std::vector<std::uint64_t> values;
    for (const Event& event : timeline.events)
        if (event.record->object == kObject) values.push_back(event.record->values[0]);
    EXPECT_EQ(values, (std::vector<std::uint64_t>{1, 2}));
    const std::int64_t now = std::chrono::duration_cast<std::chrono::nanoseconds>(
                                 std::chrono::system_clock::now().time_since_epoch())
                                 .count();
    EXPECT_LT(timeline.events.back().time_ns, now + 1'000'000'000);
    EXPECT_GT(timeline.events.back().time_ns, now - 600'000'000'000);
    EXPECT_NE(to_table(snapshots, timeline, false).find("dat_ep_connect("), std::string::npos);
}

TEST(TraceOfAProcess, a_level_that_is_written_from_outside_is_in_force_there) {
    Traced traced;
    const int before = traced.level();
    const std::string told = change_levels(traced.pid(), std::nullopt, 7);
    EXPECT_NE(told.find("DAPL level " + std::to_string(before) + " -> 7"), std::string::npos)
        << told;
    EXPECT_EQ(traced.level(), 7);
    expect_failure("no library of that side",
                   [&] { change_levels(traced.pid(), 7, std::nullopt); });
}

TEST(TraceOfAProcess, rings_that_are_written_meanwhile_are_read_whole) {
    Child child([](Channel& channel) {
        channel.send('r');
        for (std::uint64_t i = 1;; ++i) support::trace_record(false, TraceEvent::kCall, 7, i, i, i);
    });
    child.channel().receive<char>();
    const Process process(child.pid());
    ASSERT_TRUE(
        test::eventually([&] { return !take_snapshot(process).libraries[0].threads.empty(); }));
    for (int round = 0; round < 50; ++round) {
        const Snapshot snapshot = take_snapshot(process);
        ASSERT_EQ(snapshot.libraries.size(), 1u);
        for (const Thread& thread : snapshot.libraries[0].threads) {
            std::uint64_t last = 0;
            for (const TraceRecord& record : thread.records) {
                ASSERT_EQ(record.object, record.values[0]);
                ASSERT_EQ(record.object, record.values[1]);
                if (last != 0) {
                    ASSERT_EQ(record.object, last + 1);
                }
                last = record.object;
            }
        }
    }
}

TEST(TraceOfAProcess, who_is_not_there_or_has_no_library_of_ours_is_told_so) {
    pid_t gone = 0;
    {
        const Child ended([](Channel&) {});
        gone = ended.pid();
    }
    expect_failure("expected a process that is running", [&] { Process process(gone); });
    class Empty final : public Image {
        bool read(std::uint64_t, void*, std::size_t) const override { return false; }
    } empty;
    empty.source = "process 1";
    empty.running = true;
    expect_failure("no DAT library", [&] { take_snapshot(empty); });
    empty.mappings.push_back({4096, 8192, "/usr/lib/libdat2.so.2.0.0"});
    expect_failure("another implementation: /usr/lib/libdat2.so.2.0.0",
                   [&] { take_snapshot(empty); });
}

/// A copy of this program's trace object, as an image that can be corrupted at will.
class Copied final : public Image {
  public:
    Copied() {
        tell(1);
        object.assign(reinterpret_cast<const char*>(&support::opendat_trace_object),
                      sizeof(support::TraceObject));
        mappings.push_back({kAt, kAt + object.size(), "/lib/libdaplsoft.so.2"});
        source = "a copy";
    }
    bool read(std::uint64_t address, void* into, std::size_t size) const override {
        if (address >= kAt && address - kAt + size <= object.size()) {
            std::memcpy(into, object.data() + (address - kAt), size);
            return true;
        }
        for (const auto& [start, bytes] : others) {
            if (address < start || address - start + size > bytes.size()) continue;
            std::memcpy(into, bytes.data() + (address - start), size);
            return true;
        }
        return false;
    }
    template <class T>
    void set(std::size_t offset, T value) {
        std::memcpy(object.data() + offset, &value, sizeof value);
    }
    /// Makes the ring at this address the only one.
    void set_ring(std::uint64_t address) {
        set(offsetof(support::TraceObject, rings), address);
        set(offsetof(support::TraceObject, rings) + 8, std::uint64_t{0});
    }

    static constexpr std::uint64_t kAt = 1 << 20;
    std::string object;
    std::map<std::uint64_t, std::string> others;
};

TEST(BrokenTrace, one_of_another_version_is_told_so) {
    Copied copied;
    copied.set(offsetof(support::TraceObject, version), support::kTraceVersion + 1);
    expect_failure("has version 2: expected version 1; use the dat_trace of the release",
                   [&] { take_snapshot(copied); });
}

TEST(BrokenTrace, rings_that_are_nowhere_or_say_nonsense_are_left_out) {
    Copied copied;
    copied.set_ring(0x7000000000);
    EXPECT_TRUE(take_snapshot(copied).libraries.at(0).threads.empty());
    for (const std::uint64_t capacity :
         {std::uint64_t{0}, std::uint64_t{3}, std::uint64_t{1} << 63, std::uint64_t{1} << 20}) {
        std::string ring(sizeof(support::TraceRing) + 64 * sizeof(TraceRecord), '\x7f');
        std::memcpy(ring.data() + offsetof(support::TraceRing, capacity), &capacity, 8);
        copied.others = {{0x8000, ring}};
        copied.set_ring(0x8000);
        EXPECT_TRUE(take_snapshot(copied).libraries.at(0).threads.empty()) << capacity;
    }
}

// ---- core files --------------------------------------------------------------------------------

/// Makes a core file of this process, as the kernel would write it.
class CoreWriter {
  public:
    std::string write() {
        read_maps();
        std::string notes = note(NT_PRPSINFO, process_note()) + note(NT_FILE, file_note());
        Elf64_Ehdr header{};
        std::memcpy(header.e_ident, ELFMAG, SELFMAG);
        header.e_ident[EI_CLASS] = ELFCLASS64;
        header.e_ident[EI_DATA] = ELFDATA2LSB;
        header.e_type = ET_CORE;
        header.e_machine = kMachine;
        header.e_phoff = sizeof header;
        header.e_phentsize = sizeof(Elf64_Phdr);
        header.e_phnum = static_cast<Elf64_Half>(maps_.size() + 1);
        std::string headers, data;
        const std::uint64_t first = sizeof header + header.e_phnum * sizeof(Elf64_Phdr);
        headers += program_header(PT_NOTE, 0, first, notes.size(), 0);
        for (const Map& map : maps_) {
            std::string bytes(map.end - map.start, '\0');
            if (!self_.read(map.start, bytes.data(), bytes.size())) bytes.clear();
            headers += program_header(PT_LOAD, map.start, first + notes.size() + data.size(),
                                      bytes.size(), PF_R | PF_W);
            data += bytes;
        }
        return bytes_of(header) + headers + notes + data;
    }

  private:
    struct Map {
        unsigned long start, end;
        std::string path;
    };
    template <class T>
    static std::string bytes_of(const T& value) {
        return std::string(reinterpret_cast<const char*>(&value), sizeof value);
    }
    static std::string program_header(Elf64_Word type, std::uint64_t address, std::uint64_t offset,
                                      std::uint64_t size, Elf64_Word flags) {
        Elf64_Phdr header{};
        header.p_type = type;
        header.p_flags = flags;
        header.p_offset = offset;
        header.p_vaddr = address;
        header.p_filesz = header.p_memsz = size;
        return bytes_of(header);
    }
    static std::string note(Elf64_Word type, std::string description) {
        const Elf64_Nhdr header{5, static_cast<Elf64_Word>(description.size()), type};
        description.resize((description.size() + 3) / 4 * 4);
        return bytes_of(header) + std::string("CORE\0\0\0\0", 8) + description;
    }
    static std::string process_note() {
        prpsinfo_t process{};
        process.pr_pid = getpid();
        std::strncpy(process.pr_fname, "trace_test", sizeof process.pr_fname);
        return bytes_of(process);
    }
    std::string file_note() const {
        std::string ranges, names;
        std::uint64_t count = 0;
        for (const Map& map : maps_) {
            if (map.path.empty()) continue;
            ++count;
            ranges += bytes_of(map.start) + bytes_of(map.end) + bytes_of(std::uint64_t{0});
            names += map.path + '\0';
        }
        return bytes_of(count) + bytes_of(std::uint64_t{4096}) + ranges + names;
    }
    /// Reads the writable mappings of the program's own data and those without a name: the rings.
    void read_maps() {
        std::ifstream maps("/proc/self/maps");
        for (std::string line; std::getline(maps, line);) {
            Map map{};
            char rights[5] = {};
            int path = 0;
            std::sscanf(line.c_str(), "%lx-%lx %4s %*s %*s %*s %n", &map.start, &map.end, rights,
                        &path);
            if (path > 0) map.path = line.substr(static_cast<std::size_t>(path));
            const bool ours = map.path.find("trace_test") != std::string::npos;
            if (rights[1] == 'w' && (ours || map.path.empty()) && map.end - map.start < 16 << 20)
                maps_.push_back(map);
        }
    }
    std::vector<Map> maps_;
    const Process self_{getpid()};
};

std::span<const std::byte> bytes_of(const std::string& text) {
    return {reinterpret_cast<const std::byte*>(text.data()), text.size()};
}

class TraceOfACoreFile : public testing::Test {
  protected:
    static void SetUpTestSuite() {
        if (test::kAddressSanitizer || test::kThreadSanitizer) return;
        tell(4711);
        core_ = CoreWriter().write();
    }
    void SetUp() override {
        if (core_.empty())
            GTEST_SKIP() << "a sanitizer's shadow memory is too large for a core file";
    }
    static std::string core_;
};
std::string TraceOfACoreFile::core_;

TEST_F(TraceOfACoreFile, what_the_process_did_last_is_read_from_its_core_file) {
    const Snapshot snapshot = from_bytes(bytes_of(core_), "core");
    EXPECT_EQ(snapshot.pid, static_cast<std::uint32_t>(getpid()));
    EXPECT_EQ(snapshot.program, "trace_test");
    EXPECT_NE(find(snapshot, 4711), nullptr);
}

TEST_F(TraceOfACoreFile, one_that_is_cut_short_anywhere_does_no_harm) {
    for (std::size_t size = 0; size < core_.size(); size += 1 + size / 3) {
        const std::string part = core_.substr(0, size);
        failure_of([&] {
            const std::vector<Snapshot> snapshots{from_bytes(bytes_of(part), "core")};
            make_timeline(snapshots);
        });
    }
}

TEST_F(TraceOfACoreFile, one_of_another_architecture_and_what_is_none_are_told_so) {
    std::string other = core_;
    const Elf64_Half machine = EM_S390;
    std::memcpy(other.data() + offsetof(Elf64_Ehdr, e_machine), &machine, sizeof machine);
    expect_failure("it is for machine 22", [&] { from_bytes(bytes_of(other), "core"); });
    expect_failure("unknown format", [] { from_bytes(bytes_of("nothing"), "core"); });
}

// ---- dumps and merging -------------------------------------------------------------------------

constexpr std::uint64_t kPorts = 41000ULL << 32 | 5000;
constexpr std::uint64_t kSecond = 1'000'000'000;

std::uint64_t swapped(std::uint64_t ports) {
    return ports << 32 | ports >> 32;
}

TraceRecord message(TraceEvent event, std::uint64_t time, std::uint64_t object, std::uint64_t ports,
                    const char* label) {
    TraceRecord record{time, 0x5C3,  static_cast<std::uint16_t>(event),
                       0,    object, {ports, 8, 0, 0, 0}};
    std::memcpy(&record.values[2], label, std::strlen(label));
    return record;
}

/// @return a process on a machine that was started at this time, with these records of one thread.
Snapshot made(std::uint64_t boot_ns, std::vector<TraceRecord> records) {
    Thread thread;
    thread.id = 7;
    thread.begun = {1, 1, boot_ns + 1};
    thread.latest = {2 * kSecond, 2 * kSecond, boot_ns + 2 * kSecond};
    thread.records = std::move(records);
    Library library;
    library.path = "/lib/libdaplsoft.so.2";
    library.side = support::TraceSide::kDapl;
    library.level = 3;
    library.clock = support::TraceClock::kMonotonic;
    library.threads.push_back(std::move(thread));
    Snapshot snapshot;
    snapshot.source = "process 1";
    snapshot.libraries.push_back(std::move(library));
    return snapshot;
}

std::vector<Snapshot> two_ends(std::uint64_t boot_a, std::uint64_t boot_b, std::uint64_t behind) {
    return {made(boot_a, {message(TraceEvent::kSent, 1000, 0xa, kPorts, "request"),
                          message(TraceEvent::kReceived, 4000, 0xa, kPorts, "accept"),
                          message(TraceEvent::kSent, 9000, 0xc, 1ULL << 32 | 2, "request")}),
            made(boot_b,
                 {message(TraceEvent::kReceived, 2000 - behind, 0xb, swapped(kPorts), "request"),
                  message(TraceEvent::kSent, 3000 - behind, 0xb, swapped(kPorts), "accept")})};
}

TEST(TraceTimeline, the_two_ends_of_a_connection_find_each_other_by_their_ports) {
    const auto snapshots = two_ends(kSecond, kSecond, 0);
    const Timeline timeline = make_timeline(snapshots);
    ASSERT_EQ(timeline.connections.size(), 1u);
    EXPECT_EQ(timeline.connections[0].ends, (std::vector<End>{{0, 0xa, 41000}, {1, 0xb, 5000}}));
    std::string order;
    for (const Event& event : timeline.events) order += static_cast<char>('A' + event.source);
    EXPECT_EQ(order, "ABBAA");
    const std::string table = to_table(snapshots, timeline, false);
    EXPECT_NE(table.find("connection 1: A "), std::string::npos) << table;
    EXPECT_EQ(std::count(table.begin(), table.end(), '\n'), 5 + 4)
        << "no event of another: " << table;
    EXPECT_NE(to_table(snapshots, timeline, true).find("port 1 to 2"), std::string::npos);
}

TEST(TraceTimeline, only_events_with_the_given_hook_ids_are_kept_and_connections_stay) {
    auto snapshots = two_ends(kSecond, kSecond, 0);
    snapshots[0].libraries[0].threads[0].records[1].hook = 0x5C4;
    Timeline timeline = make_timeline(snapshots);
    keep_hooks(timeline, {0x5C4, 0x5C8});
    ASSERT_EQ(timeline.events.size(), 1u);
    EXPECT_EQ(timeline.events[0].record->hook, 0x5C4);
    EXPECT_EQ(timeline.connections.size(), 1u);
    EXPECT_EQ(timeline.connection_of(timeline.events[0]), std::optional<std::size_t>(0));
}

TEST(TraceTimeline, on_machines_whose_clocks_differ_no_message_comes_before_it_was_sent) {
    // The second machine was started earlier, and its time of day is 5 us behind.
    const Timeline timeline = make_timeline(
        two_ends(kSecond * 1000, kSecond * 500, std::uint64_t(-500) * kSecond + 5000));
    ASSERT_EQ(timeline.connections.size(), 1u);
    std::string order;
    for (const Event& event : timeline.events) order += static_cast<char>('A' + event.source);
    EXPECT_EQ(order, "ABBAA");
    EXPECT_EQ(timeline.shifts, (std::vector<std::int64_t>{0, 4000}));
}

TEST(TraceTimeline, a_request_belongs_to_its_connection_also_where_there_was_no_endpoint_yet) {
    auto snapshots = two_ends(kSecond, kSecond, 0);
    snapshots[1].libraries[0].threads[0].records[0].object = 0;
    const Timeline timeline = make_timeline(snapshots);
    ASSERT_EQ(timeline.connections.size(), 1u);
    EXPECT_EQ(timeline.connections[0].ends, (std::vector<End>{{0, 0xa, 41000}, {1, 0xb, 5000}}));
    EXPECT_EQ(timeline.connection_of(timeline.events[1]), std::optional<std::size_t>(0));
}

TEST(TraceTimeline, a_port_that_is_used_again_belongs_to_the_connection_nearest_in_time) {
    auto snapshots = two_ends(kSecond, kSecond, 0);
    snapshots[0].libraries[0].threads[0].records.push_back(
        message(TraceEvent::kSent, kSecond, 0xd, kPorts, "request"));
    const Timeline timeline = make_timeline(snapshots);
    ASSERT_EQ(timeline.connections.size(), 1u);
    EXPECT_EQ(timeline.connections[0].ends.size(), 2u);
    EXPECT_EQ(timeline.connections[0].ends[0].object, 0xau);
}

TEST(TraceDump, what_is_saved_is_read_the_same_and_merges) {
    auto snapshots = two_ends(kSecond, kSecond, 0);
    const Timeline timeline = make_timeline(snapshots);
    const std::string before = to_json(snapshots, timeline, true);
    for (Snapshot& snapshot : snapshots) {
        const auto dump = to_dump(snapshot);
        snapshot = from_bytes(dump, "file");
    }
    EXPECT_EQ(to_json(snapshots, make_timeline(snapshots), true), before);
}

TEST(TraceDump, one_that_is_cut_short_or_of_another_version_is_refused) {
    auto dump = to_dump(two_ends(kSecond, kSecond, 0)[0]);
    for (std::size_t size = 8; size < dump.size(); ++size)
        expect_failure("expected a dump of version 1", [&] {
            from_bytes({dump.data(), size}, "f");
        });
    dump[8] = std::byte{9};
    expect_failure("it is a dump of version 9", [&] { from_bytes(dump, "f"); });
}

}  // namespace
