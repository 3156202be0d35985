// SPDX-License-Identifier: BSD-2-Clause
#include "test/api/conformance/states.hpp"

namespace conformance {

DAT_RSP_HANDLE reserve(Rig& r, DAT_EP_HANDLE ep) {
    DAT_RSP_HANDLE rsp = DAT_HANDLE_NULL;
    succeed(dat_rsp_create(r.ia(), kQualifier, ep, r.side().requests, &rsp), "dat_rsp_create");
    return rsp;
}

DAT_EP_HANDLE unconnected(Rig& r) {
    return r.endpoint();
}

DAT_EP_HANDLE reserved(Rig& r) {
    const DAT_EP_HANDLE ep = r.endpoint();
    reserve(r, ep);
    return ep;
}

DAT_EP_HANDLE passive_pending(Rig& r) {
    r.client({});
    const DAT_EP_HANDLE ep = reserved(r);
    r.go();
    r.side().request();
    return ep;
}

DAT_EP_HANDLE tentative(Rig& r) {
    r.client({});
    DAT_PSP_HANDLE psp = DAT_HANDLE_NULL;
    succeed(dat_psp_create(r.ia(), kQualifier, r.side().requests, DAT_PSP_PROVIDER_FLAG, &psp),
            "dat_psp_create");
    r.go();
    DAT_CR_PARAM parameters{};
    succeed(dat_cr_query(r.side().request(), DAT_CR_FIELD_ALL, &parameters), "dat_cr_query");
    return parameters.local_ep_handle;
}

DAT_EP_HANDLE active_pending(Rig& r) {
    r.listener();
    const DAT_EP_HANDLE ep = r.endpoint();
    succeed(connect(ep), "dat_ep_connect");
    return ep;
}

DAT_EP_HANDLE connected(Rig& r) {
    return r.connected();
}

DAT_EP_HANDLE disconnected(Rig& r) {
    const DAT_EP_HANDLE ep = r.endpoint();
    succeed(connect(ep), "dat_ep_connect");
    Side::wait(r.side().connections, DAT_CONNECTION_EVENT_NON_PEER_REJECTED);
    return ep;
}

}  // namespace conformance
