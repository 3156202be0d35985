// SPDX-License-Identifier: BSD-2-Clause
// The C++ layer (dat2/dat.hpp) over soft0: two endpoints of one process.
#include <gtest/gtest.h>
#include <dat2/dat.hpp>

#include <array>
#include <cstring>
#include <string_view>
#include <vector>

#include "test/support/dat_conf.hpp"
#include "test/support/process.hpp"

namespace {

using namespace std::chrono_literals;
using std::chrono::microseconds;

constexpr DAT_CONN_QUAL kQualifier = 4733;
const auto kPatience = std::chrono::duration_cast<microseconds>(test::kDeadline);

template <class Owner>
constexpr bool kOwns =
    std::is_nothrow_move_constructible_v<Owner>&& std::is_nothrow_move_assignable_v<Owner>&&
        std::is_default_constructible_v<Owner> &&
    !std::is_copy_constructible_v<Owner> && !std::is_copy_assignable_v<Owner>;
static_assert(kOwns<dat::ia> && kOwns<dat::pz> && kOwns<dat::evd> && kOwns<dat::cno> &&
              kOwns<dat::ep> && kOwns<dat::lmr> && kOwns<dat::rmr> && kOwns<dat::srq> &&
              kOwns<dat::psp> && kOwns<dat::rsp> && kOwns<dat::csp> && kOwns<dat::cr>);
static_assert(sizeof(dat::ep) == sizeof(DAT_EP_HANDLE) &&
              sizeof(dat::result<void>) == sizeof(DAT_RETURN));
static_assert(dat::detail::timeout(dat::forever) == DAT_TIMEOUT_INFINITE &&
              dat::detail::timeout(3ms) == 3000 && dat::detail::timeout(-1ms) == 0 &&
              dat::detail::timeout(2h) == DAT_TIMEOUT_INFINITE - 1);

dat::error error_of(const auto& result) {
    if (result) throw std::runtime_error("no error");
    return result.error();
}

std::span<const std::byte> bytes(std::string_view text) {
    return std::as_bytes(std::span(text));
}

/// Declares its members in the order of their creation, so that they are destroyed in reverse
/// order.
struct Side {
    explicit Side(const char* name = test::ia_name()) : ia(dat::ia::open(name).value()) {}

    dat::evd evd_of(DAT_EVD_FLAGS kinds) const { return dat::evd::create(ia, 16, kinds).value(); }
    dat::ep endpoint() const {
        return dat::ep::create(ia, pz, {transfers, transfers, connections}).value();
    }
    void connect(const dat::ep& ep) const {
        const sockaddr_in address = test::ia_address();
        ep.connect(reinterpret_cast<const sockaddr*>(&address), kQualifier, bytes("please"))
            .value();
    }
    dat::cr request() const {
        const dat::event event = requests.next(kPatience).value();
        return dat::cr(*event.request());
    }
    DAT_EVENT_NUMBER connection_event() const {
        return connections.next(kPatience).value().number();
    }
    DAT_DTO_COMPLETION_EVENT_DATA completion() const {
        return *transfers.next(kPatience).value().dto();
    }

    dat::ia ia;
    dat::pz pz = dat::pz::create(ia).value();
    dat::evd requests = evd_of(DAT_EVD_CR_FLAG);
    dat::evd connections = evd_of(DAT_EVD_CONNECTION_FLAG);
    dat::evd transfers = evd_of(dat::flags(DAT_EVD_DTO_FLAG, DAT_EVD_RMR_BIND_FLAG));
};

/// Two connected endpoints, with registered source and target memory.
struct Pair : Side {
    Pair() {
        connect(active);
        request().accept(passive).value();
        for (int established = 0; established < 2; ++established)
            EXPECT_EQ(connection_event(), DAT_CONNECTION_EVENT_ESTABLISHED);
    }

