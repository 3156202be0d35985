// SPDX-License-Identifier: BSD-2-Clause
#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <net/if.h>

#include "dapl/verbs/gid.hpp"
#include "dapl/verbs/subnet.hpp"

namespace {

using verbs::choose_gid;
using verbs::GidReason;
using verbs::GidTable;
using verbs::NoGid;

ibv_gid gid(const char* address) {
    ibv_gid result{};
    EXPECT_EQ(inet_pton(AF_INET6, address, result.raw), 1) << address;
    return result;
}

ibv_gid_entry entry(std::uint32_t index, const char* address, ibv_gid_type type,
                    std::uint32_t port = 1) {
    return {gid(address), index, port, static_cast<std::uint32_t>(type), 0};
}

constexpr const char* kLinkLocal = "fe80::1";
constexpr const char* kIpv4 = "::ffff:10.77.0.1";
constexpr const char* kRoutable = "fd77::1";

/// As adapters show them: each address as v1 and as v2. The last entry belongs to port 2.
const GidTable kRoce = {
    entry(0, kLinkLocal, IBV_GID_TYPE_ROCE_V1),   entry(1, kLinkLocal, IBV_GID_TYPE_ROCE_V2),
    entry(2, kIpv4, IBV_GID_TYPE_ROCE_V1),        entry(3, kIpv4, IBV_GID_TYPE_ROCE_V2),
    entry(4, kRoutable, IBV_GID_TYPE_ROCE_V1),    entry(5, kRoutable, IBV_GID_TYPE_ROCE_V2),
    entry(0, "fe80::2", IBV_GID_TYPE_ROCE_V2, 2),
};

TEST(Gid, roce_v2_comes_before_v1_and_routable_before_link_local) {
    const auto choice = choose_gid(kRoce, 1, std::nullopt, {});
    ASSERT_TRUE(choice);
    EXPECT_EQ(choice->index, 3u);
    EXPECT_EQ(choice->type, IBV_GID_TYPE_ROCE_V2);
    EXPECT_EQ(choice->reason, GidReason::kBest);
    EXPECT_EQ(verbs::to_text(choice->gid), kIpv4);
}

TEST(Gid, a_link_local_v2_entry_comes_before_a_routable_v1_one) {
    const GidTable table = {entry(0, kRoutable, IBV_GID_TYPE_ROCE_V1),
                            entry(1, kLinkLocal, IBV_GID_TYPE_ROCE_V2)};
    EXPECT_EQ(choose_gid(table, 1, std::nullopt, {})->index, 1u);
}

TEST(Gid, the_lowest_index_wins_whatever_the_order_of_the_table) {
    const GidTable table = {entry(7, kRoutable, IBV_GID_TYPE_ROCE_V2),
                            entry(2, kIpv4, IBV_GID_TYPE_ROCE_V2)};
    EXPECT_EQ(choose_gid(table, 1, std::nullopt, {})->index, 2u);
}

TEST(Gid, an_entry_of_the_peers_kind_comes_first) {
    const struct {
        const char* peer;
        std::uint32_t index;
    } rows[] = {{"fe80::99", 1}, {"::ffff:10.77.0.9", 3}, {"2001:db8::9", 5}};
    for (const auto& row : rows) {
        const ibv_gid peer = gid(row.peer);
        const auto choice = choose_gid(kRoce, 1, std::nullopt, {&peer});
        ASSERT_TRUE(choice);
        EXPECT_EQ(choice->index, row.index) << row.peer;
        EXPECT_EQ(choice->reason, GidReason::kLikePeer);
    }
}

TEST(Gid, without_one_of_the_peers_kind_the_best_is_taken) {
    const ibv_gid peer = gid("2001:db8::9");
    const GidTable table = {entry(0, kLinkLocal, IBV_GID_TYPE_ROCE_V2),
                            entry(1, kIpv4, IBV_GID_TYPE_ROCE_V2)};
    const auto choice = choose_gid(table, 1, std::nullopt, {&peer});
    EXPECT_EQ(choice->index, 1u);
    EXPECT_EQ(choice->reason, GidReason::kBest);
}

TEST(Gid, a_peer_on_the_link_of_entry_0_is_asked_from_entry_0) {
    const auto choice = choose_gid(kRoce, 1, std::nullopt, {nullptr, true});
    ASSERT_TRUE(choice);
    EXPECT_EQ(choice->index, 0u);
    EXPECT_EQ(choice->reason, GidReason::kOnPeersLink);
}

TEST(Gid, a_peer_on_that_link_which_asked_from_another_kind_is_answered_by_its_kind) {
    const ibv_gid routable = gid("::ffff:10.77.0.9");
    EXPECT_EQ(choose_gid(kRoce, 1, std::nullopt, {&routable, true})->index, 3u);
    const ibv_gid link_local = gid("fe80::99");
    EXPECT_EQ(choose_gid(kRoce, 1, std::nullopt, {&link_local, true})->index, 0u);
}

TEST(Gid, a_table_without_entry_0_has_none_to_ask_from) {
    const GidTable table = {entry(1, kLinkLocal, IBV_GID_TYPE_ROCE_V2),
                            entry(2, kIpv4, IBV_GID_TYPE_ROCE_V2)};
    EXPECT_EQ(choose_gid(table, 1, std::nullopt, {nullptr, true})->index, 2u);
    EXPECT_EQ(verbs::first_interface(table, 1), 0u);
}

TEST(Gid, the_link_of_entry_0_is_that_of_its_interface) {
    GidTable table = kRoce;
    table[0].ndev_ifindex = 7;
    table[1].ndev_ifindex = 8;
    EXPECT_EQ(verbs::first_interface(table, 1), 7u);
    EXPECT_EQ(verbs::first_interface(table, 2), 0u);
}

sockaddr_storage ipv4(const char* text) {
    sockaddr_storage address{};
    auto& in = reinterpret_cast<sockaddr_in&>(address);
    in.sin_family = AF_INET;
    EXPECT_EQ(inet_pton(AF_INET, text, &in.sin_addr), 1) << text;
    return address;
}

TEST(Subnet, the_addresses_of_an_interface_tell_who_is_on_its_link) {
    const auto subnets = verbs::subnets_of(if_nametoindex("lo"));
    EXPECT_TRUE(verbs::contains(subnets, ipv4("127.0.0.1")));
    EXPECT_TRUE(verbs::contains(subnets, ipv4("127.9.9.9")));
    EXPECT_FALSE(verbs::contains(subnets, ipv4("192.0.2.1")));
    sockaddr_storage ipv6{};
    ipv6.ss_family = AF_INET6;
    EXPECT_FALSE(verbs::contains(subnets, ipv6));
}

TEST(Subnet, no_interface_has_none) {
    EXPECT_TRUE(verbs::subnets_of(0).empty());
    EXPECT_TRUE(verbs::subnets_of(0x7fffffff).empty());
}

TEST(Gid, infiniband_uses_the_ports_own_identity_whoever_the_peer_is) {
    const GidTable table = {entry(0, kLinkLocal, IBV_GID_TYPE_IB),
                            entry(1, kRoutable, IBV_GID_TYPE_IB)};
    const ibv_gid peer = gid("2001:db8::9");
    for (const verbs::GidPeer& known : {verbs::GidPeer{}, verbs::GidPeer{&peer, true}}) {
        const auto choice = choose_gid(table, 1, std::nullopt, known);
        EXPECT_EQ(choice->index, 0u);
        EXPECT_EQ(choice->reason, GidReason::kPort);
    }
}

TEST(Gid, the_users_index_overrides_and_must_be_in_use) {
    const ibv_gid peer = gid("fe80::99");
    const auto choice = choose_gid(kRoce, 1, 2, {&peer});
    ASSERT_TRUE(choice);
    EXPECT_EQ(choice->index, 2u);
    EXPECT_EQ(choice->reason, GidReason::kSetting);
    const auto none = choose_gid(kRoce, 1, 6, {});
    ASSERT_FALSE(none);
    EXPECT_EQ(none.error().cause, NoGid::Cause::kUnusedIndex);
    EXPECT_EQ(none.error().used, (std::vector<std::uint32_t>{0, 1, 2, 3, 4, 5}));
}

TEST(Gid, each_port_has_entries_of_its_own) {
    EXPECT_EQ(choose_gid(kRoce, 2, std::nullopt, {})->index, 0u);
    const auto none = choose_gid(kRoce, 3, std::nullopt, {});
    ASSERT_FALSE(none);
    EXPECT_EQ(none.error().cause, NoGid::Cause::kEmpty);
}

TEST(Gid, the_ranking_names_for_each_entry_why_it_was_not_chosen) {
    const auto choice = choose_gid(kRoce, 1, std::nullopt, {});
    const auto ranked = verbs::rank_gids(kRoce, 1, *choice);
    ASSERT_EQ(ranked.size(), 6u);
    EXPECT_TRUE(ranked[0].chosen);
    EXPECT_EQ(ranked[0].entry.index, 3u);
    EXPECT_EQ(ranked[0].why_not, "");
    EXPECT_EQ(ranked[1].entry.index, 5u);
    EXPECT_EQ(ranked[1].why_not, "the lower index comes first");
    EXPECT_EQ(ranked[2].entry.index, 1u);
    EXPECT_EQ(ranked[2].why_not, "a routable address comes before link-local");
    EXPECT_EQ(ranked[3].entry.index, 2u);
    EXPECT_EQ(ranked[3].why_not, "RoCE v2 comes before v1");
}

TEST(Gid, the_ranking_begins_with_what_was_chosen_for_another_reason) {
    const auto set = verbs::rank_gids(kRoce, 1, *choose_gid(kRoce, 1, 0, {}));
    EXPECT_EQ(set[0].entry.index, 0u);
    EXPECT_EQ(set[1].why_not, "DAPL_GID_INDEX selects another one");
    const auto bound = verbs::rank_gids(kRoce, 1, *verbs::find_gid(kRoce, 1, gid(kRoutable)));
    EXPECT_EQ(bound[0].entry.index, 5u);
    EXPECT_EQ(bound[1].why_not, "it is not the IA's address");
    for (const auto& entry : verbs::rank_gids(kRoce, 1, std::nullopt)) EXPECT_FALSE(entry.chosen);
}

TEST(Gid, a_bound_address_is_found_in_its_v2_entry) {
    const auto found = verbs::find_gid(kRoce, 1, gid(kRoutable));
    ASSERT_TRUE(found);
    EXPECT_EQ(found->index, 5u);
    EXPECT_EQ(found->reason, GidReason::kBoundAddress);
    EXPECT_FALSE(verbs::find_gid(kRoce, 1, gid("fd77::2")));
}

}  // namespace
