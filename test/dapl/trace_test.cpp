// SPDX-License-Identifier: BSD-2-Clause
// Trace records of a connection and of transfers over soft0, read as tools read them.
#include <dat2/udat.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/uio.h>

#include <algorithm>
#include <array>

#include "support/trace/trace_points.hpp"
#include "test/api/side.hpp"
#include "test/support/trace_section.hpp"

namespace {

using namespace test;
using support::TraceCall;
using support::TraceEvent;
using support::TraceRecord;

constexpr DAT_CONN_QUAL kQualifier = 4731;

class Trace : public testing::Test {
  protected:
    struct Ends {
        DAT_EP_HANDLE active, passive;
    };

    Ends connect() {
        passive.listen(kQualifier);
        Ends ends{active.endpoint(), passive.endpoint()};
        succeed(Side::connect(ends.active, kQualifier), "dat_ep_connect");
        succeed(dat_cr_accept(passive.request(), ends.passive, 0, nullptr), "dat_cr_accept");
        passive.connection_event(DAT_CONNECTION_EVENT_ESTABLISHED, ends.passive);
        active.connection_event(DAT_CONNECTION_EVENT_ESTABLISHED, ends.active);
        return ends;
    }

    /// Sends one empty message with this cookie at both ends; waits for the receive and polls for
    /// the send.
    void send(const Ends& ends, DAT_UINT64 cookie) {
        DAT_DTO_COOKIE mark;
        mark.as_64 = cookie;
        succeed(dat_ep_post_recv(ends.passive, 0, nullptr, mark, DAT_COMPLETION_DEFAULT_FLAG),
                "dat_ep_post_recv");
        succeed(dat_ep_post_send(ends.active, 0, nullptr, mark, DAT_COMPLETION_DEFAULT_FLAG),
                "dat_ep_post_send");
        Side::wait(passive.receives, DAT_DTO_COMPLETION_EVENT);
        DAT_EVENT event;
        require(eventually([&] { return dat_evd_dequeue(active.sends, &event) == DAT_SUCCESS; }),
                "the send is complete");
    }

    support::TraceObject& provider() { return *trace_object_of("libdaplsoft"); }

    int count(TraceEvent kind, const std::function<bool(const TraceRecord&)>& like) {
        const auto records = trace_records(provider());
        return static_cast<int>(
            std::count_if(records.begin(), records.end(), [&](const TraceRecord& record) {
                return record.event == static_cast<std::uint16_t>(kind) && like(record);
            }));
    }
    int count_posts(DAT_UINT64 cookie) {
        return count(TraceEvent::kPost,
                     [cookie](const TraceRecord& record) { return record.values[0] == cookie; });
    }
    int count_completions(DAT_UINT64 cookie) {
        return count(TraceEvent::kCompletion, [cookie](const TraceRecord& record) {
            return record.values[0] == cookie && record.values[1] == DAT_DTO_SUCCESS;
        });
    }
    /// Sets the level as a tool does from another process.
    void set_level(int level) {
        support::TraceLevels levels(level);
        iovec own{&levels, sizeof levels}, its{&provider().level, sizeof levels};
        require(process_vm_writev(getpid(), &own, 1, &its, 1, 0) == sizeof levels, "the write");
    }

