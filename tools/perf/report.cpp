// SPDX-License-Identifier: BSD-2-Clause
#include "tools/perf/report.hpp"

#include <algorithm>
#include <cstdio>

#include "tools/common/count_text.hpp"

namespace perf {

namespace {

constexpr unsigned kHistogramRows = 16;
constexpr unsigned kBarLength = 50;

const char* completion_name(const Measurement& measurement) {
    return measurement.blocking ? "blocking" : "polling";
}
const char* direction_name(const Measurement& measurement) {
    return measurement.two_ways ? "two" : "one";
}

double average_us(const Result& result) {
    if (result.ticks.count() == 0) return 0;
    const double us = result.seconds * 1e6 / static_cast<double>(result.iterations);
    return result.measurement.ping_pong() ? us / 2 : us;
}

void print_histogram(const Result& result) {
    std::uint64_t most = 1;
    const std::vector<Histogram::Row> rows = result.ticks.rows(kHistogramRows);
    for (const Histogram::Row& row : rows) most = std::max(most, row.count);
    for (const Histogram::Row& row : rows) {
        const auto length = static_cast<int>((row.count * kBarLength + most - 1) / most);
        std::printf("    %10.3f us %12llu %.*s\n",
                    static_cast<double>(row.from) * result.us_per_tick,
                    static_cast<unsigned long long>(row.count), length,
                    "##################################################");
    }
}

void print_latency_heading() {
    std::printf("%-16s %10s %-9s %10s %9s %9s %9s %9s %9s %9s\n", "latency, us", "size",
                "completion", "operations", "min", "p50", "p99", "p99.9", "max", "average");
}

void print_latency(const Result& result, bool histogram) {
    const Measurement& measurement = result.measurement;
    const auto us = [&](std::uint64_t ticks) {
        return static_cast<double>(ticks) * result.us_per_tick;
    };
    std::printf("%-16s %10s %-10s %10llu %9.3f %9.3f %9.3f %9.3f %9.3f %9.3f\n",
                std::string(name_of(measurement.operation)).c_str(),
                size_name(measurement.size).c_str(), completion_name(measurement),
                static_cast<unsigned long long>(result.iterations), us(result.ticks.minimum()),
                us(result.ticks.percentile(50)), us(result.ticks.percentile(99)),
                us(result.ticks.percentile(99.9)), us(result.ticks.maximum()), average_us(result));
    if (histogram) print_histogram(result);
}

void print_stream_heading(Test test) {
    std::printf("%-16s %10s %-10s %9s %10s %12s %14s\n", std::string(name_of(test)).c_str(), "size",
                "completion", "direction", "operations", "MB/s", "messages/s");
}

void print_stream(const Result& result) {
    const Measurement& measurement = result.measurement;
    std::printf("%-16s %10s %-10s %9s %10llu %12.2f %14.0f\n",
                std::string(name_of(measurement.operation)).c_str(),
                size_name(measurement.size).c_str(), completion_name(measurement),
                direction_name(measurement), static_cast<unsigned long long>(result.iterations),
                result.bytes_per_second / 1e6, result.messages_per_second);
}

/// @return the text as a JSON string; a provider's text may contain anything.
std::string quoted(std::string_view text) {
    std::string result = "\"";
    for (const char letter : text) {
        char escaped[8];
        const auto byte = static_cast<unsigned char>(letter);
        if (byte < 0x20 || byte >= 0x7f || letter == '"' || letter == '\\') {
            std::snprintf(escaped, sizeof escaped, "\\u%04x", byte);
            result += escaped;
        } else {
            result += letter;
        }
    }
    return result + '"';
}

void print_json_latency(const Result& result) {
    const auto us = [&](std::uint64_t ticks) {
        return static_cast<double>(ticks) * result.us_per_tick;
    };
    std::printf(
        ",\n      \"latency_of\": \"%s\",\n      \"latency_us\": {\"min\": %.4f, \"p50\": %.4f, "
        "\"p99\": %.4f, \"p99.9\": %.4f, \"max\": %.4f, \"average\": %.4f},\n"
        "      \"histogram\": [",
        result.measurement.ping_pong() ? "half a round trip" : "post to completion",
        us(result.ticks.minimum()), us(result.ticks.percentile(50)),
        us(result.ticks.percentile(99)), us(result.ticks.percentile(99.9)),
        us(result.ticks.maximum()), average_us(result));
    const char* separator = "";
    for (const Histogram::Row& row : result.ticks.rows(kHistogramRows)) {
        std::printf("%s{\"from_us\": %.4f, \"to_us\": %.4f, \"count\": %llu}", separator,
                    us(row.from), us(row.to), static_cast<unsigned long long>(row.count));
        separator = ", ";
    }
    std::printf("]");
}

void print_json_result(const Result& result) {
    const Measurement& measurement = result.measurement;
    std::printf("    {\n      \"test\": %s, \"operation\": %s, \"size\": %llu,\n",
                quoted(name_of(measurement.test)).c_str(),
                quoted(name_of(measurement.operation)).c_str(),
                static_cast<unsigned long long>(measurement.size));
    std::printf("      \"completion\": \"%s\", \"direction\": \"%s\",\n",
                completion_name(measurement), direction_name(measurement));
    std::printf("      \"operations\": %llu, \"warm_up_operations\": %llu, \"seconds\": %.9f,\n",
                static_cast<unsigned long long>(result.iterations),
                static_cast<unsigned long long>(result.warm_up), result.seconds);
    std::printf("      \"messages_per_second\": %.1f, \"bytes_per_second\": %.1f",
                result.messages_per_second, result.bytes_per_second);
    if (measurement.test == Test::latency) print_json_latency(result);
    std::printf("\n    }");
}

std::string name_list(const std::vector<Operation>& operations) {
    std::string text;
    for (const Operation operation : operations)
        text += (text.empty() ? "" : ", ") + quoted(name_of(operation));
    return text;
}

}  // namespace

void print_heading(const Findings& findings, const Options& options) {
    std::printf("# dat_perf: %s (%s), %s, %s each, %s memory\n", options.provider.c_str(),
                findings.provider_name.c_str(),
                tools::count_text(options.terms.threads, "thread").c_str(),
                tools::count_text(options.terms.endpoints, "endpoint").c_str(),
                findings.memory_from_library ? "the library's" : "ordinary");
    for (const Operation operation : findings.missing)
        std::printf("# %s: not offered by this provider\n",
                    std::string(name_of(operation)).c_str());
}

void print_row(const Findings& findings, const Options& options) {
    const std::size_t count = findings.results.size();
    const Result& result = findings.results.back();
    const Test test = result.measurement.test;
    if (count == 1) print_heading(findings, options);
    if (count == 1 || findings.results[count - 2].measurement.test != test)
        test == Test::latency ? print_latency_heading() : print_stream_heading(test);
    test == Test::latency ? print_latency(result, options.histogram) : print_stream(result);
    std::fflush(stdout);
}

void print_json(const Findings& findings, const Options& options) {
    std::printf("{\n  \"tool\": \"dat_perf\", \"version\": %d,\n", kSchemaVersion);
    std::printf("  \"provider\": %s, \"provider_name\": %s,\n", quoted(options.provider).c_str(),
                quoted(findings.provider_name).c_str());
    std::printf("  \"threads\": %u, \"endpoints\": %u, \"depth\": %u, \"signal_rate\": %u,\n",
                options.terms.threads, options.terms.endpoints, options.terms.depth,
                options.terms.signal_rate);
    std::printf("  \"memory\": \"%s\", \"checked\": %s, \"not_offered\": [%s],\n",
                findings.memory_from_library ? "library" : "ordinary",
                options.terms.check ? "true" : "false", name_list(findings.missing).c_str());
    std::printf("  \"results\": [\n");
    const char* separator = "";
    for (const Result& result : findings.results) {
        std::fputs(separator, stdout);
        print_json_result(result);
        separator = ",\n";
    }
    std::printf("\n  ]\n}\n");
}

}  // namespace perf
