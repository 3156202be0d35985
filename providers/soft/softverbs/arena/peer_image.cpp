// SPDX-License-Identifier: BSD-2-Clause
#include "providers/soft/softverbs/arena/peer_image.hpp"

#include <sys/uio.h>

#include <cerrno>

namespace softverbs {

int probe_process_vm(const Peer& peer, ArenaView arena) {
    std::uint64_t nonce = 0;
    iovec local{&nonce, sizeof nonce};
    iovec remote{reinterpret_cast<void*>(arena.header().nonce_address), sizeof nonce};
    if (peer.pid() <= 0) return ESRCH;
    const ssize_t got = process_vm_readv(peer.pid(), &local, 1, &remote, 1, 0);
    // No process with memory has the pid that the peer's descriptor stands for: the peer is
    // exiting.
    if (got < 0) return errno == ESRCH ? ECONNREFUSED : errno;
    return got == sizeof nonce && nonce == arena.header().nonce ? 0 : ESRCH;
}

const char* remedy_of_process_vm(int cause) {
    if (cause == EPERM)
        return "allow ptrace between the processes (kernel.yama.ptrace_scope, CAP_SYS_PTRACE)";
    return cause == ESRCH ? "run both processes in one PID namespace" : "see ptrace(2)";
}

/// A lost link alone does not prove the end: the program may still run, with our arena mapped.
bool image_has_ended(const Peer& peer) {
    if (peer.has_ended()) return true;
    if (peer.alive() || peer.is_self() || peer.pid() <= 0) return false;
    const int cause = probe_process_vm(peer, ArenaView(peer.arena(), peer.arena_size()));
    return cause == ESRCH || cause == EFAULT || cause == ECONNREFUSED;
}

}  // namespace softverbs
