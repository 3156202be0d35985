// SPDX-License-Identifier: BSD-2-Clause
#include "test/support/quiet_fork.hpp"

#include <pthread.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>
#include <system_error>

#include "test/support/process.hpp"
#include "test/support/sanitizer.hpp"

namespace test {
namespace {

/// Timeout after which a fork proceeds anyway: some tests have threads that never sleep.
const Clock::duration kPatience = scaled(2s);

/// @return whether /proc reports the thread as asleep. The state follows the name, which may
/// contain anything. A thread that exits meanwhile counts as asleep; reading its file fails with
/// ESRCH, which an iterator over the file would throw.
bool is_asleep(const std::filesystem::path& thread) {
    std::ifstream file(thread / "stat");
    std::string text;
    std::getline(file, text, '\0');
    const std::size_t name_end = text.rfind(')');
    return name_end == std::string::npos || text.compare(name_end, 3, ") S") == 0;
}

bool others_are_asleep() {
    const std::string self = std::to_string(gettid());
    std::error_code error;
    std::filesystem::directory_iterator thread("/proc/self/task", error);
    for (const std::filesystem::directory_iterator end; !error && thread != end;
         thread.increment(error))
        if (thread->path().filename() != self && !is_asleep(thread->path())) return false;
    return true;
}

void wait_for_others() {
    eventually(others_are_asleep, kPatience);
}

}  // namespace

void fork_beside_sleepers_only() {
    if (kAddressSanitizer) pthread_atfork(wait_for_others, nullptr, nullptr);
}

}  // namespace test
