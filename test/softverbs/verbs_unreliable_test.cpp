// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Unreliable connected queue pairs: what arrives, what is lost silently, what breaks.
#include "test/softverbs/verbs_pair.hpp"

namespace test {
namespace {

class VerbsUnreliable : public OnBothPaths {};
INSTANTIATE_ON_BOTH_PATHS(VerbsUnreliable);

Options unreliable() {
    Options options;
    options.type = IBV_QPT_UC;
    return options;
}

TEST_P(VerbsUnreliable, CarriesSendsWritesAndImmediateData) {
    if (kThreadSanitizer && std::string(GetParam()) == "agent")
        GTEST_SKIP() << "what orders its writes after our reading runs through another process";
    constexpr std::uint32_t kSizes[] = {0, 1, 100, 4096, 70000};
    Child child([&](Channel& channel) {
        Host host(unreliable());
        Qp qp(host);
        for (std::uint32_t i = 0; i < 12; ++i) qp.post_receive(i, {host.sge(i << 17, 1 << 17)});
        qp.connect(channel);
        std::uint32_t number = 0;
        for (const std::uint32_t size : kSizes) {
            const ibv_wc plain = host.wait();
            require(plain.status == IBV_WC_SUCCESS && plain.wr_id == number, "a send arrives");
            require(plain.opcode == IBV_WC_RECV && plain.byte_len == size, "with its length");
            require(holds(&host.buffer[number++ << 17], size, size), "and its bytes");
            const ibv_wc told = host.wait();
            require(told.wr_id == number, "a write with immediate data takes a receive");
            require(told.opcode == IBV_WC_RECV_RDMA_WITH_IMM && told.imm_data == size, "is told");
            require(holds(&host.buffer[2 << 20], size, size + 1), "and has placed its bytes");
            channel.send(number++);
        }
    });
    Host host(unreliable());
    Qp qp(host);
    const Address peer = qp.connect(child.channel());
    for (const std::uint32_t size : kSizes) {
        fill(host.buffer.data(), size, size);
        ASSERT_EQ(qp.send(1, {host.sge(0, size)}), 0);
        EXPECT_EQ(host.wait().status, IBV_WC_SUCCESS);
        fill(host.buffer.data(), size, size + 1);
        ASSERT_EQ(qp.rdma(2, IBV_WR_RDMA_WRITE_WITH_IMM, {host.sge(0, size)},
                          peer.address + (2 << 20), peer.rkey, IBV_SEND_SIGNALED, size),
                  0);
        const ibv_wc wc = host.wait();
        EXPECT_EQ(wc.status, IBV_WC_SUCCESS);
        EXPECT_EQ(wc.opcode, IBV_WC_RDMA_WRITE);
        child.channel().receive<std::uint32_t>();
    }
    EXPECT_EQ(child.wait(), 0);
}

TEST_P(VerbsUnreliable, RefusesWhatNeedsAnAnswerAndSharedReceives) {
    Host host(unreliable());
    Qp qp(host);
    ASSERT_EQ(qp.ready_to_receive(qp.address()), 0);
    ASSERT_EQ(qp.ready_to_send(), 0);
    EXPECT_EQ(qp.rdma(1, IBV_WR_RDMA_READ, {host.sge(0, 8)}, host.address(64), host.mr->rkey),
              EINVAL);
    EXPECT_EQ(qp.atomic(1, IBV_WR_ATOMIC_FETCH_AND_ADD, host.sge(0, 8), host.address(64),
                        host.mr->rkey, 1),
              EINVAL);
    Options options;
    options.shared_receives = true;
    Host sharing(options);
    ibv_qp_init_attr attributes{};
    attributes.send_cq = attributes.recv_cq = sharing.cq;
    attributes.srq = sharing.srq;
    attributes.qp_type = IBV_QPT_UC;
    errno = 0;
    EXPECT_EQ(ibv_create_qp(sharing.pd, &attributes), nullptr);
    EXPECT_EQ(errno, EINVAL);
}

/// The peer has no receive, no right, no queue pair or no process: each request completes
/// successfully, and both ends continue.
TEST_P(VerbsUnreliable, LosesWhatThePeerDoesNotTake) {
    Child child([](Channel& channel) {
        Host host(unreliable());
        Qp qp(host, IBV_ACCESS_LOCAL_WRITE);
        qp.connect(channel);
        channel.receive<char>();  // a send that found no receive
        qp.post_receive(1, {host.sge(0, 16)});
        channel.send('p');
        channel.receive<char>();  // one too long for the receive, and a write without the right
        channel.send('p');
        const ibv_wc wc = host.wait();
        require(wc.wr_id == 1 && wc.status == IBV_WC_SUCCESS, "the receive was kept for one");
        require(wc.byte_len == 8 && holds(host.buffer.data(), 8, 4), "that fits");
        require(holds(&host.buffer[1000], 8, 0) == false, "nothing was written");
        require(host.is_empty() && qp.state() == IBV_QPS_RTS, "nothing broke");
        channel.send('e');
    });
    Channel& channel = child.channel();
    Host host(unreliable());
    Qp qp(host);
    const Address peer = qp.connect(channel);
    const auto completes = [&](int posted) {
        ASSERT_EQ(posted, 0);
        EXPECT_EQ(host.wait().status, IBV_WC_SUCCESS);
        EXPECT_EQ(qp.state(), IBV_QPS_RTS);
    };
    fill(host.buffer.data(), 64, 0);
    completes(qp.send(1, {host.sge(0, 8)}));
    channel.meet();
    completes(qp.send(2, {host.sge(0, 64)}));
    completes(qp.rdma(3, IBV_WR_RDMA_WRITE, {host.sge(0, 8)}, peer.address + 1000, peer.rkey));
    channel.meet();
    fill(host.buffer.data(), 8, 4);
    completes(qp.send(4, {host.sge(0, 8)}));
    channel.receive<char>();
    EXPECT_EQ(child.wait(), 0);
    completes(qp.send(5, {host.sge(0, 8)}));
    completes(qp.rdma(6, IBV_WR_RDMA_WRITE, {host.sge(0, 8)}, peer.address, peer.rkey));
}

TEST_P(VerbsUnreliable, OutlivesAPeerThatIsKilled) {
    Child child([](Channel& channel) {
        Host host(unreliable());
        Qp qp(host);
        qp.post_receive(1, {host.sge(0, 16)});
        qp.connect(channel);
        channel.receive<char>();
    });
    Host host(unreliable());
    Qp qp(host);
    qp.post_receive(7, {host.sge(0, 16)});
    const Address peer = qp.connect(child.channel());
    child.kill();
    for (std::uint32_t i = 0; i < 1000; ++i) {
        ASSERT_EQ(qp.rdma(i, IBV_WR_RDMA_WRITE, {host.sge(0, 4096)}, peer.address, peer.rkey), 0);
        ASSERT_EQ(host.wait().status, IBV_WC_SUCCESS);
    }
    EXPECT_EQ(qp.state(), IBV_QPS_RTS);
    EXPECT_TRUE(host.is_empty()) << "the receive is still posted";
}

/// A fault of its own stops only an unreliable queue pair's sends, until it is set to RTS again.
TEST_P(VerbsUnreliable, StopsSendingAfterAFaultOfItsOwnAndGoesOnWhenTold) {
    Child child([](Channel& channel) {
        Host host(unreliable());
        Qp qp(host);
        qp.post_receive(1, {host.sge(0, 16)});
        qp.connect(channel);
        require(qp.send(1, {host.sge(0, 16)}) == 0, "sent");
        require(host.wait().opcode == IBV_WC_SEND, "done");
        channel.send('s');
        require(host.wait().opcode == IBV_WC_RECV, "the other end sends again");
    });
    Host host(unreliable());
    Qp qp(host);
    qp.post_receive(9, {host.sge(64, 16)});
    qp.connect(child.channel());
    ibv_sge forbidden = host.sge(0, 8);
    forbidden.lkey ^= 0x00100000;
    ASSERT_EQ(qp.send(1, {forbidden}), 0);
    child.channel().receive<char>();
    bool failed = false;
    for (int seen = 0; seen < 2; ++seen) {
        const ibv_wc wc = host.wait();
        if (wc.wr_id == 9) {
            EXPECT_EQ(wc.status, IBV_WC_SUCCESS) << "it goes on receiving";
            continue;
        }
        EXPECT_EQ(wc.status, IBV_WC_LOC_PROT_ERR);
        failed = true;
    }
    EXPECT_TRUE(failed);
    EXPECT_EQ(qp.state(), IBV_QPS_SQE);
    ASSERT_EQ(qp.send(2, {host.sge(0, 8)}), 0);
    EXPECT_EQ(host.wait().status, IBV_WC_WR_FLUSH_ERR);
    ibv_qp_attr attributes{};
    attributes.qp_state = IBV_QPS_RTS;
    ASSERT_EQ(ibv_modify_qp(qp.get(), &attributes, IBV_QP_STATE), 0);
    ASSERT_EQ(qp.send(3, {host.sge(0, 8)}), 0);
    EXPECT_EQ(host.wait().status, IBV_WC_SUCCESS);
    EXPECT_EQ(child.wait(), 0);
}

TEST_P(VerbsUnreliable, AsksForTheAttributesOfItsTypeAndNoOthers) {
    Host host(unreliable());
    Qp qp(host);
    ibv_qp_attr a{};
    a.qp_state = IBV_QPS_RTR;
    a.path_mtu = IBV_MTU_4096;
    a.dest_qp_num = qp.get()->qp_num;
    a.ah_attr.dlid = host.port.lid;
    a.ah_attr.port_num = 1;
    constexpr int kAll =
        IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;
    for (const int missing : {IBV_QP_AV, IBV_QP_PATH_MTU, IBV_QP_DEST_QPN, IBV_QP_RQ_PSN})
        EXPECT_EQ(ibv_modify_qp(qp.get(), &a, kAll & ~missing), EINVAL) << missing;
    EXPECT_EQ(ibv_modify_qp(qp.get(), &a, kAll | IBV_QP_MIN_RNR_TIMER), EINVAL);
    EXPECT_EQ(ibv_modify_qp(qp.get(), &a, kAll), 0);
    a.qp_state = IBV_QPS_RTS;
    EXPECT_EQ(ibv_modify_qp(qp.get(), &a, IBV_QP_STATE), EINVAL);
    EXPECT_EQ(ibv_modify_qp(qp.get(), &a, IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_TIMEOUT), EINVAL);
    EXPECT_EQ(ibv_modify_qp(qp.get(), &a, IBV_QP_STATE | IBV_QP_SQ_PSN), 0);
}

}  // namespace
}  // namespace test
