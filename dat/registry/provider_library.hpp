// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// One loaded provider library. Loading it and calling into it run the library's code, which calls
/// back into the registry: no lock may be held.
#pragma once

#include <dat2/udat.h>
// needs udat.h before it
#include <dat2/dat_registry.h>

#include <string>
#include <tl/expected.hpp>

namespace dat {

class ProviderLibrary {
  public:
    ProviderLibrary() = default;
    /// @param path as in dat.conf: without a slash the loader searches for it.
    /// @return the library, or why it cannot be used.
    static tl::expected<ProviderLibrary, std::string> load(const std::string& path);

    /// Unloads without calling dat_provider_fini; that is fini().
    ~ProviderLibrary();
    ProviderLibrary(ProviderLibrary&& other) noexcept { swap(other); }
    ProviderLibrary& operator=(ProviderLibrary&& other) noexcept {
        ProviderLibrary moved(std::move(other));
        swap(moved);
        return *this;
    }

    void init(const DAT_PROVIDER_INFO& info, const std::string& ia_params) const;
    void fini(const DAT_PROVIDER_INFO& info) const;
    /// Leaves the library mapped for the rest of the process, because something in it is still in
    /// use.
    void keep_mapped() { handle_ = nullptr; }
    /// @return the path at which the loader found it.
    std::string file() const;
    /// @return what distinguishes registrations of this library from those of others.
    const void* module() const { return module_; }

  private:
    void swap(ProviderLibrary& other);

    void* handle_ = nullptr;
    DAT_PROVIDER_INIT_FUNC init_ = nullptr;
    DAT_PROVIDER_FINI_FUNC fini_ = nullptr;
    const void* module_ = nullptr;
};

/// @return whether this thread is loading or unloading a provider or inside its dat_provider_init
/// or dat_provider_fini: what is registered during that time comes from a provider and not from the
/// program.
bool in_provider();

/// @return the start of the executable or library that holds `address`, nullptr when none does.
/// Takes the loader's lock, under which library constructors run: must not be called while holding
/// a lock that a registry function takes.
const void* module_of(const void* address);

}  // namespace dat
