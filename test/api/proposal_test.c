/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * @file
 * A program written to the first public proposal of extensions and to nothing after it: only
 * dat_extensions.h, its names and its layout of events. It starts itself again as the peer that
 * serves, so that two processes are at work. With DAT_EXT_PRIVILEGES <dat/udat.h> alone brings it
 * all.
 */
#include <arpa/inet.h>
#ifdef DAT_EXT_PRIVILEGES
#include <dat/udat.h>
#define WRITE_IMMED dat_ep_post_write_immed
#else
#include <dat2/dat_extensions.h>
#define WRITE_IMMED dat_ep_post_rdma_write_immed
#endif
#include <netinet/in.h>
#include <stdint.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "test/api/c_program.h"

#define QUALIFIER 4731
#define NUMBER 0x11223344u
#define LENGTH 256

/* Where the peer's memory is. */
struct window {
    DAT_VADDR address;
    DAT_RMR_CONTEXT key;
};

static DAT_IA_HANDLE ia;
static DAT_PZ_HANDLE pz;
static DAT_EVD_HANDLE requests, connections, receives, sends;
static DAT_EP_HANDLE ep;
static DAT_LMR_CONTEXT key;
static DAT_RMR_CONTEXT remote_key;
static DAT_UINT64 words[LENGTH / 8];
static int iwarp; /* immediate data comes in the memory of the receive */
static DAT_EVD_HANDLE queue(DAT_EVD_FLAGS flags) {
    DAT_EVD_HANDLE made;
    must(dat_evd_create(ia, 16, DAT_HANDLE_NULL, flags, &made), "dat_evd_create");
    return made;
}

static DAT_LMR_TRIPLET local(unsigned first, unsigned length) {
    DAT_LMR_TRIPLET triplet;
    memset(&triplet, 0, sizeof triplet);
    triplet.virtual_address = (DAT_VADDR)(uintptr_t)&words[first];
    triplet.segment_length = length;
    triplet.lmr_context = key;
    return triplet;
}

static DAT_RMR_TRIPLET remote(struct window window, unsigned first, unsigned length) {
    DAT_RMR_TRIPLET triplet;
    memset(&triplet, 0, sizeof triplet);
    triplet.virtual_address = window.address + 8 * first;
    triplet.segment_length = length;
    triplet.rmr_context = window.key;
    return triplet;
}

/* The proposal has no privilege for atomic operations: they come with that to read. */
static void open_all(void) {
    const char* name = getenv("DAT_TEST_IA");
    DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
    DAT_LMR_HANDLE lmr;
    DAT_REGION_DESCRIPTION region;
    DAT_IA_ATTR attributes;
    region.for_va = words;
    must(dat_ia_open((char*)(name ? name : "soft0"), 8, &async, &ia), "dat_ia_open");
    must(dat_ia_query(ia, &async, DAT_IA_FIELD_ALL, &attributes, DAT_PROVIDER_FIELD_NONE, NULL),
         "dat_ia_query");
    iwarp = attributes.extension_supported == DAT_EXTENSION_IW;
    must(dat_pz_create(ia, &pz), "dat_pz_create");
    must(dat_lmr_create(ia, DAT_MEM_TYPE_VIRTUAL, region, sizeof words, pz, DAT_MEM_PRIV_ALL_FLAG,
                        DAT_VA_TYPE_VA, &lmr, &key, &remote_key, NULL, NULL),
         "dat_lmr_create");
    requests = queue(DAT_EVD_CR_FLAG);
    connections = queue(DAT_EVD_CONNECTION_FLAG);
    receives = queue(DAT_EVD_DTO_FLAG);
    sends = queue(DAT_EVD_DTO_FLAG);
    must(dat_ep_create(ia, pz, receives, sends, connections, NULL, &ep), "dat_ep_create");
}

/* @return whether the event is the proposal's and all of this is so. */
static int is(DAT_EVENT event, DAT_EXT_EVENT_TYPE type, DAT_UINT64 of, DAT_SEG_LENGTH length) {
    const DAT_EXTENSION_EVENT_DATA* data = &event.event_data.extension_data;
    int good = event.event_number == DAT_EXTENSION_EVENT && data->type == (DAT_UINT32)type &&
               data->dto.status == DAT_DTO_SUCCESS && data->dto.user_cookie.as_64 == of &&
               data->dto.transfered_length == length && data->dto.ep_handle == ep;
    if (!good)
        printf("# event 0x%x, type %u, status %d, cookie %lu, length %u\n",
               (unsigned)event.event_number, (unsigned)data->type, (int)data->dto.status,
               (unsigned long)data->dto.user_cookie.as_64, (unsigned)data->dto.transfered_length);
    return good;
}

