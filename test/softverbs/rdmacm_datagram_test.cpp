// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// rdma_cm's datagram port spaces: a listener is asked for its queue pair, and answers or not; and
/// multicast groups.
#include <gtest/gtest.h>
#include <infiniband/ib.h>

#include <atomic>
#include <thread>

#include "test/softverbs/cm_fixture.hpp"

namespace test {
namespace {

class RdmaCmDatagram : public testing::Test {
  protected:
    TemporaryFabric fabric_;
};

constexpr std::uint32_t kKey = 0x01234567;
constexpr std::size_t kHeader = sizeof(ibv_grh);

std::string data_of(const FetchedEvent& event) {
    const rdma_ud_param& ud = event->param.ud;
    return {static_cast<const char*>(ud.private_data), ud.private_data_len};
}
std::string padded(std::string text, std::size_t length) {
    text.resize(length, '\0');
    return text;
}

Id datagram_listener(const EventQueue& events, int port = 0) {
    Id id(events, RDMA_PS_UDP);
    check(id.bind(address("127.0.0.1", port)), "rdma_bind_addr");
    check(rdma_listen(id.get(), 8), "rdma_listen");
    return id;
}

/// A queue pair of an identifier, with memory, ready to send.
class Station {
  public:
    explicit Station(rdma_cm_id* id) : id_(id) {
        ibv_qp_init_attr attributes = {};
        attributes.cap = {8, 8, 1, 1, 0};
        attributes.qp_type = IBV_QPT_UD;
        attributes.sq_sig_all = 1;
        check(rdma_create_qp(id, nullptr, &attributes), "rdma_create_qp");
        mr_ = ibv_reg_mr(id->pd, memory_, sizeof memory_, int{IBV_ACCESS_LOCAL_WRITE});
        require(mr_ != nullptr, "memory is registered");
        ibv_sge sge = {reinterpret_cast<std::uintptr_t>(memory_), sizeof memory_ / 2, mr_->lkey};
        ibv_recv_wr wr = {}, *bad = nullptr;
        wr.sg_list = &sge;
        wr.num_sge = 1;
        require(ibv_post_recv(id->qp, &wr, &bad) == 0, "a receive is posted");
    }
    ~Station() {
        rdma_destroy_qp(id_);
        ibv_dereg_mr(mr_);
    }
    Station(const Station&) = delete;
    Station& operator=(const Station&) = delete;

    std::uint32_t number() const { return id_->qp->qp_num; }
    void send(const std::string& text, ibv_ah* by, std::uint32_t to, std::uint32_t key) {
        text.copy(memory_ + 512, 256);
        ibv_sge sge = {reinterpret_cast<std::uintptr_t>(memory_ + 512),
                       static_cast<std::uint32_t>(text.size()), mr_->lkey};
        ibv_send_wr wr = {}, *bad = nullptr;
        wr.opcode = IBV_WR_SEND;
        wr.sg_list = &sge;
        wr.num_sge = 1;
        wr.wr.ud.ah = by;
        wr.wr.ud.remote_qpn = to;
        wr.wr.ud.remote_qkey = key;
        require(by && ibv_post_send(id_->qp, &wr, &bad) == 0, "a message is posted");
        require(next(id_->send_cq).status == IBV_WC_SUCCESS, "and sent");
    }
    /// @return the text of the next message; `wc` receives its completion.
    std::string receive(ibv_wc& wc) {
        wc = next(id_->recv_cq);
        require(wc.status == IBV_WC_SUCCESS, "a message is received");
        return {memory_ + kHeader, wc.byte_len - kHeader};
    }
    ibv_grh* header() { return reinterpret_cast<ibv_grh*>(memory_); }

