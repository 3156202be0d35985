/* SPDX-License-Identifier: BSD-2-Clause */
/* A program with a mistake for each kind of failure that `softverbs explore` finds. It writes
 * numbers from one buffer to another one of the same process, waits for each, and prints their sum.
 * Of errors it makes this:
 *
 *   retry exceeded       takes it for a success: the sum is wrong
 *   remote access        calls a handler that is not there: it crashes
 *   RNR retry exceeded   waits for one more completion, which does not come: it hangs
 *   all others           reports it: it ends with status 3
 *
 * usage: fragile [FILE] - if there is a FILE, it writes its process id there, and then waits for
 * ever, with a child in a session of its own. */
#include <infiniband/verbs.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { NUMBERS = 10 };

static uint64_t source[NUMBERS], target[NUMBERS];
static struct ibv_comp_channel* channel;
static struct ibv_cq* cq;
static struct ibv_mr *from, *to;
static void (*handlers[IBV_WC_GENERAL_ERR + 1])(void);

static void* made(void* object, const char* what) {
    if (object) return object;
    fprintf(stderr, "fragile: no %s\n", what);
    exit(3);
}

static void done(int result, const char* what) {
    if (result == 0) return;
    fprintf(stderr, "fragile: %s: %s\n", what, strerror(result));
    exit(3);
}

static void connect_to(struct ibv_qp* qp, const struct ibv_qp* peer, const union ibv_gid* gid) {
    struct ibv_qp_attr attributes = {
        .qp_state = IBV_QPS_INIT, .port_num = 1, .qp_access_flags = IBV_ACCESS_REMOTE_WRITE};
    done(ibv_modify_qp(qp, &attributes,
                       IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS),
         "INIT");
    attributes = (struct ibv_qp_attr){
        .qp_state = IBV_QPS_RTR,
        .path_mtu = IBV_MTU_1024,
        .dest_qp_num = peer->qp_num,
        .max_dest_rd_atomic = 1,
        .ah_attr = {.is_global = 1, .port_num = 1, .grh = {.dgid = *gid, .hop_limit = 1}}};
    done(ibv_modify_qp(qp, &attributes,
                       IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
                           IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER),
         "RTR");
    attributes = (struct ibv_qp_attr){
        .qp_state = IBV_QPS_RTS, .timeout = 14, .retry_cnt = 7, .rnr_retry = 7, .max_rd_atomic = 1};
    done(ibv_modify_qp(qp, &attributes,
                       IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
                           IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC),
         "RTS");
}

static struct ibv_wc next_completion(void) {
    struct ibv_wc completion;
    struct ibv_cq* ready;
    void* context;
    while (ibv_poll_cq(cq, 1, &completion) == 0) {
        done(ibv_req_notify_cq(cq, 0), "arm");
        if (ibv_poll_cq(cq, 1, &completion) != 0) break;
        done(ibv_get_cq_event(channel, &ready, &context), "event");
        ibv_ack_cq_events(ready, 1);
    }
    return completion;
}

static void write_number(struct ibv_qp* qp, int i) {
    struct ibv_sge piece = {(uintptr_t)&source[i], sizeof source[i], from->lkey};
    struct ibv_send_wr request = {.opcode = IBV_WR_RDMA_WRITE,
                                  .send_flags = IBV_SEND_SIGNALED,
                                  .sg_list = &piece,
                                  .num_sge = 1};
    struct ibv_send_wr* bad;
    request.wr.rdma.remote_addr = (uintptr_t)&target[i];
    request.wr.rdma.rkey = to->rkey;
    done(ibv_post_send(qp, &request, &bad), "post");
    enum ibv_wc_status status = next_completion().status;
    if (status == IBV_WC_REM_ACCESS_ERR) handlers[status]();
    if (status == IBV_WC_RNR_RETRY_EXC_ERR) next_completion();
    if (status == IBV_WC_SUCCESS || status == IBV_WC_RETRY_EXC_ERR || status == IBV_WC_WR_FLUSH_ERR)
        return;
    fprintf(stderr, "fragile: write %d: %s\n", i, ibv_wc_status_str(status));
    exit(3);
}

static void wait_for_ever(const char* path) {
    FILE* file = made(fopen(path, "w"), path);
    pid_t child = fork();
    if (child == 0) {
        setsid();
        for (;;) pause();
    }
    fprintf(file, "%d %d\n", (int)getpid(), (int)child);
    fclose(file);
    for (;;) pause();
}

int main(int argc, char** argv) {
    struct ibv_device** devices = made(ibv_get_device_list(NULL), "device");
    struct ibv_context* context = made(ibv_open_device(made(devices[0], "device")), "context");
    struct ibv_pd* pd = made(ibv_alloc_pd(context), "PD");
    union ibv_gid gid;
    done(ibv_query_gid(context, 1, 0, &gid), "GID");
    from = made(ibv_reg_mr(pd, source, sizeof source, 0), "region");
    to = made(
        ibv_reg_mr(pd, target, sizeof target, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE),
        "region");
    channel = made(ibv_create_comp_channel(context), "channel");
    cq = made(ibv_create_cq(context, 64, NULL, channel, 0), "CQ");
    struct ibv_qp_init_attr wanted = {
        .send_cq = cq, .recv_cq = cq, .qp_type = IBV_QPT_RC, .cap = {16, 16, 1, 1, 0}};
    struct ibv_qp *a = made(ibv_create_qp(pd, &wanted), "QP"),
                  *b = made(ibv_create_qp(pd, &wanted), "QP");
    connect_to(a, b, &gid);
    connect_to(b, a, &gid);
    uint64_t sum = 0;
    for (int i = 0; i < NUMBERS; ++i) {
        source[i] = (uint64_t)i + 1;
        write_number(a, i);
    }
    if (argc > 1) wait_for_ever(argv[1]);
    for (int i = 0; i < NUMBERS; ++i) sum += target[i];
    printf("process %d: the sum is %d\n", (int)getpid(), (int)sum);
    return 0;
}
