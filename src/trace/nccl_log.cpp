#include "trace/nccl_log.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <string_view>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "base/error.hpp"
#include "config/text_file.hpp"

namespace stepcast::trace {
namespace {

constexpr std::size_t kLargestLog = std::size_t{1} << 30;
constexpr std::uint32_t kMostChannels = 1024;  // absurd numbers in broken lines are not believed
constexpr std::uint32_t kMostRanks = 1U << 20;
constexpr std::uint32_t kMostNics = 4096;
constexpr std::string_view kMark = " NCCL INFO ";

// Names of GPUs that say what NCCL's tables ask: longer ones before those that they contain.
constexpr std::array<std::string_view, 12> kGpuNames = {"GB300", "GB200", "GH200", "B300", "B200", "H200",
                                                        "H100",  "H800",  "A100",  "A800", "V100", "L40S"};

/// Words and numbers of a line, from the left.
class Cursor {
 public:
  explicit Cursor(std::string_view text) : text_(text) {}

  /// Goes past `word` if it comes next, blanks before it left out.
  bool take(std::string_view word) {
    skip_blanks();
    if (!text_.starts_with(word)) {
      return false;
    }
    text_.remove_prefix(word.size());
    return true;
  }
  /// Goes past the next `word` wherever it is.
  bool find(std::string_view word) {
    const std::size_t at = text_.find(word);
    if (at == std::string_view::npos) {
      return false;
    }
    text_.remove_prefix(at + word.size());
    return true;
  }
  template <typename Number>
  bool number(Number& value, int base = 10) {
    skip_blanks();
    const auto [end, error] = std::from_chars(text_.data(), text_.data() + text_.size(), value, base);
    if (error != std::errc()) {
      return false;
    }
    text_.remove_prefix(static_cast<std::size_t>(end - text_.data()));
    return true;
  }
  std::string_view word() {
    skip_blanks();
    const std::size_t end = std::min(text_.find_first_of(" \t"), text_.size());
    const std::string_view found = text_.substr(0, end);
    text_.remove_prefix(end);
    return found;
  }
  [[nodiscard]] bool at_end() {
    skip_blanks();
    return text_.empty();
  }
  [[nodiscard]] std::string_view rest() const { return text_; }

 private:
  void skip_blanks() {
    while (!text_.empty() && (text_.front() == ' ' || text_.front() == '\t')) {
      text_.remove_prefix(1);
    }
  }
  std::string_view text_;
};

bool is_digit(char c) {
  return std::isdigit(static_cast<unsigned char>(c)) != 0;
}
bool is_alnum(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0;
}

/// True when the letters before `at` are only a count, as in "8xB200" and "4H100": not inside another word.
bool begins_a_name(std::string_view upper, std::size_t at) {
  while (at > 0 && is_digit(upper[at - 1])) {
    --at;
  }
  if (at == 0 || !is_alnum(upper[at - 1])) {
    return true;
  }
  const bool hexadecimal = at >= 2 && upper[at - 2] == '0' && (at == 2 || !is_alnum(upper[at - 3]));
  return upper[at - 1] == 'X' && !hexadecimal;
}

class LogReader {
 public:
  explicit LogReader(std::string name) : name_(std::move(name)) {}

  NcclLog read(std::string_view text) {
    while (!text.empty()) {
      const std::size_t end = std::min(text.find('\n'), text.size());
      std::string_view line = text.substr(0, end);
      text.remove_prefix(std::min(end + 1, text.size()));
      while (!line.empty() && (line.back() == '\r' || line.back() == ' ')) {
        line.remove_suffix(1);
      }
      read_line(line);
    }
    if (log_.lines == 0) {
      throw InputError(fmt::format(
          "{}: no line of NCCL; give the output of a run with NCCL_DEBUG=INFO (unpack a .gz first)", name_));
    }
    return finish();
  }

 private:
  using Thread = std::tuple<std::uint32_t, std::uint64_t, std::uint64_t>;  // host, process, thread
  static constexpr std::size_t kNone = ~std::size_t{0};

  /// A rank that sends to a NIC, itself or over the GPU of another.
  struct Edge {
    std::uint32_t rank = 0;
    std::uint32_t nic = 0;
    std::uint32_t sender = 0;
    bool relayed = false;
  };

