/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Adds two numbers with DAT: does the work of verbs_add.c with the same transfers on the wire, so
 * that the client of one works with the server of the other if both use rdma_cm.
 *
 *     dat_add IA server PORT
 *     dat_add IA client ADDRESS PORT FIRST SECOND
 *
 * The client writes FIRST directly into the server's memory with an RDMA write, in which the
 * server's program takes no part, sends SECOND as a message, and receives the sum as a message.
 */
#include <endian.h>
#include <inttypes.h>
#include <stddef.h>

#include "example.h"

/* The numbers are in network byte order, as the machines may differ in theirs. */
struct numbers {
    uint64_t first;  /* server: the client's RDMA write lands here */
    uint64_t second; /* server: the client's message lands here */
    uint64_t sum;    /* client: the server's message lands here */
};

/* The private data with which the server accepts the connection: where to write. */
struct invitation {
    uint64_t address;
    uint32_t rmr_context;
    uint32_t reserved;
};

static DAT_LMR_TRIPLET number_at(const struct memory* memory, size_t offset) {
    return segment_of(memory, offset, sizeof(uint64_t));
}

static void serve(const char* ia_name, const char* port) {
    struct adapter adapter = open_adapter(ia_name);
    struct numbers numbers = {0};
    struct memory memory =
        register_memory(&adapter, &numbers, sizeof numbers,
                        DAT_MEM_PRIV_LOCAL_READ_FLAG | DAT_MEM_PRIV_LOCAL_WRITE_FLAG |
                            DAT_MEM_PRIV_REMOTE_WRITE_FLAG);
    struct invitation invitation = {.address = htobe64((uintptr_t)&numbers.first),
                                    .rmr_context = htobe32(memory.rmr_context)};
    DAT_EP_HANDLE ep = make_endpoint(&adapter);

    listen_at(&adapter, port);
    DAT_CR_HANDLE request = await_request(&adapter);
    post_receive(ep, number_at(&memory, offsetof(struct numbers, second)), 1);
    TRY(dat_cr_accept(request, ep, sizeof invitation, &invitation));
    await_event(adapter.connections, DAT_CONNECTION_EVENT_ESTABLISHED);

    await_transfer(adapter.transfers); /* the message; the write has arrived before it */
    numbers.sum = htobe64(be64toh(numbers.first) + be64toh(numbers.second));
    post_send(ep, number_at(&memory, offsetof(struct numbers, sum)), 2);
    await_transfer(adapter.transfers);

    await_event(adapter.connections, DAT_CONNECTION_EVENT_DISCONNECTED);
    close_adapter(&adapter);
}

/* A send posted after this write on the same connection cannot arrive before it. The completion of
 * the write is suppressed: the sum shows that both have arrived. */
static void post_write(DAT_EP_HANDLE ep, DAT_LMR_TRIPLET number, const struct invitation* target) {
    DAT_RMR_TRIPLET remote = {.virtual_address = be64toh(target->address),
                              .segment_length = sizeof(uint64_t),
                              .rmr_context = be32toh(target->rmr_context)};
    DAT_DTO_COOKIE cookie = {.as_64 = 0};
    TRY(dat_ep_post_rdma_write(ep, 1, &number, cookie, &remote, DAT_COMPLETION_SUPPRESS_FLAG));
}

static void ask(const char* ia_name, char** arguments) {
    struct adapter adapter = open_adapter(ia_name);
    const uint64_t first = strtoull(arguments[2], NULL, 0);
    const uint64_t second = strtoull(arguments[3], NULL, 0);
    struct numbers numbers = {.first = htobe64(first), .second = htobe64(second)};
    struct memory memory =
        register_memory(&adapter, &numbers, sizeof numbers,
                        DAT_MEM_PRIV_LOCAL_READ_FLAG | DAT_MEM_PRIV_LOCAL_WRITE_FLAG);
    DAT_EP_HANDLE ep = make_endpoint(&adapter);
    struct invitation invitation;

    post_receive(ep, number_at(&memory, offsetof(struct numbers, sum)), 1);
    DAT_EVENT established = connect_to(&adapter, ep, arguments[0], arguments[1]);
    if (established.event_data.connect_event_data.private_data_size < (DAT_COUNT)sizeof invitation)
        die("the server did not say where to write");
    memcpy(&invitation, established.event_data.connect_event_data.private_data, sizeof invitation);

    post_write(ep, number_at(&memory, offsetof(struct numbers, first)), &invitation);
    post_send(ep, number_at(&memory, offsetof(struct numbers, second)), 2);
    /* Completions of one direction are in order; that of the send may follow the sum. */
    await_transfer(adapter.transfers);
    await_transfer(adapter.transfers);
    printf("%" PRIu64 " + %" PRIu64 " = %" PRIu64 "\n", first, second, be64toh(numbers.sum));

    end_connection(&adapter, ep);
    close_adapter(&adapter);
}

int main(int argc, char** argv) {
    if (argc == 4 && !strcmp(argv[2], "server"))
        serve(argv[1], argv[3]);
    else if (argc == 7 && !strcmp(argv[2], "client"))
        ask(argv[1], argv + 3);
    else
        return usage(
            "dat_add IA server PORT\n"
            "       dat_add IA client ADDRESS PORT FIRST SECOND");
    return 0;
}
