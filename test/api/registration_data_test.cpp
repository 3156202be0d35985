// SPDX-License-Identifier: BSD-2-Clause
// What happens to data when registrations are revoked, over soft0, between processes and within
// one.
#include <gtest/gtest.h>

#include <memory>

#include "test/api/registration_side.hpp"

namespace {

using namespace test;

constexpr DAT_CONN_QUAL kQualifier = 4714;

DAT_RETURN refusal(DAT_RETURN_SUBTYPE why) {
    return DAT_CLASS_ERROR | static_cast<DAT_RETURN>(DAT_INVALID_STATE) |
           static_cast<DAT_RETURN>(why);
}

/// Accepts one connection; the channel tells the peer when it may connect.
void begin_serving(Side& side, Channel& channel, DAT_EP_HANDLE& ep) {
    side.listen(kQualifier);
    channel.send('l');
    ep = side.accept_next();
}

/// The owner: its registration is announced and revoked. What the peer writes afterwards must not
/// arrive.
void lose_a_window(Channel& channel) {
    RegistrationSide side;
    Region region(side), wanted(side);
    succeed(region.create(0), "the only entry");
    DAT_EP_HANDLE ep = DAT_HANDLE_NULL;
    begin_serving(side, channel, ep);
    channel.send(region.window());
    channel.receive<char>();  // the peer's first write is complete
    require(region.bytes[0] == 'x', "the first write arrived");
    ask(side, wanted);
    side.upcall(DAT_REG_ANNOUNCED_EVENT);
    side.upcall(DAT_REG_REVOKED_EVENT);
    side.upcall(DAT_REG_GRANTED_EVENT);
    DAT_LMR_TRIPLET part = region.part(8);
    expect_code(dat_ep_post_send(ep, 1, &part, cookie(1), DAT_COMPLETION_DEFAULT_FLAG),
                refusal(DAT_INVALID_STATE_LMR_FREE), "a post that names it");
    require(region.status().busy == 0, "a refused post uses nothing");
    Side::expect_empty(side.sends);
    channel.send('g');
    channel.receive<char>();  // the peer has tried to write again
    require(region.bytes.find('y') == std::string::npos, "nothing of the late write is there");
    const DAT_EVENT end = Side::wait(side.connections, DAT_CONNECTION_EVENT_DISCONNECTED);
    require(end.event_data.connect_event_data.ep_handle == ep, "the connection ended");
}

/// The peer, without the broker: its write succeeds before the owner's registration is revoked, and
/// fails with a remote access error afterwards.
void write_before_and_after(Child& owner) {
    owner.channel().receive<char>();
    unsetenv("OPENDAT_REGISTRATIONS");
    const Side side;
    Buffer source(side, 64);
    const DAT_EP_HANDLE ep = side.connect_to(kQualifier);
    const auto window = owner.channel().receive<Window>();
    const auto write = [&](char byte) {
        source.bytes.assign(source.bytes.size(), byte);
        DAT_LMR_TRIPLET all = source.all();
        DAT_RMR_TRIPLET target = window.part(source.bytes.size());
        succeed(
            dat_ep_post_rdma_write(ep, 1, &all, cookie(3), &target, DAT_COMPLETION_DEFAULT_FLAG),
            "dat_ep_post_rdma_write");
        return completion(side.sends).status;
    };
    EXPECT_EQ(write('x'), DAT_DTO_SUCCESS);
    owner.channel().send('w');
    owner.channel().receive<char>();
    captured_stderr([&] { EXPECT_EQ(write('y'), DAT_DTO_ERR_REMOTE_ACCESS); });
    owner.channel().send('t');
    EXPECT_EQ(owner.wait(), 0);
}

TEST(RegistrationData, APeerThatComesLateGetsARemoteAccessErrorAndItsDataGoNowhere) {
    const RegistrationTable table(1, 20000);
    Child owner(lose_a_window);
    write_before_and_after(owner);
}

/// The owner again, with an RMR bound to the region, whose context the peer uses.
void lose_a_bound_window(Channel& channel) {
    RegistrationSide side;
    Region region(side), wanted(side);
    succeed(region.create(0), "the only entry");
    DAT_EP_HANDLE ep = DAT_HANDLE_NULL;
    begin_serving(side, channel, ep);
    DAT_RMR_HANDLE rmr = DAT_HANDLE_NULL;
    succeed(dat_rmr_create(side.pz, &rmr), "dat_rmr_create");
    DAT_LMR_TRIPLET part = region.part(64);
    DAT_RMR_CONTEXT key = 0;
    succeed(dat_rmr_bind(rmr, region.lmr, &part, DAT_MEM_PRIV_REMOTE_WRITE_FLAG, DAT_VA_TYPE_VA, ep,
                         cookie(77), DAT_COMPLETION_DEFAULT_FLAG, &key),
            "dat_rmr_bind");
    const DAT_EVENT bound = Side::wait(side.sends, DAT_RMR_BIND_COMPLETION_EVENT);
    require(bound.event_data.rmr_completion_event_data.user_cookie.as_64 == 77, "its cookie");
    DAT_RMR_PARAM asked{};
    succeed(dat_rmr_query(rmr, DAT_RMR_FIELD_ALL, &asked), "dat_rmr_query");
    require(asked.lmr_triplet.lmr_context == region.local_key, "it is bound to what it was told");
    channel.send(Window{part.virtual_address, key});
    channel.receive<char>();
    ask(side, wanted);
    side.upcall(DAT_REG_ANNOUNCED_EVENT);
    side.upcall(DAT_REG_REVOKED_EVENT);
    require(DAT_GET_TYPE(dat_rmr_query(rmr, DAT_RMR_FIELD_ALL, &asked)) == DAT_INVALID_PARAMETER,
            "it is bound to nothing");
    expect_code(dat_rmr_bind(rmr, region.lmr, &part, DAT_MEM_PRIV_REMOTE_WRITE_FLAG, DAT_VA_TYPE_VA,
                             ep, cookie(78), DAT_COMPLETION_DEFAULT_FLAG, &key),
                refusal(DAT_INVALID_STATE_LMR_FREE), "it cannot be bound again");
    channel.send('g');
    channel.receive<char>();
    require(region.bytes.find('y') == std::string::npos, "nothing of the late write is there");
    succeed(dat_rmr_free(rmr), "dat_rmr_free");
}

TEST(RegistrationData, APeerThatHoldsAWindowOfItGetsARemoteAccessError) {
    const RegistrationTable table(1, 20000);
    Child owner(lose_a_bound_window);
    write_before_and_after(owner);
}

TEST(RegistrationData, APostThatEndsBeforeTheDeadlineIsTaken) {
    const RegistrationTable table(1, kNoHurry);
    RegistrationSide side;
    Region region(side, 1 << 20), wanted(side);
    succeed(region.create(0), "the only entry");
    const Loop loop(side, kQualifier);
    ask(side, wanted);
    side.upcall(DAT_REG_ANNOUNCED_EVENT);
    DAT_LMR_TRIPLET part = region.part(1 << 20);
    succeed(dat_ep_post_recv(loop.receiver, 1, &part, cookie(1), DAT_COMPLETION_DEFAULT_FLAG),
            "an hour is enough");
    EXPECT_EQ(region.status().busy, 1u);
}

TEST(RegistrationData, APostIntoTheLastMomentsIsRefusedAndLaterOnesToo) {
    // A grace period of 100 us: less than any post is expected to take.
    const RegistrationTable table(1, 100);
    RegistrationSide side;
    Region region(side), wanted(side);
    succeed(region.create(0), "the only entry");
    const Loop loop(side, kQualifier);
    ask(side, wanted);
    DAT_LMR_TRIPLET part = region.part(64);
    const bool refused = eventually([&] {
        const DAT_RETURN code =
            dat_ep_post_send(loop.sender, 1, &part, cookie(1), DAT_COMPLETION_SUPPRESS_FLAG);
        return code == refusal(DAT_INVALID_STATE_LMR_IN_USE) ||
               code == refusal(DAT_INVALID_STATE_LMR_FREE);
    });
    EXPECT_TRUE(refused);
    side.upcall(DAT_REG_ANNOUNCED_EVENT);
    side.upcall(DAT_REG_REVOKED_EVENT);
    EXPECT_EQ(dat_ep_post_send(loop.sender, 1, &part, cookie(1), DAT_COMPLETION_DEFAULT_FLAG),
              refusal(DAT_INVALID_STATE_LMR_FREE));
}

TEST(RegistrationData, SuppressedTransfersEndTheirUseWithTheNextCompletion) {
    const RegistrationTable table(4, kNoHurry);
    Side side;
    Region from(side), to(side);
    succeed(from.create(0), "source");
    succeed(to.create(0), "sink");
    const Loop loop(side, kQualifier);
    DAT_LMR_TRIPLET source = from.part(8);
    DAT_RMR_TRIPLET target = to.window().part(8);
    for (int i = 0; i < 4; ++i)
        succeed(dat_ep_post_rdma_write(
                    loop.sender, 1, &source, cookie(i), &target,
                    i < 3 ? DAT_COMPLETION_SUPPRESS_FLAG : DAT_COMPLETION_DEFAULT_FLAG),
                "dat_ep_post_rdma_write");
    EXPECT_EQ(from.status().busy, 4u);
    EXPECT_EQ(completion(side.sends).user_cookie.as_64, 3u);
    EXPECT_EQ(from.status().busy, 0u);
    EXPECT_EQ(from.status().use_count, 5u);
}

TEST(RegistrationData, APostWithMoreSegmentsThanOneUsesEachOfTheirRegistrations) {
    const RegistrationTable table(8, kNoHurry);
    Side side;
    Region a(side), b(side), c(side), to(side);
    for (Region* region : {&a, &b, &c, &to}) succeed(region->create(0), "an entry");
    const Loop loop(side, kQualifier);
    DAT_LMR_TRIPLET sink = to.part(24);
    succeed(dat_ep_post_recv(loop.receiver, 1, &sink, cookie(1), DAT_COMPLETION_DEFAULT_FLAG),
            "dat_ep_post_recv");
    char letter = 'a';
    for (Region* region : {&a, &b, &c}) region->bytes.assign(region->bytes.size(), letter++);
    DAT_LMR_TRIPLET parts[] = {a.part(8), b.part(8), c.part(8)};
    succeed(dat_ep_post_send(loop.sender, 3, parts, cookie(2), DAT_COMPLETION_DEFAULT_FLAG),
            "dat_ep_post_send");
    for (Region* region : {&a, &b, &c}) EXPECT_EQ(region->status().busy, 1u);
    EXPECT_EQ(parts[1].lmr_context, b.local_key) << "the consumer's list is left as it was";
    completion(side.sends);
    completion(side.receives);
    for (Region* region : {&a, &b, &c, &to}) EXPECT_EQ(region->status().busy, 0u);
    EXPECT_EQ(to.bytes.substr(0, 24), "aaaaaaaabbbbbbbbcccccccc");
}

TEST(RegistrationData, AContextThatIsNoneOrOfAFreedRegionFailsTheTransferAsOnTheDevice) {
    const RegistrationTable table(8, kNoHurry);
    Side side;
    Region from(side), to(side), later(side);
    for (Region* region : {&from, &to}) succeed(region->create(0), "an entry");
    const Loop loop(side, kQualifier);
    const DAT_LMR_TRIPLET stale = from.part(512);
    from.free();
    succeed(later.create(0), "in its place");
    EXPECT_NE(later.local_key, stale.lmr_context);
    DAT_LMR_TRIPLET source = stale;
    DAT_RMR_TRIPLET target = to.window().part(512);
    succeed(dat_ep_post_rdma_write(loop.sender, 1, &source, cookie(9), &target,
                                   DAT_COMPLETION_DEFAULT_FLAG),
            "dat_ep_post_rdma_write");
    captured_stderr([&] {
        const auto failed = completion(side.sends);
        // rdma_rxe reports an unknown key as an error of the queue pair.
        if (is_soft0()) {
            EXPECT_EQ(failed.status, DAT_DTO_ERR_LOCAL_PROTECTION);
        } else {
            EXPECT_NE(failed.status, DAT_DTO_SUCCESS);
        }
        EXPECT_EQ(failed.user_cookie.as_64, 9u);
    });
}

/// Transfers between all regions of this process in turn, over a connection with itself, and checks
/// every byte. Two processes do so, and the table has entries for half of their regions.
void go_round(Channel& channel, int rounds) {
    Side side;
    constexpr int kRegions = 6;
    std::vector<std::unique_ptr<Region>> regions;
    for (int i = 0; i < kRegions; ++i) {
        regions.push_back(std::make_unique<Region>(side));
        succeed(regions.back()->create_plainly(DAT_MEM_PRIV_LOCAL_READ_FLAG |
                                               DAT_MEM_PRIV_LOCAL_WRITE_FLAG),
                "dat_lmr_create");
    }
    channel.meet();
    const DAT_CONN_QUAL qualifier = kQualifier + static_cast<DAT_CONN_QUAL>(getpid());
    side.listen(qualifier);
    const DAT_EP_HANDLE sender = side.endpoint(), receiver = side.endpoint();
    succeed(Side::connect(sender, qualifier), "dat_ep_connect");
    succeed(dat_cr_accept(side.request(), receiver, 0, nullptr), "dat_cr_accept");
    for (int i = 0; i < 2; ++i) Side::wait(side.connections, DAT_CONNECTION_EVENT_ESTABLISHED);
    for (int i = 0; i < rounds; ++i) {
        Region& from = *regions[i % kRegions];
        Region& to = *regions[(i + 1 + i / kRegions % (kRegions - 1)) % kRegions];
        const std::size_t size = i % 2 ? 48 : 4096;  // 48 bytes are copied at the post
        const std::string wanted(size, static_cast<char>('a' + i % 26));
        from.bytes.replace(0, size, wanted);
        to.bytes.replace(0, size, std::string(size, '\0'));
        DAT_LMR_TRIPLET source = from.part(size), sink = to.part(size);
        succeed(dat_ep_post_recv(receiver, 1, &sink, cookie(i), DAT_COMPLETION_DEFAULT_FLAG),
                "dat_ep_post_recv");
        succeed(dat_ep_post_send(sender, 1, &source, cookie(i), DAT_COMPLETION_DEFAULT_FLAG),
                "dat_ep_post_send");
        const auto sent = completion(side.sends), received = completion(side.receives);
        require(sent.status == DAT_DTO_SUCCESS, "it is sent");
        require(received.status == DAT_DTO_SUCCESS, "it is received");
        require(sent.user_cookie.as_64 == static_cast<DAT_UINT64>(i), "its cookie");
        require(to.bytes.compare(0, size, wanted) == 0, "every byte is right");
    }
    channel.meet();
    for (auto& region : regions) region->free();
    require(statistics(side).own_entries == 0, "every entry is given back");
}

void go_round_with_too_few(const char* mode) {
    RegistrationTable table(6, 2000, mode);
    table.set("OPENDAT_REGISTRATION_WAIT", "60000");
    const int rounds = scaled(60);
    const auto body = [=](Channel& channel) { go_round(channel, rounds); };
    Child one(body), other(body);
    for (int meeting = 0; meeting < 2; ++meeting)
        for (Child* child : {&one, &other}) child->channel().meet();
    EXPECT_EQ(one.wait(), 0);
    EXPECT_EQ(other.wait(), 0);
}

TEST(RegistrationData, TwoUnmodifiedProgramsFinishWithHalfTheEntriesThatTheyNeedTogether) {
    go_round_with_too_few("transparent");
}

TEST(RegistrationData, TwoUnmodifiedProgramsFinishWithRegistrationsForEachTransfer) {
    go_round_with_too_few("per-io");
}

TEST(RegistrationData, InTransparentModeRegionsForPeersStayAndOthersKeepTheirContexts) {
    if (is_soft0()) GTEST_SKIP() << "they come back there: registration_peers_test";
    RegistrationTable table(2, 2000, "transparent");
    table.set("OPENDAT_REGISTRATION_WAIT", "60000");
    Side side;
    table.set("OPENDAT_REGISTRATION_WAIT", "50");
    Side impatient;
    constexpr int kLocal = DAT_MEM_PRIV_LOCAL_READ_FLAG | DAT_MEM_PRIV_LOCAL_WRITE_FLAG;
    Region shared(side), local(side), another(side), third(side);
    succeed(shared.create_plainly(), "one that peers may use");
    EXPECT_EQ(shared.status().reg_class, DAT_REG_CLASS_PINNED);
    succeed(local.create_plainly(kLocal), "the other entry");
    succeed(another.create_plainly(kLocal), "in the place of the idle one");
    EXPECT_TRUE(local.is_gone());
    EXPECT_EQ(shared.status().state, DAT_REG_STATE_ACTIVE);
    EXPECT_EQ(third.create_plainly(), static_cast<DAT_RETURN>(DAT_SUCCESS)) << "idle ones go";
    EXPECT_TRUE(another.is_gone());
    Region fourth(impatient);
    EXPECT_EQ(fourth.create_plainly(kLocal), static_cast<DAT_RETURN>(DAT_INSUFFICIENT_RESOURCES));
    third.free();
    const Loop loop(side, kQualifier);
    loop.transfer(shared, local, 4096, 'q');
    EXPECT_EQ(local.status().state, DAT_REG_STATE_ACTIVE) << "it came back for the transfer";
    loop.transfer(another, shared, 4096, 'r');
}

TEST(RegistrationData, InTransparentModeWhatATransferUsesStays) {
    RegistrationTable table(1, 2000, "transparent");
    table.set("OPENDAT_REGISTRATION_WAIT", "60000");
    Side side;
    table.set("OPENDAT_REGISTRATION_WAIT", "50");
    Side impatient;
    constexpr int kLocal = DAT_MEM_PRIV_LOCAL_READ_FLAG | DAT_MEM_PRIV_LOCAL_WRITE_FLAG;
    Region posted(side), wanted(side), early(impatient);
    succeed(posted.create_plainly(kLocal), "the only entry");
    const Loop loop(side, kQualifier);
    DAT_LMR_TRIPLET sink = posted.part(4096);
    succeed(dat_ep_post_recv(loop.receiver, 1, &sink, cookie(5), DAT_COMPLETION_DEFAULT_FLAG),
            "dat_ep_post_recv");
    EXPECT_EQ(early.create_plainly(kLocal), static_cast<DAT_RETURN>(DAT_INSUFFICIENT_RESOURCES));
    EXPECT_FALSE(posted.is_gone());
    succeed(dat_ep_post_send(loop.sender, 0, nullptr, cookie(6), DAT_COMPLETION_DEFAULT_FLAG),
            "dat_ep_post_send");
    EXPECT_EQ(completion(side.receives).user_cookie.as_64, 5u);
    succeed(wanted.create_plainly(kLocal), "now it is idle");
    EXPECT_TRUE(posted.is_gone());
}

TEST(RegistrationData, PerTransferARegistrationLastsAsLongAsTheTransfer) {
    const RegistrationTable table(4, kNoHurry, "per-io");
    Side side;
    constexpr int kLocal = DAT_MEM_PRIV_LOCAL_READ_FLAG | DAT_MEM_PRIV_LOCAL_WRITE_FLAG;
    Region posted(side);
    succeed(posted.create_plainly(kLocal), "dat_lmr_create");
    EXPECT_EQ(statistics(side).own_entries, 0u);
    const Loop loop(side, kQualifier);
    DAT_LMR_TRIPLET sink = posted.part(4096);
    for (int i = 0; i < 2; ++i)
        succeed(dat_ep_post_recv(loop.receiver, 1, &sink, cookie(5), DAT_COMPLETION_DEFAULT_FLAG),
                "dat_ep_post_recv");
    EXPECT_EQ(statistics(side).own_entries, 1u);
    for (int left = 1; left >= 0; --left) {
        succeed(dat_ep_post_send(loop.sender, 0, nullptr, cookie(6), DAT_COMPLETION_DEFAULT_FLAG),
                "dat_ep_post_send");
        completion(side.receives);
        EXPECT_EQ(statistics(side).own_entries, static_cast<DAT_UINT64>(left));
    }
}

/// Receives from memory that is registered for each transfer, as many as the table has entries.
class GreedyFlow {
  public:
    GreedyFlow() {
        constexpr int kLocal = DAT_MEM_PRIV_LOCAL_READ_FLAG | DAT_MEM_PRIV_LOCAL_WRITE_FLAG;
        for (int i = 0; i < kEntries + 1; ++i) {
            regions_.push_back(std::make_unique<Region>(side));
            succeed(regions_.back()->create_plainly(kLocal), "dat_lmr_create");
        }
        for (int i = 0; i < kEntries; ++i) succeed(post(), "the table has room for four");
        EXPECT_EQ(statistics(side).own_entries, std::uint64_t{kEntries});
    }
    DAT_RETURN post() {
        DAT_LMR_TRIPLET sink = regions_[next_ % regions_.size()]->part(64);
        const DAT_RETURN code =
            dat_ep_post_recv(loop_.receiver, 1, &sink, cookie(1), DAT_COMPLETION_DEFAULT_FLAG);
        if (code == DAT_SUCCESS) ++next_;
        return code;
    }
    void complete_one() {
        succeed(dat_ep_post_send(loop_.sender, 0, nullptr, cookie(2), DAT_COMPLETION_DEFAULT_FLAG),
                "dat_ep_post_send");
        completion(side.receives);
        completion(side.sends);
    }

