// SPDX-License-Identifier: BSD-2-Clause
#include "tools/perf/client.hpp"

#include <algorithm>
#include <cmath>

#include "tools/common/failure.hpp"
#include "tools/common/terminal.hpp"
#include "tools/perf/interrupt.hpp"
#include "tools/perf/ticks.hpp"

namespace perf {

namespace {

constexpr double kWarmUpShare = 0.2;
constexpr double kMostIterations = 1e9;
/// First guess, in operations and in bytes.
constexpr std::uint64_t kFirstGuess = 16;
constexpr std::uint64_t kFirstGuessBytes = 16 << 20;

std::string progress_text(std::size_t done, std::size_t total, const Options& options,
                          const Measurement& measurement) {
    // Warm-up and coordination of the two sides are added to the measurement.
    constexpr double kShareOfAll = 1.4;
    std::string text = tools::format(
        "%zu of %zu: %s of %s, %s", done + 1, total, std::string(name_of(measurement.test)).c_str(),
        std::string(name_of(measurement.operation)).c_str(), size_name(measurement.size).c_str());
    if (options.iterations == 0)
        text += tools::format(", about %.0f s left", std::ceil(static_cast<double>(total - done) *
                                                               options.seconds * kShareOfAll));
    return text;
}

std::uint64_t first_guess(const Measurement& measurement) {
    return std::clamp<std::uint64_t>(kFirstGuessBytes / measurement.size, 1, kFirstGuess);
}

/// Runs longer and longer passes until one is long enough to count as a warm-up.
/// @return how many operations of each endpoint fill the requested time
std::uint64_t warm_up(Session& session, const Options& options, const Measurement& measurement,
                      std::uint64_t& iterations) {
    const double enough = options.seconds * kWarmUpShare;
    for (std::uint64_t count = first_guess(measurement);;) {
        check_interrupt();
        const Outcome outcome = session.run({measurement, count});
        iterations = outcome.messages;
        const double wanted = static_cast<double>(count) * options.seconds / outcome.seconds;
        if (outcome.seconds >= enough) {
            return static_cast<std::uint64_t>(std::clamp(std::ceil(wanted), 1.0, kMostIterations));
        }
        // Short passes are slower than long ones, so the goal is approached in steps.
        const double next =
            static_cast<double>(count) * std::min(enough / outcome.seconds * 1.2, 20.0);
        count = static_cast<std::uint64_t>(
            std::clamp(next, static_cast<double>(count) + 1, kMostIterations));
    }
}

Result measure_one(Session& session, const Options& options, const Measurement& measurement,
                   const TickLength& tick_length) {
    Result result;
    result.measurement = measurement;
    std::uint64_t count = options.iterations;
    if (options.warm_up != 0 || count != 0) {
        const std::uint64_t warm = options.warm_up != 0 ? options.warm_up : (count + 4) / 5;
        result.warm_up = session.run({measurement, warm}).messages;
    }
    if (count == 0) count = warm_up(session, options, measurement, result.warm_up);
    Outcome outcome = session.run({measurement, count});
    result.iterations = outcome.messages;
    result.seconds = outcome.seconds;
    result.messages_per_second = outcome.messages_per_second;
    result.bytes_per_second = outcome.messages_per_second * static_cast<double>(measurement.size);
    result.ticks = std::move(outcome.ticks);
    result.us_per_tick = tick_length.nanoseconds() / 1e3 / (measurement.ping_pong() ? 2.0 : 1.0);
    return result;
}

}  // namespace

void measure(Channel& channel, const Options& options, Findings& findings,
             const std::function<void()>& found) {
    const TickLength tick_length;
    Device device(options.provider);
    Terms terms = options.terms;
    for (const Measurement& measurement : options.measurements(~0U))
        if (device.offers(measurement.operation)) terms.rooms.include(measurement);
    const std::unique_ptr<Session> session =
        Session::connect(channel, {options.provider, options.cpus}, terms, device);
    findings.provider_name = device.provider_name();
    findings.memory_from_library = session->memory_from_library();
    for (const Operation operation : options.operations)
        if (!(session->offered() >> static_cast<unsigned>(operation) & 1))
            findings.missing.push_back(operation);
    const std::vector<Measurement> measurements = options.measurements(session->offered());
    findings.planned = measurements.size();
    tools::Progress progress;
    for (const Measurement& measurement : measurements) {
        if (!options.quiet)
            progress.show(
                progress_text(findings.results.size(), findings.planned, options, measurement));
        Result result = measure_one(*session, options, measurement, tick_length);
        progress.clear();
        findings.results.push_back(std::move(result));
        found();
    }
    session->finish();
}

}  // namespace perf
