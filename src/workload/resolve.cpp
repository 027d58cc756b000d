#include <algorithm>

#include <fmt/core.h>

#include "workload/job.hpp"
#include "workload/pipeline_schedule.hpp"
#include "workload/shapes.hpp"

namespace stepcast::workload {

namespace {

/// Tasks of one stage that we are willing to list (forward and backward of each chunk).
constexpr std::uint64_t kMostTasks = 8'000'000;

config::Node node_at(const config::Document& document, std::string_view group, std::string_view key) {
  const config::Node root = document.root();
  const config::Node parent = group.empty() ? root : root.get(group);
  if (!parent.present()) {
    return root;
  }
  const config::Node member = parent.get(key);
  return member.present() ? member : parent;
}

/// The legal data-parallel size nearest to `wanted` (ties: the smaller); 0 = there is none.
/// Legal: dp x micro_batch divides the global batch, and an interleaved schedule gets whole groups of pp.
std::uint64_t nearest_legal_dp(const Job& job, std::uint64_t wanted) {
  const std::uint64_t group = job.plan.virtual_stages > 1 ? job.plan.pp : 1;
  if (job.global_batch % (group * job.micro_batch) != 0) {
    return 0;
  }
  const std::uint64_t total = job.global_batch / (group * job.micro_batch);
  std::uint64_t best = 0;
  const auto offer = [&](std::uint64_t candidate) {
    const auto distance = [&](std::uint64_t x) { return x > wanted ? x - wanted : wanted - x; };
    if (best == 0 || distance(candidate) < distance(best) ||
        (distance(candidate) == distance(best) && candidate < best)) {
      best = candidate;
    }
  };
  for (std::uint64_t i = 1; i * i <= total; ++i) {
    if (total % i == 0) {
      offer(i);
      offer(total / i);
    }
  }
  return best;
}

std::string remedy(const Job& job, std::uint64_t wanted_dp) {
  const std::uint64_t dp = nearest_legal_dp(job, wanted_dp);
  if (dp == 0) {
    return "no number of ranks fits this global_batch; make it a multiple of micro_batch (and of pp when "
           "interleaved)";
  }
  const std::uint64_t ranks = dp * job.plan.tp * job.plan.pp;
  return fmt::format("the nearest legal size is --ranks {} (dp {})", ranks, dp);
}

/// Fixes dp; false when the plan does not fit the ranks.
bool fix_data_parallel(Job& job, std::uint32_t ranks, const config::Document& document) {
  Plan& plan = job.plan;
  const std::uint64_t replica = std::uint64_t{plan.tp} * plan.pp;
  if (plan.dp == 0) {
    if (ranks % replica != 0) {
      node_at(document, "", "parallel")
          .error(fmt::format("{} ranks are not a multiple of tp x pp = {} x {}", ranks, plan.tp, plan.pp),
                 remedy(job, std::max<std::uint64_t>(1, ranks / replica)));
      return false;
    }
    plan.dp = static_cast<std::uint32_t>(ranks / replica);
  } else if (replica * plan.dp != ranks) {
    node_at(document, "parallel", "dp")
        .error(fmt::format("tp x pp x dp = {} x {} x {} = {}, but there are {} ranks", plan.tp, plan.pp,
                           plan.dp, replica * plan.dp, ranks),
               fmt::format("use --ranks {}, or leave dp out", replica * plan.dp));
    return false;
  }
  return true;
}

void check_batches(const Job& job, const config::Document& document) {
  const Plan& plan = job.plan;
  const config::Node where = node_at(document, "", "global_batch");
  const std::uint64_t per_round = std::uint64_t{plan.dp} * job.micro_batch;
  if (job.global_batch % per_round != 0) {
    where.error(fmt::format("global_batch {} is not divisible by dp x micro_batch = {} x {}",
                            job.global_batch, plan.dp, job.micro_batch),
                remedy(job, plan.dp));
    return;
  }
  const std::uint64_t count = micro_batches(job);
  if (count * plan.virtual_stages * 2 > kMostTasks) {
    where.error(fmt::format("{} micro-batches per replica are more than we simulate", count),
                "reduce global_batch, or increase micro_batch or the ranks");
  } else if (plan.virtual_stages > 1 && count < plan.pp) {
    where.error(
        fmt::format("{} micro-batches per replica are too few to interleave {} stages", count, plan.pp),
        fmt::format("the interleaved schedule needs at least pp micro-batches; {}", remedy(job, plan.dp)));
  } else if (plan.virtual_stages > 1 && count % plan.pp != 0) {
    where.error(fmt::format("{} micro-batches per replica are not a multiple of pp {}", count, plan.pp),
                fmt::format("the interleaved schedule needs whole groups of pp; {}", remedy(job, plan.dp)));
  }
}

/// The state of a rank must be countable in bytes: at most 16 for each parameter of a stage.
void check_parameters(const Job& job, const config::Document& document) {
  constexpr double kMostParameters = 5e17;  // x 16 stays below 2^63
  const LocalParameters local = local_parameters(job);
  for (std::uint32_t stage = 0; stage < job.plan.pp; ++stage) {
    const double layers = static_cast<double>(chunk_layers(job, stage)) * job.plan.virtual_stages;
    const double parameters = layers * local.layer + local.embedding + local.head;
    if (parameters > kMostParameters) {
      node_at(document, "", "model")
          .unsupported(fmt::format("a rank of stage {} holds {:.2g} parameters, and their bytes cannot be "
                                   "counted exactly",
                                   stage, parameters),
                       "reduce layers, hidden or ffn_hidden, or increase tp or pp");
      return;
    }
  }
}

}  // namespace

void resolve(Job& job,
             std::uint32_t ranks,
             const config::Document& document,
             config::Diagnostics& diagnostics) {
  diagnostics.throw_if_any();
  if (fix_data_parallel(job, ranks, document)) {
    check_batches(job, document);
    check_parameters(job, document);
  }
  diagnostics.throw_if_any();
}

}  // namespace stepcast::workload
