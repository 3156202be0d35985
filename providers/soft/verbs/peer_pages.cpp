// SPDX-License-Identifier: BSD-2-Clause
#include "providers/soft/verbs/peer_pages.hpp"

#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <new>

#include "providers/soft/verbs/shared_files.hpp"

namespace softverbs {
namespace {

std::atomic<std::uint8_t*>* make_table(std::size_t count) {
    void* memory = std::calloc(count, sizeof(std::atomic<std::uint8_t*>));
    if (!memory) throw std::bad_alloc();
    return static_cast<std::atomic<std::uint8_t*>*>(memory);
}

}  // namespace

PeerPages::PeerPages(std::shared_ptr<Peer> peer, ArenaView arena, bool unsealed)
    : peer_(std::move(peer)), arena_(arena), unsealed_(unsealed), chunks_(make_table(kChunks)) {}

PeerPages::~PeerPages() {
    for (std::uint64_t i = 0; i < kChunks; ++i) {
        if (std::uint8_t* chunk = chunks_[i].load()) munmap(chunk, kChunkSize);
    }
    std::free(chunks_);
    for (const auto& file : files_) {
        if (file->base) munmap(file->base, file->end - file->begin);
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

std::uint8_t* PeerPages::map(const SharedPart& part, std::uint64_t address, std::uint64_t length,
                             std::uint64_t& piece) {
    if (address < part.begin || address >= part.end) return nullptr;
    piece = std::min(length, part.end - address);
    if (part.file_key != 0) {
        const FileMapping* file = map_file(part.file_key);
        if (!file || !file->base || address < file->begin || address >= file->end) return nullptr;
        piece = std::min(piece, file->end - address);
        return file->base + (address - file->begin);
    }
    if (address >= kPageFileSize) return nullptr;
    piece = std::min(piece, kChunkSize - (address & (kChunkSize - 1)));
    std::uint8_t* chunk = map_chunk(address >> kChunkShift);
    return chunk ? chunk + (address & (kChunkSize - 1)) : nullptr;
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
    chunks_[index].store(static_cast<std::uint8_t*>(chunk), std::memory_order_release);
    return static_cast<std::uint8_t*>(chunk);
}

/// Regions on the same bytes of the same file have one mapping, however often they come and go.
PeerPages::FileMapping* PeerPages::map_file(std::uint32_t key) {
    auto& recent = recent_[(key >> kKeyIndexShift) % kFileSlots];
    FileMapping* known = recent.load(std::memory_order_acquire);
    if (known && known->key.load(std::memory_order_relaxed) == key) return known;
    const MrEntry& entry = arena_.mr(key);
    const int number = entry.file;
    auto made = std::make_unique<FileMapping>();
    made->begin = entry.shared_begin;
    made->end = entry.shared_end;
    made->device = entry.file_device;
    made->inode = entry.file_inode;
    made->offset = entry.file_offset;
    if (made->begin >= made->end || (made->begin | made->end | made->offset) % kPage != 0)
        return nullptr;
    support::MutexLock lock(mutex_);
    const auto same = std::find_if(files_.begin(), files_.end(),
                                   [&](const auto& file) { return file->is_same(*made); });
    FileMapping* found = same != files_.end() ? same->get() : nullptr;
    if (!found) {
        if (files_.size() >= kMaxFileMappings) return nullptr;
        made->base = map_descriptor(*made, number);
        files_.push_back(std::move(made));
        found = files_.back().get();
    }
    found->key.store(key, std::memory_order_relaxed);
    recent.store(found, std::memory_order_release);
    return found;
}

/// The very descriptor that the owner has, so no path is opened that the peer could have chosen.
std::uint8_t* PeerPages::map_descriptor(const FileMapping& wanted, int number) const {
    if (peer_->pidfd() < 0) return nullptr;
    const UniqueFd fd(static_cast<int>(syscall(SYS_pidfd_getfd, peer_->pidfd(), number, 0)));
    struct stat status = {};
    if (!fd.valid() || fstat(fd.get(), &status) != 0 || !S_ISREG(status.st_mode)) return nullptr;
    if (status.st_dev != wanted.device || status.st_ino != wanted.inode) return nullptr;
    const std::uint64_t length = wanted.end - wanted.begin;
    const std::uint64_t size =
        (static_cast<std::uint64_t>(status.st_size) + kPage - 1) & ~(kPage - 1);
    if (wanted.offset > size || length > size - wanted.offset) return nullptr;
    if (!is_safe_to_map(fd.get()) && !unsealed_) return nullptr;
    void* base = mmap(nullptr, length, PROT_READ | PROT_WRITE, MAP_SHARED, fd.get(),
                      static_cast<off_t>(wanted.offset));
    if (base == MAP_FAILED) return nullptr;
    madvise(base, length, MADV_DONTFORK);
    return static_cast<std::uint8_t*>(base);
}

}  // namespace softverbs
