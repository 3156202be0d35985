// SPDX-License-Identifier: BSD-2-Clause
// Opening and closing an adapter instance.
#include "test/api/conformance/rig.hpp"
#include "test/api/conformance/row.hpp"

namespace conformance {
namespace {

/// The arguments of dat_ia_openv() that rows change one by one.
struct Open {
    const char* name = test::ia_name();
    DAT_COUNT length = 8;
    DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
    DAT_UINT32 major = 2;
    DAT_UINT32 minor = 0;
    DAT_BOOLEAN thread_safe = DAT_FALSE;
    DAT_IA_HANDLE ia = DAT_HANDLE_NULL;

    DAT_RETURN operator()() {
        return dat_ia_openv(const_cast<char*>(name), length, &async, &ia, major, minor,
                            thread_safe);
    }
};

DAT_RETURN open(Open arguments = {}) {
    return arguments();
}

DAT_COUNT number(DAT_IA_HANDLE ia) {
    return static_cast<DAT_COUNT>(reinterpret_cast<std::uintptr_t>(ia));
}

void tell_evd(Rig& r, DAT_EVD_HANDLE evd) {
    DAT_EVD_PARAM parameters{};
    r << dat_evd_query(evd, DAT_EVD_FIELD_ALL, &parameters) << parameters.evd_qlen
      << static_cast<DAT_COUNT>(parameters.evd_state)
      << static_cast<DAT_COUNT>(parameters.evd_flags) << (parameters.cno_handle == DAT_HANDLE_NULL);
}

Rows open_rows() {
    return {
        {"dat_ia_openv/opens", "0 1 yes",
         [](Rig& r) {
             Open open;
             r << open() << number(open.ia) << (open.async != DAT_HANDLE_NULL);
         }},
        {"dat_ia_openv/async-evd-as-asked", "0 0 8 5 256 yes",
         [](Rig& r) {
             Open open;
             r << open();
             tell_evd(r, open.async);
         }},
        {"dat_ia_openv/async-evd-of-1", "0 0 1 5 256 yes",
         [](Rig& r) {
             Open open{.length = 1};
             r << open();
             tell_evd(r, open.async);
         }},
        {"dat_ia_openv/numbers-are-the-lowest-free", "1 2 3 0 2 4",
         [](Rig& r) {
             Open opens[5];
             for (int i = 0; i < 3; ++i) {
                 succeed(opens[i](), "dat_ia_openv");
                 r << number(opens[i].ia);
             }
             r << dat_ia_close(opens[1].ia, DAT_CLOSE_ABRUPT_FLAG);
             for (int i = 3; i < 5; ++i) {
                 succeed(opens[i](), "dat_ia_openv");
                 r << number(opens[i].ia);
             }
         }},
        {"dat_ia_openv/name-null", "0x80060025", [](Rig& r) { r << open({.name = nullptr}); }},
        {"dat_ia_openv/name-of-256", "0x80060025",
         [](Rig& r) { r << open({.name = std::string(256, 'x').c_str()}); }},
        {"dat_ia_openv/name-of-255", "0x800A0064",
         [](Rig& r) { r << open({.name = std::string(255, 'x').c_str()}); }},
        {"dat_ia_openv/name-empty", "0x800A0064", [](Rig& r) { r << open({.name = ""}); }},
        {"dat_ia_openv/name-unknown", "0x800A0064", [](Rig& r) { r << open({.name = "none"}); }},
        {"dat_ia_openv/major-version", "0x800A0064", [](Rig& r) { r << open({.major = 3}); }},
        {"dat_ia_openv/minor-version", "0x800A0064", [](Rig& r) { r << open({.minor = 1}); }},
        {"dat_ia_openv/thread-safe", "0x800A0064",
         [](Rig& r) { r << open({.thread_safe = DAT_TRUE}); }},
        {"dat_ia_openv/ia-null", "0x8005000B",
         [](Rig& r) {
             DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
             r << dat_ia_openv(const_cast<char*>(test::ia_name()), 8, &async, nullptr, 2, 0,
                               DAT_FALSE);
         }},
        {"dat_ia_openv/name-null-before-ia-null", "0x80060025",
         [](Rig& r) { r << dat_ia_openv(nullptr, 8, nullptr, nullptr, 2, 0, DAT_FALSE); }},
        {"dat_ia_openv/async-null", "0x80060027",
         [](Rig& r) {
             DAT_IA_HANDLE ia = DAT_HANDLE_NULL;
             r << dat_ia_openv(const_cast<char*>(test::ia_name()), 8, nullptr, &ia, 2, 0,
                               DAT_FALSE);
         }},
        {"dat_ia_openv/length-0", "0x80060026", [](Rig& r) { r << open({.length = 0}); }},
        {"dat_ia_openv/length-negative", "0x80060026", [](Rig& r) { r << open({.length = -1}); }},
        {"dat_ia_openv/async-evd-shared", "0 yes",
         [](Rig& r) {
             Open open{.async = r.side().async};
             r << open() << (open.async == r.side().async);
         }},
        {"dat_ia_openv/async-evd-shared-length-0", "0",
         [](Rig& r) { r << open({.length = 0, .async = r.side().async}); }},
        {"dat_ia_openv/async-evd-is-a-software-evd", "0x80050018",
         [](Rig& r) { r << open({.async = r.evd(DAT_EVD_SOFTWARE_FLAG)}); }},
        {"dat_ia_openv/async-evd-is-of-another-kind", "0x80050018",
         [](Rig& r) { r << open({.async = r.other_kind()}); }},
        {"dat_ia_openv/async-exists", "0x80050018",
         [](Rig& r) { r << open({.async = DAT_EVD_ASYNC_EXISTS}); }},
    };
}

/// A row for the code of a graceful close while only the objects that `keep` creates are left.
Row left(const char* what, const char* answer, std::function<void(Side&)> keep) {
    return {std::string("dat_ia_close/graceful-with-") + what, answer, [keep](Rig& r) {
                Open open;
                succeed(open(), "dat_ia_openv");
                Side& side = r.side();
                for (const DAT_EVD_HANDLE evd :
                     {side.requests, side.connections, side.receives, side.sends})
                    succeed(dat_evd_free(evd), "dat_evd_free");
                succeed(dat_pz_free(side.pz), "dat_pz_free");
                keep(side);
                r << dat_ia_close(side.ia, DAT_CLOSE_GRACEFUL_FLAG);
            }};
}

DAT_EP_HANDLE bare_endpoint(Side& side) {
    DAT_EP_HANDLE ep = DAT_HANDLE_NULL;
    succeed(dat_ep_create(side.ia, nullptr, nullptr, nullptr, nullptr, nullptr, &ep),
            "dat_ep_create");
    return ep;
}

Rows close_rows() {
    return {
        left("nothing", "0", [](Side&) {}),
        left("a-pz", "0x80070050",
             [](Side& side) { succeed(dat_pz_create(side.ia, &side.pz), "dat_pz_create"); }),
        left("an-evd", "0x80070050", [](Side& side) { side.evd(DAT_EVD_SOFTWARE_FLAG, 1); }),
        left("an-ep", "0x80070050", [](Side& side) { bare_endpoint(side); }),
        left("a-psp", "0x80070050",
             [](Side& side) {
                 side.requests = side.evd(DAT_EVD_CR_FLAG, 8);
                 side.listen(kQualifier);
             }),
        left("an-rsp", "0x80070050",
             [](Side& side) {
                 DAT_RSP_HANDLE rsp = DAT_HANDLE_NULL;
                 succeed(dat_rsp_create(side.ia, kQualifier, bare_endpoint(side),
                                        side.evd(DAT_EVD_CR_FLAG, 8), &rsp),
                         "dat_rsp_create");
             }),
        left("an-lmr", "0x80070050",
             [](Side& side) {
                 succeed(dat_pz_create(side.ia, &side.pz), "dat_pz_create");
                 new Buffer(side);
             }),
        left("an-rmr", "0x80070050",
             [](Side& side) {
                 succeed(dat_pz_create(side.ia, &side.pz), "dat_pz_create");
                 DAT_RMR_HANDLE rmr = DAT_HANDLE_NULL;
                 succeed(dat_rmr_create(side.pz, &rmr), "dat_rmr_create");
             }),
        left("a-cno", "0x80070050",
             [](Side& side) {
                 DAT_CNO_HANDLE cno = DAT_HANDLE_NULL;
                 succeed(dat_cno_create(side.ia, DAT_OS_WAIT_PROXY_AGENT_NULL, &cno),
                         "dat_cno_create");
             }),
        {"dat_ia_close/graceful-with-its-async-evd-shared", "0 0",
         [](Rig& r) {
             Open first;
             succeed(first(), "dat_ia_openv");
             Open second{.async = first.async};
             succeed(second(), "dat_ia_openv");
             r << dat_ia_close(second.ia, DAT_CLOSE_GRACEFUL_FLAG)
               << dat_ia_close(first.ia, DAT_CLOSE_GRACEFUL_FLAG);
         }},
        {"dat_ia_close/abrupt-with-everything", "0 0x8005000B",
         [](Rig& r) {
             Side& side = r.side();
             side.listen(kQualifier);
             r.buffer();
             r.endpoint();
             r << dat_ia_close(side.ia, DAT_CLOSE_ABRUPT_FLAG);
             r << dat_ia_close(side.ia, DAT_CLOSE_ABRUPT_FLAG);
         }},
        {"dat_ia_close/abrupt-disconnects", "0 DISCONNECTED",
         [](Rig& r) {
             r.connected([](Side& side, DAT_EP_HANDLE, Channel& channel) {
                 tell_event(channel, side.connections);
             });
             r << dat_ia_close(r.ia(), DAT_CLOSE_ABRUPT_FLAG);
             r.peer_tells();
         }},
        {"dat_ia_close/abrupt-with-a-cno-in-use", "0",
         [](Rig& r) {
             DAT_EVD_HANDLE evd = DAT_HANDLE_NULL;
             DAT_EP_HANDLE ep = DAT_HANDLE_NULL;
             Side& side = r.side();
             succeed(dat_evd_create(side.ia, 8, r.cno(), DAT_EVD_DTO_FLAG, &evd), "dat_evd_create");
             succeed(dat_ep_create(side.ia, side.pz, evd, evd, side.connections, nullptr, &ep),
                     "dat_ep_create");
             r << dat_ia_close(side.ia, DAT_CLOSE_ABRUPT_FLAG);
         },
         "it uses the CNO after it was freed"},
        {"dat_ia_close/unknown-flag", "0x80060026",
         [](Rig& r) { r << dat_ia_close(r.ia(), static_cast<DAT_CLOSE_FLAGS>(7)); }},
    };
}

}  // namespace

Rows ia_rows() {
    Rows rows = open_rows();
    for (Row& row : close_rows()) rows.push_back(std::move(row));
    return rows;
}

}  // namespace conformance
