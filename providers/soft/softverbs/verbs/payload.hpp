// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The paths of a request's payload: chooses one, and moves single pieces.
#pragma once

#include "providers/soft/softverbs/memory/transfer.hpp"
#include "providers/soft/softverbs/verbs/atomics.hpp"
#include "providers/soft/softverbs/verbs/target.hpp"

namespace softverbs {

/// Payload moves in pieces of at most this many bytes. Before each piece the requester checks that
/// its target still permits the transfer.
inline constexpr std::uint64_t kPiece = 1 << 20;

enum class Path {
    kPlain,      ///< plain copies: memory at both ends is shared from birth, or was posted inline
    kProcessVm,  ///< process_vm, piece by piece; plain copies for pieces that permit them
    kAgent,      ///< copies by the service thread of the peer
};

/// Fills in LocalRange::here of the local ranges, and maps pages where needed.
/// @return whether plain copies reach all of them.
bool resolve_local(PeerPages& own, Plan& plan);

/// Chooses the path of a transfer. For kPlain, LocalRange::here and RemoteRange::here of all ranges
/// are filled in.
Path choose_path(PeerPages& own, const Target& target, Plan& plan);
/// Chooses the path of an atomic operation, so that all requesters reach a word by the same path,
/// or by paths that exclude each other. For kPlain, RemoteRange::here is filled in.
Path choose_atomic_path(const Target& target, Plan& plan);

/// Moves one piece; a write places its last bytes last. Not for kAgent. @return 0 or an errno.
int write_piece(PeerPages& own, const Target& target, Plan& piece);
int read_piece(PeerPages& own, const Target& target, Plan& piece);

}  // namespace softverbs
