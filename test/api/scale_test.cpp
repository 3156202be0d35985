// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Many objects in two processes, within the limit of descriptors that a login shell gives.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <filesystem>
#include <vector>

#include "test/api/side.hpp"

namespace {

using namespace test;

constexpr DAT_CONN_QUAL kQualifier = 4712;
constexpr rlim_t kDescriptors = 1024;
constexpr int kEndpoints = kThreadSanitizer ? 1000 : 10000;

/// Lowers the limit of descriptors of this process, and of children forked while the object lives.
class DescriptorLimit {
  public:
    DescriptorLimit() {
        getrlimit(RLIMIT_NOFILE, &before_);
        const rlimit narrow{kDescriptors, before_.rlim_max};
        require(setrlimit(RLIMIT_NOFILE, &narrow) == 0, "the limit is set");
    }
    ~DescriptorLimit() { setrlimit(RLIMIT_NOFILE, &before_); }
    DescriptorLimit(const DescriptorLimit&) = delete;
    DescriptorLimit& operator=(const DescriptorLimit&) = delete;

  private:
    rlimit before_{};
};

/// The endpoints of one process. Endpoint i transfers its own number, in the eight bytes at 8 * i.
class Crowd {
  public:
    Crowd() : buffer_(side, sizeof(std::uint64_t) * kEndpoints), endpoints_(kEndpoints) {
        side.requests = side.evd(DAT_EVD_CR_FLAG, kEndpoints);
        side.connections = side.evd(DAT_EVD_CONNECTION_FLAG, kEndpoints);
        side.receives = side.evd(DAT_EVD_DTO_FLAG, kEndpoints);
        side.sends = side.evd(DAT_EVD_DTO_FLAG, kEndpoints);
        for (DAT_EP_HANDLE& ep : endpoints_) ep = side.endpoint();
    }
    DAT_EP_HANDLE operator[](std::size_t index) const { return endpoints_.at(index); }

    DAT_LMR_TRIPLET place(std::uint64_t index) const {
        DAT_LMR_TRIPLET triplet = buffer_.all();
        triplet.virtual_address += sizeof index * index;
        triplet.segment_length = sizeof index;
        return triplet;
    }
    std::uint64_t& word(std::uint64_t index) {
        return reinterpret_cast<std::uint64_t*>(buffer_.bytes.data())[index];
    }
    void post_receive(std::uint64_t index) const {
        DAT_LMR_TRIPLET where = place(index);
        succeed(dat_ep_post_recv(endpoints_[index], 1, &where, cookie(index),
                                 DAT_COMPLETION_DEFAULT_FLAG),
                "dat_ep_post_recv");
    }
    void send(std::uint64_t index) {
        word(index) = index;
        DAT_LMR_TRIPLET where = place(index);
        succeed(dat_ep_post_send(endpoints_[index], 1, &where, cookie(index),
                                 DAT_COMPLETION_DEFAULT_FLAG),
                "dat_ep_post_send");
    }
    /// Expects one event for every endpoint, in any order. @param index_of returns the endpoint's
    /// index.
    template <class Check>
    void each_once(DAT_EVD_HANDLE evd, DAT_EVENT_NUMBER number, const Check& index_of) const {
        std::vector<bool> seen(kEndpoints);
        for (int i = 0; i < kEndpoints; ++i) {
            const std::uint64_t index = index_of(Side::wait(evd, number));
            require(index < kEndpoints && !seen[index], "each once");
            seen[index] = true;
        }
        Side::expect_empty(evd);
    }
    void transfers_complete(DAT_EVD_HANDLE evd) const {
        each_once(evd, DAT_DTO_COMPLETION_EVENT, [&](const DAT_EVENT& event) {
            const auto& done = event.event_data.dto_completion_event_data;
            require(done.status == DAT_DTO_SUCCESS, "the transfer went well");
            require(done.ep_handle == endpoints_.at(done.user_cookie.as_64), "it was this one's");
            return done.user_cookie.as_64;
        });
    }
    void count(DAT_EVENT_NUMBER number) const {
        for (int i = 0; i < kEndpoints; ++i) Side::wait(side.connections, number);
    }
    void free_endpoints() {
        for (DAT_EP_HANDLE ep : endpoints_) succeed(dat_ep_free(ep), "dat_ep_free");
    }

    Side side;

