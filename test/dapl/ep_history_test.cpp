// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The history of an endpoint's states, and the message about the end of its connection.
#include <regex>

#include "dapl/cm/manager.hpp"
#include "support/log/log.hpp"
#include "test/dapl/core_fixture.hpp"
#include "test/support/process.hpp"

namespace test {
namespace {

using dapl::EpCause;
using dapl::EpReason;

TEST(EndpointHistory, keeps_the_last_16_changes_with_their_causes) {
    dapl::EpState state;
    EXPECT_EQ(state.history().size(), 0u);
    for (int round = 0; round < 7; ++round) {
        ASSERT_TRUE(state.move(EpCause::kConnect));
        ASSERT_TRUE(state.move(EpCause::kRefused, {EpReason::Source::kManager, round}));
        ASSERT_TRUE(state.move(EpCause::kReset));
    }
    EXPECT_FALSE(state.move(EpCause::kEstablished)) << "no move, so nothing to keep";
    ASSERT_EQ(state.history().size(), 16u);
    for (std::size_t back = 0; back < 16; ++back) {
        const dapl::EpChange& change = state.history().latest(back);
        const EpCause causes[] = {EpCause::kReset, EpCause::kRefused, EpCause::kConnect};
        EXPECT_EQ(change.cause, causes[back % 3]);
        if (change.cause == EpCause::kRefused) {
            EXPECT_EQ(change.reason.code, 6 - static_cast<int>(back / 3));
        }
        if (back == 0) continue;
        EXPECT_EQ(change.to, state.history().latest(back - 1).from) << "the changes are a chain";
        EXPECT_LE(change.when, state.history().latest(back - 1).when);
    }
}

TEST(EndpointHistory, the_story_begins_when_the_endpoint_was_last_unconnected) {
    dapl::EpState state;
    state.move(EpCause::kConnect);
    state.move(EpCause::kRefused, {EpReason::Source::kTimer});
    state.move(EpCause::kReset);
    state.move(EpCause::kAccept);
    state.move(EpCause::kEstablished,
               {EpReason::Source::kManager, static_cast<int>(dapl::cm::Outcome::kEstablished)});
    state.move(EpCause::kDisconnectAbrupt);
    const auto now = state.history().latest().when + std::chrono::seconds(3);
    const std::string told = dapl::story(state.history(), now);
    EXPECT_TRUE(
        std::regex_match(told, std::regex("dat_cr_accept -> COMPLETION_PENDING 3\\.[0-9] s ago, "
                                          "both sides connected -> CONNECTED 3\\.[0-9] s ago")))
        << told;
}

/// Sets the trace level at which every end of a connection in the process is reported.
class EndpointEnd : public CoreTest {
  protected:
    EndpointEnd() { support::set_trace_level(7); }
    ~EndpointEnd() override { support::set_trace_level(3); }

    /// @return the line with this text, or nothing.
    static std::string line_with(const std::string& told, const std::string& text) {
        const std::size_t at = told.find(text);
        if (at == std::string::npos) return {};
        const std::size_t begin = told.rfind('\n', at) + 1;
        return told.substr(begin, told.find('\n', at) - begin);
    }
    /// Raises an event of the device and waits until it is handled.
    void break_by(const ibv_async_event& event) {
        fake::raise(event);
        DAT_EVENT broken;
        DAT_COUNT more;
        ASSERT_EQ(entry::evd_wait(open.async, DAT_TIMEOUT_INFINITE, 1, &broken, &more),
                  DAT_SUCCESS);
    }
    std::string told_when_failed(ibv_wc_status status) {
        connect_ep();
        for (DAT_UINT64 i = 0; i < 4; ++i) EXPECT_EQ(send(i), DAT_SUCCESS);
        fake::finish_request(qp(), status);
        return captured_stderr([&] { next_dto(request_evd); });
    }
};

TEST_F(EndpointEnd,
       a_failed_transfer_is_told_with_what_failed_what_was_flushed_and_what_was_before) {
    const std::string line = line_with(told_when_failed(IBV_WC_REM_ACCESS_ERR), "DAT290");
    EXPECT_TRUE(std::regex_search(
        line, std::regex("warning: the connection of EP [0-9a-f]+ \\(handle 0x[0-9a-f]+\\) with "
                         "[0-9.]+:1 broke: "
                         "remote access error of a send, requests flushed: 3; before: "
                         "dat_ep_connect -> ACTIVE_CONNECTION_PENDING [0-9.]+ m?s ago, "
                         "both sides connected -> CONNECTED [0-9.]+ m?s ago; compare address")))
        << line;
}

TEST_F(EndpointEnd, what_is_the_consumers_fault_is_told_with_its_next_step) {
    const std::string line = line_with(told_when_failed(IBV_WC_LOC_PROT_ERR), "DAT290");
    EXPECT_NE(line.find("local protection error of a send"), std::string::npos) << line;
    EXPECT_NE(line.find("; compare the local segments with their LMRs"), std::string::npos) << line;
}

TEST_F(EndpointEnd, what_the_device_reports_is_told_as_the_cause) {
    connect_ep();
    ibv_async_event event{};
    event.event_type = IBV_EVENT_QP_ACCESS_ERR;
    event.element.qp = qp();
    const std::string told = captured_stderr([&] { break_by(event); });
    EXPECT_NE(line_with(told, "DAT290").find("the peer asked for memory that it may not access"),
              std::string::npos)
        << told;
}

TEST_F(EndpointEnd, requests_that_the_consumer_has_had_back_flushed_are_counted_too) {
    connect_ep();
    for (DAT_UINT64 i = 0; i < 3; ++i) ASSERT_EQ(send(i), DAT_SUCCESS);
    fake::flush(qp());
    for (int i = 0; i < 2; ++i) EXPECT_EQ(next_dto(request_evd).status, DAT_DTO_ERR_FLUSHED);
    ibv_async_event event{};
    event.event_type = IBV_EVENT_QP_FATAL;
    event.element.qp = qp();
    const std::string told = captured_stderr([&] { break_by(event); });
    next(connect_evd);
    EXPECT_NE(line_with(told, "DAT290").find("requests flushed: 3;"), std::string::npos) << told;
    EXPECT_EQ(next_dto(request_evd).status, DAT_DTO_ERR_FLUSHED);
    ASSERT_EQ(entry::ep_reset(ep), DAT_SUCCESS);
    connect_ep();
    const std::string anew = captured_stderr([&] {
        EXPECT_EQ(entry::ep_disconnect(ep, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
        next(connect_evd);
    });
    EXPECT_NE(anew.find("requests flushed: 0;"), std::string::npos) << anew;
}

TEST_F(EndpointEnd, an_orderly_disconnect_is_told_from_trace_level_5_on) {
    const auto disconnect = [&] {
        EXPECT_EQ(entry::ep_disconnect(ep, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
        next(connect_evd);
    };
    connect_ep();
    const std::string line =
        line_with(captured_stderr(disconnect), "ended: dat_ep_disconnect (abrupt)");
    EXPECT_NE(line.find("-> CONNECTED"), std::string::npos) << line;
    support::set_trace_level(3);
    EXPECT_EQ(entry::ep_reset(ep), DAT_SUCCESS);
    connect_ep();
    EXPECT_EQ(captured_stderr(disconnect), "");
}

}  // namespace
}  // namespace test
