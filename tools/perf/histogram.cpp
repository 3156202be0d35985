// SPDX-License-Identifier: BSD-2-Clause
#include "tools/perf/histogram.hpp"

#include <algorithm>
#include <cmath>

namespace perf {

/// The index after the last bucket wraps to 0, so that the value below it is the largest one.
std::uint64_t Histogram::first_of(std::size_t index) {
    if (index < kExact) return index;
    const std::size_t shift = (index >> kBits) - 1;
    const std::uint64_t top = (index & ((std::size_t{1} << kBits) - 1)) + (std::size_t{1} << kBits);
    return top << shift;
}

void Histogram::merge(const Histogram& other) {
    for (std::size_t i = 0; i < kBuckets; ++i) counts_[i] += other.counts_[i];
    count_ += other.count_;
    minimum_ = std::min(minimum_, other.minimum_);
    maximum_ = std::max(maximum_, other.maximum_);
}

std::uint64_t Histogram::percentile(double percent) const {
    if (count_ == 0) return 0;
    const double exact = std::ceil(percent / 100.0 * static_cast<double>(count_));
    const auto rank = std::clamp<std::uint64_t>(static_cast<std::uint64_t>(exact), 1, count_);
    std::uint64_t below = 0;
    std::size_t index = 0;
    while ((below += counts_[index]) < rank) ++index;
    return std::clamp(last_of(index), minimum_, maximum_);
}

std::vector<Histogram::Row> Histogram::rows(unsigned rows) const {
    std::vector<Row> result;
    if (count_ == 0 || rows == 0) return result;
    const double low = std::log2(static_cast<double>(minimum_) + 1);
    const double high = std::log2(static_cast<double>(maximum_) + 2);
    std::uint64_t from = minimum_;
    std::size_t index = index_of(minimum_);
    for (unsigned row = 1; row <= rows && from <= maximum_; ++row) {
        const double edge = std::exp2(low + (high - low) * row / rows) - 1;
        Row next{from, maximum_, 0};
        for (; index < kBuckets && first_of(index) <= maximum_; ++index) {
            if (row < rows && static_cast<double>(first_of(index)) >= edge &&
                first_of(index) > from)
                break;
            next.count += counts_[index];
        }
        if (index < kBuckets && first_of(index) <= maximum_) next.to = first_of(index) - 1;
        from = next.to + 1;
        result.push_back(next);
        if (next.to == maximum_) break;
    }
    return result;
}

}  // namespace perf
