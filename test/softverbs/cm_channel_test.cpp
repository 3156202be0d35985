// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The software device's rdma_cm: event channels.
#include <gtest/gtest.h>

#include "test/softverbs/cm_fixture.hpp"

using namespace test;

namespace {

TEST(Cm, AChannelIsPollableAndHonoursNonBlocking) {
    TemporaryFabric fabric;
    EventQueue events;
    Id id(events);
    EXPECT_FALSE(events.readable());
    ASSERT_EQ(fcntl(events.get()->fd, F_SETFL, fcntl(events.get()->fd, F_GETFL) | O_NONBLOCK), 0);
    rdma_cm_event* event = nullptr;
    EXPECT_EQ(rdma_get_cm_event(events.get(), &event), -1);
    EXPECT_EQ(errno, EAGAIN);
    sockaddr_in to = address("127.0.0.1", 1);
    check(rdma_resolve_addr(id.get(), nullptr, reinterpret_cast<sockaddr*>(&to), 1000), "resolve");
    EXPECT_TRUE(events.readable());
    events.next(RDMA_CM_EVENT_ADDR_RESOLVED);
    EXPECT_FALSE(events.readable()) << "readable exactly while events wait";
}

TEST(Cm, ABlockedReaderIsWokenByAnEvent) {
    TemporaryFabric fabric;
    EventQueue events;
    Id id(events);
    Thread reader([&] {
        rdma_cm_event* event = nullptr;
        ASSERT_EQ(rdma_get_cm_event(events.get(), &event), 0);
        EXPECT_EQ(event->event, RDMA_CM_EVENT_ADDR_RESOLVED);
        rdma_ack_cm_event(event);
    });
    sockaddr_in to = address("127.0.0.1", 1);
    check(rdma_resolve_addr(id.get(), nullptr, reinterpret_cast<sockaddr*>(&to), 1000), "resolve");
    reader.join();
}

TEST(Cm, AThreadCancelledWhileItWaitsLeavesTheChannelUsable) {
    if (kAddressSanitizer)
        GTEST_SKIP() << "it takes the frames that a cancelled thread left for live";
    TemporaryFabric fabric;
    EventQueue events;
    Id id(events);
    for (int round = 0; round < scaled(50); ++round) {
        pthread_t reader;
        ASSERT_EQ(pthread_create(
                      &reader, nullptr,
                      [](void* channel) -> void* {
                          rdma_cm_event* event = nullptr;
                          rdma_get_cm_event(static_cast<rdma_event_channel*>(channel), &event);
                          return event;
                      },
                      events.get()),
                  0);
        if (round % 2) usleep(500);
        pthread_cancel(reader);
        void* result = nullptr;
        pthread_join(reader, &result);
        EXPECT_EQ(result, PTHREAD_CANCELED);
    }
    sockaddr_in to = address("127.0.0.1", 1);
    check(rdma_resolve_addr(id.get(), nullptr, reinterpret_cast<sockaddr*>(&to), 1000), "resolve");
    events.next(RDMA_CM_EVENT_ADDR_RESOLVED);
}

TEST(Cm, DestroyingWaitsForTheLastAcknowledgement) {
    TemporaryFabric fabric;
    EventQueue events;
    Id id(events);
    sockaddr_in to = address("127.0.0.1", 1);
    check(rdma_resolve_addr(id.get(), nullptr, reinterpret_cast<sockaddr*>(&to), 1000), "resolve");
    FetchedEvent event = events.next(RDMA_CM_EVENT_ADDR_RESOLVED);
    std::atomic<bool> acknowledged{false};
    Thread destroyer([&] {
        id.destroy();
        EXPECT_TRUE(acknowledged.load());
    });
    usleep(20'000);  // time for a wrong implementation to return; a correct one cannot
    acknowledged = true;
    rdma_ack_cm_event(event.release());
    destroyer.join();
}

TEST(Cm, EventsGoWithAnIdentifierToAnotherChannel) {
    TemporaryFabric fabric;
    EventQueue first, second;
    Id id(first);
    sockaddr_in to = address("127.0.0.1", 1);
    check(rdma_resolve_addr(id.get(), nullptr, reinterpret_cast<sockaddr*>(&to), 1000), "resolve");
    check(rdma_migrate_id(id.get(), second.get()), "rdma_migrate_id");
    EXPECT_EQ(id->channel, second.get());
    EXPECT_FALSE(first.readable());
    second.next(RDMA_CM_EVENT_ADDR_RESOLVED);
}

}  // namespace
