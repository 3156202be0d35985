// SPDX-License-Identifier: BSD-2-Clause
// Remote memory regions between two real processes over soft0. The test owns them; the child gets
// their contexts. A refused access breaks the connection, so the next one uses a new connection.
#include <gtest/gtest.h>

#include <memory>

#include "test/api/side.hpp"

namespace {

using namespace test;

constexpr DAT_CONN_QUAL kQualifier = 4731;
constexpr DAT_RETURN kInvalidState = DAT_CLASS_ERROR | DAT_INVALID_STATE;
constexpr DAT_RETURN kInvalidArgument = DAT_CLASS_ERROR | DAT_INVALID_PARAMETER;
constexpr DAT_RETURN kInvalidHandle = DAT_CLASS_ERROR | DAT_INVALID_HANDLE;

enum class Act { kConnect, kWrite, kRead, kInvalidate, kSend, kTellMemory, kEnd };
struct Order {
    Act act = Act::kEnd;
    DAT_RMR_CONTEXT context = 0;
    DAT_VADDR address = 0;
    DAT_SEG_LENGTH length = 8;
};

DAT_RETURN post(DAT_EP_HANDLE ep, const Buffer& buffer, const Order& order) {
    DAT_LMR_TRIPLET local = buffer.all();
    local.segment_length = order.length;
    DAT_RMR_TRIPLET remote{};
    remote.virtual_address = order.address;
    remote.segment_length = order.length;
    remote.rmr_context = order.context;
    constexpr auto kFlags = DAT_COMPLETION_DEFAULT_FLAG;
    switch (order.act) {
        case Act::kWrite:
            return dat_ep_post_rdma_write(ep, 1, &local, cookie(1), &remote, kFlags);
        case Act::kRead:
            return dat_ep_post_rdma_read(ep, 1, &local, cookie(1), &remote, kFlags);
        default:
            return dat_ep_post_send_with_invalidate(
                ep, 1, &local, cookie(1), kFlags,
                order.act == Act::kInvalidate ? DAT_TRUE : DAT_FALSE, order.context);
    }
}

/// Posts a request. @return the status of its completion. A failure breaks the connection and frees
/// the EP.
DAT_DTO_COMPLETION_STATUS carry_out(Side& side, DAT_EP_HANDLE& ep, const Buffer& buffer,
                                    const Order& order) {
    succeed(post(ep, buffer, order), "a request is posted");
    const DAT_DTO_COMPLETION_STATUS status = Side::wait(side.sends, DAT_DTO_COMPLETION_EVENT)
                                                 .event_data.dto_completion_event_data.status;
    if (status == DAT_DTO_SUCCESS) return status;
    succeed(dat_ep_free(ep), "dat_ep_free");
    ep = DAT_HANDLE_NULL;
    Side::drain(side.connections);
    return status;
}

void serve(Channel& channel) {
    Side side;
    Buffer buffer(side, 8192);
    DAT_EP_HANDLE ep = DAT_HANDLE_NULL;
    for (;;) {
        const auto order = channel.receive<Order>();
        switch (order.act) {
            case Act::kEnd:
                return;
            case Act::kConnect:
                if (ep) succeed(dat_ep_free(ep), "dat_ep_free");
                Side::drain(side.connections);
                ep = side.connect_to(kQualifier);
                break;
            case Act::kTellMemory:
                buffer.bytes.replace(0, 11, "from afar..");
                channel.send(Order{Act::kEnd, buffer.remote_key, buffer.all().virtual_address});
                break;
            default:
                channel.send(carry_out(side, ep, buffer, order));
        }
    }
}

/// The owner of the RMRs and its peers.
class Rmrs : public testing::Test {
  protected:
    Rmrs() {
        side.listen(kQualifier);
        connect();
    }
    ~Rmrs() override {
        for (Child* each : {&child, &second}) {
            each->channel().send(Order{});
            EXPECT_EQ(each->wait(), 0);
        }
    }

