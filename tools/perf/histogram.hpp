// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Counts of values in buckets whose width grows with the value: any percentile is known to within
/// one part in 128, from 1 to 2^64 - 1, in bounded memory.
#pragma once

#include <cstdint>
#include <vector>

namespace perf {

class Histogram {
  public:
    void add(std::uint64_t value) {
        ++counts_[index_of(value)];
        ++count_;
        minimum_ = value < minimum_ ? value : minimum_;
        maximum_ = value > maximum_ ? value : maximum_;
    }
    void merge(const Histogram& other);

    std::uint64_t count() const { return count_; }
    /// minimum(), maximum() and percentile() are 0 when there is no value.
    std::uint64_t minimum() const { return count_ == 0 ? 0 : minimum_; }
    std::uint64_t maximum() const { return maximum_; }
    /// @param percent from 0 to 100
    /// @return the least value that this percentage of the values does not exceed, or up to 1/128
    /// above it.
    std::uint64_t percentile(double percent) const;

    /// The number of values from `from` to `to`, both included.
    struct Row {
        std::uint64_t from;
        std::uint64_t to;
        std::uint64_t count;
    };
    /// @return all values in at most `rows` rows, each as wide as the one before or wider, without
    ///     empty rows at the ends.
    std::vector<Row> rows(unsigned rows) const;

  private:
    static constexpr unsigned kBits = 7;  ///< bits of precision
    static constexpr std::uint64_t kExact = std::uint64_t{1} << (kBits + 1);
    static constexpr std::size_t kBuckets = (64 - kBits + 1) << kBits;

    static std::size_t index_of(std::uint64_t value) {
        if (value < kExact) return value;
        const unsigned shift = 63U - kBits - static_cast<unsigned>(__builtin_clzll(value));
        return (std::size_t{shift} << kBits) + (value >> shift);
    }
    static std::uint64_t first_of(std::size_t index);
    static std::uint64_t last_of(std::size_t index) { return first_of(index + 1) - 1; }

    std::vector<std::uint64_t> counts_ = std::vector<std::uint64_t>(kBuckets);
    std::uint64_t count_ = 0;
    std::uint64_t minimum_ = UINT64_MAX;
    std::uint64_t maximum_ = 0;
};

}  // namespace perf
