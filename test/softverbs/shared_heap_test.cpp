// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The shared heap by itself: which memory comes from it, and that this behaves like private
/// memory.
#include <gtest/gtest.h>
#include <linux/io_uring.h>
#include <malloc.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <ucontext.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <memory>
#include <new>
#include <vector>

#include "test/softverbs/shared_heap.hpp"
#include "test/support/process.hpp"

extern char** environ;

namespace test {
namespace {

__attribute__((constructor)) void start(int, char** arguments, char**) {
    begin_with_the_heap(arguments);
}

constexpr std::size_t kLarge = 1 << 20, kPage = 4096;

/// Runs `work` in a child of fork(). @return whether it succeeded.
bool in_child(const std::function<bool()>& work) {
    const pid_t child = fork();
    if (child == 0) _exit(work() ? 0 : 1);
    int status = 0;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
    return child > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/// Whether a write to the memory ends a process with SIGSEGV.
bool is_out_of_reach(std::uint8_t* memory) {
    const pid_t child = fork();
    if (child == 0) {
        const rlimit none = {0, 0};
        setrlimit(RLIMIT_CORE, &none);
        signal(SIGSEGV, SIG_DFL);
        *static_cast<volatile std::uint8_t*>(memory) = 1;
        _exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    return WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV;
}

TEST(SharedHeap, EveryCallThatAllocatesGivesMemoryOfThePageFile) {
    void* posix = nullptr;
    ASSERT_EQ(posix_memalign(&posix, 256, 1000), 0);
    void* const made[] = {malloc(100),           calloc(10, 100),
                          realloc(nullptr, 100), aligned_alloc(64, 64),
                          memalign(4096, 100),   valloc(100),
                          pvalloc(100),          reallocarray(nullptr, 5, 9),
                          malloc(50 << 20),      posix};
    for (void* memory : made) {
        ASSERT_NE(memory, nullptr);
        EXPECT_TRUE(is_of_heap(memory, malloc_usable_size(memory)));
        free(memory);
    }
    const auto one = std::make_unique<int>(1);
    EXPECT_TRUE(is_of_heap(one.get(), sizeof(int)));
    const std::vector<std::uint64_t> many(1000);
    EXPECT_TRUE(is_of_heap(many.data(), 8000));
    struct alignas(512) Aligned {
        char bytes[512];
    };
    const auto aligned = std::make_unique<Aligned[]>(3);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(aligned.get()) % 512, 0u);
    EXPECT_TRUE(is_of_heap(aligned.get(), 3 * sizeof(Aligned)));
    int* const quiet = new (std::nothrow) int;
    EXPECT_TRUE(is_of_heap(quiet, sizeof(int)));
    delete quiet;
}

TEST(SharedHeap, AllocationsKeepWhatTheirPagesPromise) {
    auto* grown = static_cast<char*>(malloc(10));
    std::strcpy(grown, "text");
    for (const std::size_t size : {100u, 5000u, 3u << 20, 60u << 20, 50u}) {
        grown = static_cast<char*>(realloc(grown, size));
        ASSERT_STREQ(grown, "text") << size;
        ASSERT_GE(malloc_usable_size(grown), size);
    }
    free(grown);
    void* memory = nullptr;
    EXPECT_EQ(posix_memalign(&memory, 3, 100), EINVAL);
    const volatile std::size_t endless = ~std::size_t{0};  // hides the value from the compiler
    EXPECT_EQ(malloc(endless - 5000), nullptr);
    EXPECT_EQ(errno, ENOMEM);
    EXPECT_EQ(calloc(endless, 2), nullptr);
    EXPECT_EQ(reallocarray(nullptr, endless, 2), nullptr);
    const std::vector<char> zero(10 << 20);
    EXPECT_EQ(std::count(zero.begin(), zero.end(), 0), 10 << 20);
    char* const of_libc = strdup("ordinary");  // the C library's own, freed like any other
    EXPECT_EQ(malloc_usable_size(of_libc) >= 9, true);
    free(realloc(of_libc, 100));
}

TEST(SharedHeap, LargePrivateMappingsAndTheDataSegmentAreOfThePageFileOthersAreNot) {
    std::uint8_t* const memory = map_memory(kLarge);
    ASSERT_NE(memory, nullptr);
    EXPECT_TRUE(is_of_heap(memory, kLarge));
    EXPECT_EQ(std::count(memory, memory + kLarge, 0), static_cast<long>(kLarge));
    EXPECT_EQ(munmap(memory, kLarge), 0);
    std::uint8_t* const small = map_memory(kPage);
    EXPECT_FALSE(is_of_heap(small, kPage));
    munmap(small, kPage);
    void* const shared =
        mmap(nullptr, kLarge, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    EXPECT_FALSE(is_of_heap(shared, kLarge));
    munmap(shared, kLarge);
    void* const stack = mmap(nullptr, kLarge, PROT_READ | PROT_WRITE,
                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
    EXPECT_FALSE(is_of_heap(stack, kLarge));
    munmap(stack, kLarge);

    auto* const before = static_cast<std::uint8_t*>(sbrk(10000));
    ASSERT_NE(before, reinterpret_cast<void*>(-1));
    EXPECT_TRUE(is_of_heap(before, 10000));
    before[9999] = 1;
    EXPECT_EQ(sbrk(0), before + 10000);
    EXPECT_EQ(brk(before), 0);
    EXPECT_EQ(sbrk(0), before);
    EXPECT_EQ(sbrk(10000), before);
    EXPECT_EQ(before[9999], 0);
    EXPECT_EQ(brk(before), 0);
}

TEST(SharedHeap, UnmappedMemoryIsOutOfReachLeavesTheFileAndIsNotGivenOutAgainAtOnce) {
    std::uint8_t* const memory = map_memory(kLarge);
    std::memset(memory, 1, kLarge);
    EXPECT_EQ(bytes_in_file(memory, kLarge), kLarge);
    ASSERT_EQ(munmap(memory + kPage, kPage), 0);
    EXPECT_TRUE(is_out_of_reach(memory + kPage));
    EXPECT_EQ(memory[2 * kPage], 1);
    ASSERT_EQ(munmap(memory, kLarge), 0);
    EXPECT_EQ(bytes_in_file(memory, kLarge), 0u);
    EXPECT_TRUE(is_out_of_reach(memory));
    std::uint8_t* const next = map_memory(kLarge);
    EXPECT_NE(next, memory);
    munmap(next, kLarge);
}

TEST(SharedHeap, FreedMemoryLeavesTheFile) {
    auto* const memory = static_cast<std::uint8_t*>(malloc(200 << 20));
    std::memset(memory, 1, 200 << 20);
    const volatile auto address = reinterpret_cast<std::uintptr_t>(memory);
    free(memory);
    EXPECT_TRUE(eventually([&address] {
        free(malloc(100000));  // the allocator releases pages only when it is called
        for (int i = 0; i < 2000; ++i) free(malloc(20000));
        return bytes_in_file(reinterpret_cast<void*>(address), 200 << 20) == 0;
    }));
}

TEST(SharedHeap, MadviseDontneedGivesZeroesAndDropsThePages) {
    std::uint8_t* const memory = map_memory(kLarge);
    for (const int advice : {MADV_DONTNEED, MADV_FREE}) {
        std::memset(memory, 1, kLarge);
        ASSERT_EQ(madvise(memory + kPage, kPage, advice), 0);
        EXPECT_EQ(memory[kPage], 0);
        EXPECT_EQ(memory[0], 1);
        EXPECT_EQ(memory[2 * kPage], 1);
    }
    ASSERT_EQ(madvise(memory, kLarge, MADV_DONTNEED), 0);
    EXPECT_EQ(bytes_in_file(memory, kLarge), 0u);
    EXPECT_EQ(madvise(memory, kLarge, MADV_REMOVE), -1);
    EXPECT_EQ(errno, EINVAL) << "it is for shared memory";
    EXPECT_EQ(madvise(memory, kLarge, MADV_DONTDUMP), 0);
    EXPECT_EQ(madvise(memory, kLarge, MADV_DODUMP), 0);
    ASSERT_EQ(munmap(memory, kLarge), 0);
    EXPECT_EQ(madvise(memory, kLarge, MADV_DONTNEED), -1);
    EXPECT_EQ(errno, ENOMEM);
}

TEST(SharedHeap, MemoryWithMadviseDontforkIsMissingInTheChildAlone) {
    std::uint8_t* const memory = map_memory(kLarge);
    std::memset(memory, 1, kLarge);
    ASSERT_EQ(madvise(memory + kPage, kPage, MADV_DONTFORK), 0);
    EXPECT_TRUE(is_out_of_reach(memory + kPage));
    EXPECT_TRUE(in_child([memory] { return memory[0] == 1 && memory[2 * kPage] == 1; }));
    ASSERT_EQ(madvise(memory + kPage, kPage, MADV_DOFORK), 0);
    EXPECT_TRUE(in_child([memory] { return memory[kPage] == 1; }));
    munmap(memory, kLarge);
}

TEST(SharedHeap, MemoryWithMadviseWipeonforkIsZeroInChildrenAndTheirChildren) {
    std::uint8_t* const memory = map_memory(kLarge);
    std::memset(memory, 1, kLarge);
    ASSERT_EQ(madvise(memory + kPage, kPage, MADV_WIPEONFORK), 0);
    EXPECT_TRUE(in_child([memory] {
        const bool wiped = memory[kPage] == 0 && memory[0] == 1 && memory[2 * kPage] == 1;
        memory[kPage] = 2;
        return wiped && in_child([memory] { return memory[kPage] == 0; });
    }));
    EXPECT_EQ(memory[kPage], 1);
    ASSERT_EQ(madvise(memory + kPage, kPage, MADV_KEEPONFORK), 0);
    EXPECT_TRUE(in_child([memory] { return memory[kPage] == 1; }));
    munmap(memory, kLarge);
}

TEST(SharedHeap, MremapShrinksGrowsAndMovesAndWhatItGivesIsOfThePageFile) {
    std::uint8_t* memory = map_memory(2 * kLarge);
    std::memset(memory, 1, 2 * kLarge);
    ASSERT_EQ(mremap(memory, 2 * kLarge, kLarge, 0), memory);
    EXPECT_TRUE(is_out_of_reach(memory + kLarge));
    ASSERT_EQ(mremap(memory, kLarge, 2 * kLarge, 0), memory);
    EXPECT_EQ(memory[kLarge], 0);
    std::uint8_t* const old = memory;
    std::uint8_t* const target = map_memory(4 * kLarge);
    memory = static_cast<std::uint8_t*>(
        mremap(old, 2 * kLarge, 4 * kLarge, MREMAP_MAYMOVE | MREMAP_FIXED, target));
    ASSERT_EQ(memory, target);
    EXPECT_EQ(std::count(memory, memory + kLarge, 1), static_cast<long>(kLarge));
    EXPECT_EQ(std::count(memory + kLarge, memory + 4 * kLarge, 0), static_cast<long>(3 * kLarge));
    EXPECT_TRUE(is_of_heap(memory, 4 * kLarge));
    EXPECT_TRUE(is_out_of_reach(old));
    EXPECT_EQ(bytes_in_file(old, 2 * kLarge), 0u);
    std::uint8_t* const behind = map_memory(kLarge);  // prevents growth in place
    auto* const moved =
        static_cast<std::uint8_t*>(mremap(memory, 4 * kLarge, 64 * kLarge, MREMAP_MAYMOVE));
    ASSERT_NE(moved, MAP_FAILED);
    EXPECT_EQ(std::count(moved, moved + kLarge, 1), static_cast<long>(kLarge));
    munmap(moved, 64 * kLarge);
    munmap(behind, kLarge);
}

TEST(SharedHeap, MremapToAnAddressOutsideMakesOrdinaryMemoryOfIt) {
    void* const stack = mmap(nullptr, kLarge, PROT_READ | PROT_WRITE,
                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
    std::uint8_t* const memory = map_memory(kLarge);
    memory[kPage] = 7;
    auto* const moved = static_cast<std::uint8_t*>(
        mremap(memory, kLarge, kLarge, MREMAP_MAYMOVE | MREMAP_FIXED, stack));
    ASSERT_EQ(moved, stack);
    EXPECT_EQ(moved[kPage], 7);
    EXPECT_FALSE(is_of_heap(moved, kLarge));
    std::uint8_t* const other = map_memory(kLarge);
    EXPECT_EQ(mremap(moved, kLarge, kLarge, MREMAP_MAYMOVE | MREMAP_FIXED, other), MAP_FAILED);
    EXPECT_EQ(errno, EINVAL);
    munmap(moved, kLarge);
    munmap(other, kLarge);
}

TEST(SharedHeap, ProtectionHoldsAlsoInAChildAndReservedMemoryBecomesShared) {
    std::uint8_t* const memory = map_memory(kLarge, PROT_NONE);
    EXPECT_TRUE(is_out_of_reach(memory));
    EXPECT_FALSE(is_of_heap(memory, kLarge));
    ASSERT_EQ(mprotect(memory, kLarge, PROT_READ | PROT_WRITE), 0);
    EXPECT_TRUE(is_of_heap(memory, kLarge));
    memory[0] = memory[kPage] = 9;
    ASSERT_EQ(mprotect(memory + kPage, kPage, PROT_READ), 0);
    EXPECT_TRUE(is_out_of_reach(memory + kPage));
    ASSERT_EQ(mprotect(memory, kPage, PROT_NONE), 0);
    EXPECT_TRUE(is_out_of_reach(memory));
    EXPECT_TRUE(in_child([memory] {
        return memory[kPage] == 9 && mprotect(memory, kPage, PROT_READ) == 0 && memory[0] == 9;
    }));
    ASSERT_EQ(munmap(memory, kLarge), 0);
    EXPECT_EQ(mprotect(memory, kLarge, PROT_READ), -1);
    EXPECT_EQ(errno, ENOMEM);
}

TEST(SharedHeap, AMappingOverItAtAFixedAddressTakesItsPlace) {
    std::uint8_t* const memory = map_memory(kLarge);
    std::memset(memory, 1, kLarge);
    void* const fresh = mmap(memory + kPage, kPage, PROT_READ | PROT_WRITE,
                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    ASSERT_EQ(fresh, memory + kPage);
    EXPECT_EQ(memory[kPage], 0);
    EXPECT_TRUE(is_of_heap(memory, kLarge));
    const int file = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    ASSERT_EQ(mmap(memory, kPage, PROT_READ, MAP_PRIVATE | MAP_FIXED, file, 0), memory);
    close(file);
    EXPECT_EQ(std::memcmp(memory, "\177ELF", 4), 0);
    EXPECT_FALSE(is_of_heap(memory, kLarge));
    EXPECT_TRUE(is_of_heap(memory + kPage, kLarge - kPage));
    EXPECT_TRUE(in_child([memory] { return memory[1] == 'E' && memory[2 * kPage] == 1; }));
    EXPECT_EQ(munmap(memory, kLarge), 0);
}

TEST(SharedHeap, LockedMemoryIsLockedAndIsNotDropped) {
    std::uint8_t* const memory = map_memory(1 << 16);
    ASSERT_EQ(mlock(memory, 1 << 16), 0);
    EXPECT_EQ(bytes_in_file(memory, 1 << 16), 1u << 16);
    memory[0] = 1;
    EXPECT_EQ(madvise(memory, 1 << 16, MADV_DONTNEED), -1);
    EXPECT_EQ(errno, EINVAL);
    EXPECT_EQ(memory[0], 1);
    EXPECT_EQ(munlock(memory, 1 << 16), 0);
    munmap(memory, 1 << 16);
}

TEST(SharedHeap, ForkKeepsParentAndChildApartBothWaysAndTheChildsMemoryIsShareableToo) {
    std::vector<int> numbers(100000, 1);
    std::uint8_t* const mapped = map_memory(kLarge);
    mapped[5] = 1;
    Channel channel;
    const pid_t child = fork();
    if (child == 0) {
        channel.be_child();
        numbers[7] = 2;
        mapped[5] = 2;
        channel.meet();  // the parent writes
        channel.meet();
        const std::vector<int> more(100000, 3);
        const bool good = numbers[7] == 2 && numbers[8] == 1 && mapped[5] == 2 &&
                          is_of_heap(numbers.data(), 400000) && is_of_heap(more.data(), 400000);
        const bool grandchild = in_child([&] { return numbers[7] == 2 && mapped[5] == 2; });
        _exit(good && grandchild ? 0 : 1);
    }
    channel.be_parent();
    channel.meet();
    EXPECT_EQ(numbers[7], 1);
    EXPECT_EQ(mapped[5], 1);
    numbers[8] = 4;
    mapped[5] = 4;
    channel.meet();
    int status = 0;
    waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
    EXPECT_EQ(numbers[7], 1);
    munmap(mapped, kLarge);
}

/// A buffer whose pages the kernel pins, for one read or write at a time (io_uring(7)).
class PinnedBuffer {
  public:
    PinnedBuffer(std::uint8_t* memory, std::size_t bytes) {
        io_uring_params parameters{};
        ring_ = static_cast<int>(syscall(SYS_io_uring_setup, 1, &parameters));
        if (ring_ < 0) return;
        const auto map = [this](std::size_t length, off_t what) {
            return static_cast<std::uint8_t*>(
                mmap(nullptr, length, PROT_READ | PROT_WRITE, MAP_SHARED, ring_, what));
        };
        const std::size_t length =
            std::max(parameters.sq_off.array + parameters.sq_entries * sizeof(std::uint32_t),
                     parameters.cq_off.cqes + parameters.cq_entries * sizeof(io_uring_cqe));
        std::uint8_t* const rings = map(length, IORING_OFF_SQ_RING);
        tail_ = reinterpret_cast<std::uint32_t*>(rings + parameters.sq_off.tail);
        head_ = reinterpret_cast<std::uint32_t*>(rings + parameters.cq_off.head);
        results_ = reinterpret_cast<io_uring_cqe*>(rings + parameters.cq_off.cqes);
        last_result_ = parameters.cq_entries - 1;
        request_ = reinterpret_cast<io_uring_sqe*>(map(kPage, IORING_OFF_SQES));
        const iovec buffer{memory, bytes};
        is_usable_ =
            (parameters.features & IORING_FEAT_SINGLE_MMAP) != 0 &&
            syscall(SYS_io_uring_register, ring_, IORING_REGISTER_BUFFERS, &buffer, 1) == 0;
    }
    ~PinnedBuffer() { close(ring_); }
    PinnedBuffer(const PinnedBuffer&) = delete;
    PinnedBuffer& operator=(const PinnedBuffer&) = delete;
    bool is_usable() const { return is_usable_; }

    /// @param operation IORING_OP_READ_FIXED or IORING_OP_WRITE_FIXED. @return bytes, or -errno.
    int move(int operation, int file, std::uint8_t* memory, std::uint32_t bytes) {
        *request_ = {};
        request_->opcode = static_cast<std::uint8_t>(operation);
        request_->fd = file;
        request_->addr = reinterpret_cast<std::uintptr_t>(memory);
        request_->len = bytes;
        __atomic_fetch_add(tail_, 1, __ATOMIC_RELEASE);
        if (syscall(SYS_io_uring_enter, ring_, 1, 1, IORING_ENTER_GETEVENTS, nullptr, 0) != 1)
            return -errno;
        return results_[__atomic_fetch_add(head_, 1, __ATOMIC_ACQ_REL) & last_result_].res;
    }

  private:
    int ring_ = -1;
    bool is_usable_ = false;
    std::uint32_t *tail_ = nullptr, *head_ = nullptr, last_result_ = 0;
    io_uring_cqe* results_ = nullptr;
    io_uring_sqe* request_ = nullptr;
};

TEST(SharedHeap, PagesThatTheKernelHoldsStayTheParentsBesideAFork) {
    std::uint8_t* const memory = map_memory(kLarge);
    std::memset(memory, 1, kLarge);
    PinnedBuffer buffer(memory, kLarge);
    if (!buffer.is_usable()) GTEST_SKIP() << "this kernel offers no io_uring";
    const int file = memfd_create("a file", MFD_CLOEXEC);
    for (std::uint8_t round = 2; round < 6; ++round) {
        int gate[2];
        ASSERT_EQ(pipe(gate), 0);
        const pid_t child = fork();
        if (child == 0) {
            std::memset(memory, 100, kLarge);
            char token;
            close(gate[1]);
            const bool is_over = read(gate[0], &token, 1) == 0;
            _exit(is_over && memory[0] == 100 && memory[kPage] == 100 ? 0 : 1);
        }
        std::memset(memory, round, kPage);
        EXPECT_EQ(buffer.move(IORING_OP_WRITE_FIXED, file, memory, kPage), int{kPage});
        std::uint8_t written = 0;
        EXPECT_EQ(pread(file, &written, 1, 10), 1);
        EXPECT_EQ(written, round) << "what the parent has stored since";
        EXPECT_EQ(buffer.move(IORING_OP_READ_FIXED, file, memory + kPage, kPage), int{kPage});
        EXPECT_EQ(memory[kPage], round) << "arrives at the parent";
        close(gate[0]);
        close(gate[1]);
        int status = -1;
        EXPECT_EQ(waitpid(child, &status, 0), child);
        EXPECT_EQ(status, 0) << "and not at the child";
    }
    close(file);
    munmap(memory, kLarge);
}

TEST(SharedHeap, AChildCostsOnlyThePagesThatAreThere) {
    std::uint8_t* const memory = map_memory(std::size_t{8} << 30);
    ASSERT_NE(memory, nullptr);
    memory[std::size_t{4} << 30] = 1;
    EXPECT_TRUE(in_child([memory] {
        return memory[std::size_t{4} << 30] == 1 &&
               bytes_in_file(memory, std::size_t{8} << 30) == kPage;
    }));
    munmap(memory, std::size_t{8} << 30);
}

TEST(SharedHeap, ChildrenAllocateWhileOtherThreadsOfTheParentDoAndReadStreams) {
    std::atomic<bool> done = false;
    std::vector<Thread> threads;
    for (int i = 0; i < 3; ++i)
        threads.emplace_back([&done] {
            while (!done) {
                std::vector<char> some(1000), more(300000);
                FILE* file = fopen("/proc/self/stat", "re");
                char line[100];
                if (file && fgets(line, sizeof line, file)) some[0] = line[0];
                if (file) fclose(file);
            }
        });
    for (int i = 0; i < scaled(30); ++i) {
        EXPECT_TRUE(in_child([] {
            for (int j = 0; j < 50; ++j) std::vector<char>(static_cast<std::size_t>(j) * 5000, 1);
            return true;
        }));
    }
    done = true;
    for (Thread& thread : threads) thread.join();
}

ucontext_t outside, inside;
bool forks_went_well = false;

TEST(SharedHeap, ACoroutineWhoseStackIsOfTheHeapForks) {
    const std::unique_ptr<char[]> stack(new char[kLarge]);
    getcontext(&inside);
    inside.uc_stack = {stack.get(), 0, kLarge};
    inside.uc_link = &outside;
    makecontext(
        &inside,
        [] {
            volatile int local = 1;
            forks_went_well = true;
            for (int i = 0; i < 20; ++i) {
                const bool apart = in_child([&local] {
                    for (int j = 0; j < 1000; ++j) local = local + 1;
                    return local == 1001;
                });
                if (!apart || local != 1) forks_went_well = false;
            }
        },
        0);
    swapcontext(&outside, &inside);
    EXPECT_TRUE(forks_went_well);
}

/// The C library keeps the descriptor of such a thread at the end of its stack, and writes to it
/// in the child at once.
TEST(SharedHeap, AThreadWhoseOwnStackIsOfTheHeapCannotFork) {
    void* const stack = aligned_alloc(4096, kLarge);
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    ASSERT_EQ(pthread_attr_setstack(&attributes, stack, kLarge), 0);
    int cause = 0;
    pthread_t thread;
    ASSERT_EQ(pthread_create(
                  &thread, &attributes,
                  [](void* to) -> void* {
                      if (fork() == -1) *static_cast<int*>(to) = errno;
                      return nullptr;
                  },
                  &cause),
              0);
    pthread_join(thread, nullptr);
    EXPECT_EQ(cause, ENOSYS);
    free(stack);
}

TEST(SharedHeap, VforkPosixSpawnSystemAndExecWork) {
    const char* arguments[] = {"sh", "-c", "exit 3", nullptr};
    pid_t child = 0;
    ASSERT_EQ(
        posix_spawn(&child, "/bin/sh", nullptr, nullptr, const_cast<char**>(arguments), environ),
        0);
    int status = 0;
    waitpid(child, &status, 0);
    EXPECT_EQ(WEXITSTATUS(status), 3);
    child = vfork();
    if (child == 0) {
        execv("/bin/sh", const_cast<char**>(arguments));
        _exit(1);
    }
    waitpid(child, &status, 0);
    EXPECT_EQ(WEXITSTATUS(status), 3);
    EXPECT_EQ(WEXITSTATUS(system("exit 4")), 4);
    EXPECT_TRUE(in_child([&] {
                    execv("/bin/sh", const_cast<char**>(arguments));
                    return false;
                }) == false);
}

TEST(SharedHeap, ForkFailsWhereNoDescriptorIsFree) {
    EXPECT_TRUE(in_child([] {
        const rlimit few = {3, 3};
        for (int fd = 3; fd < 100; ++fd) close(fd);
        if (setrlimit(RLIMIT_NOFILE, &few) != 0) return false;
        errno = 0;
        return fork() == -1 && errno == EMFILE;
    }));
}

TEST(SharedHeap, AProgramThatClosesAllDescriptorsKeepsTheHeap) {
    EXPECT_TRUE(in_child([] {
        for (int fd = 3; fd < 2000; ++fd) close(fd);
        closefrom(3);
        close_range(3, ~0U, 0);
        const int wanted = softverbs_shared_heap()->descriptor();
        if (dup2(2, wanted) != wanted || softverbs_shared_heap()->descriptor() == wanted)
            return false;
        const std::vector<char> some(5 << 20, 1);
        return is_of_heap(some.data(), some.size()) &&
               in_child([&some] { return some[1 << 20] == 1; });
    }));
}

TEST(SharedHeap, ManyThreadsAllocateAndFreeEachOthersMemory) {
    constexpr int kThreads = 4;
    std::atomic<std::uint64_t*> slots[256] = {};
    std::atomic<bool> wrong = false;
    std::vector<Thread> threads;
    for (unsigned id = 0; id < kThreads; ++id)
        threads.emplace_back([&, id] {
            std::uint64_t state = id + 1;
            for (int i = 0; i < scaled(200000); ++i) {
                state = state * 6364136223846793005u + 1442695040888963407u;
                const std::size_t words = 2 + (state >> 40) % (i % 100 == 0 ? 100000 : 500);
                auto* const made = static_cast<std::uint64_t*>(malloc(words * 8));
                made[0] = words;
                made[words - 1] = words;
                if (auto* old = slots[(state >> 33) % 256].exchange(made)) {
                    if (old[0] != old[old[0] - 1]) wrong = true;
                    free(old);
                }
            }
        });
    for (Thread& thread : threads) thread.join();
    for (auto& slot : slots) free(slot.load());
    EXPECT_FALSE(wrong);
}

}  // namespace
}  // namespace test
