/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A typical program: registers memory when a transfer needs it and keeps registrations in a cache
 * of fixed size, from which it evicts the least recently used one. It uses DAT 2.0 and knows
 * nothing of the registration broker (R10).
 *
 * usage: pin_down_cache IA QUALIFIER CACHE REGIONS TRANSFERS local|all
 *
 * Writes from its regions to memory of its own, over a connection with itself, and compares the
 * data that arrives. `local`: the cached registrations are for local reading, and one more, which
 * stays, takes all data. `all`: they have all privileges, and data goes from one to another. Prints
 * "transfers N misses M" at the end; exits with status 1 and a line on stderr if a call fails.
 */
#include <arpa/inet.h>
#include <dat2/udat.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BYTES = 8192 };

static DAT_IA_HANDLE ia;
static DAT_PZ_HANDLE pz;

static void must(DAT_RETURN code, const char* call) {
    const char *major = "?", *minor = "?";
    if (code == DAT_SUCCESS) return;
    dat_strerror(code, &major, &minor);
    fprintf(stderr, "pin_down_cache: %s: %s %s\n", call, major, minor);
    exit(1);
}

static DAT_LMR_HANDLE reg(void* memory, DAT_MEM_PRIV_FLAGS privileges, DAT_LMR_CONTEXT* local,
                          DAT_RMR_CONTEXT* remote) {
    DAT_REGION_DESCRIPTION region;
    DAT_LMR_HANDLE lmr = DAT_HANDLE_NULL;
    DAT_VLEN size = 0;
    DAT_VADDR address = 0;
    memset(&region, 0, sizeof region);
    region.for_va = memory;
    must(dat_lmr_create(ia, DAT_MEM_TYPE_VIRTUAL, region, BYTES, pz, privileges, DAT_VA_TYPE_VA,
                        &lmr, local, remote, &size, &address),
         "dat_lmr_create");
    return lmr;
}

static DAT_EVD_HANDLE evd(int flags) {
    DAT_EVD_HANDLE made = DAT_HANDLE_NULL;
    must(dat_evd_create(ia, 64, DAT_HANDLE_NULL, (DAT_EVD_FLAGS)flags, &made), "dat_evd_create");
    return made;
}

static void await(DAT_EVD_HANDLE queue, DAT_EVENT_NUMBER number, DAT_EVENT* event) {
    DAT_COUNT more = 0;
    must(dat_evd_wait(queue, 60000000, 1, event, &more), "dat_evd_wait");
    if (event->event_number == number) return;
    fprintf(stderr, "pin_down_cache: event 0x%x, wanted 0x%x\n", (unsigned)event->event_number,
            (unsigned)number);
    exit(1);
}

/* @return the endpoint that writes. */
static DAT_EP_HANDLE connect_with_self(DAT_CONN_QUAL qualifier, DAT_EVD_HANDLE transfers) {
    DAT_EVD_HANDLE connections = evd(DAT_EVD_CONNECTION_FLAG), requests = evd(DAT_EVD_CR_FLAG);
    DAT_EP_HANDLE ends[2];
    DAT_PSP_HANDLE psp = DAT_HANDLE_NULL;
    DAT_EVENT event;
    struct sockaddr_in self;
    int i;
    memset(&self, 0, sizeof self);
    self.sin_family = AF_INET;
    self.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    for (i = 0; i < 2; ++i)
        must(dat_ep_create(ia, pz, transfers, transfers, connections, NULL, &ends[i]),
             "dat_ep_create");
    must(dat_psp_create(ia, qualifier, requests, DAT_PSP_CONSUMER_FLAG, &psp), "dat_psp_create");
    must(dat_ep_connect(ends[0], (DAT_IA_ADDRESS_PTR)&self, qualifier, 60000000, 0, NULL,
                        DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG),
         "dat_ep_connect");
    await(requests, DAT_CONNECTION_REQUEST_EVENT, &event);
    must(dat_cr_accept(event.event_data.cr_arrival_event_data.cr_handle, ends[1], 0, NULL),
         "dat_cr_accept");
    for (i = 0; i < 2; ++i) await(connections, DAT_CONNECTION_EVENT_ESTABLISHED, &event);
    return ends[0];
}

struct region {
    unsigned char* memory;
    DAT_LMR_HANDLE lmr;
    DAT_LMR_CONTEXT key;
    DAT_RMR_CONTEXT remote_key;
    unsigned long last_use; /* 0: not in the cache */
};

