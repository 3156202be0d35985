/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A TCP server that upgrades its connections: a client that says UPGRADE on its socket goes on by
 * RDMA, one that does not stays with TCP. Both get back what they send.
 *
 *     socket_upgrade IA server PORT CLIENTS
 *     socket_upgrade IA client HOST PORT tcp|rdma WORDS
 *
 * PORT is one of TCP; 0 chooses a free one. The server serves so many clients, one after the other,
 * and ends. Where the adapter's attribute DAT_IW_ATTR_SSP is not TRUE, all stay with TCP.
 */
#include <dat2/dat_iw_extensions.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "example.h"

#define LONGEST 4096
#define UPGRADE "UPGRADE\n"
/* The last words on the socket before it becomes an endpoint. */
#define GO "GO\n"
#define STAY "STAY\n"

/* -- the stream ---------------------------------------------------------------------- */

static void must(int result, const char* call) {
    if (result >= 0) return;
    perror(call);
    exit(1);
}

static void say(int socket, const char* words, size_t size) {
    if (send(socket, words, size, MSG_NOSIGNAL) != (ssize_t)size) die("the peer has gone");
}

/* Reads a line. Returns its length with the end of the line, 0 at the end of the stream. */
static size_t hear_line(int socket, char* line) {
    size_t length = 0;
    while (length < LONGEST && recv(socket, line + length, 1, 0) == 1)
        if (line[length++] == '\n') return length;
    return 0;
}

static int listen_for_tcp(const char* port) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(atoi(port))};
    socklen_t size = sizeof address;
    int on = 1, listening = socket(AF_INET, SOCK_STREAM, 0);
    must(listening, "socket");
    setsockopt(listening, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    must(bind(listening, (struct sockaddr*)&address, sizeof address), "bind");
    must(listen(listening, 16), "listen");
    must(getsockname(listening, (struct sockaddr*)&address, &size), "getsockname");
    printf("listening on port %d\n", ntohs(address.sin_port));
    fflush(stdout);
    return listening;
}

static int connect_by_tcp(const char* host, const char* port) {
    struct addrinfo wanted = {.ai_family = AF_INET, .ai_socktype = SOCK_STREAM}, *found;
    int failure = getaddrinfo(host, port, &wanted, &found), socket_id;
    if (failure) die(gai_strerror(failure));
    socket_id = socket(AF_INET, SOCK_STREAM, 0);
    must(socket_id, "socket");
    must(connect(socket_id, found->ai_addr, found->ai_addrlen), "connect");
    freeaddrinfo(found);
    return socket_id;
}

/* -- the endpoint -------------------------------------------------------------------- */

struct end {
    DAT_EP_HANDLE ep;
    struct memory memory;
};

/* The receive is posted before the peer can know of the endpoint. */
static struct end make_end(const struct adapter* adapter, char* buffer) {
    struct end end = {make_endpoint(adapter), register_memory(adapter, buffer, LONGEST,
                                                              DAT_MEM_PRIV_LOCAL_READ_FLAG |
                                                                  DAT_MEM_PRIV_LOCAL_WRITE_FLAG)};
    post_receive(end.ep, segment_of(&end.memory, 0, LONGEST), 0);
    return end;
}

static void free_end(struct end* end) {
    TRY(dat_ep_free(end->ep));
    TRY(dat_lmr_free(end->memory.lmr));
}

/* -- both sides ---------------------------------------------------------------------- */

static void serve_by_rdma(const struct adapter* adapter, int socket_id) {
    static char buffer[LONGEST];
    struct end end = make_end(adapter, buffer);
    DAT_IW_SSP_HANDLE ssp;
    TRY(dat_iw_ssp_create(adapter->ia, socket_id, end.ep, adapter->connections, GO, strlen(GO),
                          &ssp));
    TRY(dat_cr_accept(await_request(adapter), DAT_HANDLE_NULL, 0, NULL));
    await_event(adapter->connections, DAT_CONNECTION_EVENT_ESTABLISHED);
    TRY(dat_iw_ssp_free(ssp));
    post_send(end.ep,
              segment_of(&end.memory, 0, await_transfer(adapter->transfers).transfered_length), 1);
    await_transfer(adapter->transfers);
    await_event(adapter->connections, DAT_CONNECTION_EVENT_DISCONNECTED);
    free_end(&end);
}

