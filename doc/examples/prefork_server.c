/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A server whose work is done by processes that are forked in advance. A connection belongs to the
 * process that accepts it and cannot be handed to another; so the first process, to whose port
 * clients connect, rejects each request and refers the client to the port of a worker. A worker
 * that dies is replaced.
 *
 *     prefork_server IA PORT WORKERS           until SIGTERM
 *     prefork_server IA client ADDRESS PORT    prints who serves it
 */
#include <arpa/inet.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "example.h"

enum { MAX_WORKERS = 16, ANSWER = 64 };

/* The port of the worker: the private data of a rejection, in network byte order. */
struct referral {
    uint16_t port;
};

/* -- a worker: a process that opens the adapter for itself ---------------------------------- */

/* On iWARP the side that connects sends first, so the client asks. */
static void answer_client(const struct adapter* adapter, const struct memory* memory,
                          DAT_CR_HANDLE request) {
    DAT_EP_HANDLE ep = make_endpoint(adapter);
    post_empty_receive(ep);
    TRY(dat_cr_accept(request, ep, 0, NULL));
    await_event(adapter->connections, DAT_CONNECTION_EVENT_ESTABLISHED);
    await_transfer(adapter->transfers);
    post_send(ep, segment_of(memory, 0, ANSWER), 0);
    await_transfer(adapter->transfers);
    await_event(adapter->connections, DAT_CONNECTION_EVENT_DISCONNECTED);
    TRY(dat_ep_free(ep));
}

/* Reports its port to the first process through the pipe, then serves clients one by one. */
static void work(const char* ia_name, int pipe_end) {
    char text[ANSWER] = "";
    struct adapter adapter = open_adapter(ia_name);
    struct memory memory =
        register_memory(&adapter, text, sizeof text, DAT_MEM_PRIV_LOCAL_READ_FLAG);
    DAT_CONN_QUAL qualifier;
    DAT_PSP_HANDLE psp;
    TRY(dat_psp_create_any(adapter.ia, &qualifier, adapter.connections, DAT_PSP_CONSUMER_FLAG,
                           &psp));
    snprintf(text, sizeof text, "served by process %d", (int)getpid());
    if (write(pipe_end, &qualifier, sizeof qualifier) != sizeof qualifier) die("write");
    for (;;) {
        DAT_EVENT event;
        DAT_COUNT more;
        TRY(dat_evd_wait(adapter.connections, DAT_TIMEOUT_INFINITE, 1, &event, &more));
        if (event.event_number == DAT_CONNECTION_REQUEST_EVENT)
            answer_client(&adapter, &memory, event.event_data.cr_arrival_event_data.cr_handle);
    }
}

/* -- the first process ------------------------------------------------------------------------ */

struct worker {
    pid_t process;
    DAT_CONN_QUAL port;
};

/* No handle of the first process is valid in the child: each call with one returns
 * DAT_INVALID_HANDLE. So a worker opens what it needs as any new process does, even one that is
 * forked later, when the first process has the adapter open. */
static struct worker start_worker(const char* ia_name) {
    struct worker worker;
    int ends[2];
    const pid_t parent = getpid();
    if (pipe(ends)) die("pipe");
    worker.process = fork();
    if (worker.process < 0) die("fork");
    if (worker.process == 0) {
        sigset_t none;
        sigemptyset(&none);
        sigprocmask(SIG_SETMASK, &none, NULL);
        prctl(PR_SET_PDEATHSIG, SIGTERM);
        if (getppid() != parent) _exit(1);
        close(ends[0]);
        work(ia_name, ends[1]);
    }
    close(ends[1]);
    if (read(ends[0], &worker.port, sizeof worker.port) != sizeof worker.port)
        die("a worker did not come up");
    close(ends[0]);
    return worker;
}

static void refer(DAT_CR_HANDLE request, const struct worker* worker) {
    struct referral referral = {.port = htons((uint16_t)worker->port)};
    TRY(dat_cr_reject(request, sizeof referral, &referral));
}

static void replace_the_dead(const char* ia_name, struct worker* workers, int count) {
    pid_t dead;
    while ((dead = waitpid(-1, NULL, WNOHANG)) > 0)
        for (int i = 0; i < count; ++i)
            if (workers[i].process == dead) workers[i] = start_worker(ia_name);
}

static void end_workers(struct worker* workers, int count) {
    for (int i = 0; i < count; ++i) kill(workers[i].process, SIGTERM);
    while (wait(NULL) > 0) continue;
}

