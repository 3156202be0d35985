// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Memory windows. A child process uses the keys. Every access that is refused breaks the
/// connection, so the next one is made over a new connection.
#include "test/softverbs/verbs_pair.hpp"

namespace test {
namespace {

class VerbsWindows : public OnBothPaths {};
INSTANTIATE_ON_BOTH_PATHS(VerbsWindows);

constexpr int kWindowAccess = kAllAccess | IBV_ACCESS_MW_BIND;
constexpr unsigned kReadWrite = IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE;

enum class Act { kConnect, kWrite, kRead, kSend, kSendInvalidate, kWriteUntilRefused, kEnd };
struct Order {
    Act act = Act::kEnd;
    std::uint32_t key = 0;
    std::uint64_t address = 0;
    std::uint32_t length = 8;
};

ibv_wc_status carry_out(Host& host, Qp& qp, const Order& order) {
    std::vector<ibv_sge> sges{host.sge(0, order.length)};
    ibv_wr_opcode opcode = IBV_WR_RDMA_WRITE;
    if (order.act == Act::kRead) opcode = IBV_WR_RDMA_READ;
    if (order.act == Act::kSend) opcode = IBV_WR_SEND;
    if (order.act == Act::kSendInvalidate) opcode = IBV_WR_SEND_WITH_INV;
    ibv_send_wr wr = Qp::request(1, opcode, sges);
    if (order.act == Act::kSendInvalidate) {
        wr.invalidate_rkey = order.key;
    } else {
        wr.wr.rdma.remote_addr = order.address;
        wr.wr.rdma.rkey = order.key;
    }
    require(qp.post(wr) == 0, "posted");
    return host.wait().status;
}

ibv_wc_status write_until_refused(Host& host, Qp& qp, const Order& order, Channel& channel) {
    for (std::uint64_t round = 1;; ++round) {
        for (std::uint32_t i = 0; i < order.length / 8; ++i)
            std::memcpy(&host.buffer[i * 8], &round, sizeof round);
        const ibv_wc_status status = carry_out(host, qp, order);
        if (status != IBV_WC_SUCCESS) return status;
        if (round == 100) channel.send('g');
    }
}

void serve(Channel& channel) {
    Host host;
    std::optional<Qp> qp;
    for (;;) {
        const auto order = channel.receive<Order>();
        if (order.act == Act::kEnd) return;
        if (order.act == Act::kConnect) {
            qp.reset();
            qp.emplace(host);
            qp->connect(channel);
        } else if (order.act == Act::kWriteUntilRefused) {
            channel.send(write_until_refused(host, *qp, order, channel));
        } else {
            fill(host.buffer.data(), order.length, order.length);
            channel.send(carry_out(host, *qp, order));
        }
    }
}

/// The child process that uses the keys.
class Remote {
  public:
    ~Remote() {
        child_.channel().send(Order{});
        EXPECT_EQ(child_.wait(), 0);
    }
    void connect(Qp& qp) {
        child_.channel().send(Order{Act::kConnect});
        qp.connect(child_.channel());
    }
    ibv_wc_status carry_out(Act act, std::uint32_t key, std::uint64_t address = 0,
                            std::uint32_t length = 8) {
        begin(act, key, address, length);
        return channel().receive<ibv_wc_status>();
    }
    void begin(Act act, std::uint32_t key, std::uint64_t address = 0, std::uint32_t length = 8) {
        channel().send(Order{act, key, address, length});
    }
    Channel& channel() { return child_.channel(); }

