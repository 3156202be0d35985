/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * @file
 * Runs one case of faults.c: `program CASE right|wrong [IA ADDRESS]`. Both print nothing
 * themselves; the checks tell what the wrong one does.
 */
#include "test/check/program.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "test/check/faults.h"

const char* ia_name = "soft0";
static const char* ia_address = "127.0.0.1";
DAT_IA_HANDLE ia;
DAT_PZ_HANDLE pz;
DAT_EVD_HANDLE async, requests, connections, sends, receives;
DAT_EP_HANDLE here, there;

void must(DAT_RETURN code, const char* what) {
    if (code == DAT_SUCCESS) return;
    printf("%s: 0x%08x\n", what, (unsigned)code);
    exit(1);
}

DAT_RETURN register_in(DAT_PZ_HANDLE zone, struct region* region, char* bytes, int privileges) {
    DAT_REGION_DESCRIPTION description;
    DAT_VLEN length;
    DAT_VADDR address;
    description.for_va = bytes;
    region->bytes = bytes;
    return dat_lmr_create(ia, DAT_MEM_TYPE_VIRTUAL, description, LENGTH, zone, privileges,
                          DAT_VA_TYPE_VA, &region->lmr, &region->context, &region->remote_context,
                          &length, &address);
}

struct region make_region(void) {
    struct region region;
    const int privileges = DAT_MEM_PRIV_LOCAL_READ_FLAG | DAT_MEM_PRIV_LOCAL_WRITE_FLAG |
                           DAT_MEM_PRIV_REMOTE_READ_FLAG;
    must(register_in(pz, &region, calloc(1, LENGTH), privileges), "dat_lmr_create");
    return region;
}

void free_region(const struct region* region) {
    must(dat_lmr_free(region->lmr), "dat_lmr_free");
    free(region->bytes);
}

DAT_LMR_TRIPLET segment_of(const struct region* region, int offset, int length) {
    DAT_LMR_TRIPLET segment;
    segment.virtual_address = (DAT_VADDR)(uintptr_t)region->bytes + offset;
    segment.segment_length = length;
    segment.lmr_context = region->context;
    return segment;
}

DAT_RMR_TRIPLET target_of(const struct region* region, int offset, int length) {
    DAT_RMR_TRIPLET target;
    memset(&target, 0, sizeof target);
    target.virtual_address = (DAT_VADDR)(uintptr_t)region->bytes + offset;
    target.segment_length = length;
    target.rmr_context = region->remote_context;
    return target;
}

static DAT_TIMEOUT patience(void) {
    const char* scale = getenv("TEST_TIME_SCALE");
    const double factor = scale && atof(scale) > 1 ? atof(scale) : 1;
    return (DAT_TIMEOUT)(60e6 * factor);
}

DAT_EVENT next(DAT_EVD_HANDLE evd) {
    DAT_EVENT event;
    DAT_COUNT more;
    must(dat_evd_wait(evd, patience(), 1, &event, &more), "dat_evd_wait");
    return event;
}

DAT_EVENT next_of_two(DAT_EVD_HANDLE evd) {
    DAT_EVENT event;
    DAT_COUNT more;
    must(dat_evd_wait(evd, patience(), 2, &event, &more), "dat_evd_wait");
    return event;
}

DAT_EVD_HANDLE make_evd(int length, int flags) {
    DAT_EVD_HANDLE evd;
    must(dat_evd_create(ia, length, DAT_HANDLE_NULL, flags, &evd), "dat_evd_create");
    return evd;
}

DAT_EP_HANDLE make_ep(const DAT_EP_ATTR* attributes) {
    DAT_EP_HANDLE ep;
    must(dat_ep_create(ia, pz, receives, sends, connections, attributes, &ep), "dat_ep_create");
    return ep;
}

