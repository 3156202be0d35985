// SPDX-License-Identifier: BSD-2-Clause
#include "support/trace/trace_level.hpp"

#include <algorithm>
#include <cstdint>
#include <new>
#include <span>

#include "support/base/messages.hpp"
#include "support/settings/settings.hpp"

namespace support {
namespace {

/// The level that shows what the reference shows for these bits.
struct Kinds {
    std::uint32_t bits;
    int level;
};

/// DAT_DBG_TYPE: errors; generic; static and dynamic registry; calls of providers and consumers.
constexpr Kinds kDatKinds[] = {{0x1, 1}, {0x2, 3}, {0xc, 5}, {0xfffffff0, 7}};

/// DAPL_DBG_TYPE: errors; warnings of all sorts; the version; calls, returns, callbacks and
/// extensions; all other bits are about objects and connections.
constexpr std::uint32_t kWarnings = 0x2 | 0x80 | 0x10000 | 0xf80000;
constexpr std::uint32_t kCalls = 0x40 | 0x100 | 0x200 | 0x20000;
constexpr std::uint32_t kVersion = 0x1000000;
constexpr Kinds kDaplKinds[] = {{0x1, 1},
                                {kWarnings, 2},
                                {kVersion, 3},
                                {~(0x1 | kWarnings | kVersion | kCalls), 5},
                                {kCalls, 7}};

int level_of(std::uint32_t bits, std::span<const Kinds> kinds) {
    int level = 0;
    for (const Kinds& kind : kinds)
        if (bits & kind.bits) level = std::max(level, kind.level);
    return level;
}

int debug_level(Setting type, std::span<const Kinds> kinds) {
    return level_of(static_cast<std::uint32_t>(setting_integer(type)), kinds);
}

/// @return whether the reference's setting is the one in force.
bool holds(Setting setting, Setting level) {
    return setting_is_set(setting) && !setting_is_superseded(setting, level);
}

int dat_level() {
    if (holds(Setting::kDatDebugType, Setting::kDatTraceLevel))
        return debug_level(Setting::kDatDebugType, kDatKinds);
    return static_cast<int>(setting_integer(Setting::kDatTraceLevel));
}

int dapl_level() {
    constexpr int kDetail = 7;
    if (holds(Setting::kDaplDebugLevel, Setting::kTraceLevel) &&
        setting_integer(Setting::kDaplDebugLevel) > 0)
        return kDetail;
    if (holds(Setting::kDaplDebugType, Setting::kTraceLevel))
        return debug_level(Setting::kDaplDebugType, kDaplKinds);
    return static_cast<int>(setting_integer(Setting::kTraceLevel));
}

}  // namespace

int level_from_settings() {
    const bool dat = opendat_trace_object.side == static_cast<std::uint32_t>(TraceSide::kDat);
    return dat ? dat_level() : dapl_level();
}

void set_trace_level(int level) {
    const TraceLevels levels(level);
    opendat_trace_object.level.store(levels.level, std::memory_order_relaxed);
    opendat_trace_object.data_path.store(levels.data_path, std::memory_order_relaxed);
}

int detail::initial_trace_level() {
    // Stored before the setting is read, because a bad value is itself reported.
    int unread = -1;
    opendat_trace_object.level.compare_exchange_strong(unread, static_cast<int>(Level::kInfo));
    try {
        const int level = level_from_settings();
        set_trace_level(level);
        return level;
    } catch (const std::bad_alloc&) {
        // The next call reads it again.
        opendat_trace_object.level.store(unread);
        return static_cast<int>(Level::kInfo);
    }
}

}  // namespace support
