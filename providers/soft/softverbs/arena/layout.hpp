// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The layout of an arena: the memory through which the processes of a fabric reach each other's
/// queues. Peers may write everything here at any time, so the owner keeps pointers and
/// work-request ids in private memory, and a reader copies a field once to a local variable and
/// checks it before use.
///
/// Words that a peer changes on behalf of one of the owner's queue pairs carry that queue pair's
/// number. A connected queue pair has one requester, and a datagram queue pair one at a time, so
/// when the requester dies the owner can find and undo its unfinished work without a list of
/// members.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "providers/soft/softverbs/region_extensions.hpp"

namespace softverbs {

inline constexpr std::uint64_t kArenaMagic = 0x414e455241565346;  // "FSVARENA"
/// The usual size. The file is sparse: pages are allocated in chunks as objects need them.
inline constexpr std::uint64_t kArenaSize = std::uint64_t{16} << 30;
/// The smallest size, for processes with a limit of address space.
inline constexpr std::uint64_t kSmallestArena = std::uint64_t{256} << 20;
constexpr bool is_arena_size(std::uint64_t bytes) {
    return bytes >= kSmallestArena && bytes <= kArenaSize && (bytes & (bytes - 1)) == 0;
}

inline constexpr std::uint32_t kQpsPerBlock = 256;
inline constexpr std::uint32_t kMaxQpBlocks = 256;
inline constexpr std::uint32_t kMaxQps = kQpsPerBlock * kMaxQpBlocks;
inline constexpr std::uint32_t kMaxCqs = 65536;
/// Minimum, so that the entries behind the claims begin at a cache line.
inline constexpr std::uint32_t kMinCqEntries = 16;
inline constexpr std::uint32_t kMaxCqEntries = 4194304;
inline constexpr std::uint32_t kMaxSrqs = 65536;
inline constexpr std::uint32_t kMaxMrs = 1 << 20;  ///< regions and windows together
/// A memory key: index in the table of regions and windows << 12 | generation. A window's consumer
/// chooses the last 8 bits of its key; the 4 bits before them are never 0, so no key is 0.
inline constexpr std::uint32_t kKeyIndexShift = 12;

/// A send of up to this many bytes travels in its completion, so that its receiver touches a single
/// cache line that another process has written.
inline constexpr std::uint32_t kEntryInlineBytes = 32;
/// The same in a queue with timestamps, which stand behind them.
inline constexpr std::uint32_t kStampedInlineBytes = kEntryInlineBytes - 8;
/// A longer send of up to this many bytes travels in the receive slot; poll_cq copies both kinds
/// out. With this size a slot of four segments takes 256 bytes; receives are most of the memory
/// that an idle connection needs.
inline constexpr std::uint32_t kSlotInlineBytes = 176;
inline constexpr std::uint32_t kMaxSge = 32;

/// Loads a word once, so that the value checked is the value used, whatever a peer writes there.
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

/// Whether a queue pair takes requests. kXrcReady is kReady of an XRC_RECV queue pair, whose
/// requests name a shared receive queue.
enum class Readiness : std::uint32_t {
    kNotReady,
    kReady,
    kFailed,
    kXrcReady,
    kExpectant,  ///< ready, and not sending yet: the first request is to be told (COMM_EST)
};

/// QpEntry::qp_type of an entry that stands for an XRC shared receive queue: its number is one of
/// the numbers of queue pairs, so that it is unique in the fabric.
inline constexpr std::uint16_t kXrcQueue = 0;
/// QpEntry::cq of an XRC queue pair, whose receives complete in the queues of the shared receive
/// queues.
inline constexpr std::uint32_t kNoCq = ~std::uint32_t{0};

/// Why a requester asks the owner of a queue pair to move it into the error state.
enum class Fault : std::uint32_t { kNone, kAccess, kInvalidRequest, kLocalError };

/// The transfer that a requester is carrying out, described in one word of its own arena: number of
/// the queue pair at the other end << 40 | count << 32 | which memory it may touch there. If the
/// number is 0, nothing is under way. The count changes with each piece, so that whoever waits for
/// one piece does not wait for the next.
struct TransferMark {
    /// No region, only rings and slots of the queues.
    static constexpr std::uint32_t kQueues = 0;
    /// Several regions: those of a receive's segments.
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
    std::uint32_t cq;   ///< index of the receive completion queue, or kNoCq
    std::uint32_t srq;  ///< index + 1; 0: receives are in the ring below
    /// Offset of ReceiveSlot[ring_size]. For a datagram queue pair with a shared receive queue:
    /// offset of std::uint64_t[kMaxSrqSections], the offsets of the places for messages of each
    /// section.
    std::uint64_t ring_offset;
    std::uint32_t ring_size;    ///< a power of two
    std::uint32_t slot_stride;  ///< bytes
    std::uint32_t max_sge;
    std::atomic<std::uint32_t> min_rnr_timer;
    std::uint16_t qp_type;            ///< ibv_qp_type, or kXrcQueue
    std::atomic<std::uint16_t> port;  ///< PortId::index() + 1, from INIT on; else 0
    std::atomic<std::uint32_t> qkey;
    // Written by the requester for each request. The owner reads this on the control path only.
    /// For datagram queue pairs, whose requesters take turns: number of the queue pair whose turn
    /// it is; 0: none.
    alignas(64) std::atomic<std::uint32_t> turn;
    std::atomic<std::uint32_t> consumed;     ///< number of receives consumed from the ring above
    std::atomic<std::uint32_t> established;  ///< 1: the first request came, and is to be told
    // Written by the owner for each of its own requests, and now and then by the requester.
    /// TransferMark of the request that the owner is carrying out at its peer. Nobody else writes
    /// it.
    alignas(64) std::atomic<std::uint64_t> transfer;
    /// Set by the requester: it waits for a receive, for readiness or for a region, and wants a
    /// kick.
    std::atomic<std::uint32_t> waiting;
    std::atomic<Fault> fault;  ///< set by the requester
    /// Address, in the owner's memory, of the word of the lock that it holds while it carries out a
    /// request (end_registration.cpp). Written by the owner, on the control path.
    std::uint64_t send_lock;
    /// Address at which the owner has mapped `transfer` of its requester; 0 while it is not
    /// connected. Written by the owner, on the control path.
    std::atomic<std::uint64_t> requester_word;
    /// The access that the requester was refused, written before `fault`. Only for the owner's
    /// message.
    struct {
        std::uint64_t address;
        std::uint64_t length;
        std::uint32_t key;
        std::uint32_t rights;
    } refused;
    /// Number of the XRC domain of an XRC_RECV queue pair or a kXrcQueue; else 0. Written by the
    /// owner, on the control path.
    std::uint32_t xrc_domain;
};
static_assert(sizeof(QpEntry) == 192);

/// One posted receive: this header, Segment[max_sge], and at the slot's end kSlotInlineBytes.
struct ReceiveSlot {
    /// Shared receive queues: position in the queue << 32 | number of the queue pair that took the
    /// receive, 0 while it is not taken; kSlotFreed once it is completed. Private ones: kSlotPosted
    /// | position, once the receive is posted.
    std::atomic<std::uint64_t> taker;
    std::uint32_t num_sge;
    std::uint32_t reserved;
};
static_assert(sizeof(ReceiveSlot) == 16);
inline constexpr std::uint64_t kSlotPosted = std::uint64_t{1} << 32;
/// Neither a receive at any position that nobody has taken, 0 being that at the first one, nor one
/// that a queue pair has: a requester that looked at the slot before must not find it unchanged.
inline constexpr std::uint64_t kSlotFreed = 0xff000000;

/// Orders the thread that posted before the one that delivers. What the post wrote comes back to
/// its process by way of the requester's, so within the process only this word orders the two.
inline void order_after_post(const ReceiveSlot& slot) {
    (void)slot.taker.load(std::memory_order_acquire);
}

/// A completion queue's ring holds completions of receives, written by requesters, and of flushed
/// receives. CqClaim[size] stands in front of CqEntry[size]: a producer claims a position in the
/// former, and touches the entry, which the consumer polls, only to fill it.
/// A claim: position (32 bits) << 32 | producer << 29 | QP number.
using CqClaim = std::atomic<std::uint64_t>;
/// State of an entry: position (32 bits) << 32 | phase << 30.
enum class Phase : std::uint32_t { kOld, kReady, kVoid };

struct alignas(64) CqEntry {
    std::atomic<std::uint64_t> state;
    std::uint32_t byte_len;
    std::uint32_t imm_data;
    std::uint32_t qp_num;    ///< of CompletionNames
    std::uint32_t src_qp;    ///< of CompletionNames
    std::uint32_t position;  ///< slot of the receive
    std::uint8_t status;
    std::uint8_t opcode;  ///< minus IBV_WC_RECV
    std::uint8_t wc_flags;
    std::uint8_t flags;  ///< CompletionFlag
    std::uint8_t payload[kEntryInlineBytes];
};
static_assert(sizeof(CqEntry) == 64);

/// The numbers of both queue pairs in the completion of a receive, 24 bits each. If an XRC shared
/// receive queue holds the receive, the 8 bits above each number are a half of its index + 1.
struct CompletionNames {
    std::uint32_t qp_num = 0;  ///< the owner's queue pair
    std::uint32_t src_qp = 0;

