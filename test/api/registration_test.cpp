// SPDX-License-Identifier: BSD-2-Clause
// Registrations that wait for an entry, and their revocation (dat2/dat_reg_extensions.h), over
// soft0.
#include <gtest/gtest.h>

#include <thread>

#include "test/api/registration_side.hpp"
#include "test/support/named.hpp"
#include "test/support/threads.hpp"

namespace {

using namespace test;

bool is(DAT_RETURN code, DAT_RETURN_TYPE type) {
    return DAT_GET_TYPE(code) == static_cast<DAT_RETURN>(type);
}

DAT_RETURN bad_argument(DAT_RETURN_SUBTYPE which) {
    return DAT_CLASS_ERROR | static_cast<DAT_RETURN>(DAT_INVALID_PARAMETER) |
           static_cast<DAT_RETURN>(which);
}

TEST(Registration, WithoutTheBrokerEveryCallSaysThatThereIsNone) {
    const TemporaryFabric fabric;
    const Side side;
    Buffer buffer(side);
    DAT_REG_LMR_PARAM asked{};
    DAT_REG_STATISTICS table{};
    DAT_REG_LMR_STATUS status{};
    DAT_REG_TICKET ticket = 0;
    DAT_LMR_HANDLE lmr = DAT_HANDLE_NULL;
    const DAT_RETURN codes[] = {dat_reg_lmr_create_wait(side.ia, &asked, 0, &lmr, nullptr, nullptr),
                                dat_reg_lmr_create_async(side.ia, &asked, nullptr, &ticket),
                                dat_reg_ticket_cancel(side.ia, 1),
                                dat_reg_evd_attach(side.ia, DAT_HANDLE_NULL),
                                dat_reg_query(side.ia, &table),
                                dat_reg_policy_modify(side.ia, "lru"),
                                dat_reg_lmr_accept(buffer.lmr),
                                dat_reg_lmr_offer(buffer.lmr, buffer.lmr),
                                dat_reg_lmr_refuse(buffer.lmr, 1),
                                dat_reg_lmr_begin_use(buffer.lmr, 1),
                                dat_reg_lmr_end_use(buffer.lmr),
                                dat_reg_lmr_touch(buffer.lmr),
                                dat_reg_lmr_renew(buffer.lmr, 0, nullptr, nullptr),
                                dat_reg_lmr_query(buffer.lmr, &status)};
    for (const DAT_RETURN code : codes) EXPECT_TRUE(is(code, DAT_NOT_IMPLEMENTED)) << code;
    const DAT_PROVIDER_ATTR all = provider_attributes(side.ia);
    EXPECT_STREQ(value_of(all.provider_specific_attr, all.num_provider_specific_attr, DAT_REG_ATTR),
                 "FALSE");
}

std::ptrdiff_t entries_of(const std::string& directory) {
    std::error_code none;
    return std::distance(std::filesystem::directory_iterator(directory, none),
                         std::filesystem::directory_iterator());
}

TEST(Registration, OffMakesNeitherAThreadNorAFileAndOnMakesOneOfEach) {
    RegistrationTable table(8, kNoHurry, "off");
    const std::string directory = getenv("OPENDAT_REGISTRATION_DIRECTORY");
    std::ptrdiff_t threads;
    {
        const Side side;
        threads = entries_of("/proc/self/task");
        EXPECT_FALSE(std::filesystem::exists(directory));
    }
    table.set("OPENDAT_REGISTRATIONS", "on");
    {
        const Side side;
        // A thread that has been joined may still be listed for a moment.
        EXPECT_TRUE(eventually([&] { return entries_of("/proc/self/task") == threads + 1; }));
        EXPECT_EQ(entries_of(directory), 1);
    }
    EXPECT_EQ(entries_of(directory), 0) << "the last one removes the table";
}

TEST(Registration, NamedAttributesTellVersionModeAndFeatures) {
    const RegistrationTable table(8);
    const Side side;
    const DAT_PROVIDER_ATTR all = provider_attributes(side.ia);
    const auto value = [&](const char* name) {
        return std::string(
            value_of(all.provider_specific_attr, all.num_provider_specific_attr, name));
    };
    EXPECT_EQ(value(DAT_REG_ATTR), std::to_string(DAT_REG_EXTENSION_VERSION));
    EXPECT_EQ(value(DAT_REG_ATTR_MODE), "on");
    EXPECT_EQ(value(DAT_REG_ATTR_WAIT), "TRUE");
    EXPECT_EQ(value(DAT_REG_ATTR_UPCALLS), "TRUE");
    EXPECT_EQ(value(DAT_REG_ATTR_ENFORCED), is_soft0() ? "TRUE" : "FALSE");
    EXPECT_EQ(value(DAT_REG_ATTR_PEERS), is_soft0() ? "TRUE" : "FALSE");
    const bool for_endpoints =
        side.attributes().max_rmrs > 0 && all.rmr_scope_supported != DAT_RMR_SCOPE_PZ;
    EXPECT_EQ(value(DAT_REG_ATTR_BRACKETS), for_endpoints ? "windows" : "registrations");
}

TEST(Registration, AWordThatIsNoWayToMakeABracketIsToldAndMeansWindows) {
    RegistrationTable table(8);
    table.set("OPENDAT_REGISTRATION_BRACKETS", "keys");
    const std::string told = captured_stderr([] {
        const Side side;
        EXPECT_EQ(side.named(DAT_REG_ATTR_BRACKETS), side.has_rmrs() ? "windows" : "registrations");
    });
    EXPECT_NE(told.find("OPENDAT_REGISTRATION_BRACKETS is 'keys', which is not windows or "
                        "registrations; using windows"),
              std::string::npos)
        << told;
}

TEST(Registration, AWordThatIsNoModeIsToldAndMeansOff) {
    const RegistrationTable table(8, kNoHurry, "perhaps");
    const std::string told = captured_stderr([] {
        const Side side;
        DAT_REG_STATISTICS unused{};
        EXPECT_TRUE(is(dat_reg_query(side.ia, &unused), DAT_NOT_IMPLEMENTED));
    });
    EXPECT_NE(told.find("OPENDAT_REGISTRATIONS is 'perhaps', which is not off, on, transparent or "
                        "per-io; using off"),
              std::string::npos)
        << told;
}

TEST(Registration, PlainCreationTakesAnEntryAndFailsAtOnceWhereThereIsNone) {
    const RegistrationTable table(2, kNoHurry);
    Side side;
    Region first(side), second(side), third(side);
    succeed(first.create_plainly(), "the first");
    succeed(second.create_plainly(), "the second");
    EXPECT_EQ(statistics(side).own_entries, 2u);
    EXPECT_EQ(statistics(side).own_bytes, first.bytes.size() + second.bytes.size());
    EXPECT_EQ(third.create_plainly(), static_cast<DAT_RETURN>(DAT_INSUFFICIENT_RESOURCES));
    first.free();
    succeed(third.create_plainly(), "after one is free");
    EXPECT_EQ(statistics(side).used_entries, 2u);
}

TEST(Registration, ARequestThatCannotBeServedIsToldSoAtOnce) {
    const RegistrationTable table(1, kNoHurry);
    RegistrationSide side;
    Region pinned(side), wanted(side);
    succeed(pinned.create(0, DAT_REG_CLASS_PINNED), "pinned");
    EXPECT_TRUE(is(wanted.create(DAT_TIMEOUT_INFINITE), DAT_INSUFFICIENT_RESOURCES));
    const DAT_REG_LMR_PARAM asked = wanted.parameters(DAT_REG_CLASS_RDMA);
    DAT_REG_TICKET ticket = 0;
    EXPECT_TRUE(is(dat_reg_lmr_create_async(side.ia, &asked, nullptr, &ticket),
                   DAT_INSUFFICIENT_RESOURCES));
    Side::expect_empty(side.upcalls);
}

TEST(Registration, ARequestThatWaitsInVainTimesOut) {
    const RegistrationTable table(1, kNoHurry);
    RegistrationSide side;
    Region kept(side), wanted(side);
    succeed(kept.create(0), "the only entry");
    EXPECT_TRUE(is(wanted.create(0), DAT_TIMEOUT_EXPIRED));
    EXPECT_TRUE(is(wanted.create(20000), DAT_TIMEOUT_EXPIRED));
    EXPECT_EQ(statistics(side).waiting_entries, 0u);
}

TEST(Registration, ArgumentsAreCheckedBeforeAnythingIsAskedFor) {
    const RegistrationTable table(1, kNoHurry);
    RegistrationSide side;
    Region region(side);
    DAT_LMR_HANDLE lmr = DAT_HANDLE_NULL;
    DAT_REG_LMR_PARAM asked = region.parameters(static_cast<DAT_REG_CLASS>(3));
    const auto create = [&](DAT_LMR_HANDLE* to) {
        return dat_reg_lmr_create_wait(side.ia, &asked, 0, to, nullptr, nullptr);
    };
    const DAT_RETURN second = bad_argument(DAT_INVALID_ARG2);
    EXPECT_EQ(create(&lmr), second);
    asked = region.parameters(DAT_REG_CLASS_RDMA);
    EXPECT_EQ(create(nullptr), bad_argument(DAT_INVALID_ARG4));
    asked.pz_handle = side.ia;
    EXPECT_TRUE(is(create(&lmr), DAT_INVALID_HANDLE));
    EXPECT_EQ(dat_reg_lmr_create_wait(side.ia, nullptr, 0, &lmr, nullptr, nullptr), second);
    EXPECT_EQ(dat_reg_query(side.ia, nullptr), second);
    EXPECT_EQ(dat_reg_evd_attach(side.ia, side.sends), second);
    EXPECT_TRUE(is(dat_reg_evd_attach(side.ia, side.ia), DAT_INVALID_HANDLE));
    EXPECT_EQ(dat_reg_policy_modify(side.ia, nullptr), second);
    EXPECT_TRUE(is(dat_reg_ticket_cancel(side.ia, 77), DAT_INVALID_STATE));
    EXPECT_TRUE(is(dat_reg_lmr_accept(side.ia), DAT_INVALID_HANDLE));
    EXPECT_EQ(statistics(side).used_entries, 0u);
}

TEST(Registration, WhatIsAnnouncedAndAcceptedGoesToTheOneWhoWaits) {
    const RegistrationTable table(1, kNoHurry);
    RegistrationSide side;
    Region idle(side), wanted(side);
    succeed(idle.create(0), "the only entry");
    const DAT_REG_TICKET ticket = ask(side, wanted);
    const auto announced = side.upcall(DAT_REG_ANNOUNCED_EVENT);
    EXPECT_EQ(announced.lmr_handle, idle.lmr);
    EXPECT_GT(announced.remaining, 0u);
    EXPECT_EQ(idle.status().state, DAT_REG_STATE_ANNOUNCED);
    succeed(dat_reg_lmr_accept(idle.lmr), "dat_reg_lmr_accept");
    EXPECT_EQ(side.upcall(DAT_REG_REVOKED_EVENT).lmr_handle, idle.lmr);
    EXPECT_TRUE(idle.is_gone());
    const auto granted = side.upcall(DAT_REG_GRANTED_EVENT);
    EXPECT_EQ(granted.ticket, ticket);
    EXPECT_EQ(granted.cookie, &wanted);
    wanted.lmr = granted.lmr_handle;
    EXPECT_EQ(wanted.status().state, DAT_REG_STATE_ACTIVE);
    EXPECT_NE(granted.lmr_context, 0u);
    EXPECT_TRUE(is(dat_reg_lmr_accept(wanted.lmr), DAT_INVALID_STATE));
    EXPECT_TRUE(is(dat_reg_ticket_cancel(side.ia, ticket), DAT_INVALID_STATE));
    EXPECT_EQ(statistics(side).released, 1u);
    EXPECT_EQ(statistics(side).granted, 2u) << "the first one too";
}

TEST(Registration, ACancelledRequestIsNeverServed) {
    const RegistrationTable table(1, kNoHurry);
    RegistrationSide side;
    Region kept(side), wanted(side);
    succeed(kept.create(0), "the only entry");
    const DAT_REG_TICKET ticket = ask(side, wanted);
    side.upcall(DAT_REG_ANNOUNCED_EVENT);
    EXPECT_TRUE(is(dat_pz_free(side.pz), DAT_INVALID_STATE));
    succeed(dat_reg_ticket_cancel(side.ia, ticket), "dat_reg_ticket_cancel");
    succeed(dat_reg_lmr_accept(kept.lmr), "dat_reg_lmr_accept");
    side.upcall(DAT_REG_REVOKED_EVENT);
    succeed(wanted.create(kMicroseconds), "the entry is free");
    Side::expect_empty(side.upcalls);
}

TEST(Registration, AnotherVictimIsTakenInThePlaceOfTheOneThatIsAnnounced) {
    const RegistrationTable table(2, kNoHurry);
    RegistrationSide side;
    Region first(side), other(side, 8192), wanted(side);
    succeed(first.create(0), "the first");
    succeed(other.create(0), "the second");
    for (int i = 0; i < 3; ++i) succeed(dat_reg_lmr_touch(other.lmr), "dat_reg_lmr_touch");
    ask(side, wanted);
    const auto announced = side.upcall(DAT_REG_ANNOUNCED_EVENT);
    Region& chosen = announced.lmr_handle == first.lmr ? first : other;
    Region& offered = &chosen == &first ? other : first;
    const DAT_RETURN code = dat_reg_lmr_offer(chosen.lmr, offered.lmr);
    if (&chosen == &other) {  // a smaller region is no alternative
        EXPECT_EQ(code, bad_argument(DAT_INVALID_ARG2));
        return;
    }
    succeed(code, "dat_reg_lmr_offer");
    EXPECT_EQ(side.upcall(DAT_REG_ANNOUNCED_EVENT).lmr_handle, offered.lmr);
    EXPECT_EQ(chosen.status().state, DAT_REG_STATE_ACTIVE);
    succeed(dat_reg_lmr_accept(offered.lmr), "dat_reg_lmr_accept");
    side.upcall(DAT_REG_REVOKED_EVENT);
    wanted.lmr = side.upcall(DAT_REG_GRANTED_EVENT).lmr_handle;
    EXPECT_FALSE(chosen.is_gone());
    EXPECT_TRUE(offered.is_gone());
}

TEST(Registration, WhatIsRefusedForGoodIsPinned) {
    const RegistrationTable table(1, kNoHurry);
    RegistrationSide side;
    Region kept(side), wanted(side);
    succeed(kept.create(0), "the only entry");
    const DAT_REG_TICKET ticket = ask(side, wanted);
    side.upcall(DAT_REG_ANNOUNCED_EVENT);
    succeed(dat_reg_lmr_refuse(kept.lmr, ~DAT_UINT64{0}), "dat_reg_lmr_refuse");
    const auto refused = side.upcall(DAT_REG_REFUSED_EVENT);
    EXPECT_EQ(refused.ticket, ticket);
    EXPECT_TRUE(is(refused.reason, DAT_INSUFFICIENT_RESOURCES));
    EXPECT_EQ(kept.status().state, DAT_REG_STATE_ACTIVE);
    EXPECT_TRUE(is(wanted.create(DAT_TIMEOUT_INFINITE), DAT_INSUFFICIENT_RESOURCES));
    EXPECT_TRUE(is(dat_reg_lmr_refuse(kept.lmr, 1), DAT_INVALID_STATE));
}

TEST(Registration, AUseThatDoesNotEndBeforeTheDeadlineDoesNotBegin) {
    const RegistrationTable table(1, kNoHurry);
    RegistrationSide side;
    Region used(side), wanted(side);
    succeed(used.create(0), "the only entry");
    succeed(dat_reg_lmr_begin_use(used.lmr, 4 * DAT_UINT64{kNoHurry}), "before it is announced");
    ask(side, wanted);
    side.upcall(DAT_REG_ANNOUNCED_EVENT);
    EXPECT_TRUE(is(dat_reg_lmr_begin_use(used.lmr, 2 * DAT_UINT64{kNoHurry}), DAT_INVALID_STATE));
    EXPECT_TRUE(is(dat_reg_lmr_begin_use(used.lmr, ~DAT_UINT64{0}), DAT_INVALID_STATE));
    succeed(dat_reg_lmr_begin_use(used.lmr, 1), "a short one");
    EXPECT_EQ(used.status().busy, 2u);
    EXPECT_EQ(used.status().use_count, 3u) << "the touch is one";
    EXPECT_TRUE(is(dat_reg_lmr_accept(used.lmr), DAT_INVALID_STATE));
    succeed(dat_reg_lmr_end_use(used.lmr), "dat_reg_lmr_end_use");
    succeed(dat_reg_lmr_end_use(used.lmr), "dat_reg_lmr_end_use");
    EXPECT_TRUE(is(dat_reg_lmr_end_use(used.lmr), DAT_INVALID_STATE));
    succeed(dat_reg_lmr_accept(used.lmr), "dat_reg_lmr_accept");
    EXPECT_TRUE(is(dat_reg_lmr_begin_use(used.lmr, 1), DAT_INVALID_STATE));
    EXPECT_TRUE(is(dat_reg_lmr_touch(used.lmr), DAT_INVALID_STATE));
}

TEST(Registration, AConsumerThatIgnoresTheAnnouncementLosesTheRegistrationAtTheDeadline) {
    const RegistrationTable table(1, 20000);
    RegistrationSide side;
    Region ignored(side), wanted(side);
    succeed(ignored.create(0), "the only entry");
    ask(side, wanted);
    side.upcall(DAT_REG_ANNOUNCED_EVENT);
    EXPECT_EQ(side.upcall(DAT_REG_REVOKED_EVENT).lmr_handle, ignored.lmr);
    wanted.lmr = side.upcall(DAT_REG_GRANTED_EVENT).lmr_handle;
    EXPECT_TRUE(ignored.is_gone());
    EXPECT_EQ(statistics(side).revoked, 1u);
    EXPECT_EQ(statistics(side).used_entries, 1u);
}

TEST(Registration, WithoutAnEvdTheLibraryLetsGoWhatIsIdle) {
    const RegistrationTable table(1, kNoHurry);
    Side side;
    Region idle(side), wanted(side);
    succeed(idle.create_plainly(), "the only entry");
    succeed(wanted.create(kMicroseconds), "is given up at once");
    EXPECT_TRUE(idle.is_gone());
    idle.free();
    EXPECT_EQ(statistics(side).used_entries, 1u);
}

TEST(Registration, WithoutAnEvdTheLibraryWaitsForTheEndOfTheUse) {
    const RegistrationTable table(1, kNoHurry);
    Side side;
    Region used(side), wanted(side);
    succeed(used.create_plainly(), "the only entry");
    succeed(dat_reg_lmr_begin_use(used.lmr, 1), "dat_reg_lmr_begin_use");
    EXPECT_TRUE(is(wanted.create(50000), DAT_TIMEOUT_EXPIRED));
    EXPECT_FALSE(used.is_gone());
    succeed(dat_reg_lmr_end_use(used.lmr), "dat_reg_lmr_end_use");
    succeed(wanted.create(kMicroseconds), "then it goes");
    EXPECT_TRUE(used.is_gone());
}

TEST(Registration, WhatIsGoneIsRenewedWithTheSameLmrContext) {
    const RegistrationTable table(1, kNoHurry);
    Side side;
    Region gone(side), other(side);
    succeed(gone.create(0), "the only entry");
    succeed(other.create(kMicroseconds), "takes it");
    EXPECT_TRUE(is(dat_reg_lmr_touch(gone.lmr), DAT_INVALID_STATE));
    other.free();
    DAT_LMR_CONTEXT local = 0;
    DAT_RMR_CONTEXT remote = 0;
    succeed(dat_reg_lmr_renew(gone.lmr, kMicroseconds, &local, &remote), "dat_reg_lmr_renew");
    EXPECT_EQ(local, gone.local_key);
    EXPECT_EQ(gone.status().state, DAT_REG_STATE_ACTIVE);
    DAT_LMR_PARAM parameters{};
    succeed(dat_lmr_query(gone.lmr, DAT_LMR_FIELD_ALL, &parameters), "dat_lmr_query");
    EXPECT_EQ(parameters.lmr_context, gone.local_key);
    EXPECT_EQ(parameters.rmr_context, remote);
    succeed(dat_reg_lmr_renew(gone.lmr, 0, nullptr, nullptr), "one that stands stays");
}

TEST(Registration, MessagingBuffersGoAtOnceAndTheWindowIsTold) {
    const RegistrationTable table(3, kNoHurry);
    RegistrationSide side;
    Region first(side), second(side), third(side), wanted(side);
    for (Region* region : {&first, &second, &third})
        succeed(region->create(0, DAT_REG_CLASS_MESSAGING), "dat_reg_lmr_create_wait");
    const DAT_EP_HANDLE ep = side.endpoint();
    for (Region* region : {&first, &second}) {
        DAT_LMR_TRIPLET whole = region->part(region->bytes.size());
        succeed(dat_ep_post_recv(ep, 1, &whole, cookie(1), DAT_COMPLETION_DEFAULT_FLAG), "posts");
    }
    ask(side, wanted);
    // Messaging buffers are revoked without the grace period, which is an hour here.
    bool pressed = false, revoked = false, granted = false;
    while (!pressed || !revoked || !granted) {
        DAT_EVENT event{};
        DAT_COUNT more = 0;
        succeed(dat_evd_wait(side.upcalls, kMicroseconds, 1, &event, &more), "dat_evd_wait");
        const DAT_REG_EVENT_DATA& data = *dat_reg_event_data(&event);
        switch (static_cast<unsigned>(event.event_number)) {
            case DAT_REG_PRESSURE_EVENT:
                pressed = true;
                EXPECT_EQ(data.window, 2u);
                break;
            case DAT_REG_REVOKED_EVENT:
                revoked = true;
                EXPECT_EQ(data.lmr_handle, third.lmr) << "the one that is not posted";
                break;
            case DAT_REG_GRANTED_EVENT:
                granted = true;
                wanted.lmr = data.lmr_handle;
                break;
            default:
                FAIL() << event.event_number;
        }
    }
    EXPECT_FALSE(first.is_gone());
    EXPECT_FALSE(second.is_gone());
    succeed(dat_ep_free(ep), "dat_ep_free");
    EXPECT_EQ(first.status().busy, 0u) << "receives that never complete use nothing any more";
}

TEST(Registration, OneCnoTellsOfUpcallsAndOfTransfers) {
    const RegistrationTable table(1, kNoHurry);
    Side side;
    DAT_CNO_HANDLE cno = DAT_HANDLE_NULL;
    succeed(dat_cno_create(side.ia, DAT_OS_WAIT_PROXY_AGENT_NULL, &cno), "dat_cno_create");
    DAT_EVD_HANDLE upcalls = DAT_HANDLE_NULL, transfers = DAT_HANDLE_NULL, told = DAT_HANDLE_NULL;
    succeed(dat_evd_create(side.ia, 8, cno, DAT_EVD_SOFTWARE_FLAG, &upcalls), "dat_evd_create");
    succeed(dat_evd_create(side.ia, 8, cno, DAT_EVD_DTO_FLAG, &transfers), "dat_evd_create");
    succeed(dat_reg_evd_attach(side.ia, upcalls), "dat_reg_evd_attach");
    EXPECT_TRUE(is(dat_evd_free(upcalls), DAT_INVALID_STATE)) << "it is attached";
    Region kept(side), wanted(side);
    succeed(kept.create(0), "the only entry");
    ask(side, wanted);
    succeed(dat_cno_wait(cno, kMicroseconds, &told), "dat_cno_wait");
    EXPECT_EQ(told, upcalls);
    DAT_EVENT event{};
    succeed(dat_evd_dequeue(upcalls, &event), "dat_evd_dequeue");
    EXPECT_EQ(static_cast<unsigned>(event.event_number), unsigned{DAT_REG_ANNOUNCED_EVENT});
    DAT_EP_HANDLE ep = DAT_HANDLE_NULL, peer = DAT_HANDLE_NULL;
    side.listen(4713);
    succeed(dat_ep_create(side.ia, side.pz, transfers, side.sends, side.connections, nullptr, &ep),
            "dat_ep_create");
    peer = side.endpoint();
    succeed(Side::connect(peer, 4713), "dat_ep_connect");
    DAT_LMR_TRIPLET all = kept.part(64);
    succeed(dat_ep_post_recv(ep, 1, &all, cookie(7), DAT_COMPLETION_DEFAULT_FLAG), "posts");
    succeed(dat_cr_accept(side.request(), ep, 0, nullptr), "dat_cr_accept");
    for (int i = 0; i < 2; ++i) Side::wait(side.connections, DAT_CONNECTION_EVENT_ESTABLISHED);
    succeed(dat_ep_post_send(peer, 0, nullptr, cookie(8), DAT_COMPLETION_DEFAULT_FLAG), "sends");
    succeed(dat_cno_wait(cno, kMicroseconds, &told), "dat_cno_wait");
    EXPECT_EQ(told, transfers);
    succeed(dat_evd_dequeue(transfers, &event), "dat_evd_dequeue");
    EXPECT_EQ(event.event_data.dto_completion_event_data.user_cookie.as_64, 7u);
    succeed(dat_reg_evd_attach(side.ia, DAT_HANDLE_NULL), "detaches");
    succeed(dat_evd_free(upcalls), "dat_evd_free");
}

TEST(Registration, ThePolicyIsChosenForAllWhoShareTheTable) {
    const RegistrationTable table(2, kNoHurry);
    Side side;
    EXPECT_STREQ(statistics(side).policy, "weighted-fair-lru");
    EXPECT_EQ(statistics(side).capacity_entries, 2u);
    EXPECT_EQ(statistics(side).grace, static_cast<DAT_UINT64>(kNoHurry));
    for (const char* name : {"none", "static-quota", "random", "lru", "lfu", "clock"}) {
        succeed(dat_reg_policy_modify(side.ia, name), name);
        EXPECT_STREQ(statistics(side).policy, name);
    }
    const std::string told = captured_stderr([&] {
        EXPECT_EQ(dat_reg_policy_modify(side.ia, "guess"), bad_argument(DAT_INVALID_ARG2));
    });
    EXPECT_STREQ(statistics(side).policy, "clock");
}

TEST(Registration, AdapterInstancesOfAProcessShareItsMembershipUntilTheLastIsClosed) {
    const RegistrationTable table(2, kNoHurry);
    Side first, second;
    Region one(first), other(second), third(second);
    succeed(one.create(0), "on the first");
    succeed(other.create(0), "on the second");
    EXPECT_EQ(statistics(first).own_entries, 2u);
    one.lmr = DAT_HANDLE_NULL;
    first.close();
    EXPECT_EQ(statistics(second).own_entries, 1u) << "its registration went with it";
    succeed(third.create(0), "there is room again");
}

/// Holds the only entry until it is announced, gives it up, and stays until the other process is
/// done.
void hold_and_give(Channel& channel) {
    RegistrationSide side;
    Region held(side);
    succeed(held.create(0), "the only entry");
    channel.send('h');
    EXPECT_EQ(side.upcall(DAT_REG_ANNOUNCED_EVENT).lmr_handle, held.lmr);
    succeed(dat_reg_lmr_accept(held.lmr), "dat_reg_lmr_accept");
    channel.receive<char>();
    require(held.is_gone(), "it is gone");
}

TEST(Registration, AnotherProcessesRegistrationIsWaitedForAndComesInTime) {
    const RegistrationTable table(1, kNoHurry);
    Child holder(hold_and_give);
    holder.channel().receive<char>();
    {
        Side side;
        Region wanted(side);
        succeed(wanted.create(DAT_TIMEOUT_INFINITE), "dat_reg_lmr_create_wait");
        EXPECT_EQ(statistics(side).own_entries, 1u);
    }
    holder.channel().send('e');
    EXPECT_EQ(holder.wait(), 0);
}

TEST(Registration, TheLibrarysThreadSleepsWhileNothingHappens) {
    if (kThreadSanitizer) GTEST_SKIP() << "ThreadSanitizer has a thread of its own that wakes up";
    RegistrationTable table(4, kNoHurry);
    table.set("OPENDAT_REGD_SOCKET", "/nonexistent/dat_regd.sock");
    Side side;
    Region region(side);
    succeed(region.create(0), "an entry");
    std::this_thread::sleep_for(100ms);  // what it still has to do
    const long before = sleeps_of_others();
    std::this_thread::sleep_for(1500ms);
    EXPECT_EQ(sleeps_of_others(), before);
}

TEST(Registration, AThreadThatWaitsForEntriesOfItsOwnProcessTakesThemBackItself) {
    const RegistrationTable table(4, kNoHurry);
    Side side;  // attaches no EVD: the library answers
    std::vector<std::unique_ptr<Region>> regions;
    for (int i = 0; i < 8; ++i) {
        regions.push_back(std::make_unique<Region>(side));
        succeed(regions.back()->create(kMicroseconds), "an entry");
    }
    const long before = sleeps_of_others();
    constexpr int kRounds = 200;
    for (int i = 0; i < kRounds; ++i) {
        const auto found = std::find_if(regions.begin(), regions.end(),
                                        [](const auto& one) { return one->is_gone(); });
        ASSERT_NE(found, regions.end());
        const Region& gone = **found;
        succeed(dat_reg_lmr_renew(gone.lmr, kMicroseconds, nullptr, nullptr), "dat_reg_lmr_renew");
        succeed(dat_reg_lmr_touch(gone.lmr), "dat_reg_lmr_touch");
    }
    EXPECT_LT(sleeps_of_others() - before, kRounds / 4) << "another thread did the work";
    EXPECT_EQ(statistics(side).own_entries, 4u);
}

}  // namespace
