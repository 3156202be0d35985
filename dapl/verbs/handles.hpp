// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Owners of verbs objects. An empty owner compares equal to nullptr. Before an owner is destroyed,
/// nothing in the device may depend on its object any more.
#pragma once

#include <infiniband/verbs.h>

#include <cerrno>
#include <memory>

namespace verbs {

template <auto destroy>
struct Destroy {
    template <class T>
    void operator()(T* object) const {
        destroy(object);
    }
};

using Context = std::unique_ptr<ibv_context, Destroy<ibv_close_device>>;
using ProtectionDomain = std::unique_ptr<ibv_pd, Destroy<ibv_dealloc_pd>>;
using MemoryRegion = std::unique_ptr<ibv_mr, Destroy<ibv_dereg_mr>>;
/// Wraps ibv_dealloc_mw, which is a static function, a different one in each source file.
inline int free_window(ibv_mw* window) {
    return ibv_dealloc_mw(window);
}
using MemoryWindow = std::unique_ptr<ibv_mw, Destroy<free_window>>;
using CompletionChannel = std::unique_ptr<ibv_comp_channel, Destroy<ibv_destroy_comp_channel>>;
using CompletionQueue = std::unique_ptr<ibv_cq, Destroy<ibv_destroy_cq>>;
using SharedReceiveQueue = std::unique_ptr<ibv_srq, Destroy<ibv_destroy_srq>>;
using AddressHandle = std::unique_ptr<ibv_ah, Destroy<ibv_destroy_ah>>;
using QueuePair = std::unique_ptr<ibv_qp, Destroy<ibv_destroy_qp>>;

/// Destroys the owned object, if any. @return false if the device reports (EBUSY) that a peer is
/// still in the middle of a transfer: the object stays, no other peer can reach it any more, and a
/// later call destroys it.
template <class T, auto destroy>
bool end(std::unique_ptr<T, Destroy<destroy>>& owner) {
    if (!owner) return true;
    if (destroy(owner.get()) == EBUSY) return false;
    static_cast<void>(owner.release());
    return true;
}

}  // namespace verbs
