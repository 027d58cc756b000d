#include "workload/generate.hpp"

#include <fmt/core.h>

#include "base/check.hpp"
#include "workload/rank_grid.hpp"
#include "workload/stage_program.hpp"

namespace stepcast::workload {

namespace {

using program::Group;
using program::Operation;
using program::Programs;

/// Adds groups and fills the slots of every rank.
class Wiring {
 public:
  Wiring(const Plan& plan, const std::vector<StageSlots>& slots, Programs& out)
      : plan_(plan), grid_(plan), slots_(slots), out_(out) {}

  void run() {
    for (std::uint32_t pp = 0; pp < plan_.pp; ++pp) {
      out_.slot_values.resize(std::size_t{pp} * plan_.tp * plan_.dp);
      const std::size_t slots = out_.programs[pp].slots.size();
      out_.slot_values.resize(std::size_t{pp + 1} * plan_.tp * plan_.dp, std::vector<std::uint32_t>(slots));
    }
    fill_groups();
    fill_peers();
  }

 private:
  std::uint32_t add(Group group, std::string name) {
    out_.group_names.push_back(std::move(name));
    return out_.groups.push_back(std::move(group)).index();
  }

  void put(std::uint32_t rank, std::uint32_t slot, std::uint32_t value) {
    out_.slot_values[rank][slot] = value;
  }

  void fill_groups() {
    for (std::uint32_t pp = 0; pp < plan_.pp; ++pp) {
      for (std::uint32_t dp = 0; dp < plan_.dp && slots_[pp].tp != Operation::kNone; ++dp) {
        const std::uint32_t id = add(grid_.tensor_group(dp, pp), fmt::format("tp dp{} pp{}", dp, pp));
        for (std::uint32_t tp = 0; tp < plan_.tp; ++tp) {
          put(grid_.rank(tp, dp, pp), slots_[pp].tp, id);
        }
      }
      for (std::uint32_t tp = 0; tp < plan_.tp && slots_[pp].dp != Operation::kNone; ++tp) {
        const std::uint32_t id = add(grid_.data_group(tp, pp), fmt::format("dp tp{} pp{}", tp, pp));
        for (std::uint32_t dp = 0; dp < plan_.dp; ++dp) {
          put(grid_.rank(tp, dp, pp), slots_[pp].dp, id);
        }
      }
    }
    if (slots_.front().embedding == Operation::kNone) {
      return;
    }
    const std::uint32_t last = plan_.pp - 1;
    for (std::uint32_t dp = 0; dp < plan_.dp; ++dp) {
      for (std::uint32_t tp = 0; tp < plan_.tp; ++tp) {
        const std::uint32_t id =
            add(grid_.embedding_group(tp, dp), fmt::format("embedding tp{} dp{}", tp, dp));
        put(grid_.rank(tp, dp, 0), slots_.front().embedding, id);
        put(grid_.rank(tp, dp, last), slots_.back().embedding, id);
      }
    }
  }

  void fill_peers() {
    for (std::uint32_t pp = 0; pp < plan_.pp; ++pp) {
      const std::uint32_t previous = (pp + plan_.pp - 1) % plan_.pp;
      const std::uint32_t next = (pp + 1) % plan_.pp;
      for (std::uint32_t dp = 0; dp < plan_.dp; ++dp) {
        for (std::uint32_t tp = 0; tp < plan_.tp; ++tp) {
          const std::uint32_t rank = grid_.rank(tp, dp, pp);
          if (slots_[pp].previous != Operation::kNone) {
            put(rank, slots_[pp].previous, grid_.rank(tp, dp, previous));
          }
          if (slots_[pp].next != Operation::kNone) {
            put(rank, slots_[pp].next, grid_.rank(tp, dp, next));
          }
        }
      }
    }
  }

  const Plan& plan_;
  RankGrid grid_;
  const std::vector<StageSlots>& slots_;
  Programs& out_;
};

}  // namespace

Programs generate(const Job& job, const hardware::Accelerator& device) {
  const Plan& plan = job.plan;
  STEPCAST_CHECK(plan.dp > 0 && micro_batches(job) > 0, "job {} is not resolved", job.name);
  Programs out;
  out.ranks = RankGrid(plan).ranks();
  std::vector<StageSlots> slots(plan.pp);
  for (std::uint32_t stage = 0; stage < plan.pp; ++stage) {
    out.programs.push_back(stage_program(job, device, stage, slots[stage]));
    out.programs.back().origin = {job.place.file, job.place.line, job.name, job.place.column,
                                  job.place.pointer};
    out.program_of.resize(out.program_of.size() + std::size_t{plan.tp} * plan.dp, stage);
  }
  Wiring(plan, slots, out).run();
  return out;
}

}  // namespace stepcast::workload
