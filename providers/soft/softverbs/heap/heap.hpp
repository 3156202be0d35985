// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The shared heap: a range of addresses whose pages are those of the process's page file, each at
/// its own offset. The range is reserved as a whole when the process starts, so that a range check
/// decides what belongs to it.
#pragma once

#include <pthread.h>
#include <signal.h>

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "providers/soft/softverbs/heap/areas.hpp"

namespace softverbs::heap {

/// Smaller ordinary mappings are left to the kernel.
inline constexpr std::uint64_t kSmallestMapping = 64 << 10;

class Heap {
  public:
    static Heap& of_process();

    /// Called before any other constructor of the process runs. Without a page file or addresses
    /// there is no heap: it then contains nothing, and all memory is ordinary.
    void open();

    bool is_open() const { return size_ != 0; }
    bool contains(std::uint64_t address) const { return address - begin_ < size_; }
    bool contains(std::uint64_t address, std::uint64_t length) const {
        return contains(address) && length <= begin_ + size_ - address;
    }
    bool touches(std::uint64_t address, std::uint64_t length) const {
        return is_open() && address < begin_ + size_ && address + length > begin_;
    }

    // These do what the calls of the same names do with private memory. Addresses lie within the
    // heap; failures set errno.

    void* map(std::uint64_t length, int protection, int flags);
    void* map_fixed(std::uint64_t address, std::uint64_t length, int protection, int flags);
    /// Maps something else, which the application wants at these addresses.
    void* map_foreign(void* address, std::uint64_t length, int protection, int flags, int fd,
                      std::uint64_t offset);
    int unmap(std::uint64_t address, std::uint64_t length);
    int protect(std::uint64_t address, std::uint64_t length, int protection);
    int advise(std::uint64_t address, std::uint64_t length, int advice);
    void* remap(std::uint64_t address, std::uint64_t length, std::uint64_t new_length, int flags,
                void* target);
    /// @return the end of the data segment that brk() and sbrk() move; 0 when there is none.
    std::uint64_t program_break();
    int set_program_break(std::uint64_t address);

    // Calls of the verbs device (shared_heap.h).

    int descriptor() const { return fd_.load(std::memory_order_relaxed); }
    bool covers(std::uint64_t begin, std::uint64_t end);
    void released(std::uint64_t begin, std::uint64_t end);
    /// Moves the descriptor to another number, because the application wants this one.
    bool move_descriptor();

    // fork.cpp

    void before_fork();
    void after_fork_in_parent();
    void after_fork_in_child();

  private:
    static int make_file();
    bool reserve();
    void* map_pages(std::uint64_t address, std::uint64_t length, int protection, int flags);
    bool map_here(std::uint64_t address, std::uint64_t length, int protection, int flags);
    int give_back(std::uint64_t begin, std::uint64_t end);
    int protect_area(Area area, int protection);
    int note_advice(std::uint64_t begin, std::uint64_t end, int advice);
    void drop_pages(std::uint64_t begin, std::uint64_t end);
    std::uint64_t find_place(std::uint64_t length);
    void* move(std::uint64_t address, std::uint64_t length, std::uint64_t new_length, int flags,
               void* target);
    void copy_pages(const Area& from, std::uint8_t* to);
    bool make_own(const Area& area, int parents_file);
    bool read_pages(const Area& area, int parents_file);

    std::uint64_t begin_ = 0;
    std::uint64_t size_ = 0;
    std::uint64_t next_ = 0;   ///< where the search for a free place begins
    std::uint64_t fresh_ = 0;  ///< nothing was ever mapped from here on
    std::uint64_t break_begin_ = 0, break_ = 0, break_end_ = 0;
    std::atomic<int> fd_{-1};
    Areas areas_;
    pthread_mutex_t mutex_ = PTHREAD_MUTEX_INITIALIZER;
    int copied_[2] = {-1, -1};  ///< pipe through which a child reports that its copy is done
    sigset_t signals_ = {};     ///< signal mask of the forking thread
};

/// Whether the last fork of this thread gave no usable child, because the child found no memory for
/// its copy or ended before the copy was complete. Reading clears it.
bool child_was_lost();

}  // namespace softverbs::heap
