// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// One end of a conversation with every case on which two implementations of DAT must agree. It
/// uses only what the reference exports too, so that it runs on the libraries of either, and prints
/// one line for each step: `CASE: CALL OR EVENT: ANSWER`. It does not know the expected lines:
/// those of both ends are compared with those of the reference talking to itself.
#include <dat2/udat.h>
#include <endian.h>

#include <algorithm>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "test/support/address_file.hpp"
#include "test/support/process.hpp"

namespace {

const DAT_TIMEOUT kPatienceUs = test::in_microseconds(test::kDeadline);
constexpr DAT_COUNT kEvents = 32;
constexpr std::uint32_t kRegion = 64 * 1024;
constexpr std::uint32_t kMessageSizes[] = {1, 4096, kRegion};
/// Receives posted before the connection, more than its messages need. None is posted later, since
/// a device need not flush one that is posted after the peer's disconnect (siw does not).
constexpr unsigned kReceives = 12;
enum Seed : unsigned { kRequest = 1, kReply, kReject, kFromClient, kFromServer };

const char* current_case = "start";

[[gnu::format(printf, 1, 2)]] void say(const char* format, ...) {
    std::printf("%s: ", current_case);
    va_list arguments;
    va_start(arguments, format);
    std::vprintf(format, arguments);
    va_end(arguments);
    std::putchar('\n');
    std::fflush(stdout);
}

/// Ends the process: later lines could not be distinguished from consequences of this failure.
[[noreturn]] void give_up() {
    say("given up");
    std::exit(1);
}

void call(const char* name, DAT_RETURN code) {
    say("%s: 0x%08x", name, code);
    if (code != DAT_SUCCESS) give_up();
}

/// Prints no line for a success, as the result is the same with every implementation.
void quietly(const char* name, DAT_RETURN code) {
    if (code != DAT_SUCCESS) call(name, code);
}

// -- memory -----------------------------------------------------------------------------------

std::vector<unsigned char> pattern(unsigned seed, std::size_t size) {
    std::vector<unsigned char> bytes(size);
    for (std::size_t i = 0; i < size; ++i)
        bytes[i] = static_cast<unsigned char>(i * 7 + i / 256 + seed);
    return bytes;
}

const char* compared(const void* found, unsigned seed, std::size_t size) {
    if (size == 0) return "nothing sent";
    if (found == nullptr) return "no data";
    return std::memcmp(found, pattern(seed, size).data(), size) == 0 ? "as sent" : "NOT as sent";
}

struct Adapter {
    DAT_IA_HANDLE ia = DAT_HANDLE_NULL;
    DAT_PZ_HANDLE pz = DAT_HANDLE_NULL;
    DAT_EVD_HANDLE async = DAT_HANDLE_NULL, requests = DAT_HANDLE_NULL;
    DAT_COUNT private_data_size = 0;
    std::vector<unsigned char> private_data(unsigned seed) const {
        return pattern(seed, static_cast<std::size_t>(private_data_size));
    }
};

struct Region {
    std::vector<unsigned char> bytes = std::vector<unsigned char>(kRegion);
    DAT_LMR_HANDLE lmr = DAT_HANDLE_NULL;
    DAT_LMR_CONTEXT local_key = 0;
    DAT_RMR_CONTEXT remote_key = 0;

