// SPDX-License-Identifier: BSD-2-Clause
// The three provider libraries in one process, over one software device: libdaplsoft, libdaploscm
// and libdaplofa.
#include <gtest/gtest.h>

#include <dat2/udat.h>

#include <set>
#include <vector>

#include "test/support/over_sockets.hpp"

#include "test/api/side.hpp"
#include "test/api/status_client.hpp"

namespace test {
namespace {

/// @return the ids of all IAs and EVDs in the status of a provider library.
std::vector<std::string> ids_in(const nlohmann::json& status) {
    std::vector<std::string> ids;
    for (const auto& ia : status["ias"]) {
        ids.push_back(ia["id"]);
        for (const auto& evd : ia["evds"]) ids.push_back(evd["id"]);
    }
    return ids;
}

TEST(ThreeProviders, give_their_objects_ids_that_are_unique_in_the_process) {
    constexpr int kEvds = 20;
    const TemporaryFabric fabric;
    const std::string directory = fabric.path() + "/status";
    const Setting on("OPENDAT_STATUS", "on"), there("OPENDAT_STATUS_DIRECTORY", directory);
    std::vector<DAT_IA_HANDLE> opened;
    for (const char* name : {"soft0", "scm0", "cma0"}) {
        DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
        DAT_IA_HANDLE ia = DAT_HANDLE_NULL;
        succeed(dat_ia_open(const_cast<char*>(name), 8, &async, &ia), name);
        opened.push_back(ia);
        for (int i = 1; i < kEvds; ++i) {
            DAT_EVD_HANDLE evd = DAT_HANDLE_NULL;
            succeed(dat_evd_create(ia, 8, DAT_HANDLE_NULL, DAT_EVD_CR_FLAG, &evd), name);
        }
    }
    const std::vector<std::string> sockets = status_sockets(directory, getpid());
    EXPECT_EQ(sockets.size(), 3u) << "one for each library";
    std::vector<std::string> ids;
    for (const std::string& socket : sockets)
        for (const std::string& id : ids_in(ask_status(socket))) ids.push_back(id);
    EXPECT_EQ(ids.size(), 3u * (1 + kEvds));
    EXPECT_EQ(std::set<std::string>(ids.begin(), ids.end()).size(), ids.size());
    for (const DAT_IA_HANDLE ia : opened) EXPECT_EQ(dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG), 0u);
}

}  // namespace
}  // namespace test
