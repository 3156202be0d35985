// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Fuzzes what a peer can cause through rdma_cm: any events, in any order, with any private data,
/// for connections in any state. They pass the connection manager over rdma_cm and the core and
/// reach the consumer, which must get what was sent, followed by zeros, and nothing else.
///
/// Input: a byte, bit 0 of which selects an iWARP adapter; then steps. The low half of a step's
/// first byte selects the action, the high half the endpoint, request or identifier. A step that
/// connects or accepts has a byte for the length of the private data, then the data. A step that
/// raises an event has a byte for its type, two for the status, a byte for the length of the data
/// and one whose bit 0 omits the bytes; then the data.
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "dapl/cm/lock.hpp"
#include "dapl/provider/entry.hpp"
#include "test/dapl/fake_device.hpp"
#include "test/fuzz/fake_rdmacm.hpp"
#include "test/fuzz/input.hpp"

namespace {

namespace entry = dapl::entry;
using test::Input;
using test::require;

constexpr std::size_t kMostEndpoints = 6;
constexpr DAT_CONN_QUAL kQualifier = 4711;

/// Private data of the event raised last: all that the consumer may get until the next one.
struct Sent {
    std::vector<std::byte> data;
    bool null = false;

    /// The header's last byte is zero and may be missing on InfiniBand, whose field is padded with
    /// zeros.
    bool has_reject_header(bool is_iwarp) const {
        constexpr std::array<unsigned char, 4> kHeader{2, 0, 2, 0};
        const std::size_t least = is_iwarp ? kHeader.size() : kHeader.size() - 1;
        return !null && data.size() >= least &&
               std::memcmp(data.data(), kHeader.data(), std::min(data.size(), kHeader.size())) == 0;
    }
    /// @param skipped leading bytes that the connection manager uses itself.
    void require_in(const void* shown, DAT_COUNT size, std::size_t skipped,
                    const char* what) const {
        require(size >= 0 && size <= 256, "private data has a size that fits");
        require(size == 0 || shown, "private data is somewhere");
        const auto* bytes = static_cast<const std::byte*>(shown);
        for (std::size_t i = 0; i < static_cast<std::size_t>(size); ++i) {
            const std::size_t at = i + skipped;
            const bool was_sent = !null && at < data.size();
            require(bytes[i] == (was_sent ? data[at] : std::byte{0}), what);
        }
    }
};

/// An adapter with a service point, made once; everything else lives for one input.
class Adapter {
  public:
    explicit Adapter(int number) : open_(number, "lo 0", fake::kRdmaLibrary) {
        succeed(entry::pz_create(open_.ia, &pz_));
        transfers_ = evd(DAT_EVD_DTO_FLAG);
        connections_ = evd(DAT_EVD_CONNECTION_FLAG);
        requests_ = evd(DAT_EVD_CR_FLAG);
        succeed(entry::psp_create(open_.ia, kQualifier, requests_, DAT_PSP_CONSUMER_FLAG, &psp_));
        lasting_ = fake::identifiers().size();
    }

    void run(Input& input, bool is_iwarp) {
        is_iwarp_ = is_iwarp;
        while (!input.empty()) step(input);
        for (DAT_CR_HANDLE request : crs_) succeed(entry::cr_reject(request, 0, nullptr));
        crs_.clear();
        for (DAT_EP_HANDLE ep : endpoints_) succeed(entry::ep_free(ep));
        endpoints_.clear();
        take_events(Sent{});
        // Nothing may be left of accepted and rejected requests: the other identifiers are the
        // adapter's and the service point's.
        require(fake::identifiers().size() == lasting_, "no identifier is left behind");
    }

  private:
    static void succeed(DAT_RETURN code) { require(code == DAT_SUCCESS, "the call succeeds"); }

    DAT_EVD_HANDLE evd(DAT_EVD_FLAGS flags) const {
        DAT_EVD_HANDLE made = nullptr;
        succeed(entry::evd_create(open_.ia, 64, nullptr, flags, &made));
        return made;
    }

    void step(Input& input) {
        const std::uint8_t what = input.byte();
        const std::size_t which = what >> 4;
        switch (what & 15) {
            case 0:
                return create();
            case 1:
                return connect(which, input);
            case 2:
                return accept(which, input);
            case 3:
                return reject(which);
            case 4:
                return on_endpoint(which, [](DAT_EP_HANDLE ep) {
                    entry::ep_disconnect(ep, DAT_CLOSE_ABRUPT_FLAG);
                });
            case 5:
                return on_endpoint(which, [](DAT_EP_HANDLE ep) {
                    entry::ep_disconnect(ep, DAT_CLOSE_GRACEFUL_FLAG);
                });
            case 6:
                return on_endpoint(which, [](DAT_EP_HANDLE ep) { entry::ep_reset(ep); });
            case 7:
                return free_endpoint(which);
            default:
                return raise(which, input);
        }
    }

