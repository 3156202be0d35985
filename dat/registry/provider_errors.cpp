// SPDX-License-Identifier: BSD-2-Clause
#include "dat/registry/provider_errors.hpp"

#include <dlfcn.h>

#include <cstdint>
#include <cstring>

namespace dat {

/// Reads what a foreign provider may keep in that field only if it is memory of a loaded library.
const support::ProviderMark* mark_of(const DAT_PROVIDER& provider) {
    const void* extension = provider.extension;
    Dl_info where;
    if (!extension || reinterpret_cast<std::uintptr_t>(extension) % alignof(support::ProviderMark))
        return nullptr;
    if (!dladdr(extension, &where)) return nullptr;
    const auto* mark = static_cast<const support::ProviderMark*>(extension);
    if (std::memcmp(mark->magic, support::kProviderMagic, sizeof mark->magic) != 0) return nullptr;
    return mark;
}

ProviderErrors::ProviderErrors(const DAT_PROVIDER& provider, bool silenced) : errors_(nullptr) {
    const support::ProviderMark* mark = mark_of(provider);
    if (!mark) return;
    errors_ = &mark->thread_errors();
    before_ = errors_->count;
    errors_->silenced = silenced;
    errors_->configuration_told = 1;  // Registry::report_file_once
}

ProviderErrors::~ProviderErrors() {
    if (!errors_) return;
    errors_->silenced = 0;
    errors_->configuration_told = 0;
}

}  // namespace dat
