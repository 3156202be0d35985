/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * RDMA writes that notify their target: a file goes block by block directly into the server's
 * memory, and the 32-bit immediate data of each block contains its length and whether it is the
 * last. The server gets an event for each block; it needs no message and need not poll its memory.
 *
 *     write_immediate IA server PORT FILE
 *     write_immediate IA client ADDRESS PORT FILE
 *
 * Immediate data is an extension: a provider's attributes report whether it is supported. See
 * opendat_extensions(7).
 */
#include <dat2/dat_ib_extensions.h>

#include <endian.h>

#include "example.h"

/* The server's window. The client may have this number of blocks in flight; by an empty message the
 * server reports that it has consumed the oldest. */
enum { BLOCK = 16384, BLOCKS = 8 };

/* Bit of the immediate data, above the length. */
#define LAST 0x80000000u

static char window[BLOCKS][BLOCK];

/* The private data with which the server accepts the connection: where the window is. */
struct invitation {
    uint64_t address;
    uint32_t rmr_context;
    uint32_t reserved;
};

static void require_immediate_data(const struct adapter* adapter) {
    DAT_PROVIDER_ATTR attributes;
    TRY(dat_ia_query(adapter->ia, NULL, 0, NULL, DAT_PROVIDER_FIELD_ALL, &attributes));
    if (!named_value(attributes.provider_specific_attr, attributes.num_provider_specific_attr,
                     DAT_IB_ATTR_IMMED_DATA))
        die("this adapter has no immediate data");
}

static FILE* open_file(const char* name, const char* mode) {
    FILE* file = fopen(name, mode);
    if (!file) {
        perror(name);
        exit(1);
    }
    return file;
}

/* Returns the immediate data of the next block, which arrives in an event of the extension. Other
 * events are completions of this side's messages. */
static DAT_UINT32 await_block(const struct adapter* adapter) {
    DAT_EVENT event;
    DAT_COUNT more;
    do {
        TRY(dat_evd_wait(adapter->transfers, PATIENCE, 1, &event, &more));
        succeeded(&event);
    } while ((int)event.event_number != DAT_IB_DTO_EVENT);
    const DAT_IB_EXTENSION_EVENT_DATA* data =
        (const DAT_IB_EXTENSION_EVENT_DATA*)(const void*)event.event_extension_data;
    if (data->type != DAT_IB_RDMA_WRITE_IMMED_DATA) die("an extension's event of another type");
    if ((data->val.immed.data & ~LAST) > BLOCK) die("the client says a block is longer than one");
    return data->val.immed.data;
}

static void take_blocks(const struct adapter* adapter, DAT_EP_HANDLE ep, FILE* file) {
    DAT_UINT32 number = 0;
    for (size_t block = 0; !(number & LAST); ++block) {
        number = await_block(adapter);
        const size_t length = number & ~LAST;
        if (fwrite(window[block % BLOCKS], 1, length, file) != length) die("cannot write the file");
        post_empty_receive(ep);
        post_empty_send(ep);
    }
}

static void serve(const char* ia_name, const char* port, const char* name) {
    struct adapter adapter = open_adapter(ia_name);
    struct memory memory =
        register_memory(&adapter, window, sizeof window,
                        DAT_MEM_PRIV_LOCAL_READ_FLAG | DAT_MEM_PRIV_LOCAL_WRITE_FLAG |
                            DAT_MEM_PRIV_REMOTE_WRITE_FLAG);
    struct invitation invitation = {.address = htobe64((uintptr_t)window),
                                    .rmr_context = htobe32(memory.rmr_context)};
    DAT_EP_HANDLE ep = make_endpoint(&adapter);
    FILE* file = open_file(name, "wb");

    require_immediate_data(&adapter);
    listen_at(&adapter, port);
    DAT_CR_HANDLE request = await_request(&adapter);
    for (int block = 0; block < BLOCKS; ++block) post_empty_receive(ep);
    TRY(dat_cr_accept(request, ep, sizeof invitation, &invitation));
    await_event(adapter.connections, DAT_CONNECTION_EVENT_ESTABLISHED);
    take_blocks(&adapter, ep, file);
    if (fclose(file)) die("cannot write the file");
    await_event(adapter.connections, DAT_CONNECTION_EVENT_DISCONNECTED);
    close_adapter(&adapter);
}

