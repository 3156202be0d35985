// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// A loop of transfers through DAT, to count the instructions of a transfer: post and dequeue, with
/// two endpoints of one process connected to each other. verbs_operations.cpp is the same without
/// DAT. Uses only the installed DAT headers.
///
/// `batch` posts 8 writes, of which only the last completes. `each` makes a write, a send and a
/// read, which a profiler distinguishes by their functions. `delayed` is a write on an endpoint
/// with the attribute delayed_ack, `read_back` one with its value of that name.
///
/// usage: dat_operations NAME ADDRESS write|send|read|add|batch|each|delayed|read_back COUNT
#include <arpa/inet.h>
#include <dat2/dat_ib_extensions.h>
#include <dat2/dat_trclvl.h>
#include <dat2/udat.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <initializer_list>
#include <memory>

#include "test/bench/answers.hpp"

namespace {

using Clock = std::chrono::steady_clock;

constexpr DAT_TIMEOUT kPatience = 60'000'000;  // microseconds
constexpr DAT_CONN_QUAL kQualifier = 45301;
constexpr DAT_SEG_LENGTH kBytes = 8;
constexpr int kBatch = 8;
constexpr std::size_t kMemory = 64;  // bytes; the second half is the target
constexpr auto kAllAndAtomic = static_cast<DAT_MEM_PRIV_FLAGS>(int{DAT_MEM_PRIV_ALL_FLAG} |
                                                               int{DAT_IB_MEM_PRIV_REMOTE_ATOMIC});

struct Loop {
    explicit Loop(const char* name) {
        DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
        succeed(dat_ia_open(const_cast<char*>(name), 8, &async, &ia), "dat_ia_open");
        succeed(dat_pz_create(ia, &pz), "dat_pz_create");
        connections = evd(DAT_EVD_CONNECTION_FLAG);
        requests = evd(DAT_EVD_CR_FLAG);
        transfers = evd(DAT_EVD_DTO_FLAG);
        for (DAT_EP_HANDLE* ep : {&active, &passive})
            succeed(dat_ep_create(ia, pz, transfers, transfers, connections, nullptr, ep),
                    "dat_ep_create");
        register_memory();
    }
    DAT_EVD_HANDLE evd(int flags) const {
        DAT_EVD_HANDLE made = DAT_HANDLE_NULL;
        succeed(dat_evd_create(ia, 64, DAT_HANDLE_NULL, static_cast<DAT_EVD_FLAGS>(flags), &made),
                "dat_evd_create");
        return made;
    }
    void register_memory() {
        DAT_REGION_DESCRIPTION region{};
        region.for_va = memory.get();
        DAT_VLEN size = 0;
        DAT_VADDR address = 0;
        DAT_LMR_HANDLE lmr = DAT_HANDLE_NULL;
        DAT_LMR_CONTEXT local_key = 0;
        succeed(
            dat_lmr_create(ia, DAT_MEM_TYPE_VIRTUAL, region, kMemory, pz, kAllAndAtomic,
                           DAT_VA_TYPE_VA, &lmr, &local_key, &remote.rmr_context, &size, &address),
            "dat_lmr_create");
        local.virtual_address = reinterpret_cast<DAT_VADDR>(memory.get());
        local.segment_length = kBytes;
        local.lmr_context = local_key;
        remote.virtual_address = local.virtual_address + kMemory / 2;
        remote.segment_length = kBytes;
    }
    void delay_acknowledgements(const char* value) const {
        DAT_NAMED_ATTR delayed{DAT_ATTR_DELAYED_ACK, value};
        DAT_EP_PARAM parameters{};
        parameters.ep_attr.ep_provider_specific = &delayed;
        parameters.ep_attr.ep_provider_specific_count = 1;
        succeed(dat_ep_modify(active, DAT_EP_FIELD_EP_ATTR_PROVIDER_SPECIFIC_ATTR, &parameters),
                "dat_ep_modify");
    }
    void connect(sockaddr_in self) {
        DAT_PSP_HANDLE psp = DAT_HANDLE_NULL;
        succeed(dat_psp_create(ia, kQualifier, requests, DAT_PSP_CONSUMER_FLAG, &psp),
                "dat_psp_create");
        succeed(
            dat_ep_connect(active, reinterpret_cast<DAT_IA_ADDRESS_PTR>(&self), kQualifier,
                           kPatience, 0, nullptr, DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG),
            "dat_ep_connect");
        const DAT_EVENT event =
            next(requests, DAT_CONNECTION_REQUEST_EVENT, "a request", kPatience);
        succeed(
            dat_cr_accept(event.event_data.cr_arrival_event_data.cr_handle, passive, 0, nullptr),
            "dat_cr_accept");
        for (int side = 0; side < 2; ++side)
            next(connections, DAT_CONNECTION_EVENT_ESTABLISHED, "established", kPatience);
    }
    void take_completion() const {
        DAT_EVENT event;
        while (dat_evd_dequeue(transfers, &event) != DAT_SUCCESS) continue;
        if (event.event_data.dto_completion_event_data.status == DAT_DTO_SUCCESS) return;
        std::fprintf(stderr, "dat_operations: a transfer failed\n");
        std::exit(1);
    }
    void post_write(DAT_COMPLETION_FLAGS flags) {
        succeed(dat_ep_post_rdma_write(active, 1, &local, DAT_DTO_COOKIE{}, &remote, flags),
                "dat_ep_post_rdma_write");
    }
    [[gnu::noinline]] void write() {
        post_write(DAT_COMPLETION_DEFAULT_FLAG);
        take_completion();
    }
    void batch() {
        for (int left = kBatch; --left > 0;) post_write(DAT_COMPLETION_SUPPRESS_FLAG);
        write();
    }
    [[gnu::noinline]] void read() {
        succeed(dat_ep_post_rdma_read(active, 1, &local, DAT_DTO_COOKIE{}, &remote,
                                      DAT_COMPLETION_DEFAULT_FLAG),
                "dat_ep_post_rdma_read");
        take_completion();
    }
    void each() {
        write();
        send();
        read();
    }
    void add() {
        succeed(dat_ib_post_fetch_and_add(active, 1, &local, DAT_DTO_COOKIE{}, &remote,
                                          DAT_COMPLETION_DEFAULT_FLAG),
                "dat_ib_post_fetch_and_add");
        take_completion();
    }
    [[gnu::noinline]] void send() {
        succeed(dat_ep_post_recv(passive, 1, &local, DAT_DTO_COOKIE{}, DAT_COMPLETION_DEFAULT_FLAG),
                "dat_ep_post_recv");
        succeed(dat_ep_post_send(active, 1, &local, DAT_DTO_COOKIE{}, DAT_COMPLETION_DEFAULT_FLAG),
                "dat_ep_post_send");
        take_completion();
        take_completion();
    }

