// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The checked reports of processes about themselves. Ages are in milliseconds and lower
/// bounds: the true age may be larger by up to the resolution.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace stat_tool {

using Counters = std::map<std::string, std::uint64_t>;

/// The requests or the receives of an EP.
struct Work {
    std::uint64_t posted, limit;
    std::string evd;        ///< id, or empty
    std::int64_t idle_ms;   ///< since the last completion was consumed
    std::string operation;  ///< of the oldest one posted; empty if none is
    std::string cookie;
    std::uint64_t bytes;
    std::int64_t oldest_ms;
};

struct Change {
    std::string to, why;
    std::int64_t age_ms;
};

struct Ep {
    std::string id, state, type;
    std::string peer;  ///< address without port; empty before the first connection
    std::uint64_t local_port, peer_port;
    std::string connect_evd, srq;  ///< ids, or empty
    Work requests, receives;
    Counters counters;
    std::vector<Change> history;  ///< oldest first
};

struct Evd {
    std::string id;
    std::vector<std::string> streams;
    std::uint64_t queue_length, waiting;
    bool waiter, lost_events;
    std::string cno;  ///< id, or empty
    std::int64_t unlooked_ms;
    Counters counters;
};

struct Cno {
    std::string id;
    bool known;  ///< false: a thread was working with it
    std::uint64_t waiters, evds;
    bool triggered;
};

struct Srq {
    std::string id;
    std::uint64_t posted, limit, eps;
    bool failed;
};

struct ServicePoint {
    std::string id, kind;
    std::uint64_t conn_qual;
};

struct Request {
    std::string id;
    std::uint64_t conn_qual;
    std::string peer;
    std::int64_t age_ms;
};

struct Ia {
    std::string id, name, device, address, manager;
    std::uint64_t port;
    bool busy;  ///< a lock was held for longer than the process waits: the rest is incomplete
    std::uint64_t pzs, lmrs, lmr_bytes, rmrs;
    std::vector<Ep> eps;
    std::vector<Evd> evds;
    std::vector<Cno> cnos;
    std::vector<Srq> srqs;
    std::vector<ServicePoint> service_points;
    std::vector<Request> requests;
    Counters counters;
};

/// One provider library of a process.
struct Library {
    std::string file;
    std::int64_t resolution_ms;
    bool busy;  ///< an adapter instance was being opened or closed all the time
    std::vector<Ia> ias;
    std::string document;  ///< as received
};

struct Process {
    pid_t pid;
    std::string program;
    bool stopped = false;  ///< and has therefore reported nothing
    std::vector<Library> libraries;
};

/// @param bytes the process's answer. Throws std::runtime_error, whose text is what is wrong with
/// it.
Library parse_library(const std::string& bytes);

const Evd* find_evd(const Ia& ia, const std::string& id);
/// @return "127.0.0.1:4711", or "no peer".
std::string peer_text(const Ep& ep);
/// @return "850 ms", "5.2 s", "2.0 h".
std::string duration_text(std::int64_t milliseconds);

}  // namespace stat_tool
