// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Measures what many processes cost that are all connected to all. Uses only the installed DAT
/// headers, so that the same program runs on any stack that DAT_OVERRIDE and the dynamic linker
/// give it.
///
/// usage: mesh NAME PROCESSES PER_PAIR [COMMAND]
///     NAME       of the IA, which each process opens
///     PROCESSES  at least 2
///     PER_PAIR   connections between each two of them
///     COMMAND    for the shell, run while all are connected
///
/// Each process is the active side towards those that were started before it, and the passive side
/// towards the others. When all are connected, the last one is killed. Prints one `key value` per
/// line; what is per process is the largest of all processes.
#include <dat2/udat.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <new>
#include <thread>
#include <vector>

#include "test/bench/answers.hpp"
#include "test/bench/memory_in_use.hpp"

namespace {

constexpr DAT_TIMEOUT kPatience = 600'000'000;    // microseconds
constexpr unsigned kStuck = 900;                  // seconds
constexpr DAT_CONN_QUAL kFirstQualifier = 20000;  // below the ports that a fabric chooses
constexpr int kMostProcesses = 1024;
constexpr std::chrono::seconds kSettling(1);  // timers of connection managers end
constexpr std::chrono::seconds kIdle(2);

using Clock = std::chrono::steady_clock;

double microseconds(Clock::duration time) {
    return std::chrono::duration<double, std::micro>(time).count();
}

struct Order {
    const char* name = nullptr;
    int processes = 0;
    int per_pair = 0;
    const char* command = nullptr;
};

/// One process has measured these.
struct Answers {
    sockaddr_storage address{};  ///< of its IA
    double opening = 0;          ///< microseconds
    double idle_processor = 0;   ///< microseconds of processor time while there was nothing to do
    double death = 0;  ///< microseconds from the kill of the last process to its last event here
    double descriptors = 0;
    double memory_opened = 0;  ///< bytes
    double memory_connected = 0;
    double page_tables = 0;
};

/// Shared by the processes and their parent. Each wait is for all of them.
struct Shared {
    pthread_barrier_t everyone;
    pthread_barrier_t survivors;  ///< everyone but the last process
    std::atomic<Clock::rep> killed_at;
    Answers answers[kMostProcesses];

    void wait() { pthread_barrier_wait(&everyone); }
    void wait_for_survivors() { pthread_barrier_wait(&survivors); }
};

Shared& share(int processes) {
    void* memory =
        mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) {
        std::perror("mesh: mmap");
        std::exit(1);
    }
    auto* shared = new (memory) Shared{};
    pthread_barrierattr_t attributes;
    pthread_barrierattr_init(&attributes);
    pthread_barrierattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
    pthread_barrier_init(&shared->everyone, &attributes, static_cast<unsigned>(processes) + 1);
    pthread_barrier_init(&shared->survivors, &attributes, static_cast<unsigned>(processes));
    return *shared;
}

double processor_time() {
    rusage used{};
    getrusage(RUSAGE_SELF, &used);
    const auto in_microseconds = [](timeval time) {
        return 1e6 * static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec);
    };
    return in_microseconds(used.ru_utime) + in_microseconds(used.ru_stime);
}

double open_descriptors() {
    const std::filesystem::directory_iterator all("/proc/self/fd");
    return static_cast<double>(std::distance(begin(all), end(all)) - 1);  // but for its own
}

class Member {
  public:
    Member(const Order& order, int rank, Shared& shared)
        : order_(order), rank_(rank), shared_(shared), answers_(shared.answers[rank]) {}

    /// The waits are those of measure().
    void run() {
        open();
        shared_.wait();
        connect_all();
        shared_.wait();
        measure();
        shared_.wait();
        const double before = processor_time();
        shared_.wait();
        answers_.idle_processor = processor_time() - before;
        shared_.wait();
        if (rank_ == order_.processes - 1) pause();
        await_death();
        shared_.wait_for_survivors();
        disconnect_all();
        shared_.wait_for_survivors();
        succeed(dat_ia_close(ia_, DAT_CLOSE_ABRUPT_FLAG), "dat_ia_close");
        shared_.wait_for_survivors();
    }

  private:
    int connections() const { return (order_.processes - 1) * order_.per_pair; }

