// SPDX-License-Identifier: BSD-2-Clause
#include "tools/perf/device.hpp"

#include <arpa/inet.h>
#include <dat2/dat_ib_extensions.h>
#include <netinet/in.h>

#include <cstring>

#include "tools/common/failure.hpp"

namespace perf {

using tools::Deadline;
using tools::event_name;
using tools::Failure;
using tools::format;
using tools::require_success;

namespace {

constexpr DAT_CONN_QUAL kQualifier = 45310;
constexpr DAT_COUNT kAsyncEvents = 8;
constexpr double kSliceUs = 500e3;
constexpr const char* kFault = "report this as a fault of the provider";

bool is_true(const DAT_PROVIDER_ATTR& attributes, const char* name) {
    for (int i = 0; i < attributes.num_provider_specific_attr; ++i) {
        const DAT_NAMED_ATTR& attribute = attributes.provider_specific_attr[i];
        if (std::strcmp(attribute.name, name) == 0)
            return std::strcmp(attribute.value, "TRUE") == 0;
    }
    return false;
}

std::size_t size_of(const sockaddr& address) {
    return address.sa_family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6);
}

sockaddr_in6 parse_address(const std::string& text) {
    sockaddr_in6 address{};
    const std::size_t size = text.size() / 2;
    auto* bytes = reinterpret_cast<unsigned char*>(&address);
    bool good = size <= sizeof address && size >= sizeof(sockaddr_in) && text.size() % 2 == 0 &&
                text.find_first_not_of("0123456789abcdef") == std::string::npos;
    for (std::size_t i = 0; good && i < size; ++i)
        bytes[i] = static_cast<unsigned char>(std::stoul(text.substr(2 * i, 2), nullptr, 16));
    good = good && (address.sin6_family == AF_INET || address.sin6_family == AF_INET6);
    if (!good) {
        throw Failure("address of the server", "'" + text.substr(0, 60) + "'", "a socket address",
                      "run the same version of dat_perf on both sides");
    }
    return address;
}

}  // namespace

Device::Device(const std::string& provider) {
    std::string name = provider;
    const DAT_RETURN code = dat_ia_open(name.data(), kAsyncEvents, &async_evd_, &ia_);
    if (code != DAT_SUCCESS) ia_ = DAT_HANDLE_NULL;
    tools::require_open(code, provider);
    query();
    require_success(dat_pz_create(ia_, &pz_), "dat_pz_create", kFault);
}

Device::~Device() {
    if (ia_ != DAT_HANDLE_NULL) dat_ia_close(ia_, DAT_CLOSE_ABRUPT_FLAG);
}

void Device::query() {
    DAT_PROVIDER_ATTR provider{};
    require_success(dat_ia_query(ia_, nullptr, DAT_IA_FIELD_ALL, &attributes_,
                                 DAT_PROVIDER_FIELD_ALL, &provider),
                    "dat_ia_query", kFault);
    provider_name_ = provider.provider_name;
    const auto offer = [this](Operation operation, bool offered) {
        if (offered) offered_ |= 1U << static_cast<unsigned>(operation);
    };
    const bool extended = attributes_.extension_supported == DAT_EXTENSION_IB;
    offer(Operation::send, true);
    offer(Operation::write, true);
    offer(Operation::read, attributes_.max_rdma_read_per_ep_out > 0);
    offer(Operation::write_immediate, extended && is_true(provider, DAT_IB_ATTR_IMMED_DATA));
    offer(Operation::fetch_add, extended && is_true(provider, DAT_IB_ATTR_FETCH_AND_ADD));
    offer(Operation::compare_swap, extended && is_true(provider, DAT_IB_ATTR_CMP_AND_SWAP));
    offer(Operation::registration, true);
    offer(Operation::registration_write, true);
}

std::string Device::address() const {
    const auto* address = reinterpret_cast<const sockaddr*>(attributes_.ia_address_ptr);
    const auto* bytes = reinterpret_cast<const unsigned char*>(address);
    std::string text;
    for (std::size_t i = 0; i < size_of(*address); ++i) text += format("%02x", bytes[i]);
    return text;
}

void Device::create_connection_evds(unsigned connections) {
    const auto length = static_cast<DAT_COUNT>(connections + 8);
    require_success(
        dat_evd_create(ia_, length, DAT_HANDLE_NULL, DAT_EVD_CONNECTION_FLAG, &connection_evd_),
        "dat_evd_create", "use fewer endpoints");
    require_success(dat_evd_create(ia_, length, DAT_HANDLE_NULL, DAT_EVD_CR_FLAG, &request_evd_),
                    "dat_evd_create", "use fewer endpoints");
}

