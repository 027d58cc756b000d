#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "network/flow_network.hpp"

namespace stepcast::support {

[[nodiscard]] inline TimePoint at(std::int64_t ps) {
  return TimePoint::from_start(Duration::from_ps(ps));
}

/// One demand of weight bytes per unit of progress.
[[nodiscard]] inline network::Demand over(ResourceId resource,
                                          std::uint32_t weight = 1,
                                          std::uint32_t members = 1) {
  return {.resource = resource, .weight = weight, .members = members};
}

/// A shape from a list of demands; `rest` carries the other fields.
[[nodiscard]] inline ShapeId add_shape(network::FlowNetwork& net,
                                       const std::vector<network::Demand>& demands,
                                       network::Shape rest = {}) {
  rest.demands = demands;
  return net.add_shape(rest);
}

/// Runs the network until nothing is left that finishes; completion time in ps by tag.
[[nodiscard]] inline std::map<std::uint64_t, std::int64_t> run_to_end(network::FlowNetwork& net) {
  std::map<std::uint64_t, std::int64_t> finish;
  std::vector<network::Completion> done;
  while (net.next_completion() != TimePoint::never()) {
    const TimePoint now = net.next_completion();
    done.clear();
    net.take_completed(now, done);
    for (const network::Completion& completion : done) {
      finish[completion.tag] = now.ps();
    }
    net.resolve(now);
  }
  return finish;
}

}  // namespace stepcast::support
