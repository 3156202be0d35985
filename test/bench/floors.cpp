// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// What the machine itself needs, without any library: copies, a cache line that bounces between
/// two processors, wake-ups, and TCP over loopback. Nothing built on these can be faster.
///
/// usage: floors CPU_A CPU_B MILLISECONDS [MEASUREMENT...]      duration of each
/// Measures what is named, or all but `survey`. Prints one `key value` per line: microseconds, or
/// megabytes (10^6) per second. `survey` prints lines of seconds since its begin, and microseconds
/// of a cache line's way from one processor to the other.
#include <arpa/inet.h>
#include <linux/futex.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string_view>
#include <thread>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;

int cpu_a;
int cpu_b;
double seconds;

void require(bool good, const char* what) {
    if (good) return;
    std::fprintf(stderr, "floors: %s: %m\n", what);
    std::exit(1);
}

void pin(int cpu) {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(cpu, &set);
    require(sched_setaffinity(0, sizeof set, &set) == 0, "pin");
}

/// Runs `step` for a duration, in batches, each of which is timed.
/// @return microseconds of one step in the median batch, which ignores batches in which another
/// process had the processor
double time_steps_for(double duration, unsigned batch, const std::function<void()>& step) {
    std::vector<double> batches;
    for (unsigned i = 0; i < batch; ++i) step();
    const Clock::time_point first = Clock::now();
    for (Clock::time_point begin = first;
         std::chrono::duration<double>(begin - first).count() < duration;) {
        for (unsigned i = 0; i < batch; ++i) step();
        const Clock::time_point end = Clock::now();
        batches.push_back(std::chrono::duration<double, std::micro>(end - begin).count() / batch);
        begin = end;
    }
    std::nth_element(batches.begin(), batches.begin() + batches.size() / 2, batches.end());
    return batches[batches.size() / 2];
}

/// For the duration of a measurement.
double time_steps(unsigned batch, const std::function<void()>& step) {
    return time_steps_for(seconds, batch, step);
}

char* pages(std::size_t size) {
    void* memory = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    require(memory != MAP_FAILED, "mmap");
    std::memset(memory, 1, size);
    return static_cast<char*>(memory);
}

void measure_memcpy(std::size_t size) {
    char* from = pages(size);
    char* to = pages(size);
    const double us = time_steps(size < (1 << 22) ? 64 : 1, [&] {
        std::memcpy(to, from, size);
        asm volatile("" ::"r"(to) : "memory");
    });
    std::printf("memcpy_%zu %.1f\n", size, static_cast<double>(size) / us);
    munmap(from, size);
    munmap(to, size);
}

/// Runs measure() while another thread answers.
/// @param stop makes the other thread's next pong its last
void with_other_thread(const std::function<bool()>& pong, const std::function<void()>& stop,
                       const std::function<void()>& measure) {
    std::thread other([&] {
        pin(cpu_b);
        while (pong()) continue;
    });
    measure();
    stop();
    other.join();
}

/// Measures a round trip between this thread and another one, which calls `pong` each time.
void measure_round_trip(const char* key, double share, unsigned batch,
                        const std::function<void()>& ping, const std::function<bool()>& pong,
                        const std::function<void()>& stop) {
    double us = 0;
    with_other_thread(pong, stop, [&] { us = time_steps(batch, ping); });
    std::printf("%s %.4f\n", key, us * share);
}

constexpr std::uint64_t kStop = UINT64_MAX;

/// Two cache lines by which two threads answer each other. What each of them keeps for itself is
/// elsewhere.
struct CacheLines {
    static constexpr std::size_t kApart = 128;
    struct alignas(kApart) Line {
        std::atomic<std::uint64_t> value{0};
    };
    Line to, from;
    alignas(kApart) std::uint64_t sent = 0;
    alignas(kApart) std::uint64_t seen = 0;

    void ping() {
        to.value.store(++sent, std::memory_order_release);
        while (from.value.load(std::memory_order_acquire) != sent) continue;
    }
    bool pong() {
        std::uint64_t now;
        while ((now = to.value.load(std::memory_order_acquire)) == seen) continue;
        seen = now;
        from.value.store(now, std::memory_order_release);
        return now != kStop;
    }
    void stop() { to.value.store(kStop, std::memory_order_release); }
};

void measure_cache_line() {
    CacheLines lines;
    measure_round_trip(
        "cache_line_round_trip", 1, 1024, [&] { lines.ping(); }, [&] { return lines.pong(); },
        [&] { lines.stop(); });
}

/// Shows how the machine changes.
void survey() {
    constexpr double kEach = 10e-3;
    CacheLines lines;
    const auto look = [&] {
        const Clock::time_point begin = Clock::now();
        for (double at = 0; at < seconds;) {
            const double us = time_steps_for(kEach, 64, [&] { lines.ping(); });
            std::printf("%.3f %.4f\n", at, us / 2);
            at = std::chrono::duration<double>(Clock::now() - begin).count();
        }
    };
    with_other_thread([&] { return lines.pong(); }, [&] { lines.stop(); }, look);
}

