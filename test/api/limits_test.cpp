// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Effects of the system's limits on a program: which code and message a call gives, what a failed
/// open leaves behind, how large a core file is, and how much memory an adapter instance takes.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/capability.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include <fstream>
#include <vector>

#include "test/api/failures_life.hpp"

namespace {

using namespace test;

constexpr rlim_t kMegabyte = 1 << 20;

/// Lowers a resource limit of this process while the object lives.
class Limit {
  public:
    Limit(__rlimit_resource resource, rlim_t value) : resource_(resource) {
        getrlimit(resource_, &before_);
        const rlimit narrow{value, before_.rlim_max};
        require(setrlimit(resource_, &narrow) == 0, "the limit is set");
    }
    ~Limit() { setrlimit(resource_, &before_); }
    Limit(const Limit&) = delete;
    Limit& operator=(const Limit&) = delete;

  private:
    const __rlimit_resource resource_;
    rlimit before_{};
};

DAT_RETURN open_and_close() {
    DAT_IA_HANDLE ia = DAT_HANDLE_NULL;
    DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
    const DAT_RETURN code = dat_ia_open(const_cast<char*>("soft0"), 8, &async, &ia);
    if (code == DAT_SUCCESS) succeed(dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG), "dat_ia_close");
    return code;
}

/// Runs `body` in a child with a fabric of its own.
void in_child(const std::function<void()>& body) {
    Child child([&](Channel&) {
        const TemporaryFabric fabric;
        body();
    });
    EXPECT_EQ(child.wait(), 0);
}

int lines_of_errors(const std::string& said) {
    int count = 0;
    for (std::size_t at = 0; (at = said.find("opendat: error", at)) != std::string::npos; ++at)
        ++count;
    return count;
}

/// @return the value of a line of /proc/self/status, in KiB; -1 if there is no such line.
long status_value(const std::string& name) {
    std::ifstream file("/proc/self/status");
    for (std::string word; file >> word;)
        if (word == name + ":") {
            long value = 0;
            file >> value;
            return value;
        }
    return -1;
}

constexpr const char* kPipePerCheck = "UndefinedBehaviorSanitizer opens a pipe to check a type";

TEST(FailedOpen, LeavesNoDescriptorAndNoThread) {
    if (kAddressSanitizer) GTEST_SKIP() << kPipePerCheck;
    in_child([] {
        succeed(open_and_close(), "the first open");
        const int before = open_descriptors();
        const int threads_before = threads();
        const std::string said = captured_stderr([&] {
            int failures = 0;
            for (rlim_t more = 0;; ++more) {
                // The capture holds two of the four, so the first open has two.
                const Limit limit(RLIMIT_NOFILE, static_cast<rlim_t>(before) + 4 + more);
                if (open_and_close() == DAT_SUCCESS) break;
                ++failures;
            }
            require(failures > 3, "the open fails in several ways");
        });
        require(open_descriptors() == before, "as many descriptors as before");
        // The kernel may still list a thread that has just been joined.
        require(eventually([&] { return threads() == threads_before; }), "as many threads");
        succeed(open_and_close(), "an open without a limit");
    });
}

TEST(FailedOpen, NamesTheLimitOfDescriptors) {
    if (kAddressSanitizer) GTEST_SKIP() << kPipePerCheck;
    in_child([] {
        succeed(open_and_close(), "the first open");
        const int before = open_descriptors();
        for (rlim_t more = 0;; ++more) {
            DAT_RETURN code = DAT_SUCCESS;
            const rlim_t value = static_cast<rlim_t>(before) + 4 + more;
            const std::string said = captured_stderr([&] {
                const Limit limit(RLIMIT_NOFILE, value);
                code = open_and_close();
            });
            if (code == DAT_SUCCESS) return;
            require(DAT_GET_TYPE(code) == DAT_INSUFFICIENT_RESOURCES, "the code, with " + said);
            if (said.find("DAT007") != std::string::npos) return;  // the rest is suppressed
            require(
                said.find("RLIMIT_NOFILE, which is " + std::to_string(value)) != std::string::npos,
                "the limit is named: " + said);
            require(lines_of_errors(said) == 1, "told once: " + said);
        }
    });
}

/// Becomes a user to whom RLIMIT_NPROC applies: it applies neither to root nor to a process with
/// CAP_SYS_ADMIN or CAP_SYS_RESOURCE.
void become_a_user_with_limits() {
    constexpr uid_t kOfNobodyElse = 61234;
    __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
    __user_cap_data_struct sets[_LINUX_CAPABILITY_U32S_3];
    require(setresuid(kOfNobodyElse, 0, 0) == 0 && syscall(SYS_capget, &header, sets) == 0,
            "another user");
    sets[0].effective &= ~(1u << CAP_SYS_ADMIN | 1u << CAP_SYS_RESOURCE);
    require(syscall(SYS_capset, &header, sets) == 0, "fewer capabilities");
}

