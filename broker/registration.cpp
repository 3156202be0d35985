// SPDX-License-Identifier: BSD-2-Clause
#include "broker/registration.hpp"

#include "broker/registrations.hpp"

namespace dapl::memory {

thread_local int RegistrationLock::held_here_ = 0;

RegistrationLock::RegistrationLock(Registration& held) : held_(held) {
    held_.mutex.lock();
    ++held_here_;
}

RegistrationLock::RegistrationLock(Registration& held, Taken) : held_(held) {
    ++held_here_;
}

RegistrationLock::~RegistrationLock() {
    --held_here_;
    held_.mutex.unlock();
    // After unlock(): an LMR left before it is seen here, and whoever leaves one later gets the
    // mutex.
    if (Lmr* lmr = held_.freed.exchange(nullptr, std::memory_order_acq_rel)) [[unlikely]]
        held_.of->free(lmr->handle());
}

bool RegistrationLock::try_take(Registration& held) NO_THREAD_SAFETY_ANALYSIS {
    if (held_here_ != 0) return held.mutex.try_lock();
    held.mutex.lock();
    return true;
}

void RegistrationLock::leave_to_holder(Registration& held, Lmr& lmr) {
    held.freed.exchange(&lmr, std::memory_order_acq_rel);
    if (held.mutex.try_lock()) const RegistrationLock lock(held, kTaken);
}

}  // namespace dapl::memory
