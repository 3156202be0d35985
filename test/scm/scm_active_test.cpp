// SPDX-License-Identifier: BSD-2-Clause
// The active side against a scripted peer: a socket on which the test writes each byte, with
// softverbs below. The connection manager is used as the core uses it.
#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "dapl/base/codes.hpp"
#include "dapl/cm/manager.hpp"
#include "dapl/verbs/handles.hpp"
#include "providers/exchange/timed_queue.hpp"
#include "providers/scm/address.hpp"
#include "providers/scm/manager.hpp"
#include "providers/sockets/message.hpp"
#include "test/support/connection_recorder.hpp"
#include "test/support/process.hpp"

namespace {

using namespace dapl;
using sockets::Message;
using sockets::Operation;
using sockets::Reader;
using sockets::Shape;
using support::MutexLock;
using test::eventually;
using Octets = std::vector<std::byte>;

/// Listens on a free port of the loopback address.
class ScriptedServer {
  public:
    ScriptedServer() : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
        address.sin_family = AF_INET;
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        bind(socket_, reinterpret_cast<sockaddr*>(&address), sizeof address);
        listen(socket_, 16);
        socklen_t size = sizeof address;
        getsockname(socket_, reinterpret_cast<sockaddr*>(&address), &size);
    }
    ~ScriptedServer() {
        hang_up();
        stop();
    }
    ScriptedServer(const ScriptedServer&) = delete;
    ScriptedServer& operator=(const ScriptedServer&) = delete;

    void stop() {
        if (socket_ >= 0) close(socket_);
        socket_ = -1;
    }
    /// Accepts the next connection and returns its request, which arrives in one piece.
    Octets next_request() {
        hang_up();
        if (!test::is_readable(socket_)) return {};
        peer_ = accept(socket_, nullptr, nullptr);
        return receive();
    }
    Octets receive() {
        Octets bytes(1000);
        const ssize_t got =
            test::is_readable(peer_) ? recv(peer_, bytes.data(), bytes.size(), 0) : -1;
        bytes.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
        return bytes;
    }
    void say(std::span<const std::byte> bytes) const {
        if (::send(peer_, bytes.data(), bytes.size(), MSG_NOSIGNAL) < 0) perror("send");
    }
    void hang_up() {
        if (peer_ >= 0) close(peer_);
        peer_ = -1;
    }
    void reset() {
        const linger at_once{1, 0};
        setsockopt(peer_, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
        hang_up();
    }
    DAT_CONN_QUAL conn_qual() const {
        return static_cast<DAT_CONN_QUAL>(ntohs(address.sin_port) - 1000);
    }

    sockaddr_in address{};

  private:
    int socket_;
    int peer_ = -1;
};

class ScmActive : public testing::Test {
  protected:
    void SetUp() override {
        auto opened = dapl::scm::open_manager("ia", "soft0 1");
        ASSERT_TRUE(opened) << opened.error().cause;
        manager = std::move(*opened);
        domain.reset(ibv_alloc_pd(manager->adapter().context));
        queue.reset(ibv_create_cq(manager->adapter().context, 16, nullptr, nullptr, 0));
        own = queue_pair();
        peer = queue_pair();
    }
    void TearDown() override {
        const MutexLock guard(connection_lock);
        connection.reset();
    }

    verbs::QueuePair queue_pair() const {
        return test::queue_pair_in_init(domain.get(), queue.get());
    }
    ibv_qp_attr attributes() const {
        ibv_qp_attr now{};
        ibv_qp_init_attr initial{};
        ibv_query_qp(own.get(), &now, IBV_QP_STATE, &initial);
        return now;
    }

