#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/dtype.hpp"
#include "base/units.hpp"
#include "config/node.hpp"

namespace stepcast::hardware {

/// A number with its source.
struct Sourced {
  double value = 0;
  config::Source source;
};

/// Dense peaks, memory and efficiency constants of an accelerator.
/// All efficiencies are fractions of the nameplate dense peak or nameplate bandwidth.
struct Accelerator {
  std::string name;
  FlopRate peak_fp16;  ///< also bf16
  FlopRate peak_fp4;   ///< 0 when the device has none; no model computes in fp4 yet
  FlopRate peak_fp8;   ///< 0 when the device has none
  FlopRate peak_fp32;  ///< tf32 tensor-core peak
  Bandwidth hbm_bandwidth;
  Bytes hbm_capacity;
  std::uint32_t sm_count = 0;
  std::uint32_t compute_capability = 0;  ///< 80, 90, 100 ...: what NCCL's choice goes by; 0 = not given

  // Compute model constants (form: ../compute/README.md; numbers: topologies/catalog/accelerators.json).
  double gemm_efficiency = 0;               ///< e of a large aligned GEMM
  double gemm_efficiency_fp8 = 0;           ///< 0 when the device has no fp8
  double gemm_wave_weight = 0;              ///< w: share of wave quantisation that shows
  double gemm_k_half = 0;                   ///< k0 of the saturation k/(k+k0), in elements
  double gemm_misaligned_factor = 1;        ///< factor when n or k is not a multiple of 64
  double memory_efficiency = 0;             ///< of element-wise kernels
  double attention_forward_efficiency = 0;  ///< flash attention, causal FLOPs
  double attention_backward_ratio = 1;      ///< backward efficiency / forward efficiency
  double unfused_attention_efficiency = 0;  ///< batched GEMMs over the full S x S scores
  double elementwise_passes = 0;            ///< u: forward bytes per layer = u * tokens * hidden * 2
  double loss_bytes_per_logit = 0;
  double optimizer_bytes_per_parameter = 0;
  Duration launch_per_kernel;  ///< host time per kernel launch
  Duration step_overhead;      ///< fixed per step: data, loss reduction, optimizer launches
  std::map<std::string, config::Source> sources;  ///< by field name as in the file
};

/// Latency and bandwidth constants of collectives on one NVLink generation
/// (form: ../collective/README.md; numbers with sources in topologies/catalog/accelerators.json).
struct CollectiveConstants {
  Duration launch;      ///< a: launch and kernel start
  Duration hop_ll;      ///< h: one LL hop on NVLink
  Duration hop_ll128;   ///< one LL128 hop on NVLink
  Duration hop_simple;  ///< h_S: one Simple step on NVLink before overlap with transfer
  Duration net_hop_ll;  ///< LL hop over the network
  Duration net_hop_ll128;
  Duration net_hop_simple;         ///< Simple hop over the network
  double efficiency_ll = 0.5;      ///< useful share of the wire for LL
  double efficiency_ll128 = 0.73;  ///< ... for LL128
  double last_step_share = 0;      ///< kappa: the last receive of a loop is not overlapped with a send
  double overlap_exponent = 1.65;  ///< p of (X^p + W^p)^(1/p) for Simple
  Bandwidth local_rate;            ///< a member works through what it received before it goes on; 0 = at once
  double ll_channel_bytes = 0;     ///< bytes per channel and step until all channels are in use
  std::uint32_t channels = 1;      ///< channels of a single-node ring
  Bandwidth channel_bandwidth;  ///< payload that one channel moves at most; 0 = nvlink_effective / channels
  double efficiency_nvls = 0;   ///< share of nvlink_effective that NVLink SHARP reaches; 0 = has none
  // NVLink SHARP and all-to-all in one domain, whose curves hops do not give (form: ../collective/README.md).
  Duration nvls_latency;            ///< L: of one pass up and down; 0 = as Simple hops
  Duration nvls_stretch;            ///< t: a transfer of w takes w (1 + t / (w + h))
  Duration nvls_half;               ///< h
  double exchange_hops = 0;         ///< LL hops of an all-to-all in one domain; 0 = as one hop
  double exchange_log_hops = 0;     ///< more for each doubling of the members
  double exchange_simple_hops = 0;  ///< more in protocol Simple
  double exchange_copy = 0;         ///< the copy of the own part, of a part
  double exchange_efficiency = 1;   ///< of nvlink_effective
  Duration exchange_stretch;        ///< t and h as above, protocol Simple
  Duration exchange_half;
  Bandwidth exchange_ll_rate;      ///< at which LL moves one part, NCCL 2.29 on
  Bandwidth exchange_ll_rate_old;  ///< ... before
  std::map<std::string, config::Source> sources;
};

/// Vendor of a host's CPUs, as NCCL tells them apart.
enum class Cpu : std::uint8_t { kIntel, kAmd, kArm, kPower };
[[nodiscard]] std::string_view name_of(Cpu cpu);

/// One kind of host: an NVLink domain with its accelerators, switches and NICs.
struct HostKind {
  std::string name;
  Accelerator accelerator;
  CollectiveConstants collective;
  std::uint32_t gpus = 0;
  Cpu cpu = Cpu::kIntel;
  std::uint32_t nvswitches = 0;  ///< 0 = no NVLink switch
  Bandwidth nvlink_bandwidth;    ///< per GPU, one direction, nameplate
  Bandwidth nvlink_effective;    ///< payload rate that collectives reach
  Duration nvlink_latency;       ///< per link (GPU to switch)
  std::uint32_t gpus_per_pcie_switch = 1;
  Bandwidth pcie_bandwidth;  ///< one direction, per device
  Duration pcie_latency;
  std::uint32_t nics = 0;   ///< GPU i uses NIC i * nics / gpus
  Bandwidth nic_bandwidth;  ///< one direction, nameplate
  Bandwidth nic_effective;  ///< payload rate
  Duration nic_latency;     ///< cable and port latency, per link
  std::map<std::string, config::Source> sources;
};

/// Reads `topologies/catalog/*.json` once; throws InputError with places when a file is wrong.
class Catalog {
 public:
  /// Loads the shipped catalogue.
  [[nodiscard]] static Catalog shipped();

  /// Host kind by name (an unknown one is an error at `where` with a suggestion) or inline object.
  [[nodiscard]] HostKind host(const config::Node& where) const;

  /// Reads an inline host object (same fields as a catalogue entry; "accelerator" names one or is an
  /// object; "base" takes another host's fields as defaults).
  [[nodiscard]] HostKind read_host(const config::Node& node) const;

  [[nodiscard]] Accelerator accelerator(const config::Node& where) const;

  /// Overrides one named accelerator or collective constant (calibration). REQUIRES: a known name.
  static void set_constant(HostKind& host, const std::string& name, double value);
  /// Value of a named constant, as set_constant takes it.
  [[nodiscard]] static double constant(const HostKind& host, const std::string& name);
  /// Smallest and largest value that set_constant takes. REQUIRES: a known name.
  [[nodiscard]] static std::pair<double, double> constant_range(const std::string& name);
  /// Every name that set_constant takes: field names as in the files. Units: fractions, bytes/s,
  /// bytes, seconds, FLOP/s.
  [[nodiscard]] static std::vector<std::string> constant_names();

  [[nodiscard]] std::vector<std::string> host_names() const;
  [[nodiscard]] std::vector<std::string> accelerator_names() const;

 private:
  std::map<std::string, Accelerator> accelerators_;
  std::map<std::string, CollectiveConstants> collectives_;  // by accelerator name
  std::map<std::string, HostKind> hosts_;
};

}  // namespace stepcast::hardware
