// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Runs a test program with the tests' dat.conf. libdat2 reads dat.conf while it is being loaded,
/// so a program that includes this file executes itself again if DAT_OVERRIDE is not set. The
/// adapter instance under test and the address of its peers can be set too.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>

namespace test {

/// Sets DAT_OVERRIDE to the dat.conf of the libraries just built, which lists soft0 and others
/// (test/api/local.mk), and executes the program again.
[[gnu::constructor]] inline void start_with_dat_conf(int, char** argv, char**) {
    if (getenv("DAT_OVERRIDE")) return;
    const char* build = getenv("TOP_BUILDDIR");
    const std::string file = std::string(build ? build : ".") + "/test/api/dat.conf";
    setenv("DAT_OVERRIDE", file.c_str(), 1);
    execv("/proc/self/exe", argv);
    perror("execv");
    _exit(1);
}

/// @return the IA that tests open: soft0, or the one that DAT_TEST_IA names.
inline const char* ia_name() {
    const char* name = getenv("DAT_TEST_IA");
    return name ? name : "soft0";
}

/// @return whether the IA is softverbs' own, for expectations that kernel devices need not meet.
inline bool is_soft0() {
    return std::string(ia_name()) == "soft0";
}

/// @return whether connections are made by datagrams (test/support/over_datagrams.hpp).
inline bool is_over_datagrams() {
    return std::string(ia_name()).starts_with("ucm");
}

/// @return the address of both ends of the tests' connections, as text: 127.0.0.1, or the IPv4
/// address that DAT_TEST_ADDRESS gives.
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
