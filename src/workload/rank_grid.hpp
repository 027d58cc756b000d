#pragma once

#include <cstdint>

#include "program/program.hpp"
#include "workload/job.hpp"

namespace stepcast::workload {

/// Rank numbers and groups of a resolved plan: tp fastest, then dp, then pp.
class RankGrid {
 public:
  explicit RankGrid(const Plan& plan) : tp_(plan.tp), dp_(plan.dp), pp_(plan.pp) {}

  [[nodiscard]] std::uint32_t ranks() const { return tp_ * dp_ * pp_; }
  [[nodiscard]] std::uint32_t stage_ranks() const { return tp_ * dp_; }
  [[nodiscard]] std::uint32_t rank(std::uint32_t tp, std::uint32_t dp, std::uint32_t pp) const {
    return tp + tp_ * (dp + dp_ * pp);
  }

  [[nodiscard]] program::Group tensor_group(std::uint32_t dp, std::uint32_t pp) const {
    return program::Group::strided(rank(0, dp, pp), {{1, tp_}});
  }
  [[nodiscard]] program::Group data_group(std::uint32_t tp, std::uint32_t pp) const {
    return program::Group::strided(rank(tp, 0, pp), {{tp_, dp_}});
  }
  /// First and last stage. REQUIRES: pp > 1.
  [[nodiscard]] program::Group embedding_group(std::uint32_t tp, std::uint32_t dp) const {
    return program::Group::strided(rank(tp, dp, 0), {{tp_ * dp_ * (pp_ - 1), 2}});
  }

 private:
  std::uint32_t tp_;
  std::uint32_t dp_;
  std::uint32_t pp_;
};

}  // namespace stepcast::workload
