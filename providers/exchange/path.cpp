// SPDX-License-Identifier: BSD-2-Clause
#include "providers/exchange/path.hpp"

#include <arpa/inet.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <system_error>
#include <utility>

#include "device/explain_device.hpp"
#include "device/explain_kernel.hpp"
#include "support/log/log.hpp"
#include "support/settings/settings.hpp"

namespace dapl::exchange {
namespace {

using support::Setting;

/// Querying the device for its port and its GIDs takes longer than the rest of a connection on some
/// devices: rdma_rxe has a table of 1024 GIDs, and asks its network interface under a lock that all
/// of the machine's interfaces share.
constexpr std::chrono::seconds kStateHolds{1};
/// The PSN at which both sides start: part of the wire contract.
constexpr std::uint32_t kFirstPacket = 1;

std::uint8_t small(Setting setting, std::string_view ia_name) {
    return static_cast<std::uint8_t>(setting_integer(setting, ia_name));
}

std::uint8_t mtu_of(long bytes) {
    std::uint8_t mtu = IBV_MTU_256;
    while (mtu < IBV_MTU_4096 && 256L << mtu <= bytes) ++mtu;
    return mtu;
}

/// @return the index of the P_Key that the user wants; 0, the port's own, if there is no such key.
std::uint16_t find_p_key(ibv_context* context, const cm::DeviceChoice& choice,
                         std::string_view ia_name) {
    constexpr long kMembershipBit = 0x8000;
    const long wanted = setting_integer(Setting::kIbPartition, ia_name);
    ibv_port_attr port{};
    if (wanted == 0 || ibv_query_port(context, choice.port, &port) != 0) return 0;
    for (std::uint16_t index = 0; index < port.pkey_tbl_len; ++index) {
        __be16 key = 0;
        if (ibv_query_pkey(context, choice.port, index, &key) != 0) break;
        if ((ntohs(key) | kMembershipBit) == (wanted | kMembershipBit)) return index;
    }
    support::report<support::kNoSuchPartition>(ia_name, wanted, choice.port, choice.device);
    return 0;
}

std::string refusal(const char* state, int error) {
    return std::string("the device refuses ") + state + ": " +
           std::generic_category().message(error);
}

}  // namespace

PathSettings read_path_settings(std::string_view ia_name) {
    PathSettings settings{};
    settings.has_mtu = setting_is_set(Setting::kIbMtu, ia_name);
    settings.largest_mtu = mtu_of(setting_integer(Setting::kIbMtu, ia_name));
    settings.service_level = small(Setting::kIbServiceLevel, ia_name);
    settings.ack_retries = small(Setting::kAckRetries, ia_name);
    settings.ack_timer = small(Setting::kAckTimer, ia_name);
    settings.receiver_retries = small(Setting::kReceiverRetries, ia_name);
    settings.receiver_timer = small(Setting::kReceiverTimer, ia_name);
    settings.global_routing = setting_flag(Setting::kGlobalRouting, ia_name);
    settings.hop_limit = small(Setting::kHopLimit, ia_name);
    settings.traffic_class = small(Setting::kTrafficClass, ia_name);
    return settings;
}

std::uint8_t common_mtu(std::uint8_t own, std::uint8_t peer, const PathSettings& settings) {
    if (peer != 0) return std::min(own, peer);
    return settings.has_mtu ? own : std::min<std::uint8_t>(own, IBV_MTU_2048);
}

cm::Reads common_reads(std::uint8_t responder_resources, std::uint8_t initiator_depth,
                       const Message& peer) {
    // Older peers do not send the number that they serve.
    if (peer.version < kFirstWithReadLimit) return {responder_resources, initiator_depth};
    return {responder_resources, std::min(initiator_depth, peer.read_limit)};
}

Port::Port(ibv_context* context, cm::DeviceChoice choice, std::string_view ia_name)
    : ia_name_(ia_name),
      context_(context),
      choice_(std::move(choice)),
      settings_(read_path_settings(ia_name)),
      p_key_index_(find_p_key(context, choice_, ia_name)) {
    ibv_device_attr attributes{};
    if (ibv_query_device(context, &attributes) == 0)
        settings_.ack_timer = std::max(settings_.ack_timer, attributes.local_ca_ack_delay);
}

void Port::explain(const support::Facts& facts) const {
    cm::explain_device(facts, context(), choice(), "ia_params");
    cm::explain_setting(
        facts, "largest_mtu", Setting::kIbMtu,
        std::to_string(cm::bytes_of(static_cast<ibv_mtu>(settings_.largest_mtu))) + " bytes");
    cm::explain_setting(facts, "partition", Setting::kIbPartition,
                        "index " + std::to_string(p_key_index_));
    cm::explain_kernel_device(facts, cm::KernelView(), choice().device);
}

tl::expected<Port::State, std::string> Port::look() const {
    State state{std::chrono::steady_clock::now(), {}, {}, {}};
    if (const int error = ibv_query_port(context(), number(), &state.port))
        return tl::unexpected(refusal("to report the state of its port", error));
    auto gids = verbs::read_gid_table(context());
    if (!gids) return tl::unexpected(refusal("to report its GIDs", gids.error()));
    state.gids = std::move(*gids);
    state.first_link = verbs::subnets_of(verbs::first_interface(state.gids, number()));
    return state;
}

tl::expected<OwnEnd, std::string> Port::own_end(const sockaddr_storage& address,
                                                const ibv_gid* gid) const {
    if (!state_ || std::chrono::steady_clock::now() - state_->seen > kStateHolds) {
        auto seen = look();
        if (!seen) return tl::unexpected(seen.error());
        state_ = std::move(*seen);
    }
    const ibv_port_attr& port = state_->port;
    const verbs::GidPeer peer{gid, verbs::contains(state_->first_link, address)};
    const auto own =
        verbs::choose_gid(state_->gids, number(), cm::wanted_gid_index(ia_name_), peer);
    if (!own) {
        state_.reset();  // the next connection queries again
        return tl::unexpected(std::string("the port has no GID to connect from"));
    }
    return OwnEnd{port.lid, *own, std::min<std::uint8_t>(port.active_mtu, settings_.largest_mtu),
                  port.link_layer != IBV_LINK_LAYER_ETHERNET};
}

ibv_ah_attr Port::way_to(const OwnEnd& own, const QpAddress& peer) const {
    ibv_ah_attr way{};
    way.dlid = peer.lid;
    way.sl = settings_.service_level;
    way.port_num = number();
    way.is_global = !own.is_infiniband || settings_.global_routing;
    if (!way.is_global) return way;
    static_assert(sizeof way.grh.dgid == sizeof peer.gid);
    std::memcpy(&way.grh.dgid, peer.gid.data(), peer.gid.size());
    way.grh.sgid_index = static_cast<std::uint8_t>(own.gid.index);
    way.grh.hop_limit = settings_.hop_limit;
    way.grh.traffic_class = settings_.traffic_class;
    return way;
}

tl::expected<void, std::string> Port::connect(const Way& to) const {
    ibv_qp_attr receive{};
    receive.qp_state = IBV_QPS_RTR;
    receive.path_mtu = static_cast<ibv_mtu>(to.mtu);
    receive.dest_qp_num = to.peer.qpn;
    receive.rq_psn = kFirstPacket;
    receive.max_dest_rd_atomic = to.reads.served;
    receive.min_rnr_timer = settings_.receiver_timer;
    receive.pkey_index = p_key_index_;
    receive.ah_attr = way_to(to.own, to.peer);
    int mask = IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
               IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
    if (p_key_index_ != 0) mask |= IBV_QP_PKEY_INDEX;
    if (const int error = ibv_modify_qp(to.qp, &receive, mask))
        return tl::unexpected(refusal("the path to the peer's queue pair", error));
    ibv_qp_attr send{};
    send.qp_state = IBV_QPS_RTS;
    send.sq_psn = kFirstPacket;
    send.max_rd_atomic = to.reads.asked;
    send.retry_cnt = settings_.ack_retries;
    send.timeout = settings_.ack_timer;
    send.rnr_retry = settings_.receiver_retries;
    if (const int error = ibv_modify_qp(to.qp, &send,
                                        IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC |
                                            IBV_QP_RETRY_CNT | IBV_QP_TIMEOUT | IBV_QP_RNR_RETRY))
        return tl::unexpected(refusal("to send to the peer's queue pair", error));
    return {};
}

}  // namespace dapl::exchange
