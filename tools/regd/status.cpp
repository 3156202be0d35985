// SPDX-License-Identifier: BSD-2-Clause
#include "tools/regd/status.hpp"

#include <fmt/core.h>
#include <poll.h>
#include <sys/socket.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <stdexcept>
#include <thread>

#include "broker/regd/link.hpp"
#include "tools/common/json.hpp"

namespace regd_tool {
namespace {

using dapl::memory::regd::Kind;
using dapl::memory::regd::Message;

constexpr int kPatience = 10000;  ///< ms

Message receive(int socket, const std::string& path) {
    char bytes[sizeof(Message) + 1];
    pollfd polled{socket, POLLIN, 0};
    if (poll(&polled, 1, kPatience) != 1)
        throw std::runtime_error(fmt::format("{}: no answer within {} s", path, kPatience / 1000));
    const ssize_t size = recv(socket, bytes, sizeof bytes, 0);
    const auto message =
        dapl::memory::regd::parse(bytes, size < 0 ? 0 : static_cast<std::size_t>(size));
    if (!message)
        throw std::runtime_error(fmt::format("{}: the answer is not from dat_regd", path));
    return *message;
}

/// @return the number, or "-" for no limit.
std::string amount(std::uint64_t number) {
    return number == dapl::memory::regd::kUnlimited ? "-" : fmt::format("{}", number);
}

tools::Json json_of(const Message& row) {
    const auto limit = [](tools::Json& json, const char* key, std::uint64_t number) {
        if (number == dapl::memory::regd::kUnlimited)
            json.put(key, nullptr);
        else
            json.put(key, number);
    };
    tools::Json user = tools::Json::object();
    user.put("adapter", std::string(row.adapter))
        .put("user", row.user)
        .put("weight", row.weight)
        .put("pid", row.process)
        .put("connected", row.connected != 0)
        .put("capacity_entries", row.capacity.entries)
        .put("used_entries", row.used.entries)
        .put("wanted_entries", row.wanted.entries);
    limit(user, "budget_entries", row.budget.entries);
    limit(user, "capacity_bytes",
          row.capacity.bytes == 0 ? dapl::memory::regd::kUnlimited : row.capacity.bytes);
    user.put("used_bytes", row.used.bytes).put("wanted_bytes", row.wanted.bytes);
    limit(user, "budget_bytes", row.budget.bytes);
    user.put("grace_us", row.grace / 1000);
    return user;
}

/// Retries while the queue of dat_regd is full: it accepts clients one after the other, and the
/// kernel refuses a connection to a full queue (EAGAIN).
support::UniqueFd connect_patiently(const std::string& path) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(kPatience);
    for (;;) {
        auto socket = dapl::memory::regd::connect_to(path);
        if (socket) return std::move(*socket);
        if (socket.error() != EAGAIN || std::chrono::steady_clock::now() >= end)
            throw std::runtime_error(
                fmt::format("no dat_regd answers at {}: {}", path, strerror(socket.error())));
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
}

}  // namespace

std::vector<Message> ask_status(const std::string& path) {
    const support::UniqueFd socket = connect_patiently(path);
    const Message question = dapl::memory::regd::make(Kind::kStatus);
    if (send(socket.get(), &question, sizeof question, MSG_NOSIGNAL) != sizeof question)
        throw std::runtime_error(fmt::format("{}: {}", path, strerror(errno)));
    std::vector<Message> rows;
    for (;;) {
        const Message message = receive(socket.get(), path);
        if (message.kind == Kind::kEnd) return rows;
        if (message.kind == Kind::kRow) rows.push_back(message);
    }
}

std::string to_table(const std::vector<Message>& rows) {
    std::string text = fmt::format("{:<24} {:>8} {:>8} {:>6} {:>8} {:>8} {:>8} {:>8}\n", "ADAPTER",
                                   "USER", "PID", "WEIGHT", "ENTRIES", "USED", "WAITING", "BUDGET");
    for (const Message& row : rows)
        text += fmt::format("{:<24} {:>8} {:>8} {:>6} {:>8} {:>8} {:>8} {:>8}\n", row.adapter,
                            row.user, row.connected ? fmt::format("{}", row.process) : "gone",
                            row.weight, row.capacity.entries, row.used.entries, row.wanted.entries,
                            amount(row.budget.entries));
    return text;
}

std::string to_json(const std::vector<Message>& rows) {
    tools::Json users = tools::Json::array();
    for (const Message& row : rows) users.add(json_of(row));
    return std::move(tools::Json::document("dat_regd").put("users", std::move(users))).text();
}

}  // namespace regd_tool
