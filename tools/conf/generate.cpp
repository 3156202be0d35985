// SPDX-License-Identifier: BSD-2-Clause
#include "tools/conf/generate.hpp"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <system_error>

#include "device/kernel_devices.hpp"
#include "tools/conf/record_text.hpp"

namespace conf {
namespace {

namespace fs = std::filesystem;

std::string first_line(const fs::path& path) {
    std::ifstream file(path);
    std::string line;
    std::getline(file, line);
    return line;
}

std::vector<int> ports_of(const fs::path& device) {
    std::vector<int> ports;
    std::error_code ignored;
    for (const auto& entry : fs::directory_iterator(device / "ports", ignored)) {
        const std::string name = entry.path().filename();
        if (!name.empty() && name.size() < 4 && std::ranges::all_of(name, ::isdigit))
            ports.push_back(std::stoi(name));
    }
    std::ranges::sort(ports);
    return ports;
}

/// @return whether the node type is "4: RNIC", a device that connects only through rdma_cm.
bool is_iwarp(const fs::path& device) {
    return first_line(device / "node_type").starts_with("4");
}

void add_device(const std::string& root, const dapl::cm::KernelDevice& device,
                std::vector<dat::ConfRecord>& by_interface, std::vector<dat::ConfRecord>& by_port,
                std::vector<dat::ConfRecord>& by_datagrams) {
    for (const std::string& interface : device.interfaces)
        by_interface.push_back(
            make_record("ofa-v2-" + interface, "libdaplofa.so.2", interface + " 0"));
    const fs::path directory = root + "/sys/class/infiniband/" + device.name;
    if (is_iwarp(directory)) return;
    for (const int port : ports_of(directory)) {
        const std::string number = std::to_string(port);
        const std::string name = "ofa-v2-" + device.name + "-" + number;
        const std::string params = device.name + " " + number;
        by_port.push_back(make_record(name, "libdaploscm.so.2", params));
        by_datagrams.push_back(make_record(name + "u", "libdaploucm.so.2", params));
    }
}

}  // namespace

dat::ConfRecord make_record(const std::string& ia_name, const std::string& library,
                            const std::string& ia_params) {
    dat::ConfRecord record;
    record.ia_name = ia_name;
    record.major = 2;
    record.is_default = true;
    record.library = library;
    record.ia_params = ia_params;
    record.provider_version = "dapl.2.0";
    return record;
}

std::vector<dat::ConfRecord> records_of_machine(const std::string& root) {
    std::vector<dat::ConfRecord> all, by_port, by_datagrams;
    for (const dapl::cm::KernelDevice& device : dapl::cm::kernel_devices({root}))
        add_device(root, device, all, by_port, by_datagrams);
    all.insert(all.end(), by_port.begin(), by_port.end());
    all.insert(all.end(), by_datagrams.begin(), by_datagrams.end());
    for (const char* name : {"soft0", "ofa-v2-lo"})
        all.push_back(make_record(name, "libdaplsoft.so.2", "soft0 0"));
    return all;
}

std::string file_text(const std::vector<dat::ConfRecord>& records, bool yaml) {
    std::string text =
        yaml ? "# opendat.yaml, made by dat_conf generate. See opendat.yaml(5).\nias:\n"
             : "# dat.conf, made by dat_conf generate. See dat.conf(5).\n";
    for (const dat::ConfRecord& record : records)
        text += yaml ? yaml_entry(record, "  ") : dat_conf_line(record) + '\n';
    return text;
}

}  // namespace conf
