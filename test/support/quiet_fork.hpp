// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Forks of programs with threads under the address sanitizer.
#pragma once

namespace test {

/// The address sanitizer has locks of its own in its allocator and in the start of a thread, which
/// fork() copies as they are (those of gcc 12 and clang 14 do; glibc's own allocator is made for
/// forks): a child made while another thread holds one waits for ever as soon as it needs that
/// lock. From here on every fork() first waits until all other threads are asleep in the kernel,
/// where they hold none. To be called before any library registers handlers of fork(): what
/// registered first runs last. Does nothing without that sanitizer.
void fork_beside_sleepers_only();

}  // namespace test
