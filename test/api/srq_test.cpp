// SPDX-License-Identifier: BSD-2-Clause
// Shared receive queues over soft0: the test receives, its children connect and send.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <vector>

#include "test/api/side.hpp"

namespace {

using namespace test;

constexpr DAT_CONN_QUAL kQualifier = 4719;
constexpr std::size_t kMessage = 64;

/// A sender's message: the index of its connection, and how many messages it sent there before.
struct Message {
    std::uint32_t connection;
    std::uint32_t number;
};

/// An adapter instance with an SRQ and a buffer for each receive; the cookie is the buffer's index.
class SharedSide : public Side {
  public:
    explicit SharedSide(DAT_COUNT receives, DAT_COUNT low_watermark = DAT_SRQ_LW_DEFAULT)
        : buffer(*this, 4096 * kMessage) {
        DAT_SRQ_ATTR attributes{receives, 2, low_watermark};
        succeed(dat_srq_create(ia, pz, &attributes, &srq), "dat_srq_create");
    }
    DAT_EP_HANDLE shared_endpoint() const { return shared_endpoint(this->receives); }
    DAT_EP_HANDLE shared_endpoint(DAT_EVD_HANDLE recv_evd) const {
        DAT_EP_HANDLE ep = DAT_HANDLE_NULL;
        succeed(dat_ep_create_with_srq(ia, pz, recv_evd, sends, connections, srq, nullptr, &ep),
                "dat_ep_create_with_srq");
        return ep;
    }
    DAT_EP_HANDLE accept_shared() const { return accept_with(shared_endpoint()); }
    DAT_EP_HANDLE accept_with(DAT_EP_HANDLE ep) const {
        succeed(dat_cr_accept(request(), ep, 0, nullptr), "dat_cr_accept");
        connection_event(DAT_CONNECTION_EVENT_ESTABLISHED, ep);
        return ep;
    }
    DAT_RETURN try_post(DAT_UINT64 place) {
        DAT_LMR_TRIPLET triplet = buffer.all();
        triplet.virtual_address += place * kMessage;
        triplet.segment_length = kMessage;
        return dat_srq_post_recv(srq, 1, &triplet, cookie(place));
    }
    void post(DAT_UINT64 place) { succeed(try_post(place), "dat_srq_post_recv"); }
    void post_first(DAT_UINT64 count) {
        for (DAT_UINT64 place = 0; place < count; ++place) post(place);
    }
    /// Waits for a message and reposts its receive, unless `again` is false. @param from is set to
    /// its EP.
    Message take(DAT_EP_HANDLE& from, bool again = true) {
        return take_from(this->receives, from, again);
    }
    Message take_from(DAT_EVD_HANDLE evd, DAT_EP_HANDLE& from, bool again = true) {
        const auto dto = wait(evd, DAT_DTO_COMPLETION_EVENT).event_data.dto_completion_event_data;
        require(dto.status == DAT_DTO_SUCCESS, "the receive succeeds");
        require(dto.operation == DAT_DTO_RECEIVE, "the completion names its operation");
        require(dto.transfered_length == sizeof(Message), "the completion has its length");
        Message message;
        std::memcpy(&message, buffer.bytes.data() + dto.user_cookie.as_64 * kMessage,
                    sizeof message);
        from = dto.ep_handle;
        if (again) post(dto.user_cookie.as_64);
        return message;
    }
    DAT_ASYNCH_ERROR_EVENT_DATA async_event() const {
        return wait(async, DAT_ASYNC_ERROR_EP_BROKEN).event_data.asynch_error_event_data;
    }
    DAT_SRQ_PARAM query() const {
        DAT_SRQ_PARAM parameters{};
        succeed(dat_srq_query(srq, DAT_SRQ_FIELD_ALL, &parameters), "dat_srq_query");
        return parameters;
    }
    /// Expects that so many receives can be posted, and not one more.
    void expect_room(DAT_COUNT slots) {
        for (DAT_COUNT i = 0; i < slots; ++i) post(static_cast<DAT_UINT64>(i));
        expect_code(try_post(0), 0x80030002, "a receive above the SRQ's size");
    }

