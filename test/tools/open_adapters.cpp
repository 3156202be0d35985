// SPDX-License-Identifier: BSD-2-Clause
// Opens the adapter instances that its arguments name, with an endpoint each, prints
// `ready PID` and waits until it is killed.
#include <unistd.h>

#include <cstdio>
#include <list>

#include "test/api/side.hpp"

int main(int count, char** names) {
    try {
        std::list<test::Side> sides;
        for (int i = 1; i < count; ++i) sides.emplace_back(names[i]).endpoint();
        printf("ready %d\n", getpid());
        fflush(stdout);
        for (;;) pause();
    } catch (const std::exception& failure) {
        fprintf(stderr, "%s\n", failure.what());
        return 1;
    }
}
