// SPDX-License-Identifier: BSD-2-Clause
#include "providers/soft/softverbs/sysfs/entries.hpp"

#include <endian.h>
#include <fmt/format.h>
#include <net/if.h>
#include <unistd.h>

#include <charconv>

#include "support/base/text_file.hpp"

namespace softverbs {
namespace {

/// Counters of what cannot happen to this device: it has no wire, and nothing is lost, repeated or
/// out of order on the way between two memories. Nothing counts what travels, so there are no
/// counters of data.
constexpr const char* kPortConstants[] = {"VL15_dropped",
                                          "excessive_buffer_overrun_errors",
                                          "link_error_recovery",
                                          "local_link_integrity_errors",
                                          "port_rcv_remote_physical_errors",
                                          "symbol_error"};
constexpr const char* kHardwareConstants[] = {"duplicate_request", "implied_nak_seq_err",
                                              "out_of_sequence", "packet_seq_err"};
constexpr std::size_t kLongestList = 4096;  ///< a file of sysfs is a page at most

std::string device_folder(unsigned device) {
    return fmt::format("devices/softverbs/softverbs{}", device);
}

std::string verbs_folder(unsigned device) {
    return fmt::format("{}/infiniband/{}", device_folder(device), device_name(device));
}

/// Adds files and links to one folder.
class Folder {
  public:
    Folder(Entries& entries, std::string path) : entries_(entries), path_(std::move(path)) {}

    void file(const std::string& name, const std::string& text) {
        entries_.push_back({path_ + "/" + name, text + "\n"});
    }
    void link(const std::string& name, const std::string& target) {
        entries_.push_back({path_ + "/" + name, target, true});
    }

