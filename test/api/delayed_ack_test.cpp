// SPDX-License-Identifier: BSD-2-Clause
// The endpoint attribute delayed_ack: a request completes only when its data is in the target's
// memory. The child is the target.
#include <dat2/dat_ib_extensions.h>
#include <gtest/gtest.h>
#include <sys/uio.h>
#include <sys/wait.h>

#include <cerrno>
#include <cstdlib>
#include <vector>

#include "test/api/ud_side.hpp"
#include "test/support/named.hpp"

namespace {

using namespace test;

constexpr DAT_CONN_QUAL kQualifier = 4715;
constexpr std::size_t kSize = 1 << 20;
constexpr DAT_RETURN kBadList = 0x80060027u;
constexpr DAT_EP_PARAM_MASK kList =
    DAT_EP_FIELD_EP_ATTR_NUM_PROVIDER_ATTR | DAT_EP_FIELD_EP_ATTR_PROVIDER_SPECIFIC_ATTR;

DAT_RETURN choose(DAT_EP_HANDLE ep, const char* value, const char* name = DAT_ATTR_DELAYED_ACK) {
    DAT_NAMED_ATTR attribute{name, value};
    DAT_EP_PARAM parameters{};
    parameters.ep_attr.ep_provider_specific = &attribute;
    parameters.ep_attr.ep_provider_specific_count = 1;
    return dat_ep_modify(ep, kList, &parameters);
}

std::string chosen(DAT_EP_HANDLE ep) {
    DAT_EP_PARAM parameters{};
    succeed(dat_ep_query(ep, DAT_EP_FIELD_ALL, &parameters), "dat_ep_query");
    const DAT_EP_ATTR& all = parameters.ep_attr;
    return value_of(all.ep_provider_specific, all.ep_provider_specific_count, DAT_ATTR_DELAYED_ACK);
}

DAT_LMR_TRIPLET part(const Buffer& buffer, std::size_t offset, std::size_t size) {
    DAT_LMR_TRIPLET triplet = buffer.all();
    triplet.virtual_address += offset;
    triplet.segment_length = static_cast<DAT_SEG_LENGTH>(size);
    return triplet;
}

DAT_DTO_COMPLETION_EVENT_DATA completion(DAT_EVD_HANDLE evd) {
    return Side::wait(evd, DAT_DTO_COMPLETION_EVENT).event_data.dto_completion_event_data;
}

struct Page {
    char bytes[4096];
};

/// Copies a page without ThreadSanitizer's checks: it cannot see that the other process asks for
/// the page only after its write has completed.
[[gnu::no_sanitize_thread]] Page page_at(const volatile char* from) {
    Page page;
    for (char& byte : page.bytes) byte = *from++;
    return page;
}

/// The status of a read or write that the peer refuses: on iWARP it ends the connection first.
DAT_DTO_COMPLETION_STATUS refusal(const Side& side) {
    return side.is_iwarp() ? DAT_DTO_ERR_FLUSHED : DAT_DTO_ERR_REMOTE_ACCESS;
}

/// The target: lets `count` endpoints connect, sends the address of its memory, and answers each
/// size with the pages that hold that many of its first bytes, until the size is 0.
void serve(Channel& channel, int count, int receives,
           DAT_MEM_PRIV_FLAGS privileges = DAT_MEM_PRIV_ALL_FLAG) {
    Side side;
    side.listen(kQualifier);
    Buffer buffer(side, kSize, privileges);
    Buffer inbox(side, 4096);
    channel.send('l');
    for (int i = 0; i < count; ++i) {
        const DAT_EP_HANDLE ep = side.accept_next();
        for (int k = 0; k < receives; ++k) {
            DAT_LMR_TRIPLET sink = inbox.all();
            succeed(dat_ep_post_recv(ep, 1, &sink, cookie(0), DAT_COMPLETION_DEFAULT_FLAG),
                    "dat_ep_post_recv");
        }
        channel.send('c');
    }
    channel.send(Window{buffer.all().virtual_address, buffer.remote_key});
    while (const auto size = channel.receive<std::size_t>()) {
        for (std::size_t at = 0; at < size; at += sizeof(Page))
            channel.send(page_at(buffer.bytes.data() + at));
    }
}

/// An endpoint with a request EVD of its own.
struct Requester {
    Requester(const Side& side, Channel& channel, const char* delayed_ack) {
        requests = side.evd(DAT_EVD_DTO_FLAG, 64);
        succeed(dat_ep_create(side.ia, side.pz, side.receives, requests, side.connections, nullptr,
                              &ep),
                "dat_ep_create");
        succeed(choose(ep, delayed_ack), "dat_ep_modify");
        succeed(Side::connect(ep, kQualifier), "dat_ep_connect");
        side.connection_event(DAT_CONNECTION_EVENT_ESTABLISHED, ep);
        channel.receive<char>();
    }
    DAT_RETURN write(const Buffer& source, std::size_t offset, std::size_t size,
                     const Window& window, DAT_UINT64 value,
                     DAT_COMPLETION_FLAGS flags = DAT_COMPLETION_DEFAULT_FLAG) const {
        DAT_LMR_TRIPLET local = part(source, offset, size);
        const DAT_RMR_TRIPLET to = window.part(size, offset);
        return dat_ep_post_rdma_write(ep, 1, &local, cookie(value), &to, flags);
    }
    /// Expects the successful completion of this request as the next event.
    void expect(DAT_DTOS operation, std::size_t size, DAT_UINT64 value) const {
        const auto dto = completion(requests);
        EXPECT_EQ(dto.status, DAT_DTO_SUCCESS);
        EXPECT_EQ(dto.operation, operation);
        EXPECT_EQ(dto.ep_handle, ep);
        EXPECT_EQ(dto.transfered_length, size);
        EXPECT_EQ(dto.user_cookie.as_64, value);
    }
    DAT_EP_HANDLE ep = DAT_HANDLE_NULL;
    DAT_EVD_HANDLE requests = DAT_HANDLE_NULL;
};

std::string bytes_of(Channel& channel, std::size_t size) {
    std::string bytes;
    channel.send(size);
    while (bytes.size() < size) {
        const auto page = channel.receive<Page>();
        bytes.append(page.bytes, sizeof page.bytes);
    }
    bytes.resize(size);
    return bytes;
}

void stop(const Child& child) {
    child.kill(SIGSTOP);
    child.wait_until_stopped();
}

/// Reads the memory of the child, which need not run for it. @return false if the system does not
/// permit it.
bool look_at(const Child& child, DAT_VADDR address, std::string& into) {
    iovec here{into.data(), into.size()};
    iovec there{reinterpret_cast<void*>(address), into.size()};
    return process_vm_readv(child.pid(), &here, 1, &there, 1, 0) ==
           static_cast<ssize_t>(into.size());
}

struct Way {
    bool by_agent;  ///< the peer's service thread copies the payload
    const char* value;
};

class DelayedAck : public testing::TestWithParam<Way> {
  protected:
    DelayedAck() {
        if (GetParam().by_agent) setenv("SOFTVERBS_COPY", "agent", 1);
    }
    ~DelayedAck() override { unsetenv("SOFTVERBS_COPY"); }
    void SetUp() override {
        if (GetParam().by_agent && !is_soft0()) GTEST_SKIP() << "soft0 alone has an agent path";
    }
    bool is_supported(const Side& side) const {
        const bool is_known =
            std::string(provider_value(side.ia, DAT_ATTR_DELAYED_ACK_SUPPORTED)) == "true";
        EXPECT_EQ(is_known, !side.is_iwarp());
        return is_known || value == "read_back";
    }
    const std::string value = GetParam().value;
    TemporaryFabric fabric;
};

TEST_P(DelayedAck, IsSupportedAndOffUntilChosen) {
    Side side;
    const DAT_EP_HANDLE ep = side.endpoint();
    EXPECT_EQ(chosen(ep), "false");
    if (!is_supported(side)) {
        EXPECT_EQ(choose(ep, value.c_str()), DAT_CLASS_ERROR | DAT_MODEL_NOT_SUPPORTED);
        EXPECT_EQ(choose(ep, "false"), DAT_SUCCESS);
        EXPECT_EQ(chosen(ep), "false");
        return;
    }
    EXPECT_EQ(choose(ep, value.c_str()), DAT_SUCCESS);
    EXPECT_EQ(chosen(ep), value);
    DAT_EP_PARAM parameters{};
    parameters.ep_attr.max_request_dtos = 8;
    EXPECT_EQ(dat_ep_modify(ep, DAT_EP_FIELD_EP_ATTR_MAX_REQUEST_DTOS, &parameters), DAT_SUCCESS);
    EXPECT_EQ(chosen(ep), value) << "other changes leave it";
    EXPECT_EQ(dat_ep_reset(ep), DAT_SUCCESS);
    EXPECT_EQ(chosen(ep), value);
    EXPECT_EQ(choose(ep, "false"), DAT_SUCCESS);
    EXPECT_EQ(chosen(ep), "false");
}

TEST_P(DelayedAck, WhatIsNoSuchAttributeIsRefused) {
    Side side;
    const DAT_EP_HANDLE ep = side.endpoint();
    EXPECT_EQ(choose(ep, "maybe"), kBadList);
    EXPECT_EQ(choose(ep, nullptr), kBadList);
    EXPECT_EQ(choose(ep, "true", "delayed_nack"), kBadList);
    EXPECT_EQ(choose(ep, "true", nullptr), kBadList);
    DAT_EP_PARAM parameters{};
    parameters.ep_attr.ep_provider_specific_count = 1;
    EXPECT_EQ(dat_ep_modify(ep, kList, &parameters), kBadList) << "no list";
    parameters.ep_attr.ep_provider_specific_count = -1;
    EXPECT_EQ(dat_ep_modify(ep, kList, &parameters), kBadList);
    EXPECT_EQ(chosen(ep), "false");
    if (!is_supported(side)) return;
    // Each request then needs a second work request.
    parameters = {};
    parameters.ep_attr.max_request_dtos = side.attributes().max_dto_per_ep;
    ASSERT_EQ(dat_ep_modify(ep, DAT_EP_FIELD_EP_ATTR_MAX_REQUEST_DTOS, &parameters), DAT_SUCCESS);
    EXPECT_EQ(choose(ep, value.c_str()), kBadList);
    EXPECT_EQ(chosen(ep), "false");
}

TEST_P(DelayedAck, IsNotForDatagramsWhichNobodyAcknowledges) {
    UdSide side;
    if (side.named(DAT_IB_ATTR_UD) != "TRUE") GTEST_SKIP() << "there are no datagrams";
    const DAT_EP_HANDLE ep = side.datagrams();
    EXPECT_EQ(choose(ep, value.c_str()), DAT_CLASS_ERROR | DAT_MODEL_NOT_SUPPORTED);
    EXPECT_EQ(choose(ep, "false"), DAT_SUCCESS);
    EXPECT_EQ(chosen(ep), "false");
}

TEST_P(DelayedAck, IsChosenBeforeTheConnection) {
    Child child([](Channel& channel) { serve(channel, 1, 0); });
    child.channel().receive<char>();
    Side side;
    const Requester requester(side, child.channel(), "false");
    EXPECT_EQ(DAT_GET_TYPE(choose(requester.ep, value.c_str())), DAT_INVALID_STATE);
    EXPECT_EQ(chosen(requester.ep), "false");
    child.channel().receive<Window>();
    child.channel().send(std::size_t{0});
    EXPECT_EQ(child.wait(), 0);
}

TEST_P(DelayedAck, EachRequestHasOneEventAsEver) {
    constexpr int kDepth = 16;  // max_request_dtos by default
    Child child([](Channel& channel) { serve(channel, 1, 2); });
    child.channel().receive<char>();
    Side side;
    const Requester requester(side, child.channel(), value.c_str());
    const auto window = child.channel().receive<Window>();
    Buffer source(side, kSize);
    for (std::size_t at = 0; at < kSize; ++at) source.bytes[at] = static_cast<char>(at * 7 + 1);
    for (const std::size_t size : {std::size_t{0}, std::size_t{1}, std::size_t{4096}, kSize}) {
        ASSERT_EQ(requester.write(source, 0, size, window, size), DAT_SUCCESS) << size;
        requester.expect(DAT_DTO_RDMA_WRITE, size, size);
    }
    for (int i = 0; i < kDepth; ++i)
        ASSERT_EQ(requester.write(source, 64 * i, 64, window, i), DAT_SUCCESS) << i;
    const std::string told = captured_stderr([&] {
        EXPECT_EQ(DAT_GET_TYPE(requester.write(source, 0, 64, window, 99)),
                  DAT_INSUFFICIENT_RESOURCES)
            << "as many as there may be, and no more";
    });
    const bool is_told = told.find("max_request_dtos is 16, and 16 are posted") != told.npos;
    EXPECT_TRUE(is_told || told.empty()) << "once in a process: " << told;
    for (int i = 0; i < kDepth; ++i) requester.expect(DAT_DTO_RDMA_WRITE, 64, i);
    // A suppressed write, then one request of each other kind.
    ASSERT_EQ(requester.write(source, 0, 64, window, 1, DAT_COMPLETION_SUPPRESS_FLAG), DAT_SUCCESS);
    DAT_LMR_TRIPLET local = part(source, 0, 100);
    ASSERT_EQ(dat_ep_post_send(requester.ep, 1, &local, cookie(2), DAT_COMPLETION_DEFAULT_FLAG),
              DAT_SUCCESS);
    requester.expect(DAT_DTO_SEND, 100, 2);
    DAT_RMR_TRIPLET from = window.part(100);
    ASSERT_EQ(dat_ep_post_rdma_read(requester.ep, 1, &local, cookie(3), &from,
                                    DAT_COMPLETION_DEFAULT_FLAG),
              DAT_SUCCESS);
    requester.expect(DAT_DTO_RDMA_READ, 100, 3);
    if (side.has_extensions()) {
        ASSERT_EQ(dat_ib_post_rdma_write_immed(requester.ep, 1, &local, cookie(4), &from, 0x1234,
                                               DAT_COMPLETION_DEFAULT_FLAG),
                  DAT_SUCCESS);
        const DAT_EVENT event =
            Side::wait(requester.requests, static_cast<DAT_EVENT_NUMBER>(DAT_IB_DTO_EVENT));
        EXPECT_EQ(event.event_data.dto_completion_event_data.status, DAT_DTO_SUCCESS);
        EXPECT_EQ(event.event_data.dto_completion_event_data.user_cookie.as_64, 4u);
    }
    Side::expect_empty(requester.requests);
    EXPECT_EQ(bytes_of(child.channel(), 1000), source.bytes.substr(0, 1000));
    child.channel().send(std::size_t{0});
    EXPECT_EQ(child.wait(), 0);
}

TEST_P(DelayedAck, AFailureIsToldOnceAndAsWhatItIs) {
    Child child([](Channel& channel) { serve(channel, 1, 0); });
    child.channel().receive<char>();
    Side side;
    const Requester requester(side, child.channel(), value.c_str());
    auto window = child.channel().receive<Window>();
    Buffer source(side, 4096);
    ASSERT_EQ(requester.write(source, 0, 64, window, 1), DAT_SUCCESS);
    requester.expect(DAT_DTO_RDMA_WRITE, 64, 1);
    window.key ^= 0x5500;
    ASSERT_EQ(requester.write(source, 0, 64, window, 2), DAT_SUCCESS);
    const auto failed = completion(requester.requests);
    EXPECT_EQ(failed.status, refusal(side));
    EXPECT_EQ(failed.operation, DAT_DTO_RDMA_WRITE);
    EXPECT_EQ(failed.user_cookie.as_64, 2u);
    side.broken(requester.ep);
    Side::expect_empty(requester.requests);
    child.channel().send(std::size_t{0});
    EXPECT_EQ(child.wait(), 0);
}

INSTANTIATE_TEST_SUITE_P(OnTheUsualPath, DelayedAck, testing::Values(Way{false, "true"}));
INSTANTIATE_TEST_SUITE_P(OnTheAgentPath, DelayedAck, testing::Values(Way{true, "true"}));
INSTANTIATE_TEST_SUITE_P(ByReadingBack, DelayedAck, testing::Values(Way{false, "read_back"}));
INSTANTIATE_TEST_SUITE_P(ByReadingBackOnTheAgentPath, DelayedAck,
                         testing::Values(Way{true, "read_back"}));

/// Memory that peers may write but not read.
TEST(DelayedAckWithoutTheRightToRead, ReadsNothingButFailsIfItIsToReadBack) {
    const TemporaryFabric fabric;
    for (const std::string value : {"true", "read_back"}) {
        Child child([](Channel& channel) {
            serve(channel, 1, 0,
                  static_cast<DAT_MEM_PRIV_FLAGS>(DAT_MEM_PRIV_LOCAL_READ_FLAG |
                                                  DAT_MEM_PRIV_LOCAL_WRITE_FLAG |
                                                  DAT_MEM_PRIV_REMOTE_WRITE_FLAG));
        });
        child.channel().receive<char>();
        Side side;
        const bool is_offered = value == "read_back" || !side.is_iwarp();
        const Requester requester(side, child.channel(), is_offered ? value.c_str() : "false");
        const auto window = child.channel().receive<Window>();
        Buffer source(side, 64);
        ASSERT_EQ(requester.write(source, 0, 64, window, 1), DAT_SUCCESS);
        const auto done = completion(requester.requests);
        EXPECT_EQ(done.operation, DAT_DTO_RDMA_WRITE);
        EXPECT_EQ(done.user_cookie.as_64, 1u);
        EXPECT_EQ(done.status, value == "read_back" ? refusal(side) : DAT_DTO_SUCCESS);
        if (value == "read_back") side.broken(requester.ep);
        child.channel().send(std::size_t{0});
        EXPECT_EQ(child.wait(), 0);
    }
}

class AgentPath : public testing::Test {
  protected:
    void SetUp() override {
        if (!is_soft0()) GTEST_SKIP() << "soft0 alone has an agent path";
    }
    AgentPath() { setenv("SOFTVERBS_COPY", "agent", 1); }
    ~AgentPath() override { unsetenv("SOFTVERBS_COPY"); }
    TemporaryFabric fabric;
};

/// While the target is stopped, its service thread cannot copy.
TEST_F(AgentPath, AWriteCompletesWhenItIsPlacedWithAndWithoutDelayedAck) {
    Child child([](Channel& channel) { serve(channel, 2, 0); });
    child.channel().receive<char>();
    Side side;
    const Requester delayed(side, child.channel(), "true");
    const Requester usual(side, child.channel(), "false");
    const auto window = child.channel().receive<Window>();
    Buffer source(side, 4096);
    source.bytes.replace(0, 2048, 2048, 'd').replace(2048, 2048, 2048, 'u');
    stop(child);
    ASSERT_EQ(delayed.write(source, 0, 2048, window, 1), DAT_SUCCESS);
    ASSERT_EQ(usual.write(source, 2048, 2048, window, 2), DAT_SUCCESS);
    std::string seen(4096, '?');
    const bool may_look = look_at(child, window.address, seen);
    EXPECT_EQ(seen, std::string(4096, may_look ? '\0' : '?')) << "nothing has been placed";
    Side::expect_empty(usual.requests);
    Side::expect_empty(delayed.requests);
    child.kill(SIGCONT);
    usual.expect(DAT_DTO_RDMA_WRITE, 2048, 2);
    EXPECT_EQ(look_at(child, window.address, seen), may_look);
    EXPECT_EQ(seen.substr(2048), std::string(2048, may_look ? 'u' : '?'))
        << "placed when it is complete";
    delayed.expect(DAT_DTO_RDMA_WRITE, 2048, 1);
    EXPECT_EQ(look_at(child, window.address, seen), may_look);
    EXPECT_EQ(seen.substr(0, 2048), std::string(2048, may_look ? 'd' : '?'));
    child.channel().send(std::size_t{0});
    EXPECT_EQ(child.wait(), 0);
    if (!may_look) GTEST_SKIP() << "the system lets nobody look into the child's memory";
}

TEST_F(AgentPath, AWriteThatIsCompleteArrivesThoughItsEndpointIsFreedAtOnce) {
    Child child([](Channel& channel) { serve(channel, 2, 0); });
    child.channel().receive<char>();
    Side side;
    const Requester first(side, child.channel(), "false");
    const Requester second(side, child.channel(), "false");
    const auto window = child.channel().receive<Window>();
    Buffer source(side, 600 << 10);  // the agent copies it in three pieces
    source.bytes.assign(source.bytes.size(), 'w');
    ASSERT_EQ(first.write(source, 0, source.bytes.size(), window, 1), DAT_SUCCESS);
    first.expect(DAT_DTO_RDMA_WRITE, source.bytes.size(), 1);
    ASSERT_EQ(dat_ep_free(first.ep), DAT_SUCCESS);
    // The resources of the freed endpoint may be reused now.
    source.bytes.assign(source.bytes.size(), 'z');
    const Window behind{window.address + source.bytes.size(), window.key};
    ASSERT_EQ(second.write(source, 0, 4096, behind, 2), DAT_SUCCESS);
    second.expect(DAT_DTO_RDMA_WRITE, 4096, 2);
    EXPECT_EQ(bytes_of(child.channel(), source.bytes.size()),
              std::string(source.bytes.size(), 'w'));
    child.channel().send(std::size_t{0});
    EXPECT_EQ(child.wait(), 0);
}

TEST_F(AgentPath, AStreamOfWritesArrivesInOrderAndCompletesOneByOne) {
    constexpr int kWrites = 400;
    Child child([](Channel& channel) { serve(channel, 1, 0); });
    child.channel().receive<char>();
    Side side;
    const Requester requester(side, child.channel(), "false");
    const auto window = child.channel().receive<Window>();
    Buffer source(side, 4096);
    int completed = 0;
    for (int i = 0; i < kWrites; ++i) {
        source.bytes.assign(4096, static_cast<char>('a' + i % 26));
        if (i - completed == 8) requester.expect(DAT_DTO_RDMA_WRITE, 64, completed++);
        ASSERT_EQ(requester.write(source, 64 * (i % 8), 64, window, i), DAT_SUCCESS) << i;
    }
    while (completed < kWrites) requester.expect(DAT_DTO_RDMA_WRITE, 64, completed++);
    Buffer sink(side, 64);
    DAT_LMR_TRIPLET local = sink.all();
    const DAT_RMR_TRIPLET from = window.part(64, 64 * ((kWrites - 1) % 8));
    ASSERT_EQ(dat_ep_post_rdma_read(requester.ep, 1, &local, cookie(1), &from,
                                    DAT_COMPLETION_DEFAULT_FLAG),
              DAT_SUCCESS);
    requester.expect(DAT_DTO_RDMA_READ, 64, 1);
    EXPECT_EQ(sink.bytes, std::string(64, static_cast<char>('a' + (kWrites - 1) % 26)));
    child.channel().send(std::size_t{0});
    EXPECT_EQ(child.wait(), 0);
}

}  // namespace
