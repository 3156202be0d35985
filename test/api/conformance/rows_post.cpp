// SPDX-License-Identifier: BSD-2-Clause
// The codes of posting receives, sends, writes and reads. The completions are in rows_transfer.cpp.
#include "test/api/conformance/row.hpp"
#include "test/api/conformance/states.hpp"

namespace conformance {
namespace {

constexpr DAT_COMPLETION_FLAGS kDefault = DAT_COMPLETION_DEFAULT_FLAG;

DAT_COMPLETION_FLAGS flags(int bits) {
    return static_cast<DAT_COMPLETION_FLAGS>(bits);
}

DAT_RETURN post_receive(DAT_EP_HANDLE ep, DAT_COUNT count = 0, DAT_LMR_TRIPLET* segments = nullptr,
                        int bits = 0) {
    return dat_ep_post_recv(ep, count, segments, cookie(1), flags(bits));
}
DAT_RETURN post_send(DAT_EP_HANDLE ep, DAT_COUNT count = 0, DAT_LMR_TRIPLET* segments = nullptr,
                     int bits = 0) {
    return dat_ep_post_send(ep, count, segments, cookie(1), flags(bits));
}

DAT_EP_HANDLE with_attributes(Rig& r, const std::function<void(DAT_EP_ATTR&)>& change) {
    DAT_EP_PARAM parameters{};
    const Side& side = r.side();
    succeed(dat_ep_query(side.endpoint(), DAT_EP_FIELD_ALL, &parameters), "dat_ep_query");
    change(parameters.ep_attr);
    DAT_EP_HANDLE ep = DAT_HANDLE_NULL;
    succeed(dat_ep_create(side.ia, side.pz, side.receives, side.sends, side.connections,
                          &parameters.ep_attr, &ep),
            "dat_ep_create");
    return ep;
}

DAT_EP_HANDLE incomplete(Rig& r, DAT_PZ_HANDLE pz, DAT_EVD_HANDLE receives) {
    DAT_EP_HANDLE ep = DAT_HANDLE_NULL;
    const Side& side = r.side();
    succeed(dat_ep_create(side.ia, pz, receives, side.sends, side.connections, nullptr, &ep),
            "dat_ep_create");
    return ep;
}

/// Writes how many posts succeed, and the code of the first that fails.
template <class Post>
void tell_room(Rig& r, Post post) {
    DAT_COUNT taken = 0;
    DAT_RETURN code;
    while ((code = post()) == DAT_SUCCESS && taken < 1000) ++taken;
    r << taken << code;
}

Row receive_room(DAT_COUNT asked) {
    return {"dat_ep_post_recv/room-of-" + std::to_string(asked),
            std::to_string(asked) + " 0x80030002", [asked](Rig& r) {
                const DAT_EP_HANDLE ep =
                    with_attributes(r, [&](DAT_EP_ATTR& a) { a.max_recv_dtos = asked; });
                tell_room(r, [&] { return post_receive(ep); });
            }};
}

Row segments(const char* name, const char* answer, DAT_COUNT count) {
    return {std::string("dat_ep_post_recv/") + name, answer, [count](Rig& r) {
                std::vector<DAT_LMR_TRIPLET> triplets(64, segment(r.buffer(), 1));
                r << post_receive(r.endpoint(), count, triplets.data());
            }};
}

Rows receive_rows() {
    return {
        receive_room(1),
        receive_room(3),
        receive_room(8),
        receive_room(31),
        {"dat_ep_post_recv/room-by-default", "16 0x80030002",
         [](Rig& r) {
             const DAT_EP_HANDLE ep = r.endpoint();
             tell_room(r, [&] { return post_receive(ep); });
         }},
        segments("no-segments", "0", 0),
        segments("one-segment", "0", 1),
        segments("as-many-segments-as-asked", "0", 4),
        segments("one-segment-too-many", "0x00060000", 5),
        segments("negative-segments", "0x00060000", -1),
        {"dat_ep_post_recv/refused-post-keeps-its-room", "0x00060000 16 0x80030002",
         [](Rig& r) {
             const DAT_EP_HANDLE ep = r.endpoint();
             std::vector<DAT_LMR_TRIPLET> triplets(64, segment(r.buffer(), 1));
             r << post_receive(ep, 5, triplets.data());
             tell_room(r, [&] { return post_receive(ep); });
         }},
        {"dat_ep_post_recv/segments-null", "0x80060027",
         [](Rig& r) { r << post_receive(r.endpoint(), 1, nullptr); }},
        {"dat_ep_post_recv/unknown-lkey-shows-later", "0",
         [](Rig& r) {
             DAT_LMR_TRIPLET triplet = segment(r.buffer(), 8);
             triplet.lmr_context ^= 0x5a5a5a;
             r << post_receive(r.endpoint(), 1, &triplet);
         }},
        {"dat_ep_post_recv/unknown-flags", "0 0",
         [](Rig& r) {
             const DAT_EP_HANDLE ep = r.endpoint();
             r << post_receive(ep, 0, nullptr, 0xff00) << post_receive(ep, 0, nullptr, 1);
         }},
        {"dat_ep_post_recv/endpoint-without-receive-evd", "0x00040000",
         [](Rig& r) { r << post_receive(incomplete(r, r.side().pz, DAT_HANDLE_NULL)); }},
        {"dat_ep_post_recv/endpoint-without-pz", "0x80070039",
         [](Rig& r) { r << post_receive(incomplete(r, DAT_HANDLE_NULL, r.side().receives)); }},
    };
}

/// A peer that posts `count` receives and sends 'p'.
Rig::ConnectedPeer receiver(int count) {
    return [count](Side&, DAT_EP_HANDLE ep, Channel& channel) {
        for (int i = 0; i < count; ++i) succeed(post_receive(ep), "dat_ep_post_recv");
        channel.send('p');
    };
}

Rows request_rows() {
    return {
        {"dat_ep_post_send/room-by-default", "16 0x80030002",
         [](Rig& r) {
             const DAT_EP_HANDLE ep = r.connected();
             tell_room(r, [&] { return post_send(ep); });
         }},
        {"dat_ep_post_send/suppressed-ones-fill-the-room-for-good", "16 0x80030002 0x80030002",
         [](Rig& r) {
             const DAT_EP_HANDLE ep = r.connected(receiver(16));
             r.channel().receive<char>();
             tell_room(r, [&] { return post_send(ep, 0, nullptr, 1); });
             r << post_send(ep);
         }},
        {"dat_ep_post_send/room-comes-back-when-a-completion-is-taken", "0x80030002 DTO 0",
         [](Rig& r) {
             const DAT_EP_HANDLE ep = r.connected(receiver(16));
             r.channel().receive<char>();
             DAT_RETURN code;
             while ((code = post_send(ep)) == DAT_SUCCESS) {
             }
             r << code;
             r.event(r.side().sends);
             r << post_send(ep);
         }},
        {"dat_ep_post_send/no-segments", "0", [](Rig& r) { r << post_send(r.connected()); }},
        {"dat_ep_post_send/segments-null", "0x80060027",
         [](Rig& r) { r << post_send(r.connected(), 1, nullptr); }},
        {"dat_ep_post_send/too-many-segments", "0x00060000",
         [](Rig& r) {
             const DAT_EP_HANDLE ep = r.connected();
             std::vector<DAT_LMR_TRIPLET> triplets(256, segment(r.buffer(), 1));
             r << post_send(ep, 256, triplets.data());
         }},
        {"dat_ep_post_send/negative-segments", "0x00060000",
         [](Rig& r) {
             const DAT_EP_HANDLE ep = r.connected();
             DAT_LMR_TRIPLET triplet = segment(r.buffer(), 1);
             r << post_send(ep, -1, &triplet);
         }},
        {"dat_ep_post_rdma_write/no-segments", "0",
         [](Rig& r) {
             const DAT_RMR_TRIPLET remote{};
             r << dat_ep_post_rdma_write(r.connected(), 0, nullptr, cookie(1), &remote, kDefault);
         }},
        {"dat_ep_post_rdma_write/too-many-segments", "0x00060000",
         [](Rig& r) {
             const DAT_EP_HANDLE ep = r.connected();
             const DAT_RMR_TRIPLET remote{};
             std::vector<DAT_LMR_TRIPLET> triplets(256, segment(r.buffer(), 1));
             r << dat_ep_post_rdma_write(ep, 256, triplets.data(), cookie(1), &remote, kDefault);
         }},
        {"dat_ep_post_rdma_read/no-segments", "0",
         [](Rig& r) {
             const DAT_RMR_TRIPLET remote{};
             r << dat_ep_post_rdma_read(r.connected(), 0, nullptr, cookie(1), &remote, kDefault);
         }},
        {"dat_ep_post_rdma_read/as-many-segments-as-asked-and-one-more", "0 0x00060000",
         [](Rig& r) {
             const DAT_EP_HANDLE ep = r.connected();
             std::vector<DAT_LMR_TRIPLET> triplets(5, segment(r.buffer(), 1));
             const DAT_RMR_TRIPLET remote{};
             for (const DAT_COUNT count : {4, 5})
                 r << dat_ep_post_rdma_read(ep, count, triplets.data(), cookie(1), &remote,
                                            kDefault);
         }},
    };
}

}  // namespace

Rows post_rows() {
    Rows rows = receive_rows();
    for (Row& row : request_rows()) rows.push_back(std::move(row));
    return rows;
}

}  // namespace conformance
