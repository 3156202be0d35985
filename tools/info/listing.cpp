// SPDX-License-Identifier: BSD-2-Clause
#include "tools/info/listing.hpp"

#include <fmt/core.h>

#include <algorithm>

#include "dat/registry/lifetime.hpp"
#include "tools/common/failure.hpp"
#include "tools/common/libraries.hpp"
#include "tools/common/terminal.hpp"

namespace info {
namespace {

constexpr int kAsyncLength = 8;
constexpr int kNameWidth = 36;

std::vector<DAT_PROVIDER_INFO> providers() {
    DAT_COUNT count = 0;
    // Returns an error by design: asking for 0 entries gives the number.
    dat_registry_list_providers(0, &count, nullptr);
    std::vector<DAT_PROVIDER_INFO> all(static_cast<std::size_t>(count));
    std::vector<DAT_PROVIDER_INFO*> places;
    places.reserve(all.size());
    for (DAT_PROVIDER_INFO& one : all) places.push_back(&one);
    if (count > 0)
        tools::require_success(dat_registry_list_providers(count, &count, places.data()),
                               "dat_registry_list_providers", "free memory");
    all.resize(static_cast<std::size_t>(count));
    return all;
}

void query(DAT_IA_HANDLE ia, ListedIa& listed) {
    DAT_IA_ATTR adapter{};
    DAT_PROVIDER_ATTR provider{};
    DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
    listed.code =
        dat_ia_query(ia, &async, DAT_IA_FIELD_ALL, &adapter, DAT_PROVIDER_FIELD_ALL, &provider);
    if (listed.code != DAT_SUCCESS) return;
    listed.adapter = adapter_attributes(adapter);
    listed.provider_attributes = provider_attributes(provider);
    listed.provider_named =
        named_attributes(provider.provider_specific_attr, provider.num_provider_specific_attr);
    listed.transport_named = named_attributes(adapter.transport_attr, adapter.num_transport_attr);
    listed.vendor_named = named_attributes(adapter.vendor_attr, adapter.num_vendor_attr);
}

ListedIa look_at(const DAT_PROVIDER_INFO& provider) {
    ListedIa listed{provider, DAT_SUCCESS, {}, {}, {}, {}, {}};
    DAT_IA_HANDLE ia = DAT_HANDLE_NULL;
    DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
    listed.code = dat_ia_openv(listed.provider.ia_name, kAsyncLength, &async, &ia,
                               provider.dapl_version_major, provider.dapl_version_minor,
                               provider.is_thread_safe);
    if (listed.code != DAT_SUCCESS) return listed;
    query(ia, listed);
    dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG);
    return listed;
}

std::string section(const char* title, const Attributes& attributes) {
    if (attributes.empty()) return {};
    std::string text = "  " + tools::coloured(stdout, tools::Colour::kHeading, title) + '\n';
    for (const Attribute& attribute : attributes)
        text += fmt::format("    {:{}} {}\n", attribute.name, kNameWidth, to_text(attribute));
    return text;
}

std::string to_text(const ListedIa& ia) {
    std::string text = tools::coloured(stdout, tools::Colour::kHeading, ia.provider.ia_name);
    text +=
        fmt::format("  u{}.{} {}\n", ia.provider.dapl_version_major, ia.provider.dapl_version_minor,
                    ia.provider.is_thread_safe ? "threadsafe" : "nonthreadsafe");
    if (ia.code != DAT_SUCCESS)
        return text + fmt::format("  {}: `dat_info --explain {}` shows why\n",
                                  tools::coloured(stdout, tools::Colour::kBad,
                                                  "cannot be opened: " + tools::code_name(ia.code)),
                                  ia.provider.ia_name);
    return text + section("adapter and its limits", ia.adapter) +
           section("provider", ia.provider_attributes) +
           section("provider's named attributes", ia.provider_named) +
           section("transport's named attributes", ia.transport_named) +
           section("vendor's named attributes", ia.vendor_named);
}

/// @return the value of the named attribute, as text.
std::string value_of(const Attributes& attributes, std::string_view name) {
    for (const Attribute& attribute : attributes)
        if (attribute.name == name) return to_text(attribute);
    return "-";
}

std::string to_line(const ListedIa& ia) {
    const std::string version =
        fmt::format("u{}.{}{}", ia.provider.dapl_version_major, ia.provider.dapl_version_minor,
                    ia.provider.is_thread_safe ? " threadsafe" : "");
    if (ia.code != DAT_SUCCESS)
        return fmt::format("{:<20} {:<16} {}: `dat_info --explain {}` shows why\n",
                           ia.provider.ia_name, version,
                           tools::coloured(stdout, tools::Colour::kBad,
                                           "cannot be opened: " + tools::code_name(ia.code)),
                           ia.provider.ia_name);
    return fmt::format("{:<20} {:<16} {:<12} {:<24} {}\n", ia.provider.ia_name, version,
                       value_of(ia.adapter, "adapter_name"), value_of(ia.adapter, "ia_address"),
                       value_of(ia.transport_named, "OPENDAT_TRANSPORT"));
}

tools::Json to_json(const Attributes& attributes) {
    tools::Json object = tools::Json::object();
    for (const Attribute& attribute : attributes)
        std::visit([&](const auto& value) { object.put(attribute.name, value); }, attribute.value);
    return object;
}

tools::Json to_json(const ListedIa& ia) {
    tools::Json one = tools::Json::object();
    one.put("name", ia.provider.ia_name)
        .put("api_version",
             fmt::format("{}.{}", ia.provider.dapl_version_major, ia.provider.dapl_version_minor))
        .put("thread_safe", ia.provider.is_thread_safe != DAT_FALSE);
    if (ia.code != DAT_SUCCESS) return std::move(one.put("error", tools::code_name(ia.code)));
    return std::move(one.put("error", nullptr)
                         .put("adapter", to_json(ia.adapter))
                         .put("provider", to_json(ia.provider_attributes))
                         .put("provider_attributes", to_json(ia.provider_named))
                         .put("transport_attributes", to_json(ia.transport_named))
                         .put("vendor_attributes", to_json(ia.vendor_named)));
}

tools::Json to_json(const std::vector<dapl::cm::KernelDevice>& devices) {
    tools::Json all = tools::Json::array();
    for (const dapl::cm::KernelDevice& device : devices) {
        tools::Json interfaces = tools::Json::array();
        for (const std::string& name : device.interfaces) interfaces.add(name);
        tools::Json one = tools::Json::object();
        one.put("name", device.name)
            .put("device_file", device.uverbs.empty() ? "" : "/dev/infiniband/" + device.uverbs)
            .put("interfaces", std::move(interfaces));
        all.add(std::move(one));
    }
    return all;
}

}  // namespace

