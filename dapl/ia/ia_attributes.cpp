// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// dat_ia_query: the attributes of an adapter instance and its provider; and dat_ia_ha_related.
#include <dat2/dat_ib_extensions.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <string_view>

#include "dapl/adapter/ia.hpp"
#include "dapl/base/merging.hpp"
#include "dapl/evd/evd.hpp"
#include "dapl/evd/events.hpp"
#include "dapl/ia/describe.hpp"
#include "dapl/provider/aix_profile.hpp"
#include "dapl/provider/entry.hpp"

namespace dapl {
namespace {

template <std::size_t size>
void copy_name(char (&to)[size], const char* from) {
    to[std::string_view(from).copy(to, size - 1)] = 0;
}

void fill(const Ia& ia, DAT_IA_ATTR& out) {
    const ibv_device_attr& device = ia.device_attributes;
    const std::uint32_t largest = ia.port_attributes.max_msg_sz;
    std::memset(&out, 0, sizeof out);
    copy_name(out.adapter_name, ibv_get_device_name(ia.context()->device));
    out.hardware_version_major = device.hw_ver;
    std::sscanf(device.fw_ver, "%u.%u", &out.firmware_version_major, &out.firmware_version_minor);
    out.ia_address_ptr =
        reinterpret_cast<DAT_IA_ADDRESS_PTR>(const_cast<sockaddr_storage*>(&ia.adapter().address));
    out.max_eps = device.max_qp;
    out.max_dto_per_ep = device.max_qp_wr;
    out.max_rdma_read_per_ep_in = out.max_rdma_read_in = device.max_qp_rd_atom;
    out.max_rdma_read_per_ep_out = out.max_rdma_read_out = device.max_qp_init_rd_atom;
    out.max_rdma_read_per_ep_in_guaranteed = DAT_TRUE;
    out.max_rdma_read_per_ep_out_guaranteed = DAT_TRUE;
    out.max_evds = device.max_cq;
    out.max_evd_qlen = device.max_cqe;
    out.max_iov_segments_per_dto = device.max_sge;
    out.max_iov_segments_per_rdma_write = device.max_sge;
    out.max_iov_segments_per_rdma_read = ia.max_read_segments();
    out.max_lmrs = device.max_mr;
    out.max_lmr_block_size =
        static_cast<DAT_SEG_LENGTH>(std::min<std::uint64_t>(device.max_mr_size, UINT32_MAX));
    out.max_lmr_virtual_address = device.max_mr_size;
    out.max_pzs = device.max_pd;
    out.max_srqs = device.max_srq;
    out.max_ep_per_srq = device.max_srq > 0 ? device.max_qp : 0;
    out.max_recv_per_srq = device.max_srq_wr;
    out.max_message_size = largest;
    out.max_rdma_size = largest;
    out.max_rmrs = ia.max_rmrs();
    if (out.max_rmrs > 0) out.max_rmr_target_address = device.max_mr_size;
    out.zb_supported = ia.is_infiniband() ? DAT_TRUE : DAT_FALSE;  // see register_memory
    out.extension_supported = ia.is_infiniband() ? DAT_EXTENSION_IB : DAT_EXTENSION_IW;
    out.extension_version = DAT_IB_EXTENSION_VERSION;
    out.num_transport_attr = ia.transport_attributes.count();
    out.transport_attr = ia.transport_attributes.list();
    out.num_vendor_attr = ia.vendor_attributes.count();
    out.vendor_attr = ia.vendor_attributes.list();
}

/// @return the RMR scopes, on a device that supports RMRs at all.
DAT_RMR_SCOPE rmr_scopes(const Ia& ia) {
    if (!ia.has_windows(IBV_MW_TYPE_1)) return DAT_RMR_SCOPE_EP;
    return ia.has_windows(IBV_MW_TYPE_2) ? DAT_RMR_SCOPE_ANY : DAT_RMR_SCOPE_PZ;
}

/// libdat2 rebuilds its registry key from the versions and is_thread_safe at close, so they repeat
/// what the provider was registered with. A named attribute (OPENDAT_THREAD_SAFE) says whether the
/// library is thread safe.
void fill(const Ia& ia, DAT_PROVIDER_ATTR& out) {
    std::memset(static_cast<void*>(&out), 0, sizeof out);
    copy_name(out.provider_name, ia.provider.info.ia_name);
    out.provider_version_major = 2;
    out.dapl_version_major = ia.provider.info.dapl_version_major;
    out.dapl_version_minor = ia.provider.info.dapl_version_minor;
    out.is_thread_safe = ia.provider.info.is_thread_safe;
    out.lmr_mem_types_supported = static_cast<DAT_MEM_TYPE>(
        DAT_MEM_TYPE_VIRTUAL | DAT_MEM_TYPE_LMR | DAT_MEM_TYPE_SHARED_VIRTUAL);
    out.iov_ownership_on_return = DAT_IOV_CONSUMER;
    out.dat_qos_supported = DAT_QOS_BEST_EFFORT;
    out.completion_flags_supported = DAT_COMPLETION_DEFAULT_FLAG;
    out.max_private_data_size = ia.manager->max_private_data();
    out.ep_creator = DAT_PSP_CREATES_EP_IFASKED;
    out.pz_support = DAT_PZ_UNIQUE;
    out.srq_supported = ia.device_attributes.max_srq > 0 ? DAT_TRUE : DAT_FALSE;
    out.srq_watermarks_supported = out.srq_supported ? 3 : 0;  // low, soft high, hard high
    // A receive from an SRQ is checked against the SRQ's protection zone, which iWARP verbs require
    // to be the EP's.
    out.srq_ep_pz_difference_supported =
        out.srq_supported && ia.is_infiniband() ? DAT_TRUE : DAT_FALSE;
    out.srq_info_supported = out.srq_supported ? 2 : 0;  // available and outstanding
    out.ep_recv_info_supported = 2;                      // number and span
    out.optimal_buffer_alignment = DAT_OPTIMAL_ALIGNMENT;
    DAT_BOOLEAN merging[6][6];
    for (int a = 0; a < 6; ++a)
        for (int b = 0; b < 6; ++b) merging[a][b] = kMerges[a][b] ? DAT_TRUE : DAT_FALSE;
    std::memcpy(const_cast<DAT_BOOLEAN(*)[6]>(out.evd_stream_merging_supported), merging,
                sizeof merging);
    out.rmr_scope_supported = rmr_scopes(ia);
    out.lmr_sync_req = DAT_FALSE;
    out.dto_async_return_guaranteed = DAT_FALSE;
    // On iWARP the sink of a read is a remote target, and its context is sent to the peer.
    out.rdma_write_for_rdma_read_req = ia.is_infiniband() ? DAT_FALSE : DAT_TRUE;
    out.rdma_read_lmr_rmr_context_exposure = ia.is_infiniband() ? DAT_FALSE : DAT_TRUE;
    out.is_signal_safe = DAT_FALSE;
    out.supports_multipath = DAT_FALSE;
    out.ha_supported = DAT_FALSE;
    out.ha_loadbalancing = DAT_HA_LB_NONE;
    out.num_provider_specific_attr = ia.provider_attributes.count();
    out.provider_specific_attr = ia.provider_attributes.list();
}

}  // namespace

namespace entry {

DAT_RETURN ia_query(DAT_IA_HANDLE handle, DAT_EVD_HANDLE* async, DAT_IA_ATTR_MASK ia_mask,
                    DAT_IA_ATTR* ia_attributes, DAT_PROVIDER_ATTR_MASK provider_mask,
                    DAT_PROVIDER_ATTR* provider_attributes) {
    Ia* ia = from_handle<Ia>(handle);
    if (!ia) return bad_handle(DAT_INVALID_HANDLE_IA);
    if (ia_mask & ~DAT_IA_FIELD_ALL) return bad_argument(3);
    if (ia_mask && !ia_attributes) return bad_argument(4);
    if (provider_mask && !provider_attributes) return bad_argument(6);
    if (async) {
        Evd* evd = async_evd_of(*ia);
        *async = evd ? evd->handle() : nullptr;
    }
    const bool limited = ia->provider.profile == support::ApiProfile::kAix;
    if (ia_mask) fill(*ia, *ia_attributes);
    if (ia_mask && limited) limit_to_aix(*ia_attributes);
    if (provider_mask) fill(*ia, *provider_attributes);
    if (provider_mask && limited) limit_to_aix(*provider_attributes);
    return DAT_SUCCESS;
}

/// No adapter takes over for another one (ha_supported is false), so an instance is related to its
/// own name only.
DAT_RETURN ia_ha_related(DAT_IA_HANDLE handle, const DAT_NAME_PTR name, DAT_BOOLEAN* related) {
    const Ia* ia = from_handle<Ia>(handle);
    if (!ia) return bad_handle(DAT_INVALID_HANDLE_IA);
    if (!name) return bad_argument(2);
    if (!related) return bad_argument(3);
    *related = std::strcmp(name, ia->provider.info.ia_name) == 0 ? DAT_TRUE : DAT_FALSE;
    return DAT_SUCCESS;
}

}  // namespace entry
}  // namespace dapl
