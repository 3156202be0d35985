// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The IA handles that consumers hold: small integers (1, 2, ...), never the provider's pointers.
/// Lookups take no lock and constant time, so that every call with an IA argument can afford one.
#pragma once

#include <dat2/udat.h>

namespace dat {

/// @param ia any bit pattern that a consumer passed as an IA handle.
/// @return the provider's handle of that open IA, nullptr when `ia` names none. Thread safe, lock
/// free.
DAT_IA_HANDLE provider_ia(DAT_IA_HANDLE ia);

/// The reverse of provider_ia(). @param provider_handle any bit pattern. @return the consumer's
/// integer of the open IA with that provider handle, nullptr when there is none. Thread safe, lock
/// free; scans the open IAs.
DAT_IA_HANDLE consumer_ia(DAT_IA_HANDLE provider_handle);

/// Gives an IA the lowest free integer. @return the integer, nullptr when kMaxOpenIas are open or
/// memory is short. Thread safe.
DAT_IA_HANDLE add_ia(DAT_IA_HANDLE provider_handle);

/// Frees the integer at close. @return whether it named an open IA. Thread safe.
bool remove_ia(DAT_IA_HANDLE ia);

/// Makes all integers name no IA, in the child of a fork. Only for the fork handler.
void forget_all_ias();

/// @param handle one that leads to no provider. @return whether the process is a forked child, and
/// `handle` was an open IA of its parent or may be another of its objects.
bool made_before_fork(DAT_HANDLE handle);

inline constexpr unsigned kMaxOpenIas = 64 * 1024 - 1;

/// @return whether an IA was ever opened in this process. Never becomes false again.
bool ias_opened();

/// @return whether an IA that was ever opened in this process offered extensions; until then
/// dat_extension_op only passes the operations that the provider implements itself. Never becomes
/// false again.
bool extensions_offered();
void note_extensions_offered();

}  // namespace dat
