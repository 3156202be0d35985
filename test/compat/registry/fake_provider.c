/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * @file
 * A provider library without a device. The ia_params of its dat.conf record control what it does,
 * one word each; it reports the calls to the file descriptor that the probe names in PROBE_FD.
 *
 *   nothing            registers nothing
 *   twice              registers the same key twice
 *   instead=NAME       registers under another name
 *   also=NAME          also registers under a second name
 *   attributes=M.N,T   reports these versions and this thread safety, not those registered
 *   refuse=CODE        ia_open returns this code
 *   refuse-close=CODE  ia_close returns this code, the first time
 *   keep               dat_provider_fini removes nothing
 *   extension          offers extensions
 *   query=CODE         ia_query returns this code
 *   marker             ia_open reports whose fake_provider_marker() it calls
 *   waits              evd_wait on the async EVD writes a byte to the socket that PROBE_HOLD_FD
 *                      names, and returns after it has read one from there
 *
 * Variants that lack one of the functions, or have a name that nobody defines, are made by renaming
 * on the compiler's command line.
 */
#define _GNU_SOURCE
#include <dat2/udat.h>

#include <dat2/dat_registry.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

EXPORT void dat_provider_init(const DAT_PROVIDER_INFO* info, const char* instance_data);
EXPORT void dat_provider_fini(const DAT_PROVIDER_INFO* info);

#ifdef FAKE_EXPORTS_MARKER
/* With global symbol scope, another provider's function of this name preempts it. */
EXPORT
#endif
const void* fake_provider_marker(void);

#define MAX_INSTANCES 16
#define MAX_PARAMS 256

struct instance {
    DAT_PROVIDER* provider; /* word 0 of every IA */
    DAT_PROVIDER table;
    DAT_PROVIDER_INFO info;
    char params[MAX_PARAMS];
    int close_refused;
    int in_use;
    struct {
        DAT_PROVIDER* provider; /* word 0 of every EVD */
    } async_evd;
};

static struct instance instances[MAX_INSTANCES];
static pthread_mutex_t instances_lock = PTHREAD_MUTEX_INITIALIZER;

static const char* library_name(void) {
    Dl_info where;
    if (!dladdr((void*)instances, &where)) return "?";
    const char* slash = strrchr(where.dli_fname, '/');
    return slash ? slash + 1 : where.dli_fname;
}

const void* fake_provider_marker(void) {
    return instances;
}

#define SAY(...) say(library_name(), __VA_ARGS__)
__attribute__((format(printf, 2, 3))) static void say(const char* library, const char* format,
                                                      ...) {
    const char* fd = getenv("PROBE_FD");
    va_list arguments;
    va_start(arguments, format);
    if (fd) {
        dprintf(atoi(fd), "  %s: ", library);
        vdprintf(atoi(fd), format, arguments);
        dprintf(atoi(fd), "\n");
    }
    va_end(arguments);
}

/* The text after "word" in the parameters, NULL when the word is not there. */
static const char* parameter(const struct instance* self, const char* word) {
    const char* found = strstr(self->params, word);
    if (!found || (found != self->params && found[-1] != ' ')) return NULL;
    return found + strlen(word);
}

static DAT_RETURN code_of(const struct instance* self, const char* word, DAT_RETURN otherwise) {
    const char* value = parameter(self, word);
    return value ? (DAT_RETURN)strtoul(value, NULL, 0) : otherwise;
}

static struct instance* find(const DAT_NAME_PTR name) {
    struct instance* found = NULL;
    pthread_mutex_lock(&instances_lock);
    for (int i = 0; i < MAX_INSTANCES && !found; ++i)
        if (instances[i].in_use && strcmp(instances[i].info.ia_name, name) == 0)
            found = &instances[i];
    pthread_mutex_unlock(&instances_lock);
    return found;
}

/* Claims a free slot and clears it, except for info; NULL when there is none. */
static struct instance* claim(const DAT_PROVIDER_INFO* info, const char* name) {
    struct instance* claimed = NULL;
    pthread_mutex_lock(&instances_lock);
    for (int i = 0; i < MAX_INSTANCES && !claimed; ++i)
        if (!instances[i].in_use) claimed = &instances[i];
    if (claimed) {
        memset(claimed, 0, sizeof *claimed);
        claimed->in_use = 1;
        claimed->info = *info;
        snprintf(claimed->info.ia_name, sizeof claimed->info.ia_name, "%s", name);
    }
    pthread_mutex_unlock(&instances_lock);
    return claimed;
}

static void give_back(struct instance* self) {
    pthread_mutex_lock(&instances_lock);
    self->in_use = 0;
    pthread_mutex_unlock(&instances_lock);
}

static DAT_RETURN ia_open(const DAT_NAME_PTR name, DAT_COUNT qlen, DAT_EVD_HANDLE* async,
                          DAT_IA_HANDLE* ia) {
    struct instance* self = find(name);
    SAY("ia_open %s qlen %d async %s", name, qlen, !async ? "null" : *async ? "given" : "none");
    if (!self) self = &instances[0];
    if (parameter(self, "marker"))
        SAY("marker is %s", fake_provider_marker() == instances ? "its own" : "another's");
    const DAT_RETURN code = code_of(self, "refuse=", DAT_SUCCESS);
    if (code != DAT_SUCCESS) return code;
    if (async) *async = &self->async_evd;
    *ia = self;
    return DAT_SUCCESS;
}

