// SPDX-License-Identifier: BSD-2-Clause
// Immediate data and atomic operations between two real processes: every kind of receive with every
// kind of message, shared receive queues, failures, privileges, under the names of both interfaces.
#include <dat2/dat_extensions.h>
#include <dat2/dat_ib_extensions.h>
#include <gtest/gtest.h>

#include <cstddef>

#include "test/api/side.hpp"

namespace {

using namespace test;

constexpr DAT_CONN_QUAL kQualifier = 4732;
constexpr DAT_UINT32 kNumber = 0x11223344;
constexpr DAT_COMPLETION_FLAGS kDefault = DAT_COMPLETION_DEFAULT_FLAG;

static_assert(sizeof(DAT_EXTENSION_EVENT_DATA) == 40 && sizeof(DAT_EVENT_DATA) == 40 &&
              sizeof(DAT_EVENT) == 120);
static_assert(offsetof(DAT_EXTENSION_EVENT_DATA, dto) == 0 &&
              offsetof(DAT_EXTENSION_EVENT_DATA, type) == 32 &&
              offsetof(DAT_EXTENSION_EVENT_DATA, val) == 36);

/// What an event says in both layouts; `type` is -1 if it is not an extension event.
struct Seen {
    int number, operation, status, type;
    DAT_UINT32 proposed, immediate, length;
    bool is_ours;  ///< it names this EP and this cookie, and both layouts agree
};
Seen look(const DAT_EVENT& event, DAT_EP_HANDLE ep, DAT_UINT64 wanted_cookie) {
    const auto& dto = event.event_data.dto_completion_event_data;
    const auto& proposed = event.event_data.extension_data;
    Seen seen{event.event_number,
              static_cast<int>(dto.operation),
              static_cast<int>(dto.status),
              -1,
              0,
              0,
              static_cast<DAT_UINT32>(dto.transfered_length),
              dto.ep_handle == ep && dto.user_cookie.as_64 == wanted_cookie};
    if (event.event_number != DAT_EXTENSION_EVENT) return seen;
    DAT_IB_EXTENSION_EVENT_DATA extension;
    std::memcpy(&extension, event.event_extension_data, sizeof extension);
    seen.type = extension.type;
    seen.proposed = proposed.type;
    seen.immediate = extension.val.immed.data;
    seen.is_ours = seen.is_ours && extension.val.immed.data == proposed.val.immed.data &&
                   static_cast<int>(extension.status) == seen.status;
    return seen;
}
DAT_EVENT next(DAT_EVD_HANDLE evd) {
    DAT_EVENT event{};
    DAT_COUNT more = 0;
    succeed(dat_evd_wait(evd, kMicroseconds, 1, &event, &more), "dat_evd_wait");
    return event;
}

/// How the peer posts its receive.
enum class Receive : char { kPlain, kProposed, kShared };

DAT_EP_HANDLE shared_endpoint(const Side& side, DAT_SRQ_HANDLE& srq) {
    DAT_SRQ_ATTR attributes{8, 1, DAT_SRQ_LW_DEFAULT};
    succeed(dat_srq_create(side.ia, side.pz, &attributes, &srq), "dat_srq_create");
    DAT_EP_HANDLE ep = DAT_HANDLE_NULL;
    succeed(dat_ep_create_with_srq(side.ia, side.pz, side.receives, side.sends, side.connections,
                                   srq, nullptr, &ep),
            "dat_ep_create_with_srq");
    return ep;
}
DAT_RETURN post(Receive kind, DAT_EP_HANDLE ep, DAT_SRQ_HANDLE srq, DAT_LMR_TRIPLET* local,
                DAT_UINT64 value) {
    switch (kind) {
        case Receive::kPlain:
            return dat_ep_post_recv(ep, 1, local, cookie(value), kDefault);
        case Receive::kProposed:
            return dat_ep_post_recv_immed(ep, 1, local, cookie(value), kDefault);
        default:
            return dat_srq_post_recv(srq, 1, local, cookie(value));
    }
}

/// Posts a receive for each byte from the channel and reports its completion, until the byte is 0;
/// then waits for the disconnect.
void serve(Receive kind, Channel& channel) {
    Side side;
    side.listen(kQualifier);
    channel.send('l');
    DAT_SRQ_HANDLE srq = DAT_HANDLE_NULL;
    DAT_EP_HANDLE ep = kind == Receive::kShared ? shared_endpoint(side, srq) : side.endpoint();
    Buffer memory(side, 256), target(side, 256);
    succeed(dat_cr_accept(side.request(), ep, 0, nullptr), "dat_cr_accept");
    side.connection_event(DAT_CONNECTION_EVENT_ESTABLISHED, ep);
    channel.send(Window{target.all().virtual_address, target.remote_key});
    for (DAT_UINT64 round = 1; channel.receive<char>() != 0; ++round) {
        DAT_LMR_TRIPLET all = memory.all();
        succeed(post(kind, ep, srq, &all, round), "the receive");
        channel.send('r');
        channel.send(look(next(side.receives), ep, round));
        channel.send(memory.bytes[0]);
        channel.send(target.bytes[0]);
    }
    side.connection_event(DAT_CONNECTION_EVENT_DISCONNECTED, ep);
}

/// The requesting end, connected to a peer that runs serve().
struct Requester {
    explicit Requester(Child& child) : channel(child.channel()) {
        channel.receive<char>();
        ep = side.connect_to(kQualifier);
        window = channel.receive<Window>();
    }
    DAT_LMR_TRIPLET local(DAT_SEG_LENGTH length) const {
        DAT_LMR_TRIPLET triplet = buffer.all();
        triplet.segment_length = length;
        return triplet;
    }
    DAT_RMR_TRIPLET remote(DAT_SEG_LENGTH length) const {
        DAT_RMR_TRIPLET triplet{};
        triplet.virtual_address = window.address;
        triplet.segment_length = length;
        triplet.rmr_context = window.key;
        return triplet;
    }
    DAT_RETURN send(DAT_UINT64 value) {
        DAT_LMR_TRIPLET here = local(40);
        return dat_ep_post_send(ep, 1, &here, cookie(value), kDefault);
    }
    DAT_RETURN send_number(DAT_UINT64 value, DAT_COMPLETION_FLAGS flags = kDefault) {
        DAT_LMR_TRIPLET here = local(40);
        return dat_ib_post_send_immed(ep, 1, &here, cookie(value), kNumber, flags);
    }
    DAT_RETURN write_number(DAT_UINT64 value, DAT_COMPLETION_FLAGS flags = kDefault) {
        DAT_LMR_TRIPLET here = local(48);
        DAT_RMR_TRIPLET there = remote(48);
        return dat_ib_post_rdma_write_immed(ep, 1, &here, cookie(value), &there, kNumber, flags);
    }
    DAT_RETURN write_confirmed(DAT_UINT64 value) {
        DAT_LMR_TRIPLET here = local(48);
        DAT_RMR_TRIPLET there = remote(48);
        return dat_ep_post_rdma_write_immed(ep, 1, &here, cookie(value), &there, kNumber,
                                            DAT_EXT_WRITE_IMMED_FLAG | DAT_EXT_WRITE_CONFIRM_FLAG,
                                            kDefault);
    }
    Seen sent(DAT_UINT64 value) { return look(next(side.sends), ep, value); }
    void ask_for_receive(char first) {
        buffer.bytes[0] = first;
        channel.send('p');
        channel.receive<char>();
    }
    void end(Child& child) {
        channel.send(char{0});
        succeed(dat_ep_disconnect(ep, DAT_CLOSE_GRACEFUL_FLAG), "dat_ep_disconnect");
        EXPECT_EQ(child.wait(), 0);
    }

