// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Each call of the C library that takes a path, on the devices' part of /sys under the preload.
/// sysfs.bats runs it.
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <glob.h>
#include <gtest/gtest.h>
#include <infiniband/verbs.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>
#include <set>
#include <string>
#include <thread>
#include <vector>

/// No installed header declares it.
extern "C" int ibv_read_sysfs_file(const char*, const char*, char*, size_t);

namespace {

const std::string kDevice = "/sys/class/infiniband/soft0";
const std::string kGuid = kDevice + "/node_guid";
const std::string kPlace = "/sys/devices/softverbs/softverbs0/infiniband/soft0";

/// A function of the C library by its name; headers declare some only for old programs, or not at
/// all.
template <class Function>
Function* find(const char* name) {
    return reinterpret_cast<Function*>(dlsym(RTLD_DEFAULT, name));
}

std::string read_and_close(int file) {
    char text[256];
    const ssize_t length = file < 0 ? -1 : read(file, text, sizeof text);
    const int error = errno;
    if (file >= 0) close(file);
    return length < 0 ? std::strerror(error) : std::string(text, static_cast<std::size_t>(length));
}

std::string read_and_close(FILE* stream) {
    if (!stream) return std::strerror(errno);
    char text[256] = "";
    if (!std::fgets(text, sizeof text, stream)) text[0] = '\0';
    std::fclose(stream);
    return text;
}

int folder(const char* path) {
    return open(path, O_RDONLY | O_DIRECTORY);
}

/// What verbs says, in the form of sysfs.
std::string guid_of_verbs() {
    int count = 0;
    ibv_device** const list = ibv_get_device_list(&count);
    std::string text = "no device";
    for (int index = 0; index < count; ++index) {
        if (std::strcmp(ibv_get_device_name(list[index]), "soft0") != 0) continue;
        const __be64 guid = ibv_get_device_guid(list[index]);
        const auto* bytes = reinterpret_cast<const unsigned char*>(&guid);
        char written[32];
        std::snprintf(written, sizeof written, "%02x%02x:%02x%02x:%02x%02x:%02x%02x\n", bytes[0],
                      bytes[1], bytes[2], bytes[3], bytes[4], bytes[5], bytes[6], bytes[7]);
        text = written;
    }
    ibv_free_device_list(list);
    return text;
}

using OpenMode = int(const char*, int, ...);
using OpenAtMode = int(int, const char*, int, ...);
using Open2 = int(const char*, int);
using OpenAt2 = int(int, const char*, int);

TEST(Sysfs, ManyThreadsThatComeFirstReadTheSame) {
    std::vector<std::thread> threads;
    std::vector<std::string> read(16);
    for (std::string& text : read)
        threads.emplace_back([&] { text = read_and_close(open(kGuid.c_str(), O_RDONLY)); });
    for (std::thread& thread : threads) thread.join();
    for (const std::string& text : read) EXPECT_EQ(text, guid_of_verbs());
}

TEST(Sysfs, EachCallThatOpensReadsTheGuidOfVerbs) {
    const std::string wanted = guid_of_verbs();
    for (const char* name : {"open", "open64", "__open", "__open64"})
        EXPECT_EQ(read_and_close(find<OpenMode>(name)(kGuid.c_str(), O_RDONLY)), wanted) << name;
    for (const char* name : {"__open_2", "__open64_2"})
        EXPECT_EQ(read_and_close(find<Open2>(name)(kGuid.c_str(), O_RDONLY)), wanted) << name;
    for (const char* name : {"openat", "openat64"})
        EXPECT_EQ(read_and_close(find<OpenAtMode>(name)(-1, kGuid.c_str(), O_RDONLY)), wanted)
            << name;
    for (const char* name : {"__openat_2", "__openat64_2"})
        EXPECT_EQ(read_and_close(find<OpenAt2>(name)(-1, kGuid.c_str(), O_RDONLY)), wanted) << name;
    for (const char* name : {"fopen", "fopen64"})
        EXPECT_EQ(read_and_close(find<FILE*(const char*, const char*)>(name)(kGuid.c_str(), "r")),
                  wanted)
            << name;
    for (const char* name : {"freopen", "freopen64"}) {
        FILE* const before = std::fopen("/dev/null", "r");
        auto* reopen = find<FILE*(const char*, const char*, FILE*)>(name);
        EXPECT_EQ(read_and_close(reopen(kGuid.c_str(), "r", before)), wanted) << name;
    }
    std::string line;
    std::getline(std::ifstream(kGuid), line);
    EXPECT_EQ(line + "\n", wanted);
    char text[64] = "";
    EXPECT_EQ(ibv_read_sysfs_file(kDevice.c_str(), "node_guid", text, sizeof text), 19);
    EXPECT_EQ(text + std::string("\n"), wanted);
}

TEST(Sysfs, APathMayBeginAtADescriptorOrAtTheRoot) {
    const std::string wanted = guid_of_verbs();
    const int device = folder(kDevice.c_str()), root = folder("/");
    EXPECT_EQ(read_and_close(openat(device, "node_guid", O_RDONLY)), wanted);
    EXPECT_EQ(read_and_close(openat(device, "../soft0/ports/../node_guid", O_RDONLY)), wanted);
    EXPECT_EQ(read_and_close(openat(root, kGuid.c_str() + 1, O_RDONLY)), wanted);
    EXPECT_EQ(read_and_close(openat(device, kGuid.c_str() + 1, O_RDONLY)), std::strerror(ENOENT));
    close(device);
    close(root);
    for (const char* path :
         {"/sys//class/./infiniband//soft0/node_guid", "/sys/class/infiniband/./soft0/node_guid",
          "/sys/devices/softverbs/softverbs0/infiniband/soft0/node_guid",
          "/sys/class/infiniband/soft0/device/infiniband/soft0/node_guid"})
        EXPECT_EQ(read_and_close(open(path, O_RDONLY)), wanted) << path;
}

std::set<std::string> names_in(DIR* stream) {
    std::set<std::string> names;
    while (const dirent* found = stream ? readdir(stream) : nullptr) names.insert(found->d_name);
    if (stream) closedir(stream);
    return names;
}

/// @param scan called with the place of the list.
template <class Dirent, class Scan>
std::set<std::string> scanned(Scan scan) {
    Dirent** list = nullptr;
    const int count = scan(&list);
    std::set<std::string> names;
    for (int index = 0; index < count; ++index) {
        names.insert(list[index]->d_name);
        std::free(list[index]);
    }
    std::free(list);
    return names;
}

TEST(Sysfs, EachCallThatListsFindsTheSameNames) {
    const char* const ports = "/sys/class/infiniband/soft0/ports/1";
    const auto names = names_in(opendir(ports));
    for (const char* name :
         {"state", "phys_state", "rate", "link_layer", "lid", "lid_mask_count", "sm_lid", "sm_sl",
          "cap_mask", "gids", "pkeys", "gid_attrs", "counters", "hw_counters"})
        EXPECT_TRUE(names.count(name)) << name;
    const int device = folder(kDevice.c_str());
    EXPECT_EQ(scanned<dirent>([&](auto list) { return scandir(ports, list, nullptr, alphasort); }),
              names);
    EXPECT_EQ(
        scanned<dirent64>([&](auto list) { return scandir64(ports, list, nullptr, alphasort64); }),
        names);
    EXPECT_EQ(scanned<dirent>([&](auto list) {
                  return scandirat(device, "ports/1", list, nullptr, alphasort);
              }),
              names);
    EXPECT_EQ(
        scanned<dirent>([&](auto list) { return scandirat(-1, ports, list, nullptr, alphasort); }),
        names);
    EXPECT_EQ(scanned<dirent64>(
                  [&](auto list) { return scandirat64(-1, ports, list, nullptr, alphasort64); }),
              names);
    EXPECT_EQ(names_in(fdopendir(openat(device, "ports/1", O_RDONLY | O_DIRECTORY))), names);
    close(device);
    EXPECT_TRUE(names_in(opendir("/sys/class/infiniband")).count("soft0"));
}

TEST(Sysfs, PatternsFindWhatIsThere) {
    glob_t found = {};
    EXPECT_EQ(glob("/sys/class/infiniband/soft*/ports/[0-9]/stat?", 0, nullptr, &found), 0);
    ASSERT_EQ(found.gl_pathc, 1u);
    EXPECT_STREQ(found.gl_pathv[0], "/sys/class/infiniband/soft0/ports/1/state");
    globfree(&found);
    glob64_t found64 = {};
    EXPECT_EQ(glob64("/sys/class/infiniband/*", GLOB_MARK, nullptr, &found64), 0);
    EXPECT_GE(found64.gl_pathc, 1u);
    globfree64(&found64);
    EXPECT_EQ(glob("/sys/class/infiniband/none*", 0, nullptr, &found), GLOB_NOMATCH);
    EXPECT_EQ(glob("/proc/self/stat", 0, nullptr, &found), 0);
    EXPECT_EQ(found.gl_pathc, 1u);
    globfree(&found);
}

/// Calls that describe a file, each as path -> result and mode.
struct StatCall {
    const char* name;
    bool follows;
    std::function<int(const char*, mode_t&)> call;
};

template <class Stat, class Call>
std::function<int(const char*, mode_t&)> mode_by(Call call) {
    return [call](const char* path, mode_t& mode) {
        Stat status;
        const int result = call(path, &status);
        mode = status.st_mode;
        return result;
    };
}

template <class Stat>
std::vector<StatCall> stat_calls(const std::string& suffix) {
    using Plain = int(const char*, Stat*);
    using At = int(int, const char*, Stat*, int);
    using Old = int(int, const char*, Stat*);
    using OldAt = int(int, int, const char*, Stat*, int);
    const auto named = [&](const char* name) { return strdup((name + suffix).c_str()); };
    std::vector<StatCall> calls;
    for (const char* name : {"stat", "lstat"})
        calls.push_back({named(name), *name == 's', mode_by<Stat>(find<Plain>(named(name)))});
    auto* at = find<At>(named("fstatat"));
    calls.push_back({"fstatat", true, mode_by<Stat>([at](const char* path, Stat* status) {
                         return at(AT_FDCWD, path, status, 0);
                     })});
    calls.push_back({"fstatat, no link", false, mode_by<Stat>([at](const char* path, Stat* status) {
                         return at(AT_FDCWD, path, status, AT_SYMLINK_NOFOLLOW);
                     })});
#if defined(__x86_64__)  // 1: the version of the structure
    for (const char* name : {"__xstat", "__lxstat"}) {
        auto* old = find<Old>(named(name));
        calls.push_back(
            {named(name), name[2] == 'x', mode_by<Stat>([old](const char* path, Stat* status) {
                 return old(1, path, status);
             })});
    }
    auto* old_at = find<OldAt>(named("__fxstatat"));
    calls.push_back({"__fxstatat", true, mode_by<Stat>([old_at](const char* path, Stat* status) {
                         return old_at(1, AT_FDCWD, path, status, 0);
                     })});
#endif
    return calls;
}

int call_statx(const char* path, mode_t& mode) {
    struct statx status;
    const int result = statx(AT_FDCWD, path, 0, STATX_MODE, &status);
    mode = status.stx_mode;
    return result;
}

TEST(Sysfs, EachCallThatDescribesAFileSeesFilesFoldersAndLinks) {
    std::vector<StatCall> calls = stat_calls<struct stat>("");
    for (StatCall& call : stat_calls<struct stat64>("64")) calls.push_back(call);
    calls.push_back({"statx", true, call_statx});
    for (const StatCall& call : calls) {
        mode_t mode = 0;
        EXPECT_EQ(call.call(kGuid.c_str(), mode), 0) << call.name;
        EXPECT_EQ(mode, S_IFREG | 0444u) << call.name;
        EXPECT_EQ(call.call(kDevice.c_str(), mode), 0) << call.name;
        EXPECT_EQ(S_ISDIR(mode), call.follows) << call.name;
        EXPECT_EQ(S_ISLNK(mode), !call.follows) << call.name;
        EXPECT_EQ(call.call((kDevice + "/nothing").c_str(), mode), -1) << call.name;
        EXPECT_EQ(errno, ENOENT) << call.name;
    }
}

TEST(Sysfs, EachCallThatAsksForAccessGrantsReading) {
    for (const char* name : {"access", "eaccess", "euidaccess"}) {
        auto* call = find<int(const char*, int)>(name);
        EXPECT_EQ(call(kGuid.c_str(), R_OK), 0) << name;
        EXPECT_EQ(call((kDevice + "/nothing").c_str(), F_OK), -1) << name;
        EXPECT_EQ(errno, ENOENT) << name;
    }
    EXPECT_EQ(faccessat(AT_FDCWD, kGuid.c_str(), R_OK, 0), 0);
    char value[16];
    EXPECT_EQ(getxattr(kGuid.c_str(), "user.none", value, sizeof value), -1);
    EXPECT_NE(errno, ENOENT);
    EXPECT_EQ(lgetxattr(kDevice.c_str(), "user.none", value, sizeof value), -1);
    EXPECT_NE(errno, ENOENT);
    EXPECT_TRUE(listxattr(kGuid.c_str(), value, 0) >= 0 || errno != ENOENT);
    EXPECT_TRUE(llistxattr(kDevice.c_str(), value, 0) >= 0 || errno != ENOENT);
}

TEST(Sysfs, LinksAreThoseOfAnAdapter) {
    const std::string wanted = "../../" + kPlace.substr(std::strlen("/sys/"));
    char text[PATH_MAX];
    const auto is_wanted = [&](ssize_t length) {
        return length > 0 && std::string(text, static_cast<std::size_t>(length)) == wanted;
    };
    EXPECT_TRUE(is_wanted(readlink(kDevice.c_str(), text, sizeof text)));
    EXPECT_TRUE(is_wanted(readlinkat(AT_FDCWD, kDevice.c_str(), text, sizeof text)));
    const int list = folder("/sys/class/infiniband");
    EXPECT_TRUE(is_wanted(readlinkat(list, "soft0", text, sizeof text)));
    close(list);
    auto* checked = find<ssize_t(const char*, char*, size_t, size_t)>("__readlink_chk");
    EXPECT_TRUE(is_wanted(checked(kDevice.c_str(), text, sizeof text, sizeof text)));
    auto* checked_at = find<ssize_t(int, const char*, char*, size_t, size_t)>("__readlinkat_chk");
    EXPECT_TRUE(is_wanted(checked_at(-1, kDevice.c_str(), text, sizeof text, sizeof text)));
}

std::string taken(char* text) {
    const std::string copy = text ? text : std::strerror(errno);
    std::free(text);
    return copy;
}

TEST(Sysfs, ResolvedPathsAreThoseInSys) {
    EXPECT_EQ(taken(realpath(kDevice.c_str(), nullptr)), kPlace);
    EXPECT_EQ(taken(canonicalize_file_name(kDevice.c_str())), kPlace);
    char text[PATH_MAX];
    EXPECT_STREQ(realpath((kDevice + "/device").c_str(), text),
                 "/sys/devices/softverbs/softverbs0");
    auto* checked = find<char*(const char*, char*, size_t)>("__realpath_chk");
    EXPECT_EQ(checked(kDevice.c_str(), text, sizeof text), std::string(kPlace));
    EXPECT_STREQ(realpath("/usr/../proc", text), "/proc");
    EXPECT_EQ(realpath((kDevice + "/nothing").c_str(), text), nullptr);
    EXPECT_EQ(errno, ENOENT);
}

TEST(Sysfs, TheWorkingDirectoryMayBeInIt) {
    const std::string before = taken(getcwd(nullptr, 0));
    ASSERT_EQ(chdir((kDevice + "/ports").c_str()), 0);
    const std::string wanted = kPlace + "/ports";
    EXPECT_EQ(taken(getcwd(nullptr, 0)), wanted);
    EXPECT_EQ(taken(get_current_dir_name()), wanted);
    char text[PATH_MAX];
    EXPECT_EQ(find<char*(char*, size_t, size_t)>("__getcwd_chk")(text, sizeof text, sizeof text),
              wanted);
    EXPECT_EQ(realpath("1", text), wanted + "/1");
    EXPECT_EQ(read_and_close(open("../node_guid", O_RDONLY)), guid_of_verbs());
    EXPECT_EQ(chdir("/"), 0);
    EXPECT_EQ(read_and_close(open(kGuid.c_str() + 1, O_RDONLY)), guid_of_verbs());
    EXPECT_EQ(chdir(before.c_str()), 0);
}

template <class Result>
void expect_refused(Result result, Result failure, const std::string& what) {
    const int error = errno;
    EXPECT_EQ(result, failure) << what;
    EXPECT_EQ(error, EACCES) << what;
}

TEST(Sysfs, NothingIsOpenedForWriting) {
    const std::string wanted = guid_of_verbs();
    for (const int flags : {O_WRONLY, O_RDWR, O_RDONLY | O_TRUNC, O_WRONLY | O_CREAT | O_TRUNC}) {
        expect_refused(open(kGuid.c_str(), flags, 0644), -1, "open");
        expect_refused(openat(AT_FDCWD, kGuid.c_str(), flags, 0644), -1, "openat");
    }
    expect_refused(open((kDevice + "/new").c_str(), O_CREAT | O_WRONLY, 0644), -1, "a new file");
    expect_refused(creat(kGuid.c_str(), 0644), -1, "creat");
    expect_refused(find<Open2>("__open_2")(kGuid.c_str(), O_RDWR), -1, "__open_2");
    for (const char* mode : {"w", "r+", "a", "w+"})
        expect_refused(std::fopen(kGuid.c_str(), mode), static_cast<FILE*>(nullptr), mode);
    EXPECT_EQ(open((kDevice + "/nothing").c_str(), O_WRONLY), -1);
    EXPECT_EQ(errno, ENOENT);
    EXPECT_EQ(read_and_close(open(kGuid.c_str(), O_RDONLY)), wanted);
    EXPECT_NE(mkdir((kDevice + "/folder").c_str(), 0755), 0);
    EXPECT_NE(unlink(kGuid.c_str()), 0);
    EXPECT_EQ(access(kGuid.c_str(), F_OK), 0);
}

TEST(Sysfs, OtherPathsAreNotTouched) {
    const std::string path = std::string(getenv("BATS_TEST_TMPDIR")) + "/file";
    umask(0);
    const int made = open(path.c_str(), O_CREAT | O_WRONLY, 0640);
    ASSERT_GE(made, 0);
    struct stat status;
    EXPECT_EQ(fstat(made, &status), 0);
    EXPECT_EQ(status.st_mode & 07777, 0640u);
    close(made);
    const int unnamed = open(getenv("BATS_TEST_TMPDIR"), O_TMPFILE | O_RDWR, 0604);
    if (unnamed >= 0) {
        EXPECT_EQ(fstat(unnamed, &status), 0);
        EXPECT_EQ(status.st_mode & 07777, 0604u);
        close(unnamed);
    }
    auto* const opens = find<OpenMode>("open");
    EXPECT_EQ(opens(nullptr, O_RDONLY), -1);
    EXPECT_EQ(errno, EFAULT);
    for (const std::intptr_t address : {8, -8}) {
        EXPECT_EQ(opens(reinterpret_cast<const char*>(address), O_RDONLY), -1);
        EXPECT_EQ(errno, EFAULT);
    }
    EXPECT_EQ(opens("", O_RDONLY), -1);
    EXPECT_EQ(errno, ENOENT);
    EXPECT_EQ(access("/sys/class/infiniband/soft1", F_OK), -1);
    EXPECT_EQ(access("/sys/class/infiniband/soft00", F_OK), -1);
    EXPECT_EQ(access("/sys/class/infiniband_verbs", F_OK), -1);
    const std::string longest = kDevice + std::string(PATH_MAX - 30, '/');
    EXPECT_EQ(access(longest.c_str(), F_OK), -1);
}

TEST(Sysfs, ASuccessKeepsErrno) {
    errno = ERANGE;
    close(open(kGuid.c_str(), O_RDONLY));
    EXPECT_EQ(errno, ERANGE);
}

}  // namespace
