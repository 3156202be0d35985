// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Named attributes of an IA.
#pragma once

#include <dat2/dat_trclvl.h>

#include <stdexcept>
#include <string>

#include "test/api/side.hpp"

namespace test {

/// @return the value in the list. Throws if the name is missing or listed twice.
inline const char* value_of(const DAT_NAMED_ATTR* list, DAT_COUNT count, const std::string& name) {
    const char* value = nullptr;
    for (DAT_COUNT i = 0; i < count; ++i) {
        if (list[i].name != name) continue;
        require(!value, name + " stands there once");
        value = list[i].value;
    }
    require(value, "there is the attribute " + name);
    return value;
}

inline DAT_PROVIDER_ATTR provider_attributes(DAT_IA_HANDLE ia) {
    DAT_PROVIDER_ATTR result{};
    succeed(dat_ia_query(ia, nullptr, 0, nullptr, DAT_PROVIDER_FIELD_ALL, &result), "dat_ia_query");
    return result;
}

/// @return the value of a provider-specific attribute.
inline const char* provider_value(DAT_IA_HANDLE ia, const std::string& name) {
    const DAT_PROVIDER_ATTR all = provider_attributes(ia);
    return value_of(all.provider_specific_attr, all.num_provider_specific_attr, name);
}

/// @return the value of a vendor attribute.
inline const char* vendor_value(const Side& side, const std::string& name) {
    const DAT_IA_ATTR all = side.attributes();
    return value_of(all.vendor_attr, all.num_vendor_attr, name);
}

}  // namespace test
