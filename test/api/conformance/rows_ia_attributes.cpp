// SPDX-License-Identifier: BSD-2-Clause
// dat_ia_query: what an adapter and its provider report.
#include <dat2/dat_trclvl.h>

#include <map>

#include "test/api/conformance/row.hpp"
#include "test/api/conformance/states.hpp"

namespace conformance {
namespace {

DAT_IA_ATTR adapter(Rig& r) {
    DAT_IA_ATTR attributes{};
    succeed(dat_ia_query(r.ia(), nullptr, DAT_IA_FIELD_ALL, &attributes, 0, nullptr),
            "dat_ia_query");
    return attributes;
}

/// Zeroed first, since the provider may leave some members unset.
const DAT_PROVIDER_ATTR& provider(Rig& r) {
    static DAT_PROVIDER_ATTR attributes{};
    succeed(dat_ia_query(r.ia(), nullptr, 0, nullptr, DAT_PROVIDER_FIELD_ALL, &attributes),
            "dat_ia_query");
    return attributes;
}

std::map<std::string, std::string> named_attributes(Rig& r) {
    const DAT_PROVIDER_ATTR& p = provider(r);
    std::map<std::string, std::string> named;
    for (DAT_COUNT i = 0; i < p.num_provider_specific_attr; ++i)
        named[p.provider_specific_attr[i].name] = p.provider_specific_attr[i].value;
    return named;
}

Rows argument_rows() {
    return {
        {"dat_ia_query/async-evd", "0 yes",
         [](Rig& r) {
             DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
             r << dat_ia_query(r.ia(), &async, 0, nullptr, 0, nullptr) << (async == r.side().async);
         }},
        {"dat_ia_query/nothing-asked", "0",
         [](Rig& r) { r << dat_ia_query(r.ia(), nullptr, 0, nullptr, 0, nullptr); }},
        {"dat_ia_query/any-mask-fills-all", "0 yes",
         [](Rig& r) {
             DAT_IA_ATTR attributes{};
             r << dat_ia_query(r.ia(), nullptr, DAT_IA_FIELD_IA_ADAPTER_NAME, &attributes, 0,
                               nullptr)
               << (attributes.max_eps > 0);
         }},
        {"dat_ia_query/unknown-adapter-bits", "0x80060027",
         [](Rig& r) {
             DAT_IA_ATTR attributes{};
             r << dat_ia_query(r.ia(), nullptr, UINT64_C(1) << 50, &attributes, 0, nullptr);
         }},
        {"dat_ia_query/unknown-provider-bits", "0",
         [](Rig& r) {
             static DAT_PROVIDER_ATTR attributes{};
             r << dat_ia_query(r.ia(), nullptr, 0, nullptr, UINT64_C(1) << 50, &attributes);
         }},
        {"dat_ia_query/adapter-null", "0x80060028",
         [](Rig& r) { r << dat_ia_query(r.ia(), nullptr, DAT_IA_FIELD_ALL, nullptr, 0, nullptr); }},
        {"dat_ia_query/provider-null", "0x8006002A",
         [](Rig& r) {
             r << dat_ia_query(r.ia(), nullptr, 0, nullptr, DAT_PROVIDER_FIELD_ALL, nullptr);
         }},
        {"dat_ia_query/closed-adapter", "0 0x8005000B",
         [](Rig& r) {
             const DAT_IA_HANDLE ia = r.ia();
             r << dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG)
               << dat_ia_query(ia, nullptr, 0, nullptr, 0, nullptr);
         }},
    };
}

Rows adapter_rows() {
    return {
        {"dat_ia_query/adapter-name-and-address", "soft0 2",
         [](Rig& r) {
             const DAT_IA_ATTR a = adapter(r);
             r << a.adapter_name << static_cast<DAT_COUNT>(a.ia_address_ptr->sa_family);
         }},
        {"dat_ia_query/limits-are-there", "yes yes yes yes yes yes yes",
         [](Rig& r) {
             const DAT_IA_ATTR a = adapter(r);
             r << (a.max_eps > 0) << (a.max_dto_per_ep > 0) << (a.max_evds > 0)
               << (a.max_evd_qlen > 0) << (a.max_lmrs > 0) << (a.max_pzs > 0)
               << (a.max_message_size > 0);
         }},
        {"dat_ia_query/limits-that-depend-on-the-device", "same",
         [](Rig& r) {
             const DAT_IA_ATTR a = adapter(r);
             const bool is_same = a.max_rdma_read_in == a.max_rdma_read_per_ep_in &&
                                  a.max_rdma_read_out == a.max_rdma_read_per_ep_out &&
                                  a.max_rdma_size == a.max_message_size &&
                                  a.max_iov_segments_per_rdma_write == a.max_iov_segments_per_dto;
             r << (is_same ? "same" : "other");
         }},
        {"dat_ia_query/reads-are-guaranteed", "yes yes",
         [](Rig& r) {
             const DAT_IA_ATTR a = adapter(r);
             r << (a.max_rdma_read_per_ep_in_guaranteed != DAT_FALSE)
               << (a.max_rdma_read_per_ep_out_guaranteed != DAT_FALSE);
         }},
        {"dat_ia_query/extensions", "1 209",
         [](Rig& r) {
             const DAT_IA_ATTR a = adapter(r);
             r << static_cast<DAT_COUNT>(a.extension_supported) << a.extension_version;
         }},
        {"dat_ia_query/transport-and-vendor-attributes", "2 9",
         [](Rig& r) {
             const DAT_IA_ATTR a = adapter(r);
             r << a.num_transport_attr << a.num_vendor_attr;
         }},
        {"dat_ia_query/shared-receive-queues", "yes yes yes",
         [](Rig& r) {
             const DAT_IA_ATTR a = adapter(r);
             r << (a.max_srqs > 0) << (a.max_ep_per_srq > 0) << (a.max_recv_per_srq > 0);
         }},
    };
}

Rows provider_rows() {
    return {
        {"dat_ia_query/provider-name-and-versions", "its-name 2 0",
         [](Rig& r) {
             const DAT_PROVIDER_ATTR& p = provider(r);
             r << own_or_other(p.provider_name) << static_cast<DAT_COUNT>(p.dapl_version_major)
               << static_cast<DAT_COUNT>(p.dapl_version_minor);
         }},
        {"dat_ia_query/provider-constants", "0 0 0 no 56 no 0 256",
         [](Rig& r) {
             const DAT_PROVIDER_ATTR& p = provider(r);
             r << static_cast<DAT_COUNT>(p.iov_ownership_on_return)
               << static_cast<DAT_COUNT>(p.dat_qos_supported)
               << static_cast<DAT_COUNT>(p.completion_flags_supported)
               << (p.is_thread_safe != DAT_FALSE) << p.max_private_data_size
               << (p.supports_multipath != DAT_FALSE) << static_cast<DAT_COUNT>(p.pz_support)
               << static_cast<DAT_COUNT>(p.optimal_buffer_alignment);
         }},
        {"dat_ia_query/merging", "111110 111110 111010 110110 111110 000000",
         [](Rig& r) {
             const DAT_PROVIDER_ATTR& p = provider(r);
             for (const auto& streams : p.evd_stream_merging_supported) {
                 std::string row;
                 for (const DAT_BOOLEAN may : streams) row += may ? '1' : '0';
                 r << row;
             }
         }},
        {"dat_ia_query/named-attributes", "CMA DIRECT TRUE TRUE TRUE TRUE TRUE ACTIVE",
         [](Rig& r) {
             auto named = named_attributes(r);
             for (const char* name :
                  {"DAT_IB_PROVIDER_NAME", "DAT_IB_CONNECTIVITY_MODE", "DAT_IB_RDMA_READ",
                   "DAT_EXTENSION_INTERFACE", "DAT_IB_FETCH_AND_ADD", "DAT_IB_CMP_AND_SWAP",
                   "DAT_IB_IMMED_DATA", "DAT_IB_PORT_STATUS"})
                 r << named[name];
         }},
        {"dat_ia_query/named-attribute-of-the-device", "soft0",
         [](Rig& r) { r << named_attributes(r)["DAT_IB_DEVICE_NAME"]; },
         "it points at freed memory"},
    };
}

Rows trace_level_rows() {
    return {
        {"dat_trclvl_query/levels", "0 yes yes",
         [](Rig& r) {
             int dat = -2, dapl = -2;
             r << EXPORTED(dat_trclvl_query)(r.ia(), &dat, &dapl);
             r << (dat >= 0 && dat <= DAT_TRCLVL_MAX) << (dapl >= 0 && dapl <= DAT_TRCLVL_MAX);
         }},
        {"dat_trclvl_query/nothing-asked", "0",
         [](Rig& r) { r << EXPORTED(dat_trclvl_query)(r.ia(), nullptr, nullptr); }},
        {"dat_trclvl_query/ia-null", "0x8005000B",
         [](Rig& r) { r << EXPORTED(dat_trclvl_query)(nullptr, nullptr, nullptr); }},
        {"dat_trclvl_query/ia-other-kind", "0x8005000B",
         [](Rig& r) { r << EXPORTED(dat_trclvl_query)(r.other_kind(), nullptr, nullptr); }},
        {"dat_trclvl_modify/levels", "0 0 4 6",
         [](Rig& r) {
             int dat = -2, dapl = -2;
             r << EXPORTED(dat_trclvl_modify)(r.ia(), 4, 6)
               << EXPORTED(dat_trclvl_query)(r.ia(), &dat, &dapl);
             r << dat << dapl;
         }},
        {"dat_trclvl_modify/both-stay", "0",
         [](Rig& r) { r << EXPORTED(dat_trclvl_modify)(r.ia(), -1, -1); }},
        {"dat_trclvl_modify/dat-level-11", "0x80060026",
         [](Rig& r) { r << EXPORTED(dat_trclvl_modify)(r.ia(), 11, 3); }},
        {"dat_trclvl_modify/dapl-level-11", "0x80060027",
         [](Rig& r) { r << EXPORTED(dat_trclvl_modify)(r.ia(), 3, 11); }},
        {"dat_trclvl_modify/ia-null", "0x8005000B",
         [](Rig& r) { r << EXPORTED(dat_trclvl_modify)(nullptr, 3, 3); }},
    };
}

}  // namespace

Rows ia_attribute_rows() {
    Rows rows = argument_rows();
    for (const Rows& more : {adapter_rows(), provider_rows(), trace_level_rows()})
        rows.insert(rows.end(), more.begin(), more.end());
    return rows;
}

}  // namespace conformance
