// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Adapter instance: an open device with a connection manager, and the root of every object made
/// with it. All objects use it, so this header only declares their names; `ia_open.cpp` and
/// `ia_close.cpp`, a layer above all objects, create and close it.
#pragma once

#include <netinet/in.h>

#include <atomic>
#include <memory>
#include <vector>

#include "dapl/adapter/provided_memory.hpp"
#include "dapl/adapter/wake_descriptors.hpp"
#include "dapl/base/counters.hpp"
#include "dapl/base/list.hpp"
#include "dapl/base/object.hpp"
#include "dapl/cm/lock.hpp"
#include "dapl/cm/manager.hpp"
#include "dapl/provider/named_attributes.hpp"
#include "dapl/provider/provider.hpp"
#include "dapl/verbs/handles.hpp"
#include "device/device_counters.hpp"
#include "support/thread/mutex.hpp"

namespace dapl {

class AgentThread;
class Cno;
class Cr;
class Decoration;
class DeviceEvents;
class Ep;
class EpNumbers;
class Evd;
class Lmr;
class Pz;
class Rmr;
class RmrTable;
class ServicePoint;
class ServiceThread;
class SharedChannel;
class Srq;

/// Lock order: ProcessState::open_mutex, an IA's mutex, connection_lock, the locks of the objects.
class Ia final : public Object<Ia> {
  public:
    static constexpr Kind kKind = Kind::kIa;
    /// @param device, port as the adapter reports them.
    Ia(const Provider& registered, std::unique_ptr<cm::Manager> opened, ServiceThread& thread,
       AgentThread& agent_thread, const ibv_device_attr& device, const ibv_port_attr& port);
    ~Ia();

    /// Whether the device has memory windows of this type.
    bool has_windows(ibv_mw_type type) const;
    /// @return the maximum number of RMRs; 0 on a device without memory windows.
    int max_rmrs() const;
    /// On iWARP the request of an RDMA read names its sink to the peer: one segment only.
    int max_read_segments() const { return is_infiniband() ? device_attributes.max_sge : 1; }
    /// @return the maximum size of a datagram in bytes: it has to fit in one packet.
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
    const bool signals_end_waits;  ///< the user's setting

    support::Mutex mutex;  ///< guards the children
    List<Pz> pzs GUARDED_BY(mutex);
    List<Lmr> lmrs GUARDED_BY(mutex);
    List<Srq> srqs GUARDED_BY(mutex);
    List<Rmr> rmrs GUARDED_BY(mutex);
    const std::unique_ptr<RmrTable> rmr_table;
    List<Cno> cnos GUARDED_BY(mutex);
    List<Evd> evds GUARDED_BY(mutex);  ///< including the async EVD made for this IA
    List<ServicePoint> service_points GUARDED_BY(connection_lock);
    List<Ep> eps GUARDED_BY(connection_lock);
    List<Cr> requests GUARDED_BY(connection_lock);  ///< not yet answered

    support::SpinLock async_lock;
    /// The EVD for async events: the IA's own, another adapter instance's, or nullptr once that EVD
    /// is gone. The IA counts as one of its users. See events.hpp.
    Evd* async_evd GUARDED_BY(async_lock) = nullptr;

    /// Number of LMRs with zero-based addresses. Inline data is read at the address in the segment,
    /// whatever its registration says, so no EP sends inline while there are any.
    int zero_based_lmrs GUARDED_BY(connection_lock) = 0;

    /// The completion channels of its EVDs; see channel_for().
    std::vector<std::weak_ptr<SharedChannel>> channels GUARDED_BY(mutex);
    IaCounters counters;
    DeviceCounters device_counters;
    WakeDescriptors wake_descriptors;
    ProvidedMemory provided_memory;
    std::atomic<int> queues{0};                   ///< number of EVDs with a completion queue
    std::atomic<bool> watermark_exceeded{false};  ///< an EP has exceeded one: tell_watermarks()
    const std::unique_ptr<EpNumbers> ep_numbers;  ///< the EPs with an SRQ

    /// A queue pair needs two completion queues; this one serves the sides without an EVD.
    ibv_cq* unused_queue() EXCLUDES(mutex);
    /// Works around a fault of siw's library. Called before the first queue is created on the
    /// device.
    void avoid_invalid_place() EXCLUDES(mutex);

    const NamedAttributes provider_attributes;
    const NamedAttributes transport_attributes;
    const NamedAttributes vendor_attributes;

    /// The decorator of this instance's functions: the registration broker (broker/), or nullptr.
    Decoration* decoration = nullptr;

    Ia* next = nullptr;              ///< of the process; guarded by ProcessState::open_mutex
    DeviceEvents* events = nullptr;  ///< shared with the other instances on the same device
    Ia* next_on_device = nullptr;    ///< guarded by the mutex of events

  private:
    ServiceThread& service_;
    AgentThread& agents_;
    verbs::CompletionQueue unused_queue_ GUARDED_BY(mutex);
};

/// @return the only kind of communicator that an IA has, according to its address.
inline DAT_COMM communicator_of(const Ia& ia) {
    return {ia.adapter().address.ss_family, SOCK_STREAM, IPPROTO_TCP};
}

/// @return the integer by which the consumer knows the adapter instance.
DAT_IA_HANDLE consumer_handle(const Ia& ia);

// Defined with the endpoints (dapl/ep), for the directories below them:
/// Adapts all EPs to a changed number of zero-based LMRs.
void limit_inline(Ia& ia) REQUIRES(connection_lock);
/// Acts on the watermarks that were exceeded. To be called after completions have been polled, once
/// the EVD's lock is released. Costs one relaxed load if no watermark was exceeded.
void tell_watermarks(Ia& ia) EXCLUDES(connection_lock);

}  // namespace dapl
