// SPDX-License-Identifier: BSD-2-Clause
#include "dat/registry/provider_library.hpp"

#include <dlfcn.h>

#include <utility>

#include "support/log/log.hpp"

namespace dat {
namespace {

[[gnu::tls_model("initial-exec")]] thread_local int depth_in_providers = 0;  // providers may nest

class InProvider {
  public:
    InProvider() { ++depth_in_providers; }
    ~InProvider() { --depth_in_providers; }
    InProvider(const InProvider&) = delete;
    InProvider& operator=(const InProvider&) = delete;
};

std::string last_loader_error() {
    const char* text = dlerror();
    return text ? text : "the loader gives no reason";
}

/// Puts this library into the global scope. Providers have no NEEDED entry for it and look its
/// functions up there, but a program that loaded it by dlopen with RTLD_LOCAL has kept it out.
void promote_self_to_global_scope() {
    Dl_info self;
    if (!dladdr(reinterpret_cast<void*>(&promote_self_to_global_scope), &self)) return;
    // This only sets the flag of the loaded library; the flag stays set.
    if (void* handle = dlopen(self.dli_fname, RTLD_NOW | RTLD_NOLOAD | RTLD_GLOBAL))
        dlclose(handle);
}

}  // namespace

tl::expected<ProviderLibrary, std::string> ProviderLibrary::load(const std::string& path) {
    // For an empty path dlopen would return the program itself.
    if (path.empty()) return tl::unexpected<std::string>("the record names no library");
    promote_self_to_global_scope();
    const InProvider in_constructors;
    ProviderLibrary library;
    // Local scope, where the reference uses global: symbols of one provider (or of what it is
    // linked with) are not resolved to those of another. Libraries loaded later cannot bind to them
    // either, which would keep the provider from being unloaded. A provider's symbols are only
    // looked up through this handle.
    library.handle_ = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!library.handle_) return tl::unexpected<std::string>(last_loader_error());
    library.init_ = reinterpret_cast<DAT_PROVIDER_INIT_FUNC>(
        dlsym(library.handle_, DAT_PROVIDER_INIT_FUNC_STR));
    library.fini_ = reinterpret_cast<DAT_PROVIDER_FINI_FUNC>(
        dlsym(library.handle_, DAT_PROVIDER_FINI_FUNC_STR));
    if (!library.init_)
        return tl::unexpected<std::string>(path + " is not a provider: it does not export " +
                                           DAT_PROVIDER_INIT_FUNC_STR);
    library.module_ = module_of(reinterpret_cast<const void*>(library.init_));
    return library;
}

ProviderLibrary::~ProviderLibrary() {
    const InProvider in_destructors;
    if (handle_ && dlclose(handle_) != 0)
        support::trace(support::Level::kDebug, "dlclose: {}", last_loader_error());
}

void ProviderLibrary::init(const DAT_PROVIDER_INFO& info, const std::string& ia_params) const {
    const InProvider called;
    init_(&info, ia_params.c_str());
}

std::string ProviderLibrary::file() const {
    Dl_info info;
    return dladdr(reinterpret_cast<const void*>(init_), &info) ? info.dli_fname : "";
}

void ProviderLibrary::fini(const DAT_PROVIDER_INFO& info) const {
    const InProvider called;
    if (fini_) fini_(&info);
}

void ProviderLibrary::swap(ProviderLibrary& other) {
    std::swap(handle_, other.handle_);
    std::swap(init_, other.init_);
    std::swap(fini_, other.fini_);
    std::swap(module_, other.module_);
}

bool in_provider() {
    return depth_in_providers > 0;
}

const void* module_of(const void* address) {
    Dl_info info;
    return dladdr(address, &info) ? info.dli_fbase : nullptr;
}

}  // namespace dat
