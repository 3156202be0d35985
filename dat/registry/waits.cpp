// SPDX-License-Identifier: BSD-2-Clause
#include "dat/registry/waits.hpp"

#include <algorithm>
#include <iterator>

namespace dat {
namespace {

std::atomic<unsigned> g_threads{0};
[[gnu::tls_model("initial-exec")]] thread_local unsigned t_thread = 0;  ///< 0: no number yet

}  // namespace

Waits::Line Waits::lines_[kLines];

Waits::Line& Waits::line_of_thread() {
    if (t_thread == 0) [[unlikely]]
        t_thread = g_threads.fetch_add(1, std::memory_order_relaxed) + 1;
    return lines_[t_thread % kLines];
}

bool Waits::any() {
    return std::any_of(std::begin(lines_), std::end(lines_), [](const Line& line) {
        return line.count.load(std::memory_order_seq_cst) != 0;
    });
}

}  // namespace dat
