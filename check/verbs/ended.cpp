// SPDX-License-Identifier: BSD-2-Clause
#include "check/verbs/ended.hpp"

#include <array>
#include <atomic>
#include <cerrno>
#include <cstddef>

#include "check/verbs/objects.hpp"
#include "providers/soft/softverbs/verbs/ended_objects.hpp"

namespace check::verbs {
namespace {

/// How many destroyed objects are kept.
constexpr std::size_t kKept = 1024;

/// The memory of a destroyed object. ibv_qp, ibv_cq and ibv_srq begin with their context.
struct Ended {
    ibv_context* context;
    softverbs::FreeMemory free;
};
static_assert(offsetof(ibv_qp, context) == 0 && offsetof(ibv_cq, context) == 0 &&
              offsetof(ibv_srq, context) == 0);

/// The oldest is freed for a new one. No lock: a fork may come at any time.
std::array<std::atomic<Ended*>, kKept> kept;
std::atomic<std::size_t> next_place{0};

int poll_cq(ibv_cq* cq, int, ibv_wc*) {
    tell_gone("ibv_poll_cq", cq, kCompletions);
    errno = EINVAL;
    return -1;
}

int req_notify_cq(ibv_cq* cq, int) {
    tell_gone("ibv_req_notify_cq", cq, kCompletions);
    return errno = EINVAL;
}

template <class Request>
int refuse_post(const char* call, const void* poster, const char* kind, Request* list,
                Request** bad) {
    tell_gone(call, poster, kind);
    if (bad) *bad = list;
    return errno = EINVAL;
}

int post_send(ibv_qp* qp, ibv_send_wr* list, ibv_send_wr** bad) {
    return refuse_post("ibv_post_send", qp, kPair, list, bad);
}

int post_recv(ibv_qp* qp, ibv_recv_wr* list, ibv_recv_wr** bad) {
    return refuse_post("ibv_post_recv", qp, kPair, list, bad);
}

int post_srq_recv(ibv_srq* srq, ibv_recv_wr* list, ibv_recv_wr** bad) {
    return refuse_post("ibv_post_srq_recv", srq, kShared, list, bad);
}

ibv_context* context_of_ended() {
    static ibv_context context = [] {
        ibv_context made{};
        made.ops.poll_cq = poll_cq;
        made.ops.req_notify_cq = req_notify_cq;
        made.ops.post_send = post_send;
        made.ops.post_recv = post_recv;
        made.ops.post_srq_recv = post_srq_recv;
        made.cmd_fd = made.async_fd = -1;
        return made;
    }();
    return &context;
}

void keep(void* memory, softverbs::FreeMemory free) {
    auto* ended = new (memory) Ended{context_of_ended(), free};
    Ended* const oldest = kept[next_place.fetch_add(1) % kKept].exchange(ended);
    if (oldest) oldest->free(oldest);
}

}  // namespace

void keep_ended_objects() {
    softverbs::keep_memory.store(keep, std::memory_order_release);
}

bool has_ended(const ibv_context* context) {
    return context == context_of_ended();
}

}  // namespace check::verbs