    explicit Region(const Adapter& adapter) {
        DAT_REGION_DESCRIPTION description{};
        description.for_va = bytes.data();
        DAT_VLEN length = 0;
        DAT_VADDR address = 0;
        quietly("dat_lmr_create",
                dat_lmr_create(adapter.ia, DAT_MEM_TYPE_VIRTUAL, description, bytes.size(),
                               adapter.pz, DAT_MEM_PRIV_ALL_FLAG, DAT_VA_TYPE_VA, &lmr, &local_key,
                               &remote_key, &length, &address));
    }
    DAT_LMR_TRIPLET first(std::uint32_t size) const {
        DAT_LMR_TRIPLET triplet{};
        triplet.virtual_address = reinterpret_cast<std::uintptr_t>(bytes.data());
        triplet.segment_length = size;
        triplet.lmr_context = local_key;
        return triplet;
    }
    /// Fills the bytes in place, since their address is registered with the device.
    void fill(unsigned seed) {
        const auto wanted = pattern(seed, bytes.size());
        std::copy(wanted.begin(), wanted.end(), bytes.begin());
    }
};

// -- one connection's end ---------------------------------------------------------------------

DAT_EVENT wait_event(DAT_EVD_HANDLE evd, const char* what) {
    DAT_EVENT event{};
    DAT_COUNT more = 0;
    const DAT_RETURN code = dat_evd_wait(evd, kPatienceUs, 1, &event, &more);
    if (code != DAT_SUCCESS) call(what, code);
    return event;
}

class Endpoint {
  public:
    explicit Endpoint(const Adapter& adapter) : out(adapter), in(adapter), target(adapter) {
        for (DAT_EVD_HANDLE* evd : {&receives_, &requests_})
            quietly("dat_evd_create",
                    dat_evd_create(adapter.ia, kEvents, DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG, evd));
        quietly("dat_evd_create", dat_evd_create(adapter.ia, kEvents, DAT_HANDLE_NULL,
                                                 DAT_EVD_CONNECTION_FLAG, &connections_));
        quietly("dat_ep_create", dat_ep_create(adapter.ia, adapter.pz, receives_, requests_,
                                               connections_, nullptr, &handle));
        for (unsigned i = 0; i < kReceives; ++i) post_receive();
    }

    void connection_event(std::size_t wanted_size, unsigned seed) const {
        const DAT_EVENT event = wait_event(connections_, "connection event");
        const DAT_CONNECTION_EVENT_DATA& data = event.event_data.connect_event_data;
        say("connection event: 0x%05x", event.event_number);
        say("private data of the event: size %d, %s", data.private_data_size,
            data.private_data_size < static_cast<DAT_COUNT>(wanted_size)
                ? "too short"
                : compared(data.private_data, seed, wanted_size));
        last_event_ = event.event_number;
    }
    void established(std::size_t wanted_size, unsigned seed) const {
        connection_event(wanted_size, seed);
        if (last_event_ != DAT_CONNECTION_EVENT_ESTABLISHED) give_up();
    }
    void state() const {
        DAT_EP_STATE state{};
        const DAT_RETURN code = dat_ep_get_status(handle, &state, nullptr, nullptr);
        say("dat_ep_get_status: 0x%08x, state %d", code, state);
    }

    void send(unsigned seed, std::uint32_t size) {
        out.fill(seed);
        DAT_LMR_TRIPLET segment = out.first(size);
        call("dat_ep_post_send",
             dat_ep_post_send(handle, 1, &segment, cookie(size), DAT_COMPLETION_DEFAULT_FLAG));
        completion(requests_, "send");
    }
    void receive(unsigned seed, std::uint32_t size) {
        completion(receives_, "receive");
        ++received_;
        say("received data: %s", compared(in.bytes.data(), seed, size));
        std::memset(in.bytes.data(), 0, in.bytes.size());
    }
    /// Sends where the peer may write and read; each field in network order.
    void send_target() {
        std::memset(out.bytes.data(), 0, sizeof(Place));
        const Place place{htobe64(reinterpret_cast<std::uintptr_t>(target.bytes.data())),
                          htobe64(target.remote_key)};
        std::memcpy(out.bytes.data(), &place, sizeof place);
        DAT_LMR_TRIPLET segment = out.first(sizeof place);
        quietly("dat_ep_post_send", dat_ep_post_send(handle, 1, &segment, cookie(sizeof place),
                                                     DAT_COMPLETION_DEFAULT_FLAG));
        completion(requests_, "send");
    }
    void receive_target() {
        completion(receives_, "receive");
        ++received_;
        Place place{};
        std::memcpy(&place, in.bytes.data(), sizeof place);
        remote_.virtual_address = be64toh(place.address);
        remote_.rmr_context = static_cast<DAT_RMR_CONTEXT>(be64toh(place.key));
        remote_.segment_length = kRegion;
    }
    void write(unsigned seed) {
        out.fill(seed);
        DAT_LMR_TRIPLET segment = out.first(kRegion);
        call("dat_ep_post_rdma_write",
             dat_ep_post_rdma_write(handle, 1, &segment, cookie(kRegion), &remote_,
                                    DAT_COMPLETION_DEFAULT_FLAG));
        completion(requests_, "RDMA write");
    }
    void read(unsigned seed) {
        std::memset(out.bytes.data(), 0, out.bytes.size());
        DAT_LMR_TRIPLET segment = out.first(kRegion);
        call("dat_ep_post_rdma_read", dat_ep_post_rdma_read(handle, 1, &segment, cookie(kRegion),
                                                            &remote_, DAT_COMPLETION_DEFAULT_FLAG));
        completion(requests_, "RDMA read");
        say("data read: %s", compared(out.bytes.data(), seed, kRegion));
    }
    void check_target(unsigned seed) const {
        say("data written: %s", compared(target.bytes.data(), seed, kRegion));
    }

