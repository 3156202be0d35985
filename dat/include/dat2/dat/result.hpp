/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * @file
 * Results of calls. Part of <dat2/dat.hpp>.
 */
#ifndef _DAT_HPP_RESULT_
#define _DAT_HPP_RESULT_

#include <dat2/udat.h>

#include <chrono>
#include <concepts>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <version>
#ifdef __cpp_lib_expected
#include <expected>
#endif

namespace dat {

/** Why a call failed: a DAT_RETURN that is not DAT_SUCCESS. */
class error {
  public:
    constexpr explicit error(DAT_RETURN code) noexcept : code_(code) {}
    /** With class and subtype. */
    constexpr DAT_RETURN code() const noexcept { return code_; }
    constexpr DAT_RETURN_TYPE type() const noexcept {
        return static_cast<DAT_RETURN_TYPE>(DAT_GET_TYPE(code_));
    }
    constexpr DAT_RETURN_SUBTYPE subtype() const noexcept {
        return static_cast<DAT_RETURN_SUBTYPE>(DAT_GET_SUBTYPE(code_));
    }
    /** Names of type and subtype, as dat_strerror() gives them. */
    std::string text() const {
        const char *type = "", *subtype = "";
        static_cast<void>(dat_strerror(code_, &type, &subtype));
        return *subtype ? std::string(type) + " " + subtype : std::string(type);
    }
    /** Whether that is what went wrong, with whatever subtype. */
    friend constexpr bool operator==(error failed, DAT_RETURN_TYPE type) noexcept {
        return failed.type() == type;
    }
    friend constexpr bool operator==(error, error) noexcept = default;

  private:
    DAT_RETURN code_;
};

/** Thrown by result::value(), and by nothing else. */
class bad_result : public std::runtime_error {
  public:
    explicit bad_result(dat::error why) : std::runtime_error(why.text()), why_(why) {}
    dat::error error() const noexcept { return why_; }

  private:
    dat::error why_;
};

namespace detail {
struct in_place {};

[[noreturn]] inline void no_value(error why) {
#ifdef __cpp_exceptions
    throw bad_result(why);
#else
    static_cast<void>(why);
    std::abort();
#endif
}
}  // namespace detail

/**
 * What a call gives, or why it failed; the part of std::expected<T, dat::error> that programs need,
 * and convertible to that where there is one. The same type in every version of the language.
 */
template <class T>
class [[nodiscard]] result {
  public:
    using value_type = T;
    using error_type = dat::error;

    constexpr result(T value) noexcept(std::is_nothrow_move_constructible_v<T>)
        : value_(std::move(value)), code_(DAT_SUCCESS) {}
    constexpr result(dat::error why) noexcept : value_{}, code_(why.code()) {}
    /** With the value made in its place. @param fill (T&) -> DAT_RETURN. */
    template <class Fill>
    constexpr result(detail::in_place, Fill&& fill) : value_{}, code_(fill(value_)) {}

    constexpr bool has_value() const noexcept { return code_ == DAT_SUCCESS; }
    constexpr explicit operator bool() const noexcept { return has_value(); }
    /** Only where has_value() is false. */
    constexpr dat::error error() const noexcept { return dat::error(code_); }

    /** Only where has_value() is true. */
    constexpr T& operator*() & noexcept { return value_; }
    constexpr const T& operator*() const& noexcept { return value_; }
    constexpr T&& operator*() && noexcept { return std::move(value_); }
    constexpr T* operator->() noexcept { return &value_; }
    constexpr const T* operator->() const noexcept { return &value_; }

    /** Throws bad_result where there is none; ends the program if that is built without exceptions.
     */
    constexpr T& value() & {
        if (!has_value()) detail::no_value(error());
        return value_;
    }
    constexpr const T& value() const& {
        if (!has_value()) detail::no_value(error());
        return value_;
    }
    constexpr T&& value() && {
        if (!has_value()) detail::no_value(error());
        return std::move(value_);
    }

#ifdef __cpp_lib_expected
    operator std::expected<T, dat::error>() && {
        if (!has_value()) return std::unexpected(error());
        return std::move(value_);
    }
#endif

  private:
    T value_;  ///< empty with a code
    DAT_RETURN code_;
};

/** Of a call that gives nothing: its DAT_RETURN. */
template <>
class [[nodiscard]] result<void> {
  public:
    using value_type = void;
    using error_type = dat::error;

    constexpr result() noexcept = default;
    constexpr result(dat::error why) noexcept : code_(why.code()) {}
    /** @param code of a C call, DAT_SUCCESS or not. */
    static constexpr result of(DAT_RETURN code) noexcept { return result(dat::error(code)); }

    constexpr bool has_value() const noexcept { return code_ == DAT_SUCCESS; }
    constexpr explicit operator bool() const noexcept { return has_value(); }
    /** Only where has_value() is false. */
    constexpr dat::error error() const noexcept { return dat::error(code_); }
    /** Throws as that of other results. */
    constexpr void value() const {
        if (!has_value()) detail::no_value(error());
    }

#ifdef __cpp_lib_expected
    operator std::expected<void, dat::error>() const {
        if (!has_value()) return std::unexpected(error());
        return {};
    }
#endif

  private:
    DAT_RETURN code_ = DAT_SUCCESS;
};

namespace detail {
/** @return the value, or the code that is not DAT_SUCCESS. */
template <class T>
constexpr result<T> either(DAT_RETURN code, T&& value) {
    if (code != DAT_SUCCESS) return error(code);
    return std::forward<T>(value);
}
}  // namespace detail

/** Flags of one kind together, which in C++ are no flags of that kind any more. */
template <class Enum, std::same_as<Enum>... Enums>
requires std::is_enum_v<Enum>
constexpr Enum flags(Enum first, Enums... others) noexcept {
    return static_cast<Enum>((static_cast<unsigned>(first) | ... | static_cast<unsigned>(others)));
}

/** A cookie for a transfer or a bind: a number, or an address of the program's. */
constexpr DAT_CONTEXT cookie(DAT_UINT64 number) noexcept {
    DAT_CONTEXT made{};
    made.as_64 = number;
    return made;
}
inline DAT_CONTEXT cookie(void* address) noexcept {
    DAT_CONTEXT made{};
    made.as_64 = 0;  // where pointers are shorter
    made.as_ptr = address;
    return made;
}

/** Of waits without an end. */
inline constexpr std::chrono::microseconds forever = std::chrono::microseconds::max();

namespace detail {
/** What is longer than a DAT_TIMEOUT can say (71 minutes) becomes as long as it can. */
constexpr DAT_TIMEOUT timeout(std::chrono::microseconds time) noexcept {
    if (time == forever) return DAT_TIMEOUT_INFINITE;
    if (time.count() <= 0) return 0;
    constexpr auto kLongest = DAT_TIMEOUT_INFINITE - 1;
    return time.count() < kLongest ? static_cast<DAT_TIMEOUT>(time.count()) : kLongest;
}
}  // namespace detail

}  // namespace dat

#endif
