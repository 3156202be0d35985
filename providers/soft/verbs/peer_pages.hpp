// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Path S as a requester sees it: the pages of one peer that are mapped here. The peer says in its
/// table which bytes of a region are on shared pages (MrEntry::shared_begin, shared_end); this
/// answers where they are in our address space.
///
/// What the peer says is not trusted: a wrong range finds other pages of the same peer, or none.
/// Nothing is unmapped before the last queue pair connected to the peer is gone, so a pointer that
/// was found stays good.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "dapl/support/mutex.hpp"
#include "providers/soft/fabric/peer.hpp"
#include "providers/soft/verbs/arena.hpp"
#include "providers/soft/verbs/page_file.hpp"
#include "providers/soft/verbs/shared_part.hpp"

namespace softverbs {

class PeerPages {
  public:
    /// @param arena the peer's, which stays mapped as long as `peer` is held.
    /// @param unsealed SOFTVERBS_SHARED_PAGES=always: also what the peer could cut short.
    PeerPages(std::shared_ptr<Peer> peer, ArenaView arena, bool unsealed);
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

    /// The same for the bytes of [address, address + length) that come first; maps what is not
    /// mapped yet.
    /// @param piece gets how many bytes they are, at least 1 of `length`.
    /// @return nullptr when they are not on shared pages, or cannot be mapped.
    std::uint8_t* map(const SharedPart& part, std::uint64_t address, std::uint64_t length,
                      std::uint64_t& piece) EXCLUDES(mutex_);

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
    std::uint8_t* map_descriptor(const FileMapping& wanted, int number) const;

    const std::shared_ptr<Peer> peer_;
    const ArenaView arena_;
    const bool unsealed_;
    std::atomic<std::uint8_t*>* const
        chunks_;  ///< [kChunks], untouched pages of which cost nothing
    /// By place in the peer's table, the newest of each.
    std::array<std::atomic<FileMapping*>, kFileSlots> recent_{};
    support::Mutex mutex_;
    std::vector<std::unique_ptr<FileMapping>> files_ GUARDED_BY(mutex_);
};

}  // namespace softverbs
