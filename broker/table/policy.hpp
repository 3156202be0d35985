// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Policies by their names: those that are built in, and those of shared objects.
#pragma once

#include <dat2/dat_reg_policy.h>

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace dapl::memory {

/// The policy where nobody has chosen, and where the chosen one cannot be had.
inline constexpr const char* kDefaultPolicy = "weighted-fair-lru";

/// Those that are built in, one a file in broker/policy/.
std::span<const DAT_REG_POLICY* const> built_in_policies();

/// A policy at work, with its own state.
class Policy {
  public:
    /// @param name of one that is built in, or the path of a shared object, which has a slash in
    /// it and is not obeyed in set-uid programs. Tells the user what is wrong.
    /// @return nullptr where it cannot be had.
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

/// The policy that a table names, loaded once for each name.
class PolicyInForce {
  public:
    /// @param generation raised with each change of the name.
    const Policy& of(std::string_view name, std::uint32_t generation);

  private:
    std::unique_ptr<Policy> policy_;
    std::uint32_t generation_ = 0;
};

}  // namespace dapl::memory
