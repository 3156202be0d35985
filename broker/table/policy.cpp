// SPDX-License-Identifier: BSD-2-Clause
#include "broker/table/policy.hpp"

#include <dlfcn.h>
#include <fmt/core.h>
#include <sys/auxv.h>

#include "broker/policy/policies.hpp"
#include "support/log/log.hpp"

namespace dapl::memory {
namespace {

constexpr const char* kSymbol = "dat_reg_policy";

std::string names() {
    std::string text;
    for (const DAT_REG_POLICY* policy : built_in_policies())
        text += (text.empty() ? "" : ", ") + std::string(policy->name);
    return text;
}

const DAT_REG_POLICY* find(std::string_view name) {
    for (const DAT_REG_POLICY* policy : built_in_policies())
        if (name == policy->name) return policy;
    return nullptr;
}

std::unique_ptr<Policy> refuse(const std::string& name, const std::string& why) {
    support::report<support::kRegistrationPolicy>(name, why, names());
    return nullptr;
}

}  // namespace

struct Policy::Library {
    explicit Library(const std::string& path)
        : handle(dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL)) {}
    ~Library() {
        if (handle) dlclose(handle);
    }
    Library(const Library&) = delete;
    Library& operator=(const Library&) = delete;
    void* const handle;
};

std::span<const DAT_REG_POLICY* const> built_in_policies() {
    static constexpr const DAT_REG_POLICY* kPolicies[] = {
        &policy::kNone, &policy::kStaticQuota, &policy::kRandom,         &policy::kLru,
        &policy::kLfu,  &policy::kClock,       &policy::kWeightedFairLru};
    return kPolicies;
}

Policy::Policy(const DAT_REG_POLICY* functions, std::unique_ptr<Library> library)
    : library_(std::move(library)),
      functions_(functions),
      state_(functions->open ? functions->open() : nullptr) {}

Policy::~Policy() {
    if (functions_->close) functions_->close(state_);
}

std::unique_ptr<Policy> Policy::load(const std::string& name) {
    if (const DAT_REG_POLICY* policy = find(name))
        return std::unique_ptr<Policy>(new Policy(policy, nullptr));
    if (name.find('/') == std::string::npos) return refuse(name, "there is no policy of that name");
    if (getauxval(AT_SECURE)) return refuse(name, "set-uid programs load no shared object");
    auto library = std::make_unique<Library>(name);
    if (!library->handle) return refuse(name, dlerror());
    const auto entry =
        reinterpret_cast<const DAT_REG_POLICY* (*)(void)>(dlsym(library->handle, kSymbol));
    if (!entry) return refuse(name, fmt::format("it does not export {}()", kSymbol));
    const DAT_REG_POLICY* policy = entry();
    if (!policy) return refuse(name, fmt::format("its {}() returned no policy", kSymbol));
    if (policy->version != DAT_REG_POLICY_VERSION)
        return refuse(name, fmt::format("its version is {}, not {}", policy->version,
                                        DAT_REG_POLICY_VERSION));
    return std::unique_ptr<Policy>(new Policy(policy, std::move(library)));
}

}  // namespace dapl::memory