  /// One thread that sets up communicators one after the other.
  struct Setup {
    std::size_t communicator = kNone;
    std::uint32_t ring_channels = 0;  // seen before the communicator is known (logs without commId)
    std::map<std::uint32_t, std::vector<std::uint32_t>> rings;
    std::optional<LoggedCounts> counts;
    std::vector<Edge> edges;
  };

  void read_line(std::string_view line) {
    note_gpu_name(line);
    note_version(line);
    const std::size_t mark = line.find(kMark);
    if (mark == std::string_view::npos) {
      return;
    }
    ++log_.lines;
    std::string_view prefix = line.substr(0, mark);
    const std::string_view message = line.substr(mark + kMark.size());
    Thread thread;
    std::uint32_t device = 0;
    if (!read_prefix(prefix, thread, device)) {
      return;
    }
    read_message(thread, device, message);
  }

  /// "12: [1,0]<stdout>:host:123:456 [0]": the last two numbers before the bracket and the word before them.
  bool read_prefix(std::string_view prefix, Thread& thread, std::uint32_t& device) {
    const std::size_t open = prefix.rfind('[');
    if (open == std::string_view::npos || open == 0) {
      return false;
    }
    Cursor bracket(prefix.substr(open + 1));
    if (!bracket.number(device) || !bracket.take("]")) {
      return false;
    }
    std::string_view who = prefix.substr(0, open);
    while (!who.empty() && who.back() == ' ') {
      who.remove_suffix(1);
    }
    std::uint64_t numbers[2] = {0, 0};
    for (const int i : {1, 0}) {
      const std::size_t colon = who.rfind(':');
      if (colon == std::string_view::npos || colon + 1 == who.size()) {
        return false;
      }
      Cursor number(who.substr(colon + 1));
      if (!number.number(numbers[i]) || !number.at_end()) {
        return false;
      }
      who = who.substr(0, colon);
    }
    std::size_t begin = who.size();
    while (begin > 0 && (is_alnum(who[begin - 1]) || who[begin - 1] == '-' || who[begin - 1] == '_' ||
                         who[begin - 1] == '.')) {
      --begin;
    }
    if (begin == who.size()) {
      return false;
    }
    thread = {host_index(who.substr(begin)), numbers[0], numbers[1]};
    return true;
  }

  std::uint32_t host_index(std::string_view name) {
    const auto [at, is_new] =
        host_index_.try_emplace(std::string(name), static_cast<std::uint32_t>(log_.hosts.size()));
    if (is_new) {
      log_.hosts.emplace_back().name = std::string(name);
    }
    return at->second;
  }

  void read_message(const Thread& thread, std::uint32_t device, std::string_view message) {
    Cursor cursor(message);
    LoggedHost& host = log_.hosts[std::get<0>(thread)];
    if (cursor.take("Channel ")) {
      read_channel(thread, cursor);
    } else if (message.find(" - Init START") != std::string_view::npos) {
      read_init(thread, device, message, true);
    } else if (message.find(" - Init COMPLETE") != std::string_view::npos) {
      read_init(thread, device, message, false);
    } else if (message.find(" coll channels, ") != std::string_view::npos) {
      read_counts(thread, message);
    } else if (message.find(" set by environment to ") != std::string_view::npos) {
      read_variable(message);
    } else if (cursor.take("NET/IB : Using ") || cursor.take("NET/IB: Using ")) {
      read_nics(host, cursor);
    } else if (cursor.take("NET/IB : Made virtual device [") ||
               cursor.take("NET/IB: Made virtual device [")) {
      read_nic_speed(std::get<0>(thread), cursor);
    } else if (cursor.take("NVLS multicast support is ")) {
      host.multicast = !cursor.take("not");
    } else if (cursor.take("Setting affinity for GPU ")) {
      std::uint32_t gpu = 0;
      if (cursor.number(gpu) && cursor.take("to ")) {
        affinity_[{std::get<0>(thread), gpu}] = std::string(cursor.word());
      }
    } else if (message.starts_with("RCCL version")) {
      log_.rccl = true;
    }
  }

