// SPDX-License-Identifier: BSD-2-Clause
#include "dapl/memory/read_sink.hpp"

#include <cerrno>
#include <cstdint>

#include "dapl/adapter/ia.hpp"
#include "dapl/adapter/refusal.hpp"

namespace dapl {
namespace {

constexpr std::size_t kSize = 4096;

}  // namespace

void ReadSink::GiveBack::operator()(void* pages) const {
    ia->provided_memory.free(pages);
}

support::Result<std::unique_ptr<ReadSink>> ReadSink::make(Ia& ia, ibv_pd* domain) {
    void* provided = nullptr;
    const DAT_RETURN code = ia.provided_memory.allocate(kSize, &provided);
    if (code != DAT_SUCCESS) return support::failure(code, "no memory for reads");
    Pages pages(provided, {&ia});
    // On iWARP the answer to a read is a write of the peer.
    const int access = IBV_ACCESS_LOCAL_WRITE | (ia.is_infiniband() ? 0 : IBV_ACCESS_REMOTE_WRITE);
    verbs::MemoryRegion region(ibv_reg_mr(domain, provided, kSize, access));
    if (!region) return refused_by_device(ia, errno, "a registration of memory for reads");
    return std::unique_ptr<ReadSink>(new ReadSink(std::move(pages), std::move(region)));
}

ibv_sge ReadSink::byte() const {
    return {reinterpret_cast<std::uintptr_t>(pages_.get()), 1, region_->lkey};
}

}  // namespace dapl
