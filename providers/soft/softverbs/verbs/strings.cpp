// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Names of verbs enumerators for display.
#include <infiniband/verbs.h>

#include <iterator>

namespace {

constexpr const char* kStatuses[] = {
    "success",
    "local length error",
    "local QP operation error",
    "local EE context operation error",
    "local protection error",
    "Work Request Flushed Error",
    "memory management operation error",
    "bad response error",
    "local access error",
    "remote invalid request error",
    "remote access error",
    "remote operation error",
    "transport retry counter exceeded",
    "RNR retry counter exceeded",
    "local RDD violation error",
    "remote invalid RD request",
    "aborted error",
    "invalid EE context number",
    "invalid EE context state",
    "fatal error",
    "response timeout error",
    "general error",
    "TM error",
    "TM software rendezvous",
};

constexpr const char* kEvents[] = {
    "CQ error",
    "local work queue catastrophic error",
    "invalid request local work queue error",
    "local access violation work queue error",
    "communication established",
    "send queue drained",
    "path migrated",
    "path migration request error",
    "local catastrophic error",
    "port active",
    "port error",
    "LID change",
    "P_Key change",
    "SM change",
    "SRQ catastrophic error",
    "SRQ limit reached",
    "last WQE reached",
    "client reregistration",
    "GID table change",
    "WQ fatal",
};

constexpr const char* kNodes[] = {
    "unknown",           "InfiniBand channel adapter",
    "InfiniBand switch", "InfiniBand router",
    "iWARP NIC",         "usNIC",
    "usNIC UDP",         "unspecified",
};

constexpr const char* kPortStates[] = {
    "no state change (NOP)", "down", "init", "armed", "active", "active defer",
};

template <std::size_t count>
const char* name_of(const char* const (&names)[count], int value) {
    return value >= 0 && value < static_cast<int>(count) ? names[value] : "unknown";
}

}  // namespace

extern "C" {

const char* ibv_wc_status_str(ibv_wc_status status) {
    return name_of(kStatuses, status);
}

const char* ibv_event_type_str(ibv_event_type event) {
    return name_of(kEvents, event);
}

const char* ibv_node_type_str(ibv_node_type type) {
    return name_of(kNodes, type);
}

const char* ibv_port_state_str(ibv_port_state state) {
    return name_of(kPortStates, state);
}

/// Does nothing: registered memory behaves in a child like any other memory. Its pages are never
/// locked or excluded from the fork.
int ibv_fork_init(void) {
    return 0;
}

ibv_fork_status ibv_is_fork_initialized(void) {
    return IBV_FORK_UNNEEDED;
}

}  // extern "C"
