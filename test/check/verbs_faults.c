/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "test/check/verbs_program.h"

#define LOCAL IBV_ACCESS_LOCAL_WRITE
#define REMOTE (LOCAL | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ)

/* Sends a segment and takes the completion, if there is to be one. */
static void send_segment(struct ibv_sge segment) {
    if (send_from(segment) == 0) next(sends);
}

/* -- memory ---------------------------------------------------------------------------- */

static void not_registered(int wrong) {
    struct ibv_mr *from = make_region(LOCAL), *to = make_region(LOCAL);
    struct ibv_sge segment = segment_of(from, 0, 8);
    if (wrong) segment.lkey = 0x7fffff01;
    receive_into(segment_of(to, 0, 8));
    send_segment(segment);
    stop_both();
    free_region(from);
    free_region(to);
}

static void out_of_range(int wrong) {
    struct ibv_mr *from = make_region(LOCAL), *to = make_region(LOCAL);
    receive_into(segment_of(to, 0, 64));
    send_segment(segment_of(from, LENGTH - 8, wrong ? 9 : 8));
    stop_both();
    free_region(from);
    free_region(to);
}

static void no_right(int wrong) {
    struct ibv_mr* to = make_region(wrong ? IBV_ACCESS_REMOTE_READ : LOCAL);
    receive_into(segment_of(to, 0, 8));
    stop_both();
    free_region(to);
}

static void other_domain(int wrong) {
    struct ibv_pd* other = need(ibv_alloc_pd(context), "ibv_alloc_pd");
    static char bytes[LENGTH];
    struct ibv_mr* to = need(ibv_reg_mr(wrong ? other : pd, bytes, LENGTH, LOCAL), "ibv_reg_mr");
    receive_into(segment_of(to, 0, 8));
    stop_both();
    must(ibv_dereg_mr(to), "ibv_dereg_mr");
    must(ibv_dealloc_pd(other), "ibv_dealloc_pd");
}

static void ended(int wrong) {
    static char bytes[LENGTH];
    struct ibv_mr *from = need(ibv_reg_mr(pd, bytes, LENGTH, LOCAL), "ibv_reg_mr"),
                  *to = make_region(LOCAL);
    const struct ibv_sge segment = segment_of(from, 0, 8);
    receive_into(segment_of(to, 0, 8));
    if (wrong) must(ibv_dereg_mr(from), "ibv_dereg_mr");
    send_segment(segment);
    stop_both();
    if (!wrong) must(ibv_dereg_mr(from), "ibv_dereg_mr");
    free_region(to);
}

