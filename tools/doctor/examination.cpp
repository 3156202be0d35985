// SPDX-License-Identifier: BSD-2-Clause
#include "tools/doctor/examination.hpp"

#include <sys/resource.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "dat/registry/lifetime.hpp"
#include "tools/common/libraries.hpp"
#include "tools/common/terminal.hpp"
#include "tools/doctor/ia.hpp"
#include "tools/doctor/libraries.hpp"
#include "tools/doctor/machine.hpp"
#include "tools/doctor/ports.hpp"
#include "tools/doctor/trial.hpp"
#include "tools/info/explanation.hpp"

namespace doctor {
namespace {

std::string first_ia() {
    const auto registry = dat::registry();
    if (!registry || registry->entries().empty()) return {};
    return registry->entries().front().key.ia_name;
}

std::vector<Record> records_in_use() {
    std::vector<Record> records;
    if (const auto registry = dat::registry())
        for (const auto& entry : registry->entries())
            for (const auto& candidate : entry.candidates)
                records.push_back({entry.key.ia_name, candidate.library, candidate.ia_params});
    return records;
}

class Examination {
  public:
    explicit Examination(const Options& options) : options_(options) {}

    Report run() {
        look_at_machine();
        look_at_libraries();
        report_.ia = options_.ia.empty() ? first_ia() : options_.ia;
        if (report_.ia.empty())
            look_without_ia();
        else
            look_at_ia();
        progress_.clear();
        return std::move(report_);
    }

  private:
    void begin(const char* what) {
        report_.checks.emplace_back(what);
        progress_.show(what);
    }

    void look_at_machine() {
        Findings& findings = report_.findings;
        begin("ports");
        report_.modules = kernel_modules(view_);
        report_.ports = ports(view_);
        begin("device files");
        check_devices(view_, findings);
        begin("records");
        check_records(view_, records_in_use(), findings);
        begin("locked memory");
        check_locked_memory(view_, dapl::locked_memory(), findings);
        begin("descriptors");
        rlimit limit{};
        getrlimit(RLIMIT_NOFILE, &limit);
        check_descriptors(limit.rlim_cur, findings);
        begin("fork");
        check_fork(view_, findings);
        begin("NUMA");
        check_numa(view_, findings);
        begin("rights between processes");
        const std::size_t before = findings.all().size();
        check_ptrace_scope(view_, geteuid() == 0, findings);
        if (findings.all().size() == before) check_copy(copy_between_processes(), findings);
        begin("shared memory");
        struct statvfs shared {};
        if (statvfs("/dev/shm", &shared) != 0) shared = {};
        check_shared_memory(std::uint64_t{shared.f_blocks} * shared.f_frsize,
                            std::uint64_t{shared.f_bavail} * shared.f_frsize, findings);
    }

    void look_at_libraries() {
        begin("libraries");
        const tools::FoundLibrary found = tools::find_libdat2("libdat2.so.2");
        if (found.file.empty())
            report_.findings.add(kNoLibdat2, found.error, "install it, then run ldconfig");
        else if (!found.opendat)
            report_.findings.add(kForeignLibdat2, found.file,
                                 "remove that package (`dpkg -S " + found.file +
                                     "`), or put OpenDAT's directory first in LD_LIBRARY_PATH or "
                                     "/etc/ld.so.conf.d");
        check_installed(view_, loader_directories(view_), report_.findings);
        for (const std::string& process : options_.processes)
            check_process(view_, process, report_.findings);
    }

    void look_without_ia() {
        const std::string file = dat::registry() ? dat::registry()->file().path : "no memory";
        report_.findings.add(kNoIa, file + " (MPI libraries report `dapl fabric is not available`)",
                             "dat_conf generate");
        // The other side must not wait for a transfer that will not happen.
        if (!options_.listen && options_.host.empty()) return;
        report_.here = side_of({});
        look_at_pair(false);
    }

    void look_at_ia() {
        begin("the IA");
        const info::KnownFacts facts = info::explain_ia(report_.ia, false);
        check_ia(report_.ia, facts, report_.findings);
        report_.here = side_of(facts);
        const bool opens = info::verdict_of(facts) != support::Standing::kFails;
        if (options_.listen || !options_.host.empty()) return look_at_pair(opens);
        if (!opens) return;
        begin("a transfer");
        try_alone(report_.ia, options_.seconds, report_.findings);
    }

    void look_at_pair(bool opens) {
        begin("the other machine");
        Link link(meet(), options_.seconds);
        link.send("opens", opens ? "yes" : "no");
        const bool theirs_opens = link.receive("opens") == "yes";
        report_.peer = exchange(link, *report_.here);
        const bool match = compare(*report_.here, *report_.peer, report_.findings);
        if (!theirs_opens)
            report_.findings.add(kTransferFails, "the other machine's IA cannot be opened",
                                 "see what dat_doctor reports there");
        if (!opens || !theirs_opens || !match) return;
        begin("a transfer");
        try_with_peer(report_.ia, options_.listen ? Role::kPassive : Role::kActive, std::move(link),
                      options_.seconds, report_.findings);
    }

    tools::Socket meet() {
        const tools::MeetingPoint point{"dat_doctor", options_.port, "dat_doctor --listen",
                                        "dat_doctor"};
        const tools::Deadline deadline(options_.seconds);
        if (options_.listen)
            return tools::accept_client(tools::listen_for_client(point), point, deadline);
        return tools::connect_to_server(options_.host, point, deadline);
    }

    const Options& options_;
    const View view_;
    Report report_;
    tools::Progress progress_;
};

}  // namespace

Report examine(const Options& options) {
    return Examination(options).run();
}

}  // namespace doctor
