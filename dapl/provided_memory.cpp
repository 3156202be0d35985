// SPDX-License-Identifier: BSD-2-Clause
#include "dapl/provided_memory.hpp"

#include <sys/mman.h>

#include "dapl/codes.hpp"

// Of the software device, which is part of this library, preloaded before it, or not there.
extern "C" {
[[gnu::weak]] void* softverbs_memory_alloc(std::size_t size);
[[gnu::weak]] void softverbs_memory_free(void* memory);
}

namespace dapl {
namespace {

bool device_has_memory() {
    return softverbs_memory_alloc && softverbs_memory_free;
}

/// @return nullptr when there is none.
void* get(std::size_t size) {
    if (device_has_memory()) return softverbs_memory_alloc(size);
    void* pages = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return pages == MAP_FAILED ? nullptr : pages;
}

void give_back(void* address, std::size_t size) {
    if (device_has_memory())
        softverbs_memory_free(address);
    else
        munmap(address, size);
}

}  // namespace

ProvidedMemory::~ProvidedMemory() {
    for (const auto& [address, size] : sizes_) give_back(address, size);
}

DAT_RETURN ProvidedMemory::allocate(DAT_VLEN size, void** address) {
    if (size == 0) return bad_argument(2);
    if (!address) return bad_argument(3);
    support::MutexLock lock(mutex_);
    void* made = get(size);
    if (!made) return kOutOfMemory;
    try {
        sizes_.emplace(made, size);
    } catch (...) {
        give_back(made, size);
        throw;
    }
    *address = made;
    return DAT_SUCCESS;
}

DAT_RETURN ProvidedMemory::free(void* address) {
    support::MutexLock lock(mutex_);
    const auto found = sizes_.find(address);
    if (found == sizes_.end()) return bad_argument(2);
    give_back(address, found->second);
    sizes_.erase(found);
    return DAT_SUCCESS;
}

}  // namespace dapl
