// SPDX-License-Identifier: BSD-2-Clause
#include "providers/soft/softverbs/memory/memory_map.hpp"

#include <sys/ioctl.h>
#include <sys/sysmacros.h>

#include <climits>
#include <cstdio>
#include <cstring>
#include <memory>

namespace softverbs {
namespace {

/// struct procmap_query of linux/fs.h, Linux 6.11; headers of older kernels do not have it.
struct Query {
    std::uint64_t size;
    std::uint64_t query_flags;
    std::uint64_t query_addr;
    std::uint64_t vma_start;
    std::uint64_t vma_end;
    std::uint64_t vma_flags;
    std::uint64_t vma_page_size;
    std::uint64_t vma_offset;
    std::uint64_t inode;
    std::uint32_t dev_major;
    std::uint32_t dev_minor;
    std::uint32_t vma_name_size;
    std::uint32_t build_id_size;
    std::uint64_t vma_name_addr;
    std::uint64_t build_id_addr;
};
static_assert(sizeof(Query) == 104);
constexpr unsigned long kQuery = _IOWR('f', 17, Query);
constexpr std::uint64_t kReadable = 1, kWritable = 2, kShared = 8;

using File = std::unique_ptr<FILE, int (*)(FILE*)>;

File open_text() {
    return {fopen("/proc/self/maps", "re"), &fclose};
}

bool parse(const char* line, Mapping& found) {
    char rights[5] = {};
    unsigned long begin = 0, end = 0, offset = 0, inode = 0;
    unsigned major_number = 0, minor_number = 0;
    int name = 0;
    if (sscanf(line, "%lx-%lx %4s %lx %x:%x %lu %n", &begin, &end, rights, &offset, &major_number,
               &minor_number, &inode, &name) < 7) {
        return false;
    }
    found = {begin,
             end,
             offset,
             inode,
             makedev(major_number, minor_number),
             rights[0] == 'r',
             rights[1] == 'w',
             rights[3] == 's',
             line + name};
    if (!found.name.empty() && found.name.back() == '\n') found.name.pop_back();
    return true;
}

}  // namespace

void MemoryMap::open() {
    maps_.reset(::open("/proc/self/maps", O_RDONLY | O_CLOEXEC));
}

std::optional<Mapping> MemoryMap::find(std::uint64_t address) const {
    char name[PATH_MAX] = {};
    Query query{};
    query.size = sizeof query;
    query.query_addr = address;
    query.vma_name_addr = reinterpret_cast<std::uintptr_t>(name);
    query.vma_name_size = sizeof name;
    if (ioctl(maps_.get(), kQuery, &query) == 0) {
        return Mapping{query.vma_start,
                       query.vma_end,
                       query.vma_offset,
                       query.inode,
                       makedev(query.dev_major, query.dev_minor),
                       (query.vma_flags & kReadable) != 0,
                       (query.vma_flags & kWritable) != 0,
                       (query.vma_flags & kShared) != 0,
                       query.vma_name_size != 0 ? name : ""};
    }
    if (errno == ENOENT) return std::nullopt;
    const File text = open_text();
    char line[PATH_MAX + 200];
    Mapping found;
    while (text && fgets(line, sizeof line, text.get()))
        if (parse(line, found) && found.begin <= address && address < found.end) return found;
    return std::nullopt;
}

}  // namespace softverbs
