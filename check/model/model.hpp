// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The model of a process that the checks keep: regions, objects, transfers and findings. It knows
/// neither DAT nor verbs; whoever watches a program's calls feeds it.
#pragma once

#include <new>
#include <span>
#include <unordered_map>

#include "check/model/objects.hpp"
#include "support/thread/mutex.hpp"

namespace check {

/// A transfer that is about to be posted.
struct Post {
    const char* call;
    Place place;
    std::span<const Segment> segments;
    std::uint64_t cookie;
    bool is_receive;
    bool is_target;      ///< writes to its segments
    bool is_suppressed;  ///< makes no completion if it succeeds
    bool is_fenced;      ///< begins when the reads before it are complete
    bool is_atomic;
    Segment remote;  ///< memory of the peer; of no length if it uses none
    unsigned remote_rights;
};

struct Completion {
    std::uint64_t cookie;  ///< of the post
    bool is_receive;
    std::uint64_t length;  ///< bytes that it has brought
    bool lacked_receive;   ///< the peer had posted none
    bool was_refused;      ///< the peer does not permit the access to its memory
};

/// Counts the findings of one kind.
using Counts = std::uint64_t[kKinds];

class Model {
  public:
    /// Guards everything here. No other lock is taken, no memory of malloc() and no callback used
    /// under it, and it is not held while the program's calls run.
    support::Mutex mutex;
    Arena arena GUARDED_BY(mutex);
    Regions regions GUARDED_BY(mutex){arena};
    /// Holds the same regions by the keys that peers use.
    Regions remote_regions GUARDED_BY(mutex){arena};
    Objects objects GUARDED_BY(mutex){arena};
    Targets targets GUARDED_BY(mutex){arena};

    /// Checks a transfer and follows it from here on.
    /// @return it, for take_back() if it is not posted after all.
    Transfer* begin(Object& poster, const Post& post, const Policy& policy, Found& found)
        REQUIRES(mutex);
    void take_back(Object& poster, const Post& post, const Transfer* transfer) REQUIRES(mutex);
    /// Follows a transfer no more.
    void complete(Object& poster, const Completion& completion, const Policy& policy, Found& found)
        REQUIRES(mutex);
    /// Follows none of an endpoint's transfers any more.
    void end_transfers(Object& poster) REQUIRES(mutex);
    /// Searches for the endpoint of this process to which one is connected, by the names of both
    /// ends.
    void find_peer(const void* handle, Object& poster) REQUIRES(mutex);
    /// Searches for an endpoint whose connection has ended, and which still has transfers although
    /// the queue of their completions is empty. @return whether there is one.
    bool find_lost(const void* queue, Found& found) REQUIRES(mutex);
    /// Searches for a transfer that uses a region. @return whether there is one.
    bool find_use(Domain owner, std::uint64_t key, Found& found) REQUIRES(mutex);

    /// Counts a finding. @return whether it is the first of its kind at this place.
    bool count(Domain domain, Kind kind, Place place) REQUIRES(mutex);
    /// @return the number of places. @param counts out: the findings of each kind.
    std::uint64_t take_counts(Domain domain, Counts& counts) REQUIRES(mutex);

  private:
    struct Name {
        Domain domain;
        Kind kind;
        Place place;
        friend bool operator==(const Name&, const Name&) = default;
    };
    struct Hash {
        std::size_t operator()(const Name& name) const;
    };
    void add_pieces(Object& poster, const Post& post, const Policy& policy, Transfer& transfer,
                    Found& found) REQUIRES(mutex);
    /// Whether nothing can come to what is posted: a shared queue has no endpoint that receives.
    bool is_over(const void* handle, const Object& poster) REQUIRES(mutex);
    void check_overlap(const TransferList& list, const Transfer& done, Found& found)
        REQUIRES(mutex);
    /// Checks memory of the peer, if the peer is in this process and the key is that of a region.
    void check_remote(const Object& poster, const Post& post, Found& found) REQUIRES(mutex);
    void check_queue(Object& poster, const Post& post, Found& found) REQUIRES(mutex);
    /// Checks that a request does not read memory which an RDMA read before it has yet to fill.
    void check_fence(const Endpoint& endpoint, const Post& post, const Transfer& transfer,
                     Found& found) REQUIRES(mutex);
    void check_portability(const Object& poster, const Post& post, Found& found) REQUIRES(mutex);
    /// Leaves out memory of this process, which the post was checked for.
    void add_refusal(const Endpoint& endpoint, const Transfer& done, Found& found) REQUIRES(mutex);
    /// Names the peer, if it is in this process.
    void add_no_receive(const Endpoint& endpoint, const Transfer& done, Found& found)
        REQUIRES(mutex);
    void check_unchanged(Domain owner, const Transfer& transfer, Found& found) REQUIRES(mutex);
    void drop(Object& poster, bool is_receive, TransferList::iterator transfer) REQUIRES(mutex);
    Object* queue_of(const Object& poster, bool is_receive) REQUIRES(mutex);

    std::unordered_map<Name, std::uint64_t, Hash, std::equal_to<>,
                       Pooled<std::pair<const Name, std::uint64_t>>>
        counts_ GUARDED_BY(mutex){Pooled<int>(arena)};
};

/// @return this process's. A forked child gets a new one. Throws std::bad_alloc.
Model& model();

/// Runs a step of a check under the model's lock. Without memory the check is left out.
template <class Step>
void with_model(const Step& step) {
    try {
        Model& state = model();
        const support::MutexLock lock(state.mutex);
        step(state);
    } catch (const std::bad_alloc&) {
        return;
    }
}

/// Calls step(Model&, Object&) for a live endpoint or shared receive queue that is known, with the
/// model locked.
template <class Step>
void with_endpoint(const void* handle, const Step& step) {
    with_model([&](Model& state) NO_THREAD_SAFETY_ANALYSIS {
        Object* object = state.objects.find_live(handle);
        if (object && object->endpoint) step(state, *object);
    });
}

/// Remembers that an endpoint's connection is over: its transfers are flushed, or nothing comes for
/// them any more.
void note_over(const void* endpoint);

}  // namespace check
