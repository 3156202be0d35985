// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The IA, and what both sides create on it: event dispatchers, endpoints, memory.
#pragma once

#include <dat2/udat.h>
#include <netinet/in.h>
#include <signal.h>

#include <memory>
#include <optional>
#include <span>
#include <string>

#include "tools/common/clock.hpp"

namespace ping {

inline constexpr DAT_CONN_QUAL kUsualQualifier = 45311;

/// Set by SIGINT and SIGTERM: whatever is in progress ends soon, with its summary.
extern volatile sig_atomic_t interrupted;

/// Whether an IA's address is one of libdaploucm: it names a queue pair, in a sockaddr_in6
/// (dat.conf(5)).
bool is_queue_pair(const sockaddr& address);
/// @param text LID/QPN or LID/QPN/GID, as host_text() gives it.
/// @return the address of the queue pair; nothing for any other text.
std::optional<sockaddr_in6> queue_pair_of(const std::string& text);

class Adapter {
  public:
    /// @param events number of events that each dispatcher can hold.
    Adapter(const std::string& name, DAT_COUNT events);
    /// Frees everything that is left.
    ~Adapter();
    Adapter(const Adapter&) = delete;
    Adapter& operator=(const Adapter&) = delete;

    /// Waits on one dispatcher. @return nullopt on timeout, or when `interrupted` is set.
    static std::optional<DAT_EVENT> next_event(DAT_EVD_HANDLE evd, const tools::Deadline& deadline);
    /// @return the address of the IA; valid while it is open.
    const sockaddr& address() const;

    DAT_IA_HANDLE ia = DAT_HANDLE_NULL;
    DAT_PZ_HANDLE pz = DAT_HANDLE_NULL;
    DAT_CNO_HANDLE cno = DAT_HANDLE_NULL;      ///< of both dispatchers, after use_cno()
    DAT_EVD_HANDLE control = DAT_HANDLE_NULL;  ///< requests and connections
    DAT_EVD_HANDLE transfers = DAT_HANDLE_NULL;

    void use_cno();

  private:
    DAT_EVD_HANDLE async_ = DAT_HANDLE_NULL;
};

/// An endpoint with registered buffers for its messages, all of one size.
class Endpoint {
  public:
    /// @param buffers number of buffers. @param id stored in the cookies.
    Endpoint(const Adapter& adapter, std::size_t size, unsigned buffers, std::uint32_t id);
    ~Endpoint();
    Endpoint(const Endpoint&) = delete;
    Endpoint& operator=(const Endpoint&) = delete;

    DAT_EP_HANDLE handle() const { return ep_; }
    std::span<std::byte> buffer(unsigned index) const {
        return {memory_.get() + index * size_, size_};
    }
    /// @return whether the post succeeded.
    bool post_receive(unsigned index);
    bool post_send(unsigned index);

    /// The operation to which a completion belongs.
    struct Work {
        std::uint32_t id;
        unsigned buffer;
        bool is_receive;
    };
    static Work work_of(DAT_DTO_COOKIE cookie);

  private:
    DAT_LMR_TRIPLET segment(unsigned index) const;
    DAT_DTO_COOKIE cookie(unsigned index, bool is_receive) const;
    void register_memory(const Adapter& adapter, std::size_t length);
    void create(const Adapter& adapter, unsigned buffers);

    const std::size_t size_;
    const std::uint32_t id_;
    std::unique_ptr<std::byte[]> memory_;
    DAT_LMR_HANDLE lmr_ = DAT_HANDLE_NULL;
    DAT_LMR_CONTEXT lmr_context_ = 0;
    DAT_EP_HANDLE ep_ = DAT_HANDLE_NULL;
};

/// @return the socket address as text, without its port.
std::string host_text(const sockaddr& address);

}  // namespace ping
