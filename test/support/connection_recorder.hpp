// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// For tests that use a connection manager as the core does: the user of a connection, and queue
/// pairs to connect.
#pragma once

#include <infiniband/verbs.h>

#include <cstddef>
#include <optional>
#include <vector>

#include "dapl/cm/manager.hpp"
#include "dapl/verbs/handles.hpp"
#include "test/support/process.hpp"

namespace test {

struct Report {
    dapl::cm::Outcome outcome;
    std::vector<std::byte> data;
};

class Recorder final : public dapl::cm::User {
  public:
    void report(dapl::cm::Outcome outcome, dapl::cm::PrivateData data) override
        REQUIRES(dapl::connection_lock) {
        reports.push_back({outcome, {data.begin(), data.end()}});
    }
    /// @return the last report when there are `count`, or nothing if there are more or it takes too
    /// long.
    std::optional<Report> wait_for(std::size_t count) {
        const bool came = eventually([&] { return size() >= count; });
        const support::MutexLock guard(dapl::connection_lock);
        if (!came || reports.size() != count) return std::nullopt;
        return reports.back();
    }
    std::size_t size() {
        const support::MutexLock guard(dapl::connection_lock);
        return reports.size();
    }
    std::vector<Report> reports GUARDED_BY(dapl::connection_lock);
};

/// @return a reliable queue pair in INIT.
inline verbs::QueuePair queue_pair_in_init(ibv_pd* domain, ibv_cq* queue) {
    ibv_qp_init_attr wanted{};
    wanted.qp_type = IBV_QPT_RC;
    wanted.send_cq = wanted.recv_cq = queue;
    wanted.cap = {1, 1, 1, 1, 0};
    verbs::QueuePair made(ibv_create_qp(domain, &wanted));
    ibv_qp_attr initial{};
    initial.qp_state = IBV_QPS_INIT;
    initial.port_num = 1;
    ibv_modify_qp(made.get(), &initial,
                  IBV_QP_STATE | IBV_QP_PORT | IBV_QP_PKEY_INDEX | IBV_QP_ACCESS_FLAGS);
    return made;
}

}  // namespace test
