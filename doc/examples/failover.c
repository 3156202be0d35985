/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A database's way to survive the loss of a port: client and server have two adapters each, and 64
 * connections spread over both. The server listens on the same port number on each adapter. When a
 * link goes down, its adapter reports an asynchronous error; the client repeats the requests that
 * were under way over the other adapter, and connects again until the link is back.
 *
 *     failover server IA1 IA2 PORT                 serves one client at a time
 *     failover client IA1 HOST1 IA2 HOST2 PORT     reads pages; both run until SIGINT or SIGTERM
 */
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

#include "example.h"

enum { PATHS = 2, SESSIONS = 64, PER_PATH = SESSIONS / PATHS, PAGES = 256, PAGE_BYTES = 4096 };

/* How long one attempt to connect may take. While a link is down nobody answers. */
#define CONNECT_TIMEOUT ((DAT_TIMEOUT)2 * 1000 * 1000)
/* The pause between two attempts, in milliseconds. */
enum { PAUSE = 100 };

/* An adapter, and how it is reached. */
struct path {
    struct adapter adapter;
    DAT_CNO_HANDLE cno; /* the events of all three queues */
    int fd;             /* readable when there may be events */
    const char* name;
    const char* host;       /* of the server, at the client */
    struct memory pages;    /* the server's */
    struct memory buffers;  /* of the sessions: questions and answers */
    int established;        /* sessions that are in this state */
    int is_gone;            /* the device has failed: only another dat_ia_open would help */
    int moved;              /* requests that were lost here and have no answer yet */
    int is_left;            /* its loss has been reported, but not yet the end of that */
    unsigned long answered; /* requests */
};

/* A server's session is in doubt when the link has been down since it was established: the client
 * may have left it. */
enum state { AWAITED, CONNECTING, ESTABLISHED, IN_DOUBT };

/* One connection. Its number is the cookie of its transfers and, as private data of the request,
 * tells the server which session of the client this is: a new connection replaces the old one,
 * whose end the server may not notice when a link is down. */
struct session {
    struct path* path;
    DAT_EP_HANDLE ep; /* or DAT_HANDLE_NULL */
    enum state state;
    struct request {
        long page;         /* or NONE */
        struct path* lost; /* the path over which its answer did not come, or NULL */
    } request;
    int completed;     /* transfers of a client's request: its question and its answer */
    long next_attempt; /* in milliseconds */
};

enum { NONE = -1 };

/* Both sides send these: a question has the number of a page, an answer the page. */
struct buffers {
    uint64_t question;
    char answer[PAGE_BYTES];
};

static struct path paths[PATHS];
static struct session sessions[SESSIONS];
static struct buffers buffers[SESSIONS];
static uint64_t pages[PAGES][PAGE_BYTES / sizeof(uint64_t)];
static struct request unanswered[SESSIONS]; /* requests that wait for another session */
static int unanswered_count;
static int is_client, endings;
static unsigned long long port;

__attribute__((format(printf, 2, 3))) static void report(const struct path* path,
                                                         const char* format, ...) {
    va_list values;
    va_start(values, format);
    printf("%s: ", path->name);
    vprintf(format, values);
    printf("\n");
    va_end(values);
    fflush(stdout);
}

static long now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1000 + time.tv_nsec / 1000000;
}

static long number_of(const struct session* session) {
    return session - sessions;
}

/* Events of endpoints that have been freed may still be in a queue: they have no session. */
static struct session* session_of(DAT_EP_HANDLE ep) {
    for (struct session* session = sessions; session < sessions + SESSIONS; ++session)
        if (ep && session->ep == ep) return session;
    return NULL;
}

static DAT_LMR_TRIPLET question_of(const struct session* session) {
    return segment_of(&session->path->buffers,
                      number_of(session) * sizeof *buffers + offsetof(struct buffers, question),
                      sizeof buffers->question);
}

