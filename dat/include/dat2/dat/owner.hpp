/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * @file
 * What all owners of handles have in common. Part of <dat2/dat.hpp>.
 */
#ifndef _DAT_HPP_OWNER_
#define _DAT_HPP_OWNER_

#include <dat2/dat/result.hpp>

namespace dat {

/**
 * Holds one object of DAT, or none. @tparam end the call that frees it.
 *
 * Ownership: the object is freed once, by free(), by assignment or by the destructor, whichever
 * comes first, unless release() has handed it on.
 */
template <DAT_RETURN (*end)(DAT_HANDLE)>
class owner {
  public:
    constexpr owner() noexcept = default;
    /** Takes over an object that a C call has made. */
    constexpr explicit owner(DAT_HANDLE made) noexcept : handle_(made) {}
    constexpr owner(owner&& other) noexcept : handle_(other.release()) {}
    constexpr owner& operator=(owner&& other) noexcept {
        if (this != &other) {
            reset();
            handle_ = other.release();
        }
        return *this;
    }
    constexpr ~owner() { reset(); }

    constexpr DAT_HANDLE get() const noexcept { return handle_; }
    constexpr explicit operator bool() const noexcept { return handle_ != DAT_HANDLE_NULL; }
    /** The caller frees the object from now on. */
    [[nodiscard]] constexpr DAT_HANDLE release() noexcept {
        return std::exchange(handle_, DAT_HANDLE_NULL);
    }
    /** Frees the object. On error it is still held. Does nothing where there is none. */
    result<void> free() noexcept {
        if (!handle_) return {};
        const DAT_RETURN code = end(handle_);
        if (code == DAT_SUCCESS) handle_ = DAT_HANDLE_NULL;
        return result<void>::of(code);
    }

    /** A word of the program's own, kept with the object: dat_set_consumer_context(). */
    result<void> set_context(DAT_CONTEXT context) const noexcept {
        return result<void>::of(dat_set_consumer_context(handle_, context));
    }
    result<DAT_CONTEXT> context() const noexcept {
        return {detail::in_place{},
                [this](DAT_CONTEXT& told) { return dat_get_consumer_context(handle_, &told); }};
    }

  protected:
    /** Frees the object, or gives it up. */
    constexpr void reset() noexcept {
        if (handle_) static_cast<void>(end(handle_));
        handle_ = DAT_HANDLE_NULL;
    }

  private:
    DAT_HANDLE handle_ = DAT_HANDLE_NULL;
};

namespace detail {
/** An owner of type Owner, made by create(&handle). */
template <class Owner, class Create>
result<Owner> make(const Create& create) noexcept {
    DAT_HANDLE handle = DAT_HANDLE_NULL;
    const DAT_RETURN code = create(&handle);
    if (code != DAT_SUCCESS) return error(code);
    return Owner(handle);
}

/** What a query fills. */
template <class Parameters, class Query>
result<Parameters> ask(const Query& query) noexcept {
    return {in_place{}, [&](Parameters& told) { return query(&told); }};
}
}  // namespace detail

}  // namespace dat

#endif
