// SPDX-License-Identifier: BSD-2-Clause
#include "dapl/adapter/wake_descriptors.hpp"

#include <sys/eventfd.h>
#include <unistd.h>

namespace dapl {

WakeDescriptors::~WakeDescriptors() {
    for (const int descriptor : idle_) ::close(descriptor);
}

int WakeDescriptors::borrow() {
    support::MutexLock lock(mutex_);
    if (idle_.empty()) {
        idle_.reserve(made_ + 1);
        const int made = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
        if (made >= 0) ++made_;
        return made;
    }
    const int descriptor = idle_.back();
    idle_.pop_back();
    return descriptor;
}

void WakeDescriptors::give_back(int descriptor) {
    support::MutexLock lock(mutex_);
    idle_.push_back(descriptor);
}

}  // namespace dapl