    static constexpr CompletionNames of(std::uint32_t qp_num, std::uint32_t src_qp,
                                        std::uint32_t srq) {
        return {qp_num | srq << 24, src_qp | srq >> 8 << 24};
    }
    static constexpr std::uint32_t number(std::uint32_t name) { return name & 0xffffff; }
    constexpr std::uint32_t srq() const { return qp_num >> 24 | src_qp >> 24 << 8; }
};

enum CompletionFlag : std::uint8_t {
    kInEntry = 1,  ///< byte_len bytes are in `payload`
    kInSlot = 2,   ///< byte_len bytes wait in the receive slot
    kSolicited = 4,
};

inline CompletionNames names_of(const CqEntry& entry) {
    return {read_once(entry.qp_num), read_once(entry.src_qp)};
}

/// Place and size of a ring in one word, so that its owner can replace the ring while producers are
/// at work: offset in the arena (a multiple of 64) | turn << 5 | binary logarithm of its size.
struct RingPlace {
    std::uint64_t offset = 0;
    std::uint32_t log2_size = 0;
    std::uint32_t turn = 0;  ///< alternates between 0 and 1 with each replacement

    static RingPlace decode(std::uint64_t word) {
        return {word & ~std::uint64_t{63}, static_cast<std::uint32_t>(word & 31),
                static_cast<std::uint32_t>(word >> 5 & 1)};
    }
    std::uint64_t encode() const { return offset | turn << 5 | log2_size; }
    std::uint32_t size() const { return std::uint32_t{1} << log2_size; }
};

struct alignas(64) CqHeader {
    std::atomic<std::uint32_t> live;  ///< 1 while in use, 0 while free
    std::uint32_t channel;            ///< id of the completion channel; 0: none
    std::atomic<std::uint64_t> ring;  ///< RingPlace of CqClaim[], CqEntry[]
    /// Address, as QpEntry::send_lock, of the lock under which the owner takes completions.
    std::uint64_t lock;
    std::uint32_t is_stamped;  ///< 1: its completions have timestamps
    /// Position up to which the consumer of each ring has polled. A producer may still be at work
    /// in the previous ring.
    alignas(64) std::atomic<std::uint64_t> heads[2];
    /// Producers of each ring begin here to search for a free position: those before it have been
    /// claimed, and perhaps some behind it.
    struct alignas(64) Tail {
        std::atomic<std::uint64_t> position;
    } tails[2];
    alignas(64) std::atomic<std::uint64_t> notify;  ///< Notify
    std::atomic<std::uint32_t> overrun;
    /// Events whose producer could not wake the channel: the owner's service thread does it.
    std::atomic<std::uint32_t> deferred_wakes;
    std::atomic<std::uint32_t> moderation;  ///< Moderation; read while the arming is kHeld
};
static_assert(sizeof(CqHeader) == 320);

/// The consumer's request for an event. kHeld is kAny of a queue with moderation.
enum class Arm : std::uint8_t { kNone, kAny, kSolicited, kHeld };

/// The state of the events of a completion queue in one word, so that one exchange disarms the
/// queue and counts the event, or counts a completion whose event is held: number of events << 24 |
/// completions held since the queue was armed (16 bits) << 8 | Arm.
struct Notify {
    static constexpr std::uint64_t kOneHeld = std::uint64_t{1} << 8;
    static constexpr std::uint64_t kOneEvent = std::uint64_t{1} << 24;
    static constexpr std::uint64_t kEventsMask = (std::uint64_t{1} << 40) - 1;

