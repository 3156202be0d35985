// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Several devices with two ports each, in one process.
#include <endian.h>

#include <cstdlib>
#include <set>
#include <string>

#include "test/softverbs/datagram_pair.hpp"

namespace test {
namespace {

constexpr int kDevices = 3;

/// Set before anything asks how many there are.
const bool kAreSet = setenv("SOFTVERBS_DEVICES", std::to_string(kDevices).c_str(), 1) == 0 &&
                     setenv("SOFTVERBS_PORTS", "2", 1) == 0;

class Devices : public testing::Test {
  protected:
    Devices() { require(kAreSet, "the settings are set"); }
    TemporaryFabric fabric_;
};

TEST_F(Devices, EachHasItsOwnNamesGuidsLidsAndGids) {
    int count = 0;
    ibv_device** list = ibv_get_device_list(&count);
    ASSERT_EQ(count, kDevices);
    std::set<std::uint64_t> guids, gids;
    std::set<std::uint16_t> lids;
    for (int device = 0; device < count; ++device) {
        const std::string name = "soft" + std::to_string(device);
        EXPECT_EQ(ibv_get_device_name(list[device]), name);
        EXPECT_EQ(list[device]->dev_name, "softverbs" + std::to_string(device));
        ibv_context* context = ibv_open_device(list[device]);
        ASSERT_NE(context, nullptr);
        EXPECT_EQ(context->device, list[device]);
        ibv_device_attr attributes{};
        ASSERT_EQ(ibv_query_device(context, &attributes), 0);
        EXPECT_EQ(attributes.phys_port_cnt, 2);
        EXPECT_EQ(attributes.node_guid, ibv_get_device_guid(list[device]));
        guids.insert(attributes.node_guid);
        ibv_gid_entry entries[2];
        ASSERT_EQ(ibv_query_gid_table(context, entries, 2, 0), 2);
        for (std::uint8_t port = 1; port <= 2; ++port) {
            ibv_port_attr found{};
            ASSERT_EQ(ibv_query_port(context, port, &found), 0);
            lids.insert(found.lid);
            ibv_gid gid{};
            ASSERT_EQ(ibv_query_gid(context, port, 0, &gid), 0);
            gids.insert(gid.global.interface_id);
            EXPECT_EQ(entries[port - 1].port_num, port);
            EXPECT_EQ(std::memcmp(&entries[port - 1].gid, &gid, sizeof gid), 0);
        }
        ibv_port_attr none{};
        EXPECT_EQ(ibv_query_port(context, 3, &none), EINVAL);
        EXPECT_EQ(ibv_close_device(context), 0);
    }
    ibv_free_device_list(list);
    EXPECT_EQ(guids.size(), 3u);
    EXPECT_EQ(lids.size(), 6u);
    EXPECT_EQ(gids.size(), 6u);
}

void exchange(const Options& mine, const Options& theirs) {
    Host here(mine), there(theirs);
    Qp one(here), other(there);
    one.connect(other.address());
    other.connect(one.address());
    ASSERT_EQ(other.post_receive(1, {there.sge(0, 64)}), 0);
    here.buffer[0] = 42;
    ASSERT_EQ(one.send(2, {here.sge(0, 64)}), 0);
    EXPECT_EQ(here.wait().status, IBV_WC_SUCCESS);
    EXPECT_EQ(there.wait().status, IBV_WC_SUCCESS);
    EXPECT_EQ(there.buffer[0], 42);
}

TEST_F(Devices, ConnectWithinAndAcrossDevicesAndPorts) {
    exchange(at(1), at(1));
    exchange(at(1, 1), at(1, 2));
    exchange(at(0), at(2));
    exchange(at(2, 2), at(1, 1));
    exchange(at(0, 1, IBV_QPT_UC), at(2, 2, IBV_QPT_UC));
}

TEST_F(Devices, AQueuePairIsReachedAtItsOwnPortOnly) {
    Host here(at(0)), there(at(1)), elsewhere(at(1, 2));
    Qp one(here), other(there);
    Address wrong = other.address();
    for (const std::uint16_t lid : {here.port.lid, elsewhere.port.lid}) {
        wrong.lid = lid;
        EXPECT_EQ(one.ready_to_receive(wrong), EINVAL);
    }
    EXPECT_EQ(one.ready_to_receive(other.address()), 0);
}

TEST_F(Devices, ObjectsOfTwoDevicesDoNotGoTogether) {
    Host here(at(0)), there(at(1));
    ibv_qp_init_attr attributes{};
    attributes.send_cq = here.cq;
    attributes.recv_cq = there.cq;
    attributes.qp_type = IBV_QPT_RC;
    attributes.cap = {1, 1, 1, 1, 0};
    EXPECT_EQ(ibv_create_qp(here.pd, &attributes), nullptr);
    EXPECT_EQ(errno, EINVAL);
    Qp one(here), other(there);
    one.connect(other.address());
    other.connect(one.address());
    EXPECT_EQ(one.rdma(1, IBV_WR_RDMA_WRITE, {here.sge(0, 8)}, here.address(), here.mr->rkey), 0);
    EXPECT_EQ(here.wait().status, IBV_WC_REM_ACCESS_ERR) << "a region of another device";
}

TEST_F(Devices, ADatagramNamesThePortOfItsSender) {
    Host here(at(1, 2, IBV_QPT_UD)), there(at(2, 1, IBV_QPT_UD));
    Datagrams one(here), other(there);
    for (const bool global : {false, true}) {
        ASSERT_EQ(other.receive(1, {there.sge(0, kHeader + 64)}), 0);
        ASSERT_EQ(one.send(2, {here.sge(0, 64)},
                           {.to = other.number(), .by = one.handle_to(there, global)}),
                  0);
        EXPECT_EQ(here.wait().status, IBV_WC_SUCCESS);
        ibv_wc got = there.wait();
        ASSERT_EQ(got.status, IBV_WC_SUCCESS);
        EXPECT_EQ(got.slid, here.port.lid);
        auto* header = reinterpret_cast<ibv_grh*>(there.buffer.data());
        if (global) {
            EXPECT_EQ(std::memcmp(&header->sgid, &here.gid, sizeof here.gid), 0);
            EXPECT_EQ(std::memcmp(&header->dgid, &there.gid, sizeof there.gid), 0);
        }
        // The answer comes back by the handle that is made of the completion.
        ibv_ah* const back = other.keep(ibv_create_ah_from_wc(there.pd, &got, header, 1));
        ASSERT_EQ(one.receive(3, {here.sge(0, kHeader + 64)}), 0);
        ASSERT_EQ(other.send(4, {there.sge(0, 8)}, {.to = one.number(), .by = back}), 0);
        EXPECT_EQ(there.wait().status, IBV_WC_SUCCESS);
        EXPECT_EQ(here.wait().slid, there.port.lid);
    }
}

TEST_F(Devices, ADatagramToAnotherPortThanItsDestinationsIsLost) {
    Host here(at(0, 1, IBV_QPT_UD)), there(at(1, 1, IBV_QPT_UD)), elsewhere(at(1, 2, IBV_QPT_UD));
    Datagrams one(here), other(there);
    ASSERT_EQ(other.receive(1, {there.sge(0, kHeader + 64)}), 0);
    for (Host* wrong : {&here, &elsewhere}) {
        ASSERT_EQ(
            one.send(2, {here.sge(0, 64)}, {.to = other.number(), .by = one.handle_to(*wrong)}), 0);
        EXPECT_EQ(here.wait().status, IBV_WC_SUCCESS);
    }
    here.buffer[0] = 7;
    ASSERT_EQ(one.send(3, {here.sge(0, 64)}, {.to = other.number(), .by = one.handle_to(there)}),
              0);
    EXPECT_EQ(there.wait().status, IBV_WC_SUCCESS);
    EXPECT_EQ(there.buffer[kHeader], 7) << "the first one to arrive is the last one";
}

TEST_F(Devices, AnAddressHandleOfAnotherPortIsAnErrorOfTheQueuePairsOperation) {
    Host here(at(0, 1, IBV_QPT_UD));
    Datagrams one(here);
    ibv_ah_attr attributes{};
    attributes.dlid = here.port.lid;
    attributes.port_num = 2;
    ibv_ah* const other_port = one.keep(ibv_create_ah(here.pd, &attributes));
    ASSERT_EQ(one.send(1, {here.sge(0, 64)}, {.to = one.number(), .by = other_port}), 0);
    EXPECT_EQ(here.wait().status, IBV_WC_LOC_QP_OP_ERR);
    EXPECT_EQ(one.state(), IBV_QPS_SQE);
}

}  // namespace
}  // namespace test
