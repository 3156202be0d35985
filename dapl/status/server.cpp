// SPDX-License-Identifier: BSD-2-Clause
#include "dapl/status/server.hpp"

#include <dlfcn.h>
#include <pthread.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/timerfd.h>
#include <sys/un.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "dapl/status/document.hpp"
#include "support/base/limits.hpp"
#include "support/log/log.hpp"
#include "support/settings/settings.hpp"
#include "support/trace/status_socket.hpp"

namespace dapl::status {
namespace {

namespace status_socket = support::status_socket;

/// Keys of watched descriptors. The key of a client is the number of its place.
constexpr std::uint32_t kTimer = Server::kMostClients;
constexpr std::uint32_t kListener = kTimer + 1;
constexpr int kDescriptors = kListener + 1;

/// The descriptors that a forked child has to close: the sockets would outlive the parent if it
/// kept them.
std::atomic<int> of_parent[kDescriptors];  // plus 1, so that 0 is none

void keep(std::uint32_t key, int descriptor) {
    of_parent[key].store(descriptor + 1, std::memory_order_relaxed);
}

void close_in_child() {
    for (auto& each : of_parent)
        if (const int descriptor = each.exchange(0, std::memory_order_relaxed) - 1; descriptor >= 0)
            close(descriptor);
}

void close_in_children() {
    static std::atomic<bool> done{false};
    if (!done.exchange(true)) pthread_atfork(nullptr, nullptr, close_in_child);
}

/// The file name of the library that this code is in.
std::string own_library() {
    Dl_info info;
    if (dladdr(reinterpret_cast<const void*>(&close_in_child), &info) == 0 || !info.dli_fname)
        return "library";
    const char* const slash = std::strrchr(info.dli_fname, '/');
    return slash ? slash + 1 : info.dli_fname;
}

/// Whether the client runs as this user, or as root, who may see every process. The directory
/// belongs to this user alone, but its mode may have been loosened by hand.
bool is_of_owner(int socket) {
    ucred other = {};
    socklen_t length = sizeof other;
    return getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &other, &length) == 0 &&
           (other.uid == geteuid() || other.uid == 0);
}

/// Reports why there is no status socket; the program continues without one.
std::nullptr_t refuse(const std::string& path, int error, const std::string& why) {
    if (!support::report_limit(error, "the socket for dat_stat", path))
        support::report<support::kNoStatus>(path, why);
    return nullptr;
}

}  // namespace

std::unique_ptr<Server> Server::start(ProcessState& process, ServiceThread& service) {
    if (!support::setting_flag(support::Setting::kStatus)) return nullptr;
    const std::string path = status_socket::directory_path(geteuid());
    auto directory = support::PrivateDirectory::open(path);
    if (!directory) return refuse(path, directory.error().error, directory.error().why);
    status_socket::remove_stale(*directory);
    std::unique_ptr<Server> server(new Server(process, service, std::move(*directory)));
    if (const int error = server->open()) return refuse(path, error, strerror(error));
    return server;
}

Server::Server(ProcessState& process, ServiceThread& service, support::PrivateDirectory directory)
    : process_(process),
      service_(service),
      directory_(std::move(directory)),
      library_(own_library()) {}

Server::~Server() {
    // The service thread is not in serve() any more once this has returned.
    if (poll_.valid()) service_.unwatch(poll_.get(), *this);
    if (!name_.empty()) directory_.remove(name_);
    for (Client& client : clients_) dismiss(client);
    // A child that is being forked just now may keep a copy of the socket: no client may hang on
    // it.
    if (listener_.valid()) shutdown(listener_.get(), SHUT_RDWR);
    keep(kListener, -1);
    keep(kTimer, -1);
}

int Server::open() {
    close_in_children();
    poll_.reset(epoll_create1(EPOLL_CLOEXEC));
    timer_.reset(timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC));
    if (!poll_.valid() || !timer_.valid()) return errno;
    constexpr auto seconds = std::chrono::duration_cast<std::chrono::seconds>(kResolution).count();
    const itimerspec each{{seconds, 0}, {seconds, 0}};
    if (timerfd_settime(timer_.get(), 0, &each, nullptr) != 0) return errno;
    if (const int error = listen()) return error;
    keep(kTimer, timer_.get());
    keep(kListener, listener_.get());
    listening_ = watch(listener_.get(), kListener, EPOLLIN);
    if (listening_ && watch(timer_.get(), kTimer, EPOLLIN) && service_.watch(poll_.get(), *this))
        return 0;
    const int error = errno;
    poll_.reset();
    return error;
}

/// Listens under the first name at which nobody else listens: a process may have two libraries of
/// the same name.
int Server::listen() {
    constexpr int kNames = 8;
    for (int serial = 0; serial < kNames; ++serial) {
        const std::string name = to_text(status_socket::Name{getpid(), library_, serial});
        if (status_socket::connect(directory_, name)) continue;
        if (const int error = bind_as(name, listener_)) return error;
        name_ = name;
        return 0;
    }
    return EADDRINUSE;
}

