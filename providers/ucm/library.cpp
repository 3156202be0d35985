// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// libdaploucm: the connection manager over datagrams.
#include "dapl/provider/library.hpp"

#include "providers/ucm/manager.hpp"

extern "C" [[gnu::visibility("default")]] void dat_provider_init(const DAT_PROVIDER_INFO* info,
                                                                 const char* instance_data) {
    dapl::start_provider({dapl::ucm::open_manager, verbs::preloaded_extensions()}, info,
                         instance_data);
}
