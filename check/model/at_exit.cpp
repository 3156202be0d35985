// SPDX-License-Identifier: BSD-2-Clause
#include "check/model/at_exit.hpp"

#include <dlfcn.h>

#include <cstdlib>

namespace check {

void at_exit(void (*end)(int status, void*)) {
    static const char inside = 0;
    Dl_info self;
    if (!dladdr(&inside, &self)) return;
    if (dlopen(self.dli_fname, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE)) on_exit(end, nullptr);
}

}  // namespace check
