#include "collective/nccl/settings.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <fstream>
#include <iterator>
#include <sstream>

#include <fmt/format.h>

#include "base/error.hpp"
#include "base/suggestion.hpp"
#include "config/node.hpp"
#include "config/text_file.hpp"

namespace stepcast::collective::nccl {
namespace {

struct FamilyName {
  std::string_view nccl;
  std::string_view leaf;
};
constexpr std::array<FamilyName, kFamilies> kNames = {{{"Tree", "tree"},
                                                       {"Ring", "ring"},
                                                       {"CollNetDirect", "collnet_direct"},
                                                       {"CollNetChain", "collnet_chain"},
                                                       {"NVLS", "nvls"},
                                                       {"NVLSTree", "nvls_tree"},
                                                       {"PAT", "pat"}}};

constexpr std::array<Variable, 58> kVariables = {{
    {"NCCL_ALGO", "Ring,Tree or ^NVLS; from 2.24 also allreduce:Tree;allgather:PAT",
     "algorithms to choose from"},
    {"NCCL_COLLNET_ENABLE", "0 or 1",
     "reduction in the fabric's switches (default: when the cluster has \"sharp\")"},
    {"NCCL_CROSS_NIC", "0, 1 or 2", "whether a ring may leave and enter a host by different NICs"},
    {"NCCL_IB_QPS_PER_CONNECTION", "1 to 128", "queue pairs of a connection, each with a route of its own"},
    {"NCCL_MAX_CTAS", "1 to 64", "as NCCL_MAX_NCHANNELS"},
    {"NCCL_MAX_NCHANNELS", "1 to 64", "most channels"},
    {"NCCL_MIN_CTAS", "1 to 64", "as NCCL_MIN_NCHANNELS"},
    {"NCCL_MIN_NCHANNELS", "1 to 64", "fewest channels"},
    {"NCCL_NET_OVERHEAD", "nanoseconds", "host time of a network step in the cost table"},
    {"NCCL_NVLS_ENABLE", "0, 1 or 2", "reduction in NVLink switches (default: where the hardware can)"},
    {"NCCL_PAT_ENABLE", "0, 1 or 2", "parallel aggregated trees (default: one GPU a host)"},
    {"NCCL_PROTO", "LL,LL128,Simple or ^LL128; from 2.24 also allreduce:LL", "protocols to choose from"},
    {"NCCL_PXN_DISABLE", "0 or 1", "all-to-all through the NIC of the receiver's rail"},
    {"NCCL_ALGO_FILE", "", "not read", false},
    {"NCCL_BLOCKING_WAIT", "", "nothing times out here", false},
    {"NCCL_BUFFSIZE", "", "buffers have their default sizes", false},
    {"NCCL_CHECKS_DISABLE", "", "checks take no time here", false},
    {"NCCL_COMM_ID", "", "there is no bootstrap", false},
    {"NCCL_CONF_FILE", "", "give the file with --nccl", false},
    {"NCCL_CUMEM_ENABLE", "", "memory registration is not modelled", false},
    {"NCCL_DEBUG", "", "prints nothing here", false},
    {"NCCL_DEBUG_FILE", "", "prints nothing here", false},
    {"NCCL_DEBUG_SUBSYS", "", "prints nothing here", false},
    {"NCCL_DMABUF_ENABLE", "", "NICs reach GPU memory directly", false},
    {"NCCL_GRAPH_DUMP_FILE", "", "prints nothing here", false},
    {"NCCL_GRAPH_FILE", "", "not read: channels are searched", false},
    {"NCCL_IB_ADAPTIVE_ROUTING", "", "--routing says how packets go", false},
    {"NCCL_IB_DISABLE", "", "the cluster says what its network is", false},
    {"NCCL_IB_GID_INDEX", "", "the cluster says what its network is", false},
    {"NCCL_IB_HCA", "", "the cluster says which NICs there are", false},
    {"NCCL_IB_MERGE_NICS", "", "the cluster says which NICs there are", false},
    {"NCCL_IB_PCI_RELAXED_ORDERING", "", "PCIe ordering is not modelled", false},
    {"NCCL_IB_RETRY_CNT", "", "nothing is lost here", false},
    {"NCCL_IB_SL", "", "service levels are not modelled", false},
    {"NCCL_IB_SPLIT_DATA_ON_QPS", "", "queue pairs share a connection equally", false},
    {"NCCL_IB_TC", "", "traffic classes are not modelled", false},
    {"NCCL_IB_TIMEOUT", "", "nothing times out here", false},
    {"NCCL_IGNORE_CPU_AFFINITY", "", "host threads are not modelled", false},
    {"NCCL_LAUNCH_MODE", "", "launches are part of a fitted constant", false},
    {"NCCL_MAX_P2P_NCHANNELS", "", "sends and receives take what the fabric gives", false},
    {"NCCL_MIN_P2P_NCHANNELS", "", "sends and receives take what the fabric gives", false},
    {"NCCL_MNNVL_ENABLE", "", "the cluster says what an NVLink domain is", false},
    {"NCCL_NCHANNELS_PER_NET_PEER", "", "sends and receives take what the fabric gives", false},
    {"NCCL_NET", "", "the cluster says what its network is", false},
    {"NCCL_NET_GDR_LEVEL", "", "NICs reach GPU memory directly", false},
    {"NCCL_NET_PLUGIN", "", "the cluster says what its network is", false},
    {"NCCL_NSOCKS_PERTHREAD", "", "the network is not of sockets", false},
    {"NCCL_NTHREADS", "", "threads are part of fitted constants", false},
    {"NCCL_P2P_DISABLE", "", "the cluster says which GPUs reach each other", false},
    {"NCCL_P2P_LEVEL", "", "the cluster says which GPUs reach each other", false},
    {"NCCL_P2P_NET_CHUNKSIZE", "", "chunks of messages are not modelled", false},
    {"NCCL_P2P_PXN_LEVEL", "", "NCCL_PXN_DISABLE alone is looked at", false},
    {"NCCL_SHM_DISABLE", "", "the cluster says which GPUs reach each other", false},
    {"NCCL_SOCKET_IFNAME", "", "the cluster says which NICs there are", false},
    {"NCCL_SOCKET_NTHREADS", "", "the network is not of sockets", false},
    {"NCCL_TOPO_DUMP_FILE", "", "prints nothing here", false},
    {"NCCL_TOPO_FILE", "", "the cluster says what the hosts are", false},
    {"NCCL_TUNER_PLUGIN", "", "tuner plugins are not run", false},
}};

constexpr std::array<std::string_view, 3> kProtocolNames = {"LL", "LL128", "Simple"};

/// Names without regard to case, blanks cut.
std::string folded(std::string_view text) {
  std::string out;
  for (const char letter : text) {
    if (letter != ' ' && letter != '\t') {
      out += letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter - 'A' + 'a') : letter;
    }
  }
  return out;
}

std::vector<std::string> split(std::string_view text, char at) {
  std::vector<std::string> parts;
  std::size_t first = 0;
  while (true) {
    const std::size_t end = text.find(at, first);
    parts.emplace_back(text.substr(first, end == std::string_view::npos ? end : end - first));
    if (end == std::string_view::npos) {
      return parts;
    }
    first = end + 1;
  }
}

/// Reads one variable after the other into Settings.
class Reader {
 public:
  Reader(config::Diagnostics& diagnostics, Settings& settings)
      : diagnostics_(diagnostics), settings_(settings) {}

