// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The table of the heap's address ranges that are in use, and for what. Its own memory comes from
/// the kernel: nothing here may call malloc.
#pragma once

#include <cstddef>
#include <cstdint>

namespace softverbs::heap {

enum class Kind : std::uint8_t {
    kFile,      ///< pages of the page file
    kReserved,  ///< mapped without access: no pages behind it
    kForeign,   ///< the application has mapped something else there
};

/// The part of an area that a child of fork() gets.
enum class Inheritance : std::uint8_t {
    kCopied,
    kWiped,   ///< zeroes: MADV_WIPEONFORK
    kAbsent,  ///< nothing: MADV_DONTFORK
};

struct Area {
    std::uint64_t begin;
    std::uint64_t end;
    Kind kind;
    std::uint8_t protection;  ///< PROT_*
    bool is_dumped;           ///< not MADV_DONTDUMP
    Inheritance inheritance;

    std::uint64_t length() const { return end - begin; }
    bool is_alike(const Area& other) const {
        return kind == other.kind && protection == other.protection &&
               is_dumped == other.is_dumped && inheritance == other.inheritance;
    }
};

/// Sorted, without overlaps; neighbours with the same properties are one entry.
class Areas {
  public:
    /// @return false with errno.
    bool open();

    std::size_t count() const { return count_; }
    const Area& operator[](std::size_t index) const { return table_[index]; }
    /// Whether one more put() or clear() is sure to succeed.
    bool has_room() const { return count_ + 2 <= kCapacity; }
    /// Enters the area, replacing what was there.
    void put(const Area& area);
    void clear(std::uint64_t begin, std::uint64_t end);

    /// @return the index of the first area that ends behind the address, or count().
    std::size_t first_behind(std::uint64_t address) const;
    /// Finds the area at an address, cut to [address, end). @return false when the address is free.
    bool find(std::uint64_t address, std::uint64_t end, Area& found) const;
    /// Whether nothing in [begin, end) is in use.
    bool is_free(std::uint64_t begin, std::uint64_t end) const;
    /// @return the first free and aligned place in [from, to); 0 when there is none.
    std::uint64_t find_gap(std::uint64_t from, std::uint64_t to, std::uint64_t length,
                           std::uint64_t alignment) const;

  private:
    static constexpr std::size_t kCapacity = 1 << 17;  ///< twice the kernel's vm.max_map_count

    void remove(std::size_t first, std::size_t last);
    void insert(std::size_t index, const Area& area);

    Area* table_ = nullptr;
    std::size_t count_ = 0;
};

}  // namespace softverbs::heap
