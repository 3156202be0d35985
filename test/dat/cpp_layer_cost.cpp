// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The data path twice: in C calls (c_...) and in the C++ layer (layer_...). cpp_layer.bats
/// compares their instructions, both as compiled and as executed by main(), which runs each pair on
/// soft0 over a connection of the process with itself.
#include <dat2/dat.hpp>

#include <array>
#include <cstdio>

namespace {

constexpr auto kDefault = DAT_COMPLETION_DEFAULT_FLAG;

/// State of a program in C.
struct CSide {
    DAT_EP_HANDLE ep;
    DAT_EVD_HANDLE evd;
    DAT_LMR_CONTEXT key;
    const char* source;
    std::size_t size;
    DAT_RMR_TRIPLET remote;
};

/// The same state in the C++ layer.
struct LayerSide {
    dat::ep ep;
    dat::evd evd;
    dat::lmr memory;
    std::span<char> source;
    DAT_RMR_TRIPLET remote;
};

}  // namespace

extern "C" {

[[gnu::noinline]] bool c_post_recv(const CSide& side, DAT_UINT64 number) {
    DAT_LMR_TRIPLET local = {reinterpret_cast<DAT_VADDR>(side.source),
                             static_cast<DAT_SEG_LENGTH>(side.size), side.key};
    DAT_DTO_COOKIE cookie;
    cookie.as_64 = number;
    return dat_ep_post_recv(side.ep, 1, &local, cookie, kDefault) == DAT_SUCCESS;
}
[[gnu::noinline]] bool layer_post_recv(const LayerSide& side, DAT_UINT64 number) {
    return side.ep.post_recv(side.memory.segment(side.source), dat::cookie(number)).has_value();
}

/// Sends two segments.
[[gnu::noinline]] bool c_post_send(const CSide& side, DAT_UINT64 number) {
    const auto address = reinterpret_cast<DAT_VADDR>(side.source);
    DAT_LMR_TRIPLET local[] = {{address, 8, side.key}, {address + 16, 16, side.key}};
    DAT_DTO_COOKIE cookie;
    cookie.as_64 = number;
    return dat_ep_post_send(side.ep, 2, local, cookie, kDefault) == DAT_SUCCESS;
}
[[gnu::noinline]] bool layer_post_send(const LayerSide& side, DAT_UINT64 number) {
    const std::array local{side.memory.segment(side.source.first<8>()),
                           side.memory.segment(side.source.subspan<16, 16>())};
    return side.ep.post_send(local, dat::cookie(number)).has_value();
}

[[gnu::noinline]] bool c_post_write(const CSide& side, DAT_UINT64 number) {
    DAT_LMR_TRIPLET local = {reinterpret_cast<DAT_VADDR>(side.source),
                             static_cast<DAT_SEG_LENGTH>(side.size), side.key};
    DAT_DTO_COOKIE cookie;
    cookie.as_64 = number;
    return dat_ep_post_rdma_write(side.ep, 1, &local, cookie, &side.remote, kDefault) ==
           DAT_SUCCESS;
}
[[gnu::noinline]] bool layer_post_write(const LayerSide& side, DAT_UINT64 number) {
    return side.ep
        .post_rdma_write(side.memory.segment(side.source), side.remote, dat::cookie(number))
        .has_value();
}

[[gnu::noinline]] bool c_post_read(const CSide& side, DAT_UINT64 number) {
    DAT_LMR_TRIPLET local = {reinterpret_cast<DAT_VADDR>(side.source),
                             static_cast<DAT_SEG_LENGTH>(side.size), side.key};
    DAT_DTO_COOKIE cookie;
    cookie.as_64 = number;
    return dat_ep_post_rdma_read(side.ep, 1, &local, cookie, &side.remote, kDefault) == DAT_SUCCESS;
}
[[gnu::noinline]] bool layer_post_read(const LayerSide& side, DAT_UINT64 number) {
    return side.ep
        .post_rdma_read(side.memory.segment(side.source), side.remote, dat::cookie(number))
        .has_value();
}

/// Polls for the completion of transfer `number`.
[[gnu::noinline]] bool c_poll(const CSide& side, DAT_UINT64 number) {
    DAT_EVENT event;
    DAT_RETURN code;
    while ((code = dat_evd_dequeue(side.evd, &event)) != DAT_SUCCESS)
        if (DAT_GET_TYPE(code) != DAT_QUEUE_EMPTY) return false;
    if (event.event_number != DAT_DTO_COMPLETION_EVENT) return false;
    const DAT_DTO_COMPLETION_EVENT_DATA* done = &event.event_data.dto_completion_event_data;
    return done->status == DAT_DTO_SUCCESS && done->user_cookie.as_64 == number;
}
[[gnu::noinline]] bool layer_poll(const LayerSide& side, DAT_UINT64 number) {
    dat::event event;
    dat::result<void> taken;
    while (!(taken = side.evd.dequeue(event)))
        if (taken.error() != DAT_QUEUE_EMPTY) return false;
    const DAT_DTO_COMPLETION_EVENT_DATA* done = event.dto();
    if (!done) return false;
    return done->status == DAT_DTO_SUCCESS && done->user_cookie.as_64 == number;
}

[[gnu::noinline]] bool c_wait(const CSide& side, DAT_UINT64 number) {
    DAT_EVENT event;
    DAT_COUNT more;
    if (dat_evd_wait(side.evd, DAT_TIMEOUT_INFINITE, 1, &event, &more) != DAT_SUCCESS) return false;
    if (event.event_number != DAT_DTO_COMPLETION_EVENT) return false;
    const DAT_DTO_COMPLETION_EVENT_DATA* done = &event.event_data.dto_completion_event_data;
    return done->status == DAT_DTO_SUCCESS && done->user_cookie.as_64 == number;
}
[[gnu::noinline]] bool layer_wait(const LayerSide& side, DAT_UINT64 number) {
    dat::event event;
    if (!side.evd.wait(event)) return false;
    const DAT_DTO_COMPLETION_EVENT_DATA* done = event.dto();
    if (!done) return false;
    return done->status == DAT_DTO_SUCCESS && done->user_cookie.as_64 == number;
}
}

