// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// What a scripted peer can do to a listener over sockets: send partial, wrong or old messages,
/// close and reset at every point, stay silent in large numbers. Other peers connect all the while,
/// nothing is leaked, and the report names the peer.
#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <infiniband/verbs.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <vector>

#include "dapl/base/pool.hpp"
#include "dapl/provider/entry.hpp"
#include "dapl/provider/provider.hpp"
#include "providers/scm/manager.hpp"
#include "providers/sockets/message.hpp"
#include "test/support/process.hpp"

namespace {

dapl::Provider provider = {};

}  // namespace

// Stand-ins for what libdat2 and the provider's entry point define in a loaded library.
namespace dapl {
const Provider* find_provider(const char*) {
    return &provider;
}
}  // namespace dapl
extern "C" DAT_RETURN dats_get_ia_handle(DAT_IA_HANDLE handle, DAT_IA_HANDLE* other) {
    *other = handle;
    return DAT_SUCCESS;
}

namespace {

namespace entry = dapl::entry;
namespace scm = dapl::scm;
namespace sockets = dapl::sockets;
using test::require;

constexpr DAT_CONN_QUAL kQualifier = 21900;
constexpr std::uint16_t kPort = kQualifier + 1000;
const DAT_TIMEOUT kMicroseconds = test::in_microseconds(test::kDeadline);

sockaddr_in server_address() {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(kPort);
    return address;
}

void succeed(DAT_RETURN code, const std::string& what) {
    require(code == DAT_SUCCESS, what + ": code " + std::to_string(code));
}

/// An adapter instance over sockets and softverbs.
class Side {
  public:
    Side() {
        provider.table = dapl::kProviderTable;
        std::strcpy(provider.info.ia_name, "sockets");
        std::strcpy(provider.parameters, "soft0 1");
        provider.info.dapl_version_major = 2;
        provider.library.open_manager = scm::open_manager;
        succeed(entry::ia_open(provider.info.ia_name, 8, &async_, &ia_), "ia_open");
        succeed(entry::pz_create(ia_, &pz_), "pz_create");
        requests_ = evd(DAT_EVD_CR_FLAG);
        connections_ = evd(DAT_EVD_CONNECTION_FLAG);
        transfers_ = evd(DAT_EVD_DTO_FLAG);
    }
    ~Side() { entry::ia_close(ia_, DAT_CLOSE_ABRUPT_FLAG); }
    Side(const Side&) = delete;
    Side& operator=(const Side&) = delete;

    void listen() {
        DAT_PSP_HANDLE psp;
        succeed(entry::psp_create(ia_, kQualifier, requests_, DAT_PSP_CONSUMER_FLAG, &psp),
                "psp_create");
    }
    DAT_EP_HANDLE endpoint() const {
        DAT_EP_HANDLE ep;
        succeed(entry::ep_create(ia_, pz_, transfers_, transfers_, connections_, nullptr, &ep),
                "ep_create");
        return ep;
    }
    DAT_CR_HANDLE request() const {
        return wait(requests_, DAT_CONNECTION_REQUEST_EVENT)
            .event_data.cr_arrival_event_data.cr_handle;
    }
    void expect_connection_event(DAT_EVENT_NUMBER number) const { wait(connections_, number); }
    bool has_request() const {
        DAT_EVENT event;
        return entry::evd_dequeue(requests_, &event) == DAT_SUCCESS;
    }

