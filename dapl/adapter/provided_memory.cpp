// SPDX-License-Identifier: BSD-2-Clause
#include "dapl/adapter/provided_memory.hpp"

#include <sys/mman.h>

#include "dapl/base/codes.hpp"
#include "dapl/base/guard.hpp"

namespace dapl {
void* ProvidedMemory::get(std::size_t size) const {
    if (device_has_memory()) return device_.memory_alloc(size);
    void* pages = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return pages == MAP_FAILED ? nullptr : pages;
}

void ProvidedMemory::give_back(void* address, std::size_t size) const {
    if (device_has_memory())
        device_.memory_free(address);
    else
        munmap(address, size);
}

ProvidedMemory::~ProvidedMemory() {
    for (const auto& [address, size] : sizes_) give_back(address, size);
}

DAT_RETURN ProvidedMemory::allocate(DAT_VLEN size, void** address) {
    if (size == 0) return bad_argument(2);
    if (!address) return bad_argument(3);
    support::MutexLock lock(mutex_);
    void* made = get(size);
    if (!made) return out_of_memory();
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
