// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// libsoftverbs.so compared with the installed libibverbs: functions that need no device give the
/// same results; functions that the soft device cannot serve (rsockets) fail with an error.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <infiniband/sa.h>
#include <infiniband/verbs.h>
#include <rdma/ib_user_sa.h>
#include <rdma/ib_user_verbs.h>
#include <rdma/rsocket.h>

#include <cstdlib>
#include <cstring>
#include <random>
#include <string>

namespace {

std::string softverbs_path() {
    return std::string(getenv("TOP_BUILDDIR")) + "/.libs/libsoftverbs.so";
}

class Library {
  public:
    explicit Library(const std::string& path)
        : handle_(dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL)) {}
    ~Library() {
        if (handle_) dlclose(handle_);
    }
    Library(const Library&) = delete;
    Library& operator=(const Library&) = delete;
    explicit operator bool() const { return handle_ != nullptr; }

    template <class Function>
    Function* find(const char* name, const char* version) const {
        return reinterpret_cast<Function*>(dlvsym(handle_, name, version));
    }

  private:
    void* handle_;
};

class BesideLibibverbs : public testing::Test {
  protected:
    void SetUp() override {
        ASSERT_TRUE(ours_) << dlerror();
        ASSERT_TRUE(theirs_) << dlerror();
    }

    template <class Function>
    void find(const char* name, const char* version, Function*& ours, Function*& theirs) {
        ours = ours_.find<Function>(name, version);
        theirs = theirs_.find<Function>(name, version);
        ASSERT_TRUE(ours && theirs) << name;
        ASSERT_NE(ours, theirs) << name;
    }

    /// Fills `from` with random bytes, converts it with both libraries and compares every byte of
    /// the results, including those that neither writes.
    template <class To, class From>
    void compare_copies(const char* name, const char* version) {
        using Copy = void(To*, const From*);
        Copy* ours = nullptr;
        Copy* theirs = nullptr;
        find(name, version, ours, theirs);
        std::mt19937 random(1);
        for (int round = 0; round < 50; ++round) {
            From from;
            for (size_t i = 0; i < sizeof from; ++i)
                reinterpret_cast<unsigned char*>(&from)[i] = static_cast<unsigned char>(random());
            To to[2];
            memset(static_cast<void*>(to), 0x5a, sizeof to);
            ours(&to[0], &from);
            theirs(&to[1], &from);
            ASSERT_EQ(0, memcmp(&to[0], &to[1], sizeof to[0])) << name;
        }
    }

    Library ours_{softverbs_path()};
    Library theirs_{"libibverbs.so.1"};
};

TEST_F(BesideLibibverbs, LinkRatesConvertAlike) {
    struct Conversion {
        const char* name;
        const char* version;
        int last;
    };
    for (const Conversion& conversion : {Conversion{"ibv_rate_to_mult", "IBVERBS_1.0", 64},
                                         Conversion{"ibv_rate_to_mbps", "IBVERBS_1.1", 64},
                                         Conversion{"mult_to_ibv_rate", "IBVERBS_1.0", 1000},
                                         Conversion{"mbps_to_ibv_rate", "IBVERBS_1.1", 1300000}}) {
        int (*ours)(int) = nullptr;
        int (*theirs)(int) = nullptr;
        find(conversion.name, conversion.version, ours, theirs);
        for (int value = -2; value <= conversion.last; ++value)
            ASSERT_EQ(theirs(value), ours(value)) << conversion.name << ' ' << value;
    }
}

TEST_F(BesideLibibverbs, NamesOfCodesAreNeverNull) {
    for (const char* name :
         {"ibv_wc_status_str", "ibv_node_type_str", "ibv_port_state_str", "ibv_event_type_str"}) {
        const char* (*ours)(int) = nullptr;
        const char* (*theirs)(int) = nullptr;
        find(name, "IBVERBS_1.1", ours, theirs);
        for (int value = -1; value < 40; ++value) ASSERT_NE(nullptr, ours(value)) << name;
    }
}

TEST_F(BesideLibibverbs, KernelRecordsAreCopiedAlike) {
    compare_copies<ibv_ah_attr, ib_uverbs_ah_attr>("ibv_copy_ah_attr_from_kern", "IBVERBS_1.1");
    compare_copies<ibv_qp_attr, ib_uverbs_qp_attr>("ibv_copy_qp_attr_from_kern", "IBVERBS_1.0");
    compare_copies<ibv_sa_path_rec, ib_user_path_rec>("ibv_copy_path_rec_from_kern", "IBVERBS_1.0");
    compare_copies<ib_user_path_rec, ibv_sa_path_rec>("ibv_copy_path_rec_to_kern", "IBVERBS_1.0");
}

TEST(Libsoftverbs, RsocketsAnswerThatThereAreNone) {
    const Library library(softverbs_path());
    ASSERT_TRUE(library) << dlerror();
    auto* create = library.find<decltype(rsocket)>("rsocket", "RDMACM_1.0");
    auto* destroy = library.find<decltype(rclose)>("rclose", "RDMACM_1.0");
    ASSERT_TRUE(create && destroy);
    errno = 0;
    EXPECT_EQ(-1, create(AF_INET, SOCK_STREAM, 0));
    EXPECT_EQ(EOPNOTSUPP, errno);
    EXPECT_EQ(-1, destroy(0));
    EXPECT_EQ(EBADF, errno);
}

TEST(Libsoftverbs, RpollWaitsForOrdinaryDescriptors) {
    const Library library(softverbs_path());
    ASSERT_TRUE(library) << dlerror();
    auto* wait = library.find<decltype(rpoll)>("rpoll", "RDMACM_1.0");
    ASSERT_TRUE(wait);
    int ends[2];
    ASSERT_EQ(0, pipe(ends));
    pollfd descriptor{ends[0], POLLIN, 0};
    EXPECT_EQ(0, wait(&descriptor, 1, 0));
    ASSERT_EQ(1, write(ends[1], "x", 1));
    EXPECT_EQ(1, wait(&descriptor, 1, 1000));
    EXPECT_EQ(POLLIN, descriptor.revents);
    close(ends[0]);
    close(ends[1]);
}

}  // namespace