  private:
    Child child_{serve};
};

Options with_windows() {
    Options options;
    options.access = kWindowAccess;
    return options;
}

/// The owner's end, which makes as many connections one after the other as it needs.
class VerbsWindow {
  public:
    explicit VerbsWindow(ibv_mw_type type) : host(with_windows()) {
        window = ibv_alloc_mw(host.pd, type);
        require(window != nullptr, "a window is made");
        connect();
    }
    ~VerbsWindow() {
        qp.reset();
        EXPECT_EQ(ibv_dealloc_mw(window), 0);
    }
    void connect() {
        qp.reset();
        qp = std::make_unique<Qp>(host);
        remote.connect(*qp);
        while (!host.is_empty()) continue;
    }
    /// Binds `length` bytes from `offset` of the buffer on. @return the completion's status.
    ibv_wc_status bind(std::size_t offset, std::size_t length, unsigned access = kReadWrite) {
        return window->type == IBV_MW_TYPE_1 ? bind_type_1(offset, length, access)
                                             : bind_type_2(offset, length, access);
    }
    ibv_wc_status complete(ibv_wc_opcode opcode, std::uint64_t id) {
        const ibv_wc wc = host.wait();
        require(wc.wr_id == id, "the completion of this request");
        require(wc.status != IBV_WC_SUCCESS || wc.opcode == opcode, "of this kind");
        return wc.status;
    }
    ibv_wc_status invalidate(std::uint32_t key) {
        std::vector<ibv_sge> none;
        ibv_send_wr wr = Qp::request(8, IBV_WR_LOCAL_INV, none);
        wr.invalidate_rkey = key;
        require(qp->post(wr) == 0, "posted");
        return complete(IBV_WC_LOCAL_INV, 8);
    }
    ibv_send_wr bind_request(std::size_t offset, std::size_t length, unsigned access) {
        static std::vector<ibv_sge> none;
        ibv_send_wr wr = Qp::request(7, IBV_WR_BIND_MW, none);
        wr.bind_mw.mw = window;
        wr.bind_mw.rkey = ibv_inc_rkey(window->rkey);
        wr.bind_mw.bind_info = {host.mr, host.address(offset), length, access};
        return wr;
    }
    /// @return the status at the peer; connects again if the connection broke.
    ibv_wc_status peer(Act act, std::uint32_t key, std::uint64_t address,
                       std::uint32_t length = 8) {
        const ibv_wc_status status = remote.carry_out(act, key, address, length);
        if (status != IBV_WC_SUCCESS) connect();
        return status;
    }

    Remote remote;
    Host host;
    std::unique_ptr<Qp> qp;
    ibv_mw* window = nullptr;