    void create() {
        if (endpoints_.size() == kMostEndpoints) return;
        DAT_EP_HANDLE ep = nullptr;
        succeed(
            entry::ep_create(open_.ia, pz_, transfers_, transfers_, connections_, nullptr, &ep));
        endpoints_.push_back(ep);
    }
    template <class Action>
    void on_endpoint(std::size_t which, const Action& action) {
        if (endpoints_.empty()) return;
        action(endpoints_[which % endpoints_.size()]);
        take_events(Sent{});
    }
    void free_endpoint(std::size_t which) {
        if (endpoints_.empty()) return;
        const auto place = endpoints_.begin() + static_cast<long>(which % endpoints_.size());
        const DAT_EP_HANDLE ep = *place;
        endpoints_.erase(place);
        succeed(entry::ep_free(ep));
        take_events(Sent{});
    }
    void connect(std::size_t which, Input& input) {
        on_endpoint(which, [&](DAT_EP_HANDLE ep) {
            sockaddr_in peer{};
            peer.sin_family = AF_INET;
            peer.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
            auto data = input.bytes(input.byte());
            entry::ep_connect(ep, reinterpret_cast<sockaddr*>(&peer), kQualifier,
                              DAT_TIMEOUT_INFINITE, static_cast<DAT_COUNT>(data.size()),
                              const_cast<std::byte*>(data.data()), DAT_QOS_BEST_EFFORT,
                              DAT_CONNECT_DEFAULT_FLAG);
        });
    }
    void accept(std::size_t which, Input& input) {
        if (crs_.empty()) return;
        on_endpoint(which, [&](DAT_EP_HANDLE ep) {
            auto data = input.bytes(input.byte());
            const DAT_CR_HANDLE request = crs_.back();
            if (entry::cr_accept(request, ep, static_cast<DAT_COUNT>(data.size()),
                                 const_cast<std::byte*>(data.data())) == DAT_SUCCESS)
                crs_.pop_back();
        });
    }
    void reject(std::size_t which) {
        if (crs_.empty()) return;
        const auto place = crs_.begin() + static_cast<long>(which % crs_.size());
        succeed(entry::cr_reject(*place, 0, nullptr));
        crs_.erase(place);
    }

    void raise(std::size_t which, Input& input) {
        const auto identifiers = fake::identifiers();
        rdma_cm_id& id = *identifiers[which % identifiers.size()];
        const auto type = static_cast<rdma_cm_event_type>(input.byte() % kEventTypes);
        const int status = static_cast<std::int16_t>(input.byte() | input.byte() << 8);
        const std::size_t length = input.byte();
        Sent sent;
        sent.null = input.byte() & 1;
        const auto data = input.bytes(length);
        sent.data.assign(data.begin(), data.end());
        // The kernel raises connection requests on listeners only.
        if (type == RDMA_CM_EVENT_CONNECT_REQUEST && !is_listener(id)) return;
        fake::raise(id, type, status, sent.data, sent.null);
        { const support::MutexLock handled(dapl::connection_lock); }
        take_events(sent);
    }
    /// The adapter's own identifier comes first, its listener's next.
    static bool is_listener(const rdma_cm_id& id) { return fake::identifiers()[1] == &id; }

    void take_events(const Sent& sent) {
        DAT_EVENT event;
        while (entry::evd_dequeue(requests_, &event) == DAT_SUCCESS) {
            const DAT_CR_HANDLE request = event.event_data.cr_arrival_event_data.cr_handle;
            DAT_CR_PARAM shown;
            succeed(entry::cr_query(request, DAT_CR_FIELD_ALL, &shown));
            sent.require_in(shown.private_data, shown.private_data_size, 0,
                            "a request carries what was sent");
            crs_.push_back(request);
        }
        while (entry::evd_dequeue(connections_, &event) == DAT_SUCCESS) {
            const auto& data = event.event_data.connect_event_data;
            const bool is_peers_no = event.event_number == DAT_CONNECTION_EVENT_PEER_REJECTED;
            sent.require_in(data.private_data, data.private_data_size, is_peers_no ? 4 : 0,
                            "an event carries what was sent");
            require(!is_peers_no || sent.has_reject_header(is_iwarp_),
                    "the consumer's no has its header");
            require(std::count(endpoints_.begin(), endpoints_.end(), data.ep_handle) <= 1,
                    "an event is of one endpoint");
        }
        while (entry::evd_dequeue(transfers_, &event) == DAT_SUCCESS) {
        }
    }

    static constexpr int kEventTypes = RDMA_CM_EVENT_TIMEWAIT_EXIT + 2;  // and an unknown one

    fake::OpenIa open_;
    DAT_PZ_HANDLE pz_ = nullptr;
    DAT_EVD_HANDLE transfers_ = nullptr;
    DAT_EVD_HANDLE connections_ = nullptr;
    DAT_EVD_HANDLE requests_ = nullptr;
    DAT_PSP_HANDLE psp_ = nullptr;
    std::size_t lasting_ = 0;
    bool is_iwarp_ = false;
    std::vector<DAT_EP_HANDLE> endpoints_;
    std::vector<DAT_CR_HANDLE> crs_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    fake::bind_to(fake::context(0));
    static Adapter adapter(0);
    Input input(data, size);
    const bool is_iwarp = input.byte() & 1;
    fake::context(0)->device->transport_type = is_iwarp ? IBV_TRANSPORT_IWARP : IBV_TRANSPORT_IB;
    adapter.run(input, is_iwarp);
    return 0;
}