    static constexpr int kEntries = 4;
    RegistrationSide side;

  private:
    const Loop loop_{side, kQualifier};
    std::vector<std::unique_ptr<Region>> regions_;
    std::size_t next_ = 0;
};

TEST(RegistrationData, PerTransferAGreedyFlowsWindowShrinksWhileOthersWait) {
    const RegistrationTable table(GreedyFlow::kEntries, kNoHurry, "per-io");
    GreedyFlow flow;
    Region wanted[] = {Region(flow.side), Region(flow.side), Region(flow.side)};
    for (Region& region : wanted) ask(flow.side, region);
    flow.side.upcall(DAT_REG_PRESSURE_EVENT);
    for (Region& region : wanted) {
        flow.complete_one();
        region.lmr = flow.side.upcall(DAT_REG_GRANTED_EVENT).lmr_handle;
    }
    // The window is half of what it was, although three have been announced, and holds though
    // there are entries.
    wanted[0].free();
    wanted[1].free();
    succeed(flow.post(), "the window has room for a second transfer");
    EXPECT_EQ(DAT_GET_TYPE(flow.post()), static_cast<DAT_RETURN>(DAT_INSUFFICIENT_RESOURCES));
    EXPECT_EQ(statistics(flow.side).own_entries, 3u);
}

TEST(RegistrationData, PerTransferAFlowThatOnlyWaitsForItselfKeepsItsWindow) {
    RegistrationTable table(GreedyFlow::kEntries, 2000, "per-io");
    // The first post waits for so long in vain, the others until the agent's thread had its turn.
    const auto patience =
        std::chrono::duration_cast<std::chrono::milliseconds>(test::scaled(200ms));
    table.set("OPENDAT_REGISTRATION_WAIT", std::to_string(patience.count()));
    GreedyFlow flow;
    EXPECT_EQ(DAT_GET_TYPE(flow.post()), static_cast<DAT_RETURN>(DAT_INSUFFICIENT_RESOURCES));
    for (int i = 0; i < 3; ++i) {
        flow.complete_one();
        succeed(flow.post(), "a post for which the window has room");
    }
    EXPECT_EQ(statistics(flow.side).own_entries, std::uint64_t{GreedyFlow::kEntries});
}

}  // namespace
