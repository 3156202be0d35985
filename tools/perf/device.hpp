// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The IA, what it offers, and what all threads share: protection zone, service point, connections.
#pragma once

#include <dat2/udat.h>

#include <atomic>
#include <string>
#include <vector>

#include "tools/common/clock.hpp"
#include "tools/perf/measurement.hpp"

namespace perf {

class Device {
  public:
    /// Opens the IA.
    explicit Device(const std::string& provider);
    /// Tears down what is still open, without reporting errors.
    ~Device();
    Device(const Device&) = delete;
    Device& operator=(const Device&) = delete;

    DAT_IA_HANDLE ia() const { return ia_; }
    DAT_PZ_HANDLE pz() const { return pz_; }
    DAT_EVD_HANDLE connection_evd() const { return connection_evd_; }
    const DAT_IA_ATTR& attributes() const { return attributes_; }
    const std::string& provider_name() const { return provider_name_; }
    bool offers(Operation operation) const {
        return offered_ >> static_cast<unsigned>(operation) & 1;
    }
    /// One bit per operation.
    unsigned offered() const { return offered_; }
    /// @return the bytes of the socket address that a peer connects to, in hexadecimal.
    std::string address() const;

    /// @param connections number of connection events that may be queued at once
    void create_connection_evds(unsigned connections);
    void listen();
    /// Connects each EP; the index is sent to the other side. @param address as returned by
    /// address()
    void connect_all(const std::vector<DAT_EP_HANDLE>& endpoints, const std::string& address,
                     unsigned timeout_seconds);
    /// Accepts a request for each EP.
    void accept_all(const std::vector<DAT_EP_HANDLE>& endpoints, const tools::Deadline& deadline);
    /// Ends all connections and waits until both sides know.
    void disconnect_all(const std::vector<DAT_EP_HANDLE>& endpoints,
                        const tools::Deadline& deadline);
    /// Throws when a connection has ended by itself. Any thread may call it; all get the same
    /// answer.
    void require_connections();

  private:
    void query();
    DAT_EVENT next_event(DAT_EVD_HANDLE evd, const char* what, const tools::Deadline& deadline);
    void await_established(std::size_t count, const tools::Deadline& deadline);
    [[noreturn]] void connection_ended(DAT_EVENT_NUMBER number) const;

    DAT_IA_HANDLE ia_ = DAT_HANDLE_NULL;
    DAT_EVD_HANDLE async_evd_ = DAT_HANDLE_NULL;
    DAT_PZ_HANDLE pz_ = DAT_HANDLE_NULL;
    DAT_EVD_HANDLE request_evd_ = DAT_HANDLE_NULL;
    DAT_EVD_HANDLE connection_evd_ = DAT_HANDLE_NULL;
    DAT_PSP_HANDLE psp_ = DAT_HANDLE_NULL;
    DAT_IA_ATTR attributes_{};
    std::string provider_name_;
    unsigned offered_ = 0;
    std::atomic<unsigned> ended_by_{0};  ///< event of the first connection that ended, or 0
};

}  // namespace perf
