// SPDX-License-Identifier: BSD-2-Clause
#include "providers/ucm/timing.hpp"

#include "support/settings/settings.hpp"

namespace dapl::ucm {
namespace {

using support::Setting;

/// Factors for the defaults, on a network with more processes than the threshold.
constexpr long kLongerReply = 20;
constexpr long kLongerDisconnect = 2;
constexpr long kMoreEntries = 10;

bool is_large_network(std::string_view ia_name) {
    const long processes = setting_is_set(Setting::kNetworkProcesses, ia_name)
                               ? setting_integer(Setting::kNetworkProcesses, ia_name)
                               : setting_integer(Setting::kNetworkNodes, ia_name) *
                                     setting_integer(Setting::kNetworkPerNode, ia_name);
    return processes > setting_integer(Setting::kNetworkThreshold, ia_name);
}

}  // namespace

Timing read_timing(std::string_view ia_name) {
    const bool is_large = is_large_network(ia_name);
    const auto value = [&](Setting setting, long factor) {
        const long given = setting_integer(setting, ia_name);
        return is_large && !setting_is_set(setting, ia_name) ? given * factor : given;
    };
    const auto time = [&](Setting setting, long factor) {
        return Timing::Milliseconds(value(setting, factor));
    };
    return {
        .sends = static_cast<int>(value(Setting::kUcmRetries, 1)),
        .reply = time(Setting::kUcmReplyTime, kLongerReply),
        .confirm = time(Setting::kUcmConfirmTime, kLongerReply),
        .disconnect_sends = static_cast<int>(value(Setting::kUcmDisconnectRetries, 1)) + 1,
        .disconnect = time(Setting::kUcmDisconnectTime, kLongerDisconnect),
        .memory = time(Setting::kUcmWaitTime, 1),
        .entries = static_cast<std::size_t>(value(Setting::kUcmQueuePairSize, kMoreEntries)),
    };
}

}  // namespace dapl::ucm
