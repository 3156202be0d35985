// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// dat_conf: writes and checks dat.conf and opendat.yaml.
#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <string>
#include <vector>

#include "dat/registry/conf_file.hpp"
#include "support/settings/configuration_files.hpp"
#include "support/settings/setting_values.hpp"
#include "support/settings/settings.hpp"
#include "support/settings/yaml_module.hpp"
#include "tools/common/failure.hpp"
#include "tools/common/json.hpp"
#include "tools/common/libraries.hpp"
#include "tools/common/options.hpp"
#include "tools/conf/check.hpp"
#include "tools/conf/edit.hpp"
#include "tools/conf/generate.hpp"
#include "tools/conf/machine.hpp"
#include "tools/conf/record_text.hpp"
#include "tools/conf/replace_file.hpp"

namespace {

using namespace conf;
constexpr int kIncompleteStatus = 3;

struct Options {
    std::vector<std::string> files;
    std::string file, output, root, name, library, params, api = "u2.0";
    bool json = false, thread_safe = false, yaml = false, anywhere = false, yes = false;
};

/// @return the path of this process's dat.conf, which may not exist.
std::string dat_conf_in_use() {
    return dat::read_conf_file().path;
}

std::vector<std::string> files_in_use() {
    std::vector<std::string> files;
    const support::ConfigurationInUse configuration;
    for (const support::ConfigurationFile& file : configuration.files()) files.push_back(file.path);
    files.push_back(dat_conf_in_use());
    return files;
}

/// The output of a command, printed at its end as text or JSON.
class Report {
  public:
    Report(const char* command, bool json)
        : command_(command),
          json_(json),
          problems_(tools::Json::array()),
          records_(tools::Json::array()) {}

    void add(const std::string& path, const Problem& problem) {
        ++count_;
        tools::Json entry = tools::Json::object();
        entry.put("file", path).put("line", problem.line).put("column", problem.column);
        entry.put("text", problem.text).put("hint", problem.hint);
        problems_.add(std::move(entry));
        const std::string place =
            problem.line > 0 ? fmt::format("{}:{}:{}", path, problem.line, problem.column) : path;
        if (!json_)
            std::fprintf(stderr, "%s: %s; %s\n", place.c_str(), problem.text.c_str(),
                         problem.hint.c_str());
    }

    void add_record(const std::string& path, const dat::ConfRecord& record) {
        tools::Json entry = tools::Json::object();
        entry.put("file", path).put("line", record.line).put("ia_name", record.ia_name);
        entry.put("api_version",
                  fmt::format("{}{}.{}", record.kernel ? 'k' : 'u', record.major, record.minor));
        entry.put("thread_safe", record.thread_safe).put("default", record.is_default);
        entry.put("lib_path", record.library).put("ia_params", record.ia_params);
        records_.add(std::move(entry));
    }

    /// @param written the file that was written, "" for none.
    int print(int status, const std::string& text = {}, const std::string& written = {}) {
        if (json_) {
            tools::Json document = tools::Json::document("dat_conf");
            document.put("command", command_).put("problems", std::move(problems_));
            document.put("records", std::move(records_));
            if (written.empty())
                document.put("written", nullptr);
            else
                document.put("written", written);
            std::fputs(document.text().c_str(), stdout);
        } else {
            std::fwrite(text.data(), 1, text.size(), stdout);
        }
        const int flushed = tools::flush_output();
        return flushed != 0 ? flushed : status;
    }

    std::size_t count() const { return count_; }