    Buffer buffer;
    DAT_SRQ_HANDLE srq = DAT_HANDLE_NULL;
};

void send_message(const Side& side, const Buffer& buffer, DAT_EP_HANDLE ep,
                  const Message& message) {
    std::memcpy(const_cast<char*>(buffer.bytes.data()), &message, sizeof message);
    DAT_LMR_TRIPLET triplet = buffer.all();
    triplet.segment_length = sizeof message;
    succeed(dat_ep_post_send(ep, 1, &triplet, cookie(message.number), DAT_COMPLETION_DEFAULT_FLAG),
            "dat_ep_post_send");
    const auto dto =
        Side::wait(side.sends, DAT_DTO_COMPLETION_EVENT).event_data.dto_completion_event_data;
    require(dto.status == DAT_DTO_SUCCESS, "the send succeeds");
}

/// A child that makes `connections` connections. Told a number of messages, it sends them in turn
/// over all of these and reports that; told 0, it disconnects and ends.
std::function<void(Channel&)> sender(std::uint32_t connections) {
    return [connections](Channel& channel) {
        Side side;
        Buffer buffer(side);
        std::vector<DAT_EP_HANDLE> eps;
        for (channel.receive<char>(); eps.size() < connections;)
            eps.push_back(side.connect_to(kQualifier));
        std::uint32_t number = 0;
        while (const auto count = channel.receive<std::uint32_t>()) {
            for (std::uint32_t i = 0; i < count; ++i, ++number)
                send_message(side, buffer, eps[number % connections],
                             {number % connections, number / connections});
            channel.send('d');
        }
        for (const DAT_EP_HANDLE ep : eps) {
            succeed(dat_ep_disconnect(ep, DAT_CLOSE_GRACEFUL_FLAG), "dat_ep_disconnect");
            side.connection_event(DAT_CONNECTION_EVENT_DISCONNECTED, ep);
        }
    };
}

class SharedReceives : public testing::Test {
  protected:
    /// @return the receiving ends, in the order of the child's connections.
    static std::vector<DAT_EP_HANDLE> connect(SharedSide& side, Child& child,
                                              std::uint32_t connections) {
        side.listen(kQualifier);
        child.channel().send('c');
        std::vector<DAT_EP_HANDLE> eps;
        while (eps.size() < connections) eps.push_back(side.accept_shared());
        return eps;
    }
    static void ask_for(Child& child, std::uint32_t messages) { child.channel().send(messages); }
    static void await_sent(Child& child) { child.channel().receive<char>(); }
    static void end(Child& child) {
        ask_for(child, 0);
        EXPECT_EQ(child.wait(), 0);
    }
    TemporaryFabric fabric_;
};

TEST_F(SharedReceives, MessagesOfManyEndpointsComeInOrderEachWithItsEndpointAndBuffer) {
    constexpr std::uint32_t kConnections = 40;
    const auto messages = static_cast<std::uint32_t>(scaled(100)) * kConnections;
    Child child(sender(kConnections));
    SharedSide side(32);
    side.post_first(32);
    const auto eps = connect(side, child, kConnections);
    std::map<DAT_EP_HANDLE, std::uint32_t> next;
    ask_for(child, messages);
    for (std::uint32_t i = 0; i < messages; ++i) {
        DAT_EP_HANDLE from;
        const Message message = side.take(from);
        ASSERT_EQ(from, eps[message.connection]);
        ASSERT_EQ(message.number, next[from]++);
    }
    await_sent(child);
    EXPECT_EQ(side.query().outstanding_dto_count, 32);
    EXPECT_EQ(side.query().available_dto_count, 32);
    end(child);
}

TEST_F(SharedReceives, SeveralThreadsPostAndTakeThroughSeveralEventDispatchers) {
    // A receive that one thread posts is filled by another process and then polled by a second
    // thread.
    if (kThreadSanitizer) GTEST_SKIP() << "it cannot see an order that another process makes";
    constexpr std::uint32_t kTakers = 3;
    const auto each = static_cast<std::uint32_t>(scaled(1000));
    Child child(sender(kTakers));
    SharedSide side(12);
    side.post_first(12);
    side.listen(kQualifier);
    child.channel().send('c');
    DAT_EVD_HANDLE evds[kTakers];
    DAT_EP_HANDLE eps[kTakers];
    for (std::uint32_t i = 0; i < kTakers; ++i) {
        evds[i] = side.evd(DAT_EVD_DTO_FLAG, 64);
        eps[i] = side.accept_with(side.shared_endpoint(evds[i]));
    }
    ask_for(child, each * kTakers);
    std::vector<Thread> takers;
    for (std::uint32_t i = 0; i < kTakers; ++i)
        takers.emplace_back([&, i] {
            for (std::uint32_t number = 0; number < each; ++number) {
                DAT_EP_HANDLE from = DAT_HANDLE_NULL;
                const Message message = side.take_from(evds[i], from);
                ASSERT_EQ(from, eps[i]);
                ASSERT_EQ(message.connection, i);
                ASSERT_EQ(message.number, number);
            }
        });
    for (Thread& taker : takers) taker.join();
    await_sent(child);
    EXPECT_EQ(side.query().available_dto_count, 12);
    end(child);
}

TEST_F(SharedReceives, ASenderThatDiesTakesNothingFromTheOthers) {
    Child victim(sender(2));
    Child survivor(sender(3));
    SharedSide side(16);
    side.post_first(16);
    const auto doomed = connect(side, victim, 2);
    survivor.channel().send('c');
    std::vector<DAT_EP_HANDLE> alive;
    while (alive.size() < 3) alive.push_back(side.accept_shared());
    // More than the test receives, so the victim dies with sends in flight.
    ask_for(victim, 1000000);
    DAT_EP_HANDLE from;
    for (int i = 0; i < 100; ++i) side.take(from);
    victim.kill();
    EXPECT_EQ(victim.wait(), 128 + SIGKILL);
    std::size_t ended = 0;
    const auto take_events = [&] {
        DAT_EVENT event{};
        while (dat_evd_dequeue(side.connections, &event) == DAT_SUCCESS) ++ended;
        while (dat_evd_dequeue(side.receives, &event) == DAT_SUCCESS)
            side.post(event.event_data.dto_completion_event_data.user_cookie.as_64);
        return ended == doomed.size();
    };
    ASSERT_TRUE(eventually(take_events));
    for (const DAT_EP_HANDLE ep : doomed) succeed(dat_ep_free(ep), "dat_ep_free");
    DAT_EVENT event{};
    while (dat_evd_dequeue(side.receives, &event) == DAT_SUCCESS)
        side.post(event.event_data.dto_completion_event_data.user_cookie.as_64);
    EXPECT_EQ(side.query().outstanding_dto_count, 16) << "no slot is lost";
    std::map<DAT_EP_HANDLE, std::uint32_t> next;
    ask_for(survivor, 300);
    for (int i = 0; i < 300; ++i) {
        const Message message = side.take(from);
        ASSERT_EQ(from, alive[message.connection]);
        ASSERT_EQ(message.number, next[from]++);
    }
    await_sent(survivor);
    end(survivor);
}

TEST_F(SharedReceives, ItGrowsAndShrinksWhileMessagesFlow) {
    constexpr std::uint32_t kConnections = 4;
    const auto messages = static_cast<std::uint32_t>(scaled(4000));
    Child child(sender(kConnections));
    SharedSide side(4);
    side.post_first(4);
    const auto eps = connect(side, child, kConnections);
    ask_for(child, messages);
    std::map<DAT_EP_HANDLE, std::uint32_t> next;
    DAT_COUNT size = 4;
    for (std::uint32_t i = 0; i < messages; ++i) {
        DAT_EP_HANDLE from;
        const Message message = side.take(from);
        ASSERT_EQ(from, eps[message.connection]);
        ASSERT_EQ(message.number, next[from]++);
        if (i % 100 != 99) continue;
        // Resizes after every hundred messages; four receives stay posted.
        size = size >= 2048 ? 5 : 2 * size + 1;
        succeed(dat_srq_resize(side.srq, size), "dat_srq_resize");
        ASSERT_EQ(side.query().max_recv_dtos, size);
    }
    await_sent(child);
    EXPECT_EQ(side.query().outstanding_dto_count, 4);
    succeed(dat_srq_resize(side.srq, 100), "dat_srq_resize");
    side.expect_room(96);
    end(child);
}

TEST_F(SharedReceives, TheLowWatermarkIsToldOnceForEachSetting) {
    Child child(sender(1));
    SharedSide side(8);
    side.post_first(6);
    connect(side, child, 1);
    succeed(dat_srq_set_lw(side.srq, 4), "dat_srq_set_lw");
    EXPECT_EQ(side.query().low_watermark, 4);
    ask_for(child, 2);
    await_sent(child);
    Side::expect_empty(side.async);
    ask_for(child, 1);
    await_sent(child);
    auto told = side.async_event();
    EXPECT_EQ(told.dat_handle, side.srq);
    EXPECT_EQ(told.reason, DAT_SRQ_LOW_WATERMARK_EVENT);
    EXPECT_EQ(side.query().available_dto_count, 3);
    EXPECT_EQ(side.query().outstanding_dto_count, 6) << "their events are not taken";
    ask_for(child, 1);
    await_sent(child);
    Side::expect_empty(side.async);
    succeed(dat_srq_set_lw(side.srq, 3), "dat_srq_set_lw");
    told = side.async_event();
    EXPECT_EQ(told.dat_handle, side.srq) << "two are left: told at once";
    end(child);
}

TEST_F(SharedReceives, TheLowWatermarkOfItsCreationCountsOnceSoManyArePosted) {
    Child child(sender(1));
    SharedSide side(8, 2);
    side.post(0);
    Side::expect_empty(side.async);
    side.post(1);
    side.post(2);
    Side::expect_empty(side.async);
    connect(side, child, 1);
    ask_for(child, 2);
    await_sent(child);
    EXPECT_EQ(side.async_event().reason, DAT_SRQ_LOW_WATERMARK_EVENT);
    end(child);
}

TEST_F(SharedReceives, AnEndpointTellsWhatItHoldsAndItsWatermarksAct) {
    Child child(sender(2));
    SharedSide side(16);
    side.post_first(16);
    const auto eps = connect(side, child, 2);
    succeed(dat_ep_set_watermark(eps[0], 2, DAT_HW_DEFAULT), "dat_ep_set_watermark");
    ask_for(child, 8);
    await_sent(child);
    DAT_COUNT held = -1, span = -1;
    succeed(dat_ep_recv_query(eps[0], &held, &span), "dat_ep_recv_query");
    EXPECT_EQ(held, 4);
    EXPECT_EQ(span, 7) << "every second one is the other's";
    auto told = side.async_event();
    EXPECT_EQ(told.dat_handle, eps[0]);
    EXPECT_EQ(told.reason, DAT_SRQ_SOFT_HIGH_WATERMARK_EVENT);
    expect_code(dat_ep_set_watermark(eps[1], DAT_WATERMARK_INFINITE, 3), 0x8007003A,
                "a hard watermark below what is held");
    succeed(dat_ep_set_watermark(eps[1], DAT_WATERMARK_INFINITE, 4), "dat_ep_set_watermark");
    ask_for(child, 2);
    await_sent(child);
    DAT_EP_HANDLE from;
    side.take(from, false);
    side.broken(eps[1]);
    EXPECT_EQ(Side::state(eps[1]), DAT_EP_STATE_DISCONNECTED);
    EXPECT_EQ(Side::state(eps[0]), DAT_EP_STATE_CONNECTED);
}

TEST_F(SharedReceives, TheEndOfEachConnectionIsFollowedByOneAsyncEventOnBothSides) {
    Child child([](Channel& channel) {
        SharedSide side(4);
        const DAT_EP_HANDLE ep = side.shared_endpoint();
        channel.receive<char>();
        for (int round = 0; round < 3; ++round) {
            succeed(Side::connect(ep, kQualifier), "dat_ep_connect");
            side.connection_event(DAT_CONNECTION_EVENT_ESTABLISHED, ep);
            succeed(dat_ep_disconnect(ep, DAT_CLOSE_ABRUPT_FLAG), "dat_ep_disconnect");
            side.connection_event(DAT_CONNECTION_EVENT_DISCONNECTED, ep);
            const auto told = side.async_event();
            require(told.dat_handle == ep, "the async event names the endpoint");
            succeed(dat_ep_reset(ep), "dat_ep_reset");
        }
        Side::expect_empty(side.async);
    });
    SharedSide side(4);
    side.post_first(4);
    side.listen(kQualifier);
    child.channel().send('c');
    for (int round = 0; round < 3; ++round) {
        const DAT_EP_HANDLE ep = side.accept_shared();
        side.connection_event(DAT_CONNECTION_EVENT_DISCONNECTED, ep);
        const auto told = side.async_event();
        EXPECT_EQ(told.dat_handle, ep);
        EXPECT_EQ(told.reason, DAT_EP_OTHER_ERROR);
        succeed(dat_ep_free(ep), "dat_ep_free");
    }
    Side::expect_empty(side.async);
    Side::expect_empty(side.receives);
    EXPECT_EQ(side.query().available_dto_count, 4) << "receives on the SRQ are not flushed";
    EXPECT_EQ(child.wait(), 0);
    succeed(dat_srq_free(side.srq), "dat_srq_free");
}

TEST_F(SharedReceives, NothingIsToldOfTheLastReceiveWhereNoneWasPossible) {
    Child child([](Channel& channel) {
        Side side;
        side.listen(kQualifier);
        channel.send('l');
        succeed(dat_cr_reject(side.request(), 0, nullptr), "dat_cr_reject");
    });
    child.channel().receive<char>();
    SharedSide side(4);
    const DAT_EP_HANDLE refused = side.shared_endpoint();
    succeed(Side::connect(refused, kQualifier), "dat_ep_connect");
    side.connection_event(DAT_CONNECTION_EVENT_PEER_REJECTED, refused);
    succeed(dat_ep_free(refused), "dat_ep_free");
    DAT_EP_HANDLE incomplete = DAT_HANDLE_NULL;
    succeed(dat_ep_create_with_srq(side.ia, side.pz, side.receives, side.sends, DAT_HANDLE_NULL,
                                   side.srq, nullptr, &incomplete),
            "dat_ep_create_with_srq");
    succeed(dat_ep_free(incomplete), "dat_ep_free");
    EXPECT_EQ(child.wait(), 0);
    Side::expect_empty(side.async);
}

class SharedReceiveCodes : public testing::Test {
  protected:
    DAT_RETURN create(DAT_COUNT receives, DAT_COUNT segments, DAT_COUNT low_watermark = 0) {
        DAT_SRQ_ATTR attributes{receives, segments, low_watermark};
        DAT_SRQ_HANDLE made = DAT_HANDLE_NULL;
        return dat_srq_create(side.ia, side.pz, &attributes, &made);
    }
    DAT_RETURN create_ep(const DAT_EP_ATTR* attributes) {
        DAT_EP_HANDLE made = DAT_HANDLE_NULL;
        return dat_ep_create_with_srq(side.ia, side.pz, side.receives, side.sends, side.connections,
                                      side.srq, attributes, &made);
    }
    TemporaryFabric fabric_;
    SharedSide side{4};
};

TEST_F(SharedReceiveCodes, CreateChecksItsArguments) {
    DAT_SRQ_ATTR attributes{4, 1, 0};
    DAT_SRQ_HANDLE made = DAT_HANDLE_NULL;
    EXPECT_EQ(dat_srq_create(DAT_HANDLE_NULL, side.pz, &attributes, &made), 0x8005000Bu);
    EXPECT_EQ(dat_srq_create(side.ia, DAT_HANDLE_NULL, &attributes, &made), 0x8005000Fu);
    EXPECT_EQ(dat_srq_create(side.ia, side.sends, &attributes, &made), 0x8005000Fu);
    EXPECT_EQ(dat_srq_create(side.ia, side.pz, nullptr, &made), 0x80060027u);
    EXPECT_EQ(dat_srq_create(side.ia, side.pz, &attributes, nullptr), 0x80060028u);
    EXPECT_EQ(create(0, 1), 0x00030000u);
    EXPECT_EQ(create(-1, 1), 0x00030000u);
    EXPECT_EQ(create(1000000000, 1), 0x00030000u);
    EXPECT_EQ(create(4, 1000), 0x00030000u);
    EXPECT_EQ(create(4, 1, -1), 0x80060027u);
    EXPECT_EQ(create(4, 1, 100), DAT_SUCCESS) << "a low watermark may be above the size";
}

TEST_F(SharedReceiveCodes, EveryCallRefusesWhatIsNoSharedQueue) {
    DAT_SRQ_PARAM parameters;
    for (const DAT_HANDLE bad : {DAT_HANDLE{DAT_HANDLE_NULL}, DAT_HANDLE{side.pz}}) {
        EXPECT_EQ(dat_srq_free(bad), 0x80050019u);
        EXPECT_EQ(dat_srq_post_recv(bad, 0, nullptr, cookie(1)), 0x80050019u);
        EXPECT_EQ(dat_srq_query(bad, DAT_SRQ_FIELD_ALL, &parameters), 0x80050019u);
        EXPECT_EQ(dat_srq_resize(bad, 8), 0x80050019u);
        EXPECT_EQ(dat_srq_set_lw(bad, 1), 0x80050019u);
        DAT_EP_HANDLE ep;
        EXPECT_EQ(dat_ep_create_with_srq(side.ia, side.pz, side.receives, side.sends,
                                         side.connections, bad, nullptr, &ep),
                  0x80050019u);
    }
    succeed(dat_srq_free(side.srq), "dat_srq_free");
    EXPECT_EQ(dat_srq_free(side.srq), 0x80050019u);
}

TEST_F(SharedReceiveCodes, QueryTellsAllThereIs) {
    EXPECT_EQ(dat_srq_query(side.srq, DAT_SRQ_FIELD_ALL, nullptr), 0x80060027u);
    side.post(0);
    const DAT_SRQ_PARAM told = side.query();
    EXPECT_EQ(told.ia_handle, side.ia);
    EXPECT_EQ(told.srq_state, DAT_SRQ_STATE_OPERATIONAL);
    EXPECT_EQ(told.pz_handle, side.pz);
    EXPECT_EQ(told.max_recv_dtos, 4);
    EXPECT_EQ(told.max_recv_iov, 2);
    EXPECT_EQ(told.low_watermark, 0);
    EXPECT_EQ(told.available_dto_count, 1);
    EXPECT_EQ(told.outstanding_dto_count, 1);
}

TEST_F(SharedReceiveCodes, PostingIsCheckedAndEndsAfterExactlyAsManyAsAsked) {
    DAT_LMR_TRIPLET triplets[3] = {side.buffer.all(), side.buffer.all(), side.buffer.all()};
    EXPECT_EQ(dat_srq_post_recv(side.srq, 3, triplets, cookie(1)), 0x00060000u);
    EXPECT_EQ(dat_srq_post_recv(side.srq, -1, triplets, cookie(1)), 0x00060000u);
    EXPECT_EQ(dat_srq_post_recv(side.srq, 1, nullptr, cookie(1)), 0x80060027u);
    EXPECT_EQ(dat_srq_post_recv(side.srq, 0, nullptr, cookie(1)), DAT_SUCCESS);
    EXPECT_EQ(dat_srq_post_recv(side.srq, 2, triplets, cookie(1)), DAT_SUCCESS);
    side.expect_room(2);
}

TEST_F(SharedReceiveCodes, ResizeAndLowWatermarkAreChecked) {
    side.post_first(3);
    EXPECT_EQ(dat_srq_resize(side.srq, 2), 0x80070000u) << "fewer than are posted";
    EXPECT_EQ(dat_srq_resize(side.srq, 0), 0x80070000u);
    EXPECT_EQ(dat_srq_resize(side.srq, -1), 0x80070000u);
    EXPECT_EQ(dat_srq_resize(side.srq, 1000000000), 0x00030000u);
    EXPECT_EQ(dat_srq_set_lw(side.srq, -1), 0x80060026u);
    EXPECT_EQ(dat_srq_set_lw(side.srq, 5), 0x80060026u);
    EXPECT_EQ(dat_srq_set_lw(side.srq, 3), DAT_SUCCESS);
    EXPECT_EQ(dat_srq_resize(side.srq, 3), 0x80070000u) << "not above the low watermark";
    EXPECT_EQ(dat_srq_resize(side.srq, 40), DAT_SUCCESS);
    side.expect_room(37);
}

TEST_F(SharedReceiveCodes, SizesInAnyOrderFromWhatIsPostedAreAccepted) {
    side.post_first(3);
    for (const DAT_COUNT size : {16, 64, 128, 256, 100, 3, 16}) {
        EXPECT_EQ(dat_srq_resize(side.srq, size), DAT_SUCCESS) << size;
        EXPECT_EQ(side.query().max_recv_dtos, size);
    }
    side.expect_room(13);
}

TEST_F(SharedReceiveCodes, EndpointsAreMadeWithChecksInsteadOfCrashes) {
    DAT_EP_HANDLE ep = DAT_HANDLE_NULL;
    const auto with = [&](DAT_EVD_HANDLE receive, DAT_EVD_HANDLE request, DAT_EVD_HANDLE connect,
                          DAT_EP_HANDLE* out) {
        return dat_ep_create_with_srq(side.ia, side.pz, receive, request, connect, side.srq,
                                      nullptr, out);
    };
    EXPECT_EQ(with(side.receives, side.sends, side.connections, nullptr), 0x8006002Cu);
    EXPECT_EQ(with(DAT_HANDLE_NULL, side.sends, side.connections, &ep), 0x0006002Au);
    EXPECT_EQ(with(side.connections, side.sends, side.connections, &ep), 0x80050016u);
    EXPECT_EQ(with(side.receives, side.sends, side.sends, &ep), 0x80050017u);
    EXPECT_EQ(with(side.receives, side.sends, DAT_HANDLE_NULL, &ep), DAT_SUCCESS);
    DAT_EP_PARAM parameters{};
    succeed(dat_ep_query(ep, DAT_EP_FIELD_ALL, &parameters), "dat_ep_query");
    EXPECT_EQ(parameters.srq_handle, side.srq);
    EXPECT_EQ(create_ep(&parameters.ep_attr), DAT_SUCCESS) << "the defaults are acceptable again";
    for (DAT_COUNT DAT_EP_ATTR::*member :
         {&DAT_EP_ATTR::max_recv_dtos, &DAT_EP_ATTR::max_request_dtos, &DAT_EP_ATTR::max_recv_iov,
          &DAT_EP_ATTR::max_request_iov}) {
        DAT_EP_ATTR attributes = parameters.ep_attr;
        attributes.*member = 0;
        EXPECT_EQ(create_ep(&attributes), 0x0006002Au);
        attributes.*member = 1000000000;
        EXPECT_EQ(create_ep(&attributes), 0x0006002Au);
    }
    EXPECT_EQ(dat_ep_create_with_srq(side.ia, DAT_HANDLE_NULL, side.receives, side.sends,
                                     side.connections, side.srq, nullptr, &ep),
              DAT_SUCCESS);
}

TEST_F(SharedReceiveCodes, WhatAnEndpointUsesCannotBeFreedAndItsOwnReceivesAreRefused) {
    const DAT_EP_HANDLE ep = side.shared_endpoint();
    DAT_LMR_TRIPLET triplet = side.buffer.all();
    EXPECT_EQ(dat_ep_post_recv(ep, 1, &triplet, cookie(1), DAT_COMPLETION_DEFAULT_FLAG),
              0x80070057u);
    EXPECT_EQ(dat_srq_free(side.srq), 0x80070057u);
    EXPECT_EQ(dat_pz_free(side.pz), 0x80070053u);
    EXPECT_EQ(dat_ia_close(side.ia, DAT_CLOSE_GRACEFUL_FLAG), 0x80070050u);
    succeed(dat_ep_free(ep), "dat_ep_free");
    Side::expect_empty(side.async);
    side.post(0);
    succeed(dat_srq_free(side.srq), "dat_srq_free");
}

TEST_F(SharedReceiveCodes, AQueueHasAContextAndAKindAndGoesWithItsAdapter) {
    DAT_CONTEXT context{};
    context.as_64 = 77;
    succeed(dat_set_consumer_context(side.srq, context), "dat_set_consumer_context");
    context.as_64 = 0;
    succeed(dat_get_consumer_context(side.srq, &context), "dat_get_consumer_context");
    EXPECT_EQ(context.as_64, 77u);
    DAT_HANDLE_TYPE type{};
    succeed(dat_get_handle_type(side.srq, &type), "dat_get_handle_type");
    EXPECT_EQ(type, DAT_HANDLE_TYPE_SRQ);
    side.shared_endpoint();
    side.post(0);
    side.close();
    EXPECT_EQ(dat_srq_free(side.srq), 0x80050019u);
}

TEST_F(SharedReceiveCodes, WatermarksAndCountsOfAnEndpointWithoutASharedQueue) {
    const DAT_EP_HANDLE ep = side.endpoint();
    DAT_COUNT held = -1, span = -1;
    EXPECT_EQ(dat_ep_recv_query(ep, &held, &span), DAT_SUCCESS);
    EXPECT_EQ(held, 0);
    EXPECT_EQ(span, 0);
    EXPECT_EQ(dat_ep_recv_query(ep, nullptr, nullptr), DAT_SUCCESS);
    EXPECT_EQ(dat_ep_recv_query(DAT_HANDLE_NULL, &held, &span), 0x8005000Cu);
    EXPECT_EQ(dat_ep_set_watermark(ep, 1, 2), 0x8007003Au);
    EXPECT_EQ(dat_ep_set_watermark(DAT_HANDLE_NULL, 1, 2), 0x8005000Cu);
}

}  // namespace
