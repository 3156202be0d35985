// SPDX-License-Identifier: BSD-2-Clause
#include "check/dat/audit.hpp"
#include "check/dat/entry.hpp"
#include "check/dat/objects.hpp"

namespace check::dat {
namespace {

/// Compares private data with what the provider says it carries, and with other providers, unless
/// the program may have asked for that limit.
DAT_RETURN check_private_data(const Checked& checked, DAT_HANDLE object, DAT_COUNT size,
                              const char* call) {
    if (size <= 0 || !(checked.policy.checks & (kLife | kPortability))) return kSuccess;
    Domain domain = nullptr;
    bool knows_limits = false;
    with_model([&](Model& state) NO_THREAD_SAFETY_ANALYSIS {
        const Object* known = state.objects.find_live(object);
        const Object* adapter = known ? state.objects.find_live(known->owner) : nullptr;
        if (!adapter) return;
        domain = known->owner;
        knows_limits = adapter->knows_limits;
    });
    if (!domain) return kSuccess;
    DAT_PROVIDER_ATTR attributes{};
    if (checked.inner.ia_query_func(const_cast<void*>(domain), nullptr, DAT_IA_FIELD_NONE, nullptr,
                                    DAT_PROVIDER_FIELD_ALL, &attributes) != kSuccess)
        return kSuccess;
    const bool is_too_long = size > attributes.max_private_data_size;
    const auto bytes = static_cast<std::uint64_t>(size);
    if (is_too_long ? !checked.policy.checks_for(kLife)
                    : knows_limits || !checked.policy.checks_for(kPortability) ||
                          is_everywhere(Need::kPrivateData, bytes))
        return kSuccess;
    Found found;
    Finding& finding = found.add(is_too_long ? Kind::kPrivateData : Kind::kElsewhere);
    finding.number = bytes;
    finding.limit = static_cast<std::uint64_t>(attributes.max_private_data_size);
    return refuse(checked, domain, found, call);
}

/// From here on the peer may send.
void note_accepted(const Checked& checked, DAT_EP_HANDLE ep) {
    if (!ep) return;
    ensure_known(checked, ep);
    with_endpoint(ep, [](Model&, Object& object) {
        if (object.endpoint->is_datagram) return;
        object.endpoint->is_accepting = true;
        object.endpoint->may_receive = true;
    });
}

}  // namespace

namespace entry {

DAT_RETURN ep_connect(DAT_EP_HANDLE ep, DAT_IA_ADDRESS_PTR address, DAT_CONN_QUAL qualifier,
                      DAT_TIMEOUT timeout, DAT_COUNT size, const DAT_PVOID data, DAT_QOS quality,
                      DAT_CONNECT_FLAGS flags) {
    constexpr Text kName("dat_ep_connect");
    const DAT_RETURN refused = check_private_data(checked_of(ep), ep, size, kName.text);
    if (refused != kSuccess) return refused;
    expect_connection(ep);
    return Call<&DAT_PROVIDER::ep_connect_func, kName>::call(ep, address, qualifier, timeout, size,
                                                             data, quality, flags);
}

DAT_RETURN ep_dup_connect(DAT_EP_HANDLE ep, DAT_EP_HANDLE like, DAT_TIMEOUT timeout, DAT_COUNT size,
                          const DAT_PVOID data, DAT_QOS quality) {
    expect_connection(ep);
    return Call<&DAT_PROVIDER::ep_dup_connect_func, Text("dat_ep_dup_connect")>::call(
        ep, like, timeout, size, data, quality);
}

DAT_RETURN cr_accept(DAT_CR_HANDLE cr, DAT_EP_HANDLE ep, DAT_COUNT size, const DAT_PVOID data) {
    constexpr Text kName("dat_cr_accept");
    const Checked& checked = checked_of(cr);
    const DAT_RETURN refused = check_private_data(checked, cr, size, kName.text);
    if (refused != kSuccess) return refused;
    expect_connection(ep);
    const DAT_RETURN code = Call<&DAT_PROVIDER::cr_accept_func, kName>::call(cr, ep, size, data);
    if (code != kSuccess) return code;
    ended(checked, cr);
    note_accepted(checked, ep);
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
