/* SPDX-License-Identifier: BSD-2-Clause */
#include "test/check/faults.h"

#include <stdlib.h>

#include "test/check/program.h"

/* -- memory ---------------------------------------------------------------------------- */

/* The rmr_context is not what local segments need. */
static void not_registered(int wrong) {
    struct region from = make_region(), to = make_region();
    DAT_LMR_TRIPLET segment = segment_of(&from, 0, 8);
    if (wrong) segment.lmr_context = 0x7fffff01;
    receive_into(there, segment_of(&to, 0, 8));
    if (dat_ep_post_send(here, 1, &segment, numbered(1), DAT_COMPLETION_DEFAULT_FLAG) ==
        DAT_SUCCESS)
        next(sends);
    disconnect_both();
    free_region(&from);
    free_region(&to);
}

static void out_of_range(int wrong) {
    struct region from = make_region(), to = make_region();
    DAT_LMR_TRIPLET segment = segment_of(&from, LENGTH - 8, wrong ? 9 : 8);
    receive_into(there, segment_of(&to, 0, 64));
    if (dat_ep_post_send(here, 1, &segment, numbered(1), DAT_COMPLETION_DEFAULT_FLAG) ==
        DAT_SUCCESS)
        next(sends);
    disconnect_both();
    free_region(&from);
    free_region(&to);
}

static void no_right(int wrong) {
    static char bytes[LENGTH];
    struct region region;
    const int write = wrong ? 0 : DAT_MEM_PRIV_LOCAL_WRITE_FLAG;
    must(register_in(pz, &region, bytes, DAT_MEM_PRIV_LOCAL_READ_FLAG | write), "dat_lmr_create");
    DAT_LMR_TRIPLET segment = segment_of(&region, 0, 8);
    dat_ep_post_recv(there, 1, &segment, numbered(2), DAT_COMPLETION_DEFAULT_FLAG);
    disconnect_both();
    must(dat_lmr_free(region.lmr), "dat_lmr_free");
}

static void other_zone(int wrong) {
    static char bytes[LENGTH];
    DAT_PZ_HANDLE other;
    struct region region;
    must(dat_pz_create(ia, &other), "dat_pz_create");
    must(register_in(wrong ? other : pz, &region, bytes, DAT_MEM_PRIV_ALL_FLAG), "dat_lmr_create");
    DAT_LMR_TRIPLET segment = segment_of(&region, 0, 8);
    dat_ep_post_recv(there, 1, &segment, numbered(2), DAT_COMPLETION_DEFAULT_FLAG);
    disconnect_both();
    must(dat_lmr_free(region.lmr), "dat_lmr_free");
    must(dat_pz_free(other), "dat_pz_free");
}

static void ended(int wrong) {
    struct region from = make_region(), to = make_region();
    DAT_LMR_TRIPLET segment = segment_of(&from, 0, 8);
    receive_into(there, segment_of(&to, 0, 8));
    if (wrong) must(dat_lmr_free(from.lmr), "dat_lmr_free");
    if (dat_ep_post_send(here, 1, &segment, numbered(1), DAT_COMPLETION_DEFAULT_FLAG) ==
        DAT_SUCCESS)
        next(sends);
    disconnect_both();
    if (!wrong) must(dat_lmr_free(from.lmr), "dat_lmr_free");
    free(from.bytes);
    free_region(&to);
}

/* Writes to the peer, which is in this process too. */
static void write_to(struct region* to, int privileges, int offset) {
    static char bytes[LENGTH];
    struct region from = make_region();
    must(register_in(pz, to, bytes, privileges), "dat_lmr_create");
    DAT_LMR_TRIPLET segment = segment_of(&from, 0, 8);
    DAT_RMR_TRIPLET target = target_of(to, offset, 8);
    if (dat_ep_post_rdma_write(here, 1, &segment, numbered(1), &target,
                               DAT_COMPLETION_DEFAULT_FLAG) == DAT_SUCCESS)
        next(sends);
    disconnect_both();
    free_region(&from);
    must(dat_lmr_free(to->lmr), "dat_lmr_free");
}

static void remote_right(int wrong) {
    struct region to;
    write_to(&to, wrong ? DAT_MEM_PRIV_READ_FLAG : DAT_MEM_PRIV_ALL_FLAG, 0);
}

static void remote_range(int wrong) {
    struct region to;
    write_to(&to, DAT_MEM_PRIV_ALL_FLAG, LENGTH - (wrong ? 7 : 8));
}

/* -- buffers in flight ----------------------------------------------------------------- */

static void changed(int wrong) {
    struct region from = make_region(), to = make_region();
    receive_into(there, segment_of(&to, 0, LENGTH));
    send_from(here, segment_of(&from, 0, LENGTH), DAT_COMPLETION_DEFAULT_FLAG);
    if (wrong) from.bytes[3] = 'x';
    next(sends);
    from.bytes[4] = 'y';
    next(receives);
    free_region(&from);
    free_region(&to);
}

static void overlap(int wrong) {
    struct region from = make_region(), to = make_region();
    receive_into(there, segment_of(&to, 0, 8));
    receive_into(there, segment_of(&to, wrong ? 7 : 8, 8));
    for (int message = 0; message < 2; ++message) {
        send_from(here, segment_of(&from, 0, 8), DAT_COMPLETION_DEFAULT_FLAG);
        next(sends);
        next(receives);
    }
    free_region(&from);
    free_region(&to);
}

