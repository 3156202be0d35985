// SPDX-License-Identifier: BSD-2-Clause
#include "test/dtest/region.hpp"

#include <cstring>

#include "tools/common/failure.hpp"

namespace dtest {

using namespace tools;

namespace {

constexpr std::size_t kPage = 4096;

}  // namespace

void Region::create(DAT_IA_HANDLE ia, DAT_PZ_HANDLE pz, std::size_t length,
                    DAT_MEM_PRIV_FLAGS privileges) {
    const std::size_t bytes = (length + kPage - 1) / kPage * kPage;
    memory_.reset(static_cast<unsigned char*>(std::aligned_alloc(kPage, bytes)));
    if (!memory_) {
        throw Failure("aligned_alloc", "not enough memory", format("%zu bytes", bytes),
                      "use a smaller -b");
    }
    std::memset(memory_.get(), 0, bytes);
    DAT_REGION_DESCRIPTION description{};
    description.for_va = memory_.get();
    DAT_VLEN registered_length = 0;
    DAT_VADDR registered_address = 0;
    require_success(dat_lmr_create(ia, DAT_MEM_TYPE_VIRTUAL, description, length, pz, privileges,
                                   DAT_VA_TYPE_VA, &lmr_, &lmr_context_, &rmr_context_,
                                   &registered_length, &registered_address),
                    "dat_lmr_create",
                    "use a smaller -b, or raise the limit of locked memory (ulimit -l)");
}

void Region::free() {
    if (lmr_ == DAT_HANDLE_NULL) return;
    require_success(dat_lmr_free(lmr_), "dat_lmr_free", "report this as a fault of the provider");
    lmr_ = DAT_HANDLE_NULL;
}

DAT_LMR_TRIPLET Region::segment(std::size_t offset, std::size_t length) const {
    DAT_LMR_TRIPLET triplet{};
    triplet.virtual_address = address() + offset;
    triplet.segment_length = static_cast<DAT_SEG_LENGTH>(length);
    triplet.lmr_context = lmr_context_;
    return triplet;
}

}  // namespace dtest
