#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "collective/collective.hpp"
#include "replay/predict.hpp"
#include "routing/router.hpp"

namespace stepcast::replay {

/// Time and choice of one collective call on an otherwise idle fabric.
struct CollectiveTime {
  Bytes bytes;
  Duration time;  ///< from the common start to the last member's end
  std::string algorithm;
  collective::Protocol protocol = collective::Protocol::kSimple;
  std::uint32_t channels = 0;
};

/// Runs one call of `request` for each size, by a program of one operation per member that the
/// executor replays: the same path as a training step takes. With `fidelity` "analytic" the call is priced
/// instead. Errors as Lowering::lower and execute; UnsupportedError for steps in the analytic fidelity.
[[nodiscard]] std::vector<CollectiveTime> run_collectives(const routing::Router& router,
                                                          const collective::Request& request,
                                                          std::span<const Bytes> sizes,
                                                          std::span<const GpuId> group,
                                                          collective::Form form,
                                                          std::string_view fidelity = "flow");

}  // namespace stepcast::replay
