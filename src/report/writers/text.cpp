// Scope:        the page a person reads in ten seconds.
// Assumes:      a terminal of 100 columns, no colours.
// Not covered:  every number of the result (json has them all).
// Source:       design 4.2.
// Validated by: tests/golden.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "report/amounts.hpp"
#include "report/writer.hpp"

namespace stepcast::report {
namespace {

constexpr int kBarWidth = 40;

std::string bar(double share) {
  return std::string(static_cast<std::size_t>(std::lround(share * kBarWidth)), '#');
}

void head(const replay::Result& result, std::string& out) {
  out += fmt::format("{} on {}: {} GPU{} ({})\n", result.job, result.cluster, format_count(result.gpus),
                     result.gpus == 1 ? "" : "s", result.accelerator);
  if (!result.plan.empty()) {
    out += result.plan + "\n";
  }
  out += "\n";
  out += fmt::format("  step time   {}", format_seconds(result.step_time_s));
  if (result.uncertainty.relative > 0) {
    out += fmt::format("   +- {:.0f} % ({})", 100 * result.uncertainty.relative, result.uncertainty.basis);
  } else if (!result.uncertainty.basis.empty()) {
    out += fmt::format("   ({})", result.uncertainty.basis);
  }
  out += "\n";
}

void training(const replay::Result& result, std::string& out) {
  const replay::TrainingFigures& figures = *result.training;
  out += fmt::format("  MFU         {} causal, {} with full attention (HFU {}) of {:.0f} TFLOP/s per GPU\n",
                     format_percent(figures.mfu), format_percent(figures.mfu_full_attention),
                     format_percent(figures.hfu), figures.mfu_peak_flops * 1e-12);
  out += fmt::format("  throughput  {} tokens/s, {:.1f} tokens/s per GPU, {:.1f} model TFLOP/s per GPU\n",
                     format_count(figures.tokens_per_s), figures.tokens_per_s_per_gpu,
                     figures.model_tflops_per_gpu);
}

void memory(const replay::Result& result, std::string& out) {
  const replay::MemoryFigures& figures = *result.memory;
  out +=
      fmt::format("  memory      {} of {}: {}\n", format_bytes(figures.peak), format_bytes(figures.capacity),
                  figures.fits ? "fits" : "DOES NOT FIT (the step is predicted as if it did)");
  out += fmt::format("              stage {}: weights {}, gradients {}, optimizer {}, activations {}\n",
                     figures.stage, format_bytes(figures.weights), format_bytes(figures.gradients),
                     format_bytes(figures.optimizer), format_bytes(figures.activations));
  constexpr double kGib = 1073741824.0;
  out += fmt::format("              layers only, first stage: states {:.7g} GiB, activations {:.7g} GiB\n",
                     figures.layers_only_states / kGib, figures.layers_only_activations / kGib);
}

void breakdown(const replay::Result& result, std::string& out) {
  out += fmt::format("\n  where the time goes (rank {}, the last to finish)\n", result.last_rank);
  for (std::size_t i = 0; i < replay::kActivities; ++i) {
    const double seconds = result.timeline.breakdown[i].seconds();
    if (seconds == 0) {
      continue;
    }
    const double share = seconds / result.step_time_s;
    out += fmt::format("    {:<11} {:>10}  {:>6}  {}\n", replay::name_of(static_cast<replay::Activity>(i)),
                       format_seconds(seconds), format_percent(share), bar(share));
  }
  std::string path;
  for (std::size_t i = 0; i < replay::kPathParts; ++i) {
    const double share = result.timeline.critical_path[i].seconds() / result.step_time_s;
    if (share >= 0.0005) {
      path += fmt::format("{}{} {}", path.empty() ? "" : ", ",
                          replay::name_of(static_cast<replay::PathPart>(i)), format_percent(share));
    }
  }
  out += fmt::format("  longest chain: {}\n", path.empty() ? "nothing" : path);
}

void links(const replay::Result& result, std::string& out) {
  std::vector<replay::TierUse> used;
  for (const replay::TierUse& tier : result.timeline.tiers) {
    if (tier.bytes > 0) {
      used.push_back(tier);
    }
  }
  std::stable_sort(used.begin(), used.end(),
                   [](const auto& a, const auto& b) { return a.utilisation > b.utilisation; });
  if (used.empty()) {
    return;
  }
  out += "\n  links, busiest tier first\n";
  for (const replay::TierUse& tier : used) {
    out +=
        fmt::format("    {:<11} {:>6} of the busiest over the step (peak {:.0f} %), {} in all\n", tier.tier,
                    format_percent(tier.utilisation), 100 * tier.peak, format_bytes(tier.bytes));
  }
}

/// The kinds of communication that take most, a line each.
void communication(const replay::Result& result, std::string& out) {
  constexpr std::size_t kMostLines = 4;
  const auto& all = result.timeline.communication;
  if (all.empty()) {
    return;
  }
  out += "\n  communication, most time in transfer first\n";
  for (std::size_t i = 0; i < std::min(all.size(), kMostLines); ++i) {
    const replay::CommunicationUse& use = all[i];
    const double per_rank = static_cast<double>(use.calls) / result.timeline.ranks;
    out += fmt::format("    {:<28} {:>9} calls per rank, {} each, after waiting {}\n",
                       fmt::format("{}{}{} {}", use.dimension, use.dimension.empty() ? "" : " ", use.kind,
                                   format_bytes(static_cast<double>(use.bytes))),
                       format_count(per_rank), format_seconds(use.transfer_s), format_seconds(use.wait_s));
  }
  if (all.size() > kMostLines) {
    out += fmt::format("    and {} more kinds (--format json)\n", all.size() - kMostLines);
  }
}

/// What became of the longest loop, when it is long enough to matter.
std::string steady_state(const replay::Timeline& timeline) {
  constexpr std::uint64_t kWorthALine = 64;
  if (timeline.loop_iterations < kWorthALine) {
    return {};
  }
  const std::string iterations = format_count(static_cast<double>(timeline.loop_iterations));
  return timeline.skipped_iterations > 0
             ? fmt::format("  steady state: {} of {} iterations repeat a period of {} and were counted\n",
                           format_count(static_cast<double>(timeline.skipped_iterations)), iterations,
                           timeline.skipped_period)
             : fmt::format("  steady state: none found in {} iterations, all simulated\n", iterations);
}

std::string write(const replay::Result& result) {
  std::string out;
  head(result, out);
  if (result.training) {
    training(result, out);
  }
  if (result.memory) {
    memory(result, out);
  }
  if (result.step_time_s > 0) {
    breakdown(result, out);
    communication(result, out);
    links(result, out);
  }
  for (const std::string& note : result.notes) {
    out += fmt::format("\n  note: {}", note);
  }
  out +=
      fmt::format("{}\n  {} ranks in {} classes (audit: {}), {} operations, fingerprint {:016x}\n",
                  result.notes.empty() ? "" : "\n", format_count(result.timeline.ranks),
                  format_count(result.timeline.classes), result.timeline.audit,
                  format_count(static_cast<double>(result.timeline.operations)), result.timeline.fingerprint);
  out += steady_state(result.timeline);
  return out;
}

}  // namespace

ResultWriter text_writer() {
  return {"text", "a page for a person (default)", &write};
}

}  // namespace stepcast::report