  void read(const topology::NcclVariable& variable) {
    const auto* const known = std::find_if(kVariables.begin(), kVariables.end(),
                                           [&](const Variable& one) { return one.name == variable.name; });
    if (known == kVariables.end()) {
      refuse_unknown(variable);
      return;
    }
    if (!known->effective) {
      settings_.without_effect.push_back(variable.name + "=" + variable.value);
      return;
    }
    current_ = &variable;
    values_ = known->values;
    const std::string_view name = variable.name;
    if (name == "NCCL_ALGO") {
      read_lists(true);
    } else if (name == "NCCL_PROTO") {
      read_lists(false);
    } else if (name == "NCCL_COLLNET_ENABLE") {
      settings_.collnet = number(0, 1) != 0;
    } else if (name == "NCCL_CROSS_NIC") {
      settings_.cross_nic = number(0, 2);
    } else if (name == "NCCL_IB_QPS_PER_CONNECTION") {
      settings_.queue_pairs = number(1, 128);
    } else if (name == "NCCL_MAX_CTAS" || name == "NCCL_MAX_NCHANNELS") {
      settings_.most_channels = number(1, 64);
    } else if (name == "NCCL_MIN_CTAS" || name == "NCCL_MIN_NCHANNELS") {
      settings_.fewest_channels = number(1, 64);
    } else if (name == "NCCL_NET_OVERHEAD") {
      settings_.net_overhead_us = number(0, 1'000'000) / 1000.0;
    } else if (name == "NCCL_NVLS_ENABLE") {
      read_switch(settings_.nvls);
    } else if (name == "NCCL_PAT_ENABLE") {
      read_switch(settings_.pat);
    } else {
      settings_.pxn = number(0, 1) == 0;
    }
  }

