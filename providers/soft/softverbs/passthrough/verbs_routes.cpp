// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// libibverbs' exports, for soft0 and real devices at once: each call goes to the library that made
/// its object.
#include <infiniband/verbs.h>

#include <algorithm>
#include <cstdlib>
#include <new>

#include "check/verbs/routed.hpp"
#include "providers/soft/softverbs/passthrough/account.hpp"
#include "providers/soft/softverbs/passthrough/soft_names.hpp"
#include "providers/soft/softverbs/verbs/devices.hpp"
#include "providers/soft/softverbs/verbs/event_object.hpp"
#include "support/settings/settings.hpp"

/// The GID types of sysfs; no header declares them.
enum ibv_gid_type_sysfs : int;

extern "C" ibv_device** soft0_ibv_get_device_list(int* count);
extern "C" void soft0_ibv_free_device_list(ibv_device** list);
extern "C" ibv_context* soft0_ibv_open_device(ibv_device* device);
extern "C" void soft0_ibv_ack_async_event(ibv_async_event* event);

namespace {

using namespace softverbs;

bool is_soft(const ibv_context* context) {
    return softverbs::is_soft(context->device);
}

/// Whether the program is to see soft0 alone; decided once per process.
bool is_alone() {
    static const bool decided = support::setting_flag(support::Setting::kSoftverbsOnly);
    return decided;
}

constinit SystemFunction<ibv_device**(int*)> system_get_device_list{
    system_verbs, "ibv_get_device_list", "IBVERBS_1.1"};
constinit SystemFunction<void(ibv_device**)> system_free_device_list{
    system_verbs, "ibv_free_device_list", "IBVERBS_1.1"};
constinit SystemFunction<ibv_context*(ibv_device*)> system_open_device{
    system_verbs, "ibv_open_device", "IBVERBS_1.1"};
constinit SystemFunction<void(ibv_async_event*)> system_ack_async_event{
    system_verbs, "ibv_ack_async_event", "IBVERBS_1.1"};

}  // namespace

/// Returns the system's list with ours behind its devices, or a list of ours alone. The list is a
/// plain allocation, because programs pass it to free(), which keeps the real devices, as rdma-core
/// permits. Real devices come first: a program that takes the first one keeps its own. A system
/// without devices (ENOSYS if the kernel knows no RDMA) is not a failure here.
EXPORTED ibv_device** ibv_get_device_list(int* count) {
    int real = 0, ours = 0;
    auto* get = is_alone() ? nullptr : system_get_device_list.find();
    ibv_device** system = get ? get(&real) : nullptr;
    if (!system) real = 0;
    ibv_device** soft = soft0_ibv_get_device_list(&ours);
    const int all = real + ours;
    // NOLINTNEXTLINE(bugprone-sizeof-expression): a list of pointers
    const std::size_t bytes = (all + 1) * sizeof(ibv_device*);
    auto** list = soft ? static_cast<ibv_device**>(std::realloc(system, bytes)) : nullptr;
    if (list)
        std::copy_n(soft, ours + 1, list + real);
    else if (system)
        system_free_device_list.find()(system);
    soft0_ibv_free_device_list(soft);
    if (!list) errno = ENOMEM;
    if (list && count) *count = all;
    account::list(list);
    return list;
}

/// Removes ours from the list, wherever the program has moved it; then the system's function
/// releases its devices and frees the list.
EXPORTED void ibv_free_device_list(ibv_device** list) {
    if (!list) return;
    ibv_device** end = list;
    for (ibv_device** at = list; *at; ++at)
        if (!is_soft(*at)) *end++ = *at;
    *end = nullptr;
    auto* free_system = end != list ? system_free_device_list.find() : nullptr;
    if (free_system) return free_system(list);
    std::free(list);
}

EXPORTED ibv_context* ibv_open_device(ibv_device* device) {
    auto* open = is_soft(device) ? soft0_ibv_open_device : system_open_device.find();
    ibv_context* context = open ? open(device) : unavailable<ibv_context*>();
    account::open(device, context);
    if (context && !is_soft(device)) check::verbs::see_other_device();
    return context;
}

/// Events of ports and devices, which name no object, need no acknowledgement.
EXPORTED void ibv_ack_async_event(ibv_async_event* event) {
    const ibv_context* context = softverbs::object_of(*event).context;
    if (!context || is_soft(context)) {
        check::verbs::acknowledge(*event);
        return soft0_ibv_ack_async_event(event);
    }
    if (auto* acknowledge = system_ack_async_event.find()) acknowledge(event);
}

#define ROUTE(version, type, name, parameters, arguments, object)                                \
    extern "C" type soft0_##name parameters;                                                     \
    EXPORTED type name parameters {                                                              \
        if (check::verbs::First{#name} arguments) return check::verbs::not_made<type>();         \
        if (is_soft(object)) return check::verbs::routed<soft0_##name>(#name, object) arguments; \
        static constinit SystemFunction<type parameters> real{system_verbs, #name, version};     \
        auto* function = real.find();                                                            \
        return function ? function arguments : unavailable<type>();                              \
    }
#define ROUTE_SYSTEM(version, type, name, parameters, arguments)                             \
    extern "C" type soft0_##name parameters;                                                 \
    EXPORTED type name parameters {                                                          \
        static constinit SystemFunction<type parameters> real{system_verbs, #name, version}; \
        auto* function = is_alone() ? nullptr : real.find();                                 \
        return function ? function arguments : soft0_##name arguments;                       \
    }
#include "providers/soft/softverbs/passthrough/verbs_routes.def"
#undef ROUTE
#undef ROUTE_SYSTEM
