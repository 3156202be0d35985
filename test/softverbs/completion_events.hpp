// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Completion events of a queue pair that is connected to itself.
#pragma once

#include <fcntl.h>

#include "test/softverbs/verbs_pair.hpp"

namespace test {

inline Options with_channel() {
    Options options;
    options.channel = true;
    return options;
}

/// Fetches and acknowledges all events of the channel. @return their number.
inline int take_events(Host& host) {
    fcntl(host.channel->fd, F_SETFL, O_NONBLOCK);
    int count = 0;
    ibv_cq* cq = nullptr;
    for (void* cq_context = nullptr; ibv_get_cq_event(host.channel, &cq, &cq_context) == 0; ++count)
        ibv_ack_cq_events(cq, 1);
    return count;
}

/// One process with a queue pair that is connected to itself.
struct Loopback {
    Loopback() : host(with_channel()), qp(host) { qp.connect(qp.address()); }
    /// Both completions are there on return.
    void transfer(unsigned flags = 0) {
        require(qp.post_receive(1, {host.sge(0, 8)}) == 0, "receive posted");
        require(qp.send(2, {host.sge(64, 8)}, flags) == 0, "posted");
    }
    Host host;
    Qp qp;
};

}  // namespace test
