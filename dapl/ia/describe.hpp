// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The named attributes of an adapter instance: those of its provider, transport and vendor.
#pragma once

#include "dapl/provider/named_attributes.hpp"

namespace dapl {

class Ia;

/// Provider attributes: what the extensions and the connection manager offer, and the state of the
/// port, all as of the opening of the adapter instance.
NamedAttributes describe_provider(const Ia& ia);
/// IA attributes: the port's transport.
NamedAttributes describe_transport(const Ia& ia);
/// IA attributes: vendor, part and firmware of the adapter.
NamedAttributes describe_vendor(const Ia& ia);

}  // namespace dapl