static void freed_in_flight(int wrong) {
    struct region from = make_region(), to = make_region();
    receive_into(there, segment_of(&to, 0, 8));
    if (wrong && dat_lmr_free(to.lmr) == DAT_SUCCESS) to.lmr = DAT_HANDLE_NULL;
    if (!wrong) {
        send_from(here, segment_of(&from, 0, 8), DAT_COMPLETION_DEFAULT_FLAG);
        next(sends);
        next(receives);
    }
    disconnect_both();
    if (to.lmr) must(dat_lmr_free(to.lmr), "dat_lmr_free");
    free(to.bytes);
    free_region(&from);
}

/* -- queues ------------------------------------------------------------------------------ */

/* The queue for receives was made for 8 completions. */
static void queue_too_small(int wrong) {
    struct region to = make_region();
    const int count = wrong ? 9 : 8;
    for (int i = 0; i < count; ++i) {
        DAT_LMR_TRIPLET segment = segment_of(&to, 8 * i, 8);
        dat_ep_post_recv(there, 1, &segment, numbered(i), DAT_COMPLETION_DEFAULT_FLAG);
    }
    disconnect_both();
    free_region(&to);
}

static void never_signalled(int wrong) {
    struct region from = make_region(), to = make_region();
    DAT_EP_PARAM param;
    must(dat_ep_query(here, DAT_EP_FIELD_ALL, &param), "dat_ep_query");
    for (int i = 1; i <= param.ep_attr.max_request_dtos; ++i) {
        const int silent = wrong || i % 16 != 0;
        DAT_LMR_TRIPLET segment = segment_of(&from, 0, 8);
        DAT_RMR_TRIPLET target = target_of(&to, 0, 0);
        segment.segment_length = 0;
        dat_ep_post_rdma_write(here, 1, &segment, numbered(1), &target,
                               silent ? DAT_COMPLETION_SUPPRESS_FLAG : DAT_COMPLETION_DEFAULT_FLAG);
        if (!silent) next(sends);
    }
    disconnect_both();
    free_region(&from);
    free_region(&to);
}

/* With OPENDAT_CHECK_ACTION=abort, or fail: otherwise the wrong one never ends. */
static void endless_wait(int wrong) {
    DAT_EVD_HANDLE evd = make_evd(8, DAT_EVD_DTO_FLAG);
    DAT_EVENT event;
    DAT_COUNT more;
    DAT_TIMEOUT timeout = wrong ? DAT_TIMEOUT_INFINITE : 1000;
    if (DAT_GET_TYPE(dat_evd_wait(evd, timeout, 1, &event, &more)) != DAT_TIMEOUT_EXPIRED) exit(1);
    must(dat_evd_free(evd), "dat_evd_free");
}

/* -- life ---------------------------------------------------------------------------------- */

static void left(int wrong) {
    DAT_EVD_HANDLE evd = make_evd(8, DAT_EVD_DTO_FLAG);
    if (!wrong) must(dat_evd_free(evd), "dat_evd_free");
}

static void used_after_free(int wrong) {
    DAT_EVD_HANDLE evd = make_evd(8, DAT_EVD_DTO_FLAG);
    DAT_EVENT event;
    if (wrong) must(dat_evd_free(evd), "dat_evd_free");
    dat_evd_dequeue(evd, &event);
    if (!wrong) must(dat_evd_free(evd), "dat_evd_free");
}

static void other_ia(int wrong) {
    DAT_EVD_HANDLE other_async = DAT_HANDLE_NULL;
    DAT_IA_HANDLE other;
    DAT_PZ_HANDLE zone;
    DAT_EP_HANDLE ep;
    must(dat_ia_open("soft0", 8, &other_async, &other), "dat_ia_open");
    must(dat_pz_create(other, &zone), "dat_pz_create");
    if (dat_ep_create(ia, wrong ? zone : pz, receives, sends, connections, NULL, &ep) ==
        DAT_SUCCESS)
        must(dat_ep_free(ep), "dat_ep_free");
    must(dat_pz_free(zone), "dat_pz_free");
    must(dat_ia_close(other, DAT_CLOSE_GRACEFUL_FLAG), "dat_ia_close");
}

static void private_data(int wrong) {
    DAT_PROVIDER_ATTR attributes;
    must(dat_ia_query(ia, NULL, DAT_IA_FIELD_NONE, NULL, DAT_PROVIDER_FIELD_ALL, &attributes),
         "dat_ia_query");
    const DAT_COUNT size = attributes.max_private_data_size + (wrong ? 1 : 0);
    DAT_EP_HANDLE ep = make_ep(NULL);
    struct region data = make_region();
    DAT_PSP_HANDLE psp = listen_for(QUALIFIER);
    if (connect_to(ep, QUALIFIER, size, data.bytes) == DAT_SUCCESS) {
        must(dat_cr_reject(next(requests).event_data.cr_arrival_event_data.cr_handle, 0, NULL),
             "dat_cr_reject");
        next(connections);
    }
    must(dat_psp_free(psp), "dat_psp_free");
    must(dat_ep_free(ep), "dat_ep_free");
    free_region(&data);
}

const struct fault faults[] = {{"not_registered", not_registered},
                               {"out_of_range", out_of_range},
                               {"no_right", no_right},
                               {"other_zone", other_zone},
                               {"ended", ended},
                               {"remote_right", remote_right},
                               {"remote_range", remote_range},
                               {"changed", changed},
                               {"overlap", overlap},
                               {"freed_in_flight", freed_in_flight},
                               {"queue_too_small", queue_too_small},
                               {"never_signalled", never_signalled},
                               {"endless_wait", endless_wait},
                               {"left", left},
                               {"used_after_free", used_after_free},
                               {"other_ia", other_ia},
                               {"private_data", private_data},
                               {NULL, NULL}};
