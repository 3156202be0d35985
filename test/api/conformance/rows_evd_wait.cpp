// SPDX-License-Identifier: BSD-2-Clause
// dat_evd_wait and dat_evd_dequeue: empty queues, thresholds, the one-waiter rule, waking.
#include <pthread.h>
#include <signal.h>

#include <thread>

#include "test/api/conformance/row.hpp"
#include "test/api/conformance/states.hpp"

namespace conformance {
namespace {

struct Wait {
    DAT_EVENT event{};
    DAT_COUNT more = -9;
    DAT_RETURN operator()(DAT_EVD_HANDLE evd, DAT_TIMEOUT timeout = 0, DAT_COUNT threshold = 1) {
        return dat_evd_wait(evd, timeout, threshold, &event, &more);
    }
};

DAT_EVD_HANDLE made(Rig& r, int flags, bool with_cno) {
    DAT_EVD_HANDLE evd = DAT_HANDLE_NULL;
    succeed(dat_evd_create(r.ia(), 8, with_cno ? r.cno() : DAT_HANDLE_NULL,
                           static_cast<DAT_EVD_FLAGS>(flags), &evd),
            "dat_evd_create");
    return evd;
}

/// Rows for the codes of dequeue, of a wait with timeout 0 and of one with 2 ms on an empty EVD of
/// these streams.
Row empty(const char* streams, int flags, bool with_cno, const char* dequeue, const char* wait) {
    const std::string name = std::string("/empty-") + streams + (with_cno ? "-with-cno" : "");
    return {"dat_evd_wait" + name, std::string(dequeue) + " " + wait + " 0 " + wait + " 0",
            [flags, with_cno](Rig& r) {
                const DAT_EVD_HANDLE evd = made(r, flags, with_cno);
                DAT_EVENT event{};
                Wait first, second;
                r << dat_evd_dequeue(evd, &event) << first(evd) << first.more;
                r << second(evd, 2000) << second.more;
            }};
}

Rows empty_rows() {
    const char* const plain = "0x800D0000";
    const char* const raw = "0x000D0000";
    const char* const late = "0x800F0000";
    const char* const raw_late = "0x000F0000";
    return {
        empty("software", 1, false, plain, late),
        empty("software", 1, true, plain, late),
        empty("cr", 0x10, false, plain, late),
        empty("cr", 0x10, true, plain, late),
        empty("connection", 0x40, false, plain, late),
        empty("connection", 0x40, true, plain, late),
        empty("dto", 0x20, false, raw, raw_late),
        empty("dto", 0x20, true, raw, late),
        empty("rmr-bind", 0x80, false, raw, raw_late),
        empty("rmr-bind", 0x80, true, raw, late),
        empty("extension", 0x200, false, raw, late),
        empty("extension", 0x200, true, raw, late),
        empty("dto-and-software", 0x21, false, raw, raw_late),
        empty("dto-and-software", 0x21, true, raw, late),
        empty("rmr-bind-and-software", 0x81, false, raw, raw_late),
        {"dat_evd_dequeue/event-null", "0x80060026",
         [](Rig& r) { r << dat_evd_dequeue(r.side().sends, nullptr); }},
        {"dat_evd_dequeue/takes-the-oldest", "0 0 0x800D0000",
         [](Rig& r) {
             const DAT_EVD_HANDLE evd = r.evd(DAT_EVD_SOFTWARE_FLAG);
             DAT_EVENT event{};
             r << post(evd) << dat_evd_dequeue(evd, &event) << dat_evd_dequeue(evd, &event);
         }},
    };
}

Rows argument_rows() {
    return {
        {"dat_evd_wait/event-null", "0x80060028",
         [](Rig& r) {
             DAT_COUNT more = 0;
             r << dat_evd_wait(r.side().sends, 0, 1, nullptr, &more);
         }},
        {"dat_evd_wait/nmore-null", "0x80060029",
         [](Rig& r) {
             DAT_EVENT event{};
             r << dat_evd_wait(r.side().sends, 0, 1, &event, nullptr);
         }},
        {"dat_evd_wait/threshold-0", "0x80060027",
         [](Rig& r) { r << Wait()(r.evd(DAT_EVD_SOFTWARE_FLAG), 0, 0); }},
        {"dat_evd_wait/threshold-negative", "0x80060027",
         [](Rig& r) { r << Wait()(r.evd(DAT_EVD_SOFTWARE_FLAG), 0, -1); }},
        {"dat_evd_wait/threshold-as-long-as-the-queue", "0x800F0000",
         [](Rig& r) { r << Wait()(r.evd(DAT_EVD_SOFTWARE_FLAG), 0, 8); }},
        {"dat_evd_wait/threshold-longer-than-the-queue", "0x80060027",
         [](Rig& r) { r << Wait()(r.evd(DAT_EVD_SOFTWARE_FLAG), 0, 9); }},
    };
}

Rows threshold_rows() {
    return {
        {"dat_evd_wait/timeout-0-with-an-event", "0 0 0",
         [](Rig& r) {
             const DAT_EVD_HANDLE evd = r.evd(DAT_EVD_SOFTWARE_FLAG);
             Wait wait;
             r << post(evd) << wait(evd) << wait.more;
         }},
        {"dat_evd_wait/threshold-not-reached", "0x800F0000 3 0",
         [](Rig& r) {
             const DAT_EVD_HANDLE evd = r.evd(DAT_EVD_SOFTWARE_FLAG);
             for (int i = 0; i < 3; ++i) succeed(post(evd), "dat_evd_post_se");
             Wait wait;
             r << wait(evd, 0, 8) << wait.more << static_cast<DAT_COUNT>(wait.event.event_number);
         }},
        {"dat_evd_wait/threshold-reached", "0 2 0 1 0x800F0000 1",
         [](Rig& r) {
             const DAT_EVD_HANDLE evd = r.evd(DAT_EVD_SOFTWARE_FLAG);
             for (int i = 0; i < 3; ++i) succeed(post(evd), "dat_evd_post_se");
             Wait wait;
             for (const DAT_COUNT threshold : {2, 2, 2}) r << wait(evd, 0, threshold) << wait.more;
         }},
        {"dat_evd_wait/software-events-and-completions-count-together", "0 1",
         [](Rig& r) {
             const DAT_EVD_HANDLE evd = r.evd(DAT_EVD_SOFTWARE_FLAG | DAT_EVD_DTO_FLAG);
             const Side& side = r.side();
             DAT_EP_HANDLE ep = DAT_HANDLE_NULL;
             succeed(dat_ep_create(side.ia, side.pz, evd, evd, side.connections, nullptr, &ep),
                     "dat_ep_create");
             succeed(connect(ep), "dat_ep_connect");
             Side::wait(side.connections, DAT_CONNECTION_EVENT_NON_PEER_REJECTED);
             succeed(dat_ep_post_send(ep, 0, nullptr, cookie(1), DAT_COMPLETION_DEFAULT_FLAG),
                     "dat_ep_post_send");
             succeed(post(evd), "dat_evd_post_se");
             Wait wait;
             r << wait(evd, test::kMicroseconds, 2) << wait.more;
         }},
    };
}

/// A thread that waits on an EVD. The constructor returns once it waits: dequeue then fails with
/// DAT_INVALID_STATE.
class Waiter {
  public:
    Waiter(DAT_EVD_HANDLE evd, DAT_TIMEOUT timeout, DAT_COUNT threshold = 1)
        : thread_([=, this] { code_ = wait_(evd, timeout, threshold); }) {
        test::eventually([&] {
            DAT_EVENT event{};
            return dat_evd_dequeue(evd, &event) == 0x80070000u;
        });
    }
    ~Waiter() {
        if (thread_.joinable()) thread_.detach();
    }
    DAT_RETURN code() {
        thread_.join();
        return code_;
    }
    pthread_t thread() { return thread_.native_handle(); }