/// The socket listens before it gets its final name, so a name without a listener will never get
/// one.
int Server::bind_as(const std::string& name, support::UniqueFd& listener) const {
    const std::string unnamed = name + ".new";
    directory_.remove(unnamed);
    sockaddr_un where;
    unsigned length = 0;
    if (const int error = directory_.address(unnamed, where, length)) return error;
    listener.reset(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    // The file gets the mode of the socket, less the umask.
    if (!listener.valid() || fchmod(listener.get(), 0600) != 0 ||
        bind(listener.get(), reinterpret_cast<const sockaddr*>(&where), length) != 0)
        return errno;
    if (::listen(listener.get(), kMostClients) == 0 &&
        renameat(directory_.fd(), unnamed.c_str(), directory_.fd(), name.c_str()) == 0)
        return 0;
    const int error = errno;
    directory_.remove(unnamed);
    return error;
}

bool Server::watch(int descriptor, std::uint32_t key, std::uint32_t events) const {
    epoll_event event{events, {.u32 = key}};
    return epoll_ctl(poll_.get(), EPOLL_CTL_ADD, descriptor, &event) == 0 ||
           (errno == EEXIST && epoll_ctl(poll_.get(), EPOLL_CTL_MOD, descriptor, &event) == 0);
}

void Server::serve() {
    std::array<epoll_event, kDescriptors> events;
    const int count = epoll_wait(poll_.get(), events.data(), kDescriptors, 0);
    for (int i = 0; i < count; ++i) {
        const std::uint32_t key = events[i].data.u32;
        try {
            if (key == kTimer)
                tick();
            else if (key == kListener)
                admit();
            else if (clients_[key].socket.valid())
                go_on(clients_[key]);
        } catch (const std::bad_alloc&) {
            if (key < kTimer) dismiss(clients_[key]);
        }
    }
}

void Server::tick() {
    std::uint64_t times;
    [[maybe_unused]] const ssize_t got = read(timer_.get(), &times, sizeof times);
    const auto now = Clock::now();
    for (Client& client : clients_)
        if (client.socket.valid() && now - client.since > kPatience) dismiss(client);
    // admit() stopped watching the listener if no descriptor or memory was left for a client.
    if (!listening_) listening_ = watch(listener_.get(), kListener, EPOLLIN);
    Snapshot snapshot = take_snapshot(process_);
    ages_.observe(snapshot);
}

/// @return a free place, or else that of the oldest client, which it dismisses.
Server::Client& Server::free_place() {
    Client& oldest = *std::min_element(clients_.begin(), clients_.end(),
                                       [](const Client& one, const Client& other) {
                                           if (one.socket.valid() != other.socket.valid())
                                               return !one.socket.valid();
                                           return one.since < other.since;
                                       });
    dismiss(oldest);
    return oldest;
}

void Server::admit() {
    support::UniqueFd socket(
        accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!socket.valid()) {
        if (errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS) {
            epoll_ctl(poll_.get(), EPOLL_CTL_DEL, listener_.get(), nullptr);
            listening_ = false;
        }
        return;
    }
    if (!is_of_owner(socket.get())) return;
    Client& client = free_place();
    const auto place = static_cast<std::uint32_t>(place_of(client));
    if (!watch(socket.get(), place, EPOLLIN)) return;
    keep(place, socket.get());
    client = {std::move(socket), Clock::now(), {}, {}, 0};
}

void Server::go_on(Client& client) {
    if (client.answer.empty()) {
        if (!read_request(client)) return;
        prepare_answer(client);
        if (!watch(client.socket.get(), static_cast<std::uint32_t>(place_of(client)), EPOLLOUT))
            return dismiss(client);
    }
    if (!send_answer(client)) dismiss(client);
}

/// @return whether the line is complete. Dismisses a client that has gone or has sent too much.
bool Server::read_request(Client& client) {
    std::array<char, status_socket::kLongestRequest> bytes;
    const ssize_t got = recv(client.socket.get(), bytes.data(), bytes.size(), 0);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) return false;
    if (got > 0) client.request.append(bytes.data(), static_cast<std::size_t>(got));
    const bool whole = client.request.ends_with('\n');
    if (got <= 0 || client.request.size() > status_socket::kLongestRequest ||
        (!whole && client.request.find('\n') != std::string::npos))
        dismiss(client);
    return whole && client.socket.valid();
}

void Server::prepare_answer(Client& client) {
    std::string document;
    if (client.request == status_socket::kStatus) {
        Snapshot snapshot = take_snapshot(process_);
        ages_.observe(snapshot);
        document = write_document(snapshot, library_, kResolution);
    }
    client.answer = fmt::format("{}\n", document.size()) + document;
}

/// @return whether something is left to send.
bool Server::send_answer(Client& client) const {
    const ssize_t put = send(client.socket.get(), client.answer.data() + client.sent,
                             client.answer.size() - client.sent, MSG_NOSIGNAL);
    if (put < 0) return errno == EAGAIN || errno == EINTR;
    client.sent += static_cast<std::size_t>(put);
    return client.sent < client.answer.size();
}

void Server::dismiss(Client& client) {
    if (client.socket.valid()) {
        keep(static_cast<std::uint32_t>(place_of(client)), -1);
        // Both take effect even if a forked child has a copy of the socket.
        epoll_ctl(poll_.get(), EPOLL_CTL_DEL, client.socket.get(), nullptr);
        shutdown(client.socket.get(), SHUT_RDWR);
    }
    client = {};
}

}  // namespace dapl::status
