// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// A connection between the two sides, made for one check; and how events are waited for and
/// checked. All functions throw a Failure when a call or an event is not as expected.
#pragma once

#include <string>

#include "test/dtest_ext/check.hpp"

namespace dtest_ext {

constexpr DAT_CONN_QUAL kConnQual = 45248;

/// Waits for an event until the deadline, or until the other side ends.
DAT_EVENT wait_event(const Context& context, DAT_EVD_HANDLE evd, const char* what);
DAT_IB_EXTENSION_EVENT_DATA extension_of(const DAT_EVENT& event);
DAT_DTO_COOKIE make_cookie(std::uint64_t value);

/// The expected contents of a transfer's event.
struct Completion {
    std::uint64_t cookie;
    std::uint32_t length;
    DAT_IB_DTOS operation = DAT_IB_DTOS{};  ///< none: an event of DAT 2.0, not of the extension
    DAT_IB_EXT_TYPE type = DAT_IB_EXT_TYPE{};
};
/// @param ep the endpoint on which the request was posted, or which received the data
void require_completion(const DAT_EVENT& event, DAT_EP_HANDLE ep, const char* what,
                        const Completion& expected);
/// Checks the immediate data in a receive's event.
void require_immediate(const DAT_EVENT& event, std::uint32_t expected);
/// Throws unless the code's type is that of `expected`.
void require_refusal(DAT_RETURN code, const char* call, DAT_RETURN expected);

class Connection {
  public:
    /// Creates the EVDs and the endpoint. @param shared whether it uses a shared receive queue
    explicit Connection(const Context& context, bool shared = false);
    /// Frees what close() or release() did not; errors are ignored.
    ~Connection();
    Connection(const Connection&) = delete;
    Connection& operator=(const Connection&) = delete;

    /// Both sides call it at the same time. Posts `receives` receives, of which the n-th has the
    /// n-th slot and the cookie n, connects, and exchanges the addresses of the target regions.
    void connect(unsigned receives = 0);
    /// Ends the connection on both sides and frees everything.
    void close();
    /// Frees everything; the connection must have ended or never have been made.
    void release();

    DAT_EP_HANDLE ep() const { return ep_; }
    DAT_EVD_HANDLE request_evd() const { return request_evd_; }
    DAT_LMR_TRIPLET slot_segment(unsigned slot) const;
    /// @return a part of the other side's region, by default its target.
    DAT_RMR_TRIPLET remote(std::size_t offset, std::size_t length) const;
    /// Exchanges the addresses of the two sides' regions; remote() then refers to the other's.
    void tell(const dtest::Region& region);
    DAT_EVENT request_event(const char* what) const;
    DAT_EVENT receive_event(const char* what) const;
    void post_receive(unsigned slot);
    /// Posts a send of the first `length` bytes of the source region and waits for its completion.
    void send(std::uint32_t length, std::uint64_t cookie);

  private:
    void establish();

    const Context& context_;
    DAT_EVD_HANDLE request_evd_ = DAT_HANDLE_NULL, receive_evd_ = DAT_HANDLE_NULL;
    DAT_EVD_HANDLE connection_evd_ = DAT_HANDLE_NULL;
    DAT_EP_HANDLE ep_ = DAT_HANDLE_NULL;
    DAT_SRQ_HANDLE srq_ = DAT_HANDLE_NULL;
    DAT_VADDR remote_address_ = 0;
    DAT_RMR_CONTEXT remote_context_ = 0;
};

// -- what is sent
// ------------------------------------------------------------------------------------

/// @return the number sent with the n-th message of a side.
std::uint32_t number_from(const Context& context, bool server, unsigned index);
inline std::uint32_t my_number(const Context& context, unsigned index) {
    return number_from(context, context.options.server(), index);
}
inline std::uint32_t their_number(const Context& context, unsigned index) {
    return number_from(context, !context.options.server(), index);
}
/// Fills memory with this side's bytes of the n-th message.
void fill(const Context& context, void* memory, std::size_t size, unsigned index);
/// Checks that the memory contains the bytes of the other side's n-th message.
void require_bytes(const Context& context, const void* memory, std::size_t size, unsigned index,
                   const char* what);
/// Fills memory so that require_untouched() can detect a change.
void mark(void* memory, std::size_t size);
void require_untouched(const void* memory, std::size_t size, const char* what);

}  // namespace dtest_ext