  private:
    Buffer buffer_;
    std::vector<DAT_EP_HANDLE> endpoints_;
};

/// Accepts all requests. They come in any order: their private data is the index of the endpoint.
void accept_each(const Crowd& crowd) {
    for (int i = 0; i < kEndpoints; ++i) {
        const DAT_CR_HANDLE request = crowd.side.request();
        DAT_CR_PARAM asked{};
        succeed(dat_cr_query(request, DAT_CR_FIELD_ALL, &asked), "dat_cr_query");
        std::uint64_t index = 0;
        std::memcpy(&index, asked.private_data, sizeof index);
        succeed(dat_cr_accept(request, crowd[index], 0, nullptr), "dat_cr_accept");
    }
    crowd.count(DAT_CONNECTION_EVENT_ESTABLISHED);
}

void serve_crowd(Channel& channel) {
    const int before = open_descriptors();
    {
        Crowd crowd;
        for (int i = 0; i < kEndpoints; ++i) crowd.post_receive(i);
        DAT_PSP_HANDLE psp = crowd.side.listen(kQualifier);
        channel.send('l');
        accept_each(crowd);
        crowd.transfers_complete(crowd.side.receives);
        for (std::uint64_t i = 0; i < kEndpoints; ++i)
            require(crowd.word(i) == i, "what arrived was meant for this endpoint");
        channel.meet();
        crowd.count(DAT_CONNECTION_EVENT_DISCONNECTED);
        channel.meet();
        crowd.free_endpoints();
        succeed(dat_psp_free(psp), "dat_psp_free");
    }
    require(open_descriptors() == before, "no descriptor is left at the server");
}

TEST(Scale, ten_thousand_endpoints_connect_transfer_and_end_with_1024_descriptors) {
    TemporaryFabric fabric;
    const DescriptorLimit limit;
    Child server(serve_crowd);
    server.channel().receive<char>();
    const int before = open_descriptors();
    {
        Crowd crowd;
        for (std::uint64_t i = 0; i < kEndpoints; ++i) {
            const std::string data(reinterpret_cast<const char*>(&i), sizeof i);
            succeed(Side::connect(crowd[i], kQualifier, data), "dat_ep_connect");
        }
        crowd.count(DAT_CONNECTION_EVENT_ESTABLISHED);
        EXPECT_LT(open_descriptors() - before, 100)
            << "connections hold no descriptor of their own";
        for (std::uint64_t i = 0; i < kEndpoints; ++i) crowd.send(i);
        crowd.transfers_complete(crowd.side.sends);
        server.channel().meet();
        for (int i = 0; i < kEndpoints; ++i)
            succeed(dat_ep_disconnect(crowd[i], DAT_CLOSE_ABRUPT_FLAG), "dat_ep_disconnect");
        crowd.count(DAT_CONNECTION_EVENT_DISCONNECTED);
        server.channel().meet();
        crowd.free_endpoints();
        Side::expect_empty(crowd.side.connections);
        Side::expect_empty(crowd.side.async);
    }
    EXPECT_EQ(server.wait(), 0);
    EXPECT_EQ(open_descriptors(), before);
    for (const auto& entry : std::filesystem::directory_iterator(fabric.path()))
        EXPECT_FALSE(entry.is_socket()) << entry.path();
}

void post_software_event(DAT_EVD_HANDLE evd) {
    DAT_EVENT event{};
    event.event_number = DAT_SOFTWARE_EVENT;
    succeed(dat_evd_post_se(evd, &event), "dat_evd_post_se");
}

/// Sends a message between two endpoints of this process, each with an EVD of its own.
void talk(Side& side, DAT_EVD_HANDLE sends, DAT_EVD_HANDLE receives) {
    side.sends = side.receives = sends;
    DAT_EP_HANDLE sender = side.endpoint();
    side.sends = side.receives = receives;
    DAT_EP_HANDLE receiver = side.endpoint();
    DAT_PSP_HANDLE psp = side.listen(kQualifier);
    succeed(Side::connect(sender, kQualifier), "dat_ep_connect");
    succeed(dat_cr_accept(side.request(), receiver, 0, nullptr), "dat_cr_accept");
    for (int end = 0; end < 2; ++end)
        Side::wait(side.connections, DAT_CONNECTION_EVENT_ESTABLISHED);
    Buffer from(side);
    Buffer to(side);
    DAT_LMR_TRIPLET source = from.all();
    DAT_LMR_TRIPLET sink = to.all();
    succeed(dat_ep_post_recv(receiver, 1, &sink, DAT_DTO_COOKIE{}, DAT_COMPLETION_DEFAULT_FLAG),
            "dat_ep_post_recv");
    succeed(dat_ep_post_send(sender, 1, &source, DAT_DTO_COOKIE{}, DAT_COMPLETION_DEFAULT_FLAG),
            "dat_ep_post_send");
    Side::wait(receives, DAT_DTO_COMPLETION_EVENT);
    Side::wait(sends, DAT_DTO_COMPLETION_EVENT);
    succeed(dat_ep_disconnect(sender, DAT_CLOSE_ABRUPT_FLAG), "dat_ep_disconnect");
    for (int end = 0; end < 2; ++end)
        Side::wait(side.connections, DAT_CONNECTION_EVENT_DISCONNECTED);
    for (DAT_EP_HANDLE ep : {sender, receiver}) succeed(dat_ep_free(ep), "dat_ep_free");
    succeed(dat_psp_free(psp), "dat_psp_free");
}

TEST(Scale, four_thousand_and_96_evds_for_completions_need_fewer_than_512_descriptors) {
    constexpr std::size_t kEvds = 4096;
    TemporaryFabric fabric;
    const DescriptorLimit limit;
    const int before = open_descriptors();
    {
        Side side;
        std::vector<DAT_EVD_HANDLE> evds(kEvds);
        for (DAT_EVD_HANDLE& evd : evds)
            evd = side.evd(DAT_EVD_DTO_FLAG | DAT_EVD_SOFTWARE_FLAG, 16);
        EXPECT_LT(open_descriptors() - before, 512) << "they share what wakes them";
        for (DAT_EVD_HANDLE evd : evds) post_software_event(evd);
        for (DAT_EVD_HANDLE evd : evds) Side::wait(evd, DAT_SOFTWARE_EVENT);
        talk(side, evds[kEvds - 1], evds[kEvds - 2]);
        talk(side, evds[0], evds[kEvds / 2]);
        for (DAT_EVD_HANDLE evd : evds) succeed(dat_evd_free(evd), "dat_evd_free");
        Side::expect_empty(side.async);
    }
    EXPECT_EQ(open_descriptors(), before);
}

}  // namespace
