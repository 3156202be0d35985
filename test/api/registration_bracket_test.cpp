// SPDX-License-Identifier: BSD-2-Clause
// Brackets: what a peer may do with a buffer between a request and its response. Both ways to make
// one, windows and registrations.
#include <gtest/gtest.h>

#include "test/api/registration_side.hpp"

namespace {

using namespace test;

constexpr DAT_CONN_QUAL kQualifier = 4741;
constexpr int kLocal = DAT_MEM_PRIV_LOCAL_READ_FLAG | DAT_MEM_PRIV_LOCAL_WRITE_FLAG;
constexpr auto kWrite = DAT_MEM_PRIV_REMOTE_WRITE_FLAG;
constexpr auto kRead = DAT_MEM_PRIV_REMOTE_READ_FLAG;

DAT_RETURN failure(DAT_RETURN type, DAT_RETURN subtype) {
    return DAT_CLASS_ERROR | type | subtype;
}
DAT_RETURN bad_argument(DAT_RETURN_SUBTYPE which) {
    return failure(DAT_INVALID_PARAMETER, which);
}

struct Opened {
    DAT_REG_BRACKET_HANDLE bracket = DAT_HANDLE_NULL;
    DAT_RMR_TRIPLET advertised{};
};

DAT_RETURN try_open(DAT_EP_HANDLE ep, const DAT_LMR_TRIPLET& buffer, Opened& opened,
                    DAT_MEM_PRIV_FLAGS privileges = kWrite, DAT_TIMEOUT timeout = 0) {
    return dat_reg_bracket_open(ep, &buffer, privileges, timeout, &opened.bracket,
                                &opened.advertised);
}
Opened open(DAT_EP_HANDLE ep, const DAT_LMR_TRIPLET& buffer,
            DAT_MEM_PRIV_FLAGS privileges = kWrite) {
    Opened opened;
    succeed(try_open(ep, buffer, opened, privileges), "dat_reg_bracket_open");
    return opened;
}
void close(const Opened& opened) {
    succeed(dat_reg_bracket_close(opened.bracket), "dat_reg_bracket_close");
}

/// A client (`loop.sender`) and a server (`loop.receiver`) of remote procedure calls.
class Brackets : public testing::TestWithParam<const char*> {
  protected:
    explicit Brackets(int entries = 8, long grace = kNoHurry, const char* mode = "on")
        : table(entries, grace, mode) {
        table.set("OPENDAT_REGISTRATION_BRACKETS", GetParam());
        side = std::make_unique<RegistrationSide>();
        loop = std::make_unique<Loop>(*side, kQualifier);
    }
    bool has_windows() const { return side->named(DAT_REG_ATTR_BRACKETS) == "windows"; }
    DAT_EP_HANDLE client() const { return loop->sender; }
    DAT_EP_HANDLE server() const { return loop->receiver; }

    /// Transfers between the server's memory and what a bracket advertises.
    DAT_DTO_COMPLETION_STATUS transfer(Region& from, DAT_RMR_TRIPLET target,
                                       DAT_EP_HANDLE ep = nullptr, bool reads = false) const {
        DAT_LMR_TRIPLET local = from.part(target.segment_length);
        succeed((reads ? dat_ep_post_rdma_read : dat_ep_post_rdma_write)(
                    ep ? ep : server(), 1, &local, cookie(1), &target, DAT_COMPLETION_DEFAULT_FLAG),
                "the server's transfer is posted");
        return completion(side->sends).status;
    }
    /// Carries a request and, with it, what was posted before it: the bind of a bracket.
    void request(Region& messages) const {
        carry(messages, server(), [&](DAT_LMR_TRIPLET& text) {
            return dat_ep_post_send(client(), 1, &text, cookie(3), DAT_COMPLETION_DEFAULT_FLAG);
        });
    }
    void respond(Region& messages) const {
        carry(messages, client(), [&](DAT_LMR_TRIPLET& text) {
            return dat_ep_post_send(server(), 1, &text, cookie(3), DAT_COMPLETION_DEFAULT_FLAG);
        });
    }
    /// Carries the server's response, which ends its access.
    void respond_with_invalidate(Region& messages, DAT_RMR_CONTEXT context) const {
        carry(messages, client(), [&](DAT_LMR_TRIPLET& text) {
            return dat_ep_post_send_with_invalidate(server(), 1, &text, cookie(3),
                                                    DAT_COMPLETION_DEFAULT_FLAG, DAT_TRUE, context);
        });
    }

