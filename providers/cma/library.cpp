// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// libdaplofa: the connection manager over rdma_cm, on the devices of rdma-core.
#include "dapl/provider/library.hpp"

#include "providers/cma/manager.hpp"
#include "providers/cma/rdma_devices.hpp"

extern "C" [[gnu::visibility("default")]] void dat_provider_init(const DAT_PROVIDER_INFO* info,
                                                                 const char* instance_data) {
    const dapl::Library library = {[](std::string_view ia_name, std::string_view ia_params) {
                                       return dapl::cma::open_manager(dapl::cma::kRdmaDevices,
                                                                      ia_name, ia_params);
                                   },
                                   verbs::preloaded_extensions()};
    dapl::start_provider(library, info, instance_data);
}