static int open_signals(void) {
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGCHLD);
    sigaddset(&signals, SIGINT);
    sigaddset(&signals, SIGTERM);
    sigprocmask(SIG_BLOCK, &signals, NULL);
    return signalfd(-1, &signals, SFD_CLOEXEC);
}

/* Handles a signal. Returns whether the server is to end. */
static int on_signal(int signals, const char* ia_name, struct worker* workers, int count) {
    struct signalfd_siginfo signal;
    if (read(signals, &signal, sizeof signal) != sizeof signal) die("read of a signal");
    if (signal.ssi_signo != SIGCHLD) return 1;
    replace_the_dead(ia_name, workers, count);
    return 0;
}

static void serve(const char* ia_name, const char* port, int count) {
    struct pollfd wakers[2] = {{.events = POLLIN}, {.events = POLLIN}};
    struct worker workers[MAX_WORKERS];
    struct adapter adapter;
    DAT_CNO_HANDLE cno;
    unsigned next = 0;
    int ended = 0;

    wakers[0].fd = open_signals();
    for (int i = 0; i < count; ++i) workers[i] = start_worker(ia_name);
    open_ia(&adapter, ia_name);
    TRY(dat_cno_fd_create(adapter.ia, &wakers[1].fd, &cno));
    make_queues(&adapter, cno);
    listen_at(&adapter, port);
    while (!ended) {
        DAT_EVD_HANDLE triggered;
        DAT_EVENT event;
        if (poll(wakers, 2, -1) < 0) die("poll");
        if (wakers[0].revents) ended = on_signal(wakers[0].fd, ia_name, workers, count);
        if (wakers[1].revents) dat_cno_trigger(cno, &triggered);
        while (next_event(adapter.connections, &event))
            if (event.event_number == DAT_CONNECTION_REQUEST_EVENT)
                refer(event.event_data.cr_arrival_event_data.cr_handle, &workers[next++ % count]);
    }
    end_workers(workers, count);
    close_adapter(&adapter);
}

/* -- the client ------------------------------------------------------------------------------- */

/* Connects to the first port and returns the port that the rejection refers to. */
static unsigned ask_for_worker(const struct adapter* adapter, const char* host, const char* port) {
    DAT_EP_HANDLE ep = make_endpoint(adapter);
    struct referral referral;
    begin_connection(ep, host, strtoull(port, NULL, 0), PATIENCE, NULL, 0);
    DAT_EVENT event = await_event(adapter->connections, DAT_CONNECTION_EVENT_PEER_REJECTED);
    const DAT_CONNECTION_EVENT_DATA* refusal = &event.event_data.connect_event_data;
    if (refusal->private_data_size < (DAT_COUNT)sizeof referral) die("refused without a reason");
    memcpy(&referral, refusal->private_data, sizeof referral);
    TRY(dat_ep_free(ep));
    return ntohs(referral.port);
}

static void ask(const char* ia_name, const char* host, const char* port) {
    char text[ANSWER];
    struct adapter adapter = open_adapter(ia_name);
    struct memory memory = register_memory(
        &adapter, text, sizeof text, DAT_MEM_PRIV_LOCAL_READ_FLAG | DAT_MEM_PRIV_LOCAL_WRITE_FLAG);
    DAT_EP_HANDLE ep = make_endpoint(&adapter);
    post_receive(ep, segment_of(&memory, 0, sizeof text), 0);
    begin_connection(ep, host, ask_for_worker(&adapter, host, port), PATIENCE, NULL, 0);
    await_event(adapter.connections, DAT_CONNECTION_EVENT_ESTABLISHED);
    post_empty_send(ep);
    for (int transfer = 0; transfer < 2; ++transfer) await_transfer(adapter.transfers);
    printf("%.*s\n", (int)sizeof text, text);
    end_connection(&adapter, ep);
    close_adapter(&adapter);
}

int main(int argc, char** argv) {
    if (argc == 5 && !strcmp(argv[2], "client")) {
        ask(argv[1], argv[3], argv[4]);
        return 0;
    }
    const int workers = argc == 4 ? atoi(argv[3]) : 0;
    if (workers < 1 || workers > MAX_WORKERS)
        return usage(
            "prefork_server IA PORT WORKERS           1 to 16 of them\n"
            "       prefork_server IA client ADDRESS PORT");
    serve(argv[1], argv[2], workers);
    return 0;
}
