// SPDX-License-Identifier: BSD-2-Clause
#include "check/model/place.hpp"

#include <dlfcn.h>
#include <fmt/core.h>
#include <link.h>
#include <unwind.h>

#include <cstring>
#include <string_view>

#include "check/model/source.hpp"
#include "support/base/processor.hpp"

namespace check {
namespace {

constexpr std::int64_t kNanosecondsPerMillisecond = 1'000'000;

/// A loaded object.
struct Loaded {
    const void* start = nullptr;  ///< tells it from others
    const char* path = "";
};

/// dladdr() looks for a symbol too, which takes ten times as long.
Loaded loaded_at(const void* address) {
#if __GLIBC_PREREQ(2, 35)
    dl_find_object found;
    if (_dl_find_object(const_cast<void*>(address), &found) == 0)
        return {found.dlfo_map_start, found.dlfo_link_map->l_name};
#else
    Dl_info info;
    if (dladdr(address, &info)) return {info.dli_fbase, info.dli_fname};
#endif
    return {};
}

const void* own_library() {
    static const char inside = 0;
    return loaded_at(&inside).start;
}

std::string_view file_name(const char* path) {
    const char* slash = std::strrchr(path, '/');
    return slash ? slash + 1 : path;
}

bool is_ours(const void* address, const void* own) {
    const Loaded loaded = loaded_at(address);
    return loaded.start == own || file_name(loaded.path).starts_with("libdat2.so");
}

/// A return address is that of the next instruction, which may be on another line.
const void* call_before(const void* return_address) {
    return static_cast<const char*>(return_address) - 1;
}

struct Walk {
    const void* own;
    Place found;
};

_Unwind_Reason_Code step(_Unwind_Context* context, void* argument) {
    Walk& walk = *static_cast<Walk*>(argument);
    const auto address = reinterpret_cast<const void*>(_Unwind_GetIP(context));
    if (!address) return _URC_END_OF_STACK;
    if (is_ours(call_before(address), walk.own)) return _URC_NO_REASON;
    walk.found = address;
    return _URC_END_OF_STACK;
}

std::int64_t now() {
    return static_cast<std::int64_t>(support::nanoseconds(CLOCK_MONOTONIC));
}

/// @return the offset that addr2line takes: the address itself in an executable with fixed ones.
std::uintptr_t offset_in(const void* address, const void* base) {
    const auto& header = *static_cast<const ElfW(Ehdr)*>(base);
    const auto value = reinterpret_cast<std::uintptr_t>(address);
    return header.e_type == ET_EXEC ? value : value - reinterpret_cast<std::uintptr_t>(base);
}

}  // namespace

Place calling_place() {
    Walk walk{own_library(), nullptr};
    _Unwind_Backtrace(step, &walk);
    return walk.found;
}

Origin here() {
    return {calling_place(), now()};
}

std::int64_t milliseconds_since(const Origin& origin) {
    return (now() - origin.time) / kNanosecondsPerMillisecond;
}

std::string name_of(Place place) {
    if (!place) return "an unknown place";
    const void* call = call_before(place);
    Dl_info info;
    if (!dladdr(call, &info)) return fmt::format("{}", call);
    const std::uintptr_t offset = offset_in(call, info.dli_fbase);
    const std::string object = fmt::format("{}+{:#x}", file_name(info.dli_fname), offset);
    Source source = source_of(call);
    if (source.function.empty() && info.dli_sname) source.function = info.dli_sname;
    const std::string line =
        source.line ? fmt::format("{}:{}, ", source.file, source.line) : std::string();
    if (source.function.empty()) return line + object;
    return fmt::format("{} ({}{})", source.function, line, object);
}

}  // namespace check
