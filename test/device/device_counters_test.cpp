// SPDX-License-Identifier: BSD-2-Clause
// The counters that a device keeps, read from files laid out like the kernel's.
#include "device/device_counters.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <fstream>

#include "dapl/base/codes.hpp"
#include "test/support/process.hpp"

namespace {

using dapl::DeviceCounters;

class DeviceDirectory : public testing::Test {
  protected:
    DeviceDirectory() {
        std::strncpy(device.ibdev_path, path.c_str(), sizeof device.ibdev_path - 1);
        context.device = &device;
    }
    void show(const std::string& file, const std::string& content) const {
        const std::filesystem::path whole = path / file;
        create_directories(whole.parent_path());
        std::ofstream(whole) << content << '\n';
    }

    test::TemporaryDirectory directory;
    const std::filesystem::path path = directory.path();
    ibv_device device{};
    ibv_context context{};
};

TEST_F(DeviceDirectory, CountsWhatGrowsBetweenStartAndStopAndGoesOnWithTheNextStart) {
    DeviceCounters counters(context, 2);
    show("ports/2/counters/port_xmit_discards", "100");
    show("ports/1/counters/port_xmit_discards", "9999");
    EXPECT_EQ(counters.value(DCNT_IA_LNK_ERR_XMT_DISCARDS), 0U);
    EXPECT_EQ(counters.start(DCNT_IA_LNK), DAT_SUCCESS);
    show("ports/2/counters/port_xmit_discards", "103");
    EXPECT_EQ(counters.value(DCNT_IA_LNK_ERR_XMT_DISCARDS), 3U);
    EXPECT_EQ(counters.start(DCNT_IA_LNK), DAT_SUCCESS) << "it goes on as it is";
    EXPECT_EQ(counters.value(DCNT_IA_LNK_ERR_XMT_DISCARDS), 3U);
    EXPECT_EQ(counters.stop(DCNT_IA_LNK), DAT_SUCCESS);
    show("ports/2/counters/port_xmit_discards", "110");
    EXPECT_EQ(counters.value(DCNT_IA_LNK_ERR_XMT_DISCARDS), 3U);
    EXPECT_EQ(counters.start(DCNT_IA_LNK), DAT_SUCCESS);
    show("ports/2/counters/port_xmit_discards", "111");
    EXPECT_EQ(counters.value(DCNT_IA_LNK_ERR_XMT_DISCARDS), 4U);
    EXPECT_EQ(counters.value(DCNT_IA_LNK_WARN_XMT_WAIT), 0U) << "not shown";
}

TEST_F(DeviceDirectory, ReadsTheDiagnosticCountersOfTheDeviceInEitherPlace) {
    DeviceCounters counters(context, 1);
    show("diag_counters/sq_num_tree", "5");
    show("hw_counters/rq_num_rae", "1");
    EXPECT_EQ(counters.start(DCNT_IA_DIAG), DAT_SUCCESS);
    show("diag_counters/sq_num_tree", "7");
    show("hw_counters/rq_num_rae", "4");
    EXPECT_EQ(counters.value(DCNT_IA_DIAG_ERR_SQ_TREE), 2U);
    EXPECT_EQ(counters.value(DCNT_IA_DIAG_ERR_RQ_RAE), 3U);
    EXPECT_EQ(counters.start(DCNT_IA_LNK), dapl::error(DAT_MODEL_NOT_SUPPORTED))
        << "the two groups stand alone";
}

TEST_F(DeviceDirectory, NeverFallsWhereSomebodySetsTheDevicesCountersBack) {
    DeviceCounters counters(context, 1);
    show("ports/1/counters/port_rcv_errors", "100");
    EXPECT_EQ(counters.start(DCNT_IA_LNK), DAT_SUCCESS);
    show("ports/1/counters/port_rcv_errors", "105");
    EXPECT_EQ(counters.value(DCNT_IA_LNK_ERR_RCV), 5U);
    show("ports/1/counters/port_rcv_errors", "2");
    EXPECT_EQ(counters.value(DCNT_IA_LNK_ERR_RCV), 7U);
    remove(path / "ports/1/counters/port_rcv_errors");
    EXPECT_EQ(counters.value(DCNT_IA_LNK_ERR_RCV), 7U) << "it is not shown any more";
}

TEST_F(DeviceDirectory, SaysSoWhereTheDeviceShowsNothingOrNonsense) {
    DeviceCounters counters(context, 1);
    EXPECT_EQ(counters.start(DCNT_IA_LNK), dapl::error(DAT_MODEL_NOT_SUPPORTED));
    EXPECT_EQ(counters.stop(DCNT_IA_LNK), DAT_SUCCESS);
    show("ports/1/counters/port_rcv_errors", "N/A (no PMA)");
    EXPECT_EQ(counters.start(DCNT_IA_LNK), dapl::error(DAT_MODEL_NOT_SUPPORTED));
}

}  // namespace
