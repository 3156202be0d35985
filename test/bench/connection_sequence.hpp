// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The sequence that all programs which measure connections share, whatever they connect with: a
/// server and a client have equally many endpoints and start all their connections before they wait
/// for the first; and the parts of it that are timed.
///
/// A Side has create_endpoints(), listen(), accept_all() and connect_all(), both of which wait
/// until all are connected, disconnect_all(), await_disconnections(), free_all() and close().
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>

#include <cstdio>
#include <cstdlib>

#include "test/bench/processes.hpp"

struct ConnectionOrder {
    sockaddr_in server{};  ///< without a port
    int count = 0;
};

/// Parses the address and the count, the last arguments of the command line. Ends the program if
/// they are wrong, or if it does not have `expected` arguments.
inline ConnectionOrder connection_order(int argc, char** argv, int expected, const char* usage) {
    ConnectionOrder order;
    order.server.sin_family = AF_INET;
    if (argc == expected + 1) order.count = std::atoi(argv[expected]);
    if (order.count >= 1 && inet_pton(AF_INET, argv[expected - 1], &order.server.sin_addr) == 1)
        return order;
    std::fprintf(stderr, "usage: %s\n", usage);
    std::exit(2);
}

template <class Side>
void serve_connections(Side& side, int in, int out) {
    side.create_endpoints();
    side.listen();
    tell(out);
    side.accept_all();
    tell(out);
    side.await_disconnections();
    tell(out);
    side.free_all();
    hear(in);
    side.close();
}

/// @param show_connected called while all endpoints are connected.
template <class Side, class Show>
void measure_connections(Side& side, int count, int in, int out, Show show_connected) {
    const Stopwatch creating;
    side.create_endpoints();
    print_rate("endpoints_created", count, creating);
    hear(in);
    const Stopwatch connecting;
    side.connect_all();
    hear(in);
    print_rate("connections", count, connecting);
    show_connected();
    const Stopwatch disconnecting;
    side.disconnect_all();
    side.await_disconnections();
    hear(in);
    print_rate("disconnections", count, disconnecting);
    const Stopwatch freeing;
    side.free_all();
    print_rate("endpoints_freed", count, freeing);
    tell(out);
    side.close();
}
