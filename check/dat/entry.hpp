// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The functions of a checked table that do more than check their handles, grouped by the file that
/// defines them. Their arguments are those of the provider's functions.
#pragma once

#include <dat2/udat.h>
#include <dat2/udat_redirection.h>

#include <cstdarg>

namespace check::dat::entry {
// ia.cpp
DAT_RETURN ia_open(const DAT_NAME_PTR, DAT_COUNT, DAT_EVD_HANDLE*, DAT_IA_HANDLE*);
DAT_RETURN ia_close(DAT_IA_HANDLE, DAT_CLOSE_FLAGS);
DAT_RETURN ia_query(DAT_IA_HANDLE, DAT_EVD_HANDLE*, DAT_IA_ATTR_MASK, DAT_IA_ATTR*,
                    DAT_PROVIDER_ATTR_MASK, DAT_PROVIDER_ATTR*);

// objects.cpp
DAT_RETURN evd_create(DAT_IA_HANDLE, DAT_COUNT, DAT_CNO_HANDLE, DAT_EVD_FLAGS, DAT_EVD_HANDLE*);
DAT_RETURN evd_resize(DAT_EVD_HANDLE, DAT_COUNT);
DAT_RETURN ep_modify(DAT_EP_HANDLE, DAT_EP_PARAM_MASK, const DAT_EP_PARAM*);
DAT_RETURN ep_reset(DAT_EP_HANDLE);
DAT_RETURN ep_disconnect(DAT_EP_HANDLE, DAT_CLOSE_FLAGS);
DAT_RETURN srq_create(DAT_IA_HANDLE, DAT_PZ_HANDLE, DAT_SRQ_ATTR*, DAT_SRQ_HANDLE*);

// connections.cpp
DAT_RETURN ep_connect(DAT_EP_HANDLE, DAT_IA_ADDRESS_PTR, DAT_CONN_QUAL, DAT_TIMEOUT, DAT_COUNT,
                      const DAT_PVOID, DAT_QOS, DAT_CONNECT_FLAGS);
DAT_RETURN ep_dup_connect(DAT_EP_HANDLE, DAT_EP_HANDLE, DAT_TIMEOUT, DAT_COUNT, const DAT_PVOID,
                          DAT_QOS);
DAT_RETURN cr_accept(DAT_CR_HANDLE, DAT_EP_HANDLE, DAT_COUNT, const DAT_PVOID);
DAT_RETURN cr_reject(DAT_CR_HANDLE, DAT_COUNT, const DAT_PVOID);
DAT_RETURN cr_handoff(DAT_CR_HANDLE, DAT_CONN_QUAL);

// memory.cpp
DAT_RETURN lmr_create(DAT_IA_HANDLE, DAT_MEM_TYPE, DAT_REGION_DESCRIPTION, DAT_VLEN, DAT_PZ_HANDLE,
                      DAT_MEM_PRIV_FLAGS, DAT_VA_TYPE, DAT_LMR_HANDLE*, DAT_LMR_CONTEXT*,
                      DAT_RMR_CONTEXT*, DAT_VLEN*, DAT_VADDR*);
DAT_RETURN lmr_free(DAT_LMR_HANDLE);

// post.cpp
DAT_RETURN ep_post_send(DAT_EP_HANDLE, DAT_COUNT, DAT_LMR_TRIPLET*, DAT_DTO_COOKIE,
                        DAT_COMPLETION_FLAGS);
DAT_RETURN ep_post_recv(DAT_EP_HANDLE, DAT_COUNT, DAT_LMR_TRIPLET*, DAT_DTO_COOKIE,
                        DAT_COMPLETION_FLAGS);
DAT_RETURN ep_post_rdma_read(DAT_EP_HANDLE, DAT_COUNT, DAT_LMR_TRIPLET*, DAT_DTO_COOKIE,
                             const DAT_RMR_TRIPLET*, DAT_COMPLETION_FLAGS);
DAT_RETURN ep_post_rdma_read_to_rmr(DAT_EP_HANDLE, const DAT_RMR_TRIPLET*, DAT_DTO_COOKIE,
                                    const DAT_RMR_TRIPLET*, DAT_COMPLETION_FLAGS);
DAT_RETURN ep_post_rdma_write(DAT_EP_HANDLE, DAT_COUNT, DAT_LMR_TRIPLET*, DAT_DTO_COOKIE,
                              const DAT_RMR_TRIPLET*, DAT_COMPLETION_FLAGS);
DAT_RETURN ep_post_send_with_invalidate(DAT_EP_HANDLE, DAT_COUNT, DAT_LMR_TRIPLET*, DAT_DTO_COOKIE,
                                        DAT_COMPLETION_FLAGS, DAT_BOOLEAN, DAT_RMR_CONTEXT);
DAT_RETURN srq_post_recv(DAT_SRQ_HANDLE, DAT_COUNT, DAT_LMR_TRIPLET*, DAT_DTO_COOKIE);
// extension.cpp
DAT_RETURN handle_extendedop(DAT_HANDLE, DAT_EXTENDED_OP, va_list);

// events.cpp
DAT_RETURN evd_free(DAT_EVD_HANDLE);
DAT_RETURN evd_wait(DAT_EVD_HANDLE, DAT_TIMEOUT, DAT_COUNT, DAT_EVENT*, DAT_COUNT*);
DAT_RETURN evd_dequeue(DAT_EVD_HANDLE, DAT_EVENT*);
}  // namespace check::dat::entry
