// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// A client's measurements and their summary.
#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace ping {

class Statistics {
  public:
    void answered(double round_trip_ms);
    void lost(const std::string& why);

    std::uint64_t transmitted() const { return received_ + lost_; }
    std::uint64_t received() const { return received_; }
    double loss_percent() const;
    /// Round trips in milliseconds; require that something was received.
    double minimum() const { return minimum_; }
    double maximum() const { return maximum_; }
    double average() const { return sum_ / static_cast<double>(received_); }
    /// Standard deviation, which ping calls mdev.
    double deviation() const;
    const std::map<std::string, std::uint64_t>& losses() const { return losses_; }

    /// The lines that ping prints when it ends.
    std::string summary(const std::string& target, double time_ms) const;

  private:
    std::uint64_t received_ = 0, lost_ = 0;
    double minimum_ = 0, maximum_ = 0, sum_ = 0, sum_of_squares_ = 0;
    std::map<std::string, std::uint64_t> losses_;
};

}  // namespace ping
