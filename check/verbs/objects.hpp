// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Keeps account of the program's verbs objects.
#pragma once

#include <string_view>

#include "check/verbs/checked.hpp"

namespace check::verbs {

inline constexpr const char* kContext = "the device context";
inline constexpr const char* kDomain = "the protection domain";
inline constexpr const char* kRegion = "the memory region";
inline constexpr const char* kAddress = "the address handle";
inline constexpr const char* kChannel = "the completion channel";
inline constexpr const char* kCompletions = "the completion queue";
inline constexpr const char* kPair = "the queue pair";
inline constexpr const char* kShared = "the shared receive queue";

/// Says who frees an object: the program, which made it, or rdma_cm.
enum class Maker { kProgram, kLibrary };

/// Remember an object that has just been made, or is seen for the first time.
void learn(ibv_comp_channel* channel, Maker maker = Maker::kProgram);
void learn(ibv_pd* pd, Maker maker = Maker::kProgram);
void learn(ibv_ah* ah, Maker maker = Maker::kProgram);
void learn(ibv_cq* cq, Maker maker = Maker::kProgram);
void learn(ibv_qp* qp, Maker maker = Maker::kProgram);
/// @param is_followed its completions name a queue pair that uses it.
void learn(ibv_srq* srq, int most_segments, bool is_followed, Maker maker = Maker::kProgram);

/// Asks the device to whom a queue pair is connected.
void learn_peer(ibv_qp* qp);
inline void learn_peer(ibv_srq*) {}

/// An object whose end is tried. Between the end and this note of it another thread may make a new
/// object with its address.
struct Ending {
    const void* handle;
    Origin made;
    Origin now;
};
Ending begin_end(const void* handle);
void end(const Ending& ending);

/// Ends an object. @param destroy calls the device.
template <class Destroy>
int ended_by(const char* call, const void* handle, const Destroy& destroy);

/// Tells that the program uses an object of this kind which it has destroyed. @return whether it
/// has.
bool tell_gone(const char* call, const void* handle, std::string_view kind);

/// Tells who uses an object that the device would not destroy.
void tell_in_use(const char* call, const void* handle);

template <class Destroy>
int ended_by(const char* call, const void* handle, const Destroy& destroy) {
    const Ending ending = begin_end(handle);
    const int code = destroy();
    if (code == 0)
        end(ending);
    else if (code == EBUSY)
        tell_in_use(call, handle);
    return code;
}

/// Tells of what is left of a context, or of all with nullptr.
void check_left(const char* call, const void* context);

}  // namespace check::verbs
