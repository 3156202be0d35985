// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Events that the program takes: they end transfers, and bring connection requests.
#include <dat2/dat_extensions.h>
#include <dat2/dat_ib_extensions.h>

#include "check/dat/audit.hpp"
#include "check/dat/entry.hpp"
#include "check/dat/objects.hpp"

namespace check::dat {
namespace {

bool is_receive(unsigned operation) {
    switch (operation) {
        case DAT_DTO_RECEIVE:
        case DAT_DTO_RECEIVE_WITH_INVALIDATE:
        case DAT_IB_DTO_RECV_IMMED:
        case DAT_IB_DTO_RECV_MSG_IMMED:
        case DAT_IB_DTO_RECV_UD:
        case DAT_IB_DTO_RECV_UD_IMMED:
            return true;
        default:
            return false;
    }
}

/// @return how many bytes the transfer has brought into its segments, as far as is known.
std::uint64_t data_of(const DAT_DTO_COMPLETION_EVENT_DATA& data) {
    const bool is_number = static_cast<unsigned>(data.operation) == DAT_IB_DTO_RECV_IMMED;
    return data.status != DAT_DTO_SUCCESS || is_number ? 0 : data.transfered_length;
}

void end_transfer(const Checked& checked, const char* call,
                  const DAT_DTO_COMPLETION_EVENT_DATA& data) {
    Found found;
    Domain domain = nullptr;
    if (data.ep_handle) ensure_known(checked, data.ep_handle);
    with_endpoint(data.ep_handle, [&](Model& state, Object& poster) NO_THREAD_SAFETY_ANALYSIS {
        domain = poster.owner;
        const bool receives = is_receive(static_cast<unsigned>(data.operation));
        if (receives && data.status == DAT_DTO_SUCCESS) poster.endpoint->has_received = true;
        const void* shared = receives ? poster.endpoint->shared : nullptr;
        Object* queue = shared ? state.objects.find_live(shared) : &poster;
        if (queue && queue->endpoint)
            state.complete(*queue,
                           {data.user_cookie.as_64, receives, data_of(data),
                            data.status == DAT_DTO_ERR_RECEIVER_NOT_READY,
                            data.status == DAT_DTO_ERR_REMOTE_ACCESS},
                           checked.policy, found);
    });
    if (!found.empty()) refuse(checked, domain, found, call);
}

void take_event(const Checked& checked, const char* call, DAT_EVD_HANDLE evd,
                const DAT_EVENT& event) {
    switch (static_cast<unsigned>(event.event_number)) {
        case DAT_DTO_COMPLETION_EVENT:
        case DAT_IB_DTO_EVENT:
            return end_transfer(checked, call, event.event_data.dto_completion_event_data);
        case DAT_CONNECTION_REQUEST_EVENT:
        case DAT_IB_UD_CONNECTION_REQUEST_EVENT:
            return made(kRequest, event.event_data.cr_arrival_event_data.cr_handle, {evd});
        case DAT_CONNECTION_EVENT_ESTABLISHED:
            learn_peer(checked, event.event_data.connect_event_data.ep_handle);
            return audit_connection(checked, call, event);
        case DAT_CONNECTION_EVENT_DISCONNECTED:
        case DAT_CONNECTION_EVENT_BROKEN:
            note_over(event.event_data.connect_event_data.ep_handle);
            return audit_connection(checked, call, event);
        default:
            return;
    }
}

bool find_endless(DAT_EVD_HANDLE evd, Found& found, Domain& domain) {
    with_model([&](Model& state) NO_THREAD_SAFETY_ANALYSIS {
        const Object* queue = state.objects.find_live(evd);
        if (!queue || state.objects.is_fed(evd)) return;
        domain = queue->owner;
        found.add(Kind::kEndlessWait).made = queue->made;
    });
    return !found.empty();
}

/// Checks a wait without end at an EVD to which nothing is attached. It may have events all the
/// same, or another thread may attach something soon, so the finding is told after a while only.
/// @return whether `code` is the wait's answer.
bool check_endless(const Checked& checked, const char* call, DAT_EVD_HANDLE evd,
                   DAT_COUNT threshold, DAT_EVENT* event, DAT_COUNT* more, DAT_RETURN& code) {
    constexpr DAT_TIMEOUT kPatience = 1'000'000;  // us
    Domain domain = nullptr;
    if (Found now; !find_endless(evd, now, domain)) return false;
    code = checked.inner.evd_wait_func(evd, kPatience, threshold, event, more);
    if (DAT_GET_TYPE(code) != DAT_TIMEOUT_EXPIRED) return true;
    Found later;
    if (!find_endless(evd, later, domain)) return false;
    code = refuse(checked, domain, later, call);
    return code != kSuccess;
}

bool is_failure(DAT_DTO_COMPLETION_STATUS status) {
    return status != DAT_DTO_SUCCESS && status != DAT_DTO_ERR_FLUSHED;
}

/// @return a name for an event that tells of a failure or asks for an answer; nullptr for others. A
/// connection that breaks when the program is about to end is none of them.
const char* urgent(const DAT_EVENT& event) {
    const char* const failed = "a transfer that failed";
    switch (static_cast<unsigned>(event.event_number)) {
        case DAT_DTO_COMPLETION_EVENT:
        case DAT_IB_DTO_EVENT:
            return is_failure(event.event_data.dto_completion_event_data.status) ? failed : nullptr;
        case DAT_RMR_BIND_COMPLETION_EVENT:
            return is_failure(event.event_data.rmr_completion_event_data.status) ? failed : nullptr;
        case DAT_CONNECTION_REQUEST_EVENT:
        case DAT_IB_UD_CONNECTION_REQUEST_EVENT:
            return "a connection request";
        case DAT_CONNECTION_EVENT_PEER_REJECTED:
        case DAT_CONNECTION_EVENT_NON_PEER_REJECTED:
        case DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR:
        case DAT_CONNECTION_EVENT_TIMED_OUT:
        case DAT_CONNECTION_EVENT_UNREACHABLE:
        case DAT_IB_UD_CONNECTION_REJECT_EVENT:
        case DAT_IB_UD_CONNECTION_ERROR_EVENT:
            return "a connection that was not made";
        default:
            return nullptr;
    }
}

/// Takes what is left of an EVD that is about to be freed. Does so only if it will be: nothing may
/// feed it any more.
void check_ignored(const Checked& checked, DAT_EVD_HANDLE evd) {
    Found found;
    Domain domain = nullptr;
    with_model([&](Model& state) NO_THREAD_SAFETY_ANALYSIS {
        const Object* queue = state.objects.find_live(evd);
        if (!queue || state.objects.is_fed(evd)) return;
        domain = queue->owner;
        found.add(Kind::kIgnored).made = queue->made;
    });
    if (found.empty()) return;
    Finding& finding = *found.begin();
    const char* first = nullptr;
    for (DAT_EVENT event; checked.inner.evd_dequeue_func(evd, &event) == kSuccess;) {
        ++finding.number;
        if (!first) first = urgent(event);
    }
    if (!first) return;
    finding.what = first;
    refuse(checked, domain, found, "dat_evd_free");
}

}  // namespace

namespace entry {

DAT_RETURN evd_free(DAT_EVD_HANDLE evd) {
    const Checked& checked = checked_of(evd);
    if (checked.policy.checks_for(kQueues)) check_ignored(checked, evd);
    return ending<&DAT_PROVIDER::evd_free_func, Text("dat_evd_free")>(evd);
}

DAT_RETURN evd_wait(DAT_EVD_HANDLE evd, DAT_TIMEOUT timeout, DAT_COUNT threshold, DAT_EVENT* event,
                    DAT_COUNT* more) {
    constexpr Text kName("dat_evd_wait");
    const Checked& checked = checked_of(evd);
    DAT_RETURN code = kSuccess;
    const AuditedTaking taking(checked, evd);
    const bool is_endless = timeout == DAT_TIMEOUT_INFINITE && checked.policy.checks_for(kQueues);
    if (!is_endless || !check_endless(checked, kName.text, evd, threshold, event, more, code))
        code =
            Call<&DAT_PROVIDER::evd_wait_func, kName>::call(evd, timeout, threshold, event, more);
    if (code == kSuccess) take_event(checked, kName.text, evd, *event);
    taking.end(kName.text, code);
    return code;
}

DAT_RETURN evd_dequeue(DAT_EVD_HANDLE evd, DAT_EVENT* event) {
    constexpr Text kName("dat_evd_dequeue");
    const Checked& checked = checked_of(evd);
    const AuditedTaking taking(checked, evd);
    const DAT_RETURN code = Call<&DAT_PROVIDER::evd_dequeue_func, kName>::call(evd, event);
    if (code == kSuccess) take_event(checked, kName.text, evd, *event);
    taking.end(kName.text, code);
    return code;
}

}  // namespace entry
}  // namespace check::dat
