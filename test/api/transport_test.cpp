// SPDX-License-Identifier: BSD-2-Clause
// Differences between InfiniBand (RoCE, softverbs) and iWARP, between two real processes.
#include <dat2/dat_ib_extensions.h>
#include <gtest/gtest.h>

#include "test/api/side.hpp"

namespace {

using namespace test;

constexpr DAT_CONN_QUAL kQualifier = 4751;

DAT_PROVIDER_ATTR provider_of(const Side& side) {
    DAT_PROVIDER_ATTR attributes{};
    succeed(dat_ia_query(side.ia, nullptr, 0, nullptr, DAT_PROVIDER_FIELD_ALL, &attributes),
            "dat_ia_query");
    return attributes;
}
DAT_IA_ATTR adapter_of(const Side& side) {
    DAT_IA_ATTR attributes{};
    succeed(dat_ia_query(side.ia, nullptr, DAT_IA_FIELD_ALL, &attributes, 0, nullptr),
            "dat_ia_query");
    return attributes;
}

std::string named(const Side& side, const char* name) {
    const auto find = [&](const DAT_NAMED_ATTR* list, int count) -> std::string {
        for (int i = 0; i < count; ++i)
            if (std::strcmp(list[i].name, name) == 0) return list[i].value;
        return {};
    };
    const DAT_PROVIDER_ATTR provider = provider_of(side);
    const DAT_IA_ATTR adapter = adapter_of(side);
    std::string value = find(provider.provider_specific_attr, provider.num_provider_specific_attr);
    if (value.empty()) value = find(adapter.transport_attr, adapter.num_transport_attr);
    return value;
}

bool is_iwarp(const Side& side) {
    return named(side, "OPENDAT_TRANSPORT") == "iWARP";
}

DAT_DTO_COMPLETION_EVENT_DATA completion(DAT_EVD_HANDLE evd, const char* what) {
    const DAT_EVENT event = Side::wait(evd, DAT_DTO_COMPLETION_EVENT);
    const auto& data = event.event_data.dto_completion_event_data;
    require(data.status == DAT_DTO_SUCCESS,
            std::string(what) + ": status " + std::to_string(data.status));
    return data;
}

void post_receive(DAT_EP_HANDLE ep, const Buffer& buffer) {
    DAT_LMR_TRIPLET segment = buffer.all();
    succeed(dat_ep_post_recv(ep, 1, &segment, cookie(1), DAT_COMPLETION_DEFAULT_FLAG),
            "dat_ep_post_recv");
}
void post_send(DAT_EP_HANDLE ep, const Buffer& buffer) {
    DAT_LMR_TRIPLET segment = buffer.all();
    succeed(dat_ep_post_send(ep, 1, &segment, cookie(2), DAT_COMPLETION_DEFAULT_FLAG),
            "dat_ep_post_send");
}

class Transport : public testing::Test {
  protected:
    TemporaryFabric fabric_;
};

/// What a side does on an established connection, given its receive buffer.
using Serve = std::function<void(Side&, DAT_EP_HANDLE, Buffer&)>;
/// Serves `count` connections: posts a receive, accepts a request, runs `body`, and waits for the
/// disconnect.
void serve(Channel& channel, int count, const Serve& body) {
    Side side;
    Buffer buffer(side, 64);
    side.listen(kQualifier);
    channel.send('l');
    for (int i = 0; i < count; ++i) {
        DAT_EP_HANDLE ep = side.endpoint();
        post_receive(ep, buffer);
        succeed(dat_cr_accept(side.request(), ep, 0, nullptr), "dat_cr_accept");
        side.connection_event(DAT_CONNECTION_EVENT_ESTABLISHED, ep);
        body(side, ep, buffer);
        side.connection_event(DAT_CONNECTION_EVENT_DISCONNECTED, ep);
        succeed(dat_ep_free(ep), "dat_ep_free");
    }
}

/// Does the same on the active side, which disconnects.
void use(int count, const Serve& body) {
    Side side;
    Buffer buffer(side, 64);
    for (int i = 0; i < count; ++i) {
        DAT_EP_HANDLE ep = side.endpoint();
        post_receive(ep, buffer);
        succeed(Side::connect(ep, kQualifier), "dat_ep_connect");
        side.connection_event(DAT_CONNECTION_EVENT_ESTABLISHED, ep);
        body(side, ep, buffer);
        succeed(dat_ep_disconnect(ep, DAT_CLOSE_GRACEFUL_FLAG), "dat_ep_disconnect");
        side.connection_event(DAT_CONNECTION_EVENT_DISCONNECTED, ep);
        succeed(dat_ep_free(ep), "dat_ep_free");
    }
}

constexpr int kConnections = 20;

/// Waits, on iWARP, until the active side is established. The passive side is established there
/// once it has sent its answer, and siw treats what arrives before it has read that answer as an
/// error.
void await_the_active_side(const Side& side, Channel& channel) {
    if (is_iwarp(side)) channel.meet();
}

// MPA wants the active side to send first. A DAT program need not, once both are established. The
// receiver may have the message before the sender has its completion, and a disconnect at that
// moment would flush the send: hence the meeting.
TEST_F(Transport, the_passive_side_may_send_first) {
    Child server([](Channel& channel) {
        serve(channel, kConnections, [&channel](Side& side, DAT_EP_HANDLE ep, Buffer&) {
            await_the_active_side(side, channel);
            Buffer message(side, 64);
            message.bytes.assign(64, 'p');
            post_send(ep, message);
            completion(side.sends, "the passive side's send");
            channel.meet();
        });
    });
    server.channel().receive<char>();
    use(kConnections, [&server](Side& side, DAT_EP_HANDLE, Buffer& buffer) {
        await_the_active_side(side, server.channel());
        completion(side.receives, "the active side's receive");
        require(buffer.bytes == std::string(64, 'p'), "what the passive side sent");
        buffer.bytes.assign(64, ' ');
        server.channel().meet();
    });
    EXPECT_EQ(server.wait(), 0);
}

TEST_F(Transport, both_sides_may_send_at_the_same_time) {
    const auto both = [](Side& side, DAT_EP_HANDLE ep, Buffer& buffer) {
        Buffer message(side, 64);
        message.bytes.assign(64, 'b');
        post_send(ep, message);
        completion(side.sends, "the send");
        completion(side.receives, "the receive");
        require(buffer.bytes == std::string(64, 'b'), "what the other side sent");
        buffer.bytes.assign(64, ' ');
    };
    Child server([&](Channel& channel) {
        serve(channel, kConnections, [&](Side& side, DAT_EP_HANDLE ep, Buffer& buffer) {
            await_the_active_side(side, channel);
            both(side, ep, buffer);
            channel.meet();
        });
    });
    server.channel().receive<char>();
    use(kConnections, [&](Side& side, DAT_EP_HANDLE ep, Buffer& buffer) {
        await_the_active_side(side, server.channel());
        both(side, ep, buffer);
        server.channel().meet();
    });
    EXPECT_EQ(server.wait(), 0);
}

/// Makes one connection whose passive side offers its buffer until `body` has returned, and then
/// runs `at_the_end`.
void with_window(
    const std::function<void(Side&, DAT_EP_HANDLE, const Window&)>& body,
    const Serve& at_the_end = [](Side&, DAT_EP_HANDLE, Buffer&) {}) {
    Child server([&](Channel& channel) {
        serve(channel, 1, [&](Side& side, DAT_EP_HANDLE ep, Buffer& buffer) {
            buffer.bytes.assign(64, 'w');
            channel.send(Window{buffer.all().virtual_address, buffer.remote_key});
            channel.meet();
            at_the_end(side, ep, buffer);
        });
    });
    server.channel().receive<char>();
    use(1, [&](Side& side, DAT_EP_HANDLE ep, Buffer&) {
        const auto window = server.channel().receive<Window>();
        body(side, ep, window);
        server.channel().meet();
    });
    EXPECT_EQ(server.wait(), 0);
}

TEST_F(Transport, transfers_of_no_bytes_complete) {
    with_window(
        [](Side& side, DAT_EP_HANDLE ep, const Window& window) {
            DAT_RMR_TRIPLET target = window.part(0);
            succeed(dat_ep_post_rdma_write(ep, 0, nullptr, cookie(3), &target,
                                           DAT_COMPLETION_DEFAULT_FLAG),
                    "dat_ep_post_rdma_write");
            completion(side.sends, "a write of nothing");
            succeed(dat_ep_post_rdma_read(ep, 0, nullptr, cookie(4), &target,
                                          DAT_COMPLETION_DEFAULT_FLAG),
                    "dat_ep_post_rdma_read");
            completion(side.sends, "a read of nothing");
            succeed(dat_ep_post_send(ep, 0, nullptr, cookie(5), DAT_COMPLETION_DEFAULT_FLAG),
                    "dat_ep_post_send");
            completion(side.sends, "a message of nothing");
        },
        [](Side& side, DAT_EP_HANDLE, Buffer&) {
            require(completion(side.receives, "its receive").transfered_length == 0, "no bytes");
        });
}

TEST_F(Transport, a_read_takes_as_many_segments_as_the_attribute_says_and_no_more) {
    with_window([](Side& side, DAT_EP_HANDLE ep, const Window& window) {
        const DAT_COUNT most = std::min<DAT_COUNT>(adapter_of(side).max_iov_segments_per_rdma_read,
                                                   4);  // the default of an EP
        require(!is_iwarp(side) || most == 1, "iWARP reads into one segment");
        Buffer buffer(side, 64);
        std::vector<DAT_LMR_TRIPLET> segments(static_cast<std::size_t>(most) + 1, buffer.all());
        for (auto& segment : segments) segment.segment_length = 4;
        const auto read = [&](DAT_COUNT count) {
            DAT_RMR_TRIPLET source = window.part(static_cast<DAT_SEG_LENGTH>(4 * count));
            return dat_ep_post_rdma_read(ep, count, segments.data(), cookie(6), &source,
                                         DAT_COMPLETION_DEFAULT_FLAG);
        };
        expect_code(read(most + 1), DAT_INVALID_PARAMETER, "one segment too many");
        succeed(read(most), "as many as there may be");
        completion(side.sends, "the read");
        require(buffer.bytes.substr(0, 4) == "wwww", "what was read");
    });
}

TEST_F(Transport, the_extensions_that_the_attributes_deny_are_refused_at_the_post) {
    with_window([](Side& side, DAT_EP_HANDLE ep, const Window& window) {
        Buffer buffer(side, 64);
        DAT_LMR_TRIPLET segment = buffer.all();
        segment.segment_length = 8;
        DAT_RMR_TRIPLET target = window.part(8);
        const bool iwarp = is_iwarp(side);
        const char* denied = iwarp ? "FALSE" : "TRUE";
        require(named(side, DAT_IB_ATTR_FETCH_AND_ADD) == denied, "fetch and add");
        require(named(side, DAT_IB_ATTR_CMP_AND_SWAP) == denied, "compare and swap");
        require(named(side, DAT_IB_ATTR_IMMED_DATA) == denied, "immediate data");
        if (!iwarp) return;
        constexpr DAT_RETURN kRefused = 0xBFFF0000;  // DAT_NOT_IMPLEMENTED
        expect_code(dat_ib_post_fetch_and_add(ep, 1, &segment, cookie(7), &target,
                                              DAT_COMPLETION_DEFAULT_FLAG),
                    kRefused, "fetch and add");
        expect_code(dat_ib_post_cmp_and_swap(ep, 1, 2, &segment, cookie(7), &target,
                                             DAT_COMPLETION_DEFAULT_FLAG),
                    kRefused, "compare and swap");
        expect_code(dat_ib_post_rdma_write_immed(ep, 1, &segment, cookie(7), &target, 1,
                                                 DAT_COMPLETION_DEFAULT_FLAG),
                    kRefused, "write with immediate data");
        Side::expect_empty(side.sends);
    });
}

TEST_F(Transport, a_read_into_memory_with_the_rights_that_the_attribute_asks_for_works) {
    with_window([](Side& side, DAT_EP_HANDLE ep, const Window& window) {
        const bool needs_write = provider_of(side).rdma_write_for_rdma_read_req == DAT_TRUE;
        require(needs_write == is_iwarp(side), "iWARP's sink of a read is a target of the peer");
        std::string bytes(64, ' ');
        DAT_REGION_DESCRIPTION region{};
        region.for_va = bytes.data();
        DAT_LMR_HANDLE lmr = DAT_HANDLE_NULL;
        DAT_LMR_TRIPLET segment{reinterpret_cast<DAT_VADDR>(bytes.data()), 64, 0};
        unsigned rights = DAT_MEM_PRIV_LOCAL_READ_FLAG | DAT_MEM_PRIV_LOCAL_WRITE_FLAG;
        if (needs_write) rights |= DAT_MEM_PRIV_REMOTE_WRITE_FLAG;
        succeed(dat_lmr_create(side.ia, DAT_MEM_TYPE_VIRTUAL, region, bytes.size(), side.pz,
                               static_cast<DAT_MEM_PRIV_FLAGS>(rights), DAT_VA_TYPE_VA, &lmr,
                               &segment.lmr_context, nullptr, nullptr, nullptr),
                "dat_lmr_create");
        DAT_RMR_TRIPLET source = window.part(64);
        succeed(
            dat_ep_post_rdma_read(ep, 1, &segment, cookie(8), &source, DAT_COMPLETION_DEFAULT_FLAG),
            "dat_ep_post_rdma_read");
        completion(side.sends, "the read");
        require(bytes == std::string(64, 'w'), "what was read");
        succeed(dat_lmr_free(lmr), "dat_lmr_free");
    });
}

TEST_F(Transport, more_reads_than_the_limits_allow_are_carried_out_one_after_the_other) {
    with_window([](Side& side, DAT_EP_HANDLE ep, const Window& window) {
        DAT_EP_PARAM parameters{};
        succeed(dat_ep_query(ep, DAT_EP_FIELD_ALL, &parameters), "dat_ep_query");
        const DAT_IA_ATTR adapter = adapter_of(side);
        require(parameters.ep_attr.max_rdma_read_out > 0 &&
                    parameters.ep_attr.max_rdma_read_out <= adapter.max_rdma_read_per_ep_out,
                "the endpoint's limit");
        Buffer buffer(side, 64);
        DAT_LMR_TRIPLET segment = buffer.all();
        DAT_RMR_TRIPLET source = window.part(64);
        const int reads = parameters.ep_attr.max_request_dtos;
        for (int i = 0; i < reads; ++i)
            succeed(dat_ep_post_rdma_read(ep, 1, &segment, cookie(9), &source,
                                          DAT_COMPLETION_DEFAULT_FLAG),
                    "dat_ep_post_rdma_read");
        for (int i = 0; i < reads; ++i) completion(side.sends, "a read");
        DAT_EP_ATTR asked = parameters.ep_attr;
        asked.max_rdma_read_out = adapter.max_rdma_read_per_ep_out + 1;
        DAT_EP_HANDLE other = DAT_HANDLE_NULL;
        require(dat_ep_create(side.ia, side.pz, side.receives, side.sends, side.connections, &asked,
                              &other) != DAT_SUCCESS,
                "more reads than the adapter has are refused");
    });
}

// -- private data -------------------------------------------------------------------------------

std::string pattern(std::size_t size) {
    std::string data(size, '\0');
    for (std::size_t i = 0; i < size; ++i) data[i] = static_cast<char>('A' + i % 26);
    return data;
}

/// Checks private data: InfiniBand shows the whole field, padded with zeros, iWARP the given size.
void expect_data(const void* data, DAT_COUNT size, std::size_t given, DAT_COUNT field, bool iwarp,
                 const std::string& what) {
    const DAT_COUNT wanted = iwarp ? static_cast<DAT_COUNT>(given) : field;
    require(size == wanted,
            what + ": " + std::to_string(size) + " bytes instead of " + std::to_string(wanted));
    std::string shown(static_cast<const char*>(data),
                      size > 0 ? static_cast<std::size_t>(size) : 0);
    require(shown.substr(0, given) == pattern(given), what + ": the bytes");
    for (std::size_t i = given; i < shown.size(); ++i) require(shown[i] == 0, what + ": padding");
}

struct Sizes {
    std::size_t connect, accept, reject;
};
Sizes largest(bool iwarp) {
    return iwarp ? Sizes{251, 251, 247} : Sizes{56, 160, 112};
}

std::vector<Sizes> sizes(bool iwarp) {
    const Sizes most = largest(iwarp);
    return {{0, 0, 0}, {1, 1, 1}, {55, 57, 56}, {56, 159, 111}, most};
}

void serve_sizes(Channel& channel) {
    Side side;
    const bool iwarp = is_iwarp(side);
    const Sizes most = largest(iwarp);
    side.listen(kQualifier);
    channel.send('l');
    for (const Sizes& size : sizes(iwarp)) {
        for (const bool accepts : {true, false}) {
            const DAT_CR_HANDLE cr = side.request();
            DAT_CR_PARAM request{};
            succeed(dat_cr_query(cr, DAT_CR_FIELD_ALL, &request), "dat_cr_query");
            expect_data(request.private_data, request.private_data_size, size.connect, 56, iwarp,
                        "a request");
            DAT_EP_HANDLE ep = side.endpoint();
            std::string data = pattern(most.accept + 1);
            const auto count = [](std::size_t number) { return static_cast<DAT_COUNT>(number); };
            require(DAT_GET_TYPE(dat_cr_accept(cr, ep, count(most.accept + 1), data.data())) ==
                        DAT_INVALID_PARAMETER,
                    "an accept with one byte too many");
            require(DAT_GET_TYPE(dat_cr_reject(cr, count(most.reject + 1), data.data())) ==
                        DAT_INVALID_PARAMETER,
                    "a rejection with one byte too many");
            if (accepts) {
                succeed(dat_cr_accept(cr, ep, count(size.accept), data.data()), "dat_cr_accept");
                side.connection_event(DAT_CONNECTION_EVENT_ESTABLISHED, ep);
                side.connection_event(DAT_CONNECTION_EVENT_DISCONNECTED, ep);
            } else {
                succeed(dat_cr_reject(cr, count(size.reject), data.data()), "dat_cr_reject");
            }
            succeed(dat_ep_free(ep), "dat_ep_free");
        }
    }
}

TEST_F(Transport, private_data_of_every_size_arrives_as_the_transport_shows_it) {
    Child server(serve_sizes);
    server.channel().receive<char>();
    Side side;
    const bool iwarp = is_iwarp(side);
    DAT_EP_HANDLE refused = side.endpoint();
    EXPECT_EQ(Side::connect(refused, kQualifier, pattern(largest(iwarp).connect + 1)), 0x80060029u);
    for (const Sizes& size : sizes(iwarp)) {
        for (const bool accepts : {true, false}) {
            DAT_EP_HANDLE ep = side.endpoint();
            succeed(Side::connect(ep, kQualifier, pattern(size.connect)), "dat_ep_connect");
            const auto number =
                accepts ? DAT_CONNECTION_EVENT_ESTABLISHED : DAT_CONNECTION_EVENT_PEER_REJECTED;
            const DAT_EVENT event = side.connection_event(number, ep);
            const auto& data = event.event_data.connect_event_data;
            expect_data(data.private_data, data.private_data_size,
                        accepts ? size.accept : size.reject, accepts ? 196 : 148, iwarp,
                        accepts ? "an accept" : "a rejection");
            if (accepts) {
                succeed(dat_ep_disconnect(ep, DAT_CLOSE_ABRUPT_FLAG), "dat_ep_disconnect");
                side.connection_event(DAT_CONNECTION_EVENT_DISCONNECTED, ep);
            }
            succeed(dat_ep_free(ep), "dat_ep_free");
        }
    }
    EXPECT_EQ(server.wait(), 0);
}

// -- refusals -----------------------------------------------------------------------------------

TEST_F(Transport, a_port_that_nobody_listens_on_refuses_once_each_and_is_told_three_times) {
    const std::string told = captured_stderr([] {
        Side side;
        for (int i = 0; i < 5; ++i) {
            DAT_EP_HANDLE ep = side.endpoint();
            succeed(Side::connect(ep, kQualifier + 1), "dat_ep_connect");
            side.connection_event(DAT_CONNECTION_EVENT_NON_PEER_REJECTED, ep);
            Side::expect_empty(side.connections);
        }
    });
    const auto count = [&told](const std::string& text) {
        int found = 0;
        for (auto at = told.find(text); at != told.npos; at = told.find(text, at + 1)) ++found;
        return found;
    };
    const std::string address = ia_address_text();
    EXPECT_EQ(count(address + ":4752 refuses the connection from " + address), 3) << told;
    EXPECT_EQ(count("[DAT207]"), 3) << told;
    EXPECT_EQ(count("3 connections were refused; further messages are suppressed"), 1) << told;
    EXPECT_EQ(std::count(told.begin(), told.end(), '\n'), 4) << told;
}

}  // namespace
