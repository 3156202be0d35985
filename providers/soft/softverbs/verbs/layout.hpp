// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// What stands in an arena, at fixed places: the memory through which the processes of a fabric
/// reach each other's queues. Everything here may be written by a peer at any time: the owner keeps
/// pointers and work-request ids in private memory, and a reader copies a field once to a local and
/// checks it before use.
///
/// Words that a peer changes on behalf of one of the owner's queue pairs carry that queue pair's
/// number. A connected queue pair has one requester, and a datagram queue pair one at a time, so
/// when the requester dies the owner can find and undo what it left half done, with no list of
/// members.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace softverbs {

inline constexpr std::uint64_t kArenaMagic = 0x364e455241565346;  // "FSVAREN6"
/// The usual size. Sparse; pages are allocated in chunks as objects need them.
inline constexpr std::uint64_t kArenaSize = std::uint64_t{16} << 30;
/// A process with a limit of address space has a smaller one, of at least this size.
inline constexpr std::uint64_t kSmallestArena = std::uint64_t{256} << 20;
constexpr bool is_arena_size(std::uint64_t bytes) {
    return bytes >= kSmallestArena && bytes <= kArenaSize && (bytes & (bytes - 1)) == 0;
}

inline constexpr std::uint32_t kQpsPerBlock = 256;
inline constexpr std::uint32_t kMaxQpBlocks = 256;
inline constexpr std::uint32_t kMaxQps = kQpsPerBlock * kMaxQpBlocks;
inline constexpr std::uint32_t kMaxCqs = 65536;
/// With fewer, the entries behind the claims would not begin at a cache line.
inline constexpr std::uint32_t kMinCqEntries = 16;
inline constexpr std::uint32_t kMaxCqEntries = 4194304;
inline constexpr std::uint32_t kMaxSrqs = 65536;
inline constexpr std::uint32_t kMaxMrs = 1 << 20;  ///< regions and windows together
/// A memory key: index in the table of regions and windows << 12 | generation. A window's consumer
/// chooses the last 8 bits of its key; the 4 before them are never 0, and so no key is.
inline constexpr std::uint32_t kKeyIndexShift = 12;

/// A send of up to this many bytes travels in its completion: its receiver then touches one cache
/// line that another process has written.
inline constexpr std::uint32_t kEntryInlineBytes = 32;
/// A longer one of up to this many bytes travels in the receive slot; poll_cq copies both out. A
/// slot of four segments then takes 256 bytes: receives are most of what an idle connection costs.
inline constexpr std::uint32_t kSlotInlineBytes = 176;
inline constexpr std::uint32_t kMaxSge = 32;

/// One load, so that what is checked is what is used, whatever a peer writes there meanwhile.
template <class T>
T read_once(const T& word) {
    return __atomic_load_n(&word, __ATOMIC_RELAXED);
}

/// Same layout as ibv_sge.
struct Segment {
    std::uint64_t address;
    std::uint32_t length;
    std::uint32_t key;
};
inline Segment read_once(const Segment& segment) {
    return {read_once(segment.address), read_once(segment.length), read_once(segment.key)};
}

enum class Readiness : std::uint32_t { kNotReady, kReady, kFailed };

/// Why a requester asks the owner of a queue pair to move it into the error state.
enum class Fault : std::uint32_t { kNone, kAccess, kInvalidRequest, kLocalError };

/// What a requester says in its own arena of the request that it carries out, in one word: the
/// queue pair at the other end << 40 | count << 32 | which memory it may touch there. 0 in the
/// upper part: nothing is under way. The count changes with each piece, so that whoever waits for
/// one piece does not wait for the next.
struct TransferMark {
    /// No region: rings and slots of the queues alone.
    static constexpr std::uint32_t kQueues = 0;
    /// Several regions, those of a receive.
    static constexpr std::uint32_t kReceives = ~std::uint32_t{0};

    static constexpr std::uint64_t encode(std::uint32_t qp_num, std::uint64_t count,
                                          std::uint32_t key) {
        return std::uint64_t{qp_num} << 40 | (count & 0xff) << 32 | key;
    }
    static constexpr std::uint32_t qp_num(std::uint64_t word) {
        return static_cast<std::uint32_t>(word >> 40);
    }
    static constexpr std::uint64_t count(std::uint64_t word) { return word >> 32 & 0xff; }
    static constexpr std::uint32_t key(std::uint64_t word) {
        return static_cast<std::uint32_t>(word);
    }
};

