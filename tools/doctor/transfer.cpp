// SPDX-License-Identifier: BSD-2-Clause
#include "tools/doctor/transfer.hpp"

#include <dat2/udat.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <sstream>

#include "tools/common/clock.hpp"
#include "tools/common/failure.hpp"

namespace doctor {
namespace {

using tools::Deadline;
using tools::Failure;
using tools::require_success;

constexpr DAT_COUNT kEvents = 8;
constexpr std::size_t kMessage = 64;
constexpr double kSliceUs = 200e3;
constexpr const char* kTryInfo = "see what `dat_info --explain` reports of this IA";
constexpr const char* kOtherSide = "see what dat_doctor reports on the other side";

/// Everything that one connection needs. What remains is torn down with the IA.
class End {
  public:
    /// @param link checked while this end waits: the other side may fail first
    End(const std::string& ia_name, Link& link, double seconds) : link_(link), deadline_(seconds) {
        std::string name = ia_name;
        const DAT_RETURN code = dat_ia_open(name.data(), kEvents, &async_, &ia_);
        if (code != DAT_SUCCESS) ia_ = DAT_HANDLE_NULL;
        require_success(code, "dat_ia_open", kTryInfo);
        require_success(dat_pz_create(ia_, &pz_), "dat_pz_create", kTryInfo);
        transfers_ = make_evd(DAT_EVD_DTO_FLAG);
        connections_ = make_evd(DAT_EVD_CONNECTION_FLAG);
        requests_ = make_evd(DAT_EVD_CR_FLAG);
        require_success(
            dat_ep_create(ia_, pz_, transfers_, transfers_, connections_, nullptr, &ep_),
            "dat_ep_create", kTryInfo);
        register_memory();
        post_receive();
    }
    ~End() {
        if (ia_ != DAT_HANDLE_NULL) dat_ia_close(ia_, DAT_CLOSE_ABRUPT_FLAG);
    }
    End(const End&) = delete;
    End& operator=(const End&) = delete;

    /// @return where this end listens: the qualifier, and the bytes of the address.
    std::string listen() {
        DAT_CONN_QUAL qualifier = 0;
        DAT_PSP_HANDLE psp = DAT_HANDLE_NULL;
        require_success(dat_psp_create_any(ia_, &qualifier, requests_, DAT_PSP_CONSUMER_FLAG, &psp),
                        "dat_psp_create_any", kTryInfo);
        return std::to_string(qualifier) + ' ' + own_address();
    }
    void accept() {
        const DAT_EVENT event = next(requests_, "DAT_CONNECTION_REQUEST_EVENT");
        require_success(
            dat_cr_accept(event.event_data.cr_arrival_event_data.cr_handle, ep_, 0, nullptr),
            "dat_cr_accept", kOtherSide);
        await_established();
    }
    void connect(const std::string& place) {
        DAT_CONN_QUAL qualifier = 0;
        sockaddr_in6 address = parse(place, qualifier);
        require_success(dat_ep_connect(ep_, reinterpret_cast<DAT_IA_ADDRESS_PTR>(&address),
                                       qualifier, static_cast<DAT_TIMEOUT>(deadline_.left_us(4e9)),
                                       0, nullptr, DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG),
                        "dat_ep_connect", kOtherSide);
        await_established();
    }
    void send(unsigned char seed) {
        for (std::size_t i = 0; i < kMessage; ++i) outgoing()[i] = pattern(seed, i);
        DAT_LMR_TRIPLET triplet = at(outgoing());
        require_success(
            dat_ep_post_send(ep_, 1, &triplet, DAT_DTO_COOKIE{}, DAT_COMPLETION_DEFAULT_FLAG),
            "dat_ep_post_send", kTryInfo);
    }
    void await_transfers(int count) {
        for (; count > 0; --count) {
            const DAT_EVENT event = next(transfers_, "DAT_DTO_COMPLETION_EVENT");
            const auto& done = event.event_data.dto_completion_event_data;
            if (done.status != DAT_DTO_SUCCESS)
                throw Failure("transfer", tools::status_name(done.status), "DAT_DTO_SUCCESS",
                              kOtherSide);
        }
    }
    void require_received(unsigned char seed) {
        for (std::size_t i = 0; i < kMessage; ++i)
            if (memory_[i] != pattern(seed, i))
                throw Failure("received message", tools::format("byte %zu is %u", i, memory_[i]),
                              tools::format("%u", pattern(seed, i)),
                              "report this as a fault of the provider or the network");
    }

