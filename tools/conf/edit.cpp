// SPDX-License-Identifier: BSD-2-Clause
#include "tools/conf/edit.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <string_view>

#include "tools/conf/other_ages.hpp"
#include "tools/conf/record_text.hpp"

namespace conf {
namespace {

using Lines = std::vector<std::string>;

Lines lines_of(const std::string& text) {
    Lines lines;
    for (std::size_t start = 0; start < text.size();) {
        const std::size_t end = std::min(text.find('\n', start), text.size());
        lines.push_back(text.substr(start, end - start));
        start = end + 1;
    }
    return lines;
}

std::string joined(const Lines& lines) {
    std::string text;
    for (const std::string& line : lines) text += line + '\n';
    return text;
}

std::size_t indent_of(const std::string& line) {
    return std::min(line.find_first_not_of(' '), line.size());
}

bool is_comment_or_blank(const std::string& line) {
    const std::size_t first = line.find_first_not_of(" \t\r");
    return first == std::string::npos || line[first] == '#';
}

/// The lines of an entry of `ias`, from 0: [first, last]. Comments after it belong to the next
/// entry.
struct Extent {
    std::size_t first, last;
};

Extent extent_of(const Lines& lines, const support::ConfiguredIa& entry) {
    const auto first = static_cast<std::size_t>(entry.line - 1);
    const std::string& begin = lines.at(first);
    const std::size_t dash = indent_of(begin);
    if (dash >= begin.size() || begin[dash] != '-')
        throw CannotEdit(
            fmt::format("{}: this entry does not begin with '- ' on a line of its own: "
                        "write it that way, with its other lines below",
                        entry.line));
    std::size_t last = first;
    for (std::size_t i = first + 1; i < lines.size(); ++i) {
        if (is_comment_or_blank(lines[i])) continue;
        if (indent_of(lines[i]) <= dash) break;
        last = i;
    }
    return {first, last};
}

/// Reads the changed text again, to catch whatever the edit misjudged: it must contain exactly the
/// records `names`. @throw CannotEdit
std::string checked(const File& before, std::string text, std::vector<std::string> names) {
    const File after = read_text(before.path, text);
    std::vector<std::string> found;
    for (const dat::ConfRecord& record : after.records) found.push_back(record.ia_name);
    std::ranges::sort(found);
    std::ranges::sort(names);
    if (found != names)
        throw CannotEdit(
            "this change would damage the file, the way it is written: edit it by hand");
    return text;
}

std::vector<std::string> names_of(const File& file) {
    std::vector<std::string> names;
    for (const dat::ConfRecord& record : file.records) names.push_back(record.ia_name);
    return names;
}

/// @return the text with the record after the last entry, indented like it, or in a new section at
/// the end.
std::string yaml_with(const File& file, const dat::ConfRecord& record) {
    Lines lines = lines_of(file.text);
    if (!file.yaml.ias.empty()) {
        const Extent extent = extent_of(lines, file.yaml.ias.back());
        const std::string indent(indent_of(lines[extent.first]), ' ');
        std::string entry = yaml_entry(record, indent);
        entry.pop_back();
        lines.insert(lines.begin() + static_cast<std::ptrdiff_t>(extent.last) + 1, entry);
        return joined(lines);
    }
    const auto empty = std::ranges::find_if(lines, [](const std::string& line) {
        return line.starts_with("ias:") && is_comment_or_blank(line.substr(4));
    });
    std::string entry = yaml_entry(record, "  ");
    if (empty == lines.end()) return joined(lines) + "ias:\n" + entry;
    entry.pop_back();
    lines.insert(empty + 1, entry);
    return joined(lines);
}

std::string yaml_without(const File& file, const std::string& ia_name) {
    Lines lines = lines_of(file.text);
    for (auto entry = file.yaml.ias.rbegin(); entry != file.yaml.ias.rend(); ++entry) {
        if (entry->ia_name != ia_name) continue;
        const Extent extent = extent_of(lines, *entry);
        lines.erase(lines.begin() + static_cast<std::ptrdiff_t>(extent.first),
                    lines.begin() + static_cast<std::ptrdiff_t>(extent.last) + 1);
    }
    return joined(lines);
}

std::string dat_conf_without(const File& file, const std::string& ia_name) {
    Lines lines = lines_of(file.text);
    for (auto record = file.records.rbegin(); record != file.records.rend(); ++record)
        if (record->ia_name == ia_name) lines.erase(lines.begin() + record->line - 1);
    return joined(lines);
}

std::string with_line_end(const std::string& text) {
    return text.empty() || text.back() == '\n' ? text : text + '\n';
}

std::map<int, const dat::ConfRecord*> by_line(const File& file) {
    std::map<int, const dat::ConfRecord*> records;
    for (const dat::ConfRecord& record : file.records) records[record.line] = &record;
    return records;
}

/// @return the comment after the record on its line.
std::string comment_behind(const std::string& line, const dat::ConfRecord& record) {
    const auto end = static_cast<std::size_t>(record.end_column - 1);
    return end < line.size() && line[end] == '#' ? line.substr(end) : std::string();
}

/// Keeps every line unchanged except those of records that change.
std::string to_dat_conf_of_today(const File& file) {
    Lines lines = lines_of(file.text);
    for (const dat::ConfRecord& record : file.records) {
        const auto today = modernised(record);
        if (!today) continue;
        std::string& line = lines.at(static_cast<std::size_t>(record.line - 1));
        const std::string comment = comment_behind(line, record);
        line = dat_conf_line(today->record) + (comment.empty() ? "" : " " + comment);
    }
    return joined(lines);
}

dat::ConfRecord of_today(const dat::ConfRecord& record) {
    const auto today = modernised(record);
    return today ? today->record : record;
}

std::string to_yaml_file(const File& file) {
    const auto records = by_line(file);
    std::string text;
    bool begun = false;
    int number = 0;
    for (std::string line : lines_of(file.text)) {
        if (line.ends_with('\r')) line.pop_back();
        const auto found = records.find(++number);
        if (found == records.end()) {
            text += (begun && !line.empty() ? "  " : "") + line + '\n';
            continue;
        }
        if (!begun) text += "ias:\n";
        begun = true;
        if (const std::string comment = comment_behind(line, *found->second); !comment.empty())
            text += "  " + comment + '\n';
        text += yaml_entry(of_today(*found->second), "  ");
    }
    return text;
}

std::string yaml_to_dat_conf(const File& file) {
    const auto records = by_line(file);
    std::string text;
    int number = 0;
    for (const std::string& line : lines_of(file.text)) {
        const auto found = records.find(++number);
        if (found != records.end())
            text += dat_conf_line(of_today(*found->second)) + '\n';
        else if (is_comment_or_blank(line))
            text += line.substr(indent_of(line)) + '\n';
    }
    return text;
}

void add_kept_records(const File& file, std::vector<Problem>& problems) {
    for (const dat::ConfRecord& record : file.records)
        if (const std::string why = obstacle(record); !why.empty())
            problems.push_back(
                {record.line, 1, fmt::format("{} is not converted: {}", record.ia_name, why),
                 "the record stays as it is; correct it, or replace it: see dat.conf(5)", false});
}

void add_settings(const File& file, std::vector<Problem>& problems) {
    for (const support::ConfiguredSetting& setting : file.yaml.settings)
        problems.push_back({setting.line, setting.column,
                            fmt::format("{} cannot be set in dat.conf",
                                        support::kSettings[static_cast<int>(setting.setting)].name),
                            "keep it in opendat.yaml or set it in the environment"});
}

}  // namespace

std::string with_record(const File& file, const dat::ConfRecord& record) {
    auto names = names_of(file);
    names.push_back(record.ia_name);
    return checked(file,
                   file.is_yaml ? yaml_with(file, record)
                                : with_line_end(file.text) + dat_conf_line(record) + '\n',
                   std::move(names));
}

std::string without_ia(const File& file, const std::string& ia_name) {
    auto names = names_of(file);
    std::erase(names, ia_name);
    return checked(file,
                   file.is_yaml ? yaml_without(file, ia_name) : dat_conf_without(file, ia_name),
                   std::move(names));
}

Converted converted(const File& file, bool to_yaml) {
    Converted result;
    add_kept_records(file, result.problems);
    if (file.is_yaml) {
        result.text = yaml_to_dat_conf(file);
        add_settings(file, result.problems);
    } else {
        result.text = to_yaml ? to_yaml_file(file) : to_dat_conf_of_today(file);
    }
    return result;
}

}  // namespace conf
