/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * @file
 * Declares what the faulty verbs programs share: two connected queue pairs.
 */
#ifndef TEST_CHECK_VERBS_PROGRAM_H
#define TEST_CHECK_VERBS_PROGRAM_H

#include <infiniband/verbs.h>

#define LENGTH 4096
#define DEPTH 8

extern struct ibv_context* context;
extern struct ibv_pd* pd;
extern struct ibv_comp_channel* channel;
extern struct ibv_cq *sends, *receives; /* of all queue pairs; completions of receives are told */
extern struct ibv_qp *here, *there;     /* connected to each other */

/* A case of verbs_faults.c; without a fault unless `wrong`. */
struct fault {
    const char* name;
    void (*run)(int wrong);
};
extern const struct fault faults[];

/* Ends the program with status 1 if the answer is an error. */
void must(int code, const char* what);
/* Likewise if an object was not made. */
void* need(void* object, const char* what);
struct ibv_mr* make_region(int access);
struct ibv_sge segment_of(const struct ibv_mr* mr, int offset, int length);
struct ibv_qp* make_qp(struct ibv_cq* send_cq, struct ibv_cq* recv_cq);
/* Posts one request of `here`. @return what the post answers */
int post(enum ibv_wr_opcode opcode, struct ibv_sge segment, unsigned flags, uint64_t remote,
         uint32_t rkey);
int send_from(struct ibv_sge segment);
int receive_into(struct ibv_sge segment);
/* Waits for the next completion. */
struct ibv_wc next(struct ibv_cq* cq);
/* Ends what is posted. */
void stop_both(void);
void free_region(struct ibv_mr* mr);

#endif
