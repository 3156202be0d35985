// SPDX-License-Identifier: BSD-2-Clause
#include "tools/softverbs/empty_library.hpp"

#include <elf.h>
#include <link.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace softverbs::tool {
namespace {

using Header = ElfW(Ehdr);
using Segment = ElfW(Phdr);
using Symbol = ElfW(Sym);
using Dynamic = ElfW(Dyn);
using Node = ElfW(Verdef);
using NodeName = ElfW(Verdaux);

constexpr std::size_t kAlignment = 16;
constexpr std::size_t kPage = 4096;

/// The hash of symbol names that the ELF specification defines.
std::uint32_t elf_hash(const std::string& name) {
    std::uint32_t hash = 0;
    for (const char letter : name) {
        hash = (hash << 4) + static_cast<unsigned char>(letter);
        const std::uint32_t high = hash & 0xf0000000;
        hash = (hash ^ (high >> 24)) & ~high;
    }
    return hash;
}

/// Builds the file; an offset in it is also an address.
class Image {
  public:
    template <class T>
    std::size_t append(const std::vector<T>& items) {
        const std::size_t at = (bytes_.size() + kAlignment - 1) / kAlignment * kAlignment;
        bytes_.resize(at + items.size() * sizeof(T));
        std::memcpy(bytes_.data() + at, items.data(), items.size() * sizeof(T));
        return at;
    }
    template <class T>
    void put(std::size_t at, const T& item) {
        std::memcpy(bytes_.data() + at, &item, sizeof item);
    }
    std::size_t size() const { return bytes_.size(); }
    std::string take() { return std::move(bytes_); }

  private:
    std::string bytes_;
};

class Strings {
  public:
    Strings() : text_(1, '\0') {}
    std::size_t add(const std::string& name) {
        const std::size_t at = text_.size();
        text_ += name;
        text_ += '\0';
        return at;
    }
    std::vector<char> all() const { return {text_.begin(), text_.end()}; }

  private:
    std::string text_;
};

/// A version definition and its name, for each node; the first one is the library's own.
struct NodeRecord {
    Node node;
    NodeName name;
};
static_assert(sizeof(NodeRecord) == sizeof(Node) + sizeof(NodeName));

std::vector<NodeRecord> node_records(const EmptyLibrary& library, Strings& strings) {
    std::vector<std::string> names = {library.soname};
    names.insert(names.end(), library.nodes.begin(), library.nodes.end());
    std::vector<NodeRecord> records;
    for (const std::string& name : names) {
        NodeRecord record = {};
        record.node.vd_version = VER_DEF_CURRENT;
        record.node.vd_flags = records.empty() ? VER_FLG_BASE : 0;
        record.node.vd_ndx = static_cast<ElfW(Half)>(records.size() + 1);
        record.node.vd_cnt = 1;
        record.node.vd_hash = elf_hash(name);
        record.node.vd_aux = sizeof(Node);
        record.node.vd_next = records.size() + 1 < names.size() ? sizeof(NodeRecord) : 0;
        record.name.vda_name = static_cast<ElfW(Word)>(strings.add(name));
        records.push_back(record);
    }
    return records;
}

Dynamic entry(std::int64_t tag, std::size_t value) {
    Dynamic made = {};
    made.d_tag = static_cast<decltype(made.d_tag)>(tag);
    made.d_un.d_val = value;
    return made;
}

Header header_of(std::size_t segments) {
    Header header = {};
    std::memcpy(header.e_ident, ELFMAG, SELFMAG);
    header.e_ident[EI_CLASS] = sizeof(void*) == 8 ? ELFCLASS64 : ELFCLASS32;
    header.e_ident[EI_DATA] = __BYTE_ORDER == __LITTLE_ENDIAN ? ELFDATA2LSB : ELFDATA2MSB;
    header.e_ident[EI_VERSION] = EV_CURRENT;
    header.e_type = ET_DYN;
#if defined(__x86_64__)
    header.e_machine = EM_X86_64;
#elif defined(__aarch64__)
    header.e_machine = EM_AARCH64;
#else
#error "name this machine as ELF does"
#endif
    header.e_version = EV_CURRENT;
    header.e_phoff = sizeof(Header);
    header.e_ehsize = sizeof(Header);
    header.e_phentsize = sizeof(Segment);
    header.e_phnum = static_cast<ElfW(Half)>(segments);
    return header;
}

Segment segment_of(std::uint32_t type, std::size_t offset, std::size_t size,
                   std::size_t alignment) {
    Segment segment = {};
    segment.p_type = type;
    // Writable, because the dynamic linker adds the load address to the dynamic section in place.
    // Not executable, so that the file may be on a file system mounted noexec.
    segment.p_flags = PF_R | PF_W;
    segment.p_offset = segment.p_vaddr = segment.p_paddr = offset;
    segment.p_filesz = segment.p_memsz = size;
    segment.p_align = alignment;
    return segment;
}

}  // namespace

std::string image_of(const EmptyLibrary& library) {
    constexpr std::size_t kSegments = 3;
    Image image;
    Strings strings;
    image.append(std::vector<Header>(1));
    const std::size_t segments = image.append(std::vector<Segment>(kSegments));
    const std::vector<NodeRecord> nodes = node_records(library, strings);
    std::vector<Dynamic> dynamic;
    for (const std::string& needed : library.needed)
        dynamic.push_back(entry(DT_NEEDED, strings.add(needed)));
    dynamic.push_back(entry(DT_SONAME, strings.add(library.soname)));
    const std::vector<char> text = strings.all();
    dynamic.push_back(entry(DT_SYMTAB, image.append(std::vector<Symbol>(1))));
    dynamic.push_back(entry(DT_SYMENT, sizeof(Symbol)));
    dynamic.push_back(entry(DT_STRTAB, image.append(text)));
    dynamic.push_back(entry(DT_STRSZ, text.size()));
    // One bucket and one symbol, the null symbol.
    dynamic.push_back(entry(DT_HASH, image.append(std::vector<ElfW(Word)>{1, 1, 0, 0})));
    dynamic.push_back(entry(DT_VERSYM, image.append(std::vector<ElfW(Half)>(1))));
    dynamic.push_back(entry(DT_VERDEF, image.append(nodes)));
    dynamic.push_back(entry(DT_VERDEFNUM, nodes.size()));
    dynamic.push_back(entry(DT_NULL, 0));
    const std::size_t section = image.append(dynamic);
    image.put(0, header_of(kSegments));
    const Segment all[kSegments] = {
        segment_of(PT_LOAD, 0, image.size(), kPage),
        segment_of(PT_DYNAMIC, section, dynamic.size() * sizeof(Dynamic), alignof(Dynamic)),
        segment_of(PT_GNU_STACK, 0, 0, kAlignment)};
    image.put(segments, all);
    return image.take();
}

}  // namespace softverbs::tool
