// SPDX-License-Identifier: BSD-2-Clause
#include "tools/ping/statistics.hpp"

#include <algorithm>
#include <cmath>

#include "tools/common/failure.hpp"

namespace ping {

void Statistics::answered(double round_trip_ms) {
    minimum_ = received_ == 0 ? round_trip_ms : std::min(minimum_, round_trip_ms);
    maximum_ = std::max(maximum_, round_trip_ms);
    sum_ += round_trip_ms;
    sum_of_squares_ += round_trip_ms * round_trip_ms;
    ++received_;
}

void Statistics::lost(const std::string& why) {
    ++lost_;
    ++losses_[why];
}

double Statistics::loss_percent() const {
    constexpr double kAll = 100;
    return transmitted() == 0
               ? 0
               : kAll * static_cast<double>(lost_) / static_cast<double>(transmitted());
}

double Statistics::deviation() const {
    const double mean = average();
    // Rounding may make the difference slightly negative.
    return std::sqrt(std::max(sum_of_squares_ / static_cast<double>(received_) - mean * mean, 0.0));
}

std::string Statistics::summary(const std::string& target, double time_ms) const {
    std::string text = tools::format(
        "\n--- %s dat_ping statistics ---\n"
        "%llu packets transmitted, %llu received, %.6g%% packet loss, time %.0fms\n",
        target.c_str(), static_cast<unsigned long long>(transmitted()),
        static_cast<unsigned long long>(received()), loss_percent(), time_ms);
    if (received_ > 0)
        text += tools::format("rtt min/avg/max/mdev = %.3f/%.3f/%.3f/%.3f ms\n", minimum(),
                              average(), maximum(), deviation());
    return text;
}

}  // namespace ping
