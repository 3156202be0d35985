// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The cases of fidelity.cpp: which rule each of them breaks.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "test/softverbs/fidelity_scene.hpp"

namespace test {

struct Operation {
    const char* name;
    ibv_wr_opcode opcode;
    bool is_remote, takes_receive, reads, is_atomic;
};
using Spoil = std::function<void(Scene&)>;
struct Case {
    std::string name;
    Setup setup;
    Operation operation;
    Spoil spoil;
    unsigned needs = 0;  ///< IBV_DEVICE_*
};

class Cases {
  public:
    Cases();
    const std::vector<Case>& all() const { return all_; }

  private:
    void add(const Operation& operation, const char* fault, const Spoil& spoil, Setup setup = {},
             unsigned needs = 0) {
        const std::string shared = setup.shared_receives ? ", shared receive queue" : "";
        all_.push_back(
            {std::string(name_of(setup.type)) + " " + operation.name + ": " + fault + shared, setup,
             operation, spoil, needs});
    }
    bool can(const Operation& operation, ibv_qp_type type) const {
        if (type == IBV_QPT_UD) return !operation.is_remote;
        return type == IBV_QPT_RC || !operation.reads;
    }
    void add_local_keys();
    void add_several_segments(const Operation& operation, const Setup& setup);
    void add_remote_keys();
    void add_windows();
    void add_queue_pair_rights();
    void add_lengths();
    void add_receives();
    void add_invalidations();
    void add_states();
    void add_refused_posts();
    void add_datagrams();

    std::vector<Case> all_;
};

}  // namespace test
