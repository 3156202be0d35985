// SPDX-License-Identifier: BSD-2-Clause
/* A program with its own allocator, as some MPI libraries have: malloc and its relatives use sbrk
 * for small blocks and mmap for large ones, and arenas are reserved by mmap without access and
 * opened with mprotect. It registers memory of each kind, checks that a write in a forked child
 * does not show in the parent, prints "ready" and waits for the end of its input. */
#include <errno.h>
#include <infiniband/verbs.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

static size_t round_up(size_t size) {
    return (size + 15) & ~(size_t)15;
}

/* Puts the size in front of each block; freed blocks are not reused. */
void* malloc(size_t size) {
    size_t bytes = round_up(size) + 16;
    char* block = bytes < 128 << 10 ? sbrk((intptr_t)bytes)
                                    : mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                                           MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (block == (char*)-1) {
        errno = ENOMEM;
        return NULL;
    }
    *(size_t*)block = size;
    return block + 16;
}

void free(void* memory) {
    (void)memory;
}

void* calloc(size_t count, size_t size) {
    size_t bytes;
    return __builtin_mul_overflow(count, size, &bytes) ? NULL
                                                       : malloc(bytes); /* fresh memory is zero */
}

void* realloc(void* memory, size_t size) {
    void* changed = malloc(size);
    if (changed && memory) {
        size_t before = *(size_t*)((char*)memory - 16);
        memcpy(changed, memory, before < size ? before : size);
    }
    return changed;
}

static char* new_arena(size_t size) {
    char* arena =
        mmap(NULL, size * 2, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    char* aligned = (char*)(((uintptr_t)arena + size - 1) & ~(uintptr_t)(size - 1));
    if (aligned > arena) munmap(arena, (size_t)(aligned - arena));
    munmap(aligned + size, size - (size_t)(aligned - arena));
    return mprotect(aligned, 1 << 20, PROT_READ | PROT_WRITE) == 0 ? aligned : NULL;
}

int main(void) {
    char* memory[] = {malloc(100), malloc(1 << 20), new_arena(64 << 20)};
    size_t sizes[] = {100, 1 << 20, 1 << 20};
    int status;
    struct ibv_device** list = ibv_get_device_list(NULL);
    struct ibv_context* context = list && list[0] ? ibv_open_device(list[0]) : NULL;
    struct ibv_pd* pd = context ? ibv_alloc_pd(context) : NULL;
    pid_t child;
    if (!pd) return 1;
    for (int i = 0; i < 3; ++i)
        if (!memory[i] || !ibv_reg_mr(pd, memory[i], sizes[i], IBV_ACCESS_LOCAL_WRITE)) return 2;
    memory[0][0] = 1;
    child = fork();
    if (child == 0) {
        memory[0][0] = 2;
        _exit(malloc(1 << 20) && malloc(100) ? 0 : 1);
    }
    waitpid(child, &status, 0);
    if (status != 0 || memory[0][0] != 1) return 3;
    puts("ready");
    fflush(stdout);
    while (getchar() != EOF) continue;
    return 0;
}
