// SPDX-License-Identifier: BSD-2-Clause
// Connections over a socket of the program, against a scripted program at its other end. What
// comes of it is CONNECTED at both ends, or both streams are where they were, or both have ended.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <netinet/tcp.h>

#include <cstring>
#include <optional>

#include "dapl/base/codes.hpp"
#include "dapl/cm/manager.hpp"
#include "dapl/verbs/handles.hpp"
#include "providers/scm/manager.hpp"
#include "providers/sockets/message.hpp"
#include "test/support/connection_recorder.hpp"
#include "test/support/stream.hpp"

namespace {

using namespace dapl;
using sockets::Message;
using sockets::Operation;
using sockets::Reader;
using sockets::Shape;
using support::MutexLock;
using test::Octets;
using test::Stream;

Octets octets(const sockets::Bytes& bytes) {
    return {bytes.all().begin(), bytes.all().end()};
}

class WaitingUser final : public cm::ListenUser {
  public:
    void request(std::unique_ptr<cm::Connection> made, cm::PrivateData bytes) override
        REQUIRES(connection_lock) {
        connection = std::move(made);
        data.assign(bytes.begin(), bytes.end());
    }
    void deserted() override REQUIRES(connection_lock) { ++desertions; }
    bool has_request() {
        return test::eventually([&] {
            const MutexLock guard(connection_lock);
            return connection != nullptr;
        });
    }
    bool is_deserted() {
        return test::eventually([&] {
            const MutexLock guard(connection_lock);
            return desertions > 0;
        });
    }

    std::unique_ptr<cm::Connection> connection GUARDED_BY(connection_lock);
    Octets data GUARDED_BY(connection_lock);
    int desertions GUARDED_BY(connection_lock) = 0;
};

class Converted : public testing::Test {
  protected:
    Converted() {
        auto [one, other] = test::connected_streams();
        ours = std::move(one);
        theirs = std::move(other);
    }
    void SetUp() override { open(); }
    void TearDown() override { close(); }

    void open() {
        auto opened = scm::open_manager("ia", "soft0 1");
        ASSERT_TRUE(opened) << opened.error().cause;
        manager = std::move(*opened);
        domain.reset(ibv_alloc_pd(manager->adapter().context));
        queue.reset(ibv_create_cq(manager->adapter().context, 16, nullptr, nullptr, 0));
        own = test::queue_pair_in_init(domain.get(), queue.get());
        peer = test::queue_pair_in_init(domain.get(), queue.get());
    }
    void close() {
        {
            const MutexLock guard(connection_lock);
            connection.reset();
            waiting.connection.reset();
            listener.reset();
        }
        own.reset();
        peer.reset();
        queue.reset();
        domain.reset();
        manager.reset();
    }

    support::UniqueFd lent() const { return support::UniqueFd(dup(ours.number())); }
    cm::Parameters parameters() const { return {own.get(), 4, 4, {}}; }

    void connect() {
        const MutexLock guard(connection_lock);
        auto started = (*manager->sockets())->connect(lent(), parameters(), user);
        ASSERT_TRUE(started) << started.error().cause;
        connection = std::move(*started);
    }
    void listen() {
        const MutexLock guard(connection_lock);
        auto started = (*manager->sockets())->listen(lent(), {}, waiting);
        ASSERT_TRUE(started) << started.error().cause;
        listener = std::move(*started);
    }
    void accept() {
        const MutexLock guard(connection_lock);
        connection = std::move(waiting.connection);
        ASSERT_TRUE(connection->accept(parameters(), user));
        connection->answer();
    }

