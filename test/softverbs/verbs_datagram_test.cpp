// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Unreliable datagrams: what arrives, how its completion describes it and the sender, and what is
/// lost silently.
#include "test/softverbs/datagram_pair.hpp"

#include <endian.h>

#include <fstream>
#include <map>

#include "test/support/sanitizer.hpp"

namespace test {
namespace {

class VerbsDatagram : public testing::Test {
  protected:
    TemporaryFabric fabric_;
};

constexpr std::uint32_t kSizes[] = {0, 1, 17, 176, 177, 1000, 4095, kMtu};

void expect_header(const ibv_grh& header, const Host& host, std::uint32_t payload) {
    require(be32toh(header.version_tclass_flow) == (6u << 28 | 0xa5u << 20 | 0x54321),
            "version, traffic class and flow label");
    require(be16toh(header.paylen) == (payload + 3) / 4 * 4 + 28, "payload and other headers");
    require(header.next_hdr == 0x1b && header.hop_limit == 64, "next header and hop limit");
    require(std::memcmp(&header.sgid, &host.gid, 16) == 0, "the sender's GID");
    require(std::memcmp(&header.dgid, &host.gid, 16) == 0, "the receiver's GID");
}

/// Receives one message of each size, with and without a route header. Announces each receive.
void receive_all_sizes(Channel& channel) {
    Host host;
    Datagrams qp(host);
    const std::vector<std::uint8_t> untouched(kHeader, 0xee);
    channel.send(qp.number());
    const auto sender = channel.receive<std::uint32_t>();
    for (const bool global : {false, true}) {
        for (const std::uint32_t size : kSizes) {
            std::fill(host.buffer.begin(), host.buffer.end(), std::uint8_t{0xee});
            // In three pieces, the first of which ends within the route header.
            require(
                qp.receive(size, {host.sge(0, 24), host.sge(64, 100), host.sge(1000, 5000)}) == 0,
                "a receive is posted");
            channel.send('r');
            const ibv_wc wc = host.wait();
            require(wc.status == IBV_WC_SUCCESS && wc.opcode == IBV_WC_RECV, "received");
            require(wc.wr_id == size && wc.byte_len == kHeader + size, "with the header's length");
            require(wc.src_qp == sender && wc.qp_num == qp.number(), "from whom and for whom");
            require(wc.slid == host.port.lid && wc.sl == 3 && wc.pkey_index == 0, "the path");
            require(wc.wc_flags == unsigned(IBV_WC_WITH_IMM | (global ? IBV_WC_GRH : 0)), "flags");
            require(wc.imm_data == size + 5, "immediate data");
            std::vector<std::uint8_t> whole(host.buffer.begin(), host.buffer.begin() + 24);
            whole.insert(whole.end(), &host.buffer[64], &host.buffer[164]);
            whole.insert(whole.end(), &host.buffer[1000], &host.buffer[6000]);
            require(holds(&whole[kHeader], size, size), "the bytes");
            ibv_grh header;
            std::memcpy(&header, whole.data(), kHeader);
            if (global) expect_header(header, host, size);
            if (!global) require(std::memcmp(&header, untouched.data(), kHeader) == 0, "no header");
            require(whole[kHeader + size] == 0xee, "nothing behind it");
        }
    }
    channel.send('e');
}

TEST_F(VerbsDatagram, CarriesMessagesOfAllSizesWithAndWithoutRouteHeader) {
    Child child(receive_all_sizes);
    Host host;
    Datagrams qp(host);
    const auto receiver = child.channel().receive<std::uint32_t>();
    child.channel().send(qp.number());
    for (const bool global : {false, true}) {
        ibv_ah* const by = qp.handle(global);
        for (const std::uint32_t size : kSizes) {
            child.channel().receive<char>();
            fill(host.buffer.data(), size, size);
            const std::uint32_t half = size / 2;
            ASSERT_EQ(qp.send(7, {host.sge(0, half), host.sge(half, size - half)},
                              {.to = receiver,
                               .by = by,
                               .opcode = IBV_WR_SEND_WITH_IMM,
                               .immediate = size + 5}),
                      0);
            const ibv_wc wc = host.wait();
            EXPECT_EQ(wc.status, IBV_WC_SUCCESS);
            EXPECT_EQ(wc.opcode, IBV_WC_SEND);
            EXPECT_EQ(wc.wr_id, 7u);
        }
    }
    child.channel().receive<char>();
    EXPECT_EQ(child.wait(), 0);
}

/// The child knows the other end only from the completion of what it received.
TEST_F(VerbsDatagram, AnswersThroughAHandleMadeFromACompletion) {
    Child child([](Channel& channel) {
        Host host;
        Datagrams qp(host);
        for (int round = 0; round < 2; ++round)
            qp.receive(0, {host.sge(8192u * round, kHeader + kMtu)});
        channel.send(qp.number());
        for (int round = 0; round < 2; ++round) {
            ibv_wc wc = host.wait();
            auto* header = reinterpret_cast<ibv_grh*>(&host.buffer[8192u * round]);
            ibv_ah* back = qp.keep(ibv_create_ah_from_wc(host.pd, &wc, header, 1));
            require(qp.send(1, {host.sge(8192u * round + kHeader, 100)},
                            {.to = wc.src_qp, .by = back}) == 0,
                    "the answer is sent");
            require(host.wait().opcode == IBV_WC_SEND, "and done");
        }
        channel.receive<char>();
    });
    Host host;
    Datagrams qp(host);
    const auto peer = child.channel().receive<std::uint32_t>();
    for (const bool global : {false, true}) {
        ASSERT_EQ(qp.receive(2, {host.sge(8192, kHeader + kMtu)}), 0);
        fill(host.buffer.data(), 100, global);
        ASSERT_EQ(qp.send(1, {host.sge(0, 100)}, {.to = peer, .by = qp.handle(global)}), 0);
        // Both completions, in either order: the answer may overtake.
        const ibv_wc first = host.wait();
        const ibv_wc second = host.wait();
        const ibv_wc wc = first.opcode == IBV_WC_RECV ? first : second;
        EXPECT_EQ(wc.wr_id, 2u);
        EXPECT_EQ(wc.src_qp, peer);
        EXPECT_EQ((wc.wc_flags & IBV_WC_GRH) != 0, global);
        EXPECT_TRUE(holds(&host.buffer[8192 + kHeader], 100, global));
        if (global) {
            auto* header = reinterpret_cast<ibv_grh*>(&host.buffer[8192]);
            ibv_ah_attr attributes;
            ibv_wc received = wc;
            ASSERT_EQ(ibv_init_ah_from_wc(host.context, 1, &received, header, &attributes), 0);
            EXPECT_EQ(attributes.grh.traffic_class, 0xa5);
            EXPECT_EQ(attributes.grh.flow_label, 0x54321u);
            EXPECT_EQ(attributes.dlid, host.port.lid);
            EXPECT_EQ(attributes.sl, 3);
        }
    }
    child.channel().send('e');
    EXPECT_EQ(child.wait(), 0);
}

/// There are as many receives as messages, so none may be lost, whoever sends first.
TEST_F(VerbsDatagram, ReceivesFromManyAtOnceWithoutLossAndInOrderOfEach) {
    constexpr std::uint32_t kSenders = 4;
    const auto messages = static_cast<std::uint32_t>(scaled(250));
    Options options;
    options.depth = std::min<std::uint32_t>(kSenders * messages, 32768);
    options.cq_entries = static_cast<int>(options.depth) + 16;
    options.buffer =
        std::size_t{options.depth} * 256;  // messages are placed before they are polled
    std::vector<std::unique_ptr<Child>> children;
    for (std::uint32_t s = 0; s < kSenders; ++s) {
        children.push_back(std::make_unique<Child>([&, s](Channel& channel) {
            Host sender;
            Datagrams from(sender);
            ibv_ah* const by = from.handle(s % 2 != 0);
            const auto to = channel.receive<std::uint32_t>();
            for (std::uint32_t i = 0; i < messages; ++i) {
                std::memcpy(sender.buffer.data(), &i, sizeof i);
                const int posted = from.send(i, {sender.sge(0, 64)}, {.to = to, .by = by});
                require(posted == 0 && sender.wait().status == IBV_WC_SUCCESS, "sent");
            }
            channel.receive<char>();
        }));
    }
    Host host(options);
    Datagrams qp(host);
    for (std::uint32_t i = 0; i < options.depth; ++i)
        ASSERT_EQ(qp.receive(i, {host.sge(i * 256, 256)}), 0);
    for (auto& child : children) child->channel().send(qp.number());
    std::map<std::uint32_t, std::uint32_t> seen;
    for (std::uint32_t i = 0; i < kSenders * messages; ++i) {
        const ibv_wc wc = host.wait();
        ASSERT_EQ(wc.status, IBV_WC_SUCCESS);
        std::uint32_t number = 0;
        std::memcpy(&number, &host.buffer[wc.wr_id * 256 + kHeader], sizeof number);
        ASSERT_EQ(number, seen[wc.src_qp]++) << "from " << wc.src_qp;
        ASSERT_EQ(qp.receive(wc.wr_id, {host.sge(wc.wr_id * 256, 256)}), 0);
    }
    EXPECT_EQ(seen.size(), kSenders);
    for (auto& child : children) {
        child->channel().send('e');
        EXPECT_EQ(child->wait(), 0);
    }
}

/// Each of these sends completes successfully without a message arriving; a valid one arrives
/// later.
TEST_F(VerbsDatagram, LosesWhatHasNoReceiverWithoutAWord) {
    Host host;
    Datagrams qp(host);
    Datagrams receiver(host);
    Datagrams not_ready(host);
    ASSERT_EQ(not_ready.to(IBV_QPS_RESET), 0);
    Qp connected(host);
    ASSERT_EQ(connected.ready_to_receive(connected.address()), 0);
    ASSERT_EQ(connected.post_receive(1, {host.sge(0, 4096)}), 0);
    ibv_ah* const by = qp.handle();
    ibv_ah_attr elsewhere{};
    elsewhere.port_num = 1;
    elsewhere.dlid = static_cast<std::uint16_t>(host.port.lid % 0xbffe + 1);
    ibv_ah* const other_lid = qp.keep(ibv_create_ah(host.pd, &elsewhere));
    elsewhere.is_global = 1;
    elsewhere.grh.dgid = host.gid;
    elsewhere.grh.dgid.raw[7] ^= 1;
    ibv_ah* const other_subnet = qp.keep(ibv_create_ah(host.pd, &elsewhere));

    const auto loses = [&](std::uint32_t length, const Datagrams::Message& message) {
        ASSERT_EQ(qp.send(1, {host.sge(0, length)}, message), 0);
        const ibv_wc wc = host.wait();
        EXPECT_EQ(wc.opcode, IBV_WC_SEND);
        EXPECT_EQ(wc.status, IBV_WC_SUCCESS);
        EXPECT_EQ(qp.state(), IBV_QPS_RTS);
    };
    loses(8, {.to = receiver.number(), .by = by});  // no receive
    ASSERT_EQ(receiver.receive(5, {host.sge(8192, kHeader + 8)}), 0);
    loses(9, {.to = receiver.number(), .by = by});                   // too long for the receive
    loses(8, {.to = receiver.number(), .by = by, .key = kKey + 1});  // not its Q_Key
    loses(8, {.to = receiver.number(), .by = other_lid});
    loses(8, {.to = receiver.number(), .by = other_subnet});
    loses(8, {.to = not_ready.number(), .by = by});
    loses(8, {.to = connected.get()->qp_num, .by = by});
    loses(8, {.to = 0xfffffe, .by = by});
    loses(8, {.to = receiver.number() ^ 0xff, .by = by});
    fill(host.buffer.data(), 8, 3);
    ASSERT_EQ(qp.send(1, {host.sge(0, 8)}, {.to = receiver.number(), .by = by, .flags = 0}), 0);
    const ibv_wc wc = host.wait();
    EXPECT_EQ(wc.wr_id, 5u);
    EXPECT_TRUE(holds(&host.buffer[8192 + kHeader], 8, 3));
    EXPECT_TRUE(host.is_empty());
}

TEST_F(VerbsDatagram, FindsAQueuePairThatTookTheNumberOfOneThatIsGone) {
    Host host;
    Datagrams qp(host);
    ibv_ah* const by = qp.handle();
    auto first = std::make_unique<Datagrams>(host);
    const std::uint32_t number = first->number();
    ASSERT_EQ(qp.send(1, {host.sge(0, 8)}, {.to = number, .by = by}), 0);
    EXPECT_EQ(host.wait().status, IBV_WC_SUCCESS);
    first.reset();
    ASSERT_EQ(qp.send(1, {host.sge(0, 8)}, {.to = number, .by = by}), 0);
    EXPECT_EQ(host.wait().status, IBV_WC_SUCCESS);
    // Freed numbers are reused last.
    std::vector<std::unique_ptr<Datagrams>> others;
    while (others.empty() || others.back()->number() != number) {
        ASSERT_LT(others.size(), 4096u);
        others.push_back(std::make_unique<Datagrams>(host));
        if (others.size() > 1 && others[others.size() - 2]->number() != number)
            others.erase(others.end() - 2);
    }
    ASSERT_EQ(others.back()->receive(4, {host.sge(8192, 256)}), 0);
    // The absence of a number is cached for a moment.
    EXPECT_TRUE(eventually([&] {
        if (qp.send(1, {host.sge(0, 8)}, {.to = number, .by = by}) != 0) return false;
        return host.wait().wr_id == 4;
    }));
}

TEST_F(VerbsDatagram, RefusesMessagesLongerThanTheMtuAndGoesOnWhenTold) {
    Host host;
    Datagrams qp(host);
    ibv_ah* const by = qp.handle();
    ASSERT_EQ(qp.receive(5, {host.sge(8192, 8192)}), 0);
    ASSERT_EQ(qp.send(1, {host.sge(0, kMtu + 1)}, {.to = qp.number(), .by = by}), 0);
    EXPECT_EQ(host.wait().status, IBV_WC_LOC_LEN_ERR);
    EXPECT_EQ(qp.state(), IBV_QPS_SQE);
    ASSERT_EQ(qp.send(2, {host.sge(0, 8)}, {.to = qp.number(), .by = by}), 0);
    EXPECT_EQ(host.wait().status, IBV_WC_WR_FLUSH_ERR);
    ASSERT_EQ(qp.to(IBV_QPS_RTS), 0);
    ASSERT_EQ(qp.send(3, {host.sge(0, 8)}, {.to = qp.number(), .by = by, .flags = 0}), 0);
    EXPECT_EQ(host.wait().wr_id, 5u);
}

TEST_F(VerbsDatagram, RefusesRequestsThatAreNoDatagrams) {
    Host host;
    Datagrams qp(host);
    ibv_ah* const by = qp.handle();
    for (const ibv_wr_opcode opcode :
         {IBV_WR_RDMA_WRITE, IBV_WR_RDMA_READ, IBV_WR_ATOMIC_FETCH_AND_ADD, IBV_WR_SEND_WITH_INV})
        EXPECT_EQ(qp.send(1, {host.sge(0, 8)}, {.to = 1, .by = by, .opcode = opcode}), EINVAL);
    EXPECT_EQ(qp.send(1, {host.sge(0, 8)}, {.to = 1, .by = nullptr}), EINVAL);
}

TEST_F(VerbsDatagram, UsesItsOwnKeyWhereTheHighestBitIsSet) {
    Host host;
    Datagrams qp(host, 0x80010000);
    ibv_ah* const by = qp.handle();
    ASSERT_EQ(qp.receive(5, {host.sge(8192, 256)}), 0);
    ASSERT_EQ(
        qp.send(1, {host.sge(0, 8)}, {.to = qp.number(), .by = by, .key = 0x80000000, .flags = 0}),
        0);
    EXPECT_EQ(host.wait().wr_id, 5u);
}

TEST_F(VerbsDatagram, SendsInlineDataThatTheCallerChangesAtOnce) {
    Child child([](Channel& channel) {
        Host host;
        Datagrams qp(host);
        qp.receive(1, {host.sge(0, 256)});
        channel.send(qp.number());
        require(host.wait().byte_len == kHeader + 100, "received");
        require(holds(&host.buffer[kHeader], 100, 9), "what was there at the post");
        channel.send('e');
    });
    Host host;
    Datagrams qp(host);
    const auto peer = child.channel().receive<std::uint32_t>();
    fill(host.buffer.data(), 100, 9);
    // The first message waits until its destination is found.
    ibv_sge unregistered = host.sge(0, 100);
    unregistered.lkey = 0;
    ASSERT_EQ(
        qp.send(1, {unregistered},
                {.to = peer, .by = qp.handle(), .flags = IBV_SEND_INLINE | IBV_SEND_SIGNALED}),
        0);
    std::fill(host.buffer.begin(), host.buffer.begin() + 100, std::uint8_t{0});
    EXPECT_EQ(host.wait().status, IBV_WC_SUCCESS);
    child.channel().receive<char>();
    EXPECT_EQ(child.wait(), 0);
}

/// UCX asks for less than it needs, and reuses the buffer of a message that still waits.
TEST_F(VerbsDatagram, TakesMoreInlineDataThanUcxAsksFor) {
    Options options;
    options.inline_data = 64;
    Host host(options);
    Datagrams qp(host), receiver(host);
    ASSERT_EQ(receiver.receive(7, {host.sge(1000, 500)}), 0);
    std::fill_n(host.buffer.begin(), 128, std::uint8_t{0x5a});
    ASSERT_EQ(qp.send(1, {host.sge(0, 128)},
                      {.to = receiver.number(), .by = qp.handle(), .flags = IBV_SEND_INLINE}),
              0);
    std::fill_n(host.buffer.begin(), 128, std::uint8_t{0});
    EXPECT_EQ(host.wait().wr_id, 7u);
    EXPECT_EQ(host.buffer[1000 + kHeader], 0x5a);
    EXPECT_EQ(host.buffer[1000 + kHeader + 127], 0x5a);
}

TEST_F(VerbsDatagram, WakesAReceiverThatSleeps) {
    constexpr int kRounds = 200;
    Options options;
    options.channel = true;
    options.depth = 2 * kRounds;
    Child child([&](Channel& channel) {
        Host host(options);
        Datagrams qp(host);
        qp.receive(0, {host.sge(0, 256)});
        channel.send(qp.number());
        const auto peer = channel.receive<std::uint32_t>();
        ibv_ah* const by = qp.handle();
        for (int round = 0; round < kRounds; ++round) {
            require(sleep_for_completion(host).opcode == IBV_WC_RECV, "woken");
            qp.receive(0, {host.sge(0, 256)});
            require(qp.send(1, {host.sge(512, 8)}, {.to = peer, .by = by, .flags = 0}) == 0,
                    "sent");
        }
        channel.receive<char>();
    });
    Host host(options);
    Datagrams qp(host);
    const auto peer = child.channel().receive<std::uint32_t>();
    child.channel().send(qp.number());
    ibv_ah* const by = qp.handle();
    for (int round = 0; round < kRounds; ++round) {
        ASSERT_EQ(qp.receive(0, {host.sge(0, 256)}), 0);
        ASSERT_EQ(qp.send(1, {host.sge(512, 8)}, {.to = peer, .by = by, .flags = 0}), 0);
        EXPECT_EQ(sleep_for_completion(host).opcode, IBV_WC_RECV);
    }
    child.channel().send('e');
    EXPECT_EQ(child.wait(), 0);
}

TEST_F(VerbsDatagram, HoldsBackWhatIsPostedWhileItDrainsAndFlushesInTheErrorState) {
    Host host;
    Datagrams qp(host);
    ibv_ah* const by = qp.handle();
    ASSERT_EQ(qp.receive(5, {host.sge(8192, 256)}), 0);
    ASSERT_EQ(qp.receive(6, {host.sge(8192, 256)}), 0);
    ASSERT_EQ(qp.to(IBV_QPS_SQD), 0);
    ASSERT_EQ(qp.send(1, {host.sge(0, 8)}, {.to = qp.number(), .by = by, .flags = 0}), 0);
    EXPECT_TRUE(host.is_empty());
    ASSERT_EQ(qp.to(IBV_QPS_RTS), 0);
    EXPECT_EQ(host.wait().wr_id, 5u);
    ASSERT_EQ(qp.to(IBV_QPS_ERR), 0);
    const ibv_wc flushed = host.wait();
    EXPECT_EQ(flushed.wr_id, 6u);
    EXPECT_EQ(flushed.status, IBV_WC_WR_FLUSH_ERR);
    ASSERT_EQ(qp.send(2, {host.sge(0, 8)}, {.to = qp.number(), .by = by}), 0);
    EXPECT_EQ(host.wait().status, IBV_WC_WR_FLUSH_ERR);
    ASSERT_EQ(qp.to(IBV_QPS_RESET), 0);
    ASSERT_EQ(qp.to(IBV_QPS_INIT, IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY), 0);
    ASSERT_EQ(qp.receive(7, {host.sge(8192, 256)}), 0);
    ASSERT_EQ(qp.to(IBV_QPS_RTR), 0);
    ASSERT_EQ(qp.to(IBV_QPS_RTS, IBV_QP_SQ_PSN), 0);
    ASSERT_EQ(qp.send(3, {host.sge(0, 8)}, {.to = qp.number(), .by = by, .flags = 0}), 0);
    EXPECT_EQ(host.wait().wr_id, 7u);
}

TEST_F(VerbsDatagram, AsksForTheAttributesOfItsTypeAndNoOthers) {
    Host host;
    Datagrams qp(host);
    ASSERT_EQ(qp.to(IBV_QPS_RESET), 0);
    constexpr int kInit = IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY;
    for (const int missing : {IBV_QP_PKEY_INDEX, IBV_QP_PORT, IBV_QP_QKEY})
        EXPECT_EQ(qp.to(IBV_QPS_INIT, kInit & ~missing), EINVAL) << missing;
    EXPECT_EQ(qp.to(IBV_QPS_INIT, kInit | IBV_QP_ACCESS_FLAGS), EINVAL);
    EXPECT_EQ(qp.to(IBV_QPS_INIT, kInit), 0);
    EXPECT_EQ(qp.to(IBV_QPS_RTR, IBV_QP_DEST_QPN), EINVAL);
    EXPECT_EQ(qp.to(IBV_QPS_RTR), 0);
    EXPECT_EQ(qp.to(IBV_QPS_RTS), EINVAL);
    EXPECT_EQ(qp.to(IBV_QPS_RTS, IBV_QP_SQ_PSN), 0);
    ibv_qp_attr attributes;
    ibv_qp_init_attr init;
    ASSERT_EQ(ibv_query_qp(qp.get(), &attributes, IBV_QP_QKEY, &init), 0);
    EXPECT_EQ(attributes.qkey, kKey);
    EXPECT_EQ(init.qp_type, IBV_QPT_UD);
}

TEST_F(VerbsDatagram, MakesHandlesForItsOnePortAndCountsThemInTheDomain) {
    Host host;
    ibv_pd* const pd = ibv_alloc_pd(host.context);
    ibv_ah_attr attributes{};
    attributes.dlid = host.port.lid;
    attributes.port_num = 2;
    EXPECT_EQ(ibv_create_ah(pd, &attributes), nullptr);
    EXPECT_EQ(errno, EINVAL);
    attributes.port_num = 1;
    attributes.is_global = 1;
    attributes.grh.dgid = host.gid;
    attributes.grh.sgid_index = 1;
    EXPECT_EQ(ibv_create_ah(pd, &attributes), nullptr);
    EXPECT_EQ(errno, EINVAL);
    attributes.grh.sgid_index = 0;
    ibv_ah* const ah = ibv_create_ah(pd, &attributes);
    ASSERT_NE(ah, nullptr);
    EXPECT_EQ(ah->pd, pd);
    EXPECT_EQ(ah->context, host.context);
    EXPECT_EQ(ibv_dealloc_pd(pd), EBUSY);
    EXPECT_EQ(ibv_destroy_ah(ah), 0);
    EXPECT_EQ(ibv_dealloc_pd(pd), 0);
}

constexpr std::size_t kPlace = 8192;

/// What to send: to whom, and how many bytes; `to` 0 ends.
struct Order {
    std::uint32_t to = 0;
    std::uint32_t size = 0;
};

void send_as_told(Channel& channel) {
    Host host;
    Datagrams qp(host);
    ibv_ah* const plain = qp.handle();
    ibv_ah* const global = qp.handle(true);
    for (auto order = channel.receive<Order>(); order.to != 0; order = channel.receive<Order>()) {
        fill(host.buffer.data(), order.size, order.size);
        require(qp.send(1, {host.sge(0, order.size)},
                        {.to = order.to, .by = order.size % 2 == 0 ? plain : global}) == 0,
                "posted");
        require(host.wait().status == IBV_WC_SUCCESS, "sent");
        channel.send('s');
    }
}

/// Datagram queue pairs on one shared receive queue, and a process that sends to them.
class SharedReceiver {
  public:
    ~SharedReceiver() {
        sender_.channel().send(Order{});
        EXPECT_EQ(sender_.wait(), 0);
    }
    void post(std::uint64_t id, std::uint32_t length = kHeader + kMtu) {
        ASSERT_EQ(
            first.receive(id, {host.sge(id * kPlace, 24), host.sge(id * kPlace + 24, length - 24)}),
            0);
    }
    void send(const Datagrams& to, std::uint32_t size) {
        sender_.channel().send(Order{to.number(), size});
        sender_.channel().receive<char>();
    }
    void expect(const Datagrams& to, std::uint64_t id, std::uint32_t size) {
        const ibv_wc wc = host.wait();
        EXPECT_EQ(wc.status, IBV_WC_SUCCESS);
        EXPECT_EQ(wc.opcode, IBV_WC_RECV);
        EXPECT_EQ(wc.wr_id, id);
        EXPECT_EQ(wc.qp_num, to.number());
        EXPECT_EQ(wc.byte_len, kHeader + size);
        EXPECT_EQ(wc.slid, host.port.lid);
        EXPECT_EQ(wc.sl, 3);
        EXPECT_EQ(wc.wc_flags, size % 2 == 0 ? 0u : unsigned(IBV_WC_GRH));
        EXPECT_TRUE(holds(&host.buffer[id * kPlace + kHeader], size, size));
    }
    ibv_event_type next_event() {
        require(is_readable(host.context->async_fd), "an asynchronous event comes");
        ibv_async_event event;
        require(ibv_get_async_event(host.context, &event) == 0, "it can be fetched");
        ibv_ack_async_event(&event);
        return event.event_type;
    }
    int modify(std::uint32_t max_wr, std::uint32_t limit, int mask) {
        ibv_srq_attr attributes{};
        attributes.max_wr = max_wr;
        attributes.srq_limit = limit;
        return ibv_modify_srq(host.srq, &attributes, mask);
    }

