// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// A datagram endpoint (UD) with EVDs of its own. All functions throw a Failure when a call or an
/// event is not as it must be.
#pragma once

#include <string>

#include "test/dtest_ext/connection.hpp"

namespace dtest_ext {

/// What the event that brought a peer's address said.
struct PeerAddress {
    DAT_IB_ADDR_HANDLE address;
    DAT_CONTEXT context;  ///< for dat_ib_ud_cm_free()
};

class DatagramEndpoint {
  public:
    static constexpr std::size_t kRouteHeader = 40;  ///< in front of each message received

    explicit DatagramEndpoint(const Context& context);
    /// What was not closed is torn down without a word.
    ~DatagramEndpoint();
    DatagramEndpoint(DatagramEndpoint&& other) noexcept;
    /// Frees everything.
    void close();

    /// Asks the server for the address of an endpoint.
    void ask(const std::string& text) const;
    /// Takes the answer, which brings this text. @param type what the event must be of
    PeerAddress answer(DAT_IB_EXT_TYPE type, const std::string& text) const;
    /// Takes the server's refusal, which brings this text.
    void refusal(const std::string& text) const;
    void post_receive(unsigned slot) const;
    /// Sends this side's bytes of the n-th message and takes the completion.
    void send(const PeerAddress& to, std::uint32_t size, unsigned index) const;
    DAT_RETURN post(DAT_IB_ADDR_HANDLE to, std::uint32_t size, unsigned index) const;
    /// Takes the other side's n-th message, which lands in this slot.
    void receive(const PeerAddress& from, std::uint32_t size, unsigned index, unsigned slot) const;

    DAT_EP_HANDLE ep() const { return ep_; }

  private:
    DAT_EVENT outcome(DAT_IB_EVENT_NUMBER number, const std::string& text) const;

    const Context* context_;
    DAT_EVD_HANDLE request_evd_ = DAT_HANDLE_NULL, receive_evd_ = DAT_HANDLE_NULL;
    DAT_EVD_HANDLE connection_evd_ = DAT_HANDLE_NULL;
    DAT_EP_HANDLE ep_ = DAT_HANDLE_NULL;
};

/// Waits at the server for the next request, which brings this text.
DAT_CR_HANDLE datagram_request(const Context& context, const std::string& text);

/// @return the largest message that a packet of the port takes, at most options.size.
std::uint32_t datagram_size(const Context& context);

}  // namespace dtest_ext
