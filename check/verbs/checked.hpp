// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Declares what the checks of verbs calls have in common.
#pragma once

#include <infiniband/verbs.h>

#include "check/model/report.hpp"

namespace check::verbs {

/// Keys and the numbers of queue pairs are unique in a process, and domains can be shared by
/// contexts: all objects of a process have one owner.
extern const Domain kProcess;

/// @return what the user wants, decided once per process.
const Policy& policy();

/// Tells the findings of a call. @return 0, or the error with which the call must fail.
[[gnu::cold]] int refuse(Found& found, const char* call);

/// @param access IBV_ACCESS_* bits.
inline unsigned rights_of(unsigned access) {
    return ((access & IBV_ACCESS_LOCAL_WRITE) ? kLocalWrite : 0u) |
           ((access & IBV_ACCESS_REMOTE_READ) ? kRemoteRead : 0u) |
           ((access & IBV_ACCESS_REMOTE_WRITE) ? kRemoteWrite : 0u) |
           ((access & IBV_ACCESS_REMOTE_ATOMIC) ? kRemoteAtomic : 0u);
}

/// @return a name for a domain that is the same for the parent domains made of it.
inline const void* zone_of(const ibv_pd* pd) {
    return pd ? reinterpret_cast<const void*>(std::uintptr_t{pd->handle} + 1) : nullptr;
}

}  // namespace check::verbs
