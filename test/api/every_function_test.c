/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * @file
 * A C program with every header that calls every function and every macro of the extensions: all of
 * them link, and NULL is answered as it is known.
 */
#include <dat2/dat.h>
#include <dat2/dat_error.h>
#include <dat2/dat_ib_extensions.h>
#include <dat2/dat_platform_specific.h>
#include <dat2/dat_redirection.h>
#include <dat2/dat_registry.h>
#include <dat2/dat_trclvl.h>
#include <dat2/dat_vendor_specific.h>
#include <dat2/udat.h>
#include <dat2/udat_config.h>
#include <dat2/udat_redirection.h>
#include <dat2/udat_vendor_specific.h>
#include <stdio.h>

/* Providers import it, although no header of DAT 2.0 declares it. */
DAT_RETURN dats_get_ia_handle(DAT_IA_HANDLE handle, DAT_IA_HANDLE* other);

static int calls, wrong;

static void answers(DAT_RETURN expected, DAT_RETURN code, const char* call) {
    ++calls;
    if (code == expected) return;
    ++wrong;
    printf("# %s: 0x%08X, not 0x%08X\n", call, (unsigned)code, (unsigned)expected);
}
#define ANSWERS(expected, call) answers(expected, call, #call)

static void report(int number, int expected_calls, const char* what) {
    printf("%s %d - %s\n", wrong == 0 && calls == expected_calls ? "ok" : "not ok", number, what);
    if (calls != expected_calls) printf("# %d calls, not %d\n", calls, expected_calls);
    calls = wrong = 0;
}