  private:
    static unsigned char pattern(unsigned char seed, std::size_t i) {
        return static_cast<unsigned char>(seed + i * 7);
    }
    unsigned char* outgoing() { return memory_ + kMessage; }
    DAT_LMR_TRIPLET at(unsigned char* bytes) const {
        DAT_LMR_TRIPLET triplet{};
        triplet.lmr_context = context_;
        triplet.virtual_address = reinterpret_cast<DAT_VADDR>(bytes);
        triplet.segment_length = kMessage;
        return triplet;
    }
    DAT_EVD_HANDLE make_evd(DAT_EVD_FLAGS flags) {
        DAT_EVD_HANDLE evd = DAT_HANDLE_NULL;
        require_success(dat_evd_create(ia_, kEvents, DAT_HANDLE_NULL, flags, &evd),
                        "dat_evd_create", kTryInfo);
        return evd;
    }
    void register_memory() {
        DAT_REGION_DESCRIPTION region{};
        region.for_va = memory_;
        DAT_LMR_HANDLE lmr = DAT_HANDLE_NULL;
        require_success(
            dat_lmr_create(ia_, DAT_MEM_TYPE_VIRTUAL, region, sizeof memory_, pz_,
                           static_cast<DAT_MEM_PRIV_FLAGS>(DAT_MEM_PRIV_LOCAL_READ_FLAG |
                                                           DAT_MEM_PRIV_LOCAL_WRITE_FLAG),
                           DAT_VA_TYPE_VA, &lmr, &context_, nullptr, nullptr, nullptr),
            "dat_lmr_create", "see `ulimit -l`");
    }
    void post_receive() {
        DAT_LMR_TRIPLET triplet = at(memory_);
        require_success(
            dat_ep_post_recv(ep_, 1, &triplet, DAT_DTO_COOKIE{}, DAT_COMPLETION_DEFAULT_FLAG),
            "dat_ep_post_recv", kTryInfo);
    }
    DAT_EVENT next(DAT_EVD_HANDLE evd, const char* what) {
        DAT_EVENT event{};
        DAT_COUNT more = 0;
        for (;;) {
            const DAT_RETURN code = dat_evd_wait(
                evd, static_cast<DAT_TIMEOUT>(deadline_.left_us(kSliceUs)), 1, &event, &more);
            if (code == DAT_SUCCESS) return event;
            if (DAT_GET_TYPE(code) != DAT_TIMEOUT_EXPIRED &&
                DAT_GET_TYPE(code) != DAT_INTERRUPTED_CALL)
                require_success(code, "dat_evd_wait", kTryInfo);
            link_.look();
            if (deadline_.passed())
                throw Failure("dat_evd_wait", "no event",
                              tools::format("%s within %.0f seconds", what, deadline_.seconds()),
                              kOtherSide);
        }
    }
    void await_established() {
        const DAT_EVENT event = next(connections_, "DAT_CONNECTION_EVENT_ESTABLISHED");
        tools::require_established(event.event_number, "connection");
    }
    std::string own_address() const {
        DAT_IA_ATTR attributes{};
        require_success(dat_ia_query(ia_, nullptr, DAT_IA_FIELD_ALL, &attributes,
                                     DAT_PROVIDER_FIELD_NONE, nullptr),
                        "dat_ia_query", kTryInfo);
        const auto* address = reinterpret_cast<const sockaddr*>(attributes.ia_address_ptr);
        const std::size_t size =
            address->sa_family == AF_INET6 ? sizeof(sockaddr_in6) : sizeof(sockaddr_in);
        std::string text;
        for (std::size_t i = 0; i < size; ++i)
            text += tools::format("%02x", reinterpret_cast<const unsigned char*>(address)[i]);
        return text;
    }
    /// Validates the address from the other side before it is used.
    static sockaddr_in6 parse(const std::string& place, DAT_CONN_QUAL& qualifier) {
        std::istringstream words(place);
        std::string hex;
        words >> qualifier >> hex;
        sockaddr_in6 address{};
        const std::size_t size = hex.size() / 2;
        bool good = !words.fail() && hex.size() % 2 == 0 && size >= sizeof(sockaddr_in) &&
                    size <= sizeof address &&
                    hex.find_first_not_of("0123456789abcdef") == std::string::npos;
        for (std::size_t i = 0; good && i < size; ++i)
            reinterpret_cast<unsigned char*>(&address)[i] =
                static_cast<unsigned char>(std::stoul(hex.substr(2 * i, 2), nullptr, 16));
        good = good && (address.sin6_family == AF_INET ||
                        (address.sin6_family == AF_INET6 && size == sizeof address));
        if (!good)
            throw Failure("address of the other side", "something else", "a socket address",
                          "run dat_doctor of the same release on both sides");
        return address;
    }

    Link& link_;
    const Deadline deadline_;
    DAT_IA_HANDLE ia_ = DAT_HANDLE_NULL;
    DAT_EVD_HANDLE async_ = DAT_HANDLE_NULL;
    DAT_PZ_HANDLE pz_ = DAT_HANDLE_NULL;
    DAT_EVD_HANDLE transfers_ = DAT_HANDLE_NULL;
    DAT_EVD_HANDLE connections_ = DAT_HANDLE_NULL;
    DAT_EVD_HANDLE requests_ = DAT_HANDLE_NULL;
    DAT_EP_HANDLE ep_ = DAT_HANDLE_NULL;
    DAT_LMR_CONTEXT context_ = 0;
    alignas(kMessage) unsigned char memory_[2 * kMessage] = {};  ///< received, then sent
};

constexpr unsigned char kQuestion = 1;
constexpr unsigned char kAnswer = 100;

void tell_failure(Link& link, const char* what) {
    try {
        link.send("failed", what);
    } catch (const tools::Failure&) {
        return;  // the other side is gone already
    }
}

/// Reports an exception of `body` to the other side, so that it does not wait for nothing.
template <class Body>
void telling(Link& link, const Body& body) {
    try {
        body();
    } catch (const std::exception& failure) {
        tell_failure(link, failure.what());
        throw;
    }
}

}  // namespace

void serve_transfer(const std::string& ia_name, Link& link, double seconds) {
    telling(link, [&] {
        End end(ia_name, link, seconds);
        link.send("at", end.listen());
        end.accept();
        end.await_transfers(1);
        end.require_received(kQuestion);
        end.send(kAnswer);
        end.await_transfers(1);
        link.receive("done");
    });
}

void make_transfer(const std::string& ia_name, Link& link, double seconds) {
    telling(link, [&] {
        End end(ia_name, link, seconds);
        end.connect(link.receive("at"));
        end.send(kQuestion);
        end.await_transfers(2);
        end.require_received(kAnswer);
        link.send("done", "");
    });
}

}  // namespace doctor
