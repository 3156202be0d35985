// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The IA under test: its attributes, the memory that the checks use, and a server's listener. All
/// functions throw a Failure when a call fails unexpectedly.
#pragma once

#include <dat2/dat_ib_extensions.h>

#include <map>
#include <string>

#include "test/dtest/region.hpp"
#include "test/dtest_ext/options.hpp"

namespace dtest_ext {

constexpr const char* kFault = "report this as a fault of the provider";

/// Attribute names and values, without the values that are no text.
using NamedAttributes = std::map<std::string, std::string>;
NamedAttributes named_attributes(const DAT_PROVIDER_ATTR& attributes);

class Device {
  public:
    static constexpr unsigned kReceives = 8;

    explicit Device(const Options& options);
    /// Closes the IA abruptly if close() was not called; errors are ignored.
    ~Device();
    Device(const Device&) = delete;
    Device& operator=(const Device&) = delete;
    /// Frees everything, in order, and checks that each free succeeds.
    void close();
    /// Starts to listen: requests arrive on requests() from now on.
    void listen();

    DAT_IA_HANDLE ia() const { return ia_; }
    DAT_PZ_HANDLE pz() const { return pz_; }
    DAT_EVD_HANDLE requests() const { return request_evd_; }
    DAT_EVD_HANDLE asynchronous() const { return async_evd_; }
    const DAT_IA_ATTR& attributes() const { return ia_attributes_; }
    const DAT_PROVIDER_ATTR& provider_attributes() const { return provider_attributes_; }
    const NamedAttributes& named() const { return named_; }
    bool says(const std::string& attribute) const;
    /// @return whether the library has this project's additions. Other libraries are not checked
    /// for what only the additions promise.
    bool has_additions() const { return named_.count("DAT_EXT_RDMA_WRITE_IMMED") != 0; }
    const sockaddr* address() const;
    DAT_EVD_HANDLE create_evd(DAT_EVD_FLAGS flags, DAT_COUNT length) const;

    /// `source` and `target` have one slot, of options.size bytes or more, and `receive` has
    /// kReceives slots. The peer writes to and reads `target`.
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
