#pragma once

#include <cstdint>
#include <vector>

#include "workload/job.hpp"

namespace stepcast::workload {

/// A gradient bucket of one chunk: parts that are complete together in the backward, which visits
/// head, layers from the last, embedding. Internal to workload/.
struct Bucket {
  bool head = false;
  std::uint32_t layers = 0;
  bool embedding = false;
  double parameters = 0;  ///< local elements
};

/// Buckets of a chunk in backward order: parts are gathered until the bucket size is reached.
[[nodiscard]] std::vector<Bucket> buckets(const Job& job, std::uint32_t stage, std::uint32_t chunk);

/// Parameters that a GPU of `stage` holds.
[[nodiscard]] double stage_parameters(const Job& job, std::uint32_t stage);

}  // namespace stepcast::workload
