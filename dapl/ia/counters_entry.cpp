// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// dat_ib_query_counters, dat_ib_print_counters, dat_ib_start_counter, dat_ib_stop_counter.
/// dat_ib_print_counters writes to standard output.
/// Prints directly.
#include "dapl/base/counters.hpp"

#include <cinttypes>
#include <cstdio>
#include <span>

#include "dapl/adapter/ia.hpp"
#include "dapl/base/counter_names.hpp"
#include "dapl/base/guard.hpp"
#include "dapl/ep/ep.hpp"
#include "dapl/evd/evd.hpp"
#include "dapl/provider/entry.hpp"

namespace dapl {

namespace {

/// The counters of one object of any kind.
class View {
  public:
    explicit View(Ia& ia) : ia_(&ia), names(kIaCounterNames) {}
    explicit View(Ep& ep) : ep_(&ep), names(kEpCounterNames) {}
    explicit View(Evd& evd) : evd_(&evd), names(kEvdCounterNames) {}

    int count() const { return static_cast<int>(names.size()); }
    /// @return the count since the last reset. @param reset whether to reset the counter now.
    std::uint64_t take(int which, bool reset) const {
        // The acquire load of a mark makes visible the counts that it was computed from, so the
        // mark never exceeds the count.
        std::uint64_t before = mark(which).load(std::memory_order_acquire);
        for (;;) {
            const std::uint64_t now = total(which);
            if (!reset || mark(which).compare_exchange_weak(before, now)) return now - before;
        }
    }

  private:
    std::uint64_t total(int which) const {
        if (ep_) return ep_->counters.value(which);
        if (evd_) return evd_->counters.value(which);
        return DeviceCounters::has(which) ? ia_->device_counters.value(which)
                                          : ia_->counters.total(which);
    }
    std::atomic<std::uint64_t>& mark(int which) const {
        if (ep_) return ep_->counters.marks[which];
        return evd_ ? evd_->counters.marks[which] : ia_->counters.marks[which];
    }

    Ia* ia_ = nullptr;
    Ep* ep_ = nullptr;
    Evd* evd_ = nullptr;

  public:
    const std::span<const char* const> names;
};

/// @param read (View, first counter, their number) -> DAT_RETURN.
template <class Read>
DAT_RETURN with_counters(DAT_HANDLE handle, int which, const Read& read) {
    const auto chosen = [&](const View& view) -> DAT_RETURN {
        if (which < 0 || which > view.count()) return bad_argument(2);
        return which == view.count() ? read(view, 0, view.count()) : read(view, which, 1);
    };
    return uncancelled([&](int) -> DAT_RETURN {
        if (Ia* ia = from_handle<Ia>(handle)) return chosen(View(*ia));
        if (Ep* ep = from_handle<Ep>(handle)) return chosen(View(*ep));
        if (Evd* evd = from_handle<Evd>(handle)) return chosen(View(*evd));
        return bad_handle(DAT_INVALID_HANDLE1);
    });
}

template <DAT_RETURN (DeviceCounters::*change)(DAT_IA_COUNTER_TYPE)>
DAT_RETURN sample(DAT_HANDLE handle, DAT_IA_COUNTER_TYPE group) {
    return uncancelled([=](int) -> DAT_RETURN {
        Ia* ia = from_handle<Ia>(handle);
        if (!ia) return bad_handle(DAT_INVALID_HANDLE_IA);
        // The library's own counters always run.
        if (group == DCNT_IA_CM) return DAT_SUCCESS;
        if (group != DCNT_IA_LNK && group != DCNT_IA_DIAG) return bad_argument(2);
        return (ia->device_counters.*change)(group);
    });
}

}  // namespace

namespace entry {

DAT_RETURN query_counters(DAT_HANDLE handle, int which, DAT_UINT64* values, bool reset) {
    return with_counters(handle, which, [=](const View& view, int first, int count) -> DAT_RETURN {
        if (!values) return bad_argument(3);
        for (int i = 0; i < count; ++i) values[i] = view.take(first + i, reset);
        return DAT_SUCCESS;
    });
}

DAT_RETURN print_counters(DAT_HANDLE handle, int which, bool reset) {
    return with_counters(handle, which, [=](const View& view, int first, int count) -> DAT_RETURN {
        for (int i = first; i < first + count; ++i)
            std::printf("%-30s %" PRIu64 "\n", view.names[i], view.take(i, reset));
        return std::fflush(stdout) == 0 ? kSuccess : error(DAT_INTERNAL_ERROR);
    });
}

DAT_RETURN start_counter(DAT_HANDLE handle, DAT_IA_COUNTER_TYPE group) {
    return sample<&DeviceCounters::start>(handle, group);
}

DAT_RETURN stop_counter(DAT_HANDLE handle, DAT_IA_COUNTER_TYPE group) {
    return sample<&DeviceCounters::stop>(handle, group);
}

}  // namespace entry
}  // namespace dapl
