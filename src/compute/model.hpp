#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "base/units.hpp"
#include "compute/kernel.hpp"
#include "config/option.hpp"
#include "hardware/catalog.hpp"

namespace stepcast::compute {

/// Which constant of the device decides a kernel's time: reported as "where the time goes", and the
/// sensitivity that calibration uses (time is inversely proportional to the constant).
enum class CostClass : std::uint8_t {
  kGemm,       ///< gemm_efficiency (or _fp8)
  kAttention,  ///< attention_forward_efficiency, unfused_attention_efficiency
  kMemory,     ///< memory_efficiency
  kLaunch,     ///< launch_per_kernel
  kFixed,      ///< recorded or fixed durations
};
inline constexpr std::size_t kCostClasses = 5;
[[nodiscard]] std::string_view name_of(CostClass cost_class);

/// What a kernel, or a sequence of kernels without anything between, needs of a device.
struct Work {
  Duration alone;                                 ///< time when it has the device for itself
  std::array<Duration, kCostClasses> by_class{};  ///< sums to alone
  double flops = 0;
  double hbm_bytes = 0;
  double sm_share = 1;      ///< share of the SMs that it occupies
  double interference = 1;  ///< calibrated slow-down beside communication; 1 = none
};

/// A compute model: one leaf, one line in models.def.
class Model {
 public:
  virtual ~Model() = default;
  [[nodiscard]] virtual Work kernel(const Kernel& kernel, const hardware::Accelerator& device) const = 0;
  /// Kernels back to back: max(sum of GPU times, kernels x launch_per_kernel); the excess of the
  /// second is kLaunch. Throws UnsupportedError ("problem; remedy", without a place) when they run for
  /// more than 104 days, or a kernel is of a kind that the device or the model does not have.
  [[nodiscard]] Work sequence(std::span<const Kernel> kernels, const hardware::Accelerator& device) const;
};

struct ModelEntry {
  std::string_view name;
  std::string_view summary;
  std::span<const config::Option> options;
  std::unique_ptr<Model> (*make)();
};
[[nodiscard]] std::span<const ModelEntry> models();

/// Makes a model by name; an unknown one is an InputError with a suggestion.
[[nodiscard]] std::unique_ptr<Model> make_model(std::string_view name);

}  // namespace stepcast::compute