/* @return whether a receive, the first where that matters, tells that a write of this length has
 * brought the number. */
static int carries(DAT_EVENT event, DAT_UINT64 of, DAT_SEG_LENGTH length) {
    DAT_UINT32 sent;
    memcpy(&sent, words + 24, sizeof sent);
    if (iwarp) return is(event, DAT_EXT_RECV_IMMED_DATA_PAYLOAD, of, sizeof sent) && sent == NUMBER;
    return is(event, DAT_EXT_RECV_IMMED_DATA_EVENT, of, length) &&
           event.event_data.extension_data.val.immed.data == NUMBER;
}

/* -- the peer ------------------------------------------------------------------------ */

static void post_receives(void) {
    DAT_LMR_TRIPLET here = local(16, 64), of_the_first = local(24, 64);
    DAT_UINT64 i;
    must(dat_ep_post_recv_immed(ep, 1, &of_the_first, cookie(1), DAT_COMPLETION_DEFAULT_FLAG),
         "dat_ep_post_recv_immed");
    for (i = 2; i <= 3; ++i)
        must(dat_ep_post_recv_immed(ep, 1, &here, cookie(i), DAT_COMPLETION_DEFAULT_FLAG),
             "dat_ep_post_recv_immed");
    must(dat_ep_post_recv(ep, 1, &here, cookie(4), DAT_COMPLETION_DEFAULT_FLAG),
         "dat_ep_post_recv");
}

static void accept_one(int to) {
    struct window window;
    DAT_PSP_HANDLE psp;
    DAT_EVENT event;
    must(dat_psp_create(ia, QUALIFIER, requests, DAT_PSP_CONSUMER_FLAG, &psp), "dat_psp_create");
    memset(&window, 0, sizeof window);
    window.address = (DAT_VADDR)(uintptr_t)words;
    window.key = remote_key;
    if (write(to, &window, sizeof window) != sizeof window) fail("the pipe");
    event = next(requests);
    must(dat_cr_accept(event.event_data.cr_arrival_event_data.cr_handle, ep, 0, NULL),
         "dat_cr_accept");
    if (next(connections).event_number != DAT_CONNECTION_EVENT_ESTABLISHED) fail("no connection");
}

/* In the order in which the other side posts. @return the exit status. */
static int serve(int to) {
    DAT_EVENT event;
    open_all();
    words[0] = 40;
    post_receives();
    accept_one(to);
    event = next(receives);
    if (!carries(event, 1, 16)) fail("the first");
    if (words[8] != 1 || words[9] != 2) fail("the written words");
    event = next(receives);
    if (!is(event, DAT_EXT_RECV_NO_IMMED, 2, 24) || words[18] != 3) fail("the send");
    if (!iwarp && !carries(next(receives), 3, 8)) fail("the confirmed");
    if (!iwarp && !carries(next(receives), 4, 8)) fail("the last");
    if (next(connections).event_number != DAT_CONNECTION_EVENT_DISCONNECTED) fail("no end");
    if (!iwarp && (words[0] != 7 || words[12] != 5))
        fail("the atomic operations and the write without a number");
    must(dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG), "dat_ia_close");
    return 0;
}

/* -- this side ----------------------------------------------------------------------- */

static struct window connect_to(int from) {
    const char* text = getenv("DAT_TEST_ADDRESS");
    struct sockaddr_in peer;
    struct window window;
    if (read(from, &window, sizeof window) != sizeof window) fail("the peer has ended");
    memset(&peer, 0, sizeof peer);
    peer.sin_family = AF_INET;
    inet_pton(AF_INET, text ? text : "127.0.0.1", &peer.sin_addr);
    must(dat_ep_connect(ep, (DAT_IA_ADDRESS_PTR)&peer, QUALIFIER, DAT_TIMEOUT_INFINITE, 0, NULL,
                        DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG),
         "dat_ep_connect");
    if (next(connections).event_number != DAT_CONNECTION_EVENT_ESTABLISHED) fail("no connection");
    return window;
}

static int write_to(struct window window, unsigned first, unsigned length, int flags) {
    static DAT_UINT64 count = 10;
    DAT_LMR_TRIPLET here = local(0, length);
    DAT_RMR_TRIPLET there = remote(window, first, length);
    must(WRITE_IMMED(ep, 1, &here, cookie(++count), &there, NUMBER, flags,
                     DAT_COMPLETION_DEFAULT_FLAG),
         "dat_ep_post_rdma_write_immed");
    return is(next(sends), DAT_EXT_RDMA_WRITE_IMMED_STATUS, count, length);
}