  private:
    Wait wait_;
    DAT_RETURN code_ = 0;
    std::thread thread_;
};

/// A row for the codes of a second wait and of dequeue while a thread waits.
Row refused(const char* streams, int flags) {
    return {std::string("dat_evd_wait/second-waiter-") + streams, "0x80070000 0x80070000",
            [flags](Rig& r) {
                const DAT_EVD_HANDLE evd = made(r, flags, false);
                new Waiter(evd, DAT_TIMEOUT_INFINITE);
                DAT_EVENT event{};
                r << Wait()(evd) << dat_evd_dequeue(evd, &event);
            }};
}

Row woken(const char* how, const char* answer, int flags, std::function<void(DAT_EVD_HANDLE)> wake,
          const char* not_asked = "") {
    return {std::string("dat_evd_wait/woken-by-") + how, answer,
            [flags, wake](Rig& r) {
                const DAT_EVD_HANDLE evd = made(r, flags, false);
                auto& waiter = *new Waiter(evd, test::kMicroseconds);
                wake(evd);
                r << waiter.code();
            },
            not_asked};
}

void make_unwaitable(DAT_EVD_HANDLE evd) {
    dat_evd_set_unwaitable(evd);
}
void post_one(DAT_EVD_HANDLE evd) {
    post(evd);
}

constexpr const char* kSleepsOn = "the waiter sleeps its time out";

Rows waiter_rows() {
    return {
        refused("software", DAT_EVD_SOFTWARE_FLAG),
        refused("dto", DAT_EVD_DTO_FLAG | DAT_EVD_SOFTWARE_FLAG),
        {"dat_evd_resize/while-one-waits", "0x80070000",
         [](Rig& r) {
             const DAT_EVD_HANDLE evd = r.evd(DAT_EVD_SOFTWARE_FLAG);
             new Waiter(evd, DAT_TIMEOUT_INFINITE);
             r << dat_evd_resize(evd, 16);
         }},
        woken("a-software-event", "0", DAT_EVD_SOFTWARE_FLAG, post_one),
        woken("a-software-event-among-completions", "0", DAT_EVD_SOFTWARE_FLAG | DAT_EVD_DTO_FLAG,
              post_one, kSleepsOn),
        woken("set-unwaitable", "0x80070000", DAT_EVD_SOFTWARE_FLAG, make_unwaitable),
        woken("set-unwaitable-among-completions", "0x80070000", DAT_EVD_DTO_FLAG, make_unwaitable,
              kSleepsOn),
        {"dat_evd_wait/threshold-reached-one-by-one", "0",
         [](Rig& r) {
             const DAT_EVD_HANDLE evd = r.evd(DAT_EVD_SOFTWARE_FLAG);
             auto& waiter = *new Waiter(evd, test::kMicroseconds, 3);
             for (int i = 0; i < 3; ++i) post(evd);
             r << waiter.code();
         }},
        {"dat_evd_wait/signal-among-completions", "0x000F0000",
         [](Rig& r) {
             struct sigaction action {};
             action.sa_handler = [](int) {};
             sigaction(SIGUSR1, &action, nullptr);
             const DAT_EVD_HANDLE evd = r.evd(DAT_EVD_DTO_FLAG);
             auto& waiter = *new Waiter(evd, 200000);
             // The thread may not sleep yet, so the signal is repeated until the wait has returned.
             bool done = false;
             DAT_RETURN code = 0;
             std::thread joiner([&] {
                 code = waiter.code();
                 __atomic_store_n(&done, true, __ATOMIC_RELEASE);
             });
             const pthread_t sleeper = waiter.thread();
             test::eventually([&] {
                 if (__atomic_load_n(&done, __ATOMIC_ACQUIRE)) return true;
                 pthread_kill(sleeper, SIGUSR1);
                 return false;
             });
             joiner.join();
             r << code;
         }},
    };
}

}  // namespace

Rows evd_wait_rows() {
    Rows rows = empty_rows();
    for (const Rows& more : {argument_rows(), threshold_rows(), waiter_rows()})
        rows.insert(rows.end(), more.begin(), more.end());
    return rows;
}

}  // namespace conformance