    RegistrationTable table;
    std::unique_ptr<RegistrationSide> side;
    std::unique_ptr<Loop> loop;

  private:
    /// @param send posts the message.
    template <class Send>
    void carry(Region& messages, DAT_EP_HANDLE to, const Send& send) const {
        DAT_LMR_TRIPLET sink = messages.part(8, 64), text = messages.part(8);
        succeed(dat_ep_post_recv(to, 1, &sink, cookie(2), DAT_COMPLETION_DEFAULT_FLAG),
                "dat_ep_post_recv");
        succeed(send(text), "a message is posted");
        require(completion(side->sends).status == DAT_DTO_SUCCESS, "it is sent");
        require(completion(side->receives).status == DAT_DTO_SUCCESS, "it is received");
    }
};

std::string name_of(const testing::TestParamInfo<const char*>& info) {
    return info.param;
}

INSTANTIATE_TEST_SUITE_P(Ways, Brackets, testing::Values("windows", "registrations"), name_of);

TEST_P(Brackets, APeerHasWhatTheBracketGivesUntilItIsClosed) {
    Region buffer(*side), messages(*side), servers(*side);
    succeed(buffer.create(0, DAT_REG_CLASS_RDMA, kLocal), "the client's buffer");
    succeed(messages.create(0), "messages");
    succeed(servers.create(0), "the server's memory");
    servers.bytes.assign(servers.bytes.size(), 'w');
    const Opened opened = open(client(), buffer.part(512, 1024));
    EXPECT_EQ(opened.advertised.segment_length, 512u);
    request(messages);
    EXPECT_EQ(transfer(servers, opened.advertised), DAT_DTO_SUCCESS);
    EXPECT_EQ(buffer.bytes.substr(1024, 512), std::string(512, 'w'));
    EXPECT_EQ(buffer.bytes.find('w'), 1024u);
    EXPECT_EQ(buffer.bytes.rfind('w'), 1535u);
    respond(messages);
    close(opened);
    buffer.bytes.assign(buffer.bytes.size(), '.');
    captured_stderr(
        [&] { EXPECT_EQ(transfer(servers, opened.advertised), DAT_DTO_ERR_REMOTE_ACCESS); });
    EXPECT_EQ(buffer.bytes.find('w'), std::string::npos);
    EXPECT_EQ(buffer.status().busy, 0u);
}

TEST_P(Brackets, APeerMayDoWhatThePrivilegesSayAndNoMore) {
    Region buffer(*side), messages(*side), servers(*side);
    for (Region* region : {&messages, &servers}) succeed(region->create(0), "an entry");
    succeed(buffer.create(0, DAT_REG_CLASS_RDMA, kLocal), "the client's buffer");
    buffer.bytes.replace(0, 8, "question");
    const Opened opened = open(client(), buffer.part(8), kRead);
    request(messages);
    EXPECT_EQ(transfer(servers, opened.advertised, server(), true), DAT_DTO_SUCCESS);
    EXPECT_EQ(servers.bytes.substr(0, 8), "question");
    servers.bytes.replace(0, 8, "answer..");
    captured_stderr(
        [&] { EXPECT_EQ(transfer(servers, opened.advertised), DAT_DTO_ERR_REMOTE_ACCESS); });
    EXPECT_EQ(buffer.bytes.substr(0, 8), "question");
    close(opened);
}

TEST_P(Brackets, OnlyThePeerOfTheEndpointMayUseAWindow) {
    Region buffer(*side), messages(*side), servers(*side);
    for (Region* region : {&messages, &servers, &buffer}) succeed(region->create(0), "an entry");
    const Loop other(*side, kQualifier + 1);
    const Opened opened = open(client(), buffer.part(8));
    request(messages);
    captured_stderr([&] {
        EXPECT_EQ(transfer(servers, opened.advertised, other.receiver),
                  has_windows() ? DAT_DTO_ERR_REMOTE_ACCESS : DAT_DTO_SUCCESS);
    });
    EXPECT_EQ(transfer(servers, opened.advertised), DAT_DTO_SUCCESS);
    close(opened);
}

TEST_P(Brackets, ManyAreOpenAtATimeAndEachEndsByItself) {
    Region buffer(*side), messages(*side), servers(*side);
    for (Region* region : {&messages, &servers, &buffer}) succeed(region->create(0), "an entry");
    servers.bytes.assign(servers.bytes.size(), 'x');
    std::vector<Opened> opened;
    for (std::size_t i = 0; i < 4; ++i) opened.push_back(open(client(), buffer.part(16, 64 * i)));
    request(messages);
    EXPECT_EQ(buffer.status().busy, has_windows() ? 4u : 0u);
    EXPECT_EQ(statistics(*side).own_entries, has_windows() ? 3u : 7u);
    close(opened[1]);
    for (const std::size_t i : {0, 2, 3}) {
        EXPECT_EQ(transfer(servers, opened[i].advertised), DAT_DTO_SUCCESS);
        EXPECT_EQ(buffer.bytes.substr(64 * i, 16), std::string(16, 'x'));
    }
    for (const std::size_t i : {0, 2, 3}) close(opened[i]);
    EXPECT_EQ(statistics(*side).own_entries, 3u);
}

TEST_P(Brackets, AResponseThatInvalidatesEndsTheAccessAndTheWindowServesTheNextBracket) {
    Region buffer(*side), messages(*side), servers(*side);
    for (Region* region : {&messages, &servers, &buffer}) succeed(region->create(0), "an entry");
    if (!has_windows()) GTEST_SKIP() << "a registration cannot be invalidated by the peer";
    constexpr DAT_RMR_CONTEXT kKept = ~DAT_RMR_CONTEXT{0xff};
    DAT_RMR_CONTEXT first = 0;
    for (int i = 0; i < 3; ++i) {
        const Opened opened = open(client(), buffer.part(8));
        if (i == 0) first = opened.advertised.rmr_context;
        EXPECT_EQ(opened.advertised.rmr_context & kKept, first & kKept);
        EXPECT_TRUE(i == 0 || opened.advertised.rmr_context != first);
        request(messages);
        EXPECT_EQ(transfer(servers, opened.advertised), DAT_DTO_SUCCESS);
        respond_with_invalidate(messages, opened.advertised.rmr_context);
        close(opened);
    }
    const Opened opened = open(client(), buffer.part(8));
    request(messages);
    respond_with_invalidate(messages, opened.advertised.rmr_context);
    captured_stderr(
        [&] { EXPECT_EQ(transfer(servers, opened.advertised), DAT_DTO_ERR_REMOTE_ACCESS); });
    close(opened);
}

TEST_P(Brackets, ArgumentsThatAreWrongAreNamedAndLeaveNothing) {
    Region buffer(*side), read_only(*side);
    succeed(buffer.create(0, DAT_REG_CLASS_RDMA, kLocal), "the buffer");
    succeed(read_only.create(0, DAT_REG_CLASS_RDMA, DAT_MEM_PRIV_LOCAL_READ_FLAG), "read-only");
    Opened opened;
    const DAT_LMR_TRIPLET part = buffer.part(8);
    const auto call = [&](DAT_EP_HANDLE ep, const DAT_LMR_TRIPLET* from, DAT_MEM_PRIV_FLAGS what,
                          DAT_REG_BRACKET_HANDLE* bracket, DAT_RMR_TRIPLET* advertised) {
        return dat_reg_bracket_open(ep, from, what, 0, bracket, advertised);
    };
    EXPECT_EQ(call(client(), nullptr, kWrite, &opened.bracket, &opened.advertised),
              bad_argument(DAT_INVALID_ARG2));
    EXPECT_EQ(call(client(), &part, kWrite, nullptr, &opened.advertised),
              bad_argument(DAT_INVALID_ARG5));
    EXPECT_EQ(call(client(), &part, kWrite, &opened.bracket, nullptr),
              bad_argument(DAT_INVALID_ARG6));
    EXPECT_EQ(try_open(client(), part, opened, DAT_MEM_PRIV_LOCAL_WRITE_FLAG),
              bad_argument(DAT_INVALID_ARG3));
    EXPECT_EQ(try_open(client(), buffer.part(0), opened), bad_argument(DAT_INVALID_ARG2));
    EXPECT_EQ(try_open(client(), buffer.part(8, 4090), opened), bad_argument(DAT_INVALID_ARG2));
    DAT_LMR_TRIPLET unknown = part;
    unknown.lmr_context ^= 1;
    EXPECT_EQ(try_open(client(), unknown, opened), bad_argument(DAT_INVALID_ARG2));
    EXPECT_EQ(try_open(client(), read_only.part(8), opened),
              DAT_CLASS_ERROR | static_cast<DAT_RETURN>(DAT_PRIVILEGES_VIOLATION));
    EXPECT_EQ(try_open(side->pz, part, opened), failure(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP));
    const DAT_EP_HANDLE unconnected = side->endpoint();
    EXPECT_EQ(DAT_GET_TYPE(try_open(unconnected, part, opened)),
              static_cast<DAT_RETURN>(DAT_INVALID_STATE));
    EXPECT_EQ(dat_reg_bracket_close(side->pz), failure(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE1));
    EXPECT_EQ(opened.bracket, DAT_HANDLE_NULL);
    EXPECT_EQ(buffer.status().busy, 0u);
    EXPECT_EQ(statistics(*side).own_entries, 2u);
}

TEST_P(Brackets, ABufferOfAnotherZoneIsRefused) {
    DAT_PZ_HANDLE own = side->pz;
    succeed(dat_pz_create(side->ia, &side->pz), "dat_pz_create");
    Region foreign(*side);
    succeed(foreign.create(0), "in another PZ");
    side->pz = own;
    Opened opened;
    EXPECT_EQ(try_open(client(), foreign.part(8), opened), bad_argument(DAT_INVALID_ARG2));
}

TEST_P(Brackets, ABracketIsAHandleThatEndsWithIt) {
    Region buffer(*side), messages(*side);
    for (Region* region : {&messages, &buffer}) succeed(region->create(0), "an entry");
    const Opened opened = open(client(), buffer.part(8));
    DAT_HANDLE_TYPE type{};
    succeed(dat_get_handle_type(opened.bracket, &type), "dat_get_handle_type");
    EXPECT_EQ(static_cast<int>(type), static_cast<int>(DAT_REG_HANDLE_TYPE_BRACKET));
    EXPECT_EQ(DAT_GET_TYPE(dat_lmr_free(opened.bracket)),
              static_cast<DAT_RETURN>(DAT_INVALID_HANDLE));
    if (has_windows()) {
        EXPECT_EQ(DAT_GET_TYPE(dat_lmr_free(buffer.lmr)),
                  static_cast<DAT_RETURN>(DAT_INVALID_STATE))
            << "a window is bound to it";
    }
    request(messages);
    close(opened);
    EXPECT_EQ(DAT_GET_TYPE(dat_reg_bracket_close(opened.bracket)),
              static_cast<DAT_RETURN>(DAT_INVALID_HANDLE));
}

TEST_P(Brackets, ZoneAndAdapterCloseGracefullyAfterTheBrackets) {
    auto buffer = std::make_unique<Region>(*side);
    auto messages = std::make_unique<Region>(*side);
    for (Region* region : {buffer.get(), messages.get()}) succeed(region->create(0), "an entry");
    const Opened opened = open(client(), buffer->part(8));
    request(*messages);
    if (has_windows()) respond_with_invalidate(*messages, opened.advertised.rmr_context);
    close(opened);
    buffer.reset();
    messages.reset();
    for (const DAT_EP_HANDLE ep : {client(), server()}) succeed(dat_ep_free(ep), "dat_ep_free");
    EXPECT_EQ(dat_pz_free(side->pz), static_cast<DAT_RETURN>(DAT_SUCCESS));
}

TEST_P(Brackets, AfterTheEndpointItCanStillBeClosed) {
    Region buffer(*side), messages(*side);
    for (Region* region : {&messages, &buffer}) succeed(region->create(0), "an entry");
    const Opened first = open(client(), buffer.part(8)), second = open(client(), buffer.part(8, 8));
    request(messages);
    succeed(dat_ep_free(client()), "dat_ep_free");
    for (int i = 0; i < 2; ++i) Side::wait(side->connections, DAT_CONNECTION_EVENT_DISCONNECTED);
    close(first);
    close(second);
    buffer.free();
    const Loop again(*side, kQualifier + 1);
    Region another(*side);
    succeed(another.create(0), "an entry");
    close(open(again.sender, another.part(8)));
}

TEST_P(Brackets, TheAdapterCanBeClosedAbruptlyWithOneOpen) {
    auto buffer = std::make_unique<Region>(*side);
    succeed(buffer->create(0), "an entry");
    const Opened opened = open(client(), buffer->part(8));
    side->close();
    buffer->lmr = DAT_HANDLE_NULL;
    EXPECT_NE(dat_reg_bracket_close(opened.bracket), static_cast<DAT_RETURN>(DAT_SUCCESS));
}

/// A table of two entries, which the test may use up.
class TightBrackets : public Brackets {
  protected:
    explicit TightBrackets(long grace = kNoHurry) : Brackets(2, grace) {}
};
INSTANTIATE_TEST_SUITE_P(Ways, TightBrackets, testing::Values("windows", "registrations"), name_of);

TEST_P(TightBrackets, ARegistrationThatIsAnnouncedStaysUntilTheBracketIsClosed) {
    Region buffer(*side), wanted(*side);
    succeed(buffer.create(0, DAT_REG_CLASS_RDMA, kLocal), "the buffer");
    const bool windows = has_windows();
    succeed(dat_reg_evd_attach(side->ia, DAT_HANDLE_NULL), "the library answers");
    Region other(*side);
    if (windows) succeed(other.create(0, DAT_REG_CLASS_PINNED), "the other entry");
    const Opened opened = open(client(), buffer.part(8));
    EXPECT_EQ(statistics(*side).used_entries, 2u);
    DAT_LMR_HANDLE held = buffer.lmr;
    if (!windows) {
        // The buffer's own registration goes, for others or for the bracket's.
        EXPECT_EQ(wanted.create(kMicroseconds), static_cast<DAT_RETURN>(DAT_SUCCESS));
        EXPECT_TRUE(buffer.is_gone());
        close(opened);
        return;
    }
    EXPECT_EQ(DAT_GET_TYPE(wanted.create(2000)), static_cast<DAT_RETURN>(DAT_TIMEOUT_EXPIRED));
    DAT_REG_LMR_STATUS status{};
    succeed(dat_reg_lmr_query(held, &status), "dat_reg_lmr_query");
    EXPECT_NE(status.state, DAT_REG_STATE_GONE);
    close(opened);
    EXPECT_EQ(wanted.create(kMicroseconds), static_cast<DAT_RETURN>(DAT_SUCCESS));
    EXPECT_TRUE(buffer.is_gone());
}

TEST_P(TightBrackets, ABufferWhoseRegistrationHasGoneServesAgain) {
    Region buffer(*side), servers(*side), first(*side);
    succeed(dat_reg_evd_attach(side->ia, DAT_HANDLE_NULL), "the library answers");
    succeed(buffer.create(0, DAT_REG_CLASS_RDMA, kLocal), "the buffer");
    succeed(first.create(0, DAT_REG_CLASS_RDMA), "the other entry");
    succeed(servers.create(kMicroseconds, DAT_REG_CLASS_PINNED), "in the place of the buffer's");
    EXPECT_TRUE(buffer.is_gone());
    servers.bytes.replace(0, 8, "response");
    Opened opened;
    succeed(try_open(client(), buffer.part(8), opened, kWrite, kMicroseconds),
            "dat_reg_bracket_open");
    EXPECT_TRUE(first.is_gone()) << "it made room";
    EXPECT_EQ(buffer.is_gone(), !has_windows());
    // The bind comes before a send of no bytes, which needs no registration.
    succeed(dat_ep_post_recv(server(), 0, nullptr, cookie(2), DAT_COMPLETION_DEFAULT_FLAG),
            "dat_ep_post_recv");
    succeed(dat_ep_post_send(client(), 0, nullptr, cookie(3), DAT_COMPLETION_DEFAULT_FLAG),
            "dat_ep_post_send");
    require(completion(side->sends).status == DAT_DTO_SUCCESS, "it is sent");
    EXPECT_EQ(transfer(servers, opened.advertised), DAT_DTO_SUCCESS);
    EXPECT_EQ(buffer.bytes.substr(0, 8), "response");
    close(opened);
}

TEST_P(TightBrackets, WithoutAnEntryOpeningEndsInTime) {
    Region buffer(*side), servers(*side), other(*side);
    succeed(buffer.create(0, DAT_REG_CLASS_RDMA, kLocal), "the buffer");
    succeed(servers.create(0, DAT_REG_CLASS_RDMA), "the other entry");
    succeed(dat_reg_evd_attach(side->ia, DAT_HANDLE_NULL), "the library answers");
    succeed(other.create(kMicroseconds, DAT_REG_CLASS_PINNED), "in the place of the buffer's");
    ASSERT_TRUE(buffer.is_gone());
    succeed(dat_reg_lmr_begin_use(servers.lmr, 0), "in use");
    Opened opened;
    const DAT_RETURN code = try_open(client(), buffer.part(8), opened, kWrite, 5000);
    EXPECT_EQ(DAT_GET_TYPE(code), static_cast<DAT_RETURN>(DAT_TIMEOUT_EXPIRED));
    EXPECT_EQ(buffer.status().busy, 0u);
}

/// T is 5 ms.
class ShortBrackets : public TightBrackets {
  protected:
    ShortBrackets() : TightBrackets(5000) {}
};
INSTANTIATE_TEST_SUITE_P(Ways, ShortBrackets, testing::Values("windows", "registrations"), name_of);

TEST_P(ShortBrackets, ABracketThatStaysOpenEndsWithNoticeLikeAnyOtherUse) {
    Region buffer(*side), servers(*side), first(*side), second(*side);
    succeed(servers.create(0, DAT_REG_CLASS_PINNED), "one entry");
    succeed(buffer.create(0, DAT_REG_CLASS_RDMA, kLocal), "the other one");
    Opened opened;
    succeed(dat_reg_evd_attach(side->ia, DAT_HANDLE_NULL), "the library answers");
    succeed(try_open(client(), buffer.part(8), opened, kWrite, kMicroseconds),
            "dat_reg_bracket_open");
    succeed(dat_ep_post_recv(server(), 0, nullptr, cookie(2), DAT_COMPLETION_DEFAULT_FLAG),
            "dat_ep_post_recv");
    succeed(dat_ep_post_send(client(), 0, nullptr, cookie(3), DAT_COMPLETION_DEFAULT_FLAG),
            "dat_ep_post_send");
    require(completion(side->sends).status == DAT_DTO_SUCCESS, "it is sent");
    succeed(first.create(kMicroseconds), "others have the entry after T at the latest");
    captured_stderr(
        [&] { EXPECT_EQ(transfer(servers, opened.advertised), DAT_DTO_ERR_REMOTE_ACCESS); });
    close(opened);
}

/// Programs that do not know of the broker may link a library that uses brackets.
class BracketModes : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Modes, BracketModes, testing::Values("on", "transparent", "per-io"),
                         [](const auto& info) {
                             std::string name = info.param;
                             std::replace(name.begin(), name.end(), '-', '_');
                             return name;
                         });

