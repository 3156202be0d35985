// SPDX-License-Identifier: BSD-2-Clause
#include "providers/soft/softverbs/verbs/address_handle.hpp"

#include <endian.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <new>

#include "providers/soft/softverbs/verbs/query.hpp"
#include "providers/soft/softverbs/verbs/roce_header.hpp"

namespace softverbs {
namespace {

std::uint8_t destination_port(const Process& process, const ibv_ah_attr& attributes) {
    if (attributes.is_global && is_group(attributes.grh.dgid)) return AddressVector::kAnyPort;
    const auto port = port_at(process, attributes);
    return static_cast<std::uint8_t>(port ? port->index() : unsigned{AddressVector::kNoPort});
}

/// Describes the sender of a datagram on RoCE.
/// @return 0 or an errno.
int describe_roce_sender(ibv_context* context, const ibv_grh& grh, ibv_ah_attr& attributes) {
    union ibv_gid mine;
    ibv_gid_type type;
    if (!read_roce_header(grh, attributes.grh, mine, type)) return EPROTONOSUPPORT;
    for (unsigned index = 0; index < gid_count(); ++index) {
        union ibv_gid gid;
        ibv_query_gid(context, attributes.port_num, static_cast<int>(index), &gid);
        const bool is_it = gid_type_at(index) == type && std::memcmp(&gid, &mine, sizeof gid) == 0;
        if (!is_it) continue;
        attributes.is_global = 1;
        attributes.grh.sgid_index = static_cast<std::uint8_t>(index);
        return 0;
    }
    return EINVAL;
}

}  // namespace

AddressHandle* AddressHandle::create(ProtectionDomain& pd, const ibv_ah_attr& attributes) {
    if (!is_port(attributes.port_num) || !is_path(attributes)) {
        errno = EINVAL;
        return nullptr;
    }
    Adapter& adapter = *pd.owner().adapter;
    auto ah = std::make_unique<AddressHandle>();
    if (!adapter.ahs.take()) {
        errno = ENOMEM;
        return nullptr;
    }
    static_cast<ibv_ah&>(*ah) = ibv_ah{};
    ah->context = pd.context;
    ah->pd = &pd;
    AddressVector& vector = ah->vector_;
    vector.pd = pd.number();
    vector.is_global = attributes.is_global != 0;
    vector.sl = is_roce() ? kind_of_packet(attributes.grh) : attributes.sl & 15;
    if (vector.is_global) {
        vector.dgid = attributes.grh.dgid;
        vector.hop_limit = attributes.grh.hop_limit;
        vector.version_tclass_flow = header_word(attributes.grh);
        vector.sgid_index = attributes.grh.sgid_index;
    }
    vector.port = destination_port(adapter.process(), attributes);
    if (vector.is_multicast() && !is_roce()) vector.mlid = attributes.dlid;
    vector.own_port =
        static_cast<std::uint8_t>(PortId{pd.owner().device, attributes.port_num}.index());
    ++pd.users;
    return ah.release();
}

void AddressHandle::destroy(AddressHandle* ah) {
    ProtectionDomain& pd = ProtectionDomain::of(ah->pd);
    pd.owner().adapter->ahs.put();
    --pd.users;
    delete ah;
}

}  // namespace softverbs

extern "C" {

using softverbs::AddressHandle;

ibv_ah* ibv_create_ah(ibv_pd* pd, ibv_ah_attr* attributes) {
    if (softverbs::is_refused(pd->context, softverbs::faults::Subject::kCreateAh)) return nullptr;
    const softverbs::CancellationDisabled guard;
    try {
        return AddressHandle::create(softverbs::ProtectionDomain::of(pd), *attributes);
    } catch (const std::bad_alloc&) {
        errno = ENOMEM;
        return nullptr;
    }
}

/// Describes the sender of a datagram: source and destination of its header are exchanged.
int ibv_init_ah_from_wc(ibv_context* context, std::uint8_t port, ibv_wc* wc, ibv_grh* grh,
                        ibv_ah_attr* attributes) {
    *attributes = ibv_ah_attr{};
    attributes->dlid = wc->slid;
    attributes->sl = wc->sl;
    attributes->src_path_bits = wc->dlid_path_bits;
    attributes->port_num = port;
    if ((wc->wc_flags & IBV_WC_GRH) == 0) return 0;
    if (softverbs::is_roce()) {
        const int error = softverbs::describe_roce_sender(context, *grh, *attributes);
        if (error == 0) return 0;
        errno = error;
        return -1;
    }
    union ibv_gid mine;
    const bool is_ours =
        ibv_query_gid(context, port, 0, &mine) == 0 &&
        (grh->dgid.raw[0] == 0xff || grh->dgid.global.interface_id == mine.global.interface_id);
    if (!is_ours) {
        errno = EINVAL;
        return -1;
    }
    const std::uint32_t word = be32toh(grh->version_tclass_flow);
    attributes->is_global = 1;
    attributes->grh.dgid = grh->sgid;
    attributes->grh.sgid_index = 0;
    attributes->grh.flow_label = word & softverbs::kFlowLabelBits;
    attributes->grh.traffic_class = static_cast<std::uint8_t>(word >> 20);
    attributes->grh.hop_limit = grh->hop_limit;
    return 0;
}

ibv_ah* ibv_create_ah_from_wc(ibv_pd* pd, ibv_wc* wc, ibv_grh* grh, std::uint8_t port) {
    ibv_ah_attr attributes;
    if (ibv_init_ah_from_wc(pd->context, port, wc, grh, &attributes) != 0) return nullptr;
    return ibv_create_ah(pd, &attributes);
}

int ibv_destroy_ah(ibv_ah* ah) {
    const softverbs::CancellationDisabled guard;
    AddressHandle::destroy(&AddressHandle::of(ah));
    return 0;
}

}  // extern "C"
