// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// libdat2 reads dat.conf while it is loaded, so a program that wants its own has to be started
/// with it: a program that includes this file starts itself once more when DAT_OVERRIDE is not set.
/// Which adapter instance the tests use, and at which address its peers are, can be said as well.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>

namespace test {

/// Names the IAs of the libraries just built: soft0 and its like (test/api/local.mk).
[[gnu::constructor]] inline void start_with_dat_conf(int, char** argv, char**) {
    if (getenv("DAT_OVERRIDE")) return;
    const char* build = getenv("TOP_BUILDDIR");
    const std::string file = std::string(build ? build : ".") + "/test/api/dat.conf";
    setenv("DAT_OVERRIDE", file.c_str(), 1);
    execv("/proc/self/exe", argv);
    perror("execv");
    _exit(1);
}

/// The IA that tests open: soft0, or the one that DAT_TEST_IA names.
inline const char* ia_name() {
    const char* name = getenv("DAT_TEST_IA");
    return name ? name : "soft0";
}

/// What is promised of softverbs alone may be otherwise on a device of the kernel.
inline bool is_soft0() {
    return std::string(ia_name()) == "soft0";
}

/// Where both ends of the tests' connections are, in text: 127.0.0.1, or the IPv4 address that
/// DAT_TEST_ADDRESS gives.
inline const char* ia_address_text() {
    const char* text = getenv("DAT_TEST_ADDRESS");
    return text ? text : "127.0.0.1";
}

inline sockaddr_in ia_address() {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    if (inet_pton(AF_INET, ia_address_text(), &address.sin_addr) != 1) {
        fprintf(stderr, "DAT_TEST_ADDRESS is no IPv4 address: %s\n", ia_address_text());
        _exit(1);
    }
    return address;
}

}  // namespace test