static void call_functions(void) {
    DAT_CONTEXT context = {NULL};
    DAT_REGION_DESCRIPTION region = {NULL};
    DAT_IA_HANDLE other;
    ANSWERS(0x8005000B, dat_cno_create(NULL, DAT_OS_WAIT_PROXY_AGENT_NULL, NULL));
    ANSWERS(0x8005000B, dat_cno_fd_create(NULL, NULL, NULL));
    ANSWERS(0x80050013, dat_cno_free(NULL));
    ANSWERS(0x80050013, dat_cno_modify_agent(NULL, DAT_OS_WAIT_PROXY_AGENT_NULL));
    ANSWERS(0x80050013, dat_cno_query(NULL, (DAT_CNO_PARAM_MASK)0, NULL));
    ANSWERS(0x80050013, dat_cno_trigger(NULL, NULL));
    ANSWERS(0x80050013, dat_cno_wait(NULL, 0, NULL));
    ANSWERS(0x80050012, dat_cr_accept(NULL, NULL, 0, NULL));
    ANSWERS(0x80050012, dat_cr_handoff(NULL, 0));
    ANSWERS(0x80050012, dat_cr_query(NULL, (DAT_CR_PARAM_MASK)0, NULL));
    ANSWERS(0x80050012, dat_cr_reject(NULL, 0, NULL));
    ANSWERS(0x8005000B, dat_csp_create(NULL, NULL, NULL, NULL, NULL));
    ANSWERS(0x8005001A, dat_csp_free(NULL));
    ANSWERS(0x8005001A, dat_csp_query(NULL, (DAT_CSP_PARAM_MASK)0, NULL));
    ANSWERS(0x8005000C, dat_ep_common_connect(NULL, NULL, 0, 0, NULL));
    ANSWERS(0x8005000C,
            dat_ep_connect(NULL, NULL, 0, 0, 0, NULL, (DAT_QOS)0, (DAT_CONNECT_FLAGS)0));
    ANSWERS(0x8005000B, dat_ep_create(NULL, NULL, NULL, NULL, NULL, NULL, NULL));
    ANSWERS(0x8005000B, dat_ep_create_with_srq(NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL));
    ANSWERS(0x8005000C, dat_ep_disconnect(NULL, (DAT_CLOSE_FLAGS)0));
    ANSWERS(0x8005000C, dat_ep_dup_connect(NULL, NULL, 0, 0, NULL, (DAT_QOS)0));
    ANSWERS(0x8005000C, dat_ep_free(NULL));
    ANSWERS(0x8005000C, dat_ep_get_status(NULL, NULL, NULL, NULL));
    ANSWERS(0x8005000C, dat_ep_modify(NULL, 0, NULL));
    ANSWERS(0x8005000C,
            dat_ep_post_rdma_read(NULL, 0, NULL, context, NULL, (DAT_COMPLETION_FLAGS)0));
    ANSWERS(0x8005000C,
            dat_ep_post_rdma_read_to_rmr(NULL, NULL, context, NULL, (DAT_COMPLETION_FLAGS)0));
    ANSWERS(0x8005000C,
            dat_ep_post_rdma_write(NULL, 0, NULL, context, NULL, (DAT_COMPLETION_FLAGS)0));
    ANSWERS(0x8005000C, dat_ep_post_recv(NULL, 0, NULL, context, (DAT_COMPLETION_FLAGS)0));
    ANSWERS(0x8005000C, dat_ep_post_send(NULL, 0, NULL, context, (DAT_COMPLETION_FLAGS)0));
    ANSWERS(0x8005000C, dat_ep_post_send_with_invalidate(
                            NULL, 0, NULL, context, (DAT_COMPLETION_FLAGS)0, (DAT_BOOLEAN)0, 0));
    ANSWERS(0x8005000C, dat_ep_query(NULL, 0, NULL));
    ANSWERS(0x8005000C, dat_ep_recv_query(NULL, NULL, NULL));
    ANSWERS(0x8005000C, dat_ep_reset(NULL));
    ANSWERS(0x8005000C, dat_ep_set_watermark(NULL, 0, 0));
    ANSWERS(0x80050015, dat_evd_clear_unwaitable(NULL));
    ANSWERS(0x8005000B, dat_evd_create(NULL, 0, NULL, (DAT_EVD_FLAGS)0, NULL));
    ANSWERS(0x80050015, dat_evd_dequeue(NULL, NULL));
    ANSWERS(0x80050015, dat_evd_disable(NULL));
    ANSWERS(0x80050015, dat_evd_enable(NULL));
    ANSWERS(0x80050015, dat_evd_free(NULL));
    ANSWERS(0x80050015, dat_evd_modify_cno(NULL, NULL));
    ANSWERS(0x80050015, dat_evd_post_se(NULL, NULL));
    ANSWERS(0x80050015, dat_evd_query(NULL, (DAT_EVD_PARAM_MASK)0, NULL));
    ANSWERS(0x80050015, dat_evd_resize(NULL, 0));
    ANSWERS(0x80050015, dat_evd_set_unwaitable(NULL));
    ANSWERS(0x80050015, dat_evd_wait(NULL, 0, 0, NULL, NULL));
    ANSWERS(0x8005001B, dat_extension_op(NULL, 0));
    ANSWERS(0x8005001B, dat_get_consumer_context(NULL, NULL));
    ANSWERS(0x8005001B, dat_get_handle_type(NULL, NULL));
    ANSWERS(0x8005000B, dat_ia_close(NULL, (DAT_CLOSE_FLAGS)0));
    ANSWERS(0x80060025, dat_ia_openv(NULL, 0, NULL, NULL, 0, 0, (DAT_BOOLEAN)0));
    ANSWERS(0x8005000B, dat_ia_query(NULL, NULL, 0, NULL, 0, NULL));
    ANSWERS(0x8005000B,
            dat_lmr_create(NULL, (DAT_MEM_TYPE)0, region, 0, NULL, (DAT_MEM_PRIV_FLAGS)0,
                           (DAT_VA_TYPE)0, NULL, NULL, NULL, NULL, NULL));
    ANSWERS(0x8005000D, dat_lmr_free(NULL));
    ANSWERS(0x8005000D, dat_lmr_query(NULL, (DAT_LMR_PARAM_MASK)0, NULL));
    ANSWERS(0x8005000B, dat_lmr_sync_rdma_read(NULL, NULL, 0));
    ANSWERS(0x8005000B, dat_lmr_sync_rdma_write(NULL, NULL, 0));
    ANSWERS(0x8005000B, dat_psp_create(NULL, 0, NULL, (DAT_PSP_FLAGS)0, NULL));
    ANSWERS(0x8005000B, dat_psp_create_any(NULL, NULL, NULL, (DAT_PSP_FLAGS)0, NULL));
    ANSWERS(0x80050010, dat_psp_free(NULL));
    ANSWERS(0x80050010, dat_psp_query(NULL, (DAT_PSP_PARAM_MASK)0, NULL));
    ANSWERS(0x8005000B, dat_pz_create(NULL, NULL));
    ANSWERS(0x8005000F, dat_pz_free(NULL));
    ANSWERS(0x8005000F, dat_pz_query(NULL, (DAT_PZ_PARAM_MASK)0, NULL));
    ANSWERS(0x80060025, dat_registry_add_provider(NULL, NULL));
    ANSWERS(0x80060026, dat_registry_list_providers(0, NULL, NULL));
    ANSWERS(0x80060025, dat_registry_providers_related(NULL, NULL, NULL));
    ANSWERS(0x80060025, dat_registry_remove_provider(NULL, NULL));
    ANSWERS(0x8005000E, dat_rmr_bind(NULL, NULL, NULL, (DAT_MEM_PRIV_FLAGS)0, (DAT_VA_TYPE)0, NULL,
                                     context, (DAT_COMPLETION_FLAGS)0, NULL));
    ANSWERS(0x8005000F, dat_rmr_create(NULL, NULL));
    ANSWERS(0x8005000F, dat_rmr_create_for_ep(NULL, NULL));
    ANSWERS(0x8005000E, dat_rmr_free(NULL));
    ANSWERS(0x8005000E, dat_rmr_query(NULL, (DAT_RMR_PARAM_MASK)0, NULL));
    ANSWERS(0x8005000B, dat_rsp_create(NULL, 0, NULL, NULL, NULL));
    ANSWERS(0x80050011, dat_rsp_free(NULL));
    ANSWERS(0x80050011, dat_rsp_query(NULL, (DAT_RSP_PARAM_MASK)0, NULL));
    ANSWERS(0x8005001B, dat_set_consumer_context(NULL, context));
    ANSWERS(0x8005000B, dat_srq_create(NULL, NULL, NULL, NULL));
    ANSWERS(0x80050019, dat_srq_free(NULL));
    ANSWERS(0x80050019, dat_srq_post_recv(NULL, 0, NULL, context));
    ANSWERS(0x80050019, dat_srq_query(NULL, (DAT_SRQ_PARAM_MASK)0, NULL));
    ANSWERS(0x80050019, dat_srq_resize(NULL, 0));
    ANSWERS(0x80050019, dat_srq_set_lw(NULL, 0));
    ANSWERS(0x80060026, dat_strerror(0, NULL, NULL));
    ANSWERS(0x8005000B, dat_trclvl_modify(NULL, -1, -1));
    ANSWERS(0x8005000B, dat_trclvl_query(NULL, NULL, NULL));
    ANSWERS(0x80060025, dat_ia_open(NULL, 0, NULL, NULL));
    ANSWERS(0x8005000B, dats_get_ia_handle(NULL, &other));
}

