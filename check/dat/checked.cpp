// SPDX-License-Identifier: BSD-2-Clause
#include "check/dat/checked.hpp"

namespace check::dat {
namespace {

void check_owners(Model& state, Domain owner, std::initializer_list<const void*> handles,
                  Found& found) REQUIRES(state.mutex) {
    for (const void* handle : handles) {
        const Object* object = handle ? state.objects.find(handle) : nullptr;
        if (!object) continue;
        if (object->is_live && (!owner || object->owner == owner)) continue;
        Finding& finding = found.add(object->is_live ? Kind::kOtherOwner : Kind::kUsedAfterFree);
        finding.what = object->kind;
        finding.made = object->made;
        finding.ended = object->ended;
        return;
    }
}

DAT_RETURN code_of(Kind kind) {
    switch (kind) {
        case Kind::kNotRegistered:
        case Kind::kRange:
        case Kind::kZone:
        case Kind::kEnded:
            return error(DAT_PROTECTION_VIOLATION, DAT_PROTECTION_READ);
        case Kind::kRight:
            return error(DAT_PROTECTION_VIOLATION, DAT_PROTECTION_WRITE);
        case Kind::kFreedInFlight:
            return error(DAT_INVALID_STATE);
        case Kind::kQueueTooSmall:
            return error(DAT_QUEUE_FULL);
        case Kind::kNeverSignalled:
            return error(DAT_INSUFFICIENT_RESOURCES);
        case Kind::kEndlessWait:
            return error(DAT_TIMEOUT_EXPIRED);
        case Kind::kUsedAfterFree:
        case Kind::kOtherOwner:
            return error(DAT_INVALID_HANDLE);
        case Kind::kOverlap:
        case Kind::kPrivateData:
        case Kind::kUnfencedRead:
        case Kind::kMisaligned:
            return error(DAT_INVALID_PARAMETER);
        default:
            return kSuccess;
    }
}

}  // namespace

DAT_RETURN code_after(const Checked& checked, const Found& found) {
    if (checked.policy.action != Action::kFail) return kSuccess;
    DAT_RETURN code = kSuccess;
    for (const Finding& finding : found)
        if (code == kSuccess) code = code_of(finding.kind);
    return code;
}

DAT_RETURN refuse(const Checked& checked, Domain domain, Found& found, const char* call) {
    if (found.empty()) return kSuccess;
    try {
        tell(found, call, domain, checked.policy);
    } catch (const std::bad_alloc&) {
        return kSuccess;
    }
    return code_after(checked, found);
}

DAT_RETURN check_handles(const Checked& checked, const char* call,
                         std::initializer_list<const void*> handles) {
    if (!checked.policy.checks_for(kLife)) return kSuccess;
    Found found;
    Domain owner = nullptr;
    with_model([&](Model& state) NO_THREAD_SAFETY_ANALYSIS {
        const Object* first = state.objects.find(*handles.begin());
        owner = first ? first->owner : nullptr;
        check_owners(state, owner, handles, found);
    });
    return found.empty() ? kSuccess : refuse(checked, owner, found, call);
}

}  // namespace check::dat
