// SPDX-License-Identifier: BSD-2-Clause
// The end of a connection: dat_ep_disconnect, dat_ep_free, dat_ep_reset, and the events on both
// sides.
#include "test/api/conformance/row.hpp"
#include "test/api/conformance/states.hpp"

namespace conformance {
namespace {

/// Peer's body: sends its next connection event for peer_tells().
void watch(Side& side, DAT_EP_HANDLE, Channel& channel) {
    tell_event(channel, side.connections);
}

DAT_RETURN post_receive(DAT_EP_HANDLE ep, DAT_UINT64 value = 1) {
    return dat_ep_post_recv(ep, 0, nullptr, cookie(value), DAT_COMPLETION_DEFAULT_FLAG);
}

void tell_no_more(Rig& r, DAT_EVD_HANDLE evd) {
    DAT_EVENT event{};
    r << dat_evd_dequeue(evd, &event);
}

/// Writes cookie and status of the next completion, but no event name: a failed one's is checked by
/// a row of its own.
void tell_completion(Rig& r, DAT_EVD_HANDLE evd) {
    DAT_EVENT event{};
    DAT_COUNT more = 0;
    succeed(dat_evd_wait(evd, test::kMicroseconds, 1, &event, &more), "a completion");
    const auto& data = event.event_data.dto_completion_event_data;
    r << data.user_cookie.as_64 << static_cast<DAT_COUNT>(data.status);
}

Rows disconnect_rows() {
    return {
        {"dat_ep_disconnect/graceful", "0 DISCONNECTED DISCONNECTED DISCONNECTED 0x800D0000",
         [](Rig& r) {
             const DAT_EP_HANDLE ep = r.connected(watch);
             r << dat_ep_disconnect(ep, DAT_CLOSE_GRACEFUL_FLAG);
             r.event(r.side().connections);
             r.peer_tells();
             r.state(ep);
             tell_no_more(r, r.side().connections);
         }},
        {"dat_ep_disconnect/abrupt-is-over-at-return",
         "0 DISCONNECTED DISCONNECTED DISCONNECTED 0x800D0000",
         [](Rig& r) {
             const DAT_EP_HANDLE ep = r.connected(watch);
             r << dat_ep_disconnect(ep, DAT_CLOSE_ABRUPT_FLAG);
             r.state(ep);
             r.event(r.side().connections);
             r.peer_tells();
             tell_no_more(r, r.side().connections);
         }},
        {"dat_ep_disconnect/event-of-the-active-side", "0 yes",
         [](Rig& r) {
             const DAT_EP_HANDLE ep = r.connected();
             succeed(dat_ep_disconnect(ep, DAT_CLOSE_ABRUPT_FLAG), "dat_ep_disconnect");
             const auto data = Side::wait(r.side().connections, DAT_CONNECTION_EVENT_DISCONNECTED)
                                   .event_data.connect_event_data;
             r << data.private_data_size << (data.private_data == nullptr);
         }},
        {"dat_ep_disconnect/by-the-peer", "DISCONNECTED DISCONNECTED 0x800D0000",
         [](Rig& r) {
             const DAT_EP_HANDLE ep = r.connected([](Side&, DAT_EP_HANDLE other, Channel&) {
                 dat_ep_disconnect(other, DAT_CLOSE_GRACEFUL_FLAG);
             });
             r.event(r.side().connections);
             r.comes_to(ep, DAT_EP_STATE_DISCONNECTED);
             tell_no_more(r, r.side().connections);
         }},
        {"dat_ep_disconnect/abrupt-twice", "0 0 DISCONNECTED 0x800D0000",
         [](Rig& r) {
             const DAT_EP_HANDLE ep = r.connected();
             for (int i = 0; i < 2; ++i) r << dat_ep_disconnect(ep, DAT_CLOSE_ABRUPT_FLAG);
             r.event(r.side().connections);
             tell_no_more(r, r.side().connections);
         }},
        {"dat_ep_disconnect/abrupt-after-graceful", "0 0 DISCONNECTED DISCONNECTED",
         [](Rig& r) {
             const DAT_EP_HANDLE ep = r.connected();
             r << dat_ep_disconnect(ep, DAT_CLOSE_GRACEFUL_FLAG)
               << dat_ep_disconnect(ep, DAT_CLOSE_ABRUPT_FLAG);
             r.event(r.side().connections);
             r.comes_to(ep, DAT_EP_STATE_DISCONNECTED);
         }},
        {"dat_ep_disconnect/while-connecting", "0 DISCONNECTED DISCONNECTED 0 yes 0x800D0000",
         [](Rig& r) {
             const DAT_EP_HANDLE ep = active_pending(r);
             r << dat_ep_disconnect(ep, DAT_CLOSE_ABRUPT_FLAG);
             r.state(ep);
             const auto data = r.event(r.side().connections).event_data.connect_event_data;
             r << data.private_data_size << (data.private_data == nullptr);
             tell_no_more(r, r.side().connections);
         }},
        {"dat_ep_disconnect/when-disconnected-nothing-happens", "0 0x800D0000",
         [](Rig& r) {
             r << dat_ep_disconnect(disconnected(r), DAT_CLOSE_ABRUPT_FLAG);
             tell_no_more(r, r.side().connections);
         }},
        {"dat_ep_disconnect/flushes-receives-oldest-first", "0 DISCONNECTED 7 1 8 1 0x000D0000",
         [](Rig& r) {
             const DAT_EP_HANDLE ep = r.connected();
             for (const DAT_UINT64 value : {7u, 8u})
                 succeed(post_receive(ep, value), "dat_ep_post_recv");
             r << dat_ep_disconnect(ep, DAT_CLOSE_ABRUPT_FLAG);
             r.event(r.side().connections);
             for (int i = 0; i < 2; ++i) tell_completion(r, r.side().receives);
             tell_no_more(r, r.side().receives);
         }},
        {"dat_ep_disconnect/flushes-the-peer's-receives", "DISCONNECTED 9 1",
         [](Rig& r) {
             const DAT_EP_HANDLE ep = r.connected([](Side&, DAT_EP_HANDLE other, Channel& channel) {
                 channel.receive<char>();
                 dat_ep_disconnect(other, DAT_CLOSE_ABRUPT_FLAG);
             });
             succeed(post_receive(ep, 9), "dat_ep_post_recv");
             r.go();
             r.event(r.side().connections);
             tell_completion(r, r.side().receives);
         }},
        {"dat_ep_disconnect/flushed-receive-is-a-dto-event", "DTO",
         [](Rig& r) {
             const DAT_EP_HANDLE ep = r.connected();
             succeed(post_receive(ep), "dat_ep_post_recv");
             succeed(dat_ep_disconnect(ep, DAT_CLOSE_ABRUPT_FLAG), "dat_ep_disconnect");
             r.event(r.side().receives);
         }},
        {"dat_ep_disconnect/work-posted-afterwards-is-flushed", "0 0 5 1 6 1",
         [](Rig& r) {
             const DAT_EP_HANDLE ep = disconnected(r);
             const DAT_RMR_TRIPLET remote{};
             r << dat_ep_post_send(ep, 0, nullptr, cookie(5), DAT_COMPLETION_DEFAULT_FLAG)
               << dat_ep_post_rdma_write(ep, 0, nullptr, cookie(6), &remote,
                                         DAT_COMPLETION_DEFAULT_FLAG);
             for (int i = 0; i < 2; ++i) tell_completion(r, r.side().sends);
         }},
        {"dat_ep_disconnect/graceful-waits-for-posted-work",
         "0 DISCONNECT_PENDING 0x80060026 0x80070037 5 0 DISCONNECTED DISCONNECTED",
         [](Rig& r) {
             const DAT_EP_HANDLE ep = r.connected([](Side&, DAT_EP_HANDLE other, Channel& channel) {
                 channel.receive<char>();
                 post_receive(other);
             });
             succeed(dat_ep_post_send(ep, 0, nullptr, cookie(5), DAT_COMPLETION_DEFAULT_FLAG),
                     "dat_ep_post_send");
             r << dat_ep_disconnect(ep, DAT_CLOSE_GRACEFUL_FLAG);
             r.state(ep);
             r << dat_ep_disconnect(ep, DAT_CLOSE_GRACEFUL_FLAG) << dat_ep_reset(ep);
             r.go();
             tell_completion(r, r.side().sends);
             r.event(r.side().connections);
             r.comes_to(ep, DAT_EP_STATE_DISCONNECTED);
         },
         "it does not wait"},
        {"dat_ep_disconnect/peer-is-killed", "DISCONNECTED DISCONNECTED 0x800D0000",
         [](Rig& r) {
             const DAT_EP_HANDLE ep =
                 r.connected([](Side&, DAT_EP_HANDLE, Channel&) { raise(SIGKILL); });
             r.event(r.side().connections);
             r.comes_to(ep, DAT_EP_STATE_DISCONNECTED);
             tell_no_more(r, r.side().async);
         }},
    };
}

Rows free_rows() {
    return {
        {"dat_ep_free/connected-tells-both-sides", "0 DISCONNECTED yes DISCONNECTED",
         [](Rig& r) {
             const DAT_EP_HANDLE ep = r.connected(watch);
             r << dat_ep_free(ep);
             r << (r.event(r.side().connections).event_data.connect_event_data.ep_handle == ep);
             r.peer_tells();
         }},
        {"dat_ep_free/flushed-receives-stay", "0 1 1",
         [](Rig& r) {
             const DAT_EP_HANDLE ep = r.connected();
             succeed(post_receive(ep), "dat_ep_post_recv");
             r << dat_ep_free(ep);
             tell_completion(r, r.side().receives);
         }},
        {"dat_ep_free/never-connected-drops-its-receives", "0 0x000D0000",
         [](Rig& r) {
             const DAT_EP_HANDLE ep = r.endpoint();
             succeed(post_receive(ep), "dat_ep_post_recv");
             r << dat_ep_free(ep);
             tell_no_more(r, r.side().receives);
         }},
        {"dat_ep_free/lets-go-of-pz-and-evds", "0 0 0 0 0",
         [](Rig& r) {
             const Side& side = r.side();
             r << dat_ep_free(r.endpoint()) << dat_pz_free(side.pz) << dat_evd_free(side.receives)
               << dat_evd_free(side.sends) << dat_evd_free(side.connections);
         }},
        {"dat_ep_free/while-connecting-tells", "0 DISCONNECTED",
         [](Rig& r) {
             r << dat_ep_free(active_pending(r));
             r.event(r.side().connections);
         }},
    };
}

Rows reset_rows() {
    return {
        {"dat_ep_reset/disconnected", "0 UNCONNECTED",
         [](Rig& r) {
             const DAT_EP_HANDLE ep = disconnected(r);
             r << dat_ep_reset(ep);
             r.state(ep);
         }},
        {"dat_ep_reset/unconnected-keeps-its-receives", "0 1",
         [](Rig& r) {
             const DAT_EP_HANDLE ep = r.endpoint();
             succeed(post_receive(ep), "dat_ep_post_recv");
             r << dat_ep_reset(ep);
             DAT_BOOLEAN receives = DAT_FALSE;
             succeed(dat_ep_get_status(ep, nullptr, &receives, nullptr), "dat_ep_get_status");
             r << static_cast<DAT_COUNT>(receives);
         }},
        {"dat_ep_reset/flushed-completions-stay", "0 1 1",
         [](Rig& r) {
             const DAT_EP_HANDLE ep = r.connected();
             succeed(post_receive(ep), "dat_ep_post_recv");
             succeed(dat_ep_disconnect(ep, DAT_CLOSE_ABRUPT_FLAG), "dat_ep_disconnect");
             r << dat_ep_reset(ep);
             tell_completion(r, r.side().receives);
         }},
        {"dat_ep_reset/connects-again", "0 0 ESTABLISHED CONNECTED",
         [](Rig& r) {
             const DAT_EP_HANDLE ep = r.connected([](Side& side, DAT_EP_HANDLE, Channel&) {
                 Side::wait(side.connections, DAT_CONNECTION_EVENT_DISCONNECTED);
                 side.accept_next();
             });
             succeed(dat_ep_disconnect(ep, DAT_CLOSE_ABRUPT_FLAG), "dat_ep_disconnect");
             Side::wait(r.side().connections, DAT_CONNECTION_EVENT_DISCONNECTED);
             r << dat_ep_reset(ep) << connect(ep);
             r.event(r.side().connections);
             r.state(ep);
         }},
        {"dat_ep_reset/after-a-time-out", "0 TIMED_OUT 0 UNCONNECTED",
         [](Rig& r) {
             r.listener();
             const DAT_EP_HANDLE ep = r.endpoint();
             r << connect(ep, {.timeout = 50000});
             r.event(r.side().connections);
             r << dat_ep_reset(ep);
             r.state(ep);
         }},
    };
}

}  // namespace

Rows ep_end_rows() {
    Rows rows = disconnect_rows();
    for (const Rows& more : {free_rows(), reset_rows()})
        rows.insert(rows.end(), more.begin(), more.end());
    return rows;
}

}  // namespace conformance