  private:
    Entries& entries_;
    const std::string path_;
};

std::string words_of(const std::uint8_t* bytes, std::size_t count) {
    std::string text;
    for (std::size_t at = 0; at < count; at += 2)
        text += fmt::format("{}{:02x}{:02x}", at == 0 ? "" : ":", bytes[at], bytes[at + 1]);
    return text;
}

std::string guid_text(__be64 guid) {
    return words_of(reinterpret_cast<const std::uint8_t*>(&guid), sizeof guid);
}

/// The kernel has one name for the types of InfiniBand and RoCE v1.
const char* gid_type_text(std::uint32_t type) {
    return type == IBV_GID_TYPE_ROCE_V2 ? "RoCE v2" : "IB/RoCE v1";
}

const char* link_layer_text(std::uint8_t layer) {
    return layer == IBV_LINK_LAYER_ETHERNET ? "Ethernet" : "InfiniBand";
}

std::string state_text(unsigned state) {
    constexpr const char* kNames[] = {"NOP", "DOWN", "INIT", "ARMED", "ACTIVE", "ACTIVE_DEFER"};
    return fmt::format("{}: {}", state, state < std::size(kNames) ? kNames[state] : "<unknown>");
}

std::string physical_state_text(unsigned state) {
    constexpr const char* kNames[] = {"<unknown>",
                                      "Sleep",
                                      "Polling",
                                      "Disabled",
                                      "PortConfigurationTraining",
                                      "LinkUp",
                                      "LinkErrorRecovery",
                                      "Phy Test"};
    return fmt::format("{}: {}", state, kNames[state < std::size(kNames) ? state : 0]);
}

std::string online_processors() {
    auto list = support::read_text_file("/sys/devices/system/cpu/online", kLongestList);
    if (!list || list->empty()) return fmt::format("0-{}", sysconf(_SC_NPROCESSORS_ONLN) - 1);
    return list->substr(0, list->find('\n'));
}

/// The device stands on no bus, and its memory is that of the processes that use it: it is on no
/// node, and near to all processors.
void add_parent(Entries& entries, unsigned device, const ibv_device_attr& attributes) {
    Folder folder(entries, device_folder(device));
    const std::string processors = online_processors();
    folder.file("vendor", fmt::format("0x{:04x}", attributes.vendor_id));
    folder.file("device", fmt::format("0x{:04x}", attributes.vendor_part_id));
    folder.file("numa_node", "-1");
    folder.file("local_cpulist", processors);
    folder.file("local_cpus", processor_mask(processors));
}

/// @return empty if the entry has no interface, or one that this network does not have
std::string interface_of(const ibv_gid_entry& entry) {
    char name[IF_NAMESIZE];
    return entry.ndev_ifindex != 0 && if_indextoname(entry.ndev_ifindex, name) ? name : "";
}

/// The interface whose addresses are the port's GIDs, as the kernel has it below an adapter.
void add_interface(Entries& entries, std::uint64_t hash, unsigned device) {
    const auto entry = describe_gid(hash, {device, 1}, 0);
    const std::string interface = entry ? interface_of(*entry) : "";
    if (!interface.empty())
        Folder(entries, device_folder(device))
            .link("net/" + interface, "/sys/class/net/" + interface);
}

void add_gids(Entries& entries, std::uint64_t hash, PortId port, int count) {
    Folder folder(entries, port_folder(port));
    for (int index = 0; index < count; ++index) {
        const auto entry = describe_gid(hash, port, static_cast<unsigned>(index));
        if (!entry) continue;
        folder.file(fmt::format("gids/{}", index), words_of(entry->gid.raw, sizeof entry->gid.raw));
        folder.file(fmt::format("gid_attrs/types/{}", index), gid_type_text(entry->gid_type));
        if (const std::string interface = interface_of(*entry); !interface.empty())
            folder.file(fmt::format("gid_attrs/ndevs/{}", index), interface);
    }
}

void add_counters(Folder& folder) {
    for (const char* name : kPortConstants) folder.file(fmt::format("counters/{}", name), "0");
    for (const char* name : kHardwareConstants)
        folder.file(fmt::format("hw_counters/{}", name), "0");
}

void add_port(Entries& entries, std::uint64_t hash, PortId port) {
    const ibv_port_attr attributes = describe_port({hash, {}}, port);
    Folder folder(entries, port_folder(port));
    folder.file("cap_mask", fmt::format("0x{:08x}", attributes.port_cap_flags));
    folder.file("lid", fmt::format("0x{:x}", attributes.lid));
    folder.file("lid_mask_count", fmt::format("{}", attributes.lmc));
    folder.file("link_layer", link_layer_text(attributes.link_layer));
    folder.file("rate", rate_text(attributes.active_width, attributes.active_speed));
    folder.file("sm_lid", fmt::format("0x{:x}", attributes.sm_lid));
    folder.file("sm_sl", fmt::format("{}", attributes.sm_sl));
    for (unsigned index = 0; index < attributes.pkey_tbl_len; ++index)
        if (const auto pkey = pkey_at(index))
            folder.file(fmt::format("pkeys/{}", index), fmt::format("0x{:04x}", be16toh(*pkey)));
    add_gids(entries, hash, port, attributes.gid_tbl_len);
    add_counters(folder);
}

void add_device(Entries& entries, std::uint64_t hash, unsigned device, unsigned ports) {
    const ibv_device_attr attributes = describe_device(hash, device);
    add_parent(entries, device, attributes);
    add_interface(entries, hash, device);
    Folder folder(entries, verbs_folder(device));
    folder.file("node_type", fmt::format("{}: CA", static_cast<int>(IBV_NODE_CA)));
    folder.file("node_guid", guid_text(attributes.node_guid));
    folder.file("sys_image_guid", guid_text(attributes.sys_image_guid));
    folder.file("node_desc", device_name(device) + " softverbs");
    folder.file("fw_ver", attributes.fw_ver);
    folder.file("hca_type", "softverbs");
    folder.file("board_id", "softverbs");
    folder.file("hw_rev", fmt::format("{:x}", attributes.hw_ver));
    folder.link("device", fmt::format("../../../softverbs{}", device));
    folder.link("subsystem", "../../../../../class/infiniband");
    for (unsigned port = 1; port <= ports; ++port) add_port(entries, hash, {device, port});
    Folder(entries, "class/infiniband").link(device_name(device), "../../" + verbs_folder(device));
}

}  // namespace

std::string port_folder(PortId port) {
    return fmt::format("{}/ports/{}", verbs_folder(port.device), port.port);
}

Entries lasting_entries(std::uint64_t fabric_hash, unsigned devices, unsigned ports) {
    Entries entries;
    for (unsigned device = 0; device < devices; ++device)
        add_device(entries, fabric_hash, device, ports);
    return entries;
}

Entries changing_entries(const FabricView& fabric, const LinkLosses& losses, PortId port) {
    Entries entries;
    const ibv_port_attr attributes = describe_port(fabric, port);
    Folder folder(entries, port_folder(port));
    folder.file("state", state_text(attributes.state));
    folder.file("phys_state", physical_state_text(attributes.phys_state));
    folder.file("counters/link_downed", fmt::format("{}", losses[port.index()]));
    return entries;
}

std::string processor_mask(const std::string& list) {
    std::vector<std::uint32_t> words(1);
    const char* at = list.data();
    const char* const end = at + list.size();
    while (at < end) {
        unsigned first = 0, last = 0;
        at = std::from_chars(at, end, first).ptr;
        last = first;
        if (at < end && *at == '-') at = std::from_chars(at + 1, end, last).ptr;
        if (last >= 8 * kLongestList) break;
        if (last / 32 >= words.size()) words.resize(last / 32 + 1);
        for (; first <= last; ++first) words[first / 32] |= 1u << first % 32;
        if (at < end) ++at;
    }
    std::string text = fmt::format("{:x}", words.back());
    for (std::size_t word = words.size() - 1; word-- > 0;)
        text += fmt::format(",{:08x}", words[word]);
    return text;
}

std::string rate_text(unsigned width, unsigned speed) {
    struct Speed {
        unsigned code, tenths_of_gigabits;
        const char* name;
    };
    constexpr Speed kSpeeds[] = {{1, 25, "SDR"},    {2, 50, "DDR"},    {4, 100, "QDR"},
                                 {8, 100, "FDR10"}, {16, 140, "FDR"},  {32, 250, "EDR"},
                                 {64, 500, "HDR"},  {128, 1000, "NDR"}};
    constexpr unsigned kLanes[][2] = {{1, 1}, {2, 4}, {4, 8}, {8, 12}, {16, 2}};
    Speed found = kSpeeds[0];
    unsigned lanes = 0;
    for (const Speed& known : kSpeeds)
        if (known.code == speed) found = known;
    for (const auto& [code, count] : kLanes)
        if (code == width) lanes = count;
    const unsigned rate = lanes * found.tenths_of_gigabits;
    return fmt::format("{}{} Gb/sec ({}X {})", rate / 10, rate % 10 ? ".5" : "", lanes, found.name);
}

}  // namespace softverbs
