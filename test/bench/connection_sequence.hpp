// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The sequence that all programs which measure connections share, whatever they connect with: a
/// server and a client have equally many endpoints, and the client starts as many connections as
/// may be in flight before it waits for the first; and the parts of it that are timed.
///
/// A Side has create_endpoints(), listen(), accept_all() and connect_all(in_flight), both of which
/// wait until all are connected, disconnect_all(), await_disconnections(), free_all() and close().
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>

#include <cstdio>
#include <cstdlib>

#include "test/bench/processes.hpp"

struct ConnectionOrder {
    sockaddr_in server{};  ///< without a port
    int count = 0;
    int in_flight = 0;  ///< the client has at most so many unanswered requests
};

/// Parses the last arguments of the command line: the address, the count, and behind the `expected`
/// arguments how many connections may be in flight, by default all. Ends the program if one is
/// wrong or lacks.
inline ConnectionOrder connection_order(int argc, char** argv, int expected, const char* usage) {
    ConnectionOrder order;
    order.server.sin_family = AF_INET;
    if (argc > expected) order.count = std::atoi(argv[expected]);
    order.in_flight = argc > expected + 1 ? std::atoi(argv[expected + 1]) : order.count;
    if (argc <= expected + 2 && order.count >= 1 && order.in_flight >= 1 &&
        inet_pton(AF_INET, argv[expected - 1], &order.server.sin_addr) == 1)
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
void measure_connections(Side& side, const ConnectionOrder& order, int in, int out,
                         Show show_connected) {
    const int count = order.count;
    const Stopwatch creating;
    side.create_endpoints();
    print_rate("endpoints_created", count, creating);
    hear(in);
    const Stopwatch connecting;
    side.connect_all(order.in_flight);
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
