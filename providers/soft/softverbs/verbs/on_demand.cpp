// SPDX-License-Identifier: BSD-2-Clause
#include "providers/soft/softverbs/verbs/on_demand.hpp"

#include <cerrno>

#include "providers/soft/softverbs/memory/memory_check.hpp"
#include "providers/soft/softverbs/verbs/context.hpp"
#include "providers/soft/softverbs/verbs/memory_regions.hpp"

namespace softverbs {
namespace {

bool is_known(ibv_advise_mr_advice advice) {
    return advice == IBV_ADVISE_MR_ADVICE_PREFETCH ||
           advice == IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE ||
           advice == IBV_ADVISE_MR_ADVICE_PREFETCH_NO_FAULT;
}

int check_segment(Adapter& adapter, const ProtectionDomain& pd, const ibv_sge& segment,
                  std::uint32_t access, std::uint64_t& address) {
    const MrEntry& entry = adapter.own_key(segment.lkey);
    const bool is_region = segment.lkey != 0 && entry.key.load() == segment.lkey &&
                           entry.kind == KeyKind::kRegion && entry.pd == pd.number();
    if (!is_region || (entry.access & IBV_ACCESS_ON_DEMAND) == 0) return EINVAL;
    if ((entry.access & access) != access) return EPERM;
    const CheckedRange range =
        check_own_key(adapter, segment.lkey, pd.number(), access, segment.addr, segment.length);
    address = range.address;
    return range.permitted ? 0 : EFAULT;
}

int bring_in(ProtectionDomain& pd, ibv_advise_mr_advice advice, const ibv_sge& segment) {
    const bool writes = advice == IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE;
    std::uint64_t address = 0;
    const int cause = check_segment(*pd.owner().adapter, pd, segment,
                                    writes ? IBV_ACCESS_LOCAL_WRITE : 0, address);
    if (cause != 0 || segment.length == 0) return cause;
    // Pages that are there are all that may be brought in: there is nothing to be done for them.
    if (advice == IBV_ADVISE_MR_ADVICE_PREFETCH_NO_FAULT) return 0;
    return check_memory(reinterpret_cast<void*>(address), segment.length, writes);
}

}  // namespace

int advise(ibv_pd* pd, ibv_advise_mr_advice advice, std::uint32_t flags, ibv_sge* segments,
           std::uint32_t count) {
    if (!is_known(advice)) return also_errno(EOPNOTSUPP);
    if ((flags & ~std::uint32_t{IBV_ADVISE_MR_FLAG_FLUSH}) != 0 || count == 0)
        return also_errno(EINVAL);
    for (std::uint32_t i = 0; i < count; ++i) {
        if (const int cause = bring_in(ProtectionDomain::of(pd), advice, segments[i]))
            return also_errno(cause);
    }
    return 0;
}

void describe_on_demand(ibv_device_attr_ex& attributes) {
    constexpr std::uint32_t kUnreliable =
        IBV_ODP_SUPPORT_SEND | IBV_ODP_SUPPORT_RECV | IBV_ODP_SUPPORT_WRITE;
    attributes.odp_caps.general_caps = IBV_ODP_SUPPORT | IBV_ODP_SUPPORT_IMPLICIT;
    auto& transports = attributes.odp_caps.per_transport_caps;
    transports.rc_odp_caps =
        kUnreliable | IBV_ODP_SUPPORT_READ | IBV_ODP_SUPPORT_ATOMIC | IBV_ODP_SUPPORT_SRQ_RECV;
    attributes.xrc_odp_caps = transports.rc_odp_caps;
    transports.uc_odp_caps = kUnreliable;
    transports.ud_odp_caps = IBV_ODP_SUPPORT_SEND | IBV_ODP_SUPPORT_RECV | IBV_ODP_SUPPORT_SRQ_RECV;
}

}  // namespace softverbs
