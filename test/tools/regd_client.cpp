// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// regd_client DIRECTORY SOCKET: has two of eight registrations of adapter0 and reports to
/// dat_regd, until it is killed.
#include <unistd.h>

#include "broker/broker.hpp"

int main(int argc, char** argv) {
    using namespace dapl::memory;
    if (argc != 3) return 2;
    const Terms terms{8, 0, 1000000, 0, 0, "lru"};
    auto broker = Broker::join(argv[1], "adapter0", terms, Member{1, argv[2]});
    if (!broker || !(*broker)->try_take({}) || !(*broker)->try_take({})) return 1;
    for (;;) {
        while ((*broker)->next()) {
        }
        (*broker)->sleep((*broker)->work());
    }
}
