// SPDX-License-Identifier: BSD-2-Clause
#include "providers/soft/softverbs/verbs/device_memory.hpp"

#include <atomic>
#include <cerrno>
#include <cstring>
#include <memory>
#include <new>

#include "providers/soft/softverbs/verbs/context.hpp"
#include "providers/soft/softverbs/verbs/memory_regions.hpp"

namespace softverbs {
namespace {

/// Adapters copy to and from their memory in words.
constexpr std::uint64_t kWord = 4;
constexpr std::uint32_t kLog2Page = 12;

/// Bytes of a process's store that are in use.
std::atomic<std::size_t> used{0};

bool take(std::size_t length) {
    std::size_t before = used.load();
    do {
        if (length > kDeviceMemory - before) return false;
    } while (!used.compare_exchange_weak(before, before + length));
    return true;
}

/// A piece of the store; the memory and each region on it hold it.
class Piece {
  public:
    explicit Piece(std::size_t length) : length_(take(length) ? length : 0) {
        errno = ENOMEM;
        if (length_ == 0) return;
        bytes_ = static_cast<std::uint8_t*>(SharedPages::of_process().allocate(length_));
        if (bytes_) std::memset(bytes_, 0, length_);
    }
    ~Piece() {
        SharedPages::of_process().free(bytes_);
        used -= length_;
    }
    Piece(const Piece&) = delete;
    Piece& operator=(const Piece&) = delete;
    /// nullptr with errno when the store is used up.
    std::uint8_t* bytes() const { return bytes_; }
    std::size_t length() const { return length_; }

  private:
    const std::size_t length_;
    std::uint8_t* bytes_ = nullptr;
};

struct DeviceMemory : ibv_dm {
    static DeviceMemory& of(ibv_dm* memory) { return *static_cast<DeviceMemory*>(memory); }
    std::shared_ptr<Piece> piece;

    bool holds(std::uint64_t offset, std::uint64_t length) const {
        return offset <= piece->length() && length <= piece->length() - offset;
    }
    /// @return nullptr unless it is a range of whole words.
    std::uint8_t* words(std::uint64_t offset, std::uint64_t length) const {
        if (!holds(offset, length) || offset % kWord != 0 || length % kWord != 0) return nullptr;
        return piece->bytes() + offset;
    }
};

int copy_to(ibv_dm* memory, std::uint64_t offset, const void* from, std::size_t length) {
    std::uint8_t* const to = DeviceMemory::of(memory).words(offset, length);
    if (!to) return also_errno(EINVAL);
    std::memcpy(to, from, length);
    return 0;
}

int copy_from(void* to, ibv_dm* memory, std::uint64_t offset, std::size_t length) {
    const std::uint8_t* const from = DeviceMemory::of(memory).words(offset, length);
    if (!from) return also_errno(EINVAL);
    std::memcpy(to, from, length);
    return 0;
}

ibv_dm* allocate(ibv_context* context, std::size_t length) {
    auto memory = std::make_unique<DeviceMemory>();
    memory->piece = std::make_shared<Piece>(length);
    if (!memory->piece->bytes()) return nullptr;
    memory->context = context;
    memory->memcpy_to_dm = copy_to;
    memory->memcpy_from_dm = copy_from;
    return memory.release();
}

}  // namespace

ibv_dm* allocate_device_memory(ibv_context* context, ibv_alloc_dm_attr* attributes) {
    const CancellationDisabled guard;
    if (attributes->comp_mask != 0 || attributes->length == 0 ||
        attributes->length > kDeviceMemory || attributes->log_align_req > kLog2Page) {
        errno = EINVAL;
        return nullptr;
    }
    try {
        return allocate(context, attributes->length);
    } catch (const std::bad_alloc&) {
        errno = ENOMEM;
        return nullptr;
    }
}

int free_device_memory(ibv_dm* memory) {
    const CancellationDisabled guard;
    DeviceMemory* const mine = &DeviceMemory::of(memory);
    if (mine->piece.use_count() > 1) return also_errno(EBUSY);
    delete mine;
    return 0;
}

ibv_mr* register_device_memory(ibv_pd* pd, ibv_dm* memory, std::uint64_t offset, std::size_t length,
                               unsigned access) {
    const CancellationDisabled guard;
    const DeviceMemory& mine = DeviceMemory::of(memory);
    if ((access & IBV_ACCESS_ZERO_BASED) == 0 || !mine.holds(offset, length) ||
        memory->context != pd->context) {
        errno = EINVAL;
        return nullptr;
    }
    try {
        std::uint8_t* const first = mine.piece->bytes() + offset;
        ibv_mr* const mr =
            register_memory({&ProtectionDomain::of(pd), first, length, 0, access, mine.piece});
        if (mr) mr->addr = nullptr;  // the program has no address for it
        return mr;
    } catch (const std::bad_alloc&) {
        errno = ENOMEM;
        return nullptr;
    }
}

}  // namespace softverbs
