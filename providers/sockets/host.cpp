// SPDX-License-Identifier: BSD-2-Clause
#include "providers/sockets/host.hpp"

#include <sys/resource.h>

#include <algorithm>
#include <limits>

#include "support/settings/settings.hpp"

namespace dapl::sockets {
namespace {

constexpr rlim_t kFewestHalfOpen = 64;
constexpr rlim_t kMostHalfOpen = 4096;

/// Enough for an honest burst of connections to a process that can hold them, but so few that
/// silent peers leave the application its descriptors.
std::size_t most_half_open(std::string_view ia_name) {
    if (const long wanted = setting_integer(support::Setting::kScmHalfOpen, ia_name))
        return static_cast<std::size_t>(wanted);
    rlimit descriptors{};
    if (getrlimit(RLIMIT_NOFILE, &descriptors) != 0) return kFewestHalfOpen;
    return std::clamp<rlim_t>(descriptors.rlim_cur / 4, kFewestHalfOpen, kMostHalfOpen);
}
std::chrono::milliseconds handshake_time(std::string_view ia_name) {
    return std::chrono::milliseconds(setting_integer(support::Setting::kScmHandshakeTime, ia_name));
}

}  // namespace

Host::Host(cm::EventLoop& event_loop, const exchange::Port& own_port,
           const cm::Adapter& own_adapter, std::string_view ia_name)
    : loop(event_loop),
      port(own_port),
      adapter(own_adapter),
      arrivals(loop, most_half_open(ia_name), handshake_time(ia_name)),
      accepted(loop, std::numeric_limits<std::size_t>::max(), handshake_time(ia_name)) {}

void Host::stop() {
    arrivals.stop();
    accepted.stop();
}

}  // namespace dapl::sockets
