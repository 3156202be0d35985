// SPDX-License-Identifier: BSD-2-Clause
// Transfers between two real processes over soft0. The child serves, the test connects and moves
// the data; both check every byte.
#include <dat2/dat_ib_extensions.h>
#include <gtest/gtest.h>
#include <pthread.h>

#include <vector>

#include "test/api/side.hpp"
#include "test/support/sanitizer.hpp"

namespace {

using namespace test;

constexpr DAT_CONN_QUAL kQualifier = 4712;
constexpr std::size_t kSizes[] = {0, 1, 7, 64, 65, 4095, 4096, 65537, 1 << 20};
constexpr std::size_t kLargest = 1 << 20;
constexpr auto kAllAndAtomic = static_cast<DAT_MEM_PRIV_FLAGS>(int{DAT_MEM_PRIV_ALL_FLAG} |
                                                               int{DAT_IB_MEM_PRIV_REMOTE_ATOMIC});

/// Fills the string with pseudo-random bytes.
void fill(std::string& bytes, unsigned seed) {
    for (char& byte : bytes) byte = static_cast<char>(seed = seed * 1103515245 + 12345);
}
std::string pattern(std::size_t size, unsigned seed) {
    std::string bytes(size, '\0');
    fill(bytes, seed);
    return bytes;
}

DAT_LMR_TRIPLET part(const Buffer& buffer, std::size_t offset, std::size_t size) {
    DAT_LMR_TRIPLET triplet = buffer.all();
    triplet.virtual_address += offset;
    triplet.segment_length = static_cast<DAT_SEG_LENGTH>(size);
    return triplet;
}
DAT_RMR_TRIPLET remote(const Window& window, std::size_t size) {
    DAT_RMR_TRIPLET triplet{};
    triplet.virtual_address = window.address;
    triplet.segment_length = static_cast<DAT_SEG_LENGTH>(size);
    triplet.rmr_context = window.key;
    return triplet;
}
Window window_of(const Buffer& buffer) {
    return {buffer.all().virtual_address, buffer.remote_key};
}

DAT_DTO_COMPLETION_EVENT_DATA completion(DAT_EVD_HANDLE evd) {
    return Side::wait(evd, DAT_DTO_COMPLETION_EVENT).event_data.dto_completion_event_data;
}
void expect_done(DAT_EVD_HANDLE evd, DAT_EP_HANDLE ep, DAT_UINT64 value, std::size_t size,
                 DAT_DTOS operation) {
    const auto dto = completion(evd);
    require(dto.status == DAT_DTO_SUCCESS, "the transfer succeeds");
    require(dto.ep_handle == ep, "the completion names its endpoint");
    require(dto.user_cookie.as_64 == value, "the completion has its cookie");
    require(dto.transfered_length == size, "the completion has its length");
    require(dto.operation == operation, "the completion names its operation");
}

/// Receives a message of every size in three segments of uneven size.
void serve_sends(Channel& channel) {
    Side side;
    const DAT_PSP_HANDLE psp = side.listen(kQualifier);
    channel.send('l');
    const DAT_EP_HANDLE ep = side.accept_next();
    Buffer buffer(side, kLargest);
    for (const std::size_t size : kSizes) {
        std::fill(buffer.bytes.begin(), buffer.bytes.end(), '\0');
        DAT_LMR_TRIPLET parts[] = {
            part(buffer, 0, size / 3), part(buffer, size / 3, size / 5),
            part(buffer, size / 3 + size / 5, kLargest - size / 3 - size / 5)};
        succeed(dat_ep_post_recv(ep, 3, parts, cookie(size), DAT_COMPLETION_DEFAULT_FLAG),
                "dat_ep_post_recv");
        channel.send('r');
        expect_done(side.receives, ep, size, size, DAT_DTO_RECEIVE);
        require(buffer.bytes.compare(0, size, pattern(size, size)) == 0, "every byte arrives");
        require(buffer.bytes.find_first_not_of('\0', size) == std::string::npos, "and no more");
    }
    side.connection_event(DAT_CONNECTION_EVENT_DISCONNECTED, ep);
    succeed(dat_psp_free(psp), "dat_psp_free");
    succeed(dat_ep_free(ep), "dat_ep_free");
}

/// Lets the peer write to a window and, once every byte is checked, read other bytes from it, for
/// each size that it sends; ~0 ends that.
void serve_window(Channel& channel) {
    Side side;
    side.listen(kQualifier);
    channel.send('l');
    const DAT_EP_HANDLE ep = side.accept_next();
    Buffer buffer(side, kLargest);
    channel.send(window_of(buffer));
    for (std::size_t size; (size = channel.receive<std::size_t>()) != ~std::size_t{0};) {
        require(buffer.bytes.compare(0, size, pattern(size, size)) == 0, "every byte is written");
        fill(buffer.bytes, size + 1);
        channel.send('c');
    }
    side.connection_event(DAT_CONNECTION_EVENT_DISCONNECTED, ep);
}

/// Receives one write with immediate data and checks its event and every byte.
void serve_immediates(Channel& channel) {
    Side side;
    side.listen(kQualifier);
    channel.send('l');
    const DAT_EP_HANDLE ep = side.accept_next();
    Buffer buffer(side, 4096);
    DAT_LMR_TRIPLET none{};
    succeed(dat_ep_post_recv(ep, 0, &none, cookie(9), DAT_COMPLETION_DEFAULT_FLAG),
            "dat_ep_post_recv");
    channel.send(window_of(buffer));
    const DAT_EVENT event =
        Side::wait(side.receives, static_cast<DAT_EVENT_NUMBER>(DAT_IB_DTO_EVENT));
    const auto& dto = event.event_data.dto_completion_event_data;
    const auto* extension =
        reinterpret_cast<const DAT_IB_EXTENSION_EVENT_DATA*>(event.event_extension_data);
    require(extension->type == DAT_IB_RDMA_WRITE_IMMED_DATA, "the event says immediate data");
    require(extension->val.immed.data == 0x11223344, "the immediate data arrives as it was given");
    require(static_cast<int>(dto.operation) == DAT_IB_DTO_RECV_IMMED, "the operation is right");
    require(dto.transfered_length == 1000, "the length is that of the write");
    require(dto.user_cookie.as_64 == 9, "the cookie is the receive's");
    require(buffer.bytes.compare(0, 1000, pattern(1000, 1)) == 0, "every byte is written");
    side.connection_event(DAT_CONNECTION_EVENT_DISCONNECTED, ep);
}

/// Offers a counter for atomic operations and checks its value at the end.
void serve_atomics(Channel& channel) {
    Side side;
    side.listen(kQualifier);
    channel.send('l');
    const DAT_EP_HANDLE ep = side.accept_next();
    alignas(8) DAT_UINT64 counter = 100;
    DAT_REGION_DESCRIPTION region{};
    region.for_va = &counter;
    DAT_LMR_HANDLE lmr;
    DAT_RMR_CONTEXT key;
    succeed(dat_lmr_create(side.ia, DAT_MEM_TYPE_VIRTUAL, region, sizeof counter, side.pz,
                           kAllAndAtomic, DAT_VA_TYPE_VA, &lmr, nullptr, &key, nullptr, nullptr),
            "dat_lmr_create");
    channel.send(Window{reinterpret_cast<DAT_VADDR>(&counter), key});
    side.connection_event(DAT_CONNECTION_EVENT_DISCONNECTED, ep);
    require(counter == 7, "both operations were done in their order");
}

class Transfers : public testing::Test {
  protected:
    void end(Side& side, DAT_EP_HANDLE ep, Child& child) {
        succeed(dat_ep_disconnect(ep, DAT_CLOSE_GRACEFUL_FLAG), "dat_ep_disconnect");
        side.connection_event(DAT_CONNECTION_EVENT_DISCONNECTED, ep);
        EXPECT_EQ(child.wait(), 0);
    }
    TemporaryFabric fabric_;
};

TEST_F(Transfers, SendsOfEverySizeArriveByteForByteFromAndInSeveralSegments) {
    Child child(serve_sends);
    child.channel().receive<char>();
    Side side;
    const DAT_EP_HANDLE ep = side.connect_to(kQualifier);
    Buffer buffer(side, kLargest);
    for (const std::size_t size : kSizes) {
        buffer.bytes.replace(0, size, pattern(size, size));
        child.channel().receive<char>();
        DAT_LMR_TRIPLET parts[] = {part(buffer, 0, size / 2),
                                   part(buffer, size / 2, size - size / 2)};
        succeed(dat_ep_post_send(ep, 2, parts, cookie(size), DAT_COMPLETION_DEFAULT_FLAG),
                "dat_ep_post_send");
        expect_done(side.sends, ep, size, size, DAT_DTO_SEND);
    }
    end(side, ep, child);
}

TEST_F(Transfers, WritesAndReadsOfEverySizeMoveEveryByte) {
    Child child(serve_window);
    child.channel().receive<char>();
    Side side;
    const DAT_EP_HANDLE ep = side.connect_to(kQualifier);
    const Window window = child.channel().receive<Window>();
    Buffer buffer(side, kLargest);
    for (const std::size_t size : kSizes) {
        buffer.bytes.replace(0, size, pattern(size, size));
        DAT_LMR_TRIPLET local = part(buffer, 0, size);
        DAT_RMR_TRIPLET target = remote(window, size);
        succeed(dat_ep_post_rdma_write(ep, 1, &local, cookie(size), &target,
                                       DAT_COMPLETION_DEFAULT_FLAG),
                "dat_ep_post_rdma_write");
        expect_done(side.sends, ep, size, size, DAT_DTO_RDMA_WRITE);
        child.channel().send(size);
        child.channel().receive<char>();
        succeed(dat_ep_post_rdma_read(ep, 1, &local, cookie(size), &target,
                                      DAT_COMPLETION_DEFAULT_FLAG),
                "dat_ep_post_rdma_read");
        expect_done(side.sends, ep, size, size, DAT_DTO_RDMA_READ);
        EXPECT_EQ(buffer.bytes.compare(0, size, pattern(size, size + 1)), 0) << size;
    }
    child.channel().send(~std::size_t{0});
    end(side, ep, child);
}

TEST_F(Transfers, AWriteWithImmediateDataIsSeenByBothSides) {
    Child child(serve_immediates);
    child.channel().receive<char>();
    Side side;
    if (!side.has_extensions())
        GTEST_SKIP() << "the device has neither immediate data nor atomic operations";
    const DAT_EP_HANDLE ep = side.connect_to(kQualifier);
    const Window window = child.channel().receive<Window>();
    Buffer buffer(side, 1000);
    fill(buffer.bytes, 1);
    DAT_LMR_TRIPLET local = buffer.all();
    DAT_RMR_TRIPLET target = remote(window, 1000);
    succeed(dat_ib_post_rdma_write_immed(ep, 1, &local, cookie(3), &target, 0x11223344,
                                         DAT_COMPLETION_DEFAULT_FLAG),
            "dat_ib_post_rdma_write_immed");
    const DAT_EVENT event = Side::wait(side.sends, static_cast<DAT_EVENT_NUMBER>(DAT_IB_DTO_EVENT));
    const auto& dto = event.event_data.dto_completion_event_data;
    EXPECT_EQ(static_cast<int>(dto.operation), DAT_IB_DTO_RDMA_WRITE_IMMED);
    EXPECT_EQ(dto.transfered_length, 1000u);
    EXPECT_EQ(dto.user_cookie.as_64, 3u);
    end(side, ep, child);
}

TEST_F(Transfers, AtomicsGiveTheOldValueAndChangeTheNew) {
    Child child(serve_atomics);
    child.channel().receive<char>();
    Side side;
    if (!side.has_extensions())
        GTEST_SKIP() << "the device has neither immediate data nor atomic operations";
    const DAT_EP_HANDLE ep = side.connect_to(kQualifier);
    const Window window = child.channel().receive<Window>();
    Buffer old_value(side, 8);
    DAT_LMR_TRIPLET local = old_value.all();
    DAT_RMR_TRIPLET target = remote(window, 8);
    const auto value = [&] {
        DAT_UINT64 result;
        std::memcpy(&result, old_value.bytes.data(), sizeof result);
        return result;
    };
    succeed(
        dat_ib_post_fetch_and_add(ep, 5, &local, cookie(1), &target, DAT_COMPLETION_DEFAULT_FLAG),
        "dat_ib_post_fetch_and_add");
    const DAT_EVENT added = Side::wait(side.sends, static_cast<DAT_EVENT_NUMBER>(DAT_IB_DTO_EVENT));
    EXPECT_EQ(static_cast<int>(added.event_data.dto_completion_event_data.operation),
              DAT_IB_DTO_FETCH_ADD);
    EXPECT_EQ(value(), 100u);
    succeed(dat_ib_post_cmp_and_swap(ep, 105, 7, &local, cookie(2), &target,
                                     DAT_COMPLETION_DEFAULT_FLAG),
            "dat_ib_post_cmp_and_swap");
    Side::wait(side.sends, static_cast<DAT_EVENT_NUMBER>(DAT_IB_DTO_EVENT));
    EXPECT_EQ(value(), 105u);
    end(side, ep, child);
}

TEST_F(Transfers, AWrongKeyFailsTheWriteAndBreaksTheConnectionOnce) {
    Child child(serve_window);
    child.channel().receive<char>();
    Side side;
    if (side.is_iwarp())
        GTEST_SKIP() << "an iWARP device completes what it has sent, whatever the peer makes of it";
    const DAT_EP_HANDLE ep = side.connect_to(kQualifier);
    Window window = child.channel().receive<Window>();
    child.channel().send(~std::size_t{0});
    window.key ^= 0x5a5a;
    Buffer buffer(side, 100);
    DAT_LMR_TRIPLET local = buffer.all();
    DAT_RMR_TRIPLET target = remote(window, 100);
    succeed(dat_ep_post_rdma_write(ep, 1, &local, cookie(1), &target, DAT_COMPLETION_SUPPRESS_FLAG),
            "dat_ep_post_rdma_write");
    const auto dto = completion(side.sends);
    EXPECT_EQ(dto.status, DAT_DTO_ERR_REMOTE_ACCESS) << "errors complete though suppressed";
    EXPECT_EQ(dto.user_cookie.as_64, 1u);
    side.broken(ep);
    EXPECT_EQ(Side::state(ep), DAT_EP_STATE_DISCONNECTED);
    EXPECT_EQ(child.wait(), 0) << "the peer is told";
}

TEST_F(Transfers, AnotherThreadsWaitOnTheCompletionQueueIsWokenByTheDeviceAndByASoftwareEvent) {
    Child child(serve_sends);
    child.channel().receive<char>();
    Side side;
    const DAT_EVD_HANDLE both = side.evd(DAT_EVD_DTO_FLAG | DAT_EVD_SOFTWARE_FLAG, 64);
    side.sends = both;
    const DAT_EP_HANDLE ep = side.connect_to(kQualifier);
    Buffer buffer(side, kLargest);
    for (const std::size_t size : kSizes) {
        Thread waiter([&] {
            Side::wait(both, DAT_SOFTWARE_EVENT);
            expect_done(both, ep, size, size, DAT_DTO_SEND);
        });
        DAT_EVENT event{};
        event.event_number = DAT_SOFTWARE_EVENT;
        succeed(dat_evd_post_se(both, &event), "dat_evd_post_se");
        buffer.bytes.replace(0, size, pattern(size, size));
        child.channel().receive<char>();
        DAT_LMR_TRIPLET local = part(buffer, 0, size);
        succeed(dat_ep_post_send(ep, 1, &local, cookie(size), DAT_COMPLETION_DEFAULT_FLAG),
                "dat_ep_post_send");
        EXPECT_NO_THROW(waiter.join());
    }
    end(side, ep, child);
}

TEST_F(Transfers, ANotificationObjectAttachedAfterwardsHearsOfCompletions) {
    Child child(serve_sends);
    child.channel().receive<char>();
    Side side;
    const DAT_EP_HANDLE ep = side.connect_to(kQualifier);
    DAT_CNO_HANDLE cno;
    succeed(dat_cno_create(side.ia, DAT_OS_WAIT_PROXY_AGENT_NULL, &cno), "dat_cno_create");
    succeed(dat_evd_modify_cno(side.sends, cno), "dat_evd_modify_cno");
    Buffer buffer(side, kLargest);
    for (const std::size_t size : kSizes) {
        buffer.bytes.replace(0, size, pattern(size, size));
        child.channel().receive<char>();
        DAT_LMR_TRIPLET local = part(buffer, 0, size);
        succeed(dat_ep_post_send(ep, 1, &local, cookie(size), DAT_COMPLETION_DEFAULT_FLAG),
                "dat_ep_post_send");
        DAT_EVD_HANDLE trigger = DAT_HANDLE_NULL;
        succeed(dat_cno_wait(cno, kMicroseconds, &trigger), "dat_cno_wait");
        EXPECT_EQ(trigger, side.sends);
        expect_done(side.sends, ep, size, size, DAT_DTO_SEND);
    }
    EXPECT_EQ(dat_cno_free(cno), 0x80070043u);
    succeed(dat_evd_modify_cno(side.sends, DAT_HANDLE_NULL), "dat_evd_modify_cno");
    succeed(dat_cno_free(cno), "dat_cno_free");
    end(side, ep, child);
}

/// Waits on a completion queue until it is cancelled, with no cleanup handlers of its own.
template <int type>
void* wait_for_ever(void* evd) {
    pthread_setcanceltype(type, nullptr);
    DAT_EVENT event;
    DAT_COUNT more;
    for (;;) dat_evd_wait(evd, DAT_TIMEOUT_INFINITE, 1, &event, &more);
}

TEST_F(Transfers, TenThousandWaitersCancelledAtRandomMomentsLeaveTheCompletionQueueUsable) {
    if (test::kThreadSanitizer)
        GTEST_SKIP() << "it sees no locks in a thread cancelled in a system call";
    const int rounds = scaled(test::kAddressSanitizer ? 1000 : 10000);
    Child child(serve_sends);
    child.channel().receive<char>();
    Side side;
    const DAT_EP_HANDLE ep = side.connect_to(kQualifier);
    Buffer buffer(side, kLargest);
    for (const std::size_t size : kSizes) {
        // A busy machine does fewer rounds: the peer waits for each send, but not for ever.
        const auto enough = test::Clock::now() + std::chrono::seconds(20);
        for (int round = 0;
             round <= rounds / static_cast<int>(std::size(kSizes)) && test::Clock::now() < enough;
             ++round) {
            pthread_t thread;
            const auto start = round % 2 ? wait_for_ever<PTHREAD_CANCEL_ASYNCHRONOUS>
                                         : wait_for_ever<PTHREAD_CANCEL_DEFERRED>;
            ASSERT_EQ(pthread_create(&thread, nullptr, start, side.sends), 0);
            const auto moment = test::Clock::now() + std::chrono::microseconds(random() % 150);
            while (test::Clock::now() < moment) sched_yield();
            ASSERT_EQ(pthread_cancel(thread), 0);
            ASSERT_EQ(pthread_join(thread, nullptr), 0);
        }
        buffer.bytes.replace(0, size, pattern(size, size));
        child.channel().receive<char>();
        DAT_LMR_TRIPLET local = part(buffer, 0, size);
        succeed(dat_ep_post_send(ep, 1, &local, cookie(size), DAT_COMPLETION_DEFAULT_FLAG),
                "dat_ep_post_send");
        expect_done(side.sends, ep, size, size, DAT_DTO_SEND);
    }
    end(side, ep, child);
}

TEST_F(Transfers, ClosingAbruptlyWithEverythingOpenTellsThePeerAndLeavesDeadHandles) {
    Child child(serve_window);
    child.channel().receive<char>();
    Side side;
    const DAT_EP_HANDLE ep = side.connect_to(kQualifier);
    child.channel().receive<Window>();
    child.channel().send(~std::size_t{0});
    EXPECT_EQ(dat_ia_close(side.ia, DAT_CLOSE_GRACEFUL_FLAG), 0x80070050u);
    side.close();
    EXPECT_EQ(child.wait(), 0);
    EXPECT_EQ(dat_ep_free(ep), 0x8005000Cu) << "the library may even be unloaded by now";
}

TEST_F(Transfers,
       HandlesThatAreDeadOrOfAnotherKindOrMisalignedOrTheParentsAreRefusedThroughLibdat2) {
    Side side;
    DAT_PZ_HANDLE freed;
    succeed(dat_pz_create(side.ia, &freed), "dat_pz_create");
    succeed(dat_pz_free(freed), "dat_pz_free");
    const DAT_HANDLE bad[] = {DAT_HANDLE_NULL, reinterpret_cast<DAT_HANDLE>(17), freed, side.sends,
                              static_cast<char*>(side.pz) + 1};
    for (const DAT_HANDLE handle : bad) EXPECT_EQ(dat_pz_free(handle), 0x8005000Fu) << handle;
    Child child([&](Channel&) {
        expect_code(dat_pz_free(side.pz), 0x8005000Fu, "the parent's PZ in the child");
        DAT_EVENT event;
        expect_code(dat_evd_dequeue(side.sends, &event), 0x80050015u, "the parent's EVD");
        if (test::kThreadSanitizer) return;  // it allows no threads after a fork
        const Side own;
        const DAT_PSP_HANDLE psp = own.listen(kQualifier);
        succeed(Side::connect(own.endpoint(), kQualifier), "dat_ep_connect");
        succeed(dat_cr_accept(own.request(), own.endpoint(), 0, nullptr), "dat_cr_accept");
        for (int end = 0; end < 2; ++end)
            Side::wait(own.connections, DAT_CONNECTION_EVENT_ESTABLISHED);
        succeed(dat_psp_free(psp), "dat_psp_free");
    });
    EXPECT_EQ(child.wait(), 0);
    EXPECT_EQ(dat_pz_free(side.pz), DAT_SUCCESS);
}

}  // namespace
