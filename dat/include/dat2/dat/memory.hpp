/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * @file
 * Protection zones and memory regions. Part of <dat2/dat.hpp>.
 */
#ifndef _DAT_HPP_MEMORY_
#define _DAT_HPP_MEMORY_

#include <dat2/dat/ia.hpp>

#include <ranges>
#include <span>

namespace dat {

/** What can be transferred: its bytes are all there is to it. */
template <class T>
concept transferable = std::is_trivially_copyable_v<std::remove_cv_t<T>>;

/** Memory in one piece, of what can be transferred: arrays, std::vector, std::span and the like. */
template <class R>
concept transferable_range = std::ranges::contiguous_range<R> && std::ranges::sized_range<R> &&
    transferable<std::ranges::range_value_t<R>>;

/**
 * A segment of a transfer, which a DAT_LMR_TRIPLET is. It has a copy constructor of its own so that
 * compilers put it together where it is needed, and not in registers first.
 */
class segment : public DAT_LMR_TRIPLET {
  public:
    segment(DAT_VADDR address, DAT_SEG_LENGTH length, DAT_LMR_CONTEXT context) noexcept
        : DAT_LMR_TRIPLET{address, length, context} {}
    segment(const segment& other) noexcept : DAT_LMR_TRIPLET(other) {}
    segment& operator=(const segment&) noexcept = default;
};
static_assert(sizeof(segment) == sizeof(DAT_LMR_TRIPLET), "lists of one are lists of the other");

/** A protection zone: EPs reach only memory of their own zone. Goes after all that is in it. */
class pz : public owner<dat_pz_free> {
  public:
    using owner::owner;
    static result<pz> create(const ia& of) noexcept {
        return detail::make<pz>([&](DAT_HANDLE* made) { return dat_pz_create(of.get(), made); });
    }
    result<DAT_PZ_PARAM> query() const noexcept {
        return detail::ask<DAT_PZ_PARAM>(
            [this](DAT_PZ_PARAM* told) { return dat_pz_query(get(), DAT_PZ_FIELD_ALL, told); });
    }
};

/**
 * A local memory region. It owns the registration, not the memory, which must stay mapped until the
 * LMR is freed. Goes after the RMRs that are bound to it.
 */
class lmr : public owner<dat_lmr_free> {
  public:
    constexpr lmr() noexcept = default;
    /**
     * dat_lmr_create() of memory of the process.
     *
     * @param privileges DAT_MEM_PRIV_*, several by flags().
     */
    template <transferable T, std::size_t extent>
    requires(!std::is_const_v<T>) static result<lmr> create(
        const ia& of, const pz& zone, std::span<T, extent> memory,
        DAT_MEM_PRIV_FLAGS privileges = DAT_MEM_PRIV_ALL_FLAG,
        DAT_VA_TYPE addresses = DAT_VA_TYPE_VA) noexcept {
        DAT_REGION_DESCRIPTION region{};
        region.for_va = memory.data();
        return create(of.get(), DAT_MEM_TYPE_VIRTUAL, region, memory.size_bytes(), zone.get(),
                      privileges, addresses);
    }
    /** dat_lmr_create() of the memory of another LMR of the IA, with zone and privileges of its
     * own.
     */
    static result<lmr> create(const ia& of, const pz& zone, const lmr& other,
                              DAT_MEM_PRIV_FLAGS privileges) noexcept {
        DAT_REGION_DESCRIPTION region{};
        region.for_lmr_handle = other.get();
        return create(of.get(), DAT_MEM_TYPE_LMR, region, 0, zone.get(), privileges,
                      DAT_VA_TYPE_VA);
    }

    DAT_LMR_CONTEXT lmr_context() const noexcept { return lmr_context_; }
    /** What peers name the memory by. */
    DAT_RMR_CONTEXT rmr_context() const noexcept { return rmr_context_; }
    /** Where it begins for peers. */
    DAT_VADDR address() const noexcept { return address_; }
    DAT_VLEN size() const noexcept { return size_; }  ///< bytes

    /** A part for a transfer: memory that is registered here, which only the device checks; less
     *  than 4 GiB. */
    template <transferable_range R>
    dat::segment segment(const R& part) const noexcept {
        const auto* first = std::ranges::data(part);
        const auto length = std::ranges::size(part) * sizeof *first;
        return {reinterpret_cast<DAT_VADDR>(first), static_cast<DAT_SEG_LENGTH>(length),
                lmr_context_};
    }
    /** A part as peers name it, by its place and size in bytes, which only the device checks. */
    DAT_RMR_TRIPLET remote(DAT_VLEN offset, DAT_SEG_LENGTH length) const noexcept {
        return {address_ + offset, length, rmr_context_};
    }

    result<DAT_LMR_PARAM> query() const noexcept {
        return detail::ask<DAT_LMR_PARAM>(
            [this](DAT_LMR_PARAM* told) { return dat_lmr_query(get(), DAT_LMR_FIELD_ALL, told); });
    }

  private:
    using owner::owner;
    static result<lmr> create(DAT_IA_HANDLE of, DAT_MEM_TYPE type, DAT_REGION_DESCRIPTION region,
                              DAT_VLEN length, DAT_PZ_HANDLE zone, DAT_MEM_PRIV_FLAGS privileges,
                              DAT_VA_TYPE addresses) noexcept {
        lmr made;
        DAT_LMR_HANDLE handle = DAT_HANDLE_NULL;
        const DAT_RETURN code =
            dat_lmr_create(of, type, region, length, zone, privileges, addresses, &handle,
                           &made.lmr_context_, &made.rmr_context_, &made.size_, &made.address_);
        if (code != DAT_SUCCESS) return error(code);
        static_cast<owner&>(made) = owner(handle);
        return made;
    }

    DAT_LMR_CONTEXT lmr_context_ = 0;
    DAT_RMR_CONTEXT rmr_context_ = 0;
    DAT_VADDR address_ = 0;
    DAT_VLEN size_ = 0;
};

}  // namespace dat

#endif
