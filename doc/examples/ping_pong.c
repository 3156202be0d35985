/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Messages to a server and back.
 *
 *     ping_pong IA server PORT
 *     ping_pong IA client ADDRESS PORT [COUNT [BYTES]]
 *
 * The client sends COUNT messages of BYTES and checks that each comes back unchanged; then it
 * prints the mean time of a round trip. It is also the client of event_loop and srq_server.
 */
#include <time.h>

#include "example.h"

enum { MAX_BYTES = 4096, SLOTS = 4 };

static char buffers[SLOTS][MAX_BYTES];

static struct memory register_buffers(const struct adapter* adapter) {
    return register_memory(adapter, buffers, sizeof buffers,
                           DAT_MEM_PRIV_LOCAL_READ_FLAG | DAT_MEM_PRIV_LOCAL_WRITE_FLAG);
}

static DAT_LMR_TRIPLET slot_of(const struct memory* memory, DAT_UINT64 slot, size_t bytes) {
    return segment_of(memory, slot * MAX_BYTES, bytes);
}

/* A slot receives a message, its answer is sent from there, and it receives again when that has
 * completed: until then the adapter may still read it. The cookie of both requests is the slot. */
static void answer(DAT_EP_HANDLE ep, const struct memory* memory,
                   const DAT_DTO_COMPLETION_EVENT_DATA* done) {
    const DAT_UINT64 slot = done->user_cookie.as_64;
    if (done->operation == DAT_DTO_RECEIVE)
        post_send(ep, slot_of(memory, slot, done->transfered_length), slot);
    else
        post_receive(ep, slot_of(memory, slot, MAX_BYTES), slot);
}

static void serve(const char* ia_name, const char* port) {
    struct adapter adapter = open_adapter(ia_name);
    struct memory memory = register_buffers(&adapter);
    DAT_EP_HANDLE ep = make_endpoint(&adapter);
    DAT_EVENT event;
    DAT_COUNT more;

    listen_at(&adapter, port);
    DAT_CR_HANDLE request = await_request(&adapter);
    for (DAT_UINT64 slot = 0; slot < SLOTS; ++slot)
        post_receive(ep, slot_of(&memory, slot, MAX_BYTES), slot);
    TRY(dat_cr_accept(request, ep, 0, NULL));
    await_event(adapter.connections, DAT_CONNECTION_EVENT_ESTABLISHED);

    for (;;) {
        TRY(dat_evd_wait(adapter.transfers, PATIENCE, 1, &event, &more));
        /* Receives that are still posted when the client leaves are flushed. */
        if (event.event_data.dto_completion_event_data.status == DAT_DTO_ERR_FLUSHED) break;
        const DAT_DTO_COMPLETION_EVENT_DATA done = succeeded(&event);
        answer(ep, &memory, &done);
    }
    await_event(adapter.connections, DAT_CONNECTION_EVENT_DISCONNECTED);
    close_adapter(&adapter);
}

static double seconds_now(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* A send completes when its buffer may be used again; the answer may arrive before that. */
static void round_trip(const struct adapter* adapter, DAT_EP_HANDLE ep, const struct memory* memory,
                       size_t bytes) {
    post_receive(ep, slot_of(memory, 0, bytes), 0);
    post_send(ep, slot_of(memory, 1, bytes), 1);
    await_transfer(adapter->transfers);
    await_transfer(adapter->transfers);
}

static void play(const char* ia_name, const char* host, const char* port, long count,
                 size_t bytes) {
    struct adapter adapter = open_adapter(ia_name);
    struct memory memory = register_buffers(&adapter);
    DAT_EP_HANDLE ep = make_endpoint(&adapter);

    connect_to(&adapter, ep, host, port);
    const double begin = seconds_now();
    for (long trip = 0; trip < count; ++trip) {
        memset(buffers[1], 'a' + (int)(trip % 26), bytes);
        round_trip(&adapter, ep, &memory, bytes);
        if (memcmp(buffers[0], buffers[1], bytes) != 0) die("the answer is not what was sent");
    }
    printf("%ld round trips of %zu bytes, %.1f us each\n", count, bytes,
           (seconds_now() - begin) * 1e6 / (double)count);
    end_connection(&adapter, ep);
    close_adapter(&adapter);
}

int main(int argc, char** argv) {
    const long count = argc > 5 ? atol(argv[5]) : 1000;
    const long bytes = argc > 6 ? atol(argv[6]) : 64;
    if (argc == 4 && !strcmp(argv[2], "server"))
        serve(argv[1], argv[3]);
    else if (argc >= 5 && argc <= 7 && !strcmp(argv[2], "client") && count > 0 && bytes > 0 &&
             bytes <= MAX_BYTES)
        play(argv[1], argv[3], argv[4], count, (size_t)bytes);
    else
        return usage(
            "ping_pong IA server PORT\n"
            "       ping_pong IA client ADDRESS PORT [COUNT [BYTES]]    at most 4096 bytes");
    return 0;
}
