// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Name of an endpoint in messages: its id, which dat_stat and dat_trace show, and the handle that
/// the program has.
#pragma once

#include <fmt/core.h>

#include <cstdint>

namespace dapl {

struct EpName {
    std::uint64_t id;
    const void* handle;
};

}  // namespace dapl

template <>
struct fmt::formatter<dapl::EpName> {
    constexpr auto parse(format_parse_context& context) { return context.begin(); }
    template <class Context>
    auto format(const dapl::EpName& name, Context& context) const {
        return fmt::format_to(context.out(), "EP {:x} (handle {})", name.id, name.handle);
    }
};
