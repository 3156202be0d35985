// SPDX-License-Identifier: BSD-2-Clause
// The only source file that includes yaml-cpp.
#include "support/yaml/reader.hpp"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/yaml.h>

#include <sstream>
#include <string>
#include <utility>

namespace {

/// Thrown to stop the parser.
struct Stop {};

class Handler final : public YAML::EventHandler {
  public:
    Handler(OpendatYamlSink sink, void* context) : sink_(sink), context_(context) {}

    [[noreturn]] void problem(const YAML::Mark& mark, const std::string& what) {
        send(OPENDAT_YAML_PROBLEM, mark, what);
        throw Stop{};
    }

  private:
    void OnDocumentStart(const YAML::Mark& mark) override {
        if (std::exchange(begun_, true)) problem(mark, "a second document begins");
    }
    void OnDocumentEnd() override {}
    void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
        refuse(mark, {}, anchor);
        send_or_stop(OPENDAT_YAML_NULL, mark, {});
    }
    // Aliases could turn a small file into a large one.
    void OnAlias(const YAML::Mark& mark, YAML::anchor_t) override {
        problem(mark, "references (*) are not used in this file");
    }
    void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  const std::string& value) override {
        refuse(mark, tag, anchor);
        send_or_stop(OPENDAT_YAML_SCALAR, mark, value);
    }
    void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                         YAML::EmitterStyle::value) override {
        refuse(mark, tag, anchor);
        send_or_stop(OPENDAT_YAML_LIST_BEGIN, mark, {});
    }
    void OnSequenceEnd() override {
        send_or_stop(OPENDAT_YAML_LIST_END, YAML::Mark::null_mark(), {});
    }
    void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                    YAML::EmitterStyle::value) override {
        refuse(mark, tag, anchor);
        send_or_stop(OPENDAT_YAML_MAP_BEGIN, mark, {});
    }
    void OnMapEnd() override { send_or_stop(OPENDAT_YAML_MAP_END, YAML::Mark::null_mark(), {}); }

    void refuse(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor) {
        if (anchor != 0) problem(mark, "names for references (&) are not used in this file");
        // The parser reports the tag "?" for a bare scalar and "!" for a quoted one.
        if (!tag.empty() && tag != "?" && tag != "!")
            problem(mark, "tags (!) are not used in this file");
    }
    int send(OpendatYamlKind kind, const YAML::Mark& mark, const std::string& text) {
        const OpendatYamlEvent event{kind, mark.line + 1, mark.column + 1, text.data(),
                                     text.size()};
        return sink_(context_, &event);
    }
    void send_or_stop(OpendatYamlKind kind, const YAML::Mark& mark, const std::string& text) {
        if (send(kind, mark, text) != 0) throw Stop{};
    }

    OpendatYamlSink sink_;
    void* context_;
    bool begun_ = false;
};

void parse(const std::string& text, Handler& handler) {
    try {
        std::istringstream stream(text);
        YAML::Parser parser(stream);
        while (parser.HandleNextDocument(handler)) {
        }
    } catch (const YAML::Exception& error) {
        handler.problem(error.mark, error.msg);
    }
}

}  // namespace

extern "C" [[gnu::visibility("default")]] int opendat_yaml_read_1(const char* text, size_t size,
                                                                  OpendatYamlSink sink,
                                                                  void* context) {
    try {
        Handler handler(sink, context);
        parse(std::string(text, size), handler);
        return 0;
    } catch (...) {  // Stop, or std::bad_alloc
        return -1;
    }
}
