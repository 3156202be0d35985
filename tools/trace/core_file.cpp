// SPDX-License-Identifier: BSD-2-Clause
#include "tools/trace/core_file.hpp"

#include <elf.h>
#include <sys/procfs.h>

#include <algorithm>
#include <cstring>

#include "tools/common/failure.hpp"
#include "tools/trace/machine.hpp"

namespace tracing {
namespace {

/// Well above the number of mappings that the kernel allows a process (vm.max_map_count).
constexpr std::uint64_t kMostSegments = 1 << 20;

std::uint64_t word_at(std::span<const std::byte> words, std::size_t number) {
    std::uint64_t word;
    std::memcpy(&word, words.data() + number * sizeof word, sizeof word);
    return word;
}

}  // namespace

std::span<const std::byte> CoreFile::part(std::uint64_t offset, std::uint64_t size) const {
    if (offset > bytes_.size()) return {};
    return bytes_.subspan(offset, std::min<std::uint64_t>(size, bytes_.size() - offset));
}

template <class T>
bool CoreFile::get(std::uint64_t offset, T& value) const {
    const auto found = part(offset, sizeof value);
    if (found.size() != sizeof value) return false;
    std::memcpy(&value, found.data(), sizeof value);
    return true;
}

CoreFile::CoreFile(std::span<const std::byte> bytes, const std::string& name) : bytes_(bytes) {
    source = "core file " + name;
    read_headers(name);
    find_mappings();
}

/// @return the number of program headers; of a process with very many mappings it is in the first
/// section header.
std::uint64_t CoreFile::header_count(std::uint64_t section_headers, std::uint64_t count) const {
    Elf64_Shdr section{};
    if (count != PN_XNUM || !get(section_headers, section)) return count;
    return section.sh_info;
}

void CoreFile::read_headers(const std::string& name) {
    Elf64_Ehdr header{};
    if (!get(0, header) || !is_elf(header) || header.e_type != ET_CORE)
        throw tools::Failure(name, "unknown format", "a core file or a file that --save wrote",
                             "let the kernel (`ulimit -c unlimited`) or `gcore PID` write one");
    if (!is_our_machine(header))
        throw tools::Failure(source, machine_name(header), kOurMachine,
                             "use the dat_trace that was built for that architecture");
    const std::uint64_t count =
        std::min(header_count(header.e_shoff, header.e_phnum), kMostSegments);
    for (std::uint64_t i = 0; i < count; ++i) {
        Elf64_Phdr program_header;
        if (!get(header.e_phoff + i * sizeof program_header, program_header)) break;
        if (program_header.p_type == PT_NOTE)
            read_notes(program_header.p_offset, program_header.p_filesz);
        if (program_header.p_type == PT_LOAD)
            segments_.push_back({program_header.p_vaddr, program_header.p_filesz,
                                 program_header.p_offset, (program_header.p_flags & PF_W) != 0});
    }
    std::sort(segments_.begin(), segments_.end(),
              [](const Segment& a, const Segment& b) { return a.address < b.address; });
}

void CoreFile::read_notes(std::uint64_t offset, std::uint64_t size) {
    const auto padded = [](std::uint64_t length) { return (length + 3) & ~std::uint64_t{3}; };
    std::span<const std::byte> left = part(offset, size);
    for (;;) {
        Elf64_Nhdr note;
        if (left.size() < sizeof note) return;
        std::memcpy(&note, left.data(), sizeof note);
        const std::uint64_t description = sizeof note + padded(note.n_namesz);
        const std::uint64_t end = description + padded(note.n_descsz);
        if (description + note.n_descsz > left.size()) return;
        read_note(note.n_type, left.subspan(description, note.n_descsz));
        if (end > left.size()) return;
        left = left.subspan(end);
    }
}

void CoreFile::read_note(std::uint32_t type, std::span<const std::byte> description) {
    if (type == NT_FILE) read_files(description);
    prpsinfo_t process;
    if (type != NT_PRPSINFO || description.size() < sizeof process) return;
    std::memcpy(&process, description.data(), sizeof process);
    pid = static_cast<std::uint32_t>(process.pr_pid);
    program.assign(process.pr_fname, strnlen(process.pr_fname, sizeof process.pr_fname));
}

/// Reads the note: the number of files and the page size, then start, end and offset of each file,
/// then the names.
void CoreFile::read_files(std::span<const std::byte> description) {
    constexpr std::size_t kWord = sizeof(std::uint64_t);
    if (description.size() < 2 * kWord) return;
    const std::uint64_t count =
        std::min<std::uint64_t>(word_at(description, 0), description.size() / (3 * kWord));
    const std::size_t names_at = (2 + 3 * count) * kWord;
    if (names_at > description.size()) return;
    auto names = description.subspan(names_at);
    for (std::size_t i = 0; i < count && !names.empty(); ++i) {
        const auto* text = reinterpret_cast<const char*>(names.data());
        const std::size_t length = strnlen(text, names.size());
        files_.push_back({word_at(description, 2 + 3 * i), word_at(description, 3 + 3 * i),
                          std::string(text, length)});
        names = names.subspan(std::min(length + 1, names.size()));
    }
}

void CoreFile::find_mappings() {
    std::sort(files_.begin(), files_.end(),
              [](const NamedRange& a, const NamedRange& b) { return a.start < b.start; });
    for (const Segment& segment : segments_) {
        if (!segment.writable || segment.size == 0) continue;
        const std::uint64_t stored = part(segment.offset, segment.size).size();
        const auto above = std::upper_bound(
            files_.begin(), files_.end(), segment.address,
            [](std::uint64_t value, const NamedRange& file) { return value < file.start; });
        if (above != files_.begin() && segment.address < above[-1].end)
            mappings.push_back({segment.address, segment.address + stored, above[-1].path});
    }
}

bool CoreFile::read(std::uint64_t address, void* into, std::size_t size) const {
    auto* next = static_cast<std::byte*>(into);
    while (size > 0) {
        const auto above = std::upper_bound(
            segments_.begin(), segments_.end(), address,
            [](std::uint64_t value, const Segment& segment) { return value < segment.address; });
        if (above == segments_.begin()) return false;
        const Segment& segment = above[-1];
        const std::uint64_t within = address - segment.address;
        if (within >= segment.size || segment.offset > bytes_.size()) return false;
        const auto found =
            part(segment.offset + within, std::min<std::uint64_t>(size, segment.size - within));
        if (found.empty()) return false;
        std::memcpy(next, found.data(), found.size());
        next += found.size();
        address += found.size();
        size -= found.size();
    }
    return true;
}

}  // namespace tracing
