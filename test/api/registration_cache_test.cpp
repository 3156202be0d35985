// SPDX-License-Identifier: BSD-2-Clause
// The status server in a program with a registration cache, which is linked in:
// test/support/registration_cache.cpp.
#include <dat2/udat.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <filesystem>
#include <fstream>
#include <iostream>
#include <vector>

#include "test/api/side.hpp"
#include "test/support/registration_cache.hpp"
#include "test/support/sanitizer.hpp"

namespace {

using namespace test;

constexpr DAT_CONN_QUAL kQualifier = 4911;

/// Asks a process's status server once. @return the answer's length; 0 when none comes in time.
std::size_t ask(const std::string& path) {
    const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_un where{};
    where.sun_family = AF_UNIX;
    strncpy(where.sun_path, path.c_str(), sizeof where.sun_path - 1);
    std::size_t size = 0;
    if (connect(fd, reinterpret_cast<sockaddr*>(&where), sizeof where) == 0 &&
        send(fd, "status\n", 7, MSG_NOSIGNAL) == 7) {
        char bytes[4096];
        while (is_readable(fd)) {
            const ssize_t got = recv(fd, bytes, sizeof bytes, 0);
            if (got <= 0) break;
            size += static_cast<std::size_t>(got);
        }
    }
    close(fd);
    return size;
}

/// Prints where each thread of a process waits, as evidence of a deadlock.
void print_threads(pid_t pid) {
    for (const auto& task :
         std::filesystem::directory_iterator("/proc/" + std::to_string(pid) + "/task")) {
        for (const char* file : {"comm", "wchan", "syscall"}) {
            std::ifstream text(task.path() / file);
            std::string line;
            std::getline(text, line);
            std::cerr << file << ' ' << line << "  ";
        }
        std::cerr << '\n';
    }
}

class RegistrationCache : public testing::Test {
  protected:
    RegistrationCache() {
        setenv("OPENDAT_STATUS", "on", 1);
        setenv("OPENDAT_STATUS_DIRECTORY", directory.c_str(), 1);
    }
    ~RegistrationCache() override {
        unsetenv("OPENDAT_STATUS");
        unsetenv("OPENDAT_STATUS_DIRECTORY");
    }
    std::string socket_of(pid_t pid) const {
        for (const auto& entry : std::filesystem::directory_iterator(directory))
            if (entry.path().filename().string().starts_with(std::to_string(pid) + "."))
                return entry.path();
        return {};
    }
    void expect_end(Child& child) const {
        const int status = child.wait();
        if (status == -1) print_threads(child.pid());
        EXPECT_EQ(status, 0) << (status == -1 ? "deadlocked" : "");
    }
    TemporaryFabric fabric;
    const std::string directory = fabric.path() + "/status";
};

/// Creates and frees objects that the snapshot lists, more and more of them, so that it has to
/// allocate.
void live(const Side& side) {
    std::vector<DAT_EVD_HANDLE> evds;
    for (int i = 0; i < 20; ++i) evds.push_back(side.evd(DAT_EVD_SOFTWARE_FLAG, 8));
    std::vector<DAT_EP_HANDLE> eps;
    for (int i = 0; i < 10; ++i) eps.push_back(side.endpoint());
    DAT_PSP_HANDLE psp = side.listen(kQualifier);
    for (DAT_EP_HANDLE ep : eps) succeed(dat_ep_free(ep), "dat_ep_free");
    for (DAT_EVD_HANDLE evd : evds) succeed(dat_evd_free(evd), "dat_evd_free");
    succeed(dat_psp_free(psp), "dat_psp_free");
}

TEST_F(RegistrationCache, IsNotDeadlockedByTheStatusServer) {
    if (!kHasRegistrationCache) GTEST_SKIP() << "the sanitizer's malloc() is the program's";
    Child child([](Channel& channel) {
        Side side;
        channel.meet();
        while (!is_readable(channel.input(), 0s)) live(side);
        require(registrations_of_cache() > 100, "the cache is at work");
        channel.meet();
        side.close();
    });
    child.channel().meet();
    const std::string socket = socket_of(child.pid());
    for (int i = 0; i < scaled(100); ++i) {
        const std::size_t size = ask(socket);
        if (size == 0) print_threads(child.pid());
        ASSERT_GT(size, 0u) << "no answer in time: the server waits for its own lock";
    }
    child.channel().meet();
    expect_end(child);
}

}  // namespace