static DAT_LMR_TRIPLET answer_to(const struct session* session) {
    return segment_of(&session->path->buffers,
                      number_of(session) * sizeof *buffers + offsetof(struct buffers, answer),
                      PAGE_BYTES);
}

/* Each endpoint has one receive: the client's for the answer, the server's for a question. */
static void await_message(const struct session* session) {
    post_receive(session->ep, is_client ? answer_to(session) : question_of(session),
                 number_of(session));
}

/* ---- the client's requests */

static struct request next_request(void) {
    static unsigned long count;
    const struct request fresh = {.page = count % PAGES};
    if (unanswered_count > 0) return unanswered[--unanswered_count];
    ++count;
    return fresh;
}

/* A lost connection fails the post; its event follows and moves the request. */
static void ask(struct session* session) {
    if (endings > 0 && unanswered_count == 0) return;
    session->request = next_request();
    session->completed = 0;
    buffers[number_of(session)].question = session->request.page;
    await_message(session);
    try_send(session->ep, question_of(session), number_of(session));
}

static void report_answered(struct path* path) {
    if (!path->is_left || path->moved > 0) return;
    report(path, "these requests have their answers");
    path->is_left = 0;
}

static void on_answer(struct session* session) {
    const struct request request = session->request;
    const uint64_t* page = (const uint64_t*)buffers[number_of(session)].answer;
    if (page[0] != (uint64_t)request.page || page[PAGE_BYTES / sizeof *page - 1] != page[0])
        die("this is not the page that was requested");
    session->request.page = NONE;
    ++session->path->answered;
    if (request.lost) {
        --request.lost->moved;
        report_answered(request.lost);
    }
    ask(session);
}

/* Reading a page twice does no harm, so it does not matter whether the server has answered. */
static void move_request(struct session* session) {
    if (session->request.page == NONE) return;
    if (!session->request.lost) {
        session->request.lost = session->path;
        ++session->path->moved;
    }
    unanswered[unanswered_count++] = session->request;
    session->request.page = NONE;
}

/* Sessions without a request take those that others have lost. */
static void ask_again(void) {
    for (struct session* session = sessions; session < sessions + SESSIONS; ++session)
        if (unanswered_count > 0 && session->state == ESTABLISHED && session->request.page == NONE)
            ask(session);
}

/* ---- the server's answers */

static void end_session(struct session* session);

/* The pages do not change, so they can be sent from where they are. Returns 0 if the connection is
 * not established yet. */
static int answer(const struct session* session, uint64_t page) {
    return try_send(session->ep, segment_of(&session->path->pages, page * PAGE_BYTES, PAGE_BYTES),
                    number_of(session));
}

static void on_question(struct session* session) {
    const uint64_t page = buffers[number_of(session)].question;
    if (page >= PAGES) {
        end_session(session);
        return;
    }
    await_message(session);
    if (answer(session, page))
        ++session->path->answered;
    else
        session->request.page = page;
}

static void answer_early_question(struct session* session) {
    const long page = session->request.page;
    session->request.page = NONE;
    if (page != NONE && answer(session, page)) ++session->path->answered;
}

/* ---- transfers */

static void on_transfer(const DAT_DTO_COMPLETION_EVENT_DATA* done) {
    if (done->status != DAT_DTO_SUCCESS) return; /* the connection ends, as an event reports */
    struct session* session = &sessions[done->user_cookie.as_64];
    if (done->ep_handle != session->ep) return;
    if (!is_client && done->operation == DAT_DTO_RECEIVE) on_question(session);
    /* The memory of the question is free when its send has completed, perhaps after the answer. */
    if (is_client && ++session->completed == 2) on_answer(session);
}

static void take_transfers(const struct path* path) {
    DAT_EVENT event;
    while (next_event(path->adapter.transfers, &event))
        on_transfer(&event.event_data.dto_completion_event_data);
}

/* ---- connections */