    void open() {
        const auto begin = Clock::now();
        DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
        succeed(dat_ia_open(const_cast<char*>(order_.name), 8, &async, &ia_), "dat_ia_open");
        answers_.opening = microseconds(Clock::now() - begin);
        succeed(dat_pz_create(ia_, &pz_), "dat_pz_create");
        connections_ = evd(DAT_EVD_CONNECTION_FLAG);
        requests_ = evd(DAT_EVD_CR_FLAG);
        transfers_ = evd(DAT_EVD_DTO_FLAG);
        DAT_PSP_HANDLE psp = DAT_HANDLE_NULL;
        succeed(
            dat_psp_create(ia_, kFirstQualifier + rank_, requests_, DAT_PSP_CONSUMER_FLAG, &psp),
            "dat_psp_create");
        find_address();
        answers_.memory_opened = static_cast<double>(memory_in_use());
    }
    void find_address() {
        DAT_IA_ATTR attributes{};
        succeed(dat_ia_query(ia_, nullptr, DAT_IA_FIELD_IA_ADDRESS_PTR, &attributes, 0, nullptr),
                "dat_ia_query");
        const auto* address = reinterpret_cast<const sockaddr*>(attributes.ia_address_ptr);
        std::memcpy(&answers_.address, address,
                    address->sa_family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6));
    }
    void connect_all() {
        for (int peer = 0; peer < rank_; ++peer)
            for (int i = 0; i < order_.per_pair; ++i) connect_to(peer);
        for (int i = rank_ * order_.per_pair; i < connections(); ++i) {
            const DAT_EVENT event =
                next(requests_, DAT_CONNECTION_REQUEST_EVENT, "a request", kPatience);
            succeed(dat_cr_accept(event.event_data.cr_arrival_event_data.cr_handle, endpoint(), 0,
                                  nullptr),
                    "dat_cr_accept");
        }
        await(connections(), DAT_CONNECTION_EVENT_ESTABLISHED, "established");
    }
    void connect_to(int peer) {
        connected_.push_back(endpoint());
        succeed(dat_ep_connect(connected_.back(),
                               reinterpret_cast<DAT_IA_ADDRESS_PTR>(&shared_.answers[peer].address),
                               kFirstQualifier + peer, kPatience, 0, nullptr, DAT_QOS_BEST_EFFORT,
                               DAT_CONNECT_DEFAULT_FLAG),
                "dat_ep_connect");
    }
    void measure() {
        answers_.memory_connected = static_cast<double>(memory_in_use());
        answers_.page_tables = static_cast<double>(page_tables());
        answers_.descriptors = open_descriptors();
    }
    void await_death() {
        await(order_.per_pair, DAT_CONNECTION_EVENT_DISCONNECTED, "the end of the last process");
        answers_.death = microseconds(Clock::now().time_since_epoch() -
                                      Clock::duration(shared_.killed_at.load()));
    }
    void disconnect_all() {
        for (DAT_EP_HANDLE ep : connected_)
            succeed(dat_ep_disconnect(ep, DAT_CLOSE_ABRUPT_FLAG), "dat_ep_disconnect");
        await(connections() - order_.per_pair, DAT_CONNECTION_EVENT_DISCONNECTED, "disconnected");
    }
    void await(int count, DAT_EVENT_NUMBER number, const char* what) const {
        for (int i = 0; i < count; ++i) next(connections_, number, what, kPatience);
    }
    DAT_EP_HANDLE endpoint() const {
        DAT_EP_HANDLE ep = DAT_HANDLE_NULL;
        succeed(dat_ep_create(ia_, pz_, transfers_, transfers_, connections_, nullptr, &ep),
                "dat_ep_create");
        return ep;
    }
    DAT_EVD_HANDLE evd(int flags) const {
        DAT_EVD_HANDLE made = DAT_HANDLE_NULL;
        succeed(dat_evd_create(ia_, connections(), DAT_HANDLE_NULL,
                               static_cast<DAT_EVD_FLAGS>(flags), &made),
                "dat_evd_create");
        return made;
    }

    const Order& order_;
    const int rank_;
    Shared& shared_;
    Answers& answers_;
    DAT_IA_HANDLE ia_ = DAT_HANDLE_NULL;
    DAT_PZ_HANDLE pz_ = DAT_HANDLE_NULL;
    DAT_EVD_HANDLE connections_ = DAT_HANDLE_NULL;
    DAT_EVD_HANDLE requests_ = DAT_HANDLE_NULL;
    DAT_EVD_HANDLE transfers_ = DAT_HANDLE_NULL;
    std::vector<DAT_EP_HANDLE> connected_;  ///< those whose active side is here
};