  private:
    ibv_wc_status bind_type_1(std::size_t offset, std::size_t length, unsigned access) {
        ibv_mw_bind bind{};
        bind.wr_id = 7;
        bind.send_flags = IBV_SEND_SIGNALED;
        if (length != 0) bind.bind_info = {host.mr, host.address(offset), length, access};
        require(ibv_bind_mw(qp->get(), window, &bind) == 0, "a bind is posted");
        return complete(IBV_WC_BIND_MW, 7);
    }
    ibv_wc_status bind_type_2(std::size_t offset, std::size_t length, unsigned access) {
        const ibv_send_wr wr = bind_request(offset, length, access);
        require(qp->post(wr) == 0, "a bind is posted");
        window->rkey = wr.bind_mw.rkey;
        return complete(IBV_WC_BIND_MW, 7);
    }
};

TEST_P(VerbsWindows, TheDeviceSaysThatItHasThem) {
    Host host;
    ibv_device_attr device;
    ibv_query_device(host.context, &device);
    EXPECT_NE(device.device_cap_flags & IBV_DEVICE_MEM_WINDOW, 0u);
    EXPECT_NE(device.device_cap_flags & IBV_DEVICE_MEM_WINDOW_TYPE_2B, 0u);
    EXPECT_GT(device.max_mw, 0);
    ibv_pd* pd = ibv_alloc_pd(host.context);
    ibv_mw* window = ibv_alloc_mw(pd, IBV_MW_TYPE_2);
    ASSERT_NE(window, nullptr);
    EXPECT_EQ(window->pd, pd);
    EXPECT_EQ(ibv_dealloc_pd(pd), EBUSY);
    EXPECT_EQ(ibv_dealloc_mw(window), 0);
    EXPECT_EQ(ibv_dealloc_pd(pd), 0);
}

TEST_P(VerbsWindows, AWindowOpensItsRangeForItsRightsAndNothingElse) {
    for (const ibv_mw_type type : {IBV_MW_TYPE_1, IBV_MW_TYPE_2}) {
        VerbsWindow side(type);
        Host& host = side.host;
        ASSERT_EQ(side.bind(4096, 4096, IBV_ACCESS_REMOTE_WRITE), IBV_WC_SUCCESS);
        const auto key = [&] { return side.window->rkey; };
        const auto again = [&] {  // a new connection: a window of type 2 has lost its queue pair
            if (type == IBV_MW_TYPE_1) return;
            ASSERT_EQ(side.bind(4096, 4096, IBV_ACCESS_REMOTE_WRITE), IBV_WC_SUCCESS);
        };
        EXPECT_EQ(side.peer(Act::kWrite, key(), host.address(4096), 4096), IBV_WC_SUCCESS);
        ASSERT_EQ(side.qp->post_receive(5, {host.sge(16384, 8)}), 0);
        ASSERT_EQ(side.peer(Act::kSend, 0, 0), IBV_WC_SUCCESS);
        ASSERT_EQ(host.wait().wr_id, 5u);
        EXPECT_TRUE(holds(&host.buffer[4096], 4096, 4096));
        EXPECT_EQ(side.peer(Act::kRead, key(), host.address(4096)), IBV_WC_REM_ACCESS_ERR);
        again();
        EXPECT_EQ(side.peer(Act::kWrite, key(), host.address(4095)), IBV_WC_REM_ACCESS_ERR);
        again();
        EXPECT_EQ(side.peer(Act::kWrite, key(), host.address(8185)), IBV_WC_REM_ACCESS_ERR);
        again();
        EXPECT_EQ(side.peer(Act::kWrite, key(), host.address(8184)), IBV_WC_SUCCESS);
        EXPECT_EQ(side.peer(Act::kWrite, key() ^ 1, host.address(4096)), IBV_WC_REM_ACCESS_ERR);
        EXPECT_EQ(host.buffer[4095], 0);
        EXPECT_EQ(host.buffer[8192], 0);
    }
}

TEST_P(VerbsWindows, EachBindOfType1GivesANewKeyAndEndsTheOldOne) {
    VerbsWindow side(IBV_MW_TYPE_1);
    const std::uint64_t address = side.host.address();
    const std::uint32_t unbound = side.window->rkey;
    EXPECT_EQ(side.peer(Act::kRead, unbound, address), IBV_WC_REM_ACCESS_ERR);
    ASSERT_EQ(side.bind(0, 64), IBV_WC_SUCCESS);
    const std::uint32_t first = side.window->rkey;
    EXPECT_NE(first, unbound);
    EXPECT_EQ(side.peer(Act::kRead, first, address), IBV_WC_SUCCESS);
    ASSERT_EQ(side.bind(0, 32), IBV_WC_SUCCESS) << "binding again needs no unbinding";
    const std::uint32_t second = side.window->rkey;
    EXPECT_NE(second, first);
    EXPECT_EQ(side.peer(Act::kRead, second, address, 32), IBV_WC_SUCCESS);
    EXPECT_EQ(side.peer(Act::kRead, first, address), IBV_WC_REM_ACCESS_ERR);
    EXPECT_EQ(side.peer(Act::kRead, second, address), IBV_WC_SUCCESS)
        << "a window of type 1 is for every queue pair of its protection domain";
    ASSERT_EQ(side.bind(0, 0), IBV_WC_SUCCESS);
    EXPECT_EQ(side.peer(Act::kRead, second, address), IBV_WC_REM_ACCESS_ERR);
    EXPECT_EQ(side.peer(Act::kRead, side.window->rkey, address), IBV_WC_REM_ACCESS_ERR);
}

TEST_P(VerbsWindows, AWindowOfType2IsForItsQueuePairAlone) {
    Remote other;  // no thread runs yet
    VerbsWindow side(IBV_MW_TYPE_2);
    Qp other_qp(side.host);
    other.connect(other_qp);
    ASSERT_EQ(side.bind(0, 64), IBV_WC_SUCCESS);
    const std::uint64_t address = side.host.address();
    EXPECT_EQ(other.carry_out(Act::kRead, side.window->rkey, address), IBV_WC_REM_ACCESS_ERR);
    EXPECT_EQ(side.peer(Act::kRead, side.window->rkey, address), IBV_WC_SUCCESS);
    side.connect();
    EXPECT_EQ(side.peer(Act::kRead, side.window->rkey, address), IBV_WC_REM_ACCESS_ERR)
        << "it ends with its queue pair";
    EXPECT_EQ(side.bind(0, 64), IBV_WC_SUCCESS);
    EXPECT_EQ(side.peer(Act::kRead, side.window->rkey, address), IBV_WC_SUCCESS);
}

TEST_P(VerbsWindows, TheOwnerInvalidatesAWindowOfType2AndBindsItAgainUnderANewKey) {
    VerbsWindow side(IBV_MW_TYPE_2);
    const std::uint64_t address = side.host.address();
    ASSERT_EQ(side.bind(0, 64), IBV_WC_SUCCESS);
    const std::uint32_t first = side.window->rkey;
    EXPECT_EQ(side.peer(Act::kWrite, first, address), IBV_WC_SUCCESS);
    ASSERT_EQ(side.invalidate(first), IBV_WC_SUCCESS);
    ASSERT_EQ(side.bind(0, 64), IBV_WC_SUCCESS);
    EXPECT_EQ(side.window->rkey, ibv_inc_rkey(first));
    EXPECT_EQ(side.peer(Act::kWrite, side.window->rkey, address), IBV_WC_SUCCESS);
    EXPECT_EQ(side.peer(Act::kWrite, first, address), IBV_WC_REM_ACCESS_ERR);
    EXPECT_EQ(side.invalidate(side.window->rkey), IBV_WC_MW_BIND_ERR) << "its queue pair has gone";
    EXPECT_EQ(side.qp->state(), IBV_QPS_ERR);
}

TEST_P(VerbsWindows, OfTheKeyInABindOfType2TheLast8BitsCountAndTheWindowHasTheResult) {
    VerbsWindow side(IBV_MW_TYPE_2);
    const std::uint64_t address = side.host.address();
    const std::uint32_t base = side.window->rkey & ~0xffu;
    for (const std::uint32_t wanted : {1024u, 1025u, 0xffffff7fu, base ^ 0x80001234u}) {
        ibv_send_wr wr = side.bind_request(0, 64, kReadWrite);
        wr.bind_mw.rkey = wanted;
        ASSERT_EQ(side.qp->post(wr), 0);
        EXPECT_EQ(side.window->rkey, base | (wanted & 0xff));
        ASSERT_EQ(side.complete(IBV_WC_BIND_MW, 7), IBV_WC_SUCCESS);
        const std::uint32_t key = side.window->rkey;
        EXPECT_EQ(side.peer(Act::kRead, key, address), IBV_WC_SUCCESS);
        side.window->rkey = wanted;  // as programs do that expect it to be the key
        ASSERT_EQ(side.invalidate(key), IBV_WC_SUCCESS);
    }
    EXPECT_EQ(side.peer(Act::kRead, 1024, address), IBV_WC_REM_ACCESS_ERR);
}

TEST_P(VerbsWindows, AddressesOfAZeroBasedWindowOfType2BeginAtItsFirstByte) {
    VerbsWindow side(IBV_MW_TYPE_2);
    constexpr unsigned kAccess = kReadWrite | IBV_ACCESS_ZERO_BASED;
    ASSERT_EQ(side.bind(4096, 8192, kAccess), IBV_WC_SUCCESS);
    EXPECT_EQ(side.peer(Act::kWrite, side.window->rkey, 100, 4096), IBV_WC_SUCCESS);
    ASSERT_EQ(side.qp->post_receive(5, {side.host.sge(16384, 8)}), 0);
    ASSERT_EQ(side.peer(Act::kSend, 0, 0), IBV_WC_SUCCESS);
    ASSERT_EQ(side.host.wait().wr_id, 5u);
    EXPECT_TRUE(holds(&side.host.buffer[4196], 4096, 4096));
    EXPECT_EQ(side.host.buffer[4195], 0);
    EXPECT_EQ(side.peer(Act::kRead, side.window->rkey, 8184), IBV_WC_SUCCESS);
    EXPECT_EQ(side.peer(Act::kRead, side.window->rkey, 8185), IBV_WC_REM_ACCESS_ERR);
    ASSERT_EQ(side.bind(4096, 8192, kAccess), IBV_WC_SUCCESS);
    EXPECT_EQ(side.peer(Act::kRead, side.window->rkey, side.host.address(4096)),
              IBV_WC_REM_ACCESS_ERR);
}

TEST_P(VerbsWindows, AnInvalidationThroughAnotherQueuePairOrOfAnotherKeyIsABindError) {
    VerbsWindow side(IBV_MW_TYPE_2);
    ASSERT_EQ(side.bind(0, 64), IBV_WC_SUCCESS);
    const std::uint32_t key = side.window->rkey;
    auto bound = std::move(side.qp);
    for (const std::uint32_t wrong : {key, key + 1, side.host.mr->rkey, 0u}) {
        side.qp = std::make_unique<Qp>(side.host);
        side.qp->connect(side.qp->address());
        EXPECT_EQ(side.invalidate(wrong), IBV_WC_MW_BIND_ERR) << std::hex << wrong;
        EXPECT_EQ(side.qp->state(), IBV_QPS_ERR);
    }
    side.qp = std::move(bound);
    EXPECT_EQ(side.peer(Act::kRead, key, side.host.address()), IBV_WC_SUCCESS) << "still bound";
}

TEST_P(VerbsWindows, AChangedHandleIsNoMatterToWindowsUntilTheyAreFreed) {
    for (const ibv_mw_type type : {IBV_MW_TYPE_1, IBV_MW_TYPE_2}) {
        VerbsWindow side(type);
        const std::uint32_t handle = side.window->handle;
        side.window->handle = ~handle;
        ASSERT_EQ(side.bind(0, 64), IBV_WC_SUCCESS);
        EXPECT_EQ(side.peer(Act::kRead, side.window->rkey, side.host.address()), IBV_WC_SUCCESS);
        EXPECT_EQ(ibv_dealloc_mw(side.window), ENOENT);
        side.window->handle = handle;
    }
}

TEST_P(VerbsWindows, ThePeerInvalidatesAWindowOfType2WithASend) {
    VerbsWindow side(IBV_MW_TYPE_2);
    const std::uint64_t address = side.host.address();
    for (const std::uint32_t length : {8u, 4096u}) {
        ASSERT_EQ(side.bind(0, 64), IBV_WC_SUCCESS);
        const std::uint32_t key = side.window->rkey;
        ASSERT_EQ(side.qp->post_receive(3, {side.host.sge(8192, 4096)}), 0);
        ASSERT_EQ(side.peer(Act::kSendInvalidate, key, 0, length), IBV_WC_SUCCESS);
        const ibv_wc wc = side.host.wait();
        EXPECT_EQ(wc.wr_id, 3u);
        EXPECT_EQ(wc.status, IBV_WC_SUCCESS);
        EXPECT_EQ(wc.opcode, IBV_WC_RECV);
        EXPECT_EQ(wc.wc_flags, static_cast<unsigned>(IBV_WC_WITH_INV));
        EXPECT_EQ(wc.invalidated_rkey, key);
        EXPECT_EQ(wc.byte_len, length);
        EXPECT_TRUE(holds(&side.host.buffer[8192], length, length));
    }
    EXPECT_EQ(side.peer(Act::kRead, side.window->rkey, address), IBV_WC_REM_ACCESS_ERR);
}

TEST_P(VerbsWindows, AnInvalidInvalidationIsARemoteAccessErrorAndBreaksBothEnds) {
    VerbsWindow side(IBV_MW_TYPE_2);
    ibv_mw* type_1 = ibv_alloc_mw(side.host.pd, IBV_MW_TYPE_1);
    ibv_mw_bind bind{};
    bind.send_flags = IBV_SEND_SIGNALED;
    bind.bind_info = {side.host.mr, side.host.address(), 64, kReadWrite};
    ASSERT_EQ(ibv_bind_mw(side.qp->get(), type_1, &bind), 0);
    ASSERT_EQ(side.host.wait().status, IBV_WC_SUCCESS);
    for (const std::uint32_t key : {side.window->rkey, side.host.mr->rkey, type_1->rkey, 0u}) {
        ASSERT_EQ(side.qp->post_receive(3, {side.host.sge(0, 64)}), 0);
        EXPECT_EQ(side.remote.carry_out(Act::kSendInvalidate, key), IBV_WC_REM_ACCESS_ERR);
        const ibv_wc wc = side.host.wait();
        EXPECT_EQ(wc.wr_id, 3u);
        EXPECT_EQ(wc.status, IBV_WC_REM_INV_REQ_ERR);
        EXPECT_EQ(side.qp->state(), IBV_QPS_ERR);
        side.connect();
    }
    EXPECT_EQ(side.peer(Act::kRead, type_1->rkey, side.host.address()), IBV_WC_SUCCESS);
    EXPECT_EQ(ibv_dealloc_mw(type_1), 0);
}

TEST_P(VerbsWindows, WhatMayNotBeBoundFailsAndChangesNothing) {
    for (const ibv_mw_type type : {IBV_MW_TYPE_1, IBV_MW_TYPE_2}) {
        VerbsWindow side(type);
        const std::size_t size = side.host.options.buffer;
        const auto refused = [&](std::size_t offset, std::size_t length, unsigned access) {
            const bool is = side.bind(offset, length, access) == IBV_WC_MW_BIND_ERR &&
                            side.qp->state() == IBV_QPS_ERR;
            side.connect();
            return is;
        };
        EXPECT_TRUE(refused(size - 8, 16, kReadWrite)) << "beyond the region";
        EXPECT_TRUE(refused(static_cast<std::size_t>(-8), 8, kReadWrite)) << "before it";
        EXPECT_TRUE(refused(0, ~std::size_t{0}, kReadWrite)) << "a length that wraps";
        EXPECT_TRUE(refused(0, 8, IBV_ACCESS_MW_BIND)) << "no right of a window";
        ibv_mr* mine = side.host.mr;
        side.host.mr = ibv_reg_mr(side.host.pd, side.host.buffer.data(), 4096, kAllAccess);
        EXPECT_TRUE(refused(0, 8, kReadWrite)) << "the region does not permit windows";
        ibv_dereg_mr(side.host.mr);
        const unsigned bind_only = IBV_ACCESS_MW_BIND;
        side.host.mr = ibv_reg_mr(side.host.pd, side.host.buffer.data(), 4096, bind_only);
        EXPECT_TRUE(refused(0, 8, IBV_ACCESS_REMOTE_WRITE)) << "the region is read-only";
        EXPECT_EQ(side.bind(0, 8, IBV_ACCESS_REMOTE_READ), IBV_WC_SUCCESS);
        ibv_mr* read_only = side.host.mr;
        side.host.mr = mine;
        EXPECT_EQ(side.peer(Act::kRead, side.window->rkey, side.host.address()), IBV_WC_SUCCESS);
        if (type == IBV_MW_TYPE_2) {
            const std::uint32_t key = side.window->rkey;
            EXPECT_EQ(side.bind(0, 8), IBV_WC_MW_BIND_ERR) << "it is bound";
            side.window->rkey = key;
            side.connect();
            EXPECT_TRUE(refused(0, 0, kReadWrite)) << "a bind of type 2 has bytes";
        } else {
            EXPECT_EQ(side.bind(0, 0), IBV_WC_SUCCESS);
        }
        EXPECT_EQ(ibv_dereg_mr(read_only), 0);
    }
}

TEST_P(VerbsWindows, ObjectsOfAnotherProtectionDomainAreRefused) {
    VerbsWindow side(IBV_MW_TYPE_2);
    ibv_pd* other = ibv_alloc_pd(side.host.context);
    ibv_mr* region = ibv_reg_mr(other, side.host.buffer.data(), 4096, kWindowAccess);
    ibv_mw* window = ibv_alloc_mw(other, IBV_MW_TYPE_1);
    ibv_mw_bind bind{};
    bind.bind_info = {side.host.mr, side.host.address(), 8, kReadWrite};
    EXPECT_EQ(ibv_bind_mw(side.qp->get(), window, &bind), EPERM);
    bind.bind_info.mr = region;
    ASSERT_EQ(ibv_bind_mw(side.qp->get(), window, &bind), 0);
    EXPECT_EQ(side.host.wait().status, IBV_WC_MW_BIND_ERR) << "the queue pair is of another one";
    side.connect();
    ibv_mr* mine = side.host.mr;
    side.host.mr = region;
    EXPECT_EQ(side.bind(0, 8), IBV_WC_MW_BIND_ERR);
    side.host.mr = mine;
    EXPECT_EQ(ibv_dealloc_mw(window), 0);
    EXPECT_EQ(ibv_dereg_mr(region), 0);
    EXPECT_EQ(ibv_dealloc_pd(other), 0);
}

TEST_P(VerbsWindows, ARequestThatMakesNoSenseIsRefusedWhenItIsPosted) {
    VerbsWindow side(IBV_MW_TYPE_2);
    ibv_mw* type_1 = ibv_alloc_mw(side.host.pd, IBV_MW_TYPE_1);
    ibv_send_wr wr = side.bind_request(0, 8, kReadWrite);
    wr.bind_mw.mw = type_1;
    wr.bind_mw.rkey = ibv_inc_rkey(type_1->rkey);
    EXPECT_EQ(side.qp->post(wr), EINVAL) << "type 1 has a call of its own";
    wr = side.bind_request(0, 8, kReadWrite);
    wr.bind_mw.mw = nullptr;
    EXPECT_EQ(side.qp->post(wr), EINVAL);
    ibv_mw_bind bind{};
    EXPECT_EQ(ibv_bind_mw(side.qp->get(), side.window, &bind), EINVAL) << "type 2 has a request";
    bind.bind_info.length = 8;
    EXPECT_EQ(ibv_bind_mw(side.qp->get(), type_1, &bind), EINVAL) << "no region";
    bind.bind_info = {side.host.mr, side.host.address(), 8, kReadWrite | IBV_ACCESS_ZERO_BASED};
    EXPECT_EQ(ibv_bind_mw(side.qp->get(), type_1, &bind), EINVAL) << "type 1 has addresses";
    EXPECT_EQ(ibv_dealloc_mw(type_1), 0);
    EXPECT_TRUE(side.host.is_empty());
}

TEST_P(VerbsWindows, ARegionIsNotDeregisteredWhileWindowsAreBoundToIt) {
    for (const ibv_mw_type type : {IBV_MW_TYPE_1, IBV_MW_TYPE_2}) {
        VerbsWindow side(type);
        ASSERT_EQ(side.bind(0, 64), IBV_WC_SUCCESS);
        EXPECT_EQ(ibv_dereg_mr(side.host.mr), EBUSY);
        EXPECT_EQ(side.peer(Act::kRead, side.window->rkey, side.host.address()), IBV_WC_SUCCESS);
        if (type == IBV_MW_TYPE_1) {
            EXPECT_EQ(side.bind(0, 0), IBV_WC_SUCCESS);
        } else {
            ASSERT_EQ(side.qp->post_receive(3, {side.host.sge(0, 64)}), 0);
            EXPECT_EQ(side.peer(Act::kSendInvalidate, side.window->rkey, 0), IBV_WC_SUCCESS);
        }
        EXPECT_EQ(ibv_dereg_mr(side.host.mr), 0);
        side.host.mr = ibv_reg_mr(side.host.pd, side.host.buffer.data(), 4096, kWindowAccess);
    }
}

TEST_P(VerbsWindows, FreeingAWindowOrItsQueuePairUnbindsIt) {
    VerbsWindow side(IBV_MW_TYPE_2);
    ASSERT_EQ(side.bind(0, 64), IBV_WC_SUCCESS);
    ibv_mr* region = side.host.mr;
    EXPECT_EQ(ibv_dereg_mr(region), EBUSY);
    side.connect();
    side.host.mr = ibv_reg_mr(side.host.pd, side.host.buffer.data(), 4096, kWindowAccess);
    EXPECT_EQ(ibv_dereg_mr(region), 0) << "its queue pair has gone";
    ASSERT_EQ(side.bind(0, 64), IBV_WC_SUCCESS);
    const std::uint32_t key = side.window->rkey;
    EXPECT_EQ(ibv_dealloc_mw(side.window), 0);
    EXPECT_EQ(side.peer(Act::kRead, key, side.host.address()), IBV_WC_REM_ACCESS_ERR);
    side.window = ibv_alloc_mw(side.host.pd, IBV_MW_TYPE_2);
    EXPECT_EQ(ibv_dereg_mr(side.host.mr), 0);
    side.host.mr = ibv_reg_mr(side.host.pd, side.host.buffer.data(), 4096, kWindowAccess);
}

TEST_P(VerbsWindows, ABindTakesEffectAfterEarlierAndBeforeLaterRequests) {
    VerbsWindow side(IBV_MW_TYPE_2);
    // A send that finds no receive keeps the bind behind it from taking effect.
    std::vector<ibv_sge> sges{side.host.sge(0, 8)};
    ASSERT_EQ(side.qp->send(1, sges), 0);
    ibv_send_wr bind = side.bind_request(0, 64, kReadWrite);
    bind.send_flags |= IBV_SEND_FENCE;
    ASSERT_EQ(side.qp->post(bind), 0);
    ASSERT_EQ(side.qp->send(2, sges), 0);
    EXPECT_EQ(ibv_dereg_mr(side.host.mr), 0) << "not bound yet";
    side.host.mr =
        ibv_reg_mr(side.host.pd, side.host.buffer.data(), side.host.buffer.size(), kWindowAccess);
    ASSERT_EQ(side.qp->to_error(), 0);
    EXPECT_EQ(side.complete(IBV_WC_SEND, 1), IBV_WC_WR_FLUSH_ERR);
    EXPECT_EQ(side.complete(IBV_WC_BIND_MW, 7), IBV_WC_WR_FLUSH_ERR);
    EXPECT_EQ(side.complete(IBV_WC_SEND, 2), IBV_WC_WR_FLUSH_ERR);
}

void use_key_as_soon_as_it_is_told(Channel& channel) {
    Host host;
    Qp qp(host);
    require(qp.post_receive(1, {host.sge(0, 64)}) == 0, "receive posted");
    qp.connect(channel);
    for (int rounds = channel.receive<int>(); rounds != 0; --rounds) {
        require(host.wait().status == IBV_WC_SUCCESS, "received");
        Order told;
        std::memcpy(static_cast<void*>(&told), host.buffer.data(), sizeof told);
        require(qp.post_receive(1, {host.sge(0, 64)}) == 0, "receive posted");
        require(carry_out(host, qp, {Act::kWrite, told.key, told.address}) == IBV_WC_SUCCESS,
                "the key is valid at once");
        require(carry_out(host, qp, {Act::kSendInvalidate, told.key}) == IBV_WC_SUCCESS,
                "and until it is given back");
    }
    channel.meet();
}

TEST_P(VerbsWindows, AKeyToldInTheNextMessageIsValidWhenThatArrives) {
    const int rounds = scaled(500);
    Child child(use_key_as_soon_as_it_is_told);
    Host host(with_windows());
    ibv_mw* window = ibv_alloc_mw(host.pd, IBV_MW_TYPE_2);
    {
        Qp qp(host);
        qp.connect(child.channel());
        child.channel().send(rounds);
        std::vector<ibv_sge> none;
        for (int i = 0; i < rounds; ++i) {
            ASSERT_EQ(qp.post_receive(3, {host.sge(4096, 64)}), 0);
            ibv_send_wr bind = Qp::request(7, IBV_WR_BIND_MW, none, 0);
            bind.bind_mw.mw = window;
            bind.bind_mw.rkey = window->rkey = ibv_inc_rkey(window->rkey);
            bind.bind_mw.bind_info = {host.mr, host.address(8192), 64, kReadWrite};
            const Order told{Act::kWrite, window->rkey, host.address(8192)};
            std::memcpy(host.buffer.data(), &told, sizeof told);
            std::vector<ibv_sge> sges{host.sge(0, sizeof told)};
            ibv_send_wr send = Qp::request(8, IBV_WR_SEND, sges);
            bind.next = &send;
            ASSERT_EQ(qp.post(bind), 0);
            // The answer may arrive before the send's own completion.
            for (const ibv_wc& wc : {host.wait(), host.wait()}) {
                ASSERT_EQ(wc.status, IBV_WC_SUCCESS);
                ASSERT_TRUE(wc.wr_id == 8 || wc.invalidated_rkey == window->rkey);
            }
        }
        child.channel().meet();
    }
    EXPECT_EQ(ibv_dealloc_mw(window), 0);
    EXPECT_EQ(child.wait(), 0);
}

TEST_P(VerbsWindows, NothingIsWrittenAnyMoreOnceTheInvalidationHasCompleted) {
    for (const ibv_mw_type type : {IBV_MW_TYPE_1, IBV_MW_TYPE_2}) {
        constexpr std::uint32_t kLength = 64 << 10;
        VerbsWindow side(type);
        for (int round = 0; round < scaled(5); ++round) {
            ASSERT_EQ(side.bind(0, kLength), IBV_WC_SUCCESS);
            side.remote.begin(Act::kWriteUntilRefused, side.window->rkey, side.host.address(),
                              kLength);
            side.remote.channel().receive<char>();
            ASSERT_EQ(type == IBV_MW_TYPE_1 ? side.bind(0, 0) : side.invalidate(side.window->rkey),
                      IBV_WC_SUCCESS);
            const std::vector<std::uint8_t> then(&side.host.buffer[0], &side.host.buffer[kLength]);
            EXPECT_EQ(side.remote.channel().receive<ibv_wc_status>(), IBV_WC_REM_ACCESS_ERR);
            EXPECT_EQ(std::memcmp(then.data(), side.host.buffer.data(), kLength), 0);
            side.connect();
        }
    }
}

}  // namespace
}  // namespace test