  private:
    static ibv_wc next(ibv_cq* cq) {
        ibv_wc wc = {};
        require(eventually([&] { return ibv_poll_cq(cq, 1, &wc) == 1; }), "a completion comes");
        return wc;
    }
    rdma_cm_id* id_;
    alignas(64) char memory_[1024] = {};
    ibv_mr* mr_ = nullptr;
};

TEST_F(RdmaCmDatagram, AListenersQueuePairIsFoundAndMessagesGoBothWays) {
    Child child([](Channel& pipe) {
        EventQueue events;
        const Id listening = datagram_listener(events);
        pipe.send(port_of(listening));
        const FetchedEvent request = events.next(RDMA_CM_EVENT_CONNECT_REQUEST);
        require(data_of(request) == padded("who are you?", 144), "the asker's data");
        require(request->listen_id == listening.get(), "who was asked");
        const Id id(request->id);
        require(id->ps == RDMA_PS_UDP && id->qp_type == IBV_QPT_UD, "the kind of identifier");
        Station station(id.get());
        accept(id, "me");
        ibv_wc wc;
        require(station.receive(wc) == "hello", "the message");
        ibv_ah* const back = ibv_create_ah_from_wc(id->pd, &wc, station.header(), 1);
        station.send("and to you", back, wc.src_qp, kKey);
        ibv_destroy_ah(back);
        require(!events.readable(), "who answers hears no more");
        pipe.send(station.number());
    });
    EventQueue events;
    Id id(events, RDMA_PS_UDP);
    resolve(events, id, address("127.0.0.1", child.channel().receive<int>()));
    Station station(id.get());
    connect(id, "who are you?");
    const FetchedEvent answer = events.next(RDMA_CM_EVENT_ESTABLISHED);
    EXPECT_EQ(data_of(answer), padded("me", 136));
    const rdma_ud_param& ud = answer->param.ud;
    EXPECT_EQ(ud.qkey, kKey);
    ibv_ah_attr attributes = ud.ah_attr;
    ibv_ah* const to = ibv_create_ah(id->pd, &attributes);
    station.send("hello", to, ud.qp_num, ud.qkey);
    ibv_wc wc;
    EXPECT_EQ(station.receive(wc), "and to you");
    EXPECT_EQ(wc.src_qp, ud.qp_num);
    EXPECT_EQ(child.channel().receive<std::uint32_t>(), ud.qp_num);
    ibv_destroy_ah(to);
    EXPECT_EQ(rdma_disconnect(id.get()), -1);
    EXPECT_EQ(errno, EINVAL);
    EXPECT_EQ(child.wait(), 0);
}

TEST_F(RdmaCmDatagram, AQueuePairThatTheListenerMadeItselfIsNamedInTheAnswer) {
    EventQueue events;
    const Id listening = datagram_listener(events);
    Id id(events, RDMA_PS_UDP);
    resolve(events, id, address("127.0.0.1", port_of(listening)));
    connect(id);
    const FetchedEvent request = events.next(RDMA_CM_EVENT_CONNECT_REQUEST);
    const Id child(request->id);
    EXPECT_EQ(rdma_accept(child.get(), nullptr), -1) << "there is no queue pair to name";
    accept(child, "", 0x7654);
    EXPECT_EQ(events.next(RDMA_CM_EVENT_ESTABLISHED)->param.ud.qp_num, 0x7654u);
}

TEST_F(RdmaCmDatagram, WhoIsRefusedOrFindsNobodyIsTold) {
    EventQueue events;
    Id listening = datagram_listener(events);
    const int port = port_of(listening);
    const auto asks = [&](Id& id) {
        resolve(events, id, address("127.0.0.1", port));
        connect(id);
    };
    Id rejected(events, RDMA_PS_UDP);
    asks(rejected);
    {
        const FetchedEvent request = events.next(RDMA_CM_EVENT_CONNECT_REQUEST);
        const Id child(request->id);
        ASSERT_EQ(rdma_reject(child.get(), nullptr, 0), 0);
    }
    EXPECT_EQ(events.next(RDMA_CM_EVENT_UNREACHABLE)->status, 2) << "rejected";
    Id dropped(events, RDMA_PS_UDP);
    asks(dropped);
    {
        const FetchedEvent request = events.next(RDMA_CM_EVENT_CONNECT_REQUEST);
        const Id child(request->id);
    }
    EXPECT_EQ(events.next(RDMA_CM_EVENT_UNREACHABLE)->status, 2) << "destroyed instead of answered";
    listening.destroy();
    Id lonely(events, RDMA_PS_UDP);
    asks(lonely);
    EXPECT_EQ(events.next(RDMA_CM_EVENT_UNREACHABLE)->status, 1) << "nobody listens";
}

TEST_F(RdmaCmDatagram, AListenerThatIsKilledIsUnreachable) {
    Child child([](Channel& pipe) {
        EventQueue events;
        const Id listening = datagram_listener(events);
        pipe.send(port_of(listening));
        const FetchedEvent request = events.next(RDMA_CM_EVENT_CONNECT_REQUEST);
        pipe.send('r');
        pipe.receive<char>();
    });
    EventQueue events;
    Id id(events, RDMA_PS_UDP);
    resolve(events, id, address("127.0.0.1", child.channel().receive<int>()));
    connect(id);
    child.channel().receive<char>();
    child.kill();
    EXPECT_EQ(events.next(RDMA_CM_EVENT_UNREACHABLE)->status, -ECONNRESET);
}

TEST_F(RdmaCmDatagram, PrivateDataHasTheRoomOfItsMessages) {
    EventQueue events;
    const Id listening = datagram_listener(events);
    Id id(events, RDMA_PS_UDP);
    resolve(events, id, address("127.0.0.1", port_of(listening)));
    rdma_conn_param too_much = parameters(std::string(145, 'x'));
    const std::string longest(144, 'x');
    EXPECT_EQ(rdma_connect(id.get(), &too_much), -1);
    EXPECT_EQ(errno, EINVAL);
    connect(id, longest);
    const FetchedEvent request = events.next(RDMA_CM_EVENT_CONNECT_REQUEST);
    EXPECT_EQ(data_of(request), longest);
    const Id child(request->id);
    const std::string too_long(137, 'y');
    too_much = parameters(too_long, 1);
    EXPECT_EQ(rdma_accept(child.get(), &too_much), -1);
    EXPECT_EQ(errno, EINVAL);
    accept(child, std::string(136, 'y'));
    EXPECT_EQ(data_of(events.next(RDMA_CM_EVENT_ESTABLISHED)), std::string(136, 'y'));
}

TEST_F(RdmaCmDatagram, PortsAreThoseOfTheirSpace) {
    EventQueue events;
    const Id datagrams = datagram_listener(events);
    const Id connections = listener(events, "127.0.0.1", port_of(datagrams));
    Id id(events, RDMA_PS_UDP);
    resolve(events, id, address("127.0.0.1", port_of(connections)));
    connect(id);
    const FetchedEvent request = events.next(RDMA_CM_EVENT_CONNECT_REQUEST);
    EXPECT_EQ(request->listen_id, datagrams.get());
    const Id child(request->id);
}

/// The address of a multicast group, as a program passes it.
struct Group {
    sockaddr_storage storage = {};

