// SPDX-License-Identifier: BSD-2-Clause
// CNOs: what triggers them, and how often.
#include <unistd.h>

#include <thread>

#include "test/api/conformance/row.hpp"
#include "test/api/conformance/states.hpp"

namespace conformance {
namespace {

/// A CNO with two software EVDs.
struct Notified {
    Rig& r;
    DAT_CNO_HANDLE cno;
    DAT_EVD_HANDLE a, b;

    explicit Notified(Rig& rig) : r(rig), cno(rig.cno()), a(make()), b(make()) {}
    DAT_EVD_HANDLE make() const {
        DAT_EVD_HANDLE evd = DAT_HANDLE_NULL;
        succeed(dat_evd_create(r.ia(), 8, cno, DAT_EVD_SOFTWARE_FLAG, &evd), "dat_evd_create");
        return evd;
    }
    /// Waits on the CNO and writes the code and the EVD.
    void tell(DAT_TIMEOUT timeout = 0) const {
        auto evd = reinterpret_cast<DAT_EVD_HANDLE>(1);
        r << dat_cno_wait(cno, timeout, &evd)
          << (evd == a         ? "a"
              : evd == b       ? "b"
              : evd == nullptr ? "none"
                               : "other");
    }
};

Row notified(const char* name, const char* answer, std::function<void(Notified&)> body) {
    return {name, answer, [body](Rig& r) {
                Notified n(r);
                body(n);
            }};
}

Rows wait_rows() {
    return {
        notified("dat_cno_wait/nothing", "0x000D0000 none", [](Notified& n) { n.tell(); }),
        notified("dat_cno_wait/nothing-in-some-time", "0x000D0000 none",
                 [](Notified& n) { n.tell(2000); }),
        notified("dat_cno_wait/an-event", "0 a",
                 [](Notified& n) {
                     post(n.a);
                     n.tell();
                 }),
        notified("dat_cno_wait/once-for-an-event", "0 a 0x000D0000 none",
                 [](Notified& n) {
                     post(n.a);
                     n.tell();
                     n.tell();
                 }),
        notified("dat_cno_wait/again-for-the-next-event", "0 a 0 a",
                 [](Notified& n) {
                     for (int i = 0; i < 2; ++i) {
                         post(n.a);
                         n.tell();
                     }
                 }),
        notified("dat_cno_wait/each-evd-with-an-event-is-named", "0 b 0 a 0x000D0000 none",
                 [](Notified& n) {
                     post(n.b);
                     post(n.a);
                     post(n.b);
                     n.tell();
                     n.tell();
                     n.tell();
                 }),
        notified("dat_cno_wait/event-taken-before", "0 0x000D0000 none",
                 [](Notified& n) {
                     DAT_EVENT event{};
                     post(n.a);
                     n.r << dat_evd_dequeue(n.a, &event);
                     n.tell();
                 }),
        notified("dat_cno_wait/posted-while-waiting", "0 b",
                 [](Notified& n) {
                     std::thread poster([&] { post(n.b); });
                     n.tell(test::kMicroseconds);
                     poster.join();
                 }),
        notified("dat_evd_disable/does-not-trigger", "0 0x000D0000 none",
                 [](Notified& n) {
                     n.r << dat_evd_disable(n.a);
                     post(n.a);
                     n.tell();
                 }),
        notified("dat_evd_enable/does-not-trigger-for-what-is-pending", "0 0x000D0000 none",
                 [](Notified& n) {
                     succeed(dat_evd_disable(n.a), "dat_evd_disable");
                     post(n.a);
                     n.r << dat_evd_enable(n.a);
                     n.tell();
                 }),
        notified("dat_evd_enable/triggers-from-then-on", "0 0 0 a",
                 [](Notified& n) {
                     succeed(dat_evd_disable(n.a), "dat_evd_disable");
                     n.r << dat_evd_enable(n.a) << post(n.a);
                     n.tell();
                 }),
    };
}

Rows modify_rows() {
    return {
        notified("dat_evd_modify_cno/detached-does-not-trigger", "0 0x000D0000 none",
                 [](Notified& n) {
                     n.r << dat_evd_modify_cno(n.a, DAT_HANDLE_NULL);
                     post(n.a);
                     n.tell();
                 }),
        notified("dat_evd_modify_cno/pending-events-do-not-trigger", "0 0x000D0000 none",
                 [](Notified& n) {
                     const DAT_EVD_HANDLE other = n.r.evd(DAT_EVD_SOFTWARE_FLAG);
                     post(other);
                     n.r << dat_evd_modify_cno(other, n.cno);
                     n.tell();
                 }),
        notified("dat_evd_modify_cno/the-new-one-is-triggered", "0 0x000D0000 none 0",
                 [](Notified& n) {
                     const DAT_CNO_HANDLE other = n.r.cno();
                     n.r << dat_evd_modify_cno(n.a, other);
                     post(n.a);
                     n.tell();
                     DAT_EVD_HANDLE evd = DAT_HANDLE_NULL;
                     n.r << dat_cno_wait(other, 0, &evd);
                 }),
        notified("dat_evd_modify_cno/cno-of-another-kind", "0x80050013",
                 [](Notified& n) { n.r << dat_evd_modify_cno(n.a, n.r.other_kind()); }),
        {"dat_evd_modify_cno/completions-trigger-one-set-later", "0 0",
         [](Rig& r) {
             const DAT_EP_HANDLE ep = r.connected();
             const DAT_CNO_HANDLE cno = r.cno();
             r << dat_evd_modify_cno(r.side().sends, cno);
             const DAT_RMR_TRIPLET remote{};
             succeed(dat_ep_post_rdma_write(ep, 0, nullptr, cookie(1), &remote,
                                            DAT_COMPLETION_DEFAULT_FLAG),
                     "dat_ep_post_rdma_write");
             DAT_EVD_HANDLE evd = DAT_HANDLE_NULL;
             r << dat_cno_wait(cno, test::kMicroseconds, &evd);
         },
         "the wait runs into its time-out"},
        {"dat_cno_wait/completions", "0 yes",
         [](Rig& r) {
             r.listener([](Side& side, Channel&) { side.accept_next(); });
             const DAT_CNO_HANDLE cno = r.cno();
             const Side& side = r.side();
             DAT_EVD_HANDLE evd = DAT_HANDLE_NULL, found = DAT_HANDLE_NULL;
             DAT_EP_HANDLE ep = DAT_HANDLE_NULL;
             succeed(dat_evd_create(side.ia, 8, cno, DAT_EVD_DTO_FLAG, &evd), "dat_evd_create");
             succeed(dat_ep_create(side.ia, side.pz, evd, evd, side.connections, nullptr, &ep),
                     "dat_ep_create");
             succeed(connect(ep), "dat_ep_connect");
             Side::wait(side.connections, DAT_CONNECTION_EVENT_ESTABLISHED);
             const DAT_RMR_TRIPLET remote{};
             succeed(dat_ep_post_rdma_write(ep, 0, nullptr, cookie(1), &remote,
                                            DAT_COMPLETION_DEFAULT_FLAG),
                     "dat_ep_post_rdma_write");
             r << dat_cno_wait(cno, test::kMicroseconds, &found) << (found == evd);
         }},
    };
}

int calls;
DAT_EVD_HANDLE called_with;
DAT_PVOID called_data;
void agent(DAT_PVOID data, DAT_EVD_HANDLE evd) {
    ++calls;
    called_with = evd;
    called_data = data;
}

DAT_CNO_PARAM query(DAT_CNO_HANDLE cno) {
    DAT_CNO_PARAM parameters{};
    succeed(dat_cno_query(cno, DAT_CNO_FIELD_ALL, &parameters), "dat_cno_query");
    return parameters;
}

Rows agent_rows() {
    const auto set = [](DAT_CNO_HANDLE cno) {
        return dat_cno_modify_agent(cno, DAT_OS_WAIT_PROXY_AGENT{&calls, agent});
    };
    return {
        notified("dat_cno_modify_agent/is-called-once", "0 1 yes yes 1 0 a",
                 [set](Notified& n) {
                     n.r << set(n.cno);
                     post(n.a);
                     n.r << DAT_COUNT{calls} << (called_with == n.a) << (called_data == &calls);
                     post(n.a);
                     n.r << DAT_COUNT{calls};
                     n.tell();
                 }),
        notified("dat_cno_modify_agent/set-again-after-the-trigger-is-taken", "1 2",
                 [set](Notified& n) {
                     for (int i = 0; i < 2; ++i) {
                         succeed(set(n.cno), "dat_cno_modify_agent");
                         post(n.a);
                         n.r << DAT_COUNT{calls};
                         DAT_EVD_HANDLE evd = DAT_HANDLE_NULL;
                         succeed(dat_cno_wait(n.cno, 0, &evd), "dat_cno_wait");
                     }
                 }),
        notified("dat_cno_modify_agent/removed", "0 0",
                 [set](Notified& n) {
                     succeed(set(n.cno), "dat_cno_modify_agent");
                     n.r << dat_cno_modify_agent(n.cno, DAT_OS_WAIT_PROXY_AGENT_NULL);
                     post(n.a);
                     n.r << DAT_COUNT{calls};
                 }),
        {"dat_cno_create/with-agent", "0 1 yes yes",
         [](Rig& r) {
             DAT_CNO_HANDLE cno = DAT_HANDLE_NULL;
             r << dat_cno_create(r.ia(), DAT_OS_WAIT_PROXY_AGENT{&calls, agent}, &cno);
             const DAT_CNO_PARAM p = query(cno);
             r << static_cast<DAT_COUNT>(p.proxy_type) << (p.proxy.agent.proxy_agent_func == agent)
               << (p.proxy.agent.instance_data == &calls);
         }},
        {"dat_cno_query/without-agent", "yes 1 yes",
         [](Rig& r) {
             const DAT_CNO_PARAM p = query(r.cno());
             r << (p.ia_handle == r.ia()) << static_cast<DAT_COUNT>(p.proxy_type)
               << (p.proxy.agent.proxy_agent_func == nullptr);
         }},
        notified("dat_cno_query/agent-after-its-call", "yes",
                 [set](Notified& n) {
                     succeed(set(n.cno), "dat_cno_modify_agent");
                     post(n.a);
                     n.r << (query(n.cno).proxy.agent.proxy_agent_func == nullptr);
                 }),
        {"dat_cno_query/out-null", "0x80060027",
         [](Rig& r) { r << dat_cno_query(r.cno(), DAT_CNO_FIELD_ALL, nullptr); }},
        {"dat_cno_create/out-null", "0x80060027",
         [](Rig& r) { r << dat_cno_create(r.ia(), DAT_OS_WAIT_PROXY_AGENT_NULL, nullptr); }},
        {"dat_cno_free/unused", "0", [](Rig& r) { r << dat_cno_free(r.cno()); }},
        notified("dat_cno_free/evds-attached", "0x80070043",
                 [](Notified& n) { n.r << dat_cno_free(n.cno); }),
        notified("dat_cno_free/evds-gone", "0 0 0",
                 [](Notified& n) {
                     n.r << dat_evd_free(n.a) << dat_evd_free(n.b) << dat_cno_free(n.cno);
                 }),
    };
}

Rows descriptor_rows() {
    return {
        {"dat_cno_fd_create/readable-when-triggered", "0 no 0 yes",
         [](Rig& r) {
             DAT_FD descriptor{};
             DAT_CNO_HANDLE cno = DAT_HANDLE_NULL;
             DAT_EVD_HANDLE evd = DAT_HANDLE_NULL;
             r << EXPORTED(dat_cno_fd_create)(r.ia(), &descriptor, &cno);
             succeed(dat_evd_create(r.ia(), 8, cno, DAT_EVD_SOFTWARE_FLAG, &evd), "dat_evd_create");
             pollfd ready{descriptor, POLLIN, 0};
             r << (poll(&ready, 1, 0) == 1) << post(evd) << (poll(&ready, 1, 0) == 1);
         }},
        {"dat_cno_fd_create/query", "2 yes",
         [](Rig& r) {
             DAT_FD descriptor{};
             DAT_CNO_HANDLE cno = DAT_HANDLE_NULL;
             succeed(EXPORTED(dat_cno_fd_create)(r.ia(), &descriptor, &cno), "dat_cno_fd_create");
             const DAT_CNO_PARAM p = query(cno);
             r << static_cast<DAT_COUNT>(p.proxy_type) << (p.proxy.fd == descriptor);
         }},
        {"dat_cno_fd_create/arguments-null", "0x80060026 0x80060027",
         [](Rig& r) {
             DAT_FD descriptor{};
             DAT_CNO_HANDLE cno = DAT_HANDLE_NULL;
             r << EXPORTED(dat_cno_fd_create)(r.ia(), nullptr, &cno)
               << EXPORTED(dat_cno_fd_create)(r.ia(), &descriptor, nullptr);
         }},
        {"dat_cno_trigger/takes-what-is-triggered", "0 yes 0x000D0000",
         [](Rig& r) {
             DAT_FD descriptor{};
             DAT_CNO_HANDLE cno = DAT_HANDLE_NULL;
             DAT_EVD_HANDLE evd = DAT_HANDLE_NULL, found = DAT_HANDLE_NULL;
             succeed(EXPORTED(dat_cno_fd_create)(r.ia(), &descriptor, &cno), "dat_cno_fd_create");
             succeed(dat_evd_create(r.ia(), 8, cno, DAT_EVD_SOFTWARE_FLAG, &evd), "dat_evd_create");
             post(evd);
             r << EXPORTED(dat_cno_trigger)(cno, &found) << (found == evd)
               << EXPORTED(dat_cno_trigger)(cno, &found);
         }},
        {"dat_cno_trigger/out-null", "0x80060026",
         [](Rig& r) {
             DAT_FD descriptor{};
             DAT_CNO_HANDLE cno = DAT_HANDLE_NULL;
             succeed(EXPORTED(dat_cno_fd_create)(r.ia(), &descriptor, &cno), "dat_cno_fd_create");
             r << EXPORTED(dat_cno_trigger)(cno, nullptr);
         }},
    };
}

}  // namespace

Rows cno_rows() {
    Rows rows = wait_rows();
    for (const Rows& more : {modify_rows(), agent_rows(), descriptor_rows()})
        rows.insert(rows.end(), more.begin(), more.end());
    return rows;
}

}  // namespace conformance