static struct region* regions;
static long region_count, cached, misses;
static DAT_MEM_PRIV_FLAGS privileges;

static void evict_oldest(void) {
    struct region* oldest = NULL;
    long i;
    for (i = 0; i < region_count; ++i)
        if (regions[i].last_use != 0 && (!oldest || regions[i].last_use < oldest->last_use))
            oldest = &regions[i];
    must(dat_lmr_free(oldest->lmr), "dat_lmr_free");
    oldest->last_use = 0;
    --cached;
}

static void look_up(struct region* region, long cache, unsigned long time) {
    if (region->last_use == 0) {
        ++misses;
        if (cached == cache) evict_oldest();
        region->lmr = reg(region->memory, privileges, &region->key, &region->remote_key);
        ++cached;
    }
    region->last_use = time;
}

static struct region* choose(unsigned* seed) {
    *seed = *seed * 1103515245 + 12345;
    return &regions[(*seed >> 16) % (unsigned)region_count];
}

int main(int argc, char** argv) {
    static unsigned char memory[BYTES];
    struct region sink;
    DAT_EVD_HANDLE async = DAT_HANDLE_NULL, transfers;
    DAT_EP_HANDLE ep;
    DAT_RMR_TRIPLET to;
    DAT_EVENT event;
    long cache, count, i;
    unsigned seed = 1;
    if (argc != 7) return 2;
    privileges = strcmp(argv[6], "all") == 0 ? DAT_MEM_PRIV_ALL_FLAG : DAT_MEM_PRIV_LOCAL_READ_FLAG;
    cache = atol(argv[3]);
    region_count = atol(argv[4]);
    count = atol(argv[5]);
    must(dat_ia_open(argv[1], 8, &async, &ia), "dat_ia_open");
    must(dat_pz_create(ia, &pz), "dat_pz_create");
    transfers = evd(DAT_EVD_DTO_FLAG);
    memset(&sink, 0, sizeof sink);
    sink.memory = memory;
    sink.lmr = reg(memory, DAT_MEM_PRIV_ALL_FLAG, &sink.key, &sink.remote_key);
    ep = connect_with_self((DAT_CONN_QUAL)atol(argv[2]), transfers);
    regions = calloc((size_t)region_count, sizeof *regions);
    for (i = 0; i < region_count; ++i) {
        regions[i].memory = malloc(BYTES);
        memset(regions[i].memory, (int)(i % 251 + 1), BYTES);
    }
    puts("ready");
    fflush(stdout);
    for (i = 0; i < count; ++i) {
        DAT_LMR_TRIPLET from;
        DAT_DTO_COOKIE cookie;
        struct region* region = choose(&seed);
        struct region* target = &sink;
        look_up(region, cache, (unsigned long)i + 1);
        if (privileges == DAT_MEM_PRIV_ALL_FLAG) {
            do target = choose(&seed);
            while (target == region);
            look_up(target, cache, (unsigned long)i + 1);
            memset(region->memory, (int)(i % 251 + 1), BYTES);
        }
        memset(&to, 0, sizeof to);
        to.virtual_address = (DAT_VADDR)(size_t)target->memory;
        to.segment_length = BYTES;
        to.rmr_context = target->remote_key;
        memset(&from, 0, sizeof from);
        from.virtual_address = (DAT_VADDR)(size_t)region->memory;
        from.segment_length = BYTES;
        from.lmr_context = region->key;
        cookie.as_64 = (DAT_UINT64)i;
        must(dat_ep_post_rdma_write(ep, 1, &from, cookie, &to, DAT_COMPLETION_DEFAULT_FLAG),
             "dat_ep_post_rdma_write");
        await(transfers, DAT_DTO_COMPLETION_EVENT, &event);
        if (event.event_data.dto_completion_event_data.status != DAT_DTO_SUCCESS ||
            event.event_data.dto_completion_event_data.user_cookie.as_64 != (DAT_UINT64)i ||
            memcmp(target->memory, region->memory, BYTES) != 0) {
            fprintf(stderr, "pin_down_cache: transfer %ld failed or brought something else\n", i);
            return 1;
        }
    }
    printf("transfers %ld misses %ld\n", count, misses);
    fflush(stdout);
    must(dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG), "dat_ia_close");
    return 0;
}
