// SPDX-License-Identifier: BSD-2-Clause
#include "tools/ping/server.hpp"

#include <algorithm>
#include <cstdio>
#include <map>
#include <vector>

#include "tools/common/failure.hpp"
#include "tools/ping/message.hpp"

namespace ping {
namespace {

using tools::require_success;

constexpr std::size_t kMostClients = 64;
/// A client sends its next request when it has the answer, whose buffer may still be in use then.
constexpr unsigned kBuffers = 4;
constexpr DAT_COUNT kEvents = static_cast<DAT_COUNT>(kMostClients * 4 * kBuffers);
constexpr DAT_TIMEOUT kSliceUs = 200'000;

class Server {
  public:
    Server(const std::string& ia, DAT_CONN_QUAL qualifier, bool quiet);
    void run();

  private:
    struct Client {
        std::string host;
        std::unique_ptr<Endpoint> endpoint;
        std::uint64_t answered = 0;
        /// Buffers of messages that came before the event that reports the connection as
        /// established; they can only be answered after it.
        std::vector<unsigned> early{};
        bool established = false;
    };
    using Clients = std::map<std::uint32_t, Client>;

    void serve_control(const DAT_EVENT& event);
    void admit(DAT_CR_HANDLE request);
    Clients::iterator client_of(DAT_EP_HANDLE ep);
    static void answer(Client& client, unsigned buffer);
    void end(Clients::iterator client);
    void serve_transfer(const DAT_DTO_COMPLETION_EVENT_DATA& done);
    void tell(const std::string& line) const {
        if (quiet_) return;
        std::puts(line.c_str());
        std::fflush(stdout);
    }

    Adapter adapter_;
    const bool quiet_;
    Clients clients_;  ///< by the id in their cookies, which is never reused
    std::uint32_t last_id_ = 0;
};

Server::Server(const std::string& ia, DAT_CONN_QUAL qualifier, bool quiet)
    : adapter_(ia, kEvents), quiet_(quiet) {
    adapter_.use_cno();
    DAT_PSP_HANDLE psp = DAT_HANDLE_NULL;
    require_success(
        dat_psp_create(adapter_.ia, qualifier, adapter_.control, DAT_PSP_CONSUMER_FLAG, &psp),
        "dat_psp_create", "end the other program that listens there, or choose another --port");
    tell(tools::format("listening at %s over %s, qualifier %llu",
                       host_text(adapter_.address()).c_str(), ia.c_str(),
                       static_cast<unsigned long long>(qualifier)));
}

void reject(DAT_CR_HANDLE request, Refusal why) {
    auto byte = static_cast<std::uint8_t>(why);
    dat_cr_reject(request, sizeof byte, &byte);
}

void Server::admit(DAT_CR_HANDLE request) {
    DAT_CR_PARAM parameters{};
    if (dat_cr_query(request, DAT_CR_FIELD_ALL, &parameters) != DAT_SUCCESS) return;
    const auto hello = read_hello({static_cast<const std::byte*>(parameters.private_data),
                                   static_cast<std::size_t>(parameters.private_data_size)});
    if (!hello) return reject(request, Refusal::kStrange);
    if (clients_.size() >= kMostClients) return reject(request, Refusal::kFull);
    Client client;
    client.host = host_text(*reinterpret_cast<const sockaddr*>(parameters.remote_ia_address_ptr));
    client.endpoint = std::make_unique<Endpoint>(adapter_, hello->size, kBuffers, ++last_id_);
    bool good = true;
    for (unsigned i = 0; i < kBuffers; ++i) good = client.endpoint->post_receive(i) && good;
    if (!good) return reject(request, Refusal::kFull);
    if (dat_cr_accept(request, client.endpoint->handle(), 0, nullptr) != DAT_SUCCESS) return;
    tell(tools::format("%s: %u bytes a message", client.host.c_str(), hello->size));
    clients_.emplace(last_id_, std::move(client));
}

void Server::end(Clients::iterator client) {
    tell(tools::format("%s: gone, %llu answered", client->second.host.c_str(),
                       static_cast<unsigned long long>(client->second.answered)));
    clients_.erase(client);
}

Server::Clients::iterator Server::client_of(DAT_EP_HANDLE ep) {
    return std::find_if(clients_.begin(), clients_.end(),
                        [ep](const auto& each) { return each.second.endpoint->handle() == ep; });
}

void Server::serve_control(const DAT_EVENT& event) {
    if (event.event_number == DAT_CONNECTION_REQUEST_EVENT)
        return admit(event.event_data.cr_arrival_event_data.cr_handle);
    const auto found = client_of(event.event_data.connect_event_data.ep_handle);
    if (found == clients_.end()) return;
    if (event.event_number != DAT_CONNECTION_EVENT_ESTABLISHED) return end(found);
    Client& client = found->second;
    client.established = true;
    for (const unsigned buffer : client.early) answer(client, buffer);
    client.early.clear();
}

void Server::answer(Client& client, unsigned buffer) {
    if (!client.established)
        client.early.push_back(buffer);
    else if (client.endpoint->post_send(buffer))
        ++client.answered;
}

/// Handles a completion: each buffer is received into, sent from, and received into again. Failures
/// come before the event of the connection's end, which is what removes the client.
void Server::serve_transfer(const DAT_DTO_COMPLETION_EVENT_DATA& done) {
    const Endpoint::Work work = Endpoint::work_of(done.user_cookie);
    const auto found = clients_.find(work.id);
    if (found == clients_.end() || done.status != DAT_DTO_SUCCESS) return;
    Client& client = found->second;
    if (!work.is_receive) {
        client.endpoint->post_receive(work.buffer);
        return;
    }
    const std::span<std::byte> bytes = client.endpoint->buffer(work.buffer);
    if (done.transfered_length != bytes.size() || !turn_into_answer(bytes)) return end(found);
    answer(client, work.buffer);
}

void Server::run() {
    while (!interrupted) {
        DAT_EVD_HANDLE triggered = DAT_HANDLE_NULL;
        const DAT_RETURN code = dat_cno_wait(adapter_.cno, kSliceUs, &triggered);
        const DAT_RETURN type = DAT_GET_TYPE(code);
        const bool in_vain =
            type == DAT_QUEUE_EMPTY || type == DAT_TIMEOUT_EXPIRED || type == DAT_INTERRUPTED_CALL;
        if (!in_vain)
            require_success(code, "dat_cno_wait", "report this as a fault of the provider");
        // One trigger may stand for events of both dispatchers.
        DAT_EVENT event{};
        while (dat_evd_dequeue(adapter_.control, &event) == DAT_SUCCESS) serve_control(event);
        while (dat_evd_dequeue(adapter_.transfers, &event) == DAT_SUCCESS)
            serve_transfer(event.event_data.dto_completion_event_data);
    }
}

}  // namespace

int run_server(const std::string& ia, DAT_CONN_QUAL qualifier, bool quiet) {
    Server(ia, qualifier, quiet).run();
    return 0;
}

}  // namespace ping