    // On the heap, so that a preloaded heap determines the kind of memory.
    std::unique_ptr<std::uint64_t[]> memory = std::make_unique<std::uint64_t[]>(kMemory / 8);
    DAT_IA_HANDLE ia = DAT_HANDLE_NULL;
    DAT_PZ_HANDLE pz = DAT_HANDLE_NULL;
    DAT_EVD_HANDLE connections, requests, transfers;
    DAT_EP_HANDLE active = DAT_HANDLE_NULL;
    DAT_EP_HANDLE passive = DAT_HANDLE_NULL;
    DAT_LMR_TRIPLET local{};
    DAT_RMR_TRIPLET remote{};
};

const struct {
    const char* name;
    void (Loop::*operation)();
} kOperations[] = {{"write", &Loop::write},   {"send", &Loop::send},      {"read", &Loop::read},
                   {"add", &Loop::add},       {"batch", &Loop::batch},    {"each", &Loop::each},
                   {"delayed", &Loop::write}, {"read_back", &Loop::write}};

}  // namespace

int main(int argc, char** argv) {
    sockaddr_in self{};
    self.sin_family = AF_INET;
    void (Loop::*operation)() = nullptr;
    for (const auto& known : kOperations)
        if (argc == 5 && std::strcmp(argv[3], known.name) == 0) operation = known.operation;
    if (!operation || inet_pton(AF_INET, argv[2], &self.sin_addr) != 1) {
        std::fprintf(stderr,
                     "usage: dat_operations NAME ADDRESS "
                     "write|send|read|add|batch|each|delayed|read_back COUNT\n");
        return 2;
    }
    Loop loop(argv[1]);
    if (std::strcmp(argv[3], "delayed") == 0) loop.delay_acknowledgements("true");
    if (std::strcmp(argv[3], "read_back") == 0) loop.delay_acknowledgements("read_back");
    loop.connect(self);
    const int count = std::atoi(argv[4]);
    const Clock::time_point begin = Clock::now();
    for (int left = count; left > 0; --left) (loop.*operation)();
    const std::chrono::duration<double, std::nano> took = Clock::now() - begin;
    std::printf("ns %.2f\n", took.count() / count);
    succeed(dat_ia_close(loop.ia, DAT_CLOSE_ABRUPT_FLAG), "dat_ia_close");
    return 0;
}
