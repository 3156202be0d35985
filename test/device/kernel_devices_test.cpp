// SPDX-License-Identifier: BSD-2-Clause
// Reports to the user that follow from what the kernel shows in /sys and /dev, which each test
// makes in a directory of its own.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "device/device_file.hpp"
#include "device/kernel_devices.hpp"
#include "test/support/process.hpp"

namespace {

using namespace dapl::cm;  // NOLINT(google-build-using-namespace): all of it is tested here
using Cause = DeviceFault::Cause;
namespace files = std::filesystem;

class KernelDevices : public testing::Test {
  protected:
    KernelDevices() { view.root = directory.path(); }

    void write(const std::string& path, const std::string& text = "") const {
        files::create_directories(files::path(view.root + path).parent_path());
        std::ofstream(view.root + path) << text << '\n';
    }
    /// Adds a device with its uverbs device and the device file.
    void add_device(const std::string& name, const std::string& uverbs,
                    const std::string& interface) const {
        write("/sys/class/infiniband/" + name + "/ports/1/gid_attrs/ndevs/0", interface);
        write("/sys/class/infiniband/" + name + "/node_type", "1: CA");
        write("/sys/class/infiniband_verbs/" + uverbs + "/ibdev", name);
        write("/dev/infiniband/" + uverbs);
    }