static void begin_session(struct session* session) {
    const uint32_t number = htonl(number_of(session));
    if (session->path->is_gone) return;
    session->ep = make_endpoint(&session->path->adapter);
    session->state = CONNECTING;
    begin_connection(session->ep, session->path->host, port, CONNECT_TIMEOUT, &number,
                     sizeof number);
}

/* The endpoint takes its posted receives along, so that the memory is free for the next one. */
static void end_session(struct session* session) {
    const int was_established = session->state == ESTABLISHED;
    if (!session->ep) return;
    TRY(dat_ep_free(session->ep));
    session->ep = DAT_HANDLE_NULL;
    session->state = AWAITED;
    session->next_attempt = now() + PAUSE;
    session->path->established -= was_established;
    if (is_client)
        move_request(session);
    else
        session->request.page = NONE;
}

static void accept_session(struct path* path, DAT_CR_HANDLE request) {
    DAT_CR_PARAM parameters;
    uint32_t number = SESSIONS;
    TRY(dat_cr_query(request, DAT_CR_FIELD_ALL, &parameters));
    if (parameters.private_data_size >= (DAT_COUNT)sizeof number)
        memcpy(&number, parameters.private_data, sizeof number);
    number = ntohl(number);
    if (number >= SESSIONS) {
        TRY(dat_cr_reject(request, 0, NULL));
        return;
    }
    struct session* session = &sessions[number];
    end_session(session);
    session->path = path;
    session->ep = make_endpoint(&path->adapter);
    session->state = CONNECTING;
    await_message(session);
    TRY(dat_cr_accept(request, session->ep, 0, NULL));
}

static void on_established(struct session* session) {
    struct path* path = session->path;
    session->state = ESTABLISHED;
    if (++path->established == PER_PATH) report(path, "%d endpoints are connected", PER_PATH);
    is_client ? ask(session) : answer_early_question(session);
}

static void on_connection_event(struct path* path, const DAT_EVENT* event) {
    if (event->event_number == DAT_CONNECTION_REQUEST_EVENT) {
        accept_session(path, event->event_data.cr_arrival_event_data.cr_handle);
        return;
    }
    struct session* session = session_of(event->event_data.connect_event_data.ep_handle);
    if (!session) return;
    if (event->event_number == DAT_CONNECTION_EVENT_ESTABLISHED)
        on_established(session);
    else
        end_session(session); /* however it has ended: answers that arrived have been dequeued */
}

/* Does not wait for the timers of requests that are under way, which may take a minute. */
static void leave(struct path* path) {
    take_transfers(path);
    for (struct session* session = sessions; session < sessions + SESSIONS; ++session)
        if (session->path == path && session->state == ESTABLISHED) end_session(session);
    report(path, "%d requests go over the other adapter", path->moved);
    path->is_left = 1;
    report_answered(path);
    ask_again();
}

/* A server keeps its endpoints: if the link comes back soon, the client has not noticed. */
static void doubt(struct path* path) {
    for (struct session* session = sessions; session < sessions + SESSIONS; ++session)
        if (session->path == path && session->state == ESTABLISHED) session->state = IN_DOUBT;
    path->established = 0;
}

static void on_error(struct path* path, const DAT_ASYNCH_ERROR_EVENT_DATA* error) {
    path->is_gone = error->reason == DAT_IA_CATASTROPHIC_ERROR;
    report(path, "%s", path->is_gone ? "the device has failed" : "the link is down");
    is_client ? leave(path) : doubt(path);
}

/* ---- the loop */

static void on_trigger(struct path* path) {
    DAT_EVD_HANDLE triggered;
    DAT_EVENT event;
    DAT_RETURN code = dat_cno_trigger(path->cno, &triggered);
    if (DAT_GET_TYPE(code) != DAT_QUEUE_EMPTY) TRY(code);
    while (next_event(path->adapter.errors, &event))
        on_error(path, &event.event_data.asynch_error_event_data);
    take_transfers(path);
    while (next_event(path->adapter.connections, &event)) on_connection_event(path, &event);
    ask_again();
}

