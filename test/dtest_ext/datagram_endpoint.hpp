// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// A datagram endpoint (UD) with its own EVDs. All functions throw a Failure when a call or an
/// event is not as expected.
#pragma once

#include <string>

#include "test/dtest_ext/connection.hpp"

namespace dtest_ext {

/// A peer's address, from the event that reported it.
struct PeerAddress {
    DAT_IB_ADDR_HANDLE address;
    DAT_CONTEXT context;  ///< for dat_ib_ud_cm_free()
};

class DatagramEndpoint {
  public:
    static constexpr std::size_t kRouteHeader = 40;  ///< in front of each message received

    explicit DatagramEndpoint(const Context& context);
    /// Frees what close() did not; errors are ignored.
    ~DatagramEndpoint();
    DatagramEndpoint(DatagramEndpoint&& other) noexcept;
    /// Frees everything.
    void close();

    /// Asks the server for the address of an endpoint.
    void ask(const std::string& text) const;
    /// Waits for the answer, which carries this text. @param type the expected type of the event
    PeerAddress answer(DAT_IB_EXT_TYPE type, const std::string& text) const;
    /// Waits for the server's rejection, which carries this text.
    void refusal(const std::string& text) const;
    void post_receive(unsigned slot) const;
    /// Sends this side's bytes of the n-th message and waits for the completion.
    void send(const PeerAddress& to, std::uint32_t size, unsigned index) const;
    DAT_RETURN post(DAT_IB_ADDR_HANDLE to, std::uint32_t size, unsigned index) const;
    /// Waits for the other side's n-th message, which lands in this slot, and checks it.
    void receive(const PeerAddress& from, std::uint32_t size, unsigned index, unsigned slot) const;

    DAT_EP_HANDLE ep() const { return ep_; }

  private:
    DAT_EVENT outcome(DAT_IB_EVENT_NUMBER number, const std::string& text) const;

    const Context* context_;
    DAT_EVD_HANDLE request_evd_ = DAT_HANDLE_NULL, receive_evd_ = DAT_HANDLE_NULL;
    DAT_EVD_HANDLE connection_evd_ = DAT_HANDLE_NULL;
    DAT_EP_HANDLE ep_ = DAT_HANDLE_NULL;
};

/// Waits on the server for the next request, which carries this text.
DAT_CR_HANDLE datagram_request(const Context& context, const std::string& text);

/// @return the largest message that fits into one packet of the port, at most options.size.
std::uint32_t datagram_size(const Context& context);

}  // namespace dtest_ext
