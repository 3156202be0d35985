// SPDX-License-Identifier: BSD-2-Clause
#include "test/api/conformance/rig.hpp"

#include <arpa/inet.h>

#include <cstdio>

namespace conformance {

DAT_RETURN connect(DAT_EP_HANDLE ep, const Request& request) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    inet_pton(AF_INET, request.address, &address.sin_addr);
    return dat_ep_connect(ep, reinterpret_cast<DAT_IA_ADDRESS_PTR>(&address), request.qualifier,
                          request.timeout, request.size, const_cast<void*>(request.data),
                          static_cast<DAT_QOS>(request.quality),
                          static_cast<DAT_CONNECT_FLAGS>(request.flags));
}

std::string name_of(DAT_EP_STATE state) {
    static const char* const names[] = {
        "UNCONNECTED",       "UNCONFIGURED_UNCONNECTED", "RESERVED",
        "UNCONFIGURED_RES",  "PASSIVE_PENDING",          "UNCONFIGURED_PASSIVE",
        "ACTIVE_PENDING",    "TENTATIVE_PENDING",        "UNCONFIGURED_TENTATIVE",
        "CONNECTED",         "DISCONNECT_PENDING",       "DISCONNECTED",
        "COMPLETION_PENDING"};
    return static_cast<unsigned>(state) < std::size(names) ? names[state]
                                                           : "state-" + std::to_string(state);
}

Rig& Rig::operator<<(const std::string& word) {
    const std::string text = (begun_ ? " " : "") + word;
    begun_ = true;
    if (write(answers_, text.data(), text.size()) < 0) _exit(1);
    return *this;
}

Rig& Rig::operator<<(DAT_RETURN code) {
    char text[16];
    snprintf(text, sizeof text, code == DAT_SUCCESS ? "%X" : "0x%08X", code);
    return *this << text;
}

DAT_EVENT Rig::event(DAT_EVD_HANDLE evd) {
    DAT_EVENT event{};
    DAT_COUNT more = 0;
    succeed(dat_evd_wait(evd, test::kMicroseconds, 1, &event, &more), "an event");
    *this << event.event_number;
    return event;
}

Rig& Rig::comes_to(DAT_EP_HANDLE ep, DAT_EP_STATE state) {
    test::eventually([&] { return Side::state(ep) == state; });
    return this->state(ep);
}

Side& Rig::side() {
    if (!side_) side_ = new Side;
    return *side_;
}

Buffer& Rig::buffer() {
    if (!buffer_) buffer_ = new Buffer(side());
    return *buffer_;
}

DAT_CNO_HANDLE Rig::cno() {
    DAT_CNO_HANDLE made = DAT_HANDLE_NULL;
    succeed(dat_cno_create(ia(), DAT_OS_WAIT_PROXY_AGENT_NULL, &made), "dat_cno_create");
    return made;
}

DAT_SRQ_HANDLE Rig::srq(DAT_COUNT receives) {
    DAT_SRQ_HANDLE made = DAT_HANDLE_NULL;
    DAT_SRQ_ATTR attributes{receives, 2, DAT_SRQ_LW_DEFAULT};
    succeed(dat_srq_create(ia(), side().pz, &attributes, &made), "dat_srq_create");
    return made;
}

Channel& Rig::peer(const Peer& body) {
    test::require(!side_ && !channel_, "one peer, forked before anything is opened");
    auto* const child = new test::Child([body](Channel& channel) {
        Side& side = *new Side;
        body(side, channel);
        pause();
    });
    return *(channel_ = &child->channel());
}

Channel& Rig::listener(const Peer& body) {
    peer([body](Side& side, Channel& channel) {
        side.listen(kQualifier);
        channel.send('l');
        body(side, channel);
    });
    channel_->receive<char>();
    return *channel_;
}

Channel& Rig::client(const Request& request, const Peer& body) {
    return peer([request, body](Side& side, Channel& channel) {
        channel.receive<char>();
        succeed(connect(side.endpoint(), request), "dat_ep_connect");
        body(side, channel);
    });
}

DAT_EP_HANDLE Rig::connected(const ConnectedPeer& body) {
    listener([body](Side& side, Channel& channel) {
        const DAT_EP_HANDLE ep = side.accept_next();
        channel.send('c');
        body(side, ep, channel);
    });
    const DAT_EP_HANDLE ep = side().connect_to(kQualifier);
    channel_->receive<char>();
    return ep;
}

DAT_CR_HANDLE Rig::requested(const Request& request) {
    client(request, [](Side& side, Channel& channel) { tell_event(channel, side.connections); });
    side().listen(kQualifier);
    go();
    return side().request();
}

void Rig::peer_tells() {
    *this << channel_->receive<DAT_EVENT_NUMBER>();
}

void tell_event(Channel& channel, DAT_EVD_HANDLE evd) {
    DAT_EVENT event{};
    DAT_COUNT more = 0;
    succeed(dat_evd_wait(evd, test::kMicroseconds, 1, &event, &more), "an event");
    channel.send(event.event_number);
}

DAT_LMR_TRIPLET segment(const Buffer& buffer, DAT_SEG_LENGTH length) {
    DAT_LMR_TRIPLET triplet = buffer.all();
    triplet.segment_length = length;
    return triplet;
}

DAT_RMR_TRIPLET remote_segment(const Remote& remote, DAT_SEG_LENGTH length) {
    DAT_RMR_TRIPLET triplet{};
    triplet.virtual_address = remote.address;
    triplet.rmr_context = remote.key;
    triplet.segment_length = length;
    return triplet;
}

}  // namespace conformance
