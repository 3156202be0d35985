/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A write whose completion says that the data is visible in the target's memory: the endpoint
 * attribute delayed_ack of uDAPL on AIX.
 *
 *     delayed_ack IA server PORT
 *     delayed_ack IA client ADDRESS PORT TEXT
 *
 * The client writes TEXT into the server's memory. Without the attribute the completion of a write
 * says only that the server's adapter has received the data, and the usual way to learn more is a
 * message from the server. The client has the attribute and needs none; the server need not set it.
 * An adapter that does not support it reports so in delayed_ack_supported, and then the client
 * writes without it.
 */
#include <dat2/dat_trclvl.h>

#include <endian.h>

#include "example.h"

static char text[256];

/* The private data with which the server accepts the connection: where to write. */
struct invitation {
    uint64_t address;
    uint32_t rmr_context;
    uint32_t reserved;
};

static void serve(const char* ia_name, const char* port) {
    struct adapter adapter = open_adapter(ia_name);
    struct memory memory =
        register_memory(&adapter, text, sizeof text,
                        DAT_MEM_PRIV_LOCAL_READ_FLAG | DAT_MEM_PRIV_LOCAL_WRITE_FLAG |
                            DAT_MEM_PRIV_REMOTE_WRITE_FLAG);
    struct invitation invitation = {.address = htobe64((uintptr_t)text),
                                    .rmr_context = htobe32(memory.rmr_context)};
    DAT_EP_HANDLE ep = make_endpoint(&adapter);

    listen_at(&adapter, port);
    TRY(dat_cr_accept(await_request(&adapter), ep, sizeof invitation, &invitation));
    await_event(adapter.connections, DAT_CONNECTION_EVENT_ESTABLISHED);
    await_event(adapter.connections, DAT_CONNECTION_EVENT_DISCONNECTED);
    printf("%.*s\n", (int)sizeof text, text);
    close_adapter(&adapter);
}

static int supports_delayed_ack(DAT_IA_HANDLE ia) {
    DAT_IA_ATTR attributes;
    TRY(dat_ia_query(ia, NULL, DAT_IA_FIELD_ALL, &attributes, 0, NULL));
    const char* supported = named_value(attributes.vendor_attr, attributes.num_vendor_attr,
                                        DAT_ATTR_DELAYED_ACK_SUPPORTED);
    return supported && !strcmp(supported, "true");
}

/* Must be called before the endpoint is connected. */
static void set_delayed_ack(DAT_EP_HANDLE ep) {
    DAT_NAMED_ATTR attribute = {.name = DAT_ATTR_DELAYED_ACK, .value = "true"};
    DAT_EP_PARAM parameters;
    memset(&parameters, 0, sizeof parameters);
    parameters.ep_attr.ep_provider_specific_count = 1;
    parameters.ep_attr.ep_provider_specific = &attribute;
    TRY(dat_ep_modify(
        ep, DAT_EP_FIELD_EP_ATTR_NUM_PROVIDER_ATTR | DAT_EP_FIELD_EP_ATTR_PROVIDER_SPECIFIC_ATTR,
        &parameters));
}

static void print_delayed_ack(DAT_EP_HANDLE ep) {
    DAT_EP_PARAM parameters;
    TRY(dat_ep_query(ep, DAT_EP_FIELD_ALL, &parameters));
    const char* value =
        named_value(parameters.ep_attr.ep_provider_specific,
                    parameters.ep_attr.ep_provider_specific_count, DAT_ATTR_DELAYED_ACK);
    printf("delayed_ack is %s\n", value ? value : "not an attribute of this endpoint");
}

static void write_text(const char* ia_name, char** arguments) {
    struct adapter adapter = open_adapter(ia_name);
    const size_t length = strlen(arguments[2]) + 1;
    struct memory memory = register_memory(
        &adapter, text, sizeof text, DAT_MEM_PRIV_LOCAL_READ_FLAG | DAT_MEM_PRIV_LOCAL_WRITE_FLAG);
    DAT_EP_HANDLE ep = make_endpoint(&adapter);
    struct invitation invitation;

    if (length > sizeof text) die("the text is too long: at most 255 bytes");
    memcpy(text, arguments[2], length);
    if (supports_delayed_ack(adapter.ia)) set_delayed_ack(ep);
    print_delayed_ack(ep);

    DAT_EVENT established = connect_to(&adapter, ep, arguments[0], arguments[1]);
    if (established.event_data.connect_event_data.private_data_size < (DAT_COUNT)sizeof invitation)
        die("the server did not say where to write");
    memcpy(&invitation, established.event_data.connect_event_data.private_data, sizeof invitation);

    DAT_LMR_TRIPLET local = segment_of(&memory, 0, length);
    DAT_RMR_TRIPLET remote = {.virtual_address = be64toh(invitation.address),
                              .segment_length = length,
                              .rmr_context = be32toh(invitation.rmr_context)};
    DAT_DTO_COOKIE cookie = {.as_64 = 1};
    TRY(dat_ep_post_rdma_write(ep, 1, &local, cookie, &remote, DAT_COMPLETION_DEFAULT_FLAG));
    await_transfer(adapter.transfers);
    printf("written\n");

    end_connection(&adapter, ep);
    close_adapter(&adapter);
}

int main(int argc, char** argv) {
    if (argc == 4 && !strcmp(argv[2], "server"))
        serve(argv[1], argv[3]);
    else if (argc == 6 && !strcmp(argv[2], "client"))
        write_text(argv[1], argv + 3);
    else
        return usage(
            "delayed_ack IA server PORT\n"
            "       delayed_ack IA client ADDRESS PORT TEXT");
    return 0;
}
