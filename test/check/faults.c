/* SPDX-License-Identifier: BSD-2-Clause */
#include "test/check/faults.h"

#include <dat2/dat_ib_extensions.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

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
    must(register_in(pz, &region, bytes, DAT_MEM_PRIV_READ_FLAG | write), "dat_lmr_create");
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

static void unmapped(int wrong) {
    struct region to;
    char* bytes = mmap(NULL, LENGTH, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    must(register_in(pz, &to, bytes, DAT_MEM_PRIV_ALL_FLAG), "dat_lmr_create");
    if (wrong) munmap(bytes, LENGTH);
    receive_into(there, segment_of(&to, 0, 8));
    disconnect_both();
    must(dat_lmr_free(to.lmr), "dat_lmr_free");
    if (!wrong) munmap(bytes, LENGTH);
}

static void unmapped_in_flight(int wrong) {
    struct region from, to = make_region();
    char* bytes = mmap(NULL, LENGTH, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    must(register_in(pz, &from, bytes, DAT_MEM_PRIV_LOCAL_READ_FLAG), "dat_lmr_create");
    receive_into(there, segment_of(&to, 0, 8));
    send_from(here, segment_of(&from, 0, 8), DAT_COMPLETION_DEFAULT_FLAG);
    next(receives);
    if (wrong) munmap(bytes, LENGTH);
    next(sends);
    disconnect_both();
    must(dat_lmr_free(from.lmr), "dat_lmr_free");
    if (!wrong) munmap(bytes, LENGTH);
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

/* Private data of the connection: names the memory that a process offers to its peer. */
struct offer {
    DAT_VADDR address;
    DAT_RMR_CONTEXT context;
};

/* The peer: a forked child. It writes a byte to `ready` when it listens, and when it has heard that
 * the connection is established: an end before that would be told in its place. */
static void offer_memory(int privileges, int ready) {
    static char bytes[LENGTH];
    struct region region;
    open_adapter();
    must(register_in(pz, &region, bytes, privileges), "dat_lmr_create");
    struct offer offer = {(DAT_VADDR)(uintptr_t)bytes, region.remote_context};
    DAT_EP_HANDLE ep = make_ep(NULL);
    listen_for(QUALIFIER + 1);
    if (write(ready, "", 1) != 1) exit(1);
    must(dat_cr_accept(next(requests).event_data.cr_arrival_event_data.cr_handle, ep, sizeof offer,
                       &offer),
         "dat_cr_accept");
    next(connections); /* established */
    if (write(ready, "", 1) != 1) exit(1);
    next(connections); /* ended */
}

static void refused(int wrong) {
    struct region from = make_region(), to;
    struct offer offer;
    int ready[2];
    char byte;
    if (pipe(ready) != 0) exit(1);
    const pid_t peer = fork();
    if (peer == 0) {
        offer_memory(wrong ? DAT_MEM_PRIV_READ_FLAG : DAT_MEM_PRIV_ALL_FLAG, ready[1]);
        _exit(0);
    }
    if (read(ready[0], &byte, 1) != 1) exit(1);
    DAT_EP_HANDLE ep = make_ep(NULL);
    must(connect_to(ep, QUALIFIER + 1, 0, NULL), "dat_ep_connect");
    const DAT_EVENT established = next(connections);
    if (read(ready[0], &byte, 1) != 1) exit(1);
    memcpy(&offer, established.event_data.connect_event_data.private_data, sizeof offer);
    to.bytes = (char*)(uintptr_t)offer.address;
    to.remote_context = offer.context;
    DAT_LMR_TRIPLET segment = segment_of(&from, 0, 8);
    DAT_RMR_TRIPLET target = target_of(&to, 0, 8);
    must(dat_ep_post_rdma_write(ep, 1, &segment, numbered(1), &target, DAT_COMPLETION_DEFAULT_FLAG),
         "dat_ep_post_rdma_write");
    next(sends);
    dat_ep_disconnect(ep, DAT_CLOSE_ABRUPT_FLAG);
    must(dat_ep_free(ep), "dat_ep_free");
    waitpid(peer, NULL, 0);
    free_region(&from);
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

/* With DAPL_RNR_RETRY: otherwise the wrong one waits for a receive. */
static void no_receive(int wrong) {
    struct region from = make_region(), to = make_region();
    if (!wrong) receive_into(there, segment_of(&to, 0, 8));
    send_from(here, segment_of(&from, 0, 8), DAT_COMPLETION_DEFAULT_FLAG);
    next(sends);
    disconnect_both();
    free_region(&from);
    free_region(&to);
}

/* The wrong one looks at the first of two answers alone. */
static void ignored(int wrong) {
    DAT_PSP_HANDLE psp = listen_for(QUALIFIER + 2);
    DAT_EP_HANDLE eps[2];
    for (int i = 0; i < 2; ++i) {
        eps[i] = make_ep(NULL);
        must(connect_to(eps[i], QUALIFIER + 2, 0, NULL), "dat_ep_connect");
        must(dat_cr_reject(next(requests).event_data.cr_arrival_event_data.cr_handle, 0, NULL),
             "dat_cr_reject");
    }
    next_of_two(connections);
    if (!wrong) next(connections);
    must(dat_ep_free(eps[0]), "dat_ep_free");
    must(dat_ep_free(eps[1]), "dat_ep_free");
    must(dat_psp_free(psp), "dat_psp_free");
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

static void ends_early(int wrong) {
    queue_too_small(wrong);
    exit(0);
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
    must(dat_ia_open((char*)ia_name, 8, &other_async, &other), "dat_ia_open");
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

/* -- order --------------------------------------------------------------------------------- */

/* Sends what an RDMA read brings. */
static void unfenced(int wrong) {
    struct region from = make_region(), through = make_region(), to = make_region();
    DAT_LMR_TRIPLET segment = segment_of(&through, 0, 8);
    DAT_RMR_TRIPLET source = target_of(&from, 0, 8);
    receive_into(there, segment_of(&to, 0, 8));
    must(
        dat_ep_post_rdma_read(here, 1, &segment, numbered(1), &source, DAT_COMPLETION_DEFAULT_FLAG),
        "dat_ep_post_rdma_read");
    if (dat_ep_post_send(here, 1, &segment, numbered(3),
                         wrong ? DAT_COMPLETION_DEFAULT_FLAG : DAT_COMPLETION_BARRIER_FENCE_FLAG) ==
        DAT_SUCCESS) {
        next(sends);
        next(receives);
    }
    next(sends);
    disconnect_both();
    free_region(&from);
    free_region(&through);
    free_region(&to);
}

/* A region whose first bytes peers may use in atomics. */
static struct region make_number(void) {
    static char bytes[LENGTH];
    struct region number;
    must(register_in(pz, &number, bytes,
                     (int)DAT_MEM_PRIV_ALL_FLAG | (int)DAT_IB_MEM_PRIV_REMOTE_ATOMIC),
         "dat_lmr_create");
    return number;
}

static void misaligned(int wrong) {
    struct region before = make_region(), number = make_number();
    DAT_LMR_TRIPLET segment = segment_of(&before, 0, 8);
    DAT_RMR_TRIPLET target = target_of(&number, wrong ? 4 : 8, 8);
    if (dat_ib_post_fetch_and_add(here, (DAT_UINT64)1, &segment, numbered(1), &target,
                                  DAT_COMPLETION_DEFAULT_FLAG) == DAT_SUCCESS)
        next(sends);
    disconnect_both();
    free_region(&before);
    must(dat_lmr_free(number.lmr), "dat_lmr_free");
}

/* Both bring the old value to the same place. */
static void atomic_overlap(int wrong) {
    struct region before = make_region(), number = make_number();
    DAT_RMR_TRIPLET target = target_of(&number, 0, 8);
    for (int i = 0; i < 2; ++i) {
        DAT_LMR_TRIPLET segment = segment_of(&before, wrong ? 0 : 8 * i, 8);
        must(dat_ib_post_fetch_and_add(here, (DAT_UINT64)1, &segment, numbered(1), &target,
                                       DAT_COMPLETION_DEFAULT_FLAG),
             "dat_ib_post_fetch_and_add");
    }
    next(sends);
    next(sends);
    disconnect_both();
    free_region(&before);
    must(dat_lmr_free(number.lmr), "dat_lmr_free");
}

/* -- portability --------------------------------------------------------------------------- */

/* One device has six. */
static void many_segments(int wrong) {
    struct region to = make_region();
    DAT_EP_PARAM param;
    DAT_LMR_TRIPLET segments[7];
    must(dat_ep_query(here, DAT_EP_FIELD_ALL, &param), "dat_ep_query");
    param.ep_attr.max_recv_iov = 7;
    DAT_EP_HANDLE ep = make_ep(&param.ep_attr);
    for (int i = 0; i < 7; ++i) segments[i] = segment_of(&to, 8 * i, 8);
    must(dat_ep_post_recv(ep, wrong ? 7 : 6, segments, numbered(1), DAT_COMPLETION_DEFAULT_FLAG),
         "dat_ep_post_recv");
    must(dat_ep_free(ep), "dat_ep_free");
    free_region(&to);
}

/* More than the 56 bytes that rdma_cm carries: only the providers of other managers take it. */
static void long_private_data(int wrong) {
    struct region data = make_region();
    DAT_EP_HANDLE ep = make_ep(NULL);
    DAT_PSP_HANDLE psp = listen_for(QUALIFIER);
    must(connect_to(ep, QUALIFIER, wrong ? 57 : 56, data.bytes), "dat_ep_connect");
    must(dat_cr_reject(next(requests).event_data.cr_arrival_event_data.cr_handle, 0, NULL),
         "dat_cr_reject");
    next(connections);
    must(dat_psp_free(psp), "dat_psp_free");
    must(dat_ep_free(ep), "dat_ep_free");
    free_region(&data);
}

/* A connection of its own, between endpoints that have posted no receives yet, and memory that no
 * peer may use. */
struct talk {
    DAT_EP_HANDLE caller, callee;
    struct region from, to;
};

static struct talk begin_talk(void) {
    static char sent[LENGTH], received[LENGTH];
    struct talk talk = {make_ep(NULL), make_ep(NULL), {0}, {0}};
    const int local = DAT_MEM_PRIV_LOCAL_READ_FLAG | DAT_MEM_PRIV_LOCAL_WRITE_FLAG;
    must(register_in(pz, &talk.from, sent, local), "dat_lmr_create");
    must(register_in(pz, &talk.to, received, local), "dat_lmr_create");
    return talk;
}

static void say(const struct talk* talk, DAT_EP_HANDLE from) {
    send_from(from, segment_of(&talk->from, 0, 8), DAT_COMPLETION_DEFAULT_FLAG);
    next(sends);
    next(receives);
}

static void end_talk(struct talk* talk) {
    must(dat_ep_free(talk->caller), "dat_ep_free");
    must(dat_ep_free(talk->callee), "dat_ep_free");
    must(dat_lmr_free(talk->from.lmr), "dat_lmr_free");
    must(dat_lmr_free(talk->to.lmr), "dat_lmr_free");
}

static void sends_first(int wrong) {
    struct talk talk = begin_talk();
    receive_into(talk.caller, segment_of(&talk.to, 0, 8));
    receive_into(talk.callee, segment_of(&talk.to, 8, 8));
    connect_both(talk.caller, talk.callee);
    if (!wrong) say(&talk, talk.caller);
    say(&talk, talk.callee);
    end_talk(&talk);
}

static void late_receive(int wrong) {
    struct talk talk = begin_talk();
    if (!wrong) receive_into(talk.callee, segment_of(&talk.to, 0, 8));
    connect_both(talk.caller, talk.callee);
    if (wrong) receive_into(talk.callee, segment_of(&talk.to, 0, 8));
    say(&talk, talk.caller);
    end_talk(&talk);
}

const struct fault faults[] = {{"not_registered", not_registered},
                               {"out_of_range", out_of_range},
                               {"no_right", no_right},
                               {"other_zone", other_zone},
                               {"ended", ended},
                               {"unmapped", unmapped},
                               {"unmapped_in_flight", unmapped_in_flight},
                               {"remote_right", remote_right},
                               {"remote_range", remote_range},
                               {"refused", refused},
                               {"changed", changed},
                               {"overlap", overlap},
                               {"freed_in_flight", freed_in_flight},
                               {"queue_too_small", queue_too_small},
                               {"never_signalled", never_signalled},
                               {"no_receive", no_receive},
                               {"ignored", ignored},
                               {"endless_wait", endless_wait},
                               {"left", left},
                               {"ends_early", ends_early},
                               {"used_after_free", used_after_free},
                               {"other_ia", other_ia},
                               {"private_data", private_data},
                               {"unfenced", unfenced},
                               {"misaligned", misaligned},
                               {"atomic_overlap", atomic_overlap},
                               {"many_segments", many_segments},
                               {"long_private_data", long_private_data},
                               {"sends_first", sends_first},
                               {"late_receive", late_receive},
                               {NULL, NULL}};
