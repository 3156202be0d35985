// SPDX-License-Identifier: BSD-2-Clause
// On iWARP an RDMA connection begins with a TCP connection. A peer's machine that drops its packets
// must not hold up the caller, other connections or the end of this connection.
#include <gtest/gtest.h>

#include <algorithm>
#include <thread>
#include <vector>

#include "test/api/side.hpp"

namespace {

using namespace test;

constexpr DAT_CONN_QUAL kQualifier = 4761;
constexpr std::uint16_t kFullPort = 4762;

/// Listens and accepts nothing; when its backlog is full, the kernel drops further connections.
class FullListener {
  public:
    FullListener() {
        sockaddr_in address = ia_address();
        address.sin_port = htons(kFullPort);
        const auto* where = reinterpret_cast<const sockaddr*>(&address);
        descriptors_.push_back(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
        require(bind(descriptors_[0], where, sizeof address) == 0, "bind");
        require(listen(descriptors_[0], 0) == 0, "listen");
        for (int i = 0; i < 4; ++i) {
            descriptors_.push_back(socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
            ::connect(descriptors_.back(), where, sizeof address);
        }
    }
    ~FullListener() {
        for (const int descriptor : descriptors_) ::close(descriptor);
    }

  private:
    std::vector<int> descriptors_;
};

Clock::duration time_of(const std::function<void()>& body) {
    const auto before = Clock::now();
    body();
    return Clock::now() - before;
}

/// Limit for what must not wait for TCP, which tries to connect for two minutes.
constexpr auto kAtOnce = std::chrono::seconds(30);

TEST(HangingConnect, holds_up_neither_its_caller_nor_other_connections_nor_its_own_end) {
    Child server([](Channel& channel) {
        Side side;
        side.listen(kQualifier);
        channel.send('l');
        side.accept_next();
        channel.meet();
    });
    server.channel().receive<char>();
    const FullListener full;
    Side side;
    DAT_EP_HANDLE hanging = side.endpoint();
    EXPECT_LT(time_of([&] { succeed(Side::connect(hanging, kFullPort), "dat_ep_connect"); }),
              kAtOnce);
    // Gives the thread that makes connections the time to get to this one.
    std::this_thread::sleep_for(std::chrono::seconds(2));
    EXPECT_EQ(Side::state(hanging), DAT_EP_STATE_ACTIVE_CONNECTION_PENDING);
    EXPECT_LT(time_of([&] { side.connect_to(kQualifier); }), kAtOnce);
    EXPECT_EQ(Side::state(hanging), DAT_EP_STATE_ACTIVE_CONNECTION_PENDING);
    EXPECT_LT(time_of([&] {
                  succeed(dat_ep_disconnect(hanging, DAT_CLOSE_ABRUPT_FLAG), "dat_ep_disconnect");
                  side.connection_event(DAT_CONNECTION_EVENT_DISCONNECTED, hanging);
                  succeed(dat_ep_free(hanging), "dat_ep_free");
              }),
              kAtOnce);
    server.channel().meet();
    EXPECT_EQ(server.wait(), 0);
}

TEST(HangingConnect, times_out_when_the_consumer_says_and_the_adapter_closes_at_once) {
    const FullListener full;
    const std::string told = captured_stderr([] {
        Side side;
        DAT_EP_HANDLE ep = side.endpoint();
        succeed(Side::connect(ep, kFullPort, {}, 1000000), "dat_ep_connect");
        EXPECT_LT(time_of([&] { side.connection_event(DAT_CONNECTION_EVENT_TIMED_OUT, ep); }),
                  kAtOnce);
        DAT_EP_HANDLE other = side.endpoint();
        succeed(Side::connect(other, kFullPort), "dat_ep_connect");
        EXPECT_LT(time_of([&] { side.close(); }), kAtOnce);
    });
    EXPECT_NE(told.find("[DAT205]"), std::string::npos) << told;
    EXPECT_EQ(std::count(told.begin(), told.end(), '\n'), 1) << told;
}

}  // namespace
