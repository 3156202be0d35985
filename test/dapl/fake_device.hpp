// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Verbs devices that do what the test tells them, and a connection manager whose peer always says
/// yes: the core's data path, one step at a time.
#pragma once

#include <infiniband/verbs.h>

#include <cstdint>
#include <vector>

#include "dapl/base/dat.hpp"
#include "dapl/provider/library.hpp"

namespace fake {

/// "fake" is on an InfiniBand adapter, fake0, "second" on an iWARP one, fake1, which has no SRQs
/// and no memory windows.
inline constexpr int kAdapters = 2;

ibv_context* context(int number);

/// A posted work request, as the device saw it.
struct Work {
    std::uint64_t id;
    ibv_wr_opcode opcode;
    unsigned flags;
    std::uint32_t length;
    std::uint32_t immediate;
};

/// What is posted and not yet completed, oldest first.
const std::vector<Work>& requests(ibv_qp* qp);
const std::vector<Work>& receives(ibv_qp* qp);
/// Completes the oldest request; a good one that is not signalled leaves no completion.
void finish_request(ibv_qp* qp, ibv_wc_status status = IBV_WC_SUCCESS);
/// Completes the oldest receive, of the queue pair's SRQ where it has one. The device never says
/// that the last one is reached.
void finish_receive(ibv_qp* qp, std::uint32_t length, ibv_wc_status status = IBV_WC_SUCCESS,
                    ibv_wc_opcode opcode = IBV_WC_RECV, std::uint32_t immediate = 0);
/// Whether the InfiniBand adapter has atomic operations, for IAs that are opened from now on.
void have_atomics(bool there);
/// The limit at which the SRQ is armed; 0: not.
std::uint32_t limit(ibv_srq* srq);
/// What a queue pair in error does with what is posted on it. kOnEntry: flushes it when it enters
/// the state, and takes what is posted later without a word, as siw does.
enum class Flushing { kAtOnce, kOnEntry, kNever };
void set_flushing(Flushing flushing);
/// Flushes what is posted now.
void flush(ibv_qp* qp);
/// Completes any work request id at will, on the queue of the requests.
void inject(ibv_qp* qp, std::uint64_t id, ibv_wc_status status);
/// Raises an asynchronous event of an adapter.
void raise(const ibv_async_event& event, int number = 0);

/// The peer of the last dat_ep_connect says yes.
void establish();

/// A peer asks the last listener for a connection.
void request();
/// What the next accepts answer; 0: they succeed.
void refuse_accepts(DAT_RETURN code);
/// What the next listeners answer; 0: they listen.
void refuse_listeners(DAT_RETURN code);
/// The qualifiers that were listened on, or tried to.
std::vector<std::uint64_t> take_listened();
/// How often connections were taken down.
int disconnects();
/// How often completion queues were polled.
int polls();

/// The queue pair is ready to send, as after a connection manager's moves, which moves_to() does
/// not count.
void connect(ibv_qp* qp);
/// How often queue pairs were moved to a state.
int moves_to(ibv_qp_state state);

/// Objects of the device that are alive: domains, regions, channels, queues, queue pairs.
int objects();
/// ibv_reg_mr, ibv_create_cq, _qp and _srq, ibv_resize_cq and everything about an SRQ fail with
/// this errno; 0: they work again.
void refuse(int error_number);

/// The library whose connection manager is the one above (fake_manager.cpp).
extern const dapl::Library kLibrary;

/// An adapter instance of a fake device.
struct OpenIa {
    explicit OpenIa(int number = 0, const char* ia_params = "",
                    const dapl::Library& library = kLibrary);
    ~OpenIa();
    DAT_IA_HANDLE ia = nullptr;
    DAT_EVD_HANDLE async = nullptr;
};

}  // namespace fake
