// SPDX-License-Identifier: BSD-2-Clause
#include "providers/soft/verbs/own_pages.hpp"

#include <sys/mman.h>

#include <cerrno>

namespace softverbs {

int OwnPages::allocate(std::size_t bytes) {
    void* const made =
        mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (made == MAP_FAILED) return ENOMEM;
    begin_ = made;
    bytes_ = bytes;
    return 0;
}

OwnPages::~OwnPages() {
    if (begin_) munmap(begin_, bytes_);
}

}  // namespace softverbs
