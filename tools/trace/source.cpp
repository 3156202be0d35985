// SPDX-License-Identifier: BSD-2-Clause
#include "tools/trace/source.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "tools/common/failure.hpp"
#include "tools/trace/core_file.hpp"
#include "tools/trace/dump_file.hpp"
#include "tools/trace/process.hpp"

namespace tracing {
namespace {

/// Maps a file, because core files are large and little of them is read.
class MappedFile {
  public:
    explicit MappedFile(const std::string& path) {
        const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
        struct stat status {};
        const bool is_open = file >= 0 && fstat(file, &status) == 0;
        int error_number = is_open ? 0 : errno;
        if (is_open && !S_ISREG(status.st_mode)) error_number = EINVAL;
        if (error_number == 0 && status.st_size > 0) {
            size_ = static_cast<std::size_t>(status.st_size);
            data_ = mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, file, 0);
            if (data_ == MAP_FAILED) error_number = errno;
        }
        if (file >= 0) close(file);
        if (error_number != 0)
            throw tools::Failure(path, std::strerror(error_number),
                                 "a core file or a file that --save wrote",
                                 "to trace a process, give its number");
    }
    ~MappedFile() {
        if (size_ > 0) munmap(data_, size_);
    }
    MappedFile(const MappedFile&) = delete;
    MappedFile& operator=(const MappedFile&) = delete;
    std::span<const std::byte> bytes() const { return {static_cast<std::byte*>(data_), size_}; }

  private:
    void* data_ = nullptr;
    std::size_t size_ = 0;
};

}  // namespace

std::optional<pid_t> parse_pid(const std::string& text) {
    if (text.empty() || text.size() > 9 || text.find_first_not_of("0123456789") != text.npos)
        return std::nullopt;
    return std::stoi(text);
}

Snapshot from_bytes(std::span<const std::byte> bytes, const std::string& name) {
    return is_dump(bytes) ? from_dump(bytes, name) : take_snapshot(CoreFile(bytes, name));
}

Snapshot open_file(const std::string& path) {
    const MappedFile file(path);
    return from_bytes(file.bytes(), path);
}

Snapshot open_target(const std::string& target) {
    const std::optional<pid_t> pid = parse_pid(target);
    return pid ? take_snapshot(Process(*pid)) : open_file(target);
}

}  // namespace tracing
