// SPDX-License-Identifier: BSD-2-Clause
// Both sides of a connection by datagrams against a scripted peer, with softverbs below. The
// connection manager is used as the core uses it.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <vector>

#include "dapl/base/codes.hpp"
#include "dapl/cm/manager.hpp"
#include "device/address.hpp"
#include "providers/ucm/manager.hpp"
#include "test/support/connection_recorder.hpp"
#include "test/support/process.hpp"
#include "test/ucm/scripted_peer.hpp"

namespace {

using namespace dapl;
using support::MutexLock;
using test::eventually;
using test::Message;
using test::Operation;
using Octets = std::vector<std::byte>;

constexpr std::uint16_t kPort = 4711;
constexpr std::uint32_t kPeersId = 77;

Octets octets(const std::string& text) {
    const auto* bytes = reinterpret_cast<const std::byte*>(text.data());
    return {bytes, bytes + text.size()};
}

class Requests final : public cm::ListenUser {
  public:
    void request(std::unique_ptr<cm::Connection> connection, cm::PrivateData data) override
        REQUIRES(connection_lock) {
        all.push_back(std::move(connection));
        last_data.assign(data.begin(), data.end());
    }
    std::size_t size() {
        const MutexLock guard(connection_lock);
        return all.size();
    }
    std::vector<std::unique_ptr<cm::Connection>> all GUARDED_BY(connection_lock);
    Octets last_data GUARDED_BY(connection_lock);
};

class Ucm : public testing::Test {
  protected:
    void SetUp() override {
        auto opened = dapl::ucm::open_manager("ia", "soft0 1");
        ASSERT_TRUE(opened) << opened.error().cause;
        manager = std::move(*opened);
        ibv_context* const context = manager->adapter().context;
        domain.reset(ibv_alloc_pd(context));
        queue.reset(ibv_create_cq(context, 16, nullptr, nullptr, 0));
        own = queue_pair();
        others = queue_pair();
        peer.emplace();
        address = ucm::from_socket_address(manager->adapter().address);
    }
    void TearDown() override {
        const MutexLock guard(connection_lock);
        connection.reset();
        listener.reset();
        requests.all.clear();
    }

    verbs::QueuePair queue_pair() const {
        return test::queue_pair_in_init(domain.get(), queue.get());
    }
    ibv_qp_state state() const {
        ibv_qp_attr now{};
        ibv_qp_init_attr initial{};
        ibv_query_qp(own.get(), &now, IBV_QP_STATE, &initial);
        return now.qp_state;
    }

    support::Result<void> connect_to(const test::QpAddress& to, const std::string& data = "hello") {
        const MutexLock guard(connection_lock);
        const Octets bytes = octets(data);
        const sockaddr_storage given = ucm::to_socket_address(to);
        auto started = manager->connect(reinterpret_cast<const sockaddr*>(&given), kPort,
                                        {own.get(), 4, 4, bytes}, user);
        if (!started) return tl::unexpected(started.error());
        connection = std::move(*started);
        return {};
    }
    /// Starts a connection. @return the request that the peer gets.
    Message connect() {
        EXPECT_TRUE(connect_to(peer->address));
        return peer->next(Operation::kRequest);
    }
    Message reply_to(const Message& request, const std::string& data = {}) const {
        Message reply = peer->answer(request, Operation::kReply, kPeersId, others->qp_num);
        put(reply, data);
        return reply;
    }
    static void put(Message& message, const std::string& data) {
        message.private_data_size = data.size();
        std::ranges::copy(octets(data), message.private_data.begin());
    }
    Message established() {
        Message reply = reply_to(connect());
        peer->send(reply);
        peer->next(Operation::kReadyToUse);
        EXPECT_TRUE(user.wait_for(1));
        return reply;
    }

