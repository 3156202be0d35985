// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Every name that libsoftverbs.so exports, called on an open device with sane and odd arguments:
/// each one works, or reports in its own way that there is no such operation. The list of names is
/// that of libsoftverbs.map: a name that is missing here is a failure.
#include <fcntl.h>
#include <infiniband/sa.h>
#include <rdma/ib_user_sa.h>
#include <rdma/ib_user_verbs.h>
#include <rdma/rsocket.h>

#include <fstream>
#include <set>

#include "test/softverbs/absent.hpp"
#include "test/softverbs/cm_fixture.hpp"
#include "test/softverbs/verbs_pair.hpp"

// Names that no installed header declares.
extern "C" {
int ibv_query_gid_type(ibv_context*, uint8_t, unsigned, int*);
const char* ibv_get_sysfs_path(void);
int ibv_read_sysfs_file(const char*, const char*, char*, size_t);
int ibv_dontfork_range(void*, size_t);
int ibv_dofork_range(void*, size_t);
void ibv_copy_ah_attr_from_kern(ibv_ah_attr*, const ib_uverbs_ah_attr*);
void ibv_copy_qp_attr_from_kern(ibv_qp_attr*, const ib_uverbs_qp_attr*);
void ibv_copy_path_rec_from_kern(ibv_sa_path_rec*, const ib_user_path_rec*);
void ibv_copy_path_rec_to_kern(ib_user_path_rec*, const ibv_sa_path_rec*);
}
#undef ibv_get_device_list
#undef ibv_query_port
#undef ibv_reg_mr
#undef ibv_reg_mr_iova

