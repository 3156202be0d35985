// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The adapter instances that a process opens by one dat.conf record share a service: the service
/// queue pair, the ports of their listeners, and the ids by which messages find their connection.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>

#include "dapl/cm/event_loop.hpp"
#include "device/device.hpp"
#include "providers/exchange/path.hpp"
#include "providers/exchange/timed_queue.hpp"
#include "providers/ucm/destinations.hpp"
#include "providers/ucm/dialog.hpp"
#include "providers/ucm/epilogue.hpp"
#include "providers/ucm/pace.hpp"
#include "providers/ucm/service_queue_pair.hpp"
#include "providers/ucm/timing.hpp"

namespace dapl::ucm {

class Listener;

/// Unless stated otherwise, functions are called with connection_lock held. Managers hold it, and
/// so does the event thread while it is in a step of its own: then the last one that lets go
/// destroys it, with connection_lock held.
class Service final : public std::enable_shared_from_this<Service>,
                      private cm::EventSource,
                      private cm::Timer,
                      private Destinations::Owner {
  public:
    /// @return the record's service, opened if necessary. Reports a failure.
    /// @param ia_params of dat.conf.
    static support::Result<std::shared_ptr<Service>> of(std::string_view ia_name,
                                                        std::string_view ia_params,
                                                        cm::EventLoop& loop)
        EXCLUDES(connection_lock);
    ~Service() REQUIRES(connection_lock);
    Service(const Service&) = delete;
    Service& operator=(const Service&) = delete;

    cm::EventLoop& loop;
    const Timing timing;
    Pace pace;  ///< of requests and disconnects
    /// @return the address of the service queue pair, which is constant.
    const QpAddress& address() const { return address_; }

    /// @return an id that is not in use; 0 if there is none left.
    std::uint32_t free_id() REQUIRES(connection_lock);
    /// The participant gets the messages of its dialog, and repetitions of the request.
    void enter(Participant& participant) REQUIRES(connection_lock);
    /// The participant gets no more messages.
    void leave(const Participant& participant) REQUIRES(connection_lock);
    /// Ends a dialog: what still comes from the peer is the epilogue's.
    /// @return valid until the waiter is told.
    Epilogue& conclude(const Dialog& dialog, Epilogue::Kind kind,
                       Epilogue::Waiter* waiter = nullptr) REQUIRES(connection_lock);

    /// @return false if the port is taken.
    bool listen(std::uint16_t port, Listener& listener) REQUIRES(connection_lock);
    void stop_listening(std::uint16_t port) REQUIRES(connection_lock);

    /// Sends a message of a dialog to its peer.
    void send(const Message& message, const Dialog& dialog) REQUIRES(connection_lock);
    /// Rejects a request that has no dialog.
    void refuse(const Message& request) REQUIRES(connection_lock);

    /// Waits until the peers have answered this side's disconnects, as long as answers come. A
    /// process that ends now would leave a peer that has missed its disconnect connected.
    void finish_disconnects() REQUIRES(connection_lock);

    /// For epilogues: a disconnect begins, and is over.
    void begin_disconnect(Epilogue& epilogue) REQUIRES(connection_lock);
    void end_disconnect(Epilogue& epilogue) REQUIRES(connection_lock);
    /// For epilogues: begins to limit its time.
    void limit(Epilogue& epilogue) REQUIRES(connection_lock) { ended_.enter(epilogue); }
    /// For epilogues: destroys it.
    void forget(const Epilogue& epilogue) REQUIRES(connection_lock);

  private:
    struct Opening;
    explicit Service(Opening opening);

    void ready() override REQUIRES(connection_lock);
    void expired() override REQUIRES(connection_lock);
    void undeliverable(std::uint32_t id, const Refusal& refusal) override REQUIRES(connection_lock);
    std::shared_ptr<void> hold() override { return shared_from_this(); }
    void take(const ServiceQueuePair::Datagram& datagram) REQUIRES(connection_lock);
    void take_request(const Message& request) REQUIRES(connection_lock);
    /// @return the participant that an earlier copy of the request was given to, if any.
    Participant* earlier(const Message& request) REQUIRES(connection_lock);
    void answer_stranger(const Message& message) REQUIRES(connection_lock);
    Participant* find(std::uint32_t id) REQUIRES(connection_lock);

    const std::string ia_name_;
    const cm::OpenDevice device_;
    const exchange::Port port_;
    const std::unique_ptr<ServiceQueuePair> queue_pair_;
    const QpAddress address_;
    Destinations destinations_ GUARDED_BY(connection_lock);
    exchange::TimedQueue ended_ GUARDED_BY(connection_lock);
    std::uint32_t last_id_ GUARDED_BY(connection_lock) = 0;
    std::unordered_map<std::uint32_t, Participant*> participants_ GUARDED_BY(connection_lock);
    std::unordered_map<std::uint32_t, std::unique_ptr<Epilogue>> epilogues_
        GUARDED_BY(connection_lock);
    std::size_t disconnects_ GUARDED_BY(connection_lock) = 0;  ///< that are not over
    support::CondVar one_is_over_;
    std::unordered_map<std::uint16_t, Listener*> listeners_ GUARDED_BY(connection_lock);
    /// The participant that has a request, and when it got it.
    struct Asked {
        std::uint32_t id;
        Clock::time_point when;
    };
    std::map<RequestKey, Asked> requests_ GUARDED_BY(connection_lock);
    Service* next_ = nullptr;  ///< in the list of the process's services
};

}  // namespace dapl::ucm
