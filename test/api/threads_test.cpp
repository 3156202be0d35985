// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Any call from any thread: eight threads on one endpoint, one EVD and one CNO, for
/// ThreadSanitizer to watch (doc/thread-safety.md says what is promised). Whatever the order, each
/// software event that was posted is consumed once, and each transfer that was posted has one
/// completion.
#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <initializer_list>
#include <vector>

#include "test/api/side.hpp"

namespace {

using namespace test;

constexpr DAT_CONN_QUAL kQualifier = 4714;
constexpr DAT_TIMEOUT kShort = 500;  // microseconds
constexpr int kMessages = 4;         // sends and receives of the server on each connection
constexpr int kQueue = 2048;
constexpr std::size_t kBytes = 64;

int cycles() {
    return scaled(kThreadSanitizer ? 40 : 300);
}

/// Throws unless the code is success or one of these refusals, which another thread's call
/// explains.
void expect_one_of(DAT_RETURN code, std::initializer_list<DAT_RETURN> refusals,
                   const std::string& what) {
    if (code == DAT_SUCCESS) return;
    for (const DAT_RETURN refusal : refusals)
        if (DAT_GET_TYPE(code) == refusal) return;
    succeed(code, what);
}

/// @return whether it was posted; some posts are refused while the EP connects and disconnects.
bool post(DAT_EP_HANDLE ep, const Buffer& buffer, bool receive) {
    DAT_LMR_TRIPLET where = buffer.all();
    const DAT_RETURN code =
        receive ? dat_ep_post_recv(ep, 1, &where, cookie(1), DAT_COMPLETION_DEFAULT_FLAG)
                : dat_ep_post_send(ep, 1, &where, cookie(2), DAT_COMPLETION_DEFAULT_FLAG);
    if (code == DAT_SUCCESS) return true;
    expect_one_of(code, {DAT_INVALID_STATE, DAT_INSUFFICIENT_RESOURCES}, "a post");
    return false;
}

/// Accepts one connection after the other, each with an endpoint of its own that is freed while the
/// peer may still be working.
void serve(Channel& channel) {
    Side side;
    Buffer sent(side, kBytes), received(side, kBytes);
    side.listen(kQualifier);
    channel.send('l');
    for (int cycle = 0; cycle < cycles(); ++cycle) {
        DAT_EP_HANDLE ep = side.endpoint();
        for (int i = 0; i < kMessages; ++i) post(ep, received, true);
        succeed(dat_cr_accept(side.request(), ep, 0, nullptr), "dat_cr_accept");
        side.connection_event(DAT_CONNECTION_EVENT_ESTABLISHED, ep);
        for (int i = 0; i < kMessages; ++i) post(ep, sent, false);
        side.connection_event(DAT_CONNECTION_EVENT_DISCONNECTED, ep);
        succeed(dat_ep_free(ep), "dat_ep_free");
        DAT_EVENT event{};
        for (DAT_EVD_HANDLE evd : {side.sends, side.receives})
            while (dat_evd_dequeue(evd, &event) == DAT_SUCCESS) continue;
    }
    channel.meet();
}

class Crew : public testing::Test {
  protected:
    Crew() : server_(serve), listening_(server_.channel().receive<char>()) {
        evd_ = side_.evd(DAT_EVD_DTO_FLAG | DAT_EVD_SOFTWARE_FLAG, kQueue);
        succeed(dat_cno_create(side_.ia, DAT_OS_WAIT_PROXY_AGENT_NULL, &cno_), "dat_cno_create");
        succeed(dat_ep_create(side_.ia, side_.pz, evd_, evd_, side_.connections, nullptr, &ep_),
                "dat_ep_create");
    }

