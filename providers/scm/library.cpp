// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// libdaploscm: the connection manager over TCP sockets.
#include "dapl/provider/library.hpp"

#include "providers/scm/manager.hpp"

extern "C" [[gnu::visibility("default")]] void dat_provider_init(const DAT_PROVIDER_INFO* info,
                                                                 const char* instance_data) {
    dapl::start_provider({dapl::scm::open_manager, verbs::preloaded_extensions()}, info,
                         instance_data);
}
