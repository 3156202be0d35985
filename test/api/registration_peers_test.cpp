// SPDX-License-Identifier: BSD-2-Clause
// Registrations that peers use, over soft0: their uses count, and in the modes for unmodified
// programs they go and come back under the same rmr_context, without a call of their owner.
#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "test/api/registration_side.hpp"

namespace {

using namespace test;

constexpr DAT_CONN_QUAL kQualifier = 4790;
constexpr std::size_t kSize = 4096;

using Regions = std::vector<std::unique_ptr<Region>>;

/// Registers as registration caches of MPIs do: with all privileges, and for long.
Regions cache(Side& side, int count) {
    Regions regions;
    for (int i = 0; i < count; ++i) {
        regions.push_back(std::make_unique<Region>(side, kSize));
        succeed(regions.back()->create_plainly(), "dat_lmr_create");
    }
    return regions;
}

/// A process that registers memory for its peer, and then does nothing but what it is told.
class Owner {
  public:
    Owner(int regions, const char* mode)
        : child_([=](Channel& channel) { serve(channel, regions, mode); }) {
        child_.channel().receive<char>();
    }
    Window window() { return child_.channel().receive<Window>(); }
    DAT_REG_LMR_STATUS status(int region) {
        child_.channel().send(region);
        return child_.channel().receive<DAT_REG_LMR_STATUS>();
    }
    /// @return whether each region has its byte in all places.
    bool ends_with_all_bytes() {
        child_.channel().send(-1);
        return child_.channel().receive<bool>() && child_.wait() == 0;
    }
    Child& child() { return child_; }

  private:
    static void serve(Channel& channel, int count, const char* mode) {
        setenv("OPENDAT_REGISTRATIONS", mode, 1);
        Side side;
        const Regions regions = cache(side, count);
        side.listen(kQualifier);
        channel.send('l');
        side.accept_next();
        for (const auto& region : regions) channel.send(region->window());
        for (int asked; (asked = channel.receive_whenever<int>()) >= 0;)
            channel.send(regions[static_cast<std::size_t>(asked)]->status());
        bool all = true;
        for (int i = 0; i < count; ++i)
            all = all && regions[static_cast<std::size_t>(i)]->bytes ==
                             std::string(kSize, static_cast<char>('a' + i));
        channel.send(all);
    }

    Child child_;
};

/// The peer, in the test's process, which has its own memory from elsewhere.
class Peer {
  public:
    explicit Peer(Owner& owner, int regions) {
        unsetenv("OPENDAT_REGISTRATIONS");
        side_ = std::make_unique<Side>();
        buffer_ = std::make_unique<Buffer>(*side_, kSize);
        ep_ = side_->connect_to(kQualifier);
        for (int i = 0; i < regions; ++i) windows_.push_back(owner.window());
    }
    DAT_DTO_COMPLETION_STATUS write(int region) {
        buffer_->bytes.assign(kSize, static_cast<char>('a' + region));
        return transfer(region, true);
    }
    DAT_DTO_COMPLETION_STATUS read(int region) { return transfer(region, false); }
    void expect_read(int region) {
        buffer_->bytes.assign(kSize, '\0');
        EXPECT_EQ(read(region), DAT_DTO_SUCCESS);
        EXPECT_EQ(buffer_->bytes[kSize - 1], static_cast<char>('a' + region));
    }

  private:
    DAT_DTO_COMPLETION_STATUS transfer(int region, bool writes) {
        DAT_LMR_TRIPLET all = buffer_->all();
        DAT_RMR_TRIPLET remote = windows_[static_cast<std::size_t>(region)].part(kSize);
        succeed(writes ? dat_ep_post_rdma_write(ep_, 1, &all, cookie(3), &remote,
                                                DAT_COMPLETION_DEFAULT_FLAG)
                       : dat_ep_post_rdma_read(ep_, 1, &all, cookie(3), &remote,
                                               DAT_COMPLETION_DEFAULT_FLAG),
                "posted");
        return Side::wait(side_->sends, DAT_DTO_COMPLETION_EVENT)
            .event_data.dto_completion_event_data.status;
    }

