// SPDX-License-Identifier: BSD-2-Clause
#include "dapl/ep/post_limit.hpp"

#include <dat2/dat_ib_extensions.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <string>
#include <utility>

#include "dapl/adapter/ia.hpp"
#include "dapl/adapter/refusal.hpp"
#include "dapl/ep/ep.hpp"
#include "dapl/ep/ud_endpoint.hpp"
#include "support/base/guard.hpp"
#include "support/log/log.hpp"

namespace dapl {
namespace {

enum class Limit { kQueue, kSegments, kLength, kNone };

Limit limit_behind(DAT_RETURN code) {
    if (code == kOutOfMemory) return Limit::kQueue;
    if (code == raw(DAT_INVALID_PARAMETER)) return Limit::kSegments;
    return code == raw(DAT_LENGTH_ERROR) ? Limit::kLength : Limit::kNone;
}

std::atomic<bool>& told(Limit limit) {
    static std::atomic<bool> each[static_cast<int>(Limit::kNone)];
    return each[static_cast<int>(limit)];
}

/// A limit, the excess over it, and what the program can do.
struct Excess {
    std::string attribute;
    std::uint64_t limit;
    std::string found;
    const char* next_step;
};

Excess full_queue(const RefusedPost& post) {
    return {post.is_receive ? "max_recv_dtos" : "max_request_dtos",
            static_cast<std::uint64_t>(post.max_dtos),
            fmt::format("{} are posted whose completions have not been dequeued", post.posted),
            "dequeue completions before you post more, or request more in the attributes of the "
            "endpoint or SRQ"};
}

Excess many_segments(const RefusedPost& post) {
    return {
        post.is_read      ? "max_rdma_read_iov"
        : post.is_receive ? "max_recv_iov"
                          : "max_request_iov",
        static_cast<std::uint64_t>(post.max_segments),
        fmt::format("it has {} segments", post.segments),
        "post several with fewer segments, or request more in the attributes of the endpoint or "
        "SRQ"};
}

std::uint64_t length_of(const RefusedPost& post) {
    std::uint64_t total = 0;
    for (DAT_COUNT i = 0; i < post.segments; ++i) total += post.local[i].segment_length;
    return total;
}

Excess long_message(const RefusedPost& post) {
    return {"the largest message in bytes", post.max_length,
            fmt::format("it has {}", length_of(post)), "divide it into several shorter ones"};
}

void report(const RefusedPost& post, const Excess& excess) {
    support::report<support::kPostBeyondLimit>(post.is_receive ? "receive" : "request", post.object,
                                               post.id, static_cast<const void*>(post.handle),
                                               excess.attribute, excess.limit, excess.found,
                                               excess.next_step);
}

bool exceeds(const RefusedPost& post, Limit limit) {
    switch (limit) {
        case Limit::kQueue:
            return true;
        case Limit::kSegments:
            return post.segments < 0 || post.segments > post.max_segments;
        case Limit::kLength:
            return length_of(post) > post.max_length;
        case Limit::kNone:
            return false;
    }
    return false;
}

bool is_receive(std::uint32_t operation) {
    return operation == DAT_DTO_RECEIVE || operation == DAT_IB_DTO_RECV_IMMED;
}

/// @return the errno of a refusal that has not been reported; 0 if there is none.
int take_refusal(Side& side) {
    support::SpinLockGuard lock(side.lock);
    return std::exchange(side.refusal, 0);
}

/// @return whether the device has refused a post of this side.
bool report_pending_refusal(Ep& ep, std::uint32_t operation) {
    const bool receives = is_receive(operation);
    const int failed = take_refusal(receives ? ep.receives : ep.requests);
    if (failed == 0) return false;
    report_post_refused_by_device(ep.ia, failed, receives ? "a receive" : "a request");
    return true;
}

}  // namespace

bool is_unreported_limit(DAT_RETURN code) {
    const Limit limit = limit_behind(code);
    return limit != Limit::kNone && !told(limit).load(std::memory_order_relaxed);
}

void report_limit_of_post(const RefusedPost& post, DAT_RETURN code) {
    const Limit limit = limit_behind(code);
    if (!exceeds(post, limit)) return;
    support::report_once(told(limit), [&] {
        report(post, limit == Limit::kQueue      ? full_queue(post)
                     : limit == Limit::kSegments ? many_segments(post)
                                                 : long_message(post));
    });
}

void report_post_refused_by_device(const Ia& ia, int error_number, const char* what) {
    static std::atomic<bool> told{false};
    support::report_once(told, [&] { (void)refused_by_device(ia, std::abs(error_number), what); });
}

DAT_RETURN fast_post_refused(Ep& ep, std::uint32_t operation, DAT_RETURN code) {
    report_pending_refusal(ep, operation);
    return code;
}

void report_refused_post(Ep& ep, std::uint32_t operation, DAT_COUNT segments,
                         const DAT_LMR_TRIPLET* local, DAT_RETURN code) {
    if (code == DAT_SUCCESS || report_pending_refusal(ep, operation) || !is_unreported_limit(code))
        return;
    RefusedPost post{};
    post.object = "EP";
    post.handle = ep.handle();
    post.id = ep.id();
    post.is_receive = is_receive(operation);
    post.is_read = operation == DAT_DTO_RDMA_READ;
    post.segments = segments;
    post.local = local;
    post.max_length = ep.ud ? ep.ia.datagram_size() : ep.ia.port_attributes.max_msg_sz;
    Side& side = post.is_receive ? ep.receives : ep.requests;
    {
        support::SpinLockGuard lock(side.lock);
        const std::uint32_t each = side.confirms ? 2 : 1;  // work requests
        post.max_dtos = static_cast<DAT_COUNT>(side.slots.limit() / each);
        post.posted = static_cast<DAT_COUNT>((side.slots.posted() + each - 1) / each);
        post.max_segments = side.max_segments;
    }
    if (post.is_read) post.max_segments = std::min(post.max_segments, ep.ia.max_read_segments());
    report_limit_of_post(post, code);
}

}  // namespace dapl
