// SPDX-License-Identifier: BSD-2-Clause
#include "providers/soft/softverbs/sysfs/own_tree.hpp"

#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>

#include "providers/soft/softverbs/fabric/index.hpp"
#include "providers/soft/softverbs/sysfs/next_functions.hpp"
#include "providers/soft/softverbs/sysfs/paths.hpp"
#include "providers/soft/softverbs/sysfs/tree.hpp"
#include "support/base/guard.hpp"
#include "support/settings/settings.hpp"

namespace softverbs {

Sight sight;

namespace {

constexpr char kClass[] = "/sys/class/infiniband";

[[gnu::constructor]] void read_settings() {
    sight.devices = device_count();
    sight.only = support::setting_flag(support::Setting::kSoftverbsOnly);
}

/// The machine's own devices, as links to where they are.
void add_real_devices(Entries& entries) {
    DIR* const folder = next_opendir(kClass);
    const dirent* found = nullptr;
    while (folder && (found = readdir(folder))) {
        const std::string name = found->d_name;
        if (name.starts_with('.')) continue;
        char* const target = next_realpath((kClass + ("/" + name)).c_str(), nullptr);
        if (target) entries.push_back({"class/infiniband/" + name, target, true});
        std::free(target);
    }
    if (folder) closedir(folder);
}

/// @return the tree's absolute path: the program may change its directory.
Result<std::string> find_tree() {
    const auto directory = Directory::open();
    if (!directory) return tl::unexpected(directory.error());
    const auto hash = Index::hash_of(**directory);
    if (!hash) return tl::unexpected(hash.error());
    Entries entries = lasting_entries(*hash, sight.devices, port_count());
    if (!sight.only) add_real_devices(entries);
    return make_tree(**directory, entries).map([](const std::string& path) {
        std::error_code failed;
        return std::filesystem::absolute(path, failed).string();
    });
}

std::atomic<const char*> known_tree{nullptr};
/// After a failure, which has been reported.
std::atomic<bool> has_failed{false};

/// Replaces the path of a tree that has gone. The old one is not freed: other threads may use it.
const char* publish(const std::string& path, const char* gone) {
    const char* const made = strdup(path.c_str());
    if (!made || known_tree.compare_exchange_strong(gone, made)) return made;
    std::free(const_cast<char*>(made));
    return gone;
}

}  // namespace

const char* own_tree() {
    const char* const known = known_tree.load(std::memory_order_acquire);
    if (has_failed) return nullptr;
    if (known && next_access(known, F_OK) == 0) return known;
    const support::CancellationDisabled cancellation_disabled;
    const auto made = [&]() -> const char* {
        const auto path = find_tree();
        return path ? publish(*path, known) : nullptr;
    };
    const char* const tree = support::guarded<const char*>(made, nullptr, nullptr);
    if (!tree) has_failed = true;
    return tree;
}

}  // namespace softverbs
