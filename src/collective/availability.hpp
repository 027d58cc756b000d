#pragma once

#include <string>
#include <vector>

#include "collective/algorithm.hpp"
#include "collective/collective.hpp"
#include "collective/nccl/settings.hpp"

// Internal to collective/: which algorithms can do a request on a group.
namespace stepcast::collective {

/// True when the parts of an all-to-all differ: their flows then end at different times.
[[nodiscard]] bool uneven(const Request& request);

/// True when the algorithm runs in protocol Simple alone, by itself or for a level of its shape.
[[nodiscard]] bool needs_simple(const Algorithm& algorithm, const Places& places);

/// True when NVLink switches do the work: NCCL's NVLS and NVLSTree.
[[nodiscard]] bool in_nvlink_switches(const Algorithm& algorithm);

/// What a call runs on, as far as an algorithm may refuse it.
struct Ground {
  const Places& places;
  const topology::Cluster& cluster;
  const nccl::Settings& settings;
};

/// Why an algorithm cannot do a request on a group, or empty.
[[nodiscard]] std::string refusal_of(const Algorithm& algorithm,
                                     const Request& request,
                                     const Ground& ground);

/// Those of the request's kind that its hint allows and that can run, at least one. Throws InputError with
/// the reasons and with others that can.
[[nodiscard]] std::vector<const Algorithm*> possible_algorithms(const Request& request, const Ground& ground);

/// The leaf that does what a family of NCCL does, or null.
[[nodiscard]] const Algorithm* leaf_of(Kind kind, nccl::Family family);

}  // namespace stepcast::collective