    /// Connects to the other side, which accepts, and disconnects again.
    void converse_actively() const {
        const DAT_EP_HANDLE ep = endpoint();
        sockaddr_in address = server_address();
        succeed(entry::ep_connect(ep, reinterpret_cast<DAT_IA_ADDRESS_PTR>(&address), kQualifier,
                                  kMicroseconds, 0, nullptr, DAT_QOS_BEST_EFFORT,
                                  DAT_CONNECT_DEFAULT_FLAG),
                "ep_connect");
        expect_connection_event(DAT_CONNECTION_EVENT_ESTABLISHED);
        succeed(entry::ep_disconnect(ep, DAT_CLOSE_ABRUPT_FLAG), "ep_disconnect");
        expect_connection_event(DAT_CONNECTION_EVENT_DISCONNECTED);
        succeed(entry::ep_free(ep), "ep_free");
    }
    void converse_passively() const {
        const DAT_EP_HANDLE ep = endpoint();
        succeed(entry::cr_accept(request(), ep, 0, nullptr), "cr_accept");
        expect_connection_event(DAT_CONNECTION_EVENT_ESTABLISHED);
        expect_connection_event(DAT_CONNECTION_EVENT_DISCONNECTED);
        succeed(entry::ep_free(ep), "ep_free");
    }

  private:
    DAT_EVD_HANDLE evd(DAT_EVD_FLAGS flags) const {
        DAT_EVD_HANDLE made;
        succeed(entry::evd_create(ia_, 64, nullptr, flags, &made), "evd_create");
        return made;
    }
    static DAT_EVENT wait(DAT_EVD_HANDLE from, DAT_EVENT_NUMBER number) {
        DAT_EVENT event{};
        DAT_COUNT more;
        succeed(entry::evd_wait(from, kMicroseconds, 1, &event, &more), "evd_wait");
        require(event.event_number == number, "event " + std::to_string(event.event_number) +
                                                  " is the one wanted, " + std::to_string(number));
        return event;
    }

    DAT_IA_HANDLE ia_ = nullptr;
    DAT_EVD_HANDLE async_ = nullptr;
    DAT_PZ_HANDLE pz_ = nullptr;
    DAT_EVD_HANDLE requests_ = nullptr;
    DAT_EVD_HANDLE connections_ = nullptr;
    DAT_EVD_HANDLE transfers_ = nullptr;
};

/// A socket connected to the listener, on which the test sends whatever it likes.
class BadPeer {
  public:
    BadPeer() : socket_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
        const sockaddr_in server = server_address();
        require(connect(socket_, reinterpret_cast<const sockaddr*>(&server), sizeof server) == 0,
                "the listener takes connections");
    }
    ~BadPeer() {
        if (socket_ >= 0) close(socket_);
    }
    BadPeer(BadPeer&& other) noexcept : socket_(std::exchange(other.socket_, -1)) {}

    void say(std::span<const std::byte> bytes) const {
        require(send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL) ==
                    static_cast<ssize_t>(bytes.size()),
                "the bytes are sent");
    }
    /// Makes the destructor end the connection with a reset.
    void reset() const {
        const linger at_once{1, 0};
        setsockopt(socket_, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
    }
    /// Waits until the listener ends the connection. @return the number of bytes it sent before
    /// that.
    std::size_t heard_until_the_end() const {
        std::size_t heard = 0;
        for (;;) {
            require(is_readable(test::kDeadline), "the listener ends the connection");
            char bytes[512];
            const ssize_t got = recv(socket_, bytes, sizeof bytes, 0);
            if (got <= 0) return heard;
            heard += static_cast<std::size_t>(got);
        }
    }
    bool is_readable(test::Clock::duration within = {}) const {
        return test::is_readable(socket_, within);
    }
    std::string address() const {
        sockaddr_in own{};
        socklen_t size = sizeof own;
        getsockname(socket_, reinterpret_cast<sockaddr*>(&own), &size);
        return "127.0.0.1:" + std::to_string(ntohs(own.sin_port));
    }

  private:
    int socket_;
};

using Words = std::vector<std::byte>;

