// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Devices with the link layer of RoCE: GID tables, paths, headers of datagrams, connections by
/// address, and the agreement of all processes in a fabric.
#include <endian.h>
#include <infiniband/sa.h>
#include <netinet/ip.h>

#include <cstdlib>
#include <set>
#include <string>

#include "test/softverbs/cm_fixture.hpp"
#include "test/softverbs/datagram_pair.hpp"

namespace test {
namespace {

constexpr unsigned kGids = 4, kPorts = 2, kDevices = 2;

/// Set before anything asks for the link layer.
const bool kAreSet = setenv("SOFTVERBS_LINK", "roce", 1) == 0 &&
                     setenv("SOFTVERBS_DEVICES", "2", 1) == 0 &&
                     setenv("SOFTVERBS_PORTS", "2", 1) == 0;

class Roce : public testing::Test {
  protected:
    Roce() { require(kAreSet, "the settings are set"); }
    TemporaryFabric fabric_;
};

ibv_gid_entry entry_of(Host& host, unsigned index) {
    ibv_gid_entry entry{};
    require(ibv_query_gid_ex(host.context, host.options.port, index, &entry, 0) == 0, "a GID");
    return entry;
}

bool is_equal(const union ibv_gid& a, const union ibv_gid& b) {
    return std::memcmp(&a, &b, sizeof a) == 0;
}

/// A path from a host by one of its GIDs to a GID of another one.
ibv_ah_attr path(Host& from, unsigned by, const union ibv_gid& to) {
    ibv_ah_attr attributes{};
    attributes.port_num = from.options.port;
    attributes.is_global = 1;
    attributes.grh.sgid_index = static_cast<std::uint8_t>(by);
    attributes.grh.dgid = to;
    attributes.grh.hop_limit = 64;
    attributes.grh.traffic_class = 0xa5;
    return attributes;
}

int ready_to_receive(Qp& qp, std::uint32_t peer, const ibv_ah_attr& path) {
    ibv_qp_attr a{};
    a.qp_state = IBV_QPS_RTR;
    a.path_mtu = IBV_MTU_1024;
    a.dest_qp_num = peer;
    a.max_dest_rd_atomic = 16;
    a.min_rnr_timer = 12;
    a.ah_attr = path;
    return ibv_modify_qp(qp.get(), &a,
                         IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
                             IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER);
}

TEST_F(Roce, PortsAreEthernetAndHaveNoLid) {
    Host host(at(0));
    EXPECT_EQ(host.port.link_layer, IBV_LINK_LAYER_ETHERNET);
    EXPECT_EQ(host.port.lid, 0);
    EXPECT_EQ(host.port.sm_lid, 0);
    EXPECT_EQ(host.port.flags & IBV_QPF_GRH_REQUIRED, IBV_QPF_GRH_REQUIRED);
    EXPECT_EQ(host.port.gid_tbl_len, static_cast<int>(kGids));
}

TEST_F(Roce, AllQueriesOfTheGidTableAgree) {
    std::set<std::string> addresses;
    for (unsigned device = 0; device < kDevices; ++device) {
        Host host(at(static_cast<int>(device)));
        ibv_gid_entry table[kGids * kPorts];
        ASSERT_EQ(ibv_query_gid_table(host.context, table, kGids * kPorts, 0), kGids * kPorts);
        EXPECT_EQ(ibv_query_gid_table(host.context, table, kGids, 0), -EINVAL);
        for (unsigned at = 0; at < kGids * kPorts; ++at) {
            const auto port = static_cast<std::uint8_t>(at / kGids + 1);
            const unsigned index = at % kGids;
            ibv_gid_entry entry{};
            ASSERT_EQ(ibv_query_gid_ex(host.context, port, index, &entry, 0), 0);
            EXPECT_EQ(std::memcmp(&entry, &table[at], sizeof entry), 0);
            EXPECT_EQ(entry.port_num, port);
            EXPECT_EQ(entry.gid_index, index);
            EXPECT_NE(entry.ndev_ifindex, 0u);
            EXPECT_EQ(entry.gid_type, index % 2 ? IBV_GID_TYPE_ROCE_V2 : IBV_GID_TYPE_ROCE_V1);
            ibv_gid gid{};
            ASSERT_EQ(ibv_query_gid(host.context, port, static_cast<int>(index), &gid), 0);
            EXPECT_TRUE(is_equal(gid, entry.gid));
            char text[INET6_ADDRSTRLEN];
            inet_ntop(AF_INET6, gid.raw, text, sizeof text);
            EXPECT_TRUE(std::string(text).starts_with(index < 2 ? "fe80::" : "::ffff:127."))
                << text;
            addresses.insert(text);
        }
        ibv_gid_entry none{};
        EXPECT_EQ(ibv_query_gid_ex(host.context, 1, kGids, &none, 0), ENODATA);
        EXPECT_EQ(ibv_query_gid(host.context, 1, kGids, &none.gid), -1);
    }
    EXPECT_EQ(addresses.size(), 2 * kPorts * kDevices) << "two addresses for each port";
}

TEST_F(Roce, QueuePairsConnectByEachGid) {
    for (unsigned index = 0; index < kGids; ++index) {
        Host here(at(0)), there(at(1, 2));
        Qp one(here), other(there);
        ASSERT_EQ(ready_to_receive(one, other.get()->qp_num,
                                   path(here, index, entry_of(there, index).gid)),
                  0);
        ASSERT_EQ(ready_to_receive(other, one.get()->qp_num,
                                   path(there, index, entry_of(here, index).gid)),
                  0);
        ASSERT_EQ(one.ready_to_send(), 0);
        ASSERT_EQ(other.ready_to_send(), 0);
        ASSERT_EQ(other.post_receive(1, {there.sge(0, 64)}), 0);
        here.buffer[0] = 42;
        ASSERT_EQ(one.send(2, {here.sge(0, 64)}), 0);
        EXPECT_EQ(here.wait().status, IBV_WC_SUCCESS);
        EXPECT_EQ(there.wait().status, IBV_WC_SUCCESS);
        EXPECT_EQ(there.buffer[0], 42);
    }
}

TEST_F(Roce, PathsWithoutARouteAreRefused) {
    Host here(at(0)), there(at(1));
    Qp one(here), other(there);
    const std::uint32_t peer = other.get()->qp_num;
    const union ibv_gid local = entry_of(there, 1).gid, mapped = entry_of(there, 3).gid;
    ibv_ah_attr by_lid{};
    by_lid.port_num = 1;
    union ibv_gid foreign = mapped;
    foreign.raw[14] = static_cast<std::uint8_t>(~foreign.raw[14]);
    const ibv_ah_attr refused[] = {by_lid, path(here, kGids, mapped), path(here, 3, local),
                                   path(here, 1, mapped), path(here, 3, foreign)};
    for (const ibv_ah_attr& wrong : refused) EXPECT_EQ(ready_to_receive(one, peer, wrong), EINVAL);
    // The port that the queue pair is not at:
    Host elsewhere(at(1, 2));
    EXPECT_EQ(ready_to_receive(one, peer, path(here, 3, entry_of(elsewhere, 3).gid)), EINVAL);
    EXPECT_EQ(ready_to_receive(one, peer, path(here, 3, mapped)), 0);
}

TEST_F(Roce, AddressHandlesWithoutARouteAreRefused) {
    Host here(at(0, 1, IBV_QPT_UD));
    const union ibv_gid local = entry_of(here, 1).gid, mapped = entry_of(here, 3).gid;
    ibv_ah_attr by_lid{};
    by_lid.port_num = 1;
    ibv_ah_attr refused[] = {by_lid, path(here, kGids, mapped), path(here, 3, local),
                             path(here, 1, mapped)};
    for (ibv_ah_attr& wrong : refused) {
        EXPECT_EQ(ibv_create_ah(here.pd, &wrong), nullptr);
        EXPECT_EQ(errno, EINVAL);
    }
}

/// Checks the 40 bytes in front of a datagram from one GID to another.
void check_header(const std::uint8_t* bytes, const ibv_gid_entry& from, const ibv_gid_entry& to) {
    const auto* header = reinterpret_cast<const ibv_grh*>(bytes);
    iphdr ip;
    std::memcpy(&ip, bytes + sizeof *header - sizeof ip, sizeof ip);
    if (from.gid_index == 3) {
        EXPECT_EQ(ip.version, 4);
        EXPECT_EQ(ip.ihl, 5);
        EXPECT_EQ(ip.protocol, IPPROTO_UDP);
        EXPECT_EQ(ip.tos, 0xa5);
        EXPECT_EQ(ip.ttl, 64);
        EXPECT_EQ(std::memcmp(&ip.saddr, from.gid.raw + 12, 4), 0);
        EXPECT_EQ(std::memcmp(&ip.daddr, to.gid.raw + 12, 4), 0);
        return;
    }
    EXPECT_EQ(be32toh(header->version_tclass_flow) >> 20, 0x6a5u);
    EXPECT_EQ(header->next_hdr, from.gid_type == IBV_GID_TYPE_ROCE_V2 ? IPPROTO_UDP : 0x1b);
    EXPECT_TRUE(is_equal(header->sgid, from.gid));
    EXPECT_TRUE(is_equal(header->dgid, to.gid));
}

TEST_F(Roce, DatagramsCarryAHeaderThatLeadsBack) {
    for (unsigned index = 0; index < kGids; ++index) {
        Host here(at(0, 2, IBV_QPT_UD)), there(at(1, 1, IBV_QPT_UD));
        Datagrams one(here), other(there);
        ibv_ah_attr way = path(here, index, entry_of(there, index).gid);
        ibv_ah* const forth = one.keep(ibv_create_ah(here.pd, &way));
        ASSERT_EQ(other.receive(1, {there.sge(0, kHeader + 64)}), 0);
        ASSERT_EQ(one.send(2, {here.sge(0, 64)}, {.to = other.number(), .by = forth}), 0);
        EXPECT_EQ(here.wait().status, IBV_WC_SUCCESS);
        ibv_wc got = there.wait();
        ASSERT_EQ(got.status, IBV_WC_SUCCESS);
        EXPECT_EQ(got.byte_len, kHeader + 64);
        EXPECT_EQ(got.slid, 0);
        constexpr int kKinds[kGids] = {0, 9, 0, 10};
        EXPECT_EQ(got.sl, kKinds[index]) << "the kind of packet, as adapters report it";
        EXPECT_EQ(got.wc_flags & IBV_WC_GRH, IBV_WC_GRH);
        check_header(there.buffer.data(), entry_of(here, index), entry_of(there, index));

        auto* header = reinterpret_cast<ibv_grh*>(there.buffer.data());
        ibv_ah_attr found{};
        ASSERT_EQ(ibv_init_ah_from_wc(there.context, 1, &got, header, &found), 0);
        EXPECT_EQ(found.is_global, 1);
        EXPECT_EQ(found.grh.sgid_index, index);
        EXPECT_TRUE(is_equal(found.grh.dgid, entry_of(here, index).gid));
        ibv_ah* const back = other.keep(ibv_create_ah_from_wc(there.pd, &got, header, 1));
        ASSERT_EQ(one.receive(3, {here.sge(0, kHeader + 64)}), 0);
        ASSERT_EQ(other.send(4, {there.sge(0, 8)}, {.to = one.number(), .by = back}), 0);
        EXPECT_EQ(there.wait().status, IBV_WC_SUCCESS);
        EXPECT_EQ(here.wait().status, IBV_WC_SUCCESS);
    }
}

TEST_F(Roce, AHeaderThatNamesNoGidOfThePortLeadsNowhere) {
    Host host(at(0, 1, IBV_QPT_UD));
    ibv_wc wc{};
    wc.wc_flags = IBV_WC_GRH;
    ibv_grh header{};
    ibv_ah_attr found{};
    EXPECT_EQ(ibv_init_ah_from_wc(host.context, 1, &wc, &header, &found), -1);
    EXPECT_EQ(errno, EPROTONOSUPPORT) << "neither IPv4 nor IPv6";
    header.version_tclass_flow = htobe32(6u << 28);
    header.next_hdr = IPPROTO_UDP;
    EXPECT_EQ(ibv_init_ah_from_wc(host.context, 1, &wc, &header, &found), -1);
    EXPECT_EQ(errno, EINVAL) << "sent to another address";
}

TEST_F(Roce, AGroupMayBeAnIpv4Address) {
    Host here(at(0, 1, IBV_QPT_UD)), there(at(1, 1, IBV_QPT_UD));
    Datagrams one(here), other(there);
    union ibv_gid group {};
    group.raw[10] = group.raw[11] = 0xff;
    group.raw[12] = 239;
    group.raw[15] = 7;
    ASSERT_EQ(ibv_attach_mcast(other.get(), &group, 0), 0);
    ibv_ah_attr way = path(here, 3, group);
    ibv_ah* const to_group = one.keep(ibv_create_ah(here.pd, &way));
    ASSERT_EQ(other.receive(1, {there.sge(0, kHeader + 64)}), 0);
    ASSERT_EQ(one.send(2, {here.sge(0, 64)}, {.to = 0xffffff, .by = to_group}), 0);
    EXPECT_EQ(here.wait().status, IBV_WC_SUCCESS);
    EXPECT_EQ(there.wait().status, IBV_WC_SUCCESS);
    ibv_gid_entry to = entry_of(there, 3);
    to.gid = group;
    check_header(there.buffer.data(), entry_of(here, 3), to);
    EXPECT_EQ(ibv_detach_mcast(other.get(), &group, 0), 0);
    // An address of one host is no group.
    union ibv_gid single = entry_of(there, 3).gid;
    EXPECT_EQ(ibv_attach_mcast(other.get(), &single, 0), EINVAL);
}

TEST_F(Roce, RdmaCmUsesTheGidOfTheAddressFamily) {
    EventQueue queue;
    Id listener(queue), client(queue);
    ASSERT_EQ(listener.bind(address("127.0.0.2", 0)), 0);
    ASSERT_EQ(rdma_listen(listener.get(), 1), 0);
    auto to = address("127.0.0.2", ntohs(rdma_get_src_port(listener.get())));
    ASSERT_EQ(rdma_resolve_addr(client.get(), nullptr, reinterpret_cast<sockaddr*>(&to), 1000), 0);
    queue.next(RDMA_CM_EVENT_ADDR_RESOLVED);
    ASSERT_EQ(rdma_resolve_route(client.get(), 1000), 0);
    queue.next(RDMA_CM_EVENT_ROUTE_RESOLVED);
    Host here(at(0)), there(at(1));
    const rdma_ib_addr& found = client->route.addr.addr.ibaddr;
    EXPECT_TRUE(is_equal(found.dgid, entry_of(there, 3).gid));
    const ibv_sa_path_rec& record = *client->route.path_rec;
    EXPECT_EQ(record.slid, 0);
    EXPECT_EQ(record.dlid, 0);
    EXPECT_EQ(record.hop_limit, 64);
    EXPECT_TRUE(is_equal(record.sgid, found.sgid));
    EXPECT_TRUE(is_equal(record.dgid, found.dgid));
}

TEST_F(Roce, RdmaCmFindsADeviceByTheAddressInItsGid) {
    for (int device = 0; device < static_cast<int>(kDevices); ++device) {
        Host host(at(device));
        const union ibv_gid gid = entry_of(host, 3).gid;
        char text[INET_ADDRSTRLEN];
        ASSERT_NE(inet_ntop(AF_INET, gid.raw + 12, text, sizeof text), nullptr);
        EventQueue queue;
        Id id(queue);
        ASSERT_EQ(id.bind(address(text, 0)), 0) << text;
        EXPECT_STREQ(ibv_get_device_name(id->verbs->device),
                     ibv_get_device_name(host.context->device));
        EXPECT_TRUE(is_equal(id->route.addr.addr.ibaddr.sgid, gid));
    }
}

}  // namespace
}  // namespace test
