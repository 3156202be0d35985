// SPDX-License-Identifier: BSD-2-Clause
// What dat_doctor finds on simulated machines, made of files below a temporary directory.
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>

#include "test/support/process.hpp"
#include "tools/doctor/ia.hpp"
#include "tools/doctor/libraries.hpp"
#include "tools/doctor/machine.hpp"
#include "tools/doctor/peer.hpp"
#include "tools/doctor/ports.hpp"
#include "tools/doctor/report.hpp"

namespace {

using namespace doctor;
namespace files = std::filesystem;

class Machine : public testing::Test {
  protected:
    Machine() { view_.root = directory_.path(); }

    void write(const std::string& path, const std::string& text) const {
        files::create_directories(files::path(view_.root + path).parent_path());
        std::ofstream(view_.root + path) << text;
    }
    /// Adds a usable RDMA device of the kernel.
    void add_device() const {
        write("/sys/class/infiniband/rxe0/ports/1/state", "4: ACTIVE");
        write("/sys/class/infiniband/rxe0/parent", "eth0");
        write("/sys/class/infiniband_verbs/uverbs0/ibdev", "rxe0");
        write("/dev/infiniband/uverbs0", "");
        write("/dev/infiniband/rdma_cm", "");
    }
    /// @return the ids of the findings, in order; each finding must have evidence and a fix.
    std::vector<std::string> ids() const {
        std::vector<std::string> all;
        for (const Finding& finding : findings_.all()) {
            EXPECT_NE(finding.evidence, "") << finding.kind->id;
            EXPECT_NE(finding.mend, "") << finding.kind->id;
            all.emplace_back(finding.kind->id);
        }
        return all;
    }
    const Finding& first() const { return findings_.all().at(0); }
    bool evidence_has(const std::string& text) const {
        return first().evidence.find(text) != std::string::npos;
    }
    bool mend_has(const std::string& text) const {
        return first().mend.find(text) != std::string::npos;
    }

