#include <cstddef>

#include "base/check.hpp"
#include "program/program.hpp"

namespace stepcast::program {
namespace {

constexpr std::uint64_t kMostExecutions = std::uint64_t{1} << 63;

std::uint64_t saturating_product(std::uint64_t a, std::uint64_t b) {
  return b != 0 && a > kMostExecutions / b ? kMostExecutions : a * b;
}

}  // namespace

std::vector<std::uint32_t> enclosing_loops(const Program& program) {
  const std::size_t count = program.operations.size();
  std::vector<std::uint32_t> loop_of(count, Operation::kNone);
  std::vector<std::uint32_t> open;    // loops around the current operation, outermost first
  std::vector<std::size_t> open_end;  // one past the last operation of each
  for (std::size_t i = 0; i < count; ++i) {
    while (!open.empty() && open_end.back() == i) {
      open.pop_back();
      open_end.pop_back();
    }
    if (!open.empty()) {
      loop_of[i] = open.back();
    }
    if (program.operations[i].kind == OpKind::kRepeat) {
      const std::size_t end = i + 1 + program.operations[i].target;
      STEPCAST_CHECK(end > i + 1 && end <= (open.empty() ? count : open_end.back()),
                     "loop at operation {} leaves the loop around it", i);
      open.push_back(static_cast<std::uint32_t>(i));
      open_end.push_back(end);
    }
  }
  return loop_of;
}

std::vector<std::uint64_t> execution_counts(const Program& program) {
  const std::vector<std::uint32_t> loop_of = enclosing_loops(program);
  std::vector<std::uint64_t> counts(loop_of.size(), 1);
  for (std::size_t i = 0; i < loop_of.size(); ++i) {
    if (loop_of[i] != Operation::kNone) {
      const auto times = static_cast<std::uint64_t>(program.operations[loop_of[i]].bytes);
      counts[i] = saturating_product(counts[loop_of[i]], times);
    }
  }
  return counts;
}

}  // namespace stepcast::program