TEST(FailedOpen, NamesTheLimitOfThreads) {
    if (geteuid() != 0) GTEST_SKIP() << "only root can be a user without other processes";
    if (kThreadSanitizer) GTEST_SKIP() << "the sanitizer has a thread of its own";
    in_child([] {
        succeed(open_and_close(), "the first open");
        become_a_user_with_limits();
        int failures = 0;
        for (rlim_t value = 1;; ++value) {
            DAT_RETURN code = DAT_SUCCESS;
            const std::string said = captured_stderr([&] {
                const Limit limit(RLIMIT_NPROC, value);
                code = open_and_close();
            });
            if (code == DAT_SUCCESS) break;
            require(DAT_GET_TYPE(code) == DAT_INSUFFICIENT_RESOURCES, "the code, with " + said);
            require(
                said.find("RLIMIT_NPROC, which is " + std::to_string(value)) != std::string::npos,
                "the limit is named: " + said);
            ++failures;
            if (said.find("DAT007") != std::string::npos) break;  // the rest is suppressed
            require(lines_of_errors(said) == 1, "told once: " + said);
        }
        require(failures > 1, "the open fails in several ways");
    });
}

TEST(FailedOpen, NamesTheLimitOfAddressSpace) {
    if (kAddressSanitizer || kThreadSanitizer) GTEST_SKIP() << "the sanitizer has shadow memory";
    in_child([] {
        succeed(open_and_close(), "the first open");
        DAT_RETURN code = DAT_SUCCESS;
        const std::string said = captured_stderr([&] {
            const rlim_t now = static_cast<rlim_t>(status_value("VmSize")) * 1024;
            const Limit limit(RLIMIT_AS, now + 100 * kMegabyte);
            code = open_and_close();
        });
        require(DAT_GET_TYPE(code) == DAT_INSUFFICIENT_RESOURCES, "the code");
        require(said.find("RLIMIT_AS, which is ") != std::string::npos, "it is named: " + said);
        require(lines_of_errors(said) == 1, "told once: " + said);
    });
}

TEST(FailedCall, NamesTheLimitOfAddressSpaceOnce) {
    if (kAddressSanitizer || kThreadSanitizer) GTEST_SKIP() << "the sanitizer has shadow memory";
    in_child([] {
        const Side side;
        const rlim_t bound = static_cast<rlim_t>(status_value("VmSize")) * 1024 + 20 * kMegabyte;
        std::vector<DAT_EVD_HANDLE> made;
        made.reserve(1 << 20);
        const std::string said = captured_stderr([&] {
            const Limit limit(RLIMIT_AS, bound);
            DAT_RETURN code = DAT_SUCCESS;
            while (code == DAT_SUCCESS && made.size() < made.capacity()) {
                DAT_EVD_HANDLE evd = DAT_HANDLE_NULL;
                code = dat_evd_create(side.ia, 30000, DAT_HANDLE_NULL, DAT_EVD_CR_FLAG, &evd);
                if (code == DAT_SUCCESS) made.push_back(evd);
            }
            require(DAT_GET_TYPE(code) == DAT_INSUFFICIENT_RESOURCES &&
                        DAT_GET_SUBTYPE(code) == DAT_RESOURCE_MEMORY,
                    "an EVD is refused for want of memory");
            DAT_EVD_HANDLE another = DAT_HANDLE_NULL;
            require(
                dat_evd_create(side.ia, 30000, DAT_HANDLE_NULL, DAT_EVD_CR_FLAG, &another) == code,
                "the next one too");
        });
        require(said.find("RLIMIT_AS, which is " + std::to_string(bound / 1024) + " KiB") !=
                    std::string::npos,
                "it is named: " + said);
        require(lines_of_errors(said) == 1, "told once: " + said);
        for (DAT_EVD_HANDLE evd : made) succeed(dat_evd_free(evd), "dat_evd_free");
    });
}

/// Mounts a file system of 64 KiB in a mount name space of its own. @return false if the system
/// refuses.
bool mount_small(const std::string& path) {
    return unshare(CLONE_NEWNS) == 0 &&
           mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
           mount("small", path.c_str(), "tmpfs", 0, "size=64k,mode=0700") == 0;
}

TEST(FailedOpen, NamesTheFileSystemThatIsFull) {
    if (geteuid() != 0) GTEST_SKIP() << "only root mounts a file system";
    Child child([](Channel& channel) {
        std::string path = "/tmp/small-XXXXXX";
        require(mkdtemp(path.data()) != nullptr, "a directory");
        const bool mounted = mount_small(path);
        channel.send(mounted);
        if (!mounted) return void(rmdir(path.c_str()));
        const int fd = open((path + "/filling").c_str(), O_CREAT | O_WRONLY, 0600);
        const std::vector<char> page(4096);
        while (write(fd, page.data(), page.size()) > 0) continue;
        close(fd);
        setenv("SOFTVERBS_FABRIC", path.c_str(), 1);
        DAT_RETURN code = DAT_SUCCESS;
        const std::string said = captured_stderr([&] { code = open_and_close(); });
        umount(path.c_str());
        rmdir(path.c_str());
        require(DAT_GET_TYPE(code) == DAT_INSUFFICIENT_RESOURCES, "the code, with " + said);
        require(said.find("no space is left in " + path) != std::string::npos, said);
        require(said.find("(64 KiB, ") != std::string::npos, said);
    });
    const bool mounted = child.channel().receive<bool>();
    EXPECT_EQ(child.wait(), 0);
    if (!mounted) GTEST_SKIP() << "no file system can be mounted here";
}

