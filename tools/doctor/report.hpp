// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tools/common/json.hpp"
#include "tools/doctor/finding.hpp"
#include "tools/doctor/peer.hpp"
#include "tools/doctor/ports.hpp"

namespace doctor {

struct Report {
    std::string ia;                    ///< "" for none
    std::vector<std::string> checks;   ///< the checks made, in order
    std::vector<std::string> modules;  ///< result of kernel_modules()
    std::vector<Port> ports;
    Findings findings;
    std::optional<Side> here, peer;
};

/// For stdout, coloured if that is a terminal.
std::string to_text(const Report& report);
tools::Json to_json(const Report& report);

}  // namespace doctor
