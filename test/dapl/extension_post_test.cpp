// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Transfers of the extensions: what they post on a device, what they refuse without asking it, and
/// devices that do not support them.
#include <dat2/dat_extensions.h>
#include <dat2/dat_ib_extensions.h>
#include <dat2/dat_opendat.h>

#include <cstdarg>
#include <cstring>
#include <map>
#include <string>

#include "dapl/memory/lmr.hpp"
#include "test/dapl/core_fixture.hpp"

namespace test {
namespace {

constexpr DAT_UINT32 kNumber = 0x11223344;
constexpr DAT_COMPLETION_FLAGS kDefault = DAT_COMPLETION_DEFAULT_FLAG;
constexpr int kConfirmed = DAT_EXT_WRITE_IMMED_FLAG | DAT_EXT_WRITE_CONFIRM_FLAG;

class ExtensionPosts : public CoreTest {
  protected:
    explicit ExtensionPosts(int number = 0) : CoreTest(number) {
        word = segment;
        word.segment_length = 8;
    }
    static DAT_RETURN ask(DAT_HANDLE handle, unsigned operation, ...) {
        va_list arguments;
        va_start(arguments, operation);
        const DAT_RETURN code =
            entry::handle_extendedop(handle, static_cast<DAT_EXTENDED_OP>(operation), arguments);
        va_end(arguments);
        return code;
    }
    DAT_RETURN proposed_write(DAT_UINT64 value, int extended, unsigned flags = kDefault) {
        return ask(ep, DAT_OPENDAT_PROPOSED_OP, 1, &segment, cookie(value), &target, kNumber,
                   extended, flags);
    }
    DAT_RETURN proposed_receive(DAT_UINT64 value) {
        return ask(ep, DAT_OPENDAT_PROPOSED_OP + 1, 1, &segment, cookie(value), kDefault);
    }
    DAT_RETURN send_number(DAT_UINT64 value, unsigned flags = kDefault) {
        return ask(ep, DAT_IB_SEND_IMMED_OP, 1, &segment, cookie(value), kNumber, flags);
    }
    DAT_RETURN add(DAT_LMR_TRIPLET* local, DAT_RMR_TRIPLET* remote) {
        return ask(ep, DAT_IB_FETCH_AND_ADD_OP, DAT_UINT64{5}, local, cookie(1), remote, kDefault);
    }
    DAT_RETURN swap(DAT_LMR_TRIPLET* local, DAT_RMR_TRIPLET* remote) {
        return ask(ep, DAT_IB_CMP_AND_SWAP_OP, DAT_UINT64{5}, DAT_UINT64{6}, local, cookie(1),
                   remote, kDefault);
    }
    /// Checks both layouts of an extension's event.
    static void expect_event(const DAT_EVENT& event, int operation, int type, DAT_UINT32 proposed,
                             DAT_UINT32 immediate, int status = DAT_DTO_SUCCESS) {
        DAT_IB_EXTENSION_EVENT_DATA extension;
        std::memcpy(&extension, event.event_extension_data, sizeof extension);
        EXPECT_EQ(event.event_number, DAT_EXTENSION_EVENT);
        EXPECT_EQ(static_cast<int>(event.event_data.dto_completion_event_data.operation),
                  operation);
        EXPECT_EQ(static_cast<int>(event.event_data.dto_completion_event_data.status), status);
        EXPECT_EQ(static_cast<int>(extension.status), status);
        EXPECT_EQ(static_cast<int>(extension.type), type);
        EXPECT_EQ(extension.val.immed.data, immediate);
        EXPECT_EQ(event.event_data.extension_data.type, proposed);
        EXPECT_EQ(event.event_data.extension_data.val.immed.data, immediate);
    }