  /// "03/24 :  0 7 6" is a ring, "03/0 : 3[3] -> 4[0] [send] via NET/IBext/0(4)/GDRDMA" an edge.
  void read_channel(const Thread& thread, Cursor cursor) {
    std::uint32_t channel = 0;
    std::uint32_t channels = 0;
    if (!cursor.number(channel) || !cursor.take("/") || !cursor.number(channels) || !cursor.take(":")) {
      return;
    }
    if (cursor.rest().find("->") != std::string_view::npos) {
      read_edge(thread, cursor);
      return;
    }
    if (channels == 0 || channels > kMostChannels || channel >= channels) {
      return;
    }
    std::vector<std::uint32_t> ring;
    while (!cursor.at_end()) {
      std::uint32_t rank = 0;
      if (!cursor.number(rank) || rank >= kMostRanks) {
        return;  // broken in the middle
      }
      ring.push_back(rank);
    }
    if (ring.empty()) {
      return;
    }
    Setup& setup = setups_[thread];
    setup.ring_channels = channels;
    setup.rings[channel] = std::move(ring);
  }

  /// "13[5] -> 4[4] [send] via NET/IB/4(12)/GDRDMA": rank 13 sends over the GPU of rank 12, which sits beside
  /// NIC 4; without a number in brackets it sends itself, and GDRDMA says that it is near.
  void read_edge(const Thread& thread, Cursor cursor) {
    std::uint32_t rank = 0;
    std::uint32_t nic = 0;
    if (!cursor.number(rank) || !cursor.find("[send] via NET/") || !cursor.find("/") || !cursor.number(nic) ||
        nic >= kMostNics) {
      return;
    }
    Edge edge{.rank = rank, .nic = nic, .sender = rank, .relayed = false};
    if (cursor.take("(")) {
      edge.relayed = true;
      if (!cursor.number(edge.sender) || !cursor.take(")")) {
        return;
      }
    } else if (!cursor.take("/GDRDMA")) {
      return;
    }
    const Setup& setup = setups_[thread];
    if (setup.communicator != kNone || setup.ring_channels > 0) {
      setups_[thread].edges.push_back(edge);
      return;
    }
    // Connected after the set-up: of the latest communicator in which this process has the rank.
    const std::vector<std::pair<std::size_t, std::uint32_t>>& own =
        ranks_of_process_[{std::get<0>(thread), std::get<1>(thread)}];
    for (auto at = own.rbegin(); at != own.rend(); ++at) {
      if (at->second == rank && edge.sender < log_.communicators[at->first].ranks) {
        edges_.emplace_back(at->first, edge);
        return;
      }
    }
  }

  void read_counts(const Thread& thread, std::string_view message) {
    LoggedCounts counts;
    Cursor cursor(message);
    if (!cursor.number(counts.collective) || !cursor.take("coll channels,")) {
      return;
    }
    for (std::uint32_t value = 0; cursor.number(value);) {
      if (cursor.take("nvls channels")) {
        counts.nvls = value;
      } else if (cursor.take("p2p channels per peer")) {
        counts.p2p_per_peer = value;
      } else if (cursor.take("p2p channels")) {
        counts.p2p = value;
      } else if (!cursor.take("collnet channels")) {
        return;
      }
      cursor.take(",");
    }
    setups_[thread].counts = counts;
  }

  void read_init(const Thread& thread, std::uint32_t device, std::string_view message, bool start) {
    Cursor cursor(message);
    std::uint32_t rank = 0;
    std::uint32_t ranks = 0;
    if (!cursor.find(" rank ") || !cursor.number(rank) || !cursor.take("nranks ") || !cursor.number(ranks) ||
        rank >= ranks || ranks > kMostRanks) {
      return;
    }
    LoggedMember member{.host = std::get<0>(thread), .bus = 0};
    Cursor numbers(message);
    if (numbers.find(" nvmlDev ") || (numbers = Cursor(message), numbers.find(" cudaDev "))) {
      numbers.number(device);
    }
    Cursor bus(message);
    if (!bus.find(" busId ") || !bus.number(member.bus, 16)) {
      return;
    }
    Cursor id(message);
    const std::string comm = id.find(" commId ") ? std::string(id.word()) : std::string();
    Setup& setup = setups_[thread];
    if (start) {
      setup = {};
      setup.communicator = communicator(comm, ranks, thread);
    } else if (setup.communicator == kNone) {
      setup.communicator = communicator(comm, ranks, thread);  // no START: an old log
    }
    LoggedCommunicator& found = log_.communicators[setup.communicator];
    found.members[rank] = member;
    add_gpu(member, device);
    if (!start) {
      keep(setup, rank, found);
      ranks_of_process_[{std::get<0>(thread), std::get<1>(thread)}].emplace_back(setup.communicator, rank);
      setup = {};
    }
  }