struct alignas(64) QpEntry {
    // Written by the owner, on the control path.
    std::atomic<std::uint32_t> qp_num;  ///< 0 while free
    std::atomic<std::uint32_t> generation;
    std::atomic<Readiness> readiness;
    std::atomic<std::uint32_t> dest_qp_num;
    std::uint32_t pd;
    std::atomic<std::uint32_t> access;
    std::uint32_t cq;   ///< index of the receive completion queue
    std::uint32_t srq;  ///< index + 1; 0: receives are in the ring below
    /// Of ReceiveSlot[ring_size]. With a shared receive queue, of a datagram queue pair: of
    /// std::uint64_t[kMaxSrqSections], where the places for messages are of each section.
    std::uint64_t ring_offset;
    std::uint32_t ring_size;    ///< a power of two
    std::uint32_t slot_stride;  ///< bytes
    std::uint32_t max_sge;
    std::atomic<std::uint32_t> min_rnr_timer;
    std::uint32_t qp_type;  ///< ibv_qp_type
    std::atomic<std::uint32_t> qkey;
    // Written by the requester for each request. The owner looks here on the control path only.
    /// Of a datagram queue pair, whose requesters take turns: the number of the one at work.
    alignas(64) std::atomic<std::uint32_t> turn;
    std::atomic<std::uint32_t> consumed;  ///< receives, those of the ring above
    // Written by the owner for each request of its own; by the requester now and then.
    /// TransferMark of the request that the owner is carrying out at its peer. Nobody else writes
    /// it.
    alignas(64) std::atomic<std::uint64_t> transfer;
    std::atomic<std::uint32_t> waiting;  ///< requester: for a receive or for readiness, kick it
    std::atomic<Fault> fault;            ///< requester
    /// Written by the owner, on the control path: where in its memory the word of the lock stands
    /// that it holds while it carries out a request (end_registration.cpp).
    std::uint64_t send_lock;
    /// The same: where it sees `transfer` of its requester. 0 while it is not connected.
    std::uint64_t requester_word;
    /// Written by the requester before `fault`: what it was refused. For the owner's message alone.
    struct {
        std::uint64_t address;
        std::uint64_t length;
        std::uint32_t key;
        std::uint32_t rights;
    } refused;
};
static_assert(sizeof(QpEntry) == 192);

/// One posted receive: this header, Segment[max_sge], and at the slot's end kSlotInlineBytes.
struct ReceiveSlot {
    /// Shared receive queues: position in the queue << 32 | number of the queue pair that took it,
    /// 0 while nobody has. Others: kSlotPosted | position, once the receive is there.
    std::atomic<std::uint64_t> taker;
    std::uint32_t num_sge;
    std::uint32_t reserved;
};
static_assert(sizeof(ReceiveSlot) == 16);
inline constexpr std::uint64_t kSlotPosted = std::uint64_t{1} << 32;

/// What a post wrote comes back to its process by way of the requester's: here it is this word that
/// orders the thread that posted before the one that delivers.
inline void order_after_post(const ReceiveSlot& slot) {
    (void)slot.taker.load(std::memory_order_acquire);
}

/// A completion queue's ring holds what other processes complete, and flushed receives. In front of
/// CqEntry[size] stands CqClaim[size]: a producer claims a position there, and touches the entry,
/// which the consumer polls, only to fill it.
/// Claim: position (32 bits) << 32 | producer << 29 | QP number.
using CqClaim = std::atomic<std::uint64_t>;
/// State of an entry: position (32 bits) << 32 | phase << 30.
enum class Phase : std::uint32_t { kOld, kReady, kVoid };

struct alignas(64) CqEntry {
    std::atomic<std::uint64_t> state;
    std::uint32_t byte_len;
    std::uint32_t imm_data;
    std::uint32_t qp_num;
    std::uint32_t src_qp;
    std::uint32_t position;  ///< slot of the receive
    std::uint8_t status;
    std::uint8_t opcode;  ///< less IBV_WC_RECV
    std::uint8_t wc_flags;
    std::uint8_t flags;  ///< CompletionFlag
    std::uint8_t payload[kEntryInlineBytes];
};
static_assert(sizeof(CqEntry) == 64);

enum CompletionFlag : std::uint8_t {
    kInEntry = 1,  ///< byte_len bytes are in `payload`
    kInSlot = 2,   ///< byte_len bytes wait in the receive slot
    kSolicited = 4,
};

