// SPDX-License-Identifier: BSD-2-Clause
#include "providers/soft/verbs/exchange_rules.hpp"

#include <cstdio>
#include <memory>

#include "dapl/support/settings.hpp"
#include "providers/soft/verbs/write_guard.hpp"

namespace softverbs {
namespace {

/// What /proc/self/status says.
struct Status {
    long threads = -1;
    long pinned_kb = -1;
};

using File = std::unique_ptr<FILE, int (*)(FILE*)>;

Status read_status() {
    Status status;
    const File file(fopen("/proc/self/status", "re"), &fclose);
    char line[256];
    while (file && fgets(line, sizeof line, file.get())) {
        (void)sscanf(line, "Threads: %ld", &status.threads);
        (void)sscanf(line, "VmPin: %ld", &status.pinned_kb);
    }
    return status;
}

std::size_t max_mappings() {
    const File file(fopen("/proc/sys/vm/max_map_count", "re"), &fclose);
    unsigned long most = 0;
    return file && fscanf(file.get(), "%lu", &most) == 1 ? most : 0;
}

/// No thread but the caller and the library's own: the service thread, whose handlers that touch
/// memory of the application wait for the adapter's mutex, which the caller holds.
bool is_alone(const Status& status, bool on_application_thread) {
    return on_application_thread && status.threads >= 1 && status.threads <= 2;
}

Permission permission(const Status& status, bool on_application_thread) {
    if (status.pinned_kb != 0) return {PageReason::kPinned};
    if (WriteGuard::is_permitted()) return {PageReason::kExchanged, true};
    const bool harmless = is_alone(status, on_application_thread) ||
                          shared_pages_setting() == SharedPagesSetting::kAlways;
    return {harmless ? PageReason::kExchanged : PageReason::kThreads};
}

}  // namespace

SharedPagesSetting shared_pages_setting() {
    const std::string text = support::setting_text(support::Setting::kSoftverbsSharedPages);
    if (text == "always") return SharedPagesSetting::kAlways;
    return text == "never" ? SharedPagesSetting::kNever : SharedPagesSetting::kAuto;
}

Permission may_exchange(const MemoryMap& memory, bool on_application_thread) {
    if (shared_pages_setting() == SharedPagesSetting::kNever) return {PageReason::kNever};
    if (memory.count() >= max_mappings() / 4) return {PageReason::kMappings};
    return permission(read_status(), on_application_thread);
}

Permission may_restore(bool on_application_thread) {
    return permission(read_status(), on_application_thread);
}

}  // namespace softverbs