  /// By commId; without one the n-th communicator of this size in a process is the n-th in all.
  std::size_t communicator(const std::string& id, std::uint32_t ranks, const Thread& thread) {
    std::string key = id;
    if (id.empty()) {
      const std::uint32_t nth = nth_of_size_[{std::get<0>(thread), std::get<1>(thread), ranks}]++;
      key = fmt::format("{} ranks, number {}", ranks, nth);
    } else {
      key += fmt::format(" {}", ranks);
    }
    const auto [at, is_new] = communicator_index_.try_emplace(key, log_.communicators.size());
    if (is_new) {
      LoggedCommunicator& added = log_.communicators.emplace_back();
      added.id = id;
      added.ranks = ranks;
    }
    return at->second;
  }

  void add_gpu(const LoggedMember& member, std::uint32_t device) {
    std::vector<LoggedGpu>& gpus = log_.hosts[member.host].gpus;
    const auto at = std::lower_bound(gpus.begin(), gpus.end(), member.bus,
                                     [](const LoggedGpu& gpu, std::uint64_t bus) { return gpu.bus < bus; });
    if (at == gpus.end() || at->bus != member.bus) {
      gpus.insert(at, {.bus = member.bus, .device = device});
    }
  }

  void keep(Setup& setup, std::uint32_t rank, LoggedCommunicator& found) {
    // Only rank 0 prints the rings of all; counts are the same on all ranks.
    if (rank == 0 && !setup.rings.empty()) {
      found.ring_channels = setup.ring_channels;
      found.rings = std::move(setup.rings);
    }
    if (setup.counts && (rank == 0 || !found.counts)) {
      found.counts = setup.counts;
    }
    const auto index = static_cast<std::size_t>(&found - log_.communicators.data());
    for (const Edge& edge : setup.edges) {
      edges_.emplace_back(index, edge);
    }
  }

  void read_variable(std::string_view message) {
    Cursor cursor(message);
    const std::string_view name = cursor.word();
    if (!name.starts_with("NCCL_") || !cursor.take("set by environment to ")) {
      return;
    }
    std::string_view value = cursor.rest();
    if (value.ends_with('.')) {
      value.remove_suffix(1);
    }
    log_.variables[std::string(name)] = std::string(value);
  }

  /// "[0]mlx5_0:1/IB/SHARP [1]mlx5_1:1/RoCE [RO]; OOB ..."
  static void read_nics(LoggedHost& host, Cursor cursor) {
    std::vector<LoggedNic> nics;
    std::uint32_t index = 0;
    while (cursor.take("[") && cursor.number(index) && cursor.take("]") && index == nics.size() &&
           index < kMostNics) {
      const std::string_view word = cursor.word();
      LoggedNic& nic = nics.emplace_back();
      nic.name = std::string(word.substr(0, word.find(':')));
      nic.reduces = word.ends_with("/SHARP");
    }
    if (nics.size() > host.nics.size()) {
      host.nics = std::move(nics);
    }
  }

  // Printed before the list of NICs.
  void read_nic_speed(std::uint32_t host, Cursor cursor) {
    std::uint32_t index = 0;
    std::uint64_t megabits = 0;
    if (cursor.number(index) && cursor.find("speed=") && cursor.number(megabits)) {
      nic_speeds_[{host, index}] = static_cast<double>(megabits) / 8000;
    }
  }