void measure_eventfd() {
    const int to = eventfd(0, 0);
    const int from = eventfd(0, 0);
    require(to >= 0 && from >= 0, "eventfd");
    std::uint64_t one = 1;
    std::uint64_t got = 0;
    std::uint64_t heard = 0;
    measure_round_trip(
        "eventfd_one_way", 0.5, 16,
        [&] {
            require(write(to, &one, sizeof one) == sizeof one, "write");
            require(read(from, &got, sizeof got) == sizeof got, "read");
        },
        [&] {
            require(read(to, &heard, sizeof heard) == sizeof heard, "read");
            if (heard > 1) return false;
            require(write(from, &one, sizeof one) == sizeof one, "write");
            return true;
        },
        [&] {
            const std::uint64_t last = 2;
            require(write(to, &last, sizeof last) == sizeof last, "write");
        });
    close(to);
    close(from);
}

void futex(std::atomic<std::uint32_t>& word, int operation, std::uint32_t value) {
    syscall(SYS_futex, &word, operation, value, nullptr, nullptr, 0);
}

void measure_futex() {
    static std::atomic<std::uint32_t> to{0};
    static std::atomic<std::uint32_t> from{0};
    static std::atomic<bool> last{false};
    std::uint32_t sent = 0;
    std::uint32_t seen = 0;
    const auto wait = [](std::atomic<std::uint32_t>& word, std::uint32_t old) {
        while (word.load() == old) futex(word, FUTEX_WAIT_PRIVATE, old);
    };
    measure_round_trip(
        "futex_one_way", 0.5, 16,
        [&] {
            to.store(++sent);
            futex(to, FUTEX_WAKE_PRIVATE, 1);
            wait(from, sent - 1);
        },
        [&] {
            wait(to, seen);
            if (last.load()) return false;
            from.store(++seen);
            futex(from, FUTEX_WAKE_PRIVATE, 1);
            return true;
        },
        [&] {
            last.store(true);
            to.store(sent + 1);
            futex(to, FUTEX_WAKE_PRIVATE, 1);
        });
}

void connect_pair(int& one, int& two) {
    const int listener = socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof address;
    require(bind(listener, reinterpret_cast<sockaddr*>(&address), length) == 0, "bind");
    require(listen(listener, 1) == 0, "listen");
    getsockname(listener, reinterpret_cast<sockaddr*>(&address), &length);
    one = socket(AF_INET, SOCK_STREAM, 0);
    require(connect(one, reinterpret_cast<sockaddr*>(&address), length) == 0, "connect");
    two = accept(listener, nullptr, nullptr);
    require(two >= 0, "accept");
    close(listener);
    const int yes = 1;
    for (const int end : {one, two}) setsockopt(end, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
}

bool read_all(int from, char* to, std::size_t size) {
    for (ssize_t got; size > 0; size -= static_cast<std::size_t>(got), to += got)
        if ((got = read(from, to, size)) <= 0) return false;
    return true;
}

void measure_tcp_latency() {
    int one, two;
    connect_pair(one, two);
    char message[8] = {};
    char echo[8];
    measure_round_trip(
        "tcp_one_way", 0.5, 16,
        [&] {
            require(write(one, message, sizeof message) == sizeof message, "write");
            require(read_all(one, message, sizeof message), "read");
        },
        [&] {
            if (!read_all(two, echo, sizeof echo)) return false;
            return write(two, echo, sizeof echo) == sizeof echo;
        },
        [&] { shutdown(one, SHUT_WR); });
    close(one);
    close(two);
}

/// Times writes of a megabyte each, which the other end's reads limit once the socket buffers are
/// full.
void measure_tcp_bandwidth() {
    constexpr std::size_t kSize = 1 << 20;
    int one, two;
    connect_pair(one, two);
    static char from[kSize];
    static char to[kSize];
    std::thread other([&] {
        pin(cpu_b);
        while (read_all(two, to, kSize)) continue;
        close(two);
    });
    const double us = time_steps(16, [&] {
        for (std::size_t sent = 0; sent < kSize;) {
            const ssize_t count = write(one, from + sent, kSize - sent);
            require(count > 0, "write");
            sent += static_cast<std::size_t>(count);
        }
    });
    shutdown(one, SHUT_WR);
    other.join();
    close(one);
    std::printf("tcp_bandwidth_1048576 %.1f\n", kSize / us);
}

void measure_memcpy_sizes() {
    for (const std::size_t size : {65536, 1 << 20, 64 << 20}) measure_memcpy(size);
}

constexpr struct {
    std::string_view name;
    void (*measure)();
} kMeasurements[] = {{"memcpy", measure_memcpy_sizes},
                     {"cache_line", measure_cache_line},
                     {"eventfd", measure_eventfd},
                     {"futex", measure_futex},
                     {"tcp_latency", measure_tcp_latency},
                     {"tcp_bandwidth", measure_tcp_bandwidth},
                     {"survey", survey}};

void measure(std::string_view name) {
    for (const auto& one : kMeasurements)
        if (name == one.name) return one.measure();
    std::fprintf(stderr, "floors: %.*s: no such measurement\n", static_cast<int>(name.size()),
                 name.data());
    std::exit(2);
}

}  // namespace

int main(int argc, char** argv) {
    if (argc < 4) {
        std::fprintf(stderr, "usage: floors CPU_A CPU_B MILLISECONDS [MEASUREMENT...]\n");
        return 2;
    }
    cpu_a = std::atoi(argv[1]);
    cpu_b = std::atoi(argv[2]);
    seconds = std::atoi(argv[3]) / 1e3;
    pin(cpu_a);
    for (int i = 4; i < argc; ++i) measure(argv[i]);
    for (const auto& one : kMeasurements)
        if (argc == 4 && one.measure != survey) one.measure();
    return 0;
}
