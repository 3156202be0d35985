// SPDX-License-Identifier: BSD-2-Clause
#include "providers/soft/verbs/atomics.hpp"

#include <sys/uio.h>

#include <cerrno>

#include "providers/soft/verbs/adapter.hpp"

namespace softverbs {
namespace {

/// Not a plain store: the owner may have broken the lock, and somebody else may hold it by now.
void break_atomic_lock_word(std::atomic<std::uint32_t>& word, std::uint32_t holder) {
    word.compare_exchange_strong(holder, 0);
}

}  // namespace

AtomicLock::AtomicLock(ArenaHeader& header, std::uint32_t qp_num)
    : word_(header.atomic_lock), qp_num_(qp_num) {
    constexpr int kMostTurns = 4096;
    for (int turns = 0; !held_ && turns < kMostTurns;) {
        std::uint32_t free = 0;
        held_ = word_.compare_exchange_strong(free, qp_num_);
        if (!held_) relax(turns);
    }
}

AtomicLock::~AtomicLock() {
    if (held_) break_atomic_lock_word(word_, qp_num_);
}

void break_atomic_lock(ArenaHeader& header, std::uint32_t qp_num) {
    break_atomic_lock_word(header.atomic_lock, qp_num);
}

std::uint64_t run_atomic_here(const AtomicRequest& request) {
    auto* word = reinterpret_cast<std::uint64_t*>(request.address);
    if (!request.is_compare) return __atomic_fetch_add(word, request.compare_add, __ATOMIC_SEQ_CST);
    std::uint64_t found = request.compare_add;
    __atomic_compare_exchange_n(word, &found, request.swap, false, __ATOMIC_SEQ_CST,
                                __ATOMIC_SEQ_CST);
    return found;
}

int run_atomic_in(pid_t pid, const AtomicRequest& request, std::uint64_t& found) {
    iovec remote{reinterpret_cast<void*>(request.address), sizeof found};
    iovec local{&found, sizeof found};
    const ssize_t got = process_vm_readv(pid, &local, 1, &remote, 1, 0);
    if (got != sizeof found) return got < 0 ? errno : EFAULT;
    if (request.is_compare && found != request.compare_add) return 0;
    std::uint64_t next = request.is_compare ? request.swap : found + request.compare_add;
    local.iov_base = &next;
    const ssize_t put = process_vm_writev(pid, &local, 1, &remote, 1, 0);
    if (put != sizeof next) return put < 0 ? errno : EFAULT;
    return 0;
}

}  // namespace softverbs
