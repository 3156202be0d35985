// SPDX-License-Identifier: BSD-2-Clause
// The audit of a provider: each fault of a provider that is made here on purpose is told, and the
// same calls without the fault are not.
#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <string>

#include "check/dat/table.hpp"
#include "support/thread/thread_errors.hpp"
#include "test/support/process.hpp"

namespace {

using namespace test;

constexpr DAT_RETURN kQueueEmpty = 0x800d0000;  // of dat_evd_dequeue(3)

/// A provider with one endpoint, whose events are what a test puts into `events`.
struct Provider {
    struct Object {
        const DAT_PROVIDER* table;
    };
    DAT_PROVIDER table{};
    support::ProviderMark mark{};
    Object evd{&table};
    Object ep{&table};
    std::deque<DAT_EVENT> events;
    DAT_RETURN code_of_free = DAT_SUCCESS;
};
Provider* provider = nullptr;

DAT_RETURN free_ep(DAT_EP_HANDLE) {
    return provider->code_of_free;
}
DAT_RETURN create_evd(DAT_IA_HANDLE, DAT_COUNT, DAT_CNO_HANDLE, DAT_EVD_FLAGS,
                      DAT_EVD_HANDLE* evd) {
    *evd = &provider->evd;
    return DAT_SUCCESS;
}
DAT_RETURN create_ep(DAT_IA_HANDLE, DAT_PZ_HANDLE, DAT_EVD_HANDLE, DAT_EVD_HANDLE, DAT_EVD_HANDLE,
                     const DAT_EP_ATTR*, DAT_EP_HANDLE* ep) {
    *ep = &provider->ep;
    return DAT_SUCCESS;
}
DAT_RETURN query_ep(DAT_EP_HANDLE, DAT_EP_PARAM_MASK, DAT_EP_PARAM* param) {
    *param = {};
    param->recv_evd_handle = param->request_evd_handle = param->connect_evd_handle = &provider->evd;
    param->ep_attr.service_type = DAT_SERVICE_TYPE_RC;
    return DAT_SUCCESS;
}
DAT_RETURN post_receive(DAT_EP_HANDLE, DAT_COUNT, DAT_LMR_TRIPLET*, DAT_DTO_COOKIE,
                        DAT_COMPLETION_FLAGS) {
    return DAT_SUCCESS;
}
DAT_RETURN dequeue(DAT_EVD_HANDLE, DAT_EVENT* event) {
    if (provider->events.empty()) return kQueueEmpty;
    *event = provider->events.front();
    provider->events.pop_front();
    return DAT_SUCCESS;
}

class Audit : public testing::Test {
  protected:
    Audit() {
        const Setting wanted("OPENDAT_CHECK", "audit");
        provider = new Provider;  // never freed, since its table identifies its checks
        DAT_PROVIDER& table = provider->table;
        table.extension = &provider->mark;
        table.ep_free_func = free_ep;
        table.evd_create_func = create_evd;
        table.ep_create_func = create_ep;
        table.ep_query_func = query_ep;
        table.ep_post_recv_func = post_receive;
        table.evd_dequeue_func = dequeue;
        check::dat::decorate(table, check::dat::policy_of("audited"));
        table.evd_create_func(&provider->evd, 8, nullptr, DAT_EVD_DTO_FLAG, &evd_);
        table.ep_create_func(&provider->evd, nullptr, evd_, evd_, evd_, nullptr, &ep_);
    }

    void post(DAT_UINT64 cookie) {
        DAT_DTO_COOKIE name{};
        name.as_64 = cookie;
        provider->table.ep_post_recv_func(ep_, 0, nullptr, name, DAT_COMPLETION_DEFAULT_FLAG);
    }
    void put_completion(DAT_UINT64 cookie) const {
        DAT_EVENT event{};
        event.event_number = DAT_DTO_COMPLETION_EVENT;
        auto& data = event.event_data.dto_completion_event_data;
        data.ep_handle = ep_;
        data.user_cookie.as_64 = cookie;
        data.operation = DAT_DTO_RECEIVE;
        provider->events.push_back(event);
    }
    void put_connection_event(DAT_EVENT_NUMBER number) const {
        DAT_EVENT event{};
        event.event_number = number;
        event.event_data.connect_event_data.ep_handle = ep_;
        provider->events.push_back(event);
    }
    /// Takes all events, and then looks once more. @return what was told meanwhile.
    [[nodiscard]] std::string told_by_taking() const {
        return captured_stderr([&] {
            DAT_EVENT event;
            while (provider->table.evd_dequeue_func(evd_, &event) == DAT_SUCCESS) continue;
        });
    }
    static void expect_told(const std::string& told, const std::string& id,
                            const std::string& text) {
        EXPECT_NE(told.find('[' + id + ']'), std::string::npos) << told;
        EXPECT_NE(told.find(text), std::string::npos) << told;
        EXPECT_EQ(std::count(told.begin(), told.end(), '\n'), 1) << told;
    }

    DAT_EVD_HANDLE evd_ = nullptr;
    DAT_EP_HANDLE ep_ = nullptr;
};

TEST_F(Audit, TellsACodeThatThePageOfTheCallDoesNotName) {
    const auto told_by_freeing = [&](DAT_RETURN code) {
        provider->code_of_free = code;
        return captured_stderr([&] { provider->table.ep_free_func(ep_); });
    };
    EXPECT_EQ(told_by_freeing(0x8005000c), "");  // DAT_INVALID_HANDLE_EP
    EXPECT_EQ(told_by_freeing(0x80070033), "");  // of the states of an EP, any
    expect_told(told_by_freeing(0x8005000b), "DAT451", "0x8005000b, which dat_ep_free(3)");
}

TEST_F(Audit, TellsACompletionOfWhichNoTransferIsPosted) {
    post(7);
    put_completion(7);
    EXPECT_EQ(told_by_taking(), "");
    put_completion(7);
    expect_told(told_by_taking(), "DAT452", "cookie 0x7");
}

TEST_F(Audit, TellsATransferWithoutACompletionAfterTheEndOfTheConnection) {
    put_connection_event(DAT_CONNECTION_EVENT_ESTABLISHED);
    post(1);
    post(2);
    EXPECT_EQ(told_by_taking(), "") << "while it is connected";
    put_completion(1);
    put_connection_event(DAT_CONNECTION_EVENT_DISCONNECTED);
    expect_told(told_by_taking(), "DAT453", "1 transfers");
}

TEST_F(Audit, TellsAnEndOfAConnectionThatIsToldTwice) {
    put_connection_event(DAT_CONNECTION_EVENT_ESTABLISHED);
    put_connection_event(DAT_CONNECTION_EVENT_DISCONNECTED);
    EXPECT_EQ(told_by_taking(), "");
    put_connection_event(DAT_CONNECTION_EVENT_BROKEN);
    expect_told(told_by_taking(), "DAT454", "the end of the connection");
}

}  // namespace