namespace {

constexpr DAT_CONN_QUAL kQualifier = 4713;
constexpr unsigned kRounds = 50;
constexpr unsigned kBytes = 64;
constexpr std::chrono::seconds kPatience{60};

/// One end of the connection, with the state of both kinds of program.
struct Side {
    Side(const dat::ia& ia, const dat::pz& pz, const dat::evd& connections, char (&bytes)[kBytes]) {
        layer.evd = dat::evd::create(ia, 8, DAT_EVD_DTO_FLAG).value();
        layer.memory = dat::lmr::create(ia, pz, std::span(bytes)).value();
        layer.source = bytes;
        layer.ep = dat::ep::create(ia, pz, {layer.evd, layer.evd, connections}).value();
    }
    void reach(const Side& peer) {
        layer.remote = peer.layer.memory.remote(0, kBytes);
        c = {layer.ep.get(),      layer.evd.get(),     layer.memory.lmr_context(),
             layer.source.data(), layer.source.size(), layer.remote};
    }

    LayerSide layer;
    CSide c{};
};

void connect(const dat::ia& ia, const dat::evd& events, const dat::ep& active,
             const dat::ep& passive) {
    const dat::psp psp = dat::psp::create(ia, kQualifier, events).value();
    active.connect(ia.attributes()->ia_address_ptr, kQualifier).value();
    const dat::event request = events.next(kPatience).value();
    dat::cr(*request.request()).accept(passive).value();
    for (int established = 0; established < 2; ++established)
        if (events.next(kPatience)->number() != DAT_CONNECTION_EVENT_ESTABLISHED)
            throw std::runtime_error("no connection");
}

/// The write is posted before the message, so it is complete when the message has arrived, whatever
/// the data path. Each poll therefore finds its event at once, and the numbers of instructions can
/// be compared.
bool c_round(const CSide& one, const CSide& other, unsigned i) {
    return c_post_recv(other, i) && c_post_write(one, i) && c_post_send(one, i) &&
           c_wait(other, i) && c_poll(one, i) && c_wait(one, i) && c_post_read(one, i) &&
           c_wait(one, i);
}
bool layer_round(const LayerSide& one, const LayerSide& other, unsigned i) {
    return layer_post_recv(other, i) && layer_post_write(one, i) && layer_post_send(one, i) &&
           layer_wait(other, i) && layer_poll(one, i) && layer_wait(one, i) &&
           layer_post_read(one, i) && layer_wait(one, i);
}

bool run(const Side& one, const Side& other) {
    for (unsigned i = 0; i < kRounds; ++i)
        if (!c_round(one.c, other.c, i) || !layer_round(one.layer, other.layer, i)) return false;
    return true;
}

}  // namespace

int main() {
    static char here[kBytes], there[kBytes];
    const dat::ia ia = dat::ia::open("soft0").value();
    const dat::pz pz = dat::pz::create(ia).value();
    const dat::evd events =
        dat::evd::create(ia, 8, dat::flags(DAT_EVD_CR_FLAG, DAT_EVD_CONNECTION_FLAG)).value();
    Side one(ia, pz, events, here), other(ia, pz, events, there);
    one.reach(other);
    other.reach(one);
    connect(ia, events, one.layer.ep, other.layer.ep);
    const bool good = run(one, other);
    std::puts(good ? "works" : "failed");
    return good ? 0 : 1;
}
