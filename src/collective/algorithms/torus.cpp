#include "collective/algorithms/torus.hpp"

#include <algorithm>
#include <functional>
#include <numeric>
#include <utility>

#include <fmt/format.h>

namespace stepcast::collective {
namespace {

/// The way of one channel: its dimensions in order, and which way around.
class TorusPart {
 public:
  TorusPart(std::vector<std::uint32_t> sizes, std::uint32_t channel, const Places& places)
      : sizes_(std::move(sizes)), backwards_(channel % 2 == 1) {
    // Positions in the order of the fabric where its levels are the sides.
    member_.resize(places.members());
    std::iota(member_.begin(), member_.end(), 0U);
    if (places.shape().sizes.empty() && sizes_ == places.levels()) {
      member_ = places.in_order();
    }
    position_.resize(member_.size());
    for (std::uint32_t position = 0; position < member_.size(); ++position) {
      position_[member_[position]] = position;
    }
    for (std::uint32_t i = 0; i < sizes_.size(); ++i) {
      turn_.push_back((channel / 2 + i) % static_cast<std::uint32_t>(sizes_.size()));
    }
  }

  [[nodiscard]] std::uint32_t phases() const { return static_cast<std::uint32_t>(sizes_.size()); }
  [[nodiscard]] std::uint32_t size(std::uint32_t phase) const { return sizes_[turn_[phase]]; }

  [[nodiscard]] std::uint32_t stride(std::uint32_t phase) const {
    std::uint32_t stride = 1;
    for (std::uint32_t i = 0; i < turn_[phase]; ++i) {
      stride *= sizes_[i];
    }
    return stride;
  }

  /// The ring of a phase through a member, and its place in it.
  [[nodiscard]] LevelRing ring(std::uint32_t phase, std::uint32_t member) const {
    const std::uint32_t step = stride(phase);
    const std::uint32_t here = position_[member];
    const std::uint32_t own = here / step % size(phase);
    LevelRing ring;
    for (std::uint32_t i = 0; i < size(phase); ++i) {
      const std::uint32_t at = backwards_ ? size(phase) - 1 - i : i;
      ring.order.push_back(member_[here + at * step - own * step]);
    }
    ring.position = backwards_ ? size(phase) - 1 - own : own;
    return ring;
  }

 private:
  std::vector<std::uint32_t> sizes_;
  std::vector<std::uint32_t> turn_;
  std::vector<std::uint32_t> member_;    // by position
  std::vector<std::uint32_t> position_;  // by member
  bool backwards_;
};

}  // namespace

std::vector<std::uint32_t> torus_sides(const Places& places, std::uint32_t dimensions) {
  std::vector<std::uint32_t> sides = places.shape().sizes;
  if (sides.empty() && places.levels().size() == dimensions) {
    sides = places.levels();
  }
  if (sides.empty()) {
    return near_factors(places.members(), dimensions);
  }
  sides.erase(std::remove(sides.begin(), sides.end(), 1U), sides.end());
  return sides;
}

std::string torus_problem(const Places& places, std::uint32_t dimensions) {
  const Shape& shape = places.shape();
  if (!shape.algorithms.empty()) {
    return fmt::format("it has rings in all dimensions; give {} sides (torus{}d:{})", dimensions, dimensions,
                       dimensions == 2 ? "4x8" : "4x4x8");
  }
  if (shape.sizes.empty()) {
    return {};
  }
  if (shape.sizes.size() != dimensions) {
    return fmt::format("{} sides for {} dimensions", shape.sizes.size(), dimensions);
  }
  const std::uint64_t product =
      std::accumulate(shape.sizes.begin(), shape.sizes.end(), std::uint64_t{1}, std::multiplies<>());
  return product == places.members() ? std::string()
                                     : fmt::format("sides of {} are {} members, and the group has {}",
                                                   fmt::join(shape.sizes, " x "), product, places.members());
}

Schedule torus_schedule(const Places& places, std::uint32_t channels, std::uint32_t dimensions) {
  const std::uint32_t n = places.members();
  Schedule made;
  made.kind = Kind::kAllReduce;
  made.members = n;
  made.chunks = n * channels;
  made.channels = channels;
  for (std::uint32_t channel = 0; channel < channels; ++channel) {
    const TorusPart part(torus_sides(places, dimensions), channel, places);
    for (std::uint32_t member = 0; member < n; ++member) {
      Lane lane{.rank = member, .thread_block = channel, .channel = channel};
      std::vector<LevelRing> rings;
      std::uint32_t first = channel * n;
      std::uint32_t count = n;
      for (std::uint32_t phase = 0; phase < part.phases(); ++phase) {
        LevelRing ring = part.ring(phase, member);
        count /= part.size(phase);
        ring.first = first;
        ring.count = count;
        first += ring.position * count;
        add_level_reduce_scatter(lane, ring);
        rings.push_back(std::move(ring));
      }
      std::for_each(rings.rbegin(), rings.rend(),
                    [&](const LevelRing& ring) { add_level_all_gather(lane, ring); });
      made.lanes.push_back(std::move(lane));
    }
  }
  return made;
}

Pattern torus_pattern(const Places& places, std::uint32_t channels, std::uint32_t dimensions) {
  const std::uint32_t n = places.members();
  const std::vector<std::uint32_t> sizes = torus_sides(places, dimensions);
  Pattern pattern;
  for (std::uint32_t phase = 0; phase < sizes.size(); ++phase) {
    std::vector<Edge>& edges = pattern.phases.emplace_back();
    for (std::uint32_t channel = 0; channel < channels; ++channel) {
      const TorusPart part(sizes, channel, places);
      std::uint32_t count = n;
      for (std::uint32_t i = 0; i <= phase; ++i) {
        count /= part.size(i);
      }
      for (std::uint32_t member = 0; member < n; ++member) {
        const LevelRing ring = part.ring(phase, member);
        edges.push_back({.channel = channel,
                         .from = member,
                         .to = ring.order[(ring.position + 1) % part.size(phase)],
                         .exit = member,
                         .weight = (part.size(phase) - 1) * count});
      }
    }
  }
  // The all-gathers go back through the dimensions.
  for (std::size_t phase = sizes.size(); phase-- > 0;) {
    pattern.phases.push_back(pattern.phases[phase]);
  }
  return pattern;
}

std::vector<SteadyState> torus_steady_states(const Setting& setting, std::uint32_t dimensions) {
  const Places& places = setting.places;
  const std::vector<std::uint32_t> sizes = torus_sides(places, dimensions);
  std::vector<SteadyState> phases;
  for (std::uint32_t phase = 0; phase < sizes.size(); ++phase) {
    SteadyState steady;
    for (std::uint32_t channel = 0; channel < setting.channels; ++channel) {
      steady.steps = std::max(steady.steps, std::int64_t{TorusPart(sizes, channel, places).size(phase)} - 1);
    }
    steady.network_steps = places.host_count() > 1 ? steady.steps : 0;
    steady.share_numerator = 1;
    steady.share_denominator = places.members();
    steady.port_weight = setting.channels * places.members();
    phases.push_back(steady);
  }
  for (std::size_t phase = sizes.size(); phase-- > 0;) {
    phases.push_back(phases[phase]);
  }
  return phases;
}

double torus_messages(const Places& places, std::uint32_t channels, std::uint32_t dimensions) {
  double hops = 0;
  for (const std::uint32_t size : torus_sides(places, dimensions)) {
    hops += 2 * (size - 1.0);
  }
  return hops * places.members() * channels;
}

}  // namespace stepcast::collective
