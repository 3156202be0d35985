// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Adapter instance: root of the ownership tree. It owns a connection manager, which owns the
/// device, and every object made with it.
#pragma once

#include <atomic>
#include <memory>

#include "dapl/agent_thread.hpp"
#include "dapl/cm/manager.hpp"
#include "dapl/cno.hpp"
#include "dapl/counters.hpp"
#include "dapl/cr.hpp"
#include "dapl/device_counters.hpp"
#include "dapl/ep.hpp"
#include "dapl/ep_numbers.hpp"
#include "dapl/evd.hpp"
#include "dapl/list.hpp"
#include "dapl/lmr.hpp"
#include "dapl/named_attributes.hpp"
#include "dapl/object.hpp"
#include "dapl/process_state.hpp"
#include "dapl/provided_memory.hpp"
#include "dapl/provider.hpp"
#include "dapl/pz.hpp"
#include "dapl/rmr.hpp"
#include "dapl/service_point.hpp"
#include "dapl/service_thread.hpp"
#include "dapl/shared_channel.hpp"
#include "dapl/srq.hpp"
#include "dapl/support/mutex.hpp"
#include "dapl/wake_descriptors.hpp"

namespace dapl {

class DeviceEvents;
namespace memory {
class Registrations;
}

/// Lock order: ProcessState::open_mutex, an IA's mutex, connection_lock, the locks of the objects.
class Ia final : public Object<Ia> {
  public:
    static constexpr Kind kKind = Kind::kIa;
    /// @param device, port as the adapter reports them.
    Ia(const Provider& registered, std::unique_ptr<cm::Manager> opened, ServiceThread& thread,
       AgentThread& agent_thread, const ibv_device_attr& device, const ibv_port_attr& port);

    /// Whether the device has memory windows of this type.
    bool has_windows(ibv_mw_type type) const;
    /// 0 without memory windows.
    int max_rmrs() const;
    /// The sink of an RDMA read is named to the peer on iWARP, and there is room for one.
    int max_read_segments() const { return is_infiniband() ? device_attributes.max_sge : 1; }
    /// The largest datagram, in bytes: it goes in one packet.
    std::uint32_t datagram_size() const { return 128U << port_attributes.active_mtu; }
    bool is_infiniband() const { return transport != IBV_TRANSPORT_IWARP; }
    bool has_atomics() const {
        return is_infiniband() && device_attributes.atomic_cap != IBV_ATOMIC_NONE;
    }
    const cm::Adapter& adapter() const { return manager->adapter(); }
    ibv_context* context() const { return manager->adapter().context; }
    ServiceThread& service() const { return service_; }
    AgentThread& agents() const { return agents_; }

    const Provider& provider;
    const std::unique_ptr<cm::Manager> manager;
    const ibv_device_attr device_attributes;
    const ibv_port_attr port_attributes;
    const ibv_transport_type transport;

    support::Mutex mutex;  ///< guards the children
    List<Pz> pzs GUARDED_BY(mutex);
    List<Lmr> lmrs GUARDED_BY(mutex);
    List<Srq> srqs GUARDED_BY(mutex);
    List<Rmr> rmrs GUARDED_BY(mutex);
    RmrTable rmr_table;
    List<Cno> cnos GUARDED_BY(mutex);
    List<Evd> evds GUARDED_BY(mutex);  ///< the async EVD made for this IA among them
    List<ServicePoint> service_points GUARDED_BY(connection_lock);
    List<Ep> eps GUARDED_BY(connection_lock);
    List<Cr> requests GUARDED_BY(connection_lock);  ///< not yet answered

    /// The EVD of async events: its own, another adapter instance's, or nullptr once that one has
    /// gone. Counts as a user of it.
    Evd* async_evd() EXCLUDES(async_lock_);
    void set_async_evd(Evd* evd) EXCLUDES(async_lock_);
    /// Any thread, any locks but an EVD's.
    void post_async(const DAT_EVENT& event) EXCLUDES(async_lock_);

    /// LMRs with zero-based addresses. Data inside a request is taken from the address in the
    /// segment, whatever its registration says: while there are any, no EP puts data there.
    int zero_based_lmrs GUARDED_BY(connection_lock) = 0;
    void count_zero_based(int change) EXCLUDES(connection_lock);

    /// For the completion queue of a new EVD. @return empty, with errno, when the device refuses.
    /// Throws std::bad_alloc.
    std::shared_ptr<SharedChannel> completion_channel() EXCLUDES(mutex);
    IaCounters counters;
    DeviceCounters device_counters;
    WakeDescriptors wake_descriptors;
    ProvidedMemory provided_memory;
    std::atomic<int> queues{0};                   ///< EVDs with a completion queue
    std::atomic<bool> watermark_exceeded{false};  ///< by an EP; see tell_watermarks()
    const std::unique_ptr<EpNumbers> ep_numbers = std::make_unique<EpNumbers>();  ///< with SRQ

    /// A queue pair needs two completion queues; this one serves the sides without an EVD.
    ibv_cq* unused_queue() EXCLUDES(mutex);
    /// Before the first queue is made on the device.
    void avoid_invalid_place() EXCLUDES(mutex);

    const NamedAttributes provider_attributes;
    const NamedAttributes transport_attributes;
    const NamedAttributes vendor_attributes;

    /// Where the instance was opened with the registration broker (dapl/memory); else nullptr.
    memory::Registrations* registrations = nullptr;
    bool is_brokered() const { return !provider.brokered; }

    Ia* next = nullptr;              ///< of the process, guarded by ProcessState::open_mutex
    DeviceEvents* events = nullptr;  ///< shared with the other instances on the same device
    Ia* next_on_device = nullptr;    ///< guarded by the mutex of events

  private:
    ServiceThread& service_;
    AgentThread& agents_;
    support::SpinLock async_lock_;
    Evd* async_evd_ GUARDED_BY(async_lock_) = nullptr;
    std::vector<std::weak_ptr<SharedChannel>> channels_ GUARDED_BY(mutex);
    verbs::CompletionQueue unused_queue_ GUARDED_BY(mutex);
};

/// Ends an adapter instance with everything that it owns. Peers are told, events that nobody has
/// taken are lost.
void tear_down(Ia& ia, ProcessState& process) REQUIRES(process.open_mutex);
/// The service thread lives as long as an adapter instance is open.
void stop_service_if_unused(ProcessState& process) REQUIRES(process.open_mutex);

}  // namespace dapl
