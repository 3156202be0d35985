// SPDX-License-Identifier: BSD-2-Clause
// The exact codes of the connection calls: programs compare them with ==.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <set>

#include "test/api/side.hpp"
#include "test/support/threads.hpp"

namespace {

using namespace test;

constexpr DAT_CONN_QUAL kQualifier = 4711;
constexpr DAT_RETURN kNoConnectionManager = 0x00040000;

class ConnectionCodes : public testing::Test {
  protected:
    TemporaryFabric fabric_;
    Side side_;

    DAT_RETURN connect(DAT_EP_HANDLE ep, DAT_TIMEOUT timeout, DAT_COUNT size, DAT_PVOID data,
                       int quality = DAT_QOS_BEST_EFFORT) {
        sockaddr_in peer = test::ia_address();
        return dat_ep_connect(ep, reinterpret_cast<DAT_IA_ADDRESS_PTR>(&peer), kQualifier, timeout,
                              size, data, static_cast<DAT_QOS>(quality), DAT_CONNECT_DEFAULT_FLAG);
    }
    /// Connects `active` to this process. @return the connection request.
    DAT_CR_HANDLE request_from(DAT_EP_HANDLE active) {
        succeed(connect(active, DAT_TIMEOUT_INFINITE, 0, nullptr), "dat_ep_connect");
        return side_.request();
    }
};

TEST_F(ConnectionCodes, of_connect) {
    DAT_EP_HANDLE ep = side_.endpoint();
    char data[300] = {};
    EXPECT_EQ(dat_ep_connect(ep, nullptr, kQualifier, 1, 0, nullptr, DAT_QOS_BEST_EFFORT,
                             DAT_CONNECT_DEFAULT_FLAG),
              0x80060026u);
    EXPECT_EQ(connect(DAT_HANDLE_NULL, 1000, 0, nullptr), 0x8005000Cu);
    EXPECT_EQ(connect(side_.pz, 1000, 0, nullptr), 0x8005000Cu);
    EXPECT_EQ(connect(ep, 0, 0, nullptr), 0x80060028u);
    EXPECT_EQ(connect(ep, 1000, 0, nullptr, DAT_QOS_HIGH_THROUGHPUT), 0x80090000u);
    EXPECT_EQ(connect(ep, 1000, 57, data), 0x80060029u);
    EXPECT_EQ(connect(ep, 1000, -1, data), 0x80060029u);
    EXPECT_EQ(connect(ep, 1000, 8, nullptr), 0x8006002Au);
    EXPECT_EQ(Side::state(ep), DAT_EP_STATE_UNCONNECTED);
    EXPECT_EQ(dat_ep_disconnect(ep, DAT_CLOSE_ABRUPT_FLAG),
              0x80070000u | DAT_INVALID_STATE_EP_UNCONNECTED);
    Side::expect_empty(side_.connections);
    succeed(connect(ep, DAT_TIMEOUT_INFINITE, 56, data), "56 bytes are accepted");
    side_.connection_event(DAT_CONNECTION_EVENT_NON_PEER_REJECTED, ep);
    EXPECT_EQ(connect(ep, 1000, 0, nullptr), 0x80070000u | DAT_INVALID_STATE_EP_DISCONNECTED);
}

TEST_F(ConnectionCodes, of_connect_with_an_incomplete_endpoint) {
    DAT_EP_HANDLE without_zone = DAT_HANDLE_NULL;
    succeed(dat_ep_create(side_.ia, DAT_HANDLE_NULL, side_.receives, side_.sends, side_.connections,
                          nullptr, &without_zone),
            "dat_ep_create");
    EXPECT_EQ(connect(without_zone, 1000, 0, nullptr), 0x80070039u);
    DAT_EP_HANDLE without_evd = DAT_HANDLE_NULL;
    succeed(dat_ep_create(side_.ia, side_.pz, side_.receives, side_.sends, DAT_HANDLE_NULL, nullptr,
                          &without_evd),
            "dat_ep_create");
    EXPECT_EQ(connect(without_evd, 1000, 0, nullptr), 0x80050000u | DAT_INVALID_HANDLE_EVD_CONN);
}

TEST_F(ConnectionCodes, of_service_points) {
    DAT_PSP_HANDLE psp = DAT_HANDLE_NULL;
    const auto create = [&](DAT_EVD_HANDLE evd, int flags, DAT_PSP_HANDLE* out) {
        return dat_psp_create(side_.ia, kQualifier, evd, static_cast<DAT_PSP_FLAGS>(flags), out);
    };
    const DAT_RETURN bad_evd = 0x80050000u | DAT_INVALID_HANDLE_EVD_CR;
    EXPECT_EQ(create(DAT_HANDLE_NULL, DAT_PSP_CONSUMER_FLAG, &psp), bad_evd);
    EXPECT_EQ(create(side_.connections, DAT_PSP_CONSUMER_FLAG, &psp), bad_evd);
    EXPECT_EQ(create(side_.requests, DAT_PSP_CONSUMER_FLAG, nullptr), 0x80060029u);
    EXPECT_EQ(create(side_.requests, 7, &psp), 0x80060028u);
    succeed(create(side_.requests, DAT_PSP_CONSUMER_FLAG, &psp), "dat_psp_create");
    DAT_PSP_HANDLE again = DAT_HANDLE_NULL;
    EXPECT_EQ(create(side_.requests, DAT_PSP_CONSUMER_FLAG, &again), 0x80020000u);
    Side other;
    EXPECT_EQ(dat_psp_create(other.ia, kQualifier, other.requests, DAT_PSP_CONSUMER_FLAG, &again),
              0x00020000u);
    DAT_PSP_PARAM parameters{};
    EXPECT_EQ(dat_psp_query(psp, DAT_PSP_FIELD_ALL, nullptr), 0x80060027u);
    succeed(dat_psp_query(psp, DAT_PSP_FIELD_ALL, &parameters), "dat_psp_query");
    EXPECT_EQ(parameters.ia_handle, side_.ia);
    EXPECT_EQ(parameters.conn_qual, kQualifier);
    EXPECT_EQ(parameters.evd_handle, side_.requests);
    EXPECT_EQ(parameters.psp_flags, DAT_PSP_CONSUMER_FLAG);
    EXPECT_EQ(dat_evd_free(side_.requests), 0x8007004Au);
    succeed(dat_psp_free(psp), "dat_psp_free");
    EXPECT_EQ(dat_psp_free(psp), 0x80050010u);
    succeed(create(side_.requests, DAT_PSP_CONSUMER_FLAG, &psp), "the qualifier is free again");
}

TEST_F(ConnectionCodes, of_qualifiers_that_the_library_chooses) {
    DAT_CONN_QUAL qualifier = 0;
    DAT_PSP_HANDLE psp = DAT_HANDLE_NULL;
    const auto create = [&](DAT_CONN_QUAL* chosen) {
        return dat_psp_create_any(side_.ia, chosen, side_.requests, DAT_PSP_CONSUMER_FLAG, &psp);
    };
    EXPECT_EQ(create(nullptr), 0x80060026u);
    std::set<DAT_CONN_QUAL> chosen;
    for (int i = 0; i < 20; ++i) {
        succeed(create(&qualifier), "dat_psp_create_any");
        EXPECT_LT(qualifier, 65536u);
        EXPECT_GE(qualifier, 1024u);
        EXPECT_TRUE(chosen.insert(qualifier).second) << qualifier;
    }
}

TEST_F(ConnectionCodes, of_requests) {
    side_.listen(kQualifier);
    DAT_EP_HANDLE active = side_.endpoint();
    DAT_EP_HANDLE passive = side_.endpoint();
    const DAT_CR_HANDLE cr = request_from(active);
    char data[300] = {};
    EXPECT_EQ(dat_cr_query(cr, DAT_CR_FIELD_ALL, nullptr), 0x80060027u);
    EXPECT_EQ(dat_cr_accept(side_.pz, passive, 0, nullptr), 0x80050012u);
    EXPECT_EQ(dat_cr_accept(cr, DAT_HANDLE_NULL, 0, nullptr), 0x8005000Cu);
    EXPECT_EQ(dat_cr_accept(cr, side_.pz, 0, nullptr), 0x8005000Cu);
    EXPECT_EQ(dat_cr_accept(cr, passive, 8, nullptr), 0x80060028u);
    EXPECT_EQ(dat_cr_accept(cr, passive, 161, data), 0x80060027u);
    EXPECT_EQ(dat_cr_accept(cr, active, 0, nullptr), 0x00070000u);
    EXPECT_EQ(dat_cr_reject(cr, 8, nullptr), 0x80060027u);
    EXPECT_EQ(dat_cr_reject(cr, 113, data), 0x80060026u);
    EXPECT_EQ(Side::state(passive), DAT_EP_STATE_UNCONNECTED);
    succeed(dat_cr_accept(cr, passive, 160, data), "dat_cr_accept");
    EXPECT_EQ(dat_cr_accept(cr, passive, 0, nullptr), 0x80050012u);
    EXPECT_EQ(dat_cr_query(cr, DAT_CR_FIELD_ALL, nullptr), 0x80050012u);
    for (int i = 0; i < 2; ++i) Side::wait(side_.connections, DAT_CONNECTION_EVENT_ESTABLISHED);
    EXPECT_EQ(dat_ep_reset(active), 0x80070000u | DAT_INVALID_STATE_EP_CONNECTED);
}

/// The child is forked before this process opens anything.
class BetweenProcesses : public testing::Test {
  protected:
    TemporaryFabric fabric_;
};

TEST_F(BetweenProcesses, a_qualifier_of_the_other_process_is_in_use) {
    Child other([](Channel& channel) {
        channel.receive<char>();
        Side side;
        DAT_PSP_HANDLE psp = DAT_HANDLE_NULL;
        expect_code(dat_psp_create(side.ia, kQualifier, side.requests, DAT_PSP_CONSUMER_FLAG, &psp),
                    0x00020000u, "dat_psp_create");
    });
    Side side;
    side.listen(kQualifier);
    other.channel().send('l');
    EXPECT_EQ(other.wait(), 0);
}

TEST_F(BetweenProcesses, closing_an_adapter_sends_the_peers_of_unanswered_requests_away) {
    Child client([](Channel& channel) {
        channel.receive<char>();
        Side side;
        DAT_EP_HANDLE ep = side.endpoint();
        succeed(Side::connect(ep, kQualifier), "dat_ep_connect");
        side.connection_event(DAT_CONNECTION_EVENT_NON_PEER_REJECTED, ep);
    });
    Side side;
    side.listen(kQualifier);
    client.channel().send('l');
    side.request();
    side.close();
    EXPECT_EQ(client.wait(), 0);
}

/// Opens in a child, since each process reports its first failures only. @return its output on
/// stderr.
std::string told_by_opening(std::string name, DAT_COUNT async_length, DAT_RETURN expected,
                            int times = 1) {
    return captured_stderr([&] {
        Child child([&](Channel&) {
            DAT_IA_HANDLE ia = DAT_HANDLE_NULL;
            DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
            for (int i = 0; i < times; ++i)
                require(dat_ia_open(name.data(), async_length, &async, &ia) == expected,
                        "the code");
            require(async == DAT_HANDLE_NULL, "the async EVD is left alone");
        });
        EXPECT_EQ(child.wait(), 0);
    });
}

void expect_one_line(const std::string& told, const std::string& part, const std::string& id) {
    EXPECT_EQ(std::count(told.begin(), told.end(), '\n'), 1) << told;
    EXPECT_NE(told.find(part), std::string::npos) << told;
    EXPECT_NE(told.find("[" + id + "]\n"), std::string::npos) << told;
}

TEST(OpeningAnAdapter, that_does_not_exist_says_why_in_one_line_and_leaves_the_async_evd_alone) {
    TemporaryFabric fabric;
    expect_one_line(told_by_opening("no-such-device", 8, 0x00120000), "nonesuch0", "DAT202");
}

TEST(OpeningAnAdapter, without_a_usable_fabric_says_why_in_one_line) {
    TemporaryFabric fabric;
    const std::string file = fabric.path() + "/file";
    std::ofstream(file) << "no directory";
    setenv("SOFTVERBS_FABRIC", file.c_str(), 1);
    expect_one_line(told_by_opening("soft0", 8, kNoConnectionManager), file, "DAT301");
}

TEST(OpeningAnAdapter, that_the_provider_refuses_without_a_word_is_told_by_libdat2_in_one_line) {
    TemporaryFabric fabric;
    expect_one_line(told_by_opening("soft0", 0, 0x80060026), "DAT_INVALID_PARAMETER", "DAT006");
}

TEST(OpeningAnAdapter, that_does_not_exist_is_told_three_times_and_then_not_again) {
    TemporaryFabric fabric;
    const std::string told = told_by_opening("no-such-device", 8, 0x00120000, 20);
    EXPECT_EQ(std::count(told.begin(), told.end(), '\n'), 4) << told;
    EXPECT_NE(told.find("[DAT007]\n"), std::string::npos) << told;
}

TEST(OpeningAnAdapter, finds_the_device_by_its_name_by_an_interface_and_by_an_address) {
    TemporaryFabric fabric;
    for (const char* name : {"soft0", "soft0-by-interface", "soft0-by-address"}) {
        Side side(name);
        DAT_IA_ATTR attributes{};
        succeed(dat_ia_query(side.ia, nullptr, DAT_IA_FIELD_ALL, &attributes, 0, nullptr),
                "dat_ia_query");
        EXPECT_STREQ(attributes.adapter_name, "soft0") << name;
        side.close();
    }
}

bool is_mapped(const char* library) {
    std::ifstream maps("/proc/self/maps");
    for (std::string line; std::getline(maps, line);)
        if (line.find(library) != std::string::npos) return true;
    return false;
}

TEST(OpeningAnAdapter, and_closing_it_leaves_neither_the_library_nor_a_thread) {
    TemporaryFabric fabric;
    const auto before = threads();
    for (int round = 0; round < 3; ++round) {
        Side side;
        side.listen(kQualifier);
        side.listen(kQualifier + 1);
        EXPECT_TRUE(is_mapped("libdaplsoft"));
        side.close();
        EXPECT_FALSE(is_mapped("libdaplsoft"));
        EXPECT_EQ(threads(), before);
    }
}

}  // namespace
