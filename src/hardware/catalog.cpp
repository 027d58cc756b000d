#include "hardware/catalog.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>

#include <fmt/format.h>

#include "base/check.hpp"
#include "base/suggestion.hpp"
#include "config/data_path.hpp"

namespace stepcast::hardware {
namespace {

/// A field of a catalogue entry: its name in files and where it is kept. From these tables come
/// reading, range checks, refusal of unknown keys, and the named constants of calibration.
template <class Owner>
struct Field {
  std::string_view name;
  std::variant<double Owner::*,
               std::uint32_t Owner::*,
               Bandwidth Owner::*,
               Bytes Owner::*,
               Duration Owner::*,
               FlopRate Owner::*>
      member;
  double lower = 0;       // in SI units (bytes/s, bytes, s, FLOP/s)
  double upper = 1e30;    // inclusive
  bool optional = false;  // absent: the default of the struct stays
};

constexpr double kSmallest = 1e-9;  // lower bound of what must be positive

std::span<const Field<Accelerator>> accelerator_fields() {
  using A = Accelerator;
  static const std::vector<Field<A>> fields = {
      {"peak_fp16", &A::peak_fp16, 1},
      {"peak_fp4", &A::peak_fp4, 0, 1e30, true},
      {"peak_fp8", &A::peak_fp8, 0, 1e30, true},
      {"peak_fp32", &A::peak_fp32, 1},
      {"hbm_bandwidth", &A::hbm_bandwidth, 1},
      {"hbm_capacity", &A::hbm_capacity, 1},
      {"sm_count", &A::sm_count, 1, 1e4},
      {"compute_capability", &A::compute_capability, 60, 999, true},
      {"gemm_efficiency", &A::gemm_efficiency, kSmallest, 1},
      {"gemm_efficiency_fp8", &A::gemm_efficiency_fp8, 0, 1, true},
      {"gemm_wave_weight", &A::gemm_wave_weight, 0, 1},
      {"gemm_k_half", &A::gemm_k_half, 0, 1e5},
      {"gemm_misaligned_factor", &A::gemm_misaligned_factor, kSmallest, 1},
      {"memory_efficiency", &A::memory_efficiency, kSmallest, 1},
      {"attention_forward_efficiency", &A::attention_forward_efficiency, kSmallest, 1},
      {"attention_backward_ratio", &A::attention_backward_ratio, kSmallest, 2},
      {"unfused_attention_efficiency", &A::unfused_attention_efficiency, kSmallest, 1},
      {"elementwise_passes", &A::elementwise_passes, 0, 1e3},
      {"loss_bytes_per_logit", &A::loss_bytes_per_logit, 0, 1e3},
      {"optimizer_bytes_per_parameter", &A::optimizer_bytes_per_parameter, 0, 1e3},
      {"launch_per_kernel", &A::launch_per_kernel, 0, 1},
      {"step_overhead", &A::step_overhead, 0, 100},
  };
  return fields;
}

std::span<const Field<CollectiveConstants>> collective_fields() {
  using C = CollectiveConstants;
  static const std::vector<Field<C>> fields = {
      {"launch", &C::launch, 0, 1},
      {"hop_ll", &C::hop_ll, 0, 1},
      {"hop_ll128", &C::hop_ll128, 0, 1},
      {"hop_simple", &C::hop_simple, 0, 1},
      {"net_hop_ll", &C::net_hop_ll, 0, 1},
      {"net_hop_ll128", &C::net_hop_ll128, 0, 1},
      {"net_hop_simple", &C::net_hop_simple, 0, 1},
      {"efficiency_ll", &C::efficiency_ll, kSmallest, 1},
      {"efficiency_ll128", &C::efficiency_ll128, kSmallest, 1},
      {"last_step_share", &C::last_step_share, 0, 10},
      {"overlap_exponent", &C::overlap_exponent, 1, 100},
      {"local_rate", &C::local_rate, 0, 1e15, true},
      {"ll_channel_bytes", &C::ll_channel_bytes, 0, 1e9},
      {"channels", &C::channels, 1, 1024},
      {"channel_bandwidth", &C::channel_bandwidth, 0, 1e15, true},
      {"efficiency_nvls", &C::efficiency_nvls, 0, 1, true},
      {"nvls_latency", &C::nvls_latency, 0, 1, true},
      {"nvls_stretch", &C::nvls_stretch, 0, 1, true},
      {"nvls_half", &C::nvls_half, 0, 1, true},
      {"exchange_hops", &C::exchange_hops, 0, 1000, true},
      {"exchange_log_hops", &C::exchange_log_hops, 0, 1000, true},
      {"exchange_simple_hops", &C::exchange_simple_hops, 0, 1000, true},
      {"exchange_copy", &C::exchange_copy, 0, 10, true},
      {"exchange_efficiency", &C::exchange_efficiency, kSmallest, 1, true},
      {"exchange_stretch", &C::exchange_stretch, 0, 1, true},
      {"exchange_half", &C::exchange_half, 0, 1, true},
      {"exchange_ll_rate", &C::exchange_ll_rate, 0, 1e15, true},
      {"exchange_ll_rate_old", &C::exchange_ll_rate_old, 0, 1e15, true},
  };
  return fields;
}

std::span<const Field<HostKind>> host_fields() {
  using H = HostKind;
  static const std::vector<Field<H>> fields = {
      {"gpus", &H::gpus, 1, 4096},
      {"nvswitches", &H::nvswitches, 0, 4096},
      {"nvlink_bandwidth", &H::nvlink_bandwidth},
      {"nvlink_effective", &H::nvlink_effective},
      {"nvlink_latency", &H::nvlink_latency, 0, 1},
      {"gpus_per_pcie_switch", &H::gpus_per_pcie_switch, 1, 4096},
      {"pcie_bandwidth", &H::pcie_bandwidth, 1},
      {"pcie_latency", &H::pcie_latency, 0, 1},
      {"nics", &H::nics, 0, 4096},
      {"nic_bandwidth", &H::nic_bandwidth, 1},
      {"nic_effective", &H::nic_effective, 1},
      {"nic_latency", &H::nic_latency, 0, 1},
  };
  return fields;
}

const std::vector<std::string>& cpu_names() {
  static const std::vector<std::string> names = {"intel", "amd", "arm", "power"};
  return names;
}

/// A name, or {"value": name, "source": ..., "kind": ...} as numbers have it.
void read_cpu(const config::Node& node, HostKind& host) {
  if (!node.present()) {
    return;
  }
  const config::Node name = node.is_object() ? node.require("value") : node;
  if (node.is_object()) {
    node.allow_only({"value", "source", "kind"});
    host.sources["cpu"] = node.source();
  }
  if (name.present()) {
    host.cpu = static_cast<Cpu>(name.one_of(cpu_names()));
  }
}

// Values in SI units, as calibration and range checks see them.
double si(double value) {
  return value;
}
double si(std::uint32_t value) {
  return value;
}
double si(Bandwidth value) {
  return value.bytes_per_second();
}
double si(Bytes value) {
  return static_cast<double>(value.count());
}
double si(Duration value) {
  return value.seconds();
}
double si(FlopRate value) {
  return value.flops_per_second();
}

void assign(double& member, double value) {
  member = value;
}
void assign(std::uint32_t& member, double value) {
  member = static_cast<std::uint32_t>(std::llround(value));
}
void assign(Bandwidth& member, double value) {
  member = Bandwidth::from_bits_per_second(std::llround(value * 8));
}
void assign(Bytes& member, double value) {
  member = Bytes(std::llround(value));
}
void assign(Duration& member, double value) {
  member = Duration::from_ps(std::llround(value * 1e12));
}
void assign(FlopRate& member, double value) {
  member = FlopRate::from_flops_per_second(value);
}

void read(const config::Node& node, double lower, double upper, double& member) {
  member = node.factor(lower, upper);
}
void read(const config::Node& node, double lower, double upper, std::uint32_t& member) {
  const double value = node.factor(lower, upper);
  if (value != std::floor(value)) {
    node.error(fmt::format("{} is not a whole number", value), "give a whole number");
    return;
  }
  member = static_cast<std::uint32_t>(value);
}
template <class T>
void check_range(const config::Node& node, double lower, double upper, T value) {
  if (si(value) < lower || si(value) > upper) {
    node.error(lower > 0 && si(value) <= 0 ? "must be positive" : "out of range",
               fmt::format("give at least {} and at most {} (SI units)", lower, upper));
  }
}
void read(const config::Node& node, double lower, double upper, Bandwidth& member) {
  member = node.bandwidth();
  check_range(node, lower, upper, member);
}
void read(const config::Node& node, double lower, double upper, Bytes& member) {
  member = node.bytes();
  check_range(node, lower, upper, member);
}
void read(const config::Node& node, double lower, double upper, Duration& member) {
  member = node.duration();
  check_range(node, lower, upper, member);
}
void read(const config::Node& node, double lower, double upper, FlopRate& member) {
  member = node.flop_rate();
  check_range(node, lower, upper, member);
}

/// Reads the fields that are given; without a base the others are required.
template <class Owner>
void read_fields(const config::Node& node,
                 std::span<const Field<Owner>> fields,
                 bool has_base,
                 Owner& owner) {
  for (const Field<Owner>& field : fields) {
    const config::Node value = has_base || field.optional ? node.get(field.name) : node.require(field.name);
    if (!value.present()) {
      continue;
    }
    std::visit([&](auto member) { read(value, field.lower, field.upper, owner.*member); }, field.member);
    owner.sources[std::string(field.name)] = value.source();
  }
}

template <class Owner>
void add_names(std::span<const Field<Owner>> fields, std::vector<std::string>& names) {
  for (const Field<Owner>& field : fields) {
    names.emplace_back(field.name);
  }
}

template <class Owner>
const Field<Owner>* find_field(std::span<const Field<Owner>> fields, std::string_view name) {
  const auto found = std::find_if(fields.begin(), fields.end(),
                                  [&](const Field<Owner>& field) { return field.name == name; });
  return found == fields.end() ? nullptr : &*found;
}

template <class Owner>
bool set_field(std::span<const Field<Owner>> fields, Owner& owner, const std::string& name, double value) {
  const Field<Owner>* field = find_field(fields, name);
  if (field == nullptr) {
    return false;
  }
  STEPCAST_CHECK(std::isfinite(value) && value >= field->lower && value <= field->upper, "{} = {}", name,
                 value);
  std::visit([&](auto member) { assign(owner.*member, value); }, field->member);
  owner.sources[name] = {"calibration", config::Evidence::kFitted};
  return true;
}

template <class Owner>
bool get_field(std::span<const Field<Owner>> fields,
               const Owner& owner,
               const std::string& name,
               double& value) {
  const Field<Owner>* field = find_field(fields, name);
  if (field == nullptr) {
    return false;
  }
  value = std::visit([&](auto member) { return si(owner.*member); }, field->member);
  return true;
}

/// Largest SI value that fits the member: int64 bit/s, B and ps.
template <class Member>
double largest_of(const Member& /*member*/) {
  constexpr double kInt64 = 9e18;
  if constexpr (std::is_same_v<Member, Bandwidth>) {
    return kInt64 / 8;
  } else if constexpr (std::is_same_v<Member, Bytes>) {
    return kInt64;
  } else if constexpr (std::is_same_v<Member, Duration>) {
    return kInt64 * 1e-12;
  } else if constexpr (std::is_same_v<Member, std::uint32_t>) {
    return std::numeric_limits<std::uint32_t>::max();
  } else {
    return std::numeric_limits<double>::max();
  }
}

template <class Owner>
bool get_range(std::span<const Field<Owner>> fields,
               const std::string& name,
               std::pair<double, double>& range) {
  const Field<Owner>* field = find_field(fields, name);
  if (field == nullptr) {
    return false;
  }
  const Owner owner{};
  const double largest = std::visit([&](auto member) { return largest_of(owner.*member); }, field->member);
  range = {field->lower, std::min(field->upper, largest)};
  return true;
}

template <class T>
std::vector<std::string> keys_of(const std::map<std::string, T>& map) {
  std::vector<std::string> keys;
  keys.reserve(map.size());
  for (const auto& [key, value] : map) {
    keys.push_back(key);
  }
  return keys;
}

/// The entry that a text names, or null after recording the error.
template <class T>
const T* lookup(const std::map<std::string, T>& map, const config::Node& where, std::string_view what) {
  const std::string name = where.text();
  const auto found = map.find(name);
  if (found != map.end()) {
    return &found->second;
  }
  if (where.is_text()) {
    where.error(fmt::format("unknown {} \"{}\"", what, name), suggest(name, keys_of(map)));
  }
  return nullptr;
}

void check_host(const config::Node& node, const HostKind& host) {
  const bool even = host.nics == 0 || host.gpus % host.nics == 0 || host.nics % host.gpus == 0;
  if (!even) {
    node.error(fmt::format("{} NICs cannot be shared evenly by {} GPUs", host.nics, host.gpus),
               "make one a multiple of the other");
  }
  if (host.nvswitches > 0 && (host.nvlink_bandwidth == Bandwidth() || host.nvlink_effective == Bandwidth())) {
    node.error("NVLink switches without NVLink bandwidth", "give nvlink_bandwidth and nvlink_effective");
  }
  if (host.nvlink_effective > host.nvlink_bandwidth) {
    node.error("nvlink_effective is above nvlink_bandwidth", "give the payload rate, at most the nameplate");
  }
  if (host.nic_effective > host.nic_bandwidth) {
    node.error("nic_effective is above nic_bandwidth", "give the payload rate, at most the nameplate");
  }
}

/// A rate given alone brings its payload rate with it: the inherited share of the nameplate stays. One
/// that had no rate has no share to inherit.
void scale_payload_rate(const config::Node& node,
                        std::string_view rate_name,
                        std::string_view payload_name,
                        Bandwidth HostKind::*rate,
                        Bandwidth HostKind::*payload,
                        const HostKind& inherited,
                        HostKind& host) {
  const config::Node given = node.get(rate_name);
  if (!given.present() || node.get(payload_name).present()) {
    return;
  }
  const std::int64_t old_rate = (inherited.*rate).bits_per_second();
  const std::int64_t new_rate = (host.*rate).bits_per_second();
  if (old_rate == 0 && new_rate > 0) {
    given.error(fmt::format("{} without {}, where the base has none", rate_name, payload_name),
                fmt::format("give {} too: the payload rate of a saturating transfer", payload_name));
  } else if (old_rate > 0 && new_rate != old_rate) {
    const Int128 scaled = Int128{(inherited.*payload).bits_per_second()} * new_rate / old_rate;
    host.*payload = Bandwidth::from_bits_per_second(static_cast<std::int64_t>(scaled));
    host.sources[std::string(payload_name)].text += fmt::format(" (scaled with {})", rate_name);
  }
}

void scale_payload_rates(const config::Node& node, const HostKind& inherited, HostKind& host) {
  scale_payload_rate(node, "nvlink_bandwidth", "nvlink_effective", &HostKind::nvlink_bandwidth,
                     &HostKind::nvlink_effective, inherited, host);
  scale_payload_rate(node, "nic_bandwidth", "nic_effective", &HostKind::nic_bandwidth,
                     &HostKind::nic_effective, inherited, host);
}

void read_collective(const config::Node& node, bool has_base, CollectiveConstants& constants) {
  std::vector<std::string> allowed;
  add_names(collective_fields(), allowed);
  node.allow_only(allowed);
  read_fields(node, collective_fields(), has_base, constants);
}

/// Nothing computes above its peak: else a model FLOP would take less time than the peak allows.
void check_accelerator(const config::Node& node, const Accelerator& accelerator) {
  if (accelerator.peak_fp8.flops_per_second() > 0 && accelerator.gemm_efficiency_fp8 <= 0) {
    node.error("peak_fp8 without gemm_efficiency_fp8", "give both or neither");
  }
  if (accelerator.peak_fp8.flops_per_second() > 0 && accelerator.peak_fp8 < accelerator.peak_fp16) {
    node.error("peak_fp8 is below peak_fp16", "leave it out: a device without faster fp8 computes in 16 bit");
  }
  if (accelerator.attention_forward_efficiency * accelerator.attention_backward_ratio > 1) {
    node.error(fmt::format("attention_forward_efficiency x attention_backward_ratio = {:.4g}: the backward "
                           "would run above the peak",
                           accelerator.attention_forward_efficiency * accelerator.attention_backward_ratio),
               "lower one of them, so that their product is at most 1");
  }
}

void read_accelerator(const config::Node& node,
                      const std::map<std::string, Accelerator>& accelerators,
                      const std::map<std::string, CollectiveConstants>& collectives,
                      Accelerator& accelerator,
                      CollectiveConstants& constants) {
  std::vector<std::string> allowed = {"name", "base", "collective"};
  add_names(accelerator_fields(), allowed);
  node.allow_only(allowed);
  bool has_base = false;
  if (const config::Node base = node.get("base"); base.present()) {
    has_base = true;
    if (const Accelerator* from = lookup(accelerators, base, "accelerator")) {
      const std::string name = std::exchange(accelerator.name, {});
      accelerator = *from;
      accelerator.name = name;
      constants = collectives.at(from->name);
    }
  }
  if (const config::Node name = node.get("name"); name.present()) {
    accelerator.name = name.name();
  }
  const std::size_t errors_before = node.diagnostics().size();
  read_fields(node, accelerator_fields(), has_base, accelerator);
  if (node.diagnostics().size() == errors_before) {
    check_accelerator(node, accelerator);
  }
  const config::Node collective = has_base ? node.get("collective") : node.require("collective");
  if (collective.present()) {
    read_collective(collective, has_base, constants);
  }
}

}  // namespace

std::string_view name_of(Cpu cpu) {
  return cpu_names()[static_cast<std::size_t>(cpu)];
}

Catalog Catalog::shipped() {
  Catalog catalog;
  config::Diagnostics diagnostics;
  const auto load = [&](const std::string& file) {
    const std::string name = "topologies/catalog/" + file;
    return config::Document::load(config::data_root() + "/" + name, diagnostics, name);
  };
  const config::Document accelerators = load("accelerators.json");
  accelerators.root().allow_only({"accelerators"});
  for (const auto& [name, node] : accelerators.root().require("accelerators").members()) {
    Accelerator accelerator;
    CollectiveConstants constants;
    accelerator.name = name;
    read_accelerator(node, catalog.accelerators_, catalog.collectives_, accelerator, constants);
    catalog.accelerators_[name] = accelerator;
    catalog.collectives_[name] = constants;
  }
  const config::Document hosts = load("hosts.json");
  hosts.root().allow_only({"hosts"});
  for (const auto& [name, node] : hosts.root().require("hosts").members()) {
    HostKind host = catalog.read_host(node);
    host.name = name;
    catalog.hosts_[name] = std::move(host);
  }
  diagnostics.throw_if_any();
  return catalog;
}

HostKind Catalog::host(const config::Node& where) const {
  if (where.is_object()) {
    return read_host(where);
  }
  const HostKind* found = lookup(hosts_, where, "host kind");
  return found == nullptr ? HostKind{} : *found;
}

HostKind Catalog::read_host(const config::Node& node) const {
  std::vector<std::string> allowed = {"name", "base", "accelerator", "collective", "cpu"};
  add_names(host_fields(), allowed);
  node.allow_only(allowed);
  const std::size_t errors_before = node.diagnostics().size();

  HostKind host;
  host.name = "custom";
  bool has_base = false;
  if (const config::Node base = node.get("base"); base.present()) {
    has_base = true;
    if (const HostKind* from = lookup(hosts_, base, "host kind")) {
      host = *from;
    }
  }
  if (const config::Node name = node.get("name"); name.present()) {
    host.name = name.name();
  }
  const config::Node accelerator = has_base ? node.get("accelerator") : node.require("accelerator");
  if (accelerator.is_object()) {
    host.accelerator.name = "custom";
    read_accelerator(accelerator, accelerators_, collectives_, host.accelerator, host.collective);
  } else if (accelerator.present()) {
    if (const Accelerator* from = lookup(accelerators_, accelerator, "accelerator")) {
      host.accelerator = *from;
      host.collective = collectives_.at(from->name);
    }
  }
  if (const config::Node collective = node.get("collective"); collective.present()) {
    read_collective(collective, true, host.collective);
  }
  const HostKind inherited = host;
  read_fields(node, host_fields(), has_base, host);
  read_cpu(node.get("cpu"), host);
  if (has_base) {
    scale_payload_rates(node, inherited, host);
  }
  if (node.diagnostics().size() == errors_before) {
    check_host(node, host);
  }
  return host;
}

Accelerator Catalog::accelerator(const config::Node& where) const {
  Accelerator accelerator;
  if (where.is_object()) {
    CollectiveConstants constants;
    accelerator.name = "custom";
    read_accelerator(where, accelerators_, collectives_, accelerator, constants);
  } else if (const Accelerator* found = lookup(accelerators_, where, "accelerator")) {
    accelerator = *found;
  }
  return accelerator;
}

void Catalog::set_constant(HostKind& host, const std::string& name, double value) {
  const bool known = set_field(accelerator_fields(), host.accelerator, name, value) ||
                     set_field(collective_fields(), host.collective, name, value) ||
                     set_field(host_fields(), host, name, value);
  STEPCAST_CHECK(known, "no constant \"{}\"", name);
}

double Catalog::constant(const HostKind& host, const std::string& name) {
  double value = 0;
  const bool known = get_field(accelerator_fields(), host.accelerator, name, value) ||
                     get_field(collective_fields(), host.collective, name, value) ||
                     get_field(host_fields(), host, name, value);
  STEPCAST_CHECK(known, "no constant \"{}\"", name);
  return value;
}

std::pair<double, double> Catalog::constant_range(const std::string& name) {
  std::pair<double, double> range;
  const bool known = get_range(accelerator_fields(), name, range) ||
                     get_range(collective_fields(), name, range) || get_range(host_fields(), name, range);
  STEPCAST_CHECK(known, "no constant \"{}\"", name);
  return range;
}

std::vector<std::string> Catalog::constant_names() {
  std::vector<std::string> names;
  add_names(accelerator_fields(), names);
  add_names(collective_fields(), names);
  add_names(host_fields(), names);
  return names;
}

std::vector<std::string> Catalog::host_names() const {
  return keys_of(hosts_);
}
std::vector<std::string> Catalog::accelerator_names() const {
  return keys_of(accelerators_);
}

}  // namespace stepcast::hardware
