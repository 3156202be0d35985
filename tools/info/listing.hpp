// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// What there is on this machine: the IAs of dat.conf with all that they tell when they are open,
/// and the kernel's devices.
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
    DAT_RETURN code;  ///< of dat_ia_openv or dat_ia_query; what follows is empty unless it succeeds
    Attributes adapter, provider_attributes;
    Attributes provider_named, transport_named, vendor_named;
};

struct Listing {
    std::vector<ListedIa> ias;
    std::vector<dapl::cm::KernelDevice> devices;
    std::string libdat2;    ///< the file that programs get, or why they get none
    std::string conf_file;  ///< the one that is used
};

/// Opens each IA and closes it again. What the libraries have to tell goes to stderr.
Listing list_all();
/// @return whether all IAs could be opened.
bool all_open(const Listing& listing);

/// @param verbose all limits and attributes; else a line for each IA
std::string to_text(const Listing& listing, bool verbose);
tools::Json to_json(const Listing& listing);

}  // namespace info
