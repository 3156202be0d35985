// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The life of a program that uses every kind of object, next to a peer that serves such programs
/// one after the other. A life ends at the first call that fails; it allocates nothing itself.
#pragma once

#include <dat2/dat_ib_extensions.h>
#include <dat2/dat_iw_extensions.h>
#include <dat2/dat_trclvl.h>
#include <dat2/udat.h>
#include <dirent.h>

#include <cstdio>
#include <cstring>
#include <functional>
#include <set>

#include "test/api/side.hpp"
#include "test/support/stream.hpp"
#include "test/support/threads.hpp"

namespace test {

inline constexpr DAT_CONN_QUAL kServiceOfPeer = 4730;
inline constexpr DAT_CONN_QUAL kServiceOfLife = 4731;
inline constexpr DAT_CONN_QUAL kReserved = 4732;
inline constexpr std::uint16_t kCommonPort = 4733;
inline constexpr DAT_CONN_QUAL kAddresses = 4734;

/// Private data of the peer's accept: where a life may write.
struct PeerMemory {
    DAT_VADDR address;
    DAT_RMR_CONTEXT key;
};

/// Accepts every connection, sends back what it receives, and then connects to the life's service.
class FailurePeer {
  public:
    FailurePeer() : buffer_(side_, 4096) {
        events_ = side_.evd(DAT_EVD_CR_FLAG | DAT_EVD_CONNECTION_FLAG, 64);
        succeed(dat_psp_create(side_.ia, kServiceOfPeer, events_, DAT_PSP_CONSUMER_FLAG, &psp_),
                "dat_psp_create");
    }
    /// Serves until it is killed.
    [[noreturn]] void serve() {
        for (;;) {
            DAT_EVENT event{};
            DAT_COUNT more = 0;
            if (dat_evd_wait(events_, 500, 1, &event, &more) == DAT_SUCCESS) handle(event);
            while (dat_evd_dequeue(side_.receives, &event) == DAT_SUCCESS)
                received(event.event_data.dto_completion_event_data);
            while (dat_evd_dequeue(side_.sends, &event) == DAT_SUCCESS) continue;
        }
    }

  private:
    DAT_EP_HANDLE endpoint() const {
        DAT_EP_HANDLE ep = DAT_HANDLE_NULL;
        succeed(
            dat_ep_create(side_.ia, side_.pz, side_.receives, side_.sends, events_, nullptr, &ep),
            "dat_ep_create");
        return ep;
    }
    void handle(const DAT_EVENT& event) {
        const auto& about = event.event_data.connect_event_data;
        switch (event.event_number) {
            case DAT_CONNECTION_REQUEST_EVENT: {
                const DAT_EP_HANDLE ep = endpoint();
                DAT_LMR_TRIPLET where = buffer_.all();
                dat_ep_post_recv(ep, 1, &where, cookie(0), DAT_COMPLETION_DEFAULT_FLAG);
                PeerMemory memory{buffer_.all().virtual_address, buffer_.remote_key};
                if (dat_cr_accept(event.event_data.cr_arrival_event_data.cr_handle, ep,
                                  sizeof memory, &memory) != DAT_SUCCESS)
                    dat_ep_free(ep);
                return;
            }
            case DAT_CONNECTION_EVENT_ESTABLISHED:
                if (early_.erase(about.ep_handle) != 0) answer(about.ep_handle);
                return;
            case DAT_CONNECTION_EVENT_NON_PEER_REJECTED:
            case DAT_CONNECTION_EVENT_PEER_REJECTED:
            case DAT_CONNECTION_EVENT_UNREACHABLE:
                if (tries_left_-- > 0) connect_back();
                [[fallthrough]];
            default:
                early_.erase(about.ep_handle);
                dat_ep_free(about.ep_handle);
        }
    }
    /// Answers a message, which may come before the event that establishes its connection.
    void received(const DAT_DTO_COMPLETION_EVENT_DATA& data) {
        if (data.status != DAT_DTO_SUCCESS) return;
        if (Side::state(data.ep_handle) == DAT_EP_STATE_COMPLETION_PENDING)
            early_.insert(data.ep_handle);
        else
            answer(data.ep_handle);
    }
    void answer(DAT_EP_HANDLE ep) {
        DAT_LMR_TRIPLET what = buffer_.all();
        what.segment_length = 64;
        dat_ep_post_send(ep, 1, &what, cookie(1), DAT_COMPLETION_DEFAULT_FLAG);
        tries_left_ = 2;
        connect_back();
    }
    void connect_back() const {
        const DAT_EP_HANDLE back = endpoint();
        if (Side::connect(back, kServiceOfLife) != DAT_SUCCESS) dat_ep_free(back);
    }

