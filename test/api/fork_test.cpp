// SPDX-License-Identifier: BSD-2-Clause
// A forked child has none of its parent's objects and starts afresh, and the parent is not
// affected.
#include <gtest/gtest.h>
#include <signal.h>

#include <atomic>
#include <functional>
#include <vector>

#include "test/api/leaks_of_children.hpp"
#include "test/api/side.hpp"
#include "test/support/sanitizer.hpp"

namespace {

using namespace test;

constexpr DAT_CONN_QUAL kServer = 4730;
constexpr DAT_CONN_QUAL kWorker = 4740;
constexpr int kWorkers = 3;

DAT_DTO_COOKIE no_cookie() {
    DAT_DTO_COOKIE cookie{};
    return cookie;
}

void send(const Side& side, DAT_EP_HANDLE ep, Buffer& buffer, const std::string& text) {
    std::copy(text.begin(), text.end(), buffer.bytes.begin());
    DAT_LMR_TRIPLET segment = buffer.all();
    segment.segment_length = static_cast<DAT_SEG_LENGTH>(text.size());
    succeed(dat_ep_post_send(ep, 1, &segment, no_cookie(), DAT_COMPLETION_DEFAULT_FLAG),
            "dat_ep_post_send");
    const DAT_EVENT event = Side::wait(side.sends, DAT_DTO_COMPLETION_EVENT);
    require(event.event_data.dto_completion_event_data.status == DAT_DTO_SUCCESS, "sent");
}
void post_receive(DAT_EP_HANDLE ep, const Buffer& buffer) {
    DAT_LMR_TRIPLET segment = buffer.all();
    succeed(dat_ep_post_recv(ep, 1, &segment, no_cookie(), DAT_COMPLETION_DEFAULT_FLAG),
            "dat_ep_post_recv");
}
std::string received(const Side& side, const Buffer& buffer) {
    const DAT_EVENT event = Side::wait(side.receives, DAT_DTO_COMPLETION_EVENT);
    const auto& dto = event.event_data.dto_completion_event_data;
    require(dto.status == DAT_DTO_SUCCESS, "received");
    return buffer.bytes.substr(0, dto.transfered_length);
}

/// Answers each message with the same text in brackets. @param ready called when the first message
/// may come: iWARP ends a connection whose message finds no receive posted.
void answer(
    const Side& side, DAT_EP_HANDLE ep, int messages, const std::function<void()>& ready = [] {}) {
    Buffer in(side);
    Buffer out(side);
    post_receive(ep, in);
    ready();
    for (int i = 1; i <= messages; ++i) {
        const std::string text = received(side, in);
        if (i < messages) post_receive(ep, in);
        send(side, ep, out, '[' + text + ']');
    }
}
void ask(const Side& side, DAT_EP_HANDLE ep, const std::string& text) {
    Buffer in(side);
    Buffer out(side);
    post_receive(ep, in);
    send(side, ep, out, text);
    require(received(side, in) == '[' + text + ']', "the answer");
}

/// A client of the process that serves a qualifier: asks a question each time it is told to.
void be_client(Channel& channel) {
    const auto qualifier = channel.receive<DAT_CONN_QUAL>();
    const Side side;
    const DAT_EP_HANDLE ep = side.connect_to(qualifier);
    channel.send('c');
    while (channel.receive<char>() == 'a') {
        ask(side, ep, "question");
        channel.send('d');
    }
    succeed(dat_ep_disconnect(ep, DAT_CLOSE_ABRUPT_FLAG), "dat_ep_disconnect");
}

class Fork : public testing::Test {
  protected:
    void SetUp() override {
        if (kThreadSanitizer) GTEST_SKIP() << "it allows no threads after a fork";
    }
    /// Has the client ask one question, which the parent answers.
    static void exchange(const Side& side, DAT_EP_HANDLE ep, Child& client) {
        answer(side, ep, 1, [&client] { client.channel().send('a'); });
        client.channel().receive<char>();
    }
    TemporaryFabric fabric;
};

/// An adapter instance with objects of most kinds, and a client.
struct Server {
    Server() {
        psp = side.listen(kServer);
        client.channel().send(kServer);
        ep = side.accept_next();
        client.channel().receive<char>();
        succeed(dat_cno_create(side.ia, DAT_OS_WAIT_PROXY_AGENT_NULL, &cno), "dat_cno_create");
    }