TEST_P(BracketModes, EachModeHasThem) {
    for (const char* way : {"windows", "registrations"}) {
        RegistrationTable table(4, 2000, GetParam());
        table.set("OPENDAT_REGISTRATION_BRACKETS", way);
        table.set("OPENDAT_REGISTRATION_WAIT", "60000");
        Side side;
        const Loop loop(side, kQualifier);
        Region servers(side);
        succeed(servers.create_plainly(kLocal), "the server's memory");
        // In mode on a post is refused if the registration of its memory has gone.
        const int count = std::string(GetParam()) == "on" ? 2 : 6;
        std::vector<std::unique_ptr<Region>> buffers;
        for (int i = 0; i < count; ++i) {
            buffers.push_back(std::make_unique<Region>(side));
            succeed(buffers.back()->create_plainly(kLocal), "a buffer");
        }
        for (int round = 0; round < 12; ++round) {
            Region& buffer = *buffers[static_cast<std::size_t>(round) % buffers.size()];
            Opened opened;
            succeed(try_open(loop.sender, buffer.part(8), opened, kWrite, kMicroseconds),
                    "dat_reg_bracket_open");
            succeed(
                dat_ep_post_recv(loop.receiver, 0, nullptr, cookie(2), DAT_COMPLETION_DEFAULT_FLAG),
                "dat_ep_post_recv");
            succeed(
                dat_ep_post_send(loop.sender, 0, nullptr, cookie(3), DAT_COMPLETION_DEFAULT_FLAG),
                "dat_ep_post_send");
            require(completion(side.sends).status == DAT_DTO_SUCCESS, "it is sent");
            require(completion(side.receives).status == DAT_DTO_SUCCESS, "it is received");
            servers.bytes.assign(8, static_cast<char>('a' + round));
            DAT_LMR_TRIPLET local = servers.part(8);
            succeed(dat_ep_post_rdma_write(loop.receiver, 1, &local, cookie(1), &opened.advertised,
                                           DAT_COMPLETION_DEFAULT_FLAG),
                    "dat_ep_post_rdma_write");
            require(completion(side.sends).status == DAT_DTO_SUCCESS, "the write is complete");
            EXPECT_EQ(buffer.bytes.substr(0, 8), servers.bytes);
            close(opened);
        }
        for (auto& buffer : buffers) buffer->free();
        servers.free();
        EXPECT_EQ(statistics(side).own_entries, 0u);
    }
}

}  // namespace
