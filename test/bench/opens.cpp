// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Measures the opening and closing of an IA: the first time in a process, with all that is loaded
/// and read for it, and again.
///
/// usage: opens IA COUNT
#include <dat2/udat.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "test/bench/answers.hpp"

namespace {

double open_and_close(const char* name) {
    const auto begin = std::chrono::steady_clock::now();
    DAT_IA_HANDLE ia = DAT_HANDLE_NULL;
    DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
    succeed(dat_ia_open(const_cast<char*>(name), 8, &async, &ia), "dat_ia_open");
    succeed(dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG), "dat_ia_close");
    return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - begin)
        .count();
}

}  // namespace

int main(int argc, char** argv) {
    const long count = argc == 3 ? std::atol(argv[2]) : 0;
    if (count <= 0) {
        std::fprintf(stderr, "usage: opens IA COUNT\n");
        return 2;
    }
    std::printf("open_cold %.1f\n", open_and_close(argv[1]));
    std::vector<double> times;
    for (long i = 0; i < count; ++i) times.push_back(open_and_close(argv[1]));
    std::nth_element(times.begin(), times.begin() + count / 2, times.end());
    std::printf("open_warm %.1f\n", times[static_cast<std::size_t>(count / 2)]);
    return 0;
}
