// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The socket through which dat_stat asks a process: which process has one, who may use it, when it
/// is removed, and that no client blocks the process.
#include <gtest/gtest.h>

#include <dat2/udat.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <atomic>
#include <nlohmann/json.hpp>
#include <vector>

#include "test/api/side.hpp"
#include "test/api/status_client.hpp"

namespace test {
namespace {

using nlohmann::json;

/// Each test has a socket directory of its own.
class Status : public testing::Test {
  protected:
    std::vector<std::string> sockets_of(pid_t pid) const { return status_sockets(directory, pid); }
    std::string socket_of(pid_t pid) const {
        const auto found = sockets_of(pid);
        if (found.size() != 1) throw std::runtime_error("there is not one socket");
        return found.front();
    }
    json ask(pid_t pid) const { return ask_status(socket_of(pid)); }

    TemporaryFabric fabric;
    const std::string directory = fabric.path() + "/status";
    const Setting on{"OPENDAT_STATUS", "on"};
    const Setting there{"OPENDAT_STATUS_DIRECTORY", directory};
};

TEST_F(Status, is_off_unless_it_is_asked_for) {
    for (const char* value : {"", "0", "no", "off"}) {
        setenv("OPENDAT_STATUS", value, 1);
        const Side side;
        EXPECT_FALSE(std::filesystem::exists(directory)) << value;
    }
}

TEST_F(Status, has_one_socket_with_mode_0600_from_the_first_open_to_the_last_close) {
    {
        Side first;
        Side second;
        struct stat status;
        ASSERT_EQ(stat(socket_of(getpid()).c_str(), &status), 0);
        EXPECT_EQ(status.st_mode & 07777, 0600u);
        ASSERT_EQ(stat(directory.c_str(), &status), 0);
        EXPECT_EQ(status.st_mode & 07777, 0700u);
        EXPECT_EQ(ask(getpid())["ias"].size(), 2u);
        first.close();
        EXPECT_EQ(ask(getpid())["ias"].size(), 1u);
    }
    EXPECT_TRUE(sockets_of(getpid()).empty());
    const Side again;
    EXPECT_EQ(ask(getpid())["ias"].size(), 1u);
}

TEST_F(Status, a_directory_that_others_may_enter_is_refused_and_the_adapter_opens_without) {
    std::filesystem::create_directory(directory);
    ASSERT_EQ(chmod(directory.c_str(), 0755), 0);
    const std::string told = captured_stderr([] { Side(); });
    EXPECT_NE(told.find("[DAT106]"), std::string::npos) << told;
    EXPECT_NE(told.find("other users have access to it (mode 0755)"), std::string::npos) << told;
    EXPECT_TRUE(std::filesystem::is_empty(directory));
}

TEST_F(Status, a_directory_of_another_user_is_refused) {
    if (geteuid() != 0) GTEST_SKIP() << "only root can give a directory away";
    std::filesystem::create_directory(directory);
    ASSERT_EQ(chmod(directory.c_str(), 0700), 0);
    ASSERT_EQ(chown(directory.c_str(), 65534, 65534), 0);
    const std::string told = captured_stderr([] { Side(); });
    EXPECT_NE(told.find("it belongs to user 65534, not to 0"), std::string::npos) << told;
}

TEST_F(Status, another_user_who_gets_at_the_socket_is_sent_away_without_an_answer) {
    if (geteuid() != 0) GTEST_SKIP() << "only root can become another user";
    const Side side;
    const std::string path = socket_of(getpid());
    // As if somebody had loosened the permissions by hand.
    ASSERT_EQ(chmod(fabric.path().c_str(), 0755), 0);
    ASSERT_EQ(chmod(directory.c_str(), 0755), 0);
    ASSERT_EQ(chmod(path.c_str(), 0777), 0);
    Child stranger([&](Channel&) {
        require(setgid(65534) == 0 && setuid(65534) == 0, "another user");
        const Socket socket(path);
        require(socket.error == 0, "connected");
        socket.say("status\n");
        require(socket.rest().empty(), "no answer");
    });
    EXPECT_EQ(stranger.wait(), 0);
    EXPECT_EQ(ask(getpid())["ias"].size(), 1u);
}

TEST_F(Status, tells_what_is_posted_and_which_work_is_the_oldest) {
    const Side side;
    Buffer buffer(side);
    const DAT_EP_HANDLE ep = side.endpoint();
    DAT_LMR_TRIPLET all = buffer.all();
    for (DAT_UINT64 value = 0x41; value < 0x44; ++value)
        succeed(dat_ep_post_recv(ep, 1, &all, cookie(value), DAT_COMPLETION_DEFAULT_FLAG),
                "dat_ep_post_recv");
    const json ia = ask(getpid())["ias"][0];
    EXPECT_EQ(ia["name"], ia_name());
    EXPECT_EQ(ia["lmrs"], 1);
    EXPECT_EQ(ia["lmr_bytes"], buffer.bytes.size());
    EXPECT_EQ(ia["pzs"], 1);
    EXPECT_EQ(ia["evds"].size(), 5u);
    const json& told = ia["eps"][0];
    EXPECT_EQ(told["state"], "UNCONNECTED");
    EXPECT_EQ(told["requests"]["posted"], 0);
    EXPECT_EQ(told["requests"]["oldest"], nullptr);
    EXPECT_EQ(told["receives"]["posted"], 3);
    EXPECT_EQ(told["receives"]["oldest"]["cookie"], "0x41");
    EXPECT_EQ(told["receives"]["oldest"]["operation"], "receive");
    EXPECT_EQ(told["counters"]["DCNT_EP_POST_RECV"], 3);
}

TEST_F(Status, tells_of_waiters_events_service_points_and_notification_objects) {
    const Side side;
    DAT_CNO_HANDLE cno = DAT_HANDLE_NULL;
    succeed(dat_cno_create(side.ia, DAT_OS_WAIT_PROXY_AGENT_NULL, &cno), "dat_cno_create");
    DAT_EVD_HANDLE software = DAT_HANDLE_NULL;
    succeed(dat_evd_create(side.ia, 16, cno, DAT_EVD_SOFTWARE_FLAG, &software), "dat_evd_create");
    const DAT_EVD_HANDLE waited = side.evd(DAT_EVD_SOFTWARE_FLAG, 16);
    DAT_EVENT event{};
    event.event_number = DAT_SOFTWARE_EVENT;
    succeed(dat_evd_post_se(software, &event), "dat_evd_post_se");
    side.listen(4711);
    Thread waiter([&] {
        DAT_EVENT taken;
        DAT_COUNT more;
        dat_evd_wait(waited, DAT_TIMEOUT_INFINITE, 1, &taken, &more);
    });
    json ia;
    EXPECT_TRUE(eventually([&] {
        ia = ask(getpid())["ias"][0];
        return std::any_of(ia["evds"].begin(), ia["evds"].end(),
                           [](const json& evd) { return evd["waiter"] == true; });
    }));
    EXPECT_TRUE(std::any_of(ia["evds"].begin(), ia["evds"].end(), [&](const json& evd) {
        return evd["waiting"] == 1 && evd["cno"] == ia["cnos"][0]["id"] &&
               evd["streams"] == json{"software"};
    }));
    EXPECT_EQ(ia["cnos"][0]["evds"], 1);
    EXPECT_EQ(ia["cnos"][0]["triggered"], true);
    ASSERT_EQ(ia["service_points"].size(), 1u);
    EXPECT_EQ(ia["service_points"][0]["kind"], "PSP");
    EXPECT_EQ(ia["service_points"][0]["conn_qual"], 4711);
    EXPECT_FALSE(ia["service_points"][0]["id"].get<std::string>().empty());
    succeed(dat_evd_post_se(waited, &event), "dat_evd_post_se");
    waiter.join();
}

TEST_F(Status, clients_that_never_read_or_never_ask_do_not_hold_the_process_or_others_up) {
    const Side side;
    std::vector<DAT_EP_HANDLE> eps;
    // So many that the answer exceeds a socket's buffer.
    for (int i = 0; i < 300; ++i) eps.push_back(side.endpoint());
    const std::string path = socket_of(getpid());
    std::vector<std::unique_ptr<Socket>> idle;
    for (int i = 0; i < 40; ++i) {
        idle.push_back(std::make_unique<Socket>(path));
        ASSERT_EQ(idle.back()->error, 0);
        if (i % 2 == 0) idle.back()->say("status\n");
    }
    EXPECT_EQ(ask(getpid())["ias"][0]["eps"].size(), 300u);
    for (const DAT_EP_HANDLE ep : eps) succeed(dat_ep_free(ep), "dat_ep_free");
    EXPECT_EQ(ask(getpid())["ias"][0]["eps"].size(), 0u);
}

/// Sends `count` messages between two endpoints of this process.
void exchange(const Side& side, DAT_EP_HANDLE from, DAT_EP_HANDLE to, int count) {
    Buffer buffer(side);
    DAT_LMR_TRIPLET all = buffer.all();
    for (int i = 0; i < count; ++i) {
        succeed(dat_ep_post_recv(to, 1, &all, cookie(1), DAT_COMPLETION_DEFAULT_FLAG),
                "dat_ep_post_recv");
        succeed(dat_ep_post_send(from, 1, &all, cookie(2), DAT_COMPLETION_DEFAULT_FLAG),
                "dat_ep_post_send");
        Side::wait(side.receives, DAT_DTO_COMPLETION_EVENT);
        Side::wait(side.sends, DAT_DTO_COMPLETION_EVENT);
    }
}

TEST_F(Status, may_be_asked_all_the_time_while_threads_transfer_make_and_end_everything) {
    const Side side;
    side.listen(4711);
    const DAT_EP_HANDLE from = side.endpoint();
    const DAT_EP_HANDLE to = side.endpoint();
    succeed(Side::connect(from, 4711), "dat_ep_connect");
    succeed(dat_cr_accept(side.request(), to, 0, nullptr), "dat_cr_accept");
    for (int ends = 0; ends < 2; ++ends)
        Side::wait(side.connections, DAT_CONNECTION_EVENT_ESTABLISHED);
    std::atomic<bool> done{false};
    Thread transferring([&] { exchange(side, from, to, scaled(300)); });
    Thread making([&] {
        for (int i = 0; i < scaled(20); ++i) {
            const Side other;
            Buffer buffer(other);
            DAT_LMR_TRIPLET all = buffer.all();
            const DAT_EP_HANDLE ep = other.endpoint();
            succeed(dat_ep_post_recv(ep, 1, &all, cookie(3), DAT_COMPLETION_DEFAULT_FLAG),
                    "dat_ep_post_recv");
            DAT_CNO_HANDLE cno = DAT_HANDLE_NULL;
            succeed(dat_cno_create(other.ia, DAT_OS_WAIT_PROXY_AGENT_NULL, &cno), "dat_cno_create");
            succeed(dat_evd_modify_cno(other.requests, cno), "dat_evd_modify_cno");
            DAT_SRQ_ATTR size{};
            size.max_recv_dtos = 4;
            size.max_recv_iov = 1;
            DAT_SRQ_HANDLE srq = DAT_HANDLE_NULL;
            succeed(dat_srq_create(other.ia, other.pz, &size, &srq), "dat_srq_create");
            succeed(dat_srq_post_recv(srq, 1, &all, cookie(4)), "dat_srq_post_recv");
            const DAT_PSP_HANDLE psp = other.listen(4712);
            succeed(dat_psp_free(psp), "dat_psp_free");
            succeed(dat_evd_modify_cno(other.requests, DAT_HANDLE_NULL), "dat_evd_modify_cno");
            succeed(dat_cno_free(cno), "dat_cno_free");
            succeed(dat_srq_free(srq), "dat_srq_free");
            succeed(dat_ep_free(ep), "dat_ep_free");
        }
    });
    Thread asking([&] {
        while (!done) {
            const json answer = ask(getpid());
            EXPECT_TRUE(answer["busy"] || !answer["ias"].empty());
        }
    });
    transferring.join();
    making.join();
    done = true;
    asking.join();
    EXPECT_EQ(ask(getpid())["ias"].size(), 1u);
}

TEST_F(Status, what_is_no_request_is_not_answered) {
    const Side side;
    const std::string path = socket_of(getpid());
    const Socket unknown(path);
    unknown.say("registry\n");
    EXPECT_EQ(unknown.rest(), "0\n");
    for (const std::string& text : {std::string(1000, 'x'), std::string("status\nstatus"),
                                    std::string("status\n\nx"), std::string(70, 's') + "\n"}) {
        const Socket socket(path);
        socket.say(text);
        EXPECT_EQ(socket.rest(), "") << text;
    }
    EXPECT_EQ(ask(getpid())["ias"].size(), 1u);
}

TEST_F(Status, a_request_in_pieces_is_answered) {
    const Side side;
    const Socket socket(socket_of(getpid()));
    for (const char* part : {"sta", "tu", "s", "\n"}) {
        socket.say(part);
        usleep(1000);
    }
    EXPECT_NE(socket.rest().find("\"opendat_status\":1"), std::string::npos);
}

TEST_F(Status, a_forked_child_has_no_socket_of_its_parent_and_gets_its_own) {
    if (kThreadSanitizer) GTEST_SKIP() << "threads after fork cannot be followed";
    const Side side;
    const pid_t parent = getpid();
    Child child([&](Channel& channel) {
        for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
            std::error_code gone;
            const std::string what = std::filesystem::read_symlink(entry.path(), gone);
            require(!what.starts_with("anon_inode:[timerfd]"), "no timer of the parent's");
        }
        require(sockets_of(getpid()).empty(), "no socket before an open");
        {
            const Side own;
            require(ask(getpid())["pid"] == getpid(), "its own answer");
            require(ask(parent)["pid"] == parent, "the parent's answer");
        }
        require(sockets_of(getpid()).empty(), "no socket after the close");
        channel.meet();
    });
    child.channel().meet();
    EXPECT_EQ(child.wait(), 0);
    EXPECT_EQ(ask(getpid())["pid"], getpid());
}

/// The process opens an adapter instance, forks a child and is killed: the child must not keep the
/// socket alive.
TEST_F(Status, the_socket_of_a_killed_process_is_dead_and_removed_by_the_next_one) {
    if (kThreadSanitizer) GTEST_SKIP() << "threads after fork cannot be followed";
    Child victim([&](Channel& channel) {
        const Side side;
        // Sent by the grandchild itself, so that its fork handlers, which close the socket, have
        // run.
        if (fork() == 0) channel.send(getpid());
        pause();
    });
    const auto grandchild = victim.channel().receive<pid_t>();
    const pid_t pid = victim.pid();
    const std::string path = socket_of(pid);
    EXPECT_EQ(Socket(path).error, 0);
    victim.kill();
    EXPECT_EQ(victim.wait(), 128 + SIGKILL);
    EXPECT_EQ(Socket(path).error, ECONNREFUSED);
    const Side next;
    EXPECT_TRUE(sockets_of(pid).empty());
    EXPECT_EQ(sockets_of(getpid()).size(), 1u);
    ::kill(grandchild, SIGKILL);
}

}  // namespace
}  // namespace test
