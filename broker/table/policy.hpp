// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Policies by name: the built-in ones, and those of shared objects.
#pragma once

#include <dat2/dat_reg_policy.h>

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace dapl::memory {

/// The policy if none is chosen, or if the chosen one could not be loaded.
inline constexpr const char* kDefaultPolicy = "weighted-fair-lru";

/// @return the built-in policies, one per file in broker/policy/.
std::span<const DAT_REG_POLICY* const> built_in_policies();

/// A loaded policy, with its own state.
class Policy {
  public:
    /// Loads a policy. Reports failures to the user.
    /// @param name of a built-in policy, or the path of a shared object. A path contains a slash,
    /// and is refused in set-uid programs.
    /// @return nullptr if it could not be loaded.
    static std::unique_ptr<Policy> load(const std::string& name);
    ~Policy();
    Policy(const Policy&) = delete;
    Policy& operator=(const Policy&) = delete;

    const DAT_REG_POLICY& functions() const { return *functions_; }
    void* state() const { return state_; }

  private:
    struct Library;
    Policy(const DAT_REG_POLICY* functions, std::unique_ptr<Library> library);
    std::unique_ptr<Library> library_;
    const DAT_REG_POLICY* functions_;
    void* state_;
};

}  // namespace dapl::memory
