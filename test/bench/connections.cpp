// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Measures how fast endpoints connect, and what an idle connected one costs. Two processes, one
/// connection per endpoint, at most IN_FLIGHT of them started and not yet established, by default
/// all. Uses only the installed DAT headers, so that the same program runs on any stack that
/// DAT_OVERRIDE and the dynamic linker give it.
///
/// usage: connections NAME ADDRESS COUNT [IN_FLIGHT]   IA name, IPv4 address of the server's IA
/// With DAT_TEST_ADDRESS_FILE in the environment, the server leaves its IA address in that file,
/// and ADDRESS has no meaning (test/support/address_file.hpp). With CONNECTIONS_RECEIVES=N in the
/// environment each endpoint posts N receives, which are flushed when the connection ends; their
/// events are not consumed. With CONNECTIONS_OVER_SOCKETS the programs make TCP connections, which
/// become endpoints (dat2/dat_iw_extensions.h), all in flight; the time includes both. Prints one
/// `key value` per line.
#include <dat2/dat_iw_extensions.h>
#include <dat2/udat.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "test/bench/answers.hpp"
#include "test/bench/connection_sequence.hpp"
#include "test/bench/memory_in_use.hpp"
#include "test/support/address_file.hpp"

namespace {

constexpr DAT_TIMEOUT kPatience = 600'000'000;  // microseconds, under callgrind too
constexpr DAT_CONN_QUAL kQualifier = 45300;

void must(int result, const char* call) {
    if (result >= 0) return;
    std::perror(call);
    std::exit(1);
}

/// The TCP connections of one side, before they become endpoints and while they are.
class TcpConnections {
  public:
    explicit TcpConnections(sockaddr_in server) : server_(server) {
        server_.sin_port = htons(kQualifier);
    }
    ~TcpConnections() {
        for (const int socket : sockets_) ::close(socket);
        if (listening_ >= 0) ::close(listening_);
    }
    TcpConnections(const TcpConnections&) = delete;
    TcpConnections& operator=(const TcpConnections&) = delete;

    void listen() {
        const int on = 1;
        must(listening_ = socket(AF_INET, SOCK_STREAM, 0), "socket");
        setsockopt(listening_, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
        must(bind(listening_, reinterpret_cast<sockaddr*>(&server_), sizeof server_), "bind");
        must(::listen(listening_, SOMAXCONN), "listen");
    }
    int accept() {
        sockets_.push_back(::accept(listening_, nullptr, nullptr));
        must(sockets_.back(), "accept");
        return sockets_.back();
    }
    int connect() {
        sockets_.push_back(socket(AF_INET, SOCK_STREAM, 0));
        must(sockets_.back(), "socket");
        must(::connect(sockets_.back(), reinterpret_cast<sockaddr*>(&server_), sizeof server_),
             "connect");
        return sockets_.back();
    }

  private:
    sockaddr_in server_;
    int listening_ = -1;
    std::vector<int> sockets_;
};

class Side {
  public:
    Side(const char* name, int count, sockaddr_in server)
        : server_(server), tcp_(server), endpoints_(count) {
        DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
        succeed(dat_ia_open(const_cast<char*>(name), 8, &async, &ia_), "dat_ia_open");
        succeed(dat_pz_create(ia_, &pz_), "dat_pz_create");
        connections_ = evd(DAT_EVD_CONNECTION_FLAG, count);
        requests_ = evd(DAT_EVD_CR_FLAG, count);
        if (const char* receives = std::getenv("CONNECTIONS_RECEIVES"))
            receives_ = std::atoi(receives);
        transfers_ = evd(DAT_EVD_DTO_FLAG, std::max(64, count * receives_));
    }
    void create_endpoints() {
        for (DAT_EP_HANDLE& ep : endpoints_) {
            succeed(dat_ep_create(ia_, pz_, transfers_, transfers_, connections_, nullptr, &ep),
                    "dat_ep_create");
            for (int i = 0; i < receives_; ++i)
                succeed(dat_ep_post_recv(ep, 0, nullptr, {}, DAT_COMPLETION_DEFAULT_FLAG),
                        "dat_ep_post_recv");
        }
    }
    void listen() {
        if (over_sockets_) return tcp_.listen();
        DAT_PSP_HANDLE psp = DAT_HANDLE_NULL;
        succeed(dat_psp_create(ia_, kQualifier, requests_, DAT_PSP_CONSUMER_FLAG, &psp),
                "dat_psp_create");
        if (!test::leave_address(ia_)) std::exit(1);
    }
    void accept_all() {
        std::vector<DAT_IW_SSP_HANDLE> service_points;
        if (over_sockets_) service_points = take_sockets();
        for (DAT_EP_HANDLE ep : endpoints_) {
            const DAT_EVENT event =
                next(requests_, DAT_CONNECTION_REQUEST_EVENT, "a request", kPatience);
            succeed(dat_cr_accept(event.event_data.cr_arrival_event_data.cr_handle, ep, 0, nullptr),
                    "dat_cr_accept");
        }
        await_all(DAT_CONNECTION_EVENT_ESTABLISHED, "established at the server");
        for (DAT_IW_SSP_HANDLE ssp : service_points) succeed(dat_iw_ssp_free(ssp), "ssp_free");
    }
    void connect_all(int in_flight) {
        if (over_sockets_) return connect_sockets();
        sockaddr_storage server{};
        std::memcpy(&server, &server_, sizeof server_);
        if (test::address_file() && !test::find_address(test::address_file(), server)) std::exit(1);
        int unanswered = 0;
        for (DAT_EP_HANDLE ep : endpoints_) {
            if (unanswered++ == in_flight) {
                await(DAT_CONNECTION_EVENT_ESTABLISHED, 1, "established");
                --unanswered;
            }
            succeed(dat_ep_connect(ep, reinterpret_cast<DAT_IA_ADDRESS_PTR>(&server), kQualifier,
                                   kPatience, 0, nullptr, DAT_QOS_BEST_EFFORT,
                                   DAT_CONNECT_DEFAULT_FLAG),
                    "dat_ep_connect");
        }
        await(DAT_CONNECTION_EVENT_ESTABLISHED, unanswered, "established");
    }
    void disconnect_all() {
        for (DAT_EP_HANDLE ep : endpoints_)
            succeed(dat_ep_disconnect(ep, DAT_CLOSE_ABRUPT_FLAG), "dat_ep_disconnect");
    }
    void await_disconnections() const {
        await_all(DAT_CONNECTION_EVENT_DISCONNECTED, "disconnected");
    }
    void free_all() {
        for (DAT_EP_HANDLE ep : endpoints_) succeed(dat_ep_free(ep), "dat_ep_free");
    }
    void close() { succeed(dat_ia_close(ia_, DAT_CLOSE_ABRUPT_FLAG), "dat_ia_close"); }

