// SPDX-License-Identifier: BSD-2-Clause
#include "providers/soft/softverbs/heap/areas.hpp"

#include <sys/mman.h>

#include <cstring>

#include "providers/soft/softverbs/heap/kernel.hpp"

namespace softverbs::heap {

bool Areas::open() {
    void* memory = kernel::map(nullptr, kCapacity * sizeof(Area), PROT_READ | PROT_WRITE,
                               MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) return false;
    table_ = static_cast<Area*>(memory);
    return true;
}

std::size_t Areas::first_behind(std::uint64_t address) const {
    std::size_t low = 0, high = count_;
    while (low < high) {
        const std::size_t middle = (low + high) / 2;
        if (table_[middle].end <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

void Areas::remove(std::size_t first, std::size_t last) {
    std::memmove(table_ + first, table_ + last, (count_ - last) * sizeof(Area));
    count_ -= last - first;
}

void Areas::insert(std::size_t index, const Area& area) {
    std::memmove(table_ + index + 1, table_ + index, (count_ - index) * sizeof(Area));
    table_[index] = area;
    ++count_;
}

void Areas::clear(std::uint64_t begin, std::uint64_t end) {
    std::size_t first = first_behind(begin);
    if (first < count_ && table_[first].begin < begin) {
        const Area cut = table_[first];
        table_[first].end = begin;
        ++first;
        if (cut.end > end) {
            Area tail = cut;
            tail.begin = end;
            insert(first, tail);
            return;
        }
    }
    std::size_t last = first;
    while (last < count_ && table_[last].end <= end) ++last;
    remove(first, last);
    if (first < count_ && table_[first].begin < end) table_[first].begin = end;
}

void Areas::put(const Area& area) {
    clear(area.begin, area.end);
    const std::size_t index = first_behind(area.begin);
    const bool joins_before =
        index > 0 && table_[index - 1].end == area.begin && table_[index - 1].is_alike(area);
    const bool joins_behind =
        index < count_ && table_[index].begin == area.end && table_[index].is_alike(area);
    if (joins_before && joins_behind) {
        table_[index - 1].end = table_[index].end;
        remove(index, index + 1);
    } else if (joins_before) {
        table_[index - 1].end = area.end;
    } else if (joins_behind) {
        table_[index].begin = area.begin;
    } else {
        insert(index, area);
    }
}

bool Areas::find(std::uint64_t address, std::uint64_t end, Area& found) const {
    const std::size_t index = first_behind(address);
    if (index == count_ || table_[index].begin > address) return false;
    found = table_[index];
    found.begin = address;
    if (found.end > end) found.end = end;
    return true;
}

bool Areas::is_free(std::uint64_t begin, std::uint64_t end) const {
    const std::size_t index = first_behind(begin);
    return index == count_ || table_[index].begin >= end;
}

std::uint64_t Areas::find_gap(std::uint64_t from, std::uint64_t to, std::uint64_t length,
                              std::uint64_t alignment) const {
    const auto aligned = [&](std::uint64_t address) {
        return (address + alignment - 1) & ~(alignment - 1);
    };
    std::uint64_t place = aligned(from);
    for (std::size_t index = first_behind(from); index < count_; ++index) {
        if (table_[index].begin >= place && table_[index].begin - place >= length) break;
        place = aligned(table_[index].end);
    }
    return place <= to && to - place >= length ? place : 0;
}

}  // namespace softverbs::heap
