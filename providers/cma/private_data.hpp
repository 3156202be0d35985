// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Private data as rdma_cm carries it, and the header by which a consumer's rejection differs from
/// the CM's.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>

#include "dapl/cm/manager.hpp"

namespace dapl::cma {

/// Largest private data that rdma_cm delivers, and largest that it can be asked to carry.
inline constexpr std::size_t kLargestData = 256;
inline constexpr std::size_t kLargestGiven = 255;

/// A consumer's rejection starts with these: DAT 2.0, provider 2.0, in network order. A rejection
/// without them (or with the zeros that InfiniBand pads with) is the CM's own.
inline constexpr std::array<std::byte, 4> kRejectHeader{std::byte{2}, std::byte{0}, std::byte{2},
                                                        std::byte{0}};

/// InfiniBand's messages have fields of fixed size: what the peer gave is followed by zeros, and
/// the size is always the field's. iWARP carries the exact size.
struct FieldSizes {
    std::size_t request, accept, reject;
};
inline constexpr FieldSizes kInfiniBandFields{56, 196, 148};

/// Capacity for the consumer's data: the InfiniBand fields less the 36 bytes of the request's own
/// header, which the interface has always subtracted from all three.
inline constexpr cm::Limits kInfiniBandLimits{56, 160, 112};
/// Kernel drivers accept less than 256 bytes of MPA private data, and MPA version 2 puts its read
/// limits in the first four of them; longer data causes a connection reset.
inline constexpr std::size_t kLargestMpaData = 255 - 4;
inline constexpr cm::Limits kIwarpLimits{kLargestMpaData, kLargestMpaData,
                                         kLargestMpaData - kRejectHeader.size()};

/// A copy of an event's private data, followed by zeros.
class ReceivedData {
  public:
    /// @param field_size size that the transport always delivers; 0: the exact size.
    void assign(const void* data, std::size_t size, std::size_t field_size) {
        bytes_.fill(std::byte{0});
        const std::size_t copied = data ? std::min(size, bytes_.size()) : 0;
        if (copied > 0) std::memcpy(bytes_.data(), data, copied);
        given_ = copied;
        size_ = std::max(copied, field_size);
    }
    /// The data without the zeros.
    cm::PrivateData given() const { return {bytes_.data(), given_}; }
    bool has_reject_header() const {
        return size_ >= kRejectHeader.size() &&
               std::memcmp(bytes_.data(), kRejectHeader.data(), kRejectHeader.size()) == 0;
    }
    cm::PrivateData all() const { return {bytes_.data(), size_}; }
    /// The data behind the reject header. On InfiniBand the size remains that of the whole field,
    /// as consumers expect.
    cm::PrivateData behind_reject_header(std::size_t field_size) const {
        return {bytes_.data() + kRejectHeader.size(),
                std::max(size_ - kRejectHeader.size(), field_size)};
    }

  private:
    std::array<std::byte, kLargestData> bytes_{};
    std::size_t size_ = 0;
    std::size_t given_ = 0;
};

}  // namespace dapl::cma
