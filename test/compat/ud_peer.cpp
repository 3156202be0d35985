// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// One end of a conversation of datagram endpoints, on our libraries or the reference's: an
/// accepted request, a message each way, a request that is rejected with data. Prints one line for
/// each step. Frees nothing, since the reference frees address handles a second time when the
/// program has freed them.
///
/// usage: ud_peer IA QUALIFIER [ADDRESS]    with an address, runs as the client
#include <dat2/udat.h>
#include <unistd.h>
// The reference's header needs the types of verbs.
#include <infiniband/verbs.h>

#include <dat2/dat_ib_extensions.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "test/support/address_file.hpp"
#include "test/support/process.hpp"

namespace {

const DAT_TIMEOUT kPatienceUs = test::in_microseconds(test::kDeadline);
constexpr std::size_t kHeader = 40;
constexpr std::size_t kSize = 256;

void check(const char* name, DAT_RETURN code) {
    if (code == DAT_SUCCESS) return;
    std::printf("%s: 0x%08x\n", name, code);
    std::fflush(stdout);
    _exit(1);
}

struct End {
    DAT_IA_HANDLE ia = DAT_HANDLE_NULL;
    DAT_EVD_HANDLE async = DAT_HANDLE_NULL, requests = DAT_HANDLE_NULL;
    DAT_EVD_HANDLE connections = DAT_HANDLE_NULL, sends = DAT_HANDLE_NULL;
    DAT_EVD_HANDLE receives = DAT_HANDLE_NULL;
    DAT_PZ_HANDLE pz = DAT_HANDLE_NULL;
    DAT_EP_HANDLE ep = DAT_HANDLE_NULL;
    DAT_LMR_HANDLE lmr = DAT_HANDLE_NULL;
    DAT_LMR_CONTEXT key = 0;
    char memory[2 * kSize] = {};

    explicit End(char* name) {
        check("dat_ia_open", dat_ia_open(name, 8, &async, &ia));
        check("dat_pz_create", dat_pz_create(ia, &pz));
        for (const auto& [evd, flag] :
             {std::pair{&requests, DAT_EVD_CR_FLAG},
              std::pair{&connections, DAT_EVD_CONNECTION_FLAG}, std::pair{&sends, DAT_EVD_DTO_FLAG},
              std::pair{&receives, DAT_EVD_DTO_FLAG}})
            check("dat_evd_create", dat_evd_create(ia, 16, DAT_HANDLE_NULL, flag, evd));
        DAT_EP_ATTR attributes{};
        attributes.service_type = static_cast<DAT_SERVICE_TYPE>(DAT_IB_SERVICE_TYPE_UD);
        attributes.max_message_size = kSize;
        attributes.max_recv_dtos = attributes.max_request_dtos = 8;
        attributes.max_recv_iov = attributes.max_request_iov = 1;
        check("dat_ep_create",
              dat_ep_create(ia, pz, receives, sends, connections, &attributes, &ep));
        DAT_REGION_DESCRIPTION region{};
        region.for_va = memory;
        DAT_RMR_CONTEXT remote = 0;
        DAT_VLEN size = 0;
        DAT_VADDR address = 0;
        check("dat_lmr_create", dat_lmr_create(ia, DAT_MEM_TYPE_VIRTUAL, region, sizeof memory, pz,
                                               DAT_MEM_PRIV_ALL_FLAG, DAT_VA_TYPE_VA, &lmr, &key,
                                               &remote, &size, &address));
        DAT_LMR_TRIPLET local = part(0, kSize);
        check("dat_ib_post_recv_ud",
              dat_ib_post_recv_ud(ep, 1, &local, DAT_DTO_COOKIE{}, DAT_COMPLETION_DEFAULT_FLAG));
    }