    /// After the end of the connection: consumes the completion of each receive that is still
    /// posted.
    void flushed() const {
        for (unsigned i = received_; i < kReceives; ++i) completed(receives_, "receive left");
    }
    void free() {
        call("dat_ep_free", dat_ep_free(handle));
        for (DAT_EVD_HANDLE evd : {receives_, requests_, connections_})
            quietly("dat_evd_free", dat_evd_free(evd));
        for (const Region* region : {&out, &in, &target})
            quietly("dat_lmr_free", dat_lmr_free(region->lmr));
    }

    DAT_EP_HANDLE handle = DAT_HANDLE_NULL;
    Region out, in, target;

  private:
    struct Place {
        std::uint64_t address, key;
    };

    static DAT_DTO_COOKIE cookie(std::uint64_t value) {
        DAT_DTO_COOKIE cookie{};
        cookie.as_64 = value;
        return cookie;
    }
    void post_receive() {
        DAT_LMR_TRIPLET segment = in.first(kRegion);
        quietly("dat_ep_post_recv", dat_ep_post_recv(handle, 1, &segment, cookie(kRegion),
                                                     DAT_COMPLETION_DEFAULT_FLAG));
    }
    /// Waits for a completion, which must be a success.
    void completion(DAT_EVD_HANDLE evd, const char* what) const {
        if (completed(evd, what) != DAT_DTO_SUCCESS) give_up();
    }
    DAT_DTO_COMPLETION_STATUS completed(DAT_EVD_HANDLE evd, const char* what) const {
        const DAT_EVENT event = wait_event(evd, what);
        const DAT_DTO_COMPLETION_EVENT_DATA& data = event.event_data.dto_completion_event_data;
        const bool well = data.status == DAT_DTO_SUCCESS;
        say("completion of the %s: event 0x%05x, status %d, length %llu, cookie %llu, %s EP", what,
            event.event_number, data.status,
            well ? static_cast<unsigned long long>(data.transfered_length) : 0ull,
            static_cast<unsigned long long>(data.user_cookie.as_64),
            data.ep_handle == handle ? "this" : "another");
        return data.status;
    }

    DAT_EVD_HANDLE receives_ = DAT_HANDLE_NULL, requests_ = DAT_HANDLE_NULL,
                   connections_ = DAT_HANDLE_NULL;
    mutable DAT_EVENT_NUMBER last_event_{};
    DAT_RMR_TRIPLET remote_{};
    unsigned received_ = 0;
};

// -- what both ends do ------------------------------------------------------------------------

enum class Role { kServer, kClient };

struct End {
    Role role;
    DAT_CONN_QUAL qualifier;
    sockaddr_storage server{};
    Adapter adapter;

