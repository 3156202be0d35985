// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// One process's end of the tests: an adapter instance and its objects. Of the project it uses only
/// installed headers. Reports every failure by an exception, so that it works in children too.
#pragma once

#include <dat2/udat.h>
#include <netinet/in.h>

#include <cstring>
#include <sstream>
#include <string>

#include "test/support/address_file.hpp"
#include "test/support/dat_conf.hpp"
#include "test/support/process.hpp"

namespace test {

/// Throws if the codes differ. @param got, wanted DAT codes. @param what names the call in the
/// text.
inline void expect_code(DAT_RETURN got, DAT_RETURN wanted, const std::string& what) {
    if (got == wanted) return;
    std::ostringstream text;
    text << what << ": 0x" << std::hex << got << ", wanted 0x" << wanted;
    throw std::runtime_error(text.str());
}
inline void succeed(DAT_RETURN got, const std::string& what) {
    expect_code(got, DAT_SUCCESS, what);
}

inline DAT_DTO_COOKIE cookie(DAT_UINT64 value) {
    DAT_DTO_COOKIE result;
    result.as_64 = value;
    return result;
}

/// Where a side over libdaploucm leaves its address, for whoever connects to this qualifier.
inline std::string address_file_for(DAT_CONN_QUAL qualifier) {
    const char* fabric = getenv("SOFTVERBS_FABRIC");
    return std::string(fabric ? fabric : "/tmp") + "/ia-address-" + std::to_string(qualifier);
}
/// @return the address at which somebody listens with this qualifier.
inline sockaddr_storage address_for(DAT_CONN_QUAL qualifier) {
    sockaddr_storage address{};
    const sockaddr_in host = ia_address();
    if (is_over_datagrams())
        find_address(address_file_for(qualifier), address);
    else
        std::memcpy(&address, &host, sizeof host);
    return address;
}
/// Compares two IA addresses, without the port of an IPv4 one.
inline bool same_address(const void* one, const void* other) {
    if (is_over_datagrams()) return std::memcmp(one, other, sizeof(sockaddr_in6)) == 0;
    sockaddr_in first, second;
    std::memcpy(&first, one, sizeof first);
    std::memcpy(&second, other, sizeof second);
    return first.sin_family == AF_INET && second.sin_family == AF_INET &&
           first.sin_addr.s_addr == second.sin_addr.s_addr;
}

/// Memory that a peer may read and write.
struct Window {
    DAT_VADDR address;
    DAT_RMR_CONTEXT key;
    DAT_RMR_TRIPLET part(std::size_t size, std::size_t offset = 0) const {
        DAT_RMR_TRIPLET triplet{};
        triplet.virtual_address = address + offset;
        triplet.segment_length = static_cast<DAT_SEG_LENGTH>(size);
        triplet.rmr_context = key;
        return triplet;
    }
};

inline const DAT_TIMEOUT kMicroseconds = in_microseconds(kDeadline);

class Side {
  public:
    explicit Side(const char* name = ia_name()) {
        succeed(dat_ia_open(const_cast<char*>(name), 8, &async, &ia), "dat_ia_open");
        succeed(dat_pz_create(ia, &pz), "dat_pz_create");
        requests = evd(DAT_EVD_CR_FLAG, 64);
        connections = evd(DAT_EVD_CONNECTION_FLAG, 64);
        receives = evd(DAT_EVD_DTO_FLAG, 64);
        sends = evd(DAT_EVD_DTO_FLAG, 64);
    }
    ~Side() {
        if (ia) dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG);
    }
    Side(const Side&) = delete;
    Side& operator=(const Side&) = delete;

