// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The core's functions with trace points around them, as the provider table contains them.
#pragma once

#include <type_traits>

#include "dapl/base/object.hpp"
#include "support/trace/trace_slots.hpp"

namespace dapl {

/// Records an event that the consumer has dequeued; called only if data_path_traced().
/// @param evd the EVD's id.
void trace_taken(std::uint64_t evd, const DAT_EVENT& event);

namespace detail {

/// @return the id of the object that a call has created, if an argument points to its handle.
template <class... Arguments>
std::uint64_t made_by_call(const Arguments&... arguments) {
    std::uint64_t made = 0;
    [[maybe_unused]] const auto look = [&made](const auto& argument) {
        if constexpr (std::is_same_v<std::decay_t<decltype(argument)>, DAT_HANDLE*>)
            if (argument) made = id_of(*argument);
    };
    (look(arguments), ...);
    return made;
}

template <class First>
std::uint64_t object_of_call(First first) {
    if constexpr (std::is_same_v<First, DAT_HANDLE>)
        return id_of(first);
    else
        return 0;
}

}  // namespace detail

template <auto slot, auto function>
struct Traced;

/// No frame here has a cleanup, since a cancellation, even an asynchronous one, may end any of
/// them.
template <auto slot, class First, class... Rest, DAT_RETURN (*function)(First, Rest...)>
struct Traced<slot, function> {
    static constexpr support::TraceSlot kSlot = support::kTraceSlot<slot>;

    static DAT_RETURN call(First first, Rest... rest) {
        if constexpr (kSlot.path == support::TracePath::kData)
            if (!support::data_path_traced()) [[likely]]
                return function(first, rest...);
        return tell(first, rest...);
    }

  private:
    [[gnu::noinline]] static DAT_RETURN tell(First first, Rest... rest) {
        const std::uint64_t object = detail::object_of_call<First>(first);
        if constexpr (std::is_same_v<First, DAT_HANDLE>)
            support::trace_call_with(kSlot.call, object, rest...);
        else
            support::trace_call_with(kSlot.call, object, first, rest...);
        const DAT_RETURN code = function(first, rest...);
        const std::uint64_t made = code == DAT_SUCCESS ? detail::made_by_call(rest...) : 0;
        support::trace_return(kSlot.call, kSlot.path, object, code, made);
        return code;
    }
};

}  // namespace dapl