    /// @return the request as it came from our side.
    Octets next_request() const { return theirs.next(sockets::kHeaderSize); }
    Message request() const {
        Message message;
        message.operation = Operation::kRequest;
        message.version = exchange::kOwnVersion;
        message.read_limit = 4;
        message.mtu = IBV_MTU_1024;
        ibv_gid gid{};
        ibv_port_attr port{};
        ibv_query_gid(manager->adapter().context, 1, 0, &gid);
        ibv_query_port(manager->adapter().context, 1, &port);
        std::memcpy(message.sender.gid.data(), gid.raw, sizeof gid.raw);
        message.sender.lid = port.lid;
        message.sender.qpn = peer->qp_num;
        message.sender.qp_type = IBV_QPT_RC;
        return message;
    }
    Message reply() const {
        Message message = request();
        message.operation = Operation::kReply;
        return message;
    }
    /// Has the connection ended so, with both streams where they were.
    void expect_given_back(std::size_t reports, cm::Outcome outcome) {
        const auto ended = user.wait_for(reports);
        ASSERT_TRUE(ended);
        EXPECT_EQ(ended->outcome, outcome);
        expect_usable();
    }
    void expect_usable() const {
        theirs.say("on we go");
        ours.hear("on we go");
        ours.say("so do we");
        theirs.hear("so do we");
    }
    void expect_over(std::size_t reports, cm::Outcome outcome) {
        const auto ended = user.wait_for(reports);
        ASSERT_TRUE(ended);
        EXPECT_EQ(ended->outcome, outcome);
        theirs.hear_the_end();
    }

