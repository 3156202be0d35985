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

DeviceExtensions extensions_for(const ibv_context* context, const DeviceExtensions& found) {
    return found.drives && found.drives(context) ? found : DeviceExtensions{};
}

DeviceExtensions preloaded_extensions() {
    DeviceExtensions found{};
    find(found.memory_alloc, "softverbs_memory_alloc");
    find(found.memory_free, "softverbs_memory_free");
    find(found.failure_of, "softverbs_failure_of");
    find(found.drives, "softverbs_drives");
    find(found.end_registration, "softverbs_end_registration");
    find(found.count_region_uses, "softverbs_count_region_uses");
    find(found.suspend_region, "softverbs_suspend_region");
    find(found.resume_region, "softverbs_resume_region");
    return found;
}

}  // namespace verbs
