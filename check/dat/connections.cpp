// SPDX-License-Identifier: BSD-2-Clause
#include "check/dat/entry.hpp"
#include "check/dat/objects.hpp"

namespace check::dat {
namespace {

/// Checks private data against what the provider says it carries.
DAT_RETURN check_private_data(const Checked& checked, DAT_HANDLE object, DAT_COUNT size,
                              const char* call) {
    if (size <= 0 || !checked.policy.checks_for(kLife)) return kSuccess;
    Domain domain = nullptr;
    with_model([&](Model& state) NO_THREAD_SAFETY_ANALYSIS {
        if (const Object* known = state.objects.find_live(object)) domain = known->owner;
    });
    if (!domain) return kSuccess;
    DAT_PROVIDER_ATTR attributes{};
    if (checked.inner.ia_query_func(const_cast<void*>(domain), nullptr, DAT_IA_FIELD_NONE, nullptr,
                                    DAT_PROVIDER_FIELD_ALL, &attributes) != kSuccess)
        return kSuccess;
    if (size <= attributes.max_private_data_size) return kSuccess;
    Found found;
    Finding& finding = found.add(Kind::kPrivateData);
    finding.number = static_cast<std::uint64_t>(size);
    finding.limit = static_cast<std::uint64_t>(attributes.max_private_data_size);
    return refuse(checked, domain, found, call);
}

}  // namespace

namespace entry {

DAT_RETURN ep_connect(DAT_EP_HANDLE ep, DAT_IA_ADDRESS_PTR address, DAT_CONN_QUAL qualifier,
                      DAT_TIMEOUT timeout, DAT_COUNT size, const DAT_PVOID data, DAT_QOS quality,
                      DAT_CONNECT_FLAGS flags) {
    constexpr Text kName("dat_ep_connect");
    const DAT_RETURN refused = check_private_data(checked_of(ep), ep, size, kName.text);
    if (refused != kSuccess) return refused;
    return Call<&DAT_PROVIDER::ep_connect_func, kName>::call(ep, address, qualifier, timeout, size,
                                                             data, quality, flags);
}

DAT_RETURN cr_accept(DAT_CR_HANDLE cr, DAT_EP_HANDLE ep, DAT_COUNT size, const DAT_PVOID data) {
    constexpr Text kName("dat_cr_accept");
    const Checked& checked = checked_of(cr);
    const DAT_RETURN refused = check_private_data(checked, cr, size, kName.text);
    if (refused != kSuccess) return refused;
    const DAT_RETURN code = Call<&DAT_PROVIDER::cr_accept_func, kName>::call(cr, ep, size, data);
    if (code == kSuccess) ended(checked, cr);
    return code;
}

DAT_RETURN cr_reject(DAT_CR_HANDLE cr, DAT_COUNT size, const DAT_PVOID data) {
    constexpr Text kName("dat_cr_reject");
    const Checked& checked = checked_of(cr);
    const DAT_RETURN refused = check_private_data(checked, cr, size, kName.text);
    if (refused != kSuccess) return refused;
    const DAT_RETURN code = Call<&DAT_PROVIDER::cr_reject_func, kName>::call(cr, size, data);
    if (code == kSuccess) ended(checked, cr);
    return code;
}

DAT_RETURN cr_handoff(DAT_CR_HANDLE cr, DAT_CONN_QUAL qualifier) {
    const Checked& checked = checked_of(cr);
    const DAT_RETURN code =
        Call<&DAT_PROVIDER::cr_handoff_func, Text("dat_cr_handoff")>::call(cr, qualifier);
    if (code == kSuccess) ended(checked, cr);
    return code;
}

}  // namespace entry
}  // namespace check::dat