    /// Starts a thread that repeats `work` until all connections have been made or something has
    /// failed.
    void man(const std::function<void()>& work) {
        threads_.emplace_back([this, work] {
            try {
                // The threads may have to share one processor, where a thread that does not yield
                // keeps the locks from the others.
                for (; !over_; sched_yield()) work();
            } catch (const std::exception& error) {
                ADD_FAILURE() << error.what();
                over_ = true;
            }
        });
    }
    void join() {
        for (Thread& thread : threads_) thread.join();
        threads_.clear();
    }
    void take(const DAT_EVENT& event) {
        if (event.event_number == DAT_SOFTWARE_EVENT)
            ++software_taken_;
        else
            ++transfers_taken_;
    }

    // The work of the threads, each of which repeats its part.
    void post_transfers(bool receive) {
        // Limits the completions that wait: software events are dequeued first, however many come,
        // and each reset of the EP renews its limits.
        if (transfers_posted_ - transfers_taken_ > kQueue / 4) return sched_yield(), void();
        if (post(ep_, receive ? received_ : sent_, receive)) ++transfers_posted_;
    }
    void post_software_event() {
        // Keeps the queue from overflowing: it holds the completions too.
        if (software_posted_ - software_taken_ > kQueue / 2) return sched_yield(), void();
        DAT_EVENT event{};
        event.event_number = DAT_SOFTWARE_EVENT;
        succeed(dat_evd_post_se(evd_, &event), "dat_evd_post_se");
        ++software_posted_;
    }
    void wait() {
        DAT_EVENT event{};
        DAT_COUNT more = 0;
        const DAT_RETURN code = dat_evd_wait(evd_, kShort, 1, &event, &more);
        if (code == DAT_SUCCESS) return take(event);
        expect_one_of(code, {DAT_TIMEOUT_EXPIRED, DAT_INVALID_STATE}, "dat_evd_wait");
    }
    void dequeue() {
        DAT_EVENT event{};
        const DAT_RETURN code = dat_evd_dequeue(evd_, &event);
        if (code == DAT_SUCCESS) return take(event);
        expect_one_of(code, {DAT_QUEUE_EMPTY, DAT_INVALID_STATE}, "dat_evd_dequeue");
        sched_yield();
    }
    void query() {
        DAT_EP_PARAM ep{};
        succeed(dat_ep_query(ep_, DAT_EP_FIELD_ALL, &ep), "dat_ep_query");
        DAT_EVD_PARAM evd{};
        succeed(dat_evd_query(evd_, DAT_EVD_FIELD_ALL, &evd), "dat_evd_query");
        DAT_CNO_PARAM cno{};
        succeed(dat_cno_query(cno_, DAT_CNO_FIELD_ALL, &cno), "dat_cno_query");
        DAT_BOOLEAN requests{};
        DAT_BOOLEAN receives{};
        DAT_EP_STATE state{};
        succeed(dat_ep_get_status(ep_, &state, &receives, &requests), "dat_ep_get_status");
        DAT_IA_ATTR attributes{};
        succeed(dat_ia_query(side_.ia, nullptr, DAT_IA_FIELD_ALL, &attributes, 0, nullptr),
                "dat_ia_query");
        DAT_CONTEXT context{};
        context.as_ptr = this;
        succeed(dat_set_consumer_context(ep_, context), "dat_set_consumer_context");
    }
    void modify() {
        succeed(dat_evd_modify_cno(evd_, cno_), "dat_evd_modify_cno");
        succeed(dat_evd_disable(evd_), "dat_evd_disable");
        succeed(dat_evd_set_unwaitable(evd_), "dat_evd_set_unwaitable");
        // Refused while a thread waits, or when the EVD holds more events than the new length.
        expect_one_of(dat_evd_resize(evd_, kQueue + 8 * (++changes_ % 64)), {DAT_INVALID_STATE},
                      "dat_evd_resize");
        succeed(dat_evd_clear_unwaitable(evd_), "dat_evd_clear_unwaitable");
        succeed(dat_evd_enable(evd_), "dat_evd_enable");
        DAT_EP_PARAM wanted{};
        wanted.ep_attr.max_rdma_size = 4096 + changes_ % 64;
        expect_one_of(dat_ep_modify(ep_, DAT_EP_FIELD_EP_ATTR_MAX_RDMA_SIZE, &wanted),
                      {DAT_INVALID_STATE}, "dat_ep_modify");
        if (changes_ % 4 == 0)
            succeed(dat_evd_modify_cno(evd_, DAT_HANDLE_NULL), "dat_evd_modify_cno to none");
    }
    void wait_for_notification() {
        DAT_EVD_HANDLE told = DAT_HANDLE_NULL;
        const DAT_RETURN code = dat_cno_wait(cno_, kShort, &told);
        expect_one_of(code, {DAT_QUEUE_EMPTY, DAT_TIMEOUT_EXPIRED}, "dat_cno_wait");
        require(code != DAT_SUCCESS || told == evd_ || told == DAT_HANDLE_NULL,
                "by the EVD that is attached, or by its going");
        DAT_OS_WAIT_PROXY_AGENT agent{};
        agent.instance_data = &notified_;
        agent.proxy_agent_func = [](DAT_PVOID counter, DAT_EVD_HANDLE) {
            ++*static_cast<std::atomic<int>*>(counter);
        };
        succeed(dat_cno_modify_agent(cno_, agent), "dat_cno_modify_agent");
    }
    void connect_and_end() {
        succeed(Side::connect(ep_, kQualifier), "dat_ep_connect");
        side_.connection_event(DAT_CONNECTION_EVENT_ESTABLISHED, ep_);
        for (int i = 0; i < 20; ++i) sched_yield();
        succeed(dat_ep_disconnect(ep_, DAT_CLOSE_ABRUPT_FLAG), "dat_ep_disconnect");
        side_.connection_event(DAT_CONNECTION_EVENT_DISCONNECTED, ep_);
        succeed(dat_ep_reset(ep_), "dat_ep_reset");
        if (++connections_ == cycles()) over_ = true;
    }