    Side side_;
    Buffer buffer_;
    DAT_EVD_HANDLE events_ = DAT_HANDLE_NULL;
    DAT_PSP_HANDLE psp_ = DAT_HANDLE_NULL;
    int tries_left_ = 0;             ///< to connect to a program that may be short of memory
    std::set<DAT_EP_HANDLE> early_;  ///< EPs not yet connected when their message came
};

/// One life. Each step returns false once a call has failed.
class Life {
  public:
    std::function<void()> when_connected;

    /// @return whether every call succeeded.
    bool live() {
        const bool whole = open() && make_memory() && make_events() && make_endpoints() &&
                           send_datagram() && make_services() && connect() && transfer() &&
                           accept() && convert() && end();
        if (ia_ != DAT_HANDLE_NULL) close();
        return whole;
    }
    /// @return the name of the call that failed; nullptr if none has.
    const char* failed_call() const { return failed_; }
    DAT_RETURN code() const { return code_; }
    /// @return what is wrong even for a life with a failed call; nullptr if nothing is.
    const char* fault() const { return fault_; }

  private:
    bool did(DAT_RETURN code, const char* call) {
        if (code == DAT_SUCCESS) return true;
        failed_ = call;
        code_ = code;
        return false;
    }
    /// Waits for an event. Some event has to come whatever has failed, so a timeout is a fault.
    bool event(DAT_EVD_HANDLE evd, DAT_EVENT_NUMBER wanted, const char* call) {
        DAT_COUNT more = 0;
        const DAT_TIMEOUT patience = in_microseconds(scaled(20s));
        const DAT_RETURN code = dat_evd_wait(evd, patience, 1, &event_, &more);
        if (DAT_GET_TYPE(code) == DAT_TIMEOUT_EXPIRED) fault_ = call;
        if (!did(code, call)) return false;
        if (event_.event_number == wanted) return true;
        return did(event_.event_number, call);
    }
    bool completion(DAT_EVD_HANDLE evd, const char* call) {
        if (!event(evd, DAT_DTO_COMPLETION_EVENT, call)) return false;
        const int status = event_.event_data.dto_completion_event_data.status;
        return status == DAT_DTO_SUCCESS || did(static_cast<DAT_RETURN>(status), call);
    }