    void listen() {
        const MutexLock guard(connection_lock);
        auto made = manager->listen(kPort, requests);
        ASSERT_TRUE(made) << made.error().cause;
        listener = std::move(*made);
    }
    Message request(std::uint32_t id = kPeersId) const {
        return peer->request(address, kPort, id, others->qp_num);
    }
    /// Sends the peer's request and takes it over. @return what was sent.
    Message requested(const std::string& data = "who?") {
        Message message = request();
        put(message, data);
        peer->send(message);
        EXPECT_TRUE(eventually([&] { return requests.size() == 1; }));
        const MutexLock guard(connection_lock);
        connection = std::move(requests.all.front());
        return message;
    }
    support::Result<void> accept(const std::string& data = "me") {
        const MutexLock guard(connection_lock);
        const Octets bytes = octets(data);
        auto accepted = connection->accept({own.get(), 4, 4, bytes}, user);
        if (accepted) connection->answer();
        return accepted;
    }
    void disconnect() {
        const MutexLock guard(connection_lock);
        connection->disconnect();
    }
    void destroy() {
        const MutexLock guard(connection_lock);
        connection.reset();
    }
    /// Makes sure that everything sent before has been taken: the answer to one more message.
    void pass() {
        Message stray = peer->request(address, kPort + 1, 9999, others->qp_num);
        peer->send(stray);
        peer->next(Operation::kManagerReject);
    }