    /// Completes a write and the request behind it, and checks that one event tells of both.
    void finish_pair(DAT_UINT64 value, const char* between) {
        fake::finish_request(qp());
        EXPECT_TRUE(empty(request_evd)) << between;
        fake::finish_request(qp());
        const DAT_EVENT event = next(request_evd);
        expect_event(event, DAT_IB_DTO_RDMA_WRITE_IMMED, DAT_IB_RDMA_WRITE_IMMED,
                     DAT_EXT_RDMA_WRITE_IMMED_STATUS, 0);
        EXPECT_EQ(event.event_data.extension_data.dto.user_cookie.as_64, value);
        EXPECT_EQ(event.event_data.extension_data.dto.transfered_length, segment.segment_length);
    }

    DAT_LMR_TRIPLET word;
};

TEST_F(ExtensionPosts, ASendWithImmediateDataReachesTheDeviceWithItsNumberAndFlags) {
    make_ep();
    EXPECT_EQ(send_number(1), 0x8007002Fu) << "as a send, before the connection";
    ASSERT_EQ(entry::ep_free(ep), DAT_SUCCESS);
    connect_ep();
    segment.segment_length = 4;
    ASSERT_EQ(
        send_number(1, DAT_COMPLETION_SOLICITED_WAIT_FLAG | DAT_COMPLETION_BARRIER_FENCE_FLAG),
        DAT_SUCCESS);
    ASSERT_EQ(send_number(2, DAT_COMPLETION_SUPPRESS_FLAG), DAT_SUCCESS);
    const auto& posted = fake::requests(qp());
    ASSERT_EQ(posted.size(), 2u);
    EXPECT_EQ(posted[0].opcode, IBV_WR_SEND_WITH_IMM);
    EXPECT_EQ(posted[0].immediate, kNumber);
    constexpr unsigned kInline = IBV_SEND_INLINE;
    EXPECT_EQ(posted[0].flags & ~kInline,
              unsigned{IBV_SEND_SIGNALED | IBV_SEND_SOLICITED | IBV_SEND_FENCE});
    EXPECT_EQ(posted[1].flags & ~kInline, 0u);
    fake::finish_request(qp());
    expect_event(next(request_evd), DAT_IB_DTO_SEND_IMMED, DAT_IB_SEND_IMMED, 0, 0);
    fake::finish_request(qp());
    EXPECT_TRUE(empty(request_evd)) << "the second was suppressed";
    EXPECT_EQ(ask(open.ia, DAT_IB_SEND_IMMED_OP, 1, &segment, cookie(1), kNumber, kDefault),
              0x8005000Cu);
}

TEST_F(ExtensionPosts, AConfirmedWriteIsASilentWriteWithAReadOfNothingBehindIt) {
    connect_ep();
    ASSERT_EQ(proposed_write(7, kConfirmed), DAT_SUCCESS);
    const auto& posted = fake::requests(qp());
    ASSERT_EQ(posted.size(), 2u);
    EXPECT_EQ(posted[0].opcode, IBV_WR_RDMA_WRITE_WITH_IMM);
    EXPECT_EQ(posted[0].immediate, kNumber);
    EXPECT_EQ(posted[0].flags & IBV_SEND_SIGNALED, 0u);
    EXPECT_EQ(posted[1].opcode, IBV_WR_RDMA_READ);
    EXPECT_EQ(posted[1].length, 0u);
    EXPECT_EQ(posted[1].flags, unsigned{IBV_SEND_SIGNALED});
    finish_pair(7, "acknowledged is not yet placed");
    EXPECT_TRUE(empty(request_evd));
}

TEST_F(ExtensionPosts, AConfirmedWriteCountsTwiceAmongTheRequests) {
    connect_ep(4);
    ASSERT_EQ(send(1), DAT_SUCCESS);
    ASSERT_EQ(proposed_write(2, kConfirmed), DAT_SUCCESS);
    EXPECT_EQ(proposed_write(3, kConfirmed), 0x80030002u);
    ASSERT_EQ(send(4), DAT_SUCCESS);
    EXPECT_EQ(send(5), 0x80030002u);
    for (int i = 0; i < 4; ++i) fake::finish_request(qp());
    for (int i = 0; i < 3; ++i) next(request_evd);
    EXPECT_EQ(proposed_write(6, kConfirmed), DAT_SUCCESS);
    EXPECT_EQ(proposed_write(7, kConfirmed), DAT_SUCCESS);
}

TEST_F(ExtensionPosts, AConfirmedWriteThatFailsHasOneEventWithTheCauseOfTheWrite) {
    connect_ep();
    ASSERT_EQ(proposed_write(1, kConfirmed), DAT_SUCCESS);
    ASSERT_EQ(proposed_write(2, DAT_EXT_WRITE_CONFIRM_FLAG), DAT_SUCCESS);
    fake::finish_request(qp(), IBV_WC_REM_ACCESS_ERR);
    for (int i = 0; i < 3; ++i) fake::finish_request(qp(), IBV_WC_WR_FLUSH_ERR);
    const int statuses[] = {DAT_DTO_ERR_REMOTE_ACCESS, DAT_DTO_ERR_FLUSHED};
    for (DAT_UINT64 i = 0; i < 2; ++i) {
        const DAT_EVENT event = next(request_evd);
        expect_event(event, DAT_IB_DTO_RDMA_WRITE_IMMED, DAT_IB_RDMA_WRITE_IMMED,
                     DAT_EXT_RDMA_WRITE_IMMED_STATUS, 0, statuses[i]);
        EXPECT_EQ(event.event_data.extension_data.dto.user_cookie.as_64, i + 1);
    }
    EXPECT_TRUE(empty(request_evd));
    EXPECT_EQ(state(), DAT_EP_STATE_DISCONNECTED);
}

TEST_F(ExtensionPosts, AWriteWhoseConfirmationFailsHasFailed) {
    connect_ep();
    ASSERT_EQ(proposed_write(1, kConfirmed, DAT_COMPLETION_SUPPRESS_FLAG), DAT_SUCCESS);
    fake::finish_request(qp());
    fake::finish_request(qp(), IBV_WC_RETRY_EXC_ERR);
    expect_event(next(request_evd), DAT_IB_DTO_RDMA_WRITE_IMMED, DAT_IB_RDMA_WRITE_IMMED,
                 DAT_EXT_RDMA_WRITE_IMMED_STATUS, 0, DAT_DTO_ERR_TRANSPORT);
}

TEST_F(ExtensionPosts, TheProposalsWriteWithoutItsFlagCarriesNoNumber) {
    connect_ep();
    ASSERT_EQ(proposed_write(1, 0), DAT_SUCCESS);
    ASSERT_EQ(fake::requests(qp()).size(), 1u);
    EXPECT_EQ(fake::requests(qp())[0].opcode, IBV_WR_RDMA_WRITE);
    EXPECT_EQ(proposed_write(1, 4), 0x8006002Bu) << "an unknown flag";
    EXPECT_EQ(ask(ep, DAT_OPENDAT_PROPOSED_OP, 1, &segment, cookie(1), nullptr, kNumber, 1, 0),
              0x80060029u);
}

TEST_F(ExtensionPosts, AReceiveOfTheProposalCompletesAsAnExtensionsWhateverComes) {
    connect_ep();
    for (DAT_UINT64 i = 0; i < 4; ++i) ASSERT_EQ(proposed_receive(i), DAT_SUCCESS);
    ASSERT_EQ(receive(4), DAT_SUCCESS);
    fake::finish_receive(qp(), 5);
    fake::finish_receive(qp(), 6, IBV_WC_SUCCESS, IBV_WC_RECV_RDMA_WITH_IMM, kNumber);
    fake::finish_receive(qp(), 7);
    const DAT_EVENT plain = next(recv_evd);
    expect_event(plain, DAT_DTO_RECEIVE, DAT_IB_RECV_NO_IMMED, DAT_EXT_RECV_NO_IMMED, 0);
    EXPECT_EQ(plain.event_data.extension_data.dto.transfered_length, 5u);
    expect_event(next(recv_evd), DAT_IB_DTO_RECV_IMMED, DAT_IB_RDMA_WRITE_IMMED_DATA,
                 DAT_EXT_RECV_IMMED_DATA_EVENT, kNumber);
    expect_event(next(recv_evd), DAT_DTO_RECEIVE, DAT_IB_RECV_NO_IMMED, DAT_EXT_RECV_NO_IMMED, 0);
    fake::finish_receive(qp(), 0, IBV_WC_WR_FLUSH_ERR);
    fake::finish_receive(qp(), 0, IBV_WC_WR_FLUSH_ERR);
    expect_event(next(recv_evd), DAT_DTO_RECEIVE, DAT_IB_RECV_NO_IMMED, DAT_EXT_RECV_NO_IMMED, 0,
                 DAT_DTO_ERR_FLUSHED);
    EXPECT_EQ(next(recv_evd).event_number, DAT_DTO_COMPLETION_EVENT) << "the ordinary one";
}

TEST_F(ExtensionPosts, AnAtomicOperationNeedsEightLocalBytesAndAnAlignedAddress) {
    connect_ep();
    DAT_RMR_TRIPLET odd = target;
    odd.virtual_address = (target.virtual_address & ~DAT_VADDR{7}) + 4;
    DAT_RMR_TRIPLET aligned = odd;
    aligned.virtual_address += 4;
    for (DAT_SEG_LENGTH length : {0u, 4u, 7u, 9u, 16u}) {
        word.segment_length = length;
        EXPECT_EQ(add(&word, &aligned), 0x80080000u) << length;
        EXPECT_EQ(swap(&word, &aligned), 0x80080000u) << length;
    }
    word.segment_length = 8;
    EXPECT_EQ(add(&word, &odd), 0x80120000u);
    EXPECT_EQ(swap(&word, &odd), 0x80120000u);
    EXPECT_EQ(add(nullptr, &aligned), 0x80060027u);
    EXPECT_EQ(add(&word, nullptr), 0x80060029u);
    EXPECT_TRUE(fake::requests(qp()).empty()) << "no device was asked";
    EXPECT_EQ(state(), DAT_EP_STATE_CONNECTED);
    EXPECT_EQ(add(&word, &aligned), DAT_SUCCESS);
}

/// A separate IA with an EP, on an adapter other than the fixture's if wanted.
struct OtherEp {
    explicit OtherEp(int number) : open(number) {
        EXPECT_EQ(entry::pz_create(open.ia, &pz), DAT_SUCCESS);
        EXPECT_EQ(entry::ep_create(open.ia, pz, nullptr, nullptr, nullptr, nullptr, &ep),
                  DAT_SUCCESS);
    }
    std::map<std::string, std::string> named() const {
        DAT_PROVIDER_ATTR provider{};
        EXPECT_EQ(entry::ia_query(open.ia, nullptr, 0, nullptr, DAT_PROVIDER_FIELD_ALL, &provider),
                  DAT_SUCCESS);
        std::map<std::string, std::string> result;
        for (DAT_COUNT i = 0; i < provider.num_provider_specific_attr; ++i)
            result[provider.provider_specific_attr[i].name] =
                provider.provider_specific_attr[i].value;
        return result;
    }
    fake::OpenIa open;
    DAT_PZ_HANDLE pz = nullptr;
    DAT_EP_HANDLE ep = nullptr;
};

TEST_F(ExtensionPosts, ADeviceWithoutAtomicsSaysSoAndRefusesThemWhileItHasImmediateData) {
    fake::have_atomics(false);
    OtherEp other(0);
    fake::have_atomics(true);
    ep = other.ep;
    target.virtual_address = 4096;
    EXPECT_EQ(add(&word, &target), 0x00090000u);
    EXPECT_EQ(swap(&word, &target), 0x00090000u);
    EXPECT_EQ(send_number(1), 0x8007002Fu) << "it is but not connected";
    const auto named = other.named();
    for (const char* name : {"DAT_IB_FETCH_AND_ADD", "DAT_IB_CMP_AND_SWAP", "DAT_EXT_FETCH_AND_ADD",
                             "DAT_EXT_CMP_AND_SWAP"})
        EXPECT_EQ(named.at(name), "FALSE") << name;
    for (const char* name : {"DAT_IB_IMMED_DATA", "DAT_EXT_RDMA_WRITE_IMMED", "DAT_EXT_RECV_IMMED"})
        EXPECT_EQ(named.at(name), "TRUE") << name;
}

class ExtensionPostsOnIwarp : public ExtensionPosts {
  protected:
    ExtensionPostsOnIwarp() : ExtensionPosts(1) {}
};

TEST_F(ExtensionPostsOnIwarp, ThereIsNoOtherThanTheProposalsWriteAndEachDeviceSaysItsOwn) {
    OtherEp iwarp(1);
    OtherEp infiniband(0);
    ep = iwarp.ep;
    EXPECT_EQ(add(&word, &target), 0xBFFF0000u);
    EXPECT_EQ(send_number(1), 0xBFFF0000u);
    EXPECT_EQ(ask(ep, DAT_IB_RDMA_WRITE_IMMED_OP, 1, &segment, cookie(1), &target, kNumber, 0),
              0xBFFF0000u);
    EXPECT_EQ(proposed_write(1, kConfirmed), 0x00090000u) << "nobody has shown what a read proves";
    for (const char* name :
         {"DAT_IB_FETCH_AND_ADD", "DAT_IB_CMP_AND_SWAP", "DAT_IB_IMMED_DATA",
          "DAT_EXT_RECV_IMMED_EVENT", "DAT_EXT_FETCH_AND_ADD", "DAT_EXT_CMP_AND_SWAP"}) {
        EXPECT_EQ(iwarp.named().at(name), "FALSE") << name;
        EXPECT_EQ(infiniband.named().at(name), "TRUE") << name;
    }
    for (const char* name :
         {"DAT_EXTENSION_INTERFACE", "DAT_EXT_RDMA_WRITE_IMMED", "DAT_EXT_RECV_IMMED"}) {
        EXPECT_EQ(iwarp.named().at(name), "TRUE") << name;
        EXPECT_EQ(infiniband.named().at(name), "TRUE") << name;
    }
    EXPECT_EQ(iwarp.named().at("DAT_EXT_RECV_IMMED_PAYLOAD"), "TRUE");
    EXPECT_EQ(infiniband.named().at("DAT_EXT_RECV_IMMED_PAYLOAD"), "FALSE");
}

TEST_F(ExtensionPostsOnIwarp, ANumberFollowsItsWriteInASendOfItsOwn) {
    connect_ep(4);
    constexpr unsigned kFlags =
        DAT_COMPLETION_SOLICITED_WAIT_FLAG | DAT_COMPLETION_BARRIER_FENCE_FLAG;
    ASSERT_EQ(proposed_write(7, DAT_EXT_WRITE_IMMED_FLAG, kFlags), DAT_SUCCESS);
    ASSERT_EQ(proposed_write(8, 0), DAT_SUCCESS);
    const auto& posted = fake::requests(qp());
    ASSERT_EQ(posted.size(), 3u);
    EXPECT_EQ(posted[0].opcode, IBV_WR_RDMA_WRITE);
    EXPECT_EQ(posted[0].flags & (IBV_SEND_SIGNALED | IBV_SEND_FENCE), unsigned{IBV_SEND_FENCE});
    EXPECT_EQ(posted[1].opcode, IBV_WR_SEND);
    EXPECT_EQ(posted[1].flags, unsigned{IBV_SEND_SIGNALED | IBV_SEND_SOLICITED | IBV_SEND_INLINE});
    EXPECT_EQ(posted[1].inlined, kNumber);
    EXPECT_EQ(posted[2].opcode, IBV_WR_RDMA_WRITE);
    EXPECT_EQ(proposed_write(9, DAT_EXT_WRITE_IMMED_FLAG), 0x80030002u) << "it counts twice";
    finish_pair(7, "the number is still on its way");
}

TEST_F(ExtensionPostsOnIwarp, AWriteThatFailsHasOneEventAndItsNumberNone) {
    connect_ep();
    ASSERT_EQ(proposed_write(1, DAT_EXT_WRITE_IMMED_FLAG), DAT_SUCCESS);
    fake::finish_request(qp(), IBV_WC_REM_ACCESS_ERR);
    fake::finish_request(qp(), IBV_WC_WR_FLUSH_ERR);
    expect_event(next(request_evd), DAT_IB_DTO_RDMA_WRITE_IMMED, DAT_IB_RDMA_WRITE_IMMED,
                 DAT_EXT_RDMA_WRITE_IMMED_STATUS, 0, DAT_DTO_ERR_REMOTE_ACCESS);
    EXPECT_TRUE(empty(request_evd));
}

TEST_F(ExtensionPostsOnIwarp, AReceiveOfTheProposalTellsThatTheNumberIsInItsMemory) {
    connect_ep();
    for (DAT_UINT64 i = 0; i < 2; ++i) ASSERT_EQ(proposed_receive(i), DAT_SUCCESS);
    ASSERT_EQ(receive(2), DAT_SUCCESS);
    fake::finish_receive(qp(), sizeof kNumber);
    fake::finish_receive(qp(), 5);
    fake::finish_receive(qp(), sizeof kNumber);
    const DAT_EVENT number = next(recv_evd);
    expect_event(number, DAT_IB_DTO_RECV_IMMED, DAT_IB_RDMA_WRITE_IMMED_DATA,
                 DAT_EXT_RECV_IMMED_DATA_PAYLOAD, 0);
    EXPECT_EQ(number.event_data.extension_data.dto.transfered_length, sizeof kNumber);
    expect_event(next(recv_evd), DAT_DTO_RECEIVE, DAT_IB_RECV_NO_IMMED, DAT_EXT_RECV_NO_IMMED, 0);
    EXPECT_EQ(next(recv_evd).event_number, DAT_DTO_COMPLETION_EVENT) << "the ordinary one";
}

TEST(AtomicPrivilege, IsAskedForByItselfOrInTheProposalsModeComesWithReadingOfWritableMemory) {
    using dapl::grants_atomics;
    constexpr unsigned kAtomic = 0x40, kWithRead = 0x80, kRead = 0x2, kWrite = 0x10;
    EXPECT_TRUE(grants_atomics(kAtomic, kAtomic));
    EXPECT_FALSE(grants_atomics(kRead | kWrite, kRead | kWrite)) << "outside of the mode";
    EXPECT_TRUE(grants_atomics(kRead | kWithRead | kWrite, kRead | kWithRead | kWrite));
    EXPECT_FALSE(grants_atomics(kRead | kWithRead, kRead | kWithRead)) << "memory to read only";
    EXPECT_FALSE(grants_atomics(kWithRead | kWrite, kWithRead | kWrite)) << "not readable";
    EXPECT_TRUE(grants_atomics(kRead | kWithRead, kWrite)) << "a window on writable memory";
    static_assert(unsigned{DAT_MEM_PRIV_REMOTE_READ_FLAG} == (kRead | kWithRead));
    static_assert(unsigned{DAT_MEM_PRIV_ALL_FLAG} == (0x33 | kWithRead));
}

}  // namespace
}  // namespace test
