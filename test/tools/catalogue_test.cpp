// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The catalogue of dat_strerror: it has an entry for everything that may be reported to a user.
#include <gtest/gtest.h>
#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>

#include "support/base/messages.hpp"
#include "tools/doctor/finding.hpp"
#include "tools/strerror/catalogue.hpp"

namespace {

using explaining::catalogue;
using explaining::Entry;
using explaining::look_up;

const Entry* find(const std::string& kind, const std::string& name) {
    for (const Entry& entry : catalogue())
        if (entry.kind == kind && entry.name == name) return &entry;
    return nullptr;
}

/// @return names and values of one enum, from the table against which the headers are checked.
std::map<std::string, long> enumerators(const std::string& tag) {
    std::ifstream table(std::string(getenv("TOP_SRCDIR")) + "/test/dat/abi.tsv");
    std::map<std::string, long> result;
    for (std::string line; std::getline(table, line);) {
        std::istringstream fields(line);
        std::string kind, name, member, offset, size, value;
        for (std::string* field : {&kind, &name, &member, &offset, &size, &value})
            std::getline(fields, *field, '\t');
        if (kind == "enumerator" && name == tag) result[member] = std::stol(value);
    }
    return result;
}

void expect_all(const std::string& kind, const std::string& tag, std::size_t least) {
    const auto names = enumerators(tag);
    ASSERT_GE(names.size(), least);
    for (const auto& [name, value] : names) {
        const Entry* entry = find(kind, name);
        ASSERT_NE(entry, nullptr) << name;
        EXPECT_EQ(entry->code, value) << name;
    }
}

TEST(Catalogue, EveryEntryHasAMeaningCausesAndANextStep) {
    ASSERT_GE(catalogue().size(), 250u);
    for (const Entry& entry : catalogue()) {
        EXPECT_FALSE(entry.meaning.empty()) << entry.name;
        EXPECT_FALSE(entry.causes.empty()) << entry.name;
        EXPECT_FALSE(entry.next_step.empty()) << entry.name;
        EXPECT_EQ((entry.meaning + entry.next_step).find('{'), std::string::npos) << entry.name;
    }
}

TEST(Catalogue, HasEveryTypeOfReturnCode) {
    expect_all("type", "dat_return_type", 26);
}
TEST(Catalogue, HasEverySubtypeOfReturnCode) {
    expect_all("subtype", "dat_return_subtype", 104);
}

TEST(Catalogue, HasEveryStatusOfACompletionOfVerbsAndOfDat) {
    for (int status = IBV_WC_SUCCESS; status <= IBV_WC_TM_RNDV_INCOMPLETE; ++status) {
        const bool known =
            std::any_of(catalogue().begin(), catalogue().end(), [&](const Entry& entry) {
                return entry.kind == "completion status" && entry.code == status;
            });
        EXPECT_TRUE(known) << ibv_wc_status_str(static_cast<ibv_wc_status>(status));
    }
    expect_all("DTO status", "dat_dto_completion_status", 12);
}

TEST(Catalogue, HasEveryRejectReasonOfTheInfinibandSpecification) {
    std::set<long> reasons;
    for (const Entry& entry : catalogue())
        if (entry.kind == "reject reason") reasons.insert(*entry.code);
    for (long reason = 1; reason <= 33; ++reason) EXPECT_EQ(reasons.count(reason), 1u) << reason;
}

TEST(Catalogue, HasEveryStatusOfASidrReply) {
    std::set<long> statuses;
    for (const Entry& entry : catalogue())
        if (entry.kind == "SIDR status") statuses.insert(*entry.code);
    EXPECT_EQ(statuses, (std::set<long>{1, 2, 3, 4, 5}));
}

TEST(Catalogue, HasEveryEventThatTellsOfAnEndOrAFailure) {
    for (const auto& [name, value] : enumerators("dat_event_number")) {
        if (name.find("ERROR") == std::string::npos && name.find("DAT_CONNECTION") != 0) continue;
        const Entry* entry = find("event", name);
        ASSERT_NE(entry, nullptr) << name;
        EXPECT_EQ(entry->code, value) << name;
    }
}

TEST(Catalogue, HasEveryMessageOfTheLibrariesUnderAnIdOfItsOwn) {
    std::set<std::string> ids;
    for (const support::Message* message : support::kMessages) {
        EXPECT_NE(find("message", message->id), nullptr) << message->id << ": " << message->text;
        EXPECT_TRUE(ids.insert(message->id).second) << message->id;
    }
}

std::string first_name(const std::string& word) {
    const auto found = look_up(word);
    return found.empty() ? "" : found.front().name;
}

TEST(LookUp, TakesACodeInEveryFormThatProgramsPrintItIn) {
    for (const char* word : {"0x800a0064", "0X800A0064", "2148139108", "-2146828188", "0xa0064"}) {
        const auto found = look_up(word);
        ASSERT_EQ(found.size(), 2u) << word;
        EXPECT_EQ(found[0].name, "DAT_PROVIDER_NOT_FOUND") << word;
        EXPECT_EQ(found[1].name, "DAT_NAME_NOT_REGISTERED") << word;
    }
    EXPECT_EQ(first_name("0"), "DAT_SUCCESS");
}

TEST(LookUp, ASmallNumberIsShownAsEachKindThatItCanBe) {
    std::set<std::string> kinds;
    for (const Entry& entry : look_up("10")) kinds.insert(entry.kind);
    EXPECT_EQ(kinds, (std::set<std::string>{"subtype", "completion status", "DTO status",
                                            "reject reason", "rdma_cm event"}));
}

TEST(LookUp, TakesNamesInAnyCaseAndMessagesByTheirIdOrWhole) {
    EXPECT_EQ(first_name("dat_invalid_handle_ep"), "DAT_INVALID_HANDLE_EP");
    EXPECT_EQ(first_name("DAT240"), "DAT240");
    EXPECT_EQ(first_name("opendat: error: IA x cannot be opened [DAT240]"), "DAT240");
}

TEST(Catalogue, HasEveryFindingOfTheDoctor) {
    for (const doctor::Kind* kind : doctor::kCatalogue) {
        const Entry* entry = find("finding", kind->id);
        ASSERT_NE(entry, nullptr) << kind->id;
        EXPECT_EQ(entry->meaning, kind->title);
        EXPECT_EQ(first_name(kind->id), kind->id);
    }
}

TEST(Catalogue, HasEveryEventOfRdmaCmByNameAndNumber) {
    for (int event = RDMA_CM_EVENT_ADDR_RESOLVED; event <= RDMA_CM_EVENT_TIMEWAIT_EXIT; ++event) {
        const auto& all = explaining::catalogue();
        EXPECT_EQ(std::count_if(all.begin(), all.end(),
                                [&](const Entry& entry) {
                                    return entry.kind == "rdma_cm event" && entry.code == event;
                                }),
                  1)
            << event;
    }
    EXPECT_EQ(first_name("RDMA_CM_EVENT_REJECTED"), "RDMA_CM_EVENT_REJECTED");
}

TEST(LookUp, TakesTheTextsOfVerbsStatuses) {
    for (int status = IBV_WC_SUCCESS; status <= IBV_WC_GENERAL_ERR; ++status) {
        const char* text = ibv_wc_status_str(static_cast<ibv_wc_status>(status));
        const auto found = look_up(text);
        ASSERT_EQ(found.size(), 1u) << text;
        EXPECT_EQ(found[0].code, status) << text;
    }
}

TEST(LookUp, TakesACodePairAsOneWord) {
    for (const char* word :
         {"DAT_INVALID_PARAMETER DAT_INVALID_ARG3", "DAT_INVALID_PARAMETER:DAT_INVALID_ARG3",
          "DAT_INVALID_PARAMETER DAT_INVALID_ARG3 (0x00040003)"}) {
        const auto found = look_up(word);
        ASSERT_GE(found.size(), 2u) << word;
        EXPECT_EQ(found[0].name, "DAT_INVALID_PARAMETER") << word;
        EXPECT_EQ(found[1].name, "DAT_INVALID_ARG3") << word;
    }
    EXPECT_TRUE(look_up("DAT_INVALID_PARAMETER nonsense").empty());
}

TEST(LookUp, TakesTheTextsThatUsersSearchFor) {
    const std::pair<const char*, const char*> texts[] = {
        {"open_hca: getaddr_netdev failed", "open_hca: getaddr_netdev failed"},
        {"n1:CMA:2c4a: 74 us: open_hca: getaddr_netdev ERROR:No such device",
         "open_hca: getaddr_netdev failed"},
        {"MPI startup(): dapl fabric is not available and fallback fabric is not enabled",
         "dapl fabric is not available"},
        {"./prog: error while loading shared libraries: libdat.so.1: cannot open shared object "
         "file: No such file or directory",
         "libdat.so.1: cannot open shared object file"},
        {"DAT: library load failure: libdaplcma.so.1", "DAT: library load failure"},
        {"mlx5_0", "no record for mlx5, irdma or mana devices"},
        {"irdma0", "no record for mlx5, irdma or mana devices"},
        {"mana_0", "no record for mlx5, irdma or mana devices"},
        {"Is ib0 configured?", "ib0: No such device"},
        {"ib0: No such device", "ib0: No such device"},
    };
    for (const auto& [text, name] : texts) EXPECT_EQ(first_name(text), name) << text;
}

TEST(LookUp, KnowsNothingOfNonsenseAndNamesWhatIsNear) {
    for (const char* word :
         {"", "DAT_", "0x", "12x", "99999999999999999999", "]DAT240[", "\xff\x00"})
        EXPECT_TRUE(look_up(word).empty()) << word;
    EXPECT_EQ(explaining::nearest_names("DAT_ABRT").front(), "DAT_ABORT");
}

}  // namespace
