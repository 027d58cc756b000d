#include "report/chrome_trace.hpp"

#include <cstdio>
#include <set>
#include <string_view>

#include <fmt/format.h>

#include "base/error.hpp"
#include "report/output_file.hpp"

namespace stepcast::report {
namespace {

using program::Operation;

std::string escaped(std::string_view text) {
  std::string out;
  for (const char letter : text) {
    const auto code = static_cast<unsigned char>(letter);
    if (letter == '"' || letter == '\\') {
      out += '\\';
      out += letter;
    } else if (code < 0x20) {
      out += fmt::format("\\u{:04x}", code);
    } else {
      out += letter;
    }
  }
  return out;
}

/// Picoseconds as decimal microseconds, exactly.
std::string microseconds(std::int64_t ps) {
  return fmt::format("{}.{:06}", ps / 1'000'000, ps % 1'000'000);
}

std::string label_name(const program::Program& program, std::uint32_t index) {
  const Operation& op = program.operations[index];
  if (op.label != Operation::kNone && !program.labels[op.label].name.empty()) {
    return program.labels[op.label].name;
  }
  if (op.place != Operation::kNone && !program.places[op.place].id.empty()) {
    return program.places[op.place].id;
  }
  return std::string(program::name_of(op.kind));
}

/// Runs of an operation within one iteration of its outermost loop (1 outside loops and in one loop).
std::vector<std::uint32_t> inner_runs(const program::Program& program) {
  const std::vector<std::uint32_t> loops = program::enclosing_loops(program);
  std::vector<std::uint32_t> runs(program.operations.size(), 1);
  for (std::size_t op = 0; op < runs.size(); ++op) {
    for (std::uint32_t loop = loops[op]; loop != Operation::kNone && loops[loop] != Operation::kNone;
         loop = loops[loop]) {
      runs[op] *= static_cast<std::uint32_t>(program.operations[loop].bytes);
    }
  }
  return runs;
}

std::string arguments(const program::Program& program,
                      const replay::Interval& interval,
                      std::uint32_t inner) {
  const Operation& op = program.operations[interval.operation.index()];
  std::string out =
      fmt::format("\"operation\":{},\"iteration\":{}", interval.operation.index(), interval.iteration);
  if (op.bytes > 0) {
    out += fmt::format(",\"bytes\":{}", op.bytes);
  }
  if (op.label != Operation::kNone) {
    const program::Label& label = program.labels[op.label];
    if (label.layer >= 0 && inner == 1) {  // an inner loop runs over layers: the label names its first
      out += fmt::format(",\"layer\":{}", label.layer);
    }
    if (label.micro_batch >= 0) {
      const std::int64_t round = interval.iteration / inner;
      out += fmt::format(",\"micro_batch\":{}", label.micro_batch + round * label.micro_batch_stride);
    }
    if (label.chunk >= 0) {
      out += fmt::format(",\"chunk\":{}", label.chunk);
    }
    if (label.phase != program::Phase::kNone) {
      out += fmt::format(",\"phase\":\"{}\"", program::name_of(label.phase));
    }
  }
  return out;
}

}  // namespace

void write_chrome_trace(const replay::Run& run, const std::string& path) {
  OutputFile file(path);
  file.write("{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n");
  std::set<std::uint32_t> ranks;
  std::vector<std::vector<std::uint32_t>> inner;
  for (const program::Program& program : run.programs.programs) {
    inner.push_back(inner_runs(program));
  }
  bool first = true;
  const auto event = [&file, &first](const std::string& text) {
    file.write(first ? "" : ",\n");
    file.write(text);
    first = false;
  };
  for (const replay::Interval& interval : run.result.timeline.intervals) {
    const std::uint32_t rank = interval.rank.index();
    const program::Program& program = run.programs.programs[run.programs.program_of[rank]];
    if (ranks.insert(rank).second) {
      event(fmt::format(R"({{"ph":"M","name":"process_name","pid":{},"args":{{"name":"rank {}"}}}})", rank,
                        rank));
      for (std::size_t stream = 0; stream < program.streams.size(); ++stream) {
        event(fmt::format(R"({{"ph":"M","name":"thread_name","pid":{},"tid":{},"args":{{"name":"{}"}}}})",
                          rank, stream, escaped(program.streams[stream].name)));
      }
    }
    const std::uint16_t stream = program.operations[interval.operation.index()].stream;
    if (interval.active > interval.start) {
      event(fmt::format(R"({{"ph":"X","name":"wait","cat":"wait","pid":{},"tid":{},"ts":{},"dur":{}}})", rank,
                        stream, microseconds(interval.start.ps()),
                        microseconds((interval.active - interval.start).ps())));
    }
    if (interval.end > interval.active) {
      event(fmt::format(
          R"({{"ph":"X","name":"{}","cat":"{}","pid":{},"tid":{},"ts":{},"dur":{},"args":{{{}}}}})",
          escaped(label_name(program, interval.operation.index())),
          program::name_of(program.operations[interval.operation.index()].kind), rank, stream,
          microseconds(interval.active.ps()), microseconds((interval.end - interval.active).ps()),
          arguments(program, interval, inner[run.programs.program_of[rank]][interval.operation.index()])));
    }
  }
  file.write("\n]}\n");
  file.close();
}

}  // namespace stepcast::report
