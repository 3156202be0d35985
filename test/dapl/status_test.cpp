// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The parts of the answer to dat_stat.
#include <gtest/gtest.h>

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <nlohmann/json.hpp>
#include <thread>

#include "dapl/status/ages.hpp"
#include "dapl/status/document.hpp"
#include "support/base/json_writer.hpp"
#include "support/trace/status_socket.hpp"
#include "test/support/process.hpp"

namespace test {
namespace {

using namespace dapl::status;
using nlohmann::json;
namespace sockets = support::status_socket;

TEST(JsonWriter, writes_valid_text_whatever_bytes_a_name_has) {
    support::JsonWriter writer;
    writer.begin_object();
    writer.text("name", std::string_view("a\"b\\c\n\0\x80\xff", 9));
    writer.begin_array("list");
    writer.number({}, -1);
    writer.number({}, ~std::uint64_t{0});
    writer.begin_object();
    writer.end_object();
    writer.null({});
    writer.end_array();
    writer.flag("yes", true);
    writer.end_object();
    const json read = json::parse(writer.take());
    EXPECT_EQ(read["name"], std::string("a\"b\\c\n\0\u0080\u00ff", 11));
    EXPECT_EQ(read["list"], json::parse("[-1, 18446744073709551615, {}, null]"));
    EXPECT_EQ(read["yes"], true);
}

TEST(StatusSocket, names_are_read_as_they_are_written_and_others_are_none) {
    const auto name = sockets::parse_name(sockets::to_text({4711, "libdaplsoft.so.2", 3}));
    ASSERT_TRUE(name);
    EXPECT_EQ(name->process, 4711);
    EXPECT_EQ(name->library, "libdaplsoft.so.2");
    EXPECT_EQ(name->serial, 3);
    for (const char* other : {"", ".", "..", "4711", "4711.x", "0.x.0", "-1.x.0", "4711..0",
                              "4711.x.0.new", "x.4711.0", "99999999999.x.0"})
        EXPECT_FALSE(sockets::parse_name(other)) << other;
}

class PrivateDirectory : public testing::Test {
  protected:
    TemporaryFabric folder;
    const std::string path = folder.path() + "/status";
    void listen_as(const support::PrivateDirectory& in, const std::string& name,
                   support::UniqueFd& listener) {
        sockaddr_un where;
        unsigned length = 0;
        ASSERT_EQ(in.address(name, where, length), 0);
        listener.reset(socket(AF_UNIX, SOCK_STREAM, 0));
        ASSERT_EQ(bind(listener.get(), reinterpret_cast<sockaddr*>(&where), length), 0);
        ASSERT_EQ(listen(listener.get(), 1), 0);
    }
};

TEST_F(PrivateDirectory, is_made_with_mode_0700_and_refused_with_another_one_or_as_a_link) {
    ASSERT_TRUE(support::PrivateDirectory::open(path));
    struct stat status;
    ASSERT_EQ(stat(path.c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 07777, 0700u);
    for (const mode_t mode : {0710, 0701, 0777, 0720}) {
        ASSERT_EQ(chmod(path.c_str(), mode), 0);
        const auto opened = support::PrivateDirectory::open(path);
        ASSERT_FALSE(opened) << std::oct << mode;
        EXPECT_TRUE(opened.error().refused);
    }
    ASSERT_EQ(chmod(path.c_str(), 0700), 0);
    std::filesystem::create_symlink(path, folder.path() + "/link");
    const auto link = support::PrivateDirectory::open(folder.path() + "/link");
    ASSERT_FALSE(link);
    EXPECT_TRUE(link.error().refused);
}

TEST_F(PrivateDirectory, of_another_user_than_the_expected_one_is_refused) {
    ASSERT_TRUE(support::PrivateDirectory::open(path));
    const auto opened = support::PrivateDirectory::open_existing(path, geteuid() + 1);
    ASSERT_FALSE(opened);
    EXPECT_TRUE(opened.error().refused);
    EXPECT_NE(opened.error().why.find("belongs to user"), std::string::npos);
}

TEST_F(PrivateDirectory, has_the_next_name_where_another_user_has_made_the_first_and_says_so_once) {
    if (geteuid() != 0) GTEST_SKIP() << "only root can become another user";
    constexpr uid_t kUser = 61235;
    constexpr auto kStatus = support::PrivateDirectory::Purpose::kStatus;
    const std::string first = support::PrivateDirectory::default_path(kStatus, kUser);
    ASSERT_EQ(mkdir(first.c_str(), 0700), 0) << first;
    Child child([&](Channel&) {
        unsetenv("OPENDAT_STATUS_DIRECTORY");
        require(setuid(kUser) == 0, "another user");
        const std::string told = captured_stderr([&] {
            for (int i = 0; i < 2; ++i)
                require(sockets::directory_path(kUser) == first + "-2", "the next name");
        });
        const auto at = told.find("DAT312");
        require(at != std::string::npos && told.find("DAT312", at + 1) == std::string::npos,
                "reported once: " + told);
        require(told.find("OPENDAT_STATUS_DIRECTORY") != std::string::npos, "with the setting");
    });
    EXPECT_EQ(child.wait(), 0);
    EXPECT_EQ(rmdir(first.c_str()), 0);
}

TEST_F(PrivateDirectory, sockets_of_dead_processes_are_removed_and_no_others) {
    const auto directory = support::PrivateDirectory::open(path);
    ASSERT_TRUE(directory);
    Child child([](Channel&) {});
    const pid_t dead = child.pid();
    ASSERT_EQ(child.wait(), 0);
    support::UniqueFd listener;
    listen_as(*directory, sockets::to_text({dead, "old.so", 0}), listener);
    listen_as(*directory, sockets::to_text({dead, "old.so", 1}) + ".new", listener);
    listen_as(*directory, sockets::to_text({getpid(), "gone.so", 0}), listener);
    // Like the socket of a living process that is not visible from here.
    listen_as(*directory, sockets::to_text({dead, "alive.so", 0}), listener);
    sockets::remove_stale(*directory);
    auto left = directory->entries();
    std::erase_if(left, [](const std::string& name) { return name == "." || name == ".."; });
    std::sort(left.begin(), left.end());
    std::vector<std::string> wanted{sockets::to_text({getpid(), "gone.so", 0}),
                                    sockets::to_text({dead, "alive.so", 0})};
    std::sort(wanted.begin(), wanted.end());
    EXPECT_EQ(left, wanted);
}

TEST(SlotRing, shows_the_oldest_to_who_only_looks) {
    dapl::SlotRing ring;
    EXPECT_EQ(ring.look().posted, 0u);
    dapl::SlotRing::Storage slots = dapl::SlotRing::storage(4);
    ring.reset(4, 0x100000000, slots);
    EXPECT_EQ(ring.look().posted, 0u);
    for (DAT_UINT64 cookie = 70; cookie < 73; ++cookie) {
        ASSERT_TRUE(ring.has_room());
        ring.fill(cookie, cookie * 2, DAT_DTO_SEND);
        ring.commit();
    }
    EXPECT_EQ(ring.look().posted, 3u);
    EXPECT_EQ(ring.look().cookie, 70u);
    ring.release(0x100000000);
    const auto look = ring.look();
    EXPECT_EQ(look.posted, 2u);
    EXPECT_EQ(look.cookie, 71u);
    EXPECT_EQ(look.length, 142u);
    EXPECT_EQ(look.oldest, 0x100000001u);
    EXPECT_EQ(look.operation, std::uint32_t{DAT_DTO_SEND});
}

TEST(SlotRing, may_be_looked_at_while_one_thread_posts_and_another_takes) {
    constexpr std::uint32_t kSlots = 16;
    dapl::SlotRing ring;
    dapl::SlotRing::Storage slots = dapl::SlotRing::storage(kSlots);
    ring.reset(kSlots, 0, slots);
    const int count = scaled(200000);
    std::atomic<bool> done{false};
    Thread poster([&] {
        for (int i = 0; i < count; ++i) {
            while (!ring.has_room()) std::this_thread::yield();
            ring.fill(static_cast<DAT_UINT64>(i), 0, DAT_DTO_SEND);
            ring.commit();
        }
    });
    Thread taker([&] {
        for (int i = 0; i < count; ++i) {
            while (ring.posted() == 0) std::this_thread::yield();
            ring.release(ring.first_sequence());
        }
        done = true;
    });
    while (!done) ASSERT_LE(ring.look().posted, kSlots);
    poster.join();
    taker.join();
    EXPECT_EQ(ring.look().posted, 0u);
}

class StatusAges : public testing::Test {
  protected:
    StatusAges() { snapshot.ias.resize(1); }
    void observe_after(std::chrono::seconds more) {
        snapshot.when += more;
        ages.observe(snapshot);
    }
    EpStatus& ep() {
        if (snapshot.ias[0].eps.empty()) {
            snapshot.ias[0].eps.resize(1);
            ep().id = 5;
        }
        return snapshot.ias[0].eps[0];
    }
    Ages ages;
    Snapshot snapshot;
};

using namespace std::chrono_literals;

TEST_F(StatusAges, of_what_is_posted_count_from_when_it_was_seen_first) {
    SideStatus& requests = ep().requests;
    observe_after(1s);
    requests.work.posted = 1;  // into a queue that had long been empty
    observe_after(10s);
    EXPECT_EQ(requests.oldest_age, 0s);
    EXPECT_EQ(requests.idle, 10s);
    observe_after(5s);
    EXPECT_EQ(requests.oldest_age, 5s);
    requests.work.oldest = requests.taken = 1;
    observe_after(1s);
    EXPECT_EQ(requests.oldest_age, 0s);
    EXPECT_EQ(requests.idle, 0s);
}

TEST_F(StatusAges, begin_anew_for_what_was_gone_between) {
    ep().requests.work.posted = 1;
    observe_after(1s);
    ep().requests.work.posted = 0;
    observe_after(1s);
    ep().requests.work.posted = 1;
    observe_after(1s);
    EXPECT_EQ(ep().requests.oldest_age, 0s);
}

TEST_F(StatusAges, outlast_a_snapshot_that_could_not_see_everything) {
    ep().requests.work.posted = 1;
    observe_after(1s);
    Snapshot busy;
    busy.when = snapshot.when + 1s;
    busy.busy = true;
    ages.observe(busy);
    observe_after(3s);
    EXPECT_EQ(ep().requests.oldest_age, 3s);
}

TEST_F(StatusAges, of_a_dispatcher_that_a_thread_waits_on_are_none) {
    auto& evds = snapshot.ias[0].evds;
    evds.resize(1);
    evds[0].id = 6;
    observe_after(1s);
    observe_after(4s);
    EXPECT_EQ(evds[0].unlooked, 4s);
    evds[0].waited_on = true;
    observe_after(4s);
    EXPECT_EQ(evds[0].unlooked, 0s);
    evds[0].waited_on = false;
    evds[0].counters[DCNT_EVD_DEQUEUE] = 1;
    observe_after(4s);
    EXPECT_EQ(evds[0].unlooked, 0s);
}

TEST_F(StatusAges, are_in_the_document_with_what_they_belong_to) {
    SideStatus& requests = ep().requests;
    requests.work = {2, 7, 0x4711, 100, DAT_DTO_RDMA_WRITE};
    observe_after(1s);
    observe_after(2s);
    const json document = json::parse(write_document(snapshot, "lib.so", 1000ms));
    EXPECT_EQ(document["opendat_status"], 1);
    EXPECT_EQ(document["pid"], getpid());
    EXPECT_EQ(document["library"], "lib.so");
    EXPECT_EQ(document["resolution_ms"], 1000);
    const json& written = document["ias"][0]["eps"][0];
    EXPECT_EQ(written["id"], "5");
    EXPECT_EQ(written["peer"], nullptr);
    EXPECT_EQ(written["requests"]["posted"], 2);
    EXPECT_EQ(written["requests"]["oldest"],
              json::parse(R"({"operation": "RDMA write", "cookie": "0x4711", "bytes": 100,
                              "age_ms": 2000})"));
    EXPECT_EQ(written["receives"]["oldest"], nullptr);
}

}  // namespace
}  // namespace test
