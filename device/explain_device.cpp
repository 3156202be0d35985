// SPDX-License-Identifier: BSD-2-Clause
#include "device/explain_device.hpp"

#include <fmt/core.h>

#include "device/kernel_devices.hpp"
#include "support/settings/setting_sources.hpp"

namespace dapl::cm {
namespace {

using support::Standing;

/// A link-local address reaches its own network segment only.
bool is_link_local(const ibv_gid& gid) {
    return gid.raw[0] == 0xfe && (gid.raw[1] & 0xc0) == 0x80;
}

Standing standing_of(const verbs::GidChoice& gid) {
    const bool roce = gid.type != IBV_GID_TYPE_IB;
    return roce && (gid.type == IBV_GID_TYPE_ROCE_V1 || is_link_local(gid.gid))
               ? Standing::kDegraded
               : Standing::kWorks;
}

void explain_gid(const support::Facts& facts, const DeviceChoice& choice,
                 const verbs::RankedGid& ranked) {
    const verbs::GidChoice& entry = ranked.entry;
    const std::string value = fmt::format("index {}: {} ({})", entry.index,
                                          verbs::to_text(entry.gid), verbs::to_text(entry.type));
    if (!ranked.chosen)
        return facts.note("gid_entry", value, "device", "not used: " + ranked.why_not);
    const std::string source = entry.reason == verbs::GidReason::kSetting
                                   ? source_of(support::Setting::kGidIndex, facts.ia_name())
                               : entry.reason == verbs::GidReason::kBoundAddress ? "rdma_cm"
                                                                                 : "default";
    const Standing standing = standing_of(entry);
    std::string note = std::string("used: ") + verbs::to_text(entry.reason);
    if (standing == Standing::kDegraded)
        note += fmt::format(
            "; it reaches its own network segment only: give {} an IP address (`ip address add`)",
            interface_text(KernelView(), choice.device, choice.port));
    facts.add("gid", value, source, standing, note);
}

void explain_mtu(const support::Facts& facts, ibv_context* context, const DeviceChoice& choice) {
    ibv_port_attr port{};
    const bool known = ibv_query_port(context, choice.port, &port) == 0;
    const bool could_be_larger = known && port.max_mtu > choice.mtu;
    facts.note("mtu", fmt::format("{} bytes", bytes_of(choice.mtu)), "device",
               could_be_larger ? fmt::format("the device supports {}: the MTU follows that of the "
                                             "network interface, or the subnet manager",
                                             bytes_of(port.max_mtu))
                               : "");
}

}  // namespace

void explain_device(const support::Facts& facts, ibv_context* context, const DeviceChoice& choice,
                    const char* source) {
    facts.add("device", choice.device, source);
    facts.add("port", std::to_string(choice.port), source);
    facts.add("link", link_text(choice), "device");
    facts.add("port_state", to_text(choice.state), "device",
              is_active(choice) ? Standing::kWorks : Standing::kDegraded,
              is_active(choice) ? "" : "no connection is possible until it is active");
    explain_mtu(facts, context, choice);
    if (choice.transport == IBV_TRANSPORT_IWARP)
        return facts.note("gid", "none", "device", "iWARP connects by IP addresses only");
    const auto table = verbs::read_gid_table(context);
    if (!table) return;
    for (const verbs::RankedGid& ranked : verbs::rank_gids(*table, choice.port, choice.gid))
        explain_gid(facts, choice, ranked);
}

void explain_setting(const support::Facts& facts, const char* subject, support::Setting setting,
                     const std::string& value) {
    const char* name = support::kSettings[static_cast<int>(setting)].name;
    const std::string source = source_of(setting, facts.ia_name());
    facts.note(subject, value, source, std::string("the setting is ") + name);
}

std::string source_of(support::Setting setting, const char* ia_name) {
    const support::SettingValue value = support::setting_value(setting, ia_name);
    if (value.origin != support::SettingOrigin::kEnvironment) return value.where;
    return value.where + ' ' + support::kSettings[static_cast<int>(setting)].name;
}

}  // namespace dapl::cm
