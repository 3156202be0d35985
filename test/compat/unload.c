/* SPDX-License-Identifier: BSD-2-Clause */
/* usage: unload LIBRARY...
 *        unload --open IA LIBRARY...
 *
 * Loads the libraries in order and closes them in reverse. With --open it loads only the first,
 * which is libdat2, opens the IA with it and closes it; that must load and unload the others.
 *
 * Exits with status 0 if each library was mapped in between and none is mapped at the end. */
#include <dat2/udat.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kMaxLibraries = 8 };

static int is_mapped(const char* library) {
    const char* name = strrchr(library, '/') ? strrchr(library, '/') + 1 : library;
    char line[4096];
    int found = 0;
    FILE* maps = fopen("/proc/self/maps", "r");
    if (!maps) exit(2);
    while (fgets(line, sizeof line, maps)) found |= strstr(line, name) != NULL;
    fclose(maps);
    return found;
}

static void expect(const char* library, int mapped) {
    if (is_mapped(library) == mapped) return;
    fprintf(stderr, "%s is %s\n", library, mapped ? "not loaded" : "still mapped");
    exit(1);
}

static void* load(const char* library) {
    void* handle = dlopen(library, RTLD_NOW | RTLD_GLOBAL);
    if (handle) return handle;
    fprintf(stderr, "%s\n", dlerror());
    exit(2);
}

static void open_and_close(void* libdat2, char* ia_name, char** libraries) {
    __typeof__(dat_ia_openv)* openv;
    __typeof__(dat_ia_close)* close;
    DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
    DAT_IA_HANDLE ia = DAT_HANDLE_NULL;
    DAT_RETURN code;
    *(void**)&openv = dlsym(libdat2, "dat_ia_openv");
    *(void**)&close = dlsym(libdat2, "dat_ia_close");
    if (!openv || !close) exit(2);
    code = openv(ia_name, 8, &async, &ia, 2, 0, DAT_FALSE);
    if (code == DAT_SUCCESS) {
        char** library;
        for (library = libraries; *library; ++library) expect(*library, 1);
        code = close(ia, DAT_CLOSE_GRACEFUL_FLAG);
    }
    if (code == DAT_SUCCESS) return;
    fprintf(stderr, "opening and closing %s: 0x%08x\n", ia_name, (unsigned)code);
    exit(2);
}

int main(int argc, char** argv) {
    void* handles[kMaxLibraries];
    const int opens = argc > 3 && strcmp(argv[1], "--open") == 0;
    char** libraries = argv + (opens ? 3 : 1);
    int count = 0;
    int i;
    if (argc < 2 || argc > kMaxLibraries) return 2;
    for (i = 0; libraries[i] && (!opens || i < 1); ++i) handles[count++] = load(libraries[i]);
    for (i = 0; i < count; ++i) expect(libraries[i], 1);
    if (opens) {
        open_and_close(handles[0], argv[2], libraries + 1);
        for (i = 1; libraries[i]; ++i) expect(libraries[i], 0);
    }
    while (count > 0) dlclose(handles[--count]);
    for (i = 0; libraries[i]; ++i) expect(libraries[i], 0);
    return 0;
}
