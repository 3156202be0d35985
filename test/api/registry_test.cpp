// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The registry as a program sees it: opening and closing from several threads and after fork, and
/// its messages. Each test loads libdat2 in a process of its own, with a dat.conf of its own.
#include <dat2/udat.h>
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "test/support/process.hpp"

namespace {

constexpr DAT_RETURN kNotFound = 0x800A0064;
constexpr DAT_RETURN kInvalidIa = 0x8005000B;

std::string build_directory() {
    const char* directory = getenv("TOP_BUILDDIR");
    return directory ? directory : ".";
}

std::string provider_path() {
    return build_directory() + "/test/compat/registry/.libs/fake_provider.so";
}

std::string record(const std::string& name, const std::string& params = "",
                   const std::string& library = provider_path()) {
    return name + " u2.0 nonthreadsafe default " + library + " dapl.2.0 \"" + params + "\" \"\"\n";
}

/// libdat2 with `conf` as its dat.conf, loaded as a program's plug-in would load it.
class Dat {
  public:
    explicit Dat(const std::string& conf) {
        char name[] = "/tmp/dat.conf-XXXXXX";
        const int fd = mkstemp(name);
        test::require(fd >= 0 && close(fd) == 0, "a temporary file");
        path_ = name;
        std::ofstream(path_) << conf;
        load(path_);
    }
    Dat(const Dat&) = delete;
    Dat& operator=(const Dat&) = delete;
    ~Dat() { unlink(path_.c_str()); }

    DAT_RETURN open(const std::string& name, DAT_IA_HANDLE* ia, DAT_UINT32 major = 2) const {
        DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
        return open(name, ia, &async, major);
    }
    DAT_RETURN open(const std::string& name, DAT_IA_HANDLE* ia, DAT_EVD_HANDLE* async,
                    DAT_UINT32 major = 2) const {
        return function<decltype(dat_ia_openv)>("dat_ia_openv")(const_cast<char*>(name.c_str()), 8,
                                                                async, ia, major, 0, DAT_FALSE);
    }
    DAT_RETURN wait(DAT_EVD_HANDLE evd) const {
        DAT_EVENT event;
        DAT_COUNT more;
        return function<decltype(dat_evd_wait)>("dat_evd_wait")(evd, DAT_TIMEOUT_INFINITE, 1,
                                                                &event, &more);
    }
    DAT_RETURN close_ia(DAT_IA_HANDLE ia) const {
        return function<decltype(dat_ia_close)>("dat_ia_close")(ia, DAT_CLOSE_ABRUPT_FLAG);
    }
    DAT_COUNT count() const {
        DAT_COUNT entries = -1;
        function<decltype(dat_registry_list_providers)>("dat_registry_list_providers")(0, &entries,
                                                                                       nullptr);
        return entries;
    }
    const std::string& path() const { return path_; }
    void* handle() const { return handle_; }

  private:
    template <class Function>
    Function* function(const char* name) const {
        return reinterpret_cast<Function*>(dlsym(handle_, name));
    }
    void load(const std::string& conf) {
        setenv("DAT_OVERRIDE", conf.c_str(), 1);
        const std::string library = build_directory() + "/.libs/libdat2.so.2";
        handle_ = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
        if (!handle_) throw std::runtime_error(dlerror());
    }