    test::TemporaryDirectory directory;
    KernelView view;
};

TEST_F(KernelDevices, none_without_the_subsystem_or_with_an_empty_one) {
    EXPECT_EQ(why_no_device(view)->cause, Cause::kNoDevice);
    EXPECT_EQ(why_no_device(view)->evidence, "/sys/class/infiniband does not exist");
    files::create_directories(view.root + "/sys/class/infiniband");
    EXPECT_EQ(why_no_device(view)->evidence, "/sys/class/infiniband is empty");
    EXPECT_EQ(why_not_listed(view, "mlx5_0", {}).cause, Cause::kNoDevice);
    EXPECT_EQ(why_no_device_behind(view, "eth0", ENODEV).cause, Cause::kNoDevice);
    EXPECT_EQ(why_no_rdma_cm(view, ENOENT).cause, Cause::kNoDevice);
}

TEST_F(KernelDevices, are_shown_with_their_interfaces_however_the_kernel_tells_them) {
    add_device("rxe0", "uverbs0", "eth0");
    add_device("mlx5_0", "uverbs1", "");
    write("/sys/class/infiniband/mlx5_0/device/net/ib0/address");
    write("/sys/class/infiniband/rxe1/parent", "eth3");
    write("/sys/class/infiniband/siw0/node_type", "4: RNIC");
    write("/sys/class/infiniband/siw0/ports/1/gids/0", "46e6:3c02:aabb:0000:0000:0000:0000:0000");
    write("/sys/class/net/eth7/address", "46:e6:3c:02:aa:bb");
    write("/sys/class/net/eth8/address", "46:e6:3c:02:aa:bc");
    EXPECT_EQ(to_text(kernel_devices(view)), "mlx5_0 (ib0), rxe0 (eth0), rxe1 (eth3), siw0 (eth7)");
    EXPECT_EQ(interface_text(view, "rxe0", 1), "eth0");
    EXPECT_EQ(interface_text(view, "siw0", 1), "eth7");
    EXPECT_EQ(interface_text(view, "nonesuch", 1), "INTERFACE");
}

TEST_F(KernelDevices, an_unknown_name_is_answered_with_those_there_are_and_the_nearest) {
    add_device("mlx5_0", "uverbs0", "ib0");
    add_device("rxe0", "uverbs1", "eth0");
    const DeviceFault fault = why_not_listed(view, "mlx5_O", {"mlx5_0", "soft0"});
    EXPECT_EQ(fault.cause, Cause::kUnknownDevice);
    EXPECT_EQ(fault.subject, "mlx5_O");
    EXPECT_EQ(fault.evidence, "mlx5_0, rxe0, soft0");
    EXPECT_EQ(fault.advice, "mlx5_0");
}

TEST_F(KernelDevices, without_ib_uverbs_no_program_can_use_them) {
    write("/sys/class/infiniband/rxe0/parent", "eth0");
    for (const DeviceFault& fault :
         {why_not_listed(view, "rxe0", {}), *why_no_device(view), why_no_rdma_cm(view, ENODEV)}) {
        EXPECT_EQ(fault.cause, Cause::kNoUverbs);
        EXPECT_EQ(fault.subject, "rxe0");
    }
}

TEST_F(KernelDevices, a_missing_device_file_is_named) {
    add_device("rxe0", "uverbs3", "eth0");
    files::remove(view.root + "/dev/infiniband/uverbs3");
    for (const DeviceFault& fault :
         {why_not_listed(view, "rxe0", {}), why_not_opened(view, "rxe0", ENOENT),
          why_no_device_behind(view, "eth0", ENODEV)}) {
        EXPECT_EQ(fault.cause, Cause::kNoNode);
        EXPECT_EQ(fault.subject, "/dev/infiniband/uverbs3");
        EXPECT_EQ(fault.evidence, "No such file or directory; it is needed for rxe0");
    }
    files::remove(view.root + "/dev/infiniband");
    EXPECT_EQ(why_not_listed(view, "rxe0", {}).cause, Cause::kNoNode);
}

TEST_F(KernelDevices, with_one_that_works_another_one_without_its_file_is_no_obstacle) {
    add_device("rxe0", "uverbs0", "eth0");
    add_device("rxe1", "uverbs1", "eth1");
    files::remove(view.root + "/dev/infiniband/uverbs0");
    EXPECT_FALSE(why_no_device(view));
}

TEST_F(KernelDevices, a_refused_device_file_is_told_with_mode_owner_and_group) {
    add_device("rxe0", "uverbs0", "eth0");
    chmod((view.root + "/dev/infiniband/uverbs0").c_str(), 0600);
    const DeviceFault fault = permission_fault(view, "/dev/infiniband/uverbs0", EACCES);
    EXPECT_EQ(fault.cause, Cause::kNoPermission);
    EXPECT_EQ(fault.subject, "/dev/infiniband/uverbs0");
    EXPECT_EQ(fault.evidence.find("Permission denied; mode 0600, owner "), 0u) << fault.evidence;
    EXPECT_NE(fault.evidence.find("; this process runs as "), std::string::npos);
}

TEST_F(KernelDevices, a_file_that_its_mode_would_give_is_kept_back_by_the_container) {
    add_device("rxe0", "uverbs0", "eth0");
    const DeviceFault fault = why_not_opened(view, "rxe0", EPERM);
    EXPECT_EQ(fault.cause, Cause::kNoPermission);
    EXPECT_NE(fault.advice.find("--device /dev/infiniband/uverbs0"), std::string::npos)
        << fault.advice;
}

TEST_F(KernelDevices, a_driver_that_libibverbs_lacks_and_a_device_that_fails_are_told_apart) {
    add_device("new0", "uverbs0", "eth0");
    EXPECT_EQ(why_not_listed(view, "new0", {}).cause, Cause::kNoUserDriver);
    const DeviceFault fault = why_not_opened(view, "new0", EIO);
    EXPECT_EQ(fault.cause, Cause::kDoesNotOpen);
    EXPECT_EQ(fault.evidence, "Input/output error");
}

TEST_F(KernelDevices, rdma_cm_lacks_its_module_or_its_file) {
    add_device("rxe0", "uverbs0", "eth0");
    EXPECT_EQ(why_no_rdma_cm(view, ENOENT).cause, Cause::kNoRdmaCm);
    EXPECT_EQ(why_no_rdma_cm(view, ENOENT).advice, "`modprobe rdma_ucm`");
    write("/sys/class/misc/rdma_cm/dev");
    EXPECT_EQ(why_no_rdma_cm(view, ENOENT).cause, Cause::kNoNode);
    EXPECT_EQ(why_no_rdma_cm(view, ENOENT).subject, "/dev/infiniband/rdma_cm");
    write("/dev/infiniband/rdma_cm");
    EXPECT_EQ(why_no_rdma_cm(view, EPERM).cause, Cause::kNoPermission);
    EXPECT_EQ(why_no_rdma_cm(view, EMFILE).cause, Cause::kLimit);
    EXPECT_EQ(why_no_rdma_cm(view, EIO).evidence, "Input/output error");
}

TEST_F(KernelDevices, an_interface_without_one_is_told_those_that_have_one) {
    add_device("rxe0", "uverbs0", "eth0");
    const DeviceFault fault = why_no_device_behind(view, "lo", ENODEV);
    EXPECT_EQ(fault.cause, Cause::kInterfaceWithoutDevice);
    EXPECT_EQ(fault.subject, "lo");
    EXPECT_EQ(fault.evidence, "rxe0 (eth0)");
    EXPECT_EQ(fault.advice, "`rdma link add rxe_lo type rxe netdev lo`");
    EXPECT_EQ(why_no_device_behind(view, "eth0", ENOMEM).cause, Cause::kLimit);
    EXPECT_EQ(why_no_device_behind(view, "eth0", EIO).cause, Cause::kDoesNotOpen);
}

TEST_F(KernelDevices, a_name_that_leads_to_no_address_is_a_device_an_interface_or_unknown) {
    add_device("rxe0", "uverbs0", "eth0");
    write("/sys/class/net/eth0/address");
    write("/sys/class/net/dummy0/address");
    const DeviceFault device = why_no_address(view, "rxe0", 0);
    EXPECT_EQ(device.cause, Cause::kNoAddress);
    EXPECT_EQ(device.subject, "eth0 of rxe0");
    EXPECT_EQ(device.advice, "eth0");
    EXPECT_EQ(why_no_address(view, "rxe0", 2).cause, Cause::kNoSuchPort);
    const DeviceFault interface = why_no_address(view, "dummy0", 0);
    EXPECT_EQ(interface.cause, Cause::kNoAddress);
    EXPECT_EQ(interface.subject, "dummy0");
    const DeviceFault unknown = why_no_address(view, "ethO", 0);
    EXPECT_EQ(unknown.cause, Cause::kUnknownName);
    EXPECT_EQ(unknown.evidence, "rxe0 (eth0)");
    EXPECT_EQ(unknown.advice, "did you mean eth0?");
    EXPECT_EQ(why_no_address(view, "192.0.2.1", 0).advice,
              "`ip address` lists this machine's addresses");
    files::remove(view.root + "/dev/infiniband/uverbs0");
    EXPECT_EQ(why_no_address(view, "ethO", 0).cause, Cause::kNoNode);
}

}  // namespace
