// SPDX-License-Identifier: BSD-2-Clause
#include "check/dat/table.hpp"
#include "check/model/settings.hpp"

#include "check/dat/audit.hpp"
#include "check/dat/checked.hpp"
#include "check/dat/entry.hpp"
#include "check/dat/objects.hpp"

namespace check::dat {
namespace {

/// As many as there are tables of a library (kMostNames in dapl/ia/start_provider.cpp, two each).
constexpr int kMostTables = 128;
/// In static memory, for objects that are used when the library is about to be unloaded.
Checked tables[kMostTables];
int tables_used = 0;

Checked* entry_for(const DAT_PROVIDER& table) {
    for (int i = 0; i < tables_used; ++i)
        if (tables[i].outer == &table) return &tables[i];
    return tables_used < kMostTables ? &tables[tables_used++] : nullptr;
}

// The functions that only check their handles.
#define CHECKED(name) table.name##_func = Call<&DAT_PROVIDER::name##_func, Text("dat_" #name)>::call
#define MAKING(name, kind) \
    table.name##_func = Making<&DAT_PROVIDER::name##_func, Text("dat_" #name), Text(kind)>::call
#define ENDING(name) table.name##_func = ending<&DAT_PROVIDER::name##_func, Text("dat_" #name)>
#define OWN(name) table.name##_func = entry::name

void check_queries(DAT_PROVIDER& table) {
    OWN(ia_query);
    CHECKED(set_consumer_context);
    CHECKED(get_consumer_context);
    CHECKED(get_handle_type);
    CHECKED(cno_query);
    CHECKED(cr_query);
    CHECKED(evd_query);
    CHECKED(ep_query);
    CHECKED(ep_get_status);
    CHECKED(ep_recv_query);
    CHECKED(lmr_query);
    CHECKED(rmr_query);
    CHECKED(psp_query);
    CHECKED(rsp_query);
    CHECKED(csp_query);
    CHECKED(pz_query);
    CHECKED(srq_query);
    CHECKED(lmr_sync_rdma_read);
    CHECKED(lmr_sync_rdma_write);
}

void check_changes(DAT_PROVIDER& table) {
    CHECKED(cno_modify_agent);
    CHECKED(cno_wait);
    CHECKED(cno_trigger);
    CHECKED(evd_modify_cno);
    CHECKED(evd_enable);
    CHECKED(evd_disable);
    CHECKED(evd_post_se);
    CHECKED(evd_set_unwaitable);
    CHECKED(evd_clear_unwaitable);
    CHECKED(ep_common_connect);
    CHECKED(ep_set_watermark);
    CHECKED(rmr_bind);
    CHECKED(srq_resize);
    CHECKED(srq_set_lw);
    OWN(evd_resize);
    OWN(ep_modify);
    OWN(ep_reset);
    OWN(ep_connect);
    OWN(ep_dup_connect);
    OWN(ep_disconnect);
}

void check_lives(DAT_PROVIDER& table) {
    OWN(ia_open);
    OWN(ia_close);
    MAKING(cno_create, "the CNO");
    MAKING(cno_fd_create, "the CNO");
    ENDING(cno_free);
    OWN(evd_create);
    OWN(evd_free);
    MAKING(ep_create, "the EP");
    MAKING(ep_create_with_srq, "the EP");
    ENDING(ep_free);
    OWN(lmr_create);
    OWN(lmr_free);
    MAKING(rmr_create, "the RMR");
    MAKING(rmr_create_for_ep, "the RMR");
    ENDING(rmr_free);
    MAKING(psp_create, "the PSP");
    MAKING(psp_create_any, "the PSP");
    ENDING(psp_free);
    MAKING(rsp_create, "the RSP");
    ENDING(rsp_free);
    MAKING(csp_create, "the CSP");
    ENDING(csp_free);
    MAKING(pz_create, "the PZ");
    ENDING(pz_free);
    OWN(srq_create);
    ENDING(srq_free);
    OWN(cr_accept);
    OWN(cr_reject);
    OWN(cr_handoff);
}

void check_transfers(DAT_PROVIDER& table) {
    OWN(ep_post_send);
    OWN(ep_post_recv);
    OWN(ep_post_rdma_read);
    OWN(ep_post_rdma_read_to_rmr);
    OWN(ep_post_rdma_write);
    OWN(ep_post_send_with_invalidate);
    OWN(srq_post_recv);
    OWN(handle_extendedop);
    OWN(evd_wait);
    OWN(evd_dequeue);
}

}  // namespace

const Checked& any_checked() {
    return tables[0];
}

Policy policy_of(std::string_view ia_name) {
    static constexpr Words kWords = {
        "context", "IA", "protection zone", "endpoint", "endpoint or queue", "event dispatcher"};
    return check::policy_of(support::Setting::kCheck, ia_name, kWords);
}

void decorate(DAT_PROVIDER& table, const Policy& policy) {
    if (policy.checks == 0) return;
    Checked* checked = entry_for(table);
    if (!checked) return;
    checked->mark = *static_cast<const support::ProviderMark*>(table.extension);
    checked->provider = table;
    checked->inner = table;
    if (policy.checks_for(kAudit)) audit(checked->inner);
    checked->outer = &table;
    checked->policy = policy;
    table.extension = checked;
    check_queries(table);
    check_changes(table);
    check_lives(table);
    check_transfers(table);
}

}  // namespace check::dat