    void close() {
        succeed(dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG), "dat_ia_close");
        ia = DAT_HANDLE_NULL;
    }

    DAT_EVD_HANDLE evd(int flags, DAT_COUNT length) const {
        DAT_EVD_HANDLE made = DAT_HANDLE_NULL;
        succeed(
            dat_evd_create(ia, length, DAT_HANDLE_NULL, static_cast<DAT_EVD_FLAGS>(flags), &made),
            "dat_evd_create");
        return made;
    }
    DAT_EP_HANDLE endpoint() const {
        DAT_EP_HANDLE ep = DAT_HANDLE_NULL;
        succeed(dat_ep_create(ia, pz, receives, sends, connections, nullptr, &ep), "dat_ep_create");
        return ep;
    }
    DAT_PSP_HANDLE listen(DAT_CONN_QUAL qualifier) const {
        DAT_PSP_HANDLE psp = DAT_HANDLE_NULL;
        succeed(dat_psp_create(ia, qualifier, requests, DAT_PSP_CONSUMER_FLAG, &psp),
                "dat_psp_create");
        leave_address(qualifier);
        return psp;
    }

    /// Over datagrams, lets connect() find this side, whether or not it listens.
    void leave_address(DAT_CONN_QUAL qualifier) const {
        if (!is_over_datagrams()) return;
        require(test::leave_address(ia, address_file_for(qualifier)), "the address is left");
    }

    static DAT_RETURN connect(DAT_EP_HANDLE ep, DAT_CONN_QUAL qualifier,
                              const std::string& data = {},
                              DAT_TIMEOUT timeout = DAT_TIMEOUT_INFINITE) {
        sockaddr_storage peer = address_for(qualifier);
        return dat_ep_connect(ep, reinterpret_cast<DAT_IA_ADDRESS_PTR>(&peer), qualifier, timeout,
                              static_cast<DAT_COUNT>(data.size()), const_cast<char*>(data.data()),
                              DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG);
    }

    /// Waits for the next event and throws if it has another number.
    static DAT_EVENT wait(DAT_EVD_HANDLE evd, DAT_EVENT_NUMBER number) {
        DAT_EVENT event{};
        DAT_COUNT more = 0;
        std::ostringstream wanted;
        wanted << "event 0x" << std::hex << number;
        succeed(dat_evd_wait(evd, kMicroseconds, 1, &event, &more), wanted.str());
        wanted << ", got 0x" << event.event_number;
        require(event.event_number == number, wanted.str());
        return event;
    }
    DAT_EVENT connection_event(DAT_EVENT_NUMBER number, DAT_EP_HANDLE ep) const {
        const DAT_EVENT event = wait(connections, number);
        require(event.event_data.connect_event_data.ep_handle == ep, "the event is about the EP");
        return event;
    }
    /// Waits for the end of the EP's connection after a failed request, at which both sides end it.
    /// The event is BROKEN or DISCONNECTED: either the completion that this side polls or the
    /// peer's disconnect comes first.
    void broken(DAT_EP_HANDLE ep) const {
        DAT_EVENT event{};
        DAT_COUNT more = 0;
        succeed(dat_evd_wait(connections, kMicroseconds, 1, &event, &more), "dat_evd_wait");
        require(event.event_number == DAT_CONNECTION_EVENT_BROKEN ||
                    event.event_number == DAT_CONNECTION_EVENT_DISCONNECTED,
                "the connection is over");
        require(event.event_data.connect_event_data.ep_handle == ep, "the event is about the EP");
        expect_empty(connections);
    }
    DAT_CR_HANDLE request() const {
        return wait(requests, DAT_CONNECTION_REQUEST_EVENT)
            .event_data.cr_arrival_event_data.cr_handle;
    }
    /// Accepts the next request with a new EP. @return the connected EP.
    DAT_EP_HANDLE accept_next(const std::string& data = {}) const {
        DAT_EP_HANDLE ep = endpoint();
        const DAT_CR_HANDLE cr = request();
        succeed(dat_cr_accept(cr, ep, static_cast<DAT_COUNT>(data.size()),
                              const_cast<char*>(data.data())),
                "dat_cr_accept");
        connection_event(DAT_CONNECTION_EVENT_ESTABLISHED, ep);
        return ep;
    }
    DAT_EP_HANDLE connect_to(DAT_CONN_QUAL qualifier) const {
        DAT_EP_HANDLE ep = endpoint();
        succeed(connect(ep, qualifier), "dat_ep_connect");
        connection_event(DAT_CONNECTION_EVENT_ESTABLISHED, ep);
        return ep;
    }
    DAT_IA_ATTR attributes() const {
        DAT_IA_ATTR result{};
        succeed(dat_ia_query(ia, nullptr, DAT_IA_FIELD_ALL, &result, 0, nullptr), "dat_ia_query");
        return result;
    }
    /// @return a named attribute of the provider.
    std::string named(const std::string& name) const {
        DAT_PROVIDER_ATTR all{};
        succeed(dat_ia_query(ia, nullptr, DAT_IA_FIELD_NONE, nullptr, DAT_PROVIDER_FIELD_ALL, &all),
                "dat_ia_query");
        for (int i = 0; i < all.num_provider_specific_attr; ++i)
            if (name == all.provider_specific_attr[i].name)
                return all.provider_specific_attr[i].value;
        return {};
    }
    /// Whether the device has memory windows.
    bool has_rmrs() const { return attributes().max_rmrs > 0; }
    /// Whether the device has immediate data and atomic operations.
    bool has_extensions() const { return attributes().extension_supported == DAT_EXTENSION_IB; }
    /// Whether the transport is iWARP: private data is not padded, and a send or write completes
    /// when it has been sent, even if it fails at the peer.
    bool is_iwarp() const {
        const DAT_IA_ATTR all = attributes();
        for (DAT_COUNT i = 0; i < all.num_transport_attr; ++i)
            if (std::string(all.transport_attr[i].name) == "OPENDAT_TRANSPORT")
                return std::string(all.transport_attr[i].value) == "iWARP";
        return false;
    }
    /// Throws if the EVD has an event.
    static void expect_empty(DAT_EVD_HANDLE evd) {
        DAT_EVENT event{};
        const DAT_RETURN code = dat_evd_dequeue(evd, &event);
        std::ostringstream text;
        text << "no event, got 0x" << std::hex << event.event_number;
        require(DAT_GET_TYPE(code) == DAT_QUEUE_EMPTY, text.str());
    }
    /// Drops the events of an EVD.
    static void drain(DAT_EVD_HANDLE evd) {
        DAT_EVENT event{};
        while (dat_evd_dequeue(evd, &event) == DAT_SUCCESS) continue;
    }
    /// Drops those of connections, receives and sends.
    void drain() const {
        for (DAT_EVD_HANDLE evd : {connections, receives, sends}) drain(evd);
    }
    static DAT_EP_STATE state(DAT_EP_HANDLE ep) {
        DAT_EP_STATE state{};
        succeed(dat_ep_get_status(ep, &state, nullptr, nullptr), "dat_ep_get_status");
        return state;
    }

    DAT_IA_HANDLE ia = DAT_HANDLE_NULL;
    DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
    DAT_PZ_HANDLE pz = DAT_HANDLE_NULL;
    DAT_EVD_HANDLE requests, connections, receives, sends;
};

