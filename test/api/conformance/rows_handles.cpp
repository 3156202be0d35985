// SPDX-License-Identifier: BSD-2-Clause
// The codes of each function for a NULL handle and for a handle of another kind. They depend on the
// expected kind only, with a few exceptions.
#include "test/api/conformance/rig.hpp"
#include "test/api/conformance/row.hpp"

namespace conformance {
namespace {

struct Call {
    const char* function;
    std::function<DAT_RETURN(DAT_HANDLE)> call;
    /// Codes for NULL and for another kind, where they differ from the kind's.
    const char* null_answer = nullptr;
    const char* other_answer = nullptr;
};

/// @param kind code of all calls of the kind.
void add(Rows& rows, const char* kind, const std::vector<Call>& calls) {
    for (const Call& call : calls) {
        const std::string function = call.function;
        rows.push_back({function + "/null-handle", call.null_answer ? call.null_answer : kind,
                        [call](Rig& r) { r << call.call(DAT_HANDLE_NULL); }});
        rows.push_back({function + "/handle-of-another-kind",
                        call.other_answer ? call.other_answer : kind,
                        [call](Rig& r) { r << call.call(r.other_kind()); }});
    }
}

DAT_EVENT event;
DAT_COUNT count;
DAT_HANDLE out;
DAT_VLEN length;
DAT_VADDR address;
DAT_LMR_CONTEXT local_key;
DAT_RMR_CONTEXT remote_key;
char memory[64];
constexpr DAT_COMPLETION_FLAGS kDefault = DAT_COMPLETION_DEFAULT_FLAG;

void add_ia_calls(Rows& rows) {
    const auto call = [&](const char* function, std::function<DAT_RETURN(DAT_HANDLE)> body) {
        const std::string name = function;
        rows.push_back({name + "/null-ia", "0x8005000B", [body](Rig& r) { r << body(nullptr); }});
        rows.push_back({name + "/unknown-ia", "0x8005000B", [body](Rig& r) {
                            r.side();
                            r << body(reinterpret_cast<DAT_HANDLE>(std::uintptr_t{77}));
                        }});
    };
    call("dat_ia_close", [](DAT_HANDLE ia) { return dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG); });
    call("dat_ia_query",
         [](DAT_HANDLE ia) { return dat_ia_query(ia, nullptr, 0, nullptr, 0, nullptr); });
    call("dat_ep_create", [](DAT_HANDLE ia) {
        return dat_ep_create(ia, nullptr, nullptr, nullptr, nullptr, nullptr, &out);
    });
    call("dat_ep_create_with_srq", [](DAT_HANDLE ia) {
        return dat_ep_create_with_srq(ia, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr,
                                      &out);
    });
    call("dat_evd_create",
         [](DAT_HANDLE ia) { return dat_evd_create(ia, 1, nullptr, DAT_EVD_SOFTWARE_FLAG, &out); });
    call("dat_cno_create",
         [](DAT_HANDLE ia) { return dat_cno_create(ia, DAT_OS_WAIT_PROXY_AGENT_NULL, &out); });
    call("dat_cno_fd_create", [](DAT_HANDLE ia) {
        DAT_FD descriptor{};
        return EXPORTED(dat_cno_fd_create)(ia, &descriptor, &out);
    });
    call("dat_psp_create", [](DAT_HANDLE ia) {
        return dat_psp_create(ia, kQualifier, nullptr, DAT_PSP_CONSUMER_FLAG, &out);
    });
    call("dat_psp_create_any", [](DAT_HANDLE ia) {
        DAT_CONN_QUAL qualifier = 0;
        return dat_psp_create_any(ia, &qualifier, nullptr, DAT_PSP_CONSUMER_FLAG, &out);
    });
    call("dat_rsp_create",
         [](DAT_HANDLE ia) { return dat_rsp_create(ia, kQualifier, nullptr, nullptr, &out); });
    call("dat_csp_create", [](DAT_HANDLE ia) {
        DAT_COMM communicator{};
        return EXPORTED(dat_csp_create)(ia, &communicator, nullptr, nullptr, &out);
    });
    call("dat_lmr_create", [](DAT_HANDLE ia) {
        DAT_REGION_DESCRIPTION region{};
        region.for_va = memory;
        return dat_lmr_create(ia, DAT_MEM_TYPE_VIRTUAL, region, sizeof memory, nullptr,
                              DAT_MEM_PRIV_ALL_FLAG, DAT_VA_TYPE_VA, &out, &local_key, &remote_key,
                              &length, &address);
    });
    call("dat_lmr_sync_rdma_read",
         [](DAT_HANDLE ia) { return dat_lmr_sync_rdma_read(ia, nullptr, 0); });
    call("dat_lmr_sync_rdma_write",
         [](DAT_HANDLE ia) { return dat_lmr_sync_rdma_write(ia, nullptr, 0); });
    call("dat_pz_create", [](DAT_HANDLE ia) { return dat_pz_create(ia, &out); });
    call("dat_srq_create", [](DAT_HANDLE ia) {
        DAT_SRQ_ATTR attributes{8, 1, 0};
        return dat_srq_create(ia, nullptr, &attributes, &out);
    });
}

void add_ep_calls(Rows& rows) {
    static DAT_EP_PARAM parameters;
    static DAT_RMR_TRIPLET remote;
    add(rows, "0x8005000C",
        {{"dat_ep_query",
          [](DAT_HANDLE ep) { return dat_ep_query(ep, DAT_EP_FIELD_ALL, &parameters); }},
         {"dat_ep_modify", [](DAT_HANDLE ep) { return dat_ep_modify(ep, 0, &parameters); }},
         {"dat_ep_connect", [](DAT_HANDLE ep) { return connect(ep); }},
         {"dat_ep_common_connect",
          [](DAT_HANDLE ep) {
              sockaddr_in any{};
              return EXPORTED(dat_ep_common_connect)(ep, reinterpret_cast<DAT_IA_ADDRESS_PTR>(&any),
                                                     1, 0, nullptr);
          }},
         {"dat_ep_dup_connect",
          [](DAT_HANDLE ep) {
              return dat_ep_dup_connect(ep, ep, 1, 0, nullptr, DAT_QOS_BEST_EFFORT);
          }},
         {"dat_ep_disconnect",
          [](DAT_HANDLE ep) { return dat_ep_disconnect(ep, DAT_CLOSE_ABRUPT_FLAG); }},
         {"dat_ep_free", [](DAT_HANDLE ep) { return dat_ep_free(ep); }},
         {"dat_ep_reset", [](DAT_HANDLE ep) { return dat_ep_reset(ep); }},
         {"dat_ep_get_status",
          [](DAT_HANDLE ep) { return dat_ep_get_status(ep, nullptr, nullptr, nullptr); }},
         {"dat_ep_post_send",
          [](DAT_HANDLE ep) { return dat_ep_post_send(ep, 0, nullptr, cookie(1), kDefault); }},
         {"dat_ep_post_recv",
          [](DAT_HANDLE ep) { return dat_ep_post_recv(ep, 0, nullptr, cookie(1), kDefault); }},
         {"dat_ep_post_rdma_write",
          [](DAT_HANDLE ep) {
              return dat_ep_post_rdma_write(ep, 0, nullptr, cookie(1), &remote, kDefault);
          }},
         {"dat_ep_post_rdma_read",
          [](DAT_HANDLE ep) {
              return dat_ep_post_rdma_read(ep, 0, nullptr, cookie(1), &remote, kDefault);
          }},
         {"dat_ep_post_send_with_invalidate",
          [](DAT_HANDLE ep) {
              return EXPORTED(dat_ep_post_send_with_invalidate)(ep, 0, nullptr, cookie(1), kDefault,
                                                                DAT_FALSE, 0);
          }},
         {"dat_ep_post_rdma_read_to_rmr",
          [](DAT_HANDLE ep) {
              return EXPORTED(dat_ep_post_rdma_read_to_rmr)(ep, &remote, cookie(1), &remote,
                                                            kDefault);
          }},
         {"dat_ep_recv_query", [](DAT_HANDLE ep) { return dat_ep_recv_query(ep, &count, &count); }},
         {"dat_ep_set_watermark", [](DAT_HANDLE ep) { return dat_ep_set_watermark(ep, 1, 1); }}});
}

void add_evd_calls(Rows& rows) {
    static DAT_EVD_PARAM parameters;
    const auto call = [&](const char* function, std::function<DAT_RETURN(DAT_HANDLE)> body,
                          const char* other = "0x80050000") {
        add(rows, "0x80050015", {{function, std::move(body), nullptr, other}});
    };
    call("dat_evd_free", [](DAT_HANDLE evd) { return dat_evd_free(evd); });
    call("dat_evd_query",
         [](DAT_HANDLE evd) { return dat_evd_query(evd, DAT_EVD_FIELD_ALL, &parameters); });
    call("dat_evd_modify_cno", [](DAT_HANDLE evd) { return dat_evd_modify_cno(evd, nullptr); });
    call("dat_evd_enable", [](DAT_HANDLE evd) { return dat_evd_enable(evd); });
    call("dat_evd_disable", [](DAT_HANDLE evd) { return dat_evd_disable(evd); });
    call("dat_evd_wait", [](DAT_HANDLE evd) { return dat_evd_wait(evd, 0, 1, &event, &count); });
    call("dat_evd_dequeue", [](DAT_HANDLE evd) { return dat_evd_dequeue(evd, &event); });
    call("dat_evd_post_se", [](DAT_HANDLE evd) { return dat_evd_post_se(evd, &event); });
    call(
        "dat_evd_resize", [](DAT_HANDLE evd) { return dat_evd_resize(evd, 8); }, "0x8005001B");
    call("dat_evd_set_unwaitable", [](DAT_HANDLE evd) { return dat_evd_set_unwaitable(evd); });
    call("dat_evd_clear_unwaitable", [](DAT_HANDLE evd) { return dat_evd_clear_unwaitable(evd); });
}

void add_connection_calls(Rows& rows) {
    static DAT_CR_PARAM cr_parameters;
    static DAT_PSP_PARAM psp_parameters;
    static DAT_RSP_PARAM rsp_parameters;
    static DAT_CSP_PARAM csp_parameters;
    add(rows, "0x80050012",
        {{"dat_cr_query",
          [](DAT_HANDLE cr) { return dat_cr_query(cr, DAT_CR_FIELD_ALL, &cr_parameters); }},
         {"dat_cr_accept", [](DAT_HANDLE cr) { return dat_cr_accept(cr, nullptr, 0, nullptr); }},
         {"dat_cr_reject", [](DAT_HANDLE cr) { return dat_cr_reject(cr, 0, nullptr); }},
         {"dat_cr_handoff", [](DAT_HANDLE cr) { return dat_cr_handoff(cr, kQualifier); }}});
    add(rows, "0x80050010",
        {{"dat_psp_query",
          [](DAT_HANDLE psp) { return dat_psp_query(psp, DAT_PSP_FIELD_ALL, &psp_parameters); }},
         {"dat_psp_free", [](DAT_HANDLE psp) { return dat_psp_free(psp); }}});
    add(rows, "0x80050011",
        {{"dat_rsp_query",
          [](DAT_HANDLE rsp) { return dat_rsp_query(rsp, DAT_RSP_FIELD_ALL, &rsp_parameters); }},
         {"dat_rsp_free", [](DAT_HANDLE rsp) { return dat_rsp_free(rsp); }}});
    add(rows, "0x8005001A",
        {{"dat_csp_query",
          [](DAT_HANDLE csp) {
              return EXPORTED(dat_csp_query)(csp, DAT_CSP_FIELD_ALL, &csp_parameters);
          }},
         {"dat_csp_free", [](DAT_HANDLE csp) { return EXPORTED(dat_csp_free)(csp); }}});
}

void add_memory_calls(Rows& rows) {
    static DAT_LMR_PARAM lmr_parameters;
    static DAT_RMR_PARAM rmr_parameters;
    static DAT_SRQ_PARAM srq_parameters;
    add(rows, "0x8005000D",
        {{"dat_lmr_query",
          [](DAT_HANDLE lmr) { return dat_lmr_query(lmr, DAT_LMR_FIELD_ALL, &lmr_parameters); }},
         {"dat_lmr_free", [](DAT_HANDLE lmr) { return dat_lmr_free(lmr); }}});
    add(rows, "0x8005000E",
        {{"dat_rmr_query",
          [](DAT_HANDLE rmr) { return dat_rmr_query(rmr, DAT_RMR_FIELD_ALL, &rmr_parameters); }},
         {"dat_rmr_bind",
          [](DAT_HANDLE rmr) {
              DAT_LMR_TRIPLET triplet{};
              return dat_rmr_bind(rmr, nullptr, &triplet, DAT_MEM_PRIV_ALL_FLAG, DAT_VA_TYPE_VA,
                                  nullptr, cookie(1), kDefault, &remote_key);
          }},
         {"dat_rmr_free", [](DAT_HANDLE rmr) { return dat_rmr_free(rmr); }}});
    add(rows, "0x80050019",
        {{"dat_srq_query",
          [](DAT_HANDLE srq) { return dat_srq_query(srq, DAT_SRQ_FIELD_ALL, &srq_parameters); }},
         {"dat_srq_post_recv",
          [](DAT_HANDLE srq) { return dat_srq_post_recv(srq, 0, nullptr, cookie(1)); }},
         {"dat_srq_resize", [](DAT_HANDLE srq) { return dat_srq_resize(srq, 16); }},
         {"dat_srq_set_lw", [](DAT_HANDLE srq) { return dat_srq_set_lw(srq, 1); }},
         {"dat_srq_free", [](DAT_HANDLE srq) { return dat_srq_free(srq); }}});
}

/// Calls on a protection zone. The handle of another kind is an EVD here: other_kind() is a PZ.
void add_pz_calls(Rows& rows) {
    const auto call = [&](const char* function, std::function<DAT_RETURN(DAT_HANDLE)> body) {
        const std::string name = function;
        rows.push_back({name + "/null-pz", "0x8005000F", [body](Rig& r) { r << body(nullptr); }});
        rows.push_back({name + "/pz-of-another-kind", "0x8005000F",
                        [body](Rig& r) { r << body(r.side().sends); }});
    };
    static DAT_PZ_PARAM parameters;
    call("dat_pz_query",
         [](DAT_HANDLE pz) { return dat_pz_query(pz, DAT_PZ_FIELD_ALL, &parameters); });
    call("dat_pz_free", [](DAT_HANDLE pz) { return dat_pz_free(pz); });
    call("dat_rmr_create", [](DAT_HANDLE pz) { return dat_rmr_create(pz, &out); });
    call("dat_rmr_create_for_ep",
         [](DAT_HANDLE pz) { return EXPORTED(dat_rmr_create_for_ep)(pz, &out); });
}

void add_cno_calls(Rows& rows) {
    static DAT_CNO_PARAM parameters;
    add(rows, "0x80050013",
        {{"dat_cno_query",
          [](DAT_HANDLE cno) { return dat_cno_query(cno, DAT_CNO_FIELD_ALL, &parameters); }},
         {"dat_cno_modify_agent",
          [](DAT_HANDLE cno) { return dat_cno_modify_agent(cno, DAT_OS_WAIT_PROXY_AGENT_NULL); }},
         {"dat_cno_wait", [](DAT_HANDLE cno) { return dat_cno_wait(cno, 0, &out); }, nullptr,
          "0x00050013"},
         {"dat_cno_trigger", [](DAT_HANDLE cno) { return EXPORTED(dat_cno_trigger)(cno, &out); }},
         {"dat_cno_free", [](DAT_HANDLE cno) { return dat_cno_free(cno); }}});
}

void add_freed(Rows& rows) {
    const auto freed = [&](const char* function, const char* answer,
                           std::function<void(Rig&)> body) {
        rows.push_back({std::string(function) + "/freed-handle", answer, std::move(body),
                        "jumps through freed memory"});
    };
    freed("dat_ep_free", "0 0x8005000C", [](Rig& r) {
        const DAT_EP_HANDLE ep = r.endpoint();
        r << dat_ep_free(ep) << dat_ep_free(ep);
    });
    freed("dat_evd_free", "0 0x80050000", [](Rig& r) {
        const DAT_EVD_HANDLE evd = r.side().requests;
        r << dat_evd_free(evd) << dat_evd_free(evd);
    });
    freed("dat_pz_free", "0 0x8005000F", [](Rig& r) {
        const DAT_PZ_HANDLE pz = r.side().pz;
        r << dat_pz_free(pz) << dat_pz_free(pz);
    });
    freed("dat_lmr_free", "0 0x8005000D", [](Rig& r) {
        const DAT_LMR_HANDLE lmr = r.buffer().lmr;
        r << dat_lmr_free(lmr) << dat_lmr_free(lmr);
    });
}

}  // namespace

Rows handle_rows() {
    Rows rows;
    add_ia_calls(rows);
    add_ep_calls(rows);
    add_evd_calls(rows);
    add_connection_calls(rows);
    add_memory_calls(rows);
    add_pz_calls(rows);
    add_cno_calls(rows);
    add_freed(rows);
    // The reference's libdat2 jumps without checking these.
    rows.push_back({"dat_ep_reset/misaligned-handle", "0x8005000C",
                    [](Rig& r) { r << dat_ep_reset(static_cast<char*>(r.endpoint()) + 1); },
                    "jumps to a wild address"});
    rows.push_back({"dat_ep_reset/small-number-as-handle", "0x8005000C",
                    [](Rig& r) { r << dat_ep_reset(reinterpret_cast<DAT_EP_HANDLE>(77)); },
                    "jumps to a wild address"});
    return rows;
}

}  // namespace conformance
