// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Every DAT object of one dtest process, and the calls on them with their completions checked. All
/// functions throw a Failure when a call or an event is not as expected.
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

/// How much the transfers need of each resource.
struct Capacity {
    std::uint32_t slot_size;  ///< bytes, for one transfer or one control message
    unsigned window;    ///< transfers between two synchronisations: slots in source and target
    unsigned requests;  ///< outstanding requests
    unsigned receive_slots() const { return window + 3; }  ///< with control messages around them
};

/// The name and the microseconds of each step, in the order in which the steps ran first.
using StepTimes = std::vector<std::pair<std::string, double>>;

struct Received {
    unsigned slot;  ///< index in the ring of receive buffers; give it back with release_slot()
    std::uint32_t length;
    bool has_immediate;
    std::uint32_t immediate;
};

class Endpoint {
  public:
    explicit Endpoint(const Options& options) : options_(options) {}
    /// Closes the IA abruptly if close() was not called; errors are ignored.
    ~Endpoint();
    Endpoint(const Endpoint&) = delete;
    Endpoint& operator=(const Endpoint&) = delete;

    void open(const std::string& provider);
    /// Creates everything from the protection zone to an unconnected EP with all receives posted.
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
    /// @return whether a request arrived within `microseconds`.
    bool wait_request_event(double microseconds, DAT_EVENT& event);
    void accept(DAT_CR_HANDLE request, void* private_data, DAT_COUNT size);
    void connect(const sockaddr* address, DAT_CONN_QUAL qualifier, void* private_data,
                 DAT_COUNT size);
    /// @return the next connection event.
    DAT_EVENT wait_connection_event(const Deadline& deadline);
    /// Prepares another attempt after a failed connect: makes a new EP and posts its receives.
    void reset();
    /// @param active whether this side starts the disconnect
    void disconnect(bool active, const Deadline& deadline);
    /// Throws if the connection has ended; for loops that only poll memory.
    void require_connection();

    // -- transfers
    // ------------------------------------------------------------------------------------
    static constexpr bool kSignalled = true, kSuppressed = false;
    /// Sets the address of the other side's target region.
    void set_remote(DAT_VADDR address, DAT_RMR_CONTEXT context) {
        remote_address_ = address;
        remote_context_ = context;
    }
    Region& source() { return source_; }
    Region& target() { return target_; }
    unsigned char* receive_slot(unsigned slot) const { return receive_.at(slot * slot_bytes()); }
    /// @return the slot in which the message after `ahead` others will land.
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
    /// Makes the slot available for another message. Slots are posted again in the order in which
    /// they were filled, so one that is still in use holds back those behind it.
    void release_slot(unsigned slot);
    /// Sends `length` bytes of `text` (at most 64) and waits for the completion.
    void send_control(const void* text, std::uint32_t length, const Deadline& deadline);
    /// @return the number of polls that found no event.
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
    unsigned head_ = 0;  ///< receive slot in which the next message lands
    unsigned tail_ = 0;  ///< receive slot to post next
    std::vector<bool> released_;
    DAT_VADDR remote_address_ = 0;
    DAT_RMR_CONTEXT remote_context_ = 0;
    unsigned long empty_polls_ = 0;
    StepTimes times_;
};

}  // namespace dtest
