// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The socket of dat_regd. The kernel identifies each client, all messages are bounded and checked,
/// and the server never waits for a client.
#pragma once

#include <poll.h>
#include <sys/socket.h>

#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "support/base/unique_fd.hpp"
#include "tools/regd/arbiter.hpp"

namespace regd_tool {

class Server {
  public:
    /// Listens at `path`, for all users. Throws std::runtime_error on failure.
    Server(std::string path, Rules rules);
    ~Server();
    Server(const Server&) = delete;
    Server& operator=(const Server&) = delete;
    /// Serves until `stop` is readable. @param now_and_then called about twice a second.
    void run(int stop, const std::function<void()>& now_and_then);

  private:
    struct Client {
        support::UniqueFd socket;
        ucred who;
        std::uint64_t number;
        /// Rows of the status, and their end, that did not fit into the socket yet.
        std::deque<Message> answer;
    };
    void accept_one();
    bool make_room_for(uid_t user);
    void end(std::size_t place);
    /// @param polled one for each client.
    void serve_clients(const pollfd* polled);
    /// @return false: the client must be disconnected.
    bool serve(Client& client, const pollfd& polled);
    bool obey(Client& client, const Message& message);
    void begin_status(Client& client) const;
    bool send_status(Client& client);
    void carry_out(const std::vector<Arbiter::Order>& orders);

    const std::string path_;
    support::UniqueFd listener_;
    Arbiter arbiter_;
    std::vector<Client> clients_;
    std::uint64_t next_number_ = 1;
};

}  // namespace regd_tool
