// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Brackets: the access that a peer has to a buffer from the request that names it to the response
/// (dat_reg_bracket_open()). Where the device has windows for endpoints, a bracket is such a
/// window, bound in the endpoint's send queue before the request that the program posts next; else
/// it is a registration of its own.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>

#include "broker/mode.hpp"
#include "broker/registrations.hpp"
#include "dapl/base/list.hpp"
#include "dapl/base/object.hpp"
#include "dapl/memory/pz.hpp"
#include "support/thread/mutex.hpp"

namespace dapl {
class Ep;
class Lmr;
class Rmr;
}  // namespace dapl

namespace dapl::memory {

/// Has either a window or an LMR of its own.
class Bracket final : public Object<Bracket>, public ListNode<Bracket> {
  public:
    static constexpr Kind kKind = Kind::kBracket;
    explicit Bracket(Registrations& registrations) : of(registrations) {}

    Registrations& of;
    Rmr* window = nullptr;
    Lmr* lmr = nullptr;
    Registration* held = nullptr;  ///< has a use until the bracket is closed for the first time
    std::atomic<bool> is_closing{false};
    bool was_refused = false;  ///< the device has refused to end the window, which is spoilt
};

/// The brackets of one adapter instance. Thread safe; its lock comes after all others.
class Brackets {
  public:
    Brackets(Registrations& registrations, BracketWay way)
        : registrations_(registrations), way_(way) {}

    /// @param handle out: the bracket. @param advertised out: what the peer names the buffer by.
    /// @return the code of dat_reg_bracket_open(). Throws std::bad_alloc.
    DAT_RETURN open(Ep& ep, const DAT_LMR_TRIPLET& buffer, DAT_MEM_PRIV_FLAGS privileges,
                    const Wait& wait, DAT_HANDLE& handle, DAT_RMR_TRIPLET& advertised)
        EXCLUDES(lock_);
    /// @return the code of dat_reg_bracket_close().
    DAT_RETURN close(Bracket& bracket) EXCLUDES(lock_);

    /// Frees the windows of a zone that are kept.
    void free_windows(const Pz& pz) EXCLUDES(lock_);
    /// Destroys the brackets that are left, after the adapter instance has freed its RMRs and LMRs.
    void forget_all() EXCLUDES(lock_);

  private:
    /// Most unbound windows that are kept. One that the peer has invalidated is bound again without
    /// a call of the device's driver.
    static constexpr std::size_t kMostKept = 64;

    struct Opening {
        Ep& ep;
        const DAT_LMR_TRIPLET& buffer;
        DAT_MEM_PRIV_FLAGS privileges;
        const Wait& wait;
        Registration& region;
        Lmr& lmr;  ///< of `region`
        Bracket& bracket;
        DAT_RMR_TRIPLET& advertised;
    };
    DAT_RETURN bind_window(const Opening& opening);
    DAT_RETURN register_buffer(const Opening& opening);
    DAT_RETURN hold(Registration& used, const Opening& opening);
    void end_hold(Bracket& bracket);
    DAT_RETURN end_access(Bracket& bracket) EXCLUDES(lock_);
    Rmr* kept_window(const Pz& pz) EXCLUDES(lock_);
    bool keep(Rmr& window) EXCLUDES(lock_);

    Registrations& registrations_;
    const BracketWay way_;
    support::SpinLock lock_;
    List<Bracket> open_ GUARDED_BY(lock_);
    std::array<Rmr*, kMostKept> kept_ GUARDED_BY(lock_){};
    std::size_t kept_count_ GUARDED_BY(lock_) = 0;
};

}  // namespace dapl::memory