static void unmapped(int wrong) {
    char* bytes = mmap(NULL, LENGTH, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    struct ibv_mr* to = need(ibv_reg_mr(pd, bytes, LENGTH, LOCAL), "ibv_reg_mr");
    if (wrong) munmap(bytes, LENGTH);
    receive_into(segment_of(to, 0, 8));
    stop_both();
    must(ibv_dereg_mr(to), "ibv_dereg_mr");
    if (!wrong) munmap(bytes, LENGTH);
}

static void write_to(struct ibv_mr* to, int offset) {
    struct ibv_mr* from = make_region(LOCAL);
    if (post(IBV_WR_RDMA_WRITE, segment_of(from, 0, 8), IBV_SEND_SIGNALED,
             (uintptr_t)to->addr + offset, to->rkey) == 0)
        next(sends);
    stop_both();
    free_region(from);
    free_region(to);
}

static void remote_right(int wrong) {
    write_to(make_region(wrong ? LOCAL | IBV_ACCESS_REMOTE_READ : REMOTE), 0);
}

static void remote_range(int wrong) {
    write_to(make_region(REMOTE), wrong ? LENGTH - 4 : 0);
}

/* The end whose memory was asked for hears of it by an event. */
static void asked(int wrong) {
    struct ibv_async_event event;
    struct ibv_mr *from = make_region(LOCAL), *to = make_region(REMOTE);
    if (post(IBV_WR_RDMA_WRITE, segment_of(from, 0, 8), IBV_SEND_SIGNALED,
             (uintptr_t)to->addr + (wrong ? LENGTH - 4 : 0), to->rkey) == 0)
        next(sends);
    if (wrong) {
        must(ibv_get_async_event(context, &event), "ibv_get_async_event");
        ibv_ack_async_event(&event);
    }
    stop_both();
    free_region(from);
    free_region(to);
}

/* -- buffers --------------------------------------------------------------------------- */

static void changed(int wrong) {
    struct ibv_mr *from = make_region(LOCAL), *to = make_region(LOCAL);
    receive_into(segment_of(to, 0, LENGTH));
    must(send_from(segment_of(from, 0, LENGTH)), "ibv_post_send");
    if (wrong) memset(from->addr, 1, 8);
    next(sends);
    stop_both();
    free_region(from);
    free_region(to);
}

static void overlap(int wrong) {
    struct ibv_mr *from = make_region(LOCAL), *to = make_region(LOCAL);
    receive_into(segment_of(to, 0, 8));
    receive_into(segment_of(to, wrong ? 4 : 8, 8));
    for (int i = 0; i < 2; ++i) {
        send_segment(segment_of(from, 0, 8));
        next(receives);
    }
    stop_both();
    free_region(from);
    free_region(to);
}

static void freed_in_flight(int wrong) {
    struct ibv_mr* to = make_region(LOCAL);
    receive_into(segment_of(to, 0, 8));
    if (!wrong) stop_both();
    free_region(to);
}

/* -- queues ---------------------------------------------------------------------------- */

static void queue_too_small(int wrong) {
    struct ibv_cq* small = need(ibv_create_cq(context, 1, NULL, NULL, 0), "ibv_create_cq");
    struct ibv_qp_init_attr wanted = {.send_cq = small,
                                      .recv_cq = small,
                                      .qp_type = IBV_QPT_RC,
                                      .cap = {1, small->cqe + 1, 1, 1, 0}};
    struct ibv_qp* qp = need(ibv_create_qp(pd, &wanted), "ibv_create_qp");
    struct ibv_mr* to = make_region(LOCAL);
    struct ibv_qp_attr attr = {.qp_state = IBV_QPS_INIT, .port_num = 1};
    must(ibv_modify_qp(qp, &attr,
                       IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS),
         "INIT");
    for (int i = 0; i < small->cqe + wrong; ++i) {
        struct ibv_sge segment = segment_of(to, i % LENGTH, 1);
        struct ibv_recv_wr *bad, wr = {.sg_list = &segment, .num_sge = 1};
        ibv_post_recv(qp, &wr, &bad);
    }
    must(ibv_destroy_qp(qp), "ibv_destroy_qp");
    must(ibv_destroy_cq(small), "ibv_destroy_cq");
    free_region(to);
}

static void never_signalled(int wrong) {
    struct ibv_mr *from = make_region(LOCAL), *to = make_region(REMOTE);
    struct ibv_qp_attr attr;
    struct ibv_qp_init_attr made;
    must(ibv_query_qp(here, &attr, IBV_QP_CAP, &made), "ibv_query_qp");
    for (unsigned i = 0; i <= made.cap.max_send_wr; ++i) {
        const unsigned flags = !wrong && i % 4 == 3 ? IBV_SEND_SIGNALED : 0;
        post(IBV_WR_RDMA_WRITE, segment_of(from, 0, 8), flags, (uintptr_t)to->addr, to->rkey);
        if (flags) next(sends);
    }
    stop_both();
    free_region(from);
    free_region(to);
}

/* With the action `fail` the destruction answers EBUSY instead of waiting. */
static void unacknowledged(int wrong) {
    struct ibv_mr *from = make_region(LOCAL), *to = make_region(LOCAL);
    struct ibv_cq* cq;
    void* ignored;
    must(ibv_req_notify_cq(receives, 0), "ibv_req_notify_cq");
    receive_into(segment_of(to, 0, 8));
    send_segment(segment_of(from, 0, 8));
    must(ibv_get_cq_event(channel, &cq, &ignored), "ibv_get_cq_event");
    next(receives);
    if (!wrong) ibv_ack_cq_events(cq, 1);
    stop_both();
    free_region(from);
    free_region(to);
    if (wrong && ibv_destroy_cq(receives) != 0) ibv_ack_cq_events(cq, 1);
}

/* Without the action `fail` the program would wait for ever. */
static void endless_wait(int wrong) {
    struct ibv_comp_channel* lone = need(ibv_create_comp_channel(context), "a channel");
    struct ibv_mr *from = make_region(LOCAL), *to = make_region(LOCAL);
    struct ibv_cq* cq;
    void* ignored;
    must(ibv_req_notify_cq(receives, 0), "ibv_req_notify_cq");
    receive_into(segment_of(to, 0, 8));
    send_segment(segment_of(from, 0, 8));
    if (ibv_get_cq_event(wrong ? lone : channel, &cq, &ignored) == 0) ibv_ack_cq_events(cq, 1);
    next(receives);
    stop_both();
    free_region(from);
    free_region(to);
    must(ibv_destroy_comp_channel(lone), "ibv_destroy_comp_channel");
}

static void no_receive(int wrong) {
    struct ibv_mr *from = make_region(LOCAL), *to = make_region(LOCAL);
    if (!wrong) receive_into(segment_of(to, 0, 8));
    send_segment(segment_of(from, 0, 8));
    stop_both();
    free_region(from);
    free_region(to);
}

/* -- life ------------------------------------------------------------------------------ */

static void left(int wrong) {
    struct ibv_cq* cq = need(ibv_create_cq(context, 1, NULL, NULL, 0), "ibv_create_cq");
    if (!wrong) must(ibv_destroy_cq(cq), "ibv_destroy_cq");
}

static void left_at_exit(int wrong) {
    if (wrong) exit(0);
}

static void used_after_destroy(int wrong) {
    struct ibv_cq* cq = need(ibv_create_cq(context, 1, NULL, NULL, 0), "ibv_create_cq");
    must(ibv_destroy_cq(cq), "ibv_destroy_cq");
    if (wrong && ibv_destroy_cq(cq) == 0) must(EIO, "ibv_destroy_cq");
}

static void posted_after_destroy(int wrong) {
    struct ibv_recv_wr receive = {.wr_id = 1}, *bad;
    struct ibv_qp* qp = need(make_qp(sends, receives), "ibv_create_qp");
    must(ibv_destroy_qp(qp), "ibv_destroy_qp");
    if (wrong && ibv_post_recv(qp, &receive, &bad) == 0) must(EIO, "ibv_post_recv");
}

static void polled_after_destroy(int wrong) {
    struct ibv_wc wc;
    struct ibv_cq* cq = need(ibv_create_cq(context, 1, NULL, NULL, 0), "ibv_create_cq");
    must(ibv_destroy_cq(cq), "ibv_destroy_cq");
    if (wrong && ibv_poll_cq(cq, 1, &wc) == 0) must(EIO, "ibv_poll_cq");
}

static void sent_to_destroyed(int wrong) {
    struct ibv_qp_init_attr datagrams = {.send_cq = sends,
                                         .recv_cq = receives,
                                         .cap = {.max_send_wr = 1, .max_send_sge = 1},
                                         .qp_type = IBV_QPT_UD};
    struct ibv_ah_attr to = {.dlid = 1, .port_num = 1};
    struct ibv_send_wr send = {.opcode = IBV_WR_SEND}, *bad;
    struct ibv_qp* qp = need(ibv_create_qp(here->pd, &datagrams), "ibv_create_qp");
    struct ibv_ah* ah = need(ibv_create_ah(here->pd, &to), "ibv_create_ah");
    must(ibv_destroy_ah(ah), "ibv_destroy_ah");
    send.wr.ud.ah = ah;
    if (wrong && ibv_post_send(qp, &send, &bad) == 0) must(EIO, "ibv_post_send");
    must(ibv_destroy_qp(qp), "ibv_destroy_qp");
}

static void other_context(int wrong) {
    struct ibv_context* second = need(ibv_open_device(context->device), "ibv_open_device");
    struct ibv_cq* cq = need(ibv_create_cq(second, 1, NULL, NULL, 0), "ibv_create_cq");
    struct ibv_qp* qp = make_qp(wrong ? cq : sends, receives);
    if (qp) must(ibv_destroy_qp(qp), "ibv_destroy_qp");
    must(ibv_destroy_cq(cq), "ibv_destroy_cq");
    must(ibv_close_device(second), "ibv_close_device");
}

static void forked(int wrong) {
    int status;
    const pid_t child = fork();
    if (child == 0) {
        if (wrong) ibv_alloc_pd(context);
        _exit(0);
    }
    waitpid(child, &status, 0);
}

static void wrong_order(int wrong) {
    struct ibv_cq* cq = need(ibv_create_cq(context, 1, NULL, NULL, 0), "ibv_create_cq");
    struct ibv_qp* qp = need(make_qp(cq, cq), "ibv_create_qp");
    if (wrong) ibv_destroy_cq(cq);
    must(ibv_destroy_qp(qp), "ibv_destroy_qp");
    must(ibv_destroy_cq(cq), "ibv_destroy_cq");
}

/* -- order ----------------------------------------------------------------------------- */

static void unfenced(int wrong) {
    struct ibv_mr *from = make_region(REMOTE), *through = make_region(LOCAL),
                  *to = make_region(LOCAL);
    const struct ibv_sge segment = segment_of(through, 0, 8);
    receive_into(segment_of(to, 0, 8));
    must(post(IBV_WR_RDMA_READ, segment, IBV_SEND_SIGNALED, (uintptr_t)from->addr, from->rkey),
         "ibv_post_send");
    if (post(IBV_WR_SEND, segment, IBV_SEND_SIGNALED | (wrong ? 0 : IBV_SEND_FENCE), 0, 0) == 0)
        next(sends);
    next(sends);
    stop_both();
    free_region(from);
    free_region(through);
    free_region(to);
}

const struct fault faults[] = {{"not_registered", not_registered},
                               {"out_of_range", out_of_range},
                               {"no_right", no_right},
                               {"other_domain", other_domain},
                               {"ended", ended},
                               {"unmapped", unmapped},
                               {"remote_right", remote_right},
                               {"remote_range", remote_range},
                               {"asked", asked},
                               {"changed", changed},
                               {"overlap", overlap},
                               {"freed_in_flight", freed_in_flight},
                               {"queue_too_small", queue_too_small},
                               {"never_signalled", never_signalled},
                               {"unacknowledged", unacknowledged},
                               {"no_receive", no_receive},
                               {"endless_wait", endless_wait},
                               {"left", left},
                               {"left_at_exit", left_at_exit},
                               {"used_after_destroy", used_after_destroy},
                               {"posted_after_destroy", posted_after_destroy},
                               {"polled_after_destroy", polled_after_destroy},
                               {"sent_to_destroyed", sent_to_destroyed},
                               {"other_context", other_context},
                               {"forked", forked},
                               {"wrong_order", wrong_order},
                               {"unfenced", unfenced},
                               {NULL, NULL}};
