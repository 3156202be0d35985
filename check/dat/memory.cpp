// SPDX-License-Identifier: BSD-2-Clause
#include <dat2/dat_opendat.h>

#include <cstdarg>

#include "check/dat/entry.hpp"
#include "check/dat/objects.hpp"

namespace check::dat {
namespace {

unsigned rights_of(DAT_MEM_PRIV_FLAGS privileges) {
    return ((privileges & DAT_MEM_PRIV_LOCAL_WRITE_FLAG) ? kLocalWrite : 0u) |
           ((privileges & DAT_MEM_PRIV_REMOTE_READ_FLAG) ? kRemoteRead : 0u) |
           ((privileges & DAT_MEM_PRIV_REMOTE_WRITE_FLAG) ? kRemoteWrite : 0u);
}

void learn_region(const Checked& checked, DAT_LMR_HANDLE lmr) {
    DAT_LMR_PARAM param{};
    if (checked.inner.lmr_query_func(lmr, DAT_LMR_FIELD_ALL, &param) != kSuccess) return;
    Region region;
    region.handle = lmr;
    region.memory = param.registered_address;
    region.first = param.va_type == DAT_VA_TYPE_ZB ? 0 : region.memory;
    region.length = param.registered_size;
    region.rights = rights_of(param.mem_priv);
    region.zone = param.pz_handle;
    with_model([&](Model& state) NO_THREAD_SAFETY_ANALYSIS {
        Object* object = state.objects.find_live(lmr);
        if (!object) return;
        object->key = param.lmr_context;
        object->remote_key = param.rmr_context;
        region.made = object->made;
        state.regions.add(object->owner, param.lmr_context, region);
        if (region.rights & (kRemoteRead | kRemoteWrite))
            state.remote_regions.add(object->owner, param.rmr_context, region);
    });
}

DAT_RETURN extended(const DAT_PROVIDER& inner, DAT_HANDLE handle, unsigned operation, ...) {
    va_list arguments;
    va_start(arguments, operation);
    const DAT_RETURN code =
        inner.handle_extendedop_func(handle, static_cast<DAT_EXTENDED_OP>(operation), arguments);
    va_end(arguments);
    return code;
}

DAT_RETURN check_use(const Checked& checked, DAT_LMR_HANDLE lmr, const char* call) {
    if (!checked.policy.checks_for(kBuffers)) return kSuccess;
    Found found;
    Domain domain = nullptr;
    with_model([&](Model& state) NO_THREAD_SAFETY_ANALYSIS {
        const Object* object = state.objects.find_live(lmr);
        if (!object) return;
        domain = object->owner;
        state.find_use(domain, object->key, found);
    });
    return found.empty() ? kSuccess : refuse(checked, domain, found, call);
}

}  // namespace

bool find_region(const Checked& checked, Domain ia, DAT_LMR_CONTEXT context) {
    DAT_LMR_HANDLE lmr = DAT_HANDLE_NULL;
    if (extended(checked.inner, const_cast<void*>(ia), DAT_OPENDAT_LMR_FIND_OP, context, &lmr) !=
        kSuccess)
        return false;
    with_model([&](Model& state) NO_THREAD_SAFETY_ANALYSIS {
        if (state.objects.find_live(lmr)) return;  // its context has changed
        Object object;
        object.kind = kRegion;
        object.owner = ia;
        object.goes_with_owner = true;
        state.objects.add(lmr, object);
    });
    learn_region(checked, lmr);
    return true;
}

namespace entry {

DAT_RETURN lmr_create(DAT_IA_HANDLE ia, DAT_MEM_TYPE type, DAT_REGION_DESCRIPTION region,
                      DAT_VLEN length, DAT_PZ_HANDLE pz, DAT_MEM_PRIV_FLAGS privileges,
                      DAT_VA_TYPE addresses, DAT_LMR_HANDLE* lmr, DAT_LMR_CONTEXT* context,
                      DAT_RMR_CONTEXT* remote_context, DAT_VLEN* registered_length,
                      DAT_VADDR* registered_address) {
    const DAT_RETURN code =
        Making<&DAT_PROVIDER::lmr_create_func, Text("dat_lmr_create"), Text("the LMR")>::call(
            ia, type, region, length, pz, privileges, addresses, lmr, context, remote_context,
            registered_length, registered_address);
    if (code == kSuccess) learn_region(checked_of(ia), *lmr);
    return code;
}

DAT_RETURN lmr_free(DAT_LMR_HANDLE lmr) {
    constexpr Text kName("dat_lmr_free");
    const Checked& checked = checked_of(lmr);
    const DAT_RETURN refused = check_use(checked, lmr, kName.text);
    if (refused != kSuccess) return refused;
    const DAT_RETURN code = Call<&DAT_PROVIDER::lmr_free_func, kName>::call(lmr);
    if (code != kSuccess) return code;
    const Origin origin = here();
    with_model([&](Model& state) NO_THREAD_SAFETY_ANALYSIS {
        const Object* object = state.objects.find_live(lmr);
        if (!object) return;
        state.regions.end(object->owner, object->key, lmr, origin);
        state.remote_regions.end(object->owner, object->remote_key, lmr, origin);
    });
    ended(checked, lmr);
    return code;
}

}  // namespace entry
}  // namespace check::dat
