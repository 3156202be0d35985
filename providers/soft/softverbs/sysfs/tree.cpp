// SPDX-License-Identifier: BSD-2-Clause
#include "providers/soft/softverbs/sysfs/tree.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "providers/soft/softverbs/fabric/index.hpp"

namespace softverbs {
namespace {

/// The last file of a tree to be written.
constexpr char kComplete[] = "complete";
constexpr char kAside[] = "aside-";

std::string tree_name(const Entries& lasting) {
    std::uint64_t hash = 0xcbf29ce484222325;  // FNV-1a
    const auto add = [&](const std::string& text) {
        for (const char byte : text)
            hash = (hash ^ static_cast<unsigned char>(byte)) * 0x100000001b3;
        hash = (hash ^ 0xff) * 0x100000001b3;
    };
    for (const Entry& entry : lasting) {
        add(entry.path);
        add(entry.text);
    }
    return fmt::format("{}{:0{}x}", kTreeStem, hash, kTreeDigits);
}

/// @return a name that no other process chooses, in the fabric's directory.
std::string name_aside() {
    std::array<std::uint64_t, 2> number = {};
    (void)!getrandom(number.data(), sizeof number, 0);
    return fmt::format("{}{:016x}{:016x}", kAside, number[0], number[1]);
}

/// Removes what a killed process has left: a file is there for microseconds only.
void remove_abandoned(const Directory& directory) {
    constexpr time_t kLongest = 60;  // seconds
    for (const std::string& name : directory.entries()) {
        struct stat status;
        if (name.starts_with(kAside) &&
            fstatat(directory.fd(), name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0 &&
            time(nullptr) - status.st_mtime > kLongest)
            directory.remove(name);
    }
}

/// Everybody may read, and nobody write, whatever the mask says. @return 0 or an errno.
int write_file(int directory, const std::string& name, const std::string& text) {
    const UniqueFd file(
        openat(directory, name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
    if (!file.valid()) return errno;
    const ssize_t put = write(file.get(), text.data(), text.size());
    if (put != static_cast<ssize_t>(text.size())) return put < 0 ? errno : ENOSPC;
    return fchmod(file.get(), 0444) == 0 ? 0 : errno;
}

int write_entry(int directory, const std::string& name, const Entry& entry) {
    if (!entry.is_link) return write_file(directory, name, entry.text);
    return symlinkat(entry.text.c_str(), directory, name.c_str()) == 0 ? 0 : errno;
}

/// Makes a folder and those above it. @return 0 or an errno.
int make_folders(int directory, const std::string& path) {
    for (std::size_t end = 0; end != path.npos;) {
        end = path.find('/', end + 1);
        const std::string folder = path.substr(0, end);
        if (mkdirat(directory, folder.c_str(), 0755) != 0 && errno != EEXIST) return errno;
    }
    return 0;
}

/// Puts an entry in its place, in one step, where its folder exists. @return 0 or an errno.
int place(int directory, const std::string& tree, const Entry& entry) {
    const std::string aside = name_aside(), there = tree + "/" + entry.path;
    int error = write_entry(directory, aside, entry);
    if (error == 0 && renameat(directory, aside.c_str(), directory, there.c_str()) != 0)
        error = errno;
    if (error != 0) unlinkat(directory, aside.c_str(), 0);
    return error;
}

bool exists(int directory, const std::string& path) {
    return faccessat(directory, path.c_str(), F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

bool has_text(int directory, const std::string& path, const std::string& text) {
    const UniqueFd file(openat(directory, path.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
    std::string found(text.size() + 1, '\0');
    const ssize_t got = file.valid() ? read(file.get(), found.data(), found.size()) : -1;
    return got == static_cast<ssize_t>(text.size()) && found.compare(0, text.size(), text) == 0;
}

/// Holds what changes, as the index has it.
struct Changing {
    FabricView fabric;
    LinkLosses losses = {};

    static Result<Changing> read(const Directory& directory, std::uint64_t hash) {
        const auto states = Index::device_states_of(directory);
        const auto losses = Index::link_losses_of(directory);
        if (!states || !losses) return tl::unexpected(EIO);
        return Changing{{hash, *states}, *losses};
    }
    bool is_like(const Changing& other) const {
        return fabric.states == other.fabric.states && losses == other.losses;
    }
};

int refresh_port(int directory, const std::string& tree, const Changing& now, PortId port) {
    if (!exists(directory, tree + "/" + port_folder(port))) return 0;
    for (const Entry& entry : changing_entries(now.fabric, now.losses, port)) {
        if (has_text(directory, tree + "/" + entry.path, entry.text)) continue;
        if (const int error = place(directory, tree, entry)) return error;
    }
    return 0;
}

/// Repeats while others change the index, since they may have written before what we wrote now.
int refresh(const Directory& directory, const std::string& tree) {
    auto now = Changing::read(directory, 0);
    for (;;) {
        if (!now) return now.error();
        for (unsigned index = 0; index < kMostPortIds; ++index)
            if (const int error = refresh_port(directory.fd(), tree, *now, PortId::at(index)))
                return error;
        const auto then = Changing::read(directory, 0);
        if (then && then->is_like(*now)) return 0;
        now = then;
    }
}

int fill(const Directory& fabric, const std::string& tree, const Entries& lasting) {
    const int directory = fabric.fd();
    remove_abandoned(fabric);
    std::string made;
    for (const Entry& entry : lasting) {
        const std::string folder = tree + "/" + entry.path.substr(0, entry.path.rfind('/'));
        int error = folder == made ? 0 : make_folders(directory, folder);
        if (error == 0) error = place(directory, tree, entry);
        if (error != 0) return error;
        made = folder;
    }
    return 0;
}

}  // namespace

Result<std::string> make_tree(const Directory& directory, const Entries& lasting) {
    const std::string tree = tree_name(lasting);
    const bool is_there = exists(directory.fd(), tree + "/" + kComplete);
    int error = is_there ? 0 : fill(directory, tree, lasting);
    if (error == 0) error = refresh(directory, tree);
    if (error == 0 && !is_there) error = place(directory.fd(), tree, {kComplete, "", false});
    if (error != 0) return tl::unexpected(error);
    return directory.path() + "/" + tree;
}

int refresh_trees(const Directory& directory) {
    for (const std::string& name : directory.entries()) {
        const bool is_tree = name.starts_with(kTreeStem);
        const int error = is_tree ? refresh(directory, name) : 0;
        if (error != 0) return error;
    }
    return 0;
}

}  // namespace softverbs