static void call_macros(void) {
    DAT_CONTEXT context = {NULL};
    ANSWERS(0x8005000B, dat_ib_close_query(NULL));
    ANSWERS(0x8005001B, dat_ib_collective_allgather(NULL, NULL, 0, NULL, 0, context, 0));
    ANSWERS(0x8005001B, dat_ib_collective_allgatherv(NULL, NULL, 0, NULL, NULL, NULL, context, 0));
    ANSWERS(0x8005001B, dat_ib_collective_allreduce(NULL, NULL, 0, NULL, 0, 0, 0, context, 0));
    ANSWERS(0x8005001B, dat_ib_collective_alltoall(NULL, NULL, 0, NULL, 0, context, 0));
    ANSWERS(0x8005001B,
            dat_ib_collective_alltoallv(NULL, NULL, NULL, NULL, NULL, NULL, NULL, context, 0));
    ANSWERS(0x8005001B, dat_ib_collective_barrier(NULL, context, 0));
    ANSWERS(0x8005001B, dat_ib_collective_broadcast(NULL, NULL, 0, 0, context, 0));
    ANSWERS(0x8005001B, dat_ib_collective_create_group(NULL, 0, 0, 0, NULL, NULL, NULL, context));
    ANSWERS(0x8005001B, dat_ib_collective_create_member(NULL, NULL, NULL, NULL));
    ANSWERS(0x8005001B, dat_ib_collective_free_group(NULL));
    ANSWERS(0x8005001B, dat_ib_collective_free_member(NULL, NULL));
    ANSWERS(0x8005001B, dat_ib_collective_gather(NULL, NULL, 0, NULL, 0, 0, context, 0));
    ANSWERS(0x8005001B, dat_ib_collective_gatherv(NULL, NULL, 0, NULL, NULL, NULL, 0, context, 0));
    ANSWERS(0x8005001B, dat_ib_collective_read_clock(NULL, NULL));
    ANSWERS(0x8005001B, dat_ib_collective_reduce(NULL, NULL, 0, NULL, 0, 0, 0, 0, context, 0));
    ANSWERS(0x8005001B,
            dat_ib_collective_reduce_scatter(NULL, NULL, 0, NULL, NULL, 0, 0, context, 0));
    ANSWERS(0x8005001B, dat_ib_collective_scan(NULL, NULL, 0, NULL, 0, 0, 0, context, 0));
    ANSWERS(0x8005001B, dat_ib_collective_scatter(NULL, NULL, 0, NULL, 0, 0, context, 0));
    ANSWERS(0x8005001B, dat_ib_collective_scatterv(NULL, NULL, NULL, NULL, NULL, 0, 0, context, 0));
    ANSWERS(0x8005001B, dat_ib_collective_set_clock(NULL, 0, context));
    ANSWERS(0x80050027, dat_ib_open_query(NULL, NULL, 0, NULL, 0, NULL));
    ANSWERS(0x8005001B, dat_ib_post_cmp_and_swap(NULL, 0, 0, NULL, context, NULL, 0));
    ANSWERS(0x8005001B, dat_ib_post_fetch_and_add(NULL, 0, NULL, context, NULL, 0));
    ANSWERS(0x8005001B, dat_ib_post_rdma_write_immed(NULL, 0, NULL, context, NULL, 0, 0));
    ANSWERS(0x8005001B, dat_ib_post_send_ud(NULL, 0, NULL, NULL, context, 0));
    ANSWERS(0x8005001B, dat_ib_print_counters(NULL, 0, 0));
    ANSWERS(0x8005001B, dat_ib_query_counters(NULL, 0, NULL, 0));
    ANSWERS(0x8005001B, dat_ib_start_counter(NULL, 0));
    ANSWERS(0x8005001B, dat_ib_stop_counter(NULL, 0));
    ANSWERS(0x8005001B, dat_ib_ud_ah_free(NULL, NULL));
    ANSWERS(0x8005001B, dat_ib_ud_cm_free(NULL, context));
    ANSWERS(0x8005000C, dat_ib_post_recv_ud(NULL, 0, NULL, context, DAT_COMPLETION_DEFAULT_FLAG));
}

static void call_helpers(void) {
    const char* text;
    ANSWERS(DAT_SUCCESS, dat_strerror_extension(DAT_IB_ERR, &text));
    ANSWERS(DAT_SUCCESS, dat_strerror_extension((DAT_IB_RETURN)DAT_ABORT, &text));
    ANSWERS(DAT_SUCCESS, dat_strerror_ext_status(DAT_IB_OP_ERR, &text));
    ANSWERS(DAT_INVALID_PARAMETER, dat_strerror_ext_status(DAT_IB_COLL_COMP_ERR, &text));
}

int main(void) {
    printf("1..3\n");
    call_functions();
    report(1, 87, "every function links and answers NULL");
    call_macros();
    report(2, 33, "every macro of the extensions compiles and answers NULL");
    call_helpers();
    report(3, 4, "the names of extension codes are found");
    return 0;
}
