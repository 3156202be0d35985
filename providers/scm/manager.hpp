// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The connection manager over TCP sockets.
#pragma once

#include "dapl/cm/manager.hpp"
#include "providers/exchange/path.hpp"
#include "providers/sockets/host.hpp"

namespace dapl::scm {

class Manager final : public cm::Manager {
  public:
    Manager(cm::LoopHold running, std::string_view ia_name, cm::OpenDevice device,
            const sockaddr_in& address);
    ~Manager() override EXCLUDES(connection_lock);

    const cm::Adapter& adapter() const override { return adapter_; }
    const char* name() const override { return "SCM"; }
    void explain(const support::Facts& facts) const override;
    DAT_COUNT max_private_data() const override;
    cm::Limits limits() const override;
    std::optional<cm::DatagramService> datagrams() const override;
    support::Result<std::unique_ptr<cm::Connection>> connect(const sockaddr* peer,
                                                             std::uint64_t conn_qual,
                                                             const cm::Parameters& parameters,
                                                             cm::User& user) override
        REQUIRES(connection_lock);
    support::Result<std::unique_ptr<cm::Listener>> listen(std::uint64_t conn_qual,
                                                          cm::ListenUser& user) override
        REQUIRES(connection_lock);

    std::optional<cm::Limits> socket_limits() const override { return exchange::kLimits; }
    support::Result<cm::SocketService*> sockets() override REQUIRES(connection_lock) {
        return &host_;
    }

    sockets::Host& host() { return host_; }
    /// Binds an outgoing connection to the address of the adapter instance, if the user has named
    /// that address.
    /// @return 0 or an errno value.
    int bind_outgoing(int socket) const;
    /// Reports the first time only.
    void tell_no_descriptor(int error) REQUIRES(connection_lock);

  private:
    const cm::OpenDevice device_;
    const exchange::Port port_;
    cm::Adapter adapter_;
    sockets::Host host_;
    bool binds_outgoing_;
    bool told_no_descriptor_ GUARDED_BY(connection_lock) = false;
};

/// Library::open_manager.
support::Result<std::unique_ptr<cm::Manager>> open_manager(std::string_view ia_name,
                                                           std::string_view ia_params)
    EXCLUDES(connection_lock);

}  // namespace dapl::scm
