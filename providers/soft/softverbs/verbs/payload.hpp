// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// By which path the payload of a request goes.
#pragma once

#include "providers/soft/softverbs/verbs/atomics.hpp"
#include "providers/soft/softverbs/verbs/target.hpp"
#include "providers/soft/softverbs/verbs/transfer.hpp"

namespace softverbs {

/// Payload moves in pieces of at most this many bytes. Before each the requester looks whether its
/// target still takes it.
inline constexpr std::uint64_t kPiece = 1 << 20;

enum class Path {
    kPlain,  ///< by plain copies: memory at both ends is shared from birth, or was posted inline
    kProcessVm,  ///< by the kernel, piece by piece; plain where a piece permits it
    kAgent,      ///< by the service thread of the peer
};

/// Finds where local ranges are reached by plain copies. Maps what has to be mapped.
/// @return whether all of them are.
bool resolve_local(PeerPages& own, Plan& plan);

/// The same for both ends. @param plan its LocalRange::here and RemoteRange::here are filled.
Path choose_path(PeerPages& own, const Target& target, Plan& plan);
/// For an atomic operation: all requesters reach one word by the same path, or by paths that
/// exclude each other. kPlain: RemoteRange::here is filled.
Path choose_atomic_path(const Target& target, Plan& plan);

/// Moves one piece, the last bytes last. Not for kAgent. @return 0 or an errno.
int write_piece(PeerPages& own, const Target& target, Plan& piece);
int read_piece(PeerPages& own, const Target& target, Plan& piece);

}  // namespace softverbs
