// SPDX-License-Identifier: BSD-2-Clause
// Each event of rdma_cm, and what the consumer gets for it: the connection manager and the core run
// over a fake rdma_cm whose events the test raises.
#include <gtest/gtest.h>
#include <netinet/in.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <string>

#include "dapl/cm/lock.hpp"
#include "dapl/provider/entry.hpp"
#include "providers/cma/datagram_message.hpp"
#include "test/dapl/fake_device.hpp"
#include "test/fuzz/fake_rdmacm.hpp"
#include "test/support/process.hpp"

namespace {

namespace entry = dapl::entry;

constexpr DAT_CONN_QUAL kQualifier = 4711;
constexpr int kConsumerReject = 28;  // of InfiniBand's CM
constexpr int kNobodyListens = 8;

class CmaEvents : public testing::Test {
  protected:
    /// @param number of the fake device: 0 InfiniBand, 1 iWARP.
    explicit CmaEvents(int number = 0) : bound_(number), open_(number, "lo 0", fake::kRdmaLibrary) {
        succeed(entry::pz_create(open_.ia, &pz_));
        transfers_ = evd(DAT_EVD_DTO_FLAG);
        connections_ = evd(DAT_EVD_CONNECTION_FLAG);
        requests_ = evd(DAT_EVD_CR_FLAG);
        succeed(
            entry::ep_create(open_.ia, pz_, transfers_, transfers_, connections_, nullptr, &ep_));
        before_ = fake::calls();
    }
    ~CmaEvents() override {
        fake::refuse_connects(0);
        fake::refuse_to_establish(0);
        fake::refuse_datagram_listeners(0);
        for (const char* name : {"DAPL_CM_ARP_RETRY_COUNT", "DAPL_CM_ROUTE_RETRY_COUNT",
                                 "DAPL_CM_ARP_TIMEOUT_MS", "DAPL_CM_ROUTE_TIMEOUT_MS"})
            unsetenv(name);
    }

    static void succeed(DAT_RETURN code) { ASSERT_EQ(code, DAT_SUCCESS); }
    DAT_EVD_HANDLE evd(DAT_EVD_FLAGS flags) const {
        DAT_EVD_HANDLE made = nullptr;
        EXPECT_EQ(entry::evd_create(open_.ia, 64, nullptr, flags, &made), DAT_SUCCESS);
        return made;
    }

    void connect() {
        sockaddr_in peer{};
        peer.sin_family = AF_INET;
        peer.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        succeed(entry::ep_connect(ep_, reinterpret_cast<sockaddr*>(&peer), kQualifier,
                                  DAT_TIMEOUT_INFINITE, 0, nullptr, DAT_QOS_BEST_EFFORT,
                                  DAT_CONNECT_DEFAULT_FLAG));
    }
    static rdma_cm_id& newest(rdma_port_space space) {
        const auto all = fake::identifiers();
        return **std::find_if(all.rbegin(), all.rend(),
                              [&](const rdma_cm_id* id) { return id->ps == space; });
    }
    /// Raises an event on the newest identifier for connections and returns when the manager has
    /// handled it.
    static void raise(rdma_cm_event_type type, int status = 0, const std::string& data = {}) {
        raise_on(newest(RDMA_PS_TCP), type, status, data);
    }
    static void raise_on(rdma_cm_id& id, rdma_cm_event_type type, int status,
                         const std::string& data) {
        fake::raise(id, type, status, std::as_bytes(std::span(data)), false);
        const support::MutexLock handled(dapl::connection_lock);
    }
    void resolve() {
        connect();
        raise(RDMA_CM_EVENT_ADDR_RESOLVED);
        raise(RDMA_CM_EVENT_ROUTE_RESOLVED);
    }
    void establish() {
        resolve();
        raise(RDMA_CM_EVENT_CONNECT_RESPONSE);
        expect(DAT_CONNECTION_EVENT_ESTABLISHED);
    }
    void take_request() {
        succeed(entry::psp_create(open_.ia, kQualifier, requests_, DAT_PSP_CONSUMER_FLAG, &psp_));
        raise(RDMA_CM_EVENT_CONNECT_REQUEST, 0, "hello");
        DAT_EVENT event{};
        succeed(entry::evd_dequeue(requests_, &event));
        EXPECT_EQ(event.event_number, DAT_CONNECTION_REQUEST_EVENT);
        EXPECT_EQ(event.event_data.cr_arrival_event_data.sp_handle.psp_handle, psp_);
        request_ = event.event_data.cr_arrival_event_data.cr_handle;
    }
    void accept() {
        take_request();
        succeed(entry::cr_accept(request_, ep_, 0, nullptr));
    }

