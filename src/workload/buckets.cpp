#include "workload/buckets.hpp"

#include "workload/shapes.hpp"

namespace stepcast::workload {

std::vector<Bucket> buckets(const Job& job, std::uint32_t stage, std::uint32_t chunk) {
  const LocalParameters local = local_parameters(job);
  const double limit =
      static_cast<double>(job.bucket.count()) / static_cast<double>(element_bytes(job.grad_dtype));
  std::vector<Bucket> result;
  Bucket open;
  const auto close_if = [&](bool full) {
    if (full && open.parameters > 0) {
      result.push_back(open);
      open = {};
    }
  };
  if (stage + 1 == job.plan.pp && chunk + 1 == job.plan.virtual_stages) {
    open.head = true;
    open.parameters += local.head;
    close_if(open.parameters >= limit);
  }
  for (std::uint32_t layer = 0; layer < chunk_layers(job, stage); ++layer) {
    ++open.layers;
    open.parameters += local.layer;
    close_if(open.parameters >= limit);
  }
  if (stage == 0 && chunk == 0) {
    open.embedding = true;
    open.parameters += local.embedding;
  }
  close_if(true);
  return result;
}

double stage_parameters(const Job& job, std::uint32_t stage) {
  double parameters = 0;
  for (std::uint32_t chunk = 0; chunk < job.plan.virtual_stages; ++chunk) {
    for (const Bucket& bucket : buckets(job, stage, chunk)) {
      parameters += bucket.parameters;
    }
  }
  return parameters;
}

}  // namespace stepcast::workload
