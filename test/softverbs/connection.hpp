// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Two connected queue pairs of this process, and changes of the fabric as softverbs(1) makes them.
#pragma once

#include <fstream>
#include <utility>

#include "providers/soft/softverbs/fabric/index.hpp"
#include "test/softverbs/verbs_pair.hpp"
#include "test/support/raw_member.hpp"

namespace test {

/// A few milliseconds altogether.
inline constexpr Timing kShort{.rnr_retry = 1, .min_rnr_timer = 1, .timeout = 8, .retry_cnt = 1};

/// A member greets whoever connects once it has looked at what has changed.
inline void tell_members(const std::string& fabric) {
    for (const std::string& door : doors(fabric)) {
        const UniqueFd link = link_to(door);
        require(is_readable(link.get()), "the member greets");
    }
}

/// Replaces the fault rules of the fabric.
inline void tell_rules(const std::string& fabric, const std::string& rules) {
    std::ofstream(fabric + "/faults") << rules;
    const auto directory = softverbs::Directory::open();
    require(directory && softverbs::Index::note_rules(**directory), "noted");
    tell_members(fabric);
}

/// An asynchronous event: its type, and its port if it is a port's.
using Event = std::pair<ibv_event_type, int>;

inline Event next_event(const Host& host) {
    require(is_readable(host.context->async_fd), "an event comes");
    ibv_async_event event;
    require(ibv_get_async_event(host.context, &event) == 0, "it can be fetched");
    ibv_ack_async_event(&event);
    switch (event.event_type) {
        case IBV_EVENT_PORT_ERR:
        case IBV_EVENT_PORT_ACTIVE:
        case IBV_EVENT_CLIENT_REREGISTER:
        case IBV_EVENT_LID_CHANGE:
        case IBV_EVENT_GID_CHANGE:
        case IBV_EVENT_PKEY_CHANGE:
        case IBV_EVENT_SM_CHANGE:
            return {event.event_type, event.element.port_num};
        default:
            return {event.event_type, 0};
    }
}

inline bool has_event(const Host& host) {
    return is_readable(host.context->async_fd, std::chrono::seconds(0));
}

/// The queue pair that requests is the process's first one.
struct Connection {
    static constexpr int kReceives = 16;

    Connection(const Options& mine, const Options& theirs, const Timing& timing = {})
        : here(mine), there(theirs), one(here), other(there) {
        for (int i = 0; i < kReceives; ++i)
            require(other.post_receive(1, {there.sge(1024, 64)}) == 0, "a receive");
        one.connect(other.address(), timing);
        other.connect(one.address(), timing);
    }
    explicit Connection(const Options& both, const Timing& timing = {})
        : Connection(both, both, timing) {}

    int post(ibv_wr_opcode opcode) {
        if (opcode == IBV_WR_SEND) return one.send(2, {here.sge(0, 8)});
        if (opcode == IBV_WR_ATOMIC_FETCH_AND_ADD)
            return one.atomic(2, opcode, here.sge(0, 8), there.address(), there.mr->rkey, 1);
        return one.rdma(2, opcode, {here.sge(0, 8)}, there.address(), there.mr->rkey);
    }
    int send() { return post(IBV_WR_SEND); }
    ibv_wc_status status(ibv_wr_opcode opcode = IBV_WR_SEND) {
        require(post(opcode) == 0, "posted");
        return here.wait().status;
    }
    bool delivers() { return status() == IBV_WC_SUCCESS && there.wait().status == IBV_WC_SUCCESS; }
    /// Waits until the queue pair at the other end has failed, which its service thread does.
    bool other_fails() {
        const auto end = Clock::now() + kDeadline;
        while (other.state() != IBV_QPS_ERR && Clock::now() < end) usleep(1000);
        return other.state() == IBV_QPS_ERR;
    }
    Host here, there;
    Qp one, other;
};

}  // namespace test
