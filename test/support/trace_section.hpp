// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The trace object of a library of this process, found as a tool finds it: by the section header
/// in the library's file and the address where the library is loaded.
#pragma once

#include <elf.h>
#include <link.h>

#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "support/trace/trace_ring.hpp"

namespace test {

/// @return the section's offset from the load address; 0 if there is none.
inline std::uint64_t trace_section_of(const std::string& file) {
    std::ifstream stream(file, std::ios::binary);
    const std::string bytes{std::istreambuf_iterator<char>(stream), {}};
    ElfW(Ehdr) header;
    if (bytes.size() < sizeof header) return 0;
    std::memcpy(&header, bytes.data(), sizeof header);
    std::vector<ElfW(Shdr)> sections(header.e_shnum);
    std::memcpy(sections.data(), bytes.data() + header.e_shoff,
                sections.size() * sizeof sections[0]);
    const char* names = bytes.data() + sections[header.e_shstrndx].sh_offset;
    for (const auto& section : sections)
        if (std::strcmp(names + section.sh_name, SUPPORT_TRACE_SECTION) == 0)
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