    support::Result<void> connect(const std::string& data = "hello") {
        const MutexLock guard(connection_lock);
        const cm::PrivateData bytes(reinterpret_cast<const std::byte*>(data.data()), data.size());
        auto started = manager->connect(reinterpret_cast<const sockaddr*>(&server.address),
                                        server.conn_qual(), {own.get(), 4, 4, bytes}, user);
        if (!started) return tl::unexpected(started.error());
        connection = std::move(*started);
        return {};
    }
    static Message read(const Octets& bytes) {
        Reader reader(Reader::Expected::kRequest);
        bool is_whole = false;
        for (std::size_t at = 0; at < bytes.size() && !is_whole;) {
            const auto room = reader.space();
            const std::size_t taken = std::min(room.size(), bytes.size() - at);
            std::copy_n(bytes.begin() + static_cast<std::ptrdiff_t>(at), taken, room.begin());
            at += taken;
            const auto added = reader.added(taken);
            is_whole = added && *added;
        }
        EXPECT_TRUE(is_whole);
        return reader.message();
    }
    Message reply_to(const Octets& request) const {
        Message reply = read(request);
        reply.version = exchange::kOwnVersion;
        reply.operation = Operation::kReply;
        reply.mtu = IBV_MTU_1024;
        reply.read_limit = 2;
        reply.sender.qpn = peer->qp_num;
        return reply;
    }

