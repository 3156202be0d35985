// SPDX-License-Identifier: BSD-2-Clause
// The one device of softverbs: its address is a setting, not the kernel's to tell.
#include <arpa/inet.h>

#include <system_error>

#include "dapl/support/settings.hpp"
#include "providers/cma/device.hpp"

namespace dapl::cma {

const bool kDeviceExplainsUnreachable = true;

std::optional<sockaddr_in> address_of_rdma_device(const std::string& name) {
    if (name != "soft0") return std::nullopt;
    sockaddr_in address{};
    address.sin_family = AF_INET;
    const std::string wanted = support::setting_text(support::Setting::kSoftverbsAddress);
    if (inet_pton(AF_INET, wanted.c_str(), &address.sin_addr) != 1)
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);  // softverbs has told the user
    return address;
}

cm::DeviceFault why_no_rdma_cm(int error) {
    return {cm::DeviceFault::Cause::kDoesNotOpen, "soft0", std::generic_category().message(error)};
}

cm::DeviceFault why_no_device_at(const sockaddr_in&, int error) {
    return why_no_rdma_cm(error);
}

}  // namespace dapl::cma
