// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Whether one IA can stand in for another. dat.conf says nothing about that, so the answer for two
/// different names is "unknown".
#include <dat2/dat_registry.h>

#include <algorithm>
#include <cstring>

#include "dat/api/dispatch.hpp"
#include "dat/api/guard.hpp"
#include "dat/registry/lifetime.hpp"

using dat::error;

namespace {

bool is_listed(const dat::Registry& registry, const char* ia_name) {
    const auto& entries = registry.entries();
    return std::any_of(entries.begin(), entries.end(),
                       [ia_name](const dat::Entry& entry) { return entry.key.ia_name == ia_name; });
}

}  // namespace

DAT_RETURN dat_registry_providers_related(const DAT_NAME_PTR ia_name_1,
                                          const DAT_NAME_PTR ia_name_2,
                                          DAT_HA_RELATIONSHIP* relationship) {
    return dat::guarded(
        support::TraceCall::registry_providers_related, nullptr, nullptr, [&]() -> DAT_RETURN {
            if (!ia_name_1) return error(DAT_INVALID_PARAMETER, DAT_INVALID_ARG1);
            if (!ia_name_2) return error(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
            if (!relationship) return error(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
            const auto registry = dat::registry();
            if (!registry) return error(DAT_INVALID_STATE);
            if (!is_listed(*registry, ia_name_1) || !is_listed(*registry, ia_name_2))
                return error(DAT_PROVIDER_NOT_FOUND, DAT_NAME_NOT_REGISTERED);
            const bool same = std::strcmp(ia_name_1, ia_name_2) == 0;
            *relationship = same ? DAT_HA_TRUE : DAT_HA_UNKNOWN;
            return DAT_SUCCESS;
        });
}
