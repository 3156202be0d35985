/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * @file
 * Runs one case of verbs_faults.c: `verbs_program CASE right|wrong`. Both print nothing themselves;
 * the checks tell what the wrong one does.
 */
#include "test/check/verbs_program.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct ibv_context* context;
struct ibv_pd* pd;
struct ibv_comp_channel* channel;
struct ibv_cq *sends, *receives;
struct ibv_qp *here, *there;

void must(int code, const char* what) {
    if (code == 0) return;
    printf("%s: %s\n", what, strerror(code < 0 ? errno : code));
    exit(1);
}

void* need(void* object, const char* what) {
    if (!object) must(errno ? errno : EINVAL, what);
    return object;
}

struct ibv_mr* make_region(int access) {
    void* bytes = need(calloc(1, LENGTH), "calloc");
    return need(ibv_reg_mr(pd, bytes, LENGTH, access), "ibv_reg_mr");
}

void free_region(struct ibv_mr* mr) {
    void* bytes = mr->addr;
    must(ibv_dereg_mr(mr), "ibv_dereg_mr");
    free(bytes);
}

struct ibv_sge segment_of(const struct ibv_mr* mr, int offset, int length) {
    struct ibv_sge segment = {(uintptr_t)mr->addr + offset, length, mr->lkey};
    return segment;
}

struct ibv_qp* make_qp(struct ibv_cq* send_cq, struct ibv_cq* recv_cq) {
    struct ibv_qp_init_attr attr = {.send_cq = send_cq,
                                    .recv_cq = recv_cq,
                                    .qp_type = IBV_QPT_RC,
                                    .cap = {DEPTH, DEPTH, 2, 2, 0}};
    return ibv_create_qp(pd, &attr);
}

static void connect_to(struct ibv_qp* qp, uint32_t number) {
    struct ibv_port_attr port;
    must(ibv_query_port(context, 1, &port), "ibv_query_port");
    struct ibv_qp_attr attr = {.qp_state = IBV_QPS_INIT,
                               .port_num = 1,
                               .qp_access_flags = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |
                                                  IBV_ACCESS_REMOTE_ATOMIC};
    must(ibv_modify_qp(qp, &attr,
                       IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS),
         "INIT");
    attr.qp_state = IBV_QPS_RTR;
    attr.path_mtu = IBV_MTU_1024;
    attr.dest_qp_num = number;
    attr.max_dest_rd_atomic = attr.max_rd_atomic = 1;
    attr.min_rnr_timer = 12;
    attr.ah_attr.dlid = port.lid;
    attr.ah_attr.port_num = 1;
    must(ibv_modify_qp(qp, &attr,
                       IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
                           IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER),
         "RTR");
    attr.qp_state = IBV_QPS_RTS;
    attr.timeout = 14;
    attr.retry_cnt = 7;
    must(ibv_modify_qp(qp, &attr,
                       IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
                           IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC),
         "RTS");
}

int post(enum ibv_wr_opcode opcode, struct ibv_sge segment, unsigned flags, uint64_t remote,
         uint32_t rkey) {
    struct ibv_send_wr *bad,
        wr = {.wr_id = 1, .sg_list = &segment, .num_sge = 1, .opcode = opcode, .send_flags = flags};
    wr.wr.rdma.remote_addr = remote;
    wr.wr.rdma.rkey = rkey;
    return ibv_post_send(here, &wr, &bad);
}

int send_from(struct ibv_sge segment) {
    return post(IBV_WR_SEND, segment, IBV_SEND_SIGNALED, 0, 0);
}

int receive_into(struct ibv_sge segment) {
    struct ibv_recv_wr *bad, wr = {.wr_id = 2, .sg_list = &segment, .num_sge = 1};
    return ibv_post_recv(there, &wr, &bad);
}

struct ibv_wc next(struct ibv_cq* cq) {
    struct ibv_wc wc;
    int count;
    while ((count = ibv_poll_cq(cq, 1, &wc)) == 0) continue;
    must(count == 1 ? 0 : EIO, "ibv_poll_cq");
    return wc;
}

void stop_both(void) {
    if (here) must(ibv_destroy_qp(here), "ibv_destroy_qp");
    if (there) must(ibv_destroy_qp(there), "ibv_destroy_qp");
    here = there = NULL;
}

static void open_all(void) {
    struct ibv_device** list = need(ibv_get_device_list(NULL), "ibv_get_device_list");
    context = need(ibv_open_device(need(list[0], "a device")), "ibv_open_device");
    ibv_free_device_list(list);
    pd = need(ibv_alloc_pd(context), "ibv_alloc_pd");
    channel = need(ibv_create_comp_channel(context), "ibv_create_comp_channel");
    sends = need(ibv_create_cq(context, 2 * DEPTH, NULL, NULL, 0), "ibv_create_cq");
    receives = need(ibv_create_cq(context, 2 * DEPTH, NULL, channel, 0), "ibv_create_cq");
    here = need(make_qp(sends, receives), "ibv_create_qp");
    there = need(make_qp(sends, receives), "ibv_create_qp");
    connect_to(here, there->qp_num);
    connect_to(there, here->qp_num);
}

static void close_all(void) {
    stop_both();
    must(ibv_destroy_cq(sends), "ibv_destroy_cq");
    must(ibv_destroy_cq(receives), "ibv_destroy_cq");
    must(ibv_destroy_comp_channel(channel), "ibv_destroy_comp_channel");
    must(ibv_dealloc_pd(pd), "ibv_dealloc_pd");
    must(ibv_close_device(context), "ibv_close_device");
}

int main(int argc, char** argv) {
    const struct fault* fault = faults;
    while (argc == 3 && fault->name && strcmp(fault->name, argv[1]) != 0) ++fault;
    if (argc != 3 || !fault->name) {
        fprintf(stderr, "usage: verbs_program CASE right|wrong\n");
        return 2;
    }
    open_all();
    fault->run(strcmp(argv[2], "wrong") == 0);
    close_all();
    return 0;
}
