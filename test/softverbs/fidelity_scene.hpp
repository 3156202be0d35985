// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Two connected queue pairs of one device, between which a case of fidelity.cpp goes wrong.
#pragma once

#include <fcntl.h>
#include <infiniband/verbs.h>

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "test/support/process.hpp"

namespace test {

inline constexpr std::size_t kPage = 4096;
/// The region is the middle one of three pages, so that memory beyond its ends is there too.
inline constexpr std::size_t kBuffer = 3 * kPage;
inline constexpr std::uint32_t kLength = 64;
inline constexpr std::uint32_t kQkey = 0x11111111;
inline constexpr std::uint32_t kRouteHeader = 40;  ///< bytes in front of each datagram
inline constexpr std::uint64_t kFirst = 1, kBehind = 2, kReceive = 77;
inline constexpr std::uint32_t kForeignKey = 0x00700000;  ///< what makes a key one that nobody has
inline constexpr int kAll = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
                            IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC | IBV_ACCESS_MW_BIND;
/// Long enough for an asynchronous answer that should not come to have come.
inline constexpr auto kQuiet = 30ms;

template <auto destroy>
struct Destroy {
    template <class Object>
    void operator()(Object* object) const {
        destroy(object);
    }
};
template <class Object, auto destroy>
using Owned = std::unique_ptr<Object, Destroy<destroy>>;
using Device = Owned<ibv_context, ibv_close_device>;
using Domain = Owned<ibv_pd, ibv_dealloc_pd>;
using Queue = Owned<ibv_cq, ibv_destroy_cq>;
using SharedQueue = Owned<ibv_srq, ibv_destroy_srq>;
using Pair = Owned<ibv_qp, ibv_destroy_qp>;
using Handle = Owned<ibv_ah, ibv_destroy_ah>;
/// The header defines ibv_dealloc_mw anew for each file.
struct FreeWindow {
    void operator()(ibv_mw* window) const;
};
using Window = std::unique_ptr<ibv_mw, FreeWindow>;
using Region = Owned<ibv_mr, ibv_dereg_mr>;

template <class Made>
Made* made(Made* object, const char* what) {
    require(object != nullptr, std::string(what) + ": " + strerror(errno));
    return object;
}
inline void done(int error, const char* what) {
    require(error == 0, std::string(what) + ": " + strerror(error));
}

/// What a case varies before the queue pairs are connected.
struct Setup {
    ibv_qp_type type = IBV_QPT_RC;
    bool shared_receives = false;
    int receives = 2;
    int rights = kAll & ~IBV_ACCESS_MW_BIND;  ///< of the responder's queue pair
    std::uint8_t reads_sent = 1;              ///< max_rd_atomic of the requester
    std::uint8_t reads_taken = 1;             ///< max_dest_rd_atomic of the responder
    std::uint32_t qkey = kQkey;               ///< of the responder
    ibv_qp_state requester = IBV_QPS_RTS;
    ibv_qp_state responder = IBV_QPS_RTS;
};

class Adapter {
  public:
    Adapter() {
        ibv_device** list = made(ibv_get_device_list(nullptr), "devices");
        context_.reset(made(ibv_open_device(made(list[0], "a device")), "it opens"));
        ibv_free_device_list(list);
        done(ibv_query_port(context_.get(), 1, &port_), "port");
        done(ibv_query_device(context_.get(), &attributes_), "device");
        done(ibv_query_gid(context_.get(), 1, gid_index(), &gid_), "GID");
        fcntl(context_->async_fd, F_SETFL, O_NONBLOCK);
    }
    ibv_context* context() const { return context_.get(); }
    bool has(unsigned capabilities) const {
        return (attributes_.device_cap_flags & capabilities) == capabilities;
    }
    ibv_ah_attr address() const {
        ibv_ah_attr address{};
        address.port_num = 1;
        address.dlid = port_.lid;
        address.is_global = is_ethernet();
        address.grh.dgid = gid_;
        address.grh.sgid_index = static_cast<std::uint8_t>(gid_index());
        address.grh.hop_limit = 64;
        return address;
    }

  private:
    bool is_ethernet() const { return port_.link_layer == IBV_LINK_LAYER_ETHERNET; }
    /// The first address of an Ethernet port may be a link-local one, which nobody routes.
    int gid_index() const { return is_ethernet() ? 1 : 0; }

