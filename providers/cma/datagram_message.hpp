// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The messages that two datagram endpoints exchange in rdma_cm's private data. rdma_cm gives the
/// requester the address of the other end, but not the other way round, pads the data with zeros,
/// and rejects without data: a header in front of the consumer's data makes up for that. A request
/// also says at which port of a device the requester is.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "dapl/cm/manager.hpp"

namespace dapl::cma {

/// The Q_Key that rdma_cm gives to all queue pairs of its datagram port space.
inline constexpr std::uint32_t kDatagramKey = 0x01234567;

/// Capacity for the consumer's data. rdma_cm itself carries 144 bytes in a request and 136 in an
/// answer.
inline constexpr cm::Limits kDatagramLimits{56, 128, 112};

/// The address of a port, by which its queue pairs are reached.
struct PortAddress {
    std::uint16_t lid = 0;  ///< 0 on RoCE
    std::array<std::uint8_t, 16> gid{};
};

struct DatagramMessage {
    enum class Kind : std::uint8_t { kRequest = 1, kAccept = 2, kReject = 3 };
    Kind kind;
    std::uint32_t qpn;  ///< of the sender; 0 in a rejection
    cm::PrivateData data;
    PortAddress port{};  ///< of the sender, in a request
};

class DatagramBytes {
  public:
    const std::byte* data() const { return bytes_.data(); }
    std::size_t size() const { return size_; }

  private:
    friend DatagramBytes encode(const DatagramMessage& message);
    static constexpr std::size_t kMost = 136;
    std::array<std::byte, kMost> bytes_{};
    std::size_t size_ = 0;
};

/// @param message its data is within kDatagramLimits.
DatagramBytes encode(const DatagramMessage& message);
/// @param bytes as received, maybe followed by zeros. @return nullopt for anything but such a
/// message; the data of the message lies in `bytes`.
std::optional<DatagramMessage> decode(cm::PrivateData bytes);

}  // namespace dapl::cma
