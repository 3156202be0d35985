// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Every DAT object of one dtest process, and the calls on them with their completions checked. All
/// functions throw a Failure when a call or an event is not as it must be.
#pragma once

#include <dat2/udat.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "test/dtest/options.hpp"
#include "test/dtest/region.hpp"
#include "tools/common/clock.hpp"

namespace dtest {

using tools::Deadline;

/// How much of everything the transfers need.
struct Capacity {
    std::uint32_t slot_size;  ///< bytes, room for one transfer or one control message
    unsigned window;    ///< transfers between two synchronisations: slots in source and target
    unsigned requests;  ///< requests posted and not completed
    unsigned receive_slots() const { return window + 3; }  ///< and control messages around them
};

/// The microseconds of each step, by name, in the order they were made.
using StepTimes = std::vector<std::pair<std::string, double>>;

struct Received {
    unsigned slot;  ///< in the ring of receive buffers; it must be given back by release_slot()
    std::uint32_t length;
    bool has_immediate;
    std::uint32_t immediate;
};

class Endpoint {
  public:
    explicit Endpoint(const Options& options) : options_(options) {}
    /// An endpoint that was not closed is torn down without a word.
    ~Endpoint();
    Endpoint(const Endpoint&) = delete;
    Endpoint& operator=(const Endpoint&) = delete;

    void open(const std::string& provider);
    /// Makes everything between the IA and a ready, unconnected EP with all receives posted.
    void create(const Capacity& capacity);
    /// Frees everything, in order, and checks that each free succeeds.
    void close();

    const sockaddr* address() const;
    bool offers_read() const { return offers_read_; }
    bool offers_immediate() const { return offers_immediate_; }
    bool is_infiniband() const { return is_infiniband_; }
    DAT_COUNT max_private_data() const { return max_private_data_; }
    const Capacity& capacity() const { return capacity_; }
    StepTimes& times() { return times_; }

    // -- connecting
    // ---------------------------------------------------------------------------------
    void listen(DAT_CONN_QUAL qualifier);
    /// @return whether a request came within `microseconds`.
    bool wait_request_event(double microseconds, DAT_EVENT& event);
    void accept(DAT_CR_HANDLE request, void* private_data, DAT_COUNT size);
    void connect(const sockaddr* address, DAT_CONN_QUAL qualifier, void* private_data,
                 DAT_COUNT size);
    /// @return the next connection event.
    DAT_EVENT wait_connection_event(const Deadline& deadline);
    /// After a connect that failed: ready for another one, receives posted again.
    void reset();
    /// @param active whether this side asks for the disconnect
    void disconnect(bool active, const Deadline& deadline);
    /// Throws when the connection has ended by itself; for loops that look at memory only.
    void require_connection();

    // -- transfers
    // ------------------------------------------------------------------------------------
    static constexpr bool kSignalled = true, kSuppressed = false;
    /// Where the other side's target region is.
    void set_remote(DAT_VADDR address, DAT_RMR_CONTEXT context) {
        remote_address_ = address;
        remote_context_ = context;
    }
    Region& source() { return source_; }
    Region& target() { return target_; }
    unsigned char* receive_slot(unsigned slot) const { return receive_.at(slot * slot_bytes()); }
    /// @return the slot that the message after `ahead` others will land in.
    unsigned next_slot(unsigned ahead) const { return (head_ + ahead) % capacity_.receive_slots(); }

    void post_send(const Region& from, std::size_t offset, std::uint32_t length,
                   std::uint64_t cookie, bool signalled);
    void post_write(std::size_t offset, std::size_t remote_offset, std::uint32_t length,
                    std::uint64_t cookie, bool signalled);
    void post_write_immediate(std::size_t offset, std::size_t remote_offset, std::uint32_t length,
                              std::uint64_t cookie, std::uint32_t immediate, bool signalled);
    void post_read(std::size_t offset, std::size_t remote_offset, std::uint32_t length,
                   std::uint64_t cookie);
    /// Waits for one request's completion and checks its cookie, status and length.
    void complete_request(std::uint64_t cookie, std::uint32_t length, const Deadline& deadline);
    /// Waits for one message and checks its status and order.
    Received receive(const Deadline& deadline);
    /// The slot may take another message. Slots are posted again in the order they were filled, so
    /// one that is still in use holds back those behind it.
    void release_slot(unsigned slot);
    /// Sends `length` bytes of `text` (at most 64) and waits for the completion.
    void send_control(const void* text, std::uint32_t length, const Deadline& deadline);
    /// @return how often polling found nothing.
    unsigned long empty_polls() const { return empty_polls_; }

  private:
    std::size_t slot_bytes() const { return capacity_.slot_size; }
    void query();
    void create_evd(const char* name, DAT_COUNT length, DAT_CNO_HANDLE cno, DAT_EVD_FLAGS flags,
                    DAT_EVD_HANDLE& evd);
    void create_ep();
    void post_receive(unsigned slot);
    void post_all_receives();
    DAT_EVENT take_event(DAT_EVD_HANDLE evd, const char* what, const Deadline& deadline);
    bool try_take(DAT_EVD_HANDLE evd, double wait_us, DAT_EVENT& event);
    std::string evidence();
    template <class Call>
    DAT_RETURN timed(const char* step, Call call);

    const Options& options_;
    Capacity capacity_{};
    bool offers_read_ = false, offers_immediate_ = false, is_infiniband_ = false;
    DAT_COUNT max_private_data_ = 0;
    DAT_IA_ATTR ia_attributes_{};
    DAT_IA_HANDLE ia_ = DAT_HANDLE_NULL;
    DAT_EVD_HANDLE async_evd_ = DAT_HANDLE_NULL;
    DAT_PZ_HANDLE pz_ = DAT_HANDLE_NULL;
    DAT_CNO_HANDLE cno_ = DAT_HANDLE_NULL;
    DAT_EVD_HANDLE cr_evd_ = DAT_HANDLE_NULL, connection_evd_ = DAT_HANDLE_NULL;
    DAT_EVD_HANDLE request_evd_ = DAT_HANDLE_NULL, receive_evd_ = DAT_HANDLE_NULL;
    DAT_EP_HANDLE ep_ = DAT_HANDLE_NULL;
    DAT_PSP_HANDLE psp_ = DAT_HANDLE_NULL;
    Region source_, target_, receive_, control_;
    unsigned head_ = 0;  ///< receive slot that the next message lands in
    unsigned tail_ = 0;  ///< receive slot that is posted again next
    std::vector<bool> released_;
    DAT_VADDR remote_address_ = 0;
    DAT_RMR_CONTEXT remote_context_ = 0;
    unsigned long empty_polls_ = 0;
    StepTimes times_;
};

}  // namespace dtest
