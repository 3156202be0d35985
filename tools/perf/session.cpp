// SPDX-License-Identifier: BSD-2-Clause
#include "tools/perf/session.hpp"

#include <algorithm>
#include <barrier>
#include <cstdlib>
#include <exception>
#include <sstream>
#include <thread>

#include "tools/common/failure.hpp"
#include "tools/perf/cpus.hpp"

namespace perf {

using tools::Deadline;
using tools::Failure;
using tools::format;

namespace {

/// A client may compute and print between two passes, and a pass may last long.
constexpr double kBetweenPassesSeconds = 600;
/// The slowest transfer rate for which a pass still waits.
constexpr double kBytesPerSecond = 1e6;

double pass_patience(const Terms& terms, const Pass& pass) {
    return 1 + static_cast<double>(pass.count) * terms.endpoints * terms.threads *
                   (static_cast<double>(pass.measurement.size) / kBytesPerSecond + 1e-3);
}

/// @return whether the server's part of the measurement fits into the memory that it has allocated.
bool fits(const Measurement& measurement, const Room& room) {
    Rooms needed;
    needed.include(measurement);
    return needed.server.out <= room.out && needed.server.in <= room.in;
}

Outcome sum_up(const std::vector<Part>& parts) {
    Outcome outcome;
    std::uint64_t began_ns = UINT64_MAX;
    std::uint64_t ended_ns = 0;
    for (const Part& part : parts) {
        outcome.ticks.merge(part.ticks);
        outcome.messages += part.messages;
        began_ns = std::min(began_ns, part.began_ns);
        ended_ns = std::max(ended_ns, part.ended_ns);
    }
    outcome.seconds = static_cast<double>(std::max(ended_ns - began_ns, std::uint64_t{1})) / 1e9;
    outcome.messages_per_second = static_cast<double>(outcome.messages) / outcome.seconds;
    return outcome;
}

}  // namespace

Session::Session(Channel& channel, const Local& local, const Terms& terms, const Room& room,
                 Device& device)
    : channel_(channel), local_(local), terms_(terms), device_(device) {
    channel.set_timeout(terms.timeout_seconds);
    device.create_connection_evds(terms.threads * terms.endpoints);
    const Watch watch{device, channel, static_cast<double>(terms.timeout_seconds)};
    for (unsigned i = 0; i < terms.threads; ++i)
        lanes_.push_back(std::make_unique<Lane>(watch, terms, room));
}

std::vector<DAT_EP_HANDLE> Session::endpoints() const {
    std::vector<DAT_EP_HANDLE> all;
    for (const auto& lane : lanes_)
        all.insert(all.end(), lane->endpoints().begin(), lane->endpoints().end());
    return all;
}

void Session::exchange_places() {
    for (const auto& lane : lanes_) channel_.send("place", lane->place());
    for (const auto& lane : lanes_) lane->set_peer(channel_.receive("place"));
}

std::unique_ptr<Session> Session::connect(Channel& channel, const Local& local, const Terms& terms,
                                          Device& device) {
    channel.send("terms", encode(terms));
    std::unique_ptr<Session> session(
        new Session(channel, local, terms, terms.rooms.client, device));
    const unsigned theirs =
        static_cast<unsigned>(std::strtoul(channel.receive("offers").c_str(), nullptr, 10));
    session->offered_ = device.offered() & theirs;
    device.connect_all(session->endpoints(), channel.receive("address"), terms.timeout_seconds);
    session->exchange_places();
    return session;
}

void Session::serve(Channel& channel, const Local& local) {
    // The client opens its device, and may register much memory, before it sends anything more.
    const std::string text = channel.receive("terms", kBetweenPassesSeconds);
    const std::optional<Terms> terms = decode_terms(text);
    if (!terms) {
        throw Failure("terms of the client", "'" + text.substr(0, 60) + "'", "known terms",
                      "run the same version of dat_perf on both sides");
    }
    Device device(local.provider);
    Session session(channel, local, *terms, terms->rooms.server, device);
    device.listen();
    channel.send("offers", std::to_string(device.offered()));
    channel.send("address", device.address());
    device.accept_all(session.endpoints(), Deadline(terms->timeout_seconds));
    session.exchange_places();
    std::string line;
    while (channel.receive_any(line, kBetweenPassesSeconds) == "pass") session.serve_pass(line);
    device.disconnect_all(session.endpoints(), Deadline(terms->timeout_seconds));
    channel.send("gone");
}

void Session::finish() {
    channel_.send("goodbye");
    device_.disconnect_all(endpoints(), Deadline(terms_.timeout_seconds));
    channel_.receive("gone");
}

void Session::prepare(const Pass& pass) {
    const Measurement& measurement = pass.measurement;
    const bool credits = measurement.test != Test::latency && takes_receive(measurement.operation);
    for (const auto& lane : lanes_) {
        lane->begin(measurement, credits);
        lane->fill();
    }
}

Outcome Session::run(const Pass& pass) {
    prepare(pass);
    channel_.send("pass", encode(pass));
    channel_.receive("ready", pass_patience(terms_, pass));
    Outcome outcome = run_lanes(pass, true);
    channel_.send("finished");
    std::istringstream theirs(channel_.receive("done", pass_patience(terms_, pass)));
    std::uint64_t messages = 0;
    double rate = 0;
    theirs >> messages >> rate;
    // The answers of a ping-pong are not counted.
    if (pass.measurement.two_ways) {
        outcome.messages += messages;
        outcome.messages_per_second += rate;
    }
    for (const auto& lane : lanes_) lane->verify(true, pass.count);
    return outcome;
}

void Session::serve_pass(const std::string& text) {
    const std::optional<Pass> pass = decode_pass(text);
    if (!pass || !fits(pass->measurement, terms_.rooms.server)) {
        throw Failure("pass", "'" + text.substr(0, 60) + "'", "one within the agreed sizes",
                      "run the same version of dat_perf on both sides");
    }
    prepare(*pass);
    channel_.send("ready");
    const Outcome outcome = run_lanes(*pass, false);
    channel_.receive("finished", pass_patience(terms_, *pass));
    for (const auto& lane : lanes_) lane->verify(false, pass->count);
    channel_.send("done", format("%llu %.3f", static_cast<unsigned long long>(outcome.messages),
                                 outcome.messages_per_second));
}

Outcome Session::run_lanes(const Pass& pass, bool requester) {
    const std::size_t threads = lanes_.size();
    std::vector<Part> parts(threads);
    std::vector<std::exception_ptr> failures(threads);
    std::barrier start(static_cast<std::ptrdiff_t>(threads));
    const auto run = [&](std::size_t i) {
        try {
            start.arrive_and_wait();
            run_part(*lanes_[i], pass, requester, parts[i]);
        } catch (...) {
            failures[i] = std::current_exception();
        }
    };
    std::vector<std::thread> others;
    for (std::size_t i = 1; i < threads; ++i)
        others.emplace_back([&, i] {
            if (!local_.cpus.empty()) pin_to(local_.cpus[i % local_.cpus.size()]);
            run(i);
        });
    run(0);
    for (std::thread& other : others) other.join();
    for (const std::exception_ptr& failure : failures)
        if (failure) std::rethrow_exception(failure);
    return sum_up(parts);
}

}  // namespace perf
