// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The provider functions of adapter instances that were opened with the broker, where they differ
/// from those of dapl/provider/entry.hpp: each translates the contexts that name registrations, and
/// otherwise does what the core's function does.
#pragma once

#include "dapl/provider/entry.hpp"

namespace dapl::memory {

/// Replaces the core's functions in the table by these.
void decorate(DAT_PROVIDER& table);

namespace entry {
// entry_lmr.cpp
DAT_RETURN pz_free(DAT_PZ_HANDLE);
DAT_RETURN lmr_create(DAT_IA_HANDLE, DAT_MEM_TYPE, DAT_REGION_DESCRIPTION, DAT_VLEN, DAT_PZ_HANDLE,
                      DAT_MEM_PRIV_FLAGS, DAT_VA_TYPE, DAT_LMR_HANDLE*, DAT_LMR_CONTEXT*,
                      DAT_RMR_CONTEXT*, DAT_VLEN*, DAT_VADDR*);
DAT_RETURN lmr_free(DAT_LMR_HANDLE);
DAT_RETURN rmr_bind(DAT_RMR_HANDLE, DAT_LMR_HANDLE, const DAT_LMR_TRIPLET*, DAT_MEM_PRIV_FLAGS,
                    DAT_VA_TYPE, DAT_EP_HANDLE, DAT_RMR_COOKIE, DAT_COMPLETION_FLAGS,
                    DAT_RMR_CONTEXT*);

// entry_post.cpp
DAT_RETURN ep_post_send(DAT_EP_HANDLE, DAT_COUNT, DAT_LMR_TRIPLET*, DAT_DTO_COOKIE,
                        DAT_COMPLETION_FLAGS);
DAT_RETURN ep_post_recv(DAT_EP_HANDLE, DAT_COUNT, DAT_LMR_TRIPLET*, DAT_DTO_COOKIE,
                        DAT_COMPLETION_FLAGS);
DAT_RETURN ep_post_rdma_read(DAT_EP_HANDLE, DAT_COUNT, DAT_LMR_TRIPLET*, DAT_DTO_COOKIE,
                             const DAT_RMR_TRIPLET*, DAT_COMPLETION_FLAGS);
DAT_RETURN ep_post_rdma_write(DAT_EP_HANDLE, DAT_COUNT, DAT_LMR_TRIPLET*, DAT_DTO_COOKIE,
                              const DAT_RMR_TRIPLET*, DAT_COMPLETION_FLAGS);
DAT_RETURN ep_post_rdma_read_to_rmr(DAT_EP_HANDLE, const DAT_RMR_TRIPLET*, DAT_DTO_COOKIE,
                                    const DAT_RMR_TRIPLET*, DAT_COMPLETION_FLAGS);
DAT_RETURN srq_post_recv(DAT_SRQ_HANDLE, DAT_COUNT, DAT_LMR_TRIPLET*, DAT_DTO_COOKIE);
DAT_RETURN srq_free(DAT_SRQ_HANDLE);

// entry_registration.cpp
DAT_RETURN handle_extendedop(DAT_HANDLE, DAT_EXTENDED_OP, va_list);

// completion.cpp
DAT_RETURN evd_dequeue(DAT_EVD_HANDLE, DAT_EVENT*);
}  // namespace entry
}  // namespace dapl::memory
