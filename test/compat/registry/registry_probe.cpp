// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Calls the registry functions of a libdat2 as a case asks and prints the results, so that two
/// implementations can be compared line by line.
///
///   registry_probe LIBDAT2 global|local|preloaded CASE
///
/// CASE is a dat.conf; each of its comment lines that begin with `#!` is a question (see
/// `kQuestions`). The answers go to descriptor 3, as a libdat2 may print anything on the others.
#include <dat2/udat.h>
// after udat.h, which it needs
#include <dat2/dat_registry.h>
#include <dlfcn.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

namespace {

FILE* g_answers;
void* g_libdat2;
int g_sentinel_evd;

template <class Function>
Function* symbol(const char* name) {
    void* found = dlsym(g_libdat2, name);
    if (!found) {
        fprintf(stderr, "registry_probe: no %s in this libdat2\n", name);
        exit(2);
    }
    return reinterpret_cast<Function*>(found);
}

#define DAT(function) symbol<decltype(::function)>(#function)
using GetIaHandle = DAT_RETURN(DAT_IA_HANDLE, DAT_IA_HANDLE*);
using Words = std::vector<std::string>;

struct Opened {
    DAT_IA_HANDLE ia = nullptr;
    DAT_EVD_HANDLE async = nullptr;
};
std::map<std::string, Opened> g_opened;

template <class... Arguments>
void answer(const char* format, Arguments... arguments) {
    fprintf(g_answers, format, arguments...);
    fputc('\n', g_answers);
    fflush(g_answers);
}

std::string word(const Words& words, size_t index, const char* otherwise) {
    return index < words.size() ? words[index] : otherwise;
}

unsigned number(const Words& words, size_t index, unsigned otherwise) {
    return index < words.size() ? static_cast<unsigned>(strtol(words[index].c_str(), nullptr, 0))
                                : otherwise;
}

void print_mapped() {
    std::ifstream maps("/proc/self/maps");
    std::set<std::string> libraries;
    for (std::string line; std::getline(maps, line);) {
        const size_t slash = line.rfind('/');
        if (slash == std::string::npos) continue;
        const std::string name = line.substr(slash + 1);
        if (name.find("fake_") == 0 || name.find("libdaplo") == 0)
            libraries.insert(name.substr(0, name.find(".so")));
    }
    std::string list;
    for (const std::string& name : libraries) list += " " + name;
    answer("  mapped:%s", list.c_str());
}

/// list MAX [INDEX_OF_NULL_SLOT]
void ask_list(const Words& words) {
    const int max = static_cast<int>(number(words, 1, 64));
    std::vector<DAT_PROVIDER_INFO> infos(64);
    std::vector<DAT_PROVIDER_INFO*> slots;
    for (DAT_PROVIDER_INFO& info : infos) {
        memset(&info, 0x5a, sizeof info);
        slots.push_back(&info);
    }
    if (words.size() > 2) slots[number(words, 2, 0)] = nullptr;
    DAT_COUNT entries = -7;
    const DAT_RETURN code = DAT(dat_registry_list_providers)(max, &entries, slots.data());
    answer("  code %#x entries %d", code, entries);
    for (const DAT_PROVIDER_INFO& info : infos)
        if (info.ia_name[0] != 0x5a)
            answer("  [%s] %u.%u %d", info.ia_name, info.dapl_version_major,
                   info.dapl_version_minor, info.is_thread_safe);
}

void ask_list_arguments(const Words&) {
    DAT_COUNT entries = -7;
    DAT_PROVIDER_INFO info;
    DAT_PROVIDER_INFO* slots[] = {&info};
    answer("  null entries %#x", DAT(dat_registry_list_providers)(1, nullptr, slots));
    answer("  null list %#x", DAT(dat_registry_list_providers)(1, &entries, nullptr));
    answer("  entries %d", entries);
    answer("  null list, max 0 %#x", DAT(dat_registry_list_providers)(0, &entries, nullptr));
    answer("  entries %d", entries);
    answer("  null list, max -1 %#x", DAT(dat_registry_list_providers)(-1, &entries, nullptr));
    answer("  null entries, max 0 %#x", DAT(dat_registry_list_providers)(0, nullptr, slots));
}

std::string describe(DAT_IA_HANDLE ia) {
    const auto value = reinterpret_cast<uintptr_t>(ia);
    return value < 4096 ? std::to_string(value) : "pointer";
}

/// open NAME [MAJOR MINOR THREAD_SAFE] [AS]
void ask_open(const Words& words) {
    const std::string name = words.at(1);
    Opened opened;
    opened.ia = reinterpret_cast<DAT_IA_HANDLE>(77);
    const DAT_RETURN code = DAT(dat_ia_openv)(const_cast<char*>(name.c_str()), 8, &opened.async,
                                              &opened.ia, number(words, 2, 2), number(words, 3, 0),
                                              static_cast<DAT_BOOLEAN>(number(words, 4, 0)));
    answer("  code %#x", code);
    if (code == DAT_SUCCESS) {
        answer("  ia %s async %s", describe(opened.ia).c_str(), opened.async ? "set" : "none");
        g_opened[word(words, 5, name.c_str())] = opened;
        return;
    }
    opened.async = &g_sentinel_evd;
    const DAT_RETURN again = DAT(dat_ia_openv)(const_cast<char*>(name.c_str()), 8, &opened.async,
                                               &opened.ia, number(words, 2, 2), number(words, 3, 0),
                                               static_cast<DAT_BOOLEAN>(number(words, 4, 0)));
    answer("  again %#x, async variable %s, ia variable %s", again,
           opened.async == &g_sentinel_evd ? "untouched" : "changed", describe(opened.ia).c_str());
}

void ask_open_arguments(const Words& words) {
    DAT_IA_HANDLE ia = nullptr;
    DAT_EVD_HANDLE async = nullptr;
    std::string name = words.at(1);
    std::string longest(255, 'x');
    std::string too_long(256, 'x');
    auto* open = DAT(dat_ia_openv);
    answer("  null name %#x", open(nullptr, 8, &async, &ia, 2, 0, DAT_FALSE));
    answer("  null name and ia %#x", open(nullptr, 8, &async, nullptr, 2, 0, DAT_FALSE));
    answer("  null ia %#x", open(name.data(), 8, &async, nullptr, 2, 0, DAT_FALSE));
    answer("  null ia, unknown name %#x",
           open(longest.data(), 8, &async, nullptr, 2, 0, DAT_FALSE));
    answer("  name of 255 %#x", open(longest.data(), 8, &async, &ia, 2, 0, DAT_FALSE));
    answer("  name of 256 %#x", open(too_long.data(), 8, &async, &ia, 2, 0, DAT_FALSE));
    answer("  name of 256, null ia %#x",
           open(too_long.data(), 8, &async, nullptr, 2, 0, DAT_FALSE));
    std::string empty;
    answer("  empty name %#x", open(empty.data(), 8, &async, &ia, 2, 0, DAT_FALSE));
    ia = nullptr;
    const DAT_RETURN code = open(name.data(), -1, nullptr, &ia, 2, 0, DAT_FALSE);
    answer("  null async %#x", code);
    if (code == DAT_SUCCESS) answer("  closed %#x", DAT(dat_ia_close)(ia, DAT_CLOSE_ABRUPT_FLAG));
}

/// query AS
void ask_query(const Words& words) {
    DAT_IA_ATTR ia_attr;
    DAT_PROVIDER_ATTR attr{};
    const DAT_RETURN code = DAT(dat_ia_query)(g_opened[words.at(1)].ia, nullptr, DAT_IA_FIELD_NONE,
                                              &ia_attr, DAT_PROVIDER_FIELD_ALL, &attr);
    answer("  code %#x name [%s] %u.%u %d", code, attr.provider_name, attr.dapl_version_major,
           attr.dapl_version_minor, attr.is_thread_safe);
}

/// close AS [FLAGS]
void ask_close(const Words& words) {
    answer("  code %#x",
           DAT(dat_ia_close)(g_opened[words.at(1)].ia, static_cast<DAT_CLOSE_FLAGS>(number(
                                                           words, 2, DAT_CLOSE_ABRUPT_FLAG))));
    print_mapped();
}

/// close-number N
void ask_close_number(const Words& words) {
    const auto ia = reinterpret_cast<DAT_IA_HANDLE>(static_cast<uintptr_t>(number(words, 1, 0)));
    answer("  code %#x", DAT(dat_ia_close)(ia, DAT_CLOSE_ABRUPT_FLAG));
}

/// handle AS: both directions of dats_get_ia_handle
void ask_handle(const Words& words) {
    auto* get = symbol<GetIaHandle>("dats_get_ia_handle");
    DAT_IA_HANDLE provider = nullptr;
    DAT_IA_HANDLE consumer = nullptr;
    DAT_RETURN code = get(g_opened[words.at(1)].ia, &provider);
    answer("  code %#x gives %s", code, describe(provider).c_str());
    code = get(provider, &consumer);
    answer("  code %#x gives %s", code, describe(consumer).c_str());
}

/// handle-number N
void ask_handle_number(const Words& words) {
    auto* get = symbol<GetIaHandle>("dats_get_ia_handle");
    DAT_IA_HANDLE out = reinterpret_cast<DAT_IA_HANDLE>(77);
    const auto in =
        reinterpret_cast<DAT_IA_HANDLE>(strtoul(word(words, 1, "0").c_str(), nullptr, 0));
    const DAT_RETURN code = get(in, &out);
    answer("  code %#x gives %s", code, describe(out).c_str());
}

DAT_RETURN own_ia_open(const DAT_NAME_PTR name, DAT_COUNT, DAT_EVD_HANDLE*, DAT_IA_HANDLE*) {
    answer("  probe: ia_open %s", name);
    return DAT_INTERNAL_ERROR;
}

DAT_PROVIDER_INFO info_of(const Words& words) {
    DAT_PROVIDER_INFO info;
    memset(&info, 0, sizeof info);
    snprintf(info.ia_name, sizeof info.ia_name, "%s", words.at(1).c_str());
    info.dapl_version_major = number(words, 2, 2);
    info.dapl_version_minor = number(words, 3, 0);
    info.is_thread_safe = static_cast<DAT_BOOLEAN>(number(words, 4, 0));
    return info;
}

DAT_PROVIDER* own_provider() {
    static DAT_PROVIDER provider;
    provider.ia_open_func = own_ia_open;
    return &provider;
}

/// add NAME [MAJOR MINOR THREAD_SAFE]: a provider inside this program
void ask_add(const Words& words) {
    const DAT_PROVIDER_INFO info = info_of(words);
    answer("  code %#x", DAT(dat_registry_add_provider)(own_provider(), &info));
}

/// remove NAME [MAJOR MINOR THREAD_SAFE]
void ask_remove(const Words& words) {
    const DAT_PROVIDER_INFO info = info_of(words);
    answer("  code %#x", DAT(dat_registry_remove_provider)(own_provider(), &info));
}

void ask_add_arguments(const Words& words) {
    const DAT_PROVIDER_INFO info = info_of(words);
    answer("  add without provider %#x", DAT(dat_registry_add_provider)(nullptr, &info));
    answer("  remove without provider %#x", DAT(dat_registry_remove_provider)(nullptr, &info));
}

/// extension NAME: dat_extension_op on an open IA
void ask_extension(const Words& words) {
    answer("  code %#x",
           DAT(dat_extension_op)(g_opened[words.at(1)].ia, static_cast<DAT_EXTENDED_OP>(1)));
}

/// setenv NAME VALUE: after the library was loaded
void ask_setenv(const Words& words) {
    setenv(words.at(1).c_str(), words.at(2).c_str(), 1);
}

void ask_mapped(const Words&) {
    print_mapped();
}

/// open-all: lists the providers and opens each, as MPI libraries do
void ask_open_all(const Words&) {
    std::vector<DAT_PROVIDER_INFO> infos(64);
    std::vector<DAT_PROVIDER_INFO*> slots;
    for (DAT_PROVIDER_INFO& info : infos) slots.push_back(&info);
    DAT_COUNT entries = 0;
    const DAT_RETURN code = DAT(dat_registry_list_providers)(64, &entries, slots.data());
    answer("  code %#x entries %d", code, entries);
    for (int i = 0; i < entries; ++i) {
        const DAT_PROVIDER_INFO& info = infos[static_cast<size_t>(i)];
        const Words open = {"open", info.ia_name, std::to_string(info.dapl_version_major),
                            std::to_string(info.dapl_version_minor),
                            std::to_string(info.is_thread_safe)};
        answer("  [%s] %s.%s %s", info.ia_name, open[2].c_str(), open[3].c_str(), open[4].c_str());
        ask_open(open);
        if (g_opened.count(info.ia_name)) ask_close({"close", info.ia_name});
        g_opened.erase(info.ia_name);
    }
}

const std::map<std::string, void (*)(const Words&)> kQuestions = {
    {"list", ask_list},         {"list-arguments", ask_list_arguments},
    {"open", ask_open},         {"open-arguments", ask_open_arguments},
    {"open-all", ask_open_all}, {"query", ask_query},
    {"close", ask_close},       {"close-number", ask_close_number},
    {"handle", ask_handle},     {"handle-number", ask_handle_number},
    {"add", ask_add},           {"add-arguments", ask_add_arguments},
    {"remove", ask_remove},     {"extension", ask_extension},
    {"mapped", ask_mapped},     {"setenv", ask_setenv},
};

Words split(const std::string& line) {
    std::istringstream stream(line);
    Words words;
    for (std::string one; stream >> one;) words.push_back(one);
    return words;
}

/// @return the questions of a case; one without questions tests parsing: list and open everything.
std::vector<Words> questions_of(const char* path) {
    std::ifstream file(path);
    std::vector<Words> questions;
    for (std::string line; std::getline(file, line);)
        if (line.compare(0, 2, "#!") == 0) questions.push_back(split(line.substr(2)));
    if (questions.empty()) questions = {{"list"}, {"open-all"}};
    return questions;
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 4) return 2;
    const std::string scope = argv[2];
    g_answers = fdopen(3, "w");
    if (!g_answers) return 2;
    setenv("PROBE_FD", "3", 1);
    g_libdat2 = scope == "preloaded"
                    ? RTLD_DEFAULT
                    : dlopen(argv[1], RTLD_NOW | (scope == "local" ? RTLD_LOCAL : RTLD_GLOBAL));
    if (!g_libdat2 && scope != "preloaded") {
        fprintf(stderr, "registry_probe: %s\n", dlerror());
        return 2;
    }
    for (const Words& question : questions_of(argv[3])) {
        const auto known = kQuestions.find(question.at(0));
        if (known == kQuestions.end()) {
            fprintf(stderr, "registry_probe: no question %s\n", question[0].c_str());
            return 2;
        }
        std::string text;
        for (const std::string& one : question) text += " " + one;
        answer(">%s", text.c_str());
        known->second(question);
    }
    answer("end");
    return 0;
}
