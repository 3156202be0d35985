// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// rdma_cm's datagram port spaces: a listener is asked for its queue pair, and answers or not.
#include <gtest/gtest.h>

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

}  // namespace
}  // namespace test