    std::vector<char> source = std::vector<char>(256), target = std::vector<char>(256);
    dat::lmr from = dat::lmr::create(ia, pz, std::span(source)).value();
    dat::lmr to = dat::lmr::create(ia, pz, std::span(target)).value();
    dat::psp psp = dat::psp::create(ia, kQualifier, requests).value();
    dat::ep active = endpoint(), passive = endpoint();
};

class CppLayer : public testing::Test {
  protected:
    test::TemporaryFabric fabric;
};

TEST_F(CppLayer, AnErrorIsAValueWithTypeSubtypeAndText) {
    const dat::result<dat::ia> opened = dat::ia::open("no-such-name");
    ASSERT_FALSE(opened);
    EXPECT_EQ(opened.error(), DAT_PROVIDER_NOT_FOUND);
    EXPECT_EQ(opened.error().type(), DAT_PROVIDER_NOT_FOUND);
    EXPECT_EQ(opened.error().subtype(), DAT_NAME_NOT_REGISTERED);
    EXPECT_EQ(opened.error().code(),
              DAT_CLASS_ERROR | DAT_PROVIDER_NOT_FOUND | DAT_NAME_NOT_REGISTERED);
    EXPECT_EQ(opened.error().text(), "DAT_PROVIDER_NOT_FOUND DAT_NAME_NOT_REGISTERED");
}

TEST_F(CppLayer, TheValueOfAFailureThrowsWhatItSays) {
    try {
        dat::ia::open("no-such-name").value();
        FAIL() << "a value";
    } catch (const dat::bad_result& failure) {
        EXPECT_EQ(failure.error(), DAT_PROVIDER_NOT_FOUND);
        EXPECT_STREQ(failure.what(), "DAT_PROVIDER_NOT_FOUND DAT_NAME_NOT_REGISTERED");
    }
}

TEST_F(CppLayer, AnEmptyOwnerAnswersThatItsHandleIsInvalid) {
    EXPECT_EQ(error_of(dat::evd().query()), DAT_INVALID_HANDLE);
    EXPECT_EQ(error_of(dat::pz::create(dat::ia())), DAT_INVALID_HANDLE);
    EXPECT_TRUE(dat::ep().free());
}

TEST_F(CppLayer, AMoveLeavesAnEmptyOwner) {
    const Side side;
    dat::pz first = dat::pz::create(side.ia).value();
    const DAT_PZ_HANDLE handle = first.get();
    dat::pz second(std::move(first));
    EXPECT_EQ(second.get(), handle);
    EXPECT_FALSE(first);  // NOLINT(bugprone-use-after-move)
    EXPECT_EQ(first.get(), DAT_HANDLE_NULL);
    dat::pz& same = second;
    second = std::move(same);
    EXPECT_EQ(second.get(), handle);
}

TEST_F(CppLayer, AnAssignmentFreesWhatWasHeld) {
    const Side side;
    dat::pz first = dat::pz::create(side.ia).value();
    const DAT_PZ_HANDLE handle = first.get();
    first = dat::pz::create(side.ia).value();
    DAT_PZ_PARAM told;
    EXPECT_EQ(DAT_GET_TYPE(dat_pz_query(handle, DAT_PZ_FIELD_ALL, &told)),
              static_cast<DAT_RETURN>(DAT_INVALID_HANDLE));
    EXPECT_TRUE(first.query());
}

TEST_F(CppLayer, WhatWasReleasedIsTheCallersToFree) {
    const Side side;
    DAT_PZ_HANDLE handle = dat::pz::create(side.ia)->release();
    EXPECT_EQ(dat_pz_free(handle), DAT_SUCCESS);
}

TEST_F(CppLayer, OwnersFreeEverythingInTheOrderThatDatWants) {
    dat::ia ia;
    {
        Pair pair;
        const dat::cno cno = dat::cno::create(pair.ia).value();
        const dat::evd evd = dat::evd::create(pair.ia, 8, DAT_EVD_SOFTWARE_FLAG, cno).value();
        ia = dat::ia(pair.ia.release());
    }
    // A graceful close fails while any object is left.
    EXPECT_TRUE(ia.close(DAT_CLOSE_GRACEFUL_FLAG));
    EXPECT_FALSE(ia);
}

TEST_F(CppLayer, WhatIsInUseIsStillHeldAfterAFreeThatFails) {
    Pair pair;
    const dat::error failed = error_of(pair.pz.free());
    EXPECT_EQ(failed, DAT_INVALID_STATE);
    EXPECT_EQ(failed.subtype(), DAT_INVALID_STATE_PZ_IN_USE);
    EXPECT_TRUE(pair.pz.query());
    EXPECT_EQ(error_of(pair.ia.close(DAT_CLOSE_GRACEFUL_FLAG)), DAT_INVALID_STATE);
    EXPECT_TRUE(pair.ia);
}

TEST_F(CppLayer, WhatADestructorCouldNotFreeGoesWithTheAdapter) {
    const Side side;
    std::array<char, 64> memory{};
    dat::lmr lmr;
    {
        const dat::pz zone = dat::pz::create(side.ia).value();
        lmr = dat::lmr::create(side.ia, zone, std::span(memory)).value();
    }
    EXPECT_TRUE(lmr.query());
    EXPECT_TRUE(lmr.free());
    EXPECT_FALSE(lmr);
}

TEST_F(CppLayer, AnAdapterTellsItsAttributesAndItsAsyncEvd) {
    const Side side;
    EXPECT_GT(side.ia.attributes()->max_eps, 0);
    const auto provider = std::make_unique<DAT_PROVIDER_ATTR>(DAT_PROVIDER_ATTR{});
    ASSERT_TRUE(side.ia.provider_attributes(*provider));
    EXPECT_EQ(provider->dapl_version_major, 2u);
    const dat::evd_view async = side.ia.async_evd().value();
    ASSERT_TRUE(async);
    dat::event event;
    EXPECT_EQ(error_of(async.dequeue(event)), DAT_QUEUE_EMPTY);
    const dat::ia second = dat::ia::open(test::ia_name(), 8, async).value();
    EXPECT_EQ(second.async_evd().value(), async);
}

TEST_F(CppLayer, ASendMeetsAReceive) {
    Pair pair;
    std::memcpy(pair.source.data(), "hello world", 11);
    ASSERT_TRUE(pair.passive.post_recv(pair.to.segment(pair.target), dat::cookie(1)));
    const std::array parts{pair.from.segment(std::span(pair.source).first(6)),
                           pair.from.segment(std::span(pair.source).subspan(6, 5))};
    ASSERT_TRUE(pair.active.post_send(parts, dat::cookie(2)));
    DAT_UINT64 cookies = 0;
    for (int i = 0; i < 2; ++i) {
        const auto done = pair.completion();
        EXPECT_EQ(done.status, DAT_DTO_SUCCESS);
        EXPECT_EQ(done.transfered_length, 11u);
        cookies += done.user_cookie.as_64;
    }
    EXPECT_EQ(cookies, 3u);
    EXPECT_EQ(std::string_view(pair.target.data(), 11), "hello world");
}

TEST_F(CppLayer, RdmaWritesAndReadsNameMemoryByItsRegion) {
    Pair pair;
    std::memcpy(pair.source.data(), "written", 7);
    const auto part = std::span(pair.source).first(7);
    ASSERT_TRUE(pair.active.post_rdma_write(pair.from.segment(part), pair.to.remote(100, 7),
                                            dat::cookie(&pair)));
    const auto written = pair.completion();
    EXPECT_EQ(written.status, DAT_DTO_SUCCESS);
    EXPECT_EQ(written.user_cookie.as_ptr, &pair);
    EXPECT_EQ(std::string_view(&pair.target[100], 7), "written");
    const DAT_LMR_TRIPLET list[] = {pair.from.segment(std::span(pair.source).last(7))};
    ASSERT_TRUE(pair.active.post_rdma_read(list, pair.to.remote(100, 7), dat::cookie(4)));
    EXPECT_EQ(pair.completion().status, DAT_DTO_SUCCESS);
    EXPECT_EQ(std::string_view(pair.source.data() + pair.source.size() - 7, 7), "written");
}

TEST_F(CppLayer, ARequestCarriesPrivateDataAndIsAnsweredOnce) {
    const Side side;
    const dat::psp psp = dat::psp::create(side.ia, kQualifier, side.requests).value();
    const dat::ep active = side.endpoint(), passive = side.endpoint();
    side.connect(active);
    dat::cr request = side.request();
    const DAT_CR_PARAM told = request.query().value();
    EXPECT_EQ(std::string_view(static_cast<char*>(told.private_data), 6), "please");
    ASSERT_TRUE(request.accept(passive, bytes("welcome")));
    EXPECT_FALSE(request);
    EXPECT_EQ(error_of(request.reject()), DAT_INVALID_HANDLE);
    EXPECT_EQ(side.connection_event(), DAT_CONNECTION_EVENT_ESTABLISHED);
    EXPECT_EQ(side.connection_event(), DAT_CONNECTION_EVENT_ESTABLISHED);
}

TEST_F(CppLayer, ARequestThatNobodyAnswersIsRejected) {
    const Side side;
    const dat::psp psp = dat::psp::create_any(side.ia, side.requests).value();
    const sockaddr_in address = test::ia_address();
    const dat::ep ep = side.endpoint();
    ASSERT_TRUE(ep.connect(reinterpret_cast<const sockaddr*>(&address), psp.query()->conn_qual));
    { const dat::cr request = side.request(); }
    EXPECT_EQ(side.connection_event(), DAT_CONNECTION_EVENT_PEER_REJECTED);
    EXPECT_EQ(ep.state().value(), DAT_EP_STATE_DISCONNECTED);
}

TEST_F(CppLayer, AReservedServicePointBringsItsEndpoint) {
    const Side side;
    const dat::ep active = side.endpoint(), reserved = side.endpoint();
    const dat::rsp rsp = dat::rsp::create(side.ia, kQualifier, reserved, side.requests).value();
    side.connect(active);
    ASSERT_TRUE(side.request().accept());
    EXPECT_EQ(side.connection_event(), DAT_CONNECTION_EVENT_ESTABLISHED);
    EXPECT_EQ(side.connection_event(), DAT_CONNECTION_EVENT_ESTABLISHED);
    EXPECT_EQ(reserved.state().value(), DAT_EP_STATE_CONNECTED);
    ASSERT_TRUE(active.disconnect(DAT_CLOSE_ABRUPT_FLAG));
    EXPECT_EQ(side.connection_event(), DAT_CONNECTION_EVENT_DISCONNECTED);
}

TEST_F(CppLayer, EventsTellOnlyWhatTheyAre) {
    const Side side;
    const dat::evd evd = side.evd_of(DAT_EVD_SOFTWARE_FLAG);
    int marks[2] = {};
    ASSERT_TRUE(evd.post(&marks[0]));
    ASSERT_TRUE(evd.post(&marks[1]));
    dat::event event;
    ASSERT_TRUE(evd.wait(event, kPatience, 2));
    EXPECT_EQ(event.more, 1);
    ASSERT_NE(event.software(), nullptr);
    EXPECT_EQ(event.software()->pointer, &marks[0]);
    EXPECT_FALSE(event.dto() || event.rmr_bind() || event.request() || event.connection() ||
                 event.async_error());
    ASSERT_TRUE(evd.dequeue(event));
    EXPECT_EQ(event.software()->pointer, &marks[1]);
    EXPECT_EQ(error_of(evd.wait(event, 1us)), DAT_TIMEOUT_EXPIRED);
    EXPECT_EQ(error_of(evd.next(0us)), DAT_TIMEOUT_EXPIRED);
}

TEST_F(CppLayer, ACnoTellsWhichEvdHasAnEvent) {
    const Side side;
    const dat::cno cno = dat::cno::create(side.ia).value();
    const dat::evd evd = dat::evd::create(side.ia, 8, DAT_EVD_SOFTWARE_FLAG, cno).value();
    EXPECT_EQ(error_of(cno.wait(1us)), DAT_QUEUE_EMPTY);
    ASSERT_TRUE(evd.post(nullptr));
    EXPECT_EQ(cno.wait(kPatience).value(), dat::evd_view(evd));
    ASSERT_TRUE(evd.detach());
    EXPECT_EQ(evd.query()->cno_handle, DAT_HANDLE_NULL);
}

TEST_F(CppLayer, ACnoCanBeADescriptorForPoll) {
    const Side side;
    DAT_FD descriptor = -1;
    const dat::cno cno = dat::cno::create(side.ia, descriptor).value();
    const dat::evd evd = dat::evd::create(side.ia, 8, DAT_EVD_SOFTWARE_FLAG, cno).value();
    ASSERT_TRUE(evd.post(nullptr));
    ASSERT_TRUE(test::is_readable(descriptor));
    EXPECT_EQ(cno.trigger().value(), dat::evd_view(evd));
}

TEST_F(CppLayer, AWindowIsBoundAndUnbound) {
    Pair pair;
    if (pair.ia.attributes()->max_rmrs == 0) GTEST_SKIP() << "the device has no memory windows";
    const dat::rmr rmr = dat::rmr::create(pair.pz).value();
    const auto context = rmr.bind(pair.to, pair.to.segment(pair.target), DAT_MEM_PRIV_ALL_FLAG,
                                  pair.passive, dat::cookie(5));
    ASSERT_TRUE(context);
    const dat::event bound = pair.transfers.next(kPatience).value();
    ASSERT_NE(bound.rmr_bind(), nullptr);
    EXPECT_EQ(bound.rmr_bind()->status, DAT_RMR_BIND_SUCCESS);
    EXPECT_EQ(rmr.query()->rmr_context, *context);
    EXPECT_EQ(error_of(pair.to.free()), DAT_INVALID_STATE);
    ASSERT_TRUE(rmr.unbind(pair.passive, dat::cookie(6)));
    EXPECT_EQ(pair.transfers.next(kPatience)->rmr_bind()->user_cookie.as_64, 6u);
    EXPECT_TRUE(pair.to.free());
}

TEST_F(CppLayer, ASharedReceiveQueueServesItsEndpoints) {
    const Side side;
    std::array<char, 64> memory{};
    const dat::lmr lmr = dat::lmr::create(side.ia, side.pz, std::span(memory)).value();
    const dat::srq srq = dat::srq::create(side.ia, side.pz, {8, 1, 0}).value();
    DAT_EP_ATTR attributes = side.endpoint().query()->ep_attr;
    const dat::ep ep =
        dat::ep::create(side.ia, side.pz, {side.transfers, side.transfers, side.connections}, srq,
                        attributes)
            .value();
    ASSERT_TRUE(srq.post_recv(lmr.segment(memory), dat::cookie(1)));
    EXPECT_EQ(ep.query()->srq_handle, srq.get());
    EXPECT_EQ(srq.query()->max_recv_dtos >= 8, true);
}

TEST_F(CppLayer, AnObjectKeepsAWordOfThePrograms) {
    const Side side;
    ASSERT_TRUE(side.pz.set_context(dat::cookie(77)));
    EXPECT_EQ(side.pz.context()->as_64, 77u);
}

}  // namespace
