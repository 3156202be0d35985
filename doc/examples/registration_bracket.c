/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Remote procedure calls whose server writes its result into memory of the client, and can do so
 * only between the request and the response: a bracket. See dat_registration(7).
 *
 *     registration_bracket IA server PORT FILE               serves one client
 *     registration_bracket IA client ADDRESS PORT COPY       fetches the file
 *
 * The client needs the registration broker, the server does not:
 *
 *     export OPENDAT_REGISTRATIONS=on
 */
#include <dat2/dat_reg_extensions.h>

#include <endian.h>

#include "example.h"

enum { BLOCK = 65536 };

/* The client asks for a block of the file and says where it goes, in network order. */
struct request {
    uint64_t block;
    uint64_t address;
    uint32_t rmr_context;
    uint32_t may_invalidate; /* the server ends its access with the response */
};
/* The server sends this when the block is there. */
struct response {
    uint32_t length; /* bytes, less than a block at the end of the file */
};

static struct {
    char block[BLOCK];
    struct request request;
    struct response response;
} buffer;

static DAT_LMR_TRIPLET part_of(const struct memory* memory, const void* part, size_t length) {
    return segment_of(memory, (size_t)((const char*)part - (const char*)memory->address), length);
}

/* Waits for completions. Returns 0 if the peer has left: what is posted then comes back flushed. */
static int await_transfers(const struct adapter* adapter, int count) {
    DAT_EVENT event;
    DAT_COUNT more;
    while (count-- > 0) {
        TRY(dat_evd_wait(adapter->transfers, PATIENCE, 1, &event, &more));
        if (event.event_data.dto_completion_event_data.status == DAT_DTO_ERR_FLUSHED) return 0;
        succeeded(&event);
    }
    return 1;
}

/* -- server ------------------------------------------------------------------------------- */

static size_t read_block(FILE* file, uint64_t block) {
    if (fseek(file, (long)(block * BLOCK), SEEK_SET) != 0) return 0;
    return fread(buffer.block, 1, BLOCK, file);
}

/* Writes the block and sends the response, in this order: the client has the one before the other.
 */
static int answer(const struct adapter* adapter, DAT_EP_HANDLE ep, const struct memory* memory,
                  FILE* file) {
    const size_t length = read_block(file, be64toh(buffer.request.block));
    const DAT_RMR_CONTEXT context = be32toh(buffer.request.rmr_context);
    const DAT_BOOLEAN invalidates = buffer.request.may_invalidate ? DAT_TRUE : DAT_FALSE;
    DAT_LMR_TRIPLET block = part_of(memory, buffer.block, length);
    DAT_LMR_TRIPLET response = part_of(memory, &buffer.response, sizeof buffer.response);
    DAT_RMR_TRIPLET there = {.virtual_address = be64toh(buffer.request.address),
                             .segment_length = length,
                             .rmr_context = context};
    DAT_DTO_COOKIE none = {.as_64 = 0};
    if (length > 0)
        TRY(dat_ep_post_rdma_write(ep, 1, &block, none, &there, DAT_COMPLETION_DEFAULT_FLAG));
    buffer.response.length = htobe32((uint32_t)length);
    post_receive(ep, part_of(memory, &buffer.request, sizeof buffer.request), 0);
    if (invalidates)
        TRY(dat_ep_post_send_with_invalidate(ep, 1, &response, none, DAT_COMPLETION_DEFAULT_FLAG,
                                             DAT_TRUE, context));
    else
        post_send(ep, response, 0);
    return await_transfers(adapter, length > 0 ? 2 : 1);
}

