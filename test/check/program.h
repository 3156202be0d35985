/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * @file
 * Declares what the faulty programs share: an adapter instance with two connected endpoints.
 */
#ifndef TEST_CHECK_PROGRAM_H
#define TEST_CHECK_PROGRAM_H

#include <dat2/udat.h>

#define LENGTH 4096
#define QUALIFIER 4713

/* Memory with its registration. */
struct region {
    char* bytes;
    DAT_LMR_HANDLE lmr;
    DAT_LMR_CONTEXT context;
    DAT_RMR_CONTEXT remote_context;
};

extern const char* ia_name;
extern DAT_IA_HANDLE ia;
extern DAT_PZ_HANDLE pz;
extern DAT_EVD_HANDLE requests, connections, sends, receives;
extern DAT_EP_HANDLE here, there; /* connected to each other */

/* Tests expect these in messages, as the places where objects are made. */
#define NAMED __attribute__((noinline))

/* Ends the program with status 1 if the code is an error. */
void must(DAT_RETURN code, const char* what);
DAT_RETURN register_in(DAT_PZ_HANDLE zone, struct region* region, char* bytes, int privileges);
/* Registers LENGTH bytes with all privileges but remote write. */
NAMED struct region make_region(void);
void free_region(const struct region* region);
DAT_LMR_TRIPLET segment_of(const struct region* region, int offset, int length);
DAT_RMR_TRIPLET target_of(const struct region* region, int offset, int length);
/* Waits for the next event. */
DAT_EVENT next(DAT_EVD_HANDLE evd);
/* Waits until there are two events, and takes one. */
DAT_EVENT next_of_two(DAT_EVD_HANDLE evd);
NAMED DAT_EVD_HANDLE make_evd(int length, int flags);
NAMED DAT_EP_HANDLE make_ep(const DAT_EP_ATTR* attributes);
DAT_PSP_HANDLE listen_for(DAT_CONN_QUAL qualifier);
DAT_RETURN connect_to(DAT_EP_HANDLE ep, DAT_CONN_QUAL qualifier, DAT_COUNT size, void* data);
void connect_both(DAT_EP_HANDLE active, DAT_EP_HANDLE passive);
/* Opens the adapter instance and its queues. For a forked child, which has none. */
void open_adapter(void);
/* Ends the connection of `here` and `there`. */
void disconnect_both(void);
DAT_DTO_COOKIE numbered(DAT_UINT64 number);
/* Posts and expects success, or what a check answers. */
void send_from(DAT_EP_HANDLE ep, DAT_LMR_TRIPLET segment, int flags);
void receive_into(DAT_EP_HANDLE ep, DAT_LMR_TRIPLET segment);

#endif