/* How far the client is with its blocks. The memory of a block may be filled again when the write
 * is complete and the server has consumed the block. */
struct progress {
    size_t posted, written, taken;
};

static void take_event(const struct adapter* adapter, DAT_EP_HANDLE ep, struct progress* progress) {
    DAT_EVENT event;
    DAT_COUNT more;
    TRY(dat_evd_wait(adapter->transfers, PATIENCE, 1, &event, &more));
    succeeded(&event);
    if ((int)event.event_number == DAT_IB_DTO_EVENT) {
        ++progress->written;
        return;
    }
    ++progress->taken;
    post_empty_receive(ep);
}

static void write_block(DAT_EP_HANDLE ep, DAT_LMR_TRIPLET block, const struct invitation* target,
                        size_t offset, DAT_UINT32 number) {
    DAT_RMR_TRIPLET remote = {.virtual_address = be64toh(target->address) + offset,
                              .segment_length = block.segment_length,
                              .rmr_context = be32toh(target->rmr_context)};
    DAT_DTO_COOKIE cookie = {.as_64 = 0};
    TRY(dat_ib_post_rdma_write_immed(ep, 1, &block, cookie, &remote, number,
                                     DAT_COMPLETION_DEFAULT_FLAG));
}

static void write_blocks(const struct adapter* adapter, DAT_EP_HANDLE ep,
                         const struct memory* memory, const struct invitation* target, FILE* file) {
    struct progress progress = {0, 0, 0};
    DAT_UINT32 number = 0;
    while (!(number & LAST)) {
        while (progress.posted - progress.written >= BLOCKS ||
               progress.posted - progress.taken >= BLOCKS)
            take_event(adapter, ep, &progress);
        const size_t offset = progress.posted % BLOCKS * BLOCK;
        const size_t length = fread(window[progress.posted % BLOCKS], 1, BLOCK, file);
        number = (DAT_UINT32)length | (length < BLOCK ? LAST : 0);
        write_block(ep, segment_of(memory, offset, length), target, offset, number);
        ++progress.posted;
    }
    while (progress.written < progress.posted || progress.taken < progress.posted)
        take_event(adapter, ep, &progress);
    if (ferror(file)) die("cannot read the file");
    printf("%zu blocks\n", progress.posted);
}

static void ask(const char* ia_name, const char* host, const char* port, const char* name) {
    struct adapter adapter = open_adapter(ia_name);
    struct memory memory =
        register_memory(&adapter, window, sizeof window, DAT_MEM_PRIV_LOCAL_READ_FLAG);
    DAT_EP_HANDLE ep = make_endpoint(&adapter);
    struct invitation invitation;
    FILE* file = open_file(name, "rb");

    require_immediate_data(&adapter);
    for (int block = 0; block < BLOCKS; ++block) post_empty_receive(ep);
    DAT_EVENT established = connect_to(&adapter, ep, host, port);
    if (established.event_data.connect_event_data.private_data_size < (DAT_COUNT)sizeof invitation)
        die("the server did not say where to write");
    memcpy(&invitation, established.event_data.connect_event_data.private_data, sizeof invitation);
    write_blocks(&adapter, ep, &memory, &invitation, file);
    fclose(file);
    end_connection(&adapter, ep);
    close_adapter(&adapter);
}

int main(int argc, char** argv) {
    if (argc == 5 && !strcmp(argv[2], "server"))
        serve(argv[1], argv[3], argv[4]);
    else if (argc == 6 && !strcmp(argv[2], "client"))
        ask(argv[1], argv[3], argv[4], argv[5]);
    else
        return usage(
            "write_immediate IA server PORT FILE\n"
            "       write_immediate IA client ADDRESS PORT FILE");
    return 0;
}
