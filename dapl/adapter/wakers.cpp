// SPDX-License-Identifier: BSD-2-Clause
#include "dapl/adapter/wakers.hpp"

#include <sys/eventfd.h>

#include <utility>

namespace dapl {

Waker::Waker(support::UniqueFd descriptor) : descriptor_(std::move(descriptor)) {
    sem_init(&semaphore_, 0, 0);
}

Waker::~Waker() {
    sem_destroy(&semaphore_);
}

void Waker::wake() {
    if (descriptor_.valid())
        eventfd_write(descriptor(), 1);
    else
        sem_post(&semaphore_);
}

void Waker::clear() {
    eventfd_t ignored;
    eventfd_read(descriptor(), &ignored);
}

/// The events of several posts are seen after one sleep.
int Waker::sleep(const Deadline& deadline) {
    const int code = deadline.infinite()
                         ? sem_wait(&semaphore_)
                         : sem_clockwait(&semaphore_, CLOCK_MONOTONIC, &deadline.at());
    while (code == 0 && sem_trywait(&semaphore_) == 0) continue;
    return code;
}

Wakers::~Wakers() {
    for (Waker* waker : idle_)
        while (waker) delete std::exchange(waker, waker->next_);
}

Waker* Wakers::borrow(bool with_descriptor) {
    {
        support::MutexLock lock(mutex_);
        Waker*& first = idle_[with_descriptor];
        if (first) return std::exchange(first, first->next_);
    }
    support::UniqueFd descriptor(with_descriptor ? eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK) : -1);
    if (with_descriptor && !descriptor.valid()) return nullptr;
    return new Waker(std::move(descriptor));
}

void Wakers::give_back(Waker& waker) {
    support::MutexLock lock(mutex_);
    waker.next_ = std::exchange(idle_[waker.descriptor_.valid()], &waker);
}

}  // namespace dapl
