/* SPDX-License-Identifier: BSD-2-Clause
 * A server of libfabric's verbs provider: listens on an address and a port, prints the address and
 * port that it is bound to, and ends. */
#include <arpa/inet.h>
#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_eq.h>
#include <rdma/fi_errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void succeed(int result, const char* what) {
    if (!result) return;
    fprintf(stderr, "%s: %s\n", what, fi_strerror(-result));
    exit(1);
}

int main(int count, char** arguments) {
    if (count != 3) return 2;
    struct fi_info *hints = fi_allocinfo(), *info;
    if (!hints) return 1;
    hints->fabric_attr->prov_name = strdup("verbs");
    hints->ep_attr->type = FI_EP_MSG;
    hints->caps = FI_MSG;
    hints->mode = ~0ULL;
    hints->domain_attr->mr_mode = FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY;
    succeed(fi_getinfo(FI_VERSION(1, 11), arguments[1], arguments[2], FI_SOURCE, hints, &info),
            "fi_getinfo");
    struct fid_fabric* fabric;
    succeed(fi_fabric(info->fabric_attr, &fabric, NULL), "fi_fabric");
    struct fi_eq_attr attributes = {.wait_obj = FI_WAIT_UNSPEC};
    struct fid_eq* queue;
    succeed(fi_eq_open(fabric, &attributes, &queue, NULL), "fi_eq_open");
    struct fid_pep* listener;
    succeed(fi_passive_ep(fabric, info, &listener, NULL), "fi_passive_ep");
    succeed(fi_pep_bind(listener, &queue->fid, 0), "fi_pep_bind");
    succeed(fi_listen(listener), "fi_listen");
    struct sockaddr_in name;
    size_t length = sizeof name;
    succeed(fi_getname(&listener->fid, &name, &length), "fi_getname");
    printf("%s:%d\n", inet_ntoa(name.sin_addr), ntohs(name.sin_port));
    fi_close(&listener->fid);
    fi_close(&queue->fid);
    fi_close(&fabric->fid);
    fi_freeinfo(info);
    fi_freeinfo(hints);
    return 0;
}
