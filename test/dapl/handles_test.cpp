// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Handles, the provider table, opening and closing an adapter instance.
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <set>

#include "dapl/base/pool.hpp"
#include "support/base/object_id.hpp"
#include "test/dapl/core_fixture.hpp"
#include "test/support/process.hpp"
#include "test/support/sanitizer.hpp"

namespace test {
namespace {

class Handles : public CoreTest {};

TEST_F(Handles, AHandleThatIsFreedOrOfAnotherKindOrMisalignedOrSmallIsRefused) {
    DAT_PZ_HANDLE freed;
    ASSERT_EQ(entry::pz_create(open.ia, &freed), DAT_SUCCESS);
    ASSERT_EQ(entry::pz_free(freed), DAT_SUCCESS);
    const DAT_HANDLE bad[] = {nullptr,
                              reinterpret_cast<DAT_HANDLE>(1),
                              reinterpret_cast<DAT_HANDLE>(4095),
                              static_cast<char*>(pz) + 1,
                              static_cast<char*>(pz) + 8,
                              freed,
                              open.ia,
                              recv_evd};
    for (const DAT_HANDLE handle : bad) EXPECT_EQ(entry::pz_free(handle), 0x8005000Fu) << handle;
    DAT_CONTEXT context;
    EXPECT_EQ(entry::get_consumer_context(freed, &context), 0x80050000u);
    const auto* word = static_cast<const DAT_PROVIDER* const*>(freed);
    ASSERT_NE(*word, nullptr) << "libdat2 jumps through it";
    EXPECT_EQ((*word)->pz_free_func(freed), 0x8005000Fu);
}

TEST_F(Handles, ASlotIsNotReusedBefore64OthersOfItsKind) {
    std::set<DAT_PZ_HANDLE> seen;
    for (int i = 0; i < 64; ++i) {
        DAT_PZ_HANDLE made;
        ASSERT_EQ(entry::pz_create(open.ia, &made), DAT_SUCCESS);
        EXPECT_TRUE(seen.insert(made).second) << "after " << i;
        ASSERT_EQ(entry::pz_free(made), DAT_SUCCESS);
    }
    for (int i = 0; i < 200; ++i) {
        DAT_PZ_HANDLE made;
        ASSERT_EQ(entry::pz_create(open.ia, &made), DAT_SUCCESS);
        seen.insert(made);
        ASSERT_EQ(entry::pz_free(made), DAT_SUCCESS);
    }
    EXPECT_LT(seen.size(), 130u) << "but it is reused";
}

TEST_F(Handles, EveryKindHasAConsumerContextAndAType) {
    make_ep();
    DAT_CNO_HANDLE cno;
    ASSERT_EQ(entry::cno_create(open.ia, {}, &cno), DAT_SUCCESS);
    const std::pair<DAT_HANDLE, DAT_HANDLE_TYPE> handles[] = {
        {open.ia, DAT_HANDLE_TYPE_IA}, {pz, DAT_HANDLE_TYPE_PZ},   {recv_evd, DAT_HANDLE_TYPE_EVD},
        {ep, DAT_HANDLE_TYPE_EP},      {cno, DAT_HANDLE_TYPE_CNO},
    };
    for (const auto& [handle, expected] : handles) {
        DAT_HANDLE_TYPE type;
        EXPECT_EQ(entry::get_handle_type(handle, &type), DAT_SUCCESS);
        EXPECT_EQ(type, expected);
        DAT_CONTEXT context;
        context.as_64 = 1;
        EXPECT_EQ(entry::get_consumer_context(handle, &context), DAT_SUCCESS);
        EXPECT_EQ(context.as_64, 0u);
        EXPECT_EQ(entry::set_consumer_context(handle, cookie(42)), DAT_SUCCESS);
        EXPECT_EQ(entry::get_consumer_context(handle, &context), DAT_SUCCESS);
        EXPECT_EQ(context.as_64, 42u);
        EXPECT_EQ(entry::get_consumer_context(handle, nullptr), 0x80060026u);
        EXPECT_EQ(entry::get_handle_type(handle, nullptr), 0x80060026u);
    }
}

TEST_F(Handles, AForkedChildKnowsNoneOfThemAndOpensTheAdapterAnew) {
    if (kThreadSanitizer) GTEST_SKIP() << "it allows no threads after a fork";
    make_ep();
    const pid_t child = fork();
    if (child == 0) {
        bool good = entry::ep_free(ep) == 0x8005000Cu && entry::pz_free(pz) == 0x8005000Fu &&
                    entry::ia_close(open.ia, DAT_CLOSE_ABRUPT_FLAG) == 0x8005000Bu &&
                    *static_cast<void**>(ep) == nullptr;
        {
            fake::OpenIa again;
            DAT_PZ_HANDLE mine;
            good = good && entry::pz_create(again.ia, &mine) == DAT_SUCCESS;
        }
        _exit(good ? 0 : 1);
    }
    int status;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
    EXPECT_EQ(entry::ep_free(ep), DAT_SUCCESS);
}

TEST_F(Handles, ObjectsOfAForkedChildHaveOtherIdsThanTheParents) {
    if (kThreadSanitizer) GTEST_SKIP() << "it allows no threads after a fork";
    Channel ids;
    const pid_t child = fork();
    if (child == 0) {
        ids.be_child();
        fake::OpenIa again;
        ids.send(dapl::live_header(again.ia)->id);
        _exit(0);
    }
    ids.be_parent();
    const auto in_the_child = ids.receive<std::uint64_t>();
    fake::OpenIa second;
    // Each is the second instance that its process has opened, counting the one copied by the fork.
    EXPECT_NE(in_the_child, dapl::live_header(second.ia)->id);
    int status;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
}

TEST(ObjectIds, HoldTheKindAndTakeANewBlockWhenTheOldOneIsUsedUp) {
    // A block with one serial left.
    std::uint64_t word = 0x70ffffffe;
    auto& ids = *reinterpret_cast<support::ObjectIds*>(&word);
    const std::uint64_t last = ids.next(3);
    EXPECT_EQ(last, 0x73fffffffu);
    EXPECT_EQ(support::object_kind(last), 3u);
    const std::uint64_t next = ids.next(11);
    EXPECT_EQ(support::object_kind(next), 11u);
    EXPECT_EQ(next & 0xfffffff, 0u) << "the first serial";
    EXPECT_NE(next >> 32, 7u);
    EXPECT_NE(next >> 32, 0u);
}

TEST(ObjectIds, AreUniqueAlsoWhereTheProcessMayOpenNoDescriptor) {
    rlimit before;
    ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
    const rlimit none{0, before.rlim_max};
    ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
    support::ObjectIds one{};
    support::ObjectIds other{};
    const std::uint64_t ids[] = {one.next(0), one.next(0), other.next(0)};
    ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
    EXPECT_EQ(ids[1], ids[0] + 1);
    EXPECT_NE(ids[0] >> 32, ids[2] >> 32);
}

TEST(ProviderTable, HasNoEmptySlotAndAnswersForWhatIsNotThere) {
    static_assert(sizeof(DAT_PROVIDER) == 81 * sizeof(void*));
    const void* slots[81];
    std::memcpy(slots, &dapl::kProviderTable, sizeof slots);
    for (int i = 2; i < 81; ++i) EXPECT_NE(slots[i], nullptr) << i;
    const DAT_PROVIDER& table = dapl::kProviderTable;
    EXPECT_EQ(table.cno_trigger_func(nullptr, nullptr), 0x80050013u);
    EXPECT_EQ(table.ep_recv_query_func(nullptr, nullptr, nullptr), 0x8005000Cu);
    EXPECT_EQ(table.ep_set_watermark_func(nullptr, 0, 0), 0x8005000Cu);
    EXPECT_EQ(table.srq_set_lw_func(nullptr, 0), 0x80050019u);
}

class Closing : public CoreTest {
  protected:
    DAT_RETURN close(DAT_CLOSE_FLAGS flags) { return entry::ia_close(open.ia, flags); }
};

TEST_F(Closing, GracefulIsRefusedWhileAnythingIsLeftAndDoesNoHarm) {
    make_ep();
    EXPECT_EQ(close(DAT_CLOSE_GRACEFUL_FLAG), 0x80070050u);
    EXPECT_EQ(close(static_cast<DAT_CLOSE_FLAGS>(7)), 0x80060026u);
    EXPECT_EQ(entry::ep_free(ep), DAT_SUCCESS);
    EXPECT_EQ(close(DAT_CLOSE_GRACEFUL_FLAG), 0x80070050u);
    EXPECT_EQ(entry::pz_free(pz), DAT_SUCCESS);
    for (const DAT_EVD_HANDLE evd : {recv_evd, request_evd, connect_evd}) {
        EXPECT_EQ(close(DAT_CLOSE_GRACEFUL_FLAG), 0x80070050u);
        EXPECT_EQ(entry::evd_free(evd), DAT_SUCCESS);
    }
    DAT_CNO_HANDLE cno;
    ASSERT_EQ(entry::cno_create(open.ia, {}, &cno), DAT_SUCCESS);
    EXPECT_EQ(close(DAT_CLOSE_GRACEFUL_FLAG), 0x80070050u);
    EXPECT_EQ(entry::cno_free(cno), DAT_SUCCESS);
    EXPECT_EQ(close(DAT_CLOSE_GRACEFUL_FLAG), DAT_SUCCESS);
    EXPECT_EQ(close(DAT_CLOSE_GRACEFUL_FLAG), 0x8005000Bu);
    EXPECT_EQ(fake::objects(), 0);
    open.ia = nullptr;
}

TEST_F(Closing, AbruptEndsEverythingThatIsLeftAndSendsWaitersAway) {
    connect_ep();
    DAT_CNO_HANDLE cno;
    ASSERT_EQ(entry::cno_create(open.ia, {}, &cno), DAT_SUCCESS);
    ASSERT_EQ(entry::evd_modify_cno(recv_evd, cno), DAT_SUCCESS);
    DAT_REGION_DESCRIPTION region;
    region.for_va = memory;
    DAT_LMR_HANDLE lmr;
    ASSERT_EQ(entry::lmr_create(open.ia, DAT_MEM_TYPE_VIRTUAL, region, sizeof memory, pz,
                                DAT_MEM_PRIV_ALL_FLAG, DAT_VA_TYPE_VA, &lmr, nullptr, nullptr,
                                nullptr, nullptr),
              DAT_SUCCESS);
    ASSERT_EQ(receive(1), DAT_SUCCESS);
    DAT_RETURN evd_code = 1, cno_code = 1;
    Thread on_evd([&] {
        DAT_EVENT event;
        DAT_COUNT more;
        evd_code = entry::evd_wait(request_evd, DAT_TIMEOUT_INFINITE, 1, &event, &more);
    });
    Thread on_cno([&] {
        DAT_EVD_HANDLE evd;
        do {
            cno_code = entry::cno_wait(cno, DAT_TIMEOUT_INFINITE, &evd);
        } while (cno_code == DAT_SUCCESS);
    });
    EXPECT_EQ(close(DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
    open.ia = nullptr;
    on_evd.join();
    on_cno.join();
    EXPECT_TRUE(DAT_GET_TYPE(evd_code) == DAT_INVALID_STATE ||
                DAT_GET_TYPE(evd_code) == DAT_INVALID_HANDLE);
    EXPECT_TRUE(DAT_GET_TYPE(cno_code) == DAT_INVALID_STATE ||
                DAT_GET_TYPE(cno_code) == DAT_INVALID_HANDLE);
    EXPECT_EQ(fake::objects(), 0);
    EXPECT_EQ(entry::ep_free(ep), 0x8005000Cu);
    EXPECT_EQ(entry::lmr_free(lmr), 0x8005000Du);
}

TEST_F(Closing, AnAsyncEvdMayBeSharedAndItsOwnerMayGoFirst) {
    char name[] = "fake";
    DAT_IA_HANDLE second;
    DAT_EVD_HANDLE shared = open.async;
    ASSERT_EQ(entry::ia_open(name, 0, &shared, &second), DAT_SUCCESS);
    EXPECT_EQ(shared, open.async);
    ibv_async_event event{};
    event.event_type = IBV_EVENT_PORT_ERR;
    fake::raise(event);
    for (int i = 0; i < 2; ++i) {
        DAT_EVENT told;
        DAT_COUNT more;
        ASSERT_EQ(entry::evd_wait(open.async, DAT_TIMEOUT_INFINITE, 1, &told, &more), DAT_SUCCESS);
        EXPECT_EQ(told.event_number, DAT_ASYNC_ERROR_IA_CATASTROPHIC);
    }
    EXPECT_EQ(close(DAT_CLOSE_GRACEFUL_FLAG), 0x80070050u) << "another instance uses its EVD";
    EXPECT_EQ(close(DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
    open.ia = nullptr;
    DAT_EVD_HANDLE none = second;
    EXPECT_EQ(entry::ia_query(second, &none, 0, nullptr, 0, nullptr), DAT_SUCCESS);
    EXPECT_EQ(none, nullptr);
    EXPECT_EQ(entry::ia_close(second, DAT_CLOSE_GRACEFUL_FLAG), DAT_SUCCESS);
}

TEST_F(Closing, AFailedOpenLeavesTheCallersVariablesAlone) {
    char known[] = "fake", unknown[] = "other";
    DAT_IA_HANDLE ia = &ia;
    DAT_EVD_HANDLE async = nullptr;
    EXPECT_EQ(entry::ia_open(unknown, 8, &async, &ia), 0x800A0064u);
    EXPECT_EQ(entry::ia_open(known, 0, &async, &ia), 0x80060026u);
    EXPECT_EQ(entry::ia_open(known, 8, nullptr, &ia), 0x80060027u);
    EXPECT_EQ(entry::ia_open(known, 8, &async, nullptr), 0x80060028u);
    EXPECT_EQ(async, nullptr);
    for (const DAT_HANDLE wrong : {pz, recv_evd, reinterpret_cast<DAT_HANDLE>(1)}) {
        async = wrong;
        EXPECT_EQ(entry::ia_open(known, 8, &async, &ia), 0x80050018u);
        EXPECT_EQ(async, wrong);
    }
    EXPECT_EQ(ia, static_cast<void*>(&ia));
}

TEST_F(Closing, WhatTheDeviceRefusesLeavesNothingBehind) {
    const int before = fake::objects();
    fake::refuse(ENOMEM);
    const std::string told = captured_stderr([&] {
        DAT_EVD_HANDLE evd;
        EXPECT_EQ(entry::evd_create(open.ia, 8, nullptr, DAT_EVD_DTO_FLAG, &evd), 0x00030000u);
        EXPECT_EQ(entry::ep_create(open.ia, pz, recv_evd, request_evd, connect_evd, nullptr, &ep),
                  0x00030000u);
    });
    EXPECT_NE(told.find("fake0 refuses a completion queue"), std::string::npos) << told;
    EXPECT_NE(told.find("fake0 refuses a queue pair"), std::string::npos) << told;
    fake::refuse(0);
    EXPECT_EQ(fake::objects(), before);
    EXPECT_EQ(entry::pz_free(pz), DAT_SUCCESS);
}

}  // namespace
}  // namespace test
