// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Opening an adapter instance.
#include "dapl/ia.hpp"

#include <sched.h>

#include <algorithm>
#include <cerrno>

#include "dapl/device_events.hpp"
#include "dapl/entry.hpp"
#include "dapl/guard.hpp"
#include "dapl/memory/client.hpp"
#include "dapl/pool.hpp"
#include "dapl/process_state.hpp"
#include "dapl/status/server.hpp"
#include "dapl/support/configuration_files.hpp"
#include "dapl/support/settings.hpp"

namespace dapl {
namespace {

/// EVDs of a process beyond these share with others of their adapter instance: there may be
/// thousands, and descriptors are few.
constexpr int kOwnChannels = 64;

}  // namespace

Ia::Ia(const Provider& registered, std::unique_ptr<cm::Manager> opened, ServiceThread& thread,
       AgentThread& agent_thread, const ibv_device_attr& device, const ibv_port_attr& port)
    : provider(registered),
      manager(std::move(opened)),
      device_attributes(device),
      port_attributes(port),
      transport(manager->adapter().context->device->transport_type),
      device_counters(*manager->adapter().context, manager->adapter().port),
      provider_attributes(describe_provider(*this)),
      transport_attributes(describe_transport(*this)),
      vendor_attributes(describe_vendor(*this)),
      service_(thread),
      agents_(agent_thread) {}

bool Ia::has_windows(ibv_mw_type type) const {
    constexpr unsigned kType1 = IBV_DEVICE_MEM_WINDOW;
    constexpr unsigned kType2 = IBV_DEVICE_MEM_WINDOW_TYPE_2A | IBV_DEVICE_MEM_WINDOW_TYPE_2B;
    const unsigned wanted = type == IBV_MW_TYPE_1 ? kType1 : kType2;
    return device_attributes.max_mw > 0 && (device_attributes.device_cap_flags & wanted) != 0;
}

int Ia::max_rmrs() const {
    const bool any = has_windows(IBV_MW_TYPE_1) || has_windows(IBV_MW_TYPE_2);
    return any ? device_attributes.max_mw : 0;
}

void Ia::count_zero_based(int change) {
    support::MutexLock lock(connection_lock);
    zero_based_lmrs += change;
    for (Ep* ep = eps.first(); ep; ep = eps.after(*ep)) ep->limit_inline();
}

Evd* Ia::async_evd() {
    support::SpinLockGuard lock(async_lock_);
    return async_evd_;
}

void Ia::set_async_evd(Evd* evd) {
    if (evd) ++evd->users;
    Evd* old;
    {
        support::SpinLockGuard lock(async_lock_);
        old = async_evd_;
        async_evd_ = evd;
    }
    if (old) --old->users;
}

void Ia::post_async(const DAT_EVENT& event) {
    Evd* evd;
    {
        support::SpinLockGuard lock(async_lock_);
        evd = async_evd_;
        if (evd) ++evd->users;
    }
    if (!evd) return;
    evd->post_event(event);
    --evd->users;
}

std::shared_ptr<SharedChannel> Ia::completion_channel() {
    support::MutexLock lock(mutex);
    for (;;) {
        std::erase_if(channels_, [](const auto& channel) { return channel.expired(); });
        if (channels_.empty() || process_state().channels < kOwnChannels) {
            channels_.reserve(kOwnChannels);
            auto made = SharedChannel::make(context(), service_);
            if (made) channels_.push_back(made);
            if (made || channels_.empty()) return made;
        }
        const auto least = std::min_element(
            channels_.begin(), channels_.end(),
            [](const auto& a, const auto& b) { return a.use_count() < b.use_count(); });
        if (auto shared = least->lock()) return shared;
    }
}

ibv_cq* Ia::unused_queue() {
    support::MutexLock lock(mutex);
    if (!unused_queue_) unused_queue_.reset(ibv_create_cq(context(), 1, nullptr, nullptr, 0));
    return unused_queue_.get();
}

/// siw's library takes the 145th page that a process maps of the device (key 0x90000) for an error
/// of the kernel's, and then makes no queue any more: one queue lies across it from the start.
void Ia::avoid_invalid_place() {
    constexpr std::uint32_t kSiwVendor = 0x626d74;
    constexpr int kAcrossIt = 32768;  // entries of 32 bytes: 256 pages
    if (device_attributes.vendor_id != kSiwVendor) return;
    support::MutexLock lock(mutex);
    unused_queue_.reset(ibv_create_cq(context(), kAcrossIt, nullptr, nullptr, 0));
}

namespace {

void start_service(ProcessState& process) REQUIRES(process.open_mutex) {
    if (!process.agents) process.agents = new AgentThread();
    if (process.service) return;
    process.service = new ServiceThread();
    process.status = status::Server::start(process, *process.service).release();
}

/// Makes the instance known to the process and gives it its async EVD.
/// @param mode what it does with registrations.
DAT_RETURN set_up(Ia& ia, DAT_COUNT async_length, Evd* shared_async, memory::Mode mode,
                  ProcessState& process) REQUIRES(process.open_mutex) {
    DeviceEvents::join(ia, process);
    ia.avoid_invalid_place();
    ia.next = process.first_ia;
    process.first_ia = &ia;
    if (shared_async) {
        ia.set_async_evd(shared_async);
    } else {
        const support::Result<Evd*> async = make_evd(ia, async_length, nullptr, DAT_EVD_ASYNC_FLAG);
        if (!async) return code_of(async);
        ia.set_async_evd(*async);
    }
    return mode == memory::Mode::kOff ? kSuccess : memory::Client::join(ia, mode, process);
}

DAT_RETURN open_adapter(const Provider& provider, DAT_COUNT async_length, Evd* shared_async,
                        Ia** opened, ProcessState& process) REQUIRES(process.open_mutex) {
    auto manager = cm::open_manager(provider.info.ia_name, provider.parameters);
    if (!manager) return code_of(manager);
    const cm::Adapter& adapter = (*manager)->adapter();
    if (shared_async && shared_async->ia.context() != adapter.context)
        return bad_handle(DAT_INVALID_HANDLE_EVD_ASYNC);
    ibv_device_attr device;
    ibv_port_attr port;
    if (const int failed = ibv_query_device(adapter.context, &device)) return from_errno(failed);
    if (const int failed = ibv_query_port(adapter.context, adapter.port, &port))
        return from_errno(failed);
    start_service(process);
    const memory::Mode mode = memory::mode_of(provider.info.ia_name);
    const Provider& serving = mode == memory::Mode::kOff ? provider : *provider.brokered;
    Ia* ia = make<Ia>(&serving.table, serving, std::move(*manager), *process.service,
                      *process.agents, device, port);
    DAT_RETURN code = kOutOfMemory;
    try {
        code = set_up(*ia, async_length, shared_async, mode, process);
    } catch (const std::bad_alloc&) {
        // as code says
    }
    if (code == DAT_SUCCESS)
        *opened = ia;
    else
        tear_down(*ia, process);
    return code;
}

DAT_RETURN open(const DAT_NAME_PTR name, DAT_COUNT async_length, DAT_EVD_HANDLE* async_handle,
                DAT_IA_HANDLE* handle) {
    support::warn_about_unknown_settings();
    support::report_configuration_once();
    if (!async_handle) return bad_argument(3);
    if (!handle) return bad_argument(4);
    const Provider* provider = find_provider(name);
    if (!provider) return error(DAT_PROVIDER_NOT_FOUND, DAT_NAME_NOT_REGISTERED);
    Evd* shared_async = from_handle<Evd>(*async_handle);
    if (*async_handle && !(shared_async && shared_async->takes(DAT_EVD_ASYNC_FLAG)))
        return bad_handle(DAT_INVALID_HANDLE_EVD_ASYNC);
    if (!*async_handle && async_length <= 0) return bad_argument(2);
    ProcessState& process = process_state();
    support::MutexLock lock(process.open_mutex);
    Ia* ia = nullptr;
    const DAT_RETURN code = open_adapter(*provider, async_length, shared_async, &ia, process);
    stop_service_if_unused(process);
    if (code != DAT_SUCCESS) return code;
    *async_handle = ia->async_evd()->handle();
    *handle = ia->handle();
    return DAT_SUCCESS;
}

}  // namespace

namespace entry {

DAT_RETURN ia_open(const DAT_NAME_PTR name, DAT_COUNT async_length, DAT_EVD_HANDLE* async,
                   DAT_IA_HANDLE* ia) {
    return uncancelled([=](int) { return open(name, async_length, async, ia); });
}

}  // namespace entry
}  // namespace dapl
