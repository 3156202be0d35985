// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The memory of queue pairs, completion queues and shared receive queues that have been destroyed.
/// Programs call these through their context, by inline functions of verbs.h, which read it.
#pragma once

#include <atomic>
#include <new>

namespace softverbs {

using FreeMemory = void (*)(void* memory);
/// Takes the memory of a destroyed object, and frees it some time. Called with no lock held.
using KeepMemory = void (*)(void* memory, FreeMemory free);

/// Who keeps such memory for a while, so that it can tell a program which goes on using it; nullptr
/// unless programs are checked.
inline std::atomic<KeepMemory> keep_memory{nullptr};

/// Frees an object that was made by new.
template <class Object>
void end_object(Object* object) {
    const KeepMemory keep = keep_memory.load(std::memory_order_acquire);
    if (!keep) {
        delete object;
        return;
    }
    object->~Object();
    keep(object, [](void* memory) {
        if constexpr (alignof(Object) > __STDCPP_DEFAULT_NEW_ALIGNMENT__)
            ::operator delete (memory, std::align_val_t{alignof(Object)});
        else
            ::operator delete(memory);
    });
}

}  // namespace softverbs
