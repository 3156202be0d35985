// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Applies fault rules to ports and devices, for this process alone: by timers of the service
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
    /// Called with an action that is an event, and with the ports that have it, as bits of
    /// DeviceStates::down.
    using Happened = std::function<void(faults::Action event, std::uint32_t ports)>;

    /// @param changed called on the service thread when states() has changed.
    /// @param happened called there for each event of ports.
    PortFaults(Service& service, Service::Function changed, Happened happened)
        : service_(service), changed_(std::move(changed)), happened_(std::move(happened)) {}

    /// Follows the plan from now on, instead of the one before. Called before the service thread
    /// starts, and by it.
    /// @param plan nullptr: all links are there.
    void follow(std::shared_ptr<const faults::Plan> plan);
    /// @return the ports without a link, and the devices that are gone.
    const DeviceStates& states() const { return states_; }

  private:
    struct Following;

    void at(Deadline when, const std::shared_ptr<Following>& following, std::size_t number,
            bool begins);
    void change(const std::shared_ptr<Following>& following, std::size_t number, bool begins);
    void merge();

    Service& service_;
    Service::Function changed_;
    Happened happened_;
    /// Replaced with the plan: timers of the one before do nothing.
    std::shared_ptr<Following> following_;
    DeviceStates states_;
};

}  // namespace softverbs
