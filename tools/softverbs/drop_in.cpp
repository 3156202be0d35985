// SPDX-License-Identifier: BSD-2-Clause
#include "tools/softverbs/drop_in.hpp"

#include <dlfcn.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <link.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <string_view>

#include "tools/softverbs/empty_library.hpp"

namespace softverbs::tool {
namespace {

namespace fs = std::filesystem;

constexpr char kFolder[] = "drop-in-";

/// @return the address in one entry of a loaded library's dynamic section; 0 if there is none.
/// glibc makes some of them absolute and leaves others as in the file.
ElfW(Addr) dynamic_address(const link_map& object, std::int64_t tag) {
    for (const ElfW(Dyn)* entry = object.l_ld; entry->d_tag != DT_NULL; ++entry)
        if (entry->d_tag == tag)
            return entry->d_un.d_ptr + (entry->d_un.d_ptr < object.l_addr ? object.l_addr : 0);
    return 0;
}

/// @return the names of the version nodes that a loaded library defines and that begin with
/// `prefix`.
std::vector<std::string> nodes_of(const link_map& object, std::string_view prefix) {
    std::vector<std::string> nodes;
    const auto* strings = reinterpret_cast<const char*>(dynamic_address(object, DT_STRTAB));
    auto* at = reinterpret_cast<const char*>(dynamic_address(object, DT_VERDEF));
    if (!strings || !at) return nodes;
    for (;;) {
        const auto* node = reinterpret_cast<const ElfW(Verdef)*>(at);
        const auto* name = reinterpret_cast<const ElfW(Verdaux)*>(at + node->vd_aux);
        const std::string text = strings + name->vda_name;
        if ((node->vd_flags & VER_FLG_BASE) == 0 && text.starts_with(prefix)) nodes.push_back(text);
        if (node->vd_next == 0) return nodes;
        at += node->vd_next;
    }
}

bool is_drop_in(const fs::path& file) {
    return file.parent_path().filename().string().starts_with(kFolder);
}

/// @return the installed library of this name. It stays loaded, because its version nodes are in
/// its own memory. A drop-in that our own environment already names is skipped.
const link_map* load_installed(const std::string& soname) {
    void* handle = dlopen(soname.c_str(), RTLD_LAZY | RTLD_LOCAL);
    link_map* object = nullptr;
    if (!handle || dlinfo(handle, RTLD_DI_LINKMAP, &object) != 0) return nullptr;
    if (!is_drop_in(object->l_name)) return object;
    // The drop-in has loaded the installed library, which it needs by path.
    for (object = object->l_next; object; object = object->l_next)
        if (std::string_view(object->l_name).find("/" + soname.substr(0, soname.find(".so"))) !=
            std::string_view::npos)
            return object;
    return nullptr;
}

Result<EmptyLibrary> stand_in_for(const std::string& soname, const std::string& prefix,
                                  const std::string& library, std::string& fault) {
    void* ours = dlopen(library.c_str(), RTLD_LAZY | RTLD_LOCAL);
    link_map* object = nullptr;
    if (!ours || dlinfo(ours, RTLD_DI_LINKMAP, &object) != 0) {
        fault = dlerror();
        return tl::unexpected(ELIBACC);
    }
    EmptyLibrary made{soname, nodes_of(*object, prefix), {library}};
    if (const link_map* installed = load_installed(soname)) {
        for (const std::string& node : nodes_of(*installed, prefix))
            if (std::find(made.nodes.begin(), made.nodes.end(), node) == made.nodes.end())
                made.nodes.push_back(node);
        made.needed.push_back(fs::absolute(installed->l_name).lexically_normal().string());
    }
    return made;
}

bool has_contents(const fs::path& path, const std::string& contents) {
    std::ifstream file(path, std::ios::binary);
    const std::string found{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
    return file && found == contents;
}

/// Writes the file completely or not at all: another process may be looking it up.
int write_file(const fs::path& path, const std::string& contents) {
    const std::string unfinished = fmt::format("{}.{}", path.string(), getpid());
    const UniqueFd file(
        open(unfinished.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
    if (!file.valid()) return errno;
    const ssize_t put = write(file.get(), contents.data(), contents.size());
    const int error = put == static_cast<ssize_t>(contents.size()) ? 0 : put < 0 ? errno : ENOSPC;
    if (error == 0 && rename(unfinished.c_str(), path.c_str()) == 0) return 0;
    const int cause = error != 0 ? error : errno;
    unlink(unfinished.c_str());
    return cause;
}

}  // namespace

/// The folder's name is a hash of its contents, so that containers with different installations can
/// share a fabric.
Result<std::string> make_drop_in(const std::string& library, const std::string& fabric,
                                 std::string& fault) {
    std::map<std::string, std::string> files;
    std::uint64_t hash = 0xcbf29ce484222325;  // FNV-1a
    for (const auto& [soname, prefix] :
         {std::pair("libibverbs.so.1", "IBVERBS_"), std::pair("librdmacm.so.1", "RDMACM_")}) {
        const auto made = stand_in_for(soname, prefix, library, fault);
        if (!made) return tl::unexpected(made.error());
        files[soname] = image_of(*made);
        for (const char byte : files[soname])
            hash = (hash ^ static_cast<unsigned char>(byte)) * 0x100000001b3;
    }
    const fs::path folder = fs::path(fabric) / fmt::format("{}{:016x}", kFolder, hash);
    if (mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST) {
        fault = fmt::format("{}: {}", folder.string(), std::strerror(errno));
        return tl::unexpected(errno);
    }
    for (const auto& [soname, contents] : files) {
        if (has_contents(folder / soname, contents)) continue;
        if (const int error = write_file(folder / soname, contents)) {
            fault = fmt::format("{}: {}", (folder / soname).string(), std::strerror(error));
            return tl::unexpected(error);
        }
    }
    return folder.string();
}

}  // namespace softverbs::tool
