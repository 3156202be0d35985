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

/// The checks of programs set it: they keep the memory for a while, to tell a program that goes on
/// using the object. nullptr without them.
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
