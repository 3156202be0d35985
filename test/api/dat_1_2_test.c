/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * @file
 * A program written to DAT 1.2 and to nothing after it: only <dat/udat.h>, its calls, names and
 * members, compiled with the flags of dat-1.2.pc. Two endpoints of one process transfer.
 */
#include <dat/udat.h>
#include <netinet/in.h>
#include <string.h>
#include <unistd.h>

#include "test/api/c_program.h"

#if DAT_VERSION_MAJOR != 1 || DAT_VERSION_MINOR != 2
#error "these are not the headers of DAT 1.2"
#endif

#define QUALIFIER 4712
#define LENGTH 4096
#define HALF (LENGTH / 2)

/* Memory of one side, registered. */
struct region {
    char bytes[LENGTH];
    DAT_LMR_HANDLE lmr;
    DAT_LMR_CONTEXT lmr_context;
    DAT_RMR_CONTEXT rmr_context;
};

static DAT_IA_HANDLE ia;
static DAT_PZ_HANDLE pz;
static DAT_EVD_HANDLE requests, connections, transfers;
static DAT_EP_HANDLE active, passive;
static struct region source, target;
/* -- what there is before a connection ----------------------------------------------- */

static void register_region(struct region* region) {
    DAT_REGION_DESCRIPTION description;
    DAT_VLEN length;
    DAT_VADDR address;
    description.for_va = region->bytes;
    must(
        dat_lmr_create(ia, DAT_MEM_TYPE_VIRTUAL, description, LENGTH, pz, DAT_MEM_PRIV_ALL_FLAG,
                       &region->lmr, &region->lmr_context, &region->rmr_context, &length, &address),
        "dat_lmr_create");
    if (length != LENGTH || address != (DAT_VADDR)(uintptr_t)region->bytes)
        fail("the registration");
}

static void check_attributes(void) {
    DAT_IA_ATTR adapter;
    DAT_PROVIDER_ATTR provider;
    must(dat_ia_query(ia, NULL, DAT_IA_ALL, &adapter, DAT_PROVIDER_FIELD_ALL, &provider),
         "dat_ia_query");
    told(adapter.max_mtu_size > 0 && adapter.max_rdma_read_per_ep > 0 &&
             adapter.max_rmr_target_address > 0 && provider.pz_support != DAT_PZ_SAME,
         "attributes are found by the names of 1.0, 1.1 and 1.2");
}

static void agent(DAT_PVOID data, DAT_EVD_HANDLE evd) {
    (void)data;
    (void)evd;
}

static void check_cno(void) {
    DAT_OS_WAIT_PROXY_AGENT given, none = DAT_OS_WAIT_PROXY_AGENT_NULL;
    DAT_CNO_HANDLE with, without;
    DAT_CNO_PARAM has, lacks;
    given.instance_data = &source;
    given.proxy_agent_func = agent;
    must(dat_cno_create(ia, given, &with), "dat_cno_create");
    must(dat_cno_create(ia, none, &without), "dat_cno_create");
    must(dat_cno_query(with, DAT_CNO_FIELD_ALL, &has), "dat_cno_query");
    must(dat_cno_query(without, DAT_CNO_FIELD_AGENT, &lacks), "dat_cno_query");
    told(has.agent.proxy_agent_func == agent && has.agent.instance_data == &source &&
             lacks.agent.proxy_agent_func == NULL,
         "dat_cno_query tells the agent");
    told(DAT_GET_TYPE(dat_cno_query(with, DAT_CNO_FIELD_ALL, NULL)) == DAT_INVALID_PARAMETER,
         "dat_cno_query without room for the answer is refused");
    must(dat_cno_free(with), "dat_cno_free");
    must(dat_cno_free(without), "dat_cno_free");
}

static void open_all(void) {
    const char* name = getenv("DAT_TEST_IA");
    DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
    DAT_RETURN opened = dat_ia_open((char*)(name ? name : "soft0"), 8, &async, &ia);
    told(opened == DAT_SUCCESS, "dat_ia_open opens an adapter for a program of 1.2");
    must(opened, "dat_ia_open");
    must(dat_pz_create(ia, &pz), "dat_pz_create");
    must(dat_evd_create(ia, 8, DAT_HANDLE_NULL, DAT_EVD_CR_FLAG, &requests), "dat_evd_create");
    must(dat_evd_create(ia, 8, DAT_HANDLE_NULL, DAT_EVD_CONNECTION_FLAG, &connections),
         "dat_evd_create");
    must(dat_evd_create(ia, 64, DAT_HANDLE_NULL,
                        (DAT_EVD_FLAGS)(DAT_EVD_DTO_FLAG | DAT_EVD_RMR_BIND_FLAG), &transfers),
         "dat_evd_create");
    register_region(&source);
    register_region(&target);
    told(source.lmr_context != target.lmr_context, "dat_lmr_create registers without a va_type");
}

