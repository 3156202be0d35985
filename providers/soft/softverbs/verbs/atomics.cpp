// SPDX-License-Identifier: BSD-2-Clause
#include "providers/soft/softverbs/verbs/atomics.hpp"

#include <cerrno>

#include "providers/soft/softverbs/verbs/adapter.hpp"

namespace softverbs {

std::uint32_t AtomicLock::take() {
    std::uint32_t holder = 0;
    held_ = word_.compare_exchange_strong(holder, qp_num_);
    return holder;
}

AtomicLock::AtomicLock(ArenaHeader& header, std::uint32_t qp_num, Process& process)
    : word_(header.atomic_lock), qp_num_(qp_num) {
    if (take() != 0) wait(process);
}

void AtomicLock::wait(Process& process) {
    // kTurnsOfService is below the number of turns after which relax() yields.
    constexpr int kTurnsOfService = 60, kTurns = 4096;
    const int most = process.service().on_service_thread() ? kTurnsOfService : kTurns;
    std::uint32_t holder = take();
    for (int turns = 0; holder != 0 && turns < most; holder = take()) relax(turns);
    if (holder == 0 || !process.owner_has_ended(holder)) return;
    // Others may have broken the lock too, and one of them may have taken it.
    word_.compare_exchange_strong(holder, 0);
    take();
}

AtomicLock::~AtomicLock() {
    // Not a plain store: a process that lost its link to this one may have broken the lock.
    std::uint32_t holder = qp_num_;
    if (held_) word_.compare_exchange_strong(holder, 0);
}

std::uint64_t run_atomic_here(const AtomicRequest& request) {
    auto* word = reinterpret_cast<std::uint64_t*>(request.address);
    if (!request.is_compare) return __atomic_fetch_add(word, request.compare_add, __ATOMIC_SEQ_CST);
    std::uint64_t found = request.compare_add;
    __atomic_compare_exchange_n(word, &found, request.swap, false, __ATOMIC_SEQ_CST,
                                __ATOMIC_SEQ_CST);
    return found;
}

int run_atomic_in(const Image& image, const AtomicRequest& request, std::uint64_t& found) {
    Plan plan;
    plan.length = sizeof found;
    plan.num_local = plan.num_remote = 1;
    plan.remote[0] = {request.address, sizeof found, 0, 0, {}, nullptr};
    plan.local[0] = {0, sizeof found, {}, reinterpret_cast<std::uint8_t*>(&found)};
    if (const int cause = read_process(image, plan)) return cause;
    if (!request.changes(found)) return 0;
    std::uint64_t next = request.result(found);
    plan.local[0].here = reinterpret_cast<std::uint8_t*>(&next);
    return write_process(image, plan);
}

}  // namespace softverbs