/// Where a ring stands, in one word, so that its owner can replace it by another while producers
/// are at work: offset in the heap (a multiple of 64) | turn << 5 | binary logarithm of its size.
struct RingPlace {
    std::uint64_t offset = 0;
    std::uint32_t log2_size = 0;
    std::uint32_t turn = 0;  ///< changes between 0 and 1 with each replacement

    static RingPlace decode(std::uint64_t word) {
        return {word & ~std::uint64_t{63}, static_cast<std::uint32_t>(word & 31),
                static_cast<std::uint32_t>(word >> 5 & 1)};
    }
    std::uint64_t encode() const { return offset | turn << 5 | log2_size; }
    std::uint32_t size() const { return std::uint32_t{1} << log2_size; }
};

struct alignas(64) CqHeader {
    std::atomic<std::uint32_t> live;  ///< generation; 0 while free
    std::uint32_t channel;            ///< id of the completion channel; 0: none
    std::atomic<std::uint64_t> ring;  ///< RingPlace of CqClaim[], CqEntry[]
    std::uint64_t lock;  ///< as QpEntry::send_lock: held by the owner while it takes completions
    /// How far the consumer of each ring has come. A producer may still be at work in the ring
    /// before.
    alignas(64) std::atomic<std::uint64_t> heads[2];
    /// Where producers of each ring look first: every claim up to here, or nearly, has been taken.
    struct alignas(64) Tail {
        std::atomic<std::uint64_t> position;
    } tails[2];
    /// Arm mode in the low 8 bits (0, else Arm), completion events not yet fetched above.
    alignas(64) std::atomic<std::uint64_t> notify;
    std::atomic<std::uint32_t> overrun;
    /// Events whose producer had no descriptor to raise: the owner's service thread does it.
    std::atomic<std::uint32_t> deferred_wakes;
};
static_assert(sizeof(CqHeader) == 320);

enum class Arm : std::uint8_t { kNone, kAny, kSolicited };

/// The slots of a shared receive queue stand in sections, so that the queue can grow and none of
/// them moves: the first of the size that the queue was made with, each further one as large as all
/// before it.
inline constexpr std::uint32_t kMaxSrqSections = 17;

struct alignas(64) SrqHeader {
    std::atomic<std::uint32_t> live;
    std::uint32_t pd;
    std::atomic<std::uint64_t> order;  ///< RingPlace of std::atomic<uint32_t>[]: slots as posted
    std::uint32_t first_size;          ///< slots of the first section, a power of two
    std::uint32_t slot_stride;
    std::uint32_t max_sge;
    std::atomic<std::uint64_t> sections[kMaxSrqSections];  ///< offsets of ReceiveSlot[]
    alignas(64) std::atomic<std::uint32_t> posted;
    alignas(64) std::atomic<std::uint32_t> head;
    std::atomic<std::uint32_t> limit;    ///< 0: not armed
    std::atomic<std::uint32_t> waiting;  ///< a requester waits for a receive
};
static_assert(sizeof(SrqHeader) == 320);

enum class KeyKind : std::uint32_t {
    kRegion,
    kWindow,            ///< type 1: any queue pair of the protection domain
    kQueuePairsWindow,  ///< type 2: the one queue pair that it was bound through
};

/// Why the memory of a region is reached as it is: on path S (shared pages, by plain copies) or on
/// path P (process_vm, or the agent). softverbs ls shows it.
enum class PageReason : std::uint8_t {
    kOrdinary,  ///< P: not shared from birth
    // S
    kProvided,  ///< allocated by softverbs_memory_alloc
    kHeap,      ///< of the shared heap, providers/soft/softverbs/heap
    kFile,      ///< the application shares it already, under a seal
    // P
    kNotPrivate,    ///< a file's or a device's
    kNoSeal,        ///< a file that could be cut short
    kNoDescriptor,  ///< shared memory that cannot be opened again
    kMixed,         ///< some of its pages are on path S in other regions: atomics by the agent
    kCount,
};

