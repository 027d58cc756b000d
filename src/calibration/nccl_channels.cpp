#include "calibration/nccl_channels.hpp"

#include <algorithm>
#include <charconv>
#include <map>
#include <string_view>
#include <tuple>
#include <utility>

#include <fmt/format.h>

namespace stepcast::calibration {
namespace {

using collective::nccl::ChannelPlan;
using collective::nccl::ChannelSettings;
using collective::nccl::nccl_version;
using collective::nccl::NodeShape;
using trace::LoggedCommunicator;
using trace::LoggedCounts;
using trace::LoggedHost;
using trace::NcclLog;

constexpr std::size_t kMostGpusPerHost = 256;  // more are no host, but a broken log
constexpr std::uint32_t kOldestScored = nccl_version(2, 18, 0);

// Variables that set the channels or the graph whatever the hardware.
constexpr std::string_view kForcing[] = {"NCCL_MIN_NCHANNELS", "NCCL_MAX_NCHANNELS", "NCCL_MIN_CTAS",
                                         "NCCL_MAX_CTAS",      "NCCL_MIN_NRINGS",    "NCCL_MAX_NRINGS",
                                         "NCCL_GRAPH_FILE",    "NCCL_RINGS",         "NCCL_TOPO_FILE"};

/// 0 for a text that is no version.
std::uint32_t version_number(const std::string& text) {
  std::uint32_t parts[3] = {0, 0, 0};
  const char* at = text.data();
  const char* const end = at + text.size();
  for (std::uint32_t& part : parts) {
    const auto [next, error] = std::from_chars(at, end, part);
    if (error != std::errc() || part > 99) {
      return 0;
    }
    at = next;
    if (at == end || *at != '.') {
      break;
    }
    ++at;
  }
  return nccl_version(parts[0], parts[1], parts[2]);
}

std::optional<std::uint32_t> number_of(const NcclLog& log, std::initializer_list<std::string_view> names) {
  for (const std::string_view name : names) {
    const auto at = log.variables.find(std::string(name));
    if (at == log.variables.end()) {
      continue;
    }
    std::uint32_t value = 0;
    if (std::from_chars(at->second.data(), at->second.data() + at->second.size(), value).ec == std::errc()) {
      return value;
    }
  }
  return std::nullopt;
}

/// What servers of a generation have that no line of a log says.
struct Usual {
  std::uint32_t links;   ///< NVLinks of a GPU
  double slot_gb_per_s;  ///< PCIe, NCCL's number
  double nic_gb_per_s;
};
Usual usual(std::uint32_t generation) {
  if (generation >= 90) {
    return {.links = 18, .slot_gb_per_s = 48, .nic_gb_per_s = 50};
  }
  if (generation >= 80) {
    return {.links = generation == 80 ? 12U : 0U, .slot_gb_per_s = 24, .nic_gb_per_s = 25};
  }
  return {.links = 6, .slot_gb_per_s = 12, .nic_gb_per_s = 12.5};
}

class ShapeReader {
 public:
  ShapeReader(const NcclLog& log, const LoggedHost& host) : log_(log), host_(host) {}

  LoggedShape read() {
    if (!find_generation()) {
      result_.missing = "the log names no GPU";
      return result_;
    }
    const Usual usual_of = usual(shape_.generation);
    place_gpus(usual_of);
    connect_gpus(usual_of);
    place_nics(usual_of);
    result_.shape = std::move(shape_);
    return result_;
  }

 private:
  bool find_generation() {
    if (const auto generation = collective::nccl::generation_of(log_.gpu)) {
      shape_.generation = *generation;
      return true;
    }
    // Before 2.25 NVLS is known of Hopper alone.
    if (host_.multicast.value_or(false) && version_number(log_.version) < nccl_version(2, 25, 0)) {
      shape_.generation = 90;
      return true;
    }
    return false;
  }

  void assume(std::string text) { result_.assumed.push_back(std::move(text)); }

  void place_gpus(const Usual& usual_of) {
    std::map<std::string, std::uint32_t> processors;
    const bool told = std::all_of(host_.gpus.begin(), host_.gpus.end(),
                                  [](const trace::LoggedGpu& gpu) { return !gpu.affinity.empty(); });
    const auto gpus = static_cast<std::uint32_t>(host_.gpus.size());
    for (std::uint32_t g = 0; g < gpus; ++g) {
      const auto next = static_cast<std::uint32_t>(processors.size());
      const std::uint32_t numa = told ? processors.try_emplace(host_.gpus[g].affinity, next).first->second
                                      : g / std::max(1U, (gpus + 1) / 2);
      shape_.gpus.push_back(
          {.place = {.numa = numa, .root = g, .leaf = g}, .pcie_gb_per_s = usual_of.slot_gb_per_s});
    }
    if (!told) {
      assume("half of the GPUs on each of two processors");
    }
    assume(fmt::format("PCIe {:.0f} GB/s", usual_of.slot_gb_per_s));
  }

