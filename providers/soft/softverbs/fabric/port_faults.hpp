// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Ports that fault rules take the link from, for this process alone: by timers of the service
/// thread, since the device was opened.
#pragma once

#include <functional>
#include <memory>

#include "providers/soft/softverbs/fabric/device_states.hpp"
#include "providers/soft/softverbs/fabric/service.hpp"
#include "providers/soft/softverbs/faults/plan.hpp"

namespace softverbs {

class PortFaults {
  public:
    /// @param changed called on the service thread when down() has changed.
    PortFaults(Service& service, Service::Function changed)
        : service_(service), changed_(std::move(changed)) {}

    /// Follows the plan from now on, instead of the one before. Called before the service thread
    /// starts, and by it.
    /// @param plan nullptr: all links are there.
    void follow(std::shared_ptr<const faults::Plan> plan);
    /// @return the ports without a link, as bits of DeviceStates::down.
    std::uint32_t down() const { return down_; }

  private:
    struct Following;

    void at(Deadline when, const std::shared_ptr<Following>& following, std::size_t number,
            bool is_down);
    void change(const std::shared_ptr<Following>& following, std::size_t number, bool is_down);
    void merge();

    Service& service_;
    Service::Function changed_;
    /// Replaced with the plan: timers of the one before do nothing.
    std::shared_ptr<Following> following_;
    std::uint32_t down_ = 0;
};

}  // namespace softverbs