    std::unique_ptr<Side> side_;
    std::unique_ptr<Buffer> buffer_;
    DAT_EP_HANDLE ep_ = DAT_HANDLE_NULL;
    std::vector<Window> windows_;
};

TEST(RegistrationPeers, WhatAPeerDoesCountsAsUses) {
    const RegistrationTable table(8);
    Owner owner(2, "on");
    Peer peer(owner, 2);
    const DAT_UINT64 before = owner.status(0).use_count;
    for (int i = 0; i < 10; ++i) EXPECT_EQ(peer.write(0), DAT_DTO_SUCCESS);
    for (int i = 0; i < 5; ++i) peer.expect_read(0);
    EXPECT_EQ(owner.status(0).use_count, before + 15);
    EXPECT_EQ(owner.status(1).use_count, owner.status(1).use_count) << "nobody used it";
}

/// The region that a peer uses all the time is the last one that its owner would give up, although
/// the owner itself never touches it.
TEST(RegistrationPeers, TheRegionThatAPeerUsesIsNotTheVictim) {
    RegistrationTable table(4, 20000);
    table.set("OPENDAT_REGISTRATION_POLICY", "lru");
    std::vector<std::unique_ptr<Child>> newcomers;
    for (int i = 0; i < 3; ++i)
        newcomers.push_back(std::make_unique<Child>([](Channel& channel) {
            channel.receive_whenever<char>();
            Side side;
            Region region(side);
            succeed(region.create(kMicroseconds), "an entry");
            channel.send('g');
            channel.receive_whenever<char>();
        }));
    Owner owner(4, "on");
    Peer peer(owner, 4);
    for (const auto& newcomer : newcomers) {
        // Times of uses have a resolution of some milliseconds.
        for (const auto end = Clock::now() + 30ms; Clock::now() < end;)
            ASSERT_EQ(peer.write(0), DAT_DTO_SUCCESS);
        newcomer->channel().send('b');
        while (!is_readable(newcomer->channel().input(), 0s))
            ASSERT_EQ(peer.write(0), DAT_DTO_SUCCESS);
        newcomer->channel().receive<char>();
        EXPECT_NE(owner.status(0).state, DAT_REG_STATE_GONE);
    }
    for (int i = 1; i < 4; ++i) EXPECT_EQ(owner.status(i).state, DAT_REG_STATE_GONE);
    for (const auto& newcomer : newcomers) {
        newcomer->channel().send('.');
        EXPECT_EQ(newcomer->wait(), 0);
    }
}

void expect_return(const char* mode) {
    constexpr int kRegions = 6;
    RegistrationTable table(3, 2000);
    table.set("OPENDAT_REGISTRATION_WAIT", "60000");
    Owner owner(kRegions, mode);
    Peer peer(owner, kRegions);
    for (int round = 0; round < 3; ++round)
        for (int i = 0; i < kRegions; ++i) {
            EXPECT_EQ(peer.write(i), DAT_DTO_SUCCESS);
            EXPECT_NE(owner.status(i).state, DAT_REG_STATE_GONE) << "it has just come back";
        }
    int gone = 0;
    for (int i = 0; i < kRegions; ++i) gone += owner.status(i).state == DAT_REG_STATE_GONE;
    EXPECT_GE(gone, kRegions - 3) << "there are three entries";
    for (int i = 0; i < kRegions; ++i) peer.expect_read(i);
    EXPECT_TRUE(owner.ends_with_all_bytes());
}

TEST(RegistrationPeers, InTransparentModeARegionComesBackForAPeerUnderItsKey) {
    expect_return("transparent");
}

TEST(RegistrationPeers, InPerIoModeARegionComesBackForAPeerUnderItsKey) {
    expect_return("per-io");
}

/// Two programs that know nothing of the broker write into each other's regions, from regions that
/// are as large a part of the table.
void exchange(Channel& channel, int rounds, bool listens) {
    constexpr int kRegions = 6;
    Side side;
    Regions regions = cache(side, 2 * kRegions);
    DAT_EP_HANDLE ep = DAT_HANDLE_NULL;
    if (listens) side.listen(kQualifier);
    channel.meet();
    ep = listens ? side.accept_next() : side.connect_to(kQualifier);
    for (int i = 0; i < kRegions; ++i) channel.send(regions[static_cast<std::size_t>(i)]->window());
    std::vector<Window> windows;
    for (int i = 0; i < kRegions; ++i) windows.push_back(channel.receive<Window>());
    for (int round = 0; round < rounds; ++round) {
        const auto place = static_cast<std::size_t>(round % kRegions);
        Region& from = *regions[kRegions + place];
        from.bytes.assign(kSize, static_cast<char>('a' + round % 26));
        DAT_LMR_TRIPLET all = from.part(kSize);
        DAT_RMR_TRIPLET remote = windows[place].part(kSize);
        succeed(dat_ep_post_rdma_write(ep, 1, &all, cookie(round), &remote,
                                       DAT_COMPLETION_DEFAULT_FLAG),
                "dat_ep_post_rdma_write");
        const auto written =
            Side::wait(side.sends, DAT_DTO_COMPLETION_EVENT).event_data.dto_completion_event_data;
        require(written.status == DAT_DTO_SUCCESS, "it is written");
        channel.meet();  // both have written
        require(regions[place]->bytes == from.bytes, "every byte is here");
        channel.meet();
    }
    for (auto& region : regions) region->free();
    channel.meet();
}

/// Carries what two children send each other.
void join(Channel& one, Channel& other, int rounds) {
    const auto meet = [&] {
        for (Channel* end : {&one, &other}) end->receive<char>();
        for (Channel* end : {&one, &other}) end->send('m');
    };
    meet();
    for (int i = 0; i < 6; ++i) {
        const auto window = one.receive<Window>();
        one.send(other.receive<Window>());
        other.send(window);
    }
    for (int i = 0; i < 2 * rounds + 1; ++i) meet();
}

void exchange_with_too_few(const char* mode) {
    RegistrationTable table(6, 2000, mode);
    table.set("OPENDAT_REGISTRATION_WAIT", "60000");
    const int rounds = scaled(60);
    Child one([=](Channel& channel) { exchange(channel, rounds, true); });
    Child other([=](Channel& channel) { exchange(channel, rounds, false); });
    join(one.channel(), other.channel(), rounds);
    EXPECT_EQ(one.wait(), 0);
    EXPECT_EQ(other.wait(), 0);
}

TEST(RegistrationPeers, TwoCachesWithAllPrivilegesFinishInTransparentModeWithAQuarterOfTheEntries) {
    exchange_with_too_few("transparent");
}

TEST(RegistrationPeers, TwoCachesWithAllPrivilegesFinishInPerIoModeWithAQuarterOfTheEntries) {
    exchange_with_too_few("per-io");
}

/// A process posts writes from as many regions as the table has entries, into regions that are
/// away: its own ones are in use until the others come back, and cannot come back while it keeps
/// all.
void post_more_than_there_is(const char* mode) {
    constexpr int kEntries = 4;
    RegistrationTable table(kEntries, 2000);
    table.set("OPENDAT_REGISTRATION_WAIT", "60000");
    Owner owner(kEntries, mode);
    setenv("OPENDAT_REGISTRATIONS", mode, 1);
    Side side;
    const Regions regions = cache(side, kEntries);
    const DAT_EP_HANDLE ep = side.connect_to(kQualifier);
    std::vector<Window> windows;
    for (int i = 0; i < kEntries; ++i) windows.push_back(owner.window());
    for (int round = 0; round < 3; ++round) {
        for (int i = 0; i < kEntries; ++i) {
            const auto place = static_cast<std::size_t>(i);
            regions[place]->bytes.assign(kSize, static_cast<char>('a' + i));
            DAT_LMR_TRIPLET all = regions[place]->part(kSize);
            DAT_RMR_TRIPLET remote = windows[place].part(kSize);
            succeed(dat_ep_post_rdma_write(ep, 1, &all, cookie(i), &remote,
                                           DAT_COMPLETION_DEFAULT_FLAG),
                    "dat_ep_post_rdma_write");
        }
        for (int i = 0; i < kEntries; ++i) {
            const auto written = Side::wait(side.sends, DAT_DTO_COMPLETION_EVENT)
                                     .event_data.dto_completion_event_data;
            EXPECT_EQ(written.status, DAT_DTO_SUCCESS);
            EXPECT_EQ(written.user_cookie.as_64, static_cast<DAT_UINT64>(i));
        }
    }
    EXPECT_TRUE(owner.ends_with_all_bytes());
}

TEST(RegistrationPeers, InTransparentModeNobodyKeepsWhatItsOwnWritesWaitFor) {
    post_more_than_there_is("transparent");
}

TEST(RegistrationPeers, InPerIoModeNobodyKeepsWhatItsOwnWritesWaitFor) {
    post_more_than_there_is("per-io");
}

/// Where nobody can give an entry, the peer is not left to wait for ever.
TEST(RegistrationPeers, ARegionForWhichThereIsNoEntryEndsAfterAWhile) {
    RegistrationTable table(1, 2000);
    table.set("OPENDAT_REGISTRATION_WAIT", "100");
    Child owner([](Channel& channel) {
        setenv("OPENDAT_REGISTRATIONS", "transparent", 1);
        Side side;
        Region shared(side, kSize), pinned(side);
        succeed(shared.create_plainly(), "the only entry");
        const Window window = shared.window();
        succeed(pinned.create(kMicroseconds, DAT_REG_CLASS_PINNED), "in the place of the idle one");
        require(shared.is_gone(), "it has gone");
        side.listen(kQualifier);
        channel.send('l');
        side.accept_next();
        channel.send(window);
        const std::string told = captured_stderr(
            [&] { Side::wait(side.connections, DAT_CONNECTION_EVENT_DISCONNECTED); });
        require(told.find("a registration of 4096 bytes had been lent") != std::string::npos,
                "it is told: " + told);
    });
    owner.channel().receive<char>();
    unsetenv("OPENDAT_REGISTRATIONS");
    Side side;
    Buffer source(side, kSize);
    const DAT_EP_HANDLE ep = side.connect_to(kQualifier);
    const auto window = owner.channel().receive<Window>();
    DAT_LMR_TRIPLET all = source.all();
    DAT_RMR_TRIPLET remote = window.part(kSize);
    captured_stderr([&] {
        succeed(
            dat_ep_post_rdma_write(ep, 1, &all, cookie(3), &remote, DAT_COMPLETION_DEFAULT_FLAG),
            "posted");
        EXPECT_EQ(Side::wait(side.sends, DAT_DTO_COMPLETION_EVENT)
                      .event_data.dto_completion_event_data.status,
                  DAT_DTO_ERR_REMOTE_ACCESS);
    });
    EXPECT_EQ(owner.wait(), 0);
}

TEST(RegistrationPeers, ARegionMayBeFreedWhileItIsAway) {
    RegistrationTable table(1, 2000, "transparent");
    table.set("OPENDAT_REGISTRATION_WAIT", "60000");
    Side side;
    Region first(side), second(side);
    succeed(first.create_plainly(), "the only entry");
    succeed(second.create_plainly(), "in the place of the idle one");
    EXPECT_TRUE(first.is_gone());
    first.free();
    second.free();
    EXPECT_EQ(statistics(side).own_entries, 0u);
    Region third(side);
    succeed(third.create_plainly(), "in the same place");
}

TEST(RegistrationPeers, AnAdapterInstanceMayBeClosedWhileRegionsAreAway) {
    RegistrationTable table(1, 2000, "transparent");
    table.set("OPENDAT_REGISTRATION_WAIT", "60000");
    std::vector<std::string> bytes(3, std::string(kSize, '\0'));
    DAT_IA_HANDLE ia = DAT_HANDLE_NULL;
    DAT_EVD_HANDLE evd = DAT_HANDLE_NULL;
    succeed(dat_ia_open(const_cast<char*>(ia_name()), 8, &evd, &ia), "dat_ia_open");
    DAT_PZ_HANDLE pz = DAT_HANDLE_NULL;
    succeed(dat_pz_create(ia, &pz), "dat_pz_create");
    for (std::string& one : bytes) {
        DAT_REGION_DESCRIPTION region{};
        region.for_va = one.data();
        DAT_LMR_HANDLE lmr = DAT_HANDLE_NULL;
        succeed(
            dat_lmr_create(ia, DAT_MEM_TYPE_VIRTUAL, region, one.size(), pz, DAT_MEM_PRIV_ALL_FLAG,
                           DAT_VA_TYPE_VA, &lmr, nullptr, nullptr, nullptr, nullptr),
            "dat_lmr_create");
    }
    EXPECT_EQ(dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG), static_cast<DAT_RETURN>(DAT_SUCCESS));
}

