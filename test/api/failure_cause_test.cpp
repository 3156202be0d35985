// SPDX-License-Identifier: BSD-2-Clause
// Messages on stderr about a failed transfer, on both sides of a connection over soft0: which check
// failed, and how the peer's process ended. Both sides of each test run in processes of their own.
#include <gtest/gtest.h>

#include <csignal>
#include <regex>

#include "test/api/leaks_of_children.hpp"
#include "test/api/side.hpp"

namespace {

using namespace test;

constexpr DAT_CONN_QUAL kQualifier = 4891;
constexpr std::size_t kSize = 8192;

alignas(4096) char memory[kSize];

class FailureCause : public testing::Test {
  protected:
    TemporaryFabric fabric_;
};

void expect_told(const std::string& told, const std::string& pattern) {
    require(std::regex_search(told, std::regex(pattern)), "it says " + pattern + ": " + told);
}

struct Lmr {
    DAT_LMR_HANDLE handle = DAT_HANDLE_NULL;
    DAT_LMR_CONTEXT local_key = 0;
    DAT_RMR_CONTEXT remote_key = 0;
};

Lmr register_memory(const Side& side, DAT_PZ_HANDLE pz, DAT_MEM_PRIV_FLAGS privileges,
                    DAT_VLEN length = kSize) {
    Lmr lmr;
    DAT_REGION_DESCRIPTION region{};
    region.for_va = memory;
    succeed(dat_lmr_create(side.ia, DAT_MEM_TYPE_VIRTUAL, region, length, pz, privileges,
                           DAT_VA_TYPE_VA, &lmr.handle, &lmr.local_key, &lmr.remote_key, nullptr,
                           nullptr),
            "dat_lmr_create");
    return lmr;
}

DAT_RMR_TRIPLET range(DAT_RMR_CONTEXT key, std::size_t length = 64, std::size_t offset = 0) {
    DAT_RMR_TRIPLET triplet{};
    triplet.virtual_address = reinterpret_cast<DAT_VADDR>(memory) + offset;
    triplet.segment_length = static_cast<DAT_SEG_LENGTH>(length);
    triplet.rmr_context = key;
    return triplet;
}

/// Makes the memory range that the server offers to its client once they are connected.
using Offer = std::function<DAT_RMR_TRIPLET(const Side&, DAT_EP_HANDLE)>;

void post(DAT_EP_HANDLE ep, DAT_DTOS operation, DAT_LMR_TRIPLET segment, DAT_RMR_TRIPLET target) {
    const auto call =
        operation == DAT_DTO_RDMA_READ ? dat_ep_post_rdma_read : dat_ep_post_rdma_write;
    succeed(call(ep, 1, &segment, cookie(1), &target, DAT_COMPLETION_DEFAULT_FLAG), "the post");
}

/// Which event the client waits for first: the completion, or the end of the connection.
enum class First { kCompletion, kEnd };

/// Has the client access the range that the server offers. @param at_client, at_server regular
/// expressions that the output of each side on stderr has to match.
void expect_failure(const Offer& offer, DAT_DTOS operation, const std::string& at_client,
                    const std::string& at_server, First first = First::kCompletion) {
    Child client([&](Channel&) {
        Child server([&](Channel& channel) {
            const std::string told = captured_stderr([&] {
                Side side;
                side.listen(kQualifier);
                channel.send('l');
                DAT_EP_HANDLE ep = side.accept_next();
                channel.send(offer(side, ep));
                side.broken(ep);
            });
            expect_told(told, at_server);
        });
        const std::string told = captured_stderr([&] {
            Side side;
            const Buffer buffer(side, kSize);
            server.channel().receive<char>();
            DAT_EP_HANDLE ep = side.connect_to(kQualifier);
            const auto target = server.channel().receive<DAT_RMR_TRIPLET>();
            DAT_LMR_TRIPLET segment = buffer.all();
            segment.segment_length = target.segment_length;
            post(ep, operation, segment, target);
            if (first == First::kEnd) side.broken(ep);
            Side::wait(side.sends, DAT_DTO_COMPLETION_EVENT);
            if (first == First::kCompletion) side.broken(ep);
        });
        require(server.wait() == 0, "the server ends well");
        expect_told(told, at_client);
    });
    EXPECT_EQ(client.wait(), 0);
}

TEST_F(FailureCause, a_key_that_nobody_gave_is_told_as_such) {
    expect_failure([](const Side&, DAT_EP_HANDLE) { return range(0x5a5a5a5a); }, DAT_DTO_RDMA_WRITE,
                   "remote access error of an RDMA write, as the peer has no LMR or RMR with the "
                   "rmr_context 0x5a5a5a5a,",
                   "as this process has no LMR or RMR with the rmr_context 0x5a5a5a5a,");
}

TEST_F(FailureCause, of_a_freed_lmr_is_told_who_freed_it_and_when) {
    expect_failure(
        [](const Side& side, DAT_EP_HANDLE) {
            const Lmr lmr = register_memory(side, side.pz, DAT_MEM_PRIV_ALL_FLAG);
            succeed(dat_lmr_free(lmr.handle), "dat_lmr_free");
            return range(lmr.remote_key);
        },
        DAT_DTO_RDMA_WRITE,
        "as the peer's LMR with the rmr_context 0x[0-9a-f]+ has been freed by process [0-9]+, "
        "[0-9.]+ m?s ago, .*free or unbind memory after",
        "as the LMR with the rmr_context 0x[0-9a-f]+ has been freed by process [0-9]+, ");
}

TEST_F(FailureCause, is_reported_where_the_peers_end_comes_before_the_completion) {
    expect_failure([](const Side&, DAT_EP_HANDLE) { return range(0x5a5a5a5a); }, DAT_DTO_RDMA_WRITE,
                   "remote access error of an RDMA write, as the peer has no LMR or RMR with the "
                   "rmr_context 0x5a5a5a5a,",
                   "as this process has no LMR or RMR with the rmr_context 0x5a5a5a5a,",
                   First::kEnd);
}

TEST_F(FailureCause, of_a_range_that_is_too_long_both_ranges_are_told) {
    expect_failure(
        [](const Side& side, DAT_EP_HANDLE) {
            return range(register_memory(side, side.pz, DAT_MEM_PRIV_ALL_FLAG, 1000).remote_key,
                         100, 950);
        },
        DAT_DTO_RDMA_READ,
        "as the peer's LMR with the rmr_context 0x[0-9a-f]+ has 1000 bytes from 0x[0-9a-f]+, but "
        "100 bytes from 0x[0-9a-f]+ were requested, .*compare address and length",
        "as the LMR with the rmr_context 0x[0-9a-f]+ has 1000 bytes from ");
}

TEST_F(FailureCause, a_missing_privilege_is_named) {
    expect_failure(
        [](const Side& side, DAT_EP_HANDLE) {
            return range(register_memory(side, side.pz, DAT_MEM_PRIV_LOCAL_READ_FLAG).remote_key);
        },
        DAT_DTO_RDMA_WRITE, "as the peer's LMR with .* does not allow RDMA writes, .*privilege",
        "as the LMR with .* does not allow RDMA writes, ");
}

TEST_F(FailureCause, an_lmr_of_another_zone_is_told_as_such) {
    expect_failure(
        [](const Side& side, DAT_EP_HANDLE) {
            DAT_PZ_HANDLE other = DAT_HANDLE_NULL;
            succeed(dat_pz_create(side.ia, &other), "dat_pz_create");
            return range(register_memory(side, other, DAT_MEM_PRIV_ALL_FLAG).remote_key);
        },
        DAT_DTO_RDMA_WRITE, "as the peer's LMR with .* belongs to another PZ than the endpoint, ",
        "as the LMR with .* belongs to another PZ than the endpoint, ");
}

/// Creates an RMR and binds it to the whole memory. @param key is set to its context.
DAT_RMR_HANDLE bind(const Side& side, DAT_EP_HANDLE ep, const Lmr& lmr, DAT_RMR_CONTEXT& key) {
    DAT_RMR_HANDLE rmr = DAT_HANDLE_NULL;
    succeed(dat_rmr_create(side.pz, &rmr), "dat_rmr_create");
    DAT_LMR_TRIPLET whole{};
    whole.virtual_address = reinterpret_cast<DAT_VADDR>(memory);
    whole.segment_length = kSize;
    whole.lmr_context = lmr.local_key;
    succeed(dat_rmr_bind(rmr, lmr.handle, &whole, DAT_MEM_PRIV_REMOTE_READ_FLAG, DAT_VA_TYPE_VA, ep,
                         cookie(2), DAT_COMPLETION_DEFAULT_FLAG, &key),
            "dat_rmr_bind");
    Side::wait(side.sends, DAT_RMR_BIND_COMPLETION_EVENT);
    return rmr;
}

TEST_F(FailureCause, an_rmr_is_told_from_an_lmr) {
    expect_failure(
        [](const Side& side, DAT_EP_HANDLE ep) {
            DAT_RMR_CONTEXT key = 0;
            bind(side, ep, register_memory(side, side.pz, DAT_MEM_PRIV_ALL_FLAG), key);
            return range(key);
        },
        DAT_DTO_RDMA_WRITE, "as the peer's RMR with .* does not allow RDMA writes, ",
        "as the RMR with .* does not allow RDMA writes, ");
}

TEST_F(FailureCause, of_an_rmr_that_is_gone_is_told_when_it_was_unbound) {
    expect_failure(
        [](const Side& side, DAT_EP_HANDLE ep) {
            DAT_RMR_CONTEXT key = 0;
            succeed(dat_rmr_free(
                        bind(side, ep, register_memory(side, side.pz, DAT_MEM_PRIV_ALL_FLAG), key)),
                    "dat_rmr_free");
            return range(key);
        },
        DAT_DTO_RDMA_READ, "as the peer's RMR with .* has been unbound by process [0-9]+, [0-9.]+ ",
        "as the RMR with .* has been unbound by process [0-9]+, ");
}

/// Posts a request whose local segment is invalid. @param pattern has to match the client's output.
void expect_local_failure(const std::function<DAT_LMR_TRIPLET(const Side&)>& segment_of,
                          const std::string& pattern) {
    Child client([&](Channel&) {
        Child server([&](Channel& channel) {
            Side side;
            side.listen(kQualifier);
            channel.send('l');
            side.broken(side.accept_next());
        });
        const std::string told = captured_stderr([&] {
            Side side;
            server.channel().receive<char>();
            DAT_EP_HANDLE ep = side.connect_to(kQualifier);
            post(ep, DAT_DTO_RDMA_WRITE, segment_of(side), range(0x5a5a5a5a));
            Side::wait(side.sends, DAT_DTO_COMPLETION_EVENT);
            side.broken(ep);
        });
        expect_told(told, pattern);
    });
    EXPECT_EQ(client.wait(), 0);
}

DAT_LMR_TRIPLET segment(DAT_LMR_CONTEXT key, std::size_t length) {
    DAT_LMR_TRIPLET triplet{};
    triplet.virtual_address = reinterpret_cast<DAT_VADDR>(memory);
    triplet.segment_length = static_cast<DAT_SEG_LENGTH>(length);
    triplet.lmr_context = key;
    return triplet;
}

TEST_F(FailureCause, a_freed_lmr_of_ones_own_is_told_as_such) {
    expect_local_failure(
        [](const Side& side) {
            const Lmr lmr = register_memory(side, side.pz, DAT_MEM_PRIV_ALL_FLAG);
            succeed(dat_lmr_free(lmr.handle), "dat_lmr_free");
            return segment(lmr.local_key, 4096);  // a short segment would be sent inline
        },
        "local protection error of an RDMA write, as the LMR with the lmr_context 0x[0-9a-f]+ has "
        "been freed by process [0-9]+, ");
}

TEST_F(FailureCause, a_segment_that_is_too_long_is_told_with_its_lmr) {
    expect_local_failure(
        [](const Side& side) {
            return segment(register_memory(side, side.pz, DAT_MEM_PRIV_ALL_FLAG, 1000).local_key,
                           1001);
        },
        "as the LMR with the lmr_context 0x[0-9a-f]+ has 1000 bytes from 0x[0-9a-f]+, but 1001 "
        "bytes from 0x[0-9a-f]+ were requested, ");
}

/// Sends a message into a receive whose segment is invalid: both the server's and the client's
/// message name the LMR of that segment.
/// @param length of the message: a short one is passed through the queues.
/// @param cause what both messages say about the LMR.
void expect_bad_receive(const std::function<DAT_LMR_TRIPLET(const Side&)>& segment_of,
                        std::size_t length, const std::string& cause) {
    Child client([&](Channel&) {
        Child server([&](Channel& channel) {
            const std::string told = captured_stderr([&] {
                Side side;
                side.listen(kQualifier);
                channel.send('l');
                DAT_EP_HANDLE ep = side.accept_next();
                DAT_LMR_TRIPLET into = segment_of(side);
                succeed(dat_ep_post_recv(ep, 1, &into, cookie(1), DAT_COMPLETION_DEFAULT_FLAG),
                        "dat_ep_post_recv");
                channel.send('r');
                side.broken(ep);
            });
            expect_told(told, "as the LMR with the lmr_context 0x[0-9a-f]+ " + cause);
        });
        const std::string told = captured_stderr([&] {
            Side side;
            const Buffer buffer(side, kSize);
            server.channel().receive<char>();
            DAT_EP_HANDLE ep = side.connect_to(kQualifier);
            server.channel().receive<char>();
            DAT_LMR_TRIPLET from = buffer.all();
            from.segment_length = static_cast<DAT_SEG_LENGTH>(length);
            succeed(dat_ep_post_send(ep, 1, &from, cookie(1), DAT_COMPLETION_DEFAULT_FLAG),
                    "dat_ep_post_send");
            Side::wait(side.sends, DAT_DTO_COMPLETION_EVENT);
            side.broken(ep);
        });
        require(server.wait() == 0, "the server ends well");
        expect_told(told, "as the peer's LMR with the lmr_context 0x[0-9a-f]+ " + cause);
    });
    EXPECT_EQ(client.wait(), 0);
}

TEST_F(FailureCause, of_a_receive_into_a_freed_lmr_is_told_at_both_ends) {
    for (const std::size_t length : {16, 4096})
        expect_bad_receive(
            [](const Side& side) {
                const Lmr lmr = register_memory(side, side.pz, DAT_MEM_PRIV_ALL_FLAG);
                succeed(dat_lmr_free(lmr.handle), "dat_lmr_free");
                return segment(lmr.local_key, 4096);
            },
            length, "has been freed by process [0-9]+, ");
}

TEST_F(FailureCause, of_a_receive_longer_than_its_lmr_both_ranges_are_told) {
    expect_bad_receive(
        [](const Side& side) {
            return segment(register_memory(side, side.pz, DAT_MEM_PRIV_ALL_FLAG, 1000).local_key,
                           4096);
        },
        4096, "has 1000 bytes from 0x[0-9a-f]+, but 4096 bytes from 0x[0-9a-f]+ were requested, ");
}

/// Ends the server's process while it is connected and idle.
/// @param end ends it. @param request whether the client has a request in flight then.
/// @param reaped whether the server's parent has waited for it: only then is its signal known.
void expect_end(const std::function<void()>& end, bool request, bool reaped,
                const std::string& pattern) {
    Child client([&](Channel&) {
        const std::string told = captured_stderr([&] {
            Child server([&](Channel& channel) {
                Side side;
                side.listen(kQualifier);
                channel.send('l');
                side.accept_next();
                channel.send('c');
                channel.receive<char>();
                end();
            });
            Side side;
            const Buffer buffer(side, 64);
            server.channel().receive<char>();
            DAT_EP_HANDLE ep = side.connect_to(kQualifier);
            server.channel().receive<char>();
            DAT_LMR_TRIPLET local = buffer.all();
            if (request)
                succeed(dat_ep_post_send(ep, 1, &local, cookie(1), DAT_COMPLETION_DEFAULT_FLAG),
                        "dat_ep_post_send");
            server.channel().send('e');
            if (reaped) server.wait();
            side.broken(ep);
        });
        expect_told(told, pattern);
    });
    EXPECT_EQ(client.wait(), 0);
}

TEST_F(FailureCause, a_peer_that_was_killed_is_told_with_its_pid) {
    expect_end([] { raise(SIGKILL); }, true, true,
               "as the peer's process ended \\(pid [0-9]+(, signal 9: Killed)?\\), ");
}

TEST_F(FailureCause, a_peer_that_was_killed_is_told_also_where_nothing_was_asked_of_it) {
    expect_end([] { raise(SIGKILL); }, false, true,
               "as the peer's process ended \\(pid [0-9]+(, signal 9: Killed)?\\), ");
    expect_end([] { raise(SIGKILL); }, false, false,
               "as the peer's process ended \\(pid [0-9]+\\), ");
}

TEST_F(FailureCause, nothing_is_told_of_an_idle_peer_that_has_left_main) {
    expect_end([] { exit(0); }, false, true, "^$");
    expect_end([] { exit(0); }, false, false, "^$");
}

TEST_F(FailureCause, a_peer_that_ended_itself_with_a_request_under_way_is_told_with_its_pid) {
    expect_end([] { _exit(3); }, true, true,
               "as the peer's process ended \\(pid [0-9]+(, exit status 3)?\\), ");
}

TEST_F(FailureCause, a_message_about_an_endpoint_gives_its_handle) {
    Child client([&](Channel&) {
        DAT_EP_HANDLE ep = DAT_HANDLE_NULL;
        const std::string told = captured_stderr([&] {
            Child server([&](Channel& channel) {
                Side side;
                side.listen(kQualifier);
                channel.send('l');
                side.broken(side.accept_next());
            });
            Side side;
            server.channel().receive<char>();
            ep = side.connect_to(kQualifier);
            post(ep, DAT_DTO_RDMA_WRITE, segment(0x5a5a5a5a, 64), range(0x5a5a5a5a));
            Side::wait(side.sends, DAT_DTO_COMPLETION_EVENT);
            side.broken(ep);
            server.wait();
        });
        std::ostringstream handle;
        handle << "\\(handle 0x" << std::hex << reinterpret_cast<std::uintptr_t>(ep) << "\\)";
        expect_told(told, handle.str());
    });
    EXPECT_EQ(client.wait(), 0);
}

}  // namespace
