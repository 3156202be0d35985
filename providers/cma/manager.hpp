// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The connection manager over rdma_cm.
#pragma once

#include <rdma/rdma_cma.h>

#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "dapl/cm/event_loop.hpp"
#include "dapl/cm/manager.hpp"
#include "device/device.hpp"
#include "providers/cma/device.hpp"

namespace dapl::cma {

struct DestroyChannel {
    void operator()(rdma_event_channel* channel) const { rdma_destroy_event_channel(channel); }
};
struct DestroyId {
    void operator()(rdma_cm_id* id) const {
        id->qp = nullptr;  // belongs to the EP
        rdma_destroy_id(id);
    }
};
using Channel = std::unique_ptr<rdma_event_channel, DestroyChannel>;
/// Destroyed with connection_lock held. Events are fetched under the same lock, so that none of the
/// id's events is then unacknowledged and destroying never waits.
using Id = std::unique_ptr<rdma_cm_id, DestroyId>;

struct Event;

/// The object to which the context of an rdma_cm_id points.
class EventTarget {
  public:
    virtual void handle(const Event& event) REQUIRES(connection_lock) = 0;
    /// Called when handle() ran out of memory.
    virtual void give_up() REQUIRES(connection_lock) = 0;

  protected:
    ~EventTarget() = default;
};

class Manager final : public cm::Manager, private cm::EventSource, private EventTarget {
  public:
    Manager(cm::LoopHold running, std::string_view opened_as, const Devices& own, DeviceName name,
            const AddressChoice& choice);
    ~Manager() override EXCLUDES(connection_lock);
    /// First step. @return an errno value, 0 for success.
    int open_channel();
    /// Second step: binds to the address that was chosen. @return an errno value, 0 for success.
    int bind() EXCLUDES(connection_lock);

    /// Logs the device that a bound manager uses, with a warning if it is not usable yet.
    void show_choice(std::string_view ia_name) const;
    void explain(const support::Facts& facts) const override;

    const cm::Adapter& adapter() const override { return adapter_; }
    const char* name() const override { return "CMA"; }
    DAT_COUNT max_private_data() const override;
    cm::Limits limits() const override;
    std::optional<cm::DatagramService> datagrams() const override;
    support::Result<std::unique_ptr<cm::Connection>> connect(const sockaddr* peer,
                                                             std::uint64_t conn_qual,
                                                             const cm::Parameters& parameters,
                                                             cm::User& user) override
        REQUIRES(connection_lock);
    support::Result<std::unique_ptr<cm::Listener>> listen(std::uint64_t conn_qual,
                                                          cm::ListenUser& user) override
        REQUIRES(connection_lock);

    std::optional<cm::Limits> socket_limits() const override;
    support::Result<cm::SocketService*> sockets() override REQUIRES(connection_lock);

    const Devices& devices;
    /// Creates an id whose events go to the target.
    support::Result<Id> make_id(EventTarget& target, rdma_port_space space) const;
    bool is_infiniband() const;
    /// @return the GID of the address to which rdma_cm is bound, as it is now; none on iWARP.
    std::optional<verbs::GidChoice> gid() const;
    /// Whether INIT, as the core sets it for a new queue pair, is already as rdma_cm wants it: the
    /// same entry of the port's partition table.
    bool keeps_first_partition() const { return keeps_first_partition_; }

  private:
    void ready() override REQUIRES(connection_lock);
    void handle(const Event& event) override REQUIRES(connection_lock);
    void give_up() override REQUIRES(connection_lock) {}

    /// @return nullopt if the device does not answer.
    std::optional<cm::DeviceChoice> device_choice() const;

    /// Serves connections over sockets; most adapter instances make none.
    struct Sockets;

    const DeviceName name_;
    const AddressChoice choice_;
    cm::Adapter adapter_{};
    Channel channel_;
    Id bound_id_;  ///< keeps the device open
    bool keeps_first_partition_ = false;
    std::unique_ptr<Sockets> sockets_ GUARDED_BY(connection_lock);
};

/// Library::open_manager for a library with these devices, which must live as long as the library.
support::Result<std::unique_ptr<cm::Manager>> open_manager(const Devices& devices,
                                                           std::string_view ia_name,
                                                           std::string_view ia_params)
    EXCLUDES(connection_lock);

}  // namespace dapl::cma