/// Makes a queue pair for a bad peer to name; each process makes one and keeps it.
dapl::exchange::QpAddress make_queue_pair() {
    ibv_device** devices = ibv_get_device_list(nullptr);
    require(devices && devices[0], "there is a device");
    ibv_context* context = ibv_open_device(devices[0]);
    ibv_free_device_list(devices);
    ibv_gid gid{};
    ibv_port_attr port{};
    require(context && ibv_query_gid(context, 1, 0, &gid) == 0 &&
                ibv_query_port(context, 1, &port) == 0,
            "the device has an address");
    ibv_qp_init_attr wanted{};
    wanted.qp_type = IBV_QPT_RC;
    wanted.send_cq = wanted.recv_cq = ibv_create_cq(context, 1, nullptr, nullptr, 0);
    wanted.cap = {1, 1, 1, 1, 0};
    const ibv_qp* qp = ibv_create_qp(ibv_alloc_pd(context), &wanted);
    require(qp, "a queue pair is made");
    dapl::exchange::QpAddress address;
    address.qpn = qp->qp_num;
    address.qp_type = IBV_QPT_RC;
    std::memcpy(address.gid.data(), gid.raw, address.gid.size());
    address.lid = port.lid;
    return address;
}
const dapl::exchange::QpAddress& queue_pair() {
    static const dapl::exchange::QpAddress made = make_queue_pair();
    return made;
}

/// A request as a well-behaved peer sends it.
Words good_request(std::uint16_t version = dapl::exchange::kOwnVersion) {
    sockets::Message message;
    message.version = version;
    message.operation = sockets::Operation::kRequest;
    message.read_limit = 4;
    message.mtu = IBV_MTU_1024;
    message.sender = queue_pair();
    message.private_data_size = 8;
    std::memcpy(message.private_data.data(), "a peer's", 8);
    const sockets::Bytes bytes = sockets::encode(message, sockets::shape_of(version));
    return {bytes.all().begin(), bytes.all().end()};
}
Words changed(std::size_t at, std::initializer_list<int> bytes) {
    Words request = good_request();
    for (const int byte : bytes) request[at++] = static_cast<std::byte>(byte);
    return request;
}

/// Counts the sockets to peers and the listener's. Other descriptors are left out, since those of
/// the device come and go.
long open_sockets() {
    long found = 0;
    for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
        int domain = 0;
        socklen_t size = sizeof domain;
        const int descriptor = std::stoi(entry.path().filename());
        if (getsockopt(descriptor, SOL_SOCKET, SO_DOMAIN, &domain, &size) == 0)
            found += domain == AF_INET;
    }
    return found;
}
std::size_t count(const std::string& text, const std::string& part) {
    std::size_t found = 0;
    for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1))
        ++found;
    return found;
}

/// Runs `body` as a server with a listener, in a process of its own, because repeated
/// messages are counted per process. An honest peer is ready to connect.
class ScmHostile : public testing::Test {
  protected:
    ScmHostile() {
        setenv("DAPL_SCM_BIND_ADDRESS", "127.0.0.1", 1);
        unsetenv("DAPL_SCM_HALF_OPEN");
        unsetenv("DAPL_SCM_HANDSHAKE_MS");
    }
    void SetUp() override {
        if (test::kThreadSanitizer) GTEST_SKIP() << "it allows no threads after a fork";
    }

    struct Server {
        Side& side;
        test::Child& honest;
        /// Has the honest peer connect and disconnect. @return how long that took in milliseconds.
        double serve_honest_peer() const {
            const auto begin = test::Clock::now();
            honest.channel().send('c');
            side.converse_passively();
            honest.channel().receive<char>();
            return std::chrono::duration<double, std::milli>(test::Clock::now() - begin).count();
        }
    };

    static void serve(const std::function<void(Server&)>& body) {
        test::Child child([&](test::Channel&) {
            test::Child honest([](test::Channel& channel) {
                Side side;
                while (channel.receive_whenever<char>() == 'c') {
                    side.converse_actively();
                    channel.send('d');
                }
            });
            Side side;
            side.listen();
            queue_pair();
            Server server{side, honest};
            server.serve_honest_peer();
            body(server);
            server.serve_honest_peer();
            honest.channel().send('e');
            require(honest.wait() == 0, "the honest peer has seen nothing of it");
        });
        EXPECT_EQ(child.wait(2 * test::kDeadline), 0);
    }

