// SPDX-License-Identifier: BSD-2-Clause
// dat_extension_op: the InfiniBand operations.
#include <dat2/udat.h>
// after udat.h, which it needs
#include <dat2/dat_ib_extensions.h>

#include "test/api/conformance/row.hpp"
#include "test/api/conformance/states.hpp"

namespace conformance {
namespace {

constexpr DAT_COMPLETION_FLAGS kDefault = DAT_COMPLETION_DEFAULT_FLAG;
constexpr DAT_UINT32 kImmediate = 0x11223344;

/// A peer that offers one word of memory, initially 40, and posts a receive. After go() it sends
/// the word and the event of the receive.
Rig::ConnectedPeer owner(int privileges) {
    return [privileges](Side& side, DAT_EP_HANDLE ep, Channel& channel) {
        static DAT_UINT64 word = 40;
        DAT_REGION_DESCRIPTION region{};
        region.for_va = &word;
        DAT_RMR_CONTEXT key = 0;
        DAT_LMR_HANDLE lmr = DAT_HANDLE_NULL;
        succeed(dat_lmr_create(side.ia, DAT_MEM_TYPE_VIRTUAL, region, sizeof word, side.pz,
                               static_cast<DAT_MEM_PRIV_FLAGS>(privileges), DAT_VA_TYPE_VA, &lmr,
                               nullptr, &key, nullptr, nullptr),
                "dat_lmr_create");
        succeed(dat_ep_post_recv(ep, 0, nullptr, cookie(70), kDefault), "dat_ep_post_recv");
        channel.send(Remote{reinterpret_cast<DAT_VADDR>(&word), key});
        channel.receive<char>();
        channel.send(word);
        DAT_EVENT event{};
        DAT_COUNT more = 0;
        succeed(dat_evd_wait(side.receives, test::kMicroseconds, 1, &event, &more), "a receive");
        channel.send(event);
    };
}

struct Pair {
    DAT_EP_HANDLE ep;
    Remote remote;
    DAT_LMR_TRIPLET local;

