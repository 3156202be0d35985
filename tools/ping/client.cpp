// SPDX-License-Identifier: BSD-2-Clause
#include "tools/ping/client.hpp"

#include <netdb.h>
#include <netinet/in.h>
#include <time.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "tools/common/failure.hpp"
#include "tools/common/json.hpp"
#include "tools/common/options.hpp"

namespace ping {
namespace {

using tools::Deadline;

constexpr DAT_COUNT kEvents = 64;
/// Buffers of a connection: indexes and number.
constexpr unsigned kOut = 0, kIn = 1, kBuffers = 2;
/// Pause of a flood after a ping without an answer, in seconds.
constexpr double kBreath = 0.01;

sockaddr_storage stored(const void* address, std::size_t size) {
    sockaddr_storage whole{};
    std::memcpy(&whole, address, std::min(size, sizeof whole));
    return whole;
}

/// @param family that of the adapter's address; an address of this family is preferred.
sockaddr_storage resolve(const std::string& host, int family) {
    addrinfo hints{};
    hints.ai_socktype = SOCK_STREAM;
    addrinfo* found = nullptr;
    if (const int error = getaddrinfo(host.c_str(), nullptr, &hints, &found); error || !found)
        throw tools::Failure("getaddrinfo " + host, gai_strerror(error), "an address",
                             "give the name or the address of the other side's adapter");
    const addrinfo* chosen = found;
    for (const addrinfo* other = found; other; other = other->ai_next) {
        if (other->ai_family != family) continue;
        chosen = other;
        break;
    }
    const sockaddr_storage address = stored(chosen->ai_addr, chosen->ai_addrlen);
    freeaddrinfo(found);
    return address;
}

sockaddr_storage parse_queue_pair(const std::string& text) {
    const auto queue_pair = queue_pair_of(text);
    if (queue_pair) return stored(&*queue_pair, sizeof *queue_pair);
    throw tools::Failure("address", "'" + text + "'",
                         "LID/QPN or LID/QPN/GID: the IA has no IP address",
                         "give what dat_ping --listen prints at the other side");
}

/// @param own the adapter's address: the target's has the same form.
sockaddr_storage address_of(const std::string& target, const sockaddr& own) {
    return is_queue_pair(own) ? parse_queue_pair(target) : resolve(target, own.sa_family);
}

/// Rounds off the digits that mean nothing.
double to_microsecond(double milliseconds) {
    return std::round(milliseconds * 1e3) / 1e3;
}

/// The outcome of one ping.
struct Outcome {
    double round_trip_ms = 0;
    std::string lost;  ///< why it was lost; empty: it was answered
};

std::string reason_of(const DAT_CONNECTION_EVENT_DATA& data, DAT_EVENT_NUMBER number) {
    switch (number) {
        case DAT_CONNECTION_EVENT_NON_PEER_REJECTED:
            return "nobody listens there";
        case DAT_CONNECTION_EVENT_UNREACHABLE:
            return "the address cannot be reached";
        case DAT_CONNECTION_EVENT_TIMED_OUT:
            return "no answer to the connection request";
        case DAT_CONNECTION_EVENT_PEER_REJECTED:
            return refusal_text({static_cast<const std::byte*>(data.private_data),
                                 static_cast<std::size_t>(std::max(data.private_data_size, 0))});
        default:
            return "the connection failed (" + tools::event_name(number) + ")";
    }
}

class Client {
  public:
    explicit Client(const Wishes& wishes)
        : wishes_(wishes),
          adapter_(wishes.ia, kEvents),
          address_(address_of(wishes.target, adapter_.address())) {}
    int run();

  private:
    void greet() const;
    Outcome probe(std::uint64_t sequence);
    std::string connect();
    std::string exchange(std::uint64_t sequence);
    std::string take_answer(const Deadline& deadline, std::uint64_t sequence);
    void tell(std::uint64_t sequence, const Outcome& outcome) const;
    void pause_until(double end_us) const;
    bool is_over() const { return interrupted || (wishes_.deadline > 0 && end_.passed()); }
    /// @return the deadline of a single step.
    Deadline patience() const {
        const double left = wishes_.deadline > 0 ? end_.left_us(1e12) / 1e6 : wishes_.patience;
        return Deadline(std::min(wishes_.patience, left));
    }
    int finish(double time_ms) const;
    void print_json(double time_ms) const;

