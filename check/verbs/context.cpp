// SPDX-License-Identifier: BSD-2-Clause
#include "check/verbs/context.hpp"

#include <dlfcn.h>

#include <atomic>
#include <cstdlib>

#include "check/verbs/ended.hpp"
#include "check/verbs/objects.hpp"
#include "check/verbs/routed.hpp"
#include "support/base/guard.hpp"

namespace check::verbs {
namespace {

Originals known{};  ///< written under the model's lock

/// Threads that use the context already see the old function or the new one.
template <class Function>
void replace(Function*& slot, Function* checked) {
    std::atomic_ref(slot).store(checked, std::memory_order_release);
}

void keep(const verbs_context& device) {
    known = {device.context.ops.poll_cq,
             device.context.ops.post_send,
             device.context.ops.post_recv,
             device.context.ops.post_srq_recv,
             device.context.ops.bind_mw,
             device.create_cq_ex,
             device.create_qp_ex,
             device.create_srq_ex,
             device.open_qp,
             device.reg_dm_mr};
}

void put_around(verbs_context& device) {
    ibv_context_ops& ops = device.context.ops;
    replace(device.create_cq_ex, create_cq_ex);
    replace(device.create_qp_ex, create_qp_ex);
    replace(device.create_srq_ex, create_srq_ex);
    replace(device.open_qp, open_qp);
    replace(device.reg_dm_mr, reg_dm_mr);
    replace(ops.poll_cq, poll_cq);
    replace(ops.post_recv, post_recv);
    replace(ops.post_srq_recv, post_srq_recv);
    replace(ops.bind_mw, bind_mw);
    replace(ops.post_send, post_send);
}

bool is_watched(ibv_context* context) {
    return std::atomic_ref(context->ops.post_send).load(std::memory_order_acquire) == post_send;
}

/// Reports what is left when the program ends well; a program that fails leaves everything.
void end_program(int status, void*) {
    if (status == 0 && policy().checks_for(kLife)) check_left("exit", nullptr);
    const support::CancellationDisabled disabled;
    try {
        tell_counts(kProcess, "verbs calls");
    } catch (const std::bad_alloc&) {
        return;
    }
}

void add_context(ibv_context* context) {
    Object object;
    object.kind = kContext;
    object.owner = kProcess;
    object.device = context;
    object.made = here();
    object.goes_with_owner = true;
    with_model([&](Model& state) NO_THREAD_SAFETY_ANALYSIS { state.objects.add(context, object); });
}

void stay_loaded() {
    Dl_info self;
    if (dladdr(&known, &self)) dlopen(self.dli_fname, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
}

/// A handler that is registered before main() runs after all others and after the destructors of
/// all libraries, which may close devices. Nothing here and in support/ has a destructor.
[[gnu::constructor]] void begin_program() {
    if (!is_on()) return;
    stay_loaded();
    on_exit(end_program, nullptr);
}

/// Its functions have the checks, but this process has not put them there.
void check_forked(const char* call, ibv_context* context) {
    Found found;
    with_model([&](Model& state) NO_THREAD_SAFETY_ANALYSIS {
        if (!state.objects.find_live(context)) found.add(Kind::kForked).what = kContext;
    });
    if (policy().checks_for(kLife)) refuse(found, call);
}

}  // namespace

const Originals& originals() {
    return known;
}

void watch(const char* call, ibv_context* context) {
    if (is_watched(context)) return check_forked(call, context);
    add_context(context);
    with_model([&](Model&) {
        if (is_watched(context)) return;
        if (!known.post_send) keep(*verbs_get_ctx(context));
        put_around(*verbs_get_ctx(context));
        if (policy().checks_for(kLife)) keep_ended_objects();
    });
}

ibv_cq_ex* create_cq_ex(ibv_context* context, ibv_cq_init_attr_ex* attributes) {
    ibv_cq_ex* cq = known.create_cq_ex(context, attributes);
    if (!cq) return nullptr;
    const bool has_flags = (attributes->comp_mask & IBV_CQ_INIT_ATTR_MASK_FLAGS) != 0;
    learn(ibv_cq_ex_to_cq(cq));
    watch(cq, has_flags && (attributes->flags & IBV_CREATE_CQ_ATTR_SINGLE_THREADED) != 0);
    return cq;
}

ibv_qp* create_qp_ex(ibv_context* context, ibv_qp_init_attr_ex* attributes) {
    ibv_qp* qp = known.create_qp_ex(context, attributes);
    if (!qp) return nullptr;
    learn(qp);
    if ((attributes->comp_mask & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS) != 0)
        watch(reinterpret_cast<ibv_qp_ex*>(qp));
    return qp;
}

ibv_srq* create_srq_ex(ibv_context* context, ibv_srq_init_attr_ex* attributes) {
    ibv_srq* srq = known.create_srq_ex(context, attributes);
    const bool is_xrc = (attributes->comp_mask & IBV_SRQ_INIT_ATTR_TYPE) != 0 &&
                        attributes->srq_type != IBV_SRQT_BASIC;
    if (srq) learn(srq, static_cast<int>(attributes->attr.max_sge), !is_xrc);
    return srq;
}

/// The window may get the key that a region had.
int bind_mw(ibv_qp* qp, ibv_mw* mw, ibv_mw_bind* request) {
    const int code = known.bind_mw(qp, mw, request);
    with_model([&](Model& state) NO_THREAD_SAFETY_ANALYSIS {
        state.remote_regions.forget_ended(kProcess, mw->rkey);
    });
    return code;
}

ibv_qp* open_qp(ibv_context* context, ibv_qp_open_attr* attributes) {
    ibv_qp* qp = known.open_qp(context, attributes);
    if (qp) learn(qp);
    return qp;
}

}  // namespace check::verbs
