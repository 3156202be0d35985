// SPDX-License-Identifier: BSD-2-Clause
#include "tools/info/attributes.hpp"

#include <arpa/inet.h>
#include <dat2/dat_trclvl.h>
#include <netinet/in.h>

#include <cstring>
#include <initializer_list>
#include <type_traits>

#include "device/address.hpp"

namespace info {
namespace {

template <class Number>
Attribute number(const char* name, Number value) {
    return {name, static_cast<std::uint64_t>(value)};
}

Attribute truth(const char* name, DAT_BOOLEAN value) {
    return {name, value != DAT_FALSE};
}

struct Name {
    std::uint64_t value;
    const char* name;
};

/// @return the names of the bits that are set; bits without a name as a number.
Attribute flags(const char* name, std::uint64_t value, std::initializer_list<Name> known) {
    std::string names;
    std::uint64_t rest = value;
    for (const Name& flag : known) {
        const bool has = flag.value == 0 ? value == 0 : (rest & flag.value) == flag.value;
        if (!has) continue;
        rest &= ~flag.value;
        names += (names.empty() ? "" : " | ") + std::string(flag.name);
    }
    if (rest != 0) names += (names.empty() ? "" : " | ") + std::to_string(rest);
    return {name, value, names.empty() ? "none" : names};
}

/// @return the name of the matching constant.
Attribute one_of(const char* name, std::uint64_t value, std::initializer_list<Name> known) {
    for (const Name& one : known)
        if (one.value == value) return {name, value, one.name};
    return {name, value};
}

template <std::size_t size>
Attribute text(const char* name, const char (&value)[size]) {
    return {name, std::string(value, strnlen(value, size))};
}

std::string address_text(const sockaddr* address) {
    char room[INET6_ADDRSTRLEN] = "";
    if (address && address->sa_family == AF_INET)
        inet_ntop(AF_INET, &reinterpret_cast<const sockaddr_in*>(address)->sin_addr, room,
                  sizeof room);
    if (address && address->sa_family == AF_INET6) {
        sockaddr_storage whole{};
        std::memcpy(&whole, address, sizeof(sockaddr_in6));
        if (dapl::is_queue_pair(whole)) return dapl::to_text(whole);
        inet_ntop(AF_INET6, &reinterpret_cast<const sockaddr_in6*>(address)->sin6_addr, room,
                  sizeof room);
    }
    return room;
}

const char* extension_name(DAT_EXTENSION extension) {
    switch (extension) {
        case DAT_EXTENSION_NONE:
            return "none";
        case DAT_EXTENSION_IB:
            return "InfiniBand";
        default:
            return "other";
    }
}

}  // namespace

#define NUMBER(member) number(#member, from.member)
#define FLAGS(member, ...) flags(#member, static_cast<std::uint64_t>(from.member), {__VA_ARGS__})
#define ONE_OF(member, ...) one_of(#member, static_cast<std::uint64_t>(from.member), {__VA_ARGS__})
#define NAME(constant)                                  \
    Name {                                              \
        static_cast<std::uint64_t>(constant), #constant \
    }
#define BIT(constant)                             \
    Name {                                        \
        std::uint64_t{1} << (constant), #constant \
    }
#define TRUTH(member) truth(#member, from.member)
#define TEXT(member) text(#member, from.member)

Attributes adapter_attributes(const DAT_IA_ATTR& from) {
    return {
        TEXT(adapter_name),
        TEXT(vendor_name),
        NUMBER(hardware_version_major),
        NUMBER(hardware_version_minor),
        NUMBER(firmware_version_major),
        NUMBER(firmware_version_minor),
        {"ia_address", address_text(reinterpret_cast<const sockaddr*>(from.ia_address_ptr))},
        NUMBER(max_eps),
        NUMBER(max_dto_per_ep),
        NUMBER(max_rdma_read_per_ep_in),
        NUMBER(max_rdma_read_per_ep_out),
        NUMBER(max_evds),
        NUMBER(max_evd_qlen),
        NUMBER(max_iov_segments_per_dto),
        NUMBER(max_lmrs),
        NUMBER(max_lmr_block_size),
        NUMBER(max_lmr_virtual_address),
        NUMBER(max_pzs),
        NUMBER(max_message_size),
        NUMBER(max_rdma_size),
        NUMBER(max_rmrs),
        NUMBER(max_rmr_target_address),
        NUMBER(max_srqs),
        NUMBER(max_ep_per_srq),
        NUMBER(max_recv_per_srq),
        NUMBER(max_iov_segments_per_rdma_read),
        NUMBER(max_iov_segments_per_rdma_write),
        NUMBER(max_rdma_read_in),
        NUMBER(max_rdma_read_out),
        TRUTH(max_rdma_read_per_ep_in_guaranteed),
        TRUTH(max_rdma_read_per_ep_out_guaranteed),
        TRUTH(zb_supported),
        {"extension_supported", extension_name(from.extension_supported)},
        NUMBER(extension_version),
    };
}

Attributes provider_attributes(const DAT_PROVIDER_ATTR& from) {
    return {
        TEXT(provider_name),
        NUMBER(provider_version_major),
        NUMBER(provider_version_minor),
        NUMBER(dapl_version_major),
        NUMBER(dapl_version_minor),
        FLAGS(lmr_mem_types_supported, BIT(DAT_MEM_TYPE_VIRTUAL), BIT(DAT_MEM_TYPE_LMR),
              BIT(DAT_MEM_TYPE_SHARED_VIRTUAL)),
        ONE_OF(iov_ownership_on_return, NAME(DAT_IOV_CONSUMER), NAME(DAT_IOV_PROVIDER_NOMOD),
               NAME(DAT_IOV_PROVIDER_MOD)),
        FLAGS(dat_qos_supported, NAME(DAT_QOS_BEST_EFFORT), NAME(DAT_QOS_HIGH_THROUGHPUT),
              NAME(DAT_QOS_LOW_LATENCY), NAME(DAT_QOS_ECONOMY), NAME(DAT_QOS_PREMIUM)),
        FLAGS(completion_flags_supported, NAME(DAT_COMPLETION_DEFAULT_FLAG),
              NAME(DAT_COMPLETION_SUPPRESS_FLAG), NAME(DAT_COMPLETION_SOLICITED_WAIT_FLAG),
              NAME(DAT_COMPLETION_UNSIGNALLED_FLAG), NAME(DAT_COMPLETION_BARRIER_FENCE_FLAG),
              NAME(DAT_COMPLETION_EVD_THRESHOLD_FLAG),
              NAME(DAT_COMPLETION_LMR_INVALIDATE_FENCE_FLAG)),
        TRUTH(is_thread_safe),
        NUMBER(max_private_data_size),
        TRUTH(supports_multipath),
        ONE_OF(ep_creator, NAME(DAT_PSP_CREATES_EP_NEVER), NAME(DAT_PSP_CREATES_EP_IFASKED),
               NAME(DAT_PSP_CREATES_EP_ALWAYS)),
        ONE_OF(pz_support, NAME(DAT_PZ_UNIQUE), NAME(DAT_PZ_SHAREABLE)),
        NUMBER(optimal_buffer_alignment),
        TRUTH(srq_supported),
        NUMBER(srq_watermarks_supported),
        TRUTH(srq_ep_pz_difference_supported),
        NUMBER(srq_info_supported),
        NUMBER(ep_recv_info_supported),
        TRUTH(lmr_sync_req),
        TRUTH(dto_async_return_guaranteed),
        TRUTH(rdma_write_for_rdma_read_req),
        TRUTH(rdma_read_lmr_rmr_context_exposure),
        ONE_OF(rmr_scope_supported, NAME(DAT_RMR_SCOPE_EP), NAME(DAT_RMR_SCOPE_PZ),
               NAME(DAT_RMR_SCOPE_ANY)),
        TRUTH(is_signal_safe),
        TRUTH(ha_supported),
        ONE_OF(ha_loadbalancing, NAME(DAT_HA_LB_NONE), NAME(DAT_HA_LB_INTERCOMM),
               NAME(DAT_HA_LB_INTRACOMM)),
    };
}

#undef NUMBER
#undef FLAGS
#undef ONE_OF
#undef NAME
#undef BIT
#undef TRUTH
#undef TEXT

Attributes named_attributes(const DAT_NAMED_ATTR* list, DAT_COUNT count) {
    Attributes all;
    for (DAT_COUNT i = 0; list && i < count; ++i) {
        if (!list[i].name || !list[i].value) continue;
        const std::string name = list[i].name;
        if (name == DAT_ATTR_DEBUG_QUERY || name == DAT_ATTR_DEBUG_MODIFY) continue;
        all.push_back({name, std::string(list[i].value)});
    }
    return all;
}

std::string to_text(const Attribute& attribute) {
    if (!attribute.names.empty()) return attribute.names;
    return std::visit(
        [](const auto& value) -> std::string {
            using Value = std::decay_t<decltype(value)>;
            if constexpr (std::is_same_v<Value, std::string>)
                return value;
            else if constexpr (std::is_same_v<Value, bool>)
                return value ? "true" : "false";
            else
                return std::to_string(value);
        },
        attribute.value);
}

}  // namespace info