namespace test {
namespace {

/// A live object of each kind.
struct Live {
    Live() : host(Options{.channel = true}), qp(host) { qp.connect(qp.address()); }
    Host host;
    Qp qp;
};

using Walk = void (*)(Live&);

void devices(Live&) {
    int count = 0;
    ibv_device** list = ibv_get_device_list(&count);
    ASSERT_TRUE(list && count == 1 && !list[1]);
    EXPECT_STREQ(ibv_get_device_name(list[0]), "soft0");
    EXPECT_EQ(ibv_get_device_index(list[0]), -1);
    EXPECT_NE(ibv_get_device_guid(list[0]), 0u);
    ibv_context* context = ibv_open_device(list[0]);
    ASSERT_TRUE(context);
    EXPECT_EQ(ibv_close_device(context), 0);
    ibv_device other = *list[0];
    EXPECT_EQ(ibv_open_device(&other), nullptr);
    EXPECT_EQ(errno, ENODEV);
    ibv_free_device_list(list);
    list = ibv_get_device_list(nullptr);
    ibv_free_device_list(list);
}

void imports(Live& live) {
    absent([] { return ibv_import_device(0); });
    absent([] { return ibv_import_device(-1); });
    absent([&] { return ibv_import_pd(live.host.context, live.host.pd->handle); });
    absent([&] { return ibv_import_mr(live.host.pd, live.host.mr->handle); });
    absent([&] { return ibv_import_dm(live.host.context, 0); });
    ibv_unimport_pd(live.host.pd);
    ibv_unimport_mr(live.host.mr);
    ibv_unimport_dm(nullptr);
}

void queries(Live& live) {
    ibv_context* const context = live.host.context;
    ibv_device_attr device;
    EXPECT_EQ(ibv_query_device(context, &device), 0);
    ibv_port_attr port;
    auto* old = reinterpret_cast<_compat_ibv_port_attr*>(&port);
    EXPECT_EQ(ibv_query_port(context, 1, old), 0);
    for (const std::uint8_t bad : {0, 2, 255}) EXPECT_EQ(ibv_query_port(context, bad, old), EINVAL);
    union ibv_gid gid;
    EXPECT_EQ(ibv_query_gid(context, 1, 0, &gid), 0);
    for (const int bad : {-1, 1, 1 << 20}) EXPECT_EQ(ibv_query_gid(context, 1, bad, &gid), -1);
    ibv_gid_entry entry;
    EXPECT_EQ(ibv_query_gid_ex(context, 1, 0, &entry, 0), 0);
    EXPECT_EQ(ibv_query_gid_ex(context, 1, 7, &entry, 0), ENODATA);
    EXPECT_EQ(ibv_query_gid_ex(context, 2, 0, &entry, 0), EINVAL);
    EXPECT_EQ(ibv_query_gid_ex(context, 1, 0, &entry, 1), EINVAL);
    char small[4];
    EXPECT_EQ(_ibv_query_gid_ex(context, 1, 0, reinterpret_cast<ibv_gid_entry*>(small), 0, 4), 0);
    ibv_gid_entry table[4];
    EXPECT_EQ(ibv_query_gid_table(context, table, 4, 0), 1);
    EXPECT_EQ(ibv_query_gid_table(context, table, 0, 0), -EINVAL) << "no room";
    EXPECT_EQ(ibv_query_gid_table(context, table, 4, 9), -EINVAL);
    int type = -1;
    EXPECT_EQ(ibv_query_gid_type(context, 1, 0, &type), 0);
    EXPECT_EQ(ibv_query_gid_type(context, 1, 99, &type), -1);
    __be16 pkey = 0;
    EXPECT_EQ(ibv_query_pkey(context, 1, 0, &pkey), 0);
    EXPECT_EQ(ibv_query_pkey(context, 1, 1, &pkey), -1);
    EXPECT_EQ(ibv_get_pkey_index(context, 1, pkey), 0);
    EXPECT_EQ(ibv_get_pkey_index(context, 1, 0x1234), -1);
}

void names(Live&) {
    for (const int code : {-1, 0, 5, 1000}) {
        EXPECT_TRUE(ibv_wc_status_str(static_cast<ibv_wc_status>(code)));
        EXPECT_TRUE(ibv_node_type_str(static_cast<ibv_node_type>(code)));
        EXPECT_TRUE(ibv_port_state_str(static_cast<ibv_port_state>(code)));
        EXPECT_TRUE(ibv_event_type_str(static_cast<ibv_event_type>(code)));
        EXPECT_TRUE(rdma_event_str(static_cast<rdma_cm_event_type>(code)));
        (void)ibv_rate_to_mult(static_cast<ibv_rate>(code));
        (void)ibv_rate_to_mbps(static_cast<ibv_rate>(code));
        (void)mult_to_ibv_rate(code);
        (void)mbps_to_ibv_rate(code);
    }
    EXPECT_EQ(ibv_rate_to_mbps(mbps_to_ibv_rate(10000)), 10000);
    EXPECT_EQ(ibv_rate_to_mult(mult_to_ibv_rate(4)), 4);
    EXPECT_STREQ(ibv_get_sysfs_path(), "/sys");
    char text[8] = "";
    EXPECT_EQ(ibv_read_sysfs_file("/sys", "x", text, sizeof text), -1);
    EXPECT_EQ(ibv_read_sysfs_file("/proc/sys/kernel", "ostype", text, sizeof text), 5);
    EXPECT_STREQ(text, "Linux");
}

void forks(Live& live) {
    EXPECT_EQ(ibv_fork_init(), 0);
    EXPECT_NE(ibv_is_fork_initialized(), IBV_FORK_DISABLED);
    EXPECT_EQ(ibv_dontfork_range(live.host.buffer.data(), 4096), 0);
    EXPECT_EQ(ibv_dofork_range(nullptr, 0), 0);
}

void copies(Live&) {
    const ib_uverbs_ah_attr handle{};
    ibv_ah_attr handle_copy;
    ibv_copy_ah_attr_from_kern(&handle_copy, &handle);
    const ib_uverbs_qp_attr attributes{};
    ibv_qp_attr attributes_copy;
    ibv_copy_qp_attr_from_kern(&attributes_copy, &attributes);
    ib_user_path_rec path{};
    ibv_sa_path_rec path_copy;
    path.mtu = 3;
    ibv_copy_path_rec_from_kern(&path_copy, &path);
    path = {};
    ibv_copy_path_rec_to_kern(&path, &path_copy);
    EXPECT_EQ(path.mtu, 3u);
}

void memory(Live& live) {
    ibv_pd* const pd = ibv_alloc_pd(live.host.context);
    ASSERT_TRUE(pd);
    void* const data = live.host.buffer.data();
    ibv_mr* mr = ibv_reg_mr(pd, data, 64, kLocalWrite);
    ASSERT_TRUE(mr);
    EXPECT_EQ(ibv_dealloc_pd(pd), EBUSY);
    EXPECT_EQ(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_TRANSLATION, nullptr, data, 32, 0), 0);
    EXPECT_EQ(ibv_rereg_mr(mr, -1, nullptr, data, 32, 0), IBV_REREG_MR_ERR_INPUT);
    EXPECT_EQ(ibv_dereg_mr(mr), 0);
    mr = ibv_reg_mr_iova(pd, data, 64, 0, 0);
    ASSERT_TRUE(mr);
    EXPECT_EQ(ibv_dereg_mr(mr), 0);
    mr = ibv_reg_mr_iova2(pd, data, 64, 1 << 20, IBV_ACCESS_RELAXED_ORDERING);
    ASSERT_TRUE(mr);
    EXPECT_EQ(ibv_dereg_mr(mr), 0);
    EXPECT_EQ(ibv_reg_mr(pd, nullptr, 64, 0), nullptr);
    mr = ibv_reg_mr(pd, data, 0, 0);
    ASSERT_TRUE(mr);
    EXPECT_EQ(ibv_dereg_mr(mr), 0);
    EXPECT_EQ(ibv_reg_mr(pd, data, ~std::size_t{0}, 0), nullptr);
    EXPECT_EQ(ibv_reg_mr(pd, data, 64, -1), nullptr);
    EXPECT_EQ(ibv_reg_dmabuf_mr(pd, 0, 4096, 0, -1, 0), nullptr);
    EXPECT_EQ(errno, EBADF);
    EXPECT_EQ(ibv_dealloc_pd(pd), 0);
}

void completions(Live& live) {
    ibv_context* const context = live.host.context;
    ibv_comp_channel* const channel = ibv_create_comp_channel(context);
    ASSERT_TRUE(channel);
    ibv_cq* const cq = ibv_create_cq(context, 1, nullptr, channel, 0);
    ASSERT_TRUE(cq);
    EXPECT_EQ(ibv_destroy_comp_channel(channel), EBUSY);
    EXPECT_EQ(ibv_resize_cq(cq, 100), 0);
    for (const int bad : {-1, 0, 1 << 30}) {
        EXPECT_EQ(ibv_resize_cq(cq, bad), EINVAL);
        EXPECT_EQ(ibv_create_cq(context, bad, nullptr, nullptr, 0), nullptr);
    }
    EXPECT_EQ(ibv_create_cq(context, 1, nullptr, nullptr, 1), nullptr);
    EXPECT_EQ(ibv_create_cq(context, 1, nullptr, nullptr, -1), nullptr);
    ASSERT_EQ(fcntl(channel->fd, F_SETFL, O_NONBLOCK), 0);
    ibv_cq* event_cq = nullptr;
    void* event_context = nullptr;
    EXPECT_EQ(ibv_get_cq_event(channel, &event_cq, &event_context), -1);
    ibv_ack_cq_events(cq, 0);
    ibv_wc wc;
    EXPECT_EQ(ibv_poll_cq(cq, 0, &wc), 0);
    EXPECT_EQ(ibv_poll_cq(cq, 1, &wc), 0);
    EXPECT_EQ(ibv_req_notify_cq(cq, 1), 0);
    EXPECT_EQ(ibv_destroy_cq(cq), 0);
    EXPECT_EQ(ibv_destroy_comp_channel(channel), 0);
    EXPECT_EQ(ibv_destroy_cq(live.host.cq), EBUSY);
}

void events(Live& live) {
    ASSERT_EQ(fcntl(live.host.context->async_fd, F_SETFL, O_NONBLOCK), 0);
    ibv_async_event event;
    EXPECT_EQ(ibv_get_async_event(live.host.context, &event), -1);
    EXPECT_EQ(errno, EAGAIN);
    event.event_type = IBV_EVENT_PORT_ACTIVE;
    ibv_ack_async_event(&event);
    // An event that nobody got.
    event.event_type = IBV_EVENT_QP_FATAL;
    event.element.qp = live.qp.get();
    ibv_ack_async_event(&event);
}

void queue_pairs(Live& live) {
    ibv_qp_init_attr wish{};
    wish.send_cq = wish.recv_cq = live.host.cq;
    wish.cap = {1, 1, 1, 1, 0};
    wish.qp_type = IBV_QPT_RC;
    ibv_qp* const qp = ibv_create_qp(live.host.pd, &wish);
    ASSERT_TRUE(qp);
    EXPECT_EQ(ibv_qp_to_qp_ex(qp), nullptr);
    ibv_qp_attr attributes{};
    ibv_qp_init_attr init;
    EXPECT_EQ(ibv_query_qp(qp, &attributes, ~0, &init), 0);
    EXPECT_EQ(ibv_modify_qp(qp, &attributes, 0), 0) << "nothing is changed";
    attributes.qp_state = static_cast<ibv_qp_state>(99);
    EXPECT_EQ(ibv_modify_qp(qp, &attributes, IBV_QP_STATE), EINVAL);
    attributes.qp_state = IBV_QPS_ERR;
    EXPECT_EQ(ibv_modify_qp(qp, &attributes, IBV_QP_STATE), 0);
    ibv_send_wr send{};
    ibv_send_wr* bad_send = nullptr;
    send.opcode = static_cast<ibv_wr_opcode>(77);
    EXPECT_EQ(ibv_post_send(qp, &send, &bad_send), EINVAL);
    EXPECT_EQ(bad_send, &send);
    ibv_recv_wr receive{};
    ibv_recv_wr* bad_receive = nullptr;
    receive.num_sge = -1;
    EXPECT_EQ(ibv_post_recv(qp, &receive, &bad_receive), EINVAL);
    EXPECT_EQ(ibv_query_qp_data_in_order(qp, IBV_WR_RDMA_WRITE, 0), 0);
    EXPECT_EQ(ibv_query_qp_data_in_order(qp, static_cast<ibv_wr_opcode>(-1), ~0u), 0);
    ibv_ece ece = {1, 2, 3};
    ABSENT_BY_CODE(ibv_query_ece(qp, &ece));
    ABSENT_BY_CODE(ibv_set_ece(qp, &ece));
    EXPECT_EQ(ibv_destroy_qp(qp), 0);
    for (const int type : {0, int(IBV_QPT_RAW_PACKET), int(IBV_QPT_DRIVER), 9999}) {
        wish.qp_type = static_cast<ibv_qp_type>(type);
        absent([&] { return ibv_create_qp(live.host.pd, &wish); });
    }
    wish.qp_type = IBV_QPT_RC;
    wish.cap.max_send_wr = ~0u;
    EXPECT_EQ(ibv_create_qp(live.host.pd, &wish), nullptr);
    EXPECT_EQ(errno, EINVAL);
    wish.cap.max_send_wr = 1;
    wish.send_cq = nullptr;
    EXPECT_EQ(ibv_create_qp(live.host.pd, &wish), nullptr);
    EXPECT_EQ(errno, EINVAL);
}

void shared_receives(Live& live) {
    ibv_srq_init_attr wish{};
    wish.attr.max_wr = wish.attr.max_sge = 1;
    ibv_srq* const srq = ibv_create_srq(live.host.pd, &wish);
    ASSERT_TRUE(srq);
    ibv_srq_attr attributes{};
    EXPECT_EQ(ibv_query_srq(srq, &attributes), 0);
    attributes.max_wr = 64;
    EXPECT_EQ(ibv_modify_srq(srq, &attributes, IBV_SRQ_MAX_WR), 0);
    attributes.max_wr = ~0u;
    EXPECT_EQ(ibv_modify_srq(srq, &attributes, IBV_SRQ_MAX_WR), EINVAL);
    ibv_recv_wr receive{};
    ibv_recv_wr* bad = nullptr;
    receive.num_sge = 1000;
    EXPECT_EQ(ibv_post_srq_recv(srq, &receive, &bad), EINVAL);
    EXPECT_EQ(ibv_destroy_srq(srq), 0);
    wish.attr.max_sge = ~0u;
    EXPECT_EQ(ibv_create_srq(live.host.pd, &wish), nullptr);
    EXPECT_EQ(errno, EINVAL);
}

void address_handles(Live& live) {
    std::uint8_t mac[6];
    std::uint16_t vlan = 0;
    ibv_ah_attr attributes{};
    ABSENT_BY_CODE(ibv_resolve_eth_l2_from_gid(live.host.context, &attributes, mac, &vlan));
    attributes.port_num = 200;
    errno = 0;
    EXPECT_EQ(ibv_create_ah(live.host.pd, &attributes), nullptr);
    EXPECT_NE(errno, 0);
    ibv_wc wc{};
    errno = 0;
    EXPECT_EQ(ibv_create_ah_from_wc(live.host.pd, &wc, nullptr, 200), nullptr);
    EXPECT_NE(errno, 0);
    ibv_grh header{};
    wc.wc_flags = IBV_WC_GRH;
    EXPECT_NE(ibv_init_ah_from_wc(live.host.context, 200, &wc, &header, &attributes), 0);
    union ibv_gid gid {};
    EXPECT_EQ(ibv_attach_mcast(live.qp.get(), &gid, 0), EINVAL);
    EXPECT_EQ(ibv_detach_mcast(live.qp.get(), &gid, 0), EINVAL);
    attributes = {};
    attributes.port_num = 1;
    attributes.dlid = live.host.port.lid;
    ibv_ah* const made = ibv_create_ah(live.host.pd, &attributes);
    ASSERT_TRUE(made);
    EXPECT_EQ(ibv_destroy_ah(made), 0);
}

void connections(Live&) {
    EventQueue queue;
    Id id(queue);
    rdma_conn_param none{};
    ibv_qp_attr attributes{};
    ibv_qp_init_attr wish{};
    ibv_qp_init_attr_ex extended{};
    int mask = 0;
    sockaddr_in to = address("127.0.0.1", 9);
    auto* const where = reinterpret_cast<sockaddr*>(&to);
    // Too early for each of these calls.
    EXPECT_EQ(rdma_resolve_route(id.get(), 1), -1);
    EXPECT_EQ(rdma_connect(id.get(), &none), -1);
    EXPECT_EQ(rdma_accept(id.get(), &none), -1);
    EXPECT_EQ(rdma_reject(id.get(), nullptr, 0), -1);
    EXPECT_EQ(rdma_reject_ece(id.get(), nullptr, 0), -1);
    EXPECT_EQ(rdma_establish(id.get()), -1);
    EXPECT_EQ(rdma_disconnect(id.get()), -1);
    EXPECT_EQ(rdma_notify(id.get(), IBV_EVENT_COMM_EST), -1);
    EXPECT_EQ(rdma_init_qp_attr(id.get(), &attributes, &mask), -1);
    EXPECT_EQ(rdma_create_qp(id.get(), nullptr, &wish), -1);
    EXPECT_EQ(rdma_create_qp(id.get(), nullptr, nullptr), -1);
    EXPECT_EQ(rdma_create_qp_ex(id.get(), &extended), -1);
    rdma_destroy_qp(id.get());
    EXPECT_EQ(rdma_bind_addr(id.get(), nullptr), -1);
    EXPECT_EQ(rdma_resolve_addr(id.get(), nullptr, nullptr, 1), -1);
    EXPECT_EQ(rdma_get_src_port(id.get()), 0);
    EXPECT_EQ(rdma_get_dst_port(id.get()), 0);
    EXPECT_EQ(rdma_resolve_addr(id.get(), nullptr, where, 1), 0);
    queue.next(RDMA_CM_EVENT_ADDR_RESOLVED);
    EXPECT_EQ(rdma_resolve_route(id.get(), 1), 0);
    queue.next(RDMA_CM_EVENT_ROUTE_RESOLVED);
    EXPECT_EQ(rdma_get_dst_port(id.get()), htons(9));
    EXPECT_EQ(rdma_listen(id.get(), 1), -1);
    EventQueue other;
    EXPECT_EQ(rdma_migrate_id(id.get(), other.get()), 0);
    EXPECT_EQ(rdma_set_option(id.get(), -1, -1, nullptr, 0), -1);
    Id listening = listener(queue);
    EXPECT_EQ(rdma_listen(listening.get(), 1), 0) << "it does already";
    ASSERT_EQ(fcntl(queue.get()->fd, F_SETFL, O_NONBLOCK), 0);
    rdma_cm_event* event = nullptr;
    EXPECT_EQ(rdma_get_cm_event(queue.get(), &event), -1);
    EXPECT_EQ(errno, EAGAIN);
    EXPECT_EQ(rdma_get_cm_event(nullptr, &event), -1);
    EXPECT_EQ(rdma_ack_cm_event(nullptr), -1);
    EXPECT_EQ(rdma_get_request(listening.get(), nullptr), -1);
    rdma_cm_id* made = nullptr;
    EXPECT_EQ(rdma_create_id(queue.get(), nullptr, nullptr, RDMA_PS_TCP), -1);
    absent([&] {
        return rdma_create_id(queue.get(), &made, nullptr, static_cast<rdma_port_space>(1));
    });
}

void endpoints(Live&) {
    rdma_addrinfo* where = nullptr;
    ASSERT_EQ(rdma_getaddrinfo("127.0.0.1", "9", nullptr, &where), 0);
    rdma_cm_id* id = nullptr;
    ASSERT_EQ(rdma_create_ep(&id, where, nullptr, nullptr), 0);
    ibv_srq_init_attr wish{};
    wish.attr.max_wr = wish.attr.max_sge = 1;
    EXPECT_EQ(rdma_create_srq(id, nullptr, &wish), 0);
    rdma_destroy_srq(id);
    ibv_srq_init_attr_ex extended{};
    extended.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_TM;
    extended.srq_type = IBV_SRQT_TM;
    absent([&] { return rdma_create_srq_ex(id, &extended); });
    ibv_ece ece = {7, 8, 0};
    EXPECT_EQ(rdma_set_local_ece(id, &ece), 0);
    EXPECT_EQ(rdma_get_remote_ece(id, &ece), 0);
    EXPECT_EQ(ece.vendor_id, 0u);
    rdma_destroy_ep(id);
    rdma_freeaddrinfo(where);
    rdma_freeaddrinfo(nullptr);
    int count = -1;
    ibv_context** const list = rdma_get_devices(&count);
    ASSERT_TRUE(list);
    EXPECT_EQ(count, 1);
    rdma_free_devices(list);
}

void groups(Live&) {
    EventQueue queue;
    Id id(queue);
    ASSERT_EQ(id.bind(address("127.0.0.1", 0)), 0);
    sockaddr_in group = address("239.1.1.1", 0);
    auto* const where = reinterpret_cast<sockaddr*>(&group);
    rdma_cm_join_mc_attr_ex attributes{};
    EXPECT_EQ(rdma_join_multicast(id.get(), where, nullptr), -1) << "it makes connections";
    EXPECT_EQ(rdma_join_multicast_ex(id.get(), &attributes, nullptr), -1);
    EXPECT_EQ(rdma_leave_multicast(id.get(), where), -1);
    Id datagrams(queue, RDMA_PS_UDP);
    ASSERT_EQ(datagrams.bind(address("127.0.0.1", 0)), 0);
    EXPECT_EQ(rdma_join_multicast(datagrams.get(), where, nullptr), 0);
    queue.next(RDMA_CM_EVENT_MULTICAST_JOIN);
    EXPECT_EQ(rdma_leave_multicast(datagrams.get(), where), 0);
}

void rsockets(Live&) {
    char data[4] = {};
    sockaddr_in at = address("127.0.0.1", 1);
    auto* const where = reinterpret_cast<sockaddr*>(&at);
    socklen_t length = sizeof at;
    iovec part = {data, sizeof data};
    msghdr message = {};
    fd_set set;
    FD_ZERO(&set);
    absent([] { return rsocket(AF_INET, SOCK_STREAM, 0); });
    absent([&] { return rbind(0, where, length); });
    absent([] { return rlisten(0, 1); });
    absent([&] { return raccept(0, where, &length); });
    absent([&] { return rconnect(0, where, length); });
    absent([] { return rshutdown(0, SHUT_RDWR); });
    absent([&] { return rrecv(0, data, sizeof data, 0); });
    absent([&] { return rrecvfrom(0, data, sizeof data, 0, where, &length); });
    absent([&] { return rrecvmsg(0, &message, 0); });
    absent([&] { return rsend(0, data, sizeof data, 0); });
    absent([&] { return rsendto(0, data, sizeof data, 0, where, length); });
    absent([&] { return rsendmsg(0, &message, 0); });
    absent([&] { return rread(0, data, sizeof data); });
    absent([&] { return rreadv(0, &part, 1); });
    absent([&] { return rwrite(0, data, sizeof data); });
    absent([&] { return rwritev(0, &part, 1); });
    absent([&] { return rselect(0, &set, &set, &set, nullptr); });
    absent([&] { return rgetpeername(0, where, &length); });
    absent([&] { return rgetsockname(0, where, &length); });
    absent([&] { return rsetsockopt(0, 0, 0, data, sizeof data); });
    absent([&] { return rgetsockopt(0, 0, 0, data, &length); });
    absent([] { return rfcntl(0, F_GETFL); });
    absent([&] { return riomap(0, data, sizeof data, 0, 0, 0); });
    absent([&] { return riounmap(0, data, sizeof data); });
    absent([&] { return riowrite(0, data, sizeof data, 0, 0); });
    EXPECT_EQ(rclose(0), -1);
    EXPECT_EQ(errno, EBADF);
    pollfd nothing = {-1, POLLIN, 0};
    EXPECT_EQ(rpoll(&nothing, 1, 0), 0);
}

struct Names {
    Walk walk;
    const char* what;
    std::vector<std::string> names;
};
const Names kWalks[] = {
    {devices,
     "Devices",
     {"ibv_get_device_list", "ibv_free_device_list", "ibv_get_device_name", "ibv_get_device_index",
      "ibv_get_device_guid", "ibv_open_device", "ibv_close_device"}},
    {imports,
     "Imports",
     {"ibv_import_device", "ibv_import_pd", "ibv_import_mr", "ibv_import_dm", "ibv_unimport_pd",
      "ibv_unimport_mr", "ibv_unimport_dm"}},
    {queries,
     "Queries",
     {"ibv_query_device", "ibv_query_port", "ibv_query_gid", "_ibv_query_gid_ex",
      "_ibv_query_gid_table", "ibv_query_gid_type", "ibv_query_pkey", "ibv_get_pkey_index"}},
    {names,
     "Names",
     {"ibv_wc_status_str", "ibv_node_type_str", "ibv_port_state_str", "ibv_event_type_str",
      "rdma_event_str", "ibv_rate_to_mult", "ibv_rate_to_mbps", "mult_to_ibv_rate",
      "mbps_to_ibv_rate", "ibv_get_sysfs_path", "ibv_read_sysfs_file"}},
    {forks,
     "Forks",
     {"ibv_fork_init", "ibv_is_fork_initialized", "ibv_dontfork_range", "ibv_dofork_range"}},
    {copies,
     "Copies",
     {"ibv_copy_ah_attr_from_kern", "ibv_copy_qp_attr_from_kern", "ibv_copy_path_rec_from_kern",
      "ibv_copy_path_rec_to_kern"}},
    {memory,
     "Memory",
     {"ibv_alloc_pd", "ibv_dealloc_pd", "ibv_reg_mr", "ibv_reg_mr_iova", "ibv_reg_mr_iova2",
      "ibv_rereg_mr", "ibv_dereg_mr", "ibv_reg_dmabuf_mr"}},
    {completions,
     "Completions",
     {"ibv_create_comp_channel", "ibv_destroy_comp_channel", "ibv_create_cq", "ibv_resize_cq",
      "ibv_destroy_cq", "ibv_get_cq_event", "ibv_ack_cq_events"}},
    {events, "Events", {"ibv_get_async_event", "ibv_ack_async_event"}},
    {queue_pairs,
     "QueuePairs",
     {"ibv_create_qp", "ibv_query_qp", "ibv_modify_qp", "ibv_destroy_qp", "ibv_qp_to_qp_ex",
      "ibv_query_qp_data_in_order", "ibv_query_ece", "ibv_set_ece"}},
    {shared_receives,
     "SharedReceives",
     {"ibv_create_srq", "ibv_modify_srq", "ibv_query_srq", "ibv_destroy_srq"}},
    {address_handles,
     "AddressHandles",
     {"ibv_create_ah", "ibv_create_ah_from_wc", "ibv_init_ah_from_wc", "ibv_destroy_ah",
      "ibv_attach_mcast", "ibv_detach_mcast", "ibv_resolve_eth_l2_from_gid"}},
    {connections,
     "Connections",
     {"rdma_create_event_channel",
      "rdma_destroy_event_channel",
      "rdma_get_cm_event",
      "rdma_ack_cm_event",
      "rdma_create_id",
      "rdma_destroy_id",
      "rdma_bind_addr",
      "rdma_resolve_addr",
      "rdma_resolve_route",
      "rdma_listen",
      "rdma_connect",
      "rdma_accept",
      "rdma_reject",
      "rdma_reject_ece",
      "rdma_establish",
      "rdma_disconnect",
      "rdma_notify",
      "rdma_init_qp_attr",
      "rdma_create_qp",
      "rdma_create_qp_ex",
      "rdma_destroy_qp",
      "rdma_get_src_port",
      "rdma_get_dst_port",
      "rdma_migrate_id",
      "rdma_set_option",
      "rdma_get_request"}},
    {endpoints,
     "Endpoints",
     {"rdma_getaddrinfo", "rdma_freeaddrinfo", "rdma_create_ep", "rdma_destroy_ep",
      "rdma_create_srq", "rdma_create_srq_ex", "rdma_destroy_srq", "rdma_set_local_ece",
      "rdma_get_remote_ece", "rdma_get_devices", "rdma_free_devices"}},
    {groups, "Groups", {"rdma_join_multicast", "rdma_join_multicast_ex", "rdma_leave_multicast"}},
    {rsockets,
     "Rsockets",
     {"rsocket",      "rbind",       "rlisten",     "raccept", "rconnect", "rshutdown",
      "rrecv",        "rrecvfrom",   "rrecvmsg",    "rsend",   "rsendto",  "rsendmsg",
      "rread",        "rreadv",      "rwrite",      "rwritev", "rselect",  "rgetpeername",
      "rgetsockname", "rsetsockopt", "rgetsockopt", "rfcntl",  "riomap",   "riounmap",
      "riowrite",     "rclose",      "rpoll"}},
};

/// The verbs and rdma_cm names that the version script exports. The C library's names in it have
/// tests of their own.
std::set<std::string> exported_names() {
    std::ifstream script(std::string(getenv("TOP_SRCDIR")) +
                         "/providers/soft/softverbs/export/libsoftverbs.map");
    require(script.good(), "the version script is there");
    std::set<std::string> names;
    std::string line;
    bool of_verbs = false;
    while (std::getline(script, line)) {
        if (line.find('{') != std::string::npos)
            of_verbs = line.rfind("IBVERBS", 0) == 0 || line.rfind("RDMACM", 0) == 0;
        const std::size_t end = line.find(';');
        if (!of_verbs || line.rfind("        ", 0) != 0 || end == std::string::npos) continue;
        const std::string name = line.substr(8, end - 8);
        if (name != "*") names.insert(name);
    }
    return names;
}

class EveryVerb : public testing::TestWithParam<Names> {};
INSTANTIATE_TEST_SUITE_P(Of, EveryVerb, testing::ValuesIn(kWalks),
                         [](const auto& info) { return std::string(info.param.what); });

TEST_P(EveryVerb, WorksOrSaysThatThereIsNoSuchOperation) {
    const TemporaryFabric fabric;
    Child child([](Channel&) {
        Live live;
        GetParam().walk(live);
        require(!HasFailure(), "every answer is as it should be");
    });
    EXPECT_EQ(child.wait(), 0);
}

TEST(EveryVerbOfTheList, IsCalledHere) {
    std::set<std::string> called;
    for (const Names& row : kWalks) called.insert(row.names.begin(), row.names.end());
    const std::set<std::string> exported = exported_names();
    EXPECT_GT(exported.size(), 100u);
    EXPECT_EQ(called, exported);
}

}  // namespace
}  // namespace test
