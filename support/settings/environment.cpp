// SPDX-License-Identifier: BSD-2-Clause
#include "support/settings/environment.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <iterator>

#include "support/base/edit_distance.hpp"
#include "support/settings/setting_values.hpp"

namespace support {
namespace {

/// Prefixes of settings that the reference reads and OpenDAT has no use for: valid names, although
/// some are close to others.
constexpr std::string_view kReferenceOnly[] = {
    "DAPL_UCM_",   "DAPL_MCM_",     "DAPL_OCM_", "DAPL_NETWORK_",    "DAPL_MAX_INLINE",
    "DAPL_MAX_CM", "DAPL_LOOPBACK", "DAPL_WR_",  "DAPL_DBG_SYS_MEM",
};

/// Allows one wrong character in five: DAPL_RNR_RETRIES is close enough, DAPL_CM_ARP_TIMEOUT may
/// lack its unit, and short names of other programs are left alone.
bool is_nearly_a_setting(std::string_view name) {
    constexpr std::size_t kCharactersPerError = 5;
    const bool is_references =
        std::any_of(std::begin(kReferenceOnly), std::end(kReferenceOnly),
                    [name](std::string_view beginning) { return name.starts_with(beginning); });
    return !is_references &&
           edit_distance(name, nearest_setting(name)) <= name.size() / kCharactersPerError;
}

/// @param name one that names no setting.
bool is_meant_for_us(std::string_view name) {
    if (name.starts_with("OPENDAT_") || name.starts_with("SOFTVERBS_")) return true;
    return (name.starts_with("DAPL_") || name.starts_with("DAT_")) && is_nearly_a_setting(name);
}

}  // namespace

const char* environment_value(Setting setting) {
    const SettingInfo& info = kSettings[static_cast<int>(setting)];
    // secure_getenv respects AT_SECURE; names that are obeyed in set-uid programs bypass it.
    return info.in_setuid == InSetuid::kObeyed ? getenv(info.name) : secure_getenv(info.name);
}

const char* variable_in_environment(const char* name) {
    return getenv(name);
}

std::vector<std::string_view> unknown_variables() {
    std::vector<std::string_view> unknown;
    for (char** entry = environ; entry && *entry; ++entry) {
        const std::string_view assignment(*entry);
        const std::string_view name = assignment.substr(0, assignment.find('='));
        if (!find_setting(name) && is_meant_for_us(name)) unknown.push_back(name);
    }
    return unknown;
}

std::string rank_in_job() {
    // By Open MPI and whoever starts by PMIx, by MPICH and whoever starts by PMI, by Slurm.
    for (const char* const name : {"PMIX_RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID"})
        if (const char* const rank = secure_getenv(name)) return rank;
    return {};
}

/// An empty variable counts as unset, and a relative path is not obeyed, as the XDG base directory
/// specification requires.
std::string user_configuration_directory() {
    const char* configured = secure_getenv("XDG_CONFIG_HOME");
    if (configured && *configured == '/') return configured;
    const char* home = secure_getenv("HOME");
    return home && *home == '/' ? std::string(home) + "/.config" : std::string();
}

}  // namespace support
