// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Opening and closing an IA: acquires the provider for its name, and releases it.
#include <cstring>
#include <new>
#include <string>

#include "dat/api/dispatch.hpp"
#include "dat/api/extension.hpp"
#include "dat/api/guard.hpp"
#include "dat/registry/ia_handles.hpp"
#include "dat/registry/lease_guard.hpp"
#include "dat/registry/lifetime.hpp"
#include "dat/registry/open_failure.hpp"
#include "dat/registry/provider_errors.hpp"
#include "support/log/log.hpp"

namespace dat {
namespace {

std::string code_text(DAT_RETURN code) {
    const char* type = "";
    const char* subtype = "";
    dat_strerror(code, &type, &subtype);
    return fmt::format("{}{}{} ({:#x})", type, *subtype ? "|" : "", subtype, code);
}

/// Enables dat_extension_op once an IA reports that it has extensions.
void note_extensions(const DAT_PROVIDER& provider, DAT_IA_HANDLE provider_handle) {
    if (!provider.ia_query_func) return;
    DAT_IA_ATTR attributes{};
    DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
    const DAT_RETURN code = provider.ia_query_func(provider_handle, &async, DAT_IA_FIELD_ALL,
                                                   &attributes, DAT_PROVIDER_FIELD_NONE, nullptr);
    if (code != DAT_SUCCESS || attributes.extension_supported == DAT_EXTENSION_NONE) return;
    note_extensions_offered();
    tell_program_of_extensions();
}

/// Queries the provider's attributes before a close, because providers expect it: other registries
/// use the answer to find the entry to close. Here it only helps authors of providers.
void check_attributes(const DAT_PROVIDER& provider, DAT_IA_HANDLE provider_handle,
                      const Key& registered) {
    if (!provider.ia_query_func) return;
    DAT_PROVIDER_ATTR attributes{};
    DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
    const DAT_RETURN code = provider.ia_query_func(provider_handle, &async, DAT_IA_FIELD_NONE,
                                                   nullptr, DAT_PROVIDER_FIELD_ALL, &attributes);
    const bool same = attributes.dapl_version_major == registered.major &&
                      attributes.dapl_version_minor == registered.minor &&
                      (attributes.is_thread_safe != DAT_FALSE) == registered.thread_safe;
    if (code != DAT_SUCCESS || !same)
        support::trace(support::Level::kDebug,
                       "provider of {} reports other attributes than it registered",
                       registered.ia_name);
}

/// @return the number by which the consumer knows the IA; nullptr when none is left or memory is
/// short.
DAT_IA_HANDLE number_ia(LeaseGuard& lease, DAT_IA_HANDLE provider_handle) {
    const DAT_IA_HANDLE number = add_ia(provider_handle);
    if (!number) return nullptr;
    try {
        lease.keep_for(number);
    } catch (const std::bad_alloc&) {
        remove_ia(number);
        return nullptr;
    }
    return number;
}

DAT_RETURN open_ia(Registry& registry, DAT_NAME_PTR name, DAT_COUNT qlen, DAT_EVD_HANDLE* async,
                   DAT_IA_HANDLE* ia, const Key& asked) {
    registry.report_file_once();
    const auto lease = registry.acquire(asked);
    if (!lease) {
        report_no_provider(registry, asked, lease.error());
        if (lease.error().limit != 0) return error(DAT_INSUFFICIENT_RESOURCES);
        return error(DAT_PROVIDER_NOT_FOUND, DAT_NAME_NOT_REGISTERED);
    }
    LeaseGuard guard(registry, *lease);
    // A failed open does not change the caller's async EVD, since programs use the variable for the
    // next name, and does not leave a provider's handle in the caller's IA.
    DAT_EVD_HANDLE async_evd = async ? *async : DAT_HANDLE_NULL;
    DAT_IA_HANDLE provider_handle = *ia;
    const ProviderErrors errors(*lease->provider, further_failures_are_hidden());
    const DAT_RETURN code =
        lease->provider->ia_open_func(name, qlen, async ? &async_evd : nullptr, &provider_handle);
    if (code != DAT_SUCCESS) {
        if (provider_handle != *ia) *ia = DAT_HANDLE_NULL;
        if (errors.told())
            count_told_failure();
        else
            report_refused(*lease, code, code_text(code));
        return code;
    }
    const DAT_PROVIDER* provider = provider_of(provider_handle);
    if (!provider) return error(DAT_INTERNAL_ERROR);
    const DAT_IA_HANDLE number = number_ia(guard, provider_handle);
    if (!number) {
        provider->ia_close_func(provider_handle, DAT_CLOSE_ABRUPT_FLAG);
        return error(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY);
    }
    note_extensions(*provider, provider_handle);
    if (async) *async = async_evd;
    *ia = number;
    return DAT_SUCCESS;
}

DAT_RETURN close_ia(Registry& registry, DAT_IA_HANDLE ia, DAT_CLOSE_FLAGS flags) {
    const DAT_IA_HANDLE provider_handle = provider_ia(ia);
    const DAT_PROVIDER* provider = provider_of(provider_handle);
    const std::shared_ptr<const Lease> lease = registry.lease_of(ia);
    if (!provider || !lease)
        return no_provider(DAT_INVALID_HANDLE_IA, ia, support::TraceCall::ia_close);
    check_attributes(*provider, provider_handle, lease->key);
    const DAT_RETURN code = provider->ia_close_func(provider_handle, flags);
    // When two threads close the same IA, the one that removes the number releases the lease.
    if (code == DAT_SUCCESS && registry.forget(ia)) registry.release(*lease);
    return code;
}

}  // namespace
}  // namespace dat

using support::TraceCall;

DAT_RETURN dat_ia_openv(const DAT_NAME_PTR name, DAT_COUNT async_evd_qlen,
                        DAT_EVD_HANDLE* async_evd_handle, DAT_IA_HANDLE* ia_handle,
                        DAT_UINT32 dapl_major, DAT_UINT32 dapl_minor, DAT_BOOLEAN thread_safety) {
    return dat::guarded(TraceCall::ia_openv, nullptr, ia_handle, [&]() -> DAT_RETURN {
        if (!name || strnlen(name, DAT_NAME_MAX_LENGTH) == DAT_NAME_MAX_LENGTH)
            return dat::error(DAT_INVALID_PARAMETER, DAT_INVALID_ARG1);
        if (!ia_handle) return dat::error(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_IA);
        const auto registry = dat::registry();
        if (!registry) return dat::error(DAT_INVALID_STATE);
        const dat::Key asked{name, dapl_major, dapl_minor, thread_safety != DAT_FALSE};
        return dat::open_ia(*registry, name, async_evd_qlen, async_evd_handle, ia_handle, asked);
    });
}

DAT_RETURN dat_ia_close(DAT_IA_HANDLE ia_handle, DAT_CLOSE_FLAGS close_flags) {
    return dat::guarded(TraceCall::ia_close, ia_handle, nullptr, [&]() -> DAT_RETURN {
        const auto registry = dat::registry();
        if (!registry) return dat::error(DAT_INVALID_STATE);
        return dat::close_ia(*registry, ia_handle, close_flags);
    });
}
