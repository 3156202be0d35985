// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Lists what exists on this machine: the IAs of dat.conf, with all that they report when they are
/// open, and the kernel's devices.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "device/kernel_devices.hpp"
#include "tools/common/json.hpp"
#include "tools/info/attributes.hpp"

namespace info {

struct ListedIa {
    DAT_PROVIDER_INFO provider;
    DAT_RETURN code;  ///< dat_ia_openv's or dat_ia_query's; the rest is empty after an error
    Attributes adapter, provider_attributes;
    Attributes provider_named, transport_named, vendor_named;
};

struct Listing {
    std::vector<ListedIa> ias;
    std::vector<dapl::cm::KernelDevice> devices;
    std::string libdat2;    ///< the file that programs get, or why they get none
    std::string conf_file;  ///< the one in use
};

/// Opens each IA and closes it again. Messages of the libraries go to stderr.
Listing list_all();
/// @return whether all IAs could be opened.
bool all_open(const Listing& listing);

/// @param verbose all limits and attributes; otherwise one line per IA
std::string to_text(const Listing& listing, bool verbose);
tools::Json to_json(const Listing& listing);

}  // namespace info