    bool open() {
        if (!did(dat_ia_open(const_cast<char*>(ia_name()), 8, &async_, &ia_), "dat_ia_open"))
            return ia_ = DAT_HANDLE_NULL, false;
        return did(dat_pz_create(ia_, &pz_), "dat_pz_create");
    }
    bool make_memory() {
        DAT_REGION_DESCRIPTION region{};
        region.for_va = bytes_;
        DAT_VLEN size = 0;
        DAT_VADDR address = 0;
        DAT_LMR_CONTEXT key = 0;
        if (!did(dat_lmr_create(ia_, DAT_MEM_TYPE_VIRTUAL, region, sizeof bytes_, pz_,
                                DAT_MEM_PRIV_ALL_FLAG, DAT_VA_TYPE_VA, &lmr_, &key, &remote_key_,
                                &size, &address),
                 "dat_lmr_create"))
            return false;
        where_.virtual_address = reinterpret_cast<DAT_VADDR>(bytes_);
        where_.segment_length = 64;
        where_.lmr_context = key;
        return did(dat_rmr_create(pz_, &rmr_), "dat_rmr_create");
    }
    bool evd(int flags, DAT_CNO_HANDLE cno, DAT_EVD_HANDLE& made) {
        return did(dat_evd_create(ia_, 16, cno, static_cast<DAT_EVD_FLAGS>(flags), &made),
                   "dat_evd_create");
    }
    bool make_events() {
        return did(dat_cno_create(ia_, DAT_OS_WAIT_PROXY_AGENT_NULL, &cno_), "dat_cno_create") &&
               evd(DAT_EVD_CR_FLAG, DAT_HANDLE_NULL, requests_) &&
               evd(DAT_EVD_CR_FLAG, DAT_HANDLE_NULL, addresses_) &&
               evd(DAT_EVD_CONNECTION_FLAG, DAT_HANDLE_NULL, connections_) &&
               evd(DAT_EVD_DTO_FLAG, DAT_HANDLE_NULL, receives_) &&
               evd(DAT_EVD_DTO_FLAG | DAT_EVD_RMR_BIND_FLAG, DAT_HANDLE_NULL, sends_) &&
               evd(DAT_EVD_DTO_FLAG, cno_, counted_);
    }
    bool make_endpoints() {
        DAT_SRQ_ATTR attributes{};
        attributes.max_recv_dtos = 8;
        attributes.max_recv_iov = 1;
        return did(dat_srq_create(ia_, pz_, &attributes, &srq_), "dat_srq_create") &&
               did(dat_ep_create(ia_, pz_, receives_, sends_, connections_, nullptr, &active_),
                   "dat_ep_create") &&
               make_datagram_endpoint(asking_) && make_datagram_endpoint(answering_) &&
               did(dat_ep_create_with_srq(ia_, pz_, counted_, sends_, connections_, srq_, nullptr,
                                          &passive_),
                   "dat_ep_create_with_srq") &&
               did(dat_ep_create(ia_, pz_, receives_, sends_, connections_, nullptr, &reserved_),
                   "dat_ep_create") &&
               confirm_by_reading_back(reserved_) &&
               did(dat_srq_resize(srq_, 64), "dat_srq_resize") &&
               did(dat_evd_resize(receives_, 512), "dat_evd_resize");
    }
    bool confirm_by_reading_back(DAT_EP_HANDLE ep) {
        DAT_NAMED_ATTR attribute{DAT_ATTR_DELAYED_ACK, "read_back"};
        DAT_EP_PARAM parameters{};
        parameters.ep_attr.ep_provider_specific = &attribute;
        parameters.ep_attr.ep_provider_specific_count = 1;
        return did(dat_ep_modify(ep, DAT_EP_FIELD_EP_ATTR_PROVIDER_SPECIFIC_ATTR, &parameters),
                   "dat_ep_modify");
    }
    bool make_datagram_endpoint(DAT_EP_HANDLE& made) {
        DAT_EP_ATTR attributes{};
        attributes.service_type = static_cast<DAT_SERVICE_TYPE>(DAT_IB_SERVICE_TYPE_UD);
        attributes.max_recv_dtos = attributes.max_request_dtos = 4;
        attributes.max_recv_iov = attributes.max_request_iov = 1;
        return did(dat_ep_create(ia_, pz_, receives_, sends_, connections_, &attributes, &made),
                   "dat_ep_create, datagrams");
    }
    bool make_services() {
        DAT_COMM comm{};
        comm.domain = AF_INET;
        comm.type = SOCK_STREAM;
        comm.protocol = IPPROTO_TCP;
        sockaddr_in address = ia_address();
        address.sin_port = htons(kCommonPort);
        return did(dat_psp_create(ia_, kServiceOfLife, requests_, DAT_PSP_CONSUMER_FLAG, &psp_),
                   "dat_psp_create") &&
               did(dat_rsp_create(ia_, kReserved, reserved_, requests_, &rsp_), "dat_rsp_create") &&
               did(dat_csp_create(ia_, &comm, reinterpret_cast<DAT_IA_ADDRESS_PTR>(&address),
                                  requests_, &csp_),
                   "dat_csp_create");
    }
    /// Waits for a request of this process. Either it comes, or the asking endpoint gets an event
    /// that says why not.
    bool own_request(DAT_EVD_HANDLE evd, DAT_EVENT_NUMBER wanted, DAT_TIMEOUT patience,
                     const char* call) {
        DAT_COUNT more = 0;
        const DAT_RETURN code = dat_evd_wait(evd, 2 * patience, 1, &event_, &more);
        if (DAT_GET_TYPE(code) != DAT_TIMEOUT_EXPIRED)
            return did(code, call) &&
                   (event_.event_number == wanted || did(event_.event_number, call));
        if (dat_evd_dequeue(connections_, &event_) != DAT_SUCCESS) fault_ = call;
        return did(code, call);
    }
    /// The peer may still be answering an earlier life, whose listener it did not find any more.
    bool request_over_socket(DAT_IW_SSP_HANDLE ssp, DAT_TIMEOUT patience) {
        const auto& arrived = event_.event_data.cr_arrival_event_data;
        for (;;) {
            if (!own_request(requests_, DAT_CONNECTION_REQUEST_EVENT, patience,
                             "the request over a socket"))
                return false;
            if (arrived.sp_handle.psp_handle == ssp) return true;
            dat_cr_reject(arrived.cr_handle, 0, nullptr);
        }
    }
    /// Sends a datagram from one endpoint of this process to another. Its arrival is not
    /// guaranteed.
    bool send_datagram() {
        constexpr auto kResolved =
            static_cast<DAT_EVENT_NUMBER>(DAT_IB_UD_CONNECTION_EVENT_ESTABLISHED);
        constexpr auto kRequest = static_cast<DAT_EVENT_NUMBER>(DAT_IB_UD_CONNECTION_REQUEST_EVENT);
        const DAT_TIMEOUT patience = in_microseconds(scaled(5s));
        DAT_LMR_TRIPLET to = where_;
        to.segment_length = sizeof bytes_;
        DAT_PSP_HANDLE psp = DAT_HANDLE_NULL;
        if (!did(dat_psp_create(ia_, kAddresses, addresses_, DAT_PSP_CONSUMER_FLAG, &psp),
                 "dat_psp_create") ||
            !did(dat_ib_post_recv_ud(answering_, 1, &to, cookie(7), DAT_COMPLETION_DEFAULT_FLAG),
                 "dat_ib_post_recv_ud") ||
            !did(Side::connect(asking_, kAddresses, {}, patience), "dat_ep_connect") ||
            !own_request(addresses_, kRequest, patience, "the request for an address") ||
            !did(dat_cr_accept(event_.event_data.cr_arrival_event_data.cr_handle, answering_, 0,
                               nullptr),
                 "dat_cr_accept"))
            return false;
        DAT_IB_ADDR_HANDLE address{};
        for (int i = 0; i < 2; ++i) {
            if (!event(connections_, kResolved, "the address")) return false;
            if (event_.event_data.connect_event_data.ep_handle != asking_) continue;
            const auto* extension =
                reinterpret_cast<const DAT_IB_EXTENSION_EVENT_DATA*>(event_.event_extension_data);
            address = extension->remote_ah;
        }
        return did(dat_ib_post_send_ud(asking_, 1, &where_, &address, cookie(8),
                                       DAT_COMPLETION_DEFAULT_FLAG),
                   "dat_ib_post_send_ud") &&
               event(sends_, static_cast<DAT_EVENT_NUMBER>(DAT_IB_DTO_EVENT), "the datagram") &&
               did(dat_ep_free(asking_), "dat_ep_free") &&
               did(dat_ep_free(answering_), "dat_ep_free") &&
               did(dat_psp_free(psp), "dat_psp_free") &&
               did(dat_evd_free(addresses_), "dat_evd_free") && forget_datagram();
    }
    /// Discards the datagram if it has arrived: the endpoints used later share its receive EVD.
    bool forget_datagram() {
        while (dat_evd_dequeue(receives_, &event_) == DAT_SUCCESS) continue;
        return true;
    }
    bool connect() {
        DAT_LMR_TRIPLET to = where_;
        if (!did(dat_ep_post_recv(active_, 1, &to, cookie(1), DAT_COMPLETION_DEFAULT_FLAG),
                 "dat_ep_post_recv") ||
            !did(dat_srq_post_recv(srq_, 1, &to, cookie(2)), "dat_srq_post_recv") ||
            !did(Side::connect(active_, kServiceOfPeer), "dat_ep_connect") ||
            !event(connections_, DAT_CONNECTION_EVENT_ESTABLISHED, "the connection"))
            return false;
        std::memcpy(&peer_, event_.event_data.connect_event_data.private_data, sizeof peer_);
        if (when_connected) when_connected();
        return true;
    }
    bool transfer() {
        DAT_RMR_CONTEXT bound = 0;
        if (!did(dat_rmr_bind(rmr_, lmr_, &where_, DAT_MEM_PRIV_ALL_FLAG, DAT_VA_TYPE_VA, active_,
                              cookie(3), DAT_COMPLETION_DEFAULT_FLAG, &bound),
                 "dat_rmr_bind") ||
            !event(sends_, DAT_RMR_BIND_COMPLETION_EVENT, "the bind"))
            return false;
        DAT_RMR_TRIPLET remote{};
        remote.virtual_address = peer_.address;
        remote.segment_length = 64;
        remote.rmr_context = peer_.key;
        DAT_LMR_TRIPLET local = where_;
        return did(dat_ep_post_rdma_write(active_, 1, &local, cookie(4), &remote,
                                          DAT_COMPLETION_DEFAULT_FLAG),
                   "dat_ep_post_rdma_write") &&
               completion(sends_, "the write") &&
               did(dat_ep_post_rdma_read(active_, 1, &local, cookie(5), &remote,
                                         DAT_COMPLETION_DEFAULT_FLAG),
                   "dat_ep_post_rdma_read") &&
               completion(sends_, "the read") &&
               did(dat_ep_post_send(active_, 1, &local, cookie(6), DAT_COMPLETION_DEFAULT_FLAG),
                   "dat_ep_post_send") &&
               completion(sends_, "the send") && completion(receives_, "the peer's answer");
    }
    /// Accepts the connection that the peer makes in return.
    bool accept() {
        return event(requests_, DAT_CONNECTION_REQUEST_EVENT, "the peer's request") &&
               did(dat_cr_accept(event_.event_data.cr_arrival_event_data.cr_handle, passive_, 0,
                                 nullptr),
                   "dat_cr_accept") &&
               event(connections_, DAT_CONNECTION_EVENT_ESTABLISHED, "the second connection");
    }
    /// Makes two endpoints of the ends of a socket.
    bool convert() {
        const DAT_TIMEOUT patience = in_microseconds(scaled(5s));
        DAT_IW_SSP_HANDLE ssp = DAT_HANDLE_NULL;
        return did(dat_ep_create(ia_, pz_, receives_, sends_, connections_, nullptr, &asking_),
                   "dat_ep_create") &&
               did(dat_ep_create(ia_, pz_, receives_, sends_, connections_, nullptr, &answering_),
                   "dat_ep_create") &&
               did(dat_iw_ssp_create(ia_, streams_.second.number(), answering_, requests_, nullptr,
                                     0, &ssp),
                   "dat_iw_ssp_create") &&
               did(dat_iw_socket_connect(asking_, streams_.first.number(), patience, 0, nullptr),
                   "dat_iw_socket_connect") &&
               request_over_socket(ssp, patience) &&
               did(dat_cr_accept(event_.event_data.cr_arrival_event_data.cr_handle, nullptr, 0,
                                 nullptr),
                   "dat_cr_accept") &&
               event(connections_, DAT_CONNECTION_EVENT_ESTABLISHED, "one end of the socket") &&
               event(connections_, DAT_CONNECTION_EVENT_ESTABLISHED, "the other end") &&
               did(dat_iw_ssp_free(ssp), "dat_iw_ssp_free") &&
               did(dat_ep_disconnect(asking_, DAT_CLOSE_ABRUPT_FLAG), "dat_ep_disconnect") &&
               event(connections_, DAT_CONNECTION_EVENT_DISCONNECTED, "its end") &&
               event(connections_, DAT_CONNECTION_EVENT_DISCONNECTED, "its other end") &&
               did(dat_ep_free(asking_), "dat_ep_free") &&
               did(dat_ep_free(answering_), "dat_ep_free");
    }
    bool end() {
        return did(dat_ep_disconnect(active_, DAT_CLOSE_GRACEFUL_FLAG), "dat_ep_disconnect") &&
               event(connections_, DAT_CONNECTION_EVENT_DISCONNECTED, "the disconnection") &&
               did(dat_ep_disconnect(passive_, DAT_CLOSE_ABRUPT_FLAG), "dat_ep_disconnect") &&
               event(connections_, DAT_CONNECTION_EVENT_DISCONNECTED, "the other disconnection") &&
               did(dat_psp_free(psp_), "dat_psp_free") && did(dat_rsp_free(rsp_), "dat_rsp_free") &&
               did(dat_csp_free(csp_), "dat_csp_free") &&
               did(dat_ep_free(active_), "dat_ep_free") &&
               did(dat_ep_free(passive_), "dat_ep_free") &&
               did(dat_ep_free(reserved_), "dat_ep_free") &&
               did(dat_srq_free(srq_), "dat_srq_free") && did(dat_rmr_free(rmr_), "dat_rmr_free") &&
               did(dat_lmr_free(lmr_), "dat_lmr_free") &&
               did(dat_evd_free(counted_), "dat_evd_free") &&
               did(dat_evd_free(sends_), "dat_evd_free") &&
               did(dat_evd_free(receives_), "dat_evd_free") &&
               did(dat_evd_free(connections_), "dat_evd_free") &&
               did(dat_evd_free(requests_), "dat_evd_free") &&
               did(dat_cno_free(cno_), "dat_cno_free") && did(dat_pz_free(pz_), "dat_pz_free");
    }
    /// Closes the adapter instance, and tries once more if that fails.
    void close() {
        for (int i = 0; i < 2; ++i)
            if (did(dat_ia_close(ia_, DAT_CLOSE_ABRUPT_FLAG), "dat_ia_close")) return;
        fault_ = "dat_ia_close, twice";
    }

