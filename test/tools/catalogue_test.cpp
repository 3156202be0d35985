// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The catalogue of dat_strerror: nothing that a user can be told is missing.
#include <gtest/gtest.h>
#include <infiniband/verbs.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>

#include "dapl/support/messages.hpp"
#include "dat/tools/strerror/catalogue.hpp"

namespace {

using explaining::catalogue;
using explaining::Entry;
using explaining::look_up;

const Entry* find(const std::string& kind, const std::string& name) {
    for (const Entry& entry : catalogue())
        if (entry.kind == kind && entry.name == name) return &entry;
    return nullptr;
}

/// Names and values of one enum, from the table that the headers are checked against.
std::map<std::string, long> enumerators(const std::string& tag) {
    std::ifstream table(std::string(getenv("TOP_SRCDIR")) + "/test/unit/abi.tsv");
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
                                            "reject reason"}));
}

TEST(LookUp, TakesNamesInAnyCaseAndMessagesByTheirIdOrWhole) {
    EXPECT_EQ(first_name("dat_invalid_handle_ep"), "DAT_INVALID_HANDLE_EP");
    EXPECT_EQ(first_name("DAT240"), "DAT240");
    EXPECT_EQ(first_name("opendat: error: IA x cannot be opened [DAT240]"), "DAT240");
}

TEST(LookUp, KnowsNothingOfNonsenseAndNamesWhatIsNear) {
    for (const char* word :
         {"", "DAT_", "0x", "12x", "99999999999999999999", "]DAT240[", "\xff\x00"})
        EXPECT_TRUE(look_up(word).empty()) << word;
    EXPECT_EQ(explaining::nearest_names("DAT_ABRT").front(), "DAT_ABORT");
}

}  // namespace
