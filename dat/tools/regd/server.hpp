// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The socket of dat_regd: who connects is asked of the kernel, what he says is bounded and
/// checked, and nobody is waited for.
#pragma once

#include <sys/socket.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "dapl/support/unique_fd.hpp"
#include "dat/tools/regd/arbiter.hpp"

namespace regd_tool {

class Server {
  public:
    /// Listens at `path`, for all users. Throws std::runtime_error where that cannot be.
    Server(std::string path, Rules rules);
    ~Server();
    Server(const Server&) = delete;
    Server& operator=(const Server&) = delete;
    /// Serves until `stop` is readable. @param now_and_then called about twice in a second.
    void run(int stop, const std::function<void()>& now_and_then);

  private:
    struct Client {
        support::UniqueFd socket;
        ucred who;
        std::uint64_t number;
    };
    void accept_one();
    /// @return false: it goes.
    bool serve(Client& client);
    bool obey(Client& client, const Message& message);
    bool tell_status(const Client& client);
    void carry_out(const std::vector<Arbiter::Order>& orders);

    const std::string path_;
    support::UniqueFd listener_;
    Arbiter arbiter_;
    std::vector<Client> clients_;
    std::uint64_t next_number_ = 1;
};

}  // namespace regd_tool
