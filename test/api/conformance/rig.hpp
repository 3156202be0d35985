// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The fixture of a row's body: an adapter instance, a peer in a second process, and the answer,
/// which the body writes piece by piece.
#pragma once

#include <dlfcn.h>

#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "test/api/side.hpp"
#include "test/support/event_names.hpp"

namespace conformance {

using test::Buffer;
using test::Channel;
using test::cookie;
using test::Side;
using test::succeed;

inline constexpr DAT_CONN_QUAL kQualifier = 4711;

/// Thrown if libdat2 does not export a function. The reference declares some functions that it does
/// not export, so rows look these up when they call them.
struct NotExported : std::runtime_error {
    NotExported() : std::runtime_error("not exported") {}
};
template <class Function>
Function* exported(const char* name) {
    void* found = dlsym(RTLD_DEFAULT, name);
    if (!found) throw NotExported();
    return reinterpret_cast<Function*>(found);
}
#define EXPORTED(function) ::conformance::exported<decltype(::function)>(#function)

/// Arguments of dat_ep_connect() and similar calls, which rows change one by one.
struct Request {
    DAT_CONN_QUAL qualifier = kQualifier;
    DAT_TIMEOUT timeout = DAT_TIMEOUT_INFINITE;
    DAT_COUNT size = 0;
    const void* data = nullptr;
    int quality = DAT_QOS_BEST_EFFORT;
    int flags = DAT_CONNECT_DEFAULT_FLAG;
    const char* address = test::ia_address_text();
};
DAT_RETURN connect(DAT_EP_HANDLE ep, const Request& request = {});

/// @return a word for the answer that does not depend on the name of the IA under test.
inline const char* own_or_other(const std::string& name) {
    return name == test::ia_name() ? "its-name" : "another";
}

using test::name_of;
std::string name_of(DAT_EP_STATE state);

class Rig {
  public:
    /// @param answers descriptor that the answer is written to.
    explicit Rig(int answers) : answers_(answers) {}

    // -- the answer ---------------------------------------------------------------------------
    Rig& operator<<(const std::string& word);
    Rig& operator<<(const char* word) { return *this << std::string(word); }
    /// Writes 0 for success, any other code as 0x and eight digits.
    Rig& operator<<(DAT_RETURN code);
    Rig& operator<<(DAT_COUNT number) { return *this << std::to_string(number); }
    Rig& operator<<(DAT_UINT64 number) { return *this << std::to_string(number); }
    Rig& operator<<(bool value) { return *this << (value ? "yes" : "no"); }
    Rig& operator<<(DAT_EVENT_NUMBER number) { return *this << name_of(number); }
    Rig& operator<<(DAT_EP_STATE state) { return *this << name_of(state); }
    /// Waits for the next event until the deadline and writes its name.
    DAT_EVENT event(DAT_EVD_HANDLE evd);
    /// Writes the state of an EP.
    Rig& state(DAT_EP_HANDLE ep) { return *this << Side::state(ep); }
    /// Waits until the EP is in the state, at most until the deadline, and writes its state then.
    Rig& comes_to(DAT_EP_HANDLE ep, DAT_EP_STATE state);

    // -- this process's side ------------------------------------------------------------------
    /// Opened by the first call and never closed: closing has rows of its own.
    Side& side();
    DAT_IA_HANDLE ia() { return side().ia; }
    DAT_EP_HANDLE endpoint() { return side().endpoint(); }
    /// @return a valid handle of another kind than EP, EVD, LMR, RMR, PSP, RSP, CR, CNO or SRQ.
    DAT_HANDLE other_kind() { return side().pz; }
    Buffer& buffer();
    DAT_CNO_HANDLE cno();
    DAT_EVD_HANDLE evd(int flags, DAT_COUNT length = 8) { return side().evd(flags, length); }
    DAT_SRQ_HANDLE srq(DAT_COUNT receives = 8);

    // -- the peer, a second process -------------------------------------------------------------
    using Peer = std::function<void(Side&, Channel&)>;
    using ConnectedPeer = std::function<void(Side&, DAT_EP_HANDLE, Channel&)>;
    /// Forks the peer; must be called before side(). The body gets an open side. When the body
    /// returns, the peer stays until this process exits.
    Channel& peer(const Peer& body);
    /// Starts a peer and waits until it listens on kQualifier.
    Channel& listener(const Peer& body = [](Side&, Channel&) {});
    /// Starts a peer that waits for go() and then connects an EP with these arguments.
    Channel& client(
        const Request& request, const Peer& body = [](Side&, Channel&) {});
    void go() { channel_->send('g'); }
    /// @return an EP that is connected to one of the peer's.
    DAT_EP_HANDLE connected(const ConnectedPeer& body = [](Side&, DAT_EP_HANDLE, Channel&) {});
    /// @return a request at a PSP of this side, from a peer that then sends its next connection
    /// event for peer_tells().
    DAT_CR_HANDLE requested(const Request& request = {});
    /// Writes the name of the event that the peer sent by tell_event().
    void peer_tells();
    Channel& channel() { return *channel_; }

  private:
    int answers_;
    bool begun_ = false;
    Side* side_ = nullptr;
    Buffer* buffer_ = nullptr;
    Channel* channel_ = nullptr;
};

/// In the peer: waits for the next event of the EVD and sends its number for peer_tells().
void tell_event(Channel& channel, DAT_EVD_HANDLE evd);

/// @return a segment of the buffer's first `length` bytes.
DAT_LMR_TRIPLET segment(const Buffer& buffer, DAT_SEG_LENGTH length);

/// Address and key by which the other side reads and writes a buffer.
struct Remote {
    DAT_VADDR address;
    DAT_RMR_CONTEXT key;
};
DAT_RMR_TRIPLET remote_segment(const Remote& remote, DAT_SEG_LENGTH length);

}  // namespace conformance
