// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Decides which event streams may share an EVD.
#pragma once

#include <cstdint>

#include "dapl/base/dat.hpp"

namespace dapl {

/// The event streams, in the order of DAT_PROVIDER_ATTR::evd_stream_merging_supported.
inline constexpr std::uint32_t kStreams[6] = {DAT_EVD_SOFTWARE_FLAG, DAT_EVD_CR_FLAG,
                                              DAT_EVD_DTO_FLAG,      DAT_EVD_CONNECTION_FLAG,
                                              DAT_EVD_RMR_BIND_FLAG, DAT_EVD_ASYNC_FLAG};
/// Whether two of kStreams may share an EVD. The async stream merges with nothing, itself included:
/// only dat_ia_open makes an async EVD.
inline constexpr bool kMerges[6][6] = {
    {true, true, true, true, true, false},  {true, true, true, true, true, false},
    {true, true, true, false, true, false}, {true, true, false, true, true, false},
    {true, true, true, true, true, false},  {false, false, false, false, false, false},
};

constexpr bool streams_merge(std::uint32_t flags) {
    for (int a = 0; a < 6; ++a)
        for (int b = 0; b < 6; ++b)
            if (flags & kStreams[a] && flags & kStreams[b] && !kMerges[a][b]) return false;
    return true;
}

/// Whether an EVD with these flags is a completion queue.
constexpr bool wants_completions(std::uint32_t flags) {
    return (flags & ~(DAT_EVD_SOFTWARE_FLAG | DAT_EVD_CR_FLAG | DAT_EVD_CONNECTION_FLAG |
                      DAT_EVD_ASYNC_FLAG)) != 0;
}

}  // namespace dapl
