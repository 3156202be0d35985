// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// An rdma_cm server in a process of its own, and the client's side of its connections.
#pragma once

#include <functional>

#include "test/softverbs/cm_fixture.hpp"

namespace test {

/// A child process that listens, sends its port, and runs `body`.
class Server {
  public:
    using Body = std::function<void(Channel&, EventQueue&, Id& listener)>;
    explicit Server(const Body& body)
        : child_([&body](Channel& pipe) {
              EventQueue events;
              Id listening = listener(events);
              pipe.send(port_of(listening));
              body(pipe, events, listening);
          }),
          port_(child_.channel().receive<int>()) {}
    sockaddr_in address() const { return test::address("127.0.0.1", port_); }
    Child& child() { return child_; }
    Channel& pipe() { return child_.channel(); }

  private:
    Child child_;
    int port_;
};

/// Brings up the client's side of a connection, which is in the test's own process.
inline void establish_client(EventQueue& events, Id& id) {
    connect(id);
    events.next(RDMA_CM_EVENT_CONNECT_RESPONSE);
    check(rdma_establish(id.get()), "rdma_establish");
}

}  // namespace test
