// SPDX-License-Identifier: BSD-2-Clause
#include "tools/regd/server.hpp"

#include <fmt/core.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>
#include <stdexcept>

#include "broker/regd/link.hpp"

namespace regd_tool {
namespace {

constexpr std::size_t kMostClients = 512;
constexpr std::size_t kMostOfOneUser = 64;
/// Messages read from one client before the others get their turn.
constexpr int kAtOnce = 4;
constexpr Time kBetweenLooks = 500'000'000;

[[noreturn]] void cannot_listen(const std::string& path, const char* why) {
    throw std::runtime_error(fmt::format("cannot listen at {}: {}", path, why));
}

/// Listens at `path`. A socket gets its final name once it listens, so that one without a listener
/// is left over from a dead process.
support::UniqueFd listen_at(const std::string& path) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    const std::string unfinished = path + ".new";
    if (unfinished.size() >= sizeof address.sun_path) cannot_listen(path, "the path is too long");
    const auto other = dapl::memory::regd::connect_to(path);
    // EAGAIN: a daemon listens, and its accept queue is full.
    if (other || other.error() == EAGAIN) cannot_listen(path, "another dat_regd listens there");
    unfinished.copy(address.sun_path, sizeof address.sun_path - 1);
    support::UniqueFd fd(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    unlink(unfinished.c_str());
    if (!fd.valid() || bind(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0 ||
        chmod(unfinished.c_str(), 0666) != 0 || listen(fd.get(), 64) != 0 ||
        rename(unfinished.c_str(), path.c_str()) != 0)
        cannot_listen(path, strerror(errno));
    return fd;
}

/// @return false with errno set when it was not sent.
bool send(int socket, const Message& message) {
    return ::send(socket, &message, sizeof message, MSG_DONTWAIT | MSG_NOSIGNAL) ==
           static_cast<ssize_t>(sizeof message);
}

Message row_of(const std::string& name, const Adapter& adapter, const User& user,
               std::uint32_t weight) {
    Message row = dapl::memory::regd::make(Kind::kRow, name);
    row.capacity = adapter.capacity;
    row.used = user.report.used;
    row.wanted = user.report.wanted;
    row.budget = user.budget;
    row.grace = user.report.grace;
    row.user = user.id;
    row.weight = weight;
    row.process = user.process;
    row.connected = user.client != 0;
    return row;
}

}  // namespace

Server::Server(std::string path, Rules rules)
    : path_(std::move(path)), listener_(listen_at(path_)), arbiter_(std::move(rules)) {}

Server::~Server() {
    unlink(path_.c_str());
}

void Server::run(int stop, const std::function<void()>& now_and_then) {
    Time next_look = 0;
    for (;;) {
        if (dapl::memory::now() >= next_look) {
            now_and_then();
            next_look = dapl::memory::now() + kBetweenLooks;
        }
        std::vector<pollfd> polled{{stop, POLLIN, 0}, {listener_.get(), POLLIN, 0}};
        for (const Client& client : clients_)
            polled.push_back({client.socket.get(),
                              static_cast<short>(client.answer.empty() ? POLLIN : POLLOUT), 0});
        if (poll(polled.data(), polled.size(), kBetweenLooks / 1'000'000) < 0 && errno != EINTR)
            throw std::runtime_error(fmt::format("poll: {}", strerror(errno)));
        if (polled[0].revents != 0) return;
        serve_clients(polled.data() + 2);
        if (polled[1].revents != 0) accept_one();
        carry_out(arbiter_.pass(dapl::memory::now()));
    }
}

void Server::serve_clients(const pollfd* polled) {
    for (std::size_t i = clients_.size(); i-- > 0;) {
        if (polled[i].revents == 0 || serve(clients_[i], polled[i])) continue;
        end(i);
    }
}

void Server::end(std::size_t place) {
    const std::uint64_t number = clients_[place].number;
    clients_.erase(clients_.begin() + static_cast<std::ptrdiff_t>(place));
    arbiter_.leave(number, dapl::memory::now());
}

/// @return whether the user may connect. When all places are taken, the user with the most
/// connections loses the newest of them to a user who has fewer.
bool Server::make_room_for(uid_t user) {
    std::map<uid_t, std::size_t> connections;
    for (const Client& client : clients_) ++connections[client.who.uid];
    const std::size_t own = connections[user];
    if (own >= kMostOfOneUser) return false;
    if (clients_.size() < kMostClients) return true;
    const auto most =
        std::max_element(connections.begin(), connections.end(),
                         [](const auto& a, const auto& b) { return a.second < b.second; });
    if (most->second <= own + 1) return false;
    for (std::size_t i = clients_.size(); i-- > 0;)
        if (clients_[i].who.uid == most->first) {
            end(i);
            break;
        }
    return true;
}

void Server::accept_one() {
    support::UniqueFd fd(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!fd.valid()) return;
    ucred who{};
    socklen_t size = sizeof who;
    if (getsockopt(fd.get(), SOL_SOCKET, SO_PEERCRED, &who, &size) != 0) return;
    if (make_room_for(who.uid)) clients_.push_back({std::move(fd), who, next_number_++, {}});
}

bool Server::serve(Client& client, const pollfd& polled) {
    if (polled.events == POLLOUT) return send_status(client);
    char bytes[sizeof(Message) + 1];
    for (int i = 0; i < kAtOnce; ++i) {
        const ssize_t size = recv(client.socket.get(), bytes, sizeof bytes, MSG_DONTWAIT);
        if (size < 0 && (errno == EAGAIN || errno == EINTR)) return true;
        if (size <= 0) return false;
        const auto message = dapl::memory::regd::parse(bytes, static_cast<std::size_t>(size));
        if (!message || !obey(client, *message)) return false;
        if (!client.answer.empty()) break;  // no more is read until the client has its answer
    }
    return true;
}

bool Server::obey(Client& client, const Message& message) {
    switch (message.kind) {
        case Kind::kReport:
            carry_out(arbiter_.report(client.number, client.who.uid, client.who.pid, message,
                                      dapl::memory::now()));
            return true;
        case Kind::kStatus:
            begin_status(client);
            return send_status(client);
        default:
            return false;  // only the daemon sends these
    }
}

/// Other users' rows are shown only to root and to the daemon's own user.
void Server::begin_status(Client& client) const {
    for (const auto& [name, adapter] : arbiter_.adapters())
        for (const User& user : adapter.users) {
            if (client.who.uid != 0 && client.who.uid != geteuid() && client.who.uid != user.id)
                continue;
            client.answer.push_back(
                row_of(name, adapter, user, arbiter_.rules().weight_of(user.id)));
        }
    client.answer.push_back(dapl::memory::regd::make(Kind::kEnd));
}

/// Sends the answer; what does not fit into the socket waits until the client has read. @return
/// false: the client must be disconnected.
bool Server::send_status(Client& client) {
    for (; !client.answer.empty(); client.answer.pop_front())
        if (!send(client.socket.get(), client.answer.front())) return errno == EAGAIN;
    return true;
}

void Server::carry_out(const std::vector<Arbiter::Order>& orders) {
    for (const Arbiter::Order& order : orders)
        for (const Client& client : clients_)
            // A client that does not read is cut off: it would go on with an outdated budget.
            if (client.number == order.client && !send(client.socket.get(), order.budget))
                shutdown(client.socket.get(), SHUT_RDWR);
}

}  // namespace regd_tool
