// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Ports that lose their link, and devices that are removed, while a program uses them.
#include "test/api/failing_calls.hpp"
#include "test/softverbs/cm_fixture.hpp"
#include "test/softverbs/connection.hpp"
#include "test/softverbs/datagram_pair.hpp"

namespace test {
namespace {

using softverbs::DeviceStates;

/// Set before anything asks how many there are.
const bool kAreSet =
    setenv("SOFTVERBS_DEVICES", "2", 1) == 0 && setenv("SOFTVERBS_PORTS", "2", 1) == 0;

class Links : public testing::Test {
  protected:
    Links() { require(kAreSet, "the settings are set"); }

    void change(const std::function<void(DeviceStates&)>& change) {
        const auto directory = softverbs::Directory::open();
        require(directory && softverbs::Index::change(**directory, change), "changed");
        tell_members(fabric_.path());
    }
    void set_link(int device, std::uint8_t port, bool is_up) {
        change([=](DeviceStates& states) {
            states.set_link({static_cast<unsigned>(device), port}, is_up);
        });
    }
    void set_removed(int device, bool is_removed) {
        change([=](DeviceStates& states) {
            states.set_removed(static_cast<unsigned>(device), is_removed);
        });
    }
    TemporaryFabric fabric_;
};

ibv_port_state state_of(const Host& host, std::uint8_t port) {
    ibv_port_attr attributes{};
    require(ibv_query_port(host.context, port, &attributes) == 0, "query");
    return attributes.state;
}

TEST_F(Links, EveryOpenDeviceHearsOfItsOwnPorts) {
    Host first(at(0)), second(at(0)), other(at(1));
    set_link(0, 2, false);
    for (const Host* host : {&first, &second}) {
        EXPECT_EQ(next_event(*host), std::pair(IBV_EVENT_PORT_ERR, 2));
        EXPECT_EQ(state_of(*host, 2), IBV_PORT_DOWN);
        EXPECT_EQ(state_of(*host, 1), IBV_PORT_ACTIVE);
    }
    set_link(0, 2, false);
    set_link(0, 2, true);
    for (const Host* host : {&first, &second}) {
        EXPECT_EQ(next_event(*host), std::pair(IBV_EVENT_PORT_ACTIVE, 2));
        EXPECT_EQ(next_event(*host), std::pair(IBV_EVENT_CLIENT_REREGISTER, 2));
        EXPECT_EQ(state_of(*host, 2), IBV_PORT_ACTIVE);
        EXPECT_FALSE(has_event(*host));
    }
    EXPECT_FALSE(has_event(other));
}

TEST_F(Links, WhoOpensTheDeviceLaterFindsThePortAsItIs) {
    {
        Host first(at(0));
        set_link(0, 1, false);
    }
    Host host(at(0));
    EXPECT_EQ(state_of(host, 1), IBV_PORT_DOWN);
    EXPECT_FALSE(has_event(host));
}

/// Whichever end has no link, requests wait, and go on when it is back.
TEST_F(Links, RequestsWaitForALinkThatComesBackInTime) {
    for (const int cut : {0, 1}) {
        Connection connection(at(0), at(1));
        EXPECT_TRUE(connection.delivers());
        set_link(cut, 1, false);
        ASSERT_EQ(connection.send(), 0);
        ASSERT_EQ(connection.one.rdma(3, IBV_WR_RDMA_WRITE, {connection.here.sge(0, 8)},
                                      connection.there.address(64), connection.there.mr->rkey),
                  0);
        usleep(2000);
        EXPECT_TRUE(connection.here.is_empty() && connection.there.is_empty());
        set_link(cut, 1, true);
        EXPECT_EQ(connection.here.wait().wr_id, 2u);
        EXPECT_EQ(connection.here.wait().wr_id, 3u);
        EXPECT_EQ(connection.there.wait().status, IBV_WC_SUCCESS);
        EXPECT_TRUE(connection.delivers());
    }
}

TEST_F(Links, RequestsFailWhenTheTimersHaveRunOut) {
    for (const int cut : {0, 1}) {
        Connection connection(at(0), at(1), kShort);
        Connection elsewhere(at(0, 2), at(1, 2), kShort);
        set_link(cut, 1, false);
        ASSERT_EQ(connection.send(), 0);
        ASSERT_EQ(connection.send(), 0);
        EXPECT_EQ(connection.here.wait().status, IBV_WC_RETRY_EXC_ERR);
        EXPECT_EQ(connection.here.wait().status, IBV_WC_WR_FLUSH_ERR);
        EXPECT_EQ(connection.one.state(), IBV_QPS_ERR);
        EXPECT_EQ(connection.other.state(), IBV_QPS_RTS) << "it has heard nothing";
        EXPECT_TRUE(elsewhere.delivers()) << "other ports have their links";
        set_link(cut, 1, true);
    }
}

TEST_F(Links, AQueuePairThatConnectsWithoutALinkIsReadyWhenItComes) {
    Host here(at(0)), there(at(1));
    set_link(1, 1, false);
    Qp one(here), other(there);
    ASSERT_EQ(other.post_receive(1, {there.sge(0, 64)}), 0);
    one.connect(other.address());
    other.connect(one.address());
    ASSERT_EQ(one.send(2, {here.sge(0, 8)}), 0);
    usleep(2000);
    EXPECT_TRUE(here.is_empty());
    set_link(1, 1, true);
    EXPECT_EQ(here.wait().status, IBV_WC_SUCCESS);
    EXPECT_EQ(there.wait().status, IBV_WC_SUCCESS);
}

TEST_F(Links, UnreliableMessagesAreLost) {
    for (const int cut : {0, 1}) {
        Connection connection(at(0, 1, IBV_QPT_UC), at(1, 1, IBV_QPT_UC));
        Host here(at(0, 1, IBV_QPT_UD)), there(at(1, 1, IBV_QPT_UD));
        Datagrams one(here), other(there);
        ASSERT_EQ(other.receive(1, {there.sge(0, kHeader + 64)}), 0);
        const auto send = [&] {
            return one.send(2, {here.sge(0, 8)},
                            {.to = other.number(), .by = one.handle_to(there)});
        };
        set_link(cut, 1, false);
        ASSERT_EQ(connection.send(), 0);
        EXPECT_EQ(connection.here.wait().status, IBV_WC_SUCCESS);
        ASSERT_EQ(send(), 0);
        EXPECT_EQ(here.wait().status, IBV_WC_SUCCESS);
        set_link(cut, 1, true);
        EXPECT_TRUE(connection.there.is_empty() && there.is_empty());
        EXPECT_TRUE(connection.delivers());
        ASSERT_EQ(send(), 0);
        EXPECT_EQ(there.wait().status, IBV_WC_SUCCESS);
    }
}

TEST_F(Links, ARemovedDeviceFailsAllThatIsPostedAndTheOtherOneGoesOn) {
    Connection connection(at(0), at(0), kShort);
    Connection other(at(1), at(1));
    set_removed(0, true);
    EXPECT_EQ(next_event(connection.here).first, IBV_EVENT_DEVICE_FATAL);
    EXPECT_EQ(next_event(connection.there).first, IBV_EVENT_DEVICE_FATAL);
    for (int i = 0; i < Connection::kReceives; ++i)
        EXPECT_EQ(connection.there.wait().status, IBV_WC_WR_FLUSH_ERR);
    EXPECT_EQ(connection.one.state(), IBV_QPS_ERR);
    ASSERT_EQ(connection.send(), 0);
    EXPECT_EQ(connection.here.wait().status, IBV_WC_WR_FLUSH_ERR);
    EXPECT_FALSE(has_event(other.here));
    EXPECT_TRUE(other.delivers());

    ibv_device** list = ibv_get_device_list(nullptr);
    EXPECT_EQ(ibv_open_device(list[0]), nullptr);
    EXPECT_EQ(errno, ENODEV);
    ibv_free_device_list(list);
    set_removed(0, false);
    Connection again(at(0), at(0));
    EXPECT_TRUE(again.delivers());
}

/// Makes each allocation of the service thread fail once, one at a time, while it learns of a
/// change.
template <class Change, class Check>
void run_out_of_memory_in(const Change& change, const Check& check) {
    g_is_spared = true;
    bool has_failed = true;
    for (int index = 0; has_failed; ++index) {
        SCOPED_TRACE(index);
        let_fail(Failing::kMalloc, index);
        change();
        has_failed = end_failing();
        check();
    }
    g_is_spared = false;
}

TEST_F(Links, NobodyHearsOfALinkTwiceWhenMemoryRunsOut) {
    Host first(at(0)), second(at(0));
    run_out_of_memory_in([&] { set_link(0, 2, false); },
                         [&] {
                             set_link(0, 2, true);
                             for (const Host* host : {&first, &second}) {
                                 EXPECT_EQ(next_event(*host), std::pair(IBV_EVENT_PORT_ERR, 2));
                                 EXPECT_EQ(next_event(*host), std::pair(IBV_EVENT_PORT_ACTIVE, 2));
                                 EXPECT_EQ(next_event(*host),
                                           std::pair(IBV_EVENT_CLIENT_REREGISTER, 2));
                                 EXPECT_FALSE(has_event(*host));
                             }
                         });
}

TEST_F(Links, NobodyHearsOfARemovedDeviceTwiceWhenMemoryRunsOut) {
    Host first(at(0)), second(at(0));
    EventQueue channel;
    std::vector<Id> ids;
    for (int i = 0; i < 3; ++i) {
        ids.emplace_back(channel);
        ASSERT_EQ(ids.back().bind(address("127.0.0.1", 0)), 0);
    }
    run_out_of_memory_in([&] { set_removed(0, true); },
                         [&] {
                             for (const Host* host : {&first, &second})
                                 EXPECT_EQ(next_event(*host).first, IBV_EVENT_DEVICE_FATAL);
                             for (std::size_t i = 0; i < ids.size(); ++i)
                                 channel.next(RDMA_CM_EVENT_DEVICE_REMOVAL);
                             set_removed(0, false);
                             for (const Host* host : {&first, &second})
                                 for (int port = 1; port <= 2; ++port)
                                     for (int i = 0; i < 2; ++i) next_event(*host);
                             EXPECT_FALSE(has_event(first) || has_event(second));
                             EXPECT_FALSE(channel.readable());
                         });
}

}  // namespace
}  // namespace test
