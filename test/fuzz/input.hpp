// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Shared by the fuzz targets: reads an input piece by piece, and ends the program when a check
/// fails.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <span>

namespace test {

inline void require(bool condition, const char* what) {
    if (condition) return;
    fprintf(stderr, "not so: %s\n", what);
    abort();
}

class Input {
  public:
    Input(const std::uint8_t* data, std::size_t size) : data_(data), left_(size) {}
    bool empty() const { return left_ == 0; }
    std::uint8_t byte() {
        if (left_ == 0) return 0;
        --left_;
        return *data_++;
    }
    std::span<const std::byte> bytes(std::size_t count) {
        count = std::min(count, left_);
        const std::span body(reinterpret_cast<const std::byte*>(data_), count);
        data_ += count;
        left_ -= count;
        return body;
    }

  private:
    const std::uint8_t* data_;
    std::size_t left_;
};

}  // namespace test
