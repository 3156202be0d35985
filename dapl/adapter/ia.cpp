// SPDX-License-Identifier: BSD-2-Clause
#include "dapl/adapter/ia.hpp"

/// libdat2's map between the consumers' integers and our pointers, in both directions.
extern "C" DAT_RETURN dats_get_ia_handle(DAT_IA_HANDLE handle, DAT_IA_HANDLE* other);

namespace dapl {

bool Ia::has_windows(ibv_mw_type type) const {
    constexpr unsigned kType1 = IBV_DEVICE_MEM_WINDOW;
    constexpr unsigned kType2 = IBV_DEVICE_MEM_WINDOW_TYPE_2A | IBV_DEVICE_MEM_WINDOW_TYPE_2B;
    const unsigned wanted = type == IBV_MW_TYPE_1 ? kType1 : kType2;
    return device_attributes.max_mw > 0 && (device_attributes.device_cap_flags & wanted) != 0;
}

int Ia::max_rmrs() const {
    const bool any = has_windows(IBV_MW_TYPE_1) || has_windows(IBV_MW_TYPE_2);
    return any ? device_attributes.max_mw : 0;
}

ibv_cq* Ia::unused_queue() {
    {
        support::MutexLock lock(mutex);
        if (unused_queue_) return unused_queue_.get();
    }
    verbs::CompletionQueue made(ibv_create_cq(context(), 1, nullptr, nullptr, 0));
    support::MutexLock lock(mutex);
    if (!unused_queue_) unused_queue_.swap(made);
    return unused_queue_.get();
}

/// siw's library mistakes the 145th page that a process maps of the device (key 0x90000) for an
/// error of the kernel and creates no more queues from then on. So unused_queue_ is made large
/// enough to lie across that page, before any other queue exists.
void Ia::avoid_invalid_place() {
    constexpr std::uint32_t kSiwVendor = 0x626d74;
    constexpr int kAcrossIt = 32768;  // entries of 32 bytes: 256 pages
    if (device_attributes.vendor_id != kSiwVendor) return;
    verbs::CompletionQueue made(ibv_create_cq(context(), kAcrossIt, nullptr, nullptr, 0));
    support::MutexLock lock(mutex);
    unused_queue_.swap(made);
}

DAT_IA_HANDLE consumer_handle(const Ia& ia) {
    DAT_IA_HANDLE integer = nullptr;
    dats_get_ia_handle(ia.handle(), &integer);
    return integer;
}

}  // namespace dapl
