// SPDX-License-Identifier: BSD-2-Clause
#include "providers/soft/softverbs/sysfs/next_functions.hpp"

#include <dlfcn.h>

namespace softverbs {

void NextFunction::find() {
    void* found = dlvsym(RTLD_NEXT, name_, version_);
    if (!found) found = dlsym(RTLD_NEXT, name_);
    function_.store(found, std::memory_order_release);
}

#define NEXT(version, name, type) constinit Next<type> next_##name{#name, version};
#include "providers/soft/softverbs/sysfs/next_functions.def"
#undef NEXT

namespace {

[[gnu::constructor]] void find_what_comes_next() {
#define NEXT(version, name, type) next_##name.find();
#include "providers/soft/softverbs/sysfs/next_functions.def"
#undef NEXT
}

}  // namespace
}  // namespace softverbs
