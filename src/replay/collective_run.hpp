#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "collective/collective.hpp"
#include "replay/predict.hpp"
#include "routing/router.hpp"

namespace stepcast::replay {

/// A collective that runs beside the timed one.
struct OtherCollective {
  collective::Request request;
  std::vector<GpuId> group;
  Duration start;  ///< after the start of the timed one; >= 0
};

/// How collectives are run.
struct CollectiveOptions {
  collective::Form form = collective::Form::kCoupled;
  std::string fidelity = "flow";
  Fold fold = Fold::kAuto;
};

/// Time and choice of one collective call on a fabric that is idle but for the others.
struct CollectiveTime {
  Bytes bytes;
  Duration time;  ///< from the common start to the last member's end
  std::string algorithm;
  collective::Protocol protocol = collective::Protocol::kSimple;
  std::uint32_t channels = 0;
  std::vector<Duration> others;  ///< of each other, from its own start to its last member's end
};

/// Runs one call of `request` for each size, by a program of one operation per member that the
/// executor replays: the same path as a training step takes. With the fidelity "analytic" the call is priced
/// instead, each alone. `others` run at the same time, on groups that may share GPUs. Errors as
/// Lowering::lower and execute; UnsupportedError for steps in the analytic fidelity.
[[nodiscard]] std::vector<CollectiveTime> run_collectives(const routing::Router& router,
                                                          const collective::Request& request,
                                                          std::span<const Bytes> sizes,
                                                          std::span<const GpuId> group,
                                                          const CollectiveOptions& options = {},
                                                          std::span<const OtherCollective> others = {});

}  // namespace stepcast::replay
