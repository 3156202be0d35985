// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The loop of dat_operations.cpp with verbs only: what a transfer costs below DAT. Uses only
/// rdma-core's public headers.
///
/// usage: verbs_operations write|send|read|add|batch|each COUNT [DEVICE GID_INDEX]
/// Without a device it uses the first one, and addresses peers by LID.
#include <infiniband/verbs.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::uint32_t kBytes = 8;
constexpr int kEntries = 64;
constexpr int kBatch = 8;
constexpr std::size_t kMemory = 64;  // bytes; the second half is the target
constexpr int kAccess = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |
                        IBV_ACCESS_REMOTE_ATOMIC;

void require(bool good, const char* what) {
    if (good) return;
    std::fprintf(stderr, "verbs_operations: %s failed\n", what);
    std::exit(1);
}

struct Loop {
    /// @param device null for the first one. @param gid_index negative to address by LID.
    Loop(const char* device, int gid_index) : gid_index(gid_index) {
        ibv_device** devices = ibv_get_device_list(nullptr);
        require(devices, "ibv_get_device_list");
        ibv_device** found = devices;
        while (device && *found && std::strcmp(ibv_get_device_name(*found), device) != 0) ++found;
        require(*found, "finding the device");
        context = ibv_open_device(*found);
        require(context, "ibv_open_device");
        ibv_free_device_list(devices);
        domain = ibv_alloc_pd(context);
        queue = ibv_create_cq(context, kEntries, nullptr, nullptr, 0);
        region = ibv_reg_mr(domain, memory.get(), kMemory, kAccess);
        require(domain && queue && region, "the first objects");
        active = make_queue_pair();
        passive = make_queue_pair();
        connect(active, passive->qp_num);
        connect(passive, active->qp_num);
        local.addr = reinterpret_cast<std::uintptr_t>(memory.get());
        local.length = kBytes;
        local.lkey = region->lkey;
    }
    ~Loop() {
        ibv_destroy_qp(active);
        ibv_destroy_qp(passive);
        ibv_dereg_mr(region);
        ibv_destroy_cq(queue);
        ibv_dealloc_pd(domain);
        ibv_close_device(context);
    }
    Loop(const Loop&) = delete;
    Loop& operator=(const Loop&) = delete;