static void write_and_send(struct window window) {
    DAT_LMR_TRIPLET here = local(0, 24);
    words[0] = 1;
    words[1] = 2;
    words[2] = 3;
    told(write_to(window, 8, 16, DAT_EXT_WRITE_IMMED_FLAG), "a write with immediate data is done");
    must(dat_ep_post_send(ep, 1, &here, cookie(1), DAT_COMPLETION_DEFAULT_FLAG),
         "dat_ep_post_send");
    told(next(sends).event_number == DAT_DTO_COMPLETION_EVENT,
         "an ordinary send meets a receive posted for immediate data");
    if (iwarp) return;
    told(write_to(window, 10, 8, DAT_EXT_WRITE_IMMED_FLAG | DAT_EXT_WRITE_CONFIRM_FLAG),
         "a confirmed write with immediate data is done");
    words[0] = 5;
    told(write_to(window, 12, 8, DAT_EXT_WRITE_CONFIRM_FLAG),
         "a confirmed write without immediate data takes no receive");
    told(write_to(window, 10, 8, DAT_EXT_WRITE_IMMED_FLAG),
         "a write with immediate data meets a receive posted for a send");
}

static void add_and_swap(struct window window) {
    DAT_LMR_TRIPLET here = local(4, 8);
    DAT_RMR_TRIPLET there = remote(window, 0, 8);
    must(dat_ep_post_fetch_and_add(ep, 5, &here, cookie(21), &there, DAT_COMPLETION_DEFAULT_FLAG),
         "dat_ep_post_fetch_and_add");
    told(is(next(sends), DAT_EXT_FETCH_AND_ADD_STATUS, 21, 8) && words[4] == 40,
         "fetch-and-add brings the old value");
    must(
        dat_ep_post_cmp_and_swap(ep, 45, 7, &here, cookie(22), &there, DAT_COMPLETION_DEFAULT_FLAG),
        "dat_ep_post_cmp_and_swap");
    told(is(next(sends), DAT_EXT_CMP_AND_SWAP_STATUS, 22, 8) && words[4] == 45,
         "compare-and-swap brings the old value");
    there.virtual_address += 4;
    told(DAT_GET_TYPE(dat_ep_post_fetch_and_add(
             ep, 5, &here, cookie(23), &there, DAT_COMPLETION_DEFAULT_FLAG)) == DAT_INVALID_ADDRESS,
         "an address that is not aligned is refused at the post");
}

static pid_t start_peer(char** argv, int pipe_end) {
    char text[16];
    pid_t peer = fork();
    if (peer != 0) return peer;
    snprintf(text, sizeof text, "%d", pipe_end);
    setenv("PROPOSAL_TEST_PIPE", text, 1);
    execv("/proc/self/exe", argv);
    _exit(127);
}

int main(int argc, char** argv) {
    const char *pipe_end = getenv("PROPOSAL_TEST_PIPE"), *fabric = getenv("PROPOSAL_TEST_FABRIC");
    char remove_fabric[64];
    struct window window;
    int ends[2], status = -1;
    pid_t peer;
    (void)argc;
    alarm(deadline(120));
    if (pipe_end) return serve(atoi(pipe_end));
    if (!fabric) start_again(argv, "PROPOSAL_TEST_FABRIC");
    if (pipe(ends) != 0) fail("pipe");
    peer = start_peer(argv, ends[1]);
    close(ends[1]);
    if (dat_extensions) fail("dat_extensions is set before anything is open");
    if (dat_ep_post_recv_immed(DAT_HANDLE_NULL, 0, NULL, cookie(1), DAT_COMPLETION_DEFAULT_FLAG) !=
        (DAT_RETURN)0xBFFF0000u)
        fail("a transfer before anything is open");
    open_all();
    printf("1..%d\n", iwarp ? 4 : 10);
    told(dat_extensions == 1, "the open of an adapter with extensions sets dat_extensions");
    window = connect_to(ends[0]);
    write_and_send(window);
    if (!iwarp) add_and_swap(window);
    must(dat_ep_disconnect(ep, DAT_CLOSE_GRACEFUL_FLAG), "dat_ep_disconnect");
    must(dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG), "dat_ia_close");
    waitpid(peer, &status, 0);
    told(status == 0, "the peer has seen every event and every byte as the proposal has it");
    snprintf(remove_fabric, sizeof remove_fabric, "rm -r '%s'", fabric);
    return system(remove_fabric) != 0;
}
