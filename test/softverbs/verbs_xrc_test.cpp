// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// XRC: domains, queue pairs that send or receive, and the shared receive queues that requests
/// name.
#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include <set>

#include "providers/soft/softverbs/arena/fault_points.hpp"
#include "providers/soft/softverbs/verbs/completion_queue.hpp"
#include "test/softverbs/attacker.hpp"

namespace test {
namespace {

using softverbs::FaultPoint;

class VerbsXrc : public OnBothPaths {};
INSTANTIATE_ON_BOTH_PATHS(VerbsXrc);

class VerbsXrcObjects : public testing::Test {
  protected:
    TemporaryFabric fabric_;
};

constexpr std::size_t kStride = 4096;

ibv_xrcd* open_domain(ibv_context* context, int fd = -1, int flags = O_CREAT) {
    ibv_xrcd_init_attr wish{};
    wish.comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS;
    wish.fd = fd;
    wish.oflags = flags;
    return ibv_open_xrcd(context, &wish);
}

ibv_srq* make_queue(Host& host, ibv_xrcd* domain, ibv_cq* cq = nullptr) {
    ibv_srq_init_attr_ex wish{};
    wish.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD | IBV_SRQ_INIT_ATTR_XRCD |
                     IBV_SRQ_INIT_ATTR_CQ;
    wish.srq_type = IBV_SRQT_XRC;
    wish.pd = host.pd;
    wish.xrcd = domain;
    wish.cq = cq ? cq : host.cq;
    wish.attr.max_wr = 64;
    wish.attr.max_sge = 4;
    return ibv_create_srq_ex(host.context, &wish);
}

std::uint32_t number_of(ibv_srq* srq) {
    std::uint32_t number = 0;
    require(ibv_get_srq_num(srq, &number) == 0, "it has a number");
    return number;
}

ibv_qp* make_sender(Host& host) {
    ibv_qp_init_attr_ex wish{};
    wish.comp_mask = IBV_QP_INIT_ATTR_PD;
    wish.pd = host.pd;
    wish.qp_type = IBV_QPT_XRC_SEND;
    wish.send_cq = host.cq;
    wish.cap.max_send_wr = host.options.depth;
    wish.cap.max_send_sge = host.options.sges;
    wish.cap.max_inline_data = host.options.inline_data;
    return ibv_create_qp_ex(host.context, &wish);
}

ibv_qp* make_receiver(ibv_context* context, ibv_xrcd* domain) {
    ibv_qp_init_attr_ex wish{};
    wish.comp_mask = IBV_QP_INIT_ATTR_XRCD;
    wish.xrcd = domain;
    wish.qp_type = IBV_QPT_XRC_RECV;
    return ibv_create_qp_ex(context, &wish);
}

int post(ibv_srq* srq, std::uint64_t id, ibv_sge sge) {
    ibv_recv_wr wr{};
    wr.wr_id = id;
    wr.sg_list = &sge;
    wr.num_sge = 1;
    ibv_recv_wr* bad = nullptr;
    return ibv_post_srq_recv(srq, &wr, &bad);
}

/// What a requester has to know.
struct Door {
    Address receiver;
    std::uint32_t queues[2] = {0, 0};
};

/// A host with a domain, two shared receive queues, the second with a completion queue of its own,
/// and XRC_RECV queue pairs.
class Responder : public Host {
  public:
    explicit Responder(const Options& wished = {})
        : Host(wished),
          domain(open_domain(context)),
          other_cq(ibv_create_cq(context, options.cq_entries, this, channel, 0)) {
        require(domain && other_cq, "a domain is opened");
        queues[0] = make_queue(*this, domain);
        queues[1] = make_queue(*this, domain, other_cq);
        require(queues[0] && queues[1], "shared receive queues are made");
    }
    ~Responder() {
        receivers.clear();
        for (ibv_srq* queue : queues) {
            if (queue) ibv_destroy_srq(queue);
        }
        ibv_close_xrcd(domain);
        ibv_destroy_cq(other_cq);
    }
    /// Makes an XRC_RECV queue pair, connected with the sender at the other end of the channel.
    Qp& admit(Channel& channel) {
        receivers.push_back(std::make_unique<Qp>(*this, make_receiver(context, domain)));
        Qp& receiver = *receivers.back();
        channel.send(Door{receiver.address(), {number_of(queues[0]), number_of(queues[1])}});
        receiver.connect(channel.receive<Address>());
        channel.meet();
        return receiver;
    }
    void post_all(int count) {
        for (int i = 0; i < count; ++i) require(give(0, i) == 0 && give(1, i) == 0, "posted");
    }
    /// Posts receive `id` of one of the queues, with memory of its own.
    int give(int queue, std::uint64_t id, std::uint32_t length = kStride) {
        return post(queues[queue], id, sge(place(queue, id), length));
    }
    static std::size_t place(int queue, std::uint64_t id) { return (queue * 64 + id) * kStride; }
    ibv_wc wait_other() {
        ibv_wc wc;
        require(eventually([&] { return ibv_poll_cq(other_cq, 1, &wc) == 1; }), "it completes");
        return wc;
    }