static DAT_RETURN ia_query(DAT_IA_HANDLE ia, DAT_EVD_HANDLE* async, DAT_IA_ATTR_MASK ia_mask,
                           DAT_IA_ATTR* ia_attr, DAT_PROVIDER_ATTR_MASK mask,
                           DAT_PROVIDER_ATTR* attr) {
    struct instance* self = ia;
    unsigned major = self->info.dapl_version_major;
    unsigned minor = self->info.dapl_version_minor;
    unsigned thread_safe = self->info.is_thread_safe;
    const char* reported = parameter(self, "attributes=");
    (void)async;
    SAY("ia_query ia mask %#llx provider mask %#llx", (unsigned long long)ia_mask,
        (unsigned long long)mask);
    if (parameter(self, "query=")) return code_of(self, "query=", DAT_SUCCESS);
    if (reported) sscanf(reported, "%u.%u,%u", &major, &minor, &thread_safe);
    if (ia_mask) {
        memset(ia_attr, 0, sizeof *ia_attr);
        ia_attr->extension_supported =
            parameter(self, "extension") ? DAT_EXTENSION_IB : DAT_EXTENSION_NONE;
    }
    if (mask) {
        memset(attr, 0, sizeof *attr);
        strcpy(attr->provider_name, self->info.ia_name);
        attr->dapl_version_major = major;
        attr->dapl_version_minor = minor;
        attr->is_thread_safe = (DAT_BOOLEAN)thread_safe;
    }
    return DAT_SUCCESS;
}

static DAT_RETURN ia_close(DAT_IA_HANDLE ia, DAT_CLOSE_FLAGS flags) {
    struct instance* self = ia;
    SAY("ia_close %s flags %d", self->info.ia_name, flags);
    const DAT_RETURN code = code_of(self, "refuse-close=", DAT_SUCCESS);
    if (code != DAT_SUCCESS && !self->close_refused) {
        self->close_refused = 1;
        return code;
    }
    return DAT_SUCCESS;
}

/* May still run long after its IA was closed, so it does not touch the instance. */
static DAT_RETURN evd_wait(DAT_EVD_HANDLE evd, DAT_TIMEOUT timeout, DAT_COUNT threshold,
                           DAT_EVENT* event, DAT_COUNT* nmore) {
    const char* fd = getenv("PROBE_HOLD_FD");
    /* Not on the stack: a cancelled wait leaves this frame without AddressSanitizer's notice. */
    static _Thread_local char byte;
    (void)evd;
    (void)timeout;
    (void)threshold;
    (void)event;
    (void)nmore;
    if (!fd || write(atoi(fd), &byte, 1) != 1 || read(atoi(fd), &byte, 1) != 1)
        return DAT_INTERNAL_ERROR;
    return DAT_INVALID_STATE;
}

static DAT_RETURN extended(DAT_HANDLE handle, DAT_EXTENDED_OP op, va_list arguments) {
    (void)handle;
    (void)arguments;
    SAY("extended operation %d", (int)op);
    return DAT_SUCCESS;
}

static DAT_RETURN enter(const DAT_PROVIDER_INFO* info, const char* name, const char* params) {
    struct instance* self = claim(info, name);
    if (!self) return DAT_INSUFFICIENT_RESOURCES;
    snprintf(self->params, sizeof self->params, "%s", params);
    self->provider = &self->table;
    self->async_evd.provider = &self->table;
    self->table.device_name = self->info.ia_name;
    self->table.ia_open_func = ia_open;
    self->table.ia_query_func = ia_query;
    self->table.ia_close_func = ia_close;
    self->table.handle_extendedop_func = extended;
    if (parameter(self, "waits")) self->table.evd_wait_func = evd_wait;
    const DAT_RETURN code = dat_registry_add_provider(&self->table, &self->info);
    SAY("registered %s: %#x", name, code);
    return code;
}

static void enter_as(const DAT_PROVIDER_INFO* info, const char* value, const char* params) {
    char name[DAT_NAME_MAX_LENGTH] = "";
    sscanf(value, "%255s", name);
    enter(info, name, params);
}

void dat_provider_init(const DAT_PROVIDER_INFO* info, const char* instance_data) {
    struct instance asked = {0};
    snprintf(asked.params, sizeof asked.params, "%s", instance_data);
    SAY("init %s %u.%u %s params [%s]", info->ia_name, info->dapl_version_major,
        info->dapl_version_minor, info->is_thread_safe ? "threadsafe" : "nonthreadsafe",
        instance_data);
    const char* instead = parameter(&asked, "instead=");
    const char* also = parameter(&asked, "also=");
    if (parameter(&asked, "nothing")) return;
    if (instead)
        enter_as(info, instead, instance_data);
    else
        enter(info, info->ia_name, instance_data);
    if (also) enter_as(info, also, instance_data);
    if (parameter(&asked, "twice")) enter(info, info->ia_name, instance_data);
}

void dat_provider_fini(const DAT_PROVIDER_INFO* info) {
    SAY("fini %s %u.%u %s", info->ia_name, info->dapl_version_major, info->dapl_version_minor,
        info->is_thread_safe ? "threadsafe" : "nonthreadsafe");
    struct instance* self = find((const DAT_NAME_PTR)info->ia_name);
    if (!self || parameter(self, "keep")) return;
    SAY("removed %s: %#x", info->ia_name, dat_registry_remove_provider(&self->table, &self->info));
    give_back(self);
}
