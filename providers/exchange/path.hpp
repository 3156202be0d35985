// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The device's port, and the path from it to a peer's queue pair.
#pragma once

#include <infiniband/verbs.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <tl/expected.hpp>

#include "dapl/cm/lock.hpp"
#include "dapl/cm/manager.hpp"
#include "dapl/verbs/subnet.hpp"
#include "device/device.hpp"
#include "providers/exchange/message.hpp"

namespace dapl::exchange {

/// Part of the wire contract: the Q_Key of all datagram endpoints. The messages do not carry it.
inline constexpr std::uint32_t kQueueKey = 0x78654321;

/// The room that a message has for private data, in each direction.
inline constexpr cm::Limits kLimits{kMaxPrivateData, kMaxPrivateData, kMaxPrivateData};

/// The settings for paths; read once, when the adapter instance is opened.
struct PathSettings {
    std::uint8_t largest_mtu;  ///< ibv_mtu
    bool has_mtu;              ///< set by the user: it then holds for peers that send none as well
    std::uint8_t service_level;
    std::uint8_t ack_retries, ack_timer;  ///< as InfiniBand encodes them
    std::uint8_t receiver_retries, receiver_timer;
    bool global_routing;
    std::uint8_t hop_limit, traffic_class;
};
PathSettings read_path_settings(std::string_view ia_name);

/// This side's end of a path, as it is reported to the peer.
struct OwnEnd {
    std::uint16_t lid;
    verbs::GidChoice gid;
    std::uint8_t mtu;  ///< the largest that the port and the settings allow
    bool is_infiniband;
};

/// @return the smaller of both. @param peer 0 from a peer that sends none: those use 2048, unless
/// the user has set it.
std::uint8_t common_mtu(std::uint8_t own, std::uint8_t peer, const PathSettings& settings);

/// @return the limits that both sides allow.
cm::Reads common_reads(std::uint8_t responder_resources, std::uint8_t initiator_depth,
                       const Message& peer);

/// The path from a queue pair, which is in INIT, to the peer's.
struct Way {
    ibv_qp* qp;
    OwnEnd own;
    QpAddress peer;
    std::uint8_t mtu;
    cm::Reads reads;
};

class Port {
  public:
    /// Reports a P_Key setting that the port does not have. @param context outlives the port.
    Port(ibv_context* context, cm::DeviceChoice choice, std::string_view ia_name);

    ibv_context* context() const { return context_; }
    std::uint8_t number() const { return choice_.port; }

    /// @return this side's end of the path, or why there is no path. The port's state is at most a
    /// second old: ports go up and down, and get other addresses.
    /// @param address of the peer's host. @param gid the peer's; nullptr while it is not known.
    tl::expected<OwnEnd, std::string> own_end(const sockaddr_storage& address,
                                              const ibv_gid* gid) const REQUIRES(connection_lock);
    /// @return the address vector of the peer's queue pair.
    ibv_ah_attr way_to(const OwnEnd& own, const QpAddress& peer) const;
    std::uint16_t p_key_index() const { return p_key_index_; }
    /// Moves the queue pair from INIT to RTR to RTS; may wait while the kernel resolves the path.
    /// Needs no lock.
    /// @return on failure, what the device refused.
    tl::expected<void, std::string> connect(const Way& way) const;
    /// Adds the facts about the device, its port and the settings for paths.
    void explain(const support::Facts& facts) const;
    const PathSettings& settings() const { return settings_; }
    const cm::DeviceChoice& choice() const { return choice_; }

  private:
    struct State {
        std::chrono::steady_clock::time_point seen;
        ibv_port_attr port;
        verbs::GidTable gids;
        std::vector<verbs::Subnet> first_link;  ///< the subnets of entry 0's interface
    };
    tl::expected<State, std::string> look() const;

    std::string ia_name_;
    ibv_context* context_;
    cm::DeviceChoice choice_;
    PathSettings settings_;
    std::uint16_t p_key_index_;
    mutable std::optional<State> state_ GUARDED_BY(connection_lock);
};

}  // namespace dapl::exchange
