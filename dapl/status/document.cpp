// SPDX-License-Identifier: BSD-2-Clause
#include "dapl/status/document.hpp"

#include <dat2/dat_ib_extensions.h>
#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>

#include "dapl/base/counter_names.hpp"
#include "dapl/ep/ep_state.hpp"
#include "device/address.hpp"
#include "support/base/json_writer.hpp"
#include "support/trace/status_socket.hpp"
#include "support/trace/trace_text.hpp"

namespace dapl::status {
namespace {

using support::JsonWriter;

constexpr struct {
    unsigned flag;
    const char* name;
} kStreams[] = {
    {DAT_EVD_SOFTWARE_FLAG, "software"}, {DAT_EVD_CR_FLAG, "requests"},
    {DAT_EVD_DTO_FLAG, "transfers"},     {DAT_EVD_CONNECTION_FLAG, "connections"},
    {DAT_EVD_RMR_BIND_FLAG, "binds"},    {DAT_EVD_ASYNC_FLAG, "async"},
};

void write_id(JsonWriter& to, std::string_view key, std::uint64_t id) {
    if (id == 0)
        to.null(key);
    else
        to.text(key, fmt::format("{:x}", id));
}

void write_age(JsonWriter& to, std::string_view key, Clock::duration age) {
    to.number(key,
              std::int64_t{std::chrono::duration_cast<std::chrono::milliseconds>(age).count()});
}

/// Writes an address without its port, which has a member of its own.
void write_host(JsonWriter& to, std::string_view key, sockaddr_storage address) {
    if (address.ss_family == 0) return to.null(key);
    set_port(address, 0);
    to.text(key, to_text(address));
}

/// Writes the counters that are not 0.
template <std::size_t size>
void write_counters(JsonWriter& to, const std::array<const char*, size>& names,
                    const std::array<std::uint64_t, size>& values) {
    to.begin_object("counters");
    for (std::size_t which = 0; which < size; ++which)
        if (values[which] != 0) to.number(names[which], values[which]);
    to.end_object();
}

const char* operation_text(std::uint32_t operation) {
    switch (operation & Slot::kOperationMask) {
        case DAT_DTO_SEND:
        case DAT_IB_DTO_SEND_IMMED:
        case DAT_IB_DTO_SEND_UD:
            return "send";
        case DAT_DTO_RDMA_WRITE:
        case DAT_IB_DTO_RDMA_WRITE_IMMED:
            return "RDMA write";
        case DAT_DTO_RDMA_READ:
            return "RDMA read";
        case DAT_DTO_BIND_MW:
            return "bind";
        case DAT_IB_DTO_FETCH_ADD:
            return "fetch and add";
        case DAT_IB_DTO_CMP_SWAP:
            return "compare and swap";
        case DAT_DTO_RECEIVE:
        case DAT_IB_DTO_RECV_IMMED:
        case DAT_IB_DTO_RECV_UD:
            return "receive";
        default:
            return "other";
    }
}

void write_side(JsonWriter& to, std::string_view key, const SideStatus& side) {
    to.begin_object(key);
    to.number("posted", side.work.posted);
    to.number("limit", side.limit);
    write_id(to, "evd", side.evd);
    write_age(to, "idle_ms", side.idle);
    if (side.work.posted == 0) {
        to.null("oldest");
    } else {
        to.begin_object("oldest");
        to.text("operation", operation_text(side.work.operation));
        to.text("cookie", fmt::format("0x{:x}", side.work.cookie));
        to.number("bytes", std::uint64_t{side.work.length});
        write_age(to, "age_ms", side.oldest_age);
        to.end_object();
    }
    to.end_object();
}

void write_history(JsonWriter& to, const EpHistory& history, Clock::time_point now) {
    to.begin_array("history");
    for (std::size_t back = history.size(); back-- > 0;) {
        const EpChange& change = history.latest(back);
        to.begin_object();
        to.text("to", support::ep_state_name(change.to));
        to.text("why", why_text(change.cause, change.reason));
        write_age(to, "age_ms", now - change.when);
        to.end_object();
    }
    to.end_array();
}

void write_ep(JsonWriter& to, const EpStatus& ep, Clock::time_point now) {
    to.begin_object();
    write_id(to, "id", ep.id);
    to.text("state", support::ep_state_name(ep.state));
    to.text("type", ep.is_datagram ? "UD" : "RC");
    write_host(to, "peer", ep.peer);
    to.number("local_port", ep.local_port);
    to.number("peer_port", ep.peer_port);
    write_id(to, "connect_evd", ep.connect_evd);
    write_id(to, "srq", ep.srq);
    write_side(to, "requests", ep.requests);
    write_side(to, "receives", ep.receives);
    write_counters(to, kEpCounterNames, ep.counters);
    write_history(to, ep.history, now);
    to.end_object();
}

void write_evd(JsonWriter& to, const EvdStatus& evd) {
    to.begin_object();
    write_id(to, "id", evd.id);
    to.begin_array("streams");
    for (const auto& stream : kStreams)
        if (evd.flags & stream.flag) to.text({}, stream.name);
    to.end_array();
    to.number("queue_length", evd.length);
    to.number("waiting", evd.pending);
    to.flag("waiter", evd.waited_on);
    to.flag("lost_events", evd.lost_events);
    write_id(to, "cno", evd.cno);
    write_age(to, "unlooked_ms", evd.unlooked);
    write_counters(to, kEvdCounterNames, evd.counters);
    to.end_object();
}

void write_cno(JsonWriter& to, const CnoStatus& cno) {
    to.begin_object();
    write_id(to, "id", cno.id);
    if (cno.known) {
        to.number("waiters", cno.waiters);
        to.number("evds", cno.evds);
        to.flag("triggered", cno.triggered);
    }
    to.end_object();
}

void write_srq(JsonWriter& to, const SrqStatus& srq) {
    to.begin_object();
    write_id(to, "id", srq.id);
    to.number("posted", srq.posted);
    to.number("limit", srq.limit);
    to.number("eps", srq.users);
    to.flag("failed", srq.failed);
    to.end_object();
}

void write_request(JsonWriter& to, const CrStatus& cr) {
    to.begin_object();
    write_id(to, "id", cr.id);
    to.number("conn_qual", cr.conn_qual);
    write_host(to, "peer", cr.peer);
    write_age(to, "age_ms", cr.age);
    to.end_object();
}

template <class T, class Each>
void write_all(JsonWriter& to, std::string_view key, const std::vector<T>& items,
               const Each& each) {
    to.begin_array(key);
    for (const T& item : items) each(to, item);
    to.end_array();
}

void write_ia(JsonWriter& to, const IaStatus& ia, Clock::time_point now) {
    to.begin_object();
    write_id(to, "id", ia.id);
    to.text("name", ia.name);
    to.text("device", ia.device);
    to.number("port", ia.port);
    write_host(to, "address", ia.address);
    to.text("manager", ia.manager);
    to.flag("busy", ia.busy);
    to.number("pzs", ia.pzs);
    to.number("lmrs", ia.lmrs);
    to.number("lmr_bytes", ia.lmr_bytes);
    to.number("rmrs", ia.rmrs);
    write_all(to, "eps", ia.eps,
              [now](JsonWriter& writer, const EpStatus& ep) { write_ep(writer, ep, now); });
    write_all(to, "evds", ia.evds, write_evd);
    write_all(to, "cnos", ia.cnos, write_cno);
    write_all(to, "srqs", ia.srqs, write_srq);
    write_all(to, "service_points", ia.service_points,
              [](JsonWriter& writer, const ServicePointStatus& point) {
                  writer.begin_object();
                  write_id(writer, "id", point.id);
                  writer.text("kind", point.kind);
                  writer.number("conn_qual", point.conn_qual);
                  writer.end_object();
              });
    write_all(to, "requests", ia.requests, write_request);
    write_counters(to, kIaCounterNames, ia.counters);
    to.end_object();
}

}  // namespace

std::string write_document(const Snapshot& snapshot, std::string_view library,
                           std::chrono::milliseconds resolution) {
    JsonWriter to;
    to.begin_object();
    to.number("opendat_status", support::status_socket::kVersion);
    to.number("pid", static_cast<int>(getpid()));
    to.text("library", library);
    to.number("resolution_ms", std::int64_t{resolution.count()});
    to.flag("busy", snapshot.busy);
    write_all(to, "ias", snapshot.ias,
              [&](JsonWriter& writer, const IaStatus& ia) { write_ia(writer, ia, snapshot.when); });
    to.end_object();
    return to.take();
}

}  // namespace dapl::status
