// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// fork() in multi-threaded programs under the address sanitizer.
#pragma once

namespace test {

/// The address sanitizer's allocator and thread start have locks of their own, which fork() copies
/// in whatever state they are (with gcc 12 and clang 14; glibc's own allocator handles forks). A
/// child that was forked while another thread held such a lock hangs as soon as it needs the lock.
/// After this call every fork() first waits, at most scaled(2s), until all other threads are asleep
/// in the kernel, where they hold none. Must be called before any library registers fork handlers:
/// the first one registered runs last before a fork. Does nothing without that sanitizer.
void fork_beside_sleepers_only();

}  // namespace test
