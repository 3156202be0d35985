// SPDX-License-Identifier: BSD-2-Clause
#include "tools/conf/machine.hpp"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <tuple>

#include "device/kernel_devices.hpp"
#include "tools/common/libraries.hpp"
#include "tools/conf/other_ages.hpp"

namespace conf {
namespace {

std::string version_text(const dat::ConfRecord& record) {
    return fmt::format("{}{}.{}", record.kernel ? 'k' : 'u', record.major, record.minor);
}

class Check {
  public:
    Check(File& file, const std::string& root, Places& places)
        : file_(file), view_{root}, devices_(dapl::cm::kernel_devices(view_)), places_(places) {}

    void run() {
        for (const dat::ConfRecord& record : file_.records) {
            if (modernised(record) || !check_openable(record)) continue;  // the former was reported
            check_name(record);
            check_library(record);
            check_device(record);
        }
    }

  private:
    void add(const dat::ConfRecord& record, std::string text, std::string hint) {
        file_.problems.push_back({record.line, 1, std::move(text), std::move(hint), false});
    }

    bool check_openable(const dat::ConfRecord& record) {
        const char* why = nullptr;
        if (record.kernel) why = "it is for kernel programs";
        if (record.major != 1 && record.major != 2) why = "no program asks for this API version";
        if (!record.is_default) why = "it is marked nondefault";
        if (!why) return true;
        add(record,
            fmt::format("no program can open {} {}: {}", record.ia_name, version_text(record), why),
            "remove it, or write u2.0 and default");
        return false;
    }

    void check_name(const dat::ConfRecord& record) {
        const std::string key = fmt::format("{} {} {}", record.ia_name, version_text(record),
                                            record.thread_safe ? "threadsafe" : "nonthreadsafe");
        const auto [first, is_new] =
            places_.emplace(key, fmt::format("{}:{}", file_.path, record.line));
        if (is_new) return;
        add(record,
            fmt::format("{} is also in {}: this record is used only where the library of that one "
                        "cannot be loaded",
                        record.ia_name, first->second),
            "give it another name, or remove one of the two");
    }

    void check_library(const dat::ConfRecord& record) {
        // A path is checked independently of the machine, and a typing error has its own hint.
        const auto told = [&](const Problem& problem) {
            return problem.line == record.line &&
                   problem.text.find("lib_path of") != std::string::npos;
        };
        if (std::ranges::any_of(file_.problems, told)) return;
        const auto found = libraries_.find(record.library);
        const std::string error =
            found != libraries_.end()
                ? found->second
                : libraries_.emplace(record.library, tools::find_libdat2(record.library).error)
                      .first->second;
        if (error.empty()) return;
        add(record,
            fmt::format("lib_path of {} is '{}', which cannot be loaded: {}", record.ia_name,
                        record.library, error),
            "install it, run ldconfig as root or set LD_LIBRARY_PATH, or name another library");
    }

    void check_device(const dat::ConfRecord& record) {
        const std::string file = record.library.substr(record.library.rfind('/') + 1);
        const bool by_interface = file.starts_with("libdaplofa.so");
        const bool by_port =
            file.starts_with("libdaploscm.so") || file.starts_with("libdaploucm.so");
        if (!by_interface && !by_port) return;
        const std::string name = record.ia_params.substr(0, record.ia_params.find(' '));
        if (by_interface ? names_interface(name) : names_port(record, name)) return;
        const std::string there = devices_.empty() ? std::string("there is no RDMA device")
                                                   : "RDMA devices: " + dapl::cm::to_text(devices_);
        add(record,
            fmt::format("device of {} is '{}', which is not {} ({})", record.ia_name, name,
                        by_interface && is_interface(name) ? "an interface of an RDMA device"
                                                           : "on this machine",
                        there),
            "name one that exists; `dat_conf generate` prints records for this machine");
    }

    bool is_interface(const std::string& name) const {
        return name.find('/') == std::string::npos &&
               access((view_.root + "/sys/class/net/" + name).c_str(), F_OK) == 0;
    }

    bool names_interface(const std::string& name) const {
        return dapl::cm::is_for_resolver(name) ||
               std::ranges::any_of(devices_, [&](const dapl::cm::KernelDevice& device) {
                   return dapl::cm::is_named(device, name);
               });
    }

    bool names_port(const dat::ConfRecord& record, const std::string& name) const {
        const std::size_t blank = record.ia_params.find(' ');
        const std::string port =
            blank == std::string::npos ? "1" : record.ia_params.substr(blank + 1);
        const std::string path = view_.root + "/sys/class/infiniband/" + name + "/ports/" + port;
        return name == "soft0" || access(path.c_str(), F_OK) == 0;
    }

    File& file_;
    const dapl::cm::KernelView view_;
    const std::vector<dapl::cm::KernelDevice> devices_;
    Places& places_;
    std::map<std::string, std::string> libraries_;  ///< the loader's error for each
};

}  // namespace

void check_machine(File& file, const std::string& root, Places& places) {
    Check(file, root, places).run();
    std::ranges::stable_sort(file.problems, {}, [](const Problem& problem) {
        return std::tie(problem.line, problem.column);
    });
}

}  // namespace conf