DAT_PSP_HANDLE listen_for(DAT_CONN_QUAL qualifier) {
    DAT_PSP_HANDLE psp;
    must(dat_psp_create(ia, qualifier, requests, DAT_PSP_CONSUMER_FLAG, &psp), "dat_psp_create");
    return psp;
}

DAT_RETURN connect_to(DAT_EP_HANDLE ep, DAT_CONN_QUAL qualifier, DAT_COUNT size, void* data) {
    struct sockaddr_in address;
    memset(&address, 0, sizeof address);
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = inet_addr(ia_address);
    return dat_ep_connect(ep, (DAT_IA_ADDRESS_PTR)&address, qualifier, DAT_TIMEOUT_INFINITE, size,
                          data, DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG);
}

void connect_both(DAT_EP_HANDLE active, DAT_EP_HANDLE passive) {
    DAT_PSP_HANDLE psp = listen_for(QUALIFIER);
    must(connect_to(active, QUALIFIER, 0, NULL), "dat_ep_connect");
    must(dat_cr_accept(next(requests).event_data.cr_arrival_event_data.cr_handle, passive, 0, NULL),
         "dat_cr_accept");
    next(connections);
    next(connections);
    must(dat_psp_free(psp), "dat_psp_free");
}

void disconnect_both(void) {
    dat_ep_disconnect(here, DAT_CLOSE_ABRUPT_FLAG);
    dat_ep_disconnect(there, DAT_CLOSE_ABRUPT_FLAG);
}

DAT_DTO_COOKIE numbered(DAT_UINT64 number) {
    DAT_DTO_COOKIE cookie;
    cookie.as_64 = number;
    return cookie;
}

void send_from(DAT_EP_HANDLE ep, DAT_LMR_TRIPLET segment, int flags) {
    must(dat_ep_post_send(ep, 1, &segment, numbered(1), flags), "dat_ep_post_send");
}

void receive_into(DAT_EP_HANDLE ep, DAT_LMR_TRIPLET segment) {
    must(dat_ep_post_recv(ep, 1, &segment, numbered(2), DAT_COMPLETION_DEFAULT_FLAG),
         "dat_ep_post_recv");
}

void open_adapter(void) {
    async = DAT_HANDLE_NULL;
    must(dat_ia_open((char*)ia_name, 8, &async, &ia), "dat_ia_open");
    must(dat_pz_create(ia, &pz), "dat_pz_create");
    requests = make_evd(8, DAT_EVD_CR_FLAG);
    connections = make_evd(8, DAT_EVD_CONNECTION_FLAG);
    sends = make_evd(8, DAT_EVD_DTO_FLAG);
    receives = make_evd(8, DAT_EVD_DTO_FLAG);
}

static void open_all(void) {
    open_adapter();
    here = make_ep(NULL);
    there = make_ep(NULL);
    connect_both(here, there);
}

static void close_all(void) {
    disconnect_both();
    must(dat_ep_free(here), "dat_ep_free");
    must(dat_ep_free(there), "dat_ep_free");
    must(dat_evd_free(receives), "dat_evd_free");
    must(dat_evd_free(sends), "dat_evd_free");
    must(dat_evd_free(connections), "dat_evd_free");
    must(dat_evd_free(requests), "dat_evd_free");
    must(dat_pz_free(pz), "dat_pz_free");
    if (dat_ia_close(ia, DAT_CLOSE_GRACEFUL_FLAG) != DAT_SUCCESS)
        must(dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG), "dat_ia_close");
}

int main(int argc, char** argv) {
    if (argc != 3 && argc != 5) return 2;
    if (argc == 5) {
        ia_name = argv[3];
        ia_address = argv[4];
    }
    const int wrong = strcmp(argv[2], "wrong") == 0;
    for (const struct fault* fault = faults; fault->name; ++fault) {
        if (strcmp(argv[1], fault->name) != 0) continue;
        open_all();
        fault->run(wrong);
        close_all();
        return 0;
    }
    printf("there is no case %s\n", argv[1]);
    return 2;
}
