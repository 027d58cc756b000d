#include "collective/availability.hpp"

#include <algorithm>
#include <array>

#include <fmt/core.h>
#include <fmt/format.h>

#include "base/error.hpp"
#include "base/suggestion.hpp"
#include "collective/nccl/choice.hpp"
#include "collective/shape_hint.hpp"

namespace stepcast::collective {
namespace {

/// Algorithms of the request's kind that its hint allows.
std::vector<const Algorithm*> wanted_algorithms(const Request& request) {
  std::vector<const Algorithm*> wanted;
  for (const Algorithm& algorithm : algorithms()) {
    if (algorithm.kind != request.kind) {
      continue;
    }
    const std::string_view hint = algorithm_of(request.algorithm);
    if (hint.empty() || hint == algorithm.name || hint == algorithm.family) {
      wanted.push_back(&algorithm);
    }
  }
  if (wanted.empty()) {
    std::vector<std::string> names;
    for (const Algorithm& algorithm : algorithms()) {
      if (algorithm.kind == request.kind) {
        names.emplace_back(algorithm.family);
        names.emplace_back(algorithm.name);
      }
    }
    throw InputError(fmt::format("unknown algorithm \"{}\" for {}; {}", request.algorithm,
                                 name_of(request.kind), suggest(request.algorithm, names)));
  }
  return wanted;
}

/// True when a level of the shape is summed in NVLink switches.
bool uses_nvls(const Algorithm& algorithm, const Places& places) {
  const std::vector<std::string>& levels = places.shape().algorithms;
  return algorithm.shaped && std::find(levels.begin(), levels.end(), "nvls") != levels.end();
}

}  // namespace

bool uneven(const Request& request) {
  return std::any_of(request.splits.begin(), request.splits.end(),
                     [&](Bytes split) { return split != request.splits[0]; });
}

bool needs_simple(const Algorithm& algorithm, const Places& places) {
  return algorithm.simple_only || uses_nvls(algorithm, places);
}

bool in_nvlink_switches(const Algorithm& algorithm) {
  return algorithm.family == "nvls" || algorithm.family == "nvls_tree";
}

std::string refusal_of(const Algorithm& algorithm, const Request& request, const Ground& ground) {
  const auto& [places, cluster, settings] = ground;
  if (!algorithm.shaped && places.shape() != Shape{}) {
    return "it has no levels or sides to be chosen";
  }
  if (needs_simple(algorithm, places) && request.protocol.value_or(Protocol::kSimple) != Protocol::kSimple) {
    return fmt::format("it runs in protocol Simple only, not in {}", name_of(*request.protocol));
  }
  if (in_nvlink_switches(algorithm) && reduces(request.kind) &&
      !nccl::switch_reduces(request.dtype, request.reduction)) {
    return fmt::format("NVLink switches do not reduce {} this way", stepcast::name_of(request.dtype));
  }
  if (!settings.pxn && algorithm.forwards_by_rail) {
    return "NCCL_PXN_DISABLE=1";
  }
  if (uneven(request) && !algorithm.sends_own_chunks) {
    return "it passes on data of others in equal parts, and the splits differ";
  }
  std::string refusal = algorithm.available == nullptr ? std::string() : algorithm.available(cluster);
  if (refusal.empty() && uses_nvls(algorithm, places)) {
    const auto all = algorithms();
    refusal = std::find_if(all.begin(), all.end(), [](const Algorithm& one) {
                return one.family == "nvls";
              })->available(cluster);
  }
  if (refusal.empty() && algorithm.reduces_in_fabric) {
    const topology::Sharp& sharp = *cluster.sharp;
    const std::uint32_t most = std::max(algorithm.channels(places), 1U);
    const std::uint32_t trees = request.channels == 0 ? most : std::min(most, request.channels);
    if (sharp.trees > 0 && trees > sharp.trees) {
      refusal = fmt::format("it needs {} reduction trees and the switches have {} (give --channels {})",
                            trees, sharp.trees, sharp.trees);
    } else if (sharp.largest_call > Bytes(0) && request.bytes > sharp.largest_call) {
      refusal = fmt::format("the switches reduce at most {} bytes a call", sharp.largest_call.count());
    }
  }
  if (refusal.empty() && algorithm.fits != nullptr && places.members() > 1) {
    refusal = algorithm.fits(places);
  }
  return refusal;
}

std::vector<const Algorithm*> possible_algorithms(const Request& request, const Ground& ground) {
  std::vector<const Algorithm*> possible;
  std::string refusals;
  for (const Algorithm* algorithm : wanted_algorithms(request)) {
    const std::string refusal = refusal_of(*algorithm, request, ground);
    if (refusal.empty()) {
      possible.push_back(algorithm);
    } else {
      refusals +=
          fmt::format("{}\"{}\" cannot run here: {}", refusals.empty() ? "" : "; ", algorithm->name, refusal);
    }
  }
  if (possible.empty()) {
    std::vector<std::string> others;
    for (const Algorithm& algorithm : algorithms()) {
      const Places plain = ground.places.shaped({});
      if (algorithm.kind == request.kind &&
          refusal_of(algorithm, request, {plain, ground.cluster, ground.settings}).empty()) {
        others.emplace_back(algorithm.family);
      }
    }
    throw InputError(fmt::format(
        "{}; {}", refusals,
        others.empty() ? "leave out the protocol" : fmt::format("use {}", fmt::join(others, ", "))));
  }
  return possible;
}

const Algorithm* leaf_of(Kind kind, nccl::Family family) {
  static const auto leaves = [] {
    std::vector<std::array<const Algorithm*, nccl::kFamilies>> all(kind_names().size());
    for (const Algorithm& algorithm : algorithms()) {
      for (std::size_t f = 0; f < nccl::kFamilies; ++f) {
        if (algorithm.family == nccl::leaf_family(static_cast<nccl::Family>(f))) {
          all[static_cast<std::size_t>(algorithm.kind)][f] = &algorithm;
        }
      }
    }
    return all;
  }();
  return leaves[static_cast<std::size_t>(kind)][static_cast<std::size_t>(family)];
}

}  // namespace stepcast::collective