    test::TemporaryFabric fabric;
    test::Setting reply_time{"DAPL_UCM_REP_TIME", "100000"};
    test::Setting confirm_time{"DAPL_UCM_RTU_TIME", "100000"};
    test::Setting disconnect_time{"DAPL_UCM_DREP_TIME", "100000"};
    test::Recorder user;
    Requests requests;
    std::unique_ptr<cm::Manager> manager;
    verbs::ProtectionDomain domain;
    verbs::CompletionQueue queue;
    verbs::QueuePair own, others;
    std::optional<test::ScriptedPeer> peer;
    test::QpAddress address;
    std::unique_ptr<cm::Listener> listener;
    std::unique_ptr<cm::Connection> connection;
};

// -- the active side --------------------------------------------------------------------------

TEST_F(Ucm, a_request_has_the_fields_that_the_reference_sends) {
    EXPECT_EQ(address.qp_type, IBV_QPT_UD);
    EXPECT_NE(address.lid, 0);
    EXPECT_EQ(manager->adapter().address.ss_family, AF_INET6);
    ASSERT_TRUE(connect_to(peer->address));
    const Octets bytes = peer->next_bytes();
    ASSERT_EQ(bytes.size(), 148u + 5);
    const Message asked = *ucm::decode(bytes);
    EXPECT_EQ(asked.version, 9);
    EXPECT_EQ(asked.destination_port, kPort);
    EXPECT_EQ(asked.source_port, asked.source_id);
    EXPECT_NE(asked.source_id, 0U);
    EXPECT_EQ(asked.destination_id, 0U);
    EXPECT_EQ(asked.source_qpn, address.qpn);
    EXPECT_EQ(asked.destination_qpn, peer->address.qpn);
    EXPECT_EQ(asked.sender.qpn, own->qp_num);
    EXPECT_EQ(asked.sender.lid, address.lid);
    EXPECT_EQ(asked.sender.gid, address.gid);
    EXPECT_EQ(asked.sender.qp_type, IBV_QPT_RC);
    EXPECT_EQ(asked.read_limit, 4);
    EXPECT_EQ(asked.retries, 0);
    const test::QpAddress given = exchange::decode(asked.other_address);
    EXPECT_EQ(given.qpn, 0U) << "the address that the program passed, without its number";
    EXPECT_EQ(given.lid, peer->address.lid);
    EXPECT_EQ(given.qp_type, IBV_QPT_UD);
}

TEST_F(Ucm, a_reply_connects_the_queue_pair_and_is_confirmed_as_often_as_it_comes) {
    const Message asked = connect();
    peer->send(reply_to(asked, "fine"));
    const Message confirmed = peer->next(Operation::kReadyToUse);
    EXPECT_EQ(confirmed.destination_id, kPeersId);
    EXPECT_EQ(confirmed.source_id, asked.source_id);
    EXPECT_EQ(confirmed.private_data_size, 0U);
    const auto report = user.wait_for(1);
    ASSERT_TRUE(report);
    EXPECT_EQ(report->outcome, cm::Outcome::kEstablished);
    EXPECT_EQ(report->data, octets("fine"));
    EXPECT_EQ(state(), IBV_QPS_RTS);
    peer->send(reply_to(asked, "fine"));
    EXPECT_EQ(peer->next(Operation::kReadyToUse).source_id, asked.source_id);
    EXPECT_EQ(user.size(), 1U) << "one event";
}

TEST_F(Ucm, the_peer_disconnects_and_gets_an_answer_each_time_and_there_is_one_event) {
    const Message reply = established();
    Message bye = reply;
    bye.operation = Operation::kDisconnect;
    peer->send(bye);
    peer->next(Operation::kDisconnected);
    const auto report = user.wait_for(2);
    ASSERT_TRUE(report);
    EXPECT_EQ(report->outcome, cm::Outcome::kDisconnected);
    peer->send(bye);
    peer->next(Operation::kDisconnected);
    destroy();
    peer->send(bye);
    peer->next(Operation::kDisconnected);
    EXPECT_EQ(user.size(), 2U);
}

TEST_F(Ucm, a_disconnect_is_over_when_the_peer_answers) {
    established();
    disconnect();
    disconnect();
    const Message bye = peer->next(Operation::kDisconnect);
    EXPECT_EQ(bye.destination_id, kPeersId);
    EXPECT_EQ(user.size(), 1U) << "the peer has not answered";
    peer->send(peer->answer(bye, Operation::kDisconnected, kPeersId, others->qp_num));
    const auto report = user.wait_for(2);
    ASSERT_TRUE(report);
    EXPECT_EQ(report->outcome, cm::Outcome::kDisconnected);
    EXPECT_FALSE(peer->has_more());
}

TEST_F(Ucm, disconnects_that_cross_are_answered_and_reported_once) {
    established();
    disconnect();
    const Message bye = peer->next(Operation::kDisconnect);
    peer->send(peer->answer(bye, Operation::kDisconnect, kPeersId, others->qp_num));
    peer->next(Operation::kDisconnected);
    ASSERT_TRUE(user.wait_for(2));
    peer->send(peer->answer(bye, Operation::kDisconnected, kPeersId, others->qp_num));
    pass();
    EXPECT_EQ(user.size(), 2U);
}

TEST_F(Ucm, an_endpoint_freed_while_connected_still_tells_its_peer) {
    established();
    disconnect();
    destroy();
    const Message bye = peer->next(Operation::kDisconnect);
    peer->send(peer->answer(bye, Operation::kDisconnected, kPeersId, others->qp_num));
    pass();
    EXPECT_EQ(user.size(), 1U) << "nobody is told who has gone";
}

TEST_F(Ucm, rejections_of_the_consumer_and_of_the_manager_are_told_apart) {
    std::size_t count = 0;
    for (const auto& each : {std::pair{Operation::kConsumerReject, cm::Outcome::kPeerRejected},
                             std::pair{Operation::kManagerReject, cm::Outcome::kNonPeerRejected}}) {
        const Operation operation = each.first;
        const Message asked = connect();
        Message reject = peer->answer(asked, operation, 0, 0);
        reject.source_id = reject.destination_id = 0;  // as the reference does without a listener
        reject.sender.qp_type = IBV_QPT_RC;
        if (operation == Operation::kConsumerReject) put(reject, "no");
        const std::string told = test::captured_stderr([&] {
            peer->send(reject);
            const auto report = user.wait_for(++count);
            ASSERT_TRUE(report);
            EXPECT_EQ(report->outcome, each.second);
            EXPECT_EQ(report->data, octets(operation == Operation::kConsumerReject ? "no" : ""));
        });
        EXPECT_EQ(told.find("[DAT207]") != std::string::npos,
                  operation == Operation::kManagerReject)
            << told;
    }
    EXPECT_EQ(state(), IBV_QPS_INIT);
}

TEST_F(Ucm, a_peer_that_answers_after_it_was_given_up_is_told_so) {
    const Message asked = connect();
    disconnect();
    const auto report = user.wait_for(1);
    ASSERT_TRUE(report);
    EXPECT_EQ(report->outcome, cm::Outcome::kDisconnected);
    peer->send(reply_to(asked));
    const Message reject = peer->next(Operation::kManagerReject);
    EXPECT_EQ(reject.destination_id, kPeersId);
    EXPECT_EQ(user.size(), 1U);
    EXPECT_EQ(state(), IBV_QPS_INIT) << "and the queue pair is left alone";
}

TEST_F(Ucm, messages_that_only_resemble_the_peers_change_nothing) {
    const Message asked = connect();
    test::ScriptedPeer stranger;
    const auto ignored = [&](const char* what, auto change) {
        Message reply = reply_to(asked);
        change(reply);
        peer->send(reply, address.qpn);
        pass();
        EXPECT_EQ(user.size(), 0U) << what;
    };
    Message forged = reply_to(asked);
    stranger.send(forged);  // with the peer's numbers, from another queue pair
    forged.source_qpn = stranger.address.qpn;
    stranger.send(forged);
    stranger.next(Operation::kManagerReject);
    EXPECT_EQ(user.size(), 0U);
    ignored("another service", [&](Message& m) { m.destination_qpn = 3; });
    const auto answered = [&](const char* what, auto change) {
        Message reply = reply_to(asked);
        change(reply);
        peer->send(reply, address.qpn);
        peer->next(Operation::kManagerReject);
        EXPECT_EQ(user.size(), 0U) << what;
    };
    answered("another id", [](Message& m) { m.destination_id += 1; });
    answered("an id far away", [](Message& m) { m.destination_id = 5000; });
    answered("a negative id", [](Message& m) { m.destination_id = 0x80000001; });
    answered("another port here", [](Message& m) { m.destination_port += 1; });
    answered("another port there", [](Message& m) { m.source_port += 1; });
    for (const Operation operation : {Operation::kReadyToUse, Operation::kDisconnected}) {
        Message message = reply_to(asked);
        message.operation = operation;
        peer->send(message);
        pass();
        EXPECT_EQ(user.size(), 0U);
    }
    peer->send(reply_to(asked));
    peer->next(Operation::kReadyToUse);
    ASSERT_TRUE(user.wait_for(1));
}

TEST_F(Ucm, a_reply_of_another_type_of_queue_pair_is_a_local_failure) {
    const Message asked = connect();
    Message reply = reply_to(asked);
    reply.sender.qp_type = IBV_QPT_UD;
    const std::string told = test::captured_stderr([&] {
        peer->send(reply);
        const auto report = user.wait_for(1);
        ASSERT_TRUE(report);
        EXPECT_EQ(report->outcome, cm::Outcome::kLocalFailure);
    });
    EXPECT_NE(told.find("[DAT224]"), std::string::npos) << told;
}

TEST_F(Ucm, an_address_that_is_none_is_refused_and_the_message_says_what_is_missing) {
    for (const bool has_lid : {true, false}) {
        test::QpAddress wrong = peer->address;
        has_lid ? wrong.qpn = 0 : wrong.lid = 0;
        const std::string told = test::captured_stderr([&] {
            const auto started = connect_to(wrong);
            ASSERT_FALSE(started);
            EXPECT_EQ(started.error().code, raw(DAT_INVALID_ADDRESS));
        });
        EXPECT_NE(told.find("[DAT232]"), std::string::npos) << told;
        EXPECT_NE(told.find("LID"), std::string::npos) << told;
    }
    test::QpAddress without_gid = peer->address;
    without_gid.gid = {};
    EXPECT_TRUE(connect_to(without_gid)) << "a LID is enough on InfiniBand";
    peer->next(Operation::kRequest);
}

TEST_F(Ucm, two_instances_of_one_record_share_the_address_and_its_ports) {
    listen();
    auto second = ucm::open_manager("ia", "soft0 1");
    ASSERT_TRUE(second);
    EXPECT_EQ(to_text((*second)->adapter().address), to_text(manager->adapter().address));
    {
        const MutexLock guard(connection_lock);
        const auto taken = (*second)->listen(kPort, requests);
        ASSERT_FALSE(taken);
        EXPECT_EQ(taken.error().code, raw(DAT_CONN_QUAL_IN_USE));
        const auto no_port = (*second)->listen(0x50000, requests);
        ASSERT_FALSE(no_port);
        EXPECT_EQ(no_port.error().code, raw(DAT_INVALID_PARAMETER));
    }
    auto other = ucm::open_manager("other", "soft0 1");
    ASSERT_TRUE(other);
    EXPECT_NE(to_text((*other)->adapter().address), to_text(manager->adapter().address));
    const MutexLock guard(connection_lock);
    EXPECT_TRUE((*other)->listen(kPort, requests));
}

// -- the passive side -------------------------------------------------------------------------

TEST_F(Ucm, a_request_is_handed_over_once_however_often_it_comes) {
    listen();
    const Message asked = requested();
    {
        const MutexLock guard(connection_lock);
        EXPECT_EQ(requests.last_data, octets("who?"));
        EXPECT_EQ(to_text(connection->peer_address()),
                  to_text(ucm::to_socket_address(peer->address)))
            << "the address by which the peer can be connected to";
    }
    peer->send(asked);
    Message again = asked;
    again.retries = 1;
    peer->send(again);
    pass();
    EXPECT_EQ(requests.size(), 1U);
    ASSERT_TRUE(accept());
    const Message reply = peer->next(Operation::kReply);
    EXPECT_EQ(reply.source_port, kPort);
    EXPECT_EQ(reply.destination_port, kPeersId);
    EXPECT_EQ(reply.destination_id, kPeersId);
    EXPECT_EQ(reply.sender.qpn, own->qp_num);
    EXPECT_EQ(reply.mtu, IBV_MTU_1024);
    EXPECT_EQ(reply.private_data_size, 2U);
    peer->send(again);
    EXPECT_EQ(peer->next(Operation::kReply).source_id, reply.source_id);
    EXPECT_EQ(user.size(), 0U);
    const Message confirm = peer->answer(reply, Operation::kReadyToUse, kPeersId, others->qp_num);
    peer->send(confirm);
    peer->send(confirm);
    peer->send(again);
    const auto report = user.wait_for(1);
    ASSERT_TRUE(report);
    EXPECT_EQ(report->outcome, cm::Outcome::kEstablished);
    EXPECT_TRUE(report->data.empty());
    pass();
    EXPECT_EQ(user.size(), 1U);
    EXPECT_EQ(requests.size(), 1U);
    EXPECT_EQ(state(), IBV_QPS_RTS);
}

TEST_F(Ucm, a_lost_rejection_is_given_again_and_the_consumer_is_asked_once) {
    listen();
    Message asked = requested();
    {
        const MutexLock guard(connection_lock);
        connection->reject(octets("never"));
        connection.reset();
    }
    const Message first = peer->next(Operation::kConsumerReject);
    EXPECT_EQ(first.private_data_size, 5U);
    asked.retries = 1;
    peer->send(asked);
    const Message second = peer->next(Operation::kConsumerReject);
    EXPECT_EQ(second.private_data_size, 5U);
    EXPECT_EQ(second.source_id, first.source_id);
    EXPECT_EQ(requests.size(), 1U);
}

TEST_F(Ucm, a_request_that_the_consumer_drops_is_rejected) {
    listen();
    requested();
    destroy();
    peer->next(Operation::kManagerReject);
}

TEST_F(Ucm, a_port_that_nobody_listens_on_rejects_with_the_type_of_the_requests_queue_pair) {
    for (const std::uint8_t type : {IBV_QPT_RC, IBV_QPT_UD}) {
        Message asked = request();
        asked.sender.qp_type = type;
        peer->send(asked);
        const Message reject = peer->next(Operation::kManagerReject);
        EXPECT_EQ(reject.sender.qp_type, type);
        EXPECT_EQ(reject.sender.lid, address.lid);
        EXPECT_EQ(reject.source_port, kPort);
        EXPECT_EQ(reject.destination_port, kPeersId);
        EXPECT_EQ(reject.destination_id, kPeersId);
    }
}

TEST_F(Ucm, a_peer_that_gives_up_before_it_confirms_ends_the_accept) {
    for (const Operation operation : {Operation::kManagerReject, Operation::kDisconnect}) {
        listen();
        own = queue_pair();
        const std::size_t before = user.size();
        Message asked = request(kPeersId + static_cast<std::uint32_t>(operation));
        peer->send(asked);
        ASSERT_TRUE(eventually([&] { return requests.size() == 1; }));
        {
            const MutexLock guard(connection_lock);
            connection = std::move(requests.all.front());
            requests.all.clear();
        }
        ASSERT_TRUE(accept());
        const Message reply = peer->next(Operation::kReply);
        peer->send(peer->answer(reply, operation, asked.source_id, others->qp_num));
        const auto report = user.wait_for(before + 1);
        ASSERT_TRUE(report);
        EXPECT_EQ(report->outcome, cm::Outcome::kDisconnected);
        if (operation == Operation::kDisconnect) peer->next(Operation::kDisconnected);
        asked.retries = 1;
        peer->send(asked);
        pass();
        EXPECT_EQ(requests.size(), 0U) << "a repetition that was on its way is no new request";
        destroy();
        const MutexLock guard(connection_lock);
        listener.reset();
    }
}

TEST_F(Ucm, an_accept_that_is_given_up_is_disconnected) {
    listen();
    requested();
    ASSERT_TRUE(accept());
    peer->next(Operation::kReply);
    disconnect();
    peer->next(Operation::kDisconnect);
    const auto report = user.wait_for(1);
    ASSERT_TRUE(report);
    EXPECT_EQ(report->outcome, cm::Outcome::kDisconnected);
}

TEST_F(Ucm, words_to_nobody_get_the_answer_that_ends_the_waiting_and_others_none) {
    Message stray = request();
    for (const Operation operation : {Operation::kReadyToUse, Operation::kConsumerReject,
                                      Operation::kManagerReject, Operation::kDisconnected}) {
        stray.operation = operation;
        peer->send(stray);
        pass();
    }
    stray.operation = Operation::kReply;
    peer->send(stray);
    peer->next(Operation::kManagerReject);
    stray.operation = Operation::kDisconnect;
    peer->send(stray);
    peer->next(Operation::kDisconnected);
    EXPECT_FALSE(peer->has_more());
}

TEST_F(Ucm, wrong_datagrams_are_dropped_and_the_next_good_one_is_served) {
    listen();
    const ucm::Bytes good = ucm::encode(request());
    const auto dropped = [&](const char* what, std::size_t size, std::size_t at, unsigned value) {
        Octets bytes(good.all().begin(), good.all().end());
        bytes.resize(size);
        if (at < size) bytes[at] = static_cast<std::byte>(value);
        peer->send(bytes, address.qpn);
        pass();
        EXPECT_EQ(requests.size(), 0U) << what;
    };
    dropped("20 bytes", 20, 1000, 0);
    dropped("one byte short", 147, 1000, 0);
    dropped("version 5", 148, 1, 5);
    dropped("operation 0", 148, 3, 0);
    dropped("operation 8", 148, 3, 8);
    dropped("a huge queue pair number", 148, 40, 1);
    dropped("a queue pair type of 3", 148, 63, 3);
    dropped("MTU code 6", 148, 32, 6);
    dropped("more private data than there may be", 300, 17, 69);
    Octets claims(good.all().begin(), good.all().end());
    claims[17] = std::byte{48};  // the size of an earlier message's data
    peer->send(claims, address.qpn);
    ASSERT_TRUE(eventually([&] { return requests.size() == 1; }));
    const MutexLock guard(connection_lock);
    EXPECT_TRUE(requests.last_data.empty());
}

TEST_F(Ucm, a_flood_of_requests_that_are_given_up_leaves_nothing_behind) {
    listen();
    const int most = test::scaled(20000);
    for (int count = 0; count < most; ++count) {
        Message asked = request(static_cast<std::uint32_t>(count) + 1);
        peer->send(asked);
        ASSERT_TRUE(eventually([&] { return requests.size() == 1; }));
        {
            const MutexLock guard(connection_lock);
            requests.all.clear();
        }
        peer->next(Operation::kManagerReject);
    }
}

// -- time -------------------------------------------------------------------------------------

class UcmInHaste : public Ucm {
  protected:
    test::Setting short_reply{"DAPL_UCM_REP_TIME", "20"};
    test::Setting short_confirm{"DAPL_UCM_RTU_TIME", "20"};
    test::Setting few{"DAPL_UCM_RETRY", "4"};
};

TEST_F(UcmInHaste, a_request_without_answer_is_repeated_with_its_count_and_then_given_up) {
    const std::string told = test::captured_stderr([&] {
        const Message first = connect();
        for (std::uint8_t count = 1; count < 4; ++count) {
            const Message again = peer->next(Operation::kRequest);
            EXPECT_EQ(again.retries, count);
            EXPECT_EQ(again.source_id, first.source_id);
        }
        const auto report = user.wait_for(1);
        ASSERT_TRUE(report);
        EXPECT_EQ(report->outcome, cm::Outcome::kUnreachable);
        EXPECT_FALSE(peer->has_more()) << "nothing is sent after the end";
    });
    EXPECT_NE(told.find("tries 4"), std::string::npos) << told;
    EXPECT_NE(told.find("LID"), std::string::npos) << told;
}

TEST_F(UcmInHaste, a_reply_without_confirmation_is_repeated_and_then_given_up) {
    listen();
    Message asked = requested();
    ASSERT_TRUE(accept());
    for (std::uint8_t count = 0; count < 4; ++count)
        EXPECT_EQ(peer->next(Operation::kReply).retries, count);
    const auto report = user.wait_for(1);
    ASSERT_TRUE(report);
    EXPECT_EQ(report->outcome, cm::Outcome::kUnreachable);
    asked.retries = 1;
    peer->send(asked);
    peer->next(Operation::kManagerReject);
    EXPECT_EQ(requests.size(), 1U) << "a peer that still asks is told that it is too late";
}

/// With the usual time for the connection, which a busy machine needs.
class UcmHastyEnd : public Ucm {
  protected:
    test::Setting short_disconnect{"DAPL_UCM_DREP_TIME", "20"};
};

TEST_F(UcmHastyEnd, a_disconnect_without_answer_is_sent_8_times_and_is_then_over) {
    established();
    disconnect();
    for (std::uint8_t count = 0; count < 8; ++count)
        EXPECT_EQ(peer->next(Operation::kDisconnect).retries, count);
    const auto report = user.wait_for(2);
    ASSERT_TRUE(report);
    EXPECT_EQ(report->outcome, cm::Outcome::kDisconnected);
}

TEST_F(UcmHastyEnd, a_manager_that_is_closed_sends_its_last_words_as_often_as_any) {
    established();
    disconnect();
    destroy();
    own.reset();
    others.reset();
    queue.reset();
    domain.reset();
    manager.reset();
    peer->next(Operation::kDisconnect);
    EXPECT_EQ(peer->next(Operation::kDisconnect).retries, 1);
}

class UcmForgetful : public Ucm {
  protected:
    test::Setting memory{"DAPL_UCM_WAIT_TIME", "10"};
};

TEST_F(UcmForgetful, a_forgotten_request_is_a_new_one) {
    listen();
    const Message asked = requested();
    destroy();
    peer->next(Operation::kManagerReject);
    ASSERT_TRUE(eventually([&] {
        peer->send(asked);
        if (requests.size() == 2) return true;
        if (peer->has_more()) peer->next(Operation::kManagerReject);
        return false;
    }));
}

}  // namespace
