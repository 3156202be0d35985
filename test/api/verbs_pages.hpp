// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// For tests of memory that peers map.
#pragma once

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <string>

#include "test/api/verbs_pair.hpp"

namespace test {

/// Mappings of this process whose file's name contains `name`.
inline int mappings_of(const std::string& name) {
    FILE* maps = fopen("/proc/self/maps", "re");
    int found = 0;
    char line[4400];
    while (fgets(line, sizeof line, maps))
        if (std::string(line).find(name) != std::string::npos) ++found;
    fclose(maps);
    return found;
}

/// Private anonymous memory of its own.
class Anonymous {
  public:
    explicit Anonymous(std::size_t size) : size_(size) {
        void* memory =
            mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        require(memory != MAP_FAILED, "memory is mapped");
        data_ = static_cast<std::uint8_t*>(memory);
    }
    ~Anonymous() { munmap(data_, size_); }
    Anonymous(const Anonymous&) = delete;
    Anonymous& operator=(const Anonymous&) = delete;
    std::uint8_t* data() const { return data_; }
    std::size_t size() const { return size_; }

  private:
    std::uint8_t* data_ = nullptr;
    const std::size_t size_;
};

inline Options no_buffer() {
    Options options;
    options.buffer = 4096;
    return options;
}

/// Whether the page at an address is one that peers may map.
inline bool is_shared(const void* address) {
    const auto wanted = reinterpret_cast<std::uintptr_t>(address);
    FILE* maps = fopen("/proc/self/maps", "re");
    bool shared = false;
    char line[4400];
    while (fgets(line, sizeof line, maps)) {
        unsigned long begin = 0, end = 0;
        if (sscanf(line, "%lx-%lx", &begin, &end) == 2 && begin <= wanted && wanted < end)
            shared = std::string(line).find("softverbs-pages") != std::string::npos;
    }
    fclose(maps);
    return shared;
}

/// Whether this process may hold writers up, as root usually may.
inline bool may_hold_writers() {
    const long faults = syscall(SYS_userfaultfd, O_CLOEXEC);
    if (faults >= 0) close(static_cast<int>(faults));
    return faults >= 0;
}

}  // namespace test
