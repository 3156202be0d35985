// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The account that a program's process gives of the devices it asked for, to the file that
/// `softverbs run --explain` names (SOFTVERBS_EXPLAIN). Without one nothing is written.
///
/// Each line is PROCESS ID, NAME OF THE PROGRAM, WORD and, with some words, DETAIL, separated by
/// tabs:
///     loaded              the library is in the process
///     listed NAME,NAME…   ibv_get_device_list returned these devices
///     opened NAME         ibv_open_device returned a context
///     failed NAME ERRNO   it did not
///     cm soft0|system     rdma_cm was called, and whose it is
///     unasked linked|opened|absent
///                         it ends, and never asked; libibverbs.so.1 is needed by the program or by
///                         one of its libraries, was opened by dlopen, or is not there
#pragma once

#include <infiniband/verbs.h>

namespace softverbs::account {

void list(ibv_device* const* devices);
/// @param context nullptr when errno says why there is none. Keeps errno.
void open(const ibv_device* device, const ibv_context* context);
void use_cm(bool is_systems);

}  // namespace softverbs::account
