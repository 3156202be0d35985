// SPDX-License-Identifier: BSD-2-Clause
#include <rdma/rdma_cma.h>

#include "test/compat/fake_system.hpp"

namespace {
rdma_event_channel channel{77};
}

FAKE rdma_event_channel* rdma_create_event_channel() {
    note_call("rdma_create_event_channel");
    return &channel;
}

FAKE void rdma_destroy_event_channel(rdma_event_channel*) {
    note_call("rdma_destroy_event_channel");
}

FAKE int rdma_create_id(rdma_event_channel*, rdma_cm_id**, void*, rdma_port_space) {
    note_call("rdma_create_id");
    return -1;
}