    static constexpr Arm arm(std::uint64_t word) { return static_cast<Arm>(word & 0xff); }
    static constexpr std::uint32_t held(std::uint64_t word) { return word >> 8 & 0xffff; }
    static constexpr std::uint64_t events(std::uint64_t word) { return word >> 24; }
    static constexpr std::uint64_t armed(std::uint64_t word, Arm arm) {
        return (word & ~(kOneEvent - 1)) | static_cast<std::uint64_t>(arm);
    }
    static constexpr std::uint64_t disarmed(std::uint64_t word) {
        return armed(word, Arm::kNone) + kOneEvent;
    }
};

/// The moderation of a completion queue, in one word: microseconds << 16 | completions. A limit of
/// 0 does not exist.
struct Moderation {
    std::uint16_t count = 0;
    std::uint16_t period = 0;  ///< us

    static constexpr Moderation decode(std::uint32_t word) {
        return {static_cast<std::uint16_t>(word), static_cast<std::uint16_t>(word >> 16)};
    }
    constexpr std::uint32_t encode() const { return std::uint32_t{period} << 16 | count; }
    /// Whether events are ever held.
    constexpr bool is_on() const { return count > 1 || (count == 0 && period != 0); }
};

/// The slots of a shared receive queue are in sections, so that the queue can grow without moving
/// any of them. The first section has the size with which the queue was created, each further one
/// is as large as all before it.
inline constexpr std::uint32_t kMaxSrqSections = 17;

struct alignas(64) SrqHeader {
    std::atomic<std::uint32_t> live;
    std::uint32_t pd;
    /// RingPlace of std::atomic<uint32_t>[]: slots in the order in which they were posted.
    std::atomic<std::uint64_t> order;
    std::uint32_t first_size;  ///< slots of the first section, a power of two
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
    kQueuePairsWindow,  ///< type 2: only the queue pair through which it was bound
};

/// Why the memory of a region is accessed on path S (shared pages, by plain copies) or on path P
/// (process_vm, or the agent). Shown by softverbs ls.
enum class PageReason : std::uint8_t {
    kOrdinary,  ///< path P: not shared from birth
    // Path S
    kProvided,  ///< allocated by softverbs_memory_alloc
    kHeap,      ///< in the shared heap, providers/soft/softverbs/heap
    kFile,      ///< shared by the application itself, under a seal
    // Path P
    kNotPrivate,    ///< mapped from a file or a device
    kNoSeal,        ///< a file that could be cut short
    kNoDescriptor,  ///< shared memory that cannot be opened again
    kMixed,  ///< some pages are on path S in other regions: atomic operations go through the agent
    kCount,
};

/// Whether a region is away: its key is then invalid, but stays its own (region_extensions.hpp).
enum class Absence : std::uint8_t {
    kNone,
    kAway,
    kWanted,  ///< away, and a peer waits for it
};

/// A memory region or a bound memory window. While `key` is not 0, and while a requester that has
/// seen it may still be at work, what the entry permits does not change. Besides the owner, the
/// queue pair's requester may unbind a window of type 2, by swapping the key for 0, and so may a
/// process that ends a registration, for a region and its windows.
struct alignas(64) MrEntry {
    std::atomic<std::uint32_t> key;  ///< 0 while free or unbound
    std::uint32_t pd;
    std::uint32_t access;
    std::atomic<std::uint32_t> last_key;  ///< last key given to the entry, valid or not
    std::uint64_t address;                ///< in the owner's address space
    std::uint64_t length;
    std::uint64_t iova;  ///< address of the first byte in requests and local segments
    KeyKind kind;
    std::uint32_t qp_num;         ///< kQueuePairsWindow: the queue pair through which it was bound
    std::uint32_t qp_generation;  ///< kQueuePairsWindow: QpEntry::generation at that time
    PageReason reason;
    std::atomic<Absence> absence;
    /// Not 0: requesters count in `uses` what they do with the region, also through its windows.
    std::atomic<std::uint8_t> counts_uses;
    /// Key of the region; for a window, of the region to which it is bound, or was last. Users of a
    /// window's old key have been waited for before this changes.
    std::atomic<std::uint32_t> region;
    /// Key of a region that another process has ended (end_registration.hpp). It is invalid for its
    /// owner too; cleared when a region gets the entry's next key.
    std::atomic<std::uint32_t> ended;
    /// The region's pages that are on path S, by address in the owner; empty if none are.
    alignas(64) std::uint64_t shared_begin;
    std::uint64_t shared_end;
    /// Counts what peers do, if the region is to. After the end of `last_key`, or of a window's
    /// binding, `last` is when it ended; only for messages.
    verbs::RegionUses uses;
    /// kFile: the owner's descriptor; the fields below say where in the file shared_begin is, and
    /// which file it is. Otherwise -1: the owner's page file.
    std::int32_t file;
    std::atomic<std::int32_t> ended_by;  ///< the process that ended the key; only for messages
    std::uint64_t file_offset;
    std::uint64_t file_device;
    std::uint64_t file_inode;
};
static_assert(sizeof(MrEntry) == 128);

struct ArenaHeader {
    std::uint64_t magic;
    std::uint64_t size;
    std::uint64_t nonce;  ///< random
    /// Address of `nonce` in the owner, to check whether process_vm reaches it.
    std::uint64_t nonce_address;
    /// Address in the owner's memory of a flag that is not 0 while its service thread copies for a
    /// requester; read like QpEntry::send_lock.
    std::uint64_t agent_copying;
    std::int32_t owner;  ///< process id in the owner's own name space
    /// Not 0: the owner has registered for membarrier's expedited command, and may issue it.
    std::uint32_t has_barrier;
    /// Address in the owner of a byte in a page of its own, which only the current image of the
    /// program has mapped: after execve() the process does not have it.
    std::uint64_t image_address;
    /// Not 0: the owner has closed the device, returned from main() or called exit(). If it ends
    /// now, nobody has killed it.
    std::atomic<std::uint32_t> has_left;
    /// Not 0: a peer waits for a region that is away (Absence::kWanted).
    std::atomic<std::uint32_t> regions_wanted;
    std::atomic<std::uint32_t> qp_blocks[kMaxQpBlocks];  ///< number of the block + 1
    /// Lock held while an atomic operation runs: number of a queue pair of the process that runs
    /// it; 0: free.
    alignas(64) std::atomic<std::uint32_t> atomic_lock;
    // Objects that the owner's service thread has to serve.
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