  private:
    std::vector<DAT_IW_SSP_HANDLE> take_sockets() {
        std::vector<DAT_IW_SSP_HANDLE> service_points(endpoints_.size());
        for (DAT_IW_SSP_HANDLE& ssp : service_points)
            succeed(
                dat_iw_ssp_create(ia_, tcp_.accept(), DAT_HANDLE_NULL, requests_, nullptr, 0, &ssp),
                "dat_iw_ssp_create");
        return service_points;
    }
    void connect_sockets() {
        for (DAT_EP_HANDLE ep : endpoints_)
            succeed(dat_iw_socket_connect(ep, tcp_.connect(), kPatience, 0, nullptr),
                    "dat_iw_socket_connect");
        await_all(DAT_CONNECTION_EVENT_ESTABLISHED, "established");
    }
    void await(DAT_EVENT_NUMBER number, int count, const char* what) const {
        for (int i = 0; i < count; ++i) next(connections_, number, what, kPatience);
    }
    void await_all(DAT_EVENT_NUMBER number, const char* what) const {
        await(number, static_cast<int>(endpoints_.size()), what);
    }
    DAT_EVD_HANDLE evd(int flags, int length) const {
        DAT_EVD_HANDLE made = DAT_HANDLE_NULL;
        succeed(
            dat_evd_create(ia_, length, DAT_HANDLE_NULL, static_cast<DAT_EVD_FLAGS>(flags), &made),
            "dat_evd_create");
        return made;
    }

    const bool over_sockets_ = std::getenv("CONNECTIONS_OVER_SOCKETS") != nullptr;
    sockaddr_in server_;
    TcpConnections tcp_;
    int receives_ = 0;
    DAT_IA_HANDLE ia_ = DAT_HANDLE_NULL;
    DAT_PZ_HANDLE pz_ = DAT_HANDLE_NULL;
    DAT_EVD_HANDLE connections_ = DAT_HANDLE_NULL;
    DAT_EVD_HANDLE requests_ = DAT_HANDLE_NULL;
    DAT_EVD_HANDLE transfers_ = DAT_HANDLE_NULL;
    std::vector<DAT_EP_HANDLE> endpoints_;
};

}  // namespace

int main(int argc, char** argv) {
    const ConnectionOrder order =
        connection_order(argc, argv, 3, "connections NAME ADDRESS COUNT [IN_FLIGHT]");
    const auto measure = [&](int in, int out) {
        Side side(argv[1], order.count, order.server);
        const std::size_t before = memory_in_use();
        measure_connections(side, order, in, out, [&] {
            std::printf("bytes_per_endpoint %zu\n", (memory_in_use() - before) / order.count);
        });
    };
    const auto serve = [&](int in, int out) {
        Side side(argv[1], order.count, order.server);
        serve_connections(side, in, out);
    };
    return run_both(measure, serve);
}
