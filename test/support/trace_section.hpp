// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The trace object of a library of this process, found as a tool finds it: by the section header
/// in the library's file and the address where the library is loaded.
#pragma once

#include <elf.h>
#include <link.h>

#include <cstring>
#include <fstream>
#include <string>
#include <vector>

#include "support/trace/trace_ring.hpp"

namespace test {

/// Reads `bytes` at an offset of a file: nothing more, since a library with its debugging
/// information is tens of megabytes long.
inline std::string bytes_at(std::ifstream& file, std::uint64_t offset, std::uint64_t bytes) {
    std::string read(bytes, '\0');
    file.seekg(static_cast<std::streamoff>(offset));
    file.read(read.data(), static_cast<std::streamsize>(bytes));
    return read;
}

/// @return the section's offset from the load address; 0 if there is none.
inline std::uint64_t trace_section_of(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    ElfW(Ehdr) header;
    std::memcpy(&header, bytes_at(file, 0, sizeof header).data(), sizeof header);
    if (!file) return 0;
    std::vector<ElfW(Shdr)> sections(header.e_shnum);
    const std::size_t size = sections.size() * sizeof sections[0];
    std::memcpy(sections.data(), bytes_at(file, header.e_shoff, size).data(), size);
    const ElfW(Shdr)& naming = sections[header.e_shstrndx];
    const std::string names = bytes_at(file, naming.sh_offset, naming.sh_size);
    for (const auto& section : sections)
        if (std::strcmp(names.data() + section.sh_name, SUPPORT_TRACE_SECTION) == 0)
            return section.sh_addr;
    return 0;
}

/// @param library part of its file name. @return its trace object, nullptr if it is not loaded.
inline support::TraceObject* trace_object_of(const std::string& library) {
    struct Search {
        const std::string& library;
        support::TraceObject* found;
    } search{library, nullptr};
    dl_iterate_phdr(
        [](dl_phdr_info* info, std::size_t, void* data) {
            auto& wanted = *static_cast<Search*>(data);
            if (std::string(info->dlpi_name).find(wanted.library) == std::string::npos) return 0;
            const std::uint64_t section = trace_section_of(info->dlpi_name);
            if (section == 0) return 0;
            wanted.found = reinterpret_cast<support::TraceObject*>(info->dlpi_addr + section);
            return 1;
        },
        &search);
    return search.found;
}

inline support::TraceRecord trace_record_at(const support::TraceRing& ring, std::uint64_t number) {
    const auto* words = reinterpret_cast<const std::atomic<std::uint64_t>*>(&ring + 1);
    const std::uint64_t place = number % ring.capacity.load() * 8;
    std::uint64_t copy[8];
    for (std::uint64_t i = 0; i < 8; ++i) copy[i] = words[place + i].load();
    support::TraceRecord record;
    std::memcpy(&record, copy, sizeof record);
    return record;
}

/// @return all records of a library, thread by thread.
inline std::vector<support::TraceRecord> trace_records(const support::TraceObject& object) {
    std::vector<support::TraceRecord> records;
    for (const auto& address : object.rings) {
        const auto* ring = reinterpret_cast<const support::TraceRing*>(address.load());
        if (!ring) break;
        const std::uint64_t next = ring->next.load();
        if (next == 0) continue;
        const auto window = support::trace_window(next, next, ring->capacity.load());
        for (std::uint64_t n = window.first; n < window.end; ++n)
            records.push_back(trace_record_at(*ring, n));
    }
    return records;
}

inline std::string trace_label(const support::TraceRecord& record) {
    char text[25] = {};
    std::memcpy(text, &record.values[2], 24);
    return text;
}

}  // namespace test
