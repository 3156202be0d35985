// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Answers dat_stat on a socket in a directory of the user's own. The core's service thread serves
/// it without holding a lock, so it may take those of the object tree in their order. The server
/// exists while an adapter instance is open and OPENDAT_STATUS is on.
#pragma once

#include <array>
#include <memory>
#include <string>

#include "dapl/adapter/service_thread.hpp"
#include "dapl/status/ages.hpp"
#include "support/base/private_directory.hpp"

namespace dapl::status {

class Server final : private ServiceThread::Handler {
  public:
    /// The counters are sampled at this interval, which is the resolution of ages.
    static constexpr std::chrono::milliseconds kResolution{1000};
    static constexpr int kMostClients = 8;
    /// A client that has not sent its request or read its answer after this time is dismissed.
    static constexpr std::chrono::seconds kPatience{10};

    /// @return nullptr if the setting is off, or if the system or the directory refuses, which is
    /// reported to the user. Throws std::bad_alloc.
    static std::unique_ptr<Server> start(ProcessState& process, ServiceThread& service);
    /// Waits for serve(): the caller must not hold a lock for which take_snapshot() waits without a
    /// time limit.
    ~Server();
    Server(const Server&) = delete;
    Server& operator=(const Server&) = delete;

  private:
    struct Client {
        support::UniqueFd socket;
        Clock::time_point since;
        std::string request, answer;
        std::size_t sent = 0;
    };

    Server(ProcessState& process, ServiceThread& service, support::PrivateDirectory directory);
    /// open(), listen() and bind_as() return 0 or an errno value.
    int open();
    int listen();
    int bind_as(const std::string& name, support::UniqueFd& listener) const;
    bool watch(int descriptor, std::uint32_t key, std::uint32_t events) const;
    void serve() override;
    void tick();
    void admit();
    Client& free_place();
    void go_on(Client& client);
    bool read_request(Client& client);
    void prepare_answer(Client& client);
    bool send_answer(Client& client) const;
    std::size_t place_of(const Client& client) const { return &client - clients_.data(); }
    void dismiss(Client& client);

    ProcessState& process_;
    ServiceThread& service_;
    const support::PrivateDirectory directory_;
    const std::string library_;
    std::string name_;  ///< name of the socket in the directory; empty until it exists
    support::UniqueFd poll_, timer_, listener_;
    bool listening_ = false;  ///< the listener is watched
    std::array<Client, kMostClients> clients_;
    Ages ages_;
};

}  // namespace dapl::status
