// SPDX-License-Identifier: BSD-2-Clause
#include "check/model/symbols.hpp"

#include <cxxabi.h>
#include <fcntl.h>
#include <link.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <cstdlib>
#include <cstring>
#include <memory>
#include <span>

#include "support/base/unique_fd.hpp"

namespace check {
namespace {

class File {
  public:
    explicit File(const char* path) {
        const support::UniqueFd file(open(path, O_RDONLY | O_CLOEXEC));
        struct stat status;
        if (file.get() < 0 || fstat(file.get(), &status) != 0 || status.st_size <= 0) return;
        size_ = static_cast<std::size_t>(status.st_size);
        bytes_ = mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, file.get(), 0);
    }
    ~File() {
        if (bytes_ != MAP_FAILED) munmap(bytes_, size_);
    }
    File(const File&) = delete;
    File& operator=(const File&) = delete;

    /// @return nothing if the file is too short, or the place is misaligned.
    template <class T>
    std::span<const T> array(std::uint64_t offset, std::uint64_t count) const {
        if (bytes_ == MAP_FAILED || offset > size_ || offset % alignof(T) != 0) return {};
        if (count > (size_ - offset) / sizeof(T)) return {};
        const void* first = static_cast<const char*>(bytes_) + offset;
        return {static_cast<const T*>(first), static_cast<std::size_t>(count)};
    }

  private:
    void* bytes_ = MAP_FAILED;
    std::size_t size_ = 0;
};

using Section = ElfW(Shdr);
using Symbol = ElfW(Sym);

std::span<const Section> sections_of(const File& file) {
    const auto header = file.array<ElfW(Ehdr)>(0, 1);
    if (header.empty() || std::memcmp(header[0].e_ident, ELFMAG, SELFMAG) != 0) return {};
    if (header[0].e_shentsize != sizeof(Section)) return {};
    return file.array<Section>(header[0].e_shoff, header[0].e_shnum);
}

std::string demangled(const char* name) {
    int status = 0;
    const std::unique_ptr<char, decltype(&std::free)> readable(
        abi::__cxa_demangle(name, nullptr, nullptr, &status), &std::free);
    return status == 0 && readable ? readable.get() : name;
}

std::string name_at(const File& file, const Section& names, std::uint64_t offset) {
    const auto text = file.array<char>(names.sh_offset, names.sh_size);
    if (offset >= text.size()) return {};
    const auto rest = text.subspan(offset);
    const bool ends = std::memchr(rest.data(), '\0', rest.size()) != nullptr;
    return ends ? demangled(rest.data()) : std::string();
}

bool is_function_at(const Symbol& symbol, std::uint64_t address) {
    return ELF64_ST_TYPE(symbol.st_info) == STT_FUNC && address >= symbol.st_value &&
           address - symbol.st_value < symbol.st_size;
}

}  // namespace

std::string function_in(const char* path, std::uint64_t address) {
    const File file(path);
    const auto sections = sections_of(file);
    for (const Section& section : sections) {
        if (section.sh_type != SHT_SYMTAB || section.sh_link >= sections.size()) continue;
        for (const Symbol& symbol :
             file.array<Symbol>(section.sh_offset, section.sh_size / sizeof(Symbol)))
            if (is_function_at(symbol, address))
                return name_at(file, sections[section.sh_link], symbol.st_name);
    }
    return {};
}

}  // namespace check