  void connect_gpus(const Usual& usual_of) {
    const auto gpus = static_cast<std::uint32_t>(shape_.gpus.size());
    shape_.multicast = host_.multicast.value_or(false);
    if (usual_of.links == 0 || gpus < 2) {
      return;
    }
    // Servers of 4 GPUs and fewer have their NVLinks between pairs, unless multicast shows a switch.
    if (shape_.multicast || gpus > 4) {
      shape_.nvlinks = usual_of.links;
      assume(fmt::format("NVSwitch, {} links a GPU", usual_of.links));
      return;
    }
    const std::uint32_t links = usual_of.links / (gpus - 1);
    shape_.direct_links.assign(gpus, std::vector<std::uint32_t>(gpus, links));
    for (std::uint32_t g = 0; g < gpus; ++g) {
      shape_.direct_links[g][g] = 0;
    }
    assume(fmt::format("{} NVLinks between every two GPUs", links));
  }

  /// A NIC sits beside the GPU that sends there; where no line shows it, in turn beside each GPU.
  void place_nics(const Usual& usual_of) {
    const auto gpus = static_cast<std::uint32_t>(shape_.gpus.size());
    const auto nics = static_cast<std::uint32_t>(host_.nics.size());
    std::uint32_t shown = 0;
    std::uint32_t without_speed = 0;
    for (std::uint32_t n = 0; n < nics; ++n) {
      auto gpu = static_cast<std::uint32_t>(std::uint64_t{n} * gpus / nics);
      if (const auto at = host_.nic_gpus.find(n); at != host_.nic_gpus.end()) {
        const auto beside = std::find_if(host_.gpus.begin(), host_.gpus.end(),
                                         [&](const trace::LoggedGpu& g) { return g.bus == at->second; });
        gpu = static_cast<std::uint32_t>(beside - host_.gpus.begin());
        ++shown;
      }
      const trace::LoggedNic& nic = host_.nics[n];
      without_speed += nic.gb_per_s > 0 ? 0 : 1;
      shape_.nics.push_back({.place = shape_.gpus[gpu].place,
                             .gb_per_s = nic.gb_per_s > 0 ? nic.gb_per_s : usual_of.nic_gb_per_s,
                             .pcie_gb_per_s = usual_of.slot_gb_per_s,
                             .reduces = nic.reduces});
    }
    if (nics == 0) {
      result_.nics_missing = "the log lists no NIC";
      return;
    }
    if (shown < nics && nics != gpus) {
      result_.nics_missing =
          fmt::format("the log does not tell which of {} NICs sit beside which of {} GPUs", nics, gpus);
      return;
    }
    if (shown < nics) {
      result_.assumed_nics.emplace_back("NIC i beside GPU i");
    }
    if (without_speed > 0) {
      result_.assumed_nics.push_back(fmt::format("NICs of {:g} Gb/s", usual_of.nic_gb_per_s * 8));
    }
  }

  const NcclLog& log_;
  const LoggedHost& host_;
  NodeShape shape_;
  LoggedShape result_;
};

/// The ring from its smallest rank on.
std::vector<std::uint32_t> from_zero(std::vector<std::uint32_t> ring) {
  std::rotate(ring.begin(), std::min_element(ring.begin(), ring.end()), ring.end());
  return ring;
}

/// Logged rings that are also predicted, each predicted one at most once. A logged ring that is shorter than
/// the group was cut: it begins with rank 0, and what was printed must agree.
std::uint32_t count_matching(const LoggedCommunicator& logged,
                             std::vector<std::vector<std::uint32_t>> predicted) {
  for (std::vector<std::uint32_t>& ring : predicted) {
    ring = from_zero(std::move(ring));
  }
  std::vector<bool> used(predicted.size(), false);
  std::uint32_t matching = 0;
  for (const auto& [channel, printed] : logged.rings) {
    const std::vector<std::uint32_t> ring = printed.size() == logged.ranks ? from_zero(printed) : printed;
    for (std::size_t p = 0; p < predicted.size(); ++p) {
      if (!used[p] && ring.size() <= predicted[p].size() &&
          std::equal(ring.begin(), ring.end(), predicted[p].begin())) {
        used[p] = true;
        ++matching;
        break;
      }
    }
  }
  return matching;
}

/// Plans found before, by first host and members.
using Plans = std::map<std::pair<std::uint32_t, std::vector<std::vector<std::uint32_t>>>, ChannelPlan>;

class Scorer {
 public:
  Scorer(const NcclLog& log, const LoggedCommunicator& communicator, Plans& plans)
      : log_(log), communicator_(communicator), plans_(plans) {}