    using Ids = std::vector<std::string>;
    test::TemporaryDirectory directory_;
    View view_;
    Findings findings_;
};

TEST_F(Machine, ports_are_shown_with_what_the_kernel_says_of_them) {
    const std::string adapter = "/sys/class/infiniband/mlx5_0/";
    for (const char* module : {"rdma_ucm", "ib_core", "nvme"})
        write(std::string("/sys/module/") + module + "/refcnt", "0");
    files::create_directories(view_.root + adapter + "device/driver");
    files::create_symlink("../../module/mlx5_ib", view_.root + adapter + "device/driver/module");
    write(adapter + "node_guid", "0002:c903:00ab:cdef\n");
    write(adapter + "hca_type", "MT4123\n");
    write(adapter + "fw_ver", "20.31.1014\n");
    write(adapter + "ports/1/state", "4: ACTIVE\n");
    write(adapter + "ports/1/phys_state", "5: LinkUp\n");
    write(adapter + "ports/1/rate", "100 Gb/sec (4X EDR)\n");
    write(adapter + "ports/1/link_layer", "InfiniBand\n");
    write(adapter + "ports/1/lid", "0x12\n");
    write(adapter + "ports/1/sm_lid", "0x1\n");
    write(adapter + "ports/2/state", "1: DOWN\n");
    add_device();
    EXPECT_EQ(kernel_modules(view_), (Ids{"ib_core", "rdma_ucm", "mlx5_ib"}));
    const std::vector<Port> found = ports(view_);
    ASSERT_EQ(found.size(), 3u);
    EXPECT_EQ(found[0].number, 1u);
    EXPECT_EQ(found[1].state, "DOWN");
    EXPECT_EQ(found[2].device, "rxe0");
    EXPECT_EQ(ports_text(kernel_modules(view_), found),
              "kernel: ib_core, rdma_ucm, mlx5_ib\n"
              "port mlx5_0/1: ACTIVE, LinkUp, 100 Gb/sec (4X EDR), InfiniBand, LID 0x12, subnet "
              "manager 0x1, node GUID 0002:c903:00ab:cdef, MT4123, firmware 20.31.1014\n"
              "port mlx5_0/2: DOWN, node GUID 0002:c903:00ab:cdef, MT4123, firmware 20.31.1014\n"
              "port rxe0/1 (eth0): ACTIVE\n");
}

TEST_F(Machine, without_RDMA_has_no_port_and_says_so) {
    EXPECT_TRUE(ports(view_).empty());
    EXPECT_EQ(ports_text(kernel_modules(view_), {}), "kernel: no RDMA module; no RDMA device\n");
}

TEST(DoctorCatalogue, every_finding_has_an_id_of_its_own_and_a_title) {
    std::set<std::string> seen;
    for (const Kind* kind : kCatalogue) {
        EXPECT_TRUE(seen.insert(kind->id).second) << kind->id;
        EXPECT_EQ(std::string(kind->id).size(), 7u) << kind->id;
        EXPECT_TRUE(std::string(kind->id).starts_with("DOC-0")) << kind->id;
        EXPECT_STRNE(kind->title, "") << kind->id;
    }
}

TEST(DoctorCatalogue, the_exit_status_is_0_for_nothing_3_for_warnings_and_1_for_errors) {
    Findings findings;
    EXPECT_EQ(findings.exit_status(), 0);
    findings.add(kFewDescriptors, "e", "m");
    EXPECT_EQ(findings.exit_status(), 3);
    findings.add(kTransferFails, "e", "m");
    EXPECT_EQ(findings.exit_status(), 1);
}

TEST_F(Machine, a_device_that_no_record_names_is_found) {
    add_device();
    check_records(view_, {{"soft0", "libdaplsoft.so.2", "soft0 0"}}, findings_);
    EXPECT_EQ(ids(), Ids{"DOC-005"});
    EXPECT_TRUE(evidence_has("rxe0 (eth0)"));
    EXPECT_TRUE(mend_has("dat_conf generate"));
    findings_ = {};
    for (const char* params : {"eth0 0", "rxe0 1", "10.0.0.1 0"})
        check_records(view_, {{"ia", "libdaplofa.so.2", params}}, findings_);
    EXPECT_EQ(ids(), Ids());
}

TEST_F(Machine, a_record_whose_interface_was_renamed_is_found) {
    add_device();
    const Record good{"good", "libdaplofa.so.2", "eth0 0"};
    check_records(view_, {good, {"old", "libdaplofa.so.2", "ib0 0"}}, findings_);
    EXPECT_EQ(ids(), Ids{"DOC-006"});
    EXPECT_TRUE(evidence_has("old names ib0; the devices are rxe0 (eth0)"));
    EXPECT_TRUE(evidence_has("open_hca: getaddr_netdev failed"));
    EXPECT_TRUE(mend_has("ip link"));
}

TEST_F(Machine, without_rdma_devices_or_with_usable_ones_has_nothing_wrong_with_its_device_files) {
    check_devices(view_, findings_);
    add_device();
    check_devices(view_, findings_);
    EXPECT_EQ(ids(), Ids());
}

TEST_F(Machine, a_missing_device_node_is_found_with_what_makes_it) {
    add_device();
    files::remove(view_.root + "/dev/infiniband/uverbs0");
    check_devices(view_, findings_);
    ASSERT_EQ(ids(), Ids{"DOC-020"});
    EXPECT_TRUE(evidence_has("/dev/infiniband/uverbs0"));
    EXPECT_TRUE(mend_has("udevadm trigger"));
}

TEST_F(Machine, a_device_node_without_rights_is_found_with_the_command_that_gives_them) {
    if (geteuid() == 0) GTEST_SKIP() << "root may open every file";
    add_device();
    files::permissions(view_.root + "/dev/infiniband/uverbs0", files::perms::none);
    check_devices(view_, findings_);
    ASSERT_EQ(ids(), Ids{"DOC-020"});
    EXPECT_TRUE(evidence_has("mode 0000"));
    EXPECT_TRUE(mend_has("chmod 666"));
}

TEST_F(Machine, a_device_that_programs_cannot_reach_and_a_missing_rdma_cm_are_found) {
    add_device();
    files::remove_all(view_.root + "/sys/class/infiniband_verbs");
    files::remove(view_.root + "/dev/infiniband/rdma_cm");
    check_devices(view_, findings_);
    ASSERT_EQ(ids(), (Ids{"DOC-020", "DOC-021"}));
    EXPECT_TRUE(mend_has("modprobe ib_uverbs"));
    EXPECT_NE(findings_.all()[1].mend.find("modprobe rdma_ucm"), std::string::npos);
}

TEST_F(Machine, little_locked_memory_is_found_with_limit_and_need_where_a_device_locks_any) {
    const dapl::LockedMemory little{8 << 20, 4096, 0};
    check_locked_memory(view_, little, findings_);
    EXPECT_EQ(ids(), Ids());
    add_device();
    check_locked_memory(view_, {dapl::LockedMemory::kUnlimited, 4096, 0}, findings_);
    EXPECT_EQ(ids(), Ids());
    check_locked_memory(view_, little, findings_);
    ASSERT_EQ(ids(), Ids{"DOC-022"});
    EXPECT_TRUE(evidence_has("8192 KiB"));
    EXPECT_TRUE(evidence_has("need 65536 KiB"));
    EXPECT_TRUE(mend_has("ulimit -l"));
}

TEST_F(Machine, a_kernel_that_does_not_copy_at_a_fork_is_found_unless_verbs_were_told) {
    add_device();
    write("/proc/sys/kernel/osrelease", "5.12.0-1\n");
    check_fork(view_, findings_);
    EXPECT_EQ(ids(), Ids());
    write("/proc/sys/kernel/osrelease", "5.4.0-100-generic\n");
    write("/proc/self/environ", std::string("A=b\0RDMAV_FORK_SAFE=1\0", 22));
    check_fork(view_, findings_);
    EXPECT_EQ(ids(), Ids());
    write("/proc/self/environ", std::string("A=b\0", 4));
    check_fork(view_, findings_);
    ASSERT_EQ(ids(), Ids{"DOC-023"});
    EXPECT_TRUE(mend_has("RDMAV_FORK_SAFE=1"));
}

TEST_F(Machine, few_descriptors_are_found) {
    check_descriptors(1024, findings_);
    EXPECT_EQ(ids(), Ids());
    check_descriptors(256, findings_);
    EXPECT_EQ(ids(), Ids{"DOC-024"});
}

TEST_F(Machine, processors_on_another_numa_node_than_the_device_are_found) {
    add_device();
    write("/sys/class/infiniband/rxe0/device/numa_node", "1\n");
    write("/sys/class/infiniband/rxe0/device/local_cpulist", "8-15\n");
    write("/proc/self/status", "Name:\tx\nCpus_allowed_list:\t0-15\n");
    check_numa(view_, findings_);
    EXPECT_EQ(ids(), Ids());
    write("/proc/self/status", "Name:\tx\nCpus_allowed_list:\t0-3,6\n");
    check_numa(view_, findings_);
    ASSERT_EQ(ids(), Ids{"DOC-025"});
    EXPECT_TRUE(evidence_has("node 1"));
    EXPECT_TRUE(mend_has("numactl --cpunodebind=1 --membind=1"));
}

TEST_F(Machine, lists_of_processors_are_read_and_what_is_none_is_empty) {
    EXPECT_EQ(parse_cpu_list("0-2,5"), (std::vector<int>{0, 1, 2, 5}));
    for (const char* text : {"", "x", "3-1", "-1", "0-999999999", "1,,2"})
        EXPECT_TRUE(parse_cpu_list(text).empty()) << text;
}

TEST_F(Machine, rights_between_processes_follow_yama_and_root) {
    check_ptrace_scope(view_, false, findings_);
    write("/proc/sys/kernel/yama/ptrace_scope", "0\n");
    check_ptrace_scope(view_, false, findings_);
    write("/proc/sys/kernel/yama/ptrace_scope", "1\n");
    check_ptrace_scope(view_, true, findings_);
    EXPECT_EQ(ids(), Ids());
    check_ptrace_scope(view_, false, findings_);
    ASSERT_EQ(ids(), Ids{"DOC-040"});
    EXPECT_TRUE(evidence_has("ptrace_scope is 1"));
    EXPECT_TRUE(mend_has("sysctl kernel.yama.ptrace_scope=0"));
    write("/proc/sys/kernel/yama/ptrace_scope", "3\n");
    check_ptrace_scope(view_, true, findings_);
    EXPECT_EQ(ids(), (Ids{"DOC-040", "DOC-040"}));
}

TEST_F(Machine, a_copy_between_processes_that_a_container_forbids_is_found) {
    check_copy(0, findings_);
    EXPECT_EQ(ids(), Ids());
    check_copy(EPERM, findings_);
    ASSERT_EQ(ids(), Ids{"DOC-040"});
    EXPECT_TRUE(evidence_has("Operation not permitted"));
    EXPECT_TRUE(mend_has("SYS_PTRACE"));
}

TEST_F(Machine, little_or_no_shared_memory_is_found) {
    check_shared_memory(1ULL << 30, 1ULL << 30, findings_);
    EXPECT_EQ(ids(), Ids());
    check_shared_memory(64 << 20, 1 << 20, findings_);
    check_shared_memory(0, 0, findings_);
    ASSERT_EQ(ids(), (Ids{"DOC-041", "DOC-041"}));
    EXPECT_TRUE(evidence_has("65536 KiB, of which 1024 KiB are free"));
    EXPECT_TRUE(mend_has("--shm-size"));
    EXPECT_EQ(findings_.all()[1].evidence, "/dev/shm does not exist");
}

TEST_F(Machine, a_soname_in_two_of_the_loaders_directories_is_found_with_the_first) {
    write("/proc/self/environ", std::string("LD_LIBRARY_PATH=/opt/dat::/nowhere\0", 35));
    write("/etc/ld.so.conf", "include ld.so.conf.d/*.conf\n# /opt/no\n");
    write("/etc/ld.so.conf.d/local.conf", "/usr/local/lib\n");
    write("/opt/dat/libdat2.so.2", "");
    write("/usr/local/lib/libdaplsoft.so.2", "");
    write("/usr/lib/libdat2.so.2", "");
    write("/opt/dat/libdaplofa.so.2", "");
    write("/usr/lib/libdaplofa.so.2", "");
    const auto directories = loader_directories(view_);
    ASSERT_EQ(directories, (std::vector<std::string>{"/opt/dat", "/usr/local/lib", "/usr/lib"}));
    check_installed(view_, directories, findings_);
    ASSERT_EQ(ids(), Ids{"DOC-012"});
    EXPECT_EQ(first().evidence, "libdat2.so.2, libdaplofa.so.2 are in /opt/dat, then /usr/lib");
}

TEST_F(Machine, one_directory_under_two_names_is_one) {
    write("/usr/lib/libdat2.so.2", "");
    files::create_symlink("usr/lib", view_.root + "/lib");
    check_installed(view_, loader_directories(view_), findings_);
    EXPECT_EQ(ids(), Ids());
}

TEST_F(Machine, ours_and_the_references_libraries_in_one_process_are_found) {
    const std::string one = "7f00-7f01 r-xp 00000000 08:01 12 /usr/lib/libdat2.so.2.0.0\n";
    write("/proc/4711/maps",
          one + one + "7f02-7f03 r-xp 00000000 08:01 12 /usr/lib/libdaplofa.so.2.0.0\n");
    check_process(view_, "4711", findings_);
    EXPECT_EQ(ids(), Ids());
    write("/proc/4711/maps", one + "7f04-7f05 r-xp 00000000 08:01 13 /opt/dat/libdat2.so.2\n");
    check_process(view_, "4711", findings_);
    ASSERT_EQ(ids(), Ids{"DOC-015"});
    EXPECT_TRUE(evidence_has("/opt/dat/libdat2.so.2, /usr/lib/libdat2.so.2.0.0"));
}

TEST_F(Machine, a_library_that_was_replaced_while_a_process_runs_is_found) {
    write("/proc/4711/maps",
          "7f00-7f01 r-xp 00000000 08:01 12 /usr/lib/libdaplsoft.so.2.0.0 (deleted)\n");
    check_process(view_, "4711", findings_);
    ASSERT_EQ(ids(), Ids{"DOC-016"});
    EXPECT_TRUE(mend_has("restart the program"));
}

using support::Standing;

TEST_F(Machine, what_the_dry_run_of_an_ia_says_becomes_findings_and_nothing_twice) {
    check_ia("ia",
             {{"device", "rxe0", "x", Standing::kWorks, ""},
              {"locked_memory", "64 KiB", "x", Standing::kDegraded, "the machine's check tells"},
              {"port_state", "down", "x", Standing::kDegraded, "ip link set eth0 up"},
              {"message", "port 1 is down [DAT248]", "x", Standing::kDegraded, "the same"},
              {"gid", "index 0: fe80::1 (RoCE v2)", "x", Standing::kDegraded, "give an address"},
              {"release", "0.0.9", "x", Standing::kDegraded, "install one release"},
              {"library_version", "2.0.0", "x", Standing::kWorks, "it is not OpenDAT's"},
              {"bad_record", "f:1:2", "x", Standing::kWorks, "not used"},
              {"message", "IA ia cannot be opened [DAT243]", "x", Standing::kFails, "correct it"}},
             findings_);
    EXPECT_EQ(ids(), (Ids{"DOC-030", "DOC-031", "DOC-014", "DOC-013", "DOC-004", "DOC-002"}));
    EXPECT_EQ(findings_.exit_status(), 1);
}

TEST_F(Machine, the_two_of_a_pair_are_compared) {
    const Side here{"0.1.0",    "CMA",        "rxe0",
                    "RoCE",     "1024 bytes", "index 1: ::ffff:10.0.0.1 (RoCE v2)",
                    "10.0.0.1", "a"};
    Side there = here;
    there.boot = "b";
    EXPECT_TRUE(compare(here, there, findings_));
    EXPECT_EQ(ids(), Ids());
    compare(here,
            {"0.2.0", "SCM", "siw0", "iWARP", "4096 bytes", "index 0: fe80::1 (RoCE v2)", "", "b"},
            findings_);
    EXPECT_EQ(ids(), (Ids{"DOC-050", "DOC-051", "DOC-054", "DOC-052", "DOC-053"}));
    compare(here, Side{}, findings_);
    EXPECT_EQ(ids().size(), 5u);
    there.device = "soft0";
    EXPECT_FALSE(compare(here, there, findings_));
    EXPECT_EQ(ids().back(), "DOC-055");
}

TEST_F(Machine, two_fabrics_of_one_machine_are_found_by_what_they_are_not_by_their_paths) {
    Side here, there;
    here.boot = there.boot = "a";
    here.fabric = "/dev/shm/softverbs-0 (device 5, inode 7)";
    there.fabric = "/mnt/fabric (device 5, inode 7)";
    EXPECT_TRUE(compare(here, there, findings_));
    there.fabric = "/dev/shm/softverbs-0 (device 9, inode 7)";
    EXPECT_FALSE(compare(here, there, findings_));
    EXPECT_EQ(ids(), Ids{"DOC-056"});
}

class DoctorLink : public testing::Test {
  protected:
    DoctorLink() {
        EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends_), 0);
    }
    ~DoctorLink() override { close(ends_[1]); }
    std::string failure(const std::string& sent) {
        EXPECT_EQ(::send(ends_[1], sent.data(), sent.size(), 0), static_cast<ssize_t>(sent.size()));
        Link link(tools::Socket(ends_[0]), 60);
        try {
            return "it accepts " + link.receive("at");
        } catch (const std::exception& refused) {
            return refused.what();
        }
    }
    int ends_[2];
};

TEST_F(DoctorLink, refuses_a_line_without_an_end) {
    EXPECT_NE(failure(std::string(2000, 'x')).find("a line without an end"), std::string::npos);
}

TEST_F(DoctorLink, refuses_a_line_of_another_kind) {
    EXPECT_NE(failure("to 1 2\n").find("something else: expected 'at'"), std::string::npos);
}

TEST_F(DoctorLink, passes_on_the_other_sides_failure_made_printable) {
    EXPECT_NE(failure("failed no \x1b[2Jdevice\n").find("no ?[2Jdevice"), std::string::npos);
}

}  // namespace
