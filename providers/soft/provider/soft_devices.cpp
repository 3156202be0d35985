// SPDX-License-Identifier: BSD-2-Clause
// The one device of softverbs: its address is a setting, not the kernel's to tell.
#include <arpa/inet.h>

#include <system_error>

#include "dapl/support/settings.hpp"
#include "providers/cma/device.hpp"
#include "providers/soft/fabric/address.hpp"

namespace dapl::cma {

const bool kDeviceExplainsUnreachable = true;
const bool kDeviceServesDatagrams = true;

bool is_rdma_device(const std::string& name) {
    return name == "soft0";
}

std::optional<sockaddr_storage> address_of_rdma_device(const DeviceName&) {
    const auto address =
        softverbs::parse_address(support::setting_text(support::Setting::kSoftverbsAddress));
    sockaddr_storage result{};
    // Where it is none, softverbs tells the user, and takes this one too.
    softverbs::fill(result, address ? *address : softverbs::mapped({htonl(INADDR_LOOPBACK)}), 0,
                    AF_INET);
    return result;
}

cm::DeviceFault why_no_rdma_cm(int error) {
    return {cm::DeviceFault::Cause::kDoesNotOpen, "soft0", std::generic_category().message(error)};
}

cm::DeviceFault why_no_address(const DeviceName& name) {
    return {cm::DeviceFault::Cause::kUnknownName, name.device, "the software device soft0",
            "did you mean soft0?"};
}

cm::DeviceFault why_no_device_at(const sockaddr_storage&, int error) {
    return why_no_rdma_cm(error);
}

}  // namespace dapl::cma
