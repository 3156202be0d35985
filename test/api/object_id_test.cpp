// SPDX-License-Identifier: BSD-2-Clause
// Ids of objects, as programs get them: by dat_opendat_object_id, by an attribute, and in events.
#include <dat2/dat_opendat.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "test/api/side.hpp"

namespace {

using namespace test;

constexpr DAT_CONN_QUAL kQualifier = 4760;

DAT_UINT64 id_of(DAT_HANDLE object) {
    DAT_UINT64 id = 0;
    succeed(dat_opendat_object_id(object, &id), "dat_opendat_object_id");
    return id;
}

DAT_UINT64 id_in(const DAT_EVENT& event) {
    return event.event_extension_data[DAT_OPENDAT_EVENT_OBJECT_ID];
}

DAT_SRQ_HANDLE shared_receives(const Side& side) {
    DAT_SRQ_ATTR attributes{};
    attributes.max_recv_dtos = 8;
    attributes.max_recv_iov = 1;
    attributes.low_watermark = DAT_SRQ_LW_DEFAULT;
    DAT_SRQ_HANDLE srq = DAT_HANDLE_NULL;
    succeed(dat_srq_create(side.ia, side.pz, &attributes, &srq), "dat_srq_create");
    return srq;
}

/// Makes an object of each kind that needs no peer, and the same once more. @return their ids.
/// @param qualifier the first of those that it uses, which nobody else does meanwhile.
std::vector<DAT_UINT64> make_two_of_each(DAT_CONN_QUAL qualifier) {
    const Side side;
    std::vector<DAT_UINT64> ids{id_of(side.ia), id_of(side.async)};
    for (unsigned round = 0; round < 2; ++round) {
        DAT_PZ_HANDLE pz = DAT_HANDLE_NULL;
        DAT_CNO_HANDLE cno = DAT_HANDLE_NULL;
        DAT_RSP_HANDLE rsp = DAT_HANDLE_NULL;
        succeed(dat_pz_create(side.ia, &pz), "dat_pz_create");
        succeed(dat_cno_create(side.ia, DAT_OS_WAIT_PROXY_AGENT_NULL, &cno), "dat_cno_create");
        succeed(
            dat_rsp_create(side.ia, qualifier + 10 + round, side.endpoint(), side.requests, &rsp),
            "dat_rsp_create");
        const Buffer buffer(side);
        for (const DAT_HANDLE object :
             {pz, cno, rsp, side.endpoint(), side.evd(DAT_EVD_SOFTWARE_FLAG, 8),
              side.listen(qualifier + round), buffer.lmr, shared_receives(side)})
            ids.push_back(id_of(object));
        DAT_RMR_HANDLE rmr = DAT_HANDLE_NULL;
        if (!side.has_rmrs()) continue;
        succeed(dat_rmr_create(side.pz, &rmr), "dat_rmr_create");
        ids.push_back(id_of(rmr));
    }
    return ids;
}

TEST(ObjectIds, ofAllObjectsOfTwoProcessesDiffer) {
    Child child([](Channel& channel) {
        const auto ids = make_two_of_each(kQualifier + 20);
        channel.send(ids.size());
        for (const DAT_UINT64 id : ids) channel.send(id);
    });
    auto ids = make_two_of_each(kQualifier);
    const std::size_t here = ids.size();
    const auto there = child.channel().receive<std::size_t>();
    for (std::size_t i = 0; i < there; ++i) ids.push_back(child.channel().receive<DAT_UINT64>());
    EXPECT_EQ(child.wait(), 0);
    EXPECT_EQ(here, there);
    EXPECT_EQ(std::count(ids.begin(), ids.end(), 0u), 0);
    std::sort(ids.begin(), ids.end());
    EXPECT_EQ(std::adjacent_find(ids.begin(), ids.end()), ids.end());
}

TEST(ObjectIds, areGivenOnceOnly) {
    const Side side;
    const DAT_EP_HANDLE ep = side.endpoint();
    const DAT_UINT64 first = id_of(ep);
    EXPECT_EQ(id_of(ep), first);
    ASSERT_EQ(dat_ep_free(ep), DAT_SUCCESS);
    DAT_UINT64 id = 7;
    EXPECT_EQ(DAT_GET_TYPE(dat_opendat_object_id(ep, &id)), DAT_INVALID_HANDLE);
    EXPECT_EQ(id, 7u);
    EXPECT_NE(id_of(side.endpoint()), first);
}

TEST(ObjectIds, argumentsAreChecked) {
    const Side side;
    DAT_UINT64 id = 7;
    EXPECT_EQ(DAT_GET_TYPE(dat_opendat_object_id(DAT_HANDLE_NULL, &id)), DAT_INVALID_HANDLE);
    EXPECT_EQ(dat_opendat_object_id(side.pz, nullptr), 0x80060026u);
    EXPECT_EQ(id, 7u);
}

TEST(ObjectIds, ofAnAdapterInstanceIsAnAttributeToo) {
    const Side side;
    const DAT_IA_ATTR all = side.attributes();
    std::string told;
    for (DAT_COUNT i = 0; i < all.num_vendor_attr; ++i)
        if (std::string(all.vendor_attr[i].name) == DAT_OPENDAT_ATTR_OBJECT_ID)
            told = all.vendor_attr[i].value;
    ASSERT_FALSE(told.empty());
    EXPECT_EQ(std::stoull(told, nullptr, 16), id_of(side.ia));
}

/// Accepts one request and waits for the end of the connection. Tells whether each event had the id
/// of its object.
void serve(Channel& channel) {
    const Side side;
    side.listen(kQualifier);
    channel.send('l');
    const DAT_EVENT request = Side::wait(side.requests, DAT_CONNECTION_REQUEST_EVENT);
    const DAT_CR_HANDLE cr = request.event_data.cr_arrival_event_data.cr_handle;
    require(id_in(request) == id_of(cr), "a request's event has the CR's id");
    const DAT_EP_HANDLE ep = side.endpoint();
    succeed(dat_cr_accept(cr, ep, 0, nullptr), "dat_cr_accept");
    for (const DAT_EVENT_NUMBER number :
         {DAT_CONNECTION_EVENT_ESTABLISHED, DAT_CONNECTION_EVENT_DISCONNECTED})
        require(id_in(side.connection_event(number, ep)) == id_of(ep), "an event has the EP's id");
}

TEST(ObjectIds, areInTheEventsOfConnectionsAndRequests) {
    Child child(serve);
    child.channel().receive<char>();
    const Side side;
    const DAT_EP_HANDLE ep = side.endpoint();
    ASSERT_EQ(Side::connect(ep, kQualifier), DAT_SUCCESS);
    EXPECT_EQ(id_in(side.connection_event(DAT_CONNECTION_EVENT_ESTABLISHED, ep)), id_of(ep));
    ASSERT_EQ(dat_ep_disconnect(ep, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
    EXPECT_EQ(id_in(side.connection_event(DAT_CONNECTION_EVENT_DISCONNECTED, ep)), id_of(ep));
    EXPECT_EQ(child.wait(), 0);
}

TEST(ObjectIds, areInAsynchronousEvents) {
    const Side side;
    const DAT_SRQ_HANDLE srq = shared_receives(side);
    Buffer buffer(side);
    DAT_LMR_TRIPLET memory = buffer.all();
    ASSERT_EQ(dat_srq_post_recv(srq, 1, &memory, cookie(1)), DAT_SUCCESS);
    ASSERT_EQ(dat_srq_set_lw(srq, 3), DAT_SUCCESS);
    const DAT_EVENT event = Side::wait(side.async, DAT_ASYNC_ERROR_EP_BROKEN);
    EXPECT_EQ(event.event_data.asynch_error_event_data.dat_handle, srq);
    EXPECT_EQ(id_in(event), id_of(srq));
}

}  // namespace