    test::TemporaryFabric fabric;
    ScriptedServer server;
    test::Recorder user;
    std::unique_ptr<cm::Manager> manager;
    verbs::ProtectionDomain domain;
    verbs::CompletionQueue queue;
    verbs::QueuePair own, peer;
    std::unique_ptr<cm::Connection> connection;
};

TEST_F(ScmActive, a_reply_connects_the_queue_pair_and_is_confirmed_and_its_data_reported_whole) {
    ASSERT_TRUE(connect());
    const Octets request = server.next_request();
    ASSERT_EQ(request.size(), 148u + 5);
    const Message asked = read(request);
    EXPECT_EQ(asked.version, 9);
    EXPECT_EQ(asked.sender.qpn, own->qp_num);
    EXPECT_EQ(asked.sender.qp_type, IBV_QPT_RC);
    EXPECT_EQ(asked.read_limit, 4);
    sockaddr_in own_address;
    std::memcpy(&own_address, asked.other_address.data(), sizeof own_address);
    EXPECT_EQ(own_address.sin_addr.s_addr, htonl(INADDR_LOOPBACK));
    server.say(encode(reply_to(request), Shape::kCurrent).all());
    const auto established = user.wait_for(1);
    ASSERT_TRUE(established);
    EXPECT_EQ(established->outcome, cm::Outcome::kEstablished);
    EXPECT_EQ(established->data.size(), 68u);
    EXPECT_EQ(std::to_integer<char>(established->data[0]), 'h');
    const Octets confirmation = server.receive();
    EXPECT_TRUE(std::ranges::equal(confirmation, sockets::encode_ready_to_use().all()));
    EXPECT_EQ(attributes().qp_state, IBV_QPS_RTS);
    server.hang_up();
    const auto ended = user.wait_for(2);
    ASSERT_TRUE(ended);
    EXPECT_EQ(ended->outcome, cm::Outcome::kDisconnected);
}

TEST_F(ScmActive, a_disconnect_sends_its_word_and_closes_and_is_reported_once) {
    ASSERT_TRUE(connect());
    server.say(encode(reply_to(server.next_request()), Shape::kCurrent).all());
    ASSERT_TRUE(user.wait_for(1));
    ASSERT_EQ(server.receive().size(), 4u);
    {
        const MutexLock guard(connection_lock);
        connection->disconnect();
        EXPECT_EQ(user.reports.size(), 1u) << "the caller is not through yet";
        connection->disconnect();
    }
    const auto ended = user.wait_for(2);
    ASSERT_TRUE(ended);
    EXPECT_EQ(ended->outcome, cm::Outcome::kDisconnected);
    EXPECT_TRUE(std::ranges::equal(server.receive(), sockets::encode_disconnect().all()));
    EXPECT_EQ(server.receive().size(), 0u);
}

TEST_F(ScmActive, a_reply_in_single_bytes_is_put_together) {
    ASSERT_TRUE(connect());
    const sockets::Bytes reply = encode(reply_to(server.next_request()), Shape::kCurrent);
    for (std::size_t at = 0; at < reply.all().size(); ++at) server.say(reply.all().subspan(at, 1));
    const auto established = user.wait_for(1);
    ASSERT_TRUE(established);
    EXPECT_EQ(established->outcome, cm::Outcome::kEstablished);
}

TEST_F(ScmActive, rejections_of_the_consumer_and_of_the_manager_are_told_apart) {
    const std::pair<unsigned, cm::Outcome> cases[] = {{3, cm::Outcome::kPeerRejected},
                                                      {4, cm::Outcome::kNonPeerRejected},
                                                      {77, cm::Outcome::kNonPeerRejected}};
    std::size_t count = 0;
    for (const auto& [operation, outcome] : cases) {
        ASSERT_TRUE(connect());
        const Octets request = server.next_request();
        server.say(encode_reject(request, Shape::kCurrent, static_cast<Operation>(operation),
                                 Octets(3, std::byte{'n'}))
                       .all());
        const auto rejected = user.wait_for(++count);
        ASSERT_TRUE(rejected);
        EXPECT_EQ(rejected->outcome, outcome);
        EXPECT_EQ(rejected->data.size(), 68u);
        EXPECT_EQ(std::to_integer<char>(rejected->data[2]), 'n');
        EXPECT_EQ(std::to_integer<char>(rejected->data[3]), 0);
    }
    EXPECT_EQ(attributes().qp_state, IBV_QPS_INIT);
}

TEST_F(ScmActive,
       a_request_without_an_answer_is_repeated_with_the_old_header_which_an_old_peer_answers) {
    for (const unsigned version : {6U, 7U, 9U}) {
        own = queue_pair();
        ASSERT_TRUE(connect());
        ASSERT_EQ(server.next_request().size(), 148u + 5);
        version == 7 ? server.reset() : server.hang_up();
        const Octets second = server.next_request();
        ASSERT_EQ(second.size(), 150u + 5);
        EXPECT_EQ(read(second).version, 7);
        EXPECT_EQ(read(second).given_private_data().size(), 5u);
        Message reply = reply_to(second);
        reply.version = static_cast<std::uint16_t>(version);
        server.say(encode(reply, Shape::kOld).all());
        const std::size_t before = version == 6 ? 0 : version == 7 ? 1 : 2;
        const auto established = user.wait_for(before + 1);
        ASSERT_TRUE(established) << version;
        EXPECT_EQ(established->outcome, cm::Outcome::kEstablished);
        EXPECT_EQ(std::to_integer<char>(established->data[4]), 'o');
        const MutexLock guard(connection_lock);
        connection.reset();
    }
}

TEST_F(ScmActive, a_peer_that_never_answers_is_given_up_after_five_tries_and_named) {
    const std::string told = test::captured_stderr([&] {
        ASSERT_TRUE(connect());
        for (int count = 1; count <= 5; ++count) {
            const Octets request = server.next_request();
            EXPECT_EQ(request.size(), count == 2 ? 155u : 153u) << count;
            count % 2 ? server.hang_up() : server.reset();
        }
        const auto ended = user.wait_for(1);
        ASSERT_TRUE(ended);
        EXPECT_EQ(ended->outcome, cm::Outcome::kLocalFailure);
    });
    EXPECT_NE(told.find("127.0.0.1:" + std::to_string(ntohs(server.address.sin_port))),
              std::string::npos)
        << told;
    EXPECT_NE(told.find("5 tries"), std::string::npos) << told;
    EXPECT_EQ(std::ranges::count(told, '\n'), 1) << told;
}

TEST_F(ScmActive, nobody_who_listens_is_no_peer_after_five_tries) {
    server.stop();
    const std::string told = test::captured_stderr([&] {
        ASSERT_TRUE(connect());
        const auto ended = user.wait_for(1);
        ASSERT_TRUE(ended);
        EXPECT_EQ(ended->outcome, cm::Outcome::kNonPeerRejected);
    });
    EXPECT_NE(told.find("tries 5"), std::string::npos) << told;
}

TEST_F(ScmActive, a_reply_with_impossible_fields_is_a_local_failure_that_is_told) {
    std::size_t count = 0;
    const auto expect_failure = [&](Message reply, const std::string& cause) {
        const std::string told = test::captured_stderr([&] {
            server.say(encode(reply, Shape::kCurrent).all());
            const auto ended = user.wait_for(++count);
            ASSERT_TRUE(ended);
            EXPECT_EQ(ended->outcome, cm::Outcome::kLocalFailure);
        });
        EXPECT_NE(told.find(cause), std::string::npos) << told;
    };
    const auto next_reply = [&] {
        EXPECT_TRUE(connect());
        return reply_to(server.next_request());
    };
    Message reply = next_reply();
    reply.version = 5;
    expect_failure(reply, "version 5");
    reply = next_reply();
    reply.mtu = 9;
    expect_failure(reply, "MTU code 9");
    reply = next_reply();
    reply.sender.qp_type = IBV_QPT_UD;
    expect_failure(reply, "another type");
    reply = next_reply();
    reply.sender.qpn = 0xFFFFFF;
    expect_failure(reply, "the device refuses");
}

TEST_F(ScmActive, a_connection_that_is_destroyed_hangs_up_and_reports_nothing) {
    ASSERT_TRUE(connect());
    ASSERT_FALSE(server.next_request().empty());
    {
        const MutexLock guard(connection_lock);
        connection.reset();
    }
    EXPECT_TRUE(server.receive().empty());
    const MutexLock guard(connection_lock);
    EXPECT_TRUE(user.reports.empty());
}

TEST(ScmAddress, a_qualifiers_port_is_1000_higher_in_16_bits) {
    EXPECT_EQ(scm::port_of(45248), 46248);
    EXPECT_EQ(scm::port_of(64535), 65535);
    EXPECT_EQ(scm::port_of(64536), 0);
    EXPECT_EQ(scm::port_of(65536), 1000);
}

TEST(ScmAddress, the_first_interface_goes_before_ib_and_ib_before_loopback) {
    const auto interface = [](const char* name, std::uint32_t address, bool is_loopback) {
        sockaddr_in in{};
        in.sin_family = AF_INET;
        in.sin_addr.s_addr = htonl(address);
        return scm::Interface{name, in, is_loopback};
    };
    const auto chosen = [](const std::vector<scm::Interface>& all) {
        return ntohl(scm::preferred_address(all).sin_addr.s_addr);
    };
    const scm::Interface lo = interface("lo", INADDR_LOOPBACK, true);
    const scm::Interface ib = interface("ib0", 0x0A000001, false);
    const scm::Interface eth = interface("eth1", 0x0A000002, false);
    EXPECT_EQ(chosen({lo, ib, eth}), 0x0A000002u);
    EXPECT_EQ(chosen({lo, ib}), 0x0A000001u);
    EXPECT_EQ(chosen({lo}), INADDR_LOOPBACK);
    EXPECT_EQ(chosen({}), INADDR_LOOPBACK);
}

struct SetVariable {
    SetVariable(const char* its_name, const char* value) : name(its_name) {
        setenv(name, value, 1);
    }
    ~SetVariable() { unsetenv(name); }
    const char* name;
};

TEST(ScmAddress, a_setting_that_names_nothing_of_this_machine_is_told_and_opens_nothing) {
    const test::TemporaryFabric fabric;
    const auto told_of = [](const char* name, const char* value) {
        const SetVariable set(name, value);
        return test::captured_stderr(
            [] { EXPECT_FALSE(dapl::scm::open_manager("ia", "soft0 1")); });
    };
    EXPECT_NE(told_of("DAPL_SCM_NETDEV", "nonesuch0").find("[DAT227]"), std::string::npos);
    EXPECT_NE(told_of("DAPL_SCM_BIND_ADDRESS", "192.0.2.1").find("[DAT226]"), std::string::npos);
    EXPECT_NE(told_of("DAPL_SCM_BIND_ADDRESS", "here").find("[DAT226]"), std::string::npos);
    const SetVariable set("DAPL_SCM_BIND_ADDRESS", "127.9.8.7");
    const auto opened = dapl::scm::open_manager("ia", "soft0 1");
    ASSERT_TRUE(opened);
    sockaddr_in address{};
    std::memcpy(&address, &(*opened)->adapter().address, sizeof address);
    EXPECT_EQ(address.sin_addr.s_addr, inet_addr("127.9.8.7"));
}

}  // namespace
