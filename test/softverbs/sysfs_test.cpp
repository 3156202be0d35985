// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The devices' part of /sys without the preload: which paths belong to it, how values are written,
/// and the trees in the fabric's directory.
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <thread>

#include "providers/soft/softverbs/fabric/index.hpp"
#include "providers/soft/softverbs/sysfs/entries.hpp"
#include "providers/soft/softverbs/sysfs/paths.hpp"
#include "providers/soft/softverbs/sysfs/tree.hpp"
#include "test/support/process.hpp"

namespace {

using namespace softverbs;

TEST(SysfsPaths, OnlyOursAreRewritten) {
    const Sight two{2, false};
    for (const auto& [path, rest] : std::map<std::string, std::string>{
             {"/sys/class/infiniband", "class/infiniband"},
             {"/sys/class/infiniband/", "class/infiniband/"},
             {"//sys/class/infiniband/.", "class/infiniband/."},
             {"/sys/./class//infiniband/soft1/ports", "class//infiniband/soft1/ports"},
             {"sys/class/infiniband/soft0", "class/infiniband/soft0"},
             {"/sys/devices/softverbs/softverbs0/vendor", "devices/softverbs/softverbs0/vendor"},
             {"/sys/devices/softverbs", "devices/softverbs"}})
        EXPECT_EQ(below_sys(path, two).value_or("none"), rest) << path;
    for (const char* path :
         {"", "/", "/sys", "/sys/class", "/sys/class/net", "/sys/class/infiniband_verbs",
          "/sys/class/infiniband/mlx5_0/ports", "/sys/class/infiniband/soft2",
          "/sys/class/infiniband/soft", "/sys/class/infiniband/..",
          "/sys/class/../class/infiniband", "/sys/devices", "/sys/devices/softverbsx",
          "/system/class/infiniband", "/tmp/sys/class/infiniband/soft0"})
        EXPECT_FALSE(below_sys(path, two)) << path;
}

TEST(SysfsPaths, TheSystemsDevicesAreHiddenOnRequest) {
    EXPECT_TRUE(below_sys("/sys/class/infiniband/mlx5_0/ports", {1, true}));
    EXPECT_FALSE(below_sys("/sys/class/net/eth0", {1, true}));
}

TEST(SysfsPaths, APathInATreeIsTurnedBack) {
    for (const auto& [path, wanted] : std::map<std::string, std::string>{
             {"/dev/shm/f/softverbs-sysfs-0123456789abcdef/class/x", "/sys/class/x"},
             {"/softverbs-sysfs-0123456789abcdef", "/sys"},
             {"/a/softverbs-sysfs-0123456789abcdefg/class", ""},
             {"/a/softverbs-sysfs-0123456789abcde/class", ""},
             {"/a/xsoftverbs-sysfs-0123456789abcdef/class", ""},
             {"softverbs-sysfs-0123456789abcdef/class", ""},
             {"/a/softverbs-sysfs-x/softverbs-sysfs-0123456789abcdef/b", "/sys/b"},
             {"/usr/lib", ""}}) {
        std::string text = path;
        EXPECT_STREQ(to_sys(text.data()), (wanted.empty() ? path : wanted).c_str());
    }
    EXPECT_EQ(to_sys(nullptr), nullptr);
}

TEST(SysfsTexts, MasksOfProcessors) {
    EXPECT_EQ(processor_mask("0-1"), "3");
    EXPECT_EQ(processor_mask("0"), "1");
    EXPECT_EQ(processor_mask("0-3,6"), "4f");
    EXPECT_EQ(processor_mask("32-39"), "ff,00000000");
    EXPECT_EQ(processor_mask("0-63"), "ffffffff,ffffffff");
    EXPECT_EQ(processor_mask("nonsense"), "1") << "ends, and says something of one processor";
    EXPECT_EQ(processor_mask("0-4294967295"), "0") << "more than there can be";
}

TEST(SysfsTexts, RatesAreThoseOfTheKernel) {
    EXPECT_EQ(rate_text(2, 32), "100 Gb/sec (4X EDR)");
    EXPECT_EQ(rate_text(1, 1), "2.5 Gb/sec (1X SDR)");
    EXPECT_EQ(rate_text(2, 4), "40 Gb/sec (4X QDR)");
    EXPECT_EQ(rate_text(2, 8), "40 Gb/sec (4X FDR10)");
    EXPECT_EQ(rate_text(8, 128), "1200 Gb/sec (12X NDR)");
}

std::string text_of_file(const std::string& path) {
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

class SysfsTree : public testing::Test {
  protected:
    void SetUp() override {
        auto opened = Directory::open(fabric_.path());
        ASSERT_TRUE(opened);
        directory_ = std::move(*opened);
        const auto hash = Index::hash_of(*directory_);
        ASSERT_TRUE(hash);
        hash_ = *hash;
    }

    std::string make(unsigned devices, unsigned ports) {
        return make_tree(*directory_, lasting_entries(hash_, devices, ports)).value_or("none");
    }
    void set_link(PortId port, bool is_up) {
        ASSERT_TRUE(Index::change(*directory_, [&](DeviceStates& s) { s.set_link(port, is_up); }));
        ASSERT_EQ(refresh_trees(*directory_), 0);
    }
    static std::string in(const std::string& tree, PortId port, const std::string& name) {
        return text_of_file(tree + "/" + port_folder(port) + "/" + name);
    }

    test::TemporaryFabric fabric_;
    std::unique_ptr<Directory> directory_;
    std::uint64_t hash_ = 0;
};

TEST_F(SysfsTree, HasWhatTheQueriesOfVerbsAnswer) {
    const std::string tree = make(2, 2);
    for (unsigned index = 0; index < 4; ++index) {
        const PortId port{index / 2, index % 2 + 1};
        const ibv_port_attr attributes = describe_port({hash_, {}}, port);
        char wanted[32];
        std::snprintf(wanted, sizeof wanted, "0x%x\n", attributes.lid);
        EXPECT_EQ(in(tree, port, "lid"), wanted);
        EXPECT_EQ(in(tree, port, "state"), "4: ACTIVE\n");
        EXPECT_EQ(in(tree, port, "pkeys/0"), "0xffff\n");
        EXPECT_EQ(in(tree, port, "gids/0").size(), 40u);
    }
    EXPECT_NE(in(tree, {0, 1}, "gids/0"), in(tree, {1, 2}, "gids/0"));
    EXPECT_EQ(text_of_file(tree + "/class/infiniband/soft1/device/numa_node"), "-1\n");
    EXPECT_FALSE(std::filesystem::exists(tree + "/class/infiniband/soft2"));
}

TEST_F(SysfsTree, IsTheSameForTheSameView) {
    const std::string one = make(1, 1);
    EXPECT_EQ(make(1, 1), one);
    EXPECT_NE(make(2, 1), one);
    EXPECT_NE(make(1, 2), one);
}

TEST_F(SysfsTree, IsCompletedWhereItsMakerWasKilled) {
    const std::string tree = make(1, 1), lid = tree + "/" + port_folder({0, 1}) + "/lid";
    const std::string before = text_of_file(lid);
    std::filesystem::remove(lid);
    EXPECT_EQ(make(1, 1), tree);
    EXPECT_EQ(text_of_file(lid), "") << "a complete one is not written again";
    std::filesystem::remove(tree + "/complete");
    EXPECT_EQ(make(1, 1), tree);
    EXPECT_EQ(text_of_file(lid), before);
}

TEST_F(SysfsTree, FilesOfAKilledMakerAreRemovedOnceTheyAreOld) {
    const std::string old = fabric_.path() + "/aside-0", young = fabric_.path() + "/aside-1";
    std::ofstream(old) << "x";
    std::ofstream(young) << "x";
    using std::filesystem::file_time_type;
    std::filesystem::last_write_time(old, file_time_type::clock::now() - std::chrono::hours(1));
    make(1, 1);
    EXPECT_FALSE(std::filesystem::exists(old));
    EXPECT_TRUE(std::filesystem::exists(young));
}

TEST_F(SysfsTree, AllTreesFollowALinkAndCountItsLosses) {
    const std::string one = make(1, 1), two = make(2, 2);
    const PortId port{0, 1}, other{1, 2};
    set_link(port, false);
    for (const std::string& tree : {one, two}) {
        EXPECT_EQ(in(tree, port, "state"), "1: DOWN\n");
        EXPECT_EQ(in(tree, port, "phys_state"), "2: Polling\n");
        EXPECT_EQ(in(tree, port, "counters/link_downed"), "1\n");
    }
    EXPECT_EQ(in(two, other, "state"), "4: ACTIVE\n");
    set_link(port, false);
    EXPECT_EQ(in(one, port, "counters/link_downed"), "1\n") << "it was down already";
    set_link(port, true);
    EXPECT_EQ(in(one, port, "state"), "4: ACTIVE\n");
    set_link(port, false);
    EXPECT_EQ(in(one, port, "counters/link_downed"), "2\n");
    EXPECT_EQ(in(make(3, 2), port, "counters/link_downed"), "2\n") << "a later tree has them too";
    EXPECT_FALSE(std::filesystem::exists(one + "/" + port_folder(other)));
}

TEST_F(SysfsTree, ARemovedDeviceHasNoLink) {
    const std::string tree = make(2, 1);
    ASSERT_TRUE(Index::change(*directory_, [](DeviceStates& s) { s.set_removed(1, true); }));
    ASSERT_EQ(refresh_trees(*directory_), 0);
    EXPECT_EQ(in(tree, {1, 1}, "state"), "1: DOWN\n");
    EXPECT_EQ(in(tree, {1, 1}, "counters/link_downed"), "1\n");
    EXPECT_EQ(in(tree, {0, 1}, "state"), "4: ACTIVE\n");
}

TEST_F(SysfsTree, AStateThatWasMissedIsWrittenByTheNextReader) {
    const std::string tree = make(1, 1);
    ASSERT_TRUE(Index::change(*directory_, [](DeviceStates& s) { s.set_link({0, 1}, false); }));
    EXPECT_EQ(in(tree, {0, 1}, "state"), "4: ACTIVE\n");
    EXPECT_EQ(make(1, 1), tree);
    EXPECT_EQ(in(tree, {0, 1}, "state"), "1: DOWN\n");
}

TEST_F(SysfsTree, LeavesNothingAside) {
    std::vector<std::thread> makers;
    for (int maker = 0; maker < 8; ++maker) makers.emplace_back([&] { make(2, 2); });
    for (std::thread& maker : makers) maker.join();
    for (const std::string& name : directory_->entries())
        EXPECT_TRUE(name.starts_with('.') || name == "index" || name.starts_with(kTreeStem))
            << name;
}

}  // namespace
