// SPDX-License-Identifier: BSD-2-Clause
#include "support/settings/yaml_module.hpp"

#include <dlfcn.h>
#include <sys/auxv.h>
#include <unistd.h>

#include <atomic>

namespace support {
namespace {

constexpr char kFileName[] = "libopendat-yaml.so";

constinit std::atomic<YamlReader> g_linked{nullptr};
constinit std::atomic<const char*> g_path{nullptr};

/// @return the directory from which the library that holds this code was loaded, "" for none. Finds
/// the module in trees that were moved after configuring or are not installed. This is safe:
/// whoever could put a module there could replace the library itself.
std::string own_directory() {
    Dl_info self;
    if (!dladdr(reinterpret_cast<void*>(&own_directory), &self) || !self.dli_fname) return {};
    const std::string path = self.dli_fname;
    const std::size_t slash = path.rfind('/');
    // A bare name is the program's, as it was called; a relative path depends on a directory that
    // may have changed.
    return slash == std::string::npos || path[0] != '/' ? std::string() : path.substr(0, slash);
}

}  // namespace

void use_yaml_reader(YamlReader reader) {
    g_linked.store(reader, std::memory_order_relaxed);
}

void use_yaml_module(const char* path) {
    g_path.store(path, std::memory_order_relaxed);
}

YamlModule::YamlModule() : reader_(g_linked.load(std::memory_order_relaxed)) {
    if (reader_) return;
    if (const char* const path = g_path.load(std::memory_order_relaxed)) load(path);
    if (reader_) return;
    const std::string beside = own_directory();
    // A set-uid program uses only the directory that was compiled in.
    if (getauxval(AT_SECURE) == 0 && !beside.empty()) {
        load(beside + "/opendat/" + kFileName);
        if (!reader_) load(beside + "/" + kFileName);
    }
    if (!reader_) load(std::string(OPENDAT_MODULE_DIRECTORY "/") + kFileName);
}

YamlModule::~YamlModule() {
    if (handle_) dlclose(handle_);
}

void YamlModule::load(const std::string& path) {
    if (access(path.c_str(), R_OK) != 0) {
        if (why_not_.empty())
            why_not_ = std::string(OPENDAT_MODULE_DIRECTORY "/") + kFileName + " does not exist";
        return;
    }
    handle_ = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!handle_) {
        const char* error = dlerror();
        why_not_ = error ? error : path + " cannot be loaded";
        return;
    }
    reader_ = reinterpret_cast<YamlReader>(dlsym(handle_, kYamlReaderName));
    if (reader_) return;
    why_not_ = path + " is of another release";
    dlclose(handle_);
    handle_ = nullptr;
}

}  // namespace support