/* An address of the call, and a call that names the version itself. */
static void check_open(void) {
    DAT_RETURN(*open)
    (const DAT_NAME_PTR, DAT_COUNT, DAT_EVD_HANDLE*, DAT_IA_HANDLE*, DAT_UINT32, DAT_UINT32,
     DAT_BOOLEAN) = dat_ia_openv;
    const char* name = getenv("DAT_TEST_IA");
    DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
    DAT_IA_HANDLE second;
    must(open((char*)(name ? name : "soft0"), 8, &async, &second, 1, 1, DAT_FALSE), "dat_ia_openv");
    told(dat_ia_close(second, DAT_CLOSE_DEFAULT) == DAT_SUCCESS,
         "dat_ia_openv takes a version 1.1");
}

/* -- connections --------------------------------------------------------------------- */

static DAT_EP_HANDLE endpoint(void) {
    DAT_EP_HANDLE made;
    must(dat_ep_create(ia, pz, transfers, transfers, connections, NULL, &made), "dat_ep_create");
    return made;
}

static DAT_CR_HANDLE request_from(DAT_EP_HANDLE ep) {
    DAT_IA_ATTR attributes;
    must(dat_ia_query(ia, NULL, DAT_IA_FIELD_ALL, &attributes, 0, NULL), "dat_ia_query");
    must(dat_ep_connect(ep, attributes.ia_address_ptr, QUALIFIER, DAT_TIMEOUT_INFINITE, 0, NULL,
                        DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG),
         "dat_ep_connect");
    return next(requests).event_data.cr_arrival_event_data.cr_handle;
}

static void check_reject(void) {
    DAT_EP_HANDLE refused = endpoint();
    must(dat_cr_reject(request_from(refused)), "dat_cr_reject");
    told(next(connections).event_number == DAT_CONNECTION_EVENT_PEER_REJECTED,
         "dat_cr_reject refuses without private data");
    must(dat_ep_free(refused), "dat_ep_free");
}

static void connect_both(void) {
    active = endpoint();
    passive = endpoint();
    must(dat_cr_accept(request_from(active), passive, 0, NULL), "dat_cr_accept");
    told(next(connections).event_number == DAT_CONNECTION_EVENT_ESTABLISHED &&
             next(connections).event_number == DAT_CONNECTION_EVENT_ESTABLISHED,
         "two endpoints connect");
}

/* -- transfers ----------------------------------------------------------------------- */

static DAT_LMR_TRIPLET part(struct region* region, unsigned first, unsigned length) {
    DAT_LMR_TRIPLET triplet;
    triplet.lmr_context = region->lmr_context;
    triplet.virtual_address = (DAT_VADDR)(uintptr_t)(region->bytes + first);
    triplet.segment_length = length;
    return triplet;
}

static int completes(DAT_EP_HANDLE ep, DAT_UINT64 of, DAT_DTO_COMPLETION_STATUS status) {
    DAT_EVENT event = next(transfers);
    DAT_DTO_COMPLETION_EVENT_DATA* data = &event.event_data.dto_completion_event_data;
    int good = event.event_number == DAT_DTO_COMPLETION_EVENT && data->ep_handle == ep &&
               data->user_cookie.as_64 == of && data->status == status;
    if (!good)
        printf("# event 0x%x, cookie %lu, status %d\n", (unsigned)event.event_number,
               (unsigned long)data->user_cookie.as_64, (int)data->status);
    return good;
}

static void check_send(void) {
    DAT_LMR_TRIPLET from = part(&source, 0, 6), to = part(&target, 0, 6);
    DAT_EVENT one, other;
    strcpy(source.bytes, "hello");
    must(dat_ep_post_recv(passive, 1, &to, cookie(1), DAT_COMPLETION_DEFAULT_FLAG),
         "dat_ep_post_recv");
    must(dat_ep_post_send(active, 1, &from, cookie(2), DAT_COMPLETION_DEFAULT_FLAG),
         "dat_ep_post_send");
    one = next(transfers);
    other = next(transfers);
    told(one.event_data.dto_completion_event_data.status == DAT_DTO_SUCCESS &&
             other.event_data.dto_completion_event_data.status == DAT_DTO_SUCCESS &&
             one.event_data.dto_completion_event_data.user_cookie.as_64 +
                     other.event_data.dto_completion_event_data.user_cookie.as_64 ==
                 1 + 2 &&
             strcmp(target.bytes, "hello") == 0,
         "a send meets a receive");
}

static DAT_RMR_HANDLE make_window(void) {
    DAT_RMR_HANDLE rmr;
    must(dat_rmr_create(pz, &rmr), "dat_rmr_create");
    return rmr;
}

static DAT_RETURN bind_to(DAT_RMR_HANDLE rmr, DAT_LMR_TRIPLET piece, DAT_RMR_CONTEXT* context) {
    DAT_RMR_COOKIE of;
    of.as_64 = 7;
    return dat_rmr_bind(rmr, &piece, DAT_MEM_PRIV_WRITE_FLAG, passive, of,
                        DAT_COMPLETION_DEFAULT_FLAG, context);
}