static void connect_those_due(void) {
    for (struct session* session = sessions; session < sessions + SESSIONS; ++session)
        if (session->state == AWAITED && session->next_attempt <= now()) begin_session(session);
}

static void open_path(struct path* path, const char* name) {
    const DAT_MEM_PRIV_FLAGS both = DAT_MEM_PRIV_LOCAL_READ_FLAG | DAT_MEM_PRIV_LOCAL_WRITE_FLAG;
    path->name = name;
    open_ia(&path->adapter, name);
    TRY(dat_cno_fd_create(path->adapter.ia, &path->fd, &path->cno));
    TRY(dat_evd_modify_cno(path->adapter.errors, path->cno));
    make_queues(&path->adapter, path->cno);
    path->pages =
        register_memory(&path->adapter, pages, sizeof pages, DAT_MEM_PRIV_LOCAL_READ_FLAG);
    path->buffers = register_memory(&path->adapter, buffers, sizeof buffers, both);
}

/* Sessions of even numbers belong to the first adapter, those of odd ones to the second. */
static void make_sessions(void) {
    for (int i = 0; i < SESSIONS; ++i)
        sessions[i] = (struct session){.path = &paths[i % PATHS], .request = {.page = NONE}};
}

static void fill_pages(void) {
    for (uint64_t page = 0; page < PAGES; ++page)
        for (size_t word = 0; word < PAGE_BYTES / sizeof **pages; ++word) pages[page][word] = page;
}

static int open_signals(void) {
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGINT);
    sigaddset(&signals, SIGTERM);
    /* Must precede the library's threads, which inherit the signal mask. */
    sigprocmask(SIG_BLOCK, &signals, NULL);
    return signalfd(-1, &signals, SFD_CLOEXEC);
}

/* A client ends when all its requests have been answered, or at a second signal. */
static int is_done(void) {
    if (endings != 1) return endings > 1;
    for (int i = 0; is_client && i < SESSIONS; ++i)
        if (sessions[i].request.page != NONE) return 0;
    return unanswered_count == 0;
}

static void run(int signals) {
    struct signalfd_siginfo signal;
    struct pollfd wakers[] = {{.fd = paths[0].fd, .events = POLLIN},
                              {.fd = paths[1].fd, .events = POLLIN},
                              {.fd = signals, .events = POLLIN}};
    while (!is_done()) {
        if (is_client && endings == 0) connect_those_due();
        if (poll(wakers, PATHS + 1, PAUSE) < 0) die("poll");
        for (int i = 0; i < PATHS; ++i)
            if (wakers[i].revents) on_trigger(&paths[i]);
        if (wakers[PATHS].revents && read(signals, &signal, sizeof signal) > 0) ++endings;
    }
}

int main(int argc, char** argv) {
    static const char kUsage[] = "failover (server IA1 IA2 | client IA1 HOST1 IA2 HOST2) PORT";
    is_client = argc == 7 && !strcmp(argv[1], "client");
    if (!is_client && !(argc == 5 && !strcmp(argv[1], "server"))) return usage(kUsage);
    const int signals = open_signals();
    port = strtoull(argv[argc - 1], NULL, 0);
    make_sessions();
    fill_pages();
    for (int i = 0; i < PATHS; ++i) {
        open_path(&paths[i], argv[is_client ? 2 + 2 * i : 2 + i]);
        paths[i].host = argv[3 + 2 * i];
    }
    for (int i = 0; !is_client && i < PATHS; ++i) listen_at(&paths[i].adapter, argv[argc - 1]);
    run(signals);
    for (int i = 0; i < PATHS; ++i) {
        printf("%s: %lu answers\n", paths[i].name, paths[i].answered);
        close_adapter(&paths[i].adapter);
    }
    return 0;
}
