// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Public names of libibverbs that no installed header declares: rdma-core keeps them for its own
/// programs and drivers, and for old programs. The declarations here are ours, derived from how the
/// symbols are used.
#include <fcntl.h>
#include <infiniband/sa.h>
#include <infiniband/verbs.h>
#include <limits.h>
#include <rdma/ib_user_sa.h>
#include <rdma/ib_user_verbs.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "providers/soft/softverbs/export/export.hpp"

/// The GID types of sysfs; only libibverbs' own programs know this type.
enum ibv_gid_type_sysfs { IBV_GID_TYPE_SYSFS_IB_ROCE_V1, IBV_GID_TYPE_SYSFS_ROCE_V2 };

/// @return 0, or -1 with errno.
EXPORTED int ibv_query_gid_type(ibv_context* context, uint8_t port, unsigned index,
                                ibv_gid_type_sysfs* type) {
    ibv_gid_entry entry = {};
    const int error = ibv_query_gid_ex(context, port, index, &entry, 0);
    if (error != 0) {
        errno = error;
        return -1;
    }
    *type = entry.gid_type == IBV_GID_TYPE_ROCE_V2 ? IBV_GID_TYPE_SYSFS_ROCE_V2
                                                   : IBV_GID_TYPE_SYSFS_IB_ROCE_V1;
    return 0;
}

EXPORTED const char* ibv_get_sysfs_path() {
    return "/sys";
}

/// In a preloaded program the file may be one of the device's (sysfs/rewritten.hpp).
/// @return the number of bytes without the line's end, or -1 with errno.
EXPORTED int ibv_read_sysfs_file(const char* folder, const char* name, char* text, size_t size) {
    char path[PATH_MAX];
    if (std::snprintf(path, sizeof path, "%s/%s", folder, name) >= PATH_MAX) {
        errno = ENAMETOOLONG;
        return -1;
    }
    const int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) return -1;
    const auto length = static_cast<int>(read(file, text, size));
    close(file);
    if (length <= 0 || text[length - 1] != '\n') return length;
    text[length - 1] = '\0';
    return length - 1;
}

/// Does nothing. Hardware needs a fork to leave the pages under it in place; this device copies
/// through the processes' own page tables.
EXPORTED int ibv_dontfork_range(void*, size_t) {
    return 0;
}

EXPORTED int ibv_dofork_range(void*, size_t) {
    return 0;
}

EXPORTED void ibv_copy_ah_attr_from_kern(ibv_ah_attr* to, const ib_uverbs_ah_attr* from) {
    std::memcpy(to->grh.dgid.raw, from->grh.dgid, sizeof to->grh.dgid.raw);
    to->grh.flow_label = from->grh.flow_label;
    to->grh.sgid_index = from->grh.sgid_index;
    to->grh.hop_limit = from->grh.hop_limit;
    to->grh.traffic_class = from->grh.traffic_class;
    to->dlid = from->dlid;
    to->sl = from->sl;
    to->src_path_bits = from->src_path_bits;
    to->static_rate = from->static_rate;
    to->is_global = from->is_global;
    to->port_num = from->port_num;
}

EXPORTED void ibv_copy_qp_attr_from_kern(ibv_qp_attr* to, const ib_uverbs_qp_attr* from) {
    // Does not copy qp_state: the caller has set the state that it is about to move to.
    to->cur_qp_state = static_cast<ibv_qp_state>(from->cur_qp_state);
    to->path_mtu = static_cast<ibv_mtu>(from->path_mtu);
    to->path_mig_state = static_cast<ibv_mig_state>(from->path_mig_state);
    to->qkey = from->qkey;
    to->rq_psn = from->rq_psn;
    to->sq_psn = from->sq_psn;
    to->dest_qp_num = from->dest_qp_num;
    to->qp_access_flags = from->qp_access_flags;
    to->cap = {from->max_send_wr, from->max_recv_wr, from->max_send_sge, from->max_recv_sge,
               from->max_inline_data};
    ibv_copy_ah_attr_from_kern(&to->ah_attr, &from->ah_attr);
    ibv_copy_ah_attr_from_kern(&to->alt_ah_attr, &from->alt_ah_attr);
    to->pkey_index = from->pkey_index;
    to->alt_pkey_index = from->alt_pkey_index;
    to->en_sqd_async_notify = from->en_sqd_async_notify;
    to->sq_draining = from->sq_draining;
    to->max_rd_atomic = from->max_rd_atomic;
    to->max_dest_rd_atomic = from->max_dest_rd_atomic;
    to->min_rnr_timer = from->min_rnr_timer;
    to->port_num = from->port_num;
    to->timeout = from->timeout;
    to->retry_cnt = from->retry_cnt;
    to->rnr_retry = from->rnr_retry;
    to->alt_port_num = from->alt_port_num;
    to->alt_timeout = from->alt_timeout;
}

namespace {

/// The two records hold the same fields in a different order.
template <class To, class From>
void copy_path_record(To& to, const From& from) {
    to.dlid = from.dlid;
    to.slid = from.slid;
    to.raw_traffic = from.raw_traffic;
    to.flow_label = from.flow_label;
    to.reversible = from.reversible;
    to.mtu = static_cast<decltype(to.mtu)>(from.mtu);
    to.pkey = from.pkey;
    to.hop_limit = from.hop_limit;
    to.traffic_class = from.traffic_class;
    to.numb_path = from.numb_path;
    to.sl = from.sl;
    to.mtu_selector = from.mtu_selector;
    to.rate_selector = from.rate_selector;
    to.rate = from.rate;
    to.packet_life_time_selector = from.packet_life_time_selector;
    to.packet_life_time = from.packet_life_time;
    to.preference = from.preference;
}

}  // namespace

EXPORTED void ibv_copy_path_rec_from_kern(ibv_sa_path_rec* to, const ib_user_path_rec* from) {
    std::memcpy(to->dgid.raw, from->dgid, sizeof to->dgid.raw);
    std::memcpy(to->sgid.raw, from->sgid, sizeof to->sgid.raw);
    copy_path_record(*to, *from);
}

EXPORTED void ibv_copy_path_rec_to_kern(ib_user_path_rec* to, const ibv_sa_path_rec* from) {
    std::memcpy(to->dgid, from->dgid.raw, sizeof to->dgid);
    std::memcpy(to->sgid, from->sgid.raw, sizeof to->sgid);
    copy_path_record(*to, *from);
}