    const std::pair<Stream, Stream> streams_ = connected_streams();  ///< made before a life
    const char* failed_ = nullptr;
    const char* fault_ = nullptr;
    DAT_RETURN code_ = DAT_SUCCESS;
    DAT_EVENT event_{};
    alignas(64) char bytes_[256] = {};
    DAT_LMR_TRIPLET where_{};
    PeerMemory peer_{};
    DAT_RMR_CONTEXT remote_key_ = 0;
    DAT_IA_HANDLE ia_ = DAT_HANDLE_NULL;
    DAT_EVD_HANDLE async_ = DAT_HANDLE_NULL;
    DAT_PZ_HANDLE pz_ = DAT_HANDLE_NULL;
    DAT_LMR_HANDLE lmr_ = DAT_HANDLE_NULL;
    DAT_RMR_HANDLE rmr_ = DAT_HANDLE_NULL;
    DAT_CNO_HANDLE cno_ = DAT_HANDLE_NULL;
    DAT_EVD_HANDLE requests_, addresses_, connections_, receives_, sends_, counted_;
    DAT_SRQ_HANDLE srq_ = DAT_HANDLE_NULL;
    DAT_EP_HANDLE active_, passive_, reserved_, asking_, answering_;
    DAT_PSP_HANDLE psp_ = DAT_HANDLE_NULL;
    DAT_RSP_HANDLE rsp_ = DAT_HANDLE_NULL;
    DAT_CSP_HANDLE csp_ = DAT_HANDLE_NULL;
};

/// @return how many entries a directory has, without those that begin with a dot; -1 if it cannot
/// be opened.
inline int entries_of(const char* path) {
    int count = 0;
    DIR* directory = opendir(path);
    if (!directory) return -1;
    while (const dirent* entry = readdir(directory)) count += entry->d_name[0] != '.';
    closedir(directory);
    return count;
}

}  // namespace test