  ChannelScore score() {
    score_.version = (log_.rccl ? "RCCL " : "") + (log_.version.empty() ? std::string("?") : log_.version);
    score_.ranks = communicator_.ranks;
    score_.communicators = 1;
    score_.logged = communicator_.counts;
    score_.logged_channels =
        communicator_.counts ? communicator_.counts->collective : communicator_.ring_channels;
    score_.rings = static_cast<std::uint32_t>(communicator_.rings.size());
    check_version();
    group_by_host();
    predict();
    score_.scored = score_.reason.empty();
    score_.matched = score_.scored && score_.predicted->collective == score_.logged_channels &&
                     score_.rings == score_.logged_channels && score_.rings_matched == score_.rings;
    return std::move(score_);
  }

 private:
  void group_by_host() {
    if (communicator_.members.size() != communicator_.ranks) {
      refuse(fmt::format("{} of {} ranks have lines", communicator_.members.size(), communicator_.ranks));
      return;
    }
    // Nodes in the order of their first rank, GPUs in that of their bus numbers.
    std::map<std::uint32_t, std::uint32_t> node_of_host;
    std::vector<std::vector<std::pair<std::uint32_t, std::uint32_t>>> by_gpu;  // by node: GPU, rank
    for (const auto& [rank, member] : communicator_.members) {
      const auto [at, is_new] =
          node_of_host.try_emplace(member.host, static_cast<std::uint32_t>(by_gpu.size()));
      if (is_new) {
        by_gpu.emplace_back();
        hosts_.push_back(member.host);
      }
      const std::vector<trace::LoggedGpu>& gpus = log_.hosts[member.host].gpus;
      const auto gpu = std::find_if(gpus.begin(), gpus.end(),
                                    [&bus = member.bus](const trace::LoggedGpu& g) { return g.bus == bus; });
      by_gpu[at->second].emplace_back(static_cast<std::uint32_t>(gpu - gpus.begin()), rank);
    }
    for (auto& members : by_gpu) {
      std::sort(members.begin(), members.end());
      std::vector<std::uint32_t>& node = nodes_.emplace_back();
      for (const auto& [gpu, rank] : members) {
        node.push_back(gpu);
        ranks_.push_back(rank);
        shares_gpu_ = shares_gpu_ || (node.size() > 1 && node[node.size() - 2] == gpu);
      }
    }
    score_.nodes = static_cast<std::uint32_t>(nodes_.size());
  }

  void refuse(std::string reason) {
    if (score_.reason.empty()) {
      score_.reason = std::move(reason);
    }
  }

  void check_version() {
    if (log_.rccl) {
      refuse("RCCL");
    } else if (version_number(log_.version) == 0) {
      refuse("no version of NCCL in the log");
    } else if (version_number(log_.version) < kOldestScored) {
      refuse("older than 2.18");
    }
  }

  void predict() {
    if (!score_.reason.empty()) {
      return;  // these follow other rules
    }
    for (const std::string_view name : kForcing) {
      if (const auto at = log_.variables.find(std::string(name)); at != log_.variables.end()) {
        refuse(fmt::format("forced by {}={}", name, at->second));
      }
    }
    if (communicator_.ranks == 1) {
      refuse("one rank");
    }
    if (communicator_.rings.empty()) {
      refuse("no lines of rank 0");
    }
    if (nodes_.empty()) {
      return;
    }
    if (shares_gpu_) {
      refuse("two ranks on one GPU");
      return;
    }
    const LoggedShape logged = shape_of_host(log_, hosts_[0]);
    if (!logged.shape) {
      refuse(logged.missing);
      return;
    }
    for (const std::uint32_t host : hosts_) {
      if (log_.hosts[host].gpus.size() < logged.shape->gpus.size()) {
        refuse("hosts that differ");
        return;
      }
    }
    if (nodes_.size() > 1 && !logged.nics_missing.empty()) {
      refuse(logged.nics_missing);
      return;
    }
    if (logged.shape->gpus.size() > kMostGpusPerHost) {
      refuse(fmt::format("more than {} GPUs on a host", kMostGpusPerHost));
      return;
    }
    auto [at, is_new] = plans_.try_emplace({hosts_[0], nodes_});
    if (is_new) {
      at->second = collective::nccl::search_channels(*logged.shape, nodes_, settings_of_log(log_));
    }
    const ChannelPlan& plan = at->second;
    score_.predicted = LoggedCounts{.collective = plan.collective_channels,
                                    .nvls = plan.nvls_channels,
                                    .p2p = plan.p2p_channels,
                                    .p2p_per_peer = plan.p2p_channels_per_peer};
    std::vector<std::vector<std::uint32_t>> rings = plan.rings;
    for (std::vector<std::uint32_t>& ring : rings) {
      for (std::uint32_t& member : ring) {
        member = ranks_[member];
      }
    }
    score_.rings_matched = count_matching(communicator_, std::move(rings));
  }

