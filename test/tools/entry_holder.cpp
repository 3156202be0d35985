// SPDX-License-Identifier: BSD-2-Clause
// Holds entries of an adapter's table, for tests of programs that show the table: entry_holder
// CAPACITY [CLASS BYTES]... takes one entry for each pair, prints "ready PID" and keeps them until
// it is killed. It queues a request for each entry that is not free.
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "broker/broker.hpp"
#include "broker/directory.hpp"

namespace {

using namespace dapl::memory;

Class class_of(const char* name) {
    if (std::strcmp(name, "messaging") == 0) return Class::kMessaging;
    return std::strcmp(name, "pinned") == 0 ? Class::kPinned : Class::kRdma;
}

}  // namespace

int main(int argc, char** argv) {
    if (argc < 2) return 2;
    Terms terms;
    terms.entries = std::strtoull(argv[1], nullptr, 10);
    terms.grace = 3'600'000'000'000;
    terms.policy = "lru";
    const auto broker = Broker::join(directory_path(geteuid()), "soft0-test", terms, {});
    if (!broker) return 1;
    for (int i = 2; i + 1 < argc; i += 2) {
        const Wanted wanted{class_of(argv[i]), std::strtoull(argv[i + 1], nullptr, 10)};
        if (const auto slot = (*broker)->try_take(wanted)) {
            // An entry that was never used could not be requested before its grace period is over.
            (*broker)->use(*slot).last_use = now();
            (*broker)->use(*slot).use_count = 1;
        } else if (!(*broker)->queue(wanted)) {
            return 1;
        }
    }
    std::printf("ready %d\n", getpid());
    std::fflush(stdout);
    for (;;) (*broker)->sleep((*broker)->work());
}