volatile sig_atomic_t may_end = 0;

/// The others would wait for it for ever; they end with this process.
void a_child_has_ended(int) {
    if (may_end != 0) return;
    constexpr char kText[] = "mesh: a process has ended early\n";
    const auto written = write(STDERR_FILENO, kText, sizeof kText - 1);
    _exit(written < 0 ? 2 : 1);
}

std::vector<pid_t> start_members(const Order& order, Shared& shared) {
    std::vector<pid_t> members;
    std::signal(SIGCHLD, a_child_has_ended);
    for (int rank = 0; rank < order.processes; ++rank) {
        const pid_t member = fork();
        if (member == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            std::signal(SIGCHLD, SIG_DFL);
            alarm(kStuck);
            Member(order, rank, shared).run();
            std::exit(0);
        }
        if (member < 0) {
            std::perror("mesh: fork");
            std::exit(1);
        }
        members.push_back(member);
    }
    return members;
}

/// Prints the seconds that the work takes.
template <class Work>
void timed(const char* key, const Work& work) {
    const auto begin = Clock::now();
    work();
    std::printf("%s %.4f\n", key, microseconds(Clock::now() - begin) / 1e6);
    std::fflush(stdout);
}

void measure(const Order& order, Shared& shared) {
    std::vector<pid_t> members;
    timed("open_seconds", [&] {
        members = start_members(order, shared);
        shared.wait();
    });
    timed("connect_seconds", [&] { shared.wait(); });
    std::this_thread::sleep_for(kSettling);
    shared.wait();
    std::this_thread::sleep_for(kIdle);
    shared.wait();
    may_end = 1;
    if (order.command)
        timed("command_seconds", [&] {
            if (std::system(order.command) != 0) std::fprintf(stderr, "mesh: the command failed\n");
        });
    shared.wait();
    shared.killed_at = Clock::now().time_since_epoch().count();
    kill(members.back(), SIGKILL);
    waitpid(members.back(), nullptr, 0);
    may_end = 0;
    shared.wait_for_survivors();
    timed("disconnect_seconds", [&] { shared.wait_for_survivors(); });
    may_end = 1;
    timed("close_seconds", [&] {
        shared.wait_for_survivors();
        while (wait(nullptr) > 0) continue;
    });
}

double largest(const Order& order, const Shared& shared, double Answers::*value) {
    double found = 0;
    for (int rank = 0; rank < order.processes; ++rank)
        found = std::max(found, shared.answers[rank].*value);
    return found;
}

void report(const Order& order, const Shared& shared) {
    const auto print = [](const char* key, double value) { std::printf("%s %.1f\n", key, value); };
    const auto most = [&](double Answers::*value) { return largest(order, shared, value); };
    print("open_us", most(&Answers::opening));
    print("descriptors", most(&Answers::descriptors));
    print("memory_opened", most(&Answers::memory_opened));
    print("memory_connected", most(&Answers::memory_connected));
    print("page_tables", most(&Answers::page_tables));
    double idle = 0;
    for (int rank = 0; rank < order.processes; ++rank) idle += shared.answers[rank].idle_processor;
    print("idle_processor_us_per_second", idle / static_cast<double>(kIdle.count()));
    print("death_us", most(&Answers::death));
}

}  // namespace

int main(int argc, char** argv) {
    Order order;
    if (argc >= 4 && argc <= 5) {
        order.name = argv[1];
        order.processes = std::atoi(argv[2]);
        order.per_pair = std::atoi(argv[3]);
        order.command = argv[4];  // or null
    }
    if (order.processes < 2 || order.processes > kMostProcesses || order.per_pair < 1) {
        std::fprintf(stderr, "usage: mesh NAME PROCESSES PER_PAIR [COMMAND]\n");
        return 2;
    }
    std::printf("processes %d\nconnections %d\n", order.processes,
                order.processes * (order.processes - 1) / 2 * order.per_pair);
    std::fflush(stdout);  // before processes inherit it
    Shared& shared = share(order.processes);
    measure(order, shared);
    report(order, shared);
    return 0;
}
