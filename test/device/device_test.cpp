// SPDX-License-Identifier: BSD-2-Clause
// Opening a device by name and port: from the devices that libibverbs lists to the one line that
// the user reads.
#include <arpa/inet.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <string>
#include <vector>

#include "device/device.hpp"
#include "device/explain_device.hpp"
#include "support/base/facts.hpp"
#include "support/log/log.hpp"
#include "test/device/fake_device_list.hpp"

namespace {

using dapl::cm::open_device;
constexpr std::uint32_t kInternalError = 0x00040000;

ibv_gid_entry gid(std::uint32_t index, const char* address, ibv_gid_type type) {
    ibv_gid_entry entry{};
    entry.gid_index = index;
    entry.port_num = 1;
    entry.gid_type = type;
    inet_pton(AF_INET6, address, entry.gid.raw);
    return entry;
}

class Device : public testing::Test {
  protected:
    Device() {
        show_changed([](fake::ListedDevice&) {});
    }
    ~Device() override {
        unsetenv("DAPL_GID_INDEX");
        fake::refuse_list(0);
        support::set_trace_level(3);
        EXPECT_EQ(fake::open_devices(), 0);
    }
    /// Lists one RoCE device with two GIDs, modified by `change`.
    template <class Change>
    static void show_changed(const Change& change) {
        fake::ListedDevice device{"rxe0"};
        device.gids = {gid(0, "fe80::1", IBV_GID_TYPE_ROCE_V2),
                       gid(1, "::ffff:10.0.0.1", IBV_GID_TYPE_ROCE_V2)};
        change(device);
        fake::show_devices({device});
    }
    /// @return what the user reads; the open must succeed.
    static std::string told(const char* ia_params) {
        testing::internal::CaptureStderr();
        const auto opened = open_device("the-ia", ia_params);
        EXPECT_TRUE(opened);
        if (opened) dapl::cm::show_choice("the-ia", opened->choice);
        return testing::internal::GetCapturedStderr();
    }
    /// @return the one line that the user reads; the open must fail with kInternalError.
    static std::string refusal(const char* ia_params) {
        testing::internal::CaptureStderr();
        const auto opened = open_device("the-ia", ia_params);
        const std::string told = testing::internal::GetCapturedStderr();
        EXPECT_EQ(opened ? 0 : opened.error().code, kInternalError);
        EXPECT_EQ(std::count(told.begin(), told.end(), '\n'), 1) << told;
        return told;
    }
};

std::string refused(std::string_view reason) {
    std::string text = "opendat: error: IA the-ia cannot be opened: ";
    return text.append(reason);
}

TEST_F(Device, is_opened_at_its_port_with_the_best_gid_and_nothing_is_said) {
    testing::internal::CaptureStderr();
    const auto opened = open_device("the-ia", "rxe0 1");
    EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
    ASSERT_TRUE(opened);
    EXPECT_EQ(opened->choice.device, "rxe0");
    EXPECT_EQ(opened->choice.port, 1);
    EXPECT_EQ(opened->choice.mtu, IBV_MTU_1024);
    EXPECT_EQ(opened->choice.gid->index, 1u);
    EXPECT_TRUE(open_device("the-ia", "  rxe0\t"));
}

TEST_F(Device, the_choice_is_one_line_at_trace_level_5) {
    support::set_trace_level(5);
    EXPECT_EQ(
        told("rxe0 1"),
        "opendat: debug: IA the-ia uses device rxe0 port 1 (RoCE, active, MTU 1024), GID index "
        "1 (::ffff:10.0.0.1, RoCE v2: RoCE v2 before v1, routable before link-local)\n");
}

TEST_F(Device, of_an_unknown_name_is_answered_with_the_names_there_are) {
    EXPECT_EQ(
        refusal("rxeO 1"),
        refused("there is no RDMA device 'rxeO', only rxe0; correct the parameters of this IA in "
                "dat.conf; did you mean rxe0? [DAT243]\n"));
    refusal("");
}

TEST_F(Device, of_a_port_that_it_does_not_have_is_told_the_ports) {
    for (const char* port : {"2", "0", "-1", "x", "1x", "300", "99999999999999999999"}) {
        const std::string told = refusal(("rxe0 " + std::string(port)).c_str());
        EXPECT_EQ(
            told,
            refused("'" + std::string(port) +
                    "' is not a port: rxe0 has port 1 only; correct the parameters of this IA "
                    "in dat.conf [DAT247]\n"));
    }
    show_changed([](fake::ListedDevice& device) { device.ports = 2; });
    EXPECT_NE(refusal("rxe0 3").find("rxe0 has ports 1 to 2;"), std::string::npos);
}

TEST_F(Device, with_a_port_that_is_down_opens_with_a_warning) {
    show_changed([](fake::ListedDevice& device) { device.state = IBV_PORT_DOWN; });
    EXPECT_EQ(told("rxe0 1"),
              "opendat: warning: IA the-ia: port 1 of RDMA device rxe0 is down: no connection is "
              "possible until it is active; `ip link set INTERFACE up`, and check the cable "
              "[DAT248]\n");
}

TEST_F(Device, of_infiniband_in_state_init_is_told_of_the_subnet_manager) {
    show_changed([](fake::ListedDevice& device) {
        device.state = IBV_PORT_INIT;
        device.link_layer = IBV_LINK_LAYER_INFINIBAND;
    });
    EXPECT_EQ(told("rxe0 1"),
              "opendat: warning: IA the-ia: port 1 of RDMA device rxe0 is initialising: no "
              "connection is possible until it is active; check the cable, and that a subnet "
              "manager runs (`sminfo`) [DAT248]\n");
}

TEST_F(Device, without_any_gid_is_refused_and_the_first_cause_alone_is_told) {
    show_changed([](fake::ListedDevice& device) {
        device.gids.clear();
        device.state = IBV_PORT_DOWN;
    });
    EXPECT_EQ(refusal("rxe0 1"),
              refused("port 1 of rxe0 has no GID (no address) and is down; `ip link set "
                      "INTERFACE up`, and give INTERFACE an address [DAT249]\n"));
}

TEST_F(Device, of_iwarp_needs_no_gid) {
    show_changed([](fake::ListedDevice& device) {
        device.gids.clear();
        device.transport = IBV_TRANSPORT_IWARP;
    });
    const auto opened = open_device("the-ia", "rxe0 1");
    ASSERT_TRUE(opened);
    EXPECT_FALSE(opened->choice.gid);
}

TEST_F(Device, with_the_users_gid_index_uses_that_or_says_which_there_are) {
    setenv("DAPL_GID_INDEX", "0", 1);
    EXPECT_EQ(open_device("the-ia", "rxe0 1")->choice.gid->index, 0u);
    setenv("DAPL_GID_INDEX", "7", 1);
    EXPECT_EQ(
        refusal("rxe0 1"),
        refused("DAPL_GID_INDEX is 7, but port 1 of rxe0 has entries at 0, 1; correct the value "
                "or unset the variable [DAT250]\n"));
}

TEST_F(Device, that_fails_to_open_is_told_with_the_systems_reason) {
    show_changed([](fake::ListedDevice& device) { device.refuses_to_open = EIO; });
    EXPECT_EQ(
        refusal("rxe0 1"),
        refused("RDMA device rxe0 does not work: Input/output error; see `ibv_devinfo` and the "
                "kernel's log (`dmesg`) [DAT246]\n"));
}

struct Told {
    std::string subject, value, source, note;
    support::Standing standing;
};
void take(void* listener, const support::Fact& fact) {
    static_cast<std::vector<Told>*>(listener)->push_back(
        {fact.subject, fact.value, fact.source, fact.note, fact.standing});
}

class DryRun : public Device {
  protected:
    /// @return the facts about the subject, as chosen by the code that an open uses.
    static std::vector<Told> facts(const char* subject) {
        std::vector<Told> all;
        const auto opened = open_device("the-ia", "rxe0 1");
        EXPECT_TRUE(opened);
        if (!opened) return all;
        const support::Facts tell({take, &all}, "the-ia");
        dapl::cm::explain_device(tell, opened->context.get(), opened->choice, "ia_params");
        std::erase_if(all, [&](const Told& told) { return told.subject != subject; });
        return all;
    }
};

TEST_F(DryRun, tells_the_gid_that_an_open_takes_and_why_it_takes_no_other) {
    const auto taken = facts("gid");
    ASSERT_EQ(taken.size(), 1u);
    EXPECT_EQ(taken[0].value, "index 1: ::ffff:10.0.0.1 (RoCE v2)");
    EXPECT_EQ(taken[0].source, "default");
    EXPECT_EQ(taken[0].standing, support::Standing::kWorks);
    const auto others = facts("gid_entry");
    ASSERT_EQ(others.size(), 1u);
    EXPECT_EQ(others[0].value, "index 0: fe80::1 (RoCE v2)");
    EXPECT_EQ(others[0].note, "not used: a routable address comes before link-local");
}

TEST_F(DryRun, tells_that_the_environment_has_named_a_gid_which_reaches_less) {
    setenv("DAPL_GID_INDEX", "0", 1);
    const auto taken = facts("gid");
    ASSERT_EQ(taken.size(), 1u);
    EXPECT_EQ(taken[0].source, "environment DAPL_GID_INDEX");
    EXPECT_EQ(taken[0].standing, support::Standing::kDegraded);
    EXPECT_NE(taken[0].note.find("its own network segment only"), std::string::npos);
}

TEST_F(DryRun, calls_an_ia_degraded_whose_port_is_not_active) {
    EXPECT_EQ(facts("port_state")[0].standing, support::Standing::kWorks);
    show_changed([](fake::ListedDevice& device) { device.state = IBV_PORT_DOWN; });
    const auto state = facts("port_state");
    ASSERT_EQ(state.size(), 1u);
    EXPECT_EQ(state[0].value, "down");
    EXPECT_EQ(state[0].standing, support::Standing::kDegraded);
}

}  // namespace