  private:
    const char* command_;
    bool json_;
    std::size_t count_ = 0;
    tools::Json problems_, records_;
};

int check(const Options& options) {
    Report report("check", options.json);
    std::string text;
    Places places;
    for (const std::string& path : options.files.empty() ? files_in_use() : options.files) {
        File file = read_file(path);
        if (!options.anywhere) check_machine(file, options.root, places);
        for (const Problem& problem : file.problems) report.add(path, problem);
        for (const dat::ConfRecord& record : file.records) report.add_record(path, record);
        text += fmt::format("{}: {} IAs, {} problems\n", path, file.records.size(),
                            file.problems.size());
    }
    return report.print(report.count() > 0 ? tools::kFailureStatus : 0, text);
}

int list(const Options& options) {
    Report report("list", options.json);
    std::string text;
    for (const std::string& path :
         options.file.empty() ? files_in_use() : std::vector<std::string>{options.file}) {
        const File file = read_file(path);
        for (const Problem& problem : file.problems) report.add(path, problem);
        for (const dat::ConfRecord& record : file.records) {
            report.add_record(path, record);
            text += fmt::format("{:<24} {:<20} {:<16} {}:{}\n", record.ia_name, record.library,
                                record.ia_params, path, record.line);
        }
    }
    return report.print(report.count() > 0 ? tools::kFailureStatus : 0, text);
}

/// @param in_use whether the path is that of the dat.conf in use, because none was given.
bool is_systems_file(const std::string& path, bool in_use) {
    const bool by_default = in_use && !support::setting_is_set(support::Setting::kDatOverride);
    return by_default || tools::resolved(path).starts_with("/etc/");
}

/// Asks before a system file is written, which all programs read. A script passes --yes instead.
bool confirmed() {
    std::fputs("This is the system's file, which all programs read. Write it? [y/N] ", stderr);
    char answer[16] = "";
    const bool read = std::fgets(answer, sizeof answer, stdin) != nullptr;
    if (!read || !isatty(STDIN_FILENO)) std::fputc('\n', stderr);
    if (read && (answer[0] == 'y' || answer[0] == 'Y')) return true;
    if (!read) std::fputs("dat_conf: no answer; --yes writes without asking\n", stderr);
    return false;
}

/// Prints what is about to happen, and to which file.
void announce(const Options& options, const std::string& path, const std::string& change) {
    if (!options.json) std::printf("%s: %s\n", path.c_str(), change.c_str());
}

int write(const Options& options, Report& report, const std::string& path,
          const std::string& text) {
    if (!options.yes && is_systems_file(path, options.output.empty() && options.file.empty()) &&
        !confirmed())
        return report.print(tools::kFailureStatus, "nothing is changed\n");
    replace_file(path, text);
    return report.print(0, options.json ? "" : fmt::format("{} is written\n", path), path);
}

int generate(const Options& options) {
    Report report("generate", options.json);
    const auto records = records_of_machine(options.root);
    const std::string text = file_text(records, options.yaml || is_yaml(options.output));
    for (const dat::ConfRecord& record : records) report.add_record(options.output, record);
    if (options.output.empty()) return report.print(0, text);
    return write(options, report, options.output, text);
}

/// @return the file that add and remove change; empty if it does not exist.
File file_to_change(const Options& options) {
    const std::string path = options.file.empty() ? dat_conf_in_use() : options.file;
    return access(path.c_str(), F_OK) == 0 ? read_file(path) : read_text(path, {});
}

/// @return false for a file that cannot be read or parsed; adds its problem to the report.
bool can_change(const File& file, Report& report) {
    const bool unreadable = !file.problems.empty() && file.problems[0].line == 0;
    const bool no_yaml =
        !file.yaml.problems.empty() &&
        file.yaml.problems[0].kind == support::ConfigurationProblem::Kind::kNotYaml;
    if (unreadable || no_yaml) report.add(file.path, file.problems[0]);
    return !unreadable && !no_yaml;
}

/// @return the record of the options as a file would contain it, read by the same reader.
File record_of(const Options& options) {
    dat::ConfRecord record = make_record(options.name, options.library, options.params);
    record.thread_safe = options.thread_safe;
    std::string line = dat_conf_line(record);
    const std::size_t version = line.find(" u2.0 ");
    line.replace(version + 1, 4, options.api);
    return read_text("dat.conf", line);
}

int add(const Options& options) {
    Report report("add", options.json);
    const File file = file_to_change(options);
    const File given = record_of(options);
    if (!can_change(file, report)) return report.print(tools::kFailureStatus);
    for (const Problem& problem : given.problems) report.add("add", problem);
    if (given.records.empty()) return report.print(tools::kFailureStatus);
    const dat::ConfRecord& record = given.records[0];
    const std::string line = dat_conf_line(record);
    for (const dat::ConfRecord& other : file.records)
        if (dat_conf_line(other) == line) {
            report.add(file.path, {other.line, 1, fmt::format("{} already exists", other.ia_name),
                                   "nothing is changed"});
            return report.print(tools::kFailureStatus);
        }
    announce(options, file.path, "adding " + line);
    report.add_record(file.path, record);
    return write(options, report, file.path, with_record(file, record));
}

int remove(const Options& options) {
    Report report("remove", options.json);
    const File file = file_to_change(options);
    if (!can_change(file, report)) return report.print(tools::kFailureStatus);
    bool found = false;
    std::vector<std::string_view> names;
    for (const dat::ConfRecord& record : file.records) {
        names.push_back(record.ia_name);
        if (record.ia_name != options.name) continue;
        found = true;
        announce(options, file.path, "removing " + dat_conf_line(record));
        report.add_record(file.path, record);
    }
    if (!found) {
        report.add(file.path,
                   {0, 0, fmt::format("it has no record named {}", options.name),
                    names.empty() ? "it has no records"
                                  : fmt::format("did you mean {}?",
                                                support::nearest_name(options.name, names))});
        return report.print(tools::kFailureStatus);
    }
    return write(options, report, file.path, without_ia(file, options.name));
}

int convert(const Options& options) {
    Report report("convert", options.json);
    const File file = read_file(options.file);
    const bool to_yaml = options.yaml || is_yaml(options.output);
    for (const Problem& problem : file.problems) report.add(file.path, problem);
    // Only a dat.conf that stays one keeps its invalid lines.
    const bool has_invalid =
        std::ranges::any_of(file.problems, [](const Problem& p) { return p.left_out; });
    if (has_invalid && (to_yaml || file.is_yaml || file.records.empty()))
        return report.print(tools::kFailureStatus);
    if (file.is_yaml && to_yaml)
        throw tools::Failure(file.path, "an opendat.yaml", "a dat.conf, to be converted to YAML",
                             "leave out --yaml, and name the output otherwise");
    const Converted result = converted(file, to_yaml);
    for (const Problem& problem : result.problems) report.add(file.path, problem);
    const File after = read_text(to_yaml ? "opendat.yaml" : "dat.conf", result.text);
    for (const dat::ConfRecord& record : after.records) report.add_record(options.output, record);
    const int status = !has_invalid && result.problems.empty() ? 0 : kIncompleteStatus;
    if (options.output.empty()) return report.print(status, result.text);
    const int written = write(options, report, options.output, result.text);
    return written != 0 ? written : status;
}

tools::Option word(const char* name, const char* what, const char* help, tools::Take take) {
    return {name, what, help, std::move(take), 1, true};
}

tools::CommandLine command_line(Options& options) {
    const tools::Option json{"-j,--json", nullptr, "print one JSON document",
                             tools::flag(options.json)};
    const tools::Option file{"-f,--file", "FILE", "file to list or change [the dat.conf in use]",
                             tools::text(options.file)};
    const tools::Option root{"-r,--root", "DIRECTORY", "use the devices below DIRECTORY/sys",
                             tools::text(options.root)};
    const tools::Option yes{"-y,--yes", nullptr, "write the system's file without asking",
                            tools::flag(options.yes)};
    tools::Option long_yes = yes;
    long_yes.names = "--yes";
    tools::Option files{
        "files",           "FILE", "files to check [those in use]", tools::list(options.files),
        tools::kAnyNumber, false};
    return {
        "dat_conf",
        "Writes and checks dat.conf and opendat.yaml. A file whose name ends in .yaml is the "
        "latter.",
        {},
        {{"check",
          "report everything that is wrong",
          {files,
           {"-a,--anywhere", nullptr,
            "check the text only, not whether libraries and devices exist on this machine",
            tools::flag(options.anywhere)},
           root,
           json}},
         {"list", "list the IAs of a file, or of all files in use", {file, json}},
         {"generate",
          "make a file for the devices of this machine",
          {{"-o,--output", "FILE", "the file to write [print it]", tools::text(options.output)},
           {"--yaml", nullptr, "make opendat.yaml instead of dat.conf", tools::flag(options.yaml),
            1, false, "-y"},
           long_yes,
           root,
           json}},
         {"add",
          "add an IA",
          {word("name", "NAME", "name of the IA", tools::text(options.name)),
           {"-l,--library", "LIBRARY", "the provider library [libdaplsoft.so.2]",
            tools::text(options.library)},
           {"-p,--params", "TEXT", "text for the library: device and number [soft0 0]",
            tools::text(options.params)},
           {"--api", "VERSION", "the API version [u2.0]", tools::text(options.api), 1, false, "-a"},
           {"--threadsafe", nullptr, "for programs that request a thread-safe provider",
            tools::flag(options.thread_safe), 1, false, "-t"},
           yes,
           file,
           json}},
         {"remove",
          "remove all records of an IA",
          {word("name", "NAME", "name of the IA", tools::text(options.name)), yes, file, json}},
         {"convert",
          "convert a dat.conf of uDAPL 1.2, AIX or Solaris to one for here, or dat.conf to YAML or "
          "back",
          {word("file", "FILE", "file to convert", tools::text(options.file)),
           {"--yaml", nullptr, "make opendat.yaml of a dat.conf", tools::flag(options.yaml)},
           {"-o,--output", "FILE", "the file to write [print it]", tools::text(options.output)},
           yes,
           json}}},
        "Exit status: 0 fine, 1 problems were found or nothing was done, 2 wrong usage, 3 "
        "converted, but "
        "not everything."};
}

int run(const std::string& command, const Options& options) {
    if (command == "check") return check(options);
    if (command == "list") return list(options);
    if (command == "generate") return generate(options);
    if (command == "add") return add(options);
    if (command == "remove") return remove(options);
    return convert(options);
}

}  // namespace

int main(int argc, char** argv) {
    support::use_yaml_reader(&opendat_yaml_read_1);
    Options options;
    options.library = "libdaplsoft.so.2";
    options.params = "soft0 0";
    const tools::Parsed parsed = tools::parse(command_line(options), argc, argv);
    if (parsed.exit_status) return *parsed.exit_status;
    return tools::run("dat_conf", [&] { return run(parsed.command, options); });
}
