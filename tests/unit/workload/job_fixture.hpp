#pragma once

#include <string>

#include "base/error.hpp"
#include "config/node.hpp"
#include "hardware/catalog.hpp"
#include "workload/job.hpp"

namespace stepcast::workload::testing {

/// Reads and resolves a job given as text; throws InputError like the product.
inline Job job_of(const std::string& text, std::uint32_t ranks) {
  config::Diagnostics diagnostics;
  const config::Document document = config::Document::parse(text, "job.json", diagnostics);
  Job job = read_job(document, diagnostics);
  resolve(job, ranks, document, diagnostics);
  return job;
}

/// A GPT job with the numbers that matter to a test.
struct Gpt {
  std::uint32_t layers = 8;
  std::uint32_t hidden = 256;
  std::uint32_t heads = 8;
  std::uint32_t sequence = 128;
  std::uint32_t vocab = 1024;
  std::uint32_t micro_batch = 1;
  std::uint64_t global_batch = 16;
  std::string parallel = "{}";
  std::string more;  ///< further members, each with a leading comma
};
inline std::string text_of(const Gpt& gpt) {
  return "{\"model\": {\"layers\": " + std::to_string(gpt.layers) +
         ", \"hidden\": " + std::to_string(gpt.hidden) + ", \"heads\": " + std::to_string(gpt.heads) +
         ", \"vocab\": " + std::to_string(gpt.vocab) + "}, \"sequence\": " + std::to_string(gpt.sequence) +
         ", \"micro_batch\": " + std::to_string(gpt.micro_batch) +
         ", \"global_batch\": " + std::to_string(gpt.global_batch) + ", \"parallel\": " + gpt.parallel +
         gpt.more + "}";
}

/// Round numbers, so that expected times can be worked out by hand.
inline hardware::Accelerator round_device() {
  hardware::Accelerator device;
  device.name = "round";
  device.peak_fp16 = FlopRate::from_flops_per_second(100e12);
  device.peak_fp8 = FlopRate::from_flops_per_second(200e12);
  device.peak_fp32 = FlopRate::from_flops_per_second(50e12);
  device.hbm_bandwidth = Bandwidth::from_bits_per_second(8'000'000'000'000);  // 1e12 B/s
  device.sm_count = 100;
  device.gemm_efficiency = 0.8;
  device.gemm_efficiency_fp8 = 0.6;
  device.gemm_wave_weight = 0.5;
  device.gemm_k_half = 512;
  device.gemm_misaligned_factor = 0.7;
  device.memory_efficiency = 0.8;
  device.attention_forward_efficiency = 0.5;
  device.attention_backward_ratio = 0.8;
  device.unfused_attention_efficiency = 0.25;
  device.elementwise_passes = 8;
  device.loss_bytes_per_logit = 16;
  device.optimizer_bytes_per_parameter = 32;
  device.step_overhead = Duration::from_ps(4'000'000'000);
  return device;
}

/// The message of the InputError that `text` on `ranks` ranks ends in; empty when it is fine.
inline std::string problem_of(const std::string& text, std::uint32_t ranks) {
  try {
    (void)job_of(text, ranks);
  } catch (const InputError& error) {
    return error.what();
  }
  return {};
}

}  // namespace stepcast::workload::testing
