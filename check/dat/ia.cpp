// SPDX-License-Identifier: BSD-2-Clause
#include <cstdlib>
#include <new>
#include <string>

#include "check/dat/entry.hpp"
#include "check/dat/objects.hpp"
#include "check/model/left_objects.hpp"

namespace check::dat {
namespace {

void add_adapter(DAT_IA_HANDLE ia, DAT_EVD_HANDLE async, DAT_COUNT length, bool made_async) {
    Object object;
    object.kind = kAdapter;
    object.owner = ia;
    object.made = here();
    object.goes_with_owner = true;
    object.feeds[0] = async;
    with_model([&](Model& state) NO_THREAD_SAFETY_ANALYSIS {
        state.objects.add(ia, object);
        if (!made_async) return;
        Object queue = object;
        queue.kind = kQueue;
        queue.feeds[0] = nullptr;
        queue.length = static_cast<std::uint64_t>(length);
        state.objects.add(async, queue);
    });
}

void check_left(const Checked& checked, DAT_IA_HANDLE ia) {
    LeftObjects left;
    with_model([&](Model& state) NO_THREAD_SAFETY_ANALYSIS {
        state.objects.for_each(ia, [&](const void*, const Object& object) {
            if (object.is_live && !object.goes_with_owner) left.add(object);
        });
    });
    left.for_each([&](Found& found) { refuse(checked, ia, found, "dat_ia_close"); });
}

void tell_counts(const Checked& checked, DAT_IA_HANDLE ia) {
    try {
        check::tell_counts(ia, std::string("IA ") + checked.outer->device_name);
    } catch (const std::bad_alloc&) {
        return;
    }
}

void forget(const Checked& checked, DAT_IA_HANDLE ia) {
    tell_counts(checked, ia);
    with_model([&](Model& state) NO_THREAD_SAFETY_ANALYSIS {
        state.objects.for_each(ia, [&](const void*, Object& object) NO_THREAD_SAFETY_ANALYSIS {
            if (object.endpoint) state.end_transfers(object);
        });
        state.objects.forget(ia);
        state.regions.forget(ia);
        state.remote_regions.forget(ia);
    });
}

/// Tells the counts of adapter instances that are still open when the program ends.
void end_program() {
    constexpr int kMost = 64;
    const void* open[kMost];
    int count = 0;
    with_model([&](Model& state) NO_THREAD_SAFETY_ANALYSIS {
        state.objects.for_each(nullptr, [&](const void* handle, const Object& object) {
            const bool is_adapter = handle == object.owner;
            if (object.is_live && is_adapter && count < kMost) open[count++] = handle;
        });
    });
    for (int i = 0; i < count; ++i) {
        auto* ia = const_cast<void*>(open[i]);
        tell_counts(checked_of(ia), ia);
    }
}

}  // namespace

namespace entry {

DAT_RETURN ia_open(const DAT_NAME_PTR name, DAT_COUNT length, DAT_EVD_HANDLE* async,
                   DAT_IA_HANDLE* ia) {
    const bool makes_async = async && *async == DAT_HANDLE_NULL;
    const DAT_RETURN code = any_checked().inner.ia_open_func(name, length, async, ia);
    if (code != kSuccess) return code;
    // Is called before the destructors of this library, which may also be unloaded before the end.
    static const int awaited [[maybe_unused]] = std::atexit(end_program);
    add_adapter(*ia, *async, length, makes_async);
    return code;
}

/// A program that asks for limits can keep to those of each adapter. libdat2 itself asks in the
/// program's call of dat_ia_open().
DAT_RETURN ia_query(DAT_IA_HANDLE ia, DAT_EVD_HANDLE* async, DAT_IA_ATTR_MASK ia_mask,
                    DAT_IA_ATTR* ia_attributes, DAT_PROVIDER_ATTR_MASK provider_mask,
                    DAT_PROVIDER_ATTR* provider_attributes) {
    const DAT_RETURN code = Call<&DAT_PROVIDER::ia_query_func, Text("dat_ia_query")>::call(
        ia, async, ia_mask, ia_attributes, provider_mask, provider_attributes);
    if (code != kSuccess || !(ia_attributes || provider_attributes)) return code;
    const Place place = calling_place();
    with_model([&](Model& state) NO_THREAD_SAFETY_ANALYSIS {
        Object* adapter = state.objects.find_live(ia);
        if (adapter && adapter->made.place != place) adapter->knows_limits = true;
    });
    return code;
}

/// An abrupt close frees what is left, so nothing is wrong with that.
DAT_RETURN ia_close(DAT_IA_HANDLE ia, DAT_CLOSE_FLAGS flags) {
    const Checked& checked = checked_of(ia);
    if (flags == DAT_CLOSE_GRACEFUL_FLAG && checked.policy.checks_for(kLife))
        check_left(checked, ia);
    const DAT_RETURN code = checked.inner.ia_close_func(ia, flags);
    if (code == kSuccess) forget(checked, ia);
    return code;
}

}  // namespace entry
}  // namespace check::dat
