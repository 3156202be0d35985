// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// librdmacm's exports: all of them soft0's, or with SOFTVERBS_CM=system all of them the system's.
/// Never some of each: an identifier, a channel and an event belong to the library that made them,
/// and the system's librdmacm calls its own exports through ours.
#include <rdma/rdma_cma.h>
#include <rdma/rdma_verbs.h>
#include <rdma/rsocket.h>

#include <cstdarg>

#include "check/verbs/routed.hpp"
#include "providers/soft/softverbs/passthrough/account.hpp"
#include "providers/soft/softverbs/passthrough/soft_names.hpp"
#include "support/log/log.hpp"
#include "support/settings/settings.hpp"

extern "C" int soft0_rfcntl(int socket, int command, ...);

namespace {

using namespace softverbs;

bool ask_setting() {
    const std::string whose = support::setting_text(support::Setting::kSoftverbsCm);
    if (whose == "system") return true;
    if (whose != "soft0") support::report<support::kBadSoftverbsCm>(whose);
    return false;
}

/// Whether the functions are the system's; decided once per process.
bool is_systems() {
    static const bool decided = [] {
        const bool is_systems = ask_setting();
        account::use_cm(is_systems);
        return is_systems;
    }();
    return decided;
}

}  // namespace

/// The checks find the contexts in the identifiers.
static constexpr const void* kNoContext = nullptr;

#define ROUTE_CM(version, type, name, parameters, arguments)                                       \
    extern "C" type soft0_##name parameters;                                                       \
    EXPORTED type name parameters {                                                                \
        if (!is_systems()) return check::verbs::routed<soft0_##name>(#name, kNoContext) arguments; \
        static constinit SystemFunction<type parameters> real{system_cm, #name, version};          \
        auto* function = real.find();                                                              \
        return function ? function arguments : unavailable<type>();                                \
    }
#include "providers/soft/softverbs/passthrough/cm_routes.def"
#undef ROUTE_CM

/// The third argument is a number or absent.
EXPORTED int rfcntl(int socket, int command, ...) {
    va_list arguments;
    va_start(arguments, command);
    const long argument = va_arg(arguments, long);
    va_end(arguments);
    if (!is_systems()) return soft0_rfcntl(socket, command, argument);
    static constinit SystemFunction<int(int, int, ...)> real{system_cm, "rfcntl", "RDMACM_1.0"};
    auto* function = real.find();
    return function ? function(socket, command, argument) : unavailable<int>();
}