  void note_gpu_name(std::string_view line) {
    const std::size_t hundred = line.find("00");
    if (hundred == std::string_view::npos && line.find("40") == std::string_view::npos) {
      return;
    }
    std::string upper(line);
    std::transform(upper.begin(), upper.end(), upper.begin(),
                   [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
    for (const std::string_view gpu : kGpuNames) {
      for (std::size_t at = upper.find(gpu); at != std::string::npos; at = upper.find(gpu, at + 1)) {
        const std::size_t end = at + gpu.size();
        if (begins_a_name(upper, at) && (end == upper.size() || !is_alnum(upper[end]))) {
          ++gpu_names_[std::string(gpu)];
        }
      }
    }
  }

  /// "NCCL version 2.18.5+cuda12.2", with or without the prefix.
  void note_version(std::string_view line) {
    if (line.find("version") == std::string_view::npos) {
      return;
    }
    if (line.find("RCCL version") != std::string_view::npos ||
        line.find("HIP version") != std::string_view::npos) {
      log_.rccl = true;
    }
    for (const std::string_view words : {"NCCL version ", "RCCL version : "}) {
      const std::size_t at = line.find(words);
      if (at == std::string_view::npos) {
        continue;
      }
      const std::string_view rest = line.substr(at + words.size());
      std::size_t end = 0;
      while (end < rest.size() && (is_digit(rest[end]) || rest[end] == '.')) {
        ++end;
      }
      if (end > 0 && is_digit(rest[0])) {
        log_.version = std::string(rest.substr(0, end));
      }
    }
  }

  NcclLog finish() {
    for (std::uint32_t h = 0; h < log_.hosts.size(); ++h) {
      for (LoggedGpu& gpu : log_.hosts[h].gpus) {
        const auto at = affinity_.find({h, gpu.device});
        gpu.affinity = at == affinity_.end() ? "" : at->second;
      }
    }
    for (const auto& [at, speed] : nic_speeds_) {
      std::vector<LoggedNic>& nics = log_.hosts[at.first].nics;
      if (at.second < nics.size()) {
        nics[at.second].gb_per_s = speed;
      }
    }
    for (const bool relayed : {true, false}) {  // relays say more: they come first
      for (const auto& [communicator, edge] : edges_) {
        const auto& members = log_.communicators[communicator].members;
        const auto at = members.find(edge.sender);
        if (edge.relayed == relayed && at != members.end()) {
          log_.hosts[at->second.host].nic_gpus.emplace(edge.nic, at->second.bus);
        }
      }
    }
    for (LoggedCommunicator& communicator : log_.communicators) {
      communicator.version = log_.version;
      communicator.rccl = log_.rccl;
    }
    std::size_t most = 0;
    for (const auto& [gpu, times] : gpu_names_) {
      if (times > most) {
        most = times;
        log_.gpu = gpu;
      }
    }
    return std::move(log_);
  }

  std::string name_;
  NcclLog log_;
  std::map<std::string, std::uint32_t> host_index_;
  std::map<Thread, Setup> setups_;
  std::map<std::string, std::size_t> communicator_index_;
  std::map<std::tuple<std::uint32_t, std::uint64_t, std::uint32_t>, std::uint32_t> nth_of_size_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::string> affinity_;  // host, device
  std::map<std::pair<std::uint32_t, std::uint32_t>, double> nic_speeds_;     // host, NIC: GB/s
  std::map<std::string, std::size_t> gpu_names_;
  std::vector<std::pair<std::size_t, Edge>> edges_;  // communicator, edge
  std::map<std::pair<std::uint32_t, std::uint64_t>, std::vector<std::pair<std::size_t, std::uint32_t>>>
      ranks_of_process_;  // host, process: communicators in order, with the rank there
};

}  // namespace

NcclLog read_nccl_log(const std::string& text, const std::string& name) {
  return LogReader(name).read(text);
}

NcclLog load_nccl_log(const std::string& path) {
  const std::string text = config::read_text_file(path, path, kLargestLog);
  if (text.size() > kLargestLog) {
    throw InputError(fmt::format("{}: over 1 GiB; give the part with the lines of NCCL", path));
  }
  return read_nccl_log(text, path);
}

}  // namespace stepcast::trace
