// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// A running process, read from outside: it is neither stopped nor involved.
#pragma once

#include <sys/types.h>

#include <memory>

#include "tools/trace/image.hpp"

namespace tracing {

class Process final : public Image {
  public:
    /// Throws tools::Failure, which states who may read the process, when the kernel refuses.
    explicit Process(pid_t pid);

    bool read(std::uint64_t address, void* into, std::size_t size) const override;
    /// Throws tools::Failure.
    void write(std::uint64_t address, const void* from, std::size_t size) const;

  private:
    void check_architecture() const;
    void read_mappings();
    void check_access() const;
    pid_t pid_;
};

}  // namespace tracing