    Device context_;
    ibv_port_attr port_{};
    ibv_device_attr attributes_{};
    union ibv_gid gid_ {};
};

/// One end: memory registered in every way that a case needs, queues and a queue pair.
class Side {
  public:
    Side(const Adapter& adapter, const Setup& setup)
        : pd(made(ibv_alloc_pd(adapter.context()), "a protection domain")),
          other_pd(made(ibv_alloc_pd(adapter.context()), "another one")),
          cq(made(ibv_create_cq(adapter.context(), 32, nullptr, nullptr, 0), "a queue")),
          memory(kBuffer + kPage) {
        auto at = reinterpret_cast<std::uintptr_t>(memory.data());
        begin = (at + kPage - 1) / kPage * kPage + kPage;
        mr = registered(kAll);
        if (setup.shared_receives) {
            ibv_srq_init_attr wanted{nullptr, {8, 4, 0}};
            srq.reset(made(ibv_create_srq(pd.get(), &wanted), "a shared receive queue"));
        }
        ibv_qp_init_attr wanted{};
        wanted.send_cq = wanted.recv_cq = cq.get();
        wanted.srq = srq.get();
        wanted.qp_type = setup.type;
        wanted.cap = {8, srq ? 0U : 8U, 4, srq ? 0U : 4U, kLength};
        qp.reset(made(ibv_create_qp(pd.get(), &wanted), "a queue pair"));
        capacity = wanted.cap;
    }
    Region registered(int access, ibv_pd* domain = nullptr) const {
        return Region(made(ibv_reg_mr(domain ? domain : pd.get(), reinterpret_cast<void*>(begin),
                                      kPage, static_cast<unsigned>(access)),
                           "memory"));
    }
    /// @return the keys of a registration that has ended.
    std::pair<std::uint32_t, std::uint32_t> ended() const {
        const Region gone = registered(kAll);
        return {gone->lkey, gone->rkey};
    }
    ibv_sge segment(std::uint32_t length = kLength) const { return {begin, length, mr->lkey}; }
    int post_receive(std::uint64_t id, std::vector<ibv_sge> segments) const {
        ibv_recv_wr wr{id, nullptr, segments.data(), static_cast<int>(segments.size())};
        ibv_recv_wr* bad = nullptr;
        return srq ? ibv_post_srq_recv(srq.get(), &wr, &bad) : ibv_post_recv(qp.get(), &wr, &bad);
    }
    ibv_qp_state state() const {
        ibv_qp_attr attributes{};
        ibv_qp_init_attr init{};
        done(ibv_query_qp(qp.get(), &attributes, IBV_QP_STATE, &init), "query");
        return attributes.qp_state;
    }

    Domain pd, other_pd;
    Queue cq;
    std::vector<std::uint8_t> memory;
    std::uint64_t begin = 0;
    Region mr;
    std::vector<Region> more;  ///< what a case has registered
    SharedQueue srq;
    Window window;
    Pair qp;
    ibv_qp_cap capacity{};
};

std::string name_of(ibv_qp_state state);
std::string name_of(ibv_qp_type type);
std::string name_of_errno(int error);

/// Two connected queue pairs of one device, what has been heard of them, and the request that a
/// case spoils.
class Scene {
  public:
    Scene(const Adapter& adapter, const Setup& setup)
        : adapter(adapter), setup(setup), requester(adapter, setup), responder(adapter, setup) {
        connect();
        local = {requester.segment()};
        receive = {responder.segment(kLength + (setup.type == IBV_QPT_UD ? kRouteHeader : 0))};
        request.wr_id = kFirst;
        request.send_flags = IBV_SEND_SIGNALED;
        remote_address = responder.begin;
        rkey = responder.mr->rkey;
    }
    void connect();
    /// Posts the responder's receives and the two requests.
    void post();
    /// Takes completions and events, until `wanted` is what has been heard or the time is over.
    void listen(const std::string& wanted);
    std::string heard() const;
    /// Waits for the completion of a request that prepares a case.
    void prepared(const Side& side);
    void modify(const Side& side, ibv_qp_attr attributes, int mask) const {
        done(ibv_modify_qp(side.qp.get(), &attributes, mask), "modify");
    }
    void move(const Side& side, ibv_qp_state state) const {
        ibv_qp_attr attributes{};
        attributes.qp_state = state;
        modify(side, attributes, IBV_QP_STATE);
    }

    const Adapter& adapter;
    const Setup setup;
    Side requester, responder;
    Handle handle;  ///< of datagrams
    std::vector<ibv_sge> local;
    std::vector<ibv_sge> receive;
    ibv_send_wr request{};
    std::uint64_t remote_address = 0;
    std::uint32_t rkey = 0;
    std::uint32_t message_qkey = kQkey;
    bool is_remote = false, is_atomic = false;

  private:
    void initialize(const Side& side, int rights, std::uint32_t qkey) const;
    void make_ready(const Side& side, const Side& peer, ibv_qp_state state) const;
    void point_at_peer(ibv_send_wr& wr) const;
    void take(const Side& side, std::map<std::uint64_t, std::string>& completions) const;
    void take_events();
    std::string told(const std::map<std::uint64_t, std::string>& completions, std::uint64_t first,
                     std::uint64_t second, const Side& side) const;

    int post_error_ = 0;
    std::map<std::uint64_t, std::string> of_requester_, of_responder_;
    std::map<const ibv_qp*, std::vector<std::string>> events_;
};

}  // namespace test
