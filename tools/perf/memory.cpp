// SPDX-License-Identifier: BSD-2-Clause
#include "tools/perf/memory.hpp"

#include <dat2/dat_ib_extensions.h>
#include <dat2/dat_opendat.h>

#include <cstdlib>
#include <cstring>

#include "tools/common/failure.hpp"

namespace perf {

using tools::Failure;
using tools::format;

namespace {

constexpr std::size_t kPage = 4096;

}  // namespace

DAT_LMR_HANDLE register_memory(const Device& device, void* memory, std::size_t length,
                               DAT_LMR_CONTEXT& lmr_context, DAT_RMR_CONTEXT& rmr_context) {
    DAT_REGION_DESCRIPTION description{};
    description.for_va = memory;
    DAT_VLEN registered_length = 0;
    DAT_VADDR registered_address = 0;
    unsigned rights = DAT_MEM_PRIV_ALL_FLAG;
    if (device.offers(Operation::fetch_add)) rights |= DAT_IB_MEM_PRIV_REMOTE_ATOMIC;
    DAT_LMR_HANDLE lmr = DAT_HANDLE_NULL;
    tools::require_success(
        dat_lmr_create(device.ia(), DAT_MEM_TYPE_VIRTUAL, description, length, device.pz(),
                       static_cast<DAT_MEM_PRIV_FLAGS>(rights), DAT_VA_TYPE_VA, &lmr, &lmr_context,
                       &rmr_context, &registered_length, &registered_address),
        "dat_lmr_create", "use smaller sizes, or raise the limit of locked memory (ulimit -l)");
    return lmr;
}

Region::Region(const Device& device, std::size_t length, Memory kind)
    : ia_(device.ia()), length_((length + kPage - 1) / kPage * kPage) {
    allocate(kind);
    std::memset(memory_, 0, length_);
    lmr_ = register_memory(device, memory_, length_, lmr_context_, rmr_context_);
}

Region::~Region() {
    if (lmr_ != DAT_HANDLE_NULL) dat_lmr_free(lmr_);
    release();
}

void Region::allocate(Memory kind) {
    void* given = nullptr;
    from_library_ =
        kind != Memory::ordinary && dat_opendat_memory_alloc(ia_, length_, &given) == DAT_SUCCESS;
    if (from_library_) {
        memory_ = static_cast<unsigned char*>(given);
        return;
    }
    if (kind == Memory::library) {
        throw Failure("dat_opendat_memory_alloc",
                      format("no %zu bytes from this provider's library", length_),
                      "memory that it allocates", "use --memory ordinary, or smaller sizes");
    }
    memory_ = static_cast<unsigned char*>(std::aligned_alloc(kPage, length_));
    if (memory_ == nullptr) {
        throw Failure("aligned_alloc", "not enough memory", format("%zu bytes", length_),
                      "use smaller sizes");
    }
}

void Region::release() {
    if (from_library_)
        dat_opendat_memory_free(ia_, memory_);
    else
        std::free(memory_);
}

DAT_LMR_TRIPLET Region::at(std::size_t offset, DAT_SEG_LENGTH length) const {
    DAT_LMR_TRIPLET triplet{};
    triplet.virtual_address = reinterpret_cast<DAT_VADDR>(memory_) + offset;
    triplet.segment_length = length;
    triplet.lmr_context = lmr_context_;
    return triplet;
}

}  // namespace perf
