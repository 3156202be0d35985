// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The address handles by which messages reach the peers' ports, one for each port.
///
/// The event thread makes them without connection_lock: on RoCE the kernel resolves the address,
/// which takes as long as the network does. Until then, messages to that port wait.
#pragma once

#include <cstdint>
#include <deque>
#include <list>
#include <map>
#include <memory>
#include <string>

#include "dapl/cm/event_loop.hpp"
#include "providers/exchange/path.hpp"
#include "providers/ucm/dialog.hpp"
#include "providers/ucm/message.hpp"
#include "providers/ucm/service_queue_pair.hpp"

namespace dapl::ucm {

using exchange::QpAddress;

/// Connection_lock guards it.
class Destinations final : private cm::Timer {
  public:
    class Owner {
      public:
        /// The message could not be sent. @param id of the one who wanted to.
        virtual void undeliverable(std::uint32_t id, const Refusal& refusal)
            REQUIRES(connection_lock) = 0;
        /// @return what keeps the destinations, and all that they use, from being destroyed.
        virtual std::shared_ptr<void> hold() = 0;

      protected:
        ~Owner() = default;
    };

    Destinations(Owner& owner, cm::EventLoop& loop, const exchange::Port& port,
                 ServiceQueuePair& queue_pair)
        : owner_(owner), loop_(loop), port_(port), queue_pair_(queue_pair) {}
    /// To be called before destruction.
    void stop() REQUIRES(connection_lock) { loop_.cancel(*this); }

    /// Sends now, or when there is an address handle. The message may get lost, as any datagram.
    /// @param to a service queue pair. @param id for undeliverable(); 0 if nobody cares.
    void send(const Message& message, const QpAddress& to, std::uint32_t id)
        REQUIRES(connection_lock);

  private:
    /// LID and GID of a port.
    using Key = std::pair<std::uint16_t, std::array<std::uint8_t, 16>>;
    struct Known {
        Key key;
        SharedHandle handle;
    };
    struct Waiting {
        Bytes message;
        QpAddress to;
        std::uint32_t id;
    };
    static Key key_of(const QpAddress& address) { return {address.lid, address.gid}; }
    /// @return nullptr if there is none yet.
    SharedHandle find(const Key& key) REQUIRES(connection_lock);
    void keep(const Key& key, SharedHandle handle) REQUIRES(connection_lock);
    /// Makes the handle for the message that has waited longest.
    void expired() override REQUIRES(connection_lock);
    void deliver(const Key& key, const SharedHandle& handle, const Refusal& refusal)
        REQUIRES(connection_lock);

    Owner& owner_;
    cm::EventLoop& loop_;
    const exchange::Port& port_;
    ServiceQueuePair& queue_pair_;
    std::list<Known> known_ GUARDED_BY(connection_lock);  ///< used latest first
    std::map<Key, std::list<Known>::iterator> places_ GUARDED_BY(connection_lock);
    std::deque<Waiting> waiting_ GUARDED_BY(connection_lock);
};

}  // namespace dapl::ucm