Listing list_all() {
    Listing listing;
    for (const DAT_PROVIDER_INFO& provider : providers()) listing.ias.push_back(look_at(provider));
    listing.devices = dapl::cm::kernel_devices(dapl::cm::KernelView());
    const tools::FoundLibrary found = tools::find_libdat2("libdat2.so.2");
    listing.libdat2 = found.file.empty() ? "none: " + found.error : found.file;
    if (const auto registry = dat::registry()) listing.conf_file = registry->file().path;
    return listing;
}

bool all_open(const Listing& listing) {
    return std::all_of(listing.ias.begin(), listing.ias.end(),
                       [](const ListedIa& ia) { return ia.code == DAT_SUCCESS; });
}

std::string to_text(const Listing& listing, bool verbose) {
    std::string text = fmt::format(
        "libdat2 of programs: {}\ndat.conf: {}\nRDMA devices of the kernel: {}\n", listing.libdat2,
        listing.conf_file, listing.devices.empty() ? "none" : to_text(listing.devices));
    if (listing.ias.empty()) text += "IAs: none\n";
    if (!verbose && !listing.ias.empty())
        text += '\n' +
                tools::coloured(stdout, tools::Colour::kHeading,
                                fmt::format("{:<20} {:<16} {:<12} {:<24} {}", "IA", "API",
                                            "adapter", "address", "transport")) +
                '\n';
    for (const ListedIa& ia : listing.ias) text += verbose ? '\n' + to_text(ia) : to_line(ia);
    return text;
}

tools::Json to_json(const Listing& listing) {
    tools::Json document = tools::Json::document("dat_info");
    tools::Json ias = tools::Json::array();
    for (const ListedIa& ia : listing.ias) ias.add(to_json(ia));
    document.put("libdat2", listing.libdat2)
        .put("conf_file", listing.conf_file)
        .put("ias", std::move(ias))
        .put("devices", to_json(listing.devices));
    return document;
}

}  // namespace info
