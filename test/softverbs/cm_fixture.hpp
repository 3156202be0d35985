// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// What the tests of the software device's rdma_cm share: channels, identifiers and their events.
#pragma once

#include <arpa/inet.h>
#include <fcntl.h>
#include <rdma/rdma_cma.h>
#include <rdma/rdma_verbs.h>

#include <cstring>
#include <string>

#include "test/support/process.hpp"

namespace test {

inline sockaddr_in address(const char* ip, int port) {
    sockaddr_in result = {};
    result.sin_family = AF_INET;
    result.sin_port = htons(static_cast<std::uint16_t>(port));
    require(inet_pton(AF_INET, ip, &result.sin_addr) == 1, "an IPv4 address");
    return result;
}

inline void check(int result, const std::string& what) {
    if (result != 0) throw std::runtime_error(what + ": " + strerror(errno));
}

/// A fetched event; the destructor acknowledges it.
class FetchedEvent {
  public:
    explicit FetchedEvent(rdma_cm_event* event) : event_(event) {}
    FetchedEvent(FetchedEvent&& other) noexcept : event_(std::exchange(other.event_, nullptr)) {}
    ~FetchedEvent() {
        if (event_) rdma_ack_cm_event(event_);
    }
    rdma_cm_event* operator->() const { return event_; }
    rdma_cm_event* release() { return std::exchange(event_, nullptr); }
    std::string data() const {
        return {static_cast<const char*>(event_->param.conn.private_data),
                event_->param.conn.private_data_len};
    }

  private:
    rdma_cm_event* event_;
};

class EventQueue {
  public:
    EventQueue() : channel_(rdma_create_event_channel()) {
        require(channel_ != nullptr, "an event channel is made");
    }
    ~EventQueue() { rdma_destroy_event_channel(channel_); }
    EventQueue(const EventQueue&) = delete;
    EventQueue& operator=(const EventQueue&) = delete;
    rdma_event_channel* get() const { return channel_; }

    bool readable(Clock::duration within = Clock::duration::zero()) const {
        return is_readable(channel_->fd, within);
    }

    /// Waits for the next event, of any type.
    FetchedEvent next() const {
        require(readable(kDeadline), "an event comes");
        rdma_cm_event* event = nullptr;
        check(rdma_get_cm_event(channel_, &event), "rdma_get_cm_event");
        return FetchedEvent(event);
    }
    /// Waits for the next event, which must be of this type.
    FetchedEvent next(rdma_cm_event_type type) const {
        FetchedEvent event = next();
        if (event->event != type)
            throw std::runtime_error(std::string("expected ") + rdma_event_str(type) + ", got " +
                                     rdma_event_str(event->event) + ", status " +
                                     std::to_string(event->status));
        return event;
    }

  private:
    rdma_event_channel* channel_;
};

class Id {
  public:
    explicit Id(const EventQueue& channel, rdma_port_space port_space = RDMA_PS_TCP) {
        check(rdma_create_id(channel.get(), &id_, nullptr, port_space), "rdma_create_id");
    }
    explicit Id(rdma_cm_id* id) : id_(id) {}
    Id(Id&& other) noexcept : id_(std::exchange(other.id_, nullptr)) {}
    ~Id() { destroy(); }
    rdma_cm_id* operator->() const { return id_; }
    rdma_cm_id* get() const { return id_; }
    void destroy() {
        if (id_) rdma_destroy_id(id_);
        id_ = nullptr;
    }
    int bind(const sockaddr_in& to) {
        sockaddr_in copy = to;
        return rdma_bind_addr(id_, reinterpret_cast<sockaddr*>(&copy));
    }

  private:
    rdma_cm_id* id_ = nullptr;
};

inline rdma_conn_param parameters(const std::string& data, std::uint32_t qp_num = 0) {
    rdma_conn_param param = {};
    param.private_data = data.data();
    param.private_data_len = static_cast<std::uint8_t>(data.size());
    param.responder_resources = 4;
    param.initiator_depth = 3;
    param.retry_count = 5;
    param.rnr_retry_count = 6;
    param.flow_control = 1;
    param.qp_num = qp_num;
    return param;
}

/// Resolves address and route, so that the identifier is ready to connect.
inline void resolve(const EventQueue& channel, const Id& id, const sockaddr_in& to) {
    sockaddr_in copy = to;
    check(rdma_resolve_addr(id.get(), nullptr, reinterpret_cast<sockaddr*>(&copy), 1000),
          "rdma_resolve_addr");
    channel.next(RDMA_CM_EVENT_ADDR_RESOLVED);
    check(rdma_resolve_route(id.get(), 1000), "rdma_resolve_route");
    channel.next(RDMA_CM_EVENT_ROUTE_RESOLVED);
}

inline void connect(const Id& id, const std::string& data = "", std::uint32_t qp_num = 0x123) {
    rdma_conn_param param = parameters(data, qp_num);
    check(rdma_connect(id.get(), &param), "rdma_connect");
}

inline void accept(const Id& id, const std::string& data = "", std::uint32_t qp_num = 0x456) {
    rdma_conn_param param = parameters(data, qp_num);
    check(rdma_accept(id.get(), &param), "rdma_accept");
}

/// Makes a listening identifier, by default on a free port of the loopback address.
inline Id listener(const EventQueue& channel, const char* ip = "127.0.0.1", int port = 0) {
    Id id(channel);
    check(id.bind(address(ip, port)), "rdma_bind_addr");
    check(rdma_listen(id.get(), 0), "rdma_listen");
    return id;
}

inline int port_of(const Id& id) {
    return ntohs(rdma_get_src_port(id.get()));
}

/// Both ends of a connection in one process: a listener, and an identifier that is ready to
/// connect.
struct BothEnds {
    BothEnds() { resolve(events, id, address("127.0.0.1", port_of(listening))); }

    EventQueue events;
    EventQueue server_events;
    Id listening = listener(server_events);
    Id id{events};
};

}  // namespace test
