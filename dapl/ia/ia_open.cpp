// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Opening an adapter instance.
#include "broker/client.hpp"
#include "dapl/adapter/service_thread.hpp"
#include "dapl/base/guard.hpp"
#include "dapl/base/pool.hpp"
#include "dapl/base/process_state.hpp"
#include "dapl/ep/ep_numbers.hpp"
#include "dapl/evd/agent_thread.hpp"
#include "dapl/evd/evd.hpp"
#include "dapl/evd/events.hpp"
#include "dapl/ia/describe.hpp"
#include "dapl/ia/device_events.hpp"
#include "dapl/ia/ia_close.hpp"
#include "dapl/memory/rmr.hpp"
#include "dapl/provider/entry.hpp"
#include "dapl/status/server.hpp"
#include "support/settings/configuration_files.hpp"
#include "support/settings/settings.hpp"

namespace dapl {

Ia::Ia(const Provider& registered, std::unique_ptr<cm::Manager> opened, ServiceThread& thread,
       AgentThread& agent_thread, const ibv_device_attr& device, const ibv_port_attr& port)
    : provider(registered),
      manager(std::move(opened)),
      device_attributes(device),
      port_attributes(port),
      transport(manager->adapter().context->device->transport_type),
      signals_end_waits(
          support::setting_flag(support::Setting::kSignalsEndWaits, provider.info.ia_name)),
      rmr_table(std::make_unique<RmrTable>()),
      device_counters(*manager->adapter().context, manager->adapter().port),
      provided_memory(provider.library.device),
      ep_numbers(std::make_unique<EpNumbers>()),
      provider_attributes(describe_provider(*this)),
      transport_attributes(describe_transport(*this)),
      vendor_attributes(describe_vendor(*this)),
      service_(thread),
      agents_(agent_thread) {}

Ia::~Ia() = default;

namespace {

void start_service(ProcessState& process) REQUIRES(process.open_mutex) {
    if (!process.agents) process.agents = new AgentThread();
    if (process.service) return;
    process.service = new ServiceThread();
    process.status = status::Server::start(process, *process.service).release();
}

/// Adds the instance to those of the process and gives it its async EVD.
/// @param mode how it treats registrations.
DAT_RETURN set_up(Ia& ia, DAT_COUNT async_length, Evd* shared_async, memory::Mode mode,
                  ProcessState& process) REQUIRES(process.open_mutex) {
    DeviceEvents::join(ia, process);
    ia.avoid_invalid_place();
    ia.next = process.first_ia;
    process.first_ia = &ia;
    if (shared_async) {
        set_async_evd(ia, shared_async);
    } else {
        const support::Result<Evd*> async = make_evd(ia, async_length, nullptr, DAT_EVD_ASYNC_FLAG);
        if (!async) return code_of(async);
        set_async_evd(ia, *async);
    }
    return mode == memory::Mode::kOff ? kSuccess : memory::Client::join(ia, mode, process);
}

DAT_RETURN open_adapter(const Provider& provider, DAT_COUNT async_length, Evd* shared_async,
                        Ia** opened, ProcessState& process) REQUIRES(process.open_mutex) {
    auto manager = provider.library.open_manager(provider.info.ia_name, provider.parameters);
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
    const Provider& serving = mode == memory::Mode::kOff ? provider : *provider.sharing;
    Ia* ia = make<Ia>(&serving.table, serving, std::move(*manager), *process.service,
                      *process.agents, device, port);
    const DAT_RETURN code = or_out_of_memory([&]() NO_THREAD_SAFETY_ANALYSIS {
        return set_up(*ia, async_length, shared_async, mode, process);
    });
    if (code == DAT_SUCCESS) {
        *opened = ia;
        return code;
    }
    static_cast<void>(end_transfers(*ia));  // there are none to wait for
    tear_down(*ia, process);
    return code;
}

DAT_RETURN open(const DAT_NAME_PTR name, DAT_COUNT async_length, DAT_EVD_HANDLE* async_handle,
                DAT_IA_HANDLE* handle) {
    support::warn_about_unknown_settings(support::SettingsOf::kProvider);
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
    const DAT_RETURN code = or_out_of_memory([&]() NO_THREAD_SAFETY_ANALYSIS {
        return open_adapter(*provider, async_length, shared_async, &ia, process);
    });
    stop_service_if_unused(process);
    if (code != DAT_SUCCESS) return code;
    *async_handle = async_evd_of(*ia)->handle();
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
