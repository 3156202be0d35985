// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Completions that wait in an EVD while their endpoints come and go.
#include <algorithm>
#include <map>
#include <random>
#include <vector>

#include "dapl/evd/evd.hpp"
#include "test/dapl/core_fixture.hpp"

namespace test {
namespace {

constexpr int kReceives = 4;

class HeldCompletions : public CoreTest {
  protected:
    /// @return an endpoint whose receives were flushed and whose events nobody has consumed.
    /// @param delivered number of receives that complete before the end.
    DAT_EP_HANDLE ended_ep(int delivered = 0) {
        connect_ep();
        for (DAT_UINT64 i = 0; i < kReceives; ++i) EXPECT_EQ(receive(i), DAT_SUCCESS);
        for (int i = 0; i < delivered; ++i) fake::finish_receive(qp(), 10);
        EXPECT_EQ(entry::ep_disconnect(ep, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
        EXPECT_EQ(next(connect_evd).event_number, DAT_CONNECTION_EVENT_DISCONNECTED);
        return ep;
    }
    std::vector<DAT_EP_HANDLE> ended_eps(int count) {
        recv_evd = evd(DAT_EVD_DTO_FLAG, count * kReceives);
        std::vector<DAT_EP_HANDLE> eps;
        for (int i = 0; i < count; ++i) eps.push_back(ended_ep());
        return eps;
    }
    std::uint64_t work() { return dapl::from_handle<dapl::Evd>(recv_evd)->work_on_completions(); }
    /// Frees ended endpoints. @return the work on completions per endpoint.
    std::uint64_t work_per_ep(std::vector<DAT_EP_HANDLE> eps) {
        const std::uint64_t before = work();
        for (DAT_EP_HANDLE one : eps) EXPECT_EQ(entry::ep_free(one), DAT_SUCCESS);
        return (work() - before) / eps.size();
    }
    /// Consumes `count` events and checks that each endpoint's arrive in order.
    void consume(int count) {
        for (int i = 0; i < count; ++i) {
            const auto dto = next_dto(recv_evd);
            EXPECT_EQ(dto.user_cookie.as_64, consumed_[dto.ep_handle]++);
        }
    }

    std::map<DAT_EP_HANDLE, DAT_UINT64> consumed_;
};

TEST_F(HeldCompletions, FreeingAnEndpointCostsItsOwnCompletionsHoweverManyOthersWait) {
    std::vector<DAT_EP_HANDLE> eps = ended_eps(2000);
    std::shuffle(eps.begin(), eps.end(), std::minstd_rand());
    EXPECT_LE(work_per_ep(eps), 2 * kReceives);
    consume(2000 * kReceives);
    EXPECT_TRUE(empty(recv_evd));
}

TEST_F(HeldCompletions, EndingAndFreeingInTurnCostsTheSame) {
    recv_evd = evd(DAT_EVD_DTO_FLAG, 2100 * kReceives);
    // Their completions stay in the EVD throughout.
    for (int i = 0; i < 1000; ++i) ended_ep();
    const std::uint64_t before = work();
    for (int i = 0; i < 1000; ++i) ASSERT_EQ(entry::ep_free(ended_ep(2)), DAT_SUCCESS);
    EXPECT_LE((work() - before) / 1000, 4 * kReceives);
    consume(2000 * kReceives);
    EXPECT_TRUE(empty(recv_evd));
}

TEST_F(HeldCompletions, EachHasOneEventInTheOrderOfItsEndpointWhateverIsFreedConsumedAndResized) {
    std::minstd_rand random;
    const auto one_in = [&](int chances) { return random() % chances == 0; };
    recv_evd = evd(DAT_EVD_DTO_FLAG, 200);
    std::vector<DAT_EP_HANDLE> ended;
    int waiting = 0;
    DAT_COUNT length = 200;
    for (int step = 0; step < 3000; ++step) {
        if (waiting + kReceives <= length && ended.size() < 500) {
            ended.push_back(ended_ep(static_cast<int>(random() % kReceives)));
            consumed_[ended.back()] = 0;
            waiting += kReceives;
        }
        if (one_in(2)) {
            const int count = static_cast<int>(random() % (waiting + 1));
            consume(std::min(count, 20));
            waiting -= std::min(count, 20);
        }
        if (!ended.empty() && one_in(2)) {
            std::swap(ended[random() % ended.size()], ended.back());
            ASSERT_EQ(entry::ep_free(ended.back()), DAT_SUCCESS);
            ended.pop_back();
        }
        if (one_in(300)) {
            DAT_EVD_PARAM parameters{};
            ASSERT_EQ(entry::evd_query(recv_evd, DAT_EVD_FIELD_ALL, &parameters), DAT_SUCCESS);
            length = parameters.evd_qlen + 100;
            ASSERT_EQ(entry::evd_resize(recv_evd, length), DAT_SUCCESS);
        }
    }
    consume(waiting);
    EXPECT_TRUE(empty(recv_evd));
}

}  // namespace
}  // namespace test