    std::string path_;
    void* handle_ = nullptr;
};

bool is_mapped(const std::string& library) {
    std::ifstream maps("/proc/self/maps");
    std::stringstream text;
    text << maps.rdbuf();
    return text.str().find(library) != std::string::npos;
}

/// Runs `body` in a process of its own. @return the lines that it wrote on stderr.
std::vector<std::string> lines_told(const std::string& conf,
                                    const std::function<void(const Dat&)>& body) {
    std::string text = test::captured_stderr([&] {
        test::Child child([&](test::Channel&) {
            // libdat2 must not write to stdout, which belongs to the program: such lines would be
            // counted too.
            dup2(STDERR_FILENO, STDOUT_FILENO);
            const Dat dat(conf);
            body(dat);
        });
        EXPECT_EQ(child.wait(), 0);
    });
    std::vector<std::string> lines;
    std::istringstream stream(text);
    for (std::string line; std::getline(stream, line);) lines.push_back(line);
    return lines;
}

std::vector<std::string> lines_told_by_open(const std::string& conf, const std::string& name,
                                            DAT_RETURN expected, DAT_UINT32 major = 2) {
    return lines_told(conf, [&](const Dat& dat) {
        DAT_IA_HANDLE ia = DAT_HANDLE_NULL;
        const DAT_RETURN code = dat.open(name, &ia, major);
        test::require(code == expected, "the code " + std::to_string(code));
    });
}

void expect_one_line(const std::vector<std::string>& lines, const std::vector<std::string>& parts) {
    ASSERT_EQ(lines.size(), 1u) << testing::PrintToString(lines);
    for (const std::string& part : parts)
        EXPECT_NE(lines[0].find(part), std::string::npos) << part << " is not in " << lines[0];
}

TEST(RegistryTellsOnce, AnUnknownNameWithTheFileAndTheNearestName) {
    expect_one_line(lines_told_by_open(record("soft0") + record("other"), "sofd0", kNotFound),
                    {"[DAT003]", "sofd0", "/tmp/dat.conf-", "the nearest name is soft0"});
}

TEST(RegistryTellsOnce, AMissingLibraryWithItsLineAndTheLoadersReason) {
    expect_one_line(
        lines_told_by_open("# c\n" + record("a", "", "libmissing.so.9"), "a", kNotFound),
        {"[DAT005]", ":2: ", "libmissing.so.9: cannot open shared object file"});
}

TEST(RegistryTellsOnce, AnotherVersion) {
    expect_one_line(lines_told_by_open(record("a"), "a", kNotFound, 1),
                    {"[DAT004]", "u1.0 nonthreadsafe", "u2.0 nonthreadsafe"});
}

TEST(RegistryTellsOnce, ALibraryThatRegistersNothing) {
    expect_one_line(lines_told_by_open(record("a", "nothing"), "a", kNotFound),
                    {"[DAT005]", "registered no provider", ":1: "});
}

TEST(RegistryTellsOnce, ARefusalWithTheCodeByName) {
    expect_one_line(lines_told_by_open(record("a", "refuse=0x00120000"), "a", 0x00120000),
                    {"[DAT006]", "DAT_INVALID_ADDRESS (0x120000)", ":1: ", "fake_provider.so"});
}

TEST(RegistryTellsOnce, EachCandidateOfAKeyWithItsReason) {
    expect_one_line(lines_told_by_open(record("a", "", "libmissing.so") + record("a", "nothing"),
                                       "a", kNotFound),
                    {":1: libmissing.so: cannot open", " | ", ":2: ", "registered no provider"});
}

std::vector<std::string> lines_told_of_an_unreadable_file(
    const std::function<void(const Dat&)>& use) {
    return lines_told(std::string(17 << 20, '#'), use);
}

void open_unknown(const Dat& dat) {
    DAT_IA_HANDLE ia = DAT_HANDLE_NULL;
    test::require(dat.open("a", &ia) == kNotFound, "the code");
}

TEST(RegistryTellsOnce, AFileThatCannotBeReadToAProgramThatAsksForTheListFirst) {
    const std::vector<std::string> lines = lines_told_of_an_unreadable_file([](const Dat& dat) {
        test::require(dat.count() == 0, "no entries");
        test::require(dat.count() == 0, "no entries");
        open_unknown(dat);
    });
    expect_one_line(lines, {"[DAT010]", "larger than 16 MiB"});
}

TEST(RegistryTellsOnce, AFileThatCannotBeReadToAProgramThatOpensFirst) {
    const std::vector<std::string> lines = lines_told_of_an_unreadable_file([](const Dat& dat) {
        open_unknown(dat);
        test::require(dat.count() == 0, "no entries");
    });
    expect_one_line(lines, {"[DAT001]", "larger than 16 MiB"});
}

TEST(Registry, StopsTellingAfterThreeFailures) {
    const auto open_many = [](const Dat& dat) {
        DAT_IA_HANDLE ia = DAT_HANDLE_NULL;
        for (int i = 0; i < 50; ++i)
            test::require(dat.open("missing", &ia) == kNotFound, "the code");
    };
    const std::vector<std::string> lines = lines_told(record("a"), open_many);
    ASSERT_EQ(lines.size(), 4u);
    EXPECT_NE(lines[3].find("DAT_TRACE_LEVEL=7"), std::string::npos);
    EXPECT_NE(lines[3].find("dat.conf(5)"), std::string::npos);

    setenv("DAT_TRACE_LEVEL", "7", 1);
    const std::vector<std::string> all = lines_told(record("a"), open_many);
    EXPECT_EQ(std::count_if(all.begin(), all.end(),
                            [](const std::string& line) {
                                return line.find("opendat: error:") != std::string::npos;
                            }),
              50);
    unsetenv("DAT_TRACE_LEVEL");
}

TEST(Registry, TellsOfBadLinesAtFirstUseOnceAndNotWithoutEnd) {
    std::string conf = record("good");
    for (int i = 0; i < 100; ++i) conf += "bad line\n";
    EXPECT_EQ(lines_told(conf, [](const Dat&) {}).size(), 0u);
    const std::vector<std::string> lines = lines_told(conf, [](const Dat& dat) {
        test::require(dat.count() == 1, "one entry");
        test::require(dat.count() == 1, "one entry");
    });
    ASSERT_EQ(lines.size(), 11u) << testing::PrintToString(lines);
    EXPECT_NE(lines[0].find(":2:5: api_version is 'line', expected "), std::string::npos);
    EXPECT_NE(lines[10].find("90 more bad lines"), std::string::npos);
}

TEST(Registry, OpensAndClosesFromSeveralThreadsAndUnloadsAtTheLastClose) {
    test::Child child([](test::Channel&) {
        const Dat dat(record("a") + record("b"));
        std::atomic<int> failures{0};
        std::vector<test::Thread> threads;
        for (const char* name : {"a", "a", "b", "b"}) {
            threads.emplace_back([&dat, &failures, name] {
                for (int i = 0; i < test::scaled(200); ++i) {
                    DAT_IA_HANDLE ia = DAT_HANDLE_NULL;
                    const bool opened = dat.open(name, &ia) == DAT_SUCCESS;
                    if (!opened || dat.close_ia(ia) != DAT_SUCCESS) ++failures;
                }
            });
        }
        for (test::Thread& thread : threads) thread.join();
        test::require(failures == 0, "each open and close succeeds");
        test::require(!is_mapped("fake_provider.so"), "the library is unloaded");
    });
    EXPECT_EQ(child.wait(), 0);
}

/// An IA whose provider holds each thread that waits on the async EVD until let_one_go().
class HeldWaits {
  public:
    HeldWaits() {
        test::require(dat.open("a", &ia, &async) == DAT_SUCCESS, "opened");
        test::require(socketpair(AF_UNIX, SOCK_STREAM, 0, ends_) == 0, "a pair of sockets");
        setenv("PROBE_HOLD_FD", std::to_string(ends_[1]).c_str(), 1);
    }
    void await_one() const {
        char byte;
        test::require(read(ends_[0], &byte, 1) == 1, "a thread waits in the provider");
    }
    void let_one_go() const { test::require(write(ends_[0], "g", 1) == 1, "the thread is let go"); }

