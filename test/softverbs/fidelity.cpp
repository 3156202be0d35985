// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// usage: fidelity TABLE [DIFFERENCES [PATTERN]] - breaks each rule of InfiniBand's on protection,
/// states and lengths on the first device, and compares what both queue pairs say with the table.
/// Any verbs device will do: the program knows nothing of softverbs.
///
/// TABLE has a line for each case: `CASE | REQUESTER | RESPONDER`.
/// REQUESTER: completion of the request, completion of the one behind it, state, asynchronous
/// events. Where the post itself is refused, its errno is in the first place.
/// RESPONDER: completions of its two receives, state, asynchronous events.
/// `-` stands for nothing: a receive that is still posted, a request that has not completed.
/// DIFFERENCES says where a device answers otherwise: `CASES | TABLE'S | DEVICE'S | REASON`, which
/// replaces the first text by the second, in all cases whose name matches the pattern, at the last
/// place where it stands; or `CASES | not run | | REASON`. A line that changes nothing fails too.
#include <fcntl.h>
#include <fnmatch.h>
#include <infiniband/verbs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "test/support/process.hpp"

namespace test {
namespace {

constexpr std::size_t kPage = 4096;
/// The region is the middle one of three pages, so that memory beyond its ends is there too.
constexpr std::size_t kBuffer = 3 * kPage;
constexpr std::uint32_t kLength = 64;
constexpr std::uint32_t kQkey = 0x11111111;
constexpr std::uint32_t kRouteHeader = 40;  ///< bytes in front of each datagram
constexpr std::uint64_t kFirst = 1, kBehind = 2, kReceive = 77;
constexpr std::uint32_t kForeignKey = 0x00700000;  ///< what makes a key one that nobody has
constexpr int kAll = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |
                     IBV_ACCESS_REMOTE_ATOMIC | IBV_ACCESS_MW_BIND;
/// Long enough for an asynchronous answer that should not come to have come.
constexpr auto kQuiet = 30ms;

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
using Window = Owned<ibv_mw, ibv_dealloc_mw>;
using Region = Owned<ibv_mr, ibv_dereg_mr>;

template <class Made>
Made* made(Made* object, const char* what) {
    require(object != nullptr, std::string(what) + ": " + strerror(errno));
    return object;
}
void done(int error, const char* what) {
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

std::string words(const std::vector<std::string>& all) {
    std::string text;
    for (const std::string& one : all) text += (text.empty() ? "" : " ") + one;
    return text;
}

std::string name_of(ibv_qp_state state) {
    constexpr std::array names{"RESET", "INIT", "RTR", "RTS", "SQD", "SQE", "ERR"};
    return names.at(state);
}

std::string name_of(ibv_event_type event) {
    switch (event) {
        case IBV_EVENT_QP_FATAL:
            return "QP_FATAL";
        case IBV_EVENT_QP_REQ_ERR:
            return "QP_REQ_ERR";
        case IBV_EVENT_QP_ACCESS_ERR:
            return "QP_ACCESS_ERR";
        case IBV_EVENT_QP_LAST_WQE_REACHED:
            return "QP_LAST_WQE_REACHED";
        case IBV_EVENT_COMM_EST:
            return "COMM_EST";
        case IBV_EVENT_SQ_DRAINED:
            return "SQ_DRAINED";
        default:
            return "event-" + std::to_string(event);
    }
}

std::string name_of(ibv_wc_status status) {
    static const std::map<ibv_wc_status, std::string> kNames{
        {IBV_WC_SUCCESS, "SUCCESS"},
        {IBV_WC_LOC_LEN_ERR, "LOC_LEN_ERR"},
        {IBV_WC_LOC_QP_OP_ERR, "LOC_QP_OP_ERR"},
        {IBV_WC_LOC_PROT_ERR, "LOC_PROT_ERR"},
        {IBV_WC_WR_FLUSH_ERR, "WR_FLUSH_ERR"},
        {IBV_WC_MW_BIND_ERR, "MW_BIND_ERR"},
        {IBV_WC_BAD_RESP_ERR, "BAD_RESP_ERR"},
        {IBV_WC_LOC_ACCESS_ERR, "LOC_ACCESS_ERR"},
        {IBV_WC_REM_INV_REQ_ERR, "REM_INV_REQ_ERR"},
        {IBV_WC_REM_ACCESS_ERR, "REM_ACCESS_ERR"},
        {IBV_WC_REM_OP_ERR, "REM_OP_ERR"},
        {IBV_WC_RETRY_EXC_ERR, "RETRY_EXC_ERR"},
        {IBV_WC_RNR_RETRY_EXC_ERR, "RNR_RETRY_EXC_ERR"},
    };
    const auto found = kNames.find(status);
    return found == kNames.end() ? "status-" + std::to_string(status) : found->second;
}

std::string name_of_errno(int error) {
    return error == EINVAL   ? "EINVAL"
           : error == ENOMEM ? "ENOMEM"
                             : "errno-" + std::to_string(error);
}

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

void Scene::initialize(const Side& side, int rights, std::uint32_t qkey) const {
    ibv_qp_attr attributes{};
    attributes.qp_state = IBV_QPS_INIT;
    attributes.port_num = 1;
    attributes.qkey = qkey;
    attributes.qp_access_flags = static_cast<unsigned>(rights);
    const bool is_ud = setup.type == IBV_QPT_UD;
    modify(side, attributes,
           IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
               (is_ud ? IBV_QP_QKEY : IBV_QP_ACCESS_FLAGS));
}

/// Timers are short: a request to nobody must fail soon.
void Scene::make_ready(const Side& side, const Side& peer, ibv_qp_state state) const {
    const bool is_ud = setup.type == IBV_QPT_UD, is_rc = setup.type == IBV_QPT_RC;
    ibv_qp_attr a{};
    a.qp_state = IBV_QPS_RTR;
    a.path_mtu = IBV_MTU_1024;
    a.dest_qp_num = peer.qp->qp_num;
    a.max_dest_rd_atomic = setup.reads_taken;
    a.min_rnr_timer = 1;
    a.ah_attr = adapter.address();
    int mask = IBV_QP_STATE;
    if (!is_ud) mask |= IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;
    if (is_rc) mask |= IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
    if (state >= IBV_QPS_RTR) modify(side, a, mask);
    if (state < IBV_QPS_RTS) return;
    a.qp_state = IBV_QPS_RTS;
    a.timeout = 8;  // 1 ms
    a.retry_cnt = 1;
    a.rnr_retry = 1;
    a.max_rd_atomic = setup.reads_sent;
    mask = IBV_QP_STATE | IBV_QP_SQ_PSN;
    if (is_rc)
        mask |= IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC;
    modify(side, a, mask);
}

/// States other than those of the way to RTS are entered by post(), after the receives.
void Scene::connect() {
    if (setup.requester >= IBV_QPS_INIT) initialize(requester, kAll & ~IBV_ACCESS_MW_BIND, kQkey);
    if (setup.responder >= IBV_QPS_INIT) initialize(responder, setup.rights, setup.qkey);
    make_ready(requester, responder, setup.requester);
    make_ready(responder, requester, setup.responder);
    if (setup.type != IBV_QPT_UD) return;
    ibv_ah_attr address = adapter.address();
    handle.reset(made(ibv_create_ah(requester.pd.get(), &address), "an address handle"));
}

void Scene::point_at_peer(ibv_send_wr& wr) const {
    if (setup.type == IBV_QPT_UD) {
        wr.wr.ud = {handle.get(), responder.qp->qp_num, message_qkey};
    } else if (is_atomic) {
        wr.wr.atomic.remote_addr = remote_address;
        wr.wr.atomic.rkey = rkey;
    } else if (is_remote) {
        wr.wr.rdma.remote_addr = remote_address;
        wr.wr.rdma.rkey = rkey;
    }
}

void Scene::post() {
    for (int i = 0; i < setup.receives; ++i)
        done(responder.post_receive(kReceive + static_cast<std::uint64_t>(i), receive), "receive");
    if (setup.responder == IBV_QPS_ERR) move(responder, IBV_QPS_ERR);
    if (setup.requester == IBV_QPS_ERR) move(requester, IBV_QPS_ERR);
    request.sg_list = local.data();
    request.num_sge = static_cast<int>(local.size());
    point_at_peer(request);
    // The request behind it needs nothing of the peer's memory, and no receive where it can.
    ibv_send_wr behind{};
    behind.wr_id = kBehind;
    behind.send_flags = IBV_SEND_SIGNALED;
    behind.opcode = setup.type == IBV_QPT_UD ? IBV_WR_SEND : IBV_WR_RDMA_WRITE;
    if (setup.type == IBV_QPT_UD) behind.wr.ud = {handle.get(), responder.qp->qp_num, kQkey};
    if (request.next == nullptr) request.next = &behind;
    ibv_send_wr* bad = nullptr;
    post_error_ = ibv_post_send(requester.qp.get(), &request, &bad);
    request.next = nullptr;
}

void Scene::take(const Side& side, std::map<std::uint64_t, std::string>& completions) const {
    for (ibv_wc wc; ibv_poll_cq(side.cq.get(), 1, &wc) > 0;) {
        std::string& told = completions[wc.wr_id];
        told += (told.empty() ? "" : "+") + name_of(wc.status);
    }
}

void Scene::take_events() {
    for (ibv_async_event event; ibv_get_async_event(adapter.context(), &event) == 0;) {
        events_[event.element.qp].push_back(name_of(event.event_type));
        ibv_ack_async_event(&event);
    }
}

void Scene::prepared(const Side& side) {
    std::map<std::uint64_t, std::string> completions;
    require(eventually([&] { return take(side, completions), !completions.empty(); }), "prepared");
    require(completions.begin()->second == "SUCCESS",
            "it succeeds: " + completions.begin()->second);
}

std::string Scene::told(const std::map<std::uint64_t, std::string>& completions,
                        std::uint64_t first, std::uint64_t second, const Side& side) const {
    const auto of = [&](std::uint64_t id) {
        const auto found = completions.find(id);
        return found == completions.end() ? std::string("-") : found->second;
    };
    std::vector<std::string> all{of(first), of(second), name_of(side.state())};
    if (&side == &requester && post_error_ != 0) all[0] = name_of_errno(post_error_);
    const auto events = events_.find(side.qp.get());
    if (events != events_.end())
        all.insert(all.end(), events->second.begin(), events->second.end());
    else
        all.emplace_back("-");
    return words(all);
}

std::string Scene::heard() const {
    return told(of_requester_, kFirst, kBehind, requester) + " | " +
           told(of_responder_, kReceive, kReceive + 1, responder);
}

void Scene::listen(const std::string& wanted) {
    const auto look = [&] {
        take(requester, of_requester_);
        take(responder, of_responder_);
        take_events();
        return heard() == wanted;
    };
    eventually(look, scaled(wanted.empty() ? 100ms : 2s));
    usleep(std::chrono::microseconds(kQuiet).count());  // for what should not come
    look();
}

// ---------------------------------------------------------------------------------------- cases

struct Operation {
    const char* name;
    ibv_wr_opcode opcode;
    bool is_remote, takes_receive, reads, is_atomic;
};
constexpr Operation kSend{"send", IBV_WR_SEND, false, true, false, false};
constexpr Operation kSendImm{
    "send with immediate", IBV_WR_SEND_WITH_IMM, false, true, false, false};
constexpr Operation kWrite{"write", IBV_WR_RDMA_WRITE, true, false, false, false};
constexpr Operation kWriteImm{
    "write with immediate", IBV_WR_RDMA_WRITE_WITH_IMM, true, true, false, false};
constexpr Operation kRead{"read", IBV_WR_RDMA_READ, true, false, true, false};
constexpr Operation kSwap{"compare and swap", IBV_WR_ATOMIC_CMP_AND_SWP, true, false, true, true};
constexpr Operation kAdd{"fetch and add", IBV_WR_ATOMIC_FETCH_AND_ADD, true, false, true, true};
constexpr std::array kEverything{kSend, kSendImm, kWrite, kWriteImm, kRead, kSwap, kAdd};

using Spoil = std::function<void(Scene&)>;
struct Case {
    std::string name;
    Setup setup;
    Operation operation;
    Spoil spoil;
    unsigned needs = 0;  ///< IBV_DEVICE_*
};

const char* name_of(ibv_qp_type type) {
    return type == IBV_QPT_RC ? "RC" : type == IBV_QPT_UC ? "UC" : "UD";
}

class Cases {
  public:
    Cases();
    const std::vector<Case>& all() const { return all_; }

  private:
    void add(const Operation& operation, const char* fault, const Spoil& spoil, Setup setup = {},
             unsigned needs = 0) {
        const std::string shared = setup.shared_receives ? ", shared receive queue" : "";
        all_.push_back(
            {std::string(name_of(setup.type)) + " " + operation.name + ": " + fault + shared, setup,
             operation, spoil, needs});
    }
    bool can(const Operation& operation, ibv_qp_type type) const {
        if (type == IBV_QPT_UD) return !operation.is_remote;
        return type == IBV_QPT_RC || !operation.reads;
    }
    void add_local_keys();
    void add_remote_keys();
    void add_windows();
    void add_queue_pair_rights();
    void add_lengths();
    void add_receives();
    void add_invalidations();
    void add_states();
    void add_refused_posts();
    void add_datagrams();

    std::vector<Case> all_;
};

void nothing(Scene&) {}

Setup of(ibv_qp_type type) {
    Setup setup;
    setup.type = type;
    return setup;
}

/// Uses a region in place of the requester's own for the segments.
void use_local(Scene& scene, Region region) {
    scene.local[0].lkey = region->lkey;
    scene.requester.more.push_back(std::move(region));
}
void use_remote(Scene& scene, Region region) {
    scene.rkey = region->rkey;
    scene.responder.more.push_back(std::move(region));
}
void use_for_receive(Scene& scene, Region region) {
    scene.receive[0].lkey = region->lkey;
    scene.responder.more.push_back(std::move(region));
}

void Cases::add_local_keys() {
    for (const ibv_qp_type type : {IBV_QPT_RC, IBV_QPT_UC, IBV_QPT_UD}) {
        for (const Operation& operation : kEverything) {
            if (!can(operation, type)) continue;
            const Setup setup = of(type);
            add(operation, "no fault", nothing, setup);
            add(
                operation, "local key that nobody has",
                [](Scene& s) { s.local[0].lkey ^= kForeignKey; }, setup);
            add(
                operation, "local key of an ended registration",
                [](Scene& s) { s.local[0].lkey = s.requester.ended().first; }, setup);
            add(
                operation, "local key of another protection domain",
                [](Scene& s) {
                    use_local(s, s.requester.registered(kAll, s.requester.other_pd.get()));
                },
                setup);
            add(
                operation, "local segment that ends behind its region",
                [](Scene& s) { s.local[0].addr += kPage - s.local[0].length / 2; }, setup);
            add(
                operation, "local segment that begins before its region",
                [](Scene& s) { s.local[0].addr -= 1; }, setup);
            add(
                operation, "local segment that ends behind the last address",
                [](Scene& s) { s.local[0].addr = ~std::uint64_t{0} - 3; }, setup);
            if (operation.reads)
                add(
                    operation, "local region that may not be written",
                    [](Scene& s) { use_local(s, s.requester.registered(IBV_ACCESS_REMOTE_READ)); },
                    setup);
            if (operation.is_atomic) continue;
            add(
                operation, "second local segment with a key that nobody has",
                [](Scene& s) {
                    s.local[0].length = 8;
                    s.local.push_back(s.local[0]);
                    s.local[1].lkey ^= kForeignKey;
                },
                setup);
            add(
                operation, "no segments", [](Scene& s) { s.local.clear(); }, setup);
            add(
                operation, "an empty segment with a key that nobody has",
                [](Scene& s) {
                    s.local[0] = {0, 0, s.local[0].lkey ^ kForeignKey};
                },
                setup);
            if (operation.reads) continue;
            add(
                operation, "inline data with a key that nobody has",
                [](Scene& s) {
                    s.local[0].lkey ^= kForeignKey;
                    s.request.send_flags |= IBV_SEND_INLINE;
                },
                setup);
        }
    }
}

void Cases::add_remote_keys() {
    for (const ibv_qp_type type : {IBV_QPT_RC, IBV_QPT_UC}) {
        for (const Operation& operation : kEverything) {
            if (!can(operation, type) || !operation.is_remote) continue;
            const Setup setup = of(type);
            add(
                operation, "remote key that nobody has", [](Scene& s) { s.rkey ^= kForeignKey; },
                setup);
            add(
                operation, "remote key of an ended registration",
                [](Scene& s) { s.rkey = s.responder.ended().second; }, setup);
            add(
                operation, "remote key of another protection domain",
                [](Scene& s) {
                    use_remote(s, s.responder.registered(kAll, s.responder.other_pd.get()));
                },
                setup);
            add(
                operation, "remote range that ends behind its region",
                [](Scene& s) { s.remote_address += kPage - s.local[0].length + 8; }, setup);
            add(
                operation, "remote range that begins before its region",
                [](Scene& s) { s.remote_address -= 8; }, setup);
            add(
                operation, "remote range that ends behind the last address",
                [](Scene& s) { s.remote_address = ~std::uint64_t{0} - 7; }, setup);
            const int lacking = operation.is_atomic ? IBV_ACCESS_REMOTE_ATOMIC
                                : operation.reads   ? IBV_ACCESS_REMOTE_READ
                                                    : IBV_ACCESS_REMOTE_WRITE;
            add(
                operation, "remote region that does not permit it",
                [lacking](Scene& s) { use_remote(s, s.responder.registered(kAll & ~lacking)); },
                setup);
            if (operation.is_atomic) continue;
            add(
                operation, "no bytes, with a remote key that nobody has",
                [](Scene& s) {
                    s.local.clear();
                    s.rkey ^= kForeignKey;
                },
                setup);
        }
    }
    add(
        kWriteImm, "remote key that nobody has, and no receive",
        [](Scene& s) { s.rkey ^= kForeignKey; },
        [] {
            Setup setup;
            setup.receives = 0;
            return setup;
        }());
    Setup shared;
    shared.shared_receives = true;
    for (const Operation& operation : {kWrite, kWriteImm, kRead})
        add(
            operation, "remote key that nobody has", [](Scene& s) { s.rkey ^= kForeignKey; },
            shared);
}

/// Binds a window of type 2 through the responder's queue pair, and uses it in place of the region.
void bind_window(Scene& s, const Side& through, unsigned rights, std::uint64_t length = kPage) {
    s.responder.window.reset(made(ibv_alloc_mw(s.responder.pd.get(), IBV_MW_TYPE_2), "a window"));
    ibv_send_wr wr{};
    wr.wr_id = kFirst;
    wr.opcode = IBV_WR_BIND_MW;
    wr.send_flags = IBV_SEND_SIGNALED;
    wr.bind_mw.mw = s.responder.window.get();
    wr.bind_mw.rkey = ibv_inc_rkey(s.responder.window->rkey);
    wr.bind_mw.bind_info = {s.responder.mr.get(), s.responder.begin, length, rights};
    ibv_send_wr* bad = nullptr;
    done(ibv_post_send(through.qp.get(), &wr, &bad), "bind");
    s.prepared(through);
    s.rkey = wr.bind_mw.rkey;
}

void invalidate_window(Scene& s) {
    ibv_send_wr wr{};
    wr.wr_id = kFirst;
    wr.opcode = IBV_WR_LOCAL_INV;
    wr.send_flags = IBV_SEND_SIGNALED;
    wr.invalidate_rkey = s.rkey;
    ibv_send_wr* bad = nullptr;
    done(ibv_post_send(s.responder.qp.get(), &wr, &bad), "invalidation");
    s.prepared(s.responder);
}

void Cases::add_windows() {
    constexpr unsigned kWindows = IBV_DEVICE_MEM_WINDOW_TYPE_2B;
    constexpr unsigned kRights =
        IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;
    for (const Operation& operation : {kWrite, kWriteImm, kRead, kAdd}) {
        add(
            operation, "window, no fault", [](Scene& s) { bind_window(s, s.responder, kRights); },
            {}, kWindows);
        add(
            operation, "window that does not permit it",
            [operation](Scene& s) {
                const unsigned lacking = operation.is_atomic ? IBV_ACCESS_REMOTE_ATOMIC
                                         : operation.reads   ? IBV_ACCESS_REMOTE_READ
                                                             : IBV_ACCESS_REMOTE_WRITE;
                bind_window(s, s.responder, kRights & ~lacking);
            },
            {}, kWindows);
        add(
            operation, "range that ends behind its window",
            [](Scene& s) {
                bind_window(s, s.responder, kRights, 128);
                s.remote_address += 128;
            },
            {}, kWindows);
        add(
            operation, "window that was invalidated",
            [](Scene& s) {
                bind_window(s, s.responder, kRights);
                invalidate_window(s);
            },
            {}, kWindows);
        add(
            operation, "window that was never bound",
            [](Scene& s) {
                s.responder.window.reset(
                    made(ibv_alloc_mw(s.responder.pd.get(), IBV_MW_TYPE_2), "a window"));
                s.rkey = s.responder.window->rkey;
            },
            {}, kWindows);
    }
}

void Cases::add_queue_pair_rights() {
    for (const ibv_qp_type type : {IBV_QPT_RC, IBV_QPT_UC}) {
        for (const Operation& operation : kEverything) {
            if (!can(operation, type) || !operation.is_remote) continue;
            Setup setup = of(type);
            setup.rights = IBV_ACCESS_LOCAL_WRITE;
            add(operation, "queue pair that does not permit it", nothing, setup);
            if (operation.is_atomic) continue;
            add(
                operation, "no bytes, queue pair that does not permit it",
                [](Scene& s) { s.local.clear(); }, setup);
        }
    }
    for (const Operation& operation : {kRead, kSwap, kAdd}) {
        Setup setup;
        setup.reads_taken = 0;
        add(operation, "responder that takes no reads", nothing, setup);
    }
}

void Cases::add_lengths() {
    for (const Operation& operation : {kSwap, kAdd}) {
        add(operation, "target that is not aligned", [](Scene& s) { s.remote_address += 4; });
        add(operation, "local segment of 4 bytes", [](Scene& s) { s.local[0].length = 4; });
    }
    for (const bool shared : {false, true}) {
        for (const ibv_qp_type type : {IBV_QPT_RC, IBV_QPT_UC, IBV_QPT_UD}) {
            if (shared && type == IBV_QPT_UC) continue;
            Setup setup = of(type);
            setup.shared_receives = shared;
            for (const Operation& operation : {kSend, kSendImm})
                add(
                    operation, "message longer than the receive",
                    [](Scene& s) { s.receive[0].length -= 1; }, setup);
        }
    }
    add(kWriteImm, "receive without segments", [](Scene& s) { s.receive.clear(); });
    add(kSend, "no bytes, receive without segments", [](Scene& s) {
        s.receive.clear();
        s.local.clear();
    });
}

void Cases::add_receives() {
    for (const bool shared : {false, true}) {
        for (const ibv_qp_type type : {IBV_QPT_RC, IBV_QPT_UC, IBV_QPT_UD}) {
            if (shared && type == IBV_QPT_UC) continue;
            Setup setup = of(type);
            setup.shared_receives = shared;
            Setup none = setup;
            none.receives = 0;
            for (const Operation& operation : {kSend, kWriteImm}) {
                if (!can(operation, type)) continue;
                add(operation, "no receive", nothing, none);
                add(
                    operation, "receive with a key that nobody has",
                    [](Scene& s) { s.receive[0].lkey ^= kForeignKey; }, setup);
            }
            add(
                kSend, "receive with the key of an ended registration",
                [](Scene& s) { s.receive[0].lkey = s.responder.ended().first; }, setup);
            add(
                kSend, "receive with a key of another protection domain",
                [](Scene& s) {
                    use_for_receive(s, s.responder.registered(kAll, s.responder.other_pd.get()));
                },
                setup);
            add(
                kSend, "receive in a region that may not be written",
                [](Scene& s) {
                    use_for_receive(s, s.responder.registered(IBV_ACCESS_REMOTE_READ));
                },
                setup);
            add(
                kSend, "receive that ends behind its region",
                [](Scene& s) { s.receive[0].addr += kPage - kLength / 2; }, setup);
        }
    }
}

void Cases::add_invalidations() {
    constexpr Operation kSendInv{
        "send with invalidate", IBV_WR_SEND_WITH_INV, false, true, false, false};
    constexpr unsigned kWindows = IBV_DEVICE_MEM_WINDOW_TYPE_2B;
    add(
        kSendInv, "no fault",
        [](Scene& s) {
            bind_window(s, s.responder, IBV_ACCESS_REMOTE_READ);
            s.request.invalidate_rkey = s.rkey;
        },
        {}, kWindows);
    add(
        kSendInv, "key that nobody has",
        [](Scene& s) { s.request.invalidate_rkey = s.rkey ^ kForeignKey; }, {}, kWindows);
    add(
        kSendInv, "key of a region", [](Scene& s) { s.request.invalidate_rkey = s.rkey; }, {},
        kWindows);
    constexpr Operation kLocalInv{"local invalidate", IBV_WR_LOCAL_INV, false, false, false, false};
    add(
        kLocalInv, "key that nobody has",
        [](Scene& s) {
            s.local.clear();
            s.request.invalidate_rkey = s.requester.mr->rkey ^ kForeignKey;
        },
        {}, kWindows);
    constexpr Operation kBind{"bind", IBV_WR_BIND_MW, false, false, false, false};
    const auto bind = [](Scene& s, const Region& region, std::uint64_t address, unsigned rights) {
        s.local.clear();
        s.requester.window.reset(
            made(ibv_alloc_mw(s.requester.pd.get(), IBV_MW_TYPE_2), "a window"));
        s.request.bind_mw.mw = s.requester.window.get();
        s.request.bind_mw.rkey = ibv_inc_rkey(s.requester.window->rkey);
        s.request.bind_mw.bind_info = {region.get(), address, 64, rights};
    };
    add(
        kBind, "no fault",
        [bind](Scene& s) { bind(s, s.requester.mr, s.requester.begin, IBV_ACCESS_REMOTE_WRITE); },
        {}, kWindows);
    add(
        kBind, "range that ends behind its region",
        [bind](Scene& s) {
            bind(s, s.requester.mr, s.requester.begin + kPage - 8, IBV_ACCESS_REMOTE_WRITE);
        },
        {}, kWindows);
    add(
        kBind, "region that permits no windows",
        [bind](Scene& s) {
            s.requester.more.push_back(s.requester.registered(kAll & ~IBV_ACCESS_MW_BIND));
            bind(s, s.requester.more.back(), s.requester.begin, IBV_ACCESS_REMOTE_READ);
        },
        {}, kWindows);
    add(
        kBind, "write through a region that may not be written",
        [bind](Scene& s) {
            s.requester.more.push_back(
                s.requester.registered(IBV_ACCESS_REMOTE_READ | IBV_ACCESS_MW_BIND));
            bind(s, s.requester.more.back(), s.requester.begin, IBV_ACCESS_REMOTE_WRITE);
        },
        {}, kWindows);
}

void Cases::add_states() {
    constexpr std::array kNotReady{IBV_QPS_RESET, IBV_QPS_INIT, IBV_QPS_RTR};
    for (const ibv_qp_type type : {IBV_QPT_RC, IBV_QPT_UC, IBV_QPT_UD}) {
        for (const ibv_qp_state state : kNotReady) {
            Setup setup = of(type);
            setup.requester = state;
            add(kSend, ("requester in " + name_of(state)).c_str(), nothing, setup);
        }
        Setup failed = of(type);
        failed.requester = IBV_QPS_ERR;
        add(kSend, "requester in ERR", nothing, failed);
        Setup peer = of(type);
        peer.responder = IBV_QPS_RTR;
        add(kSend, "responder in RTR", nothing, peer);
        peer.responder = IBV_QPS_ERR;
        add(kSend, "responder in ERR", nothing, peer);
        peer.responder = IBV_QPS_INIT;
        add(kSend, "responder in INIT", nothing, peer);
        peer.responder = IBV_QPS_RESET;
        peer.receives = 0;
        add(kSend, "responder in RESET", nothing, peer);
    }
    for (const Operation& operation : {kWrite, kRead, kAdd}) {
        Setup peer;
        peer.responder = IBV_QPS_ERR;
        add(operation, "responder in ERR", nothing, peer);
    }
    add(
        kSend, "receive posted in RESET",
        [](Scene& s) {
            const int error = s.responder.post_receive(kReceive, s.receive);
            require(error == EINVAL, "the receive is refused: " + name_of_errno(error));
        },
        [] {
            Setup setup;
            setup.responder = IBV_QPS_RESET;
            setup.receives = 0;
            return setup;
        }());
}

void Cases::add_refused_posts() {
    const auto too_many = [](Scene& s) {
        s.local.assign(s.requester.capacity.max_send_sge + 1, s.requester.segment(1));
    };
    add(kSend, "more segments than the queue pair has", too_many);
    add(kSend, "more inline data than the queue pair takes", [](Scene& s) {
        s.local[0].length = s.requester.capacity.max_inline_data + 1;
        s.request.send_flags |= IBV_SEND_INLINE;
    });
    for (const Operation& operation : {kRead, kSwap, kAdd})
        add(operation, "queue pair of another type", nothing, of(IBV_QPT_UC));
    for (const Operation& operation : {kWrite, kRead, kAdd})
        add(operation, "queue pair of another type", nothing, of(IBV_QPT_UD));
}

void Cases::add_datagrams() {
    const Setup setup = of(IBV_QPT_UD);
    add(
        kSend, "queue key that the receiver does not have", [](Scene& s) { s.message_qkey ^= 1; },
        setup);
    add(
        kSend, "controlled queue key stands for the sender's own",
        [](Scene& s) { s.message_qkey = 0x80000000; }, setup);
    add(
        kSend, "address handle of another protection domain",
        [](Scene& s) {
            ibv_ah_attr address = s.adapter.address();
            s.handle.reset(
                made(ibv_create_ah(s.requester.other_pd.get(), &address), "an address handle"));
        },
        setup);
    add(
        kSend, "message longer than the path's MTU",
        [](Scene& s) {
            s.local.assign(2, s.requester.segment(kPage));
            s.local[1].length = 1;
        },
        setup);
}

Cases::Cases() {
    add_local_keys();
    add_remote_keys();
    add_windows();
    add_queue_pair_rights();
    add_lengths();
    add_receives();
    add_invalidations();
    add_states();
    add_refused_posts();
    add_datagrams();
}

// ---------------------------------------------------------------------------------------- tables

/// Blanks at both ends of a column are for the reader.
std::string trimmed(const std::string& text) {
    const auto first = text.find_first_not_of(' ');
    return first == std::string::npos ? ""
                                      : text.substr(first, text.find_last_not_of(' ') - first + 1);
}

/// @return the columns of each line that is not empty nor a comment.
std::vector<std::vector<std::string>> read_lines(const char* path, std::size_t columns) {
    std::vector<std::vector<std::string>> lines;
    std::ifstream file(path);
    require(file.is_open(), std::string("cannot read ") + path);
    for (std::string line; std::getline(file, line);) {
        if (line.empty() || line[0] == '#') continue;
        std::istringstream rest(line);
        std::vector<std::string>& cells = lines.emplace_back();
        for (std::string cell; std::getline(rest, cell, '|');) cells.push_back(trimmed(cell));
        require(cells.size() == columns, "wrong number of columns: " + line);
    }
    return lines;
}

struct Expected {
    std::string outcome;
    bool is_used = false;
};
using Table = std::map<std::string, Expected>;

Table read_table(const char* path) {
    Table table;
    for (const auto& cells : read_lines(path, 3)) {
        const bool is_new = table.emplace(cells[0], Expected{cells[1] + " | " + cells[2]}).second;
        require(is_new, "said twice: " + cells[0]);
    }
    return table;
}

/// Where a device answers otherwise.
struct Difference {
    std::string cases, wanted, instead, reason;
    bool is_used = false;

    bool forbids() const { return wanted == "not run"; }
    /// @return whether it has changed the expectation.
    bool apply(const std::string& name, std::string& expected) {
        if (fnmatch(cases.c_str(), name.c_str(), 0) != 0) return false;
        const auto at = expected.rfind(wanted);
        if (!forbids() && at == std::string::npos) return false;
        if (!forbids()) expected.replace(at, wanted.size(), instead);
        return is_used = true;
    }
};

std::vector<Difference> read_differences(const char* path) {
    std::vector<Difference> differences;
    for (const auto& cells : read_lines(path, 4))
        differences.push_back({cells[0], cells[1], cells[2], cells[3]});
    return differences;
}

class Report {
  public:
    void line(bool passed, const std::string& name, const std::string& remark = "") {
        std::printf("%sok %d - %s%s\n", passed ? "" : "not ", ++number_, name.c_str(),
                    remark.c_str());
        std::fflush(stdout);
        failures_ += !passed;
    }
    int end() const {
        std::printf("1..%d\n", number_);
        return failures_ != 0;
    }

  private:
    int number_ = 0, failures_ = 0;
};

std::string outcome_of(const Adapter& adapter, const Case& one, const std::string& wanted) {
    Scene scene(adapter, one.setup);
    scene.request.opcode = one.operation.opcode;
    scene.is_remote = one.operation.is_remote;
    scene.is_atomic = one.operation.is_atomic;
    if (one.operation.is_atomic) scene.local[0].length = 8;
    one.spoil(scene);
    scene.post();
    scene.listen(wanted);
    return scene.heard();
}

class Run {
  public:
    Run(Table table, std::vector<Difference> differences)
        : table_(std::move(table)), differences_(std::move(differences)) {}
    void one(const Case& one);
    int end();

  private:
    /// @return why the device does not run the case; empty if it does.
    std::string expect(const std::string& name, std::string& expected);

    Adapter adapter_;
    Table table_;
    std::vector<Difference> differences_;
    Report report_;
};

std::string Run::expect(const std::string& name, std::string& expected) {
    const auto said = table_.find(name);
    if (said != table_.end()) expected = said->second.outcome, said->second.is_used = true;
    for (Difference& difference : differences_) {
        if (difference.apply(name, expected) && difference.forbids()) return difference.reason;
    }
    return "";
}

void Run::one(const Case& one) {
    std::string expected, got;
    std::string lacking = expect(one.name, expected);
    if (!adapter_.has(one.needs)) lacking = "the device lacks it";
    if (!lacking.empty()) return report_.line(true, one.name, " # SKIP " + lacking);
    try {
        got = outcome_of(adapter_, one, expected);
    } catch (const std::exception& error) {
        got = error.what();
    }
    report_.line(got == expected, one.name);
    if (got == expected) return;
    std::printf("# wanted: %s\n# got: %s | %s\n", expected.c_str(), one.name.c_str(), got.c_str());
}

int Run::end() {
    for (const auto& [name, expected] : table_)
        if (!expected.is_used) report_.line(false, name + " (no such case)");
    for (const Difference& difference : differences_)
        if (!difference.is_used)
            report_.line(false, difference.cases + " (no difference: " + difference.wanted + ")");
    return report_.end();
}

/// @param pattern of the names of the cases to be run; nullptr for all.
int run_all(const char* table, const char* differences, const char* pattern) {
    Run run(read_table(table),
            differences ? read_differences(differences) : std::vector<Difference>{});
    const Cases cases;
    for (const Case& one : cases.all())
        if (!pattern || fnmatch(pattern, one.name.c_str(), 0) == 0) run.one(one);
    return run.end();
}

}  // namespace
}  // namespace test

int main(int argc, char** argv) {
    if (argc < 2 || argc > 4) {
        std::fprintf(stderr, "usage: fidelity TABLE [DIFFERENCES [PATTERN]]\n");
        return 2;
    }
    try {
        return test::run_all(argv[1], argc > 2 ? argv[2] : nullptr, argc > 3 ? argv[3] : nullptr);
    } catch (const std::exception& error) {
        std::printf("Bail out! %s\n", error.what());
        return 2;
    }
}
