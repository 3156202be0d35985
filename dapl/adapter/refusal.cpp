// SPDX-License-Identifier: BSD-2-Clause
#include "dapl/adapter/refusal.hpp"

#include <atomic>
#include <cerrno>
#include <optional>
#include <system_error>

#include "dapl/adapter/ia.hpp"
#include "device/locked_memory.hpp"
#include "support/base/limits.hpp"
#include "support/log/log.hpp"

namespace dapl {
namespace {

/// Assumed minimum of memory that a queue pins. Only the device's driver knows the real amount.
constexpr std::uint64_t kQueueBytes = 1 << 20;
constexpr std::uint64_t kKibibyte = 1024;

bool is_out_of_descriptors(int error_number) {
    return error_number == EMFILE || error_number == ENFILE;
}

std::uint64_t kibibytes(std::uint64_t bytes) {
    return bytes / kKibibyte + (bytes % kKibibyte != 0);
}

/// @return the process's locked memory, if its limit may be why the device refused. Software
/// devices without a kernel part pin nothing.
std::optional<LockedMemory> lock_limit(const Ia& ia, int error_number, std::uint64_t bytes) {
    if (!may_be_lock_limit(error_number) || ia.context()->cmd_fd < 0) return std::nullopt;
    const LockedMemory memory = locked_memory();
    return memory.forbids(bytes) ? std::optional(memory) : std::nullopt;
}

/// A device that has used up a kind of object fails with the same errno as one that lacks memory.
std::string advice_on(int error_number) {
    const std::string advice =
        "compare the objects in use with the limits that `ibv_devinfo -v` shows";
    const bool may_be_memory = error_number == ENOMEM || error_number == ENOSPC;
    return may_be_memory ? advice + "; if none is reached, " + support::advice_on_memory().data()
                         : advice;
}

}  // namespace

tl::unexpected<support::Error> refused_by_system(int error_number, const char* what) {
    support::report_limit(error_number, what);
    return support::failure(error(DAT_INSUFFICIENT_RESOURCES), what);
}

tl::unexpected<support::Error> refused_by_device(const Ia& ia, int error_number, const char* what) {
    if (is_out_of_descriptors(error_number)) return refused_by_system(error_number, what);
    const char* device = ibv_get_device_name(ia.context()->device);
    const std::string reason = std::generic_category().message(error_number);
    if (const auto memory = lock_limit(ia, error_number, kQueueBytes))
        support::report<support::kNoLockedMemoryForQueue>(
            device, what, reason, kibibytes(memory->limit), kibibytes(memory->pinned),
            kibibytes(memory->locked));
    else
        support::report<support::kDeviceRefuses>(device, what, reason, advice_on(error_number));
    return support::failure(from_errno(error_number), what);
}

void registration_refused(const Ia& ia, int error_number, std::uint64_t bytes) {
    static std::atomic<bool> told{false};
    const std::string reason = std::generic_category().message(error_number);
    if (!support::is_limit(error_number) || told.exchange(true))
        return support::trace(support::Level::kTrace, "a registration of {} bytes is refused: {}",
                              bytes, reason);
    const char* device = ibv_get_device_name(ia.context()->device);
    if (const auto memory = lock_limit(ia, error_number, bytes))
        support::report<support::kNoLockedMemory>(
            device, kibibytes(bytes), kibibytes(memory->limit), kibibytes(memory->pinned),
            kibibytes(memory->locked));
    else
        support::report<support::kNoRegistration>(device, kibibytes(bytes), reason,
                                                  advice_on(error_number));
}

}  // namespace dapl
