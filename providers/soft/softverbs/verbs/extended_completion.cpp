// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// ibv_create_cq_ex: a completion queue that is polled one completion at a time. Each is kept in
/// the queue's object while the program reads its fields.
/// Its timestamp, if the queue has them, is taken by the process that makes the completion.
#include <cerrno>
#include <new>

#include "providers/soft/softverbs/verbs/completion_queue.hpp"
#include "providers/soft/softverbs/verbs/extended_objects.hpp"
#include "providers/soft/softverbs/verbs/query.hpp"

namespace softverbs {
namespace {

constexpr std::uint64_t kStamps =
    IBV_WC_EX_WITH_COMPLETION_TIMESTAMP | IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK;

ibv_wc& polled(ibv_cq_ex* cq) {
    return CompletionQueue::of(ibv_cq_ex_to_cq(cq)).polled;
}

/// ibv_next_poll. @return 0, or ENOENT when no completion is there.
int take_one(ibv_cq_ex* cq) {
    CompletionQueue& queue = CompletionQueue::of(ibv_cq_ex_to_cq(cq));
    const int found = cq->read_completion_ts ? queue.poll_stamped() : queue.poll(1, &queue.polled);
    if (found == 0) return ENOENT;
    cq->wr_id = queue.polled.wr_id;
    cq->status = queue.polled.status;
    return 0;
}

/// Takes poll_mutex, since several threads may poll one queue: from here to the end of the poll the
/// completion belongs to one of them. end_poll() releases it, or this function if there is no
/// completion. A queue of one thread has nobody to exclude (is_of_one_thread).
int start_poll(ibv_cq_ex* cq, ibv_poll_cq_attr* attributes) NO_THREAD_SAFETY_ANALYSIS {
    if (attributes && attributes->comp_mask != 0) return EINVAL;
    support::Mutex& mutex = CompletionQueue::of(ibv_cq_ex_to_cq(cq)).poll_mutex;
    mutex.lock();
    const int cause = take_one(cq);
    if (cause != 0) mutex.unlock();
    return cause;
}

void end_poll(ibv_cq_ex* cq) NO_THREAD_SAFETY_ANALYSIS {
    CompletionQueue::of(ibv_cq_ex_to_cq(cq)).poll_mutex.unlock();
}

int start_poll_of_one_thread(ibv_cq_ex* cq, ibv_poll_cq_attr* attributes) {
    return attributes && attributes->comp_mask != 0 ? EINVAL : take_one(cq);
}

void end_poll_of_one_thread(ibv_cq_ex*) {}

ibv_wc_opcode read_opcode(ibv_cq_ex* cq) {
    return polled(cq).opcode;
}
std::uint32_t read_vendor_err(ibv_cq_ex* cq) {
    return polled(cq).vendor_err;
}
std::uint32_t read_byte_len(ibv_cq_ex* cq) {
    return polled(cq).byte_len;
}
/// Also returns the key that a send with invalidate named.
__be32 read_imm_data(ibv_cq_ex* cq) {
    return polled(cq).imm_data;
}
std::uint32_t read_qp_num(ibv_cq_ex* cq) {
    return polled(cq).qp_num;
}
std::uint32_t read_src_qp(ibv_cq_ex* cq) {
    return polled(cq).src_qp;
}
unsigned read_wc_flags(ibv_cq_ex* cq) {
    return polled(cq).wc_flags;
}
std::uint32_t read_slid(ibv_cq_ex* cq) {
    return polled(cq).slid;
}
std::uint8_t read_sl(ibv_cq_ex* cq) {
    return polled(cq).sl;
}
std::uint8_t read_dlid_path_bits(ibv_cq_ex* cq) {
    return polled(cq).dlid_path_bits;
}

std::uint64_t read_completion_ts(ibv_cq_ex* cq) {
    return CompletionQueue::of(ibv_cq_ex_to_cq(cq)).polled_stamp;
}
std::uint64_t read_completion_wallclock_ns(ibv_cq_ex* cq) {
    return time_of_day(read_completion_ts(cq));
}

bool has_stamps(const ibv_cq_init_attr_ex& attributes) {
    return (attributes.wc_flags & kStamps) != 0;
}

/// @return nullptr without a parent domain.
ibv_pd* domain_of(const ibv_cq_init_attr_ex& attributes) {
    return (attributes.comp_mask & IBV_CQ_INIT_ATTR_MASK_PD) != 0 ? attributes.parent_domain
                                                                  : nullptr;
}

/// Whether the program has promised that one thread at a time uses the queue.
bool is_of_one_thread(const ibv_cq_init_attr_ex& attributes) {
    const bool has_flags = (attributes.comp_mask & IBV_CQ_INIT_ATTR_MASK_FLAGS) != 0;
    if (has_flags && (attributes.flags & IBV_CREATE_CQ_ATTR_SINGLE_THREADED) != 0) return true;
    ibv_pd* const pd = domain_of(attributes);
    return pd && ProtectionDomain::of(pd).thread_users;
}

void fill(ibv_cq_ex& cq, const ibv_cq_init_attr_ex& attributes) {
    const bool single_threaded = is_of_one_thread(attributes);
    if (has_stamps(attributes)) {
        cq.read_completion_ts = read_completion_ts;
        cq.read_completion_wallclock_ns = read_completion_wallclock_ns;
    }
    cq.start_poll = single_threaded ? start_poll_of_one_thread : start_poll;
    cq.next_poll = take_one;
    cq.end_poll = single_threaded ? end_poll_of_one_thread : end_poll;
    cq.read_opcode = read_opcode;
    cq.read_vendor_err = read_vendor_err;
    cq.read_byte_len = read_byte_len;
    cq.read_imm_data = read_imm_data;
    cq.read_qp_num = read_qp_num;
    cq.read_src_qp = read_src_qp;
    cq.read_wc_flags = read_wc_flags;
    cq.read_slid = read_slid;
    cq.read_sl = read_sl;
    cq.read_dlid_path_bits = read_dlid_path_bits;
}

/// @return 0; EINVAL for unknown or invalid attributes, EOPNOTSUPP for features that the device
/// lacks.
int check(const ibv_context& context, const ibv_cq_init_attr_ex& attributes) {
    constexpr std::uint32_t kKnown = IBV_CQ_INIT_ATTR_MASK_FLAGS | IBV_CQ_INIT_ATTR_MASK_PD;
    if ((attributes.comp_mask & ~kKnown) != 0) return EINVAL;
    if (attributes.comp_vector >= static_cast<std::uint32_t>(context.num_comp_vectors))
        return EINVAL;
    if (attributes.cqe > kMaxCqEntries) return EINVAL;
    if (const ibv_pd* pd = domain_of(attributes)) {
        const bool is_parent = static_cast<const ProtectionDomain*>(pd)->original;
        if (!is_parent || pd->context != &context) return EINVAL;
    }
    const std::uint64_t flags =
        (attributes.comp_mask & IBV_CQ_INIT_ATTR_MASK_FLAGS) != 0 ? attributes.flags : 0;
    const std::uint64_t readable = IBV_WC_STANDARD_FLAGS | kStamps;
    const bool served = (flags & ~std::uint64_t{IBV_CREATE_CQ_ATTR_SINGLE_THREADED}) == 0 &&
                        (attributes.wc_flags & ~readable) == 0;
    return served ? 0 : EOPNOTSUPP;
}

}  // namespace

ibv_cq_ex* create_extended_cq(ibv_context* context, ibv_cq_init_attr_ex* attributes) {
    const CancellationDisabled guard;
    if (const int cause = check(*context, *attributes)) {
        errno = cause;
        return nullptr;
    }
    try {
        CompletionQueue* cq = CompletionQueue::create(
            Context::of(context), static_cast<int>(attributes->cqe), attributes->cq_context,
            attributes->channel, has_stamps(*attributes));
        if (!cq) return nullptr;
        if (ibv_pd* const pd = domain_of(*attributes)) {
            cq->parent_domain = &ProtectionDomain::of(pd);
            ++cq->parent_domain->users;
        }
        fill(cq->extended(), *attributes);
        return &cq->extended();
    } catch (const std::bad_alloc&) {
        errno = ENOMEM;
        return nullptr;
    }
}

}  // namespace softverbs