static void serve(const struct adapter* adapter, int upgrades, int socket_id) {
    char line[LONGEST];
    size_t length = hear_line(socket_id, line);
    if (length == strlen(UPGRADE) && !memcmp(line, UPGRADE, length)) {
        if (upgrades) return serve_by_rdma(adapter, socket_id);
        say(socket_id, STAY, strlen(STAY));
        length = hear_line(socket_id, line);
    }
    if (length > 0) say(socket_id, line, length);
}

static size_t ask_by_rdma(const struct adapter* adapter, int socket_id, char* words,
                          size_t length) {
    static char buffer[LONGEST], sent[LONGEST];
    struct end end = make_end(adapter, buffer);
    struct memory out = register_memory(adapter, sent, LONGEST, DAT_MEM_PRIV_LOCAL_READ_FLAG);
    size_t came = 0;
    TRY(dat_iw_socket_connect(end.ep, socket_id, PATIENCE, 0, NULL));
    await_event(adapter->connections, DAT_CONNECTION_EVENT_ESTABLISHED);
    memcpy(sent, words, length);
    post_send(end.ep, segment_of(&out, 0, length), 1);
    for (int i = 0; i < 2; ++i) {
        DAT_DTO_COMPLETION_EVENT_DATA done = await_transfer(adapter->transfers);
        if (done.user_cookie.as_64 == 0) came = done.transfered_length;
    }
    memcpy(words, buffer, came);
    end_connection(adapter, end.ep);
    free_end(&end);
    TRY(dat_lmr_free(out.lmr));
    return came;
}

static void run_client(const char* ia, char** arguments) {
    char line[LONGEST];
    const char* how = "TCP";
    int socket_id = connect_by_tcp(arguments[0], arguments[1]);
    size_t length = snprintf(line, sizeof line, "%s\n", arguments[3]);
    if (length >= sizeof line) die("too many words");
    if (!strcmp(arguments[2], "rdma")) {
        char answer[LONGEST];
        say(socket_id, UPGRADE, strlen(UPGRADE));
        size_t heard = hear_line(socket_id, answer);
        if (heard == strlen(GO) && !memcmp(answer, GO, heard)) how = "RDMA";
    }
    if (!strcmp(how, "RDMA")) {
        struct adapter adapter = open_adapter(ia);
        length = ask_by_rdma(&adapter, socket_id, line, length);
        close_adapter(&adapter);
    } else {
        say(socket_id, line, length);
        length = hear_line(socket_id, line);
    }
    printf("by %s: %.*s", how, (int)length, line);
    close(socket_id);
}

static void run_server(const char* ia, const char* port, int clients) {
    struct adapter adapter = open_adapter(ia);
    DAT_PROVIDER_ATTR attributes;
    TRY(dat_ia_query(adapter.ia, NULL, 0, NULL, DAT_PROVIDER_FIELD_ALL, &attributes));
    const char* has = named_value(attributes.provider_specific_attr,
                                  attributes.num_provider_specific_attr, DAT_IW_ATTR_SSP);
    int upgrades = has && !strcmp(has, "TRUE"), listening = listen_for_tcp(port);
    for (int i = 0; i < clients; ++i) {
        int socket_id = accept(listening, NULL, NULL);
        must(socket_id, "accept");
        serve(&adapter, upgrades, socket_id);
        close(socket_id);
    }
    close(listening);
    close_adapter(&adapter);
}

int main(int argc, char** argv) {
    if (argc == 5 && !strcmp(argv[2], "server"))
        run_server(argv[1], argv[3], atoi(argv[4]));
    else if (argc == 7 && !strcmp(argv[2], "client"))
        run_client(argv[1], argv + 3);
    else
        return usage("socket_upgrade IA server PORT CLIENTS | IA client HOST PORT tcp|rdma WORDS");
    return 0;
}