  /// Contradictions between variables, once all are read.
  void finish(const std::vector<topology::NcclVariable>& all) {
    if (settings_.most_channels > 0 && settings_.fewest_channels > settings_.most_channels) {
      current_ = &all.back();
      add(fmt::format("at least {} channels and at most {}", settings_.fewest_channels,
                      settings_.most_channels),
          "make NCCL_MIN_NCHANNELS at most NCCL_MAX_NCHANNELS");
    }
  }

 private:
  void add(std::string_view problem, std::string_view remedy) const {
    diagnostics_.add(current_->place, problem, remedy);
  }

  void refuse_value(std::string_view value) const {
    add(fmt::format("{} does not take \"{}\"", current_->name, value), fmt::format("give {}", values_));
  }

  void refuse_unknown(const topology::NcclVariable& variable) {
    std::vector<std::string> names;
    names.reserve(kVariables.size());
    for (const Variable& one : kVariables) {
      names.emplace_back(one.name);
    }
    const std::string near = nearest(variable.name, names);
    diagnostics_.add(variable.place, fmt::format("unknown NCCL variable \"{}\"", variable.name),
                     near.empty() ? "see stepcast list nccl_variables"
                                  : fmt::format("did you mean \"{}\"? (stepcast list nccl_variables)", near));
  }

  [[nodiscard]] std::uint32_t number(std::uint32_t lower, std::uint32_t upper) const {
    const std::string& text = current_->value;
    std::uint32_t value = 0;
    const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || stop != text.data() + text.size() || value < lower || value > upper) {
      refuse_value(text);
      return lower;
    }
    return value;
  }

  /// 0 off, 1 on, 2 as the hardware has it.
  void read_switch(std::optional<bool>& member) const {
    const std::uint32_t value = number(0, 2);
    member = value == 2 ? std::nullopt : std::optional(value == 1);
  }

  /// "Ring,Tree", "^Tree", "allreduce:Ring;allgather:^PAT".
  void read_lists(bool families) {
    for (const std::string& part : split(folded(current_->value), ';')) {
      const std::size_t colon = part.find(':');
      const bool for_all = colon == std::string::npos;
      std::optional<Kind> kind;
      if (!for_all) {
        kind = kind_of(part.substr(0, colon));
        if (!kind || settings_.version < Version{24, 0}) {
          refuse_value(current_->value);
          return;
        }
      }
      read_list(for_all ? part : part.substr(colon + 1), families, kind);
    }
  }

  static std::optional<Kind> kind_of(std::string_view name) {
    constexpr std::array<std::pair<std::string_view, Kind>, 5> kKinds = {
        {{"allreduce", Kind::kAllReduce},
         {"allgather", Kind::kAllGather},
         {"reducescatter", Kind::kReduceScatter},
         {"broadcast", Kind::kBroadcast},
         {"reduce", Kind::kReduce}}};
    for (const auto& [known, kind] : kKinds) {
      if (known == name) {
        return kind;
      }
    }
    return std::nullopt;
  }

  void read_list(std::string_view list, bool families, std::optional<Kind> kind) {
    const bool without = !list.empty() && list.front() == '^';
    std::vector<bool> named(families ? kFamilies : kProtocolNames.size(), false);
    for (const std::string& word : split(without ? list.substr(1) : list, ',')) {
      std::size_t index = 0;
      while (index < named.size() && folded(families ? kNames[index].nccl : kProtocolNames[index]) != word) {
        ++index;
      }
      if (index == named.size()) {
        refuse_value(current_->value);
        return;
      }
      named[index] = true;
    }
    for (std::size_t k = 0; k < settings_.allowed.size(); ++k) {
      if (kind && static_cast<std::size_t>(*kind) != k) {
        continue;
      }
      Settings::Allowed& allowed = settings_.allowed[k];
      (families ? allowed.families_named : allowed.protocols_named) = !without;
      for (std::size_t i = 0; i < named.size(); ++i) {
        (families ? allowed.families[i] : allowed.protocols[i]) = named[i] != without;
      }
    }
  }

