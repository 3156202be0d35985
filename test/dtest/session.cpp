// SPDX-License-Identifier: BSD-2-Clause
#include "test/dtest/session.hpp"

#include <arpa/inet.h>
#include <endian.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "test/dtest/side_channel.hpp"
#include "tools/common/failure.hpp"

namespace dtest {

using namespace tools;

namespace {

constexpr DAT_CONN_QUAL kConnQual = 45248;
constexpr double kServerWaitsSeconds = 600;
constexpr std::uint32_t kWindowBudget = 32 << 20;
constexpr std::uint32_t kMaxWindow = 32;
constexpr std::uint32_t kMinSlot = 64;  ///< bytes, enough for control messages

/// The private data of both directions. Every dtest sends and checks the first 48 bytes; by the
/// rest, sent if the provider can carry it, two dtests of this kind recognise each other.
struct PrivateData {
    unsigned char pattern[48];
    char mark[4];
    std::uint32_t abilities;  ///< network order

    static constexpr char kMark[4] = {'O', 'D', 'T', '1'};
    static constexpr std::uint32_t kRead = 1, kImmediate = 2;
};
static_assert(sizeof(PrivateData) == 56, "what the smallest provider carries");

/// @param add what the server adds to each byte of the client's pattern; 0 for the client
PrivateData make_private_data(const Endpoint& endpoint, unsigned add) {
    PrivateData data{};
    for (unsigned i = 0; i < sizeof data.pattern; ++i)
        data.pattern[i] = static_cast<unsigned char>(i + 1 + add);
    std::memcpy(data.mark, PrivateData::kMark, sizeof data.mark);
    data.abilities = htonl((endpoint.offers_read() ? PrivateData::kRead : 0) |
                           (endpoint.offers_immediate() ? PrivateData::kImmediate : 0));
    return data;
}

DAT_COUNT private_data_size(const Endpoint& endpoint) {
    return endpoint.max_private_data() >= static_cast<DAT_COUNT>(sizeof(PrivateData))
               ? sizeof(PrivateData)
               : sizeof(PrivateData::pattern);
}

/// Checks the other side's private data. @return what it says about the other side.
Peer check_private_data(const void* bytes, DAT_COUNT size, unsigned add, const char* call) {
    PrivateData data{};
    if (size < static_cast<DAT_COUNT>(sizeof data.pattern) || bytes == nullptr) {
        throw Failure(call, format("%d bytes of private data", size), "48 or more",
                      "check that the peer is a dtest");
    }
    std::memcpy(&data, bytes, std::min(static_cast<std::size_t>(size), sizeof data));
    for (unsigned i = 0; i < sizeof data.pattern; ++i) {
        if (data.pattern[i] == i + 1 + add) continue;
        throw Failure(call, format("private data byte %u is %u", i, data.pattern[i]),
                      format("%u", i + 1 + add), "check that the peer is a dtest");
    }
    Peer peer;
    if (std::memcmp(data.mark, PrivateData::kMark, sizeof data.mark) != 0) return peer;
    peer.checks = true;
    peer.offers_read = ntohl(data.abilities) & PrivateData::kRead;
    peer.offers_immediate = ntohl(data.abilities) & PrivateData::kImmediate;
    return peer;
}

Capacity plan(const Options& options) {
    const std::uint32_t largest = options.largest_size();
    const std::uint32_t window = std::clamp(kWindowBudget / largest, 1u, kMaxWindow);
    return {std::max(largest, kMinSlot), window, std::max(window, options.signal_rate) + 8};
}

void say(const char* text) {
    std::printf("%d %s\n", static_cast<int>(getpid()), text);
    std::fflush(stdout);
}

void require_established(const DAT_EVENT& event, const char* call) {
    tools::require_established(event.event_number, call);
}

// -- server
// -----------------------------------------------------------------------------------------

DAT_CR_ARRIVAL_EVENT_DATA wait_request(Endpoint& endpoint, const Socket& client,
                                       const Deadline& deadline) {
    DAT_EVENT event;
    while (!endpoint.wait_request_event(deadline.left_us(100e3), event)) {
        const bool closed = peer_closed(client);
        // A client that has ended may have sent its request just before.
        if (closed && endpoint.wait_request_event(0, event)) break;
        if (!closed && !deadline.passed()) continue;
        throw Failure(
            "dat_evd_wait", closed ? "the client has gone" : "no event came",
            format("a DAT_CONNECTION_REQUEST_EVENT within %.0f seconds", deadline.seconds()),
            "look at the client's messages");
    }
    const DAT_CR_ARRIVAL_EVENT_DATA& request = event.event_data.cr_arrival_event_data;
    if (event.event_number != DAT_CONNECTION_REQUEST_EVENT || request.conn_qual != kConnQual) {
        throw Failure("dat_evd_wait",
                      format("%s with conn_qual %llu", event_name(event.event_number).c_str(),
                             static_cast<unsigned long long>(request.conn_qual)),
                      "DAT_CONNECTION_REQUEST_EVENT with conn_qual 45248",
                      "report this as a fault of the provider");
    }
    return request;
}

Peer serve(Endpoint& endpoint, const Options& options) {
    say(("Running as server - " + options.provider).c_str());
    endpoint.open(options.provider);
    endpoint.create(plan(options));
    // Listens before the client gets the record, so that its request cannot come too early.
    endpoint.listen(kConnQual);
    const Socket listener = listen_for_client(kMeetingPoint);
    say("Server is waiting for client connection to send server info");
    const Socket client = accept_client(listener, kMeetingPoint, Deadline(kServerWaitsSeconds));
    const Deadline deadline = patience(options, 0);
    send_record(client, record_for(endpoint.address(), options.provider, options.terms()),
                deadline);
    say("Server waiting for connect request on port 45248");
    const DAT_CR_ARRIVAL_EVENT_DATA request = wait_request(endpoint, client, deadline);
    DAT_CR_PARAM parameters;
    std::memset(&parameters, 0, sizeof parameters);
    require_success(dat_cr_query(request.cr_handle, DAT_CR_FIELD_ALL, &parameters), "dat_cr_query",
                    "report this as a fault of the provider");
    const Peer peer = check_private_data(parameters.private_data, parameters.private_data_size, 0,
                                         "dat_cr_query");
    if (options.delay_seconds != 0) sleep(options.delay_seconds);
    PrivateData reply = make_private_data(endpoint, 1);
    endpoint.accept(
        request.cr_handle, &reply,
        peer.checks ? private_data_size(endpoint) : static_cast<DAT_COUNT>(sizeof reply.pattern));
    require_established(endpoint.wait_connection_event(patience(options, 0)), "dat_cr_accept");
    return peer;
}

// -- client
// -----------------------------------------------------------------------------------------

void adopt(const Record& record, Options& options) {
    if (options.provider_given && options.provider != record.provider) {
        std::fprintf(stderr, "%d Note: using the server's provider %s in place of %s\n",
                     static_cast<int>(getpid()), record.provider.c_str(), options.provider.c_str());
    }
    options.provider = record.provider;
    if (record.terms && *record.terms != options.terms()) {
        throw Failure("options", "this client has " + options.terms().options(),
                      "the server's " + record.terms->options(),
                      "start both sides with the same ones");
    }
}

/// Makes one attempt. @return whether the outcome is final; else the server was not listening yet.
bool try_connect(Endpoint& endpoint, const Record& record, const Deadline& deadline,
                 DAT_EVENT& event) {
    PrivateData data = make_private_data(endpoint, 0);
    const sockaddr_storage address = record.address();
    endpoint.connect(
        reinterpret_cast<const sockaddr*>(&address), kConnQual, &data,
        record.terms ? private_data_size(endpoint) : static_cast<DAT_COUNT>(sizeof data.pattern));
    event = endpoint.wait_connection_event(deadline);
    // Other dtest servers start to listen only after they have sent their record.
    return record.terms || event.event_number != DAT_CONNECTION_EVENT_NON_PEER_REJECTED ||
           deadline.passed();
}

Peer call(Endpoint& endpoint, Options& options) {
    say("Running as client - waiting for server input");
    const Deadline deadline = patience(options, 0);
    const Socket server = connect_to_server(options.host, kMeetingPoint, deadline);
    const Record record = receive_record(server, deadline);
    adopt(record, options);
    say(("Running as " + options.provider + " client").c_str());
    endpoint.open(options.provider);
    endpoint.create(plan(options));
    DAT_EVENT event;
    while (!try_connect(endpoint, record, deadline, event)) {
        usleep(100'000);
        endpoint.reset();
    }
    require_established(event, "dat_ep_connect");
    const DAT_CONNECTION_EVENT_DATA& data = event.event_data.connect_event_data;
    return check_private_data(data.private_data, data.private_data_size, 1, "dat_ep_connect");
}

// -- both
// -------------------------------------------------------------------------------------------

std::uint32_t window_bytes(const Endpoint& endpoint) {
    return endpoint.capacity().window * endpoint.capacity().slot_size;
}

void receive_memory(Endpoint& endpoint, const Options& options, const Peer& peer) {
    const Received received = endpoint.receive(patience(options, 0));
    DAT_RMR_TRIPLET theirs{};
    if (received.length != sizeof theirs) {
        throw Failure("RMR message", format("%u bytes", received.length),
                      format("%zu", sizeof theirs), "check that the peer is a dtest");
    }
    std::memcpy(&theirs, endpoint.receive_slot(received.slot), sizeof theirs);
    endpoint.release_slot(received.slot);
    const std::uint32_t length = be32toh(theirs.segment_length);
    const std::uint32_t needed = peer.checks ? window_bytes(endpoint) : options.size;
    if (length < needed) {
        throw Failure("RMR message", format("a remote buffer of %u bytes", length),
                      format("%u or more", needed), "start both sides with the same -b");
    }
    endpoint.set_remote(be64toh(theirs.virtual_address), be32toh(theirs.rmr_context));
}

}  // namespace

Deadline patience(const Options& options, double bytes) {
    return Deadline(options.timeout_seconds + bytes / 1e6);
}

/// Sends a DAT_RMR_TRIPLET, each field in network order.
void send_memory(Endpoint& endpoint, const Deadline& deadline) {
    DAT_RMR_TRIPLET mine{};
    mine.virtual_address = htobe64(endpoint.target().address());
    mine.segment_length = htobe32(window_bytes(endpoint));
    mine.rmr_context = htobe32(endpoint.target().rmr_context());
    endpoint.send_control(&mine, sizeof mine, deadline);
}

Peer establish(Endpoint& endpoint, Options& options) {
    const Peer peer = options.server() ? serve(endpoint, options) : call(endpoint, options);
    std::printf("\n%d CONNECTED!\n\n", static_cast<int>(getpid()));
    std::fflush(stdout);
    // Over iWARP the side that started the connection has to send first.
    if (!options.server()) send_memory(endpoint, patience(options, 0));
    receive_memory(endpoint, options, peer);
    if (options.server()) send_memory(endpoint, patience(options, 0));
    return peer;
}

}  // namespace dtest