  const NcclLog& log_;
  const LoggedCommunicator& communicator_;
  Plans& plans_;
  ChannelScore score_;
  std::vector<std::uint32_t> hosts_;               // by node
  std::vector<std::vector<std::uint32_t>> nodes_;  // by node: GPUs
  std::vector<std::uint32_t> ranks_;               // by member, node after node
  bool shares_gpu_ = false;
};

auto key_of(const std::optional<LoggedCounts>& counts) {
  const LoggedCounts value = counts.value_or(LoggedCounts{});
  return std::tuple(counts.has_value(), value.collective, value.nvls, value.p2p, value.p2p_per_peer);
}

}  // namespace

LoggedShape shape_of_host(const NcclLog& log, std::uint32_t host) {
  return ShapeReader(log, log.hosts[host]).read();
}

ChannelSettings settings_of_log(const NcclLog& log) {
  ChannelSettings settings;
  settings.version = version_number(log.version);
  settings.min_channels =
      number_of(log, {"NCCL_MIN_NCHANNELS", "NCCL_MIN_NRINGS", "NCCL_MIN_CTAS"}).value_or(0);
  settings.max_channels =
      number_of(log, {"NCCL_MAX_NCHANNELS", "NCCL_MAX_NRINGS", "NCCL_MAX_CTAS"}).value_or(0);
  settings.min_p2p_channels = number_of(log, {"NCCL_MIN_P2P_NCHANNELS"}).value_or(0);
  settings.max_p2p_channels = number_of(log, {"NCCL_MAX_P2P_NCHANNELS"}).value_or(0);
  settings.channels_per_net_peer = number_of(log, {"NCCL_NCHANNELS_PER_NET_PEER"}).value_or(0);
  settings.nvls_channels = number_of(log, {"NCCL_NVLS_NCHANNELS"}).value_or(0);
  settings.cross_nic = number_of(log, {"NCCL_CROSS_NIC"}).value_or(2);
  settings.nvls = number_of(log, {"NCCL_NVLS_ENABLE"}).value_or(1) != 0;
  settings.collnet = number_of(log, {"NCCL_COLLNET_ENABLE"}).value_or(0) != 0;
  settings.pxn = number_of(log, {"NCCL_PXN_DISABLE"}).value_or(0) == 0;
  return settings;
}

ChannelValidation validate_channels(const NcclLog& log, const std::string& file) {
  ChannelValidation validation;
  validation.file = file;
  validation.gpu = log.gpu;
  for (const auto& [name, value] : log.variables) {
    validation.variables.push_back(fmt::format("{}={}", name, value));
  }
  using Counts = decltype(key_of({}));
  using Key = std::tuple<std::uint32_t, std::uint32_t, std::string, std::uint32_t, Counts, Counts,
                         std::uint32_t, std::map<std::uint32_t, std::vector<std::uint32_t>>>;
  std::map<Key, std::size_t> rows;
  Plans plans;
  for (const LoggedCommunicator& communicator : log.communicators) {
    ChannelScore score = Scorer(log, communicator, plans).score();
    const auto [at, is_new] = rows.try_emplace(
        Key{score.ranks, score.nodes, score.reason, score.logged_channels, key_of(score.logged),
            key_of(score.predicted), score.rings_matched, communicator.rings},
        validation.rows.size());
    if (is_new) {
      validation.rows.push_back(std::move(score));
    } else {
      ++validation.rows[at->second].communicators;
    }
  }
  for (const ChannelScore& row : validation.rows) {
    validation.scored += row.scored ? row.communicators : 0;
    validation.matched += row.matched ? row.communicators : 0;
  }
  const auto several_nodes = [](const ChannelScore& row) { return row.scored && row.nodes > 1; };
  const bool nics_matter = std::any_of(validation.rows.begin(), validation.rows.end(), several_nodes);
  const auto note = [&](const std::vector<std::string>& texts) {
    for (const std::string& text : texts) {
      if (std::find(validation.assumed.begin(), validation.assumed.end(), text) == validation.assumed.end()) {
        validation.assumed.push_back(text);
      }
    }
  };
  for (std::uint32_t host = 0; host < log.hosts.size() && validation.scored > 0; ++host) {
    const LoggedShape shape = shape_of_host(log, host);
    note(shape.assumed);
    if (nics_matter) {
      note(shape.assumed_nics);
    }
  }
  return validation;
}

}  // namespace stepcast::calibration
