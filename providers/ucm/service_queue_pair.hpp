// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The unreliable-datagram queue pair by which messages are sent and received, with its buffers.
/// connection_lock guards it.
#pragma once

#include <infiniband/verbs.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "dapl/cm/lock.hpp"
#include "dapl/verbs/handles.hpp"
#include "providers/ucm/message.hpp"
#include "support/base/result.hpp"

namespace dapl::ucm {

/// Sends that are under way keep their address handle.
using SharedHandle = std::shared_ptr<ibv_ah>;

class ServiceQueuePair {
  public:
    /// @param entries how many sends and how many receives it has room for.
    /// @return a queue pair that sends and receives. Reports a refusal by the device.
    static support::Result<std::unique_ptr<ServiceQueuePair>> open(std::string_view ia_name,
                                                                   ibv_context* context,
                                                                   std::uint8_t port,
                                                                   std::size_t entries);
    /// Waits a moment for the sends that are under way, which may be the last word to a peer.
    ~ServiceQueuePair();

    std::uint32_t number() const { return queue_pair_->qp_num; }
    ibv_pd* domain() const { return domain_.get(); }
    /// Readable after a message has arrived, until arm() is called.
    int descriptor() const { return channel_->fd; }
    void arm() REQUIRES(connection_lock);

    /// @param to made in domain(). @return false if the message is lost: no send is free, or the
    /// device refuses.
    bool send(std::span<const std::byte> message, SharedHandle to, std::uint32_t queue_pair)
        REQUIRES(connection_lock);

    struct Datagram {
        std::array<std::byte, kMaxMessage> bytes;
        std::size_t size;
        std::uint32_t sender;  ///< the sender's queue pair, by its device's word
        std::span<const std::byte> all() const { return {bytes.data(), size}; }
    };
    /// @return false if none is there.
    bool receive(Datagram& datagram) REQUIRES(connection_lock);

  private:
    ServiceQueuePair() = default;
    /// @return the step that the device has refused, with errno; nullptr on success.
    const char* make(ibv_context* context, std::uint8_t port, std::size_t entries);
    int start(std::uint8_t port);
    std::byte* buffer(std::size_t index) { return buffers_.data() + index * kBufferSize; }
    int post_receive(std::size_t index);
    void finish_sends();

    /// A message has at most 216 bytes, in front of which a receive has 40 for the GRH.
    static constexpr std::size_t kBufferSize = 256;

    verbs::ProtectionDomain domain_;
    verbs::CompletionChannel channel_;
    verbs::CompletionQueue sent_, received_;
    std::vector<std::byte> buffers_;  ///< of the receives, then of the sends
    verbs::MemoryRegion region_;
    std::vector<SharedHandle> handles_;  ///< of the sends
    std::size_t entries_ = 0;
    std::uint64_t next_send_ = 0, finished_sends_ = 0;
    verbs::QueuePair queue_pair_;  ///< last, since it uses all others
};

}  // namespace dapl::ucm
