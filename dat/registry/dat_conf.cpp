// SPDX-License-Identifier: BSD-2-Clause
#include "dat/registry/dat_conf.hpp"

#include <algorithm>
#include <utility>

#include "dat/registry/conf_fields.hpp"

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

/// Splits one line, which holds no newline, into tokens. A carriage return at its end has been
/// removed; elsewhere it is an ordinary character.
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
    /// Reads up to a blank; a quote also ends the token, and belongs to it.
    Token unquoted(int column) {
        const std::size_t begin = at_;
        while (at_ < line_.size() && !is_blank(line_[at_])) {
            if (line_[at_++] == '"') break;
        }
        return {Token::Kind::kText, column, std::string(line_.substr(begin, at_ - begin))};
    }

    /// Reads up to the next bare quote; a backslash makes the next character an ordinary one.
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

ConfProblem problem_at(int line, const Token& token, const char* field, const char* accepted,
                       std::string found) {
    if (found.size() > kMaxFound) found = found.substr(0, kMaxFound - 3) + "...";
    return {line, token.column, field, std::move(found), accepted};
}

class Reader {
  public:
    explicit Reader(std::size_t most) : most_(most) {}
    ConfText take() { return std::move(result_); }

    void read_line(std::string_view line) {
        ++line_;
        Tokens tokens(line);
        Token token = tokens.next();
        if (token.kind == Token::Kind::kEndOfLine) return;
        ConfRecord record;
        record.line = line_;
        for (const ConfField& field : conf_fields()) {
            if (!read_field(field, token, record)) return;
            token = tokens.next();
        }
        if (token.kind != Token::Kind::kEndOfLine)
            return bad("end of line", token, "no more text: a record has eight fields", token.text);
        record.end_column = token.column;
        result_.records.push_back(std::move(record));
    }

  private:
    bool read_field(const ConfField& field, Token& token, ConfRecord& record) {
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
        if (result_.problems.size() == most_) return;
        result_.problems.push_back(problem_at(line_, token, field, accepted, std::move(found)));
    }

    ConfText result_;
    std::size_t most_;
    int line_ = 0;
};

}  // namespace

ConfText read_dat_conf(std::string_view text, std::size_t most) {
    Reader reader(most);
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