    explicit Group(const std::string& ip) {
        auto* const v4 = reinterpret_cast<sockaddr_in*>(&storage);
        auto* const v6 = reinterpret_cast<sockaddr_in6*>(&storage);
        const bool is_v6 = inet_pton(AF_INET6, ip.c_str(), &v6->sin6_addr) == 1;
        if (!is_v6) storage = {};
        storage.ss_family = is_v6 ? AF_INET6 : AF_INET;
        require(is_v6 || inet_pton(AF_INET, ip.c_str(), &v4->sin_addr) == 1, "an address");
    }
    static Group raw(const std::string& gid) {
        Group group("0.0.0.0");
        sockaddr_ib address = {};
        address.sib_family = AF_IB;
        require(inet_pton(AF_INET6, gid.c_str(), &address.sib_addr) == 1, "a GID");
        std::memcpy(&group.storage, &address, sizeof address);
        return group;
    }
    sockaddr* get() { return reinterpret_cast<sockaddr*>(&storage); }
};

Id bound(const EventQueue& events, rdma_port_space space = RDMA_PS_UDP) {
    Id id(events, space);
    check(id.bind(address("127.0.0.1", 0)), "rdma_bind_addr");
    return id;
}

/// Joins and fetches the event.
FetchedEvent join(const EventQueue& events, const Id& id, Group group, void* context = nullptr) {
    check(rdma_join_multicast(id.get(), group.get(), context), "rdma_join_multicast");
    return events.next(RDMA_CM_EVENT_MULTICAST_JOIN);
}

int join_with_flags(const Id& id, Group group, std::uint32_t flags,
                    std::uint32_t mask = RDMA_CM_JOIN_MC_ATTR_ADDRESS |
                                         RDMA_CM_JOIN_MC_ATTR_JOIN_FLAGS) {
    rdma_cm_join_mc_attr_ex attributes = {mask, flags, group.get()};
    return rdma_join_multicast_ex(id.get(), &attributes, nullptr);
}

int leave(const Id& id, Group group) {
    return rdma_leave_multicast(id.get(), group.get());
}

std::string text_of(const union ibv_gid& gid) {
    char text[INET6_ADDRSTRLEN] = "";
    inet_ntop(AF_INET6, gid.raw, text, sizeof text);
    return text;
}

/// @return the GID of the group that this address names in the port space.
std::string gid_for(const Group& group, rdma_port_space space = RDMA_PS_UDP) {
    EventQueue events;
    const Id id = bound(events, space);
    const FetchedEvent event = join(events, id, group);
    return text_of(event->param.ud.ah_attr.grh.dgid);
}

TEST_F(RdmaCmDatagram, AnAddressNamesTheGroupThatItNamesOnLinux) {
    EXPECT_EQ(gid_for(Group("239.1.2.3")), "ff12:4001:ffff::f01:203");
    EXPECT_EQ(gid_for(Group("224.0.0.1")), "ff12:4001:ffff::1");
    EXPECT_EQ(gid_for(Group("239.1.2.3"), RDMA_PS_IPOIB), "ff12:401b:ffff::f01:203");
    EXPECT_EQ(gid_for(Group("ff02::1:2:3")), "ff12:6001:ffff::1:2:3");
    EXPECT_EQ(gid_for(Group("ff0e::1"), RDMA_PS_IPOIB), "ff12:601b:ffff::1");
    EXPECT_EQ(gid_for(Group("ff12:a01b:ffff::7")), "ff12:a01b:ffff::7") << "assigned";
    EXPECT_EQ(gid_for(Group::raw("ff15:1234::9")), "ff15:1234::9");
    const std::string own = gid_for(Group("0.0.0.0")), another = gid_for(Group("::"));
    EXPECT_EQ(own.substr(0, 15), "ff12:a01b:ffff:");
    EXPECT_EQ(another.substr(0, 15), "ff12:a01b:ffff:");
    EXPECT_NE(own, another) << "a new group each time";
}

TEST_F(RdmaCmDatagram, TheEventOfAJoinDescribesTheGroup) {
    EventQueue events;
    const Id id = bound(events);
    int context = 0;
    const FetchedEvent event = join(events, id, Group("239.1.2.3"), &context);
    EXPECT_EQ(event->id, id.get());
    EXPECT_EQ(event->status, 0);
    const rdma_ud_param& group = event->param.ud;
    EXPECT_EQ(group.private_data, &context);
    EXPECT_EQ(group.private_data_len, 0);
    EXPECT_EQ(group.qp_num, 0xffffffu);
    EXPECT_EQ(group.qkey, kKey);
    EXPECT_EQ(group.ah_attr.is_global, 1);
    EXPECT_EQ(group.ah_attr.port_num, id->port_num);
    EXPECT_GE(group.ah_attr.dlid, 0xc000);
    EXPECT_LT(group.ah_attr.dlid, 0xffff);
}

/// The member's identifier is bound by the group's address.
void receive_from_group(Channel& pipe, Group group) {
    EventQueue events;
    const Id id(events, RDMA_PS_UDP);
    check(rdma_resolve_addr(id.get(), nullptr, group.get(), 1000), "rdma_resolve_addr");
    events.next(RDMA_CM_EVENT_ADDR_RESOLVED);
    Station station(id.get());
    join(events, id, group);
    pipe.send('j');
    ibv_wc wc;
    require(station.receive(wc) == "hello, all", "the message");
    require((wc.wc_flags & IBV_WC_GRH) != 0, "with a route header");
    require(text_of(station.header()->dgid).substr(0, 4) == "ff12", "to the group");
    require(leave(id, group) == 0, "left");
    pipe.send('r');
    pipe.receive<char>();
}

TEST_F(RdmaCmDatagram, MembersInSeveralProcessesGetWhatIsSentToTheirGroup) {
    for (const char* const ip : {"239.7.7.7", "ff02::7"}) {
        const Group group(ip);
        const auto run = [&](Channel& pipe) { receive_from_group(pipe, group); };
        Child first(run), second(run);
        for (Child* child : {&first, &second}) child->channel().receive<char>();
        EventQueue events;
        const Id id = bound(events);
        Station station(id.get());
        ASSERT_EQ(join_with_flags(id, group, RDMA_MC_JOIN_FLAG_SENDONLY_FULLMEMBER), 0);
        const FetchedEvent event = events.next(RDMA_CM_EVENT_MULTICAST_JOIN);
        rdma_ud_param ud = event->param.ud;
        ibv_ah* const to = ibv_create_ah(id->pd, &ud.ah_attr);
        station.send("hello, all", to, ud.qp_num, ud.qkey);
        for (Child* child : {&first, &second}) child->channel().receive<char>();
        ibv_wc wc;
        EXPECT_EQ(ibv_poll_cq(id->recv_cq, 1, &wc), 0) << "it only sends";
        station.send("nobody", to, ud.qp_num, ud.qkey);
        ibv_destroy_ah(to);
        for (Child* child : {&first, &second}) {
            child->channel().send('e');
            EXPECT_EQ(child->wait(), 0);
        }
    }
}

TEST_F(RdmaCmDatagram, LeavingDetachesTheQueuePair) {
    EventQueue events;
    const Group group("239.1.1.1");
    const Id id = bound(events);
    Station station(id.get());
    EXPECT_EQ(leave(id, group), -1);
    EXPECT_EQ(errno, EADDRNOTAVAIL);
    const auto parameters = [&] { return join(events, id, group)->param.ud; };
    rdma_ud_param ud = parameters();
    EXPECT_EQ(ibv_destroy_qp(id->qp), EBUSY);
    EXPECT_EQ(leave(id, Group("239.1.1.2")), -1);
    EXPECT_EQ(errno, EADDRNOTAVAIL);
    EXPECT_EQ(leave(id, group), 0);
    EXPECT_EQ(ibv_detach_mcast(id->qp, &ud.ah_attr.grh.dgid, ud.ah_attr.dlid), EINVAL);
    EXPECT_EQ(leave(id, group), -1);
    // A join whose event nobody has fetched is cancelled.
    ASSERT_EQ(rdma_join_multicast(id.get(), Group(group).get(), nullptr), 0);
    EXPECT_TRUE(events.readable());
    EXPECT_EQ(leave(id, group), 0);
    EXPECT_FALSE(events.readable());
}

TEST_F(RdmaCmDatagram, LeavingWaitsUntilTheGroupsEventIsAcknowledged) {
    EventQueue events;
    const Group group("239.1.1.1");
    const Id id = bound(events);
    std::atomic<bool> has_left = false;
    std::thread leaver;
    {
        const FetchedEvent event = join(events, id, group);
        leaver = std::thread([&] {
            require(leave(id, group) == 0, "left");
            has_left = true;
        });
        std::this_thread::sleep_for(50ms);
        EXPECT_FALSE(has_left);
    }
    leaver.join();
    EXPECT_TRUE(has_left);
}

TEST_F(RdmaCmDatagram, DestroyingAQueuePairByRdmaCmDetachesIt) {
    EventQueue events;
    const Group group("239.1.1.1");
    const Id id = bound(events);
    for (int round = 0; round < 2; ++round) {
        const Station station(id.get());
        join(events, id, group);
    }
    EXPECT_EQ(leave(id, group), 0);
    EXPECT_EQ(leave(id, group), 0) << "joined twice";
    EXPECT_EQ(leave(id, group), -1);
}

TEST_F(RdmaCmDatagram, DestroyingAnIdentifierLeavesItsGroups) {
    EventQueue events;
    Id id = bound(events);
    ibv_cq* const cq = ibv_create_cq(id->verbs, 8, nullptr, nullptr, 0);
    ibv_qp_init_attr attributes = {};
    attributes.send_cq = attributes.recv_cq = cq;
    attributes.cap = {1, 1, 1, 1, 0};
    attributes.qp_type = IBV_QPT_UD;
    check(rdma_create_qp(id.get(), nullptr, &attributes), "rdma_create_qp");
    ibv_qp* const qp = id->qp;
    join(events, id, Group("239.1.1.1"));
    join(events, id, Group("239.1.1.2"));
    EXPECT_EQ(ibv_destroy_qp(qp), EBUSY);
    id.destroy();
    EXPECT_EQ(ibv_destroy_qp(qp), 0);
    EXPECT_EQ(ibv_destroy_cq(cq), 0);
}

TEST_F(RdmaCmDatagram, AJoinIsRefusedThatRdmaCmRefuses) {
    EventQueue events;
    const Group group("239.1.1.1");
    const auto refuses = [](int result, int error) {
        EXPECT_EQ(result, -1);
        EXPECT_EQ(errno, error);
    };
    const Id idle(events, RDMA_PS_UDP), connected = bound(events, RDMA_PS_TCP);
    refuses(rdma_join_multicast(idle.get(), Group(group).get(), nullptr), EINVAL);
    refuses(rdma_join_multicast(connected.get(), Group(group).get(), nullptr), EINVAL);
    const Id id = bound(events);
    sockaddr other = {};
    other.sa_family = AF_UNIX;
    refuses(rdma_join_multicast(id.get(), &other, nullptr), EINVAL);
    refuses(rdma_leave_multicast(id.get(), &other), EINVAL);
    refuses(rdma_join_multicast_ex(id.get(), nullptr, nullptr), EINVAL);
    refuses(join_with_flags(id, group, RDMA_MC_JOIN_FLAG_RESERVED), EINVAL);
    refuses(join_with_flags(id, group, 0, RDMA_CM_JOIN_MC_ATTR_ADDRESS), EINVAL);
    refuses(join_with_flags(id, group, 0, RDMA_CM_JOIN_MC_ATTR_JOIN_FLAGS), EINVAL);
    refuses(join_with_flags(id, group, 0, 7), EOPNOTSUPP);
    EXPECT_FALSE(events.readable());
}

TEST_F(RdmaCmDatagram, AnEventReportsAJoinThatFails) {
    EventQueue events;
    const Id id = bound(events);
    int context = 0;
    ASSERT_EQ(rdma_join_multicast(id.get(), Group::raw("fe80::1").get(), &context), 0);
    {
        const FetchedEvent error = events.next(RDMA_CM_EVENT_MULTICAST_ERROR);
        EXPECT_EQ(error->status, -EINVAL) << "no group";
        EXPECT_EQ(error->param.ud.private_data, &context);
    }
    const Station station(id.get());
    ibv_device_attr limits{};
    ASSERT_EQ(ibv_query_device(id->verbs, &limits), 0);
    for (int i = 0; i < limits.max_total_mcast_qp_attach; ++i) {
        union ibv_gid gid {};
        gid.raw[0] = 0xff;
        std::memcpy(&gid.raw[8], &i, sizeof i);
        ASSERT_EQ(ibv_attach_mcast(id->qp, &gid, 0xc001), 0);
    }
    ASSERT_EQ(rdma_join_multicast(id.get(), Group("239.1.1.1").get(), nullptr), 0);
    EXPECT_EQ(events.next(RDMA_CM_EVENT_MULTICAST_ERROR)->status, -ENOMEM) << "too many";
    EXPECT_EQ(leave(id, Group("239.1.1.1")), 0);
    for (int i = 0; i < limits.max_total_mcast_qp_attach; ++i) {
        union ibv_gid gid {};
        gid.raw[0] = 0xff;
        std::memcpy(&gid.raw[8], &i, sizeof i);
        ASSERT_EQ(ibv_detach_mcast(id->qp, &gid, 0xc001), 0);
    }
}

TEST_F(RdmaCmDatagram, AJoinWithoutAChannelWaitsForItsEvent) {
    rdma_cm_id* made = nullptr;
    check(rdma_create_id(nullptr, &made, nullptr, RDMA_PS_UDP), "rdma_create_id");
    Id id(made);
    check(id.bind(address("127.0.0.1", 0)), "rdma_bind_addr");
    Group group("239.1.1.1");
    const Station station(id.get());
    ASSERT_EQ(rdma_join_multicast(id.get(), group.get(), nullptr), 0);
    ASSERT_NE(id->event, nullptr);
    EXPECT_EQ(id->event->event, RDMA_CM_EVENT_MULTICAST_JOIN);
    EXPECT_EQ(ibv_destroy_qp(id->qp), EBUSY);
    EXPECT_EQ(leave(id, group), 0);
    EXPECT_EQ(rdma_join_multicast(id.get(), Group::raw("fe80::1").get(), nullptr), -1);
    EXPECT_EQ(errno, EINVAL);
}

}  // namespace
}  // namespace test