    /// Consumes the only event in the EVD, which must be `number`.
    DAT_CONNECTION_EVENT_DATA expect(DAT_EVENT_NUMBER number) {
        DAT_EVENT event{};
        EXPECT_EQ(entry::evd_dequeue(connections_, &event), DAT_SUCCESS);
        EXPECT_EQ(event.event_number, number);
        expect_nothing();
        return event.event_data.connect_event_data;
    }
    void expect_nothing() {
        DAT_EVENT event{};
        EXPECT_EQ(DAT_GET_TYPE(entry::evd_dequeue(connections_, &event)), DAT_QUEUE_EMPTY)
            << std::hex << event.event_number;
    }
    DAT_EP_STATE state() {
        DAT_EP_STATE result{};
        EXPECT_EQ(entry::ep_get_status(ep_, &result, nullptr, nullptr), DAT_SUCCESS);
        return result;
    }
    /// @return what `body` reports to the user, at most two lines.
    static std::string told(const std::function<void()>& body) {
        const std::string text = test::captured_stderr(body);
        EXPECT_LE(std::count(text.begin(), text.end(), '\n'), 2) << text;
        return text;
    }
    /// Calls since the test began.
    int made(int fake::Calls::*which) const { return fake::calls().*which - before_.*which; }

    struct Bound {
        explicit Bound(int number) { fake::bind_to(fake::context(number)); }
    } bound_;
    fake::OpenIa open_;
    fake::Calls before_{};
    DAT_PZ_HANDLE pz_ = nullptr;
    DAT_EVD_HANDLE transfers_ = nullptr;
    DAT_EVD_HANDLE connections_ = nullptr;
    DAT_EVD_HANDLE requests_ = nullptr;
    DAT_EP_HANDLE ep_ = nullptr;
    DAT_PSP_HANDLE psp_ = nullptr;
    DAT_CR_HANDLE request_ = nullptr;
};

class CmaEventsOnIwarp : public CmaEvents {
  protected:
    CmaEventsOnIwarp() : CmaEvents(1) {}
};

// -- active side --------------------------------------------------------------------------------

TEST_F(CmaEvents, active_established_is_established) {
    resolve();
    EXPECT_EQ(made(&fake::Calls::connect), 1);
    raise(RDMA_CM_EVENT_CONNECT_RESPONSE, 0, "welcome");
    EXPECT_EQ(made(&fake::Calls::establish), 1);
    const auto data = expect(DAT_CONNECTION_EVENT_ESTABLISHED);
    EXPECT_EQ(data.private_data_size, 196);
    EXPECT_EQ(std::memcmp(data.private_data, "welcome", 8), 0);
    EXPECT_EQ(state(), DAT_EP_STATE_CONNECTED);
}

TEST_F(CmaEvents, a_queue_pair_is_moved_once_to_each_state_on_its_way_to_a_connection) {
    const auto moves = [] {
        return std::array{fake::moves_to(IBV_QPS_INIT), fake::moves_to(IBV_QPS_RTR),
                          fake::moves_to(IBV_QPS_RTS)};
    };
    const auto before = moves();
    establish();
    EXPECT_EQ(moves(), (std::array{before[0], before[1] + 1, before[2] + 1}));
}

TEST_F(CmaEvents, a_response_that_cannot_be_confirmed_is_unreachable_and_the_peer_is_told) {
    resolve();
    fake::refuse_to_establish(EINVAL);
    const std::string text = told([] { raise(RDMA_CM_EVENT_CONNECT_RESPONSE); });
    expect(DAT_CONNECTION_EVENT_UNREACHABLE);
    EXPECT_EQ(made(&fake::Calls::reject), 1);
    EXPECT_NE(text.find("the queue pair's path to the peer: Invalid argument"), text.npos) << text;
}

TEST_F(CmaEvents, the_peers_rejection_after_a_response_that_cannot_be_confirmed_is_not_told_again) {
    resolve();
    fake::refuse_to_establish(EINVAL);
    told([] { raise(RDMA_CM_EVENT_CONNECT_RESPONSE); });
    expect(DAT_CONNECTION_EVENT_UNREACHABLE);
    EXPECT_EQ(told([] { raise(RDMA_CM_EVENT_REJECTED, kConsumerReject); }), "");
    expect_nothing();
}

// The kernel rejects on behalf of a peer that ended after its answer, before the confirmation came.
TEST_F(CmaEvents, a_rejection_of_an_established_connection_is_its_end) {
    establish();
    EXPECT_EQ(told([] { raise(RDMA_CM_EVENT_REJECTED, kConsumerReject); }), "");
    expect(DAT_CONNECTION_EVENT_DISCONNECTED);
    EXPECT_EQ(state(), DAT_EP_STATE_DISCONNECTED);
}

TEST_F(CmaEventsOnIwarp, active_established_is_established) {
    resolve();
    raise(RDMA_CM_EVENT_ESTABLISHED, 0, "welcome");
    EXPECT_EQ(expect(DAT_CONNECTION_EVENT_ESTABLISHED).private_data_size, 7);
    EXPECT_EQ(made(&fake::Calls::establish), 0);
}

TEST_F(CmaEvents, active_unreachable_is_unreachable) {
    resolve();
    const std::string text = told([&] { raise(RDMA_CM_EVENT_UNREACHABLE, -ETIMEDOUT); });
    expect(DAT_CONNECTION_EVENT_UNREACHABLE);
    EXPECT_EQ(state(), DAT_EP_STATE_DISCONNECTED);
    EXPECT_NE(text.find("127.0.0.1:4711 cannot be reached from 127.0.0.1: waiting for the peer's "
                        "answer failed"),
              text.npos)
        << text;
    EXPECT_NE(text.find("Connection timed out; tries 1"), text.npos) << text;
}

TEST_F(CmaEvents, active_connect_error_is_unreachable) {
    resolve();
    told([] { raise(RDMA_CM_EVENT_CONNECT_ERROR, -EINVAL); });
    expect(DAT_CONNECTION_EVENT_UNREACHABLE);
}

TEST_F(CmaEvents, an_address_error_that_is_no_timeout_is_unreachable_at_once) {
    connect();
    told([] { raise(RDMA_CM_EVENT_ADDR_ERROR, -EHOSTUNREACH); });
    expect(DAT_CONNECTION_EVENT_UNREACHABLE);
    EXPECT_EQ(made(&fake::Calls::resolve_addr), 1);
}

TEST_F(CmaEvents, an_address_that_nobody_tells_is_asked_for_15_times_in_all) {
    connect();
    for (int i = 1; i < 15; ++i) raise(RDMA_CM_EVENT_ADDR_ERROR, -ETIMEDOUT);
    expect_nothing();
    EXPECT_EQ(made(&fake::Calls::resolve_addr), 15);
    EXPECT_EQ(fake::calls().address_timeout, 4000);
    const std::string text = told([] { raise(RDMA_CM_EVENT_ADDR_ERROR, -ETIMEDOUT); });
    expect(DAT_CONNECTION_EVENT_UNREACHABLE);
    EXPECT_EQ(made(&fake::Calls::resolve_addr), 15);
    EXPECT_EQ(made(&fake::Calls::resolve_route), 0);
}

TEST_F(CmaEvents, a_route_error_that_is_no_timeout_is_unreachable_at_once) {
    connect();
    raise(RDMA_CM_EVENT_ADDR_RESOLVED);
    told([] { raise(RDMA_CM_EVENT_ROUTE_ERROR, -EINVAL); });
    expect(DAT_CONNECTION_EVENT_UNREACHABLE);
    EXPECT_EQ(made(&fake::Calls::resolve_route), 1);
}

TEST_F(CmaEvents, a_route_that_nobody_tells_is_asked_for_15_times_in_all) {
    connect();
    raise(RDMA_CM_EVENT_ADDR_RESOLVED);
    for (int i = 1; i < 15; ++i) raise(RDMA_CM_EVENT_ROUTE_ERROR, -ETIMEDOUT);
    expect_nothing();
    EXPECT_EQ(made(&fake::Calls::resolve_route), 15);
    EXPECT_EQ(fake::calls().route_timeout, 4000);
    told([] { raise(RDMA_CM_EVENT_ROUTE_ERROR, -ETIMEDOUT); });
    expect(DAT_CONNECTION_EVENT_UNREACHABLE);
    EXPECT_EQ(made(&fake::Calls::connect), 0);
}

TEST_F(CmaEvents, tries_and_times_are_settings) {
    setenv("DAPL_CM_ARP_RETRY_COUNT", "2", 1);
    setenv("DAPL_CM_ARP_TIMEOUT_MS", "250", 1);
    setenv("DAPL_CM_ROUTE_RETRY_COUNT", "0", 1);
    setenv("DAPL_CM_ROUTE_TIMEOUT_MS", "350", 1);
    connect();
    EXPECT_EQ(fake::calls().address_timeout, 250);
    raise(RDMA_CM_EVENT_ADDR_ERROR, -ETIMEDOUT);
    raise(RDMA_CM_EVENT_ADDR_RESOLVED);
    EXPECT_EQ(made(&fake::Calls::resolve_addr), 2);
    EXPECT_EQ(fake::calls().route_timeout, 350);
    told([] { raise(RDMA_CM_EVENT_ROUTE_ERROR, -ETIMEDOUT); });
    expect(DAT_CONNECTION_EVENT_UNREACHABLE);
    EXPECT_EQ(made(&fake::Calls::resolve_route), 1);
}

TEST_F(CmaEvents, a_rejection_with_our_header_is_the_peers_with_the_data_behind_it) {
    resolve();
    raise(RDMA_CM_EVENT_REJECTED, kConsumerReject, std::string("\2\0\2\0no", 6));
    const auto data = expect(DAT_CONNECTION_EVENT_PEER_REJECTED);
    EXPECT_EQ(data.private_data_size, 148);
    EXPECT_EQ(std::memcmp(data.private_data, "no\0", 4), 0);
}

TEST_F(CmaEvents, a_rejection_without_our_header_is_not_the_peers) {
    resolve();
    told([] { raise(RDMA_CM_EVENT_REJECTED, kConsumerReject); });
    expect(DAT_CONNECTION_EVENT_NON_PEER_REJECTED);
}

TEST_F(CmaEvents, a_port_without_a_listener_is_a_rejection_that_is_not_the_peers) {
    resolve();
    told([] { raise(RDMA_CM_EVENT_REJECTED, kNobodyListens); });
    expect(DAT_CONNECTION_EVENT_NON_PEER_REJECTED);
}

TEST_F(CmaEventsOnIwarp, a_rejection_with_our_header_is_the_peers_with_exactly_its_data) {
    resolve();
    raise(RDMA_CM_EVENT_REJECTED, -ECONNREFUSED, std::string("\2\0\2\0no", 6));
    const auto data = expect(DAT_CONNECTION_EVENT_PEER_REJECTED);
    EXPECT_EQ(data.private_data_size, 2);
    EXPECT_EQ(std::memcmp(data.private_data, "no", 2), 0);
}

TEST_F(CmaEventsOnIwarp, a_reset_connection_is_a_rejection_that_is_not_the_peers) {
    resolve();
    told([] { raise(RDMA_CM_EVENT_REJECTED, -ECONNRESET); });
    expect(DAT_CONNECTION_EVENT_NON_PEER_REJECTED);
}

TEST_F(CmaEvents, a_connect_that_is_refused_at_once_is_a_rejection_that_is_not_the_peers) {
    fake::refuse_connects(ECONNREFUSED);
    told([&] { resolve(); });
    expect(DAT_CONNECTION_EVENT_NON_PEER_REJECTED);
}

TEST_F(CmaEvents, a_connect_that_the_device_refuses_is_broken) {
    fake::refuse_connects(EINVAL);
    resolve();
    expect(DAT_CONNECTION_EVENT_BROKEN);
}

TEST_F(CmaEvents, disconnected_is_disconnected_and_answered) {
    establish();
    raise(RDMA_CM_EVENT_DISCONNECTED);
    expect(DAT_CONNECTION_EVENT_DISCONNECTED);
    EXPECT_EQ(made(&fake::Calls::disconnect), 1);
    EXPECT_EQ(state(), DAT_EP_STATE_DISCONNECTED);
}

TEST_F(CmaEvents, timewait_exit_is_ignored) {
    establish();
    raise(RDMA_CM_EVENT_TIMEWAIT_EXIT);
    expect_nothing();
    EXPECT_EQ(state(), DAT_EP_STATE_CONNECTED);
    raise(RDMA_CM_EVENT_DISCONNECTED);
    expect(DAT_CONNECTION_EVENT_DISCONNECTED);
    raise(RDMA_CM_EVENT_TIMEWAIT_EXIT);
    expect_nothing();
}

TEST_F(CmaEvents, the_removal_of_the_device_breaks_a_connection) {
    establish();
    raise(RDMA_CM_EVENT_DEVICE_REMOVAL);
    expect(DAT_CONNECTION_EVENT_BROKEN);
    EXPECT_EQ(state(), DAT_EP_STATE_DISCONNECTED);
}

TEST_F(CmaEvents, the_removal_of_the_device_breaks_a_connection_that_is_being_made) {
    resolve();
    raise(RDMA_CM_EVENT_DEVICE_REMOVAL);
    expect(DAT_CONNECTION_EVENT_BROKEN);
}

TEST_F(CmaEvents, the_removal_of_the_device_is_told_once_for_the_adapter) {
    const std::string text = told([&] {
        fake::raise(*fake::identifiers().front(), RDMA_CM_EVENT_DEVICE_REMOVAL, 0, {}, false);
        const support::MutexLock handled(dapl::connection_lock);
    });
    EXPECT_NE(text.find("RDMA device fake0 at 127.0.0.1 has been removed"), text.npos) << text;
}

// -- passive side -------------------------------------------------------------------------------

TEST_F(CmaEvents, a_request_comes_to_its_service_point_with_its_data) {
    take_request();
    DAT_CR_PARAM shown{};
    succeed(entry::cr_query(request_, DAT_CR_FIELD_ALL, &shown));
    EXPECT_EQ(shown.private_data_size, 56);
    EXPECT_EQ(std::memcmp(shown.private_data, "hello", 6), 0);
    succeed(entry::cr_reject(request_, 0, nullptr));
    EXPECT_EQ(made(&fake::Calls::reject), 1);
}

TEST_F(CmaEvents, a_request_for_the_address_of_a_datagram_endpoint_is_told_apart) {
    succeed(entry::psp_create(open_.ia, kQualifier, requests_, DAT_PSP_CONSUMER_FLAG, &psp_));
    const auto request = dapl::cma::encode(
        {dapl::cma::DatagramMessage::Kind::kRequest, 0x123456, {}, {7, {0xfe, 0x80, 1}}});
    const std::string bytes(reinterpret_cast<const char*>(request.data()), request.size());
    rdma_cm_id& listener = newest(RDMA_PS_UDP);
    raise_on(listener, RDMA_CM_EVENT_CONNECT_REQUEST, 0, bytes);
    DAT_EVENT event{};
    succeed(entry::evd_dequeue(requests_, &event));
    EXPECT_EQ(event.event_number,
              static_cast<DAT_EVENT_NUMBER>(DAT_IB_UD_CONNECTION_REQUEST_EVENT));
    raise_on(listener, RDMA_CM_EVENT_CONNECT_REQUEST, 0, bytes.substr(1));
    EXPECT_EQ(DAT_GET_TYPE(entry::evd_dequeue(requests_, &event)), DAT_QUEUE_EMPTY)
        << "what is no such request is sent away";
    succeed(entry::cr_reject(event.event_data.cr_arrival_event_data.cr_handle, 0, nullptr));
}

TEST_F(CmaEvents, a_qualifier_taken_in_the_datagram_port_space_still_serves_connections) {
    fake::refuse_datagram_listeners(EADDRINUSE);
    EXPECT_NE(told([&] { accept(); }).find("4711"), std::string::npos);
    raise(RDMA_CM_EVENT_ESTABLISHED);
    expect(DAT_CONNECTION_EVENT_ESTABLISHED);
}

TEST_F(CmaEventsOnIwarp, a_service_point_listens_for_connections_alone) {
    fake::refuse_datagram_listeners(EADDRINUSE);
    EXPECT_EQ(told([&] { take_request(); }), "");
    succeed(entry::cr_reject(request_, 0, nullptr));
}

TEST_F(CmaEvents, passive_established_is_established_without_data) {
    accept();
    EXPECT_EQ(made(&fake::Calls::accept), 1);
    raise(RDMA_CM_EVENT_ESTABLISHED);
    EXPECT_EQ(expect(DAT_CONNECTION_EVENT_ESTABLISHED).private_data_size, 0);
}

TEST_F(CmaEvents, passive_disconnected_is_disconnected) {
    accept();
    raise(RDMA_CM_EVENT_ESTABLISHED);
    expect(DAT_CONNECTION_EVENT_ESTABLISHED);
    raise(RDMA_CM_EVENT_DISCONNECTED);
    expect(DAT_CONNECTION_EVENT_DISCONNECTED);
}

class FailedAccepts : public CmaEvents,
                      public testing::WithParamInterface<std::pair<rdma_cm_event_type, int>> {};

TEST_P(FailedAccepts, an_accept_that_fails_is_an_accept_completion_error) {
    accept();
    raise(GetParam().first, GetParam().second);
    expect(DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR);
    EXPECT_EQ(state(), DAT_EP_STATE_DISCONNECTED);
}

TEST_P(FailedAccepts, a_request_that_is_withdrawn_before_the_accept_is_an_accept_completion_error) {
    take_request();
    raise(GetParam().first, GetParam().second);
    succeed(entry::cr_accept(request_, ep_, 0, nullptr));
    expect(DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR);
    EXPECT_EQ(made(&fake::Calls::accept), 0);
}

std::string name_of(const testing::TestParamInfo<std::pair<rdma_cm_event_type, int>>& info) {
    switch (info.param.first) {
        case RDMA_CM_EVENT_UNREACHABLE:
            return "Unreachable";
        case RDMA_CM_EVENT_CONNECT_ERROR:
            return "ConnectError";
        case RDMA_CM_EVENT_REJECTED:
            return "Rejected";
        case RDMA_CM_EVENT_DEVICE_REMOVAL:
            return "DeviceRemoval";
        default:
            return "Disconnected";
    }
}
INSTANTIATE_TEST_SUITE_P(, FailedAccepts,
                         testing::Values(std::pair(RDMA_CM_EVENT_UNREACHABLE, -ETIMEDOUT),
                                         std::pair(RDMA_CM_EVENT_CONNECT_ERROR, -EINVAL),
                                         std::pair(RDMA_CM_EVENT_REJECTED, 4),
                                         std::pair(RDMA_CM_EVENT_DEVICE_REMOVAL, 0),
                                         std::pair(RDMA_CM_EVENT_DISCONNECTED, 0)),
                         name_of);

TEST_F(CmaEvents, a_request_on_another_device_than_the_endpoints_is_not_accepted) {
    fake::bind_to(fake::context(1));
    take_request();
    EXPECT_EQ(DAT_GET_TYPE(entry::cr_accept(request_, ep_, 0, nullptr)), DAT_INTERNAL_ERROR);
    EXPECT_EQ(made(&fake::Calls::accept), 0);
    EXPECT_EQ(state(), DAT_EP_STATE_UNCONNECTED);
    succeed(entry::cr_reject(request_, 0, nullptr));
}

TEST_F(CmaEvents, a_request_on_another_port_than_the_endpoints_is_not_accepted) {
    take_request();
    newest(RDMA_PS_TCP).port_num = 2;
    EXPECT_EQ(DAT_GET_TYPE(entry::cr_accept(request_, ep_, 0, nullptr)), DAT_INTERNAL_ERROR);
    EXPECT_EQ(made(&fake::Calls::accept), 0);
    succeed(entry::cr_reject(request_, 0, nullptr));
}

}  // namespace
