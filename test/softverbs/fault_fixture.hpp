// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// What the tests of fault rules share.
#pragma once

#include <fstream>
#include <string>
#include <vector>

#include "test/softverbs/connection.hpp"

namespace test {

inline Options small(ibv_qp_type type = IBV_QPT_RC) {
    Options options;
    options.buffer = 4096;
    options.type = type;
    return options;
}

class Faults : public testing::Test {
  protected:
    ~Faults() override {
        for (const char* name :
             {"SOFTVERBS_FAULTS", "SOFTVERBS_FAULTS_SEED", "SOFTVERBS_FAULTS_LOG"})
            unsetenv(name);
    }
    /// For what is opened later.
    void use(const std::string& rules, int seed = 1) {
        setenv("SOFTVERBS_FAULTS", rules.c_str(), 1);
        setenv("SOFTVERBS_FAULTS_SEED", std::to_string(seed).c_str(), 1);
        setenv("SOFTVERBS_FAULTS_LOG", log().c_str(), 1);
    }
    std::string log() const { return fabric_.path() + "/log"; }
    /// The rules in the log, without their comments.
    std::vector<std::string> logged() const {
        std::ifstream file(log());
        std::vector<std::string> lines;
        for (std::string line; std::getline(file, line);)
            lines.push_back(line.substr(0, line.find("  #")));
        return lines;
    }
    TemporaryFabric fabric_;
};

}  // namespace test
