// SPDX-License-Identifier: BSD-2-Clause
#include "dat/registry/ia_handles.hpp"

#include <atomic>
#include <cstdint>
#include <new>

namespace dat {
namespace {

/// The table has two levels, so that readers never see it move. Blocks are allocated on demand and
/// kept until the process ends: a reader may be inside one at any time.
constexpr std::uintptr_t kBlockSize = 64;
constexpr std::uintptr_t kBlocks = (kMaxOpenIas + 1) / kBlockSize;

struct Block {
    std::atomic<DAT_IA_HANDLE> slots[kBlockSize] = {};
    std::atomic<bool> open_before_fork[kBlockSize] = {};
};

std::atomic<Block*> g_blocks[kBlocks];
/// All integers in use are below it; it only grows.
std::atomic<std::uintptr_t> g_used{1};
std::atomic<bool> g_extensions_offered{false};
std::atomic<bool> g_any_open_before_fork{false};

std::atomic<DAT_IA_HANDLE>* find_slot(std::uintptr_t number) {
    if (number == 0 || number > kMaxOpenIas) return nullptr;
    Block* block = g_blocks[number / kBlockSize].load(std::memory_order_acquire);
    return block ? &block->slots[number % kBlockSize] : nullptr;
}

/// Requires that the number has a slot.
std::atomic<bool>& open_before_fork(std::uintptr_t number) {
    Block* block = g_blocks[number / kBlockSize].load(std::memory_order_acquire);
    return block->open_before_fork[number % kBlockSize];
}

std::atomic<DAT_IA_HANDLE>* find_or_make_slot(std::uintptr_t number) {
    std::atomic<Block*>& block = g_blocks[number / kBlockSize];
    if (!block.load(std::memory_order_acquire)) {
        Block* made = new (std::nothrow) Block;
        Block* other = nullptr;
        if (!block.compare_exchange_strong(other, made, std::memory_order_acq_rel)) delete made;
    }
    return find_slot(number);
}

/// Called before the slot is filled, so that whoever learns of the handle finds it below g_used.
void cover(std::uintptr_t number) {
    std::uintptr_t used = g_used.load(std::memory_order_relaxed);
    while (used <= number &&
           !g_used.compare_exchange_weak(used, number + 1, std::memory_order_release)) {
    }
}

std::uintptr_t number_of(DAT_IA_HANDLE ia) {
    return reinterpret_cast<std::uintptr_t>(ia);
}

DAT_IA_HANDLE handle_of(std::uintptr_t number) {
    return reinterpret_cast<DAT_IA_HANDLE>(number);
}

}  // namespace

DAT_IA_HANDLE provider_ia(DAT_IA_HANDLE ia) {
    const std::atomic<DAT_IA_HANDLE>* slot = find_slot(number_of(ia));
    return slot ? slot->load(std::memory_order_acquire) : nullptr;
}

DAT_IA_HANDLE consumer_ia(DAT_IA_HANDLE provider_handle) {
    if (!provider_handle) return nullptr;
    const std::uintptr_t used = g_used.load(std::memory_order_acquire);
    for (std::uintptr_t number = 1; number < used; ++number)
        if (provider_ia(handle_of(number)) == provider_handle) return handle_of(number);
    return nullptr;
}

DAT_IA_HANDLE add_ia(DAT_IA_HANDLE provider_handle) {
    for (std::uintptr_t number = 1; number <= kMaxOpenIas; ++number) {
        std::atomic<DAT_IA_HANDLE>* slot = find_or_make_slot(number);
        if (!slot) return nullptr;
        cover(number);
        DAT_IA_HANDLE free_slot = nullptr;
        if (slot->compare_exchange_strong(free_slot, provider_handle)) return handle_of(number);
    }
    return nullptr;
}

bool remove_ia(DAT_IA_HANDLE ia) {
    std::atomic<DAT_IA_HANDLE>* slot = find_slot(number_of(ia));
    return slot && slot->exchange(nullptr) != nullptr;
}

void forget_all_ias() {
    const std::uintptr_t used = g_used.load(std::memory_order_relaxed);
    for (std::uintptr_t number = 1; number < used; ++number)
        if (std::atomic<DAT_IA_HANDLE>* slot = find_slot(number); slot && slot->exchange(nullptr)) {
            open_before_fork(number) = true;
            g_any_open_before_fork = true;
        }
}

bool made_before_fork(DAT_HANDLE handle) {
    if (!g_any_open_before_fork.load(std::memory_order_relaxed)) return false;
    const std::uintptr_t number = number_of(handle);
    if (number > kMaxOpenIas) return number % alignof(void*) == 0;
    return find_slot(number) && open_before_fork(number);
}

bool ias_opened() {
    return g_used.load(std::memory_order_relaxed) > 1;
}

bool extensions_offered() {
    return g_extensions_offered.load(std::memory_order_relaxed);
}

void note_extensions_offered() {
    g_extensions_offered.store(true, std::memory_order_relaxed);
}

}  // namespace dat
