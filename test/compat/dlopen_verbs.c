/* SPDX-License-Identifier: BSD-2-Clause */
/* Finds verbs and rdma_cm as programs do that are not linked with them: with dlopen and dlvsym.
 * Prints the names of the devices. usage: dlopen_verbs [LIBRARY]... - loads these libraries too. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <infiniband/verbs.h>
#include <stdio.h>

#undef ibv_get_device_list

static void* find(void* library, const char* name, const char* version) {
    void* found = library ? dlvsym(library, name, version) : NULL;
    if (!found) printf("%s: %s\n", name, dlerror());
    return found;
}

int main(int argc, char** argv) {
    void* verbs = dlopen("libibverbs.so.1", RTLD_NOW | RTLD_LOCAL);
    void* cm = dlopen("librdmacm.so.1", RTLD_NOW | RTLD_LOCAL);
    struct ibv_device** (*get)(int*) = find(verbs, "ibv_get_device_list", "IBVERBS_1.1");
    const char* (*name)(struct ibv_device*) = find(verbs, "ibv_get_device_name", "IBVERBS_1.1");
    int count = 0;
    if (!get || !name || !find(cm, "rdma_create_id", "RDMACM_1.0")) return 1;
    struct ibv_device** list = get(&count);
    for (int i = 0; list && i < count; ++i) printf("device %s\n", name(list[i]));
    for (int i = 1; i < argc; ++i)
        printf("%s: %s\n", argv[i], dlopen(argv[i], RTLD_NOW) ? "loaded" : dlerror());
    return 0;
}
