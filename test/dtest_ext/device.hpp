// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The IA that is checked: what it says of itself, the memory that the checks use, where a server
/// listens. All functions throw a Failure when a call does not answer as it must.
#pragma once

#include <dat2/dat_ib_extensions.h>

#include <map>
#include <string>

#include "test/dtest/region.hpp"
#include "test/dtest_ext/options.hpp"

namespace dtest_ext {

constexpr const char* kFault = "report this as a fault of the provider";

/// Names to values, those that are no text left out.
using NamedAttributes = std::map<std::string, std::string>;
NamedAttributes named_attributes(const DAT_PROVIDER_ATTR& attributes);

class Device {
  public:
    static constexpr unsigned kReceives = 8;

    explicit Device(const Options& options);
    /// A device that was not closed is torn down without a word.
    ~Device();
    Device(const Device&) = delete;
    Device& operator=(const Device&) = delete;
    /// Frees everything, in order, and checks that each free succeeds.
    void close();
    /// Requests come to requests() from now on.
    void listen();

    DAT_IA_HANDLE ia() const { return ia_; }
    DAT_PZ_HANDLE pz() const { return pz_; }
    DAT_EVD_HANDLE requests() const { return request_evd_; }
    DAT_EVD_HANDLE asynchronous() const { return async_evd_; }
    const DAT_IA_ATTR& attributes() const { return ia_attributes_; }
    const DAT_PROVIDER_ATTR& provider_attributes() const { return provider_attributes_; }
    const NamedAttributes& named() const { return named_; }
    bool says(const std::string& attribute) const;
    /// @return whether the library is one that has this project's additions. What they promise is
    /// not held against others.
    bool has_additions() const { return named_.count("DAT_EXT_RDMA_WRITE_IMMED") != 0; }
    const sockaddr* address() const;
    DAT_EVD_HANDLE create_evd(DAT_EVD_FLAGS flags, DAT_COUNT length) const;

    /// Each of options.size bytes and more; the peer may write to and read the last but one.
    dtest::Region source, target, receive;
    std::size_t slot_bytes() const { return slot_bytes_; }
    unsigned char* slot(unsigned index) const { return receive.at(index * slot_bytes_); }

  private:
    std::size_t slot_bytes_;
    DAT_IA_HANDLE ia_ = DAT_HANDLE_NULL;
    DAT_PZ_HANDLE pz_ = DAT_HANDLE_NULL;
    DAT_EVD_HANDLE async_evd_ = DAT_HANDLE_NULL, request_evd_ = DAT_HANDLE_NULL;
    DAT_PSP_HANDLE psp_ = DAT_HANDLE_NULL;
    DAT_IA_ATTR ia_attributes_{};
    DAT_PROVIDER_ATTR provider_attributes_{};
    NamedAttributes named_;
};

}  // namespace dtest_ext
