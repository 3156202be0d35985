// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The bytes that dtest transfers and checks. A byte depends on its position in the transfer window
/// and on the round, which exposes data of another round, data in the wrong place and data that was
/// not written: every byte differs between two neighbouring rounds, and poison() differs from the
/// expected bytes everywhere.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

namespace dtest {

struct Pattern {
    std::uint64_t stream;  ///< the sender and the test
    unsigned round;        ///< only its low 8 bits matter

    /// @return the byte at `position`.
    unsigned char at(std::uint64_t position) const;
    /// Writes the bytes of positions `position` .. `position + length - 1`.
    void fill(void* memory, std::size_t length, std::uint64_t position) const;
    /// Writes the complement of what fill() would write.
    void poison(void* memory, std::size_t length, std::uint64_t position) const;
    /// @return the offset of the first byte that is not what fill() would have written.
    std::optional<std::size_t> first_difference(const void* memory, std::size_t length,
                                                std::uint64_t position) const;
};

}  // namespace dtest
