// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// A fault rule (softverbs-fault(5)): where, when and what. Rules are text on the command line, in
/// files and in the log; rule_text.hpp reads and prints them.
#pragma once

#include <infiniband/verbs.h>

#include <chrono>
#include <cstdint>
#include <iterator>
#include <limits>
#include <optional>
#include <string>

namespace softverbs::faults {

/// The kinds of subjects, by bit, so that an action or a condition can be for several.
enum Group : std::uint16_t {
    kRequest = 1,        ///< requests of a send queue, which are carried out or not
    kPost = 2,           ///< ibv_post_send and ibv_post_recv themselves
    kCall = 4,           ///< calls that make an object
    kState = 8,          ///< states of a port
    kStep = 16,          ///< steps of rdma_cm before a connection
    kConnect = 32,       ///< connection requests of rdma_cm as a whole
    kMessage = 64,       ///< single messages of the connection manager, as InfiniBand names them
    kDeviceState = 128,  ///< states of a device
    kEvent = 256,        ///< events that the program fetches
    kByClock = kState | kDeviceState,  ///< they come at a time, not when the program does something
};

/// The types of queue pairs, by bit.
enum Type : std::uint8_t {
    kRc = 1,
    kUc = 2,
    kUd = 4,
    kXrc = 8,
    kReliable = kRc | kXrc,
    kUnreliable = kUc | kUd,
    kConnected = kRc | kUc | kXrc,
    kAnyType = kRc | kUc | kUd | kXrc,
};

struct TypeName {
    const char* name;
    std::uint8_t bit;
};
inline constexpr TypeName kTypes[] = {{"rc", kRc}, {"uc", kUc}, {"ud", kUd}, {"xrc", kXrc}};

/// The requests, calls or events that a rule concerns.
enum class Subject : std::uint8_t {
#define SUBJECT(id, ...) id,
#include "providers/soft/softverbs/faults/words.def"
};

struct SubjectInfo {
    const char* name;
    Group group;
};

inline constexpr SubjectInfo kSubjects[] = {
#define SUBJECT(id, name, group) {name, group},
#include "providers/soft/softverbs/faults/words.def"
};
inline constexpr std::size_t kSubjectCount = std::size(kSubjects);

constexpr Group group_of(Subject subject) {
    return kSubjects[static_cast<std::size_t>(subject)].group;
}

/// The word or words that follow the name of an action.
enum class Argument : std::uint8_t {
    kNone,
    kDuration,  ///< a duration
    kFor,       ///< `for` and a duration; without it for ever
    kEvery,     ///< `every` and a duration; without it once
    kRate,      ///< bytes per second
    kReason,    ///< the number of a reject reason; without it 28, as the consumer rejects
    kErrno,     ///< the name of an errno value; without it ENOMEM
};

enum class Action : std::uint8_t {
#define ACTION(id, ...) id,
#include "providers/soft/softverbs/faults/words.def"
};

struct ActionInfo {
    const char* name;
    std::uint16_t groups;
    std::uint8_t types;
    Argument argument;
};

inline constexpr ActionInfo kActions[] = {
#define ACTION(id, name, groups, types, argument) {name, groups, types, Argument::argument},
#include "providers/soft/softverbs/faults/words.def"
};

/// The asynchronous events of verbs, by their enumerators' names.
struct EventName {
    const char* name;
    std::uint32_t type;
};
inline constexpr EventName kEvents[] = {{"cq_err", IBV_EVENT_CQ_ERR},
                                        {"qp_fatal", IBV_EVENT_QP_FATAL},
                                        {"qp_req_err", IBV_EVENT_QP_REQ_ERR},
                                        {"qp_access_err", IBV_EVENT_QP_ACCESS_ERR},
                                        {"comm_est", IBV_EVENT_COMM_EST},
                                        {"sq_drained", IBV_EVENT_SQ_DRAINED},
                                        {"device_fatal", IBV_EVENT_DEVICE_FATAL},
                                        {"port_active", IBV_EVENT_PORT_ACTIVE},
                                        {"port_err", IBV_EVENT_PORT_ERR},
                                        {"lid_change", IBV_EVENT_LID_CHANGE},
                                        {"pkey_change", IBV_EVENT_PKEY_CHANGE},
                                        {"sm_change", IBV_EVENT_SM_CHANGE},
                                        {"srq_limit_reached", IBV_EVENT_SRQ_LIMIT_REACHED},
                                        {"qp_last_wqe_reached", IBV_EVENT_QP_LAST_WQE_REACHED},
                                        {"client_reregister", IBV_EVENT_CLIENT_REREGISTER},
                                        {"gid_change", IBV_EVENT_GID_CHANGE}};

using Duration = std::chrono::nanoseconds;

struct Rule {
    Subject subject = Subject::kAnyRequest;
    Action action = Action::kRetryExceeded;

    // -- where; what is not given holds for all
    std::string program;                  ///< pattern of the program's name (fnmatch)
    std::string rank;                     ///< the process's rank in its job
    std::string peer;                     ///< pattern of the program's name at the other end
    std::string peer_rank;                ///< its rank
    std::uint32_t service = 0;            ///< the listener's port
    std::optional<std::uint32_t> event;   ///< ibv_event_type
    std::uint32_t queue_pair = 0;         ///< the n-th that the process has created
    std::optional<std::uint32_t> device;  ///< its number
    std::uint32_t port = 0;               ///< of the device
    std::uint8_t types = kAnyType;        ///< one of them, or all
    std::uint64_t smallest = 0;           ///< bytes
    std::uint64_t largest = std::numeric_limits<std::uint64_t>::max();

    // -- when, among what matches
    std::uint64_t nth = 0;    ///< this one alone
    std::uint64_t every = 0;  ///< each that many
    std::uint64_t from = 0;   ///< not before the one with this number
    std::uint64_t to = 0;     ///< not after it
    double probability = 1;
    std::uint64_t times = 0;  ///< not more often
    Duration after{};         ///< not before the process has had the device open for so long
    Duration before{};        ///< not later than that

    // -- what
    Duration duration{};     ///< of kDuration and kFor; 0 there: for ever
    Duration period{};       ///< of a port's or device's rule: again so often; 0: once
    std::uint64_t rate = 0;  ///< bytes per second
    int error = 0;           ///< errno value, or a reject reason

    Group group() const { return group_of(subject); }
    const ActionInfo& what() const { return kActions[static_cast<std::size_t>(action)]; }
    bool names_peer() const { return !peer.empty() || !peer_rank.empty(); }
    /// Whether it applies to all that matches, so that nothing is to be decided.
    bool is_unconditional() const {
        return nth == 0 && every == 0 && from == 0 && to == 0 && times == 0 && probability == 1 &&
               after == Duration::zero() && before == Duration::zero();
    }
    friend bool operator==(const Rule&, const Rule&) = default;
};

}  // namespace softverbs::faults
