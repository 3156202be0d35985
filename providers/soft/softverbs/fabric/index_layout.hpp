// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The layout of the index file, and its lock. Included by the index's own sources only.
#pragma once

#include <array>
#include <cstddef>
#include <cstring>

#include "providers/soft/softverbs/fabric/index.hpp"

namespace softverbs {

inline constexpr std::uint64_t kIndexMagic = 0x7862'6166'7466'6f73;
inline constexpr std::uint32_t kSlots = 32768;
inline constexpr std::uint32_t kBlocks = 65536;  ///< block 0 is never handed out
inline constexpr std::uint32_t kPorts = 65536;
inline constexpr std::uint32_t kFirstFreePort = 32768;
inline constexpr std::uint32_t kBindersPerPort = 4;

struct Index::Header {
    std::uint64_t magic;
    std::uint32_t version;
    std::uint32_t slots_used;  ///< slots from here on have never been taken
    std::uint64_t hash;
    std::uint32_t fresh_block;  ///< blocks from here on have never been taken
    std::uint32_t queue_head;   ///< number of blocks taken from the queue of freed blocks so far
    std::uint32_t queue_tail;   ///< number of blocks put into that queue so far
    std::uint32_t next_port;
    std::uint32_t attachments_used;  ///< records from here on have never been used
    LinkLayer link;                  ///< of all members; changed while there are none
    std::uint64_t group_changes;     ///< number of changes of any multicast group so far

    bool is_sane() const {
        return slots_used <= kSlots && fresh_block >= 1 && fresh_block <= kBlocks &&
               queue_tail - queue_head <= kBlocks && next_port >= kFirstFreePort &&
               next_port < kPorts && attachments_used <= kMaxAttachments;
    }
};

struct Index::MemberRecord {
    MemberId id;  ///< 0: unused
    std::uint64_t reserved;
    in6_addr address;
};

struct Index::PortRecord {
    MemberId member;  ///< 0: unused; a record whose member no longer lives counts as unused
    std::uint32_t slot;
    std::uint32_t port_space;
    in6_addr address;
    std::uint32_t listening;
    std::uint16_t shared;
    std::uint16_t one_family;
    std::uint32_t destination;  ///< PortKey::destination
    std::uint32_t reserved;
};

/// A queue pair in a multicast group. Its process is the owner of the number's block.
struct Index::AttachmentRecord {
    in6_addr mgid;
    std::uint32_t qp_num;  ///< 0: unused
    std::uint16_t mlid;
    std::uint16_t reserved;

    bool is_in(const MulticastGroup& group) const {
        return qp_num != 0 && mlid == group.mlid &&
               std::memcmp(&mgid, &group.mgid, sizeof mgid) == 0;
    }
};

/// The records that list the members and the owners of QP numbers.
struct Index::Records {
    Header header = {};
    std::vector<MemberRecord> members = {};
    std::vector<std::uint32_t> owners = {};  ///< by block: slot + 1
};

// All offsets are fixed; what was never written reads as zeros.
inline constexpr off_t kDeviceStatesAt = 2048;
inline constexpr off_t kLinkLossesAt = kDeviceStatesAt + off_t{sizeof(std::uint64_t)};
inline constexpr off_t kMembersAt = 4096;
inline constexpr off_t kRuleChangesAt = kLinkLossesAt + off_t{sizeof(LinkLosses)};
static_assert(kRuleChangesAt + off_t{sizeof(std::uint64_t)} <= kMembersAt);
inline constexpr off_t kBlocksAt = kMembersAt + off_t{kSlots} * 32;
inline constexpr off_t kQueueAt = kBlocksAt + off_t{kBlocks} * sizeof(std::uint32_t);
inline constexpr off_t kPortsAt = kQueueAt + off_t{kBlocks} * sizeof(std::uint16_t);
// Lock bytes lie far behind the end of the file.
inline constexpr off_t kIndexLockAt = off_t{1} << 40;
inline constexpr off_t kSlotLocksAt = off_t{1} << 41;

inline constexpr off_t member_at(std::uint32_t slot) {
    return kMembersAt + off_t{slot} * 32;
}
inline constexpr off_t block_at(std::uint32_t block) {
    return kBlocksAt + off_t{block} * off_t{sizeof(std::uint32_t)};
}
inline constexpr off_t queue_at(std::uint32_t count) {
    return kQueueAt + off_t{count % kBlocks} * off_t{sizeof(std::uint16_t)};
}

struct Index::PortRow {
    std::array<PortRecord, kBindersPerPort> records = {};

    static off_t at(std::uint16_t port) { return kPortsAt + off_t{port} * off_t{sizeof(PortRow)}; }
    off_t record_at(std::uint16_t port, const PortRecord& record) const {
        return at(port) + (&record - records.data()) * off_t{sizeof record};
    }
};

inline constexpr off_t kAttachmentsAt = kPortsAt + off_t{kPorts} * kBindersPerPort * 48;
inline constexpr off_t attachment_at(std::size_t record) {
    return kAttachmentsAt + static_cast<off_t>(record) * 24;
}

/// Holds the index's lock, and writes under it. error() keeps a failed write.
class Index::Transaction {
  public:
    /// Waits for other threads and processes; reports a process that holds the lock too long.
    explicit Transaction(Index& index);
    /// For the exit of the process, when any thread may be in a transaction: waits until `deadline`
    /// and reports nothing.
    Transaction(Index& index, Deadline deadline);
    ~Transaction();
    Transaction(const Transaction&) = delete;
    Transaction& operator=(const Transaction&) = delete;

    /// 0, or the errno with which taking the lock or a write failed.
    int error() const { return error_; }

    template <class T>
    void write(off_t offset, const T& value) {
        if (const int error = index_.write_bytes(&value, sizeof value, offset)) error_ = error;
    }

  private:
    int lock_file(Deadline deadline);

    Index& index_;
    CancellationDisabled cancellation_disabled_;
    bool is_locked_ = true;  ///< whether Index::mutex_ is held
    int error_ = 0;
};

/// A short read gives zeros, which mean unused.
template <class T>
T Index::read(off_t offset) const {
    T value = {};
    read_bytes(&value, sizeof value, offset);
    return value;
}
template <class T>
std::vector<T> Index::read_many(off_t offset, std::size_t count) const {
    std::vector<T> values(count);
    read_bytes(values.data(), count * sizeof(T), offset);
    return values;
}

}  // namespace softverbs