    explicit Pair(Rig& r, int privileges = 0x73)
        : ep(r.connected(owner(privileges))),
          remote(r.channel().receive<Remote>()),
          local(segment(r.buffer(), 8)) {
        const auto start = reinterpret_cast<std::uintptr_t>(r.buffer().bytes.data());
        local.virtual_address = (start + 7) & ~DAT_VADDR{7};
    }
    DAT_UINT64 result() const { return *reinterpret_cast<DAT_UINT64*>(local.virtual_address); }
    DAT_RETURN add(DAT_UINT64 value, DAT_VADDR offset = 0) {
        DAT_RMR_TRIPLET there = remote_segment(remote, 8);
        there.virtual_address += offset;
        return dat_ib_post_fetch_and_add(ep, value, &local, cookie(5), &there, kDefault);
    }
    DAT_RETURN swap(DAT_UINT64 compare, DAT_UINT64 value) {
        DAT_RMR_TRIPLET there = remote_segment(remote, 8);
        return dat_ib_post_cmp_and_swap(ep, compare, value, &local, cookie(6), &there, kDefault);
    }
    DAT_RETURN write(DAT_COMPLETION_FLAGS flags = kDefault) {
        DAT_RMR_TRIPLET there = remote_segment(remote, 8);
        return dat_ib_post_rdma_write_immed(ep, 1, &local, cookie(7), &there, kImmediate, flags);
    }
};

/// Writes cookie, status, length, operation and extension type.
void tell(Rig& r, const DAT_EVENT& event) {
    const auto& data = event.event_data.dto_completion_event_data;
    const auto& extension =
        *reinterpret_cast<const DAT_IB_EXTENSION_EVENT_DATA*>(event.event_extension_data);
    r << data.user_cookie.as_64 << static_cast<DAT_COUNT>(data.status)
      << static_cast<DAT_COUNT>(data.transfered_length) << static_cast<DAT_COUNT>(data.operation)
      << static_cast<DAT_COUNT>(extension.type);
}

/// Writes only the status of the next completion: after an error the other members are undefined.
void tell_status(Rig& r) {
    DAT_EVENT event{};
    DAT_COUNT more = 0;
    succeed(dat_evd_wait(r.side().sends, test::kMicroseconds, 1, &event, &more), "a completion");
    r << static_cast<DAT_COUNT>(event.event_data.dto_completion_event_data.status);
}

Rows operation_rows() {
    return {
        {"dat_extension_op/fetch-and-add", "0 IB_DTO 5 0 8 10 0 40 45",
         [](Rig& r) {
             Pair pair(r);
             r << pair.add(5);
             tell(r, r.event(r.side().sends));
             r << pair.result();
             r.go();
             r << r.channel().receive<DAT_UINT64>();
         }},
        {"dat_extension_op/compare-and-swap", "0 IB_DTO 6 0 8 11 1 40 119",
         [](Rig& r) {
             Pair pair(r);
             r << pair.swap(40, 119);
             tell(r, r.event(r.side().sends));
             r << pair.result();
             r.go();
             r << r.channel().receive<DAT_UINT64>();
         }},
        {"dat_extension_op/compare-and-swap-without-a-match", "0 IB_DTO 6 0 8 11 1 40 40",
         [](Rig& r) {
             Pair pair(r);
             r << pair.swap(41, 119);
             tell(r, r.event(r.side().sends));
             r << pair.result();
             r.go();
             r << r.channel().receive<DAT_UINT64>();
         }},
        {"dat_extension_op/write-with-immediate", "0 IB_DTO 7 0 8 8 2 IB_DTO 70 0 8 9 3 yes",
         [](Rig& r) {
             Pair pair(r);
             r << pair.write();
             tell(r, r.event(r.side().sends));
             r.go();
             r.channel().receive<DAT_UINT64>();
             const auto event = r.channel().receive<DAT_EVENT>();
             r << event.event_number;
             tell(r, event);
             const auto& extension =
                 *reinterpret_cast<const DAT_IB_EXTENSION_EVENT_DATA*>(event.event_extension_data);
             r << (extension.val.immed.data == kImmediate);
         }},
        {"dat_extension_op/write-with-immediate-suppressed", "0 0 IB_DTO 5 0 8 10 0",
         [](Rig& r) {
             Pair pair(r);
             r << pair.write(DAT_COMPLETION_SUPPRESS_FLAG) << pair.add(1);
             tell(r, r.event(r.side().sends));
         }},
        {"dat_extension_op/atomic-with-a-longer-segment", "0x80080000 0 0",
         [](Rig& r) {
             Pair pair(r);
             pair.local.segment_length = 16;
             r << pair.add(1);
             pair.local.segment_length = 8;
             r << pair.add(1);
             tell_status(r);
         }},
        {"dat_extension_op/atomic-with-a-shorter-segment", "0x80080000",
         [](Rig& r) {
             Pair pair(r);
             pair.local.segment_length = 4;
             r << pair.swap(1, 2);
         }},
        {"dat_extension_op/atomic-misaligned", "0x80120000 0 0",
         [](Rig& r) {
             Pair pair(r);
             r << pair.add(1, 4) << pair.add(1);
             tell_status(r);
         }},
        {"dat_extension_op/atomic-without-the-right", "0 6",
         [](Rig& r) {
             Pair pair(r, 0x33);
             r << pair.add(1);
             tell_status(r);
         }},
        {"dat_extension_op/atomic-unconnected", "0x00060000",
         [](Rig& r) {
             DAT_LMR_TRIPLET local = segment(r.buffer(), 8);
             DAT_RMR_TRIPLET there{};
             r << dat_ib_post_fetch_and_add(r.endpoint(), 1, &local, cookie(1), &there, kDefault);
         }},
        {"dat_extension_op/write-with-immediate-unconnected", "0x00060000",
         [](Rig& r) {
             DAT_LMR_TRIPLET local = segment(r.buffer(), 8);
             DAT_RMR_TRIPLET there{};
             r << dat_ib_post_rdma_write_immed(r.endpoint(), 1, &local, cookie(1), &there, 1,
                                               kDefault);
         }},
        {"dat_extension_op/atomic-after-a-disconnect-is-flushed", "0 1",
         [](Rig& r) {
             const DAT_EP_HANDLE ep = disconnected(r);
             DAT_LMR_TRIPLET local = segment(r.buffer(), 8);
             DAT_RMR_TRIPLET there{};
             r << dat_ib_post_fetch_and_add(ep, 1, &local, cookie(1), &there, kDefault);
             tell_status(r);
         }},
        {"dat_extension_op/suppressed-ones-fill-the-room", "16 0x80030002",
         [](Rig& r) {
             Pair pair(r);
             DAT_RMR_TRIPLET there = remote_segment(pair.remote, 8);
             DAT_COUNT taken = 0;
             DAT_RETURN code;
             while ((code = dat_ib_post_fetch_and_add(pair.ep, 1, &pair.local, cookie(1), &there,
                                                      DAT_COMPLETION_SUPPRESS_FLAG)) == DAT_SUCCESS)
                 ++taken;
             r << taken << code;
         }},
    };
}

Row unknown(const char* name, int operation) {
    return {std::string("dat_extension_op/") + name, "0x3FFF0000",
            [operation](Rig& r) { r << dat_extension_op(r.endpoint(), operation); }};
}

Rows argument_rows() {
    return {
        {"dat_extension_op/collectives", "20",
         [](Rig& r) {
             const DAT_EP_HANDLE ep = r.endpoint();
             DAT_COUNT refused = 0;
             for (int operation = 6; operation <= 25; ++operation)
                 refused += dat_extension_op(ep, operation) == 0x3FFF0000u;
             r << refused;
         }},
        {"dat_extension_op/small-number-that-is-no-ia", "0x8005001B",
         [](Rig& r) {
             r.side();
             r << dat_extension_op(reinterpret_cast<DAT_HANDLE>(77), DAT_IB_QUERY_COUNTERS_OP);
         },
         "jumps to a wild address"},
        unknown("unknown-30", 30),
        unknown("unknown-255", 255),
        unknown("unknown-4095", 4095),
        unknown("unknown-16384", 16384),
        {"dat_extension_op/query-counters", "0 0",
         [](Rig& r) {
             DAT_UINT64 value = 0;
             r << dat_ib_query_counters(r.endpoint(), 0, &value, 0)
               << static_cast<DAT_COUNT>(value);
         }},
        {"dat_extension_op/print-counters", "0x80060026",
         [](Rig& r) { r << dat_ib_print_counters(r.ia(), -1, 0); }},
        {"dat_extension_op/start-and-stop-counter", "0 0",
         [](Rig& r) {
             r << dat_extension_op(r.ia(), DAT_IB_START_COUNTERS_OP, 0)
               << dat_extension_op(r.ia(), DAT_IB_STOP_COUNTERS_OP, 0);
         }},
        {"dat_extension_op/ud-cm-free", "0x3FFF0000",
         [](Rig& r) { r << dat_extension_op(r.endpoint(), DAT_IB_UD_CM_FREE_OP, DAT_CONTEXT{}); }},
        {"dat_extension_op/send-ud-on-an-rc-endpoint", "0x8005000C",
         [](Rig& r) {
             DAT_LMR_TRIPLET local = segment(r.buffer(), 8);
             DAT_IB_ADDR_HANDLE address{};
             r << dat_ib_post_send_ud(r.endpoint(), 1, &local, &address, cookie(1), kDefault);
         }},
        {"dat_extension_op/null-handle", "0x8005001B",
         [](Rig& r) {
             r.side();
             r << dat_extension_op(DAT_HANDLE_NULL, DAT_IB_QUERY_COUNTERS_OP);
         }},
        {"dat_extension_op/atomic-on-another-kind", "0x8005000C",
         [](Rig& r) {
             DAT_LMR_TRIPLET local{};
             DAT_RMR_TRIPLET there{};
             r << dat_ib_post_fetch_and_add(r.other_kind(), 1, &local, cookie(1), &there, kDefault);
         }},
        {"dat_extension_op/swap-on-another-kind", "0x8005000C",
         [](Rig& r) {
             DAT_LMR_TRIPLET local{};
             DAT_RMR_TRIPLET there{};
             r << dat_ib_post_cmp_and_swap(r.other_kind(), 1, 1, &local, cookie(1), &there,
                                           kDefault);
         }},
        {"dat_extension_op/write-on-another-kind", "0x8005000C",
         [](Rig& r) {
             DAT_LMR_TRIPLET local{};
             DAT_RMR_TRIPLET there{};
             r << dat_ib_post_rdma_write_immed(r.other_kind(), 1, &local, cookie(1), &there, 1,
                                               kDefault);
         }},
        {"dat_extension_op/before-any-adapter-is-open", "0x8005001B 0xBFFF0000",
         [](Rig& r) {
             int object = 0;
             r << dat_extension_op(DAT_HANDLE_NULL, DAT_IB_QUERY_COUNTERS_OP)
               << dat_extension_op(&object, DAT_IB_QUERY_COUNTERS_OP);
         }},
        {"dat_extension_op/open-query", "0 soft0 56 0",
         [](Rig& r) {
             DAT_IA_HANDLE ia = DAT_HANDLE_NULL;
             DAT_IA_ATTR adapter{};
             DAT_PROVIDER_ATTR provider{};
             r << dat_ib_open_query(test::ia_name(), &ia, DAT_IA_FIELD_ALL, &adapter,
                                    DAT_PROVIDER_FIELD_ALL, &provider)
               << adapter.adapter_name << provider.max_private_data_size << dat_ib_close_query(ia);
         }},
        {"dat_extension_op/open-query-name-null", "0x80050027",
         [](Rig& r) {
             DAT_IA_HANDLE ia = DAT_HANDLE_NULL;
             r << dat_ib_open_query(nullptr, &ia, 0, nullptr, 0, nullptr);
         }},
        {"dat_extension_op/open-query-name-unknown", "0x800A0064",
         [](Rig& r) {
             DAT_IA_HANDLE ia = DAT_HANDLE_NULL;
             r << dat_ib_open_query("none", &ia, 0, nullptr, 0, nullptr);
         }},
        {"dat_extension_op/close-query-null", "0x8005000B",
         [](Rig& r) {
             r.side();
             r << dat_ib_close_query(DAT_HANDLE_NULL);
         }},
    };
}

}  // namespace

Rows extension_rows() {
    Rows rows = operation_rows();
    for (Row& row : argument_rows()) rows.push_back(std::move(row));
    return rows;
}

}  // namespace conformance
