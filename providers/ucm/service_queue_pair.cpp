// SPDX-License-Identifier: BSD-2-Clause
#include "providers/ucm/service_queue_pair.hpp"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <thread>

#include "dapl/cm/failure.hpp"
#include "providers/exchange/path.hpp"
#include "support/log/log.hpp"

namespace dapl::ucm {
namespace {

constexpr std::size_t kRoutingHeader = 40;  ///< the room for a GRH in front of a received message
constexpr std::chrono::milliseconds kLastSends{20};
constexpr int kCompletionsAtOnce = 16;

}  // namespace

support::Result<std::unique_ptr<ServiceQueuePair>> ServiceQueuePair::open(std::string_view ia_name,
                                                                          ibv_context* context,
                                                                          std::uint8_t port,
                                                                          std::size_t entries) {
    std::unique_ptr<ServiceQueuePair> made(new ServiceQueuePair);
    const char* const refused = made->make(context, port, entries);
    if (!refused) return made;
    const int error = errno;
    support::report<support::kNoServiceQueuePair>(ia_name, ibv_get_device_name(context->device),
                                                  refused, cm::text_of_error(error), entries);
    return cm::system_failure(error, refused);
}

const char* ServiceQueuePair::make(ibv_context* context, std::uint8_t port, std::size_t entries) {
    const int count = static_cast<int>(entries);
    entries_ = entries;
    domain_.reset(ibv_alloc_pd(context));
    if (!domain_) return "its protection domain";
    channel_.reset(ibv_create_comp_channel(context));
    if (!channel_ || fcntl(channel_->fd, F_SETFL, O_NONBLOCK) != 0) return "its completion channel";
    sent_.reset(ibv_create_cq(context, count, nullptr, nullptr, 0));
    received_.reset(ibv_create_cq(context, count, nullptr, channel_.get(), 0));
    if (!sent_ || !received_) return "its completion queues";
    handles_.resize(entries);
    buffers_.resize(2 * entries * kBufferSize);
    const int access = IBV_ACCESS_LOCAL_WRITE;  // a variable: ibv_reg_mr is a macro over constants
    region_.reset(ibv_reg_mr(domain_.get(), buffers_.data(), buffers_.size(), access));
    if (!region_) return "its memory region";
    ibv_qp_init_attr wanted{};
    wanted.qp_type = IBV_QPT_UD;
    wanted.send_cq = sent_.get();
    wanted.recv_cq = received_.get();
    wanted.cap = {static_cast<std::uint32_t>(count), static_cast<std::uint32_t>(count), 1, 1, 0};
    wanted.sq_sig_all = 1;
    queue_pair_.reset(ibv_create_qp(domain_.get(), &wanted));
    if (!queue_pair_) return "the queue pair";
    errno = start(port);
    return errno == 0 ? nullptr : "to start the queue pair";
}

/// The P_Key is the port's first, whatever DAPL_IB_PKEY says: part of the wire contract.
int ServiceQueuePair::start(std::uint8_t port) {
    ibv_qp_attr attributes{};
    attributes.qp_state = IBV_QPS_INIT;
    attributes.port_num = port;
    attributes.qkey = exchange::kQueueKey;
    if (const int error =
            ibv_modify_qp(queue_pair_.get(), &attributes,
                          IBV_QP_STATE | IBV_QP_PORT | IBV_QP_PKEY_INDEX | IBV_QP_QKEY))
        return error;
    for (std::size_t index = 0; index < entries_; ++index)
        if (const int error = post_receive(index)) return error;
    if (ibv_req_notify_cq(received_.get(), 0) != 0) return EIO;
    attributes = {};
    attributes.qp_state = IBV_QPS_RTR;
    if (const int error = ibv_modify_qp(queue_pair_.get(), &attributes, IBV_QP_STATE)) return error;
    attributes.qp_state = IBV_QPS_RTS;
    attributes.sq_psn = 1;
    return ibv_modify_qp(queue_pair_.get(), &attributes, IBV_QP_STATE | IBV_QP_SQ_PSN);
}

ServiceQueuePair::~ServiceQueuePair() {
    if (!queue_pair_) return;
    const auto deadline = std::chrono::steady_clock::now() + kLastSends;
    for (finish_sends(); finished_sends_ != next_send_; finish_sends()) {
        if (std::chrono::steady_clock::now() > deadline) return;
        std::this_thread::yield();
    }
}

int ServiceQueuePair::post_receive(std::size_t index) {
    ibv_sge place{reinterpret_cast<std::uintptr_t>(buffer(index)), kBufferSize, region_->lkey};
    ibv_recv_wr request{index, nullptr, &place, 1};
    ibv_recv_wr* refused = nullptr;
    return ibv_post_recv(queue_pair_.get(), &request, &refused);
}

void ServiceQueuePair::arm() {
    ibv_cq* queue = nullptr;
    void* context = nullptr;
    while (ibv_get_cq_event(channel_.get(), &queue, &context) == 0) ibv_ack_cq_events(queue, 1);
    ibv_req_notify_cq(received_.get(), 0);
}

/// A failed send leaves an unreliable queue pair in SQE, from which it returns to RTS.
void ServiceQueuePair::finish_sends() {
    std::array<ibv_wc, kCompletionsAtOnce> completions;
    bool has_failed = false;
    for (;;) {
        const int count = ibv_poll_cq(sent_.get(), kCompletionsAtOnce, completions.data());
        if (count <= 0) break;
        for (const ibv_wc& completion :
             std::span(completions).first(static_cast<std::size_t>(count))) {
            has_failed |= completion.status != IBV_WC_SUCCESS;
            handles_[finished_sends_++ % entries_].reset();
        }
    }
    if (!has_failed) return;
    ibv_qp_attr attributes{};
    attributes.qp_state = IBV_QPS_RTS;
    ibv_modify_qp(queue_pair_.get(), &attributes, IBV_QP_STATE);
}

bool ServiceQueuePair::send(std::span<const std::byte> message, SharedHandle to,
                            std::uint32_t queue_pair) {
    finish_sends();
    if (next_send_ - finished_sends_ == entries_) return false;
    const std::size_t slot = next_send_ % entries_;
    std::byte* const place = buffer(entries_ + slot);
    std::ranges::copy(message, place);
    ibv_sge from{reinterpret_cast<std::uintptr_t>(place),
                 static_cast<std::uint32_t>(message.size()), region_->lkey};
    ibv_send_wr request{};
    request.sg_list = &from;
    request.num_sge = 1;
    request.opcode = IBV_WR_SEND;
    request.wr.ud.ah = to.get();
    request.wr.ud.remote_qpn = queue_pair;
    request.wr.ud.remote_qkey = exchange::kQueueKey;
    ibv_send_wr* refused = nullptr;
    if (ibv_post_send(queue_pair_.get(), &request, &refused) != 0) return false;
    handles_[slot] = std::move(to);
    ++next_send_;
    return true;
}

bool ServiceQueuePair::receive(Datagram& datagram) {
    ibv_wc completion;
    while (ibv_poll_cq(received_.get(), 1, &completion) == 1) {
        const std::size_t index = completion.wr_id;
        const bool is_good = completion.status == IBV_WC_SUCCESS &&
                             completion.byte_len >= kRoutingHeader &&
                             completion.byte_len <= kBufferSize;
        if (is_good) {
            datagram.size = completion.byte_len - kRoutingHeader;
            datagram.sender = completion.src_qp;
            std::copy_n(buffer(index) + kRoutingHeader, datagram.size, datagram.bytes.begin());
        }
        if (completion.status == IBV_WC_WR_FLUSH_ERR) return false;
        post_receive(index);
        if (is_good) return true;
    }
    return false;
}

}  // namespace dapl::ucm
