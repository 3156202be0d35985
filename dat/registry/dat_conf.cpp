// SPDX-License-Identifier: BSD-2-Clause
#include "dat/registry/dat_conf.hpp"

#include <dat2/udat.h>

#include <algorithm>
#include <charconv>
#include <iterator>

namespace dat {
namespace {

bool is_blank(char c) {
    return c == ' ' || c == '\t';
}

struct Token {
    enum class Kind { kText, kEndOfLine, kNotClosed };
    Kind kind;
    int column;
    std::string text;
};

/// Takes the tokens of one line, which holds no newline. A carriage return at its end is already
/// gone; elsewhere it is an ordinary character.
class Tokens {
  public:
    explicit Tokens(std::string_view line) : line_(line) {}

    Token next() {
        while (at_ < line_.size() && is_blank(line_[at_])) ++at_;
        const int column = static_cast<int>(at_) + 1;
        // A comment begins only where a token would begin.
        if (at_ == line_.size() || line_[at_] == '#') return {Token::Kind::kEndOfLine, column, {}};
        return line_[at_] == '"' ? quoted(column) : unquoted(column);
    }

  private:
    /// Up to a blank; a quote ends the token too and belongs to it.
    Token unquoted(int column) {
        const std::size_t begin = at_;
        while (at_ < line_.size() && !is_blank(line_[at_])) {
            if (line_[at_++] == '"') break;
        }
        return {Token::Kind::kText, column, std::string(line_.substr(begin, at_ - begin))};
    }

    /// Up to the next bare quote; a backslash makes the next character an ordinary one.
    Token quoted(int column) {
        std::string text;
        for (++at_; at_ < line_.size(); ++at_) {
            if (line_[at_] == '"') {
                ++at_;
                return {Token::Kind::kText, column, std::move(text)};
            }
            if (line_[at_] == '\\' && at_ + 1 < line_.size()) ++at_;
            text += line_[at_];
        }
        return {Token::Kind::kNotClosed, column, std::move(text)};
    }

    std::string_view line_;
    std::size_t at_ = 0;
};

/// Digits only, perhaps none, to the end of the text. @return false for anything else and for
/// numbers of more than 32 bits.
bool read_number(std::string_view text, std::uint32_t& value) {
    value = 0;
    if (text.empty()) return true;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    return error == std::errc() && end == text.data() + text.size();
}

bool read_ia_name(std::string& text, ConfRecord& record) {
    record.ia_name = std::move(text);
    return record.ia_name.size() < DAT_NAME_MAX_LENGTH;
}

bool read_api_version(std::string& text, ConfRecord& record) {
    const std::size_t dot = text.find('.');
    if (dot == std::string::npos || (text[0] != 'u' && text[0] != 'k')) return false;
    const std::string_view view = text;
    record.kernel = text[0] == 'k';
    return read_number(view.substr(1, dot - 1), record.major) &&
           read_number(view.substr(dot + 1), record.minor);
}

// Only how the text begins counts, here and in the next field: files in use have more behind it.
bool read_thread_safety(std::string& text, ConfRecord& record) {
    record.thread_safe = text.starts_with("threadsafe");
    return record.thread_safe || text.starts_with("nonthreadsafe");
}

bool read_default(std::string& text, ConfRecord& record) {
    record.is_default = text.starts_with("default");
    return record.is_default || text.starts_with("nondefault");
}

bool read_library(std::string& text, ConfRecord& record) {
    record.library = std::move(text);
    return true;
}

bool are_digits(std::string_view text) {
    return !text.empty() &&
           std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

/// Checked and dropped: nothing uses it.
bool read_provider_version(std::string& text, ConfRecord&) {
    const std::string_view view = text;
    const std::size_t first = view.find('.');
    if (first == 0 || first == std::string_view::npos) return false;
    const std::size_t second = view.find('.', first + 1);
    if (second == std::string_view::npos) return false;
    return are_digits(view.substr(first + 1, second - first - 1)) &&
           are_digits(view.substr(second + 1));
}

bool read_ia_params(std::string& text, ConfRecord& record) {
    record.ia_params = std::move(text);
    return true;
}

bool read_platform_params(std::string&, ConfRecord&) {
    return true;
}

struct Field {
    const char* name;
    const char* accepted;
    bool (*read)(std::string& text, ConfRecord& record);  ///< may take the text
};

constexpr Field kFields[] = {
    {"ia_name", "a name of at most 255 bytes", read_ia_name},
    {"api_version", "'u' or 'k', digits, '.', digits, such as u2.0", read_api_version},
    {"thread_safety", "'threadsafe' or 'nonthreadsafe'", read_thread_safety},
    {"default", "'default' or 'nondefault'", read_default},
    {"lib_path", "the file name of a provider library", read_library},
    {"provider_version", "a word, '.', digits, '.', digits, such as dapl.2.0",
     read_provider_version},
    {"ia_params", "a text for the provider, such as \"ib0 0\"", read_ia_params},
    {"platform_params", "any text, such as \"\"", read_platform_params},
};

ConfProblem problem_at(int line, const Token& token, const char* field, const char* accepted,
                       std::string found) {
    if (found.size() > kMaxFound) found = found.substr(0, kMaxFound - 3) + "...";
    return {line, token.column, field, std::move(found), accepted};
}

class Reader {
  public:
    ConfText take() { return std::move(result_); }

    void read_line(std::string_view line) {
        ++line_;
        Tokens tokens(line);
        Token token = tokens.next();
        if (token.kind == Token::Kind::kEndOfLine) return;
        ConfRecord record;
        record.line = line_;
        for (const Field& field : kFields) {
            if (!read_field(field, token, record)) return;
            token = tokens.next();
        }
        if (token.kind != Token::Kind::kEndOfLine)
            return bad("end of line", token, "nothing: a record has eight fields", token.text);
        result_.records.push_back(std::move(record));
    }

  private:
    bool read_field(const Field& field, Token& token, ConfRecord& record) {
        if (token.kind == Token::Kind::kEndOfLine) {
            bad(field.name, token, field.accepted, "the end of the record");
        } else if (token.kind == Token::Kind::kNotClosed) {
            bad(field.name, token, "a closing quote on the same line", '"' + token.text);
        } else if (token.text.find('\0') != std::string::npos) {
            bad(field.name, token, "text without NUL bytes", token.text);
        } else {
            std::string found = token.text.substr(0, kMaxFound + 1);
            if (field.read(token.text, record)) return true;
            bad(field.name, token, field.accepted, std::move(found));
        }
        return false;
    }

    void bad(const char* field, const Token& token, const char* accepted, std::string found) {
        ++result_.bad_lines;
        if (result_.problems.size() == kMaxProblems) return;
        result_.problems.push_back(problem_at(line_, token, field, accepted, std::move(found)));
    }

    ConfText result_;
    int line_ = 0;
};

}  // namespace

ConfText read_dat_conf(std::string_view text) {
    Reader reader;
    while (!text.empty()) {
        const std::size_t newline = std::min(text.find('\n'), text.size());
        std::string_view line = text.substr(0, newline);
        if (line.ends_with('\r')) line.remove_suffix(1);
        reader.read_line(line);
        text.remove_prefix(std::min(newline + 1, text.size()));
    }
    return reader.take();
}

}  // namespace dat
