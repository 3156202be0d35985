// SPDX-License-Identifier: BSD-2-Clause
#include "providers/soft/softverbs/verbs/send_builder.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace softverbs {

int SendBuilder::allocate(const ibv_qp_cap& capabilities) {
    max_requests_ = capabilities.max_send_wr;
    max_segments_ = capabilities.max_send_sge;
    max_inline_ = capabilities.max_inline_data;
    const std::size_t data =
        std::max(max_segments_ * sizeof(ibv_sge), sizeof(ibv_sge) + max_inline_);
    stride_ = static_cast<std::uint32_t>((sizeof(ibv_send_wr) + data + 63) / 64 * 64);
    return pages_.allocate((std::size_t{max_requests_} + 1) * stride_);
}

ibv_send_wr& SendBuilder::request(std::uint32_t index) const {
    return *reinterpret_cast<ibv_send_wr*>(pages_.get() + std::size_t{index} * stride_);
}

void SendBuilder::begin() {
    mutex_.lock();
    begin_alone();
}

void SendBuilder::begin_alone() {
    count_ = current_ = 0;
    cause_ = 0;
}

void SendBuilder::fail(int cause) {
    if (cause_ == 0) cause_ = cause;
}

ibv_send_wr& SendBuilder::add(ibv_wr_opcode opcode, std::uint64_t wr_id, unsigned flags) {
    current_ = count_;
    if (count_ == max_requests_) {
        fail(ENOMEM);
    } else {
        if (count_ != 0) request(count_ - 1).next = &request(count_);
        ++count_;
    }
    ibv_send_wr& added = current();
    added = {};
    added.wr_id = wr_id;
    added.opcode = opcode;
    added.send_flags = flags & ~static_cast<unsigned>(IBV_SEND_INLINE);
    return added;
}

void SendBuilder::set_segments(const ibv_sge* segments, std::size_t count) {
    if (count > max_segments_) return fail(EINVAL);
    ibv_send_wr& wr = current();
    wr.sg_list = reinterpret_cast<ibv_sge*>(&wr + 1);
    wr.num_sge = static_cast<int>(count);
    if (count != 0) std::memcpy(wr.sg_list, segments, count * sizeof(ibv_sge));
}

void SendBuilder::set_inline(const ibv_data_buf* buffers, std::size_t count) {
    ibv_send_wr& wr = current();
    auto* const segment = reinterpret_cast<ibv_sge*>(&wr + 1);
    auto* const data = reinterpret_cast<std::byte*>(segment + 1);
    std::size_t length = 0;
    for (std::size_t i = 0; i < count; ++i) {
        if (buffers[i].length > max_inline_ - length) return fail(EINVAL);
        if (buffers[i].length != 0) std::memcpy(data + length, buffers[i].addr, buffers[i].length);
        length += buffers[i].length;
    }
    *segment = {reinterpret_cast<std::uintptr_t>(data), static_cast<std::uint32_t>(length), 0};
    wr.sg_list = segment;
    wr.num_sge = length != 0 ? 1 : 0;
    wr.send_flags |= IBV_SEND_INLINE;
}

}  // namespace softverbs
