// SPDX-License-Identifier: BSD-2-Clause
// A process may keep its share from others, and no more, in whatever way it keeps it. The holder, a
// child, takes the whole table; the test is the newcomer.
#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <vector>

#include "test/api/registration_side.hpp"

namespace {

using namespace test;

constexpr DAT_CONN_QUAL kQualifier = 4768;
constexpr int kEntries = 16;

using Regions = std::vector<std::unique_ptr<Region>>;

Regions take(Side& side, int count, DAT_REG_CLASS kind) {
    Regions taken;
    for (int i = 0; i < count; ++i) {
        taken.push_back(std::make_unique<Region>(side));
        succeed(taken.back()->create(0, kind), "dat_reg_lmr_create_wait");
    }
    return taken;
}

std::size_t count_standing(const Regions& regions) {
    std::size_t count = 0;
    for (const auto& region : regions) count += !region->is_gone();
    return count;
}

void expect_share(DAT_REG_CLASS kind) {
    const RegistrationTable table(kEntries, 5000);
    Child holder([kind](Channel& channel) {
        RegistrationSide side;
        const Regions all = take(side, kEntries, kind);
        channel.send('h');
        refuse_all(side, channel);
        channel.send(count_standing(all));
    });
    holder.channel().receive<char>();
    RegistrationSide newcomer;
    Regions wanted;
    for (int i = 0; i < kEntries / 4; ++i) {
        wanted.push_back(std::make_unique<Region>(newcomer));
        EXPECT_EQ(wanted.back()->create(kMicroseconds), DAT_SUCCESS) << i;
    }
    holder.channel().send('.');
    EXPECT_GE(holder.channel().receive<std::size_t>(), std::size_t{kEntries / 2})
        << "the holder keeps its share";
    EXPECT_EQ(holder.wait(), 0);
}

TEST(RegistrationShare, isGivenThoughAnotherHasPinnedTheWholeTable) {
    expect_share(DAT_REG_CLASS_PINNED);
}

TEST(RegistrationShare, isGivenThoughAnotherRefusesToGiveAnythingBack) {
    expect_share(DAT_REG_CLASS_RDMA);
}

/// Takes upcalls until so many registrations have gone. @return which.
std::set<DAT_LMR_HANDLE> lose(const RegistrationSide& side, std::size_t losses) {
    std::set<DAT_LMR_HANDLE> gone;
    bool pressed = false;
    while (gone.size() < losses) {
        DAT_EVENT event{};
        DAT_COUNT more = 0;
        succeed(dat_evd_wait(side.upcalls, kMicroseconds, 1, &event, &more), "an upcall");
        if (event.event_number == static_cast<DAT_EVENT_NUMBER>(DAT_REG_PRESSURE_EVENT)) {
            pressed = true;
            continue;
        }
        require(event.event_number == static_cast<DAT_EVENT_NUMBER>(DAT_REG_REVOKED_EVENT),
                "it is revoked");
        require(pressed, "after the pressure is told");
        gone.insert(dat_reg_event_data(&event)->lmr_handle);
    }
    return gone;
}

/// Posts all it has as receives, and tells what comes of each.
void hold_posted(Channel& channel, int count, std::size_t losses) {
    RegistrationSide side;
    const Regions all = take(side, count, DAT_REG_CLASS_MESSAGING);
    side.listen(kQualifier);
    channel.send('l');
    const DAT_EP_HANDLE ep = side.endpoint();
    for (int i = 0; i < count; ++i) {
        DAT_LMR_TRIPLET memory = all[static_cast<std::size_t>(i)]->part(64);
        succeed(dat_ep_post_recv(ep, 1, &memory, cookie(static_cast<DAT_UINT64>(i)),
                                 DAT_COMPLETION_DEFAULT_FLAG),
                "dat_ep_post_recv");
    }
    succeed(dat_cr_accept(side.request(), ep, 0, nullptr), "dat_cr_accept");
    side.connection_event(DAT_CONNECTION_EVENT_ESTABLISHED, ep);
    const std::set<DAT_LMR_HANDLE> gone = lose(side, losses);
    channel.send('g');
    // The messages come; then the peer disconnects, which flushes what is left.
    std::size_t taken = 0;
    for (int i = 0; i < count; ++i) {
        const auto done = Side::wait(side.receives, DAT_DTO_COMPLETION_EVENT)
                              .event_data.dto_completion_event_data;
        const auto& region = all.at(done.user_cookie.as_64);
        const bool flushed = done.status == DAT_DTO_ERR_FLUSHED;
        require(flushed || done.status == DAT_DTO_SUCCESS, "taken, or come back");
        require(flushed == (gone.count(region->lmr) == 1), "what has gone comes back");
        require(flushed || region->bytes.substr(0, 4) == "word", "what is taken has the message");
        require(!flushed || region->bytes[0] == '\0', "nothing is placed in what has gone");
        taken += !flushed;
    }
    require(taken == all.size() - losses, "no message is lost");
    side.connection_event(DAT_CONNECTION_EVENT_DISCONNECTED, ep);
}

TEST(RegistrationShare, isGivenThoughAnotherHasPostedAllOfItsMessagingBuffers) {
    constexpr int kPosted = 8, kWanted = 3;
    const RegistrationTable table(kPosted + 1, 5000);
    Child holder([](Channel& channel) { hold_posted(channel, kPosted, kWanted); });
    holder.channel().receive<char>();
    RegistrationSide newcomer;
    Region source(newcomer);
    ASSERT_EQ(source.create(0), DAT_SUCCESS);
    const DAT_EP_HANDLE ep = newcomer.connect_to(kQualifier);
    Regions wanted;
    for (int i = 0; i < kWanted; ++i) {
        wanted.push_back(std::make_unique<Region>(newcomer));
        EXPECT_EQ(wanted.back()->create(kMicroseconds), DAT_SUCCESS) << i;
    }
    holder.channel().receive<char>();
    source.bytes.replace(0, 4, "word");
    DAT_LMR_TRIPLET word = source.part(4);
    for (DAT_UINT64 i = 0; i < kPosted - kWanted; ++i) {
        ASSERT_EQ(dat_ep_post_send(ep, 1, &word, cookie(i), DAT_COMPLETION_DEFAULT_FLAG),
                  DAT_SUCCESS);
        EXPECT_EQ(Side::wait(newcomer.sends, DAT_DTO_COMPLETION_EVENT)
                      .event_data.dto_completion_event_data.status,
                  DAT_DTO_SUCCESS)
            << "the connection goes on";
    }
    ASSERT_EQ(dat_ep_disconnect(ep, DAT_CLOSE_GRACEFUL_FLAG), DAT_SUCCESS);
    newcomer.connection_event(DAT_CONNECTION_EVENT_DISCONNECTED, ep);
    EXPECT_EQ(holder.wait(), 0);
}

}  // namespace
