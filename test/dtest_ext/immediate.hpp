// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Transfers with a number beside the data, and those without that meet the same receives. The n-th
/// transfer of a side has the cookie n, its n-th number and bytes; the peer's n-th receive, whose
/// slot and cookie are n, takes it. Each function throws a Failure when anything is not so.
#pragma once

#include "test/dtest_ext/connection.hpp"

namespace dtest_ext {

/// @return why this side has no immediate data, none with sends, or nothing.
std::string lacks_immediate(const Context& context);
std::string lacks_send_immediate(const Context& context);

/// Posts to the peer's target region, or its receive, and takes the completion.
void post_write_immediate(const Context& context, const Connection& connection, std::uint32_t size,
                          unsigned index);
void post_send_immediate(const Context& context, const Connection& connection, std::uint32_t size,
                         unsigned index);
void post_send(const Context& context, Connection& connection, std::uint32_t size, unsigned index);

/// Takes what the peer posted, with its number and bytes.
void take_write_immediate(const Context& context, const Connection& connection, std::uint32_t size,
                          unsigned index);
void take_send_immediate(const Context& context, const Connection& connection, std::uint32_t size,
                         unsigned index);
void take_send(const Context& context, const Connection& connection, std::uint32_t size,
               unsigned index);

}  // namespace dtest_ext
