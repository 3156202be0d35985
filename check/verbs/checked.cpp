// SPDX-License-Identifier: BSD-2-Clause
#include "check/verbs/checked.hpp"

#include <cerrno>

#include "check/model/settings.hpp"
#include "check/verbs/routed.hpp"

namespace check::verbs {
namespace {

constexpr Words kWords = {"key",        "device context",      "protection domain",
                          "queue pair", "queue pair or queue", "completion queue"};

int error_of(Kind kind) {
    switch (kind) {
        case Kind::kFreedInFlight:
        case Kind::kInUse:
        case Kind::kUnacknowledged:
            return EBUSY;
        case Kind::kQueueTooSmall:
        case Kind::kNeverSignalled:
            return ENOMEM;
        case Kind::kChanged:
        case Kind::kOverlap:
        case Kind::kLeft:
            return 0;
        default:
            return EINVAL;
    }
}

}  // namespace

const Domain kProcess = &kWords;

const Policy& policy() {
    static const Policy decided = [] {
        Policy chosen = check::policy_of(support::Setting::kSoftverbsCheck, {}, kWords);
        // Programs learn the limits of a device from queries, and who begins is seen for DAT only.
        chosen.checks &= ~unsigned{kPortability};
        return chosen;
    }();
    return decided;
}

bool is_on() {
    return policy().checks != 0;
}

int refuse(Found& found, const char* call) {
    if (found.empty()) return 0;
    const int before = errno;
    try {
        tell(found, call, kProcess, policy());
    } catch (const std::bad_alloc&) {
        errno = before;
        return 0;
    }
    errno = before;
    return policy().action == Action::kFail ? error_of(found.begin()->kind) : 0;
}

}  // namespace check::verbs