    const Wishes& wishes_;
    Adapter adapter_;
    const sockaddr_storage address_;
    const Deadline end_{wishes_.deadline};
    std::unique_ptr<Endpoint> endpoint_;  ///< connected, or none
    std::uint32_t last_id_ = 0;
    Statistics statistics_;
};

/// @return why there is no connection; empty when there is.
std::string Client::connect() {
    const Deadline deadline = patience();
    auto made = std::make_unique<Endpoint>(adapter_, wishes_.size, kBuffers, ++last_id_);
    std::byte hello[Hello::kSize];
    write_hello(hello, {static_cast<std::uint32_t>(wishes_.size)});
    sockaddr_storage to = address_;
    if (!made->post_receive(kIn)) return "no receive could be posted";
    const DAT_RETURN code =
        dat_ep_connect(made->handle(), reinterpret_cast<DAT_IA_ADDRESS_PTR>(&to), wishes_.qualifier,
                       static_cast<DAT_TIMEOUT>(std::max(deadline.left_us(4e9), 1.0)), sizeof hello,
                       hello, DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG);
    if (code != DAT_SUCCESS) return "dat_ep_connect: " + tools::code_name(code);
    for (;;) {
        const auto event = Adapter::next_event(adapter_.control, deadline);
        if (!event) return interrupted ? "interrupted" : "no answer to the connection request";
        const DAT_CONNECTION_EVENT_DATA& data = event->event_data.connect_event_data;
        if (data.ep_handle != made->handle()) continue;  // belongs to an earlier endpoint
        if (event->event_number != DAT_CONNECTION_EVENT_ESTABLISHED)
            return reason_of(data, event->event_number);
        endpoint_ = std::move(made);
        return {};
    }
}

/// @return why there is no answer; empty when there is.
std::string Client::take_answer(const Deadline& deadline, std::uint64_t sequence) {
    for (;;) {
        const auto event = Adapter::next_event(adapter_.transfers, deadline);
        if (!event) return interrupted ? "interrupted" : "no answer in time";
        const DAT_DTO_COMPLETION_EVENT_DATA& data = event->event_data.dto_completion_event_data;
        const Endpoint::Work work = Endpoint::work_of(data.user_cookie);
        if (work.id != last_id_) continue;  // belongs to an earlier connection
        if (data.status != DAT_DTO_SUCCESS)
            return data.status == DAT_DTO_ERR_FLUSHED
                       ? "the connection has ended"
                       : "the transfer failed (" + tools::status_name(data.status) + ")";
        if (!work.is_receive) continue;
        if (data.transfered_length != wishes_.size) return "the answer has the wrong length";
        return check_message(endpoint_->buffer(kIn), Kind::kAnswer, sequence);
    }
}

std::string Client::exchange(std::uint64_t sequence) {
    write_message(endpoint_->buffer(kOut), Kind::kRequest, sequence);
    if (!endpoint_->post_send(kOut)) return "the connection has ended";
    std::string why = take_answer(patience(), sequence);
    if (!why.empty()) return why;
    // Prepares the next answer. Bytes that are not overwritten must not look like an answer.
    std::memset(endpoint_->buffer(kIn).data(), 0, wishes_.size);
    return endpoint_->post_receive(kIn) ? "" : "no receive could be posted";
}

/// Gives up a connection on which something went wrong: the next ping makes a new one.
Outcome Client::probe(std::uint64_t sequence) {
    Outcome outcome;
    if (!endpoint_) outcome.lost = connect();
    if (!endpoint_) return outcome;
    const double begun_us = tools::now_us();
    outcome.lost = exchange(sequence);
    outcome.round_trip_ms = (tools::now_us() - begun_us) / 1e3;
    if (!outcome.lost.empty()) endpoint_.reset();
    return outcome;
}

void Client::tell(std::uint64_t sequence, const Outcome& outcome) const {
    if (wishes_.quiet || wishes_.json) return;
    const auto number = static_cast<unsigned long long>(sequence);
    if (wishes_.flood) {
        if (!outcome.lost.empty()) std::putchar('.');
    } else if (outcome.lost.empty()) {
        std::printf("%zu bytes from %s: seq=%llu time=%.3f ms\n", wishes_.size,
                    host_text(reinterpret_cast<const sockaddr&>(address_)).c_str(), number,
                    outcome.round_trip_ms);
    } else {
        std::printf("no answer from %s: seq=%llu: %s\n", wishes_.target.c_str(), number,
                    outcome.lost.c_str());
    }
    std::fflush(stdout);
}

void Client::pause_until(double end_us) const {
    constexpr double kSlice = 100e3;
    while (!is_over()) {
        const double left = end_us - tools::now_us();
        if (left <= 0) return;
        const timespec pause{0, static_cast<long>(std::min(left, kSlice) * 1e3)};
        nanosleep(&pause, nullptr);
    }
}

void Client::greet() const {
    if (wishes_.json) return;
    std::printf("PING %s (%s) over %s, qualifier %llu: %zu bytes\n", wishes_.target.c_str(),
                host_text(reinterpret_cast<const sockaddr&>(address_)).c_str(), wishes_.ia.c_str(),
                static_cast<unsigned long long>(wishes_.qualifier), wishes_.size);
    std::fflush(stdout);
}

void Client::print_json(double time_ms) const {
    tools::Json document = tools::Json::document("dat_ping");
    document.put("target", wishes_.target)
        .put("address", host_text(reinterpret_cast<const sockaddr&>(address_)))
        .put("ia", wishes_.ia)
        .put("qualifier", wishes_.qualifier)
        .put("size", wishes_.size)
        .put("transmitted", statistics_.transmitted())
        .put("received", statistics_.received())
        .put("loss_percent", statistics_.loss_percent())
        .put("time_ms", to_microsecond(time_ms));
    if (statistics_.received() > 0) {
        tools::Json times = tools::Json::object();
        times.put("min", to_microsecond(statistics_.minimum()))
            .put("avg", to_microsecond(statistics_.average()))
            .put("max", to_microsecond(statistics_.maximum()))
            .put("mdev", to_microsecond(statistics_.deviation()));
        document.put("rtt_ms", std::move(times));
    } else {
        document.put("rtt_ms", nullptr);
    }
    tools::Json losses = tools::Json::array();
    for (const auto& [why, count] : statistics_.losses()) {
        tools::Json loss = tools::Json::object();
        loss.put("why", why).put("count", count);
        losses.add(std::move(loss));
    }
    document.put("losses", std::move(losses));
    std::fputs(document.text().c_str(), stdout);
}

int Client::finish(double time_ms) const {
    if (wishes_.json)
        print_json(time_ms);
    else
        std::fputs(statistics_.summary(wishes_.target, time_ms).c_str(), stdout);
    const bool all_in_time = wishes_.count > 0 && wishes_.deadline > 0;
    const std::uint64_t wanted = all_in_time ? wishes_.count : 1;
    return statistics_.received() >= wanted ? 0 : 1;
}

int Client::run() {
    greet();
    const double begun_us = tools::now_us();
    double next_us = begun_us;
    double last_us = begun_us;
    for (std::uint64_t sequence = 1; !is_over(); ++sequence) {
        const Outcome outcome = probe(sequence);
        last_us = tools::now_us();
        if (outcome.lost.empty())
            statistics_.answered(outcome.round_trip_ms);
        else if (outcome.lost != "interrupted")
            statistics_.lost(outcome.lost);
        else
            break;
        tell(sequence, outcome);
        if (sequence == wishes_.count) break;
        const double pause = outcome.lost.empty() ? 0 : kBreath;
        next_us = wishes_.flood ? last_us + pause * 1e6
                                : std::max(next_us + wishes_.interval * 1e6, last_us);
        pause_until(next_us);
    }
    return finish((last_us - begun_us) / 1e3);
}

}  // namespace

int run_client(const Wishes& wishes) {
    return Client(wishes).run();
}

}  // namespace ping
