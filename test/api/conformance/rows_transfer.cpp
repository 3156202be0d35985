// SPDX-License-Identifier: BSD-2-Clause
// Transfers: the completions on both sides, the data, and errors.
#include "test/api/conformance/row.hpp"
#include "test/api/conformance/states.hpp"

namespace conformance {
namespace {

constexpr DAT_COMPLETION_FLAGS kDefault = DAT_COMPLETION_DEFAULT_FLAG;
constexpr DAT_SEG_LENGTH kReceiveLength = 200;
const std::string kText = "what is to be moved";

/// Writes the next event: its name, whether it names the EP, cookie, status and length.
void tell(Rig& r, DAT_EVD_HANDLE evd, DAT_EP_HANDLE ep) {
    const auto data = r.event(evd).event_data.dto_completion_event_data;
    r << (data.ep_handle == ep) << data.user_cookie.as_64 << static_cast<DAT_COUNT>(data.status)
      << static_cast<DAT_COUNT>(data.transfered_length);
}

/// Writes cookie and status only: after an error the other members are undefined.
void tell_failed(Rig& r, DAT_EVD_HANDLE evd) {
    DAT_EVENT event{};
    DAT_COUNT more = 0;
    succeed(dat_evd_wait(evd, test::kMicroseconds, 1, &event, &more), "a completion");
    const auto& data = event.event_data.dto_completion_event_data;
    r << data.user_cookie.as_64 << static_cast<DAT_COUNT>(data.status);
}

/// A peer with a buffer that begins with kText, which it registers with these privileges and posts
/// as a receive. After go() it sends whether the buffer begins with "MINE".
Rig::ConnectedPeer owner(int privileges = DAT_MEM_PRIV_ALL_FLAG) {
    return [privileges](Side& side, DAT_EP_HANDLE ep, Channel& channel) {
        auto& buffer = *new Buffer(side);
        buffer.bytes.replace(0, kText.size(), kText);
        DAT_REGION_DESCRIPTION region{};
        region.for_va = buffer.bytes.data();
        DAT_RMR_CONTEXT key = 0;
        DAT_LMR_HANDLE lmr = DAT_HANDLE_NULL;
        succeed(dat_lmr_create(side.ia, DAT_MEM_TYPE_VIRTUAL, region, buffer.bytes.size(), side.pz,
                               static_cast<DAT_MEM_PRIV_FLAGS>(privileges), DAT_VA_TYPE_VA, &lmr,
                               nullptr, &key, nullptr, nullptr),
                "dat_lmr_create");
        DAT_LMR_TRIPLET room = segment(buffer, kReceiveLength);
        succeed(dat_ep_post_recv(ep, 1, &room, cookie(70), kDefault), "dat_ep_post_recv");
        channel.send(Remote{reinterpret_cast<DAT_VADDR>(buffer.bytes.data()), key});
        channel.receive<char>();
        channel.send(static_cast<DAT_UINT32>(buffer.bytes.compare(0, 4, "MINE") == 0));
    };
}

/// @return a segment of this side's buffer, which begins with "MINE".
DAT_LMR_TRIPLET mine(Rig& r, DAT_SEG_LENGTH length) {
    r.buffer().bytes.replace(0, 4, "MINE");
    return segment(r.buffer(), length);
}

/// A connected EP, this side's segment and the peer's memory.
struct Pair {
    DAT_EP_HANDLE ep;
    Remote remote;
    DAT_LMR_TRIPLET local;

    explicit Pair(Rig& r, int privileges = DAT_MEM_PRIV_ALL_FLAG, DAT_SEG_LENGTH length = 8)
        : ep(r.connected(owner(privileges))),
          remote(r.channel().receive<Remote>()),
          local(mine(r, length)) {}

