/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Registrations as a resource that processes share: a cache that keeps its memory registered as
 * long as no other process needs the adapter's entries, and gives up what it has used least when
 * one does. See dat_registration(7).
 *
 *     registration_upcalls IA cache           registers what it can; ends with its standard input
 *     registration_upcalls IA borrow COUNT    waits for COUNT registrations, then ends
 *
 * Try it on a table with few entries, which all processes of the adapter share:
 *
 *     export OPENDAT_REGISTRATIONS=on OPENDAT_REGISTRATION_ENTRIES=16
 */
#include <dat2/dat_reg_extensions.h>

#include <poll.h>
#include <unistd.h>

#include "example.h"

enum { BYTES = 4096, MAX_BLOCKS = 1024 };

/* A block of the cache: its registration, and how often it was used. */
struct block {
    DAT_LMR_HANDLE lmr;
    unsigned long served;
};

struct cache {
    struct adapter adapter;
    DAT_CNO_HANDLE cno;
    int wakeup; /* descriptor of the CNO */
    DAT_EVD_HANDLE upcalls;
    struct block blocks[MAX_BLOCKS];
    int count;
};

static char memory[MAX_BLOCKS][BYTES];

static DAT_REG_LMR_PARAM wish(const struct adapter* adapter, int index) {
    DAT_REG_LMR_PARAM param = {
        .mem_type = DAT_MEM_TYPE_VIRTUAL,
        .region_desc = {.for_va = memory[index]},
        .length = BYTES,
        .pz_handle = adapter->pz,
        .mem_priv = DAT_MEM_PRIV_LOCAL_READ_FLAG | DAT_MEM_PRIV_LOCAL_WRITE_FLAG,
        .va_type = DAT_VA_TYPE_VA,
        .reg_class = DAT_REG_CLASS_RDMA,
    };
    return param;
}

/* Registers one more block if an entry is free. Returns whether it did. A cache does not wait for
 * entries: nobody needs it to grow. */
static int grow(struct cache* cache) {
    DAT_REG_LMR_PARAM param = wish(&cache->adapter, cache->count);
    struct block* block = &cache->blocks[cache->count];
    DAT_RETURN code;
    if (cache->count == MAX_BLOCKS) return 0;
    code = dat_reg_lmr_create_wait(cache->adapter.ia, &param, 0, &block->lmr, NULL, NULL);
    if (DAT_GET_TYPE(code) == DAT_TIMEOUT_EXPIRED) return 0;
    TRY(code);
    block->served = (unsigned long)cache->count++; /* as if the later ones were used more often */
    return 1;
}

static struct block* find(struct cache* cache, DAT_LMR_HANDLE lmr) {
    for (int i = 0; i < cache->count; ++i)
        if (cache->blocks[i].lmr == lmr) return &cache->blocks[i];
    return NULL;
}

static struct block* least_served(struct cache* cache) {
    struct block* least = &cache->blocks[0];
    for (int i = 1; i < cache->count; ++i)
        if (cache->blocks[i].served < least->served) least = &cache->blocks[i];
    return least;
}

/* The table has chosen by its statistics; the cache knows better which of its blocks is worth
 * least, and offers that one instead. If that is already announced, the table's choice stands. */
static void on_announced(struct cache* cache, DAT_LMR_HANDLE announced) {
    struct block* worst = least_served(cache);
    if (worst->lmr != announced && dat_reg_lmr_offer(announced, worst->lmr) == DAT_SUCCESS)
        printf("offered the one that has served %lu times\n", worst->served);
    else if (dat_reg_lmr_accept(announced) == DAT_SUCCESS)
        printf("let go the one that has served %lu times\n", find(cache, announced)->served);
    /* Otherwise it is in use, or has been revoked: the next event reports it. */
}

/* Frees the LMR, which is what is left of a revoked registration. */
static void on_revoked(struct cache* cache, DAT_LMR_HANDLE gone) {
    struct block* block = find(cache, gone);
    if (!block) return;
    TRY(dat_lmr_free(gone));
    *block = cache->blocks[--cache->count];
    printf("%d left\n", cache->count);
}

static void take_upcalls(struct cache* cache) {
    DAT_EVD_HANDLE triggered;
    DAT_EVENT event;
    dat_cno_trigger(cache->cno, &triggered);
    while (cache->count > 0 && next_event(cache->upcalls, &event)) {
        const DAT_REG_EVENT_DATA* data = dat_reg_event_data(&event);
        if ((int)event.event_number == DAT_REG_ANNOUNCED_EVENT)
            on_announced(cache, data->lmr_handle);
        else if ((int)event.event_number == DAT_REG_REVOKED_EVENT)
            on_revoked(cache, data->lmr_handle);
        fflush(stdout);
    }
}

static void open_cache(struct cache* cache, const char* ia_name) {
    open_ia(&cache->adapter, ia_name);
    TRY(dat_cno_fd_create(cache->adapter.ia, &cache->wakeup, &cache->cno));
    TRY(dat_evd_create(cache->adapter.ia, MAX_BLOCKS, cache->cno, DAT_EVD_SOFTWARE_FLAG,
                       &cache->upcalls));
    TRY(dat_reg_evd_attach(cache->adapter.ia, cache->upcalls));
}

static void keep(const char* ia_name) {
    static struct cache cache;
    struct pollfd wakers[2] = {{.fd = STDIN_FILENO, .events = POLLIN}, {.events = POLLIN}};
    open_cache(&cache, ia_name);
    wakers[1].fd = cache.wakeup;
    while (grow(&cache)) continue;
    printf("%d registered\n", cache.count);
    fflush(stdout);
    while (!wakers[0].revents) {
        if (poll(wakers, 2, -1) < 0) die("poll");
        if (wakers[1].revents) take_upcalls(&cache);
    }
    close_adapter(&cache.adapter);
}

/* This program attaches no EVD for its upcalls, so the library answers them. */
static void borrow(const char* ia_name, int count) {
    struct adapter adapter = open_adapter(ia_name);
    DAT_LMR_HANDLE lmr[MAX_BLOCKS];
    for (int i = 0; i < count; ++i) {
        DAT_REG_LMR_PARAM param = wish(&adapter, i);
        TRY(dat_reg_lmr_create_wait(adapter.ia, &param, PATIENCE, &lmr[i], NULL, NULL));
    }
    printf("got %d\n", count);
    for (int i = 0; i < count; ++i) TRY(dat_lmr_free(lmr[i]));
    close_adapter(&adapter);
}

int main(int argc, char** argv) {
    const int count = argc == 4 ? atoi(argv[3]) : 0;
    if (argc == 3 && !strcmp(argv[2], "cache"))
        keep(argv[1]);
    else if (count > 0 && count <= MAX_BLOCKS && !strcmp(argv[2], "borrow"))
        borrow(argv[1], count);
    else
        return usage(
            "registration_upcalls IA cache\n"
            "       registration_upcalls IA borrow COUNT");
    return 0;
}