    TemporaryFabric fabric;
    Side passive, active;
};

TEST_F(Trace, EachLibraryHasItsObjectInASectionOfItsOwn) {
    for (const char* library : {"libdat2", "libdaplsoft"}) {
        const support::TraceObject* object = trace_object_of(library);
        ASSERT_NE(object, nullptr) << library;
        EXPECT_STREQ(object->magic, support::kTraceMagic);
        EXPECT_EQ(object->version, support::kTraceVersion);
    }
    EXPECT_EQ(trace_object_of("libdat2")->side, 0u);
    EXPECT_EQ(provider().side, 1u);
}

TEST_F(Trace, CallsStateChangesAndMessagesOfAConnectionAreAlwaysRecorded) {
    connect();
    for (const TraceCall call : {TraceCall::ep_connect, TraceCall::cr_accept}) {
        const auto number = static_cast<std::uint32_t>(call);
        EXPECT_EQ(count(TraceEvent::kCall, [=](const auto& r) { return r.what == number; }), 1);
        EXPECT_EQ(count(TraceEvent::kReturn,
                        [=](const auto& r) { return r.what == number && r.values[0] == 0; }),
                  1);
    }
    const auto moved = [this](std::uint64_t from, std::uint64_t to) {
        return count(TraceEvent::kState,
                     [=](const auto& r) { return r.values[0] == from && r.values[1] == to; });
    };
    EXPECT_EQ(moved(DAT_EP_STATE_UNCONNECTED, DAT_EP_STATE_ACTIVE_CONNECTION_PENDING), 1);
    EXPECT_EQ(moved(DAT_EP_STATE_ACTIVE_CONNECTION_PENDING, DAT_EP_STATE_CONNECTED), 1);
    EXPECT_EQ(moved(DAT_EP_STATE_COMPLETION_PENDING, DAT_EP_STATE_CONNECTED), 1);
    for (const char* message : {"request", "accept"})
        for (const TraceEvent way : {TraceEvent::kSent, TraceEvent::kReceived})
            EXPECT_EQ(count(way, [=](const auto& r) { return trace_label(r) == message; }), 1)
                << message;
}

TEST_F(Trace, TheTwoEndsOfAMessageHaveTheSamePortsTheOtherWayRound) {
    connect();
    std::uint64_t sent = 0, received = 0;
    for (const TraceRecord& record : trace_records(provider())) {
        if (trace_label(record) != "accept") continue;
        if (record.event == static_cast<std::uint16_t>(TraceEvent::kSent)) sent = record.values[0];
        if (record.event == static_cast<std::uint16_t>(TraceEvent::kReceived))
            received = record.values[0];
    }
    EXPECT_NE(sent, 0u);
    EXPECT_EQ(sent, received << 32 | received >> 32);
    EXPECT_EQ(sent >> 32, kQualifier);
}

TEST_F(Trace, TransfersAreRecordedWhileTheLevelIsSixOrMore) {
    const Ends ends = connect();
    send(ends, 1001);
    set_level(6);
    send(ends, 1002);
    set_level(5);
    send(ends, 1003);
    EXPECT_EQ(count_posts(1001), 0);
    EXPECT_EQ(count_completions(1001), 0);
    EXPECT_EQ(count_posts(1002), 2);
    EXPECT_EQ(count_completions(1002), 2);
    EXPECT_EQ(count_posts(1003), 0);
    EXPECT_EQ(count_completions(1003), 0);
    set_level(3);
}

TEST_F(Trace, TriggersOfANotificationObjectAndTheWaitsThatTakeThemAreRecorded) {
    DAT_CNO_HANDLE cno;
    succeed(dat_cno_create(active.ia, DAT_OS_WAIT_PROXY_AGENT_NULL, &cno), "dat_cno_create");
    DAT_EVD_HANDLE evd = active.evd(DAT_EVD_SOFTWARE_FLAG, 8);
    succeed(dat_evd_modify_cno(evd, cno), "dat_evd_modify_cno");
    set_level(6);
    DAT_EVENT event{};
    event.event_number = DAT_SOFTWARE_EVENT;
    succeed(dat_evd_post_se(evd, &event), "dat_evd_post_se");
    DAT_EVD_HANDLE triggered;
    succeed(dat_cno_wait(cno, 0, &triggered), "dat_cno_wait");
    set_level(3);
    std::uint64_t named = 0;
    const auto of_an_evd = [&](const TraceRecord& record) {
        if (named == 0) named = record.values[0];
        return record.object != 0 && named != 0 && record.values[0] == named;
    };
    EXPECT_EQ(count(TraceEvent::kTrigger, of_an_evd), 1);
    EXPECT_EQ(count(TraceEvent::kTriggerTaken, of_an_evd), 1);
}

TEST_F(Trace, ACallThatFailsIsOfTheErrorClassOnBothSides) {
    DAT_EP_HANDLE ep = active.endpoint();
    EXPECT_NE(dat_ep_disconnect(ep, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
    const auto number = static_cast<std::uint32_t>(TraceCall::ep_disconnect);
    for (const auto& [library, hook] :
         {std::pair{"libdat2", 0x5C8}, std::pair{"libdaplsoft", 0x5C4}}) {
        int found = 0;
        for (const TraceRecord& record : trace_records(*trace_object_of(library)))
            found += record.what == number &&
                     record.event == static_cast<std::uint16_t>(TraceEvent::kReturn) &&
                     record.hook == hook && record.values[0] != 0;
        EXPECT_EQ(found, 1) << library;
    }
}

TEST_F(Trace, AnUnloadedProviderLeavesNoRingMapped) {
    connect();
    std::array<std::uint64_t, support::kMaxTraceRings> rings{};
    std::size_t count = 0;
    for (const auto& address : provider().rings)
        if (const std::uint64_t ring = address.load()) rings[count++] = ring;
    ASSERT_GE(count, 2u) << "this thread's and a service thread's";
    passive.close();
    active.close();
    passive.ia = active.ia = DAT_HANDLE_NULL;
    ASSERT_EQ(trace_object_of("libdaplsoft"), nullptr) << "it is unloaded";
    for (std::size_t i = 0; i < count; ++i) {
        unsigned char resident;
        EXPECT_EQ(mincore(reinterpret_cast<void*>(rings[i]), 1, &resident), -1) << i;
        EXPECT_EQ(errno, ENOMEM);
    }
}

}  // namespace
