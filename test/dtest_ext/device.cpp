// SPDX-License-Identifier: BSD-2-Clause
#include "test/dtest_ext/device.hpp"

#include <dat2/dat_trclvl.h>

#include "test/dtest_ext/connection.hpp"
#include "tools/common/failure.hpp"

namespace dtest_ext {

using namespace tools;

namespace {

constexpr std::size_t kRouteHeader = 40;  ///< in front of each datagram received
constexpr std::size_t kSmallestSlot = 4096 + kRouteHeader;

}  // namespace

NamedAttributes named_attributes(const DAT_PROVIDER_ATTR& attributes) {
    NamedAttributes all;
    for (int i = 0; i < attributes.num_provider_specific_attr; ++i) {
        const DAT_NAMED_ATTR& attribute = attributes.provider_specific_attr[i];
        const std::string name = attribute.name;
        // The values of these two are functions.
        const bool text = name != DAT_ATTR_DEBUG_QUERY && name != DAT_ATTR_DEBUG_MODIFY;
        if (text) all[name] = attribute.value;
    }
    return all;
}

Device::Device(const Options& options)
    : slot_bytes_(std::max<std::size_t>(options.size, kSmallestSlot)) {
    std::string name = options.provider;
    const DAT_RETURN code = dat_ia_open(name.data(), 8, &async_evd_, &ia_);
    if (code != DAT_SUCCESS) ia_ = DAT_HANDLE_NULL;
    tools::require_open(code, name);
    require_success(dat_ia_query(ia_, nullptr, DAT_IA_FIELD_ALL, &ia_attributes_,
                                 DAT_PROVIDER_FIELD_ALL, &provider_attributes_),
                    "dat_ia_query", kFault);
    named_ = named_attributes(provider_attributes_);
    require_success(dat_pz_create(ia_, &pz_), "dat_pz_create", kFault);
    const bool atomics = says(DAT_IB_ATTR_FETCH_AND_ADD) || says(DAT_IB_ATTR_CMP_AND_SWAP);
    source.create(ia_, pz_, slot_bytes_, DAT_MEM_PRIV_ALL_FLAG);
    const int atomic_privilege = atomics ? DAT_IB_MEM_PRIV_REMOTE_ATOMIC : 0;
    target.create(ia_, pz_, slot_bytes_,
                  static_cast<DAT_MEM_PRIV_FLAGS>(static_cast<int>(DAT_MEM_PRIV_ALL_FLAG) |
                                                  atomic_privilege));
    receive.create(ia_, pz_, kReceives * slot_bytes_, DAT_MEM_PRIV_LOCAL_WRITE_FLAG);
}

Device::~Device() {
    // Cleans up after a failure; an error here would only hide the message of that failure.
    if (ia_ != DAT_HANDLE_NULL) dat_ia_close(ia_, DAT_CLOSE_ABRUPT_FLAG);
}

void Device::listen() {
    request_evd_ = create_evd(DAT_EVD_CR_FLAG, 16);
    require_success(dat_psp_create(ia_, kConnQual, request_evd_, DAT_PSP_CONSUMER_FLAG, &psp_),
                    "dat_psp_create",
                    "end the other server on this device, or wait until it has ended");
}

void Device::close() {
    if (psp_ != DAT_HANDLE_NULL) {
        require_success(dat_psp_free(psp_), "dat_psp_free", kFault);
        require_success(dat_evd_free(request_evd_), "dat_evd_free", kFault);
    }
    for (dtest::Region* region : {&source, &target, &receive}) region->free();
    require_success(dat_pz_free(pz_), "dat_pz_free", kFault);
    const DAT_IA_HANDLE ia = std::exchange(ia_, DAT_HANDLE_NULL);
    // Other libraries keep datagram requests after their accept, and then report the IA in use.
    const DAT_CLOSE_FLAGS how = has_additions() ? DAT_CLOSE_GRACEFUL_FLAG : DAT_CLOSE_ABRUPT_FLAG;
    require_success(dat_ia_close(ia, how), "dat_ia_close", kFault);
}

bool Device::says(const std::string& attribute) const {
    const auto found = named_.find(attribute);
    return found != named_.end() && (found->second == "TRUE" || found->second == "true");
}

const sockaddr* Device::address() const {
    return reinterpret_cast<const sockaddr*>(ia_attributes_.ia_address_ptr);
}

DAT_EVD_HANDLE Device::create_evd(DAT_EVD_FLAGS flags, DAT_COUNT length) const {
    DAT_EVD_HANDLE evd = DAT_HANDLE_NULL;
    require_success(dat_evd_create(ia_, length, DAT_HANDLE_NULL, flags, &evd), "dat_evd_create",
                    kFault);
    return evd;
}

}  // namespace dtest_ext