    TemporaryFabric fabric_;
    Child server_;
    const char listening_;
    Side side_;
    Buffer sent_{side_, kBytes};
    Buffer received_{side_, kBytes};
    DAT_EVD_HANDLE evd_ = DAT_HANDLE_NULL;
    DAT_CNO_HANDLE cno_ = DAT_HANDLE_NULL;
    DAT_EP_HANDLE ep_ = DAT_HANDLE_NULL;
    std::vector<Thread> threads_;
    std::atomic<bool> over_{false};
    std::atomic<long> transfers_posted_{0}, transfers_taken_{0};
    std::atomic<long> software_posted_{0}, software_taken_{0};
    std::atomic<int> notified_{0};
    int changes_ = 0;
    int connections_ = 0;
};

TEST_F(Crew, eight_threads_use_one_endpoint_one_evd_and_one_cno_and_nothing_is_lost) {
    man([&] { post_transfers(true); });
    man([&] { post_transfers(false), post_software_event(); });
    man([&] { wait(); });
    man([&] { dequeue(); });
    man([&] { query(); });
    man([&] { modify(); });
    man([&] { wait_for_notification(); });
    man([&] { connect_and_end(); });
    join();
    EXPECT_EQ(connections_, cycles());
    server_.channel().meet();
    DAT_EVENT event{};
    while (dat_evd_dequeue(evd_, &event) == DAT_SUCCESS) take(event);
    // Receives posted after the last reset may still wait for a connection.
    DAT_EP_STATE state{};
    DAT_BOOLEAN receives{};
    succeed(dat_ep_get_status(ep_, &state, &receives, nullptr), "dat_ep_get_status");
    EXPECT_EQ(state, DAT_EP_STATE_UNCONNECTED);
    EXPECT_EQ(transfers_taken_ + static_cast<long>(receives), transfers_posted_);
    EXPECT_EQ(software_taken_, software_posted_);
    EXPECT_GT(notified_, 0);
    EXPECT_EQ(server_.wait(), 0);
}

}  // namespace
