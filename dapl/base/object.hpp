// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Base of all DAT objects. A handle points at a Header, and the object follows it. The header
/// outlives the object: libdat2 jumps through its first word whenever the consumer uses the handle,
/// even after the object was freed.
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
    kRmr,
    kSsp,
    kBracket
};
inline constexpr int kKinds = 14;

/// The address of a kind's tag is its magic word. It differs between kinds and between the provider
/// libraries of a process, which must not accept each other's objects.
inline constexpr char kKindTags[kKinds] = {};

struct alignas(64) Header {
    std::atomic<const DAT_PROVIDER*> provider;  ///< first word, fixed by the ABI
    std::atomic<const char*> kind_tag;          ///< nullptr unless a live object follows
    std::uint64_t id;                           ///< see support::ObjectIds
    DAT_CONTEXT context;                        ///< the consumer's context
    std::uint32_t index;                        ///< index of the slot in its pool
    std::uint32_t generation;                   ///< number of objects that have lived in this slot
    Header* next_free;                          ///< free list of the pool
};
static_assert(sizeof(Header) == 64);
static_assert(offsetof(Header, provider) == 0);

/// Lowest address that a handle can have. Smaller values are IA handles, which are integers, and
/// DAT's own constants.
inline constexpr std::uintptr_t kLowestHandle = 4096;

/// Base of the object types; T::kKind names the kind. Only make() creates objects and only
/// destroy() ends them (pool.hpp).
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

/// @return the object behind a handle that is known to be a T's. Unchecked.
template <class T>
T& object_of(DAT_HANDLE handle) {
    return *reinterpret_cast<T*>(static_cast<Header*>(handle) + 1);
}

/// @return the header of a live object of this library, of any kind, or nullptr.
inline Header* live_header(DAT_HANDLE handle) {
    const auto address = reinterpret_cast<std::uintptr_t>(handle);
    if (address < kLowestHandle || address % alignof(Header) != 0) return nullptr;
    auto* header = static_cast<Header*>(handle);
    const char* tag = header->kind_tag.load(std::memory_order_acquire);
    return tag >= kKindTags && tag < kKindTags + kKinds ? header : nullptr;
}

/// @return the id of a live object of this library, else 0. @param handle need not be valid.
inline std::uint64_t id_of(DAT_HANDLE handle) {
    const Header* header = live_header(handle);
    return header ? header->id : 0;
}

/// @return the live T behind the handle through whose first word libdat2 has jumped here, or
/// nullptr. Such a handle points at a header of this library, of any kind, live or not, so one
/// comparison is enough. For the data path.
template <class T>
[[gnu::always_inline]] inline T* from_called_handle(DAT_HANDLE handle) {
    auto* header = static_cast<Header*>(handle);
    const bool live =
        header->kind_tag.load(std::memory_order_acquire) == &kKindTags[static_cast<int>(T::kKind)];
    return live ? reinterpret_cast<T*>(header + 1) : nullptr;
}

/// @return the live object behind a consumer's handle; nullptr for NULL, for a freed handle, for
/// one of another kind or library, and for a misaligned or small value. Any other wild pointer is
/// undefined behaviour.
template <class T>
T* from_handle(DAT_HANDLE handle) {
    Header* header = live_header(handle);
    if (!header ||
        header->kind_tag.load(std::memory_order_relaxed) != &kKindTags[static_cast<int>(T::kKind)])
        return nullptr;
    return reinterpret_cast<T*>(header + 1);
}

}  // namespace dapl