static int is_bound(DAT_RMR_HANDLE rmr) {
    DAT_EVENT event = next(transfers);
    DAT_RMR_BIND_COMPLETION_EVENT_DATA* data = &event.event_data.rmr_completion_event_data;
    return event.event_number == DAT_RMR_BIND_COMPLETION_EVENT && data->rmr_handle == rmr &&
           data->user_cookie.as_64 == 7 && data->status == DAT_RMR_BIND_SUCCESS;
}

static void write_to(DAT_RMR_CONTEXT context, char* where, const char* text, DAT_UINT64 of) {
    DAT_LMR_TRIPLET from = part(&source, 0, 8);
    DAT_RMR_TRIPLET to;
    to.rmr_context = context;
    to.target_address = (DAT_VADDR)(uintptr_t)where;
    to.segment_length = 8;
    strcpy(source.bytes, text);
    must(dat_ep_post_rdma_write(active, 1, &from, cookie(of), &to, DAT_COMPLETION_DEFAULT_FLAG),
         "dat_ep_post_rdma_write");
}

static void refuse_binds(DAT_RMR_HANDLE rmr) {
    DAT_LMR_TRIPLET unknown = part(&target, HALF, HALF), beyond = part(&target, HALF, LENGTH);
    DAT_RMR_CONTEXT context;
    DAT_RMR_COOKIE of;
    of.as_64 = 7;
    unknown.lmr_context = ~(source.lmr_context | target.lmr_context);
    told(DAT_GET_TYPE(bind_to(rmr, unknown, &context)) == DAT_INVALID_PARAMETER,
         "a bind to memory that no LMR has is refused");
    told(DAT_GET_TYPE(bind_to(rmr, beyond, &context)) == DAT_INVALID_PARAMETER,
         "a bind beyond the end of the LMR is refused");
    told(DAT_GET_TYPE(dat_rmr_bind(rmr, NULL, DAT_MEM_PRIV_WRITE_FLAG, passive, of,
                                   DAT_COMPLETION_DEFAULT_FLAG, &context)) == DAT_INVALID_PARAMETER,
         "a bind without a triplet is refused");
    told(DAT_GET_TYPE(bind_to(pz, part(&target, HALF, HALF), &context)) == DAT_INVALID_HANDLE,
         "a bind of what is no RMR is refused");
}

static void check_window(void) {
    DAT_RMR_HANDLE rmr = make_window();
    DAT_RMR_CONTEXT context = 0, unbound = 0;
    DAT_RMR_PARAM parameters;
    refuse_binds(rmr);
    must(bind_to(rmr, part(&target, HALF, HALF), &context), "dat_rmr_bind");
    told(is_bound(rmr), "dat_rmr_bind finds the LMR by the context in the triplet");
    must(dat_rmr_query(rmr, DAT_RMR_FIELD_ALL, &parameters), "dat_rmr_query");
    told(parameters.rmr_context == context &&
             parameters.lmr_triplet.lmr_context == target.lmr_context,
         "dat_rmr_query tells what it is bound to");
    write_to(context, target.bytes + HALF, "written", 3);
    told(completes(active, 3, DAT_DTO_SUCCESS) && strcmp(target.bytes + HALF, "written") == 0,
         "an RDMA write to a target_address arrives through the window");
    must(bind_to(rmr, part(&target, 0, 0), &unbound), "dat_rmr_bind");
    told(is_bound(rmr), "a segment of no length unbinds");
    write_to(context, target.bytes + HALF, "refused", 4);
    told(completes(active, 4, DAT_DTO_ERR_REMOTE_ACCESS) &&
             strcmp(target.bytes + HALF, "written") == 0,
         "an RDMA write after that is refused by the memory's owner");
    must(dat_rmr_free(rmr), "dat_rmr_free");
}

static int has_windows(void) {
    DAT_IA_ATTR attributes;
    must(dat_ia_query(ia, NULL, DAT_IA_FIELD_ALL, &attributes, 0, NULL), "dat_ia_query");
    return attributes.max_rmrs > 0;
}

int main(int argc, char** argv) {
    const char* fabric = getenv("DAT_1_2_TEST_FABRIC");
    char remove_fabric[64];
    DAT_PSP_HANDLE psp;
    (void)argc;
    alarm(deadline(120));
    if (!fabric) start_again(argv, "DAT_1_2_TEST_FABRIC");
    open_all();
    check_attributes();
    check_open();
    check_cno();
    must(dat_psp_create(ia, QUALIFIER, requests, DAT_PSP_CONSUMER_FLAG, &psp), "dat_psp_create");
    check_reject();
    connect_both();
    check_send();
    if (has_windows())
        check_window();
    else
        printf("ok %d # SKIP the device has no memory windows\n", ++number);
    must(dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG), "dat_ia_close");
    printf("1..%d\n", number);
    snprintf(remove_fabric, sizeof remove_fabric, "rm -r '%s'", fabric);
    return system(remove_fabric) != 0;
}