  config::Diagnostics& diagnostics_;
  Settings& settings_;
  const topology::NcclVariable* current_ = nullptr;
  std::string_view values_;
};

Version read_version(const topology::Nccl& nccl, config::Diagnostics& diagnostics) {
  if (nccl.version.empty()) {
    return kDefault;
  }
  std::array<std::uint32_t, 3> numbers{};
  const std::vector<std::string> parts = split(nccl.version, '.');
  bool good = parts.size() == 2 || parts.size() == 3;
  for (std::size_t i = 0; good && i < parts.size(); ++i) {
    const char* const end = parts[i].data() + parts[i].size();
    const auto [stop, error] = std::from_chars(parts[i].data(), end, numbers[i]);
    good = error == std::errc{} && stop == end;
  }
  const Version version{numbers[1], parts.size() == 2 ? kNewest.patch : numbers[2]};
  if (!good || numbers[0] != 2) {
    diagnostics.add(nccl.version_place, fmt::format("\"{}\" is no version of NCCL", nccl.version),
                    "write it as 2.27 or 2.27.7");
    return kDefault;
  }
  if (version < kOldest || version.minor > kNewest.minor) {
    diagnostics.add(nccl.version_place, fmt::format("the rules of NCCL {} are not known here", nccl.version),
                    fmt::format("give a version from {} to {}", text_of(kOldest), text_of(kNewest)));
    return kDefault;
  }
  return version;
}

}  // namespace

std::string text_of(Version version) {
  return fmt::format("2.{}.{}", version.minor, version.patch);
}

std::string_view name_of(Family family) {
  return kNames[static_cast<std::size_t>(family)].nccl;
}

std::string_view leaf_family(Family family) {
  return kNames[static_cast<std::size_t>(family)].leaf;
}

std::span<const Variable> variables() {
  return kVariables;
}

Settings settings_of(const topology::Nccl& nccl) {
  config::Diagnostics diagnostics;
  Settings settings;
  settings.allowed.resize(kind_names().size());
  settings.version = read_version(nccl, diagnostics);
  Reader reader(diagnostics, settings);
  for (const topology::NcclVariable& variable : nccl.variables) {
    reader.read(variable);
  }
  reader.finish(nccl.variables);
  diagnostics.throw_if_any();
  return settings;
}

std::vector<topology::NcclVariable> read_variables(const std::string& text) {
  std::vector<topology::NcclVariable> read;
  const auto add = [&](const std::string& line, const config::Place& place) {
    const std::size_t equals = line.find('=');
    read.push_back({line.substr(0, equals), line.substr(equals + 1), place});
  };
  if (text.find('=') != std::string::npos) {
    add(text, {"--nccl " + text, 0, 0, ""});
    return read;
  }
  if (std::ifstream probe(text); !probe) {
    throw InputError(fmt::format("--nccl {}: no such file; give NAME=VALUE, or a file of such lines", text));
  }
  constexpr std::size_t kLongest = 1U << 20;
  const std::string content = config::read_text_file(text, text, kLongest);
  if (content.size() > kLongest) {
    throw InputError(fmt::format("--nccl {}: over 1 MiB; give a file of lines NAME=VALUE", text));
  }
  std::istringstream file(content);
  config::Diagnostics diagnostics;
  std::string line;
  for (int number = 1; std::getline(file, line); ++number) {
    line = line.substr(0, line.find('#'));
    const std::size_t first = line.find_first_not_of(" \t\r");
    if (first == std::string::npos) {
      continue;
    }
    line = line.substr(first, line.find_last_not_of(" \t\r") + 1 - first);
    if (line.find('=') == std::string::npos) {
      diagnostics.add({text, number, 1, ""}, fmt::format("\"{}\" sets nothing", line), "write NAME=VALUE");
      continue;
    }
    add(line, {text, number, 1, ""});
  }
  diagnostics.throw_if_any();
  return read;
}

}  // namespace stepcast::collective::nccl