    const Dat dat{record("a", "waits")};
    DAT_IA_HANDLE ia = DAT_HANDLE_NULL;
    DAT_EVD_HANDLE async = DAT_HANDLE_NULL;

  private:
    int ends_[2];
};

TEST(Registry, KeepsALibraryMappedInWhichAThreadStillWaits) {
    test::Child child([](test::Channel&) {
        const HeldWaits waits;
        const Dat& dat = waits.dat;
        test::Thread waiter([&] {
            test::require(dat.wait(waits.async) == DAT_INVALID_STATE, "the waiter returns");
        });
        waits.await_one();
        test::require(dat.close_ia(waits.ia) == DAT_SUCCESS, "closed");
        test::require(is_mapped("fake_provider.so"), "the library is still mapped");
        waits.let_one_go();
        waiter.join();
        DAT_IA_HANDLE ia = DAT_HANDLE_NULL;
        test::require(dat.open("a", &ia) == DAT_SUCCESS, "opened again");
        test::require(dat.close_ia(ia) == DAT_SUCCESS, "closed again");
    });
    EXPECT_EQ(child.wait(), 0);
}

TEST(Registry, UnloadsALibraryInWhichAWaitWasCancelled) {
    test::Child child([](test::Channel&) {
        const HeldWaits waits;
        const Dat& dat = waits.dat;
        for (const int type : {PTHREAD_CANCEL_DEFERRED, PTHREAD_CANCEL_ASYNCHRONOUS}) {
            test::Thread waiter([&] {
                pthread_setcanceltype(type, nullptr);
                dat.wait(waits.async);
            });
            waits.await_one();
            test::require(pthread_cancel(waiter.native_handle()) == 0, "cancelled");
            waiter.join();
        }
        test::require(dat.close_ia(waits.ia) == DAT_SUCCESS, "closed");
        test::require(!is_mapped("fake_provider.so"), "the library is unloaded");
    });
    EXPECT_EQ(child.wait(), 0);
}

TEST(Registry, StartsWithNoOpenIaInAForkedChild) {
    test::Child child([](test::Channel&) {
        const Dat dat(record("a"));
        DAT_IA_HANDLE ia = DAT_HANDLE_NULL;
        test::require(dat.open("a", &ia) == DAT_SUCCESS, "opened");
        test::Child forked([&](test::Channel&) {
            test::require(dat.close_ia(ia) == kInvalidIa, "the parent's handle is invalid");
            DAT_IA_HANDLE own = DAT_HANDLE_NULL;
            test::require(dat.open("a", &own) == DAT_SUCCESS, "opened in the child");
            test::require(dat.close_ia(own) == DAT_SUCCESS, "closed in the child");
            test::require(!is_mapped("fake_provider.so"), "the library is unloaded in the child");
        });
        test::require(forked.wait() == 0, "the child's answers");
        test::require(dat.close_ia(ia) == DAT_SUCCESS, "closed in the parent");
        test::require(!is_mapped("fake_provider.so"), "the library is unloaded");
    });
    EXPECT_EQ(child.wait(), 0);
}

TEST(Registry, IsUnloadedWithItsLibraryAndLeavesNothing) {
    test::Child child([](test::Channel&) {
        for (int i = 0; i < 3; ++i) {
            const Dat dat(record("a"));
            DAT_IA_HANDLE ia = DAT_HANDLE_NULL;
            test::require(dat.open("a", &ia) == DAT_SUCCESS, "opened");
            test::require(dat.close_ia(ia) == DAT_SUCCESS, "closed");
            test::require(dlclose(dat.handle()) == 0, "dlclose");
            test::require(!is_mapped("libdat2.so"), "libdat2 is unloaded");
        }
    });
    EXPECT_EQ(child.wait(), 0);
}

TEST(Registry, LeavesAnOpenIasLibraryMappedAtExit) {
    test::Child child([](test::Channel&) {
        const Dat dat(record("a"));
        DAT_IA_HANDLE ia = DAT_HANDLE_NULL;
        test::require(dat.open("a", &ia) == DAT_SUCCESS, "opened");
        exit(0);  // runs destructors, unlike the end of a test's child
    });
    EXPECT_EQ(child.wait(), 0);
}

}  // namespace
