// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Counters of IAs, endpoints and EVDs.
#include <cstdio>

#include "dat/tools/failure.hpp"
#include "test/dtest_ext/immediate.hpp"

namespace dtest_ext {

using namespace tools;

namespace {

constexpr unsigned kSends = 3;

std::string lacks_counters(const Context& context) {
    std::uint64_t counters[DCNT_IA_ALL_COUNTERS] = {};
    const DAT_RETURN code =
        dat_ib_query_counters(context.device.ia(), DCNT_IA_ALL_COUNTERS, counters, 0);
    if (DAT_GET_TYPE(code) == DAT_GET_TYPE(DAT_NOT_IMPLEMENTED))
        return "dat_ib_query_counters answers DAT_NOT_IMPLEMENTED";
    require_success(code, "dat_ib_query_counters", kFault);
    return "";
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
    require_success(dat_evd_free(evd), "dat_evd_free", kFault);
    return "an EVD made is counted by the IA, a look into it by the EVD";
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
    {"counters of an IA and an EVD", lacks_counters, check_adapter},
};

}  // namespace dtest_ext
