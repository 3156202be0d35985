// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The core file of a process: an ELF file whose headers state which addresses are where in the
/// file, and whose notes state which of them were mapped from which file.
#pragma once

#include <span>

#include "tools/trace/image.hpp"

namespace tracing {

class CoreFile final : public Image {
  public:
    /// @param bytes must outlive this object. Throws tools::Failure unless it is a core file of
    /// this architecture.
    CoreFile(std::span<const std::byte> bytes, const std::string& name);

    bool read(std::uint64_t address, void* into, std::size_t size) const override;

  private:
    struct Segment {
        std::uint64_t address, size, offset;  ///< size: the part in the file
        bool writable;
    };
    struct NamedRange {
        std::uint64_t start, end;
        std::string path;
    };
    std::span<const std::byte> part(std::uint64_t offset, std::uint64_t size) const;
    template <class T>
    bool get(std::uint64_t offset, T& value) const;
    std::uint64_t header_count(std::uint64_t section_headers, std::uint64_t count) const;
    void read_headers(const std::string& name);
    void read_notes(std::uint64_t offset, std::uint64_t size);
    void read_note(std::uint32_t type, std::span<const std::byte> description);
    void read_files(std::span<const std::byte> description);
    void find_mappings();

    std::span<const std::byte> bytes_;
    std::vector<Segment> segments_;
    std::vector<NamedRange> files_;
};

}  // namespace tracing
