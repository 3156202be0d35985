// SPDX-License-Identifier: BSD-2-Clause
#include "providers/ucm/listener.hpp"

#include <infiniband/verbs.h>

#include "dapl/base/codes.hpp"
#include "dapl/cm/traced_message.hpp"
#include "providers/ucm/manager.hpp"
#include "providers/ucm/passive.hpp"
#include "support/log/log.hpp"

namespace dapl::ucm {

Listener::~Listener() {
    if (port_ != 0) manager_.service().stop_listening(port_);
}

support::Result<void> Listener::start(std::uint16_t port) {
    if (!manager_.service().listen(port, *this))
        return support::failure(raw(DAT_CONN_QUAL_IN_USE), "port " + std::to_string(port));
    port_ = port;
    return {};
}

void Listener::take(const Message& request) {
    const std::uint32_t id = manager_.service().free_id();
    if (id == 0) {
        support::trace(support::Level::kDebug, "IA {}: a request is refused: no id is left",
                       manager_.ia_name);
        return manager_.service().refuse(request);
    }
    auto connection = std::make_unique<PassiveConnection>(manager_, request, id);
    trace_received(*connection, nullptr, cm::message::kRequest, request.private_data_size);
    user_.request(std::move(connection), request.given_private_data());
}

}  // namespace dapl::ucm