TEST(RegistrationPeers, LocalUsesBringItBackTooAndItKeepsBothContexts) {
    RegistrationTable table(1, 2000, "transparent");
    table.set("OPENDAT_REGISTRATION_WAIT", "60000");
    Side side;
    Region first(side, kSize), second(side, kSize);
    succeed(first.create_plainly(), "the only entry");
    succeed(second.create_plainly(), "in the place of the idle one");
    side.listen(kQualifier);
    const DAT_EP_HANDLE sender = side.endpoint(), receiver = side.endpoint();
    succeed(Side::connect(sender, kQualifier), "dat_ep_connect");
    succeed(dat_cr_accept(side.request(), receiver, 0, nullptr), "dat_cr_accept");
    for (int i = 0; i < 2; ++i) Side::wait(side.connections, DAT_CONNECTION_EVENT_ESTABLISHED);
    for (int i = 0; i < 4; ++i) {
        Region& used = i % 2 ? second : first;
        DAT_LMR_TRIPLET sink = used.part(kSize);
        succeed(dat_ep_post_recv(receiver, 1, &sink, cookie(1), DAT_COMPLETION_DEFAULT_FLAG),
                "dat_ep_post_recv");
        EXPECT_FALSE(used.is_gone());
        succeed(dat_ep_post_send(sender, 0, nullptr, cookie(2), DAT_COMPLETION_DEFAULT_FLAG),
                "dat_ep_post_send");
        for (const DAT_EVD_HANDLE evd : {side.sends, side.receives})
            EXPECT_EQ(Side::wait(evd, DAT_DTO_COMPLETION_EVENT)
                          .event_data.dto_completion_event_data.status,
                      DAT_DTO_SUCCESS);
    }
    DAT_LMR_PARAM asked{};
    succeed(dat_lmr_query(first.lmr, DAT_LMR_FIELD_ALL, &asked), "dat_lmr_query");
    EXPECT_EQ(asked.rmr_context, first.remote_key);
    EXPECT_EQ(asked.lmr_context, first.local_key);
}

}  // namespace
