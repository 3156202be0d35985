// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The named attributes of an adapter instance: of its provider, its transport and its vendor.
#pragma once

#include "dapl/provider/named_attributes.hpp"

namespace dapl {

class Ia;

/// Provider attributes: what the extensions and the way of connecting offer, and the port, as they
/// were when the adapter instance was opened.
NamedAttributes describe_provider(const Ia& ia);
/// IA attributes: the port's transport.
NamedAttributes describe_transport(const Ia& ia);
/// IA attributes: who made the adapter.
NamedAttributes describe_vendor(const Ia& ia);

}  // namespace dapl
