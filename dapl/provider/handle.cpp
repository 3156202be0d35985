// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The functions that accept a handle of any kind.
#include <dat2/dat_iw_extensions.h>
#include <dat2/dat_reg_extensions.h>

#include <atomic>

#include "dapl/base/codes.hpp"
#include "dapl/base/object.hpp"
#include "dapl/provider/entry.hpp"

namespace dapl::entry {
namespace {

/// In the order of Kind.
constexpr DAT_HANDLE_TYPE kHandleTypes[kKinds] = {
    DAT_HANDLE_TYPE_IA,
    DAT_HANDLE_TYPE_PZ,
    DAT_HANDLE_TYPE_LMR,
    DAT_HANDLE_TYPE_EVD,
    DAT_HANDLE_TYPE_CNO,
    DAT_HANDLE_TYPE_EP,
    DAT_HANDLE_TYPE_PSP,
    DAT_HANDLE_TYPE_RSP,
    DAT_HANDLE_TYPE_CR,
    DAT_HANDLE_TYPE_SRQ,
    DAT_HANDLE_TYPE_CSP,
    DAT_HANDLE_TYPE_RMR,
    static_cast<DAT_HANDLE_TYPE>(DAT_IW_HANDLE_TYPE_SSP),
    static_cast<DAT_HANDLE_TYPE>(DAT_REG_HANDLE_TYPE_BRACKET)};

/// @return the consumer's context as an atomic: threads may set and get it at the same time.
std::atomic_ref<DAT_UINT64> word_of(Header& header) {
    return std::atomic_ref<DAT_UINT64>(header.context.as_64);
}

}  // namespace

DAT_RETURN set_consumer_context(DAT_HANDLE handle, DAT_CONTEXT context) {
    Header* header = live_header(handle);
    if (!header) return error(DAT_INVALID_HANDLE);
    word_of(*header).store(context.as_64);
    return DAT_SUCCESS;
}

DAT_RETURN get_consumer_context(DAT_HANDLE handle, DAT_CONTEXT* context) {
    Header* header = live_header(handle);
    if (!header) return error(DAT_INVALID_HANDLE);
    if (!context) return bad_argument(2);
    context->as_64 = word_of(*header).load();
    return DAT_SUCCESS;
}

DAT_RETURN get_handle_type(DAT_HANDLE handle, DAT_HANDLE_TYPE* type) {
    const Header* header = live_header(handle);
    if (!header) return error(DAT_INVALID_HANDLE);
    if (!type) return bad_argument(2);
    *type = kHandleTypes[header->kind_tag.load(std::memory_order_relaxed) - kKindTags];
    return DAT_SUCCESS;
}

}  // namespace dapl::entry
