// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Verbs devices that tests control step by step, and a connection manager whose peer always
/// accepts, for tests of the core's data path.
#pragma once

#include <infiniband/verbs.h>

#include <cstdint>
#include <functional>
#include <vector>

#include "dapl/base/dat.hpp"
#include "dapl/provider/library.hpp"

namespace fake {

/// "fake" is the IA on an InfiniBand adapter, fake0, "second" the one on an iWARP adapter, fake1,
/// which has no SRQs and no memory windows.
inline constexpr int kAdapters = 2;

ibv_context* context(int number);

/// A posted work request, as the device saw it.
struct Work {
    std::uint64_t id;
    ibv_wr_opcode opcode;
    unsigned flags;
    std::uint32_t length;
    std::uint32_t immediate;
    std::uint64_t remote_address = 0;  ///< of a read or write
    std::uint32_t inlined = 0;         ///< the data of an inline request of four bytes
};

/// Work requests that are posted and not yet completed, oldest first.
const std::vector<Work>& requests(ibv_qp* qp);
const std::vector<Work>& receives(ibv_qp* qp);
/// Completes the oldest request; a successful one that is not signalled leaves no completion.
void finish_request(ibv_qp* qp, ibv_wc_status status = IBV_WC_SUCCESS);
/// Completes the oldest receive, of the queue pair's SRQ if it has one. The device never raises
/// IBV_EVENT_QP_LAST_WQE_REACHED.
void finish_receive(ibv_qp* qp, std::uint32_t length, ibv_wc_status status = IBV_WC_SUCCESS,
                    ibv_wc_opcode opcode = IBV_WC_RECV, std::uint32_t immediate = 0);
/// Sets whether the InfiniBand adapter has atomic operations, for IAs that are opened from now on.
void have_atomics(bool there);
/// @return the limit with which the SRQ is armed, 0 if it is not.
std::uint32_t limit(ibv_srq* srq);
/// What a queue pair in error does with work requests. kOnEntry: flushes them when it enters the
/// state, and silently accepts what is posted later, as siw does.
enum class Flushing { kAtOnce, kOnEntry, kNever };
void set_flushing(Flushing flushing);
/// Flushes the work requests that are posted now.
void flush(ibv_qp* qp);
/// Adds a completion with any work request ID to the send completion queue.
void inject(ibv_qp* qp, std::uint64_t id, ibv_wc_status status);
/// Raises an asynchronous event of an adapter.
void raise(const ibv_async_event& event, int number = 0);

/// Establishes the connection of the last dat_ep_connect or dat_cr_accept.
void establish();

/// A peer sends the last listener a connection request.
void request();
/// Makes accepts fail with this code from now on; 0: they succeed.
void refuse_accepts(DAT_RETURN code);
/// The next answer to a request runs `work` without connection_lock, as one that waits in the
/// kernel.
void during_answer(std::function<void()> work);
/// Whether nobody else ended the connection of the last such answer during it.
bool last_answer_went_on();
/// Makes listening fail with this code from now on; 0: it succeeds.
void refuse_listeners(DAT_RETURN code);
/// @return the qualifiers on which listening was tried since the last call.
std::vector<std::uint64_t> take_listened();
/// How often connections were disconnected.
int disconnects();
/// How often completion queues were polled.
int polls();

/// Makes the queue pair ready to send, as the moves of a connection manager would; moves_to() does
/// not count it.
void connect(ibv_qp* qp);
/// How often queue pairs were moved to a state.
int moves_to(ibv_qp_state state);

/// @return how many objects of the device are alive: protection domains, memory regions and
/// windows, channels, queues, queue pairs, address handles.
int objects();
/// Makes ibv_reg_mr, ibv_create_cq, _qp, _ah and _srq, ibv_resize_cq, ibv_modify_srq and
/// ibv_post_srq_recv fail with this errno; 0: they work again.
void refuse(int error_number);

/// The library whose connection manager is the one above (fake_manager.cpp).
extern const dapl::Library kLibrary;

/// An adapter instance on a fake device.
struct OpenIa {
    explicit OpenIa(int number = 0, const char* ia_params = "",
                    const dapl::Library& library = kLibrary);
    ~OpenIa();
    DAT_IA_HANDLE ia = nullptr;
    DAT_EVD_HANDLE async = nullptr;
};

}  // namespace fake
