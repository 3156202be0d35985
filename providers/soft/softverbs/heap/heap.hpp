// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The shared heap: a range of addresses whose pages are those of the process's page file, each at
/// its own offset. The range is reserved as a whole when the process starts, so that two
/// comparisons tell what belongs to it.
#pragma once

#include <pthread.h>
#include <signal.h>

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "providers/soft/softverbs/heap/areas.hpp"

namespace softverbs::heap {

/// Ordinary mappings below this size are the kernel's.
inline constexpr std::uint64_t kSmallestMapping = 64 << 10;

class Heap {
  public:
    static Heap& of_process();

    /// Before any constructor of the process runs. Without a page file or addresses there is no
    /// heap: nothing is contained in it then, and all memory is ordinary.
    void open();

    bool is_open() const { return size_ != 0; }
    bool contains(std::uint64_t address) const { return address - begin_ < size_; }
    bool contains(std::uint64_t address, std::uint64_t length) const {
        return contains(address) && length <= begin_ + size_ - address;
    }
    bool touches(std::uint64_t address, std::uint64_t length) const {
        return is_open() && address < begin_ + size_ && address + length > begin_;
    }

    // What the calls of the same names do with private memory. Addresses lie within the heap, and
    // where they fail they set errno.

    void* map(std::uint64_t length, int protection, int flags);
    void* map_fixed(std::uint64_t address, std::uint64_t length, int protection, int flags);
    /// The application maps something else there.
    void* map_foreign(void* address, std::uint64_t length, int protection, int flags, int fd,
                      std::uint64_t offset);
    int unmap(std::uint64_t address, std::uint64_t length);
    int protect(std::uint64_t address, std::uint64_t length, int protection);
    int advise(std::uint64_t address, std::uint64_t length, int advice);
    void* remap(std::uint64_t address, std::uint64_t length, std::uint64_t new_length, int flags,
                void* target);
    /// The end of the data segment that brk() and sbrk() move. @return 0 when there is none.
    std::uint64_t program_break();
    int set_program_break(std::uint64_t address);

    // What the verbs device asks (shared_heap.h).

    int descriptor() const { return fd_.load(std::memory_order_relaxed); }
    bool covers(std::uint64_t begin, std::uint64_t end);
    void released(std::uint64_t begin, std::uint64_t end);
    /// Another number for the descriptor, because the application wants this one.
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
    std::uint64_t fresh_ = 0;  ///< from here on nothing was ever mapped
    std::uint64_t break_begin_ = 0, break_ = 0, break_end_ = 0;
    std::atomic<int> fd_{-1};
    Areas areas_;
    pthread_mutex_t mutex_ = PTHREAD_MUTEX_INITIALIZER;
    int copied_[2] = {-1, -1};  ///< pipe by which a child says that it is done
    sigset_t signals_ = {};     ///< that the forking thread had blocked
};

/// Whether the last fork of this thread gave no usable child, because it found no memory for its
/// copy. Reading it clears it.
bool child_was_lost();

}  // namespace softverbs::heap
