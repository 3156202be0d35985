// SPDX-License-Identifier: BSD-2-Clause
#include "dapl/address.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <cstring>

namespace dapl {
namespace {

std::string with_port(const std::string& host, in_port_t port) {
    return port == 0 ? host : host + ":" + std::to_string(ntohs(port));
}

}  // namespace

std::string to_text(const sockaddr_storage& address) {
    char text[INET6_ADDRSTRLEN] = "";
    if (address.ss_family == AF_INET) {
        sockaddr_in in{};
        std::memcpy(&in, &address, sizeof in);
        inet_ntop(AF_INET, &in.sin_addr, text, sizeof text);
        return with_port(text, in.sin_port);
    }
    if (address.ss_family == AF_INET6) {
        sockaddr_in6 in6{};
        std::memcpy(&in6, &address, sizeof in6);
        inet_ntop(AF_INET6, &in6.sin6_addr, text, sizeof text);
        return with_port("[" + std::string(text) + "]", in6.sin6_port);
    }
    return "an unknown address";
}

}  // namespace dapl
