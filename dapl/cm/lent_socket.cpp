// SPDX-License-Identifier: BSD-2-Clause
#include "dapl/cm/lent_socket.hpp"

#include <fcntl.h>
#include <netinet/in.h>

#include "device/address.hpp"

namespace dapl::cm {
namespace {

using End = int (*)(int, sockaddr*, socklen_t*);

sockaddr_storage address_of(int socket, End end) {
    sockaddr_storage address{};
    socklen_t size = sizeof address;
    if (end(socket, reinterpret_cast<sockaddr*>(&address), &size) != 0) address = {};
    return address;
}

int option(int socket, int name) {
    int value = -1;
    socklen_t size = sizeof value;
    return getsockopt(socket, SOL_SOCKET, name, &value, &size) == 0 ? value : -1;
}

}  // namespace

std::optional<support::UniqueFd> lent_socket(int socket) {
    const sa_family_t family = address_of(socket, getpeername).ss_family;
    if (family != AF_INET && family != AF_INET6) return std::nullopt;
    if (option(socket, SO_PROTOCOL) != IPPROTO_TCP) return std::nullopt;
    return support::UniqueFd(fcntl(socket, F_DUPFD_CLOEXEC, 0));
}

std::uint16_t own_port(const support::UniqueFd& socket) {
    return port_of(address_of(socket.get(), getsockname));
}

sockaddr_storage other_end(const support::UniqueFd& socket) {
    return address_of(socket.get(), getpeername);
}

}  // namespace dapl::cm
