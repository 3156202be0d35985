// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// ibv_reg_dmabuf_mr: a region on memory that a descriptor stands for, a DMA-BUF or any other file
/// that can be mapped. The region has a mapping of its own.
#include <infiniband/verbs.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <memory>
#include <new>

#include "providers/soft/softverbs/verbs/context.hpp"
#include "providers/soft/softverbs/verbs/memory_regions.hpp"

namespace softverbs {
namespace {

constexpr int kAccess = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |
                        IBV_ACCESS_REMOTE_ATOMIC | IBV_ACCESS_RELAXED_ORDERING;

std::uint64_t in_page(std::uint64_t address) {
    return address & (static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE)) - 1);
}

class FileMapping {
  public:
    /// @param writes whether it may be written.
    FileMapping(int fd, std::uint64_t offset, std::size_t length, bool writes)
        : length_(length + in_page(offset)),
          memory_(mmap(nullptr, length_, PROT_READ | (writes ? PROT_WRITE : 0), MAP_SHARED, fd,
                       static_cast<off_t>(offset - in_page(offset)))),
          first_(static_cast<std::uint8_t*>(memory_) + in_page(offset)) {}
    ~FileMapping() {
        if (is_valid()) munmap(memory_, length_);
    }
    FileMapping(const FileMapping&) = delete;
    FileMapping& operator=(const FileMapping&) = delete;
    bool is_valid() const { return memory_ != MAP_FAILED; }
    std::uint8_t* first() const { return first_; }

  private:
    const std::size_t length_;
    void* const memory_;
    std::uint8_t* const first_;
};

ibv_mr* register_file(ibv_pd* pd, std::uint64_t offset, std::size_t length, std::uint64_t iova,
                      int fd, int access) {
    const bool fits = length != 0 && offset + length > offset && in_page(offset) == in_page(iova);
    if (!fits || (access & ~kAccess) != 0) {
        errno = EINVAL;
        return nullptr;
    }
    const bool writes = (access & IBV_ACCESS_LOCAL_WRITE) != 0;
    auto mapping = std::make_shared<FileMapping>(fd, offset, length, writes);
    if (!mapping->is_valid()) return nullptr;
    ibv_mr* const mr = register_memory({&ProtectionDomain::of(pd), mapping->first(), length, iova,
                                        static_cast<unsigned>(access), mapping});
    if (mr) mr->addr = reinterpret_cast<void*>(offset);  // as libibverbs sets it
    return mr;
}

}  // namespace
}  // namespace softverbs

extern "C" ibv_mr* ibv_reg_dmabuf_mr(ibv_pd* pd, uint64_t offset, size_t length, uint64_t iova,
                                     int fd, int access) {
    const softverbs::CancellationDisabled guard;
    try {
        return softverbs::register_file(pd, offset, length, iova, fd, access);
    } catch (const std::bad_alloc&) {
        errno = ENOMEM;
        return nullptr;
    }
}
