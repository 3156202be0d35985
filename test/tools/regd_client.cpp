// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// regd_client DIRECTORY SOCKET [ADAPTER]: holds two of the eight entries of adapter0, or of
/// ADAPTER, and reports to dat_regd, until it is killed.
#include <unistd.h>

#include "broker/broker.hpp"

int main(int argc, char** argv) {
    using namespace dapl::memory;
    if (argc != 3 && argc != 4) return 2;
    const char* const adapter = argc == 4 ? argv[3] : "adapter0";
    const Terms terms{8, 0, 1000000, 0, 0, "lru"};
    auto broker = Broker::join(argv[1], adapter, terms, Member{1, argv[2]});
    if (!broker || !(*broker)->try_take({}) || !(*broker)->try_take({})) return 1;
    for (;;) {
        while ((*broker)->next()) {
        }
        (*broker)->sleep((*broker)->work());
    }
}
