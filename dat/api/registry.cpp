// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Listing of providers, and the calls that providers themselves make.
#include "dat/api/dispatch.hpp"
#include "dat/api/guard.hpp"
#include "dat/registry/ia_handles.hpp"
#include "dat/registry/lifetime.hpp"
#include "dat/registry/provider_library.hpp"
#include "support/settings/api_profile.hpp"

using dat::error;
using support::TraceCall;

namespace {

/// On AIX, programs cannot register providers; a provider can register itself everywhere.
bool is_refused() {
    return !dat::in_provider() && support::api_profile() == support::ApiProfile::kAix;
}

}  // namespace

/// Providers import this function, although no header of DAT 2.0 declares it.
extern "C" DAT_RETURN dats_get_ia_handle(DAT_IA_HANDLE handle, DAT_IA_HANDLE* other);

DAT_RETURN dat_registry_list_providers(DAT_COUNT max_to_return, DAT_COUNT* entries_returned,
                                       DAT_PROVIDER_INFO*(dat_provider_list[])) {
    return dat::guarded(TraceCall::registry_list_providers, nullptr, nullptr, [&]() -> DAT_RETURN {
        const auto registry = dat::registry();
        if (!registry) return error(DAT_INVALID_STATE);
        if (!entries_returned) return error(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
        if (!dat_provider_list && max_to_return != 0)
            return error(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
        registry->report_file_once();
        registry->report_no_entries();
        *entries_returned = 0;
        if (max_to_return == 0) {  // 0 asks for the number of providers
            *entries_returned = static_cast<DAT_COUNT>(registry->entries().size());
            return error(DAT_INVALID_PARAMETER, DAT_INVALID_ARG1);
        }
        DAT_COUNT copied = 0;
        for (const dat::Entry& entry : registry->entries()) {
            if (copied >= max_to_return) break;
            if (!dat_provider_list[copied]) return error(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
            *dat_provider_list[copied++] = entry.key.info();
        }
        *entries_returned = copied;
        return DAT_SUCCESS;
    });
}

DAT_RETURN dat_registry_add_provider(const DAT_PROVIDER* provider,
                                     const DAT_PROVIDER_INFO* provider_info) {
    return dat::guarded(TraceCall::registry_add_provider, nullptr, nullptr, [&]() -> DAT_RETURN {
        if (is_refused()) return error(DAT_NOT_IMPLEMENTED);
        const auto registry = dat::registry();
        if (!provider) return error(DAT_INVALID_PARAMETER, DAT_INVALID_ARG1);
        if (!provider_info) return error(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
        if (!registry) return error(DAT_INVALID_STATE);
        const void* module = dat::module_of(reinterpret_cast<const void*>(provider->ia_open_func));
        const bool added = registry->add(dat::Key::of(*provider_info), provider, module);
        if (!added) return error(DAT_PROVIDER_ALREADY_REGISTERED);
        return DAT_SUCCESS;
    });
}

DAT_RETURN dat_registry_remove_provider(const DAT_PROVIDER* provider,
                                        const DAT_PROVIDER_INFO* provider_info) {
    return dat::guarded(TraceCall::registry_remove_provider, nullptr, nullptr, [&]() -> DAT_RETURN {
        if (is_refused()) return error(DAT_NOT_IMPLEMENTED);
        const auto registry = dat::registry();
        if (!provider) return error(DAT_INVALID_PARAMETER, DAT_INVALID_ARG1);
        if (!provider_info) return error(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
        if (!registry) return error(DAT_INVALID_STATE);
        switch (registry->remove(dat::Key::of(*provider_info))) {
            case dat::Registry::Removal::kDone:
                return DAT_SUCCESS;
            case dat::Registry::Removal::kInUse:
                return error(DAT_PROVIDER_IN_USE);
            case dat::Registry::Removal::kUnknown:
                break;
        }
        return error(DAT_PROVIDER_NOT_FOUND, DAT_NAME_NOT_REGISTERED);
    });
}

/// Converts both ways: a consumer's integer to the provider's handle, a provider's handle to the
/// integer.
DAT_RETURN dats_get_ia_handle(DAT_IA_HANDLE handle, DAT_IA_HANDLE* other) {
    DAT_IA_HANDLE found = dat::provider_ia(handle);
    if (!found) found = dat::consumer_ia(handle);
    *other = found;
    if (!found) return error(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_IA);
    return DAT_SUCCESS;
}