    void connect(const DAT_EP_ATTR* attributes = nullptr) {
        if (ep) succeed(dat_ep_free(ep), "dat_ep_free");
        side.drain();
        child.channel().send(Order{Act::kConnect});
        succeed(dat_ep_create(side.ia, side.pz, side.receives, side.sends, side.connections,
                              attributes, &ep),
                "dat_ep_create");
        succeed(dat_cr_accept(side.request(), ep, 0, nullptr), "dat_cr_accept");
        side.connection_event(DAT_CONNECTION_EVENT_ESTABLISHED, ep);
    }
    /// Has the peer carry out an order. @return the status there. After a failure there is a new
    /// connection.
    DAT_DTO_COMPLETION_STATUS peer(Act act, DAT_RMR_CONTEXT context, DAT_SEG_LENGTH offset = 0,
                                   DAT_SEG_LENGTH length = 8) {
        child.channel().send(Order{act, context, memory.all().virtual_address + offset, length});
        const auto status = child.channel().receive<DAT_DTO_COMPLETION_STATUS>();
        if (status != DAT_DTO_SUCCESS) connect();
        return status;
    }
    DAT_RMR_HANDLE make(bool for_ep) const {
        DAT_RMR_HANDLE rmr = DAT_HANDLE_NULL;
        succeed((for_ep ? dat_rmr_create_for_ep : dat_rmr_create)(side.pz, &rmr), "dat_rmr_create");
        return rmr;
    }
    DAT_LMR_TRIPLET part(DAT_SEG_LENGTH offset, DAT_SEG_LENGTH length) const {
        DAT_LMR_TRIPLET triplet = memory.all();
        triplet.virtual_address += offset;
        triplet.segment_length = length;
        return triplet;
    }
    DAT_RETURN try_bind(DAT_RMR_HANDLE rmr, const DAT_LMR_TRIPLET& triplet,
                        int privileges = DAT_MEM_PRIV_ALL_FLAG,
                        int flags = DAT_COMPLETION_DEFAULT_FLAG) {
        return dat_rmr_bind(rmr, memory.lmr, &triplet, static_cast<DAT_MEM_PRIV_FLAGS>(privileges),
                            DAT_VA_TYPE_VA, ep, cookie(77),
                            static_cast<DAT_COMPLETION_FLAGS>(flags), &context);
    }
    DAT_DTO_COMPLETION_STATUS bind_event(DAT_RMR_HANDLE rmr) const {
        const DAT_EVENT event = Side::wait(side.sends, DAT_RMR_BIND_COMPLETION_EVENT);
        const auto& data = event.event_data.rmr_completion_event_data;
        require(event.evd_handle == side.sends, "on the endpoint's request EVD");
        require(data.rmr_handle == rmr && data.user_cookie.as_64 == 77, "it is this bind's");
        return data.status;
    }
    /// Binds the RMR to a part of the memory and expects success. @return its context.
    DAT_RMR_CONTEXT bind(DAT_RMR_HANDLE rmr, DAT_SEG_LENGTH offset, DAT_SEG_LENGTH length,
                         int privileges = DAT_MEM_PRIV_ALL_FLAG) {
        succeed(try_bind(rmr, part(offset, length), privileges), "dat_rmr_bind");
        require(bind_event(rmr) == DAT_RMR_BIND_SUCCESS, "the bind succeeds");
        return context;
    }
    void unbind(DAT_RMR_HANDLE rmr) { bind(rmr, 0, 0); }
    static DAT_RETURN query(DAT_RMR_HANDLE rmr, DAT_RMR_PARAM& parameters,
                            int mask = DAT_RMR_FIELD_ALL) {
        return dat_rmr_query(rmr, static_cast<DAT_RMR_PARAM_MASK>(mask), &parameters);
    }
    static bool is_bound(DAT_RMR_HANDLE rmr) {
        DAT_RMR_PARAM parameters{};
        const DAT_RETURN code = query(rmr, parameters);
        require(code == DAT_SUCCESS || code == (kInvalidArgument | DAT_INVALID_ARG2), "an answer");
        return code == DAT_SUCCESS;
    }
    DAT_DTO_COMPLETION_EVENT_DATA received() const {
        return Side::wait(side.receives, DAT_DTO_COMPLETION_EVENT)
            .event_data.dto_completion_event_data;
    }
    void post_receive() const {
        DAT_LMR_TRIPLET triplet = part(0, 64);
        succeed(dat_ep_post_recv(ep, 1, &triplet, cookie(3), DAT_COMPLETION_DEFAULT_FLAG),
                "dat_ep_post_recv");
    }

