// SPDX-License-Identifier: BSD-2-Clause
#include "test/softverbs/fidelity_cases.hpp"

#include <array>
#include <cerrno>

namespace test {
namespace {

constexpr Operation kSend{"send", IBV_WR_SEND, false, true, false, false};
constexpr Operation kSendImm{
    "send with immediate", IBV_WR_SEND_WITH_IMM, false, true, false, false};
constexpr Operation kWrite{"write", IBV_WR_RDMA_WRITE, true, false, false, false};
constexpr Operation kWriteImm{
    "write with immediate", IBV_WR_RDMA_WRITE_WITH_IMM, true, true, false, false};
constexpr Operation kRead{"read", IBV_WR_RDMA_READ, true, false, true, false};
constexpr Operation kSwap{"compare and swap", IBV_WR_ATOMIC_CMP_AND_SWP, true, false, true, true};
constexpr Operation kAdd{"fetch and add", IBV_WR_ATOMIC_FETCH_AND_ADD, true, false, true, true};
constexpr std::array kEverything{kSend, kSendImm, kWrite, kWriteImm, kRead, kSwap, kAdd};

void nothing(Scene&) {}

Setup of(ibv_qp_type type) {
    Setup setup;
    setup.type = type;
    return setup;
}

/// Uses a region in place of the requester's own for the segments.
void use_local(Scene& scene, Region region) {
    scene.local[0].lkey = region->lkey;
    scene.requester.more.push_back(std::move(region));
}
void use_remote(Scene& scene, Region region) {
    scene.rkey = region->rkey;
    scene.responder.more.push_back(std::move(region));
}
void use_for_receive(Scene& scene, Region region) {
    scene.receive[0].lkey = region->lkey;
    scene.responder.more.push_back(std::move(region));
}

/// Binds a window of type 2 through the responder's queue pair, and uses it in place of the region.
void bind_window(Scene& s, const Side& through, unsigned rights, std::uint64_t length = kPage) {
    s.responder.window.reset(made(ibv_alloc_mw(s.responder.pd.get(), IBV_MW_TYPE_2), "a window"));
    ibv_send_wr wr{};
    wr.wr_id = kFirst;
    wr.opcode = IBV_WR_BIND_MW;
    wr.send_flags = IBV_SEND_SIGNALED;
    wr.bind_mw.mw = s.responder.window.get();
    wr.bind_mw.rkey = ibv_inc_rkey(s.responder.window->rkey);
    wr.bind_mw.bind_info = {s.responder.mr.get(), s.responder.begin, length, rights};
    ibv_send_wr* bad = nullptr;
    done(ibv_post_send(through.qp.get(), &wr, &bad), "bind");
    s.prepared(through);
    s.rkey = wr.bind_mw.rkey;
}

void invalidate_window(Scene& s) {
    ibv_send_wr wr{};
    wr.wr_id = kFirst;
    wr.opcode = IBV_WR_LOCAL_INV;
    wr.send_flags = IBV_SEND_SIGNALED;
    wr.invalidate_rkey = s.rkey;
    ibv_send_wr* bad = nullptr;
    done(ibv_post_send(s.responder.qp.get(), &wr, &bad), "invalidation");
    s.prepared(s.responder);
}

}  // namespace

void Cases::add_local_keys() {
    for (const ibv_qp_type type : {IBV_QPT_RC, IBV_QPT_UC, IBV_QPT_UD}) {
        for (const Operation& operation : kEverything) {
            if (!can(operation, type)) continue;
            const Setup setup = of(type);
            add(operation, "no fault", nothing, setup);
            add(
                operation, "local key that nobody has",
                [](Scene& s) { s.local[0].lkey ^= kForeignKey; }, setup);
            add(
                operation, "local key of an ended registration",
                [](Scene& s) { s.local[0].lkey = s.requester.ended().first; }, setup);
            add(
                operation, "local key of another protection domain",
                [](Scene& s) {
                    use_local(s, s.requester.registered(kAll, s.requester.other_pd.get()));
                },
                setup);
            add(
                operation, "local segment that ends behind its region",
                [](Scene& s) { s.local[0].addr += kPage - s.local[0].length / 2; }, setup);
            add(
                operation, "local segment that begins before its region",
                [](Scene& s) { s.local[0].addr -= 1; }, setup);
            add(
                operation, "local segment that ends behind the last address",
                [](Scene& s) { s.local[0].addr = ~std::uint64_t{0} - 3; }, setup);
            if (operation.reads)
                add(
                    operation, "local region that may not be written",
                    [](Scene& s) { use_local(s, s.requester.registered(IBV_ACCESS_REMOTE_READ)); },
                    setup);
            if (!operation.is_atomic) add_several_segments(operation, setup);
        }
    }
}

void Cases::add_several_segments(const Operation& operation, const Setup& setup) {
    add(
        operation, "second local segment with a key that nobody has",
        [](Scene& s) {
            s.local[0].length = 8;
            s.local.push_back(s.local[0]);
            s.local[1].lkey ^= kForeignKey;
        },
        setup);
    add(
        operation, "no segments", [](Scene& s) { s.local.clear(); }, setup);
    add(
        operation, "an empty segment with a key that nobody has",
        [](Scene& s) {
            s.local[0] = {0, 0, s.local[0].lkey ^ kForeignKey};
        },
        setup);
    if (operation.reads) return;
    add(
        operation, "inline data with a key that nobody has",
        [](Scene& s) {
            s.local[0].lkey ^= kForeignKey;
            s.request.send_flags |= IBV_SEND_INLINE;
        },
        setup);
}

void Cases::add_remote_keys() {
    for (const ibv_qp_type type : {IBV_QPT_RC, IBV_QPT_UC}) {
        for (const Operation& operation : kEverything) {
            if (!can(operation, type) || !operation.is_remote) continue;
            const Setup setup = of(type);
            add(
                operation, "remote key that nobody has", [](Scene& s) { s.rkey ^= kForeignKey; },
                setup);
            add(
                operation, "remote key of an ended registration",
                [](Scene& s) { s.rkey = s.responder.ended().second; }, setup);
            add(
                operation, "remote key of another protection domain",
                [](Scene& s) {
                    use_remote(s, s.responder.registered(kAll, s.responder.other_pd.get()));
                },
                setup);
            add(
                operation, "remote range that ends behind its region",
                [](Scene& s) { s.remote_address += kPage - s.local[0].length + 8; }, setup);
            add(
                operation, "remote range that begins before its region",
                [](Scene& s) { s.remote_address -= 8; }, setup);
            add(
                operation, "remote range that ends behind the last address",
                [](Scene& s) { s.remote_address = ~std::uint64_t{0} - 7; }, setup);
            const int lacking = operation.is_atomic ? IBV_ACCESS_REMOTE_ATOMIC
                                : operation.reads   ? IBV_ACCESS_REMOTE_READ
                                                    : IBV_ACCESS_REMOTE_WRITE;
            add(
                operation, "remote region that does not permit it",
                [lacking](Scene& s) { use_remote(s, s.responder.registered(kAll & ~lacking)); },
                setup);
            if (operation.is_atomic) continue;
            add(
                operation, "no bytes, with a remote key that nobody has",
                [](Scene& s) {
                    s.local.clear();
                    s.rkey ^= kForeignKey;
                },
                setup);
        }
    }
    add(
        kWriteImm, "remote key that nobody has, and no receive",
        [](Scene& s) { s.rkey ^= kForeignKey; },
        [] {
            Setup setup;
            setup.receives = 0;
            return setup;
        }());
    Setup shared;
    shared.shared_receives = true;
    for (const Operation& operation : {kWrite, kWriteImm, kRead})
        add(
            operation, "remote key that nobody has", [](Scene& s) { s.rkey ^= kForeignKey; },
            shared);
}

void Cases::add_windows() {
    constexpr unsigned kWindows = IBV_DEVICE_MEM_WINDOW_TYPE_2B;
    constexpr unsigned kRights =
        IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;
    for (const Operation& operation : {kWrite, kWriteImm, kRead, kAdd}) {
        add(
            operation, "window, no fault", [](Scene& s) { bind_window(s, s.responder, kRights); },
            {}, kWindows);
        add(
            operation, "window that does not permit it",
            [operation](Scene& s) {
                const unsigned lacking = operation.is_atomic ? IBV_ACCESS_REMOTE_ATOMIC
                                         : operation.reads   ? IBV_ACCESS_REMOTE_READ
                                                             : IBV_ACCESS_REMOTE_WRITE;
                bind_window(s, s.responder, kRights & ~lacking);
            },
            {}, kWindows);
        add(
            operation, "range that ends behind its window",
            [](Scene& s) {
                bind_window(s, s.responder, kRights, 128);
                s.remote_address += 128;
            },
            {}, kWindows);
        add(
            operation, "window that was invalidated",
            [](Scene& s) {
                bind_window(s, s.responder, kRights);
                invalidate_window(s);
            },
            {}, kWindows);
        add(
            operation, "window that was never bound",
            [](Scene& s) {
                s.responder.window.reset(
                    made(ibv_alloc_mw(s.responder.pd.get(), IBV_MW_TYPE_2), "a window"));
                s.rkey = s.responder.window->rkey;
            },
            {}, kWindows);
    }
}

void Cases::add_queue_pair_rights() {
    for (const ibv_qp_type type : {IBV_QPT_RC, IBV_QPT_UC}) {
        for (const Operation& operation : kEverything) {
            if (!can(operation, type) || !operation.is_remote) continue;
            Setup setup = of(type);
            setup.rights = IBV_ACCESS_LOCAL_WRITE;
            add(operation, "queue pair that does not permit it", nothing, setup);
            if (operation.is_atomic) continue;
            add(
                operation, "no bytes, queue pair that does not permit it",
                [](Scene& s) { s.local.clear(); }, setup);
        }
    }
    for (const Operation& operation : {kRead, kSwap, kAdd}) {
        Setup setup;
        setup.reads_taken = 0;
        add(operation, "responder that takes no reads", nothing, setup);
    }
}

void Cases::add_lengths() {
    for (const Operation& operation : {kSwap, kAdd}) {
        add(operation, "target that is not aligned", [](Scene& s) { s.remote_address += 4; });
        add(operation, "local segment of 4 bytes", [](Scene& s) { s.local[0].length = 4; });
    }
    for (const bool shared : {false, true}) {
        for (const ibv_qp_type type : {IBV_QPT_RC, IBV_QPT_UC, IBV_QPT_UD}) {
            if (shared && type == IBV_QPT_UC) continue;
            Setup setup = of(type);
            setup.shared_receives = shared;
            for (const Operation& operation : {kSend, kSendImm})
                add(
                    operation, "message longer than the receive",
                    [](Scene& s) { s.receive[0].length -= 1; }, setup);
        }
    }
    add(kWriteImm, "receive without segments", [](Scene& s) { s.receive.clear(); });
    add(kSend, "no bytes, receive without segments", [](Scene& s) {
        s.receive.clear();
        s.local.clear();
    });
}

void Cases::add_receives() {
    for (const bool shared : {false, true}) {
        for (const ibv_qp_type type : {IBV_QPT_RC, IBV_QPT_UC, IBV_QPT_UD}) {
            if (shared && type == IBV_QPT_UC) continue;
            Setup setup = of(type);
            setup.shared_receives = shared;
            Setup none = setup;
            none.receives = 0;
            for (const Operation& operation : {kSend, kWriteImm}) {
                if (!can(operation, type)) continue;
                add(operation, "no receive", nothing, none);
                add(
                    operation, "receive with a key that nobody has",
                    [](Scene& s) { s.receive[0].lkey ^= kForeignKey; }, setup);
            }
            add(
                kSend, "receive with the key of an ended registration",
                [](Scene& s) { s.receive[0].lkey = s.responder.ended().first; }, setup);
            add(
                kSend, "receive with a key of another protection domain",
                [](Scene& s) {
                    use_for_receive(s, s.responder.registered(kAll, s.responder.other_pd.get()));
                },
                setup);
            add(
                kSend, "receive in a region that may not be written",
                [](Scene& s) {
                    use_for_receive(s, s.responder.registered(IBV_ACCESS_REMOTE_READ));
                },
                setup);
            add(
                kSend, "receive that ends behind its region",
                [](Scene& s) { s.receive[0].addr += kPage - kLength / 2; }, setup);
        }
    }
}

void Cases::add_invalidations() {
    constexpr Operation kSendInv{
        "send with invalidate", IBV_WR_SEND_WITH_INV, false, true, false, false};
    constexpr unsigned kWindows = IBV_DEVICE_MEM_WINDOW_TYPE_2B;
    add(
        kSendInv, "no fault",
        [](Scene& s) {
            bind_window(s, s.responder, IBV_ACCESS_REMOTE_READ);
            s.request.invalidate_rkey = s.rkey;
        },
        {}, kWindows);
    add(
        kSendInv, "key that nobody has",
        [](Scene& s) { s.request.invalidate_rkey = s.rkey ^ kForeignKey; }, {}, kWindows);
    add(
        kSendInv, "key of a region", [](Scene& s) { s.request.invalidate_rkey = s.rkey; }, {},
        kWindows);
    constexpr Operation kLocalInv{"local invalidate", IBV_WR_LOCAL_INV, false, false, false, false};
    add(
        kLocalInv, "key that nobody has",
        [](Scene& s) {
            s.local.clear();
            s.request.invalidate_rkey = s.requester.mr->rkey ^ kForeignKey;
        },
        {}, kWindows);
    constexpr Operation kBind{"bind", IBV_WR_BIND_MW, false, false, false, false};
    const auto bind = [](Scene& s, const Region& region, std::uint64_t address, unsigned rights) {
        s.local.clear();
        s.requester.window.reset(
            made(ibv_alloc_mw(s.requester.pd.get(), IBV_MW_TYPE_2), "a window"));
        s.request.bind_mw.mw = s.requester.window.get();
        s.request.bind_mw.rkey = ibv_inc_rkey(s.requester.window->rkey);
        s.request.bind_mw.bind_info = {region.get(), address, 64, rights};
    };
    add(
        kBind, "no fault",
        [bind](Scene& s) { bind(s, s.requester.mr, s.requester.begin, IBV_ACCESS_REMOTE_WRITE); },
        {}, kWindows);
    add(
        kBind, "range that ends behind its region",
        [bind](Scene& s) {
            bind(s, s.requester.mr, s.requester.begin + kPage - 8, IBV_ACCESS_REMOTE_WRITE);
        },
        {}, kWindows);
    add(
        kBind, "region that permits no windows",
        [bind](Scene& s) {
            s.requester.more.push_back(s.requester.registered(kAll & ~IBV_ACCESS_MW_BIND));
            bind(s, s.requester.more.back(), s.requester.begin, IBV_ACCESS_REMOTE_READ);
        },
        {}, kWindows);
    add(
        kBind, "write through a region that may not be written",
        [bind](Scene& s) {
            s.requester.more.push_back(
                s.requester.registered(IBV_ACCESS_REMOTE_READ | IBV_ACCESS_MW_BIND));
            bind(s, s.requester.more.back(), s.requester.begin, IBV_ACCESS_REMOTE_WRITE);
        },
        {}, kWindows);
}

void Cases::add_states() {
    constexpr std::array kNotReady{IBV_QPS_RESET, IBV_QPS_INIT, IBV_QPS_RTR};
    for (const ibv_qp_type type : {IBV_QPT_RC, IBV_QPT_UC, IBV_QPT_UD}) {
        for (const ibv_qp_state state : kNotReady) {
            Setup setup = of(type);
            setup.requester = state;
            add(kSend, ("requester in " + name_of(state)).c_str(), nothing, setup);
        }
        Setup failed = of(type);
        failed.requester = IBV_QPS_ERR;
        add(kSend, "requester in ERR", nothing, failed);
        Setup peer = of(type);
        peer.responder = IBV_QPS_RTR;
        add(kSend, "responder in RTR", nothing, peer);
        peer.responder = IBV_QPS_ERR;
        add(kSend, "responder in ERR", nothing, peer);
        peer.responder = IBV_QPS_INIT;
        add(kSend, "responder in INIT", nothing, peer);
        peer.responder = IBV_QPS_RESET;
        peer.receives = 0;
        add(kSend, "responder in RESET", nothing, peer);
    }
    for (const Operation& operation : {kWrite, kRead, kAdd}) {
        Setup peer;
        peer.responder = IBV_QPS_ERR;
        add(operation, "responder in ERR", nothing, peer);
    }
    add(
        kSend, "receive posted in RESET",
        [](Scene& s) {
            const int error = s.responder.post_receive(kReceive, s.receive);
            require(error == EINVAL, "the receive is refused: " + name_of_errno(error));
        },
        [] {
            Setup setup;
            setup.responder = IBV_QPS_RESET;
            setup.receives = 0;
            return setup;
        }());
}

void Cases::add_refused_posts() {
    const auto too_many = [](Scene& s) {
        s.local.assign(s.requester.capacity.max_send_sge + 1, s.requester.segment(1));
    };
    add(kSend, "more segments than the queue pair has", too_many);
    add(kSend, "more inline data than the queue pair takes", [](Scene& s) {
        s.local[0].length = s.requester.capacity.max_inline_data + 1;
        s.request.send_flags |= IBV_SEND_INLINE;
    });
    for (const Operation& operation : {kRead, kSwap, kAdd})
        add(operation, "queue pair of another type", nothing, of(IBV_QPT_UC));
    for (const Operation& operation : {kWrite, kRead, kAdd})
        add(operation, "queue pair of another type", nothing, of(IBV_QPT_UD));
}

void Cases::add_datagrams() {
    const Setup setup = of(IBV_QPT_UD);
    add(
        kSend, "queue key that the receiver does not have", [](Scene& s) { s.message_qkey ^= 1; },
        setup);
    add(
        kSend, "controlled queue key stands for the sender's own",
        [](Scene& s) { s.message_qkey = 0x80000000; }, setup);
    add(
        kSend, "address handle of another protection domain",
        [](Scene& s) {
            ibv_ah_attr address = s.adapter.address();
            s.handle.reset(
                made(ibv_create_ah(s.requester.other_pd.get(), &address), "an address handle"));
        },
        setup);
    add(
        kSend, "message longer than the path's MTU",
        [](Scene& s) {
            s.local.assign(2, s.requester.segment(kPage));
            s.local[1].length = 1;
        },
        setup);
}

Cases::Cases() {
    add_local_keys();
    add_remote_keys();
    add_windows();
    add_queue_pair_rights();
    add_lengths();
    add_receives();
    add_invalidations();
    add_states();
    add_refused_posts();
    add_datagrams();
}

}  // namespace test
