// SPDX-License-Identifier: BSD-2-Clause
#include "providers/soft/softverbs/verbs/query.hpp"

#include <arpa/inet.h>
#include <time.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>

#include "providers/soft/softverbs/verbs/context.hpp"
#include "providers/soft/softverbs/verbs/device_memory.hpp"
#include "providers/soft/softverbs/verbs/on_demand.hpp"
#include "providers/soft/softverbs/verbs/timestamp.hpp"

namespace softverbs {
namespace {

/// The vendor ID of no manufacturer, as the kernel's software devices report it.
constexpr std::uint32_t kNoVendor = 0xffffff;
constexpr std::uint16_t kDefaultPkey = 0xffff;
constexpr unsigned kPkeys = 1;
/// The loopback interface, which each network name space has.
constexpr std::uint32_t kLoopbackInterface = 1;
/// Physical states of a port.
constexpr std::uint8_t kPolling = 2, kLinkUp = 5;
constexpr std::uint64_t kClockKilohertz = 1'000'000;

/// Computes the GUID for programs that only list devices and do not open one.
/// @return 0 when the fabric cannot be used, which has been reported.
std::uint64_t guid_of_closed_device(PortId port) {
    const Result<std::unique_ptr<Directory>> directory = Directory::open();
    if (!directory) return 0;
    const Result<std::uint64_t> hash = Index::hash_of(**directory);
    return hash ? guid_of(*hash, port) : 0;
}

Process& process_of(ibv_context* context) {
    return Context::of(context).adapter->process();
}

PortId port_of(ibv_context* context, unsigned port) {
    return {Context::of(context).device, port};
}

std::optional<ibv_gid_entry> gid_entry_of(ibv_context* context, unsigned port, unsigned index) {
    if (!is_port(port)) return std::nullopt;
    return describe_gid(process_of(context).fabric_hash(), port_of(context, port), index);
}

ibv_device_attr describe(ibv_context* context) {
    return describe_device(process_of(context).fabric_hash(), Context::of(context).device);
}

}  // namespace

ibv_device_attr describe_device(std::uint64_t fabric_hash, unsigned device) {
    ibv_device_attr a;
    std::memset(&a, 0, sizeof a);
    std::strcpy(a.fw_ver, "1.0.0");
    a.node_guid = guid_of(fabric_hash, {device, 1});
    a.sys_image_guid = guid_of(fabric_hash, {});
    a.max_mr_size = ~std::uint64_t{0};
    a.page_size_cap = 4096;
    a.vendor_id = kNoVendor;
    a.hw_ver = 1;
    a.max_qp = kMaxQps;
    a.max_qp_wr = kMaxWorkRequests;
    a.device_cap_flags = IBV_DEVICE_RC_RNR_NAK_GEN | IBV_DEVICE_UD_AV_PORT_ENFORCE |
                         IBV_DEVICE_SYS_IMAGE_GUID | IBV_DEVICE_CURR_QP_STATE_MOD |
                         IBV_DEVICE_SRQ_RESIZE | IBV_DEVICE_MEM_WINDOW |
                         IBV_DEVICE_MEM_WINDOW_TYPE_2B | IBV_DEVICE_XRC;
    a.max_sge = kMaxSge;
    a.max_sge_rd = kMaxSge;
    a.max_cq = kMaxCqs;
    a.max_cqe = kMaxCqEntries;
    a.max_mr = kMaxMrs;
    a.max_mw = kMaxMrs;
    a.max_pd = kMaxPds;
    a.max_ah = kMaxAhs;
    a.max_mcast_grp = kMaxAttachments;
    a.max_mcast_qp_attach = kMaxGroupMembers;
    a.max_total_mcast_qp_attach = kMaxAttachments;
    a.max_qp_rd_atom = kMaxReadAtomic;
    a.max_res_rd_atom = kMaxQps;
    a.max_qp_init_rd_atom = kMaxReadAtomic;
    a.atomic_cap = IBV_ATOMIC_HCA;
    a.max_srq = kMaxSrqs;
    a.max_srq_wr = kMaxWorkRequests;
    a.max_srq_sge = kMaxSge;
    a.max_pkeys = kPkeys;
    a.local_ca_ack_delay = 15;
    a.phys_port_cnt = static_cast<std::uint8_t>(port_count());
    return a;
}

ibv_port_attr describe_port(const FabricView& fabric, PortId port) {
    const bool is_down = fabric.states.is_down(port);
    ibv_port_attr a{};
    a.state = is_down ? IBV_PORT_DOWN : IBV_PORT_ACTIVE;
    a.max_mtu = IBV_MTU_4096;
    a.active_mtu = IBV_MTU_4096;
    a.gid_tbl_len = static_cast<int>(gid_count());
    a.port_cap_flags = IBV_PORT_CM_SUP;
    a.max_msg_sz = kMaxMessage;
    a.pkey_tbl_len = kPkeys;
    const Lids lids = lids_of(fabric.hash);
    a.lid = lids.of(port);
    a.sm_lid = lids.of({});
    a.max_vl_num = 1;
    a.active_width = 2;   // 4X
    a.active_speed = 32;  // EDR
    a.phys_state = is_down ? kPolling : kLinkUp;
    a.link_layer = is_roce() ? IBV_LINK_LAYER_ETHERNET : IBV_LINK_LAYER_INFINIBAND;
    a.flags = is_roce() ? IBV_QPF_GRH_REQUIRED : 0;
    return a;
}

std::optional<ibv_gid_entry> describe_gid(std::uint64_t fabric_hash, PortId port, unsigned index) {
    if (index >= gid_count()) return std::nullopt;
    ibv_gid_entry entry{};
    entry.gid = gid_of(fabric_hash, port, index);
    entry.gid_index = index;
    entry.port_num = port.port;
    entry.gid_type = gid_type_at(index);
    entry.ndev_ifindex = is_roce() ? kLoopbackInterface : 0;
    return entry;
}

std::optional<__be16> pkey_at(unsigned index) {
    return index < kPkeys ? std::optional(htons(kDefaultPkey)) : std::nullopt;
}

int query_port_attributes(ibv_context* context, std::uint8_t port, ibv_port_attr* attributes,
                          std::size_t length) {
    if (!is_port(port)) return also_errno(EINVAL);
    const Process& process = process_of(context);
    const ibv_port_attr a =
        describe_port({process.fabric_hash(), process.device_states()}, port_of(context, port));
    // A caller built with newer headers has a longer structure: fields unknown here are set to
    // zero.
    std::memset(static_cast<void*>(attributes), 0, length);
    std::memcpy(static_cast<void*>(attributes), &a, std::min(length, sizeof a));
    return 0;
}

int query_device_extended(ibv_context* context, const ibv_query_device_ex_input* input,
                          ibv_device_attr_ex* attributes, std::size_t length) {
    if (input && input->comp_mask != 0) return also_errno(EINVAL);
    if (length < sizeof(ibv_device_attr)) return also_errno(EINVAL);
    ibv_device_attr_ex a;
    std::memset(static_cast<void*>(&a), 0, sizeof a);
    a.orig_attr = describe(context);
    a.device_cap_flags_ex = a.orig_attr.device_cap_flags;
    a.phys_port_cnt_ex = a.orig_attr.phys_port_cnt;
    a.hca_core_clock = kClockKilohertz;
    a.completion_timestamp_mask = kTimestampMask;
    a.max_dm_size = kDeviceMemory;
    a.cq_mod_caps = {UINT16_MAX, UINT16_MAX};
    describe_on_demand(a);
    std::memset(static_cast<void*>(attributes), 0, length);
    std::memcpy(static_cast<void*>(attributes), &a, std::min(length, sizeof a));
    return 0;
}

int query_clock(ibv_context*, ibv_values_ex* values) {
    if ((values->comp_mask & ~std::uint32_t{IBV_VALUES_MASK_RAW_CLOCK}) != 0)
        return also_errno(EINVAL);
    clock_gettime(CLOCK_MONOTONIC, &values->raw_clock);
    return 0;
}

}  // namespace softverbs