    test::TemporaryFabric fabric;
    Stream ours, theirs;
    test::Recorder user;
    WaitingUser waiting;
    std::unique_ptr<cm::Manager> manager;
    verbs::ProtectionDomain domain;
    verbs::CompletionQueue queue;
    verbs::QueuePair own, peer;
    std::unique_ptr<cm::Connection> connection;
    std::unique_ptr<cm::Listener> listener;
};

TEST_F(Converted, a_request_in_single_bytes_is_one_and_a_rejection_is_the_last_of_the_exchange) {
    listen();
    Message message = request();
    message.private_data_size = 3;
    std::memcpy(message.private_data.data(), "ask", 3);
    for (const std::byte byte : octets(encode(message, Shape::kCurrent))) theirs.say({&byte, 1});
    ASSERT_TRUE(waiting.has_request());
    {
        const MutexLock guard(connection_lock);
        EXPECT_EQ(waiting.data.size(), 3u);
        waiting.connection->reject(std::as_bytes(std::span("no", 2)));
        waiting.connection.reset();
        listener.reset();
    }
    const Octets answer = theirs.next(sockets::kHeaderSize + 2);
    EXPECT_EQ(std::to_integer<int>(answer[3]), static_cast<int>(Operation::kConsumerReject));
    expect_usable();
}

TEST_F(Converted, a_request_that_nobody_answers_is_rejected_with_the_adapter_instance) {
    listen();
    theirs.say(encode(request(), Shape::kCurrent).all());
    ASSERT_TRUE(waiting.has_request());
    close();
    const Octets answer = theirs.next(sockets::kHeaderSize);
    EXPECT_EQ(std::to_integer<int>(answer[3]), static_cast<int>(Operation::kManagerReject));
    expect_usable();
}

TEST_F(Converted, what_is_no_request_deserts_the_service_point_and_ends_the_stream) {
    Message old = request();
    old.version = 5;
    const std::string told = test::captured_stderr([&] {
        listen();
        theirs.say(encode(old, Shape::kCurrent).all());
        EXPECT_TRUE(waiting.is_deserted());
    });
    EXPECT_NE(told.find("version 5"), std::string::npos) << told;
    theirs.hear_the_end();
}

TEST_F(Converted, a_datagram_endpoint_is_rejected_and_the_stream_given_back) {
    Message datagram = request();
    datagram.sender.qp_type = IBV_QPT_UD;
    test::captured_stderr([&] {
        listen();
        theirs.say(encode(datagram, Shape::kCurrent).all());
        EXPECT_TRUE(waiting.is_deserted());
    });
    const Octets answer = theirs.next(sockets::kHeaderSize);
    EXPECT_EQ(std::to_integer<int>(answer[3]), static_cast<int>(Operation::kManagerReject));
    expect_usable();
}

TEST_F(Converted, an_acceptance_that_the_peer_cannot_use_gives_the_stream_back) {
    listen();
    theirs.say(encode(request(), Shape::kCurrent).all());
    ASSERT_TRUE(waiting.has_request());
    accept();
    EXPECT_EQ(theirs.next(sockets::kHeaderSize).size(), sockets::kHeaderSize);
    theirs.say(sockets::encode_late_reject().all());
    expect_given_back(1, cm::Outcome::kDisconnected);
}

TEST_F(Converted,
       a_request_to_whose_sender_there_is_no_path_is_rejected_and_the_stream_given_back) {
    listen();
    Message impossible = request();
    impossible.sender.qpn = 0xFFFFFF;
    theirs.say(encode(impossible, Shape::kCurrent).all());
    ASSERT_TRUE(waiting.has_request());
    test::captured_stderr([&] { accept(); });
    const Octets answer = theirs.next(sockets::kHeaderSize);
    EXPECT_EQ(std::to_integer<int>(answer[3]), static_cast<int>(Operation::kManagerReject));
    expect_given_back(1, cm::Outcome::kLocalFailure);
}

TEST_F(Converted, a_confirmation_that_is_none_ends_the_stream) {
    const std::string told = test::captured_stderr([&] {
        listen();
        theirs.say(encode(request(), Shape::kCurrent).all());
        ASSERT_TRUE(waiting.has_request());
        accept();
        EXPECT_EQ(theirs.next(sockets::kHeaderSize).size(), sockets::kHeaderSize);
        theirs.say("HELO");
        expect_over(1, cm::Outcome::kDisconnected);
    });
    EXPECT_NE(told.find("confirmed the connection with"), std::string::npos) << told;
}

TEST_F(Converted, a_peer_that_never_confirms_is_given_up_and_its_stream_ended) {
    close();
    setenv("DAPL_SCM_HANDSHAKE_MS", "50", 1);
    open();
    unsetenv("DAPL_SCM_HANDSHAKE_MS");
    test::captured_stderr([&] {
        listen();
        theirs.say(encode(request(), Shape::kCurrent).all());
        ASSERT_TRUE(waiting.has_request());
        accept();
        EXPECT_EQ(theirs.next(sockets::kHeaderSize).size(), sockets::kHeaderSize);
        expect_over(1, cm::Outcome::kUnreachable);
    });
}

TEST_F(Converted, a_reply_connects_and_what_the_program_hears_then_is_the_end_alone) {
    connect();
    EXPECT_EQ(next_request().size(), sockets::kHeaderSize);
    theirs.say(encode(reply(), Shape::kCurrent).all());
    EXPECT_EQ(theirs.next(4), octets(sockets::encode_ready_to_use()));
    ASSERT_TRUE(user.wait_for(1));
    {
        const MutexLock guard(connection_lock);
        connection->disconnect();
    }
    expect_over(2, cm::Outcome::kDisconnected);
    ours.hear_the_end();
}

TEST_F(Converted, a_reply_that_cannot_be_used_is_rejected_late_and_the_stream_given_back) {
    test::captured_stderr([&] {
        connect();
        EXPECT_EQ(next_request().size(), sockets::kHeaderSize);
        Message impossible = reply();
        impossible.sender.qpn = 0xFFFFFF;
        theirs.say(encode(impossible, Shape::kCurrent).all());
        EXPECT_EQ(theirs.next(4), octets(sockets::encode_late_reject()));
        expect_given_back(1, cm::Outcome::kLocalFailure);
    });
}

TEST_F(Converted, rejections_of_the_consumer_and_of_the_manager_leave_what_follows_to_the_program) {
    const std::pair<Operation, cm::Outcome> cases[] = {
        {Operation::kConsumerReject, cm::Outcome::kPeerRejected},
        {Operation::kManagerReject, cm::Outcome::kNonPeerRejected}};
    std::size_t count = 0;
    for (const auto& [operation, outcome] : cases) {
        connect();
        Octets answer = octets(
            encode_reject(next_request(), Shape::kCurrent, operation, Octets(7, std::byte{'n'})));
        for (const char letter : std::string("next")) answer.push_back(std::byte(letter));
        theirs.say(answer);
        const auto rejected = user.wait_for(++count);
        ASSERT_TRUE(rejected);
        EXPECT_EQ(rejected->outcome, outcome);
        EXPECT_EQ(std::to_integer<char>(rejected->data[6]), 'n');
        ours.hear("next");
        expect_usable();
    }
}

TEST_F(Converted, an_answer_that_is_none_is_a_local_failure_and_ends_the_stream) {
    for (const bool is_datagram : {false, true}) {
        auto [one, other] = test::connected_streams();
        ours = std::move(one);
        theirs = std::move(other);
        test::captured_stderr([&] {
            connect();
            EXPECT_EQ(next_request().size(), sockets::kHeaderSize);
            Message wrong = reply();
            if (is_datagram)
                wrong.sender.qp_type = IBV_QPT_UD;
            else
                wrong.version = 5;
            theirs.say(encode(wrong, Shape::kCurrent).all());
            expect_over(is_datagram ? 2 : 1, cm::Outcome::kLocalFailure);
        });
    }
}

TEST_F(Converted, a_peer_that_hangs_up_in_place_of_an_answer_is_unreachable) {
    const std::string told = test::captured_stderr([&] {
        connect();
        EXPECT_EQ(next_request().size(), sockets::kHeaderSize);
        theirs = Stream();
        const auto ended = user.wait_for(1);
        ASSERT_TRUE(ended);
        EXPECT_EQ(ended->outcome, cm::Outcome::kUnreachable);
    });
    EXPECT_NE(told.find("end of stream"), std::string::npos) << told;
}

TEST_F(Converted, a_stream_that_is_over_already_is_reported_not_returned) {
    theirs = Stream();
    ours.hear_the_end();
    shutdown(ours.number(), SHUT_WR);
    test::captured_stderr([&] {
        connect();
        const auto ended = user.wait_for(1);
        ASSERT_TRUE(ended);
        EXPECT_EQ(ended->outcome, cm::Outcome::kUnreachable);
    });
}

TEST_F(Converted, the_programs_socket_stays_blocking_and_keeps_its_options) {
    connect();
    EXPECT_EQ(next_request().size(), sockets::kHeaderSize);
    EXPECT_EQ(fcntl(ours.number(), F_GETFL) & O_NONBLOCK, 0);
    int delays = 1;
    socklen_t size = sizeof delays;
    getsockopt(ours.number(), IPPROTO_TCP, TCP_NODELAY, &delays, &size);
    EXPECT_EQ(delays, 0);
}

TEST_F(Converted, last_words_for_which_the_stream_has_no_room_refuse_the_service_point) {
    const Octets words(4096, std::byte{'w'});
    for (;;) {
        const ssize_t taken =
            send(ours.number(), words.data(), words.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
        if (taken < static_cast<ssize_t>(words.size())) break;
    }
    const MutexLock guard(connection_lock);
    EXPECT_FALSE((*manager->sockets())->listen(lent(), words, waiting));
}

TEST_F(Converted, a_socket_over_ipv6_is_as_good) {
    if (!test::has_loopback(AF_INET6)) GTEST_SKIP() << "this machine has no ::1";
    auto [one, other] = test::connected_streams(AF_INET6);
    ours = std::move(one);
    theirs = std::move(other);
    connect();
    EXPECT_EQ(next_request().size(), sockets::kHeaderSize);
    theirs.say(encode(reply(), Shape::kCurrent).all());
    ASSERT_TRUE(user.wait_for(1));
    EXPECT_EQ(theirs.next(4), octets(sockets::encode_ready_to_use()));
}

}  // namespace