    void SetUp() override {
        if (!side.has_rmrs()) GTEST_SKIP() << "the device has no memory windows";
    }

    TemporaryFabric fabric;
    // Forked before this process has threads.
    Child child{serve};
    Child second{serve};
    Side side;
    Buffer memory{side, 8192};
    DAT_EP_HANDLE ep = DAT_HANDLE_NULL;
    DAT_RMR_CONTEXT context = 0;
};

TEST_F(Rmrs, TheAdapterSaysHowManyItHasAndWhomTheyServe) {
    DAT_IA_ATTR attributes;
    auto provider = std::make_unique<DAT_PROVIDER_ATTR>(DAT_PROVIDER_ATTR{});
    ASSERT_EQ(dat_ia_query(side.ia, nullptr, DAT_IA_FIELD_ALL, &attributes, DAT_PROVIDER_FIELD_ALL,
                           provider.get()),
              DAT_SUCCESS);
    EXPECT_GT(attributes.max_rmrs, 0);
    EXPECT_GT(attributes.max_rmr_target_address, 0u);
    EXPECT_EQ(provider->rmr_scope_supported, DAT_RMR_SCOPE_ANY);
}

TEST_F(Rmrs, ABoundOneOpensItsPartOfTheMemoryForItsPrivilegesAndNothingElse) {
    for (const bool for_ep : {false, true}) {
        const DAT_RMR_HANDLE rmr = make(for_ep);
        bind(rmr, 4096, 64, DAT_MEM_PRIV_REMOTE_WRITE_FLAG);
        EXPECT_EQ(peer(Act::kWrite, context, 4096, 64), DAT_DTO_SUCCESS);
        EXPECT_EQ(peer(Act::kRead, context, 4096), DAT_DTO_ERR_REMOTE_ACCESS);
        if (for_ep) bind(rmr, 4096, 64, DAT_MEM_PRIV_REMOTE_WRITE_FLAG);
        EXPECT_EQ(peer(Act::kWrite, context, 4096 + 57), DAT_DTO_ERR_REMOTE_ACCESS);
        if (for_ep) bind(rmr, 4096, 64, DAT_MEM_PRIV_REMOTE_WRITE_FLAG);
        EXPECT_EQ(peer(Act::kWrite, context, 4095), DAT_DTO_ERR_REMOTE_ACCESS);
        EXPECT_EQ(dat_rmr_free(rmr), DAT_SUCCESS);
    }
}

TEST_F(Rmrs, AQueryTellsWhatItIsBoundTo) {
    for (const bool for_ep : {false, true}) {
        const DAT_RMR_HANDLE rmr = make(for_ep);
        DAT_RMR_PARAM parameters{};
        EXPECT_EQ(query(rmr, parameters), kInvalidArgument | DAT_INVALID_ARG2)
            << "there is no triplet";
        ASSERT_EQ(query(rmr, parameters, DAT_RMR_FIELD_ALL & ~DAT_RMR_FIELD_LMR_TRIPLET),
                  DAT_SUCCESS);
        EXPECT_EQ(parameters.ia_handle, side.ia);
        EXPECT_EQ(parameters.pz_handle, side.pz);
        EXPECT_EQ(parameters.rmr_scope, for_ep ? DAT_RMR_SCOPE_EP : DAT_RMR_SCOPE_PZ);
        bind(rmr, 128, 256, DAT_MEM_PRIV_REMOTE_READ_FLAG);
        ASSERT_EQ(query(rmr, parameters), DAT_SUCCESS);
        EXPECT_EQ(parameters.lmr_triplet.virtual_address, part(128, 0).virtual_address);
        EXPECT_EQ(parameters.lmr_triplet.segment_length, 256u);
        EXPECT_EQ(parameters.lmr_triplet.lmr_context, memory.local_key);
        EXPECT_EQ(parameters.mem_priv, DAT_MEM_PRIV_REMOTE_READ_FLAG);
        EXPECT_EQ(parameters.rmr_context, context);
        EXPECT_EQ(parameters.va_type, DAT_VA_TYPE_VA);
        EXPECT_EQ(dat_rmr_query(rmr, DAT_RMR_FIELD_ALL, nullptr),
                  kInvalidArgument | DAT_INVALID_ARG3);
        EXPECT_EQ(dat_rmr_free(rmr), DAT_SUCCESS);
    }
}

TEST_F(Rmrs, ABindAnewGivesAnotherContextAndEndsTheOneBefore) {
    for (const bool for_ep : {false, true}) {
        const DAT_RMR_HANDLE rmr = make(for_ep);
        const DAT_RMR_CONTEXT first = bind(rmr, 0, 64);
        const DAT_RMR_CONTEXT second = bind(rmr, 0, 32);
        EXPECT_NE(first, second);
        EXPECT_EQ(peer(Act::kRead, second, 0, 32), DAT_DTO_SUCCESS);
        EXPECT_EQ(peer(Act::kRead, first), DAT_DTO_ERR_REMOTE_ACCESS);
        if (for_ep) bind(rmr, 0, 64);
        unbind(rmr);
        EXPECT_FALSE(is_bound(rmr));
        EXPECT_EQ(peer(Act::kRead, context), DAT_DTO_ERR_REMOTE_ACCESS);
        unbind(rmr);  // completes too, although the RMR is not bound
        EXPECT_EQ(dat_rmr_free(rmr), DAT_SUCCESS);
    }
}

TEST_F(Rmrs, ManyBindsInARowGiveTheirRequestsBack) {
    for (const bool for_ep : {false, true}) {
        const DAT_RMR_HANDLE rmr = make(for_ep);
        for (int i = 0; i < 100; ++i) bind(rmr, 0, 64);  // more than max_request_dtos
        EXPECT_EQ(peer(Act::kRead, context), DAT_DTO_SUCCESS);
        int posted = 0;
        while (try_bind(rmr, part(0, 64)) == DAT_SUCCESS) ++posted;
        EXPECT_EQ(posted, for_ep ? 8 : 16) << "of 16 requests the second kind needs two for each";
        for (int i = 0; i < posted; ++i) EXPECT_EQ(bind_event(rmr), DAT_RMR_BIND_SUCCESS);
        EXPECT_EQ(dat_rmr_free(rmr), DAT_SUCCESS);
    }
}

TEST_F(Rmrs, ThePeerInvalidatesOneThatIsForAnEndpoint) {
    const DAT_RMR_HANDLE rmr = make(true);
    bind(rmr, 0, 64);
    post_receive();
    ASSERT_EQ(peer(Act::kSend, context), DAT_DTO_SUCCESS);
    DAT_DTO_COMPLETION_EVENT_DATA dto = received();
    EXPECT_EQ(dto.operation, DAT_DTO_RECEIVE) << "invalidation was not asked for";
    EXPECT_TRUE(is_bound(rmr));
    post_receive();
    ASSERT_EQ(peer(Act::kInvalidate, context), DAT_DTO_SUCCESS);
    dto = received();
    EXPECT_EQ(dto.status, DAT_DTO_SUCCESS);
    EXPECT_EQ(dto.user_cookie.as_64, 3u);
    EXPECT_EQ(dto.transfered_length, 8u);
    EXPECT_EQ(dto.operation, DAT_DTO_RECEIVE_WITH_INVALIDATE);
    EXPECT_EQ(dto.rmr_context, context);
    EXPECT_FALSE(is_bound(rmr));
    const DAT_RMR_CONTEXT before = context;
    bind(rmr, 0, 64);
    EXPECT_NE(context, before);
    EXPECT_EQ(peer(Act::kRead, context), DAT_DTO_SUCCESS);
    EXPECT_EQ(peer(Act::kRead, before), DAT_DTO_ERR_REMOTE_ACCESS);
    EXPECT_EQ(dat_rmr_free(rmr), DAT_SUCCESS);
}

TEST_F(Rmrs, WhatThePeerMayNotInvalidateBreaksTheConnection) {
    const DAT_RMR_HANDLE for_zone = make(false);
    bind(for_zone, 0, 64);
    for (const DAT_RMR_CONTEXT wrong : {context, memory.remote_key}) {
        post_receive();
        child.channel().send(Order{Act::kInvalidate, wrong, 0, 8});
        EXPECT_EQ(child.channel().receive<DAT_DTO_COMPLETION_STATUS>(), DAT_DTO_ERR_REMOTE_ACCESS);
        EXPECT_EQ(received().status, DAT_DTO_ERR_REMOTE_RESPONDER);
        connect();
    }
    EXPECT_EQ(peer(Act::kRead, context), DAT_DTO_SUCCESS) << "it is still bound";
    EXPECT_EQ(dat_rmr_free(for_zone), DAT_SUCCESS);
}

TEST_F(Rmrs, MemoryStaysRegisteredWhileOneIsBoundToIt) {
    for (const bool for_ep : {false, true}) {
        const DAT_RMR_HANDLE rmr = make(for_ep);
        Buffer other(side);
        DAT_LMR_TRIPLET all = other.all();
        succeed(dat_rmr_bind(rmr, other.lmr, &all, DAT_MEM_PRIV_ALL_FLAG, DAT_VA_TYPE_VA, ep,
                             cookie(77), DAT_COMPLETION_DEFAULT_FLAG, &context),
                "dat_rmr_bind");
        EXPECT_EQ(bind_event(rmr), DAT_RMR_BIND_SUCCESS);
        EXPECT_EQ(dat_lmr_free(other.lmr), DAT_INVALID_STATE) << "without the class bit";
        bind(rmr, 0, 64);
        EXPECT_EQ(dat_lmr_free(other.lmr), DAT_SUCCESS);
        EXPECT_EQ(dat_rmr_free(rmr), DAT_SUCCESS);
    }
}

TEST_F(Rmrs, TheEndOfAnEndpointsQueuePairUnbindsThoseThatAreForIt) {
    const DAT_RMR_HANDLE for_ep = make(true);
    const DAT_RMR_HANDLE for_zone = make(false);
    bind(for_ep, 0, 64);
    bind(for_zone, 0, 64);
    ASSERT_EQ(dat_ep_disconnect(ep, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
    side.connection_event(DAT_CONNECTION_EVENT_DISCONNECTED, ep);
    EXPECT_TRUE(is_bound(for_ep));
    ASSERT_EQ(dat_ep_reset(ep), DAT_SUCCESS);
    EXPECT_FALSE(is_bound(for_ep));
    EXPECT_TRUE(is_bound(for_zone));
    connect();
    EXPECT_EQ(peer(Act::kRead, context), DAT_DTO_SUCCESS) << "every endpoint of the zone";
    Buffer other(side);
    DAT_LMR_TRIPLET all = other.all();
    succeed(dat_rmr_bind(for_ep, other.lmr, &all, DAT_MEM_PRIV_ALL_FLAG, DAT_VA_TYPE_VA, ep,
                         cookie(77), DAT_COMPLETION_DEFAULT_FLAG, &context),
            "dat_rmr_bind");
    EXPECT_EQ(bind_event(for_ep), DAT_RMR_BIND_SUCCESS);
    EXPECT_EQ(dat_lmr_free(other.lmr), DAT_INVALID_STATE);
    connect();
    EXPECT_FALSE(is_bound(for_ep));
    EXPECT_EQ(dat_lmr_free(other.lmr), DAT_SUCCESS);
    EXPECT_EQ(dat_rmr_free(for_ep), DAT_SUCCESS);
    EXPECT_EQ(dat_rmr_free(for_zone), DAT_SUCCESS);
}

TEST_F(Rmrs, OneThatIsBoundToAnEndpointCannotBeBoundThroughAnother) {
    const DAT_RMR_HANDLE rmr = make(true);
    bind(rmr, 0, 64);
    const DAT_EP_HANDLE first = ep;
    second.channel().send(Order{Act::kConnect});
    const DAT_EP_HANDLE other = side.accept_next();
    ep = other;
    EXPECT_EQ(try_bind(rmr, part(0, 64)), kInvalidState);
    EXPECT_EQ(try_bind(rmr, part(0, 0)), kInvalidState);
    ep = first;
    unbind(rmr);
    ep = other;
    bind(rmr, 0, 64);
    ep = first;
    const Order read{Act::kRead, context, memory.all().virtual_address, 8};
    second.channel().send(read);
    EXPECT_EQ(second.channel().receive<DAT_DTO_COMPLETION_STATUS>(), DAT_DTO_SUCCESS);
    EXPECT_EQ(peer(Act::kRead, context), DAT_DTO_ERR_REMOTE_ACCESS);
    EXPECT_EQ(dat_rmr_free(rmr), DAT_SUCCESS);
    EXPECT_EQ(dat_ep_free(other), DAT_SUCCESS);
}

TEST_F(Rmrs, EveryDocumentedErrorOfABind) {
    const DAT_RMR_HANDLE rmr = make(false);
    const DAT_LMR_TRIPLET good = part(0, 64);
    const auto call = [&](DAT_RMR_HANDLE of, DAT_LMR_HANDLE lmr, const DAT_LMR_TRIPLET* triplet,
                          DAT_EP_HANDLE through) {
        return dat_rmr_bind(of, lmr, triplet, DAT_MEM_PRIV_ALL_FLAG, DAT_VA_TYPE_VA, through,
                            cookie(0), DAT_COMPLETION_DEFAULT_FLAG, &context);
    };
    EXPECT_EQ(call(DAT_HANDLE_NULL, memory.lmr, &good, ep),
              kInvalidHandle | DAT_INVALID_HANDLE_RMR);
    EXPECT_EQ(call(rmr, memory.lmr, &good, DAT_HANDLE_NULL),
              kInvalidHandle | DAT_INVALID_HANDLE_EP);
    EXPECT_EQ(call(rmr, DAT_HANDLE_NULL, &good, ep), kInvalidHandle | DAT_INVALID_HANDLE_LMR);
    EXPECT_EQ(call(rmr, memory.lmr, nullptr, ep), kInvalidArgument | DAT_INVALID_ARG3);

    const DAT_LMR_TRIPLET outside[] = {part(8190, 4), part(8193, 1),
                                       part(static_cast<DAT_SEG_LENGTH>(-4), 8)};
    for (const DAT_LMR_TRIPLET& triplet : outside)
        EXPECT_EQ(try_bind(rmr, triplet), kInvalidArgument | DAT_INVALID_ARG2);
    DAT_LMR_TRIPLET of_another = good;
    of_another.lmr_context ^= 0x1000;
    EXPECT_EQ(try_bind(rmr, of_another), kInvalidArgument | DAT_INVALID_ARG2);

    DAT_PZ_HANDLE zone = DAT_HANDLE_NULL;
    DAT_RMR_HANDLE elsewhere = DAT_HANDLE_NULL;
    ASSERT_EQ(dat_pz_create(side.ia, &zone), DAT_SUCCESS);
    ASSERT_EQ(dat_rmr_create(zone, &elsewhere), DAT_SUCCESS);
    EXPECT_EQ(try_bind(elsewhere, good), kInvalidArgument | DAT_INVALID_ARG4);
    EXPECT_EQ(try_bind(elsewhere, part(0, 0)), kInvalidArgument | DAT_INVALID_ARG2);
    EXPECT_EQ(dat_pz_free(zone), kInvalidState | DAT_INVALID_STATE_PZ_IN_USE);
    EXPECT_EQ(dat_rmr_free(elsewhere), DAT_SUCCESS);
    EXPECT_EQ(dat_pz_free(zone), DAT_SUCCESS);

    for (const int flag : {DAT_COMPLETION_SUPPRESS_FLAG, DAT_COMPLETION_UNSIGNALLED_FLAG})
        EXPECT_EQ(try_bind(rmr, good, DAT_MEM_PRIV_ALL_FLAG, flag),
                  kInvalidArgument | DAT_INVALID_ARG4);

    ASSERT_EQ(dat_ep_disconnect(ep, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
    side.connection_event(DAT_CONNECTION_EVENT_DISCONNECTED, ep);
    EXPECT_EQ(try_bind(rmr, good), kInvalidState | DAT_INVALID_STATE_EP_DISCONNECTED);
    EXPECT_EQ(try_bind(rmr, part(0, 0)), kInvalidState | DAT_INVALID_STATE_EP_DISCONNECTED);
    EXPECT_FALSE(is_bound(rmr));
    EXPECT_EQ(dat_rmr_free(rmr), DAT_SUCCESS);
    EXPECT_EQ(dat_rmr_free(rmr), kInvalidHandle | DAT_INVALID_HANDLE_RMR);
    Side::expect_empty(side.sends);
}

TEST_F(Rmrs, MemoryThatTheDeviceMayOnlyReadIsNotOpenedForWriting) {
    const DAT_RMR_HANDLE rmr = make(false);
    DAT_REGION_DESCRIPTION region{};
    region.for_va = memory.bytes.data();
    DAT_LMR_HANDLE lmr = DAT_HANDLE_NULL;
    DAT_LMR_TRIPLET triplet = part(0, 64);
    ASSERT_EQ(dat_lmr_create(side.ia, DAT_MEM_TYPE_VIRTUAL, region, 64, side.pz,
                             DAT_MEM_PRIV_LOCAL_READ_FLAG, DAT_VA_TYPE_VA, &lmr,
                             &triplet.lmr_context, nullptr, nullptr, nullptr),
              DAT_SUCCESS);
    const auto bind_with = [&](DAT_MEM_PRIV_FLAGS privileges) {
        return dat_rmr_bind(rmr, lmr, &triplet, privileges, DAT_VA_TYPE_VA, ep, cookie(77),
                            DAT_COMPLETION_DEFAULT_FLAG, &context);
    };
    EXPECT_EQ(bind_with(DAT_MEM_PRIV_REMOTE_WRITE_FLAG),
              static_cast<DAT_RETURN>(DAT_CLASS_ERROR | DAT_PRIVILEGES_VIOLATION));
    EXPECT_EQ(bind_with(DAT_MEM_PRIV_REMOTE_READ_FLAG), DAT_SUCCESS);
    EXPECT_EQ(bind_event(rmr), DAT_RMR_BIND_SUCCESS);
    EXPECT_EQ(peer(Act::kRead, context), DAT_DTO_SUCCESS);
    EXPECT_EQ(dat_rmr_free(rmr), DAT_SUCCESS);
    EXPECT_EQ(dat_lmr_free(lmr), DAT_SUCCESS);
}

TEST_F(Rmrs, ASuppressedBindCompletesInSilence) {
    DAT_EP_PARAM parameters;
    ASSERT_EQ(dat_ep_query(ep, DAT_EP_FIELD_ALL, &parameters), DAT_SUCCESS);
    DAT_EP_ATTR attributes = parameters.ep_attr;
    attributes.request_completion_flags = DAT_COMPLETION_SUPPRESS_FLAG;
    connect(&attributes);
    for (const bool for_ep : {false, true}) {
        const DAT_RMR_HANDLE rmr = make(for_ep);
        ASSERT_EQ(try_bind(rmr, part(0, 64), DAT_MEM_PRIV_ALL_FLAG, DAT_COMPLETION_SUPPRESS_FLAG),
                  DAT_SUCCESS);
        EXPECT_EQ(peer(Act::kRead, context), DAT_DTO_SUCCESS);
        Side::expect_empty(side.sends);
        unbind(rmr);
        EXPECT_EQ(dat_rmr_free(rmr), DAT_SUCCESS);
    }
}

TEST_F(Rmrs, FreeingABoundOneEndsItsContext) {
    for (const bool for_ep : {false, true}) {
        const DAT_RMR_HANDLE rmr = make(for_ep);
        bind(rmr, 0, 64);
        EXPECT_EQ(dat_rmr_free(rmr), DAT_SUCCESS);
        EXPECT_EQ(peer(Act::kRead, context), DAT_DTO_ERR_REMOTE_ACCESS);
    }
}

TEST_F(Rmrs, AReadMayNameItsSinkByOne) {
    child.channel().send(Order{Act::kTellMemory});
    const auto there = child.channel().receive<Order>();
    DAT_RMR_TRIPLET remote{};
    remote.virtual_address = there.address;
    remote.segment_length = 11;
    remote.rmr_context = there.context;
    const DAT_RMR_HANDLE rmr = make(true);
    bind(rmr, 256, 64);
    DAT_RMR_TRIPLET local{};
    local.virtual_address = part(300, 0).virtual_address;
    local.segment_length = 11;
    local.rmr_context = context;
    const auto read = [&] {
        return dat_ep_post_rdma_read_to_rmr(ep, &local, cookie(5), &remote,
                                            DAT_COMPLETION_DEFAULT_FLAG);
    };
    ASSERT_EQ(read(), DAT_SUCCESS);
    const auto dto =
        Side::wait(side.sends, DAT_DTO_COMPLETION_EVENT).event_data.dto_completion_event_data;
    EXPECT_EQ(dto.status, DAT_DTO_SUCCESS);
    EXPECT_EQ(dto.operation, DAT_DTO_RDMA_READ);
    EXPECT_EQ(dto.transfered_length, 11u);
    EXPECT_EQ(memory.bytes.substr(300, 11), "from afar..");

    EXPECT_EQ(dat_ep_post_rdma_read_to_rmr(DAT_HANDLE_NULL, &local, cookie(5), &remote,
                                           DAT_COMPLETION_DEFAULT_FLAG),
              kInvalidHandle | DAT_INVALID_HANDLE_EP);
    EXPECT_EQ(
        dat_ep_post_rdma_read_to_rmr(ep, nullptr, cookie(5), &remote, DAT_COMPLETION_DEFAULT_FLAG),
        kInvalidArgument | DAT_INVALID_ARG2);
    EXPECT_EQ(
        dat_ep_post_rdma_read_to_rmr(ep, &local, cookie(5), nullptr, DAT_COMPLETION_DEFAULT_FLAG),
        kInvalidArgument | DAT_INVALID_ARG4);
    local.virtual_address = part(256 + 54, 0).virtual_address;
    EXPECT_EQ(read(), kInvalidArgument | DAT_INVALID_ARG2) << "beyond its end";
    local.virtual_address = part(300, 0).virtual_address;
    bind(rmr, 256, 64, DAT_MEM_PRIV_REMOTE_READ_FLAG);
    EXPECT_EQ(read(), kInvalidArgument | DAT_INVALID_ARG2) << "the context before";
    local.rmr_context = context;
    EXPECT_EQ(read(), static_cast<DAT_RETURN>(DAT_CLASS_ERROR | DAT_PRIVILEGES_VIOLATION));
    unbind(rmr);
    EXPECT_EQ(read(), kInvalidArgument | DAT_INVALID_ARG2) << "bound to nothing";
    local.rmr_context = memory.remote_key;
    EXPECT_EQ(read(), DAT_SUCCESS) << "an LMR has a context too";
    EXPECT_EQ(Side::wait(side.sends, DAT_DTO_COMPLETION_EVENT)
                  .event_data.dto_completion_event_data.status,
              DAT_DTO_SUCCESS);
    EXPECT_EQ(dat_rmr_free(rmr), DAT_SUCCESS);
}

TEST_F(Rmrs, TheyAreChildrenOfTheirZoneAndAdapterWithAKindAndAContext) {
    DAT_RMR_HANDLE rmr = DAT_HANDLE_NULL;
    EXPECT_EQ(dat_rmr_create(DAT_HANDLE_NULL, &rmr), kInvalidHandle | DAT_INVALID_HANDLE_PZ);
    EXPECT_EQ(dat_rmr_create_for_ep(DAT_HANDLE_NULL, &rmr), kInvalidHandle | DAT_INVALID_HANDLE_PZ);
    EXPECT_EQ(dat_rmr_create(side.pz, nullptr), kInvalidArgument | DAT_INVALID_ARG2);
    EXPECT_EQ(dat_rmr_create_for_ep(side.pz, nullptr), kInvalidArgument | DAT_INVALID_ARG2);
    rmr = make(false);
    DAT_HANDLE_TYPE type{};
    EXPECT_EQ(dat_get_handle_type(rmr, &type), DAT_SUCCESS);
    EXPECT_EQ(type, DAT_HANDLE_TYPE_RMR);
    DAT_CONTEXT word{};
    word.as_64 = 4711;
    EXPECT_EQ(dat_set_consumer_context(rmr, word), DAT_SUCCESS);
    word.as_64 = 0;
    EXPECT_EQ(dat_get_consumer_context(rmr, &word), DAT_SUCCESS);
    EXPECT_EQ(word.as_64, 4711u);
    EXPECT_EQ(dat_ia_close(side.ia, DAT_CLOSE_GRACEFUL_FLAG),
              kInvalidState | DAT_INVALID_STATE_IA_IN_USE);
    bind(rmr, 0, 64);
    make(true);
    side.close();  // an abrupt close, with one of them bound
    EXPECT_EQ(dat_rmr_free(rmr), kInvalidHandle | DAT_INVALID_HANDLE_RMR);
}

}  // namespace