    ibv_xrcd* const domain;
    ibv_cq* const other_cq;
    ibv_srq* queues[2] = {nullptr, nullptr};
    std::vector<std::unique_ptr<Qp>> receivers;
};

/// A host with an XRC_SEND queue pair.
class Requester : public Host {
  public:
    explicit Requester(Channel& channel, const Timing& timing = {})
        : qp(*this, make_sender(*this)) {
        channel.send(qp.address());
        door = channel.receive<Door>();
        qp.connect(door.receiver, timing);
        channel.meet();
    }
    int post(ibv_wr_opcode opcode, std::uint32_t srq_num, ibv_sge local, std::uint32_t imm = 0,
             std::size_t remote = 0, unsigned flags = IBV_SEND_SIGNALED) {
        std::vector<ibv_sge> sges{local};
        ibv_send_wr wr = Qp::request(7, opcode, sges, flags);
        wr.imm_data = imm;
        wr.wr.rdma.remote_addr = door.receiver.address + remote;
        wr.wr.rdma.rkey = door.receiver.rkey;
        wr.qp_type.xrc.remote_srqn = srq_num;
        return qp.post(wr);
    }
    int atomic(ibv_wr_opcode opcode, std::size_t remote, std::uint64_t compare_add,
               std::uint64_t swap = 0) {
        std::vector<ibv_sge> sges{sge(0, 8)};
        ibv_send_wr wr = Qp::request(7, opcode, sges);
        wr.wr.atomic.remote_addr = door.receiver.address + remote;
        wr.wr.atomic.rkey = door.receiver.rkey;
        wr.wr.atomic.compare_add = compare_add;
        wr.wr.atomic.swap = swap;
        wr.qp_type.xrc.remote_srqn = door.queues[1];
        return qp.post(wr);
    }
    ibv_wc_status send(int queue, std::uint32_t length, std::uint32_t round) {
        fill(buffer.data(), length, round);
        require(post(IBV_WR_SEND, door.queues[queue], sge(0, length)) == 0, "posted");
        return wait().status;
    }
    ibv_wc_status try_queue(std::uint32_t srq_num) {
        require(post(IBV_WR_SEND, srq_num, sge(0, 8)) == 0, "posted");
        return wait().status;
    }

