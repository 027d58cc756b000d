#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "collective/algorithm.hpp"
#include "topology/cluster.hpp"

// What NCCL is told: its version and its variables.
namespace stepcast::collective::nccl {

/// A version of NCCL from 2.18 on: 2.27.7.
struct Version {
  std::uint32_t minor = 0;
  std::uint32_t patch = 0;
  friend auto operator<=>(const Version&, const Version&) = default;
};
[[nodiscard]] std::string text_of(Version version);

/// The rules stand for versions between these (both included); the default is one that PyTorch ships.
inline constexpr Version kOldest{18, 1};
inline constexpr Version kNewest{30, 7};
inline constexpr Version kDefault{27, 7};

/// From here on a part of an all-to-all has few channels inside a host, and LL for small parts alone.
inline constexpr Version kShortExchanges{29, 0};
/// Largest part of an all-to-all inside a host that goes in LL: 16 KiB a channel, of 2 or of 32. Seen by the
/// kinks of measured all-to-all sweeps (validation/README.md).
[[nodiscard]] constexpr Bytes most_exchanged_in_ll(Version version) {
  return Bytes(version < kShortExchanges ? 32 * 16384 : 2 * 16384);
}

/// NCCL's algorithms, in its order.
enum class Family : std::uint8_t { kTree, kRing, kCollnetDirect, kCollnetChain, kNvls, kNvlsTree, kPat };
inline constexpr std::size_t kFamilies = 7;
/// As NCCL_ALGO has them: "Tree", "Ring", "CollNetDirect" ...
[[nodiscard]] std::string_view name_of(Family family);
/// As --algo has them: "tree", "ring", "collnet_direct" ...
[[nodiscard]] std::string_view leaf_family(Family family);

/// Versions and variables, checked.
struct Settings {
  Version version = kDefault;
  /// By kind (Kind as index), by family and by protocol: what NCCL_ALGO and NCCL_PROTO leave.
  struct Allowed {
    bool families[kFamilies] = {true, true, true, true, true, true, true};
    bool protocols[3] = {true, true, true};  ///< LL, LL128, Simple
    bool families_named = false;             ///< by NCCL_ALGO: what is off by default is then on
    bool protocols_named = false;
  };
  std::vector<Allowed> allowed;       ///< one per Kind
  std::uint32_t fewest_channels = 0;  ///< 0 = not given
  std::uint32_t most_channels = 0;
  std::optional<bool> nvls;     ///< NCCL_NVLS_ENABLE
  std::optional<bool> collnet;  ///< NCCL_COLLNET_ENABLE
  std::optional<bool> pat;      ///< NCCL_PAT_ENABLE
  std::uint32_t cross_nic = 2;
  std::uint32_t queue_pairs = 0;          ///< NCCL_IB_QPS_PER_CONNECTION; 0 = as the cluster says
  bool pxn = true;                        ///< NCCL_PXN_DISABLE=0
  std::optional<double> net_overhead_us;  ///< NCCL_NET_OVERHEAD, given in ns
  /// Known variables that change no time here ("NCCL_DEBUG=INFO"), for the report.
  std::vector<std::string> without_effect;

  [[nodiscard]] const Allowed& of(Kind kind) const { return allowed[static_cast<std::size_t>(kind)]; }
};

/// Checks what a cluster says of NCCL. Throws InputError with all mistakes: a version that is none or out
/// of range, an unknown variable (the nearest known one is named), a value that it does not take.
[[nodiscard]] Settings settings_of(const topology::Nccl& nccl);

/// One variable that is known here.
struct Variable {
  std::string_view name;
  std::string_view values;   ///< "Ring,Tree" ...
  std::string_view summary;  ///< what it does here
  bool effective = true;     ///< changes times
};
[[nodiscard]] std::span<const Variable> variables();

/// "NAME=VALUE", or a file of such lines (# begins a comment), as `--nccl` takes them. Throws InputError for
/// a text that is neither.
[[nodiscard]] std::vector<topology::NcclVariable> read_variables(const std::string& text);

}  // namespace stepcast::collective::nccl