/// A memory region or a bound memory window. Nothing but `key` changes while the key is not 0, nor
/// while a requester that has seen it may still be at work. A window of type 2 is also unbound by
/// its queue pair's requester, who swaps the key for 0; a region and its windows by who ends the
/// registration.
struct alignas(64) MrEntry {
    std::atomic<std::uint32_t> key;  ///< 0 while free or unbound
    std::uint32_t pd;
    std::uint32_t access;
    std::atomic<std::uint32_t> last_key;  ///< that the entry was given, valid or not
    std::uint64_t address;                ///< in the owner's address space
    std::uint64_t length;
    std::uint64_t iova;  ///< what remote addresses and local segments are relative to
    KeyKind kind;
    std::uint32_t qp_num;         ///< kQueuePairsWindow: through which it was bound,
    std::uint32_t qp_generation;  ///< and QpEntry::generation then
    PageReason reason;
    /// Key of the region: a window's is the one that it is bound to, or was last. Who comes by a
    /// window's old key has been waited for before this changes.
    std::atomic<std::uint32_t> region;
    /// Key of a region that another process has ended (end_registration.hpp): no longer its owner's
    /// either, who forgets it when he deregisters it.
    std::atomic<std::uint32_t> ended;
    /// The region's pages where they are on path S, else nothing.
    alignas(64) std::uint64_t shared_begin;
    std::uint64_t shared_end;
    /// kFile: the owner's descriptor, where in the file shared_begin is, and which file it is.
    /// Otherwise -1: the owner's page file.
    std::int32_t file;
    std::uint32_t reserved;
    std::uint64_t file_offset;
    std::uint64_t file_device;
    std::uint64_t file_inode;
    /// When `last_key`, or a window's binding, ended (CLOCK_MONOTONIC, ns), and by which process.
    /// For messages alone.
    std::atomic<std::uint64_t> ended_at;
    std::atomic<std::int32_t> ended_by;
};
static_assert(sizeof(MrEntry) == 128);

struct ArenaHeader {
    std::uint64_t magic;
    std::uint64_t size;
    std::uint64_t nonce;          ///< random
    std::uint64_t nonce_address;  ///< of `nonce` in the owner: shows whether process_vm reaches it
    /// As QpEntry::send_lock: not 0 while the owner's service thread copies for a requester.
    std::uint64_t agent_copying;
    std::int32_t owner;  ///< process id, as the owner itself knows it
    /// Not 0: the owner has registered for membarrier's expedited command, and may issue it.
    std::uint32_t has_barrier;
    /// Of a byte in the owner, in a page of its own, which nothing but this program's image has
    /// mapped: a process that has called execve() since does not have it.
    std::uint64_t image_address;
    /// Not 0: the owner's program has returned from main() or called exit().
    std::atomic<std::uint32_t> is_exiting;
    std::atomic<std::uint32_t> qp_blocks[kMaxQpBlocks];  ///< number of the block + 1
    /// Held while an atomic operation runs: number of a queue pair of the process that runs it.
    alignas(64) std::atomic<std::uint32_t> atomic_lock;
    // Objects that the owner's service thread shall look at.
    alignas(64) std::atomic<std::uint64_t> qp_kick_summary[kMaxQps / 64 / 64];
    std::atomic<std::uint64_t> qp_kicks[kMaxQps / 64];
    std::atomic<std::uint64_t> cq_kick_summary[kMaxCqs / 64 / 64];
    std::atomic<std::uint64_t> cq_kicks[kMaxCqs / 64];
    std::atomic<std::uint64_t> srq_kick_summary[kMaxSrqs / 64 / 64];
    std::atomic<std::uint64_t> srq_kicks[kMaxSrqs / 64];
};

/// Offsets of the tables.
inline constexpr std::uint64_t kQpTable = 1 << 20;
inline constexpr std::uint64_t kCqTable = kQpTable + std::uint64_t{kMaxQps} * sizeof(QpEntry);
inline constexpr std::uint64_t kSrqTable = kCqTable + std::uint64_t{kMaxCqs} * sizeof(CqHeader);
inline constexpr std::uint64_t kMrTable = kSrqTable + std::uint64_t{kMaxSrqs} * sizeof(SrqHeader);
inline constexpr std::uint64_t kHeap = kMrTable + std::uint64_t{kMaxMrs} * sizeof(MrEntry);
static_assert(sizeof(ArenaHeader) <= kQpTable && kHeap < kSmallestArena && kHeap % 4096 == 0);
static_assert(std::atomic<std::uint64_t>::is_always_lock_free);

/// Bytes from one slot to the next.
constexpr std::uint32_t slot_stride(std::uint32_t max_sge) {
    return (sizeof(ReceiveSlot) + max_sge * sizeof(Segment) + kSlotInlineBytes + 63) / 64 * 64;
}
inline Segment* slot_segments(ReceiveSlot* slot) {
    return reinterpret_cast<Segment*>(slot + 1);
}
inline std::uint8_t* slot_inline(ReceiveSlot* slot, std::uint32_t stride) {
    return reinterpret_cast<std::uint8_t*>(slot) + stride - kSlotInlineBytes;
}

}  // namespace softverbs