    test::TemporaryFabric fabric_;
};

TEST_F(ScmHostile, half_a_message_byte_by_byte_holds_nobody_up_and_is_served_when_it_is_whole) {
    serve([](Server& server) {
        const BadPeer slow;
        const Words request = good_request();
        for (std::size_t i = 0; i < request.size(); ++i) {
            if (i % 50 == 0) server.serve_honest_peer();
            slow.say(std::span(request).subspan(i, 1));
        }
        succeed(entry::cr_reject(server.side.request(), 0, nullptr), "cr_reject");
        require(slow.heard_until_the_end() == sockets::kHeaderSize, "the slow peer is rejected");
    });
}

TEST_F(ScmHostile, peers_of_versions_6_and_7_are_served_in_their_own_shape) {
    serve([](Server& server) {
        for (const std::uint16_t version : {6, 7, 8, 9}) {
            const BadPeer old;
            const Words request = good_request(version);
            old.say(request);
            const DAT_CR_HANDLE cr = server.side.request();
            DAT_CR_PARAM shown;
            succeed(entry::cr_query(cr, DAT_CR_FIELD_ALL, &shown), "cr_query");
            require(std::memcmp(shown.private_data, "a peer's", 8) == 0, "the data is in place");
            succeed(entry::cr_reject(cr, 0, nullptr), "cr_reject");
            require(old.heard_until_the_end() == request.size() - 8, "the answer has its shape");
        }
    });
}

TEST_F(ScmHostile, wrong_messages_are_dropped_unanswered_and_told_once_each_with_the_address) {
    serve([](Server& server) {
        const std::vector<std::pair<Words, std::string>> wrong = {
            {changed(0, {0, 5}), "version 5"},          {changed(2, {0, 2}), "operation 2"},
            {changed(16, {0xFF, 0xFF}), "65535 bytes"}, {changed(16, {0, 69}), "69 bytes"},
            {changed(63, {7}), "queue pair type 7"},
        };
        std::string told = test::captured_stderr([&] {
            for (const auto& message : wrong) {
                const BadPeer peer;
                peer.say(message.first);
                require(peer.heard_until_the_end() == 0, "nothing is answered");
                // The listener reports the peer before it closes the connection.
                fprintf(stderr, "<%s>", peer.address().c_str());
            }
        });
        for (const auto& message : wrong)
            require(count(told, message.second) == 1, message.second + " is told in: " + told);
        for (std::size_t at = told.find('<'); at != std::string::npos;
             at = told.find('<', at + 1)) {
            const std::string address = told.substr(at + 1, told.find('>', at) - at - 1);
            require(count(told, address + " ") == 1, address + " is named once in: " + told);
        }
        require(count(told, "[DAT220]") == wrong.size(), "one message each");
        require(!server.side.has_request(), "the consumer sees nothing of it");
    });
}

TEST_F(ScmHostile, closing_and_resetting_at_every_point_leaves_nothing_behind_and_few_messages) {
    serve([](Server& server) {
        const long before = open_sockets();
        const Words request = good_request();
        std::string told = test::captured_stderr([&] {
            for (std::size_t said = 0; said < request.size(); said += 3) {
                for (const bool by_reset : {false, true}) {
                    const BadPeer peer;
                    if (by_reset) peer.reset();
                    peer.say(std::span(request).first(said));
                }
            }
            server.serve_honest_peer();
        });
        require(test::eventually([&] { return open_sockets() <= before; }),
                "all sockets are closed, " + std::to_string(before) + " before, now " +
                    std::to_string(open_sockets()));
        require(count(told, "[DAT220]") <= 5, "a few are told in: " + told);
        require(count(told, "[DAT221]") == 1, "then that no more are");
        require(!server.side.has_request(), "the consumer sees nothing of it");
    });
}