static void serve(const char* ia_name, const char* port, const char* path) {
    struct adapter adapter = open_adapter(ia_name);
    struct memory memory =
        register_memory(&adapter, &buffer, sizeof buffer,
                        DAT_MEM_PRIV_LOCAL_READ_FLAG | DAT_MEM_PRIV_LOCAL_WRITE_FLAG);
    DAT_EP_HANDLE ep = make_endpoint(&adapter);
    FILE* file = fopen(path, "rb");
    if (!file) die(path);

    listen_at(&adapter, port);
    DAT_CR_HANDLE request = await_request(&adapter);
    post_receive(ep, part_of(&memory, &buffer.request, sizeof buffer.request), 0);
    TRY(dat_cr_accept(request, ep, 0, NULL));
    await_event(adapter.connections, DAT_CONNECTION_EVENT_ESTABLISHED);
    while (await_transfers(&adapter, 1) && answer(&adapter, ep, &memory, file)) continue;
    await_event(adapter.connections, DAT_CONNECTION_EVENT_DISCONNECTED);
    fclose(file);
    close_adapter(&adapter);
}

/* -- client ------------------------------------------------------------------------------- */

static int brackets_are_windows(const struct adapter* adapter) {
    DAT_PROVIDER_ATTR attr;
    TRY(dat_ia_query(adapter->ia, NULL, DAT_IA_FIELD_NONE, NULL, DAT_PROVIDER_FIELD_ALL, &attr));
    const char* way = named_value(attr.provider_specific_attr, attr.num_provider_specific_attr,
                                  DAT_REG_ATTR_BRACKETS);
    if (!way) die("the client needs the registration broker: set OPENDAT_REGISTRATIONS=on");
    return !strcmp(way, "windows");
}

/* Fetches a block. Before and after this call the server cannot touch the client's memory, whatever
 * it tries. Returns the length of the block. */
static size_t fetch(const struct adapter* adapter, DAT_EP_HANDLE ep, const struct memory* memory,
                    uint64_t block, int invalidates) {
    DAT_LMR_TRIPLET target = part_of(memory, buffer.block, BLOCK);
    DAT_REG_BRACKET_HANDLE bracket;
    DAT_RMR_TRIPLET advertised;
    TRY(dat_reg_bracket_open(ep, &target, DAT_MEM_PRIV_REMOTE_WRITE_FLAG, PATIENCE, &bracket,
                             &advertised));
    buffer.request.block = htobe64(block);
    buffer.request.address = htobe64(advertised.virtual_address);
    buffer.request.rmr_context = htobe32(advertised.rmr_context);
    buffer.request.may_invalidate = htobe32((uint32_t)invalidates);
    post_receive(ep, part_of(memory, &buffer.response, sizeof buffer.response), 0);
    post_send(ep, part_of(memory, &buffer.request, sizeof buffer.request), 0);
    if (!await_transfers(adapter, 2)) die("the server has left");
    TRY(dat_reg_bracket_close(bracket));
    /* From here on the block is the client's own: it may be checked and used. */
    const size_t length = be32toh(buffer.response.length);
    if (length > BLOCK) die("the server claims more than a block");
    return length;
}

static void copy(const char* ia_name, const char* host, const char* port, const char* path) {
    struct adapter adapter = open_adapter(ia_name);
    const int invalidates = brackets_are_windows(&adapter);
    struct memory memory =
        register_memory(&adapter, &buffer, sizeof buffer,
                        DAT_MEM_PRIV_LOCAL_READ_FLAG | DAT_MEM_PRIV_LOCAL_WRITE_FLAG);
    DAT_EP_HANDLE ep = make_endpoint(&adapter);
    FILE* file = fopen(path, "wb");
    uint64_t block = 0;
    size_t length;
    if (!file) die(path);

    connect_to(&adapter, ep, host, port);
    do {
        length = fetch(&adapter, ep, &memory, block++, invalidates);
        if (fwrite(buffer.block, 1, length, file) != length) die(path);
    } while (length == BLOCK);
    if (fclose(file) != 0) die(path);
    printf("%llu calls\n", (unsigned long long)block);
    end_connection(&adapter, ep);
    close_adapter(&adapter);
}

int main(int argc, char** argv) {
    if (argc == 5 && !strcmp(argv[2], "server"))
        serve(argv[1], argv[3], argv[4]);
    else if (argc == 6 && !strcmp(argv[2], "client"))
        copy(argv[1], argv[3], argv[4], argv[5]);
    else
        return usage(
            "registration_bracket IA server PORT FILE\n"
            "       registration_bracket IA client ADDRESS PORT COPY");
    return 0;
}
