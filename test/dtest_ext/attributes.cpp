// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Named attributes, queries without an open, operations that no provider has, trace levels.
#include "test/dtest_ext/attributes.hpp"

#include <dat2/dat_trclvl.h>
#include <dlfcn.h>

#include <cstdio>
#include <cstring>

#include "test/dtest_ext/connection.hpp"
#include "tools/common/failure.hpp"

namespace dtest_ext {

using namespace tools;

namespace {

std::string lacks_nothing(const Context&) {
    return "";
}

/// The attributes that a query without an open returned.
struct Query {
    explicit Query(const std::string& provider) : name(provider) {}
    DAT_RETURN open() {
        // The macro passes a NULL handle, since libdat2 finds the provider by its name.
        return dat_ib_open_query(name.data(), &handle, DAT_IA_FIELD_ALL, &ia,
                                 DAT_PROVIDER_FIELD_ALL, &provider);
    }
    std::string name;
    DAT_IA_HANDLE handle = DAT_HANDLE_NULL;
    DAT_IA_ATTR ia{};
    DAT_PROVIDER_ATTR provider{};
};

void print_all(const char* how, const DAT_IA_ATTR& ia, const DAT_PROVIDER_ATTR& provider) {
    std::printf("adapter %s, vendor %s, extension version %d\n", ia.adapter_name, ia.vendor_name,
                ia.extension_version);
    for (int i = 0; i < provider.num_provider_specific_attr; ++i) {
        std::printf(" %s: Provider Specific Attribute[%d] %s=%s\n", how, i,
                    provider.provider_specific_attr[i].name,
                    provider.provider_specific_attr[i].value);
    }
}

std::string check_named(const Context& context) {
    const Device& device = context.device;
    const bool extensions = device.attributes().extension_supported != DAT_EXTENSION_NONE;
    const char* const offers[] = {DAT_IB_ATTR_FETCH_AND_ADD, DAT_IB_ATTR_CMP_AND_SWAP,
                                  DAT_IB_ATTR_IMMED_DATA, DAT_IB_ATTR_UD};
    unsigned offered = 0;
    for (const char* name : offers) {
        const auto found = device.named().find(name);
        if (found == device.named().end()) continue;
        if (found->second != "TRUE" && found->second != "FALSE")
            throw Failure(name, "'" + found->second + "'", "TRUE or FALSE", kFault);
        if (found->second == "TRUE") ++offered;
    }
    if (offered != 0 && !extensions) {
        throw Failure("extension_supported", format("%d", device.attributes().extension_supported),
                      "DAT_EXTENSION_IB or _IW, since named attributes offer extensions", kFault);
    }
    const std::pair<const char*, const char*> same[] = {
        {"DAT_EXT_RECV_IMMED_EVENT", DAT_IB_ATTR_IMMED_DATA},
        {"DAT_EXT_FETCH_AND_ADD", DAT_IB_ATTR_FETCH_AND_ADD},
        {"DAT_EXT_CMP_AND_SWAP", DAT_IB_ATTR_CMP_AND_SWAP}};
    for (const auto& [name, other] : same) {
        if (device.has_additions() && device.says(name) != device.says(other))
            throw Failure(name, "not as " + std::string(other), "the same", kFault);
    }
    return format(
        "%zu attributes; of immediate data, two atomic operations and datagrams %u are "
        "offered; extension version %d",
        device.named().size(), offered, device.attributes().extension_version);
}

std::string lacks_query(const Context& context) {
    Query query(context.options.provider);
    const DAT_RETURN code = query.open();
    if (code == DAT_SUCCESS) {
        require_success(dat_ib_close_query(query.handle), "dat_ib_close_query", kFault);
        return "";
    }
    if (DAT_GET_TYPE(code) == DAT_GET_TYPE(DAT_NOT_IMPLEMENTED))
        return "dat_ib_open_query answers DAT_NOT_IMPLEMENTED";
    throw Failure("dat_ib_open_query", code_name(code), "DAT_SUCCESS", kFault);
}

std::string check_query(const Context& context) {
    Query query(context.options.provider);
    require_success(query.open(), "dat_ib_open_query", kFault);
    const NamedAttributes told = named_attributes(query.provider);
    const bool same = told == context.device.named();
    require_success(dat_ib_close_query(query.handle), "dat_ib_close_query", kFault);
    if (!same) {
        throw Failure("dat_ib_open_query", format("%zu attributes, other ones", told.size()),
                      format("the %zu of dat_ia_query", context.device.named().size()), kFault);
    }
    return "dat_ib_open_query tells the same as dat_ia_query; dat_ib_close_query ends it";
}

/// Some libraries implement collectives, and have attributes which report that.
std::string lacks_refused_collectives(const Context& context) {
    for (const auto& [name, value] : context.device.named())
        if (name.rfind("DAT_COLL_", 0) == 0 && value == "TRUE") return name + " is TRUE";
    return "";
}

std::string check_collectives(const Context& context) {
    unsigned count = 0;
    for (int op = DAT_IB_COLLECTIVE_CREATE_MEMBER_OP; op <= DAT_IB_COLLECTIVE_BARRIER_OP; ++op) {
        void* nothing = nullptr;
        const DAT_RETURN code =
            dat_extension_op(context.device.ia(), static_cast<DAT_EXTENDED_OP>(op), nothing,
                             nothing, nothing, nothing, nothing, nothing, nothing, nothing);
        require_refusal(code, "collective operation", DAT_NOT_IMPLEMENTED);
        ++count;
    }
    return format("no attribute offers any; each of %u answers DAT_NOT_IMPLEMENTED", count);
}

const char* vendor_attribute(const Context& context, const char* name) {
    const DAT_IA_ATTR& all = context.device.attributes();
    for (int i = 0; i < all.num_vendor_attr; ++i)
        if (std::strcmp(all.vendor_attr[i].name, name) == 0) return all.vendor_attr[i].value;
    return nullptr;
}

/// The trace functions are values of vendor attributes, which works with any libdat2.
template <class Function>
Function trace_function(const Context& context, const char* name) {
    return reinterpret_cast<Function>(const_cast<char*>(vendor_attribute(context, name)));
}

std::string lacks_levels(const Context& context) {
    return vendor_attribute(context, DAT_ATTR_DEBUG_QUERY) &&
                   vendor_attribute(context, DAT_ATTR_DEBUG_MODIFY)
               ? ""
               : "no attributes debug_query and debug_modify";
}

std::string check_levels(const Context& context) {
    const auto query = trace_function<DAT_TRCLVL_QUERY_FUNC>(context, DAT_ATTR_DEBUG_QUERY);
    const auto modify = trace_function<DAT_TRCLVL_MODIFY_FUNC>(context, DAT_ATTR_DEBUG_MODIFY);
    const DAT_IA_HANDLE ia = context.device.ia();
    int dat = -2, dapl = -2, dat_now = -2, dapl_now = -2;
    require_success(query(ia, &dat, &dapl), "dat_trclvl_query", kFault);
    const int other = dapl == 5 ? 4 : 5;
    require_success(modify(ia, -1, other), "dat_trclvl_modify", kFault);
    require_success(query(ia, &dat_now, &dapl_now), "dat_trclvl_query", kFault);
    require_success(modify(ia, -1, dapl), "dat_trclvl_modify", kFault);
    if (dapl_now != other || dat_now != dat) {
        throw Failure("dat_trclvl_query", format("levels %d and %d", dat_now, dapl_now),
                      format("%d and %d", dat, other), kFault);
    }
    // This project's libdat2 also exports the function by name.
    const auto by_name =
        reinterpret_cast<DAT_TRCLVL_QUERY_FUNC>(dlsym(RTLD_DEFAULT, "dat_trclvl_query"));
    if (by_name) {
        require_success(by_name(ia, &dat_now, &dapl_now), "dat_trclvl_query", kFault);
        if (dapl_now != dapl || dat_now != dat) {
            throw Failure("dat_trclvl_query by its name",
                          format("levels %d and %d", dat_now, dapl_now),
                          format("%d and %d", dat, dapl), kFault);
        }
    }
    require_refusal(modify(ia, -1, DAT_TRCLVL_MAX + 1), "dat_trclvl_modify", DAT_INVALID_PARAMETER);
    return format("levels %d (DAT) and %d (DAPL); the second changed and changed back", dat, dapl);
}

}  // namespace

void print_attributes(const Options& options) {
    Query query(options.provider);
    const DAT_RETURN code = query.open();
    if (code == DAT_SUCCESS) {
        print_all("Open_Query", query.ia, query.provider);
        require_success(dat_ib_close_query(query.handle), "dat_ib_close_query", kFault);
        return;
    }
    if (DAT_GET_TYPE(code) != DAT_GET_TYPE(DAT_NOT_IMPLEMENTED)) {
        throw Failure("dat_ib_open_query " + options.provider, code_name(code), "DAT_SUCCESS",
                      "check that dat.conf (DAT_OVERRIDE names another one) has a line for it "
                      "whose library and device are there; see dat.conf(5)");
    }
    Device device(options);
    print_all("Query", device.attributes(), device.provider_attributes());
    device.close();
}

const std::vector<Check> kAttributeChecks = {
    {"named attributes", lacks_nothing, check_named},
    {"query without an open", lacks_query, check_query},
    {"collective operations", lacks_refused_collectives, check_collectives},
    {"trace levels", lacks_levels, check_levels},
};

}  // namespace dtest_ext
