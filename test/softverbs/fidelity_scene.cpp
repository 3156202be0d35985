// SPDX-License-Identifier: BSD-2-Clause
#include "test/softverbs/fidelity_scene.hpp"

#include <unistd.h>

#include <array>
#include <cerrno>

namespace test {
namespace {

std::string words(const std::vector<std::string>& all) {
    std::string text;
    for (const std::string& one : all) text += (text.empty() ? "" : " ") + one;
    return text;
}

std::string name_of(ibv_event_type event) {
    switch (event) {
        case IBV_EVENT_QP_FATAL:
            return "QP_FATAL";
        case IBV_EVENT_QP_REQ_ERR:
            return "QP_REQ_ERR";
        case IBV_EVENT_QP_ACCESS_ERR:
            return "QP_ACCESS_ERR";
        case IBV_EVENT_QP_LAST_WQE_REACHED:
            return "QP_LAST_WQE_REACHED";
        case IBV_EVENT_COMM_EST:
            return "COMM_EST";
        case IBV_EVENT_SQ_DRAINED:
            return "SQ_DRAINED";
        default:
            return "event-" + std::to_string(event);
    }
}

std::string name_of(ibv_wc_status status) {
    static const std::map<ibv_wc_status, std::string> kNames{
        {IBV_WC_SUCCESS, "SUCCESS"},
        {IBV_WC_LOC_LEN_ERR, "LOC_LEN_ERR"},
        {IBV_WC_LOC_QP_OP_ERR, "LOC_QP_OP_ERR"},
        {IBV_WC_LOC_PROT_ERR, "LOC_PROT_ERR"},
        {IBV_WC_WR_FLUSH_ERR, "WR_FLUSH_ERR"},
        {IBV_WC_MW_BIND_ERR, "MW_BIND_ERR"},
        {IBV_WC_BAD_RESP_ERR, "BAD_RESP_ERR"},
        {IBV_WC_LOC_ACCESS_ERR, "LOC_ACCESS_ERR"},
        {IBV_WC_REM_INV_REQ_ERR, "REM_INV_REQ_ERR"},
        {IBV_WC_REM_ACCESS_ERR, "REM_ACCESS_ERR"},
        {IBV_WC_REM_OP_ERR, "REM_OP_ERR"},
        {IBV_WC_RETRY_EXC_ERR, "RETRY_EXC_ERR"},
        {IBV_WC_RNR_RETRY_EXC_ERR, "RNR_RETRY_EXC_ERR"},
    };
    const auto found = kNames.find(status);
    return found == kNames.end() ? "status-" + std::to_string(status) : found->second;
}

}  // namespace

void FreeWindow::operator()(ibv_mw* window) const {
    ibv_dealloc_mw(window);
}

std::string name_of(ibv_qp_state state) {
    constexpr std::array names{"RESET", "INIT", "RTR", "RTS", "SQD", "SQE", "ERR"};
    return names.at(state);
}

std::string name_of(ibv_qp_type type) {
    return type == IBV_QPT_RC ? "RC" : type == IBV_QPT_UC ? "UC" : "UD";
}

std::string name_of_errno(int error) {
    return error == EINVAL   ? "EINVAL"
           : error == ENOMEM ? "ENOMEM"
                             : "errno-" + std::to_string(error);
}

void Scene::initialize(const Side& side, int rights, std::uint32_t qkey) const {
    ibv_qp_attr attributes{};
    attributes.qp_state = IBV_QPS_INIT;
    attributes.port_num = 1;
    attributes.qkey = qkey;
    attributes.qp_access_flags = static_cast<unsigned>(rights);
    const bool is_ud = setup.type == IBV_QPT_UD;
    modify(side, attributes,
           IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
               (is_ud ? IBV_QP_QKEY : IBV_QP_ACCESS_FLAGS));
}

/// Timers are short: a request to nobody must fail soon.
void Scene::make_ready(const Side& side, const Side& peer, ibv_qp_state state) const {
    const bool is_ud = setup.type == IBV_QPT_UD, is_rc = setup.type == IBV_QPT_RC;
    ibv_qp_attr a{};
    a.qp_state = IBV_QPS_RTR;
    a.path_mtu = IBV_MTU_1024;
    a.dest_qp_num = peer.qp->qp_num;
    a.max_dest_rd_atomic = setup.reads_taken;
    a.min_rnr_timer = 1;
    a.ah_attr = adapter.address();
    int mask = IBV_QP_STATE;
    if (!is_ud) mask |= IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;
    if (is_rc) mask |= IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
    if (state >= IBV_QPS_RTR) modify(side, a, mask);
    if (state < IBV_QPS_RTS) return;
    a.qp_state = IBV_QPS_RTS;
    a.timeout = 8;  // 1 ms
    a.retry_cnt = 1;
    a.rnr_retry = 1;
    a.max_rd_atomic = setup.reads_sent;
    mask = IBV_QP_STATE | IBV_QP_SQ_PSN;
    if (is_rc)
        mask |= IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC;
    modify(side, a, mask);
}

/// States other than those of the way to RTS are entered by post(), after the receives.
void Scene::connect() {
    if (setup.requester >= IBV_QPS_INIT) initialize(requester, kAll & ~IBV_ACCESS_MW_BIND, kQkey);
    if (setup.responder >= IBV_QPS_INIT) initialize(responder, setup.rights, setup.qkey);
    make_ready(requester, responder, setup.requester);
    make_ready(responder, requester, setup.responder);
    if (setup.type != IBV_QPT_UD) return;
    ibv_ah_attr address = adapter.address();
    handle.reset(made(ibv_create_ah(requester.pd.get(), &address), "an address handle"));
}

void Scene::point_at_peer(ibv_send_wr& wr) const {
    if (setup.type == IBV_QPT_UD) {
        wr.wr.ud = {handle.get(), responder.qp->qp_num, message_qkey};
    } else if (is_atomic) {
        wr.wr.atomic.remote_addr = remote_address;
        wr.wr.atomic.rkey = rkey;
    } else if (is_remote) {
        wr.wr.rdma.remote_addr = remote_address;
        wr.wr.rdma.rkey = rkey;
    }
}

void Scene::post() {
    for (int i = 0; i < setup.receives; ++i)
        done(responder.post_receive(kReceive + static_cast<std::uint64_t>(i), receive), "receive");
    if (setup.responder == IBV_QPS_ERR) move(responder, IBV_QPS_ERR);
    if (setup.requester == IBV_QPS_ERR) move(requester, IBV_QPS_ERR);
    request.sg_list = local.data();
    request.num_sge = static_cast<int>(local.size());
    point_at_peer(request);
    // The request behind it needs nothing of the peer's memory, and no receive where it can.
    ibv_send_wr behind{};
    behind.wr_id = kBehind;
    behind.send_flags = IBV_SEND_SIGNALED;
    behind.opcode = setup.type == IBV_QPT_UD ? IBV_WR_SEND : IBV_WR_RDMA_WRITE;
    if (setup.type == IBV_QPT_UD) behind.wr.ud = {handle.get(), responder.qp->qp_num, kQkey};
    if (request.next == nullptr) request.next = &behind;
    ibv_send_wr* bad = nullptr;
    post_error_ = ibv_post_send(requester.qp.get(), &request, &bad);
    request.next = nullptr;
}

void Scene::take(const Side& side, std::map<std::uint64_t, std::string>& completions) const {
    for (ibv_wc wc; ibv_poll_cq(side.cq.get(), 1, &wc) > 0;) {
        std::string& told = completions[wc.wr_id];
        told += (told.empty() ? "" : "+") + name_of(wc.status);
    }
}

void Scene::take_events() {
    for (ibv_async_event event; ibv_get_async_event(adapter.context(), &event) == 0;) {
        events_[event.element.qp].push_back(name_of(event.event_type));
        ibv_ack_async_event(&event);
    }
}

void Scene::prepared(const Side& side) {
    std::map<std::uint64_t, std::string> completions;
    require(eventually([&] { return take(side, completions), !completions.empty(); }), "prepared");
    require(completions.begin()->second == "SUCCESS",
            "it succeeds: " + completions.begin()->second);
}

std::string Scene::told(const std::map<std::uint64_t, std::string>& completions,
                        std::uint64_t first, std::uint64_t second, const Side& side) const {
    const auto of = [&](std::uint64_t id) {
        const auto found = completions.find(id);
        return found == completions.end() ? std::string("-") : found->second;
    };
    std::vector<std::string> all{of(first), of(second), name_of(side.state())};
    if (&side == &requester && post_error_ != 0) all[0] = name_of_errno(post_error_);
    const auto events = events_.find(side.qp.get());
    if (events != events_.end())
        all.insert(all.end(), events->second.begin(), events->second.end());
    else
        all.emplace_back("-");
    return words(all);
}

std::string Scene::heard() const {
    return told(of_requester_, kFirst, kBehind, requester) + " | " +
           told(of_responder_, kReceive, kReceive + 1, responder);
}

void Scene::listen(const std::string& wanted) {
    const auto look = [&] {
        take(requester, of_requester_);
        take(responder, of_responder_);
        take_events();
        return heard() == wanted;
    };
    eventually(look, scaled(wanted.empty() ? 100ms : 2s));
    usleep(std::chrono::microseconds(kQuiet).count());  // for what should not come
    look();
}

}  // namespace test