    DAT_RETURN send(DAT_COMPLETION_FLAGS flags = kDefault) {
        return dat_ep_post_send(ep, 1, &local, cookie(5), flags);
    }
    DAT_RETURN write(DAT_SEG_LENGTH remote_length = 8) {
        const DAT_RMR_TRIPLET there = remote_segment(remote, remote_length);
        return dat_ep_post_rdma_write(ep, 1, &local, cookie(6), &there, kDefault);
    }
    DAT_RETURN read(DAT_SEG_LENGTH remote_length = 8) {
        const DAT_RMR_TRIPLET there = remote_segment(remote, remote_length);
        return dat_ep_post_rdma_read(ep, 1, &local, cookie(7), &there, kDefault);
    }
};

/// Writes whether the peer's memory begins with this side's text.
void tell_peer_memory(Rig& r) {
    r.go();
    r << (r.channel().receive<DAT_UINT32>() != 0 ? "mine" : "its own");
}

/// Writes the failed completion, the event of the connection's end, and the state then.
void tell_broken(Rig& r, DAT_EP_HANDLE ep) {
    tell_failed(r, r.side().sends);
    r.event(r.side().connections);
    r.comes_to(ep, DAT_EP_STATE_DISCONNECTED);
}

/// Writes the same after an error that the peer's queue pair sees as well. Either side may end the
/// connection first, so both events count as the end.
void tell_ended(Rig& r, DAT_EP_HANDLE ep) {
    tell_failed(r, r.side().sends);
    DAT_EVENT event{};
    DAT_COUNT more = 0;
    succeed(dat_evd_wait(r.side().connections, test::kMicroseconds, 1, &event, &more), "the end");
    const bool is_end = event.event_number == DAT_CONNECTION_EVENT_BROKEN ||
                        event.event_number == DAT_CONNECTION_EVENT_DISCONNECTED;
    r << (is_end ? "ended" : name_of(event.event_number));
    r.comes_to(ep, DAT_EP_STATE_DISCONNECTED);
}

Rows good_rows() {
    return {
        {"dat_ep_post_send/completion", "0 DTO yes 5 0 8",
         [](Rig& r) {
             Pair pair(r);
             r << pair.send();
             tell(r, r.side().sends, pair.ep);
         }},
        {"dat_ep_post_send/gathered-length-is-the-sum", "0 DTO yes 5 0 12",
         [](Rig& r) {
             Pair pair(r);
             DAT_LMR_TRIPLET both[] = {segment(r.buffer(), 8), segment(r.buffer(), 4)};
             r << dat_ep_post_send(pair.ep, 2, both, cookie(5), kDefault);
             tell(r, r.side().sends, pair.ep);
         }},
        {"dat_ep_post_send/suppressed-gives-no-completion", "0 0 DTO yes 9 0 0",
         [](Rig& r) {
             const DAT_EP_HANDLE ep = r.connected([](Side&, DAT_EP_HANDLE other, Channel& channel) {
                 for (int i = 0; i < 2; ++i)
                     dat_ep_post_recv(other, 0, nullptr, cookie(1), kDefault);
                 channel.send('p');
             });
             r.channel().receive<char>();
             r << dat_ep_post_send(ep, 0, nullptr, cookie(8), DAT_COMPLETION_SUPPRESS_FLAG)
               << dat_ep_post_send(ep, 0, nullptr, cookie(9), kDefault);
             tell(r, r.side().sends, ep);
         }},
        {"dat_ep_post_send/unsignalled-completes-all-the-same", "0 DTO yes 5 0 8",
         [](Rig& r) {
             Pair pair(r);
             r << pair.send(DAT_COMPLETION_UNSIGNALLED_FLAG);
             tell(r, r.side().sends, pair.ep);
         }},
        {"dat_ep_post_send/fence-and-solicited", "0 DTO yes 5 0 8",
         [](Rig& r) {
             Pair pair(r);
             r << pair.send(static_cast<DAT_COMPLETION_FLAGS>(DAT_COMPLETION_SOLICITED_WAIT_FLAG |
                                                              DAT_COMPLETION_BARRIER_FENCE_FLAG));
             tell(r, r.side().sends, pair.ep);
         }},
        {"dat_ep_post_send/unknown-flags-are-ignored", "0 DTO yes 5 0 8",
         [](Rig& r) {
             Pair pair(r);
             r << pair.send(static_cast<DAT_COMPLETION_FLAGS>(0xff30));
             tell(r, r.side().sends, pair.ep);
         }},
        {"dat_ep_post_send/waits-for-a-receive", "0 0 DTO yes 6 0 0",
         [](Rig& r) {
             const DAT_EP_HANDLE ep = r.connected([](Side&, DAT_EP_HANDLE other, Channel& channel) {
                 channel.receive<char>();
                 dat_ep_post_recv(other, 0, nullptr, cookie(1), kDefault);
             });
             r << dat_ep_post_send(ep, 0, nullptr, cookie(6), kDefault);
             DAT_EP_STATE state{};
             r << dat_ep_get_status(ep, &state, nullptr, nullptr);
             r.go();
             tell(r, r.side().sends, ep);
         }},
        {"dat_ep_post_recv/completion", "DTO yes 3 0 8 MINE",
         [](Rig& r) {
             const DAT_EP_HANDLE ep =
                 r.connected([](Side& side, DAT_EP_HANDLE other, Channel& channel) {
                     auto& buffer = *new Buffer(side);
                     buffer.bytes.replace(0, 4, "MINE");
                     DAT_LMR_TRIPLET triplet = segment(buffer, 8);
                     channel.receive<char>();
                     succeed(dat_ep_post_send(other, 1, &triplet, cookie(1), kDefault), "a send");
                 });
             DAT_LMR_TRIPLET triplet = segment(r.buffer(), kReceiveLength);
             succeed(dat_ep_post_recv(ep, 1, &triplet, cookie(3), kDefault), "dat_ep_post_recv");
             r.go();
             tell(r, r.side().receives, ep);
             r << r.buffer().bytes.substr(0, 4);
         }},
        {"dat_ep_post_recv/operation-of-a-completion", "3",
         [](Rig& r) {
             const DAT_EP_HANDLE ep = r.connected([](Side&, DAT_EP_HANDLE other, Channel& channel) {
                 channel.receive<char>();
                 dat_ep_post_send(other, 0, nullptr, cookie(1), kDefault);
             });
             succeed(dat_ep_post_recv(ep, 0, nullptr, cookie(3), kDefault), "dat_ep_post_recv");
             r.go();
             r << static_cast<DAT_COUNT>(Side::wait(r.side().receives, DAT_DTO_COMPLETION_EVENT)
                                             .event_data.dto_completion_event_data.operation);
         },
         "it never writes the member"},
        {"dat_ep_post_rdma_write/completion-and-data", "0 DTO yes 6 0 8 mine",
         [](Rig& r) {
             Pair pair(r);
             r << pair.write();
             tell(r, r.side().sends, pair.ep);
             tell_peer_memory(r);
         }},
        {"dat_ep_post_rdma_write/remote-length-is-not-looked-at", "0 DTO yes 6 0 8 mine",
         [](Rig& r) {
             Pair pair(r);
             r << pair.write(2);
             tell(r, r.side().sends, pair.ep);
             tell_peer_memory(r);
         }},
        {"dat_ep_post_rdma_read/completion-and-data", "0 DTO yes 7 0 8 what is",
         [](Rig& r) {
             Pair pair(r);
             r << pair.read();
             tell(r, r.side().sends, pair.ep);
             r << r.buffer().bytes.substr(0, 7);
         }},
        {"dat_ep_post_rdma_read/remote-length-is-not-looked-at", "0 DTO yes 7 0 8",
         [](Rig& r) {
             Pair pair(r);
             r << pair.read(2);
             tell(r, r.side().sends, pair.ep);
         }},
    };
}

Rows failing_rows() {
    return {
        {"dat_ep_post_send/unknown-lkey", "0 5 4 BROKEN DISCONNECTED",
         [](Rig& r) {
             Pair pair(r, DAT_MEM_PRIV_ALL_FLAG, 128);
             pair.local.lmr_context ^= 0x5a5a00;
             r << pair.send();
             tell_broken(r, pair.ep);
         }},
        {"dat_ep_post_send/beyond-the-region", "0 5 4 BROKEN DISCONNECTED",
         [](Rig& r) {
             Pair pair(r);
             pair.local.segment_length = 8192;
             r << pair.send();
             tell_broken(r, pair.ep);
         }},
        {"dat_ep_post_send/errors-complete-also-when-suppressed", "0 5 4 BROKEN DISCONNECTED",
         [](Rig& r) {
             Pair pair(r);
             pair.local.segment_length = 8192;
             r << pair.send(DAT_COMPLETION_SUPPRESS_FLAG);
             tell_broken(r, pair.ep);
         }},
        {"dat_ep_post_send/receive-too-small", "0 5 7 ended DISCONNECTED",
         [](Rig& r) {
             Pair pair(r, DAT_MEM_PRIV_ALL_FLAG, kReceiveLength + 1);
             r << pair.send();
             tell_ended(r, pair.ep);
         }},
        {"dat_ep_post_rdma_write/unknown-rkey", "0 6 6 ended DISCONNECTED",
         [](Rig& r) {
             Pair pair(r);
             pair.remote.key ^= 0x5a5a00;
             r << pair.write();
             tell_ended(r, pair.ep);
         }},
        {"dat_ep_post_rdma_write/beyond-the-remote-region", "0 6 6 ended DISCONNECTED",
         [](Rig& r) {
             Pair pair(r);
             pair.remote.address += 4096;
             r << pair.write();
             tell_ended(r, pair.ep);
         }},
        {"dat_ep_post_rdma_write/without-the-remote-right", "0 6 6 ended DISCONNECTED its own",
         [](Rig& r) {
             Pair pair(r, DAT_MEM_PRIV_LOCAL_READ_FLAG | DAT_MEM_PRIV_REMOTE_READ_FLAG);
             r << pair.write();
             tell_ended(r, pair.ep);
             tell_peer_memory(r);
         }},
        {"dat_ep_post_rdma_read/without-the-remote-right", "0 7 6 ended DISCONNECTED",
         [](Rig& r) {
             Pair pair(r, DAT_MEM_PRIV_LOCAL_READ_FLAG | DAT_MEM_PRIV_LOCAL_WRITE_FLAG);
             r << pair.read();
             tell_ended(r, pair.ep);
         }},
        {"dat_ep_post_rdma_read/unknown-rkey", "0 7 6 ended DISCONNECTED",
         [](Rig& r) {
             Pair pair(r);
             pair.remote.key ^= 0x5a5a00;
             r << pair.read();
             tell_ended(r, pair.ep);
         }},
        {"dat_ep_post_rdma_write/an-error-ends-the-peer's-connection-too", "0 DISCONNECTED",
         [](Rig& r) {
             const DAT_EP_HANDLE ep = r.connected([](Side& side, DAT_EP_HANDLE, Channel& channel) {
                 tell_event(channel, side.connections);
             });
             DAT_LMR_TRIPLET local = segment(r.buffer(), 8);
             const DAT_RMR_TRIPLET nowhere{};
             r << dat_ep_post_rdma_write(ep, 1, &local, cookie(6), &nowhere, kDefault);
             DAT_EVENT event{};
             DAT_COUNT more = 0;
             dat_evd_wait(r.side().sends, test::kMicroseconds, 1, &event, &more);
             r.peer_tells();
         },
         "the peer crashes now and then"},
    };
}

}  // namespace

Rows transfer_rows() {
    Rows rows = good_rows();
    for (Row& row : failing_rows()) rows.push_back(std::move(row));
    return rows;
}

}  // namespace conformance
