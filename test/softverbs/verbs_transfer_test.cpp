// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Every kind of request between two processes, with the data checked.
#include <arpa/inet.h>
#include <gtest/gtest.h>

#include <numeric>

#include "test/softverbs/verbs_pair.hpp"

namespace test {
namespace {

const std::uint32_t kSizes[] = {0,   1,   2,   7,   8,    9,    63,   64,   65,    127,    128,
                                129, 255, 256, 257, 1000, 4095, 4096, 4097, 65536, 100001, 1 << 20};

class VerbsTransfer : public OnBothPaths {};
INSTANTIATE_ON_BOTH_PATHS(VerbsTransfer);

void echo(Channel& channel) {
    Host host;
    Qp qp(host);
    for (int i = 0; i < 4; ++i) qp.post_receive(0, {});
    qp.connect(channel);
    channel.receive<char>();
}

TEST_P(VerbsTransfer, SendsOfAllSizesArriveWhole) {
    Child child([](Channel& channel) {
        Host host;
        Qp qp(host);
        qp.connect(channel);
        std::uint32_t round = 0;
        for (const std::uint32_t size : kSizes) {
            ++round;
            std::memset(host.buffer.data(), 0, size + 16);
            require(qp.post_receive(round, {host.sge(0, size + 16)}) == 0, "receive posted");
            const ibv_wc wc = host.wait();
            require(wc.status == IBV_WC_SUCCESS && wc.opcode == IBV_WC_RECV, "received");
            require(wc.wr_id == round && wc.byte_len == size, "the right receive and length");
            require(wc.qp_num == qp.get()->qp_num, "on the right queue pair");
            require(holds(host.buffer.data(), size, round), "the data");
            require(host.buffer[size] == 0, "nothing behind the data");
            require(qp.send(round, {host.sge(0, size)}) == 0, "echo posted");
            require(host.wait().status == IBV_WC_SUCCESS, "echoed");
        }
        channel.meet();
    });
    Host host;
    Qp qp(host);
    qp.connect(child.channel());
    std::uint32_t round = 0;
    for (const std::uint32_t size : kSizes) {
        ++round;
        fill(host.buffer.data(), size, round);
        const std::size_t back = 2 << 20;
        ASSERT_EQ(qp.post_receive(100, {host.sge(back, size)}), 0);
        const unsigned flags =
            size <= 256 ? IBV_SEND_SIGNALED | IBV_SEND_INLINE : IBV_SEND_SIGNALED;
        ASSERT_EQ(qp.send(round, {host.sge(0, size)}, flags), 0);
        for (int i = 0; i < 2; ++i) {
            const ibv_wc wc = host.wait();
            ASSERT_EQ(wc.status, IBV_WC_SUCCESS) << size;
            if (wc.opcode == IBV_WC_RECV)
                EXPECT_EQ(wc.byte_len, size);
            else
                EXPECT_EQ(wc.wr_id, round);
        }
        EXPECT_TRUE(holds(host.buffer.data() + back, size, round)) << size;
    }
    child.channel().meet();
    EXPECT_EQ(child.wait(), 0);
}

TEST_P(VerbsTransfer, SeveralSegmentsAreGatheredAndScattered) {
    Child child([](Channel& channel) {
        Host host;
        Qp qp(host);
        qp.post_receive(
            1, {host.sge(0, 10), host.sge(1000, 1), host.sge(2000, 0), host.sge(3000, 100000)});
        qp.post_receive(2, {host.sge(200000, 5), host.sge(300000, 200)});
        qp.connect(channel);
        require(host.wait().byte_len == 3 + 40000 + 17, "length of the first");
        require(host.wait().byte_len == 60, "length of the second");
        std::vector<std::uint8_t> got(40020);
        std::memcpy(got.data(), &host.buffer[0], 10);
        std::memcpy(got.data() + 10, &host.buffer[1000], 1);
        std::memcpy(got.data() + 11, &host.buffer[3000], 40020 - 11);
        require(holds(got.data(), got.size(), 5), "the first");
        std::memcpy(got.data(), &host.buffer[200000], 5);
        std::memcpy(got.data() + 5, &host.buffer[300000], 55);
        require(holds(got.data(), 60, 6), "the second");
        channel.meet();
    });
    Host host;
    Qp qp(host);
    std::vector<std::uint8_t> whole(40020);
    fill(whole.data(), whole.size(), 5);
    std::memcpy(&host.buffer[500], whole.data(), 3);
    std::memcpy(&host.buffer[10000], whole.data() + 3, 40000);
    std::memcpy(&host.buffer[9], whole.data() + 40003, 17);
    qp.connect(child.channel());
    ASSERT_EQ(qp.send(1, {host.sge(500, 3), host.sge(10000, 40000), host.sge(9, 17)}), 0);
    EXPECT_EQ(host.wait().status, IBV_WC_SUCCESS);
    fill(whole.data(), 60, 6);
    std::memcpy(&host.buffer[500], whole.data(), 20);
    std::memcpy(&host.buffer[600], whole.data() + 20, 40);
    ASSERT_EQ(
        qp.send(2, {host.sge(500, 20), host.sge(600, 40)}, IBV_SEND_INLINE | IBV_SEND_SIGNALED), 0);
    EXPECT_EQ(host.wait().status, IBV_WC_SUCCESS);
    child.channel().meet();
    EXPECT_EQ(child.wait(), 0);
}

TEST_P(VerbsTransfer, WritesAndReadsOfAllSizesMoveTheData) {
    Child child(echo);
    Host host;
    Qp qp(host);
    const Address peer = qp.connect(child.channel());
    std::uint32_t round = 0;
    for (const std::uint32_t size : kSizes) {
        ++round;
        fill(host.buffer.data(), size, round);
        ASSERT_EQ(
            qp.rdma(1, IBV_WR_RDMA_WRITE, {host.sge(0, size)}, peer.address + round, peer.rkey), 0);
        const ibv_wc written = host.wait();
        ASSERT_EQ(written.status, IBV_WC_SUCCESS) << size;
        EXPECT_EQ(written.opcode, IBV_WC_RDMA_WRITE);
        const std::size_t back = 2 << 20;
        ASSERT_EQ(qp.rdma(2, IBV_WR_RDMA_READ,
                          {host.sge(back, size / 3), host.sge(back + size / 3, size - size / 3)},
                          peer.address + round, peer.rkey),
                  0);
        const ibv_wc read = host.wait();
        ASSERT_EQ(read.status, IBV_WC_SUCCESS) << size;
        EXPECT_EQ(read.opcode, IBV_WC_RDMA_READ);
        EXPECT_EQ(read.byte_len, size);
        EXPECT_TRUE(holds(host.buffer.data() + back, size, round)) << size;
    }
    child.channel().send('q');
    EXPECT_EQ(child.wait(), 0);
}

TEST_P(VerbsTransfer, ImmediateDataArrivesWithSendsAndWrites) {
    Child child([](Channel& channel) {
        Host host;
        Qp qp(host);
        for (int i = 0; i < 2; ++i) qp.post_receive(10 + i, {host.sge(0, 64)});
        qp.connect(channel);
        const ibv_wc sent = host.wait();
        require(sent.opcode == IBV_WC_RECV && (sent.wc_flags & IBV_WC_WITH_IMM), "send with imm");
        require(ntohl(sent.imm_data) == 0xdeadbeef && sent.byte_len == 8, "its data");
        const ibv_wc written = host.wait();
        require(written.opcode == IBV_WC_RECV_RDMA_WITH_IMM, "write with imm");
        require((written.wc_flags & IBV_WC_WITH_IMM) && ntohl(written.imm_data) == 7, "its imm");
        require(written.byte_len == 5000 && written.wr_id == 11, "its length and receive");
        require(holds(&host.buffer[100000], 5000, 3), "its data");
        channel.meet();
    });
    Host host;
    Qp qp(host);
    const Address peer = qp.connect(child.channel());
    fill(host.buffer.data(), 5000, 3);
    ASSERT_EQ(qp.rdma(1, IBV_WR_SEND_WITH_IMM, {host.sge(0, 8)}, 0, 0, IBV_SEND_SIGNALED,
                      htonl(0xdeadbeef)),
              0);
    ASSERT_EQ(qp.rdma(2, IBV_WR_RDMA_WRITE_WITH_IMM, {host.sge(0, 5000)}, peer.address + 100000,
                      peer.rkey, IBV_SEND_SIGNALED, htonl(7)),
              0);
    EXPECT_EQ(host.wait().status, IBV_WC_SUCCESS);
    EXPECT_EQ(host.wait().status, IBV_WC_SUCCESS);
    child.channel().meet();
    EXPECT_EQ(child.wait(), 0);
}

TEST_P(VerbsTransfer, AtomicsOfTwoProcessesLoseNothing) {
    const int kAdds = scaled(2000);
    const auto add = [kAdds](Channel& channel) {
        Host host;
        Qp qp(host);
        const Address peer = qp.connect(channel);
        for (int i = 0; i < kAdds; ++i) {
            qp.atomic(1, IBV_WR_ATOMIC_FETCH_AND_ADD, host.sge(0, 8), peer.address, peer.rkey, 3);
            require(host.wait().status == IBV_WC_SUCCESS, "added");
        }
        channel.meet();
    };
    Child first(add);
    Child second(add);
    Host host;
    Qp one(host);
    Qp two(host);
    auto* word = reinterpret_cast<std::uint64_t*>(host.buffer.data());
    *word = 5;
    one.connect(first.channel());
    two.connect(second.channel());
    first.channel().meet();
    second.channel().meet();
    EXPECT_EQ(__atomic_load_n(word, __ATOMIC_ACQUIRE), 5u + 6u * static_cast<unsigned>(kAdds));
    EXPECT_EQ(first.wait(), 0);
    EXPECT_EQ(second.wait(), 0);
}

TEST_P(VerbsTransfer, CompareAndSwapSwapsOnlyWhatMatches) {
    Child child(echo);
    Host host;
    Qp qp(host);
    const Address peer = qp.connect(child.channel());
    auto* found = reinterpret_cast<std::uint64_t*>(host.buffer.data());
    const auto swap = [&](std::uint64_t compare, std::uint64_t value) {
        qp.atomic(1, IBV_WR_ATOMIC_CMP_AND_SWP, host.sge(0, 8), peer.address + 8, peer.rkey,
                  compare, value);
        const ibv_wc wc = host.wait();
        EXPECT_EQ(wc.status, IBV_WC_SUCCESS);
        EXPECT_EQ(wc.opcode, IBV_WC_COMP_SWAP);
        return *found;
    };
    EXPECT_EQ(swap(0, 41), 0u);
    EXPECT_EQ(swap(40, 50), 41u);
    EXPECT_EQ(swap(41, 42), 41u);
    EXPECT_EQ(swap(0, 0), 42u);
    child.channel().send('q');
    EXPECT_EQ(child.wait(), 0);
}

TEST_P(VerbsTransfer, TwoQueuePairsOfOneProcessTalk) {
    Host host;
    Qp a(host);
    Qp b(host);
    a.connect(b.address());
    b.connect(a.address());
    for (const std::uint32_t size : kSizes) {
        fill(host.buffer.data(), size, size);
        const std::size_t to = 2 << 20;
        ASSERT_EQ(b.post_receive(1, {host.sge(to, size)}), 0);
        ASSERT_EQ(a.send(2, {host.sge(0, size)}), 0);
        EXPECT_EQ(host.wait().status, IBV_WC_SUCCESS);
        EXPECT_EQ(host.wait().status, IBV_WC_SUCCESS);
        EXPECT_TRUE(holds(host.buffer.data() + to, size, size)) << size;
    }
}

TEST_P(VerbsTransfer, UnsignalledRequestsCompleteSilently) {
    Child child(echo);
    Host host;
    Qp qp(host);
    const Address peer = qp.connect(child.channel());
    for (int i = 0; i < 10; ++i)
        ASSERT_EQ(qp.rdma(5, IBV_WR_RDMA_WRITE, {host.sge(0, 8)}, peer.address, peer.rkey, 0), 0);
    ASSERT_EQ(qp.rdma(6, IBV_WR_RDMA_WRITE, {host.sge(0, 8)}, peer.address, peer.rkey), 0);
    EXPECT_EQ(host.wait().wr_id, 6u);
    EXPECT_TRUE(host.is_empty());
    child.channel().send('q');
    EXPECT_EQ(child.wait(), 0);
}

TEST_P(VerbsTransfer, AFullSendQueueRefusesAndWorksAgainAfterADrain) {
    Child child(echo);
    Options options;
    options.depth = 8;
    Host host(options);
    Qp qp(host);
    const Address peer = qp.connect(child.channel());
    const auto write = [&] {
        return qp.rdma(1, IBV_WR_RDMA_WRITE, {host.sge(0, 8)}, peer.address, peer.rkey);
    };
    for (int i = 0; i < 8; ++i) ASSERT_EQ(write(), 0);
    EXPECT_EQ(write(), ENOMEM);
    for (int i = 0; i < 8; ++i) EXPECT_EQ(host.wait().status, IBV_WC_SUCCESS);
    EXPECT_EQ(write(), 0);
    EXPECT_EQ(host.wait().status, IBV_WC_SUCCESS);
    child.channel().send('q');
    EXPECT_EQ(child.wait(), 0);
}

}  // namespace
}  // namespace test
