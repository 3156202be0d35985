// SPDX-License-Identifier: BSD-2-Clause
#include "tools/ping/adapter.hpp"

#include <arpa/inet.h>
#include <netdb.h>

#include <cstdio>
#include <cstring>

#include "tools/common/failure.hpp"

namespace ping {

using tools::require_success;

volatile sig_atomic_t interrupted = 0;

namespace {

constexpr DAT_COUNT kAsyncEvents = 8;
/// Waits are sliced because a signal does not end every wait.
constexpr double kSliceUs = 100e3;
constexpr const char* kFault = "report this as a fault of the provider";

DAT_EVD_HANDLE create_evd(DAT_IA_HANDLE ia, DAT_COUNT events, unsigned flags) {
    DAT_EVD_HANDLE evd = DAT_HANDLE_NULL;
    require_success(
        dat_evd_create(ia, events, DAT_HANDLE_NULL, static_cast<DAT_EVD_FLAGS>(flags), &evd),
        "dat_evd_create", kFault);
    return evd;
}

/// The last byte of the scope id is the queue pair's type, as verbs number it: UD.
constexpr std::uint32_t kTypeMask = 0xff, kDatagramQueuePair = 4;
constexpr unsigned kMostLid = 0xffff, kMostQpn = 0xffffff;

std::string queue_pair_text(const sockaddr_in6& in6) {
    char gid[INET6_ADDRSTRLEN] = "";
    inet_ntop(AF_INET6, &in6.sin6_addr, gid, sizeof gid);
    return tools::format("%u/%u/%s", unsigned{ntohs(in6.sin6_port)},
                         unsigned{ntohl(in6.sin6_flowinfo)}, gid);
}

}  // namespace

bool is_queue_pair(const sockaddr& address) {
    if (address.sa_family != AF_INET6) return false;
    sockaddr_in6 in6;
    std::memcpy(&in6, &address, sizeof in6);
    return (ntohl(in6.sin6_scope_id) & kTypeMask) == kDatagramQueuePair && in6.sin6_flowinfo != 0;
}

std::optional<sockaddr_in6> queue_pair_of(const std::string& text) {
    sockaddr_in6 address{};
    unsigned lid = 0, qpn = 0;
    int end = 0;
    if (std::sscanf(text.c_str(), "%5u/%8u%n", &lid, &qpn, &end) != 2) return std::nullopt;
    const std::string gid = text.substr(static_cast<std::size_t>(end));
    if (lid > kMostLid || qpn == 0 || qpn > kMostQpn) return std::nullopt;
    if (!gid.empty() &&
        (gid[0] != '/' || inet_pton(AF_INET6, gid.c_str() + 1, &address.sin6_addr) != 1))
        return std::nullopt;
    address.sin6_family = AF_INET6;
    address.sin6_port = htons(static_cast<std::uint16_t>(lid));
    address.sin6_flowinfo = htonl(qpn);
    address.sin6_scope_id = htonl(kDatagramQueuePair);
    return address;
}

std::string host_text(const sockaddr& address) {
    char text[NI_MAXHOST];
    if (is_queue_pair(address))
        return queue_pair_text(reinterpret_cast<const sockaddr_in6&>(address));
    const socklen_t length =
        address.sa_family == AF_INET6 ? sizeof(sockaddr_in6) : sizeof(sockaddr_in);
    if (getnameinfo(&address, length, text, sizeof text, nullptr, 0, NI_NUMERICHOST) != 0)
        return "an unknown address";
    return text;
}

Adapter::Adapter(const std::string& name, DAT_COUNT events) {
    std::string writable = name;
    const DAT_RETURN code = dat_ia_open(writable.data(), kAsyncEvents, &async_, &ia);
    if (code != DAT_SUCCESS) ia = DAT_HANDLE_NULL;
    tools::require_open(code, name);
    require_success(dat_pz_create(ia, &pz), "dat_pz_create", kFault);
    control = create_evd(ia, events, DAT_EVD_CR_FLAG | DAT_EVD_CONNECTION_FLAG);
    transfers = create_evd(ia, events, DAT_EVD_DTO_FLAG);
}

Adapter::~Adapter() {
    if (ia != DAT_HANDLE_NULL) dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG);
}

void Adapter::use_cno() {
    require_success(dat_cno_create(ia, DAT_OS_WAIT_PROXY_AGENT_NULL, &cno), "dat_cno_create",
                    kFault);
    for (const DAT_EVD_HANDLE evd : {control, transfers})
        require_success(dat_evd_modify_cno(evd, cno), "dat_evd_modify_cno", kFault);
}

const sockaddr& Adapter::address() const {
    DAT_IA_ATTR attributes{};
    require_success(dat_ia_query(ia, nullptr, DAT_IA_FIELD_IA_ADDRESS_PTR, &attributes, 0, nullptr),
                    "dat_ia_query", kFault);
    return *reinterpret_cast<const sockaddr*>(attributes.ia_address_ptr);
}

