// SPDX-License-Identifier: BSD-2-Clause
#include "providers/soft/softverbs/passthrough/system_library.hpp"

#include <dlfcn.h>
#include <link.h>

#include <cstring>
#include <string>
#include <string_view>
#include <vector>

namespace softverbs {

constinit SystemLibrary system_verbs{"libibverbs.so", "ibv_get_device_list"};
constinit SystemLibrary system_cm{"librdmacm.so", "rdma_create_id"};

namespace {

struct Search {
    std::string_view stem;
    std::vector<std::string> paths;
};

int note_object(dl_phdr_info* object, std::size_t, void* data) {
    auto& search = *static_cast<Search*>(data);
    const std::string_view path = object->dlpi_name ? object->dlpi_name : "";
    const std::string_view file = path.substr(path.rfind('/') + 1);
    if (file.starts_with(search.stem)) search.paths.emplace_back(path);
    return 0;
}

/// Whether the address is in the library that contains this function.
bool is_ours(const void* address) {
    Dl_info theirs, ours;
    return dladdr(address, &theirs) != 0 &&
           dladdr(reinterpret_cast<const void*>(&is_ours), &ours) != 0 &&
           theirs.dli_fbase == ours.dli_fbase;
}

}  // namespace

/// Searches the loaded libraries of that name. It skips a drop-in library (softverbs run
/// --drop-in), which has the name too, but our functions. The handle is kept, so that the library
/// stays loaded as long as we know its functions.
void* SystemLibrary::handle() {
    void* known = handle_.load(std::memory_order_acquire);
    if (known) return known;
    Search search{stem_, {}};
    dl_iterate_phdr(note_object, &search);
    for (const std::string& path : search.paths) {
        void* found = dlopen(path.c_str(), RTLD_LAZY | RTLD_NOLOAD);
        if (!found) continue;
        const void* probe = dlsym(found, probe_);
        if (!probe || is_ours(probe) || !handle_.compare_exchange_strong(known, found)) {
            dlclose(found);
            if (known) return known;
            continue;
        }
        return found;
    }
    return nullptr;
}

void* SystemLibrary::find(const char* name, const char* version) {
    void* library = handle();
    if (!library) return nullptr;
    void* function = dlvsym(library, name, version);
    return function ? function : dlsym(library, name);
}

}  // namespace softverbs