void Device::listen() {
    require_success(dat_psp_create(ia_, kQualifier, request_evd_, DAT_PSP_CONSUMER_FLAG, &psp_),
                    "dat_psp_create",
                    "end the other dat_perf server on this device, or wait until it has ended");
}

DAT_EVENT Device::next_event(DAT_EVD_HANDLE evd, const char* what, const Deadline& deadline) {
    DAT_EVENT event{};
    DAT_COUNT more = 0;
    for (;;) {
        const DAT_RETURN code = dat_evd_wait(
            evd, static_cast<DAT_TIMEOUT>(deadline.left_us(kSliceUs)), 1, &event, &more);
        if (code == DAT_SUCCESS) return event;
        if (DAT_GET_TYPE(code) != DAT_TIMEOUT_EXPIRED && DAT_GET_TYPE(code) != DAT_INTERRUPTED_CALL)
            require_success(code, "dat_evd_wait", kFault);
        if (!deadline.passed()) continue;
        throw Failure("dat_evd_wait", "no event",
                      format("%s within %.0f seconds", what, deadline.seconds()),
                      "check the other side, which may hang; --timeout allows more time");
    }
}

void Device::await_established(std::size_t count, const Deadline& deadline) {
    for (; count > 0; --count) {
        const DAT_EVENT event =
            next_event(connection_evd_, "DAT_CONNECTION_EVENT_ESTABLISHED", deadline);
        tools::require_established(event.event_number, "dat_ep_connect");
    }
}

void Device::connect_all(const std::vector<DAT_EP_HANDLE>& endpoints, const std::string& address,
                         unsigned timeout_seconds) {
    sockaddr_in6 to = parse_address(address);
    const Deadline deadline(timeout_seconds);
    for (std::size_t i = 0; i < endpoints.size(); ++i) {
        std::uint32_t index = htonl(static_cast<std::uint32_t>(i));
        require_success(dat_ep_connect(endpoints[i], reinterpret_cast<DAT_IA_ADDRESS_PTR>(&to),
                                       kQualifier, timeout_seconds * 1'000'000, sizeof index,
                                       &index, DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG),
                        "dat_ep_connect",
                        "check that the server's address can be reached by this provider");
    }
    await_established(endpoints.size(), deadline);
}

void Device::accept_all(const std::vector<DAT_EP_HANDLE>& endpoints, const Deadline& deadline) {
    for (std::size_t i = 0; i < endpoints.size(); ++i) {
        const DAT_EVENT event = next_event(request_evd_, "DAT_CONNECTION_REQUEST_EVENT", deadline);
        const DAT_CR_HANDLE request = event.event_data.cr_arrival_event_data.cr_handle;
        DAT_CR_PARAM parameters{};
        require_success(dat_cr_query(request, DAT_CR_FIELD_ALL, &parameters), "dat_cr_query",
                        kFault);
        std::uint32_t index = 0;
        if (parameters.private_data_size >= static_cast<DAT_COUNT>(sizeof index))
            std::memcpy(&index, parameters.private_data, sizeof index);
        index = ntohl(index);
        if (index >= endpoints.size()) {
            throw Failure("dat_cr_query", format("a request for endpoint %u", index),
                          format("one of %zu endpoints", endpoints.size()),
                          "check that the peer is a dat_perf");
        }
        require_success(dat_cr_accept(request, endpoints[index], 0, nullptr), "dat_cr_accept",
                        "look at the client's messages: it may have given up");
    }
    await_established(endpoints.size(), deadline);
}

void Device::disconnect_all(const std::vector<DAT_EP_HANDLE>& endpoints, const Deadline& deadline) {
    // The other side may have disconnected first; an error is ignored here.
    for (DAT_EP_HANDLE endpoint : endpoints) dat_ep_disconnect(endpoint, DAT_CLOSE_DEFAULT);
    for (std::size_t i = 0; i < endpoints.size(); ++i) {
        const DAT_EVENT event =
            next_event(connection_evd_, "DAT_CONNECTION_EVENT_DISCONNECTED", deadline);
        if (event.event_number != DAT_CONNECTION_EVENT_DISCONNECTED)
            connection_ended(event.event_number);
    }
}

void Device::require_connections() {
    DAT_EVENT event;
    if (dat_evd_dequeue(connection_evd_, &event) == DAT_SUCCESS)
        ended_by_ = static_cast<unsigned>(event.event_number);
    if (ended_by_ != 0) connection_ended(static_cast<DAT_EVENT_NUMBER>(ended_by_.load()));
}

void Device::connection_ended(DAT_EVENT_NUMBER number) const {
    throw Failure("connection", event_name(number), "an established connection",
                  "look at the other side's messages: it may have ended");
}

}  // namespace perf