TEST_F(ScmHostile, a_peer_that_goes_on_talking_after_its_request_fails_the_accept_alone) {
    serve([](Server& server) {
        const BadPeer talker;
        Words words = good_request();
        words.resize(words.size() + 1000, std::byte{'x'});
        talker.say(words);
        const DAT_CR_HANDLE cr = server.side.request();
        server.honest.channel().send('c');
        server.side.converse_passively();
        server.honest.channel().receive<char>();
        const DAT_EP_HANDLE ep = server.side.endpoint();
        succeed(entry::cr_accept(cr, ep, 0, nullptr), "cr_accept");
        server.side.expect_connection_event(DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR);
        succeed(entry::ep_free(ep), "ep_free");
        talker.heard_until_the_end();
    });
}

TEST_F(ScmHostile, a_peer_that_never_confirms_has_its_time_and_then_fails_the_accept) {
    setenv("DAPL_SCM_HANDSHAKE_MS", "4000", 1);
    serve([](Server& server) {
        const BadPeer mute;
        mute.say(good_request());
        const DAT_EP_HANDLE ep = server.side.endpoint();
        const std::string told = test::captured_stderr([&] {
            succeed(entry::cr_accept(server.side.request(), ep, 0, nullptr), "cr_accept");
            server.side.expect_connection_event(DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR);
        });
        require(count(told, mute.address() + " ") == 1, "the peer is named in: " + told);
        succeed(entry::ep_free(ep), "ep_free");
    });
}

TEST_F(ScmHostile, peers_that_the_consumer_has_accepted_are_not_dropped_for_their_number) {
    setenv("DAPL_SCM_HALF_OPEN", "2", 1);
    serve([](Server& server) {
        constexpr int kMute = 6;
        std::vector<BadPeer> mute;
        for (int i = 0; i < kMute; ++i) {
            mute.emplace_back().say(good_request());
            succeed(entry::cr_accept(server.side.request(), server.side.endpoint(), 0, nullptr),
                    "cr_accept");
        }
        server.serve_honest_peer();  // its events are the only ones
        mute.clear();
        for (int i = 0; i < kMute; ++i)
            server.side.expect_connection_event(DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR);
    });
}

TEST_F(ScmHostile, a_silent_peer_is_dropped_when_its_time_is_up_and_not_before) {
    setenv("DAPL_SCM_HANDSHAKE_MS", "4000", 1);
    serve([](Server&) {
        const auto begin = test::Clock::now();
        const BadPeer silent;
        require(silent.heard_until_the_end() == 0, "nothing is said to it");
        require(test::Clock::now() - begin >= std::chrono::milliseconds(4000), "it had its time");
    });
}

TEST_F(ScmHostile, of_more_silent_peers_than_the_limit_the_oldest_go) {
    setenv("DAPL_SCM_HALF_OPEN", "8", 1);
    serve([](Server& server) {
        const long before = open_sockets();
        {
            std::vector<BadPeer> silent(20);
            for (int i = 0; i < 12; ++i)
                require(silent[static_cast<std::size_t>(i)].heard_until_the_end() == 0,
                        "the oldest are dropped");
            for (int i = 12; i < 20; ++i)
                require(!silent[static_cast<std::size_t>(i)].is_readable(), "the newest are not");
            server.serve_honest_peer();
        }
        require(test::eventually([&] { return open_sockets() <= before; }), "nothing is left");
    });
}

/// Sets the limit of file descriptors for its lifetime; processes forked in that time inherit it.
class DescriptorLimit {
  public:
    explicit DescriptorLimit(rlim_t wanted) {
        getrlimit(RLIMIT_NOFILE, &before_);
        const rlimit now{wanted, before_.rlim_max};
        is_set_ = setrlimit(RLIMIT_NOFILE, &now) == 0;
    }
    ~DescriptorLimit() { setrlimit(RLIMIT_NOFILE, &before_); }
    bool is_set() const { return is_set_; }

