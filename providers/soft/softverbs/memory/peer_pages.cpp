// SPDX-License-Identifier: BSD-2-Clause
#include "providers/soft/softverbs/memory/peer_pages.hpp"

#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include <cerrno>

#include "providers/soft/softverbs/memory/shared_files.hpp"

namespace softverbs {

PeerPages::PeerPages(std::shared_ptr<Peer> peer, ArenaView arena)
    : peer_(std::move(peer)), arena_(arena) {}

PeerPages::~PeerPages() {
    for (std::uint64_t i = 0; i < chunk_count_; ++i) munmap(chunks_[mapped_[i]], kChunkSize);
    for (std::size_t i = 0; i < file_count_; ++i) {
        if (files_[i].base) munmap(files_[i].base, files_[i].end - files_[i].begin);
    }
}

std::uint8_t* PeerPages::find_in_file(std::uint32_t key, std::uint64_t address,
                                      std::uint64_t length) const {
    const FileMapping* file =
        recent_[(key >> kKeyIndexShift) % kFileSlots].load(std::memory_order_acquire);
    if (!file || file->key.load(std::memory_order_relaxed) != key || !file->base) return nullptr;
    if (address < file->begin || address > file->end || length > file->end - address)
        return nullptr;
    return file->base + (address - file->begin);
}

std::uint8_t* PeerPages::map(const SharedPart& part, std::uint64_t address, std::uint64_t length) {
    if (length == 0 || !part.holds(address, length)) return nullptr;
    if (part.file_key != 0)
        return map_file(part.file_key) ? find_in_file(part.file_key, address, length) : nullptr;
    const std::uint64_t last = address + length - 1;
    if (last >= kPageFileSize || address >> kChunkShift != last >> kChunkShift) return nullptr;
    return map_chunk(address >> kChunkShift) ? find(part, address, length) : nullptr;
}

std::uint8_t* PeerPages::map_chunk(std::uint64_t index) {
    if (std::uint8_t* chunk = chunks_[index].load(std::memory_order_acquire)) return chunk;
    if (peer_->pages_fd() < 0 || peer_->pages_size() != kPageFileSize) return nullptr;
    support::MutexLock lock(mutex_);
    if (std::uint8_t* chunk = chunks_[index].load(std::memory_order_acquire)) return chunk;
    void* chunk = mmap(nullptr, kChunkSize, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE,
                       peer_->pages_fd(), static_cast<off_t>(index << kChunkShift));
    if (chunk == MAP_FAILED) return nullptr;
    madvise(chunk, kChunkSize, MADV_DONTFORK);
    madvise(chunk, kChunkSize, MADV_DONTDUMP);
    mapped_[chunk_count_++] = static_cast<std::uint32_t>(index);
    chunks_[index].store(static_cast<std::uint8_t*>(chunk), std::memory_order_release);
    return static_cast<std::uint8_t*>(chunk);
}

/// Regions on the same bytes of the same file share one mapping, however often they are registered.
PeerPages::FileMapping* PeerPages::map_file(std::uint32_t key) {
    auto& recent = recent_[(key >> kKeyIndexShift) % kFileSlots];
    FileMapping* known = recent.load(std::memory_order_acquire);
    if (known && known->key.load(std::memory_order_relaxed) == key) return known;
    const MrEntry& entry = arena_.mr(key);
    const int number = entry.file;
    support::MutexLock lock(mutex_);
    FileMapping& wanted = files_[file_count_];
    wanted.begin = entry.shared_begin;
    wanted.end = entry.shared_end;
    wanted.device = entry.file_device;
    wanted.inode = entry.file_inode;
    wanted.offset = entry.file_offset;
    if (wanted.begin >= wanted.end || (wanted.begin | wanted.end | wanted.offset) % kPage != 0)
        return nullptr;
    FileMapping* found = &files_[0];
    while (!found->is_same(wanted)) ++found;
    if (found == &wanted) {
        if (file_count_ == kMaxFileMappings) return nullptr;
        wanted.base = map_descriptor(wanted, number);
        ++file_count_;
    }
    found->key.store(key, std::memory_order_relaxed);
    recent.store(found, std::memory_order_release);
    return found;
}

UniqueFd PeerPages::descriptor_of_peer(int number) const {
    if (peer_->is_self()) return UniqueFd::duplicate(number);
    if (peer_->pidfd() < 0) return {};
    return UniqueFd(static_cast<int>(syscall(SYS_pidfd_getfd, peer_->pidfd(), number, 0)));
}

/// Maps a duplicate of the owner's own descriptor, so that no path is opened that the peer could
/// have chosen.
/// @return nullptr when it cannot be mapped, or not safely.
std::uint8_t* PeerPages::map_descriptor(const FileMapping& wanted, int number) const {
    const UniqueFd fd = descriptor_of_peer(number);
    struct stat status = {};
    if (!fd.valid() || fstat(fd.get(), &status) != 0 || !S_ISREG(status.st_mode)) return nullptr;
    if (status.st_dev != wanted.device || status.st_ino != wanted.inode) return nullptr;
    const std::uint64_t length = wanted.end - wanted.begin;
    const std::uint64_t size =
        (static_cast<std::uint64_t>(status.st_size) + kPage - 1) & ~(kPage - 1);
    if (wanted.offset > size || length > size - wanted.offset) return nullptr;
    if (!is_safe_to_map(fd.get())) return nullptr;
    void* base = mmap(nullptr, length, PROT_READ | PROT_WRITE, MAP_SHARED, fd.get(),
                      static_cast<off_t>(wanted.offset));
    if (base == MAP_FAILED) return nullptr;
    madvise(base, length, MADV_DONTFORK);
    madvise(base, length, MADV_DONTDUMP);
    return static_cast<std::uint8_t*>(base);
}

}  // namespace softverbs
