// SPDX-License-Identifier: BSD-2-Clause
#include "providers/soft/softverbs/passthrough/account.hpp"

#include <fcntl.h>
#include <link.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <string>
#include <string_view>

#include "support/base/guard.hpp"
#include "support/base/unique_fd.hpp"
#include "support/settings/settings.hpp"

namespace softverbs::account {
namespace {

constexpr std::string_view kVerbs = "libibverbs.so.1";

/// The file's name, or nullptr. Set before main(), and never freed: calls may come at any time.
const std::string* file = nullptr;
bool was_linked = false;  ///< libibverbs was there before main()
std::atomic<bool> has_asked{false};

/// One write() for each line, because several processes append to the file. Lines are few, so that
/// nothing is kept open, which the program might close. Out of memory, the line is missing.
void write_line(std::string_view word, std::string_view detail) {
    const support::CancellationDisabled guard;
    const int before = errno;
    try {
        std::string program = program_invocation_short_name;
        for (char& letter : program)
            if (static_cast<unsigned char>(letter) < ' ') letter = '?';
        std::string line = std::to_string(getpid()) + '\t' + program + '\t';
        line.append(word).append(1, '\t').append(detail).append(1, '\n');
        const support::UniqueFd to(::open(file->c_str(), O_WRONLY | O_APPEND | O_CLOEXEC));
        if (to.valid() && ::write(to.get(), line.data(), line.size()) < 0) errno = before;
    } catch (const std::bad_alloc&) {
    }
    errno = before;
}

struct Presence {
    bool is_loaded = false;
    bool is_needed = false;
};

/// The dynamic linker has made the address of the string table absolute where it may write the
/// dynamic section (not on all architectures, and not in the vDSO).
const char* string_table(const dl_phdr_info& object, const ElfW(Dyn) * entries) {
    for (; entries->d_tag != DT_NULL; ++entries)
        if (entries->d_tag == DT_STRTAB)
            return reinterpret_cast<const char*>(
                entries->d_un.d_ptr +
                (entries->d_un.d_ptr < object.dlpi_addr ? object.dlpi_addr : 0));
    return nullptr;
}

bool needs_verbs(const dl_phdr_info& object) {
    for (int i = 0; i < object.dlpi_phnum; ++i) {
        if (object.dlpi_phdr[i].p_type != PT_DYNAMIC) continue;
        const auto* entries =
            reinterpret_cast<const ElfW(Dyn)*>(object.dlpi_addr + object.dlpi_phdr[i].p_vaddr);
        const char* const strings = string_table(object, entries);
        for (; strings && entries->d_tag != DT_NULL; ++entries)
            if (entries->d_tag == DT_NEEDED && strings + entries->d_un.d_val == kVerbs) return true;
    }
    return false;
}

/// librdmacm needs libibverbs too, but a program may have opened both by dlopen.
int look_at_object(dl_phdr_info* object, std::size_t, void* data) {
    auto& found = *static_cast<Presence*>(data);
    const std::string_view path = object->dlpi_name ? object->dlpi_name : "";
    const std::string_view name = path.substr(path.rfind('/') + 1);
    if (name.starts_with("libibverbs.so")) found.is_loaded = true;
    if (!name.starts_with("librdmacm.so") && needs_verbs(*object)) found.is_needed = true;
    return 0;
}

Presence presence() {
    Presence found;
    dl_iterate_phdr(look_at_object, &found);
    return found;
}

[[gnu::constructor]] void begin() {
    const std::string named = support::setting_text(support::Setting::kSoftverbsExplain);
    if (named.empty()) return;
    was_linked = presence().is_loaded;
    file = new std::string(named);
    write_line("loaded", {});
}

[[gnu::destructor]] void end() {
    if (!file || has_asked) return;
    const Presence now = presence();
    const bool is_linked = was_linked || now.is_needed;
    write_line("unasked", is_linked ? "linked" : now.is_loaded ? "opened" : "absent");
}

void tell(std::string_view word, std::string_view detail) {
    has_asked = true;
    write_line(word, detail);
}

}  // namespace

void list(ibv_device* const* devices) {
    if (!file) return;
    std::string names;
    for (; devices && *devices; ++devices)
        names.append(names.empty() ? "" : ",").append((*devices)->name);
    tell("listed", names);
}

void open(const ibv_device* device, const ibv_context* context) {
    if (!file) return;
    const std::string failure = context ? "" : ' ' + std::to_string(errno);
    tell(context ? "opened" : "failed", device->name + failure);
}

void use_cm(bool is_systems) {
    if (file) tell("cm", is_systems ? "system" : "soft0");
}

}  // namespace softverbs::account
