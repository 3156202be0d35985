// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Says which programs this tool can read: those of its own architecture.
#pragma once

#include <elf.h>

#include <cstring>
#include <string>

namespace tracing {

#if defined __x86_64__
inline constexpr int kMachine = EM_X86_64;
inline constexpr const char* kOurMachine = "a program for 64-bit x86";
#elif defined __aarch64__
inline constexpr int kMachine = EM_AARCH64;
inline constexpr const char* kOurMachine = "a program for 64-bit ARM";
#elif defined __riscv
inline constexpr int kMachine = EM_RISCV;
inline constexpr const char* kOurMachine = "a program for 64-bit RISC-V";
#elif defined __powerpc64__
inline constexpr int kMachine = EM_PPC64;
inline constexpr const char* kOurMachine = "a program for 64-bit POWER";
#else
inline constexpr int kMachine = EM_NONE;
inline constexpr const char* kOurMachine = "a program of this architecture";
#endif

inline bool is_elf(const Elf64_Ehdr& header) {
    return std::memcmp(header.e_ident, ELFMAG, SELFMAG) == 0;
}
inline bool is_our_machine(const Elf64_Ehdr& header) {
    constexpr int kByteOrder =
        __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? ELFDATA2LSB : ELFDATA2MSB;
    return is_elf(header) && header.e_ident[EI_CLASS] == ELFCLASS64 &&
           header.e_ident[EI_DATA] == kByteOrder &&
           (kMachine == EM_NONE || header.e_machine == kMachine);
}
/// @return what the file is instead.
inline std::string machine_name(const Elf64_Ehdr& header) {
    if (!is_elf(header)) return "it is not an ELF file";
    if (header.e_ident[EI_CLASS] == ELFCLASS32) return "it is a 32-bit program";
    return "it is for machine " + std::to_string(header.e_machine) + " of <elf.h>";
}

}  // namespace tracing
