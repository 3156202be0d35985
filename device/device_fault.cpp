// SPDX-License-Identifier: BSD-2-Clause
#include "device/device_fault.hpp"

#include "dapl/base/codes.hpp"
#include "support/base/limits.hpp"
#include "support/log/log.hpp"

namespace dapl::cm {
namespace {

void report(std::string_view ia_name, const DeviceFault& fault) {
    using Cause = DeviceFault::Cause;
    const auto& [cause, subject, evidence, advice, error] = fault;
    switch (cause) {
        case Cause::kNoDevice:
            return support::report<support::kNoRdmaDevice>(ia_name, evidence, advice);
        case Cause::kNoUverbs:
            return support::report<support::kNoUverbs>(ia_name, subject, evidence);
        case Cause::kNoUserDriver:
            return support::report<support::kNoUserDriver>(ia_name, subject, evidence);
        case Cause::kUnknownDevice:
            return support::report<support::kUnknownRdmaDevice>(ia_name, subject, evidence, advice);
        case Cause::kNoNode:
            return support::report<support::kNoDeviceNode>(ia_name, subject, evidence);
        case Cause::kNoPermission:
            return support::report<support::kNoPermission>(ia_name, subject, evidence, advice);
        case Cause::kDoesNotOpen:
            return support::report<support::kDeviceDoesNotOpen>(ia_name, subject, evidence);
        case Cause::kNoSuchPort:
            return support::report<support::kNoSuchPort>(ia_name, subject, evidence);
        case Cause::kNoGid:
            return support::report<support::kNoGid>(ia_name, subject, evidence, advice);
        case Cause::kUnusedGidIndex:
            return support::report<support::kUnusedGidIndex>(ia_name, subject, evidence);
        case Cause::kInterfaceWithoutDevice:
            return support::report<support::kInterfaceWithoutDevice>(ia_name, subject, evidence,
                                                                     advice);
        case Cause::kUnknownName:
            return support::report<support::kUnknownDevice>(ia_name, subject, evidence, advice);
        case Cause::kNoAddress:
            return support::report<support::kNoIpAddress>(ia_name, subject, advice);
        case Cause::kNoRdmaCm:
            return support::report<support::kNoRdmaCm>(ia_name, evidence, advice);
        case Cause::kLimit:
            support::report_limit(error, fmt::format("IA {} on {}", ia_name, subject));
            return;
    }
}

}  // namespace

DeviceFault limit_or(int error, const std::string& device, DeviceFault otherwise) {
    if (!support::is_limit(error)) return otherwise;
    return {DeviceFault::Cause::kLimit, device, {}, {}, error};
}

tl::unexpected<support::Error> failure_of(const DeviceFault& fault) {
    using Cause = DeviceFault::Cause;
    if (fault.cause == Cause::kLimit)
        return support::failure(error(DAT_INSUFFICIENT_RESOURCES), fault.subject);
    // Like the reference, which has a code of its own for a name that leads to no address of a
    // device.
    const bool address = fault.cause == Cause::kInterfaceWithoutDevice ||
                         fault.cause == Cause::kUnknownName || fault.cause == Cause::kNoAddress;
    return support::failure(raw(address ? DAT_INVALID_ADDRESS : DAT_INTERNAL_ERROR),
                            fault.subject + ": " + fault.evidence);
}

tl::unexpected<support::Error> tell(std::string_view ia_name, const DeviceFault& fault) {
    report(ia_name, fault);
    return failure_of(fault);
}

}  // namespace dapl::cm