    bool is_client() const { return role == Role::kClient; }
    unsigned mine() const { return is_client() ? kFromClient : kFromServer; }
    unsigned theirs() const { return is_client() ? kFromServer : kFromClient; }
};

void open_adapter(Adapter& adapter, char* name) {
    call("dat_ia_open", dat_ia_open(name, kEvents, &adapter.async, &adapter.ia));
    quietly("dat_pz_create", dat_pz_create(adapter.ia, &adapter.pz));
    quietly("dat_evd_create", dat_evd_create(adapter.ia, kEvents, DAT_HANDLE_NULL, DAT_EVD_CR_FLAG,
                                             &adapter.requests));
    DAT_IA_ATTR ia{};
    DAT_PROVIDER_ATTR provider{};
    quietly("dat_ia_query", dat_ia_query(adapter.ia, nullptr, DAT_IA_FIELD_ALL, &ia,
                                         DAT_PROVIDER_FIELD_ALL, &provider));
    adapter.private_data_size = provider.max_private_data_size;
}

void connect(const End& end, const Endpoint& endpoint, DAT_CONN_QUAL qualifier, unsigned seed) {
    auto data = end.adapter.private_data(seed);
    sockaddr_storage address = end.server;
    call("dat_ep_connect",
         dat_ep_connect(endpoint.handle, reinterpret_cast<DAT_IA_ADDRESS_PTR>(&address), qualifier,
                        DAT_TIMEOUT_INFINITE, end.adapter.private_data_size, data.data(),
                        DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG));
}

/// Waits for a connection request and checks its private data. @return the request
DAT_CR_HANDLE request(const End& end) {
    const DAT_EVENT event = wait_event(end.adapter.requests, "connection request");
    const DAT_CR_ARRIVAL_EVENT_DATA& arrival = event.event_data.cr_arrival_event_data;
    say("connection request: event 0x%05x, %s qualifier", event.event_number,
        arrival.conn_qual == end.qualifier ? "our" : "another");
    if (event.event_number != DAT_CONNECTION_REQUEST_EVENT) give_up();
    DAT_CR_PARAM parameters{};
    quietly("dat_cr_query", dat_cr_query(arrival.cr_handle, DAT_CR_FIELD_ALL, &parameters));
    const auto wanted = static_cast<std::size_t>(end.adapter.private_data_size);
    say("private data of the request: size %d, %s", parameters.private_data_size,
        parameters.private_data_size < end.adapter.private_data_size
            ? "too short"
            : compared(parameters.private_data, kRequest, wanted));
    return arrival.cr_handle;
}

/// Sends and checks one message each way: the client's first, as iWARP requires.
void exchange(const End& end, Endpoint& endpoint, std::uint32_t size) {
    if (end.is_client()) endpoint.send(end.mine(), size);
    endpoint.receive(end.theirs(), size);
    if (!end.is_client()) endpoint.send(end.mine(), size);
}

void establish(const End& end, Endpoint& endpoint) {
    if (end.is_client()) {
        connect(end, endpoint, end.qualifier, kRequest);
        endpoint.established(end.adapter.private_data(kReply).size(), kReply);
    } else {
        const DAT_CR_HANDLE cr = request(end);
        auto data = end.adapter.private_data(kReply);
        call("dat_cr_accept",
             dat_cr_accept(cr, endpoint.handle, end.adapter.private_data_size, data.data()));
        endpoint.established(0, 0);
    }
    endpoint.state();
}

void write(const End& end, Endpoint& endpoint) {
    if (end.is_client()) endpoint.send_target();
    endpoint.receive_target();
    if (!end.is_client()) endpoint.send_target();
    if (end.is_client()) endpoint.write(end.mine());
    exchange(end, endpoint, 1);
    if (!end.is_client()) {
        endpoint.check_target(end.theirs());
        endpoint.write(end.mine());
    }
    // The server's second message arrives after its write, in order.
    exchange(end, endpoint, 1);
    if (end.is_client()) endpoint.check_target(end.theirs());
}

void read(const End& end, Endpoint& endpoint) {
    endpoint.target.fill(end.mine());
    exchange(end, endpoint, 1);
    if (end.is_client()) endpoint.read(end.theirs());
    exchange(end, endpoint, 1);
    if (!end.is_client()) endpoint.read(end.theirs());
    exchange(end, endpoint, 1);
}

void disconnect(const End& end, Endpoint& endpoint, Role active) {
    if (end.role == active)
        call("dat_ep_disconnect", dat_ep_disconnect(endpoint.handle, DAT_CLOSE_ABRUPT_FLAG));
    endpoint.connection_event(0, 0);
    endpoint.state();
    endpoint.flushed();
    endpoint.free();
}

void reject(const End& end, DAT_COUNT size) {
    if (end.is_client()) {
        Endpoint endpoint(end.adapter);
        connect(end, endpoint, end.qualifier, kRequest);
        endpoint.connection_event(static_cast<std::size_t>(size), kReject);
        endpoint.state();
        endpoint.free();
        return;
    }
    auto data = end.adapter.private_data(kReject);
    const DAT_CR_HANDLE cr = request(end);
    call("dat_cr_reject", dat_cr_reject(cr, size, size == 0 ? nullptr : data.data()));
}

void nobody_listens(const End& end) {
    if (!end.is_client()) return;
    Endpoint endpoint(end.adapter);
    connect(end, endpoint, end.qualifier + 1, kRequest);
    endpoint.connection_event(0, 0);
    endpoint.state();
    endpoint.free();
}

void converse(const End& end) {
    Endpoint first(end.adapter);
    current_case = "connect";
    establish(end, first);
    current_case = "send";
    for (const std::uint32_t size : kMessageSizes) exchange(end, first, size);
    current_case = "RDMA write";
    write(end, first);
    current_case = "RDMA read";
    read(end, first);
    current_case = "disconnect by the client";
    disconnect(end, first, Role::kClient);
    current_case = "disconnect by the server";
    Endpoint second(end.adapter);
    establish(end, second);
    exchange(end, second, 1);
    disconnect(end, second, Role::kServer);
    current_case = "reject with data";
    reject(end, end.adapter.private_data_size);
    current_case = "reject without data";
    reject(end, 0);
    current_case = "nobody listens";
    nobody_listens(end);
    // Until this one comes the server is there: over datagrams it is the server's own library, not
    // its machine, which answers that nobody listens.
    current_case = "last request";
    reject(end, 0);
}

int usage() {
    std::fputs(
        "usage: interoperation_peer IA QUALIFIER             server; prints a line when it "
        "listens\n"
        "       interoperation_peer IA QUALIFIER ADDRESS     client of the server there (IPv4)\n"
        "With DAT_TEST_ADDRESS_FILE the client reads the address that the server left there.\n",
        stderr);
    return 2;
}

int run(int count, char** arguments) {
    End end{count == 4 ? Role::kClient : Role::kServer,
            std::strtoull(arguments[2], nullptr, 0),
            {},
            {}};
    if (end.is_client() && !test::find_server(arguments[3], end.server)) return usage();
    open_adapter(end.adapter, arguments[1]);
    DAT_PSP_HANDLE psp = DAT_HANDLE_NULL;
    if (!end.is_client()) {
        call("dat_psp_create", dat_psp_create(end.adapter.ia, end.qualifier, end.adapter.requests,
                                              DAT_PSP_CONSUMER_FLAG, &psp));
        if (!test::leave_address(end.adapter.ia)) give_up();
        say("listening");
    }
    converse(end);
    current_case = "end";
    if (psp != DAT_HANDLE_NULL) call("dat_psp_free", dat_psp_free(psp));
    call("dat_ia_close", dat_ia_close(end.adapter.ia, DAT_CLOSE_ABRUPT_FLAG));
    return 0;
}

}  // namespace

int main(int count, char** arguments) {
    if (count != 3 && count != 4) return usage();
    return run(count, arguments);
}
