// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// State that a child must not share with its parent after fork.
#pragma once

#include <unistd.h>

#include <atomic>

namespace softverbs {

/// One T per process; must be a static object. A child makes its own, because a lock in the
/// parent's may have been held by a thread that the child does not have. No T is ever destroyed,
/// because other threads may still run while the process exits. The first one is inside the object
/// itself, so that unloading the library leaks nothing.
template <class T>
class PerProcess {
  public:
    constexpr PerProcess() : first_() {}
    ~PerProcess() {}

    /// `on_fork(T& of_parent)` runs once in a child, before anybody gets the child's own T.
    template <class OnFork>
    T& get(OnFork on_fork) {
        Node* found = node_.load(std::memory_order_acquire);
        while (!found || found->pid.load() != getpid()) {
            Node* const made = found ? new Node : &first_;
            made->pid.store(getpid());
            made->of_parent = found;
            if (!node_.compare_exchange_strong(found, made)) {
                if (made != &first_) delete made;
                continue;
            }
            if (found) on_fork(found->value);
            found = made;
        }
        return found->value;
    }
    T& get() {
        return get([](T&) {});
    }

  private:
    struct Node {
        std::atomic<Node*> of_parent{nullptr};  ///< keeps the parent's node reachable
        std::atomic<pid_t> pid{0};
        T value = {};
    };
    std::atomic<Node*> node_{nullptr};
    union {
        Node first_;
    };
};

}  // namespace softverbs