    Qp qp;
    Door door;
};

ibv_async_event next_event(ibv_context* context) {
    pollfd descriptor{context->async_fd, POLLIN, 0};
    require(poll(&descriptor, 1, 30000) == 1, "an asynchronous event comes");
    ibv_async_event event;
    require(ibv_get_async_event(context, &event) == 0, "it can be fetched");
    ibv_ack_async_event(&event);
    return event;
}

/// Waits for an event of this type, and drops others.
ibv_async_event next_event(ibv_context* context, ibv_event_type type) {
    for (;;) {
        const ibv_async_event event = next_event(context);
        if (event.event_type == type) return event;
    }
}

constexpr std::uint32_t kLengths[] = {0, 8, 32, 100, 176, 600, 4096, 700000};

TEST_P(VerbsXrc, MessagesOfEachLengthReachTheQueueThatTheRequestNames) {
    Child child([](Channel& channel) {
        Requester requester(channel);
        for (std::uint32_t round = 0; round < 32; ++round) {
            const std::uint32_t length = kLengths[round / 2 % std::size(kLengths)];
            require(requester.send(round % 2, length, round) == IBV_WC_SUCCESS, "sent");
        }
        channel.meet();
    });
    Responder host;
    const Qp& receiver = host.admit(child.channel());
    for (std::uint32_t round = 0; round < 32; ++round) {
        const int queue = round % 2;
        const std::uint32_t length = kLengths[round / 2 % std::size(kLengths)];
        ASSERT_EQ(post(host.queues[queue], round, host.sge(0, 1 << 20)), 0);
        const ibv_wc wc = queue == 0 ? host.wait() : host.wait_other();
        ASSERT_EQ(wc.status, IBV_WC_SUCCESS);
        ASSERT_EQ(wc.opcode, IBV_WC_RECV);
        EXPECT_EQ(wc.wr_id, round);
        EXPECT_EQ(wc.qp_num, receiver.get()->qp_num);
        EXPECT_EQ(wc.byte_len, length);
        EXPECT_TRUE(holds(host.buffer.data(), length, round)) << length;
    }
    child.channel().meet();
    EXPECT_EQ(child.wait(), 0);
}

TEST_P(VerbsXrc, WritesReadsAndAtomicOperationsWorkAsOnReliableConnections) {
    Child child([](Channel& channel) {
        Requester requester(channel);
        const std::uint32_t queue = requester.door.queues[1];
        const auto done = [&](int cause) {
            require(cause == 0, "posted");
            const ibv_wc wc = requester.wait();
            require(wc.status == IBV_WC_SUCCESS, ibv_wc_status_str(wc.status));
        };
        fill(requester.buffer.data(), 300000, 1);
        done(requester.post(IBV_WR_RDMA_WRITE, queue, requester.sge(0, 300000)));
        done(requester.post(IBV_WR_RDMA_WRITE_WITH_IMM, queue, requester.sge(0, 8), 17, 1 << 20));
        done(requester.post(IBV_WR_SEND_WITH_IMM, queue, requester.sge(0, 40), 18));
        done(requester.post(IBV_WR_RDMA_READ, queue, requester.sge(1 << 20, 300000)));
        require(holds(&requester.buffer[1 << 20], 300000, 1), "read back");
        done(requester.post(IBV_WR_SEND, queue, requester.sge(0, 4), 0, 0,
                            IBV_SEND_SIGNALED | IBV_SEND_INLINE));
        std::uint64_t found = 0;
        done(requester.atomic(IBV_WR_ATOMIC_FETCH_AND_ADD, 2 << 20, 5));
        std::memcpy(&found, requester.buffer.data(), 8);
        require(found == 0, "nothing was there");
        done(requester.atomic(IBV_WR_ATOMIC_CMP_AND_SWP, 2 << 20, 5, 9));
        std::memcpy(&found, requester.buffer.data(), 8);
        require(found == 5, "the sum was there");
        channel.meet();
    });
    Responder host;
    for (int i = 0; i < 3; ++i) ASSERT_EQ(host.give(1, 32 + i, 64), 0);
    host.admit(child.channel());
    ibv_wc wc = host.wait_other();
    EXPECT_EQ(wc.opcode, IBV_WC_RECV_RDMA_WITH_IMM);
    EXPECT_EQ(wc.imm_data, 17u);
    wc = host.wait_other();
    EXPECT_EQ(wc.opcode, IBV_WC_RECV);
    EXPECT_EQ(wc.imm_data, 18u);
    EXPECT_EQ(host.wait_other().byte_len, 4u);
    child.channel().meet();
    std::uint64_t word = 0;
    std::memcpy(&word, &host.buffer[2 << 20], 8);
    EXPECT_EQ(word, 9u);
    EXPECT_EQ(child.wait(), 0);
}

void send_numbered(Channel& channel, int count) {
    Requester requester(channel);
    for (int i = 0; i < count; ++i) {
        std::memcpy(requester.buffer.data(), &i, sizeof i);
        const std::uint32_t queue = requester.door.queues[i % 2];
        require(requester.post(IBV_WR_SEND, queue, requester.sge(0, i % 3 ? 8 : 600)) == 0, "ok");
        require(requester.wait().status == IBV_WC_SUCCESS, "sent");
    }
    channel.meet();
}

TEST_P(VerbsXrc, TwoRequestersShareTwoQueuesAndEachKeepsItsOrder) {
    const int count = scaled(1500);
    Child first([count](Channel& channel) { send_numbered(channel, count); });
    Child second([count](Channel& channel) { send_numbered(channel, count); });
    Responder host;
    host.post_all(16);
    const std::uint32_t one = host.admit(first.channel()).get()->qp_num;
    const std::uint32_t two = host.admit(second.channel()).get()->qp_num;
    int next[2][2] = {{0, 1}, {0, 1}};  // by requester and queue
    for (int received = 0; received < 2 * count;) {
        for (int queue = 0; queue < 2; ++queue) {
            ibv_wc wc;
            if (ibv_poll_cq(queue == 0 ? host.cq : host.other_cq, 1, &wc) != 1) continue;
            ASSERT_EQ(wc.status, IBV_WC_SUCCESS);
            ASSERT_TRUE(wc.qp_num == one || wc.qp_num == two);
            int number = -1;
            std::memcpy(&number, &host.buffer[Responder::place(queue, wc.wr_id)], sizeof number);
            int& expected = next[wc.qp_num == two][queue];
            ASSERT_EQ(number, expected);
            expected += 2;
            ASSERT_EQ(host.give(queue, wc.wr_id), 0);
            ++received;
        }
    }
    first.channel().meet();
    second.channel().meet();
    EXPECT_EQ(first.wait(), 0);
    EXPECT_EQ(second.wait(), 0);
}

TEST_P(VerbsXrc, AWaitingRequestGoesOnOnceAReceiveIsPostedAndFailsWithoutOne) {
    Child child([](Channel& channel) {
        Requester patient(channel);
        require(patient.post(IBV_WR_SEND, patient.door.queues[0], patient.sge(0, 8)) == 0,
                "posted");
        channel.meet();
        require(patient.wait().status == IBV_WC_SUCCESS, "sent");
        Timing timing;
        timing.rnr_retry = 1;
        Requester hasty(channel, timing);
        require(hasty.try_queue(hasty.door.queues[1]) == IBV_WC_RNR_RETRY_EXC_ERR, "RNR");
        channel.meet();
    });
    Responder host;
    host.admit(child.channel());
    child.channel().meet();
    ASSERT_EQ(host.give(0, 3), 0);
    EXPECT_EQ(host.wait().wr_id, 3u);
    const Qp& hasty = host.admit(child.channel());
    child.channel().meet();
    EXPECT_EQ(hasty.state(), IBV_QPS_RTS) << "only the requester fails";
    EXPECT_EQ(child.wait(), 0);
}

TEST_P(VerbsXrc, ARequestThatWaitsForAReceiveIsRefusedWhenTheQueueIsDestroyed) {
    Child child([](Channel& channel) {
        Requester patient(channel);
        require(patient.post(IBV_WR_SEND, patient.door.queues[0], patient.sge(0, 8)) == 0,
                "posted");
        channel.meet();
        require(patient.wait().status == IBV_WC_REM_INV_REQ_ERR, "refused");
    });
    Responder host;
    host.admit(child.channel());
    child.channel().meet();
    ASSERT_EQ(ibv_destroy_srq(host.queues[0]), 0);
    host.queues[0] = nullptr;
    EXPECT_EQ(child.wait(), 0);
}

TEST_P(VerbsXrc, ASleeperIsWokenForMessagesToItsQueue) {
    Child child([](Channel& channel) {
        Requester requester(channel);
        for (int i = 0; i < 20; ++i) {
            channel.receive<char>();
            require(requester.send(0, 8, i) == IBV_WC_SUCCESS, "sent");
        }
    });
    Options options;
    options.channel = true;
    Responder host(options);
    for (int i = 0; i < 20; ++i) ASSERT_EQ(host.give(0, i), 0);
    host.admit(child.channel());
    for (int i = 0; i < 20; ++i) {
        child.channel().send('g');
        ASSERT_EQ(sleep_for_completion(host).wr_id, std::uint64_t(i));
    }
    EXPECT_EQ(child.wait(), 0);
}

/// Numbers that are refused: of nothing, of a queue pair, of a queue of another domain, and of one
/// that is gone.
TEST_P(VerbsXrc, ARequestForAQueueThatIsNotInTheDomainIsInvalid) {
    Child child([](Channel& channel) {
        for (int i = 0; i < 4; ++i) {
            Requester requester(channel);
            const auto wrong = channel.receive<std::uint32_t>();
            require(requester.try_queue(wrong) == IBV_WC_REM_INV_REQ_ERR, "refused");
            require(requester.qp.state() == IBV_QPS_ERR, "and failed");
        }
        Requester requester(channel);
        const ibv_sge local = requester.sge(0, 8);
        require(requester.post(IBV_WR_RDMA_WRITE, 0, local) == 0, "posted");
        require(requester.wait().status == IBV_WC_REM_INV_REQ_ERR, "a write names a queue too");
        channel.meet();
    });
    Responder host;
    host.post_all(8);
    ibv_xrcd* const elsewhere = open_domain(host.context);
    ibv_srq* const foreign = make_queue(host, elsewhere);
    ibv_srq* const gone = make_queue(host, host.domain);
    ASSERT_TRUE(foreign && gone);
    const std::uint32_t last = number_of(gone);
    ASSERT_EQ(ibv_destroy_srq(gone), 0);
    for (int i = 0; i < 4; ++i) {
        const Qp& receiver = host.admit(child.channel());
        const std::uint32_t wrong[] = {0xfffffe, receiver.get()->qp_num, number_of(foreign), last};
        child.channel().send(wrong[i]);
        EXPECT_EQ(next_event(host.context, IBV_EVENT_QP_REQ_ERR).element.qp, receiver.get());
        EXPECT_EQ(receiver.state(), IBV_QPS_ERR);
    }
    host.admit(child.channel());
    child.channel().meet();
    EXPECT_TRUE(host.is_empty());
    EXPECT_EQ(child.wait(), 0);
    EXPECT_EQ(ibv_destroy_srq(foreign), 0);
    EXPECT_EQ(ibv_close_xrcd(elsewhere), 0);
}

TEST_P(VerbsXrc, AMessageLongerThanItsReceiveFailsOneConnectionAndNotTheQueue) {
    Child child([](Channel& channel) {
        Requester one(channel);
        Requester two(channel);
        channel.receive<char>();
        require(one.send(1, 600, 1) == IBV_WC_REM_INV_REQ_ERR, "too long");
        channel.receive<char>();
        require(two.send(1, 600, 2) == IBV_WC_SUCCESS, "the other one goes on");
        channel.meet();
    });
    Responder host;
    const Qp& one = host.admit(child.channel());
    const Qp& two = host.admit(child.channel());
    ASSERT_EQ(host.give(1, 1, 500), 0);
    child.channel().send('g');
    ibv_wc wc = host.wait_other();
    EXPECT_EQ(wc.status, IBV_WC_LOC_LEN_ERR);
    EXPECT_EQ(wc.qp_num, one.get()->qp_num);
    EXPECT_EQ(wc.wr_id, 1u);
    EXPECT_EQ(one.state(), IBV_QPS_ERR);
    EXPECT_EQ(next_event(host.context).event_type, IBV_EVENT_QP_LAST_WQE_REACHED);
    ASSERT_EQ(host.give(1, 2), 0);
    child.channel().send('g');
    wc = host.wait_other();
    EXPECT_EQ(wc.status, IBV_WC_SUCCESS);
    EXPECT_EQ(wc.qp_num, two.get()->qp_num);
    child.channel().meet();
    EXPECT_EQ(child.wait(), 0);
}

/// The keys that a request may name are those of the queue's protection domain, as the receiving
/// queue pair has none.
TEST_P(VerbsXrc, KeysAreCheckedAgainstTheProtectionDomainOfTheQueue) {
    Child child([](Channel& channel) {
        Requester requester(channel);
        requester.door.receiver.rkey = channel.receive<std::uint32_t>();
        const ibv_sge local = requester.sge(0, 8);
        require(requester.post(IBV_WR_RDMA_WRITE, requester.door.queues[0], local) == 0, "posted");
        require(requester.wait().status == IBV_WC_REM_ACCESS_ERR, "another domain's key");
        channel.meet();
    });
    Responder host;
    ibv_pd* const other = ibv_alloc_pd(host.context);
    ibv_mr* const mr = ibv_reg_mr(other, host.buffer.data(), 4096, kAllAccess);
    ASSERT_TRUE(other && mr);
    host.admit(child.channel());
    child.channel().send(mr->rkey);
    child.channel().meet();
    EXPECT_EQ(child.wait(), 0);
    EXPECT_EQ(ibv_dereg_mr(mr), 0);
    EXPECT_EQ(ibv_dealloc_pd(other), 0);
}

TEST_P(VerbsXrc, MessagesOutliveTheirQueuePairButNotTheirQueue) {
    Child child([](Channel& channel) {
        Requester requester(channel);
        for (int i = 0; i < 6; ++i) requester.send(i % 2, 8, i);
        channel.meet();
    });
    Responder host;
    host.post_all(8);
    host.admit(child.channel());
    child.channel().meet();
    host.receivers.clear();
    EXPECT_EQ(host.wait().wr_id, 0u);
    EXPECT_TRUE(holds(&host.buffer[Responder::place(0, 0)], 8, 0));
    EXPECT_EQ(ibv_destroy_srq(host.queues[0]), 0);
    host.queues[0] = nullptr;
    EXPECT_TRUE(host.is_empty()) << "what was sent to it is gone with it";
    for (std::uint64_t i = 0; i < 3; ++i) EXPECT_EQ(host.wait_other().wr_id, i);
    EXPECT_EQ(child.wait(), 0);
}

TEST_P(VerbsXrc, AQueueIsDestroyedWhileItsMessagesComeAndTheNextRequestIsRefused) {
    Child child([](Channel& channel) {
        Requester requester(channel);
        ibv_wc_status status = IBV_WC_SUCCESS;
        for (std::uint32_t i = 0; status == IBV_WC_SUCCESS; ++i)
            status = requester.send(1, i % 2 ? 8 : 400000, i);
        require(status == IBV_WC_REM_INV_REQ_ERR, ibv_wc_status_str(status));
        channel.meet();
    });
    Responder host;
    for (int i = 0; i < 32; ++i) ASSERT_EQ(post(host.queues[1], i, host.sge(0, 1 << 20)), 0);
    host.admit(child.channel());
    for (int i = 0; i < 40; ++i) {
        const ibv_wc wc = host.wait_other();
        ASSERT_EQ(wc.status, IBV_WC_SUCCESS);
        ASSERT_EQ(post(host.queues[1], wc.wr_id, host.sge(0, 1 << 20)), 0);
    }
    ASSERT_EQ(ibv_destroy_srq(host.queues[1]), 0);
    host.queues[1] = nullptr;
    std::fill(host.buffer.begin(), host.buffer.end(), 0xee);
    child.channel().meet();
    for (std::size_t i = 0; i < 500000; ++i) ASSERT_EQ(host.buffer[i], 0xee) << "at " << i;
    ibv_wc wc;
    EXPECT_EQ(ibv_poll_cq(host.other_cq, 1, &wc), 0);
    EXPECT_EQ(child.wait(), 0);
}

TEST_P(VerbsXrc, SendsAreBuiltOneByOneAndTheLimitIsReported) {
    Child child([](Channel& channel) {
        Host host;
        ibv_qp_init_attr_ex wish{};
        wish.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
        wish.send_ops_flags = IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM;
        wish.pd = host.pd;
        wish.qp_type = IBV_QPT_XRC_SEND;
        wish.send_cq = host.cq;
        wish.cap.max_send_wr = 8;
        Qp qp(host, ibv_create_qp_ex(host.context, &wish));
        channel.send(qp.address());
        const auto door = channel.receive<Door>();
        qp.connect(door.receiver);
        channel.meet();
        ibv_qp_ex* const built = ibv_qp_to_qp_ex(qp.get());
        ibv_wr_start(built);
        for (const std::uint32_t queue : door.queues) {
            built->wr_flags = IBV_SEND_SIGNALED;
            ibv_wr_send(built);
            ibv_wr_set_xrc_srqn(built, queue);
            ibv_wr_set_sge(built, host.mr->lkey, host.address(), 8);
        }
        require(ibv_wr_complete(built) == 0, "posted");
        for (int i = 0; i < 2; ++i) require(host.wait().status == IBV_WC_SUCCESS, "sent");
        channel.meet();
    });
    Responder host;
    host.post_all(4);
    ibv_srq_attr limit{};
    limit.srq_limit = 4;
    ASSERT_EQ(ibv_modify_srq(host.queues[1], &limit, IBV_SRQ_LIMIT), 0);
    host.admit(child.channel());
    const ibv_async_event event = next_event(host.context);
    EXPECT_EQ(event.event_type, IBV_EVENT_SRQ_LIMIT_REACHED);
    EXPECT_EQ(event.element.srq, host.queues[1]);
    EXPECT_EQ(host.wait().byte_len, 8u);
    EXPECT_EQ(host.wait_other().byte_len, 8u);
    child.channel().meet();
    EXPECT_EQ(child.wait(), 0);
}

TEST_F(VerbsXrcObjects, AnInodeHasOneDomainInAProcessAndWhoHoldsItKeepsIt) {
    Host host;
    const int file = memfd_create("domain", 0);
    EXPECT_EQ(open_domain(host.context, file, 0), nullptr);
    EXPECT_EQ(errno, EAGAIN) << "there is none yet";
    EXPECT_EQ(open_domain(host.context, 9999), nullptr);
    EXPECT_EQ(errno, EBADF);
    ibv_xrcd* const one = open_domain(host.context, file, O_CREAT | O_EXCL);
    ibv_xrcd* const two = open_domain(host.context, file, 0);
    ASSERT_TRUE(one && two);
    EXPECT_EQ(open_domain(host.context, file, O_CREAT | O_EXCL), nullptr);
    EXPECT_EQ(errno, EINVAL) << "there is one";
    ibv_srq* const srq = make_queue(host, one);
    ibv_qp* const qp = make_receiver(host.context, two);
    ASSERT_TRUE(srq && qp);
    EXPECT_EQ(ibv_close_xrcd(one), EBUSY);
    EXPECT_EQ(ibv_close_xrcd(two), EBUSY);
    EXPECT_EQ(ibv_destroy_cq(host.cq), EBUSY) << "the queue's completions go there";
    EXPECT_EQ(ibv_destroy_srq(srq), 0) << "no queue pair is bound to it";
    EXPECT_EQ(ibv_close_xrcd(one), 0);
    EXPECT_EQ(ibv_destroy_qp(qp), 0);
    EXPECT_EQ(ibv_close_xrcd(two), 0);
    EXPECT_EQ(open_domain(host.context, file, 0), nullptr) << "the last handle has been closed";
    EXPECT_EQ(errno, EAGAIN);
    close(file);
}

TEST_F(VerbsXrcObjects, WhatIsMissingOrWrongIsRefused) {
    Host host;
    EXPECT_EQ(make_queue(host, nullptr), nullptr);
    EXPECT_EQ(errno, EINVAL);
    EXPECT_EQ(make_receiver(host.context, nullptr), nullptr);
    EXPECT_EQ(errno, EINVAL);
    ibv_xrcd_init_attr wish{};
    EXPECT_EQ(ibv_open_xrcd(host.context, &wish), nullptr);
    EXPECT_EQ(errno, EINVAL);
    wish.comp_mask = IBV_XRCD_INIT_ATTR_RESERVED;
    EXPECT_EQ(ibv_open_xrcd(host.context, &wish), nullptr);
    EXPECT_EQ(errno, EOPNOTSUPP);
    ibv_srq_init_attr plain{};
    plain.attr.max_wr = plain.attr.max_sge = 1;
    ibv_srq* const srq = ibv_create_srq(host.pd, &plain);
    std::uint32_t number = 0;
    EXPECT_EQ(ibv_get_srq_num(srq, &number), EINVAL) << "only XRC queues have numbers";
    EXPECT_EQ(ibv_destroy_srq(srq), 0);
    ibv_device_attr attributes;
    ASSERT_EQ(ibv_query_device(host.context, &attributes), 0);
    EXPECT_NE(attributes.device_cap_flags & IBV_DEVICE_XRC, 0u);
}

TEST_F(VerbsXrcObjects, AnXrcQueuePairIsConnectedWithItsCounterpartOnly) {
    Host host;
    ibv_xrcd* const domain = open_domain(host.context);
    ibv_srq* const srq = make_queue(host, domain);
    {
        Qp sender(host, make_sender(host));
        Qp receiver(host, make_receiver(host.context, domain));
        Qp plain(host);
        const auto refuses = [](Qp& qp, const Address& peer) {
            return qp.ready_to_receive(peer) == EINVAL;
        };
        Address queue = sender.address();
        queue.qp_num = number_of(srq);
        EXPECT_TRUE(refuses(plain, sender.address()));
        EXPECT_TRUE(refuses(plain, receiver.address()));
        EXPECT_TRUE(refuses(plain, queue));
        EXPECT_TRUE(refuses(sender, plain.address()));
        EXPECT_TRUE(refuses(sender, queue));
        EXPECT_TRUE(refuses(receiver, receiver.address()));
        EXPECT_EQ(receiver.send(1, {host.sge(0, 8)}), EINVAL);
        EXPECT_EQ(receiver.post_receive(1, {host.sge(0, 8)}), EINVAL);
        EXPECT_EQ(sender.post_receive(1, {host.sge(0, 8)}), EINVAL);
        ibv_qp_attr attributes{};
        attributes.qp_state = IBV_QPS_RTR;
        EXPECT_EQ(ibv_modify_qp(receiver.get(), &attributes, IBV_QP_STATE), EINVAL);
    }
    EXPECT_EQ(ibv_destroy_srq(srq), 0);
    EXPECT_EQ(ibv_close_xrcd(domain), 0);
}

ibv_qp* open_again(ibv_context* context, ibv_xrcd* domain, std::uint32_t qp_num) {
    ibv_qp_open_attr wish{};
    wish.comp_mask = IBV_QP_OPEN_ATTR_NUM | IBV_QP_OPEN_ATTR_XRCD | IBV_QP_OPEN_ATTR_TYPE |
                     IBV_QP_OPEN_ATTR_CONTEXT;
    wish.qp_num = qp_num;
    wish.xrcd = domain;
    wish.qp_type = IBV_QPT_XRC_RECV;
    wish.qp_context = domain;
    return ibv_open_qp(context, &wish);
}

TEST_F(VerbsXrcObjects, AReceivingQueuePairLivesUntilItsLastHandleIsDestroyed) {
    Child child([](Channel& channel) {
        Requester requester(channel);
        require(requester.send(0, 8, 1) == IBV_WC_SUCCESS, "sent");
        channel.meet();
        require(requester.send(0, 8, 2) == IBV_WC_SUCCESS, "sent after the creator has left");
        channel.meet();
        channel.receive<char>();
        require(requester.try_queue(0xfffffe) == IBV_WC_REM_INV_REQ_ERR, "refused");
        channel.meet();
    });
    Responder host;
    host.post_all(4);
    ibv_context* const other = open_soft0();
    const int file = memfd_create("domain", 0);
    ibv_xrcd* const first = open_domain(host.context, file);
    ibv_xrcd* const second = open_domain(other, file, 0);
    ASSERT_TRUE(first && second);
    const Qp& created = host.admit(child.channel());
    const std::uint32_t number = created.get()->qp_num;
    EXPECT_EQ(open_again(other, second, number), nullptr) << "of another domain";
    EXPECT_EQ(errno, EINVAL);
    ibv_qp* const opened = open_again(host.context, host.domain, number);
    ASSERT_TRUE(opened);
    EXPECT_EQ(opened->qp_num, number);
    EXPECT_EQ(opened->qp_context, host.domain);
    EXPECT_EQ(opened->state, IBV_QPS_RTS);
    ibv_send_wr wr{};
    ibv_send_wr* bad = nullptr;
    EXPECT_EQ(ibv_post_send(opened, &wr, &bad), EINVAL);
    host.receivers.clear();
    EXPECT_EQ(ibv_close_xrcd(host.domain), EBUSY);
    child.channel().meet();
    child.channel().meet();
    for (std::uint64_t i = 0; i < 2; ++i) EXPECT_EQ(host.wait().wr_id, i);
    ibv_qp_attr attributes;
    ibv_qp_init_attr init;
    ASSERT_EQ(ibv_query_qp(opened, &attributes, IBV_QP_STATE, &init), 0);
    EXPECT_EQ(attributes.qp_state, IBV_QPS_RTS);
    EXPECT_EQ(init.qp_context, host.domain);
    child.channel().send('g');
    child.channel().meet();
    EXPECT_EQ(next_event(host.context, IBV_EVENT_QP_REQ_ERR).element.qp, opened);
    attributes.qp_state = IBV_QPS_RESET;
    EXPECT_EQ(ibv_modify_qp(opened, &attributes, IBV_QP_STATE), 0);
    EXPECT_EQ(opened->state, IBV_QPS_RESET);
    EXPECT_EQ(ibv_destroy_qp(opened), 0);
    EXPECT_EQ(open_again(host.context, host.domain, number), nullptr) << "it is gone";
    EXPECT_EQ(child.wait(), 0);
    EXPECT_EQ(ibv_close_xrcd(first), 0);
    EXPECT_EQ(ibv_close_xrcd(second), 0);
    EXPECT_EQ(ibv_close_device(other), 0);
    close(file);
}

softverbs::QpEntry& entry_of(const Address& peer, std::uint32_t number) {
    const softverbs::ArenaView arena = arena_of(*owner_of(peer));
    return arena.qp(static_cast<std::uint32_t>(arena.qp_index(number)));
}

/// What others have written into the entry of a queue is checked by each requester.
TEST_F(VerbsXrcObjects, AnEntryThatAPeerHasOverwrittenIsRefused) {
    using softverbs::QpEntry;
    const std::vector<void (*)(QpEntry&)> harms = {
        [](QpEntry& entry) { entry.srq = 0; },
        [](QpEntry& entry) { entry.srq = ~0u; },
        [](QpEntry& entry) { entry.srq = softverbs::kMaxSrqs; },
        [](QpEntry& entry) { entry.cq = softverbs::kNoCq; },
        [](QpEntry& entry) { entry.cq = 77; },
        [](QpEntry& entry) { entry.xrc_domain = 99; },
        [](QpEntry& entry) { entry.qp_type = IBV_QPT_RC; },
        [](QpEntry& entry) { entry.qp_num = 0; },
    };
    Child child([&](Channel& channel) {
        for (const auto harm : harms) {
            Requester requester(channel);
            harm(entry_of(requester.door.receiver, requester.door.queues[1]));
            require(requester.try_queue(requester.door.queues[1]) == IBV_WC_REM_INV_REQ_ERR, "no");
            channel.meet();
        }
    });
    for (std::size_t i = 0; i < harms.size(); ++i) {
        Responder host;
        host.post_all(4);
        host.admit(child.channel());
        child.channel().meet();
    }
    EXPECT_EQ(child.wait(), 0);
}

/// A forged completion names a queue that does not exist, one that completes elsewhere, or a
/// receive that is not posted.
TEST_F(VerbsXrcObjects, ForgedCompletionsOfReceivesAreIgnored) {
    Child child([](Channel& channel) {
        Requester requester(channel);
        const auto peer = owner_of(requester.door.receiver);
        auto ring =
            softverbs::CompletionRing::of(arena_of(*peer), channel.receive<std::uint32_t>());
        require(ring.valid(), "its queue");
        const std::uint32_t number = requester.door.receiver.qp_num;
        for (const std::uint32_t srq : {0u, 1u, 2u, 3u, 4u, 0xffffu}) {
            for (const std::uint32_t slot : {5u, 63u, 64u, 1u << 20, ~0u}) {
                const auto names = softverbs::CompletionNames::of(number, 7, srq);
                const auto place = ring.claim(number, softverbs::Producer::kRequester);
                require(place.entry != nullptr, "a free position");
                softverbs::Completion forged;
                forged.qp_num = names.qp_num;
                forged.src_qp = names.src_qp;
                forged.position = slot;
                forged.byte_len = 16;
                forged.flags = softverbs::kInEntry;
                (void)ring.publish(place, forged);
            }
        }
        channel.meet();
        require(requester.send(0, 8, 1) == IBV_WC_SUCCESS, "a true one");
    });
    Responder host;
    host.post_all(4);
    host.admit(child.channel());
    child.channel().send(softverbs::CompletionQueue::of(host.cq).index());
    child.channel().meet();
    EXPECT_EQ(host.wait().wr_id, 0u);
    EXPECT_TRUE(host.is_empty());
    EXPECT_EQ(child.wait(), 0);
}

FaultPoint deadly_point;
int passes_left;

void die_there(FaultPoint point) {
    if (point == deadly_point && --passes_left == 0)
        syscall(SYS_tgkill, getpid(), gettid(), SIGKILL);
}

const FaultPoint kStores[] = {FaultPoint::kTransferMarked,    FaultPoint::kSharedReceiveTaken,
                              FaultPoint::kSharedHeadMoved,   FaultPoint::kPayloadPlaced,
                              FaultPoint::kCompletionClaimed, FaultPoint::kTailMoved,
                              FaultPoint::kReceiveConsumed,   FaultPoint::kCompletionHalfWritten,
                              FaultPoint::kCompletionWritten, FaultPoint::kCompletionPublished,
                              FaultPoint::kTransferEnded};

/// Takes what has completed, and notes the receives.
void take_all(Responder& host, std::set<std::uint64_t>& ids) {
    for (ibv_wc wc; ibv_poll_cq(host.cq, 1, &wc) == 1;)
        EXPECT_TRUE(ids.insert(wc.wr_id).second) << "each receive completes once";
}

/// After the death at `point` every receive is still there: completed, flushed, or taken by another
/// requester.
void expect_all_receives(FaultPoint point, bool destroys) {
    Child victim([point](Channel& channel) {
        Requester requester(channel);
        deadly_point = point;
        passes_left = 7;
        softverbs::at_fault_point = die_there;
        for (int i = 0;; ++i) requester.send(0, i % 2 ? 8 : 600, 1);
    });
    Child other([](Channel& channel) {
        Requester requester(channel);
        for (auto left = channel.receive<int>(); left != 0; left = channel.receive<int>()) {
            require(requester.send(0, 8, 1) == IBV_WC_SUCCESS, "sent");
            channel.send('s');
        }
    });
    Responder host;
    for (int i = 0; i < 20; ++i) ASSERT_EQ(host.give(0, i), 0);
    host.admit(victim.channel());
    host.admit(other.channel());
    ASSERT_EQ(victim.wait(), 128 + SIGKILL);
    if (destroys)
        host.receivers.erase(host.receivers.begin());
    else
        next_event(host.context, IBV_EVENT_QP_LAST_WQE_REACHED);
    std::set<std::uint64_t> ids;
    take_all(host, ids);
    while (ids.size() < 20) {
        other.channel().send(1);
        ASSERT_TRUE(is_readable(other.channel().input())) << ids.size();
        other.channel().receive<char>();
        ASSERT_TRUE(eventually([&] {
            const std::size_t before = ids.size();
            take_all(host, ids);
            return ids.size() > before;
        }));
    }
    other.channel().send(0);
    EXPECT_EQ(other.wait(), 0);
}

TEST_F(VerbsXrcObjects, ARequesterThatDiesAnywhereLosesNoReceiveOfTheQueue) {
    if (kThreadSanitizer) GTEST_SKIP() << "it cannot follow threads of a child made beside threads";
    for (const FaultPoint point : kStores) {
        SCOPED_TRACE(static_cast<unsigned>(point));
        expect_all_receives(point, false);
        expect_all_receives(point, true);
        if (HasFatalFailure()) return;
    }
}

}  // namespace
}  // namespace test
