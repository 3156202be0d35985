// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The connection manager over datagrams.
#pragma once

#include "dapl/cm/manager.hpp"
#include "providers/exchange/path.hpp"
#include "providers/ucm/service.hpp"

namespace dapl::ucm {

class Manager final : public cm::Manager {
  public:
    Manager(cm::LoopHold running, std::string_view ia_name, cm::OpenDevice device,
            std::shared_ptr<Service> service);
    ~Manager() override EXCLUDES(connection_lock);

    const cm::Adapter& adapter() const override { return adapter_; }
    const char* name() const override { return "UCM"; }
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

    const exchange::Port& port() const { return port_; }
    Service& service() const { return *service_; }

  private:
    const cm::OpenDevice device_;
    exchange::Port port_;
    std::shared_ptr<Service> service_;
    cm::Adapter adapter_;
};

/// Library::open_manager.
support::Result<std::unique_ptr<cm::Manager>> open_manager(std::string_view ia_name,
                                                           std::string_view ia_params)
    EXCLUDES(connection_lock);

}  // namespace dapl::ucm
