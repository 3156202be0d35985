// SPDX-License-Identifier: BSD-2-Clause
// Which calls are legal in which state of an EP.
#include "test/api/conformance/row.hpp"
#include "test/api/conformance/states.hpp"

namespace conformance {
namespace {

struct State {
    const char* name;
    DAT_EP_HANDLE (*reach)(Rig&);
};

constexpr State kUnconnected{"unconnected", unconnected};
constexpr State kReserved{"reserved", reserved};
constexpr State kPassive{"passive-pending", passive_pending};
constexpr State kTentative{"tentative", tentative};
constexpr State kActive{"active-pending", active_pending};
constexpr State kConnected{"connected", connected};
constexpr State kDisconnected{"disconnected", disconnected};

struct Answer {
    State state;
    const char* answer;
    const char* not_asked = "";
};

using Call = DAT_RETURN (*)(Rig&, DAT_EP_HANDLE);

void add(Rows& rows, const std::string& function, Call call, const std::vector<Answer>& answers) {
    for (const Answer& answer : answers)
        rows.push_back({function + "/state-" + answer.state.name, answer.answer,
                        [call, reach = answer.state.reach](Rig& r) {
                            const DAT_EP_HANDLE ep = reach(r);
                            r << call(r, ep);
                        },
                        answer.not_asked});
}

DAT_RETURN disconnect_gracefully(Rig&, DAT_EP_HANDLE ep) {
    return dat_ep_disconnect(ep, DAT_CLOSE_GRACEFUL_FLAG);
}
DAT_RETURN post_receive(Rig&, DAT_EP_HANDLE ep) {
    return dat_ep_post_recv(ep, 0, nullptr, cookie(1), DAT_COMPLETION_DEFAULT_FLAG);
}
DAT_RETURN post_send(Rig&, DAT_EP_HANDLE ep) {
    return dat_ep_post_send(ep, 0, nullptr, cookie(1), DAT_COMPLETION_DEFAULT_FLAG);
}
DAT_RETURN post_write(Rig&, DAT_EP_HANDLE ep) {
    const DAT_RMR_TRIPLET remote{};
    return dat_ep_post_rdma_write(ep, 0, nullptr, cookie(1), &remote, DAT_COMPLETION_DEFAULT_FLAG);
}
DAT_RETURN post_read(Rig&, DAT_EP_HANDLE ep) {
    const DAT_RMR_TRIPLET remote{};
    return dat_ep_post_rdma_read(ep, 0, nullptr, cookie(1), &remote, DAT_COMPLETION_DEFAULT_FLAG);
}
DAT_RETURN reserve_again(Rig& r, DAT_EP_HANDLE ep) {
    DAT_RSP_HANDLE rsp = DAT_HANDLE_NULL;
    return dat_rsp_create(r.ia(), kQualifier + 1, ep, r.side().requests, &rsp);
}

constexpr const char* kIsUnconnected = "0x8007002F";
constexpr const char* kIsActive = "0x80070030";
constexpr const char* kIsPassive = "0x80070031";
constexpr const char* kIsUnconfiguredTentative = "0x80070042";
constexpr const char* kIsConnected = "0x80070033";
constexpr const char* kIsDisconnected = "0x80070034";
constexpr const char* kIsReserved = "0x80070035";
constexpr const char* kNoQueuePair = "it has no queue pair and crashes";

}  // namespace

Rows ep_state_rows() {
    Rows rows;
    add(rows, "dat_ep_connect", [](Rig&, DAT_EP_HANDLE ep) { return connect(ep); },
        {{kReserved, kIsReserved},
         {kPassive, kIsPassive},
         {kTentative, "0x80050017"},
         {kActive, kIsActive},
         {kConnected, kIsConnected},
         {kDisconnected, kIsDisconnected}});
    add(rows, "dat_ep_disconnect", disconnect_gracefully,
        {{kUnconnected, kIsUnconnected},
         {kReserved, kIsReserved},
         {kPassive, kIsPassive},
         {kTentative, kIsUnconfiguredTentative},
         {kActive, "0"},
         {kConnected, "0"},
         {kDisconnected, "0"}});
    add(rows, "dat_ep_free", [](Rig&, DAT_EP_HANDLE ep) { return dat_ep_free(ep); },
        {{kUnconnected, "0"},
         {kReserved, kIsReserved},
         {kPassive, kIsPassive},
         {kTentative, kIsUnconfiguredTentative},
         {kActive, "0"},
         {kConnected, "0"},
         {kDisconnected, "0"}});
    add(rows, "dat_ep_reset", [](Rig&, DAT_EP_HANDLE ep) { return dat_ep_reset(ep); },
        {{kUnconnected, "0"},
         {kReserved, kIsReserved},
         {kPassive, kIsPassive},
         {kTentative, kIsUnconfiguredTentative},
         {kActive, kIsActive},
         {kConnected, kIsConnected},
         {kDisconnected, "0"}});
    add(rows, "dat_ep_post_recv", post_receive,
        {{kUnconnected, "0"},
         {kReserved, "0"},
         {kPassive, "0"},
         {kTentative, "0x80070039", kNoQueuePair},
         {kActive, "0"},
         {kConnected, "0"},
         {kDisconnected, "0"}});
    const std::vector<Answer> requests = {
        {kUnconnected, kIsUnconnected}, {kReserved, kIsUnconnected}, {kPassive, kIsUnconnected},
        {kActive, kIsUnconnected},      {kConnected, "0"},           {kDisconnected, "0"}};
    add(rows, "dat_ep_post_send", post_send, requests);
    add(rows, "dat_ep_post_rdma_write", post_write, requests);
    add(rows, "dat_ep_post_rdma_read", post_read, requests);
    add(rows, "dat_rsp_create", reserve_again,
        {{kReserved, kIsReserved},
         {kPassive, kIsPassive},
         {kTentative, kIsUnconfiguredTentative},
         {kActive, kIsActive},
         {kConnected, kIsConnected},
         {kDisconnected, kIsDisconnected}});
    return rows;
}

}  // namespace conformance
