// SPDX-License-Identifier: BSD-2-Clause
#include "dapl/verbs/device_extensions.hpp"

#include <dlfcn.h>

namespace verbs {
namespace {

template <class Function>
void find(Function*& function, const char* name) {
    function = reinterpret_cast<Function*>(dlsym(RTLD_DEFAULT, name));
}

}  // namespace

DeviceExtensions preloaded_extensions() {
    DeviceExtensions found{};
    find(found.memory_alloc, "softverbs_memory_alloc");
    find(found.memory_free, "softverbs_memory_free");
    find(found.failure_of, "softverbs_failure_of");
    find(found.end_registration, "softverbs_end_registration");
    return found;
}

}  // namespace verbs
