// SPDX-License-Identifier: BSD-2-Clause
#include "dapl/ep/device_failure.hpp"

#include <fmt/core.h>

#include <chrono>
#include <cstring>

#include "dapl/ep/ep_history.hpp"

namespace dapl {
namespace {

using Cause = verbs::FailureCause;
using Failure = verbs::QueuePairFailure;

const char* requests_for(std::uint32_t rights) {
    switch (rights) {
        case IBV_ACCESS_REMOTE_WRITE:
            return "RDMA writes";
        case IBV_ACCESS_REMOTE_READ:
            return "RDMA reads";
        case IBV_ACCESS_REMOTE_ATOMIC:
            return "atomic operations";
        case IBV_ACCESS_LOCAL_WRITE:
            return "local writes";
        default:
            return "local reads";
    }
}

/// The key of a segment of one's own request or receive is an lmr_context to the consumer, the key
/// of a target an rmr_context.
std::string key_text(const Failure& failure) {
    const bool is_target = (failure.is_remote || failure.asked_by_peer) && !failure.is_receive;
    return fmt::format("{}_context {:#x}", is_target ? "rmr" : "lmr", failure.key);
}

/// "the peer's LMR with the rmr_context 0x2103"
std::string object_text(const Failure& failure) {
    return fmt::format("{} {} with the {}", failure.is_remote ? "the peer's" : "the",
                       failure.is_window ? "RMR" : "LMR", key_text(failure));
}

std::string range_text(std::uint64_t address, std::uint64_t length) {
    return fmt::format("{} byte{} from {:#x}", length, length == 1 ? "" : "s", address);
}

std::string end_text(const Failure& failure) {
    std::string text = failure.is_window ? " has been unbound" : " has been freed";
    if (failure.ended_by != 0) text += fmt::format(" by process {}", failure.ended_by);
    if (failure.ended_at == 0) return text;
    const std::chrono::steady_clock::time_point then{std::chrono::nanoseconds(failure.ended_at)};
    return text + fmt::format(", {} ago", age_text(std::chrono::steady_clock::now() - then));
}

std::string process_end_text(const Failure& failure) {
    if (failure.signal != 0)
        return fmt::format("the peer's process ended (pid {}, signal {}: {})", failure.pid,
                           failure.signal, strsignal(failure.signal));
    if (failure.exit_code >= 0)
        return fmt::format("the peer's process ended (pid {}, exit status {})", failure.pid,
                           failure.exit_code);
    return fmt::format("the peer's process ended (pid {})", failure.pid);
}

std::string text_of(const Failure& failure) {
    switch (failure.cause) {
        case Cause::kNoSuchKey:
            return fmt::format("{} has no LMR or RMR with the {}",
                               failure.is_remote ? "the peer" : "this process", key_text(failure));
        case Cause::kKeyEnded:
            return object_text(failure) + end_text(failure);
        case Cause::kOutOfRange:
            return fmt::format("{} has {}, but {} were requested", object_text(failure),
                               range_text(failure.region_address, failure.region_length),
                               range_text(failure.address, failure.length));
        case Cause::kMissingRight:
            return fmt::format("{} does not allow {}", object_text(failure),
                               requests_for(failure.rights));
        case Cause::kOtherDomain:
            return object_text(failure) + " belongs to another PZ than the endpoint";
        case Cause::kOtherQueuePair:
            return object_text(failure) + " is bound to another endpoint";
        case Cause::kQueuePairRights:
            return fmt::format("the endpoint {} does not allow {}",
                               failure.is_remote ? "of the peer" : "here",
                               requests_for(failure.rights));
        case Cause::kMemoryGone:
            return fmt::format("{} of {} are no longer mapped, or are protected",
                               range_text(failure.address, failure.length), object_text(failure));
        case Cause::kProcessEnded:
            return process_end_text(failure);
        case Cause::kProgramReplaced:
            return fmt::format("the peer's process runs another program now (pid {})", failure.pid);
        case Cause::kQueuePairGone:
            return fmt::format("the peer has freed or reset its endpoint (pid {})", failure.pid);
        case Cause::kQueuePairFailed:
            return fmt::format("the peer's endpoint is in the error state (pid {})", failure.pid);
        case Cause::kLinkDown:
            return fmt::format("the port of the {} has no link",
                               failure.is_remote ? "peer's device" : "device here");
        case Cause::kFaultRule:
            return "a fault rule asks for it";
        case Cause::kUnknown:
            break;
    }
    return {};
}

const char* next_step(const Failure& failure) {
    switch (failure.cause) {
        case Cause::kNoSuchKey:
        case Cause::kOtherQueuePair:
            return "check which key the program sent to its peer, and that it arrived unchanged";
        case Cause::kKeyEnded:
            return "free or unbind memory after the peer's last request for it has completed";
        case Cause::kOutOfRange:
            return "compare address and length of the request with those of the LMR or RMR";
        case Cause::kMissingRight:
            return "request the privilege in dat_lmr_create or dat_rmr_bind";
        case Cause::kOtherDomain:
            return "create LMR and EP with the same PZ";
        case Cause::kQueuePairRights:
            return "allow them in the attributes of that endpoint (max_rdma_read_in for reads and "
                   "atomics)";
        case Cause::kMemoryGone:
            return "unmap memory after dat_lmr_free has returned";
        case Cause::kFaultRule:
            return "see softverbs-fault(5), and `softverbs fault log` for the rule";
        case Cause::kLinkDown:
            return "connect again when it is back";
        default:
            return "see the messages of the peer's program, and its core file if there is one";
    }
}

/// Older kernels report the signal to the parent process only, newer ones once the parent has
/// waited for the process: so an unknown exit status without exit() counts as a signal too.
bool was_killed(const Failure& failure) {
    if (failure.cause != Cause::kProcessEnded) return false;
    return failure.signal != 0 || (failure.exit_code < 0 && !failure.is_by_exit);
}

bool is_of_receive(const Failure& failure) {
    return failure.is_receive && !failure.is_remote;
}

}  // namespace

std::optional<DeviceFailure> device_failure(const verbs::DeviceExtensions& device, ibv_qp* qp) {
    Failure failure;
    if (!qp || !device.failure_of || !device.failure_of(qp, &failure)) return std::nullopt;
    const std::string text = text_of(failure);
    if (text.empty()) return std::nullopt;
    return DeviceFailure{text, next_step(failure), failure.asked_by_peer, was_killed(failure),
                         is_of_receive(failure)};
}

}  // namespace dapl
