// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// A connection between the two sides, made for one check; and how events are waited for and looked
/// at. All functions throw a Failure when a call or an event is not as it must be.
#pragma once

#include <string>

#include "test/dtest_ext/check.hpp"

namespace dtest_ext {

constexpr DAT_CONN_QUAL kConnQual = 45248;

/// Waits until the deadline, or until the other side ends.
DAT_EVENT wait_event(const Context& context, DAT_EVD_HANDLE evd, const char* what);
DAT_IB_EXTENSION_EVENT_DATA extension_of(const DAT_EVENT& event);
DAT_DTO_COOKIE make_cookie(std::uint64_t value);

/// What the event of a transfer has to say.
struct Completion {
    std::uint64_t cookie;
    std::uint32_t length;
    DAT_IB_DTOS operation = DAT_IB_DTOS{};  ///< none: an event of DAT 2.0, not of the extension
    DAT_IB_EXT_TYPE type = DAT_IB_EXT_TYPE{};
};
/// @param ep on which it was posted, or to which it came
void require_completion(const DAT_EVENT& event, DAT_EP_HANDLE ep, const char* what,
                        const Completion& expected);
/// The receive's event brought this number.
void require_immediate(const DAT_EVENT& event, std::uint32_t expected);
/// Throws unless the code's type is that of `expected`.
void require_refusal(DAT_RETURN code, const char* call, DAT_RETURN expected);

class Connection {
  public:
    /// Not connected. @param shared whether its receives are those of a shared receive queue
    explicit Connection(const Context& context, bool shared = false);
    /// What was not closed is torn down without a word.
    ~Connection();
    Connection(const Connection&) = delete;
    Connection& operator=(const Connection&) = delete;

    /// Both sides do it at the same time. Each posts so many receives before, of which the n-th has
    /// the n-th slot and the cookie n, and tells where the target region is.
    void connect(unsigned receives = 0);
    /// Ends the connection on both sides and frees everything.
    void close();
    /// Frees everything; the connection has ended by itself.
    void release();

    DAT_EP_HANDLE ep() const { return ep_; }
    DAT_EVD_HANDLE request_evd() const { return request_evd_; }
    DAT_LMR_TRIPLET slot_segment(unsigned slot) const;
    /// Of the other side's region: by default its target.
    DAT_RMR_TRIPLET remote(std::size_t offset, std::size_t length) const;
    /// Both sides tell where this region is; remote() is then in the other's.
    void tell(const dtest::Region& region);
    DAT_EVENT request_event(const char* what) const;
    DAT_EVENT receive_event(const char* what) const;
    void post_receive(unsigned slot);
    /// Posts a send of the source region's first bytes and takes its completion.
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

/// The number that goes with the n-th message of a side.
std::uint32_t number_from(const Context& context, bool server, unsigned index);
inline std::uint32_t my_number(const Context& context, unsigned index) {
    return number_from(context, context.options.server(), index);
}
inline std::uint32_t their_number(const Context& context, unsigned index) {
    return number_from(context, !context.options.server(), index);
}
/// Fills memory with this side's bytes of the n-th message.
void fill(const Context& context, void* memory, std::size_t size, unsigned index);
/// The memory holds the other side's bytes of its n-th message.
void require_bytes(const Context& context, const void* memory, std::size_t size, unsigned index,
                   const char* what);
/// Makes memory such that require_untouched() can tell whether something was put there.
void mark(void* memory, std::size_t size);
void require_untouched(const void* memory, std::size_t size, const char* what);

}  // namespace dtest_ext
