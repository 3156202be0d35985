// SPDX-License-Identifier: BSD-2-Clause
#include "providers/soft/softverbs/fabric/devices.hpp"

#include "providers/soft/softverbs/fabric/address.hpp"
#include "providers/soft/softverbs/fabric/ports.hpp"
#include "support/settings/settings.hpp"

namespace softverbs {
namespace {

constexpr std::string_view kNameStem = "soft";

}  // namespace

unsigned device_count() {
    static const auto count =
        static_cast<unsigned>(support::setting_integer(support::Setting::kSoftverbsDevices));
    return count;
}

unsigned port_count() {
    static const auto count =
        static_cast<unsigned>(support::setting_integer(support::Setting::kSoftverbsPorts));
    return count;
}

LinkLayer link_layer() {
    static const LinkLayer link =
        parse_link_layer(support::setting_text(support::Setting::kSoftverbsLink))
            .value_or(LinkLayer::kInfiniBand);
    return link;
}

const char* to_text(LinkLayer link) {
    return link == LinkLayer::kRoce ? "roce" : "infiniband";
}

std::optional<LinkLayer> parse_link_layer(std::string_view text) {
    for (const LinkLayer link : {LinkLayer::kInfiniBand, LinkLayer::kRoce})
        if (text == to_text(link)) return link;
    return std::nullopt;
}

std::string device_name(unsigned device) {
    return std::string(kNameStem) + std::to_string(device);
}

std::optional<unsigned> device_named(std::string_view name, unsigned count) {
    for (unsigned device = 0; device < count; ++device)
        if (name == device_name(device)) return device;
    return std::nullopt;
}

in6_addr loopback_of(unsigned device) {
    return mapped({htonl(INADDR_LOOPBACK + device)});
}

unsigned device_at(const in6_addr& address) {
    for (unsigned device = 1; device < device_count(); ++device)
        if (same_address(address, loopback_of(device))) return device;
    const unsigned device = is_roce() ? device_of_port_address(address) : 0;
    return device < device_count() ? device : 0;
}

}  // namespace softverbs
