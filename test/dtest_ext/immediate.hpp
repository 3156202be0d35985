// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Transfers with immediate data, and plain sends that consume the same receives. The n-th transfer
/// of a side has the cookie n, and the side's n-th number and bytes; it consumes the peer's n-th
/// receive, whose slot and cookie are n. Each function throws a Failure when anything differs.
#pragma once

#include "test/dtest_ext/connection.hpp"

namespace dtest_ext {

/// @return why this side lacks immediate data, or immediate data with sends; empty if it does not.
std::string lacks_immediate(const Context& context);
std::string lacks_send_immediate(const Context& context);

/// Posts a transfer to the peer's target region, or to its receive, and waits for the completion.
void post_write_immediate(const Context& context, const Connection& connection, std::uint32_t size,
                          unsigned index);
void post_send_immediate(const Context& context, const Connection& connection, std::uint32_t size,
                         unsigned index);
void post_send(const Context& context, Connection& connection, std::uint32_t size, unsigned index);

/// Waits for the peer's transfer and checks its immediate data and bytes.
void take_write_immediate(const Context& context, const Connection& connection, std::uint32_t size,
                          unsigned index);
void take_send_immediate(const Context& context, const Connection& connection, std::uint32_t size,
                         unsigned index);
void take_send(const Context& context, const Connection& connection, std::uint32_t size,
               unsigned index);

}  // namespace dtest_ext
