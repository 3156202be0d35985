// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The EP that waits at a service point for its one request.
#pragma once

#include "dapl/base/dat.hpp"
#include "dapl/cm/lock.hpp"

namespace dapl {

class Ep;

class ReservedEp {
  public:
    /// @param ep UNCONNECTED until reserve() moves it; nullptr if the service point has none.
    explicit ReservedEp(Ep* ep);

    /// Moves the EP to RESERVED or UNCONFIGURED_RESERVED: it waits for a request from here on.
    void reserve() REQUIRES(connection_lock);
    /// @return the EP while it waits, else nullptr.
    Ep* get() const REQUIRES(connection_lock) { return ep_; }
    /// A request has the EP now.
    void taken() REQUIRES(connection_lock);
    /// Returns an EP that still waits to the consumer.
    void release() REQUIRES(connection_lock);

    const DAT_EP_HANDLE handle;  ///< for queries, even after a request has taken the EP

  private:
    Ep* ep_ GUARDED_BY(connection_lock);
};

}  // namespace dapl