    DAT_LMR_TRIPLET part(std::size_t start, std::size_t size) {
        DAT_LMR_TRIPLET triplet{};
        triplet.virtual_address = reinterpret_cast<DAT_VADDR>(memory + start);
        triplet.segment_length = static_cast<DAT_SEG_LENGTH>(size);
        triplet.lmr_context = key;
        return triplet;
    }
};

DAT_EVENT next(const char* what, DAT_EVD_HANDLE evd) {
    DAT_EVENT event{};
    DAT_COUNT more = 0;
    check(what, dat_evd_wait(evd, kPatienceUs, 1, &event, &more));
    return event;
}

DAT_IB_EXTENSION_EVENT_DATA extension_of(const DAT_EVENT& event) {
    DAT_IB_EXTENSION_EVENT_DATA extension;
    std::memcpy(&extension, event.event_extension_data, sizeof extension);
    return extension;
}

DAT_IB_ADDR_HANDLE outcome(End& end) {
    const DAT_EVENT event = next("connection event", end.connections);
    const auto& data = event.event_data.connect_event_data;
    const auto extension = extension_of(event);
    const bool is_established = static_cast<int>(event.event_number) ==
                                static_cast<int>(DAT_IB_UD_CONNECTION_EVENT_ESTABLISHED);
    std::printf("outcome: event 0x%x, type %d, data '%.*s'\n", event.event_number,
                is_established ? extension.type : -1, data.private_data_size,
                static_cast<const char*>(data.private_data));
    return extension.remote_ah;
}

void send(End& end, DAT_IB_ADDR_HANDLE to, const std::string& text) {
    text.copy(end.memory + kSize, text.size());
    DAT_LMR_TRIPLET local = end.part(kSize, text.size());
    check("dat_ib_post_send_ud", dat_ib_post_send_ud(end.ep, 1, &local, &to, DAT_DTO_COOKIE{},
                                                     DAT_COMPLETION_DEFAULT_FLAG));
    const DAT_EVENT event = next("send", end.sends);
    const auto& dto = event.event_data.dto_completion_event_data;
    std::printf("sent: event 0x%x, operation %d, type %d, status %d, %u bytes\n",
                event.event_number, static_cast<int>(dto.operation), extension_of(event).type,
                static_cast<int>(dto.status), dto.transfered_length);
}

void receive(End& end) {
    const DAT_EVENT event = next("receive", end.receives);
    const auto& dto = event.event_data.dto_completion_event_data;
    std::printf("received: event 0x%x, operation %d, type %d, status %d, %u bytes: %s\n",
                event.event_number, static_cast<int>(dto.operation), extension_of(event).type,
                static_cast<int>(dto.status), dto.transfered_length, end.memory + kHeader);
}

DAT_CR_HANDLE request(End& end) {
    const DAT_EVENT event = next("request", end.requests);
    const DAT_CR_HANDLE cr = event.event_data.cr_arrival_event_data.cr_handle;
    DAT_CR_PARAM parameters{};
    check("dat_cr_query", dat_cr_query(cr, DAT_CR_FIELD_ALL, &parameters));
    std::printf("request: event 0x%x, type %d, data '%.*s'\n", event.event_number,
                extension_of(event).type, parameters.private_data_size,
                static_cast<const char*>(parameters.private_data));
    return cr;
}

void serve(End& end, DAT_CONN_QUAL qualifier) {
    DAT_PSP_HANDLE psp = DAT_HANDLE_NULL;
    check("dat_psp_create",
          dat_psp_create(end.ia, qualifier, end.requests, DAT_PSP_CONSUMER_FLAG, &psp));
    if (!test::leave_address(end.ia)) _exit(2);
    std::printf("start: listening\n");
    std::fflush(stdout);
    char mine[] = "the server";
    check("dat_cr_accept", dat_cr_accept(request(end), end.ep, sizeof mine - 1, mine));
    const DAT_IB_ADDR_HANDLE to = outcome(end);
    receive(end);
    send(end, to, "from the server");
    char no[] = "not again";
    check("dat_cr_reject", dat_cr_reject(request(end), sizeof no - 1, no));
}

void ask(End& end, DAT_CONN_QUAL qualifier, const char* address) {
    sockaddr_storage peer;
    if (!test::find_server(address, peer)) _exit(2);
    char mine[] = "a client";
    for (const bool first : {true, false}) {
        check("dat_ep_connect", dat_ep_connect(end.ep, reinterpret_cast<DAT_IA_ADDRESS_PTR>(&peer),
                                               qualifier, kPatienceUs, sizeof mine - 1, mine,
                                               DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG));
        const DAT_IB_ADDR_HANDLE to = outcome(end);
        if (!first) return;
        send(end, to, "from the client");
        receive(end);
    }
}

}  // namespace

int main(int argc, char** argv) {
    if (argc < 3) return 2;
    static End end(argv[1]);
    const DAT_CONN_QUAL qualifier = std::strtoul(argv[2], nullptr, 10);
    if (argc > 3)
        ask(end, qualifier, argv[3]);
    else
        serve(end, qualifier);
    std::printf("end\n");
    std::fflush(stdout);
    _exit(0);
}