/// The limit that `ulimit -v 4000000` sets.
constexpr rlim_t kFourGigabytes = 4000000ULL * 1024;

void connect_with_limit(rlim_t of_peer) {
    const TemporaryFabric fabric;
    Child peer([&](Channel& channel) {
        const Limit limit(RLIMIT_AS, of_peer);
        FailurePeer served;
        channel.send('r');
        served.serve();
    });
    peer.channel().receive<char>();
    Child child([](Channel&) {
        const Limit limit(RLIMIT_AS, kFourGigabytes);
        Life life;
        const bool whole = life.live();
        require(whole, life.failed_call() ? life.failed_call() : "a whole life");
    });
    EXPECT_EQ(child.wait(), 0);
}

TEST(LimitedAddressSpace, SufficesForAnAdapterInstance) {
    if (kAddressSanitizer || kThreadSanitizer) GTEST_SKIP() << "the sanitizer has shadow memory";
    in_child([] {
        const Limit limit(RLIMIT_AS, kFourGigabytes);
        succeed(open_and_close(), "an open");
    });
}

TEST(LimitedAddressSpace, SufficesToConnectTwoLimitedProcesses) {
    if (kAddressSanitizer || kThreadSanitizer) GTEST_SKIP() << "the sanitizer has shadow memory";
    connect_with_limit(kFourGigabytes);
}

TEST(LimitedAddressSpace, NamesTheLimitWhenAPeerTakesMore) {
    if (kAddressSanitizer || kThreadSanitizer) GTEST_SKIP() << "the sanitizer has shadow memory";
    const TemporaryFabric fabric;
    Child peer([](Channel& channel) {
        FailurePeer served;
        channel.send('r');
        served.serve();
    });
    peer.channel().receive<char>();
    Child child([](Channel&) {
        const Limit limit(RLIMIT_AS, kFourGigabytes);
        const std::string said = captured_stderr([] {
            Life life;
            require(!life.live() && !life.fault(), "the connection fails with an event");
        });
        require(said.find("RLIMIT_AS, which is 4000000 KiB") != std::string::npos, said);
    });
    EXPECT_EQ(child.wait(), 0);
}

TEST(OpensAndCloses, DoNotTakeMemoryEachTime) {
    in_child([] {
        for (int i = 0; i < 2; ++i) succeed(open_and_close(), "an open");
        const long before = status_value("VmRSS");
        for (int i = 0; i < 20; ++i) succeed(open_and_close(), "an open");
        const long grown = status_value("VmRSS") - before;
        require(kAddressSanitizer || kThreadSanitizer || grown < 4 * 1024,
                "RSS has grown by " + std::to_string(grown) + " KiB");
    });
}

/// @return the bytes that a core file may hold: all mappings without "dd" in their flags. Shared
/// ones count with their whole size, private ones with what is resident.
std::uint64_t dumped_bytes() {
    std::ifstream file("/proc/self/smaps");
    std::uint64_t total = 0, size = 0;
    std::string line;
    bool shared = false;
    while (std::getline(file, line)) {
        std::uint64_t begin = 0, end = 0;
        char flags[5] = {};
        if (sscanf(line.c_str(), "%lx-%lx %4s", &begin, &end, flags) == 3 &&
            line.find(':') > line.find(' ')) {
            shared = flags[3] == 's';
            size = end - begin;
        }
        std::uint64_t kept = 0;
        if (!shared && sscanf(line.c_str(), "Rss: %lu kB", &kept) == 1) size = kept * 1024;
        if (line.starts_with("VmFlags:") && line.find(" dd") == std::string::npos) total += size;
    }
    return total;
}

TEST(CoreFile, LeavesOutWhatProcessesShare) {
    if (kAddressSanitizer || kThreadSanitizer) GTEST_SKIP() << "the sanitizer has shadow memory";
    const TemporaryFabric fabric;
    Child peer([](Channel& channel) {
        FailurePeer served;
        channel.send('r');
        served.serve();
    });
    peer.channel().receive<char>();
    Child child([](Channel&) {
        Life life;
        std::uint64_t bytes = 0;
        life.when_connected = [&] { bytes = dumped_bytes(); };
        require(life.live(), "a whole life");
        require(bytes > 0 && bytes < 64 * kMegabyte, std::to_string(bytes) + " bytes");
    });
    EXPECT_EQ(child.wait(), 0);
}

}  // namespace
