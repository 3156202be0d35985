// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Names of DAT events, as printed by programs whose output tests compare.
#pragma once

#include <dat2/udat.h>

#include <string>

namespace test {

inline std::string name_of(DAT_EVENT_NUMBER number) {
    switch (number) {
        case DAT_DTO_COMPLETION_EVENT:
            return "DTO";
        case DAT_RMR_BIND_COMPLETION_EVENT:
            return "RMR_BIND";
        case DAT_CONNECTION_REQUEST_EVENT:
            return "CONNECTION_REQUEST";
        case DAT_CONNECTION_EVENT_ESTABLISHED:
            return "ESTABLISHED";
        case DAT_CONNECTION_EVENT_PEER_REJECTED:
            return "PEER_REJECTED";
        case DAT_CONNECTION_EVENT_NON_PEER_REJECTED:
            return "NON_PEER_REJECTED";
        case DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR:
            return "ACCEPT_COMPLETION_ERROR";
        case DAT_CONNECTION_EVENT_DISCONNECTED:
            return "DISCONNECTED";
        case DAT_CONNECTION_EVENT_BROKEN:
            return "BROKEN";
        case DAT_CONNECTION_EVENT_TIMED_OUT:
            return "TIMED_OUT";
        case DAT_CONNECTION_EVENT_UNREACHABLE:
            return "UNREACHABLE";
        case DAT_ASYNC_ERROR_EVD_OVERFLOW:
            return "ASYNC_EVD_OVERFLOW";
        case DAT_ASYNC_ERROR_EP_BROKEN:
            return "ASYNC_EP_BROKEN";
        case DAT_SOFTWARE_EVENT:
            return "SOFTWARE";
        case DAT_IB_EXTENSION_RANGE_BASE:
            return "IB_DTO";
        default:
            return "event-" + std::to_string(number);
    }
}

}  // namespace test
