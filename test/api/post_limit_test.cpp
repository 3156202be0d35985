// SPDX-License-Identifier: BSD-2-Clause
// A refused post reports the limit that it exceeds. Each limit is reported once per process, so
// each test posts in a child.
#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "test/api/side.hpp"

namespace {

using namespace test;

constexpr DAT_CONN_QUAL kQualifier = 4851;

DAT_EP_HANDLE endpoint(const Side& side) {
    DAT_EP_ATTR attributes{};
    attributes.service_type = DAT_SERVICE_TYPE_RC;
    attributes.qos = DAT_QOS_BEST_EFFORT;
    attributes.max_recv_dtos = attributes.max_request_dtos = 16;
    attributes.max_recv_iov = attributes.max_request_iov = 2;
    DAT_EP_HANDLE ep = DAT_HANDLE_NULL;
    succeed(dat_ep_create(side.ia, side.pz, side.receives, side.sends, side.connections,
                          &attributes, &ep),
            "dat_ep_create");
    return ep;
}

DAT_EP_HANDLE connected_endpoint(const Side& side) {
    side.listen(kQualifier);
    const DAT_EP_HANDLE active = endpoint(side);
    succeed(Side::connect(active, kQualifier), "dat_ep_connect");
    succeed(dat_cr_accept(side.request(), endpoint(side), 0, nullptr), "dat_cr_accept");
    for (int i = 0; i < 2; ++i) Side::wait(side.connections, DAT_CONNECTION_EVENT_ESTABLISHED);
    return active;
}

DAT_RETURN receive(DAT_EP_HANDLE ep, DAT_COUNT segments = 0, DAT_LMR_TRIPLET* local = nullptr) {
    return dat_ep_post_recv(ep, segments, local, {}, DAT_COMPLETION_DEFAULT_FLAG);
}

std::string text_of(DAT_HANDLE handle) {
    std::ostringstream text;
    text << handle;
    return text.str();
}

/// Expects exactly one report of a limit in the output, which names the limit and the object.
void expect_report(const std::string& written, DAT_HANDLE object, const std::string& limit) {
    const std::size_t id = written.find("[DAT115]");
    require(id != std::string::npos, "the limit is reported: " + written);
    require(written.find("[DAT115]", id + 1) == std::string::npos, "once: " + written);
    require(written.find(limit) != std::string::npos, "with '" + limit + "': " + written);
    require(written.find(text_of(object)) != std::string::npos, "and the handle: " + written);
}

class PostLimit : public testing::Test {
  protected:
    /// @param body makes the posts and returns the object that refuses.
    static void reports(const std::string& limit,
                        const std::function<DAT_HANDLE(const Side&)>& body) {
        Child child([&](Channel&) {
            const Side side;
            DAT_HANDLE object = DAT_HANDLE_NULL;
            const std::string written = captured_stderr([&] { object = body(side); });
            expect_report(written, object, limit);
        });
        EXPECT_EQ(child.wait(), 0);
    }
    TemporaryFabric fabric;
};

TEST_F(PostLimit, OfReceivesIsNamedWithItsValueByTheFirstReceiveBeyondIt) {
    reports("max_recv_dtos is 16, and 16 are posted", [](const Side& side) {
        const DAT_EP_HANDLE ep = endpoint(side);
        for (int i = 0; i < 16; ++i) succeed(receive(ep), "dat_ep_post_recv");
        for (int i = 0; i < 3; ++i) expect_code(receive(ep), 0x80030002, "the 17th receive");
        return ep;
    });
}

TEST_F(PostLimit, OfRequestsIsNamedWithItsValue) {
    reports("max_request_dtos is 16, and 16 are posted", [](const Side& side) {
        const DAT_EP_HANDLE ep = connected_endpoint(side);
        const auto send = [ep] {
            return dat_ep_post_send(ep, 0, nullptr, {}, DAT_COMPLETION_DEFAULT_FLAG);
        };
        for (int i = 0; i < 16; ++i) succeed(send(), "dat_ep_post_send");
        expect_code(send(), 0x80030002, "the 17th send");
        return ep;
    });
}

TEST_F(PostLimit, OfSegmentsIsNamedWithItsValueAndTheirNumber) {
    reports("max_recv_iov is 2, and it has 3 segments", [](const Side& side) {
        const Buffer buffer(side);
        DAT_LMR_TRIPLET segments[3] = {buffer.all(), buffer.all(), buffer.all()};
        const DAT_EP_HANDLE ep = endpoint(side);
        expect_code(receive(ep, 3, segments), 0x00060000, "three segments");
        return ep;
    });
}

TEST_F(PostLimit, OfAMessagesLengthIsNamedWithItsValue) {
    reports("and it has 8589934590", [](const Side& side) {
        const Buffer buffer(side);
        DAT_LMR_TRIPLET segments[2] = {buffer.all(), buffer.all()};
        for (DAT_LMR_TRIPLET& segment : segments) segment.segment_length = 0xFFFFFFFF;
        const DAT_EP_HANDLE ep = endpoint(side);
        expect_code(receive(ep, 2, segments), DAT_LENGTH_ERROR, "too long a message");
        return ep;
    });
}

TEST_F(PostLimit, OfASharedReceiveQueueIsNamedWithItsValue) {
    reports("max_recv_dtos is 4, and 4 are posted", [](const Side& side) {
        DAT_SRQ_ATTR attributes{4, 2, DAT_SRQ_LW_DEFAULT};
        DAT_SRQ_HANDLE srq = DAT_HANDLE_NULL;
        succeed(dat_srq_create(side.ia, side.pz, &attributes, &srq), "dat_srq_create");
        const auto post = [srq] { return dat_srq_post_recv(srq, 0, nullptr, {}); };
        for (int i = 0; i < 4; ++i) succeed(post(), "dat_srq_post_recv");
        expect_code(post(), 0x80030002, "the fifth receive");
        return srq;
    });
}

}  // namespace
