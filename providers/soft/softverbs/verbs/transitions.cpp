// SPDX-License-Identifier: BSD-2-Clause
#include "providers/soft/softverbs/verbs/transitions.hpp"

namespace softverbs {
namespace {

struct Attributes {
    int required;
    int optional;
};

struct Transition {
    ibv_qp_state from, to;
    Attributes reliable;
    Attributes unreliable;
    Attributes datagram;
    Attributes xrc_send;
    Attributes xrc_receive;
};

/// Drivers of reliable queue pairs, XRC ones included, differ in the attributes they accept besides
/// the required ones, and programs rely on it.
constexpr int kAny = ~0;
constexpr int kPath = IBV_QP_PKEY_INDEX | IBV_QP_PORT;
constexpr int kReceiving = IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;
constexpr int kRights = IBV_QP_ACCESS_FLAGS | IBV_QP_PATH_MIG_STATE;
constexpr int kAnswering = IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
constexpr int kSending =
    IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC;

constexpr Transition kTransitions[] = {
    {IBV_QPS_RESET,
     IBV_QPS_INIT,
     {kPath | IBV_QP_ACCESS_FLAGS, kAny},
     {kPath | IBV_QP_ACCESS_FLAGS, 0},
     {kPath | IBV_QP_QKEY, 0},
     {kPath | IBV_QP_ACCESS_FLAGS, kAny},
     {kPath | IBV_QP_ACCESS_FLAGS, kAny}},
    {IBV_QPS_INIT,
     IBV_QPS_INIT,
     {0, kAny},
     {0, kPath | IBV_QP_ACCESS_FLAGS},
     {0, kPath | IBV_QP_QKEY},
     {0, kAny},
     {0, kAny}},
    {IBV_QPS_INIT,
     IBV_QPS_RTR,
     {kReceiving | kAnswering, kAny},
     {kReceiving, IBV_QP_ACCESS_FLAGS | IBV_QP_PKEY_INDEX},
     {0, IBV_QP_PKEY_INDEX | IBV_QP_QKEY},
     {kReceiving, kAny},
     {kReceiving | kAnswering, kAny}},
    {IBV_QPS_RTR,
     IBV_QPS_RTS,
     {kSending, kAny},
     {IBV_QP_SQ_PSN, kRights},
     {IBV_QP_SQ_PSN, IBV_QP_QKEY},
     {kSending, kAny},
     {IBV_QP_TIMEOUT | IBV_QP_SQ_PSN, kAny}},
    {IBV_QPS_RTS, IBV_QPS_RTS, {0, kAny}, {0, kRights}, {0, IBV_QP_QKEY}, {0, kAny}, {0, kAny}},
    {IBV_QPS_RTS,
     IBV_QPS_SQD,
     {0, kAny},
     {0, IBV_QP_EN_SQD_ASYNC_NOTIFY},
     {0, IBV_QP_EN_SQD_ASYNC_NOTIFY},
     {0, kAny},
     {0, kAny}},
    {IBV_QPS_SQD,
     IBV_QPS_SQD,
     {0, kAny},
     {0, kRights | IBV_QP_AV | IBV_QP_PKEY_INDEX},
     {0, IBV_QP_PKEY_INDEX | IBV_QP_QKEY},
     {0, kAny},
     {0, kAny}},
    {IBV_QPS_SQD, IBV_QPS_RTS, {0, kAny}, {0, kRights}, {0, IBV_QP_QKEY}, {0, kAny}, {0, kAny}},
    // Reliable queue pairs are never in this state.
    {IBV_QPS_SQE, IBV_QPS_RTS, {0, 0}, {0, IBV_QP_ACCESS_FLAGS}, {0, IBV_QP_QKEY}, {0, 0}, {0, 0}},
};

Attributes attributes_of(const Transition& transition, ibv_qp_type type) {
    if (type == IBV_QPT_UD) return transition.datagram;
    if (type == IBV_QPT_XRC_SEND) return transition.xrc_send;
    if (type == IBV_QPT_XRC_RECV) return transition.xrc_receive;
    return type == IBV_QPT_UC ? transition.unreliable : transition.reliable;
}

}  // namespace

bool is_allowed(ibv_qp_type type, ibv_qp_state from, ibv_qp_state to, int mask) {
    if (to == IBV_QPS_RESET || to == IBV_QPS_ERR) return true;
    for (const Transition& transition : kTransitions) {
        if (transition.from != from || transition.to != to) continue;
        const Attributes known = attributes_of(transition, type);
        const int all = known.required | known.optional | IBV_QP_STATE | IBV_QP_CUR_STATE;
        return (mask & known.required) == known.required && (mask & ~all) == 0;
    }
    return false;
}

}  // namespace softverbs
