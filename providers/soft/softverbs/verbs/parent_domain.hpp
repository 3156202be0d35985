// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Thread domains and parent domains. A parent domain is a second handle of a protection domain;
/// the thread domain in it is the program's promise that one thread at a time uses what is made
/// with it: the calls of the extended queues then take no lock for the program's other threads. The
/// locks of the queues themselves stay, as the service thread takes them too. The queues of this
/// device lie in memory that peers share, so a parent domain's own allocators are never called.
#pragma once

#include <infiniband/verbs.h>

namespace softverbs {

ibv_td* allocate_thread_domain(ibv_context* context, ibv_td_init_attr* attributes);
/// @return 0, or EBUSY while a parent domain uses it.
int free_thread_domain(ibv_td* domain);
/// @return nullptr with errno: EINVAL for unknown attributes, objects of another device, or a
/// domain that is a parent domain itself. ibv_dealloc_pd frees it.
ibv_pd* allocate_parent_domain(ibv_context* context, ibv_parent_domain_init_attr* attributes);

}  // namespace softverbs