extern "C" {

int ibv_query_device(ibv_context* context, ibv_device_attr* attributes) {
    *attributes = softverbs::describe(context);
    return 0;
}

/// Called by programs built with headers in which query_port was not in the context yet: their
/// structure ends before port_cap_flags2.
#undef ibv_query_port
int ibv_query_port(ibv_context* context, std::uint8_t port, _compat_ibv_port_attr* attributes) {
    return softverbs::query_port_attributes(context, port,
                                            reinterpret_cast<ibv_port_attr*>(attributes),
                                            offsetof(ibv_port_attr, port_cap_flags2));
}

int ibv_query_gid(ibv_context* context, std::uint8_t port, int index, union ibv_gid* gid) {
    const auto entry = softverbs::gid_entry_of(context, port, static_cast<unsigned>(index));
    if (!entry) {
        errno = EINVAL;
        return -1;
    }
    *gid = entry->gid;
    return 0;
}

int _ibv_query_gid_ex(ibv_context* context, std::uint32_t port, std::uint32_t index,
                      ibv_gid_entry* entry, std::uint32_t flags, std::size_t entry_size) {
    if (!softverbs::is_port(port) || flags != 0) return softverbs::also_errno(EINVAL);
    const auto found = softverbs::gid_entry_of(context, port, index);
    if (!found) return softverbs::also_errno(ENODATA);
    std::memset(static_cast<void*>(entry), 0, entry_size);
    std::memcpy(static_cast<void*>(entry), &*found, std::min(entry_size, sizeof *found));
    return 0;
}

ssize_t _ibv_query_gid_table(ibv_context* context, ibv_gid_entry* entries, std::size_t count,
                             std::uint32_t flags, std::size_t entry_size) {
    const unsigned ports = softverbs::port_count(), gids = softverbs::gid_count();
    if (count < ports * gids) return -softverbs::also_errno(EINVAL);
    auto* place = reinterpret_cast<std::uint8_t*>(entries);
    for (unsigned at = 0; at < ports * gids; ++at, place += entry_size) {
        auto* entry = reinterpret_cast<ibv_gid_entry*>(place);
        if (const int cause =
                _ibv_query_gid_ex(context, at / gids + 1, at % gids, entry, flags, entry_size))
            return -cause;
    }
    return ports * gids;
}

int ibv_query_pkey(ibv_context*, std::uint8_t port, int index, __be16* pkey) {
    const auto found = softverbs::pkey_at(static_cast<unsigned>(index));
    if (!softverbs::is_port(port) || !found) {
        errno = EINVAL;
        return -1;
    }
    *pkey = *found;
    return 0;
}

int ibv_get_pkey_index(ibv_context*, std::uint8_t port, __be16 pkey) {
    if (softverbs::is_port(port) && pkey == htons(softverbs::kDefaultPkey)) return 0;
    errno = EINVAL;
    return -1;
}

__be64 ibv_get_device_guid(ibv_device* device) {
    using namespace softverbs;
    try {
        const PortId port{device_named(device->name, kMostDevices).value_or(0), 1};
        Process* process = Process::current();
        return process ? guid_of(process->fabric_hash(), port) : guid_of_closed_device(port);
    } catch (const std::bad_alloc&) {
        return 0;
    }
}

}  // extern "C"