  private:
    static Options with_few_shared_receives() {
        Options options;
        options.shared_receives = true;
        options.depth = 8;
        return options;
    }
    Child sender_{send_as_told};

  public:
    Host host{with_few_shared_receives()};
    Datagrams first{host};
    Datagrams second{host};
};

TEST_F(VerbsDatagram, SharesReceivesWithOtherQueuePairs) {
    SharedReceiver side;
    Qp connected(side.host);
    connected.connect(connected.address());
    std::uint64_t posted = 0;
    std::uint64_t completed = 0;
    const auto post = [&](int count) {
        for (; count > 0; --count) side.post(posted++ % 256);
    };
    const auto receive_each = [&] {
        for (const std::uint32_t size : kSizes) {
            for (Datagrams* to : {&side.first, &side.second}) {
                side.send(*to, size);
                side.expect(*to, completed++ % 256, size);
            }
            ASSERT_EQ(connected.send(9, {side.host.sge(4 << 10, 8)}), 0);
            for (const ibv_wc& wc : {side.host.wait(), side.host.wait()}) {
                ASSERT_EQ(wc.status, IBV_WC_SUCCESS);
                if (wc.opcode != IBV_WC_RECV) continue;
                EXPECT_EQ(wc.wr_id, completed++ % 256);
            }
            post(3);
        }
    };
    post(8);
    receive_each();
    // Enlarges the queue by sections that are made while the queue pairs exist.
    ASSERT_EQ(side.modify(100, 0, IBV_SRQ_MAX_WR), 0);
    post(92);
    for (int i = 0; i < 5; ++i) receive_each();
}

TEST_F(VerbsDatagram, ASharedReceiveThatIsTooShortWaitsForAMessageThatFits) {
    SharedReceiver side;
    side.post(1, kHeader + 8);
    side.post(2);
    side.send(side.first, 9);
    side.send(side.second, 8);
    side.expect(side.second, 1, 8);
    side.send(side.first, 9);
    side.expect(side.first, 2, 9);
    EXPECT_TRUE(side.host.is_empty());
}

TEST_F(VerbsDatagram, ReachesTheLimitOfASharedReceiveQueueAndLeavesItToOthersWhenItFails) {
    SharedReceiver side;
    for (std::uint64_t id = 0; id < 4; ++id) side.post(id);
    ASSERT_EQ(side.modify(0, 3, IBV_SRQ_LIMIT), 0);
    side.send(side.first, 100);
    side.expect(side.first, 0, 100);
    side.send(side.first, 100);
    side.expect(side.first, 1, 100);
    EXPECT_EQ(side.next_event(), IBV_EVENT_SRQ_LIMIT_REACHED);
    ASSERT_EQ(side.first.to(IBV_QPS_ERR), 0);
    EXPECT_EQ(side.next_event(), IBV_EVENT_QP_LAST_WQE_REACHED);
    side.send(side.first, 100);  // lost
    side.send(side.second, 100);
    side.expect(side.second, 2, 100);
    EXPECT_TRUE(side.host.is_empty());
}

TEST_F(VerbsDatagram, ASharedReceiveThatMayNotBeWrittenBreaksTheQueuePairThatTookIt) {
    SharedReceiver side;
    ibv_sge wrong = side.host.sge(0, 200);
    wrong.lkey ^= 0x00100000;
    ASSERT_EQ(side.first.receive(7, {wrong}), 0);
    side.send(side.first, 100);
    const ibv_wc wc = side.host.wait();
    EXPECT_EQ(wc.wr_id, 7u);
    EXPECT_EQ(wc.status, IBV_WC_LOC_PROT_ERR);
    EXPECT_EQ(side.first.state(), IBV_QPS_ERR);
    EXPECT_EQ(side.second.state(), IBV_QPS_RTS);
}

TEST_F(VerbsDatagram, PlacesEachMessageForAReceiverThatOnlyWatchesItsBuffer) {
    constexpr std::uint32_t kLengths[] = {1, 100, kMtu};
    Child child([&](Channel& channel) {
        Host host;
        Datagrams qp(host);
        const auto peer = channel.receive<std::uint32_t>();
        std::fill(host.buffer.begin(), host.buffer.end(), std::uint8_t{0x5a});
        ibv_ah* const by = qp.handle();
        for (const std::uint32_t length : kLengths) {
            require(qp.send(1, {host.sge(0, length)}, {.to = peer, .by = by}) == 0, "posted");
            require(host.wait().status == IBV_WC_SUCCESS, "sent");
            channel.meet();
        }
        channel.meet();
    });
    Host host;
    Datagrams qp(host);
    std::size_t at = 0;
    for (const std::uint32_t length : kLengths) {
        ASSERT_EQ(qp.receive(at, {host.sge(at, kHeader + length)}), 0);
        at += 8192;
    }
    child.channel().send(qp.number());
    at = 0;
    for (const std::uint32_t length : kLengths) {
        child.channel().meet();
        const std::uint8_t& last = host.buffer.data()[at + kHeader + length - 1];
        EXPECT_TRUE(eventually([&] { return watch(last) == 0x5a; })) << length;
        at += 8192;
    }
    for (const std::uint32_t length : kLengths) EXPECT_EQ(host.wait().byte_len, kHeader + length);
    child.channel().meet();
    EXPECT_EQ(child.wait(), 0);
}

std::size_t resident_bytes() {
    std::ifstream file("/proc/self/statm");
    std::size_t all = 0, resident = 0;
    file >> all >> resident;
    return resident * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

/// Sends to many destinations that do not exist: the oldest are forgotten, and one that exists is
/// still found.
TEST_F(VerbsDatagram, RemembersNoMoreDestinationsThanItHasRoomFor) {
    if (kAddressSanitizer || kThreadSanitizer) GTEST_SKIP() << "the sanitizer keeps freed memory";
    constexpr std::uint32_t kNobody = 0x700000;
    constexpr std::size_t kMost = 24 << 20;
    Host host;
    Datagrams qp(host);
    ibv_ah* const by = qp.handle();
    const auto send_to = [&](std::uint32_t number) {
        ASSERT_EQ(qp.send(1, {host.sge(0, 8)}, {.to = number, .by = by}), 0);
        EXPECT_EQ(host.wait().wr_id, 1u);
    };
    const std::size_t before = resident_bytes();
    for (std::uint32_t i = 0; i < 100000; ++i) send_to(kNobody + i);
    EXPECT_LT(resident_bytes(), before + kMost);
    ASSERT_EQ(qp.receive(4, {host.sge(8192, 256)}), 0);
    ASSERT_EQ(qp.send(1, {host.sge(0, 8)}, {.to = qp.number(), .by = by, .flags = 0}), 0);
    EXPECT_EQ(host.wait().wr_id, 4u);
}

TEST_F(VerbsDatagram, DropsThePayloadOfADatagramWhoseMemoryIsDeregisteredBeforeThePoll) {
    Host host;
    Datagrams qp(host);
    std::vector<std::uint8_t> memory(256);
    ibv_mr* const mr = ibv_reg_mr(host.pd, memory.data(), memory.size(), kAllAccess);
    ibv_ah* const by = qp.handle();
    ASSERT_EQ(qp.receive(4, {host.sge(8192, 256)}), 0);
    ASSERT_EQ(qp.receive(5, {{reinterpret_cast<std::uintptr_t>(memory.data()), 256, mr->lkey}}), 0);
    fill(host.buffer.data(), 100, 2);
    ASSERT_EQ(qp.send(1, {host.sge(0, 8)}, {.to = qp.number(), .by = by, .flags = 0}), 0);
    EXPECT_EQ(host.wait().wr_id, 4u);
    // The destination is known by now, so this message has arrived when the post returns.
    ASSERT_EQ(qp.send(1, {host.sge(0, 100)}, {.to = qp.number(), .by = by, .flags = 0}), 0);
    ASSERT_EQ(ibv_dereg_mr(mr), 0);
    const ibv_wc wc = host.wait();
    EXPECT_EQ(wc.wr_id, 5u);
    EXPECT_EQ(memory, std::vector<std::uint8_t>(256)) << "the memory may be somebody else's by now";
    EXPECT_EQ(wc.slid, host.port.lid);
}

TEST_F(VerbsDatagram, BreaksAReceiverWhoseReceiveItMayNotWrite) {
    Host host;
    Datagrams qp(host);
    Datagrams receiver(host);
    ibv_sge forbidden = host.sge(8192, 256);
    forbidden.lkey ^= 0x00100000;
    ASSERT_EQ(receiver.receive(5, {forbidden}), 0);
    ASSERT_EQ(
        qp.send(1, {host.sge(0, 8)}, {.to = receiver.number(), .by = qp.handle(), .flags = 0}), 0);
    const ibv_wc wc = host.wait();
    EXPECT_EQ(wc.wr_id, 5u);
    EXPECT_EQ(wc.status, IBV_WC_LOC_PROT_ERR);
    EXPECT_TRUE(eventually([&] { return receiver.state() == IBV_QPS_ERR; }));
    EXPECT_EQ(qp.state(), IBV_QPS_RTS);
}

}  // namespace
}  // namespace test
