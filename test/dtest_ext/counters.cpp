// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Counters of IAs, endpoints and EVDs.
#include <cstdio>

#include "test/dtest_ext/immediate.hpp"
#include "tools/common/failure.hpp"

namespace dtest_ext {

using namespace tools;

namespace {

constexpr unsigned kSends = 3;

std::string lacks_counters(const Context& context) {
    std::uint64_t counters[DCNT_IA_ALL_COUNTERS] = {};
    const DAT_RETURN code =
        dat_ib_query_counters(context.device.ia(), DCNT_IA_ALL_COUNTERS, counters, 0);
    if (DAT_GET_TYPE(code) == DAT_GET_TYPE(DAT_NOT_IMPLEMENTED) &&
        !context.device.says(DAT_IB_ATTR_COUNTERS))
        return "dat_ib_query_counters answers DAT_NOT_IMPLEMENTED";
    require_success(code, "dat_ib_query_counters", kFault);
    return "";
}

std::string lacks_extension_counters(const Context& context) {
    const std::string lacks = lacks_counters(context) + lacks_immediate(context);
    if (!lacks.empty() || context.device.says(DAT_IB_ATTR_FETCH_AND_ADD)) return lacks;
    return "DAT_IB_FETCH_AND_ADD is not TRUE";
}

std::uint64_t counter(DAT_HANDLE handle, int which, bool reset = false) {
    std::uint64_t value = ~std::uint64_t{0};
    require_success(dat_ib_query_counters(handle, which, &value, reset), "dat_ib_query_counters",
                    kFault);
    return value;
}

void require_counter(DAT_HANDLE handle, int which, const char* name, std::uint64_t expected) {
    const std::uint64_t found = counter(handle, which);
    if (found == expected) return;
    throw Failure(name, format("%llu", static_cast<unsigned long long>(found)),
                  format("%llu", static_cast<unsigned long long>(expected)), kFault);
}

std::string check_endpoint(const Context& context) {
    const std::uint32_t size = context.options.size;
    Connection connection(context);
    connection.connect(kSends);
    for (unsigned i = 0; i < kSends; ++i) {
        post_send(context, connection, size, i);
        take_send(context, connection, size, i);
    }
    const DAT_EP_HANDLE ep = connection.ep();
    require_counter(ep, DCNT_EP_POST_SEND, "DCNT_EP_POST_SEND", kSends);
    require_counter(ep, DCNT_EP_POST_SEND_DATA, "DCNT_EP_POST_SEND_DATA",
                    std::uint64_t{kSends} * size);
    require_counter(ep, DCNT_EP_POST_RECV, "DCNT_EP_POST_RECV", kSends);
    require_counter(ep, DCNT_EP_RECV, "DCNT_EP_RECV", kSends);
    require_counter(ep, DCNT_EP_RECV_DATA, "DCNT_EP_RECV_DATA", std::uint64_t{kSends} * size);
    std::uint64_t all[DCNT_EP_ALL_COUNTERS] = {};
    require_success(dat_ib_query_counters(ep, DCNT_EP_ALL_COUNTERS, all, 1),
                    "dat_ib_query_counters", kFault);
    if (all[DCNT_EP_POST_SEND] != kSends) {
        throw Failure("DCNT_EP_POST_SEND among all counters",
                      format("%llu", static_cast<unsigned long long>(all[DCNT_EP_POST_SEND])),
                      format("%u", kSends), kFault);
    }
    require_counter(ep, DCNT_EP_POST_SEND, "DCNT_EP_POST_SEND after a reset", 0);
    connection.close();
    return format(
        "%u sends of %u bytes each way counted on both sides, one by one and all at once; "
        "a reset sets them to 0",
        kSends, size);
}

std::string check_extensions(const Context& context) {
    const std::uint32_t size = context.options.size;
    Connection connection(context);
    mark(context.device.receive.at(0), context.device.slot_bytes());
    connection.connect(1);
    const DAT_EP_HANDLE ep = connection.ep();
    post_write_immediate(context, connection, size, 0);
    take_write_immediate(context, connection, size, 0);
    context.other.exchange("written");
    DAT_LMR_TRIPLET segment = context.device.source.segment(0, 8);
    DAT_RMR_TRIPLET remote = connection.remote(0, 8);
    require_success(dat_ib_post_fetch_and_add(ep, 1, &segment, make_cookie(1), &remote,
                                              DAT_COMPLETION_DEFAULT_FLAG),
                    "dat_ib_post_fetch_and_add", kFault);
    connection.request_event("completion of a fetch and add");
    require_counter(ep, DCNT_EP_POST_WRITE_IMM, "DCNT_EP_POST_WRITE_IMM", 1);
    require_counter(ep, DCNT_EP_POST_WRITE_IMM_DATA, "DCNT_EP_POST_WRITE_IMM_DATA", size);
    require_counter(ep, DCNT_EP_POST_FETCH_ADD, "DCNT_EP_POST_FETCH_ADD", 1);
    require_counter(ep, DCNT_EP_POST_CMP_SWAP, "DCNT_EP_POST_CMP_SWAP", 0);
    require_counter(ep, DCNT_EP_RECV_RDMA_IMM, "DCNT_EP_RECV_RDMA_IMM", 1);
    require_counter(ep, DCNT_EP_RECV_RDMA_IMM_DATA, "DCNT_EP_RECV_RDMA_IMM_DATA", size);
    require_counter(ep, DCNT_EP_POST_SEND, "DCNT_EP_POST_SEND", 0);
    connection.close();
    return "a write with immediate data and a fetch and add each way, each counted as what it is";
}

std::string check_adapter(const Context& context) {
    const DAT_IA_HANDLE ia = context.device.ia();
    const std::uint64_t before = counter(ia, DCNT_IA_EVD_CREATE);
    const DAT_EVD_HANDLE evd = context.device.create_evd(DAT_EVD_SOFTWARE_FLAG, 8);
    require_counter(ia, DCNT_IA_EVD_CREATE, "DCNT_IA_EVD_CREATE", before + 1);
    DAT_EVENT event;
    if (dat_evd_dequeue(evd, &event) == DAT_SUCCESS)
        throw Failure("dat_evd_dequeue", "an event", "none", kFault);
    require_counter(evd, DCNT_EVD_DEQUEUE, "DCNT_EVD_DEQUEUE", 1);
    require_counter(evd, DCNT_EVD_DEQUEUE_NOT_FOUND, "DCNT_EVD_DEQUEUE_NOT_FOUND", 1);
    std::uint64_t value = 0;
    require_refusal(dat_ib_query_counters(evd, DCNT_EVD_ALL_COUNTERS + 1, &value, 0),
                    "dat_ib_query_counters", DAT_INVALID_PARAMETER);
    require_success(dat_evd_free(evd), "dat_evd_free", kFault);
    return "an EVD made is counted by the IA, a look into it by the EVD";
}

/// @return whether the device has counters of this group.
bool start_and_stop(const Context& context, DAT_IA_COUNTER_TYPE group) {
    const DAT_RETURN started = dat_ib_start_counter(context.device.ia(), group);
    const bool has = started == DAT_SUCCESS;
    if (has) {
        require_success(dat_ib_stop_counter(context.device.ia(), group), "dat_ib_stop_counter",
                        kFault);
    } else {
        require_refusal(started, "dat_ib_start_counter", DAT_MODEL_NOT_SUPPORTED);
    }
    return has;
}

std::string check_groups(const Context& context) {
    if (!start_and_stop(context, DCNT_IA_CM))
        throw Failure("dat_ib_start_counter", "none of connections", "some", kFault);
    const bool link = start_and_stop(context, DCNT_IA_LNK);
    const bool diagnostic = start_and_stop(context, DCNT_IA_DIAG);
    return format("those of connections start and stop; of the link %s, of diagnosis %s",
                  link ? "too" : "there are none", diagnostic ? "too" : "there are none");
}

}  // namespace

void print_counters(const Context& context) {
    const std::string lacks = lacks_counters(context);
    if (!lacks.empty()) {
        std::printf("counters: not available: %s\n", lacks.c_str());
        return;
    }
    std::fflush(stdout);
    require_success(dat_ib_print_counters(context.device.ia(), DCNT_IA_ALL_COUNTERS, 0),
                    "dat_ib_print_counters", kFault);
}

const std::vector<Check> kCounterChecks = {
    {"counters of an endpoint", lacks_counters, check_endpoint},
    {"counters of immediate data and atomics", lacks_extension_counters, check_extensions},
    {"counters of an IA and an EVD", lacks_counters, check_adapter},
    {"groups of counters", lacks_counters, check_groups},
};

}  // namespace dtest_ext