    Channel& channel;
    Side side;
    Buffer buffer{side, 256};
    DAT_EP_HANDLE ep = DAT_HANDLE_NULL;
    Window window{};
};

class Extensions : public testing::Test {
  protected:
    void SetUp() override {
        Child child([](Channel& channel) { channel.send(Side().has_extensions()); });
        if (!child.channel().receive<bool>())
            GTEST_SKIP() << "the device has neither immediate data nor atomic operations";
    }
    /// Sends without and with immediate data, then writes with immediate data, unconfirmed and
    /// confirmed, each into a receive of this kind. @param plain the completion expected of the
    /// first receive.
    static void every_message_into(Receive kind, const Seen& plain) {
        Child child([kind](Channel& channel) { serve(kind, channel); });
        Requester at(child);
        at.ask_for_receive('a');
        succeed(at.send(1), "a send");
        expect(at.sent(1), {DAT_DTO_COMPLETION_EVENT, DAT_DTO_SEND, 0, -1, 0, 0, 40, true});
        expect(at.channel.receive<Seen>(), plain);
        EXPECT_EQ(at.channel.receive<char>(), 'a');
        EXPECT_EQ(at.channel.receive<char>(), 0);

        at.ask_for_receive('b');
        succeed(at.send_number(2), "a send with immediate data");
        expect(at.sent(2),
               {DAT_IB_DTO_EVENT, DAT_IB_DTO_SEND_IMMED, 0, DAT_IB_SEND_IMMED, 0, 0, 40, true});
        expect(at.channel.receive<Seen>(),
               {DAT_IB_DTO_EVENT, DAT_IB_DTO_RECV_MSG_IMMED, 0, DAT_IB_RDMA_WRITE_IMMED_DATA,
                DAT_EXT_RECV_IMMED_DATA_EVENT, kNumber, 40, true});
        EXPECT_EQ(at.channel.receive<char>(), 'b');
        EXPECT_EQ(at.channel.receive<char>(), 0);

        for (const char first : {'c', 'd'}) {
            at.ask_for_receive(first);
            succeed(first == 'c' ? at.write_number(3) : at.write_confirmed(3), "a write");
            expect(at.sent(3),
                   {DAT_IB_DTO_EVENT, DAT_IB_DTO_RDMA_WRITE_IMMED, 0, DAT_IB_RDMA_WRITE_IMMED,
                    DAT_EXT_RDMA_WRITE_IMMED_STATUS, 0, 48, true});
            expect(at.channel.receive<Seen>(),
                   {DAT_IB_DTO_EVENT, DAT_IB_DTO_RECV_IMMED, 0, DAT_IB_RDMA_WRITE_IMMED_DATA,
                    DAT_EXT_RECV_IMMED_DATA_EVENT, kNumber, 48, true});
            EXPECT_EQ(at.channel.receive<char>(), 'b') << "the receive's memory stays as it was";
            EXPECT_EQ(at.channel.receive<char>(), first);
        }
        at.end(child);
    }
    static void expect(const Seen& got, const Seen& wanted) {
        EXPECT_EQ(got.number, wanted.number);
        EXPECT_EQ(got.operation, wanted.operation);
        EXPECT_EQ(got.status, wanted.status);
        EXPECT_EQ(got.type, wanted.type);
        EXPECT_EQ(got.proposed, wanted.proposed);
        EXPECT_EQ(got.immediate, wanted.immediate);
        EXPECT_EQ(got.length, wanted.length);
        EXPECT_EQ(got.is_ours, wanted.is_ours);
    }
    TemporaryFabric fabric_;
};

TEST_F(Extensions, AReceivePostedForASendTakesImmediateDataOfEachKind) {
    every_message_into(Receive::kPlain,
                       {DAT_DTO_COMPLETION_EVENT, DAT_DTO_RECEIVE, 0, -1, 0, 0, 40, true});
}

TEST_F(Extensions, AReceivePostedForImmediateDataTakesAnOrdinarySendAndSaysSo) {
    every_message_into(Receive::kProposed,
                       {DAT_IB_DTO_EVENT, DAT_DTO_RECEIVE, 0, DAT_IB_RECV_NO_IMMED,
                        DAT_EXT_RECV_NO_IMMED, 0, 40, true});
}

TEST_F(Extensions, AReceiveOfASharedQueueTakesImmediateDataOfEachKindForItsEndpoint) {
    every_message_into(Receive::kShared,
                       {DAT_DTO_COMPLETION_EVENT, DAT_DTO_RECEIVE, 0, -1, 0, 0, 40, true});
}

TEST_F(Extensions, SuppressedOnesAreSilentWhenTheyGoWellAndTellTheirFailure) {
    Child child([](Channel& channel) { serve(Receive::kPlain, channel); });
    Requester at(child);
    at.ask_for_receive('a');
    succeed(at.send_number(1, DAT_COMPLETION_SUPPRESS_FLAG), "a suppressed send");
    EXPECT_EQ(at.channel.receive<Seen>().immediate, kNumber);
    at.channel.receive<char>();
    at.channel.receive<char>();
    at.ask_for_receive('b');
    succeed(at.write_number(2, DAT_COMPLETION_SUPPRESS_FLAG), "a suppressed write");
    EXPECT_EQ(at.channel.receive<Seen>().immediate, kNumber);
    Side::expect_empty(at.side.sends);
    at.window.key ^= 0x5a5a;
    at.ask_for_receive('c');  // some devices wait for one before they check the key
    succeed(at.write_number(3, DAT_COMPLETION_SUPPRESS_FLAG), "a suppressed write that fails");
    expect(at.sent(3), {DAT_IB_DTO_EVENT, DAT_IB_DTO_RDMA_WRITE_IMMED, DAT_DTO_ERR_REMOTE_ACCESS,
                        DAT_IB_RDMA_WRITE_IMMED, DAT_EXT_RDMA_WRITE_IMMED_STATUS, 0, 48, true});
    at.side.broken(at.ep);
}

TEST_F(Extensions, AConfirmedWriteThatIsRefusedHasOneEventWithTheCause) {
    Child child([](Channel& channel) { serve(Receive::kPlain, channel); });
    Requester at(child);
    at.window.key ^= 0x5a5a;
    at.ask_for_receive('a');
    succeed(at.write_confirmed(1), "a confirmed write that fails");
    expect(at.sent(1), {DAT_IB_DTO_EVENT, DAT_IB_DTO_RDMA_WRITE_IMMED, DAT_DTO_ERR_REMOTE_ACCESS,
                        DAT_IB_RDMA_WRITE_IMMED, DAT_EXT_RDMA_WRITE_IMMED_STATUS, 0, 48, true});
    at.side.broken(at.ep);
    Side::expect_empty(at.side.sends);
}

TEST_F(Extensions, ReceivesPostedForImmediateDataAreFlushedAsTheProposalsEvents) {
    Child child([](Channel& channel) { serve(Receive::kPlain, channel); });
    Requester at(child);
    DAT_LMR_TRIPLET here = at.local(40);
    succeed(post(Receive::kProposed, at.ep, nullptr, &here, 1), "a receive for immediate data");
    succeed(post(Receive::kPlain, at.ep, nullptr, &here, 2), "a receive");
    at.end(child);
    expect(look(next(at.side.receives), at.ep, 1),
           {DAT_IB_DTO_EVENT, DAT_DTO_RECEIVE, DAT_DTO_ERR_FLUSHED, DAT_IB_RECV_NO_IMMED,
            DAT_EXT_RECV_NO_IMMED, 0, 0, true});
    expect(look(next(at.side.receives), at.ep, 2),
           {DAT_DTO_COMPLETION_EVENT, DAT_DTO_RECEIVE, DAT_DTO_ERR_FLUSHED, -1, 0, 0, 0, true});
}

TEST_F(Extensions, WhatNoDeviceIsAskedIsRefusedAtThePostAndTheConnectionStays) {
    Child child([](Channel& channel) { serve(Receive::kPlain, channel); });
    Requester at(child);
    DAT_LMR_TRIPLET here = at.local(40);
    DAT_RMR_TRIPLET there = at.remote(8);
    const auto send = [&](DAT_COUNT segments, DAT_LMR_TRIPLET* local) {
        return dat_ib_post_send_immed(at.ep, segments, local, cookie(1), kNumber, kDefault);
    };
    EXPECT_EQ(send(-1, &here), 0x00060000u);
    EXPECT_EQ(send(1, nullptr), 0x80060027u);
    EXPECT_EQ(dat_ib_post_send_immed(at.side.endpoint(), 1, &here, cookie(1), kNumber, kDefault),
              0x8007002Fu);
    EXPECT_EQ(dat_ib_post_send_immed(at.side.pz, 1, &here, cookie(1), kNumber, kDefault),
              0x8005000Cu);
    EXPECT_EQ(dat_ep_post_fetch_and_add(at.ep, 1, &here, cookie(1), &there, kDefault), 0x80080000u);
    EXPECT_EQ(
        dat_ep_post_rdma_write_immed(at.ep, 1, &here, cookie(1), &there, kNumber, 4, kDefault),
        0x8006002Bu);
    EXPECT_EQ(dat_ep_post_recv_immed(nullptr, 1, &here, cookie(1), kDefault), 0x8005000Cu);
    EXPECT_EQ(dat_ep_post_recv_immed(at.side.ia, 1, &here, cookie(1), kDefault), 0x8005000Cu);
    EXPECT_EQ(dat_extension(at.ep, static_cast<DAT_EXT_OP>(4)), 0xBFFF0000u);
    DAT_SRQ_HANDLE srq = DAT_HANDLE_NULL;
    const DAT_EP_HANDLE shared = shared_endpoint(at.side, srq);
    EXPECT_EQ(dat_ep_post_recv_immed(shared, 1, &here, cookie(1), kDefault),
              dat_ep_post_recv(shared, 1, &here, cookie(1), kDefault));
    EXPECT_EQ(Side::state(at.ep), DAT_EP_STATE_CONNECTED);
    at.end(child);
}

/// Serves a word in memory with the privileges `of_region`, through a window with the privileges
/// `of_window` unless they are 0, and reports the value that it has at the end.
void serve_word(int of_region, int of_window, Channel& channel) {
    Side side;
    side.listen(kQualifier);
    channel.send('l');
    const DAT_EP_HANDLE ep = side.accept_next();
    alignas(8) DAT_UINT64 word = 40;
    DAT_REGION_DESCRIPTION region{};
    region.for_va = &word;
    DAT_LMR_HANDLE lmr = DAT_HANDLE_NULL;
    DAT_LMR_CONTEXT local_key = 0;
    DAT_RMR_CONTEXT key = 0;
    succeed(dat_lmr_create(side.ia, DAT_MEM_TYPE_VIRTUAL, region, sizeof word, side.pz,
                           static_cast<DAT_MEM_PRIV_FLAGS>(of_region), DAT_VA_TYPE_VA, &lmr,
                           &local_key, &key, nullptr, nullptr),
            "dat_lmr_create");
    const auto address = reinterpret_cast<DAT_VADDR>(&word);
    if (of_window != 0) {
        DAT_RMR_HANDLE rmr = DAT_HANDLE_NULL;
        succeed(dat_rmr_create(side.pz, &rmr), "dat_rmr_create");
        DAT_LMR_TRIPLET triplet{};
        triplet.virtual_address = address;
        triplet.segment_length = sizeof word;
        triplet.lmr_context = local_key;
        succeed(dat_rmr_bind(rmr, lmr, &triplet, static_cast<DAT_MEM_PRIV_FLAGS>(of_window),
                             DAT_VA_TYPE_VA, ep, cookie(1), kDefault, &key),
                "dat_rmr_bind");
        Side::wait(side.sends, DAT_RMR_BIND_COMPLETION_EVENT);
    }
    channel.send(Window{address, key});
    channel.receive<char>();
    channel.send(word);
    channel.receive<char>();
}

/// Adds 2 to such a word by an atomic operation, and expects that the word changes only on success.
/// @return the status of the operation.
int add_to(int of_region, int of_window) {
    Child child([=](Channel& channel) { serve_word(of_region, of_window, channel); });
    Requester at(child);
    DAT_LMR_TRIPLET here = at.local(8);
    DAT_RMR_TRIPLET there = at.remote(8);
    succeed(dat_ib_post_fetch_and_add(at.ep, 2, &here, cookie(1), &there, kDefault),
            "dat_ib_post_fetch_and_add");
    const int status = at.sent(1).status;
    at.channel.send('d');
    const DAT_UINT64 word = at.channel.receive<DAT_UINT64>();
    at.channel.send('e');
    EXPECT_EQ(child.wait(), 0);
    EXPECT_EQ(word, status == DAT_DTO_SUCCESS ? 42u : 40u);
    return status;
}

constexpr int kPlainAll = 0x33;
constexpr int kAtomic = DAT_IB_MEM_PRIV_REMOTE_ATOMIC;
constexpr int kProposedAll = DAT_MEM_PRIV_ALL_FLAG;
constexpr int kProposedRead = DAT_MEM_PRIV_REMOTE_READ_FLAG;

TEST_F(Extensions, AtomicsNeedTheirPrivilegeOfTheRegion) {
    EXPECT_EQ(add_to(kPlainAll | kAtomic, 0), DAT_DTO_SUCCESS);
    EXPECT_EQ(add_to(kPlainAll, 0), DAT_DTO_ERR_REMOTE_ACCESS);
}

TEST_F(Extensions, AtomicsNeedTheirPrivilegeOfTheWindow) {
    if (!Side().has_rmrs()) GTEST_SKIP() << "the device has no memory windows";
    EXPECT_EQ(add_to(kPlainAll | kAtomic, kPlainAll | kAtomic), DAT_DTO_SUCCESS);
    EXPECT_EQ(add_to(kPlainAll | kAtomic, kPlainAll), DAT_DTO_ERR_REMOTE_ACCESS);
}

TEST_F(Extensions, InTheProposalsModeAtomicsComeWithRemoteReadsOfWritableMemory) {
    EXPECT_EQ(add_to(kProposedAll, 0), DAT_DTO_SUCCESS);
    EXPECT_EQ(add_to(kProposedRead, 0), DAT_DTO_ERR_REMOTE_ACCESS) << "memory to read only";
    if (!Side().has_rmrs()) return;
    EXPECT_EQ(add_to(kPlainAll | kAtomic, kProposedRead), DAT_DTO_SUCCESS);
}

TEST_F(Extensions, TheProgramIsToldOfExtensionsOnce) {
    Child child([](Channel&) {
        const Side first;
        require(dat_extensions == 1, "the first one is told of");
        dat_extensions = 5;
        const Side second;
        require(dat_extensions == 5, "the second is not");
    });
    EXPECT_EQ(child.wait(), 0);
}

}  // namespace