    Child client{be_client};  // forked before anything is open
    Side side;
    Buffer buffer{side};
    DAT_PSP_HANDLE psp;
    DAT_EP_HANDLE ep;
    DAT_CNO_HANDLE cno = DAT_HANDLE_NULL;
};

void expect_all_dead(const Server& server) {
    DAT_LMR_TRIPLET segment = server.buffer.all();
    DAT_EVENT event;
    DAT_COUNT more;
    DAT_CONTEXT context;
    DAT_EP_HANDLE ep;
    DAT_EVD_HANDLE evd;
    const Side& side = server.side;
    const auto is_dead = [](DAT_RETURN code, const char* what) {
        require(DAT_GET_TYPE(code) == DAT_INVALID_HANDLE, what);
    };
    is_dead(dat_ep_post_send(server.ep, 1, &segment, no_cookie(), DAT_COMPLETION_DEFAULT_FLAG),
            "post_send");
    is_dead(dat_ep_disconnect(server.ep, DAT_CLOSE_ABRUPT_FLAG), "ep_disconnect");
    is_dead(dat_ep_free(server.ep), "ep_free");
    is_dead(dat_evd_wait(side.receives, 1000, 1, &event, &more), "evd_wait");
    is_dead(dat_evd_dequeue(side.async, &event), "evd_dequeue");
    is_dead(dat_evd_free(side.connections), "evd_free");
    is_dead(dat_cno_wait(server.cno, 1000, &evd), "cno_wait");
    is_dead(dat_lmr_free(server.buffer.lmr), "lmr_free");
    is_dead(dat_psp_free(server.psp), "psp_free");
    is_dead(dat_pz_free(side.pz), "pz_free");
    is_dead(dat_get_consumer_context(server.ep, &context), "get_consumer_context");
    is_dead(
        dat_ep_create(side.ia, side.pz, side.receives, side.sends, side.connections, nullptr, &ep),
        "ep_create");
    is_dead(dat_ia_query(side.ia, nullptr, 0, nullptr, 0, nullptr), "ia_query");
    is_dead(dat_ia_close(side.ia, DAT_CLOSE_ABRUPT_FLAG), "ia_close");
}

/// Expects one message, about the first call with a handle from before the fork.
void expect_told_of_use_after_fork(const std::string& told) {
    require(told.find("dat_ep_post_send") != std::string::npos, "the call is named: " + told);
    require(told.find("created before fork()") != std::string::npos, "and the cause: " + told);
    const std::size_t id = told.find("[DAT011]");
    require(id != std::string::npos, "with the message's id: " + told);
    require(told.find("[DAT", id + 1) == std::string::npos, "once: " + told);
}

TEST_F(Fork, AWorkerKnowsNoneOfItsParentsHandlesIsToldSoOnceAndBeginsAnew) {
    Server server;
    Child worker([&](Channel&) {
        expect_told_of_use_after_fork(captured_stderr([&] { expect_all_dead(server); }));
        const Side mine;
        require(mine.ia == server.side.ia, "the first adapter instance of a process is number 1");
        mine.listen(kWorker);
        const DAT_EP_HANDLE ep = mine.endpoint();
        succeed(Side::connect(ep, kWorker), "dat_ep_connect");
        const DAT_EP_HANDLE passive = mine.endpoint();
        succeed(dat_cr_accept(mine.request(), passive, 0, nullptr), "dat_cr_accept");
        for (int i = 0; i < 2; ++i) Side::wait(mine.connections, DAT_CONNECTION_EVENT_ESTABLISHED);
    });
    EXPECT_EQ(worker.wait(), 0);
    exchange(server.side, server.ep, server.client);
    server.client.channel().send('e');
    EXPECT_EQ(server.client.wait(), 0);
}

TEST_F(Fork, AnAdapterInstanceOfTheParentsIsToldToBeFromBeforeTheFork) {
    const Side side;
    Child child([&](Channel&) {
        const std::string told = captured_stderr([&] {
            for (int twice = 0; twice < 2; ++twice) {
                DAT_PZ_HANDLE pz;
                expect_code(dat_pz_create(side.ia, &pz), 0x8005000B, "dat_pz_create");
            }
            DAT_PZ_HANDLE pz;
            expect_code(dat_pz_create(DAT_HANDLE_NULL, &pz), 0x8005000B, "of no IA");
        });
        require(told.find("dat_pz_create returns") != std::string::npos &&
                    told.find("created before fork()") != std::string::npos,
                "the call and the cause are told: " + told);
    });
    EXPECT_EQ(child.wait(), 0);
}

TEST_F(Fork, ABadHandleOfTheChildsOwnIsNotTakenForOneFromBeforeTheFork) {
    Child child([](Channel&) {
        const Side side;
        const std::string told = captured_stderr([&] {
            DAT_PZ_HANDLE pz;
            for (DAT_HANDLE bad : {DAT_HANDLE_NULL, reinterpret_cast<DAT_HANDLE>(77)})
                expect_code(dat_pz_create(bad, &pz), 0x8005000B, "dat_pz_create");
        });
        require(told.empty(), "nothing is told: " + told);
    });
    EXPECT_EQ(child.wait(), 0);
}

TEST_F(Fork, APreForkingServersWorkersServeClientsOfTheirOwnWhileTheParentServesIts) {
    Child clients[kWorkers]{Child(be_client), Child(be_client), Child(be_client)};
    Server server;
    std::vector<std::unique_ptr<Child>> workers;
    for (int i = 0; i < kWorkers; ++i)
        workers.push_back(std::make_unique<Child>([i](Channel& channel) {
            const Side side;
            side.listen(kWorker + i);
            channel.send('l');
            answer(side, side.accept_next(), 5);
            channel.receive<char>();
        }));
    for (int i = 0; i < kWorkers; ++i) {
        workers[i]->channel().receive<char>();
        clients[i].channel().send(kWorker + i);
        clients[i].channel().receive<char>();
    }
    for (int round = 0; round < 5; ++round) {
        for (Child& client : clients) client.channel().send('a');
        exchange(server.side, server.ep, server.client);
        for (Child& client : clients) client.channel().receive<char>();
    }
    for (const auto& worker : workers) worker->channel().send('e');
    for (const auto& worker : workers) EXPECT_EQ(worker->wait(), 0);
    for (Child& client : clients) {
        client.channel().send('e');
        EXPECT_EQ(client.wait(), 0);
    }
    exchange(server.side, server.ep, server.client);
    server.client.channel().send('e');
    EXPECT_EQ(server.client.wait(), 0);
}

/// Forks a child that ends itself by `end`. @return its exit status; -1 if it did not exit in time.
int status_of_child(void (*end)()) {
    fflush(nullptr);
    const pid_t child = fork();
    if (child == 0) {
        end();
        _exit(99);
    }
    int status = 0;
    const bool ended = eventually([&] { return waitpid(child, &status, WNOHANG) == child; });
    if (!ended) kill(child, SIGKILL);
    return ended && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST_F(Fork, AChildThatEndsTakesNothingOfItsParentsAway) {
    Server server;
    const auto serves = [&] {
        exchange(server.side, server.ep, server.client);
        const DAT_EP_HANDLE own = server.side.endpoint();  // checks that the listener still accepts
        succeed(Side::connect(own, kServer), "dat_ep_connect");
        const DAT_EP_HANDLE passive = server.side.endpoint();
        succeed(dat_cr_accept(server.side.request(), passive, 0, nullptr), "dat_cr_accept");
        for (int i = 0; i < 2; ++i)
            Side::wait(server.side.connections, DAT_CONNECTION_EVENT_ESTABLISHED);
    };
    EXPECT_EQ(status_of_child([] { exit(0); }), 0) << "exit";
    serves();
    EXPECT_EQ(status_of_child([] { _exit(0); }), 0) << "_exit";
    serves();
    EXPECT_EQ(status_of_child([] {
                  static Side* const left_open = new Side;
                  exit(left_open ? 0 : 1);
              }),
              0)
        << "exit with an adapter instance of its own open";
    serves();
    EXPECT_EQ(status_of_child([] {
                  Side closed;
                  closed.close();
                  exit(0);
              }),
              0)
        << "exit after closing its own";
    serves();
    server.client.channel().send('e');
    EXPECT_EQ(server.client.wait(), 0);
}

/// An IA that cannot be opened, which takes no name service to find: the C library's resolver has a
/// lock that a fork leaves held in the child if another thread is resolving a name.
DAT_RETURN open_unknown_ia() {
    char name[] = "no-such-address";
    DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
    DAT_IA_HANDLE ia;
    return dat_ia_open(name, 8, &async, &ia);
}

TEST_F(Fork, OfAProcessWhoseThreadsOpenAndCloseAndReportLeavesTheChildWorking) {
    if (kAddressSanitizer) GTEST_SKIP() << "its allocator's locks stay held in the child";
    std::atomic<bool> stop{false};
    std::string told = captured_stderr([&] {
        std::vector<Thread> threads;
        for (int i = 0; i < 2; ++i)
            threads.emplace_back([&] {
                while (!stop) Side();
            });
        threads.emplace_back([&] {
            while (!stop) open_unknown_ia();
        });
        for (int i = 0; i < scaled(20); ++i) {
            Child child([](Channel&) {
                Side side;
                side.listen(kWorker);
                require(open_unknown_ia() != DAT_SUCCESS, "there is none");
                side.close();
            });
            EXPECT_EQ(child.wait(), 0) << "child " << i;
        }
        stop = true;
        for (Thread& thread : threads) thread.join();
    });
    EXPECT_EQ(told.find("child "), std::string::npos) << told.substr(0, 2000);
}

TEST_F(Fork, AfterTheLastCloseHasUnloadedTheProviderLeavesBothWorking) {
    for (int i = 0; i < 2; ++i) {
        Side().close();
        Child child([](Channel&) { Side().close(); });
        EXPECT_EQ(child.wait(), 0);
    }
    EXPECT_EQ(status_of_child([] { exit(0); }), 0);
    Side().close();
}

TEST_F(Fork, AServersDeathIsSeenAlthoughItsChildLivesOn) {
    int gate[2];
    ASSERT_EQ(pipe(gate), 0);
    Child server([&](Channel& channel) {
        const Side side;
        side.listen(kServer);
        const Child idle([&](Channel&) {  // has copies of the server's descriptors, and outlives it
            prctl(PR_SET_PDEATHSIG, 0);
            close(gate[1]);
            char nothing;
            require(read(gate[0], &nothing, 1) == 0, "the test ends");
        });
        close(gate[1]);
        channel.send('l');
        side.accept_next();
        channel.send(idle.pid());
        channel.receive<char>();
    });
    close(gate[0]);
    server.channel().receive<char>();
    const Side side;
    const DAT_EP_HANDLE ep = side.connect_to(kServer);
    const auto idle = server.channel().receive<pid_t>();
    server.kill();
    side.connection_event(DAT_CONNECTION_EVENT_DISCONNECTED, ep);
    const DAT_EP_HANDLE again = side.endpoint();
    succeed(Side::connect(again, kServer), "dat_ep_connect");
    side.connection_event(DAT_CONNECTION_EVENT_NON_PEER_REJECTED, again);
    char state = 0;
    if (FILE* file = fopen(("/proc/" + std::to_string(idle) + "/stat").c_str(), "r")) {
        EXPECT_EQ(fscanf(file, "%*d (%*[^)]) %c", &state), 1);
        fclose(file);
    }
    EXPECT_TRUE(state == 'S' || state == 'R') << "the child was there all the time";
    close(gate[1]);
}

}  // namespace