  private:
    rlimit before_{};
    bool is_set_ = false;
};

TEST_F(ScmHostile, an_honest_burst_of_a_process_with_many_descriptors_is_not_dropped) {
    const DescriptorLimit limit(4096);
    if (!limit.is_set()) GTEST_SKIP() << "this user may not have 4096 file descriptors";
    serve([](Server& server) {
        const std::string told = test::captured_stderr([&] {
            const std::vector<BadPeer> burst(600);
            for (const BadPeer& peer : burst) {
                peer.say(good_request());
                succeed(entry::cr_reject(server.side.request(), 0, nullptr), "cr_reject");
                require(peer.heard_until_the_end() == sockets::kHeaderSize, "each has its answer");
            }
        });
        require(told.empty(), "nothing is told: " + told);
    });
}

/// Raises the descriptor limit as far as this user may. @return how many descriptors a process may
/// have now, at most 1,000,000.
int raise_descriptor_limit() {
    rlimit limit{};
    getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
    return static_cast<int>(std::min<rlim_t>(limit.rlim_cur, 1'000'000));
}

/// Opens `wanted` connections, or as many as the limit allows, and keeps them until told to end.
void be_silent(test::Channel& channel, int wanted) {
    const int room = raise_descriptor_limit() - 100;
    std::vector<BadPeer> silent;
    while (static_cast<int>(silent.size()) < std::min(wanted, room)) {
        silent.emplace_back();
        if (silent.size() == 100) channel.send('s');
    }
    channel.send(static_cast<int>(silent.size()));
    channel.receive_whenever<char>();
}

TEST_F(ScmHostile, while_10000_silent_peers_come_and_stay_others_connect) {
    constexpr int kPeers = 10'000;
    constexpr int kProcesses = 4;
    // Forked before the server, which already has threads when it needs them.
    std::vector<std::unique_ptr<test::Child>> crowd;
    for (int i = 0; i < kProcesses; ++i)
        crowd.push_back(std::make_unique<test::Child>([](test::Channel& channel) {
            channel.receive_whenever<char>();
            be_silent(channel, kPeers / kProcesses);
        }));
    // More peers connect than may be half open, so the listener drops the ones that have waited
    // longest. An honest peer may have to wait for a processor, but never the longest among so
    // many.
    const int half_open = std::min(kPeers * 3 / 4, raise_descriptor_limit() / 2);
    const test::Setting limit("DAPL_SCM_HALF_OPEN", std::to_string(half_open));
    serve([&](Server& server) {
        const long before = open_sockets();
        int silent = 0;
        int served = 0;
        double slowest = 0;
        const std::string told = test::captured_stderr([&] {
            for (const auto& peers : crowd) peers->channel().send('g');
            for (const auto& peers : crowd) peers->channel().receive<char>();
            for (const auto& peers : crowd) {
                while (!test::is_readable(peers->channel().input(), {})) {
                    slowest = std::max(slowest, server.serve_honest_peer());
                    ++served;
                }
                silent += peers->channel().receive<int>();
            }
            for (int i = 0; i < 10; ++i) slowest = std::max(slowest, server.serve_honest_peer());
            for (const auto& peers : crowd) peers->channel().send('e');
        });
        std::printf(
            "# %d silent peers; %d honest ones served while they came and 10 after, the "
            "slowest in %.0f ms\n",
            silent, served, slowest);
        require(silent > 0, "the crowd was there");
        require(count(told, "[DAT220]") <= 5 && count(told, "[DAT221]") == 1,
                "a flood is told in few words: " + told);
        require(test::eventually([&] { return open_sockets() <= before; }), "nothing is left");
    });
    for (const auto& peers : crowd) EXPECT_EQ(peers->wait(), 0);
}

}  // namespace
