// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// What every DAT object has in common. A handle points at a Header; the object follows it. The
/// header outlives the object: libdat2 jumps through its first word whenever the consumer uses the
/// handle, also after the object was freed.
#pragma once

#include "dapl/base/dat.hpp"

#include <atomic>
#include <cstdint>

namespace dapl {

enum class Kind : std::uint32_t {
    kIa,
    kPz,
    kLmr,
    kEvd,
    kCno,
    kEp,
    kPsp,
    kRsp,
    kCr,
    kSrq,
    kCsp,
    kRmr
};
inline constexpr int kKinds = 12;

/// The address of a kind's tag is its magic word: it differs between kinds and between the provider
/// libraries of a process, which must not take each other's objects.
inline constexpr char kKindTags[kKinds] = {};

struct alignas(64) Header {
    std::atomic<const DAT_PROVIDER*> provider;  ///< first word, fixed by the ABI
    std::atomic<const char*> kind_tag;          ///< nullptr unless a live object follows
    std::uint64_t id;                           ///< see support::ObjectIds
    DAT_CONTEXT context;                        ///< the consumer's word
    std::uint32_t index;                        ///< of the slot in its pool
    std::uint32_t generation;                   ///< counts the objects that have lived in this slot
    Header* next_free;                          ///< the pool's
};
static_assert(sizeof(Header) == 64);
static_assert(offsetof(Header, provider) == 0);

/// Smallest address that a handle can have; below are the integers of IA handles and DAT's own
/// constants.
inline constexpr std::uintptr_t kLowestHandle = 4096;

/// Base of the object types; T::kKind names the kind. Objects are made by make() and ended by
/// destroy() (pool.hpp) only.
template <class T>
class Object {
  public:
    DAT_HANDLE handle() const { return &header(); }
    /// Unique on the machine: logs, dumps and traces name objects by it.
    std::uint64_t id() const { return header().id; }
    Header& header() const {
        auto* self = const_cast<T*>(static_cast<const T*>(this));
        return reinterpret_cast<Header*>(self)[-1];
    }
};

/// @return the object behind a handle that is known to lead to one of this type.
template <class T>
T& object_of(DAT_HANDLE handle) {
    return *reinterpret_cast<T*>(static_cast<Header*>(handle) + 1);
}

/// @return the header of a live object of any kind of this library, or nullptr.
inline Header* live_header(DAT_HANDLE handle) {
    const auto address = reinterpret_cast<std::uintptr_t>(handle);
    if (address < kLowestHandle || address % alignof(Header) != 0) return nullptr;
    auto* header = static_cast<Header*>(handle);
    const char* tag = header->kind_tag.load(std::memory_order_acquire);
    return tag >= kKindTags && tag < kKindTags + kKinds ? header : nullptr;
}

/// The same for the handle through whose first word libdat2 has jumped here: it points at a header
/// of this library, of whatever kind, live or not. The data path's.
template <class T>
[[gnu::always_inline]] inline T* from_called_handle(DAT_HANDLE handle) {
    auto* header = static_cast<Header*>(handle);
    const bool live =
        header->kind_tag.load(std::memory_order_acquire) == &kKindTags[static_cast<int>(T::kKind)];
    return live ? reinterpret_cast<T*>(header + 1) : nullptr;
}

/// @return the live object behind a consumer's handle, or nullptr for NULL, a freed handle, one of
/// another kind or library, a misaligned or a small one. Other wild pointers are undefined.
template <class T>
T* from_handle(DAT_HANDLE handle) {
    Header* header = live_header(handle);
    if (!header ||
        header->kind_tag.load(std::memory_order_relaxed) != &kKindTags[static_cast<int>(T::kKind)])
        return nullptr;
    return reinterpret_cast<T*>(header + 1);
}

}  // namespace dapl
