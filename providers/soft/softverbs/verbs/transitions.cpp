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
};

/// Drivers of reliable queue pairs differ in the attributes they accept besides the required ones,
/// and programs rely on it.
constexpr int kAny = ~0;
constexpr int kPath = IBV_QP_PKEY_INDEX | IBV_QP_PORT;
constexpr int kReceiving = IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;
constexpr int kRights = IBV_QP_ACCESS_FLAGS | IBV_QP_PATH_MIG_STATE;

constexpr Transition kTransitions[] = {
    {IBV_QPS_RESET,
     IBV_QPS_INIT,
     {kPath | IBV_QP_ACCESS_FLAGS, kAny},
     {kPath | IBV_QP_ACCESS_FLAGS, 0},
     {kPath | IBV_QP_QKEY, 0}},
    {IBV_QPS_INIT,
     IBV_QPS_INIT,
     {0, kAny},
     {0, kPath | IBV_QP_ACCESS_FLAGS},
     {0, kPath | IBV_QP_QKEY}},
    {IBV_QPS_INIT,
     IBV_QPS_RTR,
     {kReceiving | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER, kAny},
     {kReceiving, IBV_QP_ACCESS_FLAGS | IBV_QP_PKEY_INDEX},
     {0, IBV_QP_PKEY_INDEX | IBV_QP_QKEY}},
    {IBV_QPS_RTR,
     IBV_QPS_RTS,
     {IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
          IBV_QP_MAX_QP_RD_ATOMIC,
      kAny},
     {IBV_QP_SQ_PSN, kRights},
     {IBV_QP_SQ_PSN, IBV_QP_QKEY}},
    {IBV_QPS_RTS, IBV_QPS_RTS, {0, kAny}, {0, kRights}, {0, IBV_QP_QKEY}},
    {IBV_QPS_RTS,
     IBV_QPS_SQD,
     {0, kAny},
     {0, IBV_QP_EN_SQD_ASYNC_NOTIFY},
     {0, IBV_QP_EN_SQD_ASYNC_NOTIFY}},
    {IBV_QPS_SQD,
     IBV_QPS_SQD,
     {0, kAny},
     {0, kRights | IBV_QP_AV | IBV_QP_PKEY_INDEX},
     {0, IBV_QP_PKEY_INDEX | IBV_QP_QKEY}},
    {IBV_QPS_SQD, IBV_QPS_RTS, {0, kAny}, {0, kRights}, {0, IBV_QP_QKEY}},
    // Reliable queue pairs are never in this state.
    {IBV_QPS_SQE, IBV_QPS_RTS, {0, 0}, {0, IBV_QP_ACCESS_FLAGS}, {0, IBV_QP_QKEY}},
};

Attributes attributes_of(const Transition& transition, ibv_qp_type type) {
    if (type == IBV_QPT_UD) return transition.datagram;
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
