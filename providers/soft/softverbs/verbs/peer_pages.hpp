// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Path S as a requester sees it: the pages of one peer that are mapped here. The peer says in its
/// table which bytes of a region are on shared pages (MrEntry::shared_begin, shared_end); this
/// answers where they are in our address space. Our own pages are mapped once more in the same way:
/// what the program unmaps or protects of its own mapping does not concern that one.
///
/// What the peer says is not trusted: a wrong range finds other pages of the same peer, or none.
/// Nothing is unmapped before the last queue pair connected to the peer is gone, so a pointer that
/// was found stays good.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>

#include "providers/soft/softverbs/fabric/peer.hpp"
#include "providers/soft/softverbs/verbs/arena.hpp"
#include "providers/soft/softverbs/verbs/own_pages.hpp"
#include "providers/soft/softverbs/verbs/page_file.hpp"
#include "providers/soft/softverbs/verbs/shared_part.hpp"
#include "support/thread/mutex.hpp"

namespace softverbs {

class PeerPages {
  public:
    /// @param arena the peer's, which stays mapped as long as `peer` is held.
    PeerPages(std::shared_ptr<Peer> peer, ArenaView arena);
    ~PeerPages();
    PeerPages(const PeerPages&) = delete;
    PeerPages& operator=(const PeerPages&) = delete;

    /// For the data path: no lock, no system call.
    /// @return `length` bytes that the peer has at `address`; nullptr unless all of them are on one
    /// stretch of shared pages that has been mapped here.
    std::uint8_t* find(const SharedPart& part, std::uint64_t address, std::uint64_t length) const {
        if (!part.holds(address, length)) return nullptr;
        if (part.file_key != 0) return find_in_file(part.file_key, address, length);
        const std::uint64_t last = address + length - (length != 0);
        if (last >= kPageFileSize || address >> kChunkShift != last >> kChunkShift) return nullptr;
        std::uint8_t* chunk = chunks_[address >> kChunkShift].load(std::memory_order_acquire);
        return chunk ? chunk + (address & (kChunkSize - 1)) : nullptr;
    }

    /// The same; maps what is not mapped yet.
    std::uint8_t* map(const SharedPart& part, std::uint64_t address, std::uint64_t length)
        EXCLUDES(mutex_);

  private:
    static constexpr std::uint64_t kChunkShift = 30;
    static constexpr std::uint64_t kChunkSize = std::uint64_t{1} << kChunkShift;
    static constexpr std::uint64_t kChunks = kPageFileSize >> kChunkShift;

    /// Bytes of a file that the peer's application shares, mapped, or a failure to map them.
    struct FileMapping {
        std::atomic<std::uint32_t> key;  ///< of the region through which they were last asked for
        std::uint64_t begin;             ///< addresses of the owner's
        std::uint64_t end;
        std::uint8_t* base;  ///< of `begin`; nullptr: it was tried in vain
        std::uint64_t device, inode, offset;

        bool is_same(const FileMapping& other) const {
            return begin == other.begin && end == other.end && device == other.device &&
                   inode == other.inode && offset == other.offset;
        }
    };
    static constexpr std::uint32_t kFileSlots = 64;
    /// More than that many mappings are not made: a peer must not eat our address space.
    static constexpr std::size_t kMaxFileMappings = 1024;

    std::uint8_t* find_in_file(std::uint32_t key, std::uint64_t address,
                               std::uint64_t length) const;
    std::uint8_t* map_chunk(std::uint64_t index) EXCLUDES(mutex_);
    FileMapping* map_file(std::uint32_t key) EXCLUDES(mutex_);
    UniqueFd descriptor_of_peer(int number) const;
    std::uint8_t* map_descriptor(const FileMapping& wanted, int number) const;

    const std::shared_ptr<Peer> peer_;
    const ArenaView arena_;
    LargeTable<std::atomic<std::uint8_t*>> chunks_{kChunks};
    /// By place in the peer's table, the newest of each.
    std::array<std::atomic<FileMapping*>, kFileSlots> recent_{};
    support::Mutex mutex_;
    /// In the order in which they were made, and behind them a place for the one that is wanted.
    LargeTable<FileMapping> files_{kMaxFileMappings + 1};
    std::size_t file_count_ GUARDED_BY(mutex_) = 0;
};

}  // namespace softverbs
