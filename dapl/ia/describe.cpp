// SPDX-License-Identifier: BSD-2-Clause
#include "dapl/ia/describe.hpp"

#include <arpa/inet.h>
#include <dat2/dat_extensions.h>
#include <dat2/dat_ib_extensions.h>
#include <dat2/dat_iw_extensions.h>
#include <dat2/dat_opendat.h>
#include <dat2/dat_reg_extensions.h>
#include <dat2/dat_trclvl.h>
#include <fmt/format.h>

#include <cstring>

#include "broker/client.hpp"
#include "dapl/adapter/ia.hpp"
#include "dapl/ep/delayed_ack.hpp"
#include "dapl/ia/trace_levels.hpp"
#include "support/settings/settings.hpp"

namespace dapl {
namespace {

/// Formats bytes in network order as groups of four hex digits, separated by colons.
std::string hex_groups(const void* bytes, int groups) {
    std::string text;
    for (int i = 0; i < groups; ++i) {
        std::uint16_t group;
        std::memcpy(&group, static_cast<const char*>(bytes) + 2 * i, sizeof group);
        text += fmt::format("{}{:04x}", i ? ":" : "", ntohs(group));
    }
    return text;
}

std::string port_gid(const Ia& ia) {
    ibv_gid gid{};
    ibv_query_gid(ia.context(), ia.adapter().port, 0, &gid);
    return hex_groups(&gid, 8);
}

const char* port_status(ibv_port_state state) {
    switch (state) {
        case IBV_PORT_NOP:
            return "NOP";
        case IBV_PORT_DOWN:
            return "DOWN";
        case IBV_PORT_INIT:
            return "INIT";
        case IBV_PORT_ARMED:
            return "ARMED";
        case IBV_PORT_ACTIVE:
            return "ACTIVE";
        case IBV_PORT_ACTIVE_DEFER:
            return "DEFER";
        default:
            return "UNKNOWN";
    }
}

const char* truth(bool value) {
    return value ? "TRUE" : "FALSE";
}

/// Adds the attributes that uDAPL on AIX has: programs look for them in either list.
void add_vendor_extension(NamedAttributes& list, const Ia& ia) {
    list.add(DAT_ATTR_DELAYED_ACK_SUPPORTED, has_delayed_ack(ia) ? "true" : "false");
    list.add(DAT_ATTR_VENDOR_EXTENSION, "true");
    list.add(DAT_ATTR_VENDOR_EXT_VERSION, "1.0");
    if (!kAddressesPrint && !support::setting_flag(support::Setting::kDebugAttributes)) return;
    list.add_address(DAT_ATTR_DEBUG_QUERY, address_of_trclvl_query());
    list.add_address(DAT_ATTR_DEBUG_MODIFY, address_of_trclvl_modify());
}

/// Adds the attributes of the extensions under the names of the proposal (dat_extensions.h).
/// @param immediate_data whether the transport has it; else a send carries it.
void add_proposed_names(NamedAttributes& list, bool immediate_data, bool atomics) {
    list.add(DAT_EXT_ATTR_RDMA_WRITE_IMMED, "TRUE");
    list.add(DAT_EXT_ATTR_RECV_IMMED, "TRUE");
    list.add(DAT_EXT_ATTR_RECV_IMMED_EVENT, truth(immediate_data));
    list.add(DAT_EXT_ATTR_RECV_IMMED_PAYLOAD, truth(!immediate_data));
    list.add(DAT_EXT_ATTR_FETCH_AND_ADD, truth(atomics));
    list.add(DAT_EXT_ATTR_CMP_AND_SWAP, truth(atomics));
}

/// Adds the attributes of dat_reg_extensions.h.
void add_registrations(NamedAttributes& list, const Ia& ia) {
    const memory::Mode mode = memory::mode_of(ia.provider.info.ia_name);
    if (mode == memory::Mode::kOff) return list.add(DAT_REG_ATTR, truth(false));
    const verbs::DeviceExtensions device =
        verbs::extensions_for(ia.context(), ia.provider.library.device);
    list.add(DAT_REG_ATTR, fmt::format("{}", DAT_REG_EXTENSION_VERSION));
    list.add(DAT_REG_ATTR_MODE, memory::name_of(mode));
    list.add(DAT_REG_ATTR_WAIT, truth(true));
    list.add(DAT_REG_ATTR_UPCALLS, truth(true));
    list.add(DAT_REG_ATTR_ENFORCED, truth(device.end_registration != nullptr));
    list.add(DAT_REG_ATTR_PEERS, truth(device.suspend_region != nullptr));
    list.add(DAT_REG_ATTR_BRACKETS, memory::name_of(memory::bracket_way_of(
                                        ia.provider.info.ia_name, ia.has_windows(IBV_MW_TYPE_2))));
}

const char* transport_name(const Ia& ia) {
    if (!ia.is_infiniband()) return "iWARP";
    return ia.port_attributes.link_layer == IBV_LINK_LAYER_ETHERNET ? "RoCE" : "InfiniBand";
}

}  // namespace

NamedAttributes describe_provider(const Ia& ia) {
    const bool infiniband = ia.is_infiniband();
    const bool atomics = ia.has_atomics();
    const std::uint64_t guid = ibv_get_device_guid(ia.context()->device);
    NamedAttributes list;
    list.add("DAT_IB_PROVIDER_NAME", ia.manager->name());
    list.add("DAT_IB_DEVICE_NAME", ibv_get_device_name(ia.context()->device));
    list.add("DAT_IB_CONNECTIVITY_MODE", "DIRECT");
    list.add("DAT_IB_RDMA_READ", "TRUE");
    list.add("DAT_IB_NODE_GUID", hex_groups(&guid, 4));
    list.add("DAT_IB_GID", port_gid(ia));
    list.add("DAT_IB_TRANSPORT_MTU", fmt::format("{}", 128 << ia.port_attributes.active_mtu));
    list.add("DAT_IB_PORT_STATUS", port_status(ia.port_attributes.state));
    list.add("DAT_IB_PORT_NUMBER", fmt::format("{}", ia.adapter().port));
    list.add(DAT_EXT_ATTR, "TRUE");
    list.add(DAT_IB_ATTR_FETCH_AND_ADD, truth(atomics));
    list.add(DAT_IB_ATTR_CMP_AND_SWAP, truth(atomics));
    list.add(DAT_IB_ATTR_IMMED_DATA, truth(infiniband));
    list.add(DAT_IB_ATTR_UD, truth(ia.manager->datagrams().has_value()));
    add_proposed_names(list, infiniband, atomics);
    list.add(DAT_IW_ATTR_SSP, truth(ia.manager->socket_limits().has_value()));
    list.add(DAT_IB_ATTR_COUNTERS, "TRUE");
    list.add("OPENDAT_THREAD_SAFE", "TRUE");
    add_registrations(list, ia);
    add_vendor_extension(list, ia);
    return list;
}

NamedAttributes describe_transport(const Ia& ia) {
    NamedAttributes list;
    list.add("OPENDAT_TRANSPORT", transport_name(ia));
    list.add("OPENDAT_LID", fmt::format("{}", ia.port_attributes.lid));
    return list;
}

NamedAttributes describe_vendor(const Ia& ia) {
    const ibv_device_attr& device = ia.device_attributes;
    NamedAttributes list;
    list.add("OPENDAT_VENDOR_ID", fmt::format("{:#08x}", device.vendor_id));
    list.add("OPENDAT_VENDOR_PART_ID", fmt::format("{}", device.vendor_part_id));
    list.add("OPENDAT_FIRMWARE",
             std::string(device.fw_ver, strnlen(device.fw_ver, sizeof device.fw_ver)));
    list.add(DAT_OPENDAT_ATTR_OBJECT_ID, fmt::format("{:x}", ia.id()));
    add_vendor_extension(list, ia);
    return list;
}

}  // namespace dapl
