// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Creating and freeing the DAT objects, and the connection. Transfers are in transfer.cpp.
#include "test/dtest/endpoint.hpp"

#include <dat2/dat_ib_extensions.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "tools/common/failure.hpp"

namespace dtest {

using namespace tools;

namespace {

constexpr DAT_COUNT kFewEvents = 10;
constexpr std::uint32_t kControlLength = 64;
constexpr DAT_COUNT kReadsAtOnce = 4;
constexpr double kConnectTimeoutUs = 100e6;

bool attribute_is_true(const DAT_PROVIDER_ATTR& attributes, const char* name) {
    for (int i = 0; i < attributes.num_provider_specific_attr; ++i) {
        const DAT_NAMED_ATTR& attribute = attributes.provider_specific_attr[i];
        if (std::strcmp(attribute.name, name) == 0)
            return std::strcmp(attribute.value, "TRUE") == 0;
    }
    return false;
}

}  // namespace

template <class Call>
DAT_RETURN Endpoint::timed(const char* step, Call call) {
    if (options_.verbose) std::printf("%d %s\n", static_cast<int>(getpid()), step);
    const double start = now_us();
    const DAT_RETURN code = call();
    const double took = now_us() - start;
    for (auto& [name, total] : times_) {
        if (name == step) {
            total += took;
            return code;
        }
    }
    times_.emplace_back(step, took);
    return code;
}

Endpoint::~Endpoint() {
    // Cleans up after a failure; an error here would only hide the message of that failure.
    if (ia_ != DAT_HANDLE_NULL) dat_ia_close(ia_, DAT_CLOSE_ABRUPT_FLAG);
}

void Endpoint::open(const std::string& provider) {
    std::string name = provider;
    const DAT_RETURN code =
        timed("open", [&] { return dat_ia_open(name.data(), 8, &async_evd_, &ia_); });
    if (code != DAT_SUCCESS) ia_ = DAT_HANDLE_NULL;
    tools::require_open(code, provider);
    query();
}

void Endpoint::query() {
    DAT_PROVIDER_ATTR provider = {};
    require_success(dat_ia_query(ia_, nullptr, DAT_IA_FIELD_ALL, &ia_attributes_,
                                 DAT_PROVIDER_FIELD_ALL, &provider),
                    "dat_ia_query", "report this as a fault of the provider");
    offers_read_ = attribute_is_true(provider, "DAT_IB_RDMA_READ");
    offers_immediate_ = attribute_is_true(provider, DAT_IB_ATTR_IMMED_DATA);
    is_infiniband_ = ia_attributes_.extension_supported == DAT_EXTENSION_IB;
    max_private_data_ = provider.max_private_data_size;
    if (!options_.verbose) return;
    for (int i = 0; i < provider.num_provider_specific_attr; ++i) {
        std::printf("%d provider attribute %s = %s\n", static_cast<int>(getpid()),
                    provider.provider_specific_attr[i].name,
                    provider.provider_specific_attr[i].value);
    }
}

const sockaddr* Endpoint::address() const {
    return reinterpret_cast<const sockaddr*>(ia_attributes_.ia_address_ptr);
}

void Endpoint::create_evd(const char* name, DAT_COUNT length, DAT_CNO_HANDLE cno,
                          DAT_EVD_FLAGS flags, DAT_EVD_HANDLE& evd) {
    require_success(
        timed("EVD create", [&] { return dat_evd_create(ia_, length, cno, flags, &evd); }),
        "dat_evd_create", "use a smaller -S");
    DAT_EVD_PARAM parameters{};
    require_success(dat_evd_query(evd, DAT_EVD_FIELD_ALL, &parameters), "dat_evd_query",
                    "report this as a fault of the provider");
    if (parameters.evd_qlen < length) {
        throw Failure(
            "dat_evd_query", format("evd_qlen %d for the %s EVD", parameters.evd_qlen, name),
            format("at least the %d asked for", length), "report this as a fault of the provider");
    }
}

void Endpoint::create(const Capacity& capacity) {
    capacity_ = capacity;
    const char* fault = "report this as a fault of the provider";
    require_success(timed("PZ create", [&] { return dat_pz_create(ia_, &pz_); }), "dat_pz_create",
                    fault);
    if (options_.cno) {
        require_success(
            timed("CNO create",
                  [&] { return dat_cno_create(ia_, DAT_OS_WAIT_PROXY_AGENT_NULL, &cno_); }),
            "dat_cno_create", "run without -c");
    }
    const auto requests = static_cast<DAT_COUNT>(capacity.requests);
    const auto receives = static_cast<DAT_COUNT>(capacity.receive_slots());
    create_evd("connection request", kFewEvents, DAT_HANDLE_NULL, DAT_EVD_CR_FLAG, cr_evd_);
    create_evd("connection", kFewEvents, DAT_HANDLE_NULL, DAT_EVD_CONNECTION_FLAG, connection_evd_);
    create_evd("request", requests, cno_, DAT_EVD_DTO_FLAG, request_evd_);
    create_evd("receive", receives, cno_, DAT_EVD_DTO_FLAG, receive_evd_);

    const std::size_t window_bytes = std::size_t{capacity.window} * capacity.slot_size;
    timed("LMR create", [&] {
        source_.create(ia_, pz_, window_bytes, DAT_MEM_PRIV_ALL_FLAG);
        target_.create(ia_, pz_, window_bytes, DAT_MEM_PRIV_ALL_FLAG);
        receive_.create(ia_, pz_, capacity.receive_slots() * slot_bytes(),
                        DAT_MEM_PRIV_LOCAL_WRITE_FLAG);
        control_.create(ia_, pz_, kControlLength, DAT_MEM_PRIV_LOCAL_READ_FLAG);
        return DAT_SUCCESS;
    });
    create_ep();
    post_all_receives();
}

void Endpoint::create_ep() {
    DAT_EP_ATTR attributes{};
    attributes.service_type = DAT_SERVICE_TYPE_RC;
    attributes.max_message_size = capacity_.slot_size;
    attributes.max_rdma_size = capacity_.slot_size;
    attributes.qos = DAT_QOS_BEST_EFFORT;
    attributes.recv_completion_flags = DAT_COMPLETION_DEFAULT_FLAG;
    attributes.request_completion_flags = DAT_COMPLETION_DEFAULT_FLAG;
    attributes.max_recv_dtos = static_cast<DAT_COUNT>(capacity_.receive_slots());
    attributes.max_request_dtos = static_cast<DAT_COUNT>(capacity_.requests);
    attributes.max_recv_iov = 1;
    attributes.max_request_iov = 1;
    attributes.max_rdma_read_in = kReadsAtOnce;
    attributes.max_rdma_read_out = kReadsAtOnce;
    require_success(timed("EP create",
                          [&] {
                              return dat_ep_create(ia_, pz_, receive_evd_, request_evd_,
                                                   connection_evd_, &attributes, &ep_);
                          }),
                    "dat_ep_create", "use a smaller -b or -S: the device's limits are in dtest -v");
}

void Endpoint::post_all_receives() {
    head_ = tail_ = 0;
    released_.assign(capacity_.receive_slots(), false);
    for (unsigned slot = 0; slot < capacity_.receive_slots(); ++slot) post_receive(slot);
}

void Endpoint::close() {
    const char* fault = "report this as a fault of the provider";
    if (ep_ != DAT_HANDLE_NULL) {
        require_success(timed("EP free", [&] { return dat_ep_free(ep_); }), "dat_ep_free", fault);
    }
    ep_ = DAT_HANDLE_NULL;
    if (psp_ != DAT_HANDLE_NULL) require_success(dat_psp_free(psp_), "dat_psp_free", fault);
    psp_ = DAT_HANDLE_NULL;
    for (DAT_EVD_HANDLE* evd : {&receive_evd_, &request_evd_, &connection_evd_, &cr_evd_}) {
        if (*evd == DAT_HANDLE_NULL) continue;
        require_success(timed("EVD free", [&] { return dat_evd_free(*evd); }), "dat_evd_free",
                        fault);
        *evd = DAT_HANDLE_NULL;
    }
    if (cno_ != DAT_HANDLE_NULL) {
        require_success(timed("CNO free", [&] { return dat_cno_free(cno_); }), "dat_cno_free",
                        fault);
    }
    cno_ = DAT_HANDLE_NULL;
    timed("LMR free", [&] {
        for (Region* region : {&source_, &target_, &receive_, &control_}) region->free();
        return DAT_SUCCESS;
    });
    require_success(timed("PZ free", [&] { return dat_pz_free(pz_); }), "dat_pz_free", fault);
    const DAT_IA_HANDLE ia = std::exchange(ia_, DAT_HANDLE_NULL);
    require_success(timed("close", [&] { return dat_ia_close(ia, DAT_CLOSE_GRACEFUL_FLAG); }),
                    "dat_ia_close", fault);
}

void Endpoint::listen(DAT_CONN_QUAL qualifier) {
    require_success(dat_psp_create(ia_, qualifier, cr_evd_, DAT_PSP_CONSUMER_FLAG, &psp_),
                    "dat_psp_create",
                    "end the other server on this device, or wait until it has ended");
}

bool Endpoint::wait_request_event(double microseconds, DAT_EVENT& event) {
    return try_take(cr_evd_, microseconds, event);
}

void Endpoint::accept(DAT_CR_HANDLE request, void* private_data, DAT_COUNT size) {
    require_success(dat_cr_accept(request, ep_, size, private_data), "dat_cr_accept",
                    "look at the client: it may have given up");
}

void Endpoint::connect(const sockaddr* address, DAT_CONN_QUAL qualifier, void* private_data,
                       DAT_COUNT size) {
    auto* to = reinterpret_cast<DAT_IA_ADDRESS_PTR>(const_cast<sockaddr*>(address));
    require_success(
        timed("connect",
              [&] {
                  return dat_ep_connect(
                      ep_, to, qualifier, static_cast<DAT_TIMEOUT>(kConnectTimeoutUs), size,
                      private_data, DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG);
              }),
        "dat_ep_connect", "check that the server's address can be reached through this provider");
}

DAT_EVENT Endpoint::wait_connection_event(const Deadline& deadline) {
    return take_event(connection_evd_, "connection event", deadline);
}

void Endpoint::reset() {
    // Makes a new EP instead of calling dat_ep_reset: not every provider can reuse an EP.
    require_success(dat_ep_free(ep_), "dat_ep_free", "report this as a fault of the provider");
    ep_ = DAT_HANDLE_NULL;
    DAT_EVENT flushed;
    for (DAT_EVD_HANDLE evd : {receive_evd_, request_evd_, connection_evd_}) {
        while (dat_evd_dequeue(evd, &flushed) == DAT_SUCCESS) {
        }
    }
    create_ep();
    post_all_receives();
}

void Endpoint::disconnect(bool active, const Deadline& deadline) {
    if (active) {
        require_success(dat_ep_disconnect(ep_, DAT_CLOSE_DEFAULT), "dat_ep_disconnect",
                        "report this as a fault of the provider");
    }
    const DAT_EVENT event = wait_connection_event(deadline);
    if (event.event_number != DAT_CONNECTION_EVENT_DISCONNECTED) {
        throw Failure("dat_ep_disconnect", event_name(event.event_number),
                      "DAT_CONNECTION_EVENT_DISCONNECTED", "look at the other side's messages");
    }
}

void Endpoint::require_connection() {
    DAT_EVENT event;
    if (dat_evd_dequeue(connection_evd_, &event) != DAT_SUCCESS) return;
    throw Failure("transfer", event_name(event.event_number), "a connection that lasts",
                  "look at the other side's messages: it may have ended");
}

}  // namespace dtest
