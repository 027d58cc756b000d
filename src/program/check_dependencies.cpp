#include <cstddef>
#include <string>
#include <utility>

#include <fmt/core.h>

#include "program/findings.hpp"

namespace stepcast::program {
namespace {

constexpr std::size_t kMostCycles = 5;  // per program: the first few say what is wrong

// What must have started before an operation starts: its dependencies and its predecessor on its
// stream. A cycle through operations of inner loops is a cycle of this flat graph.
class OrderGraph {
 public:
  explicit OrderGraph(const Program& program) : program_(program), previous_(program.operations.size()) {
    std::vector<std::uint32_t> last(program.streams.size(), Operation::kNone);
    for (std::uint32_t i = 0; i < previous_.size(); ++i) {
      const Operation& op = program.operations[i];
      previous_[i] = Operation::kNone;
      if (op.kind != OpKind::kRepeat) {
        previous_[i] = std::exchange(last[op.stream], i);
      }
    }
  }

  // The k-th operation that must come before `operation`, or kNone past the last.
  [[nodiscard]] std::uint32_t before(std::uint32_t operation, std::uint32_t k) const {
    const Operation& op = program_.operations[operation];
    if (k < op.dependency_count) {
      return program_.dependencies[op.first_dependency + k].operation;
    }
    return k == op.dependency_count ? previous_[operation] : Operation::kNone;
  }

  [[nodiscard]] bool by_stream(std::uint32_t operation, std::uint32_t k) const {
    return k >= program_.operations[operation].dependency_count;
  }

 private:
  const Program& program_;
  std::vector<std::uint32_t> previous_;
};

struct Visit {
  std::uint32_t operation;
  std::uint32_t next;  // the edge to follow next; the one being followed is next - 1
};

std::string cycle_text(const Program& program,
                       const OrderGraph& graph,
                       const std::vector<Visit>& path,
                       std::size_t start) {
  std::string text = describe_with_place(program, path[start].operation);
  for (std::size_t i = start; i < path.size(); ++i) {
    const std::uint32_t other = i + 1 < path.size() ? path[i + 1].operation : path[start].operation;
    text += fmt::format(
        " waits for {}{}", describe_with_place(program, other),
        graph.by_stream(path[i].operation, path[i].next - 1) ? " (ahead of it on its stream)" : "");
    text += i + 1 < path.size() ? ", which" : "";
  }
  return text;
}

void find_cycles(const Program& program, config::Diagnostics& diagnostics) {
  enum class State : std::uint8_t { kNew, kOpen, kDone };
  const OrderGraph graph(program);
  std::vector<State> state(program.operations.size(), State::kNew);
  std::vector<bool> reported(program.operations.size(), false);
  std::vector<Visit> path;
  std::size_t cycles = 0;
  for (std::uint32_t root = 0; root < state.size() && cycles < kMostCycles; ++root) {
    if (state[root] != State::kNew) {
      continue;
    }
    path.push_back({root, 0});
    state[root] = State::kOpen;
    while (!path.empty()) {
      Visit& top = path.back();
      const Operation& op = program.operations[top.operation];
      if (top.next > op.dependency_count) {
        state[top.operation] = State::kDone;
        path.pop_back();
        continue;
      }
      const std::uint32_t other = graph.before(top.operation, top.next++);
      if (other == Operation::kNone || state[other] == State::kDone) {
        continue;
      }
      if (state[other] == State::kNew) {
        state[other] = State::kOpen;
        path.push_back({other, 0});
        continue;
      }
      std::size_t start = path.size() - 1;
      while (path[start].operation != other) {
        --start;
      }
      // A second way around through the same operations says nothing new.
      bool fresh = false;
      for (std::size_t i = start; i < path.size(); ++i) {
        fresh = fresh || !reported[path[i].operation];
        reported[path[i].operation] = true;
      }
      if (fresh && ++cycles <= kMostCycles) {
        add_finding(diagnostics, program, other,
                    fmt::format("dependency cycle: {}", cycle_text(program, graph, path, start)),
                    "remove one of these dependencies");
      }
    }
  }
}

void check_edge(const Program& program,
                const std::vector<std::uint32_t>& loop_of,
                std::uint32_t operation,
                const Dependency& dependency,
                config::Diagnostics& diagnostics) {
  const std::uint32_t other = dependency.operation;
  const auto add = [&](std::string_view problem, std::string_view remedy) {
    add_finding(diagnostics, program, operation,
                fmt::format("{} depends on {}, {}", describe(program, operation),
                            describe_with_place(program, other), problem),
                remedy);
  };
  if (program.operations[other].kind == OpKind::kRepeat) {
    add("which is a repeat", "name an operation of its body: its last iteration is meant");
  } else if (other > operation && loop_of[operation] != loop_of[other]) {
    add("which comes later and not in the same loop body", "move it before");
  } else if (dependency.edge == EdgeKind::kLaunch &&
             program.streams[program.operations[other].stream].kind != StreamKind::kHost) {
    add("which is not on a host stream, by a launch edge",
        "use finish_to_start, or launch from a host operation");
  }
}

}  // namespace

void check_dependencies(const Program& program, config::Diagnostics& diagnostics) {
  const std::vector<std::uint32_t> loop_of = enclosing_loops(program);
  const std::size_t before = diagnostics.size();
  for (std::uint32_t i = 0; i < program.operations.size(); ++i) {
    const Operation& op = program.operations[i];
    for (std::uint32_t k = 0; k < op.dependency_count; ++k) {
      check_edge(program, loop_of, i, program.dependencies[op.first_dependency + k], diagnostics);
    }
  }
  // A dependency that is refused anyway may close a cycle that says nothing new.
  if (diagnostics.size() == before) {
    find_cycles(program, diagnostics);
  }
}

}  // namespace stepcast::program
