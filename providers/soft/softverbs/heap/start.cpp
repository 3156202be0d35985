// SPDX-License-Identifier: BSD-2-Clause
#include "providers/soft/softverbs/heap/start.hpp"

#include <dlfcn.h>
#include <gnu/libc-version.h>
#include <link.h>
#include <pthread.h>
#include <sys/auxv.h>
#include <unistd.h>

#include <algorithm>

#include "providers/soft/softverbs/heap/heap.hpp"
#include "providers/soft/softverbs/memory/shared_heap.h"

namespace softverbs::heap {

constinit Started started = {};

namespace {

Span span_of(const dl_phdr_info& object) {
    std::uintptr_t begin = UINTPTR_MAX, end = 0;
    for (int i = 0; i < object.dlpi_phnum; ++i) {
        const auto& header = object.dlpi_phdr[i];
        if (header.p_type != PT_LOAD) continue;
        begin = std::min<std::uintptr_t>(begin, object.dlpi_addr + header.p_vaddr);
        end = std::max<std::uintptr_t>(end, object.dlpi_addr + header.p_vaddr + header.p_memsz);
    }
    return end > begin ? Span{begin, end - begin} : Span{};
}

int note_object(dl_phdr_info* object, std::size_t, void*) {
    const Span span = span_of(*object);
    // A program may define most functions' names itself; this one is the C library's own.
    if (span.contains(reinterpret_cast<std::uintptr_t>(&gnu_get_libc_version)))
        started.c_library = span;
    if (span.contains(getauxval(AT_BASE))) started.linker = span;
    return 0;
}

template <typename Function>
void find_next(Function& function, const char* name) {
    function = reinterpret_cast<Function>(dlsym(RTLD_NEXT, name));
}

/// The linker runs this before all other constructors (-z initfirst), and so the handlers run last
/// before a fork and first after it.
__attribute__((constructor(101))) void start() {
    find_next(started.next.fork, "fork");
    find_next(started.next._Fork, "_Fork");
    find_next(started.next.close, "close");
    find_next(started.next.dup2, "dup2");
    find_next(started.next.usable_size, "malloc_usable_size");
    started.pid = getpid();
    dl_iterate_phdr(&note_object, nullptr);
    pthread_atfork([] { Heap::of_process().before_fork(); },
                   [] { Heap::of_process().after_fork_in_parent(); },
                   [] {
                       Heap::of_process().after_fork_in_child();
                       started.pid = getpid();
                   });
    Heap::of_process().open();
}

constexpr softverbs_heap_calls kCalls = {
    [] { return Heap::of_process().descriptor(); },
    [](std::uint64_t begin, std::uint64_t end) -> int {
        return Heap::of_process().covers(begin, end);
    },
    [](std::uint64_t begin, std::uint64_t end) { Heap::of_process().released(begin, end); },
};

}  // namespace
}  // namespace softverbs::heap

extern "C" const softverbs_heap_calls* softverbs_shared_heap() {
    return &softverbs::heap::kCalls;
}