/// Memory registered with all privileges.
class Buffer {
  public:
    explicit Buffer(const Side& side, std::size_t size = 256,
                    DAT_MEM_PRIV_FLAGS privileges = DAT_MEM_PRIV_ALL_FLAG)
        : bytes(size, '\0') {
        DAT_REGION_DESCRIPTION region{};
        region.for_va = bytes.data();
        DAT_VLEN registered_size = 0;
        DAT_VADDR registered_address = 0;
        succeed(dat_lmr_create(side.ia, DAT_MEM_TYPE_VIRTUAL, region, bytes.size(), side.pz,
                               privileges, DAT_VA_TYPE_VA, &lmr, &local_key, &remote_key,
                               &registered_size, &registered_address),
                "dat_lmr_create");
    }
    ~Buffer() { dat_lmr_free(lmr); }
    Buffer(const Buffer&) = delete;
    Buffer& operator=(const Buffer&) = delete;

    DAT_LMR_TRIPLET all() const {
        DAT_LMR_TRIPLET triplet{};
        triplet.virtual_address = reinterpret_cast<DAT_VADDR>(bytes.data());
        triplet.segment_length = static_cast<DAT_SEG_LENGTH>(bytes.size());
        triplet.lmr_context = local_key;
        return triplet;
    }

    std::string bytes;
    DAT_LMR_HANDLE lmr = DAT_HANDLE_NULL;
    DAT_LMR_CONTEXT local_key = 0;
    DAT_RMR_CONTEXT remote_key = 0;
};

}  // namespace test