std::optional<DAT_EVENT> Adapter::next_event(DAT_EVD_HANDLE evd, const tools::Deadline& deadline) {
    while (!interrupted) {
        DAT_EVENT event{};
        DAT_COUNT more = 0;
        const auto slice = static_cast<DAT_TIMEOUT>(deadline.left_us(kSliceUs));
        const DAT_RETURN code = dat_evd_wait(evd, slice, 1, &event, &more);
        if (code == DAT_SUCCESS) return event;
        if (DAT_GET_TYPE(code) != DAT_TIMEOUT_EXPIRED && DAT_GET_TYPE(code) != DAT_INTERRUPTED_CALL)
            require_success(code, "dat_evd_wait", kFault);
        if (deadline.passed()) break;
    }
    return std::nullopt;
}

Endpoint::Endpoint(const Adapter& adapter, std::size_t size, unsigned buffers, std::uint32_t id)
    : size_(size), id_(id), memory_(std::make_unique<std::byte[]>(size * buffers)) {
    register_memory(adapter, size * buffers);
    try {
        create(adapter, buffers);
    } catch (...) {
        dat_lmr_free(lmr_);
        throw;
    }
}

Endpoint::~Endpoint() {
    dat_ep_free(ep_);
    dat_lmr_free(lmr_);
}

void Endpoint::register_memory(const Adapter& adapter, std::size_t length) {
    DAT_REGION_DESCRIPTION region{};
    region.for_va = memory_.get();
    DAT_RMR_CONTEXT rmr_context = 0;
    DAT_VLEN registered_length = 0;
    DAT_VADDR registered_address = 0;
    require_success(dat_lmr_create(adapter.ia, DAT_MEM_TYPE_VIRTUAL, region, length, adapter.pz,
                                   static_cast<DAT_MEM_PRIV_FLAGS>(DAT_MEM_PRIV_LOCAL_READ_FLAG |
                                                                   DAT_MEM_PRIV_LOCAL_WRITE_FLAG),
                                   DAT_VA_TYPE_VA, &lmr_, &lmr_context_, &rmr_context,
                                   &registered_length, &registered_address),
                    "dat_lmr_create",
                    "use a smaller --size, or raise the limit of locked memory (ulimit -l)");
}

void Endpoint::create(const Adapter& adapter, unsigned buffers) {
    DAT_EP_ATTR attributes{};
    attributes.service_type = DAT_SERVICE_TYPE_RC;
    attributes.max_message_size = size_;
    attributes.qos = DAT_QOS_BEST_EFFORT;
    attributes.recv_completion_flags = DAT_COMPLETION_DEFAULT_FLAG;
    attributes.request_completion_flags = DAT_COMPLETION_DEFAULT_FLAG;
    attributes.max_recv_dtos = static_cast<DAT_COUNT>(buffers);
    attributes.max_request_dtos = static_cast<DAT_COUNT>(buffers);
    attributes.max_recv_iov = 1;
    attributes.max_request_iov = 1;
    require_success(dat_ep_create(adapter.ia, adapter.pz, adapter.transfers, adapter.transfers,
                                  adapter.control, &attributes, &ep_),
                    "dat_ep_create", "use a smaller --size");
}

DAT_LMR_TRIPLET Endpoint::segment(unsigned index) const {
    DAT_LMR_TRIPLET triplet{};
    triplet.virtual_address = reinterpret_cast<DAT_VADDR>(buffer(index).data());
    triplet.segment_length = static_cast<DAT_SEG_LENGTH>(size_);
    triplet.lmr_context = lmr_context_;
    return triplet;
}

namespace {

constexpr unsigned kIdShift = 32, kBufferShift = 1;
constexpr unsigned kBufferMask = 0xff;

}  // namespace

DAT_DTO_COOKIE Endpoint::cookie(unsigned index, bool is_receive) const {
    DAT_DTO_COOKIE made;
    made.as_64 = std::uint64_t{id_} << kIdShift | index << kBufferShift | unsigned{is_receive};
    return made;
}

Endpoint::Work Endpoint::work_of(DAT_DTO_COOKIE cookie) {
    return {static_cast<std::uint32_t>(cookie.as_64 >> kIdShift),
            static_cast<unsigned>(cookie.as_64 >> kBufferShift) & kBufferMask,
            (cookie.as_64 & 1) != 0};
}

bool Endpoint::post_receive(unsigned index) {
    DAT_LMR_TRIPLET where = segment(index);
    return dat_ep_post_recv(ep_, 1, &where, cookie(index, true), DAT_COMPLETION_DEFAULT_FLAG) ==
           DAT_SUCCESS;
}

bool Endpoint::post_send(unsigned index) {
    DAT_LMR_TRIPLET what = segment(index);
    return dat_ep_post_send(ep_, 1, &what, cookie(index, false), DAT_COMPLETION_DEFAULT_FLAG) ==
           DAT_SUCCESS;
}

}  // namespace ping
