// SPDX-License-Identifier: BSD-2-Clause
// The consumer's context and the kind of every object.
#include "test/api/conformance/rig.hpp"
#include "test/api/conformance/row.hpp"

namespace conformance {
namespace {

using Make = std::function<DAT_HANDLE(Rig&)>;

void add_kind(Rows& rows, const std::string& kind, DAT_HANDLE_TYPE type, const Make& make) {
    rows.push_back({"dat_get_handle_type/" + kind, "0 " + std::to_string(type), [make](Rig& r) {
                        DAT_HANDLE_TYPE found{};
                        r << dat_get_handle_type(make(r), &found) << static_cast<DAT_COUNT>(found);
                    }});
    rows.push_back({"dat_set_consumer_context/" + kind, "0 0 same", [make](Rig& r) {
                        const DAT_HANDLE handle = make(r);
                        DAT_CONTEXT given{}, found{};
                        given.as_64 = 0x123456789abcdefU;
                        r << dat_set_consumer_context(handle, given)
                          << dat_get_consumer_context(handle, &found)
                          << (found.as_64 == given.as_64 ? "same" : "other");
                    }});
    rows.push_back({"dat_get_consumer_context/" + kind + "-before-set", "0 0", [make](Rig& r) {
                        DAT_CONTEXT found{};
                        found.as_64 = 1;
                        r << dat_get_consumer_context(make(r), &found) << found.as_64;
                    }});
    rows.push_back({"dat_get_consumer_context/" + kind + "-null", "0x80060026",
                    [make](Rig& r) { r << dat_get_consumer_context(make(r), nullptr); }});
}

DAT_RSP_HANDLE rsp(Rig& r) {
    DAT_RSP_HANDLE rsp = DAT_HANDLE_NULL;
    succeed(dat_rsp_create(r.ia(), kQualifier, r.endpoint(), r.side().requests, &rsp),
            "dat_rsp_create");
    return rsp;
}

DAT_RMR_HANDLE rmr(Rig& r) {
    DAT_RMR_HANDLE rmr = DAT_HANDLE_NULL;
    succeed(dat_rmr_create(r.side().pz, &rmr), "dat_rmr_create");
    return rmr;
}

DAT_CSP_HANDLE csp(Rig& r) {
    DAT_CSP_HANDLE csp = DAT_HANDLE_NULL;
    DAT_COMM communicator{AF_INET, SOCK_STREAM, 0};
    sockaddr_in any{};
    any.sin_family = AF_INET;
    any.sin_port = htons(kQualifier);
    succeed(
        EXPORTED(dat_csp_create)(r.ia(), &communicator, reinterpret_cast<DAT_IA_ADDRESS_PTR>(&any),
                                 r.side().requests, &csp),
        "dat_csp_create");
    return csp;
}

}  // namespace

Rows context_rows() {
    Rows rows;
    add_kind(rows, "ia", DAT_HANDLE_TYPE_IA, [](Rig& r) { return r.ia(); });
    add_kind(rows, "ep", DAT_HANDLE_TYPE_EP, [](Rig& r) { return r.endpoint(); });
    add_kind(rows, "evd", DAT_HANDLE_TYPE_EVD, [](Rig& r) { return r.side().sends; });
    add_kind(rows, "pz", DAT_HANDLE_TYPE_PZ, [](Rig& r) { return r.side().pz; });
    add_kind(rows, "psp", DAT_HANDLE_TYPE_PSP, [](Rig& r) { return r.side().listen(kQualifier); });
    add_kind(rows, "rsp", DAT_HANDLE_TYPE_RSP, rsp);
    add_kind(rows, "csp", DAT_HANDLE_TYPE_CSP, csp);
    add_kind(rows, "cr", DAT_HANDLE_TYPE_CR, [](Rig& r) { return r.requested(); });
    add_kind(rows, "lmr", DAT_HANDLE_TYPE_LMR, [](Rig& r) { return r.buffer().lmr; });
    add_kind(rows, "rmr", DAT_HANDLE_TYPE_RMR, rmr);
    add_kind(rows, "cno", DAT_HANDLE_TYPE_CNO, [](Rig& r) { return r.cno(); });
    add_kind(rows, "srq", DAT_HANDLE_TYPE_SRQ, [](Rig& r) { return r.srq(); });
    const DAT_CONTEXT context{};
    const Rows errors = {
        {"dat_get_handle_type/null-handle", "0x8005001B",
         [](Rig& r) {
             DAT_HANDLE_TYPE found{};
             r << dat_get_handle_type(DAT_HANDLE_NULL, &found);
         }},
        {"dat_get_handle_type/out-null", "0x80060026",
         [](Rig& r) { r << dat_get_handle_type(r.endpoint(), nullptr); }},
        {"dat_set_consumer_context/null-handle", "0x8005001B",
         [context](Rig& r) { r << dat_set_consumer_context(DAT_HANDLE_NULL, context); }},
        {"dat_get_consumer_context/null-handle", "0x8005001B",
         [](Rig& r) {
             DAT_CONTEXT found{};
             r << dat_get_consumer_context(DAT_HANDLE_NULL, &found);
         }},
        {"dat_get_consumer_context/small-number-that-is-no-ia", "0x8005001B",
         [](Rig& r) {
             DAT_CONTEXT found{};
             r.side();
             r << dat_get_consumer_context(reinterpret_cast<DAT_HANDLE>(77), &found);
         }},
        {"dat_get_consumer_context/overwritten", "0 0 2",
         [](Rig& r) {
             const DAT_EP_HANDLE ep = r.endpoint();
             DAT_CONTEXT given{}, found{};
             for (given.as_64 = 1; given.as_64 <= 2; ++given.as_64)
                 r << dat_set_consumer_context(ep, given);
             succeed(dat_get_consumer_context(ep, &found), "dat_get_consumer_context");
             r << found.as_64;
         }},
    };
    rows.insert(rows.end(), errors.begin(), errors.end());
    return rows;
}

}  // namespace conformance
