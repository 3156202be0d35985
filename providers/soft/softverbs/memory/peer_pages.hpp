// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Path S as a requester sees it: the pages of one peer that are mapped here. The peer's table says
/// which bytes of a region are on shared pages (MrEntry::shared_begin, shared_end); PeerPages finds
/// them in our address space. Our own pages are mapped a second time in the same way, so what the
/// program unmaps or protects in its own mapping does not affect that one.
///
/// The peer's table is not trusted: a wrong range finds other pages of the same peer, or none.
/// Nothing is unmapped before the last queue pair connected to the peer is gone, so a pointer that
/// was found stays valid.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>

#include "providers/soft/softverbs/arena/arena.hpp"
#include "providers/soft/softverbs/arena/own_pages.hpp"
#include "providers/soft/softverbs/arena/shared_part.hpp"
#include "providers/soft/softverbs/fabric/peer.hpp"
#include "providers/soft/softverbs/memory/page_file.hpp"
#include "support/thread/mutex.hpp"

namespace softverbs {

class PeerPages {
  public:
    /// @param arena of the peer; it stays mapped as long as `peer` is held.
    PeerPages(std::shared_ptr<Peer> peer, ArenaView arena);
    ~PeerPages();
    PeerPages(const PeerPages&) = delete;
    PeerPages& operator=(const PeerPages&) = delete;

    /// Looks up a range on the data path: takes no lock and makes no system call.
    /// @return where the peer's `length` bytes at `address` are mapped here; nullptr unless all of
    /// them are in one stretch of shared pages that has been mapped.
    std::uint8_t* find(const SharedPart& part, std::uint64_t address, std::uint64_t length) const {
        if (!part.holds(address, length)) return nullptr;
        if (part.file_key != 0) return find_in_file(part.file_key, address, length);
        const std::uint64_t last = address + length - (length != 0);
        if (last >= kPageFileSize || address >> kChunkShift != last >> kChunkShift) return nullptr;
        std::uint8_t* chunk = chunks_[address >> kChunkShift].load(std::memory_order_acquire);
        return chunk ? chunk + (address & (kChunkSize - 1)) : nullptr;
    }

    /// Like find(), but maps what is not mapped yet.
    std::uint8_t* map(const SharedPart& part, std::uint64_t address, std::uint64_t length)
        EXCLUDES(mutex_);

  private:
    static constexpr std::uint64_t kChunkShift = 30;
    static constexpr std::uint64_t kChunkSize = std::uint64_t{1} << kChunkShift;
    static constexpr std::uint64_t kChunks = kPageFileSize >> kChunkShift;

    /// A mapping of a file that the peer's application shares, or a failed attempt to map it.
    struct FileMapping {
        std::atomic<std::uint32_t> key;  ///< of the region that last asked for the mapping
        std::uint64_t begin;             ///< address range in the owner
        std::uint64_t end;
        std::uint8_t* base;  ///< where `begin` is mapped here; nullptr: mapping failed
        std::uint64_t device, inode, offset;

        bool is_same(const FileMapping& other) const {
            return begin == other.begin && end == other.end && device == other.device &&
                   inode == other.inode && offset == other.offset;
        }
    };
    static constexpr std::uint32_t kFileSlots = 64;
    /// Limit on file mappings: a peer must not exhaust our address space.
    static constexpr std::size_t kMaxFileMappings = 1024;
    static constexpr std::size_t kTableBytes =
        kChunks * (sizeof(std::uint8_t*) + sizeof(std::uint32_t)) +
        (kMaxFileMappings + 1) * sizeof(FileMapping) + 4096;

    std::uint8_t* find_in_file(std::uint32_t key, std::uint64_t address,
                               std::uint64_t length) const;
    std::uint8_t* map_chunk(std::uint64_t index) EXCLUDES(mutex_);
    FileMapping* map_file(std::uint32_t key) EXCLUDES(mutex_);
    UniqueFd descriptor_of_peer(int number) const;
    std::uint8_t* map_descriptor(const FileMapping& wanted, int number) const;

    const std::shared_ptr<Peer> peer_;
    const ArenaView arena_;
    TablePages tables_{kTableBytes};
    LargeTable<std::atomic<std::uint8_t*>> chunks_{tables_, kChunks};
    LargeTable<std::uint32_t> mapped_{tables_, kChunks};  ///< indices of those that are mapped
    std::uint64_t chunk_count_ GUARDED_BY(mutex_) = 0;
    /// The last mapping used, by the key's index in the peer's table modulo kFileSlots.
    std::array<std::atomic<FileMapping*>, kFileSlots> recent_{};
    support::Mutex mutex_;
    /// In the order of creation; the element behind the last describes the mapping being looked
    /// for.
    LargeTable<FileMapping> files_{tables_, kMaxFileMappings + 1};
    std::size_t file_count_ GUARDED_BY(mutex_) = 0;
};

}  // namespace softverbs
