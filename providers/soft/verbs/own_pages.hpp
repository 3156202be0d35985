// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstddef>

namespace softverbs {

/// Pages of their own, so that those never touched cost nothing.
class OwnPages {
  public:
    OwnPages() = default;
    ~OwnPages();
    OwnPages(const OwnPages&) = delete;
    OwnPages& operator=(const OwnPages&) = delete;
    /// Once. @return 0 or ENOMEM.
    int allocate(std::size_t bytes);
    std::byte* get() const { return static_cast<std::byte*>(begin_); }

  private:
    void* begin_ = nullptr;
    std::size_t bytes_ = 0;
};

}  // namespace softverbs