    ibv_qp* make_queue_pair() const {
        ibv_qp_init_attr attributes{};
        attributes.send_cq = attributes.recv_cq = queue;
        attributes.qp_type = IBV_QPT_RC;
        attributes.cap = {16, 16, 4, 4, 64};
        ibv_qp* made = ibv_create_qp(domain, &attributes);
        require(made, "ibv_create_qp");
        return made;
    }
    void connect(ibv_qp* qp, std::uint32_t peer) const {
        ibv_port_attr port{};
        require(ibv_query_port(context, 1, &port) == 0, "ibv_query_port");
        ibv_qp_attr attributes{};
        attributes.qp_state = IBV_QPS_INIT;
        attributes.port_num = 1;
        attributes.qp_access_flags = kAccess;
        require(ibv_modify_qp(
                    qp, &attributes,
                    IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS) == 0,
                "the initial state");
        attributes = {};
        attributes.qp_state = IBV_QPS_RTR;
        attributes.ah_attr.dlid = port.lid;
        if (gid_index >= 0) {
            attributes.ah_attr.is_global = 1;
            attributes.ah_attr.grh.sgid_index = static_cast<std::uint8_t>(gid_index);
            attributes.ah_attr.grh.hop_limit = 64;
            require(ibv_query_gid(context, 1, gid_index, &attributes.ah_attr.grh.dgid) == 0,
                    "ibv_query_gid");
        }
        attributes.ah_attr.port_num = 1;
        attributes.path_mtu = port.active_mtu;
        attributes.min_rnr_timer = 12;
        attributes.dest_qp_num = peer;
        attributes.max_dest_rd_atomic = 1;
        require(ibv_modify_qp(qp, &attributes,
                              IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
                                  IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
                                  IBV_QP_MIN_RNR_TIMER) == 0,
                "ready to receive");
        attributes = {};
        attributes.qp_state = IBV_QPS_RTS;
        attributes.timeout = 18;
        attributes.retry_cnt = attributes.rnr_retry = 7;
        attributes.max_rd_atomic = 1;
        require(ibv_modify_qp(qp, &attributes,
                              IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
                                  IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC) == 0,
                "ready to send");
    }
    void take_completion() const {
        ibv_wc completion;
        while (ibv_poll_cq(queue, 1, &completion) == 0) continue;
        require(completion.status == IBV_WC_SUCCESS, "a transfer");
    }
    void post(ibv_wr_opcode opcode, unsigned flags) {
        ibv_send_wr request{};
        ibv_send_wr* bad = nullptr;
        request.sg_list = &local;
        request.num_sge = 1;
        request.opcode = opcode;
        request.send_flags = flags;
        request.wr.rdma.remote_addr = local.addr + kMemory / 2;
        request.wr.rdma.rkey = region->rkey;
        require(ibv_post_send(active, &request, &bad) == 0, "ibv_post_send");
    }
    [[gnu::noinline]] void write() {
        post(IBV_WR_RDMA_WRITE, IBV_SEND_SIGNALED | IBV_SEND_INLINE);
        take_completion();
    }
    void batch() {
        for (int left = kBatch; --left > 0;) post(IBV_WR_RDMA_WRITE, IBV_SEND_INLINE);
        write();
    }
    [[gnu::noinline]] void read() {
        post(IBV_WR_RDMA_READ, IBV_SEND_SIGNALED);
        take_completion();
    }
    void each() {
        write();
        send();
        read();
    }
    void add() {
        ibv_send_wr request{};
        ibv_send_wr* bad = nullptr;
        request.sg_list = &local;
        request.num_sge = 1;
        request.opcode = IBV_WR_ATOMIC_FETCH_AND_ADD;
        request.send_flags = IBV_SEND_SIGNALED;
        request.wr.atomic.remote_addr = local.addr + kMemory / 2;
        request.wr.atomic.rkey = region->rkey;
        request.wr.atomic.compare_add = 1;
        require(ibv_post_send(active, &request, &bad) == 0, "ibv_post_send");
        take_completion();
    }
    [[gnu::noinline]] void send() {
        ibv_recv_wr receive{};
        ibv_recv_wr* bad = nullptr;
        receive.sg_list = &local;
        receive.num_sge = 1;
        require(ibv_post_recv(passive, &receive, &bad) == 0, "ibv_post_recv");
        post(IBV_WR_SEND, IBV_SEND_SIGNALED | IBV_SEND_INLINE);
        take_completion();
        take_completion();
    }

    // On the heap, so that a preloaded heap determines the kind of memory.
    std::unique_ptr<std::uint64_t[]> memory = std::make_unique<std::uint64_t[]>(kMemory / 8);
    int gid_index;
    ibv_context* context = nullptr;
    ibv_pd* domain = nullptr;
    ibv_cq* queue = nullptr;
    ibv_mr* region = nullptr;
    ibv_qp* active = nullptr;
    ibv_qp* passive = nullptr;
    ibv_sge local{};
};

const struct {
    const char* name;
    void (Loop::*operation)();
} kOperations[] = {{"write", &Loop::write}, {"send", &Loop::send},   {"read", &Loop::read},
                   {"add", &Loop::add},     {"batch", &Loop::batch}, {"each", &Loop::each}};

}  // namespace

int main(int argc, char** argv) {
    void (Loop::*operation)() = nullptr;
    for (const auto& known : kOperations)
        if ((argc == 3 || argc == 5) && std::strcmp(argv[1], known.name) == 0)
            operation = known.operation;
    if (!operation) {
        std::fprintf(
            stderr,
            "usage: verbs_operations write|send|read|add|batch|each COUNT [DEVICE GID_INDEX]\n");
        return 2;
    }
    Loop loop(argc == 5 ? argv[3] : nullptr, argc == 5 ? std::atoi(argv[4]) : -1);
    const int count = std::atoi(argv[2]);
    const Clock::time_point begin = Clock::now();
    for (int left = count; left > 0; --left) (loop.*operation)();
    const std::chrono::duration<double, std::nano> took = Clock::now() - begin;
    std::printf("ns %.2f\n", took.count() / count);
    return 0;
}
