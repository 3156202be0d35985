// SPDX-License-Identifier: BSD-2-Clause
#include "providers/ucm/address.hpp"

#include <infiniband/verbs.h>
#include <netinet/in.h>

#include <cstring>

namespace dapl::ucm {

static_assert(sizeof(sockaddr_in6) == exchange::kAddressSize);

sockaddr_storage to_socket_address(const QpAddress& address) {
    QpAddress service = address;
    service.service_level = 0;
    service.qp_type = IBV_QPT_UD;
    const exchange::AddressBytes bytes = encode(service);
    sockaddr_storage result{};
    std::memcpy(&result, bytes.data(), bytes.size());
    result.ss_family = AF_INET6;
    return result;
}

QpAddress from_socket_address(const sockaddr_storage& address) {
    exchange::AddressBytes bytes;
    std::memcpy(bytes.data(), &address, bytes.size());
    return exchange::decode(bytes);
}

}  // namespace dapl::ucm
