// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Transfers that are posted and not seen complete, and the memory that they use.
#pragma once

#include <cstdint>
#include <list>
#include <map>

#include "check/model/arena.hpp"
#include "check/model/regions.hpp"

namespace check {

/// Bytes at the beginning and at the end of a segment whose sum is compared.
inline constexpr std::size_t kSummedBytes = 1024;
/// Segments of a transfer that are followed; all are checked when they are posted.
inline constexpr int kMostPieces = 4;

/// A segment in flight.
struct Piece {
    std::uint64_t memory;  ///< address in this process
    std::uint64_t length;
    std::uint64_t key;
    std::uint64_t sum;
    bool is_summed;  ///< the program must not change it
    bool is_target;  ///< the transfer writes here
};

struct Transfer {
    const char* call = "";
    Place place = nullptr;
    std::uint64_t cookie = 0;
    bool is_suppressed = false;  ///< makes no completion if it succeeds
    /// The call that posted a transfer into an overlapping target, which has brought data since
    /// this one was posted.
    const char* overlapped_call = nullptr;
    Place overlapped_place = nullptr;
    Segment remote{};  ///< memory of the peer; of no length if it uses none
    int pieces_count = 0;
    Piece pieces[kMostPieces];
};
using TransferList = std::list<Transfer, Pooled<Transfer>>;

/// The targets of all transfers in flight, by address. Guarded by the model's lock.
class Targets {
  public:
    explicit Targets(Arena& arena) : targets_(Pooled<int>(arena)) {}
    void add(const TransferList& list, Transfer& transfer);
    void remove(const Transfer& transfer);
    /// Whether a target overlaps these bytes.
    bool overlaps(std::uint64_t memory, std::uint64_t length) const {
        return overlapping(memory, length, nullptr) != nullptr;
    }
    /// @return a transfer of the list whose target overlaps these bytes, or nullptr.
    Transfer* overlapping(std::uint64_t memory, std::uint64_t length,
                          const TransferList& list) const {
        return overlapping(memory, length, &list);
    }

  private:
    struct Target {
        std::uint64_t end;
        Transfer* transfer;
        const TransferList* list;
    };
    /// @param list nullptr: any.
    Transfer* overlapping(std::uint64_t memory, std::uint64_t length,
                          const TransferList* list) const;
    std::multimap<std::uint64_t, Target, std::less<>,
                  Pooled<std::pair<const std::uint64_t, Target>>>
        targets_;
};

/// The state of a connection as far as the endpoint's events have told it.
enum class Connection { kUnknown, kEstablished, kEnded };

/// An endpoint or a shared receive queue, to which transfers are posted.
struct Endpoint {
    explicit Endpoint(Arena& arena)
        : receives(Pooled<Transfer>(arena)), requests(Pooled<Transfer>(arena)) {}
    const void* zone = nullptr;
    const void* receive_queue = nullptr;  ///< where completions of receives go
    const void* request_queue = nullptr;  ///< nullptr for a shared receive queue
    const void* shared = nullptr;         ///< its shared receive queue
    std::uint64_t local_name = 0;         ///< of this end of its connection; 0: there was none
    std::uint64_t remote_name = 0;        ///< of the other end
    const void* peer = nullptr;           ///< the other end, if it is in this process
    std::uint64_t request_slots = 0;
    int most_receive_segments = 0;
    int most_request_segments = 0;
    std::uint64_t suppressed =
        0;                     ///< requests in flight since the last one that makes a completion
    bool may_be_full = false;  ///< with suppressed requests, as long as no more is posted
    bool signals_all = false;  ///< verbs: no request is suppressed
    bool is_followed = true;   ///< its completions say which transfer they are of
    bool knows_peer = false;   ///< local_name and remote_name were asked for
    bool is_over = false;      ///< its connection has ended: its transfers are flushed
    bool is_datagram = false;
    // The order in which iWARP permits both sides to begin.
    bool is_accepting = false;  ///< it has accepted its connection
    bool may_receive = false;   ///< its peer may send
    bool had_receive = false;   ///< a receive was posted
    bool has_received = false;
    // For the audit.
    bool has_unfollowed = false;  ///< events may come that are not of receives and requests
    bool end_is_told = false;     ///< and nothing was posted since
    Connection connection = Connection::kUnknown;
    TransferList receives;  ///< in the order of posting
    TransferList requests;
};

/// Sums the beginning and the end of a buffer, which may be unmapped.
/// @return false if it cannot be read.
bool sum_of(std::uint64_t memory, std::uint64_t length, std::uint64_t& sum);

}  // namespace check
