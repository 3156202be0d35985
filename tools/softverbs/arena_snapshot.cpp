// SPDX-License-Identifier: BSD-2-Clause
#include "tools/softverbs/arena_snapshot.hpp"

#include <infiniband/verbs.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <functional>

#include "providers/soft/softverbs/arena/layout.hpp"

namespace softverbs::tool {
namespace {

/// A copy of a structure in an arena, as it was when it was read. Only the arena's owner writes it.
template <class T>
class Copy {
  public:
    bool read(int fd, std::uint64_t offset) {
        return pread(fd, bytes_, sizeof bytes_, static_cast<off_t>(offset)) == sizeof bytes_;
    }
    const T* operator->() const { return reinterpret_cast<const T*>(bytes_); }
    const T& operator*() const { return *operator->(); }

  private:
    alignas(T) std::byte bytes_[sizeof(T)];
};

/// Visits the entries of a sparse table that are in pages which the owner has allocated.
template <class T>
void for_each(int fd, std::uint64_t table, std::uint32_t count,
              const std::function<void(std::uint32_t, const T&)>& visit) {
    Copy<T> entry;
    std::uint32_t index = 0;
    while (index < count) {
        const off_t here = static_cast<off_t>(table + std::uint64_t{index} * sizeof(T));
        const off_t data = lseek(fd, here, SEEK_DATA);
        if (data < 0) return;
        if (data > here) {
            const std::uint64_t skipped = (static_cast<std::uint64_t>(data) - table) / sizeof(T);
            if (skipped >= count) return;
            index = std::max(index, static_cast<std::uint32_t>(skipped));
        }
        const off_t hole = std::max(lseek(fd, std::max(here, data), SEEK_HOLE), here + 1);
        do {
            if (!entry.read(fd, table + std::uint64_t{index} * sizeof(T))) return;
            visit(index, *entry);
            ++index;
        } while (index < count &&
                 table + std::uint64_t{index} * sizeof(T) < static_cast<std::uint64_t>(hole));
    }
}

std::string name_of(Readiness readiness) {
    switch (readiness) {
        case Readiness::kNotReady:
            return "not ready";
        case Readiness::kReady:
        case Readiness::kExpectant:
        case Readiness::kXrcReady:
            return "ready";
        case Readiness::kFailed:
            return "failed";
    }
    return "senseless";
}

std::string type_of(std::uint32_t type) {
    switch (type) {
        case IBV_QPT_RC:
            return "RC";
        case IBV_QPT_UC:
            return "UC";
        case IBV_QPT_UD:
            return "UD";
        case IBV_QPT_XRC_SEND:
            return "XRC_SEND";
        case IBV_QPT_XRC_RECV:
            return "XRC_RECV";
        case kXrcQueue:
            return "XRC SRQ";
        default:
            return "unknown type";
    }
}

/// @return why peers use the path by which they reach a region's memory.
const char* name_of(PageReason reason) {
    switch (reason) {
        case PageReason::kProvided:
            return "softverbs_memory_alloc";
        case PageReason::kHeap:
            return "shared heap";
        case PageReason::kFile:
            return "sealed shared memory of the application";
        case PageReason::kOrdinary:
            return "ordinary memory";
        case PageReason::kNotPrivate:
            return "a file's, a device's or huge pages";
        case PageReason::kNoSeal:
            return "a file that could be cut short";
        case PageReason::kNoDescriptor:
            return "shared memory that cannot be opened again";
        case PageReason::kMixed:
            return "partly shared memory";
        case PageReason::kCount:
            break;
    }
    return "senseless";
}

/// @return how many of the region's bytes are shared: the shared pages may reach beyond the region.
/// 0 if the owner's numbers make no sense.
std::uint64_t shared_bytes(const MrEntry& entry) {
    const std::uint64_t address = entry.address, length = entry.length;
    if (length > ~address) return 0;
    const std::uint64_t begin = std::max<std::uint64_t>(entry.shared_begin, address);
    const std::uint64_t end = std::min<std::uint64_t>(entry.shared_end, address + length);
    return begin < end ? end - begin : 0;
}

std::vector<std::string> access_names(std::uint32_t access) {
    constexpr std::pair<std::uint32_t, const char*> kNames[] = {
        {IBV_ACCESS_LOCAL_WRITE, "local-write"}, {IBV_ACCESS_REMOTE_WRITE, "remote-write"},
        {IBV_ACCESS_REMOTE_READ, "remote-read"}, {IBV_ACCESS_REMOTE_ATOMIC, "remote-atomic"},
        {IBV_ACCESS_MW_BIND, "window-bind"},
    };
    std::vector<std::string> names;
    for (const auto& [bit, name] : kNames)
        if (access & bit) names.emplace_back(name);
    return names;
}

std::string kind_of(KeyKind kind) {
    switch (kind) {
        case KeyKind::kRegion:
            return "region";
        case KeyKind::kWindow:
            return "window";
        case KeyKind::kQueuePairsWindow:
            return "window of a queue pair";
    }
    return "senseless";
}

/// @param port QpEntry::port
std::optional<PortId> port_of(std::uint16_t port) {
    if (port == 0 || port > kMostPortIds) return std::nullopt;
    return PortId::at(port - 1u);
}

void read_queue_pairs(int fd, const ArenaHeader& header, const std::vector<std::uint32_t>& blocks,
                      ArenaSnapshot& found) {
    for (std::uint32_t place = 0; place < kMaxQpBlocks; ++place) {
        const std::uint32_t block = header.qp_blocks[place].load() - 1;
        if (block == UINT32_MAX) return;
        if (std::find(blocks.begin(), blocks.end(), block) == blocks.end()) {
            ++found.senseless;
            continue;
        }
        const std::uint64_t table =
            kQpTable + std::uint64_t{place} * kQpsPerBlock * sizeof(QpEntry);
        for_each<QpEntry>(fd, table, kQpsPerBlock, [&](std::uint32_t index, const QpEntry& entry) {
            const std::uint32_t number = entry.qp_num.load();
            if (number == 0) return;
            if (number != block * kQpsPerBlock + index) {
                ++found.senseless;
                return;
            }
            found.queue_pairs.push_back(
                {number, type_of(entry.qp_type), name_of(entry.readiness.load()),
                 port_of(entry.port.load()), entry.dest_qp_num.load(), entry.pd, entry.cq,
                 entry.srq, entry.srq ? 0 : entry.consumed.load()});
        });
    }
}

void read_completion_queues(int fd, ArenaSnapshot& found) {
    for_each<CqHeader>(fd, kCqTable, kMaxCqs, [&](std::uint32_t index, const CqHeader& header) {
        if (header.live.load() == 0) return;
        const RingPlace ring = RingPlace::decode(header.ring.load());
        if (ring.log2_size > 24)
            ++found.senseless;
        else
            found.completion_queues.push_back({index, ring.size(), header.channel});
    });
}

void read_shared_receive_queues(int fd, ArenaSnapshot& found) {
    for_each<SrqHeader>(fd, kSrqTable, kMaxSrqs, [&](std::uint32_t index, const SrqHeader& header) {
        if (header.live.load() == 0) return;
        found.shared_receive_queues.push_back(
            {index, header.pd, header.posted.load(), header.head.load(), header.limit.load()});
    });
}

void read_regions(int fd, ArenaSnapshot& found) {
    for_each<MrEntry>(fd, kMrTable, kMaxMrs, [&](std::uint32_t index, const MrEntry& entry) {
        const std::uint32_t key = entry.key.load();
        if (key == 0) return;
        if (key >> kKeyIndexShift != index) {
            ++found.senseless;
            return;
        }
        found.regions.push_back({key, kind_of(entry.kind), entry.pd, access_names(entry.access),
                                 entry.address, entry.length, shared_bytes(entry),
                                 name_of(entry.reason)});
    });
}

}  // namespace

ArenaSnapshot read_arena(int given, const std::vector<std::uint32_t>& blocks) {
    ArenaSnapshot found;
    // Opens the file again for reading, so that the owner's file position and access rights are not
    // touched.
    const std::string name = "/proc/self/fd/" + std::to_string(given);
    const UniqueFd own(open(name.c_str(), O_RDONLY | O_CLOEXEC));
    const int fd = own.valid() ? own.get() : given;
    Copy<ArenaHeader> header;
    if (!header.read(fd, 0) || header->magic != kArenaMagic || !is_arena_size(header->size)) {
        ++found.senseless;
        return found;
    }
    read_queue_pairs(fd, *header, blocks, found);
    read_completion_queues(fd, found);
    read_shared_receive_queues(fd, found);
    read_regions(fd, found);
    return found;
}

}  // namespace softverbs::tool
