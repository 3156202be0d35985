// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Datagrams between endpoints of the client and one or more endpoints of the server.
#include "test/dtest_ext/datagram_endpoint.hpp"
#include "tools/common/failure.hpp"

namespace dtest_ext {

using namespace tools;

namespace {

std::string lacks_datagrams(const Context& context) {
    return context.device.says(DAT_IB_ATTR_UD) ? "" : "DAT_IB_UD is not TRUE";
}

std::string lacks_additions(const Context& context) {
    const std::string lacks = lacks_datagrams(context);
    if (!lacks.empty()) return lacks;
    return context.device.has_additions() ? "" : "this library leaves that to the device";
}

/// This side's endpoints and, for each endpoint of the client, its peer's address.
class Datagrams {
  public:
    explicit Datagrams(const Context& context);
    /// The n-th endpoint of the client sends a request, and one of the server accepts it.
    void meet(unsigned index);
    void send(unsigned index, std::uint32_t size);
    void receive(unsigned index, std::uint32_t size);
    void close();
    /// @return this side's endpoint for the n-th of the client; a server may have one for all.
    const DatagramEndpoint& endpoint(unsigned index) const {
        return endpoints_[index % endpoints_.size()];
    }
    const PeerAddress& peer(unsigned index) const { return peers_.at(index); }

  private:
    static constexpr unsigned kSlot = 0;
    const Context& context_;
    std::vector<DatagramEndpoint> endpoints_;
    std::vector<PeerAddress> peers_;
};

Datagrams::Datagrams(const Context& context) : context_(context) {
    const bool one = context.options.server() && !context.options.many_servers;
    const unsigned count = one ? 1 : context.options.datagram_endpoints;
    for (unsigned i = 0; i < count; ++i) endpoints_.emplace_back(context);
}

void Datagrams::meet(unsigned index) {
    // Question and answer have one length: the reference's libdaploucm reports that of the question
    // as the length of the answer.
    const std::string asked = format("endpoint %u", index);
    std::string answered = format("accepted %u", index);
    const DatagramEndpoint& mine = endpoint(index);
    if (context_.options.server()) {
        require_success(dat_cr_accept(datagram_request(context_, asked), mine.ep(),
                                      static_cast<DAT_COUNT>(answered.size()), answered.data()),
                        "dat_cr_accept of a datagram request", kFault);
        peers_.push_back(mine.answer(DAT_IB_UD_PASSIVE_REMOTE_AH, asked));
    } else {
        mine.ask(asked);
        peers_.push_back(mine.answer(DAT_IB_UD_REMOTE_AH, answered));
    }
    context_.other.exchange("addresses of " + asked);
}

void Datagrams::send(unsigned index, std::uint32_t size) {
    context_.other.exchange(format("datagram of %u", index));
    endpoint(index).send(peer(index), size, index);
}

void Datagrams::receive(unsigned index, std::uint32_t size) {
    endpoint(index).post_receive(kSlot);
    context_.other.exchange(format("datagram of %u", index));
    endpoint(index).receive(peer(index), size, index, kSlot);
}

void Datagrams::close() {
    context_.other.exchange("end of the datagrams");
    // Other libraries free these a second time when the endpoint is freed.
    for (unsigned i = 0; context_.device.has_additions() && i < peers_.size(); ++i) {
        DAT_IB_ADDR_HANDLE address = peers_[i].address;
        require_success(dat_ib_ud_cm_free(endpoint(i).ep(), peers_[i].context), "dat_ib_ud_cm_free",
                        kFault);
        require_success(dat_ib_ud_ah_free(endpoint(i).ep(), &address), "dat_ib_ud_ah_free", kFault);
    }
    for (DatagramEndpoint& endpoint : endpoints_) endpoint.close();
}

std::string check_messages(const Context& context) {
    const std::uint32_t size = datagram_size(context);
    const unsigned count = context.options.datagram_endpoints;
    Datagrams datagrams(context);
    for (unsigned i = 0; i < count; ++i) datagrams.meet(i);
    for (unsigned i = 0; i < count; ++i) {
        for (const bool from_client : {true, false}) {
            if (from_client == context.options.server())
                datagrams.receive(i, size);
            else
                datagrams.send(i, size);
        }
    }
    datagrams.close();
    return format(
        "%u endpoints of the client and %u of the server learned each other's addresses, "
        "and %u bytes went each way between them",
        count, context.options.many_servers ? count : 1, size);
}

std::string check_rejection(const Context& context) {
    DatagramEndpoint endpoint(context);
    const std::string asked = "may I go";
    char reason[] = "not now";  // with its end as long as the question, as in meet()
    if (context.options.server()) {
        require_success(dat_cr_reject(datagram_request(context, asked), sizeof reason, reason),
                        "dat_cr_reject", kFault);
    } else {
        endpoint.ask(asked);
        endpoint.refusal(reason);
    }
    context.other.exchange("rejection");
    endpoint.close();
    return "the client's endpoint has the server's reason";
}

std::string check_refusals(const Context& context) {
    Datagrams datagrams(context);
    datagrams.meet(0);
    const DatagramEndpoint& endpoint = datagrams.endpoint(0);
    DAT_IB_ADDR_HANDLE nowhere{};
    require_refusal(endpoint.post(nowhere, 8, 0), "dat_ib_post_send_ud", DAT_INVALID_PARAMETER);
    DAT_LMR_TRIPLET segment = context.device.receive.segment(0, 8);
    require_refusal(
        dat_ep_post_send(endpoint.ep(), 1, &segment, make_cookie(0), DAT_COMPLETION_DEFAULT_FLAG),
        "dat_ep_post_send", DAT_INVALID_HANDLE);
    Connection connected(context);
    DAT_IB_ADDR_HANDLE somewhere = datagrams.peer(0).address;
    require_refusal(dat_ib_post_send_ud(connected.ep(), 1, &segment, &somewhere, make_cookie(0),
                                        DAT_COMPLETION_DEFAULT_FLAG),
                    "dat_ib_post_send_ud", DAT_INVALID_HANDLE);
    connected.release();
    datagrams.close();
    return "no address DAT_INVALID_PARAMETER; connected sends on datagram endpoints, and datagrams "
           "on others, DAT_INVALID_HANDLE";
}

}  // namespace

const std::vector<Check> kDatagramChecks = {
    {"datagrams", lacks_datagrams, check_messages},
    {"datagram request that is rejected", lacks_datagrams, check_rejection},
    {"datagrams that are refused", lacks_additions, check_refusals},
};

}  // namespace dtest_ext
