// SPDX-License-Identifier: BSD-2-Clause
// dat_extension, the earlier proposal's entry point. Its transfers are tested in
// test/api/extension_test.
#include <dat2/dat_extensions.h>

#include "test/api/conformance/rig.hpp"
#include "test/api/conformance/row.hpp"

namespace conformance {
namespace {

DAT_RETURN post_receive(DAT_EP_HANDLE ep) {
    DAT_DTO_COOKIE cookie;
    cookie.as_64 = 1;
    return EXPORTED(dat_extension)(ep, DAT_EXT_RECV_IMMED, DAT_COUNT{0},
                                   static_cast<DAT_LMR_TRIPLET*>(nullptr), cookie,
                                   DAT_COMPLETION_DEFAULT_FLAG);
}

}  // namespace

Rows proposal_rows() {
    return {
        {"dat_extension/receive-on-a-fresh-endpoint", "0",
         [](Rig& r) { r << post_receive(r.side().endpoint()); }},
        {"dat_extension/ep-null", "0x8005000C",
         [](Rig& r) {
             r.ia();
             r << post_receive(nullptr);
         }},
        {"dat_extension/ep-other-kind", "0x8005000C",
         [](Rig& r) { r << post_receive(r.other_kind()); }},
        {"dat_extension/unknown-operation", "0xBFFF0000",
         [](Rig& r) {
             r << EXPORTED(dat_extension)(r.side().endpoint(), static_cast<DAT_EXT_OP>(4));
         }},
    };
}

}  // namespace conformance
