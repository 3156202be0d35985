// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "dat/registry/registry.hpp"

namespace dat {

/// Releases the lease unless the IA that was opened with it keeps it.
class LeaseGuard {
  public:
    LeaseGuard(Registry& registry, const Lease& lease) : registry_(registry), lease_(lease) {}
    ~LeaseGuard() {
        if (!kept_) registry_.release(lease_);
    }
    LeaseGuard(const LeaseGuard&) = delete;
    LeaseGuard& operator=(const LeaseGuard&) = delete;

    void keep_for(DAT_IA_HANDLE ia) {
        registry_.keep(ia, lease_);
        kept_ = true;
    }

  private:
    Registry& registry_;
    const Lease& lease_;
    bool kept_ = false;
};

}  // namespace dat
