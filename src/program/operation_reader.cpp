#include "program/operation_reader.hpp"

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include <fmt/core.h>

#include "base/suggestion.hpp"
#include "config/quote.hpp"
#include "program/native_keys.hpp"
#include "program/native_parts.hpp"

namespace stepcast::program {
namespace {

constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kMostSmall = std::numeric_limits<std::int32_t>::max();

// How far back an equal entry of a side table is looked for: layers repeat soon, and reading stays linear.
constexpr std::size_t kLookBack = 64;

// Index of `item` in `items`, added at the end when it is new: side tables stay small.
template <class T>
std::uint32_t shared_index(std::vector<T>& items, T item) {
  const std::size_t oldest = items.size() - std::min(items.size(), kLookBack);
  const auto at = std::find(items.begin() + static_cast<std::ptrdiff_t>(oldest), items.end(), item);
  if (at != items.end()) {
    return static_cast<std::uint32_t>(at - items.begin());
  }
  items.push_back(std::move(item));
  return static_cast<std::uint32_t>(items.size() - 1);
}

// A suggestion for an unknown name; not for the hundredth one, which nobody reads.
std::string suggest_for(const config::Node& node,
                        const std::string& name,
                        const std::vector<std::string>& known) {
  constexpr std::size_t kMostSuggestions = 50;
  return node.diagnostics().size() < kMostSuggestions ? suggest(name, known) : "correct the name";
}

class OperationsReader {
 public:
  OperationsReader(SlotTable& slots, Program& program) : slots_(slots), program_(program) {}

  void run(const config::Node& node) {
    read_streams(node.get("streams"));
    read_body(node.require("operations"));
    resolve_dependencies();
  }

 private:
  void read_streams(const config::Node& node) {
    if (!node.present()) {
      return;
    }
    declared_ = true;
    for (const config::Node& item : node.items()) {
      item.allow_only({"name", "kind"});
      const config::Node name = item.require("name");
      Stream stream{name.name(), read_enum(item.require("kind"), StreamKind::kCopy, StreamKind::kCompute)};
      if (!find_stream(stream.name)) {
        program_.streams.push_back(std::move(stream));
      } else if (name.present()) {
        name.error(fmt::format("stream {} is declared twice", config::in_quotes(stream.name)),
                   "give each its own name");
      }
      if (program_.streams.size() > std::numeric_limits<std::uint16_t>::max()) {
        node.error("more than 65535 streams", "use fewer");
        return;
      }
    }
  }

  [[nodiscard]] std::optional<std::uint16_t> find_stream(std::string_view name) const {
    for (std::size_t i = 0; i < program_.streams.size(); ++i) {
      if (program_.streams[i].name == name) {
        return static_cast<std::uint16_t>(i);
      }
    }
    return std::nullopt;
  }

  std::uint16_t stream_of(const config::Node& node, OpKind kind) {
    const config::Node named = node.get("stream");
    const StreamKind wanted = default_stream(kind);
    if (!named.present() && declared_) {
      for (std::size_t i = 0; i < program_.streams.size(); ++i) {
        if (program_.streams[i].kind == wanted) {
          return static_cast<std::uint16_t>(i);
        }
      }
      node.error(fmt::format("no stream of kind \"{}\" is declared for this operation", name_of(wanted)),
                 "name its \"stream\"");
      return 0;
    }
    const std::string name = named.present() ? named.text() : std::string(name_of(wanted));
    if (const auto known = find_stream(name)) {
      return *known;
    }
    std::vector<std::string> names;
    if (declared_) {
      for (const Stream& stream : program_.streams) {
        names.push_back(stream.name);
      }
    } else {
      names = all_names(StreamKind::kCopy);
      const auto at = std::find(names.begin(), names.end(), name);
      if (at != names.end()) {
        program_.streams.push_back({name, static_cast<StreamKind>(at - names.begin())});
        return static_cast<std::uint16_t>(program_.streams.size() - 1);
      }
    }
    if (named.is_text()) {
      named.error(fmt::format("unknown stream {}", config::in_quotes(name)), suggest_for(named, name, names));
    }
    return 0;
  }

  void read_body(const config::Node& body) {
    if (!body.present()) {
      return;
    }
    for (const config::Node& node : body.items()) {
      read_operation(node);
    }
  }

  void read_operation(const config::Node& node) {
    const config::Node id_node = node.require("id");
    const config::Node op_node = node.require("op");
    if (!op_node.present()) {
      return;
    }
    const auto index = static_cast<std::uint32_t>(program_.operations.size());
    const std::string id = id_node.name();
    if (id_node.present() && !index_of_.emplace(id, index).second) {
      id_node.error(fmt::format("id {} is already taken in this program", config::in_quotes(id)),
                    "give each operation its own");
    }
    Operation op;
    op.kind = static_cast<OpKind>(op_node.one_of(all_names(OpKind::kRepeat)));
    allow_keys(node, op.kind);
    const config::Place place = node.place();
    op.place = static_cast<std::uint32_t>(program_.places.size());
    program_.places.push_back({place.file, place.line, id, place.column, place.pointer});
    if (const config::Node label = node.get("label"); label.present()) {
      op.label = shared_index(program_.labels, read_label(label));
    }
    after_.push_back(node.get("after"));
    if (op.kind == OpKind::kRepeat) {
      read_repeat(node, op, index);
      return;
    }
    op.stream = stream_of(node, op.kind);
    op.priority = static_cast<std::uint8_t>(read_integer(node.get("priority"), 0, 255, 0));
    if (const config::Node dtype = node.get("dtype"); dtype.present()) {
      op.dtype = dtype.dtype();
    }
    if (const config::Node start = node.get("recorded_start"); start.present()) {
      op.recorded_start_ps = start.duration().ps();
    }
    if (const config::Node duration = node.get("duration"); duration.present()) {
      op.duration_ps = duration.duration().ps();
    }
    read_bytes(node, op);
    read_kind(node, op);
    program_.operations.push_back(op);
  }

  static void allow_keys(const config::Node& node, OpKind kind) {
    std::vector<std::string> keys{"id", "op", "label"};
    const auto add = [&](std::initializer_list<const char*> more) {
      keys.insert(keys.end(), more.begin(), more.end());
    };
    if (kind != OpKind::kRepeat) {
      add({"stream", "after", "priority", "recorded_start"});
    }
    if (has_bytes(kind)) {
      add({"bytes", "dtype"});
    }
    if (may_be_recorded(kind) || kind == OpKind::kDelay) {
      add({"duration"});
    }
    switch (kind) {
      case OpKind::kCompute: add({"kernels"}); break;
      case OpKind::kCollective:
        add({"collective", "group", "meaning", "root", "reduction", "algorithm", "protocol", "channels",
             "splits"});
        break;
      case OpKind::kSend: add({"peer", "tag", "eager"}); break;
      case OpKind::kRecv: add({"peer", "tag"}); break;
      case OpKind::kPut:
      case OpKind::kGet: add({"peer"}); break;
      case OpKind::kStorage: add({"action", "storage"}); break;
      case OpKind::kRepeat: add({"count", "body"}); break;
      default: break;
    }
    node.allow_only(keys);
  }

  static void read_bytes(const config::Node& node, Operation& op) {
    if (!has_bytes(op.kind)) {
      return;
    }
    const config::Node bytes = node.get("bytes");
    if (!bytes.present()) {
      // A copy or a local operation may be known by its time alone.
      if ((op.kind != OpKind::kCopy && op.kind != OpKind::kLocal) || op.duration_ps < 0) {
        node.error("missing key \"bytes\"", "give the size, such as \"1 MiB\"");
      }
      op.meaning = op.duration_ps < 0 ? BytesMeaning::kWholeBuffer : BytesMeaning::kUnknown;
      return;
    }
    if (bytes.is_text() && bytes.text() == "unknown") {
      op.meaning = BytesMeaning::kUnknown;
      const bool matched = op.kind == OpKind::kSend || op.kind == OpKind::kRecv || op.kind == OpKind::kPut ||
                           op.kind == OpKind::kGet || op.kind == OpKind::kAlloc || op.kind == OpKind::kFree;
      if (matched || op.duration_ps < 0) {
        bytes.error("unknown bytes where the time or the match depends on them",
                    matched ? "give the size" : "give the size, or the \"duration\" that was recorded");
      }
      return;
    }
    op.bytes = bytes.bytes().count();
  }

  void read_kind(const config::Node& node, Operation& op) {
    switch (op.kind) {
      case OpKind::kCompute: read_compute(node, op); break;
      case OpKind::kCollective: read_collective(node, op); break;
      case OpKind::kSend:
      case OpKind::kRecv:
        op.detail = static_cast<std::uint32_t>(read_integer(node.get("tag"), 0, kMostSmall, 0));
        if (const config::Node eager = node.get("eager"); eager.present() && eager.boolean()) {
          op.flags |= Operation::kEager;
        }
        [[fallthrough]];
      case OpKind::kPut:
      case OpKind::kGet: read_peer(node, op); break;
      case OpKind::kStorage: {
        const config::Node action = node.require("action");
        if (action.present() && action.one_of({"read", "write"}) == 1) {
          op.flags |= Operation::kWrite;
        }
        op.target = static_cast<std::uint32_t>(read_integer(node.get("storage"), 0, kMostSmall, 0));
        break;
      }
      case OpKind::kDelay: (void)node.require("duration"); break;
      default: break;
    }
  }

  void read_peer(const config::Node& node, Operation& op) {
    const config::Node peer = node.get("peer");
    if (!peer.present()) {
      node.error(op.kind == OpKind::kRecv ? "a receive without a peer (a wildcard) is refused"
                                          : "missing key \"peer\"",
                 "name the other rank");
    }
    op.target = slots_.peer(peer, program_);
  }

  void read_compute(const config::Node& node, Operation& op) {
    const config::Node kernels = node.get("kernels");
    if (kernels.present() == (op.duration_ps >= 0)) {
      node.error("a compute operation has either kernels or a duration",
                 "give one of \"kernels\" and \"duration\"");
      return;
    }
    if (!kernels.present()) {
      return;
    }
    KernelSequence sequence{static_cast<std::uint32_t>(program_.kernels.size()), 0};
    for (const config::Node& kernel : kernels.items()) {
      program_.kernels.push_back(read_kernel(kernel));
      ++sequence.count;
    }
    op.target = shared_sequence(sequence);
  }

  // Reuses an equal sequence, so that a thousand equal layers hold their kernels once.
  std::uint32_t shared_sequence(const KernelSequence& sequence) {
    const auto begin = [&](const KernelSequence& of) {
      return program_.kernels.begin() + static_cast<std::ptrdiff_t>(of.first);
    };
    const std::size_t known = program_.sequences.size();
    for (std::size_t i = known - std::min(known, kLookBack); i < known; ++i) {
      const KernelSequence& other = program_.sequences[i];
      if (other.count == sequence.count &&
          std::equal(begin(other), begin(other) + static_cast<std::ptrdiff_t>(other.count),
                     begin(sequence))) {
        program_.kernels.resize(sequence.first);
        return static_cast<std::uint32_t>(i);
      }
    }
    program_.sequences.push_back(sequence);
    return static_cast<std::uint32_t>(program_.sequences.size() - 1);
  }

  void read_collective(const config::Node& node, Operation& op) {
    CollectiveDetail detail;
    const config::Node kind = node.require("collective");
    detail.kind = static_cast<collective::Kind>(kind.present() ? kind.one_of(collective::kind_names()) : 0);
    detail.root = static_cast<std::uint32_t>(read_integer(node.get("root"), 0, kMostSmall, 0));
    if (const config::Node reduction = node.get("reduction"); reduction.present()) {
      detail.reduction = reduction.text();
    }
    detail.algorithm = read_hint(node.get("algorithm"), algorithm_names());
    detail.protocol = read_hint(node.get("protocol"), all_names(collective::Protocol::kSimple));
    detail.channels = static_cast<std::uint32_t>(read_integer(node.get("channels"), 0, 1024, 0));
    if (const config::Node splits = node.get("splits"); splits.present()) {
      for (const config::Node& split : splits.items()) {
        detail.splits.push_back(split.bytes());
      }
    }
    if (const config::Node meaning = node.get("meaning"); meaning.present()) {
      if (meaning.one_of({"whole_buffer", "per_rank"}) == 1 && op.meaning != BytesMeaning::kUnknown) {
        op.meaning = BytesMeaning::kPerRank;
      }
    }
    op.detail = shared_index(program_.collectives, std::move(detail));
    op.target = slots_.group(node.require("group"), program_);
  }

  // Families ("ring") and full names ("ring_all_reduce").
  static std::vector<std::string> algorithm_names() {
    std::vector<std::string> names;
    for (const collective::Algorithm& algorithm : collective::algorithms()) {
      if (std::find(names.begin(), names.end(), algorithm.family) == names.end()) {
        names.emplace_back(algorithm.family);
      }
    }
    for (const collective::Algorithm& algorithm : collective::algorithms()) {
      if (std::find(names.begin(), names.end(), algorithm.name) == names.end()) {
        names.emplace_back(algorithm.name);
      }
    }
    return names;
  }

  static std::string read_hint(const config::Node& node, const std::vector<std::string>& names) {
    return node.present() ? names[node.one_of(names)] : std::string{};
  }

  void read_repeat(const config::Node& node, Operation op, std::uint32_t index) {
    const config::Node count = node.require("count");
    op.bytes = count.present() ? count.integer(1, std::int64_t{1} << 31) : 1;
    program_.operations.push_back(op);
    const config::Node body = node.require("body");
    read_body(body);
    const std::size_t inside = program_.operations.size() - index - 1;
    if (inside == 0 && body.is_array() && body.items().empty()) {
      body.error("a repeat with an empty body", "put operations into it");
    }
    program_.operations[index].target = static_cast<std::uint32_t>(inside);
  }

  void resolve_dependencies() {
    std::vector<std::string> ids;
    for (const auto& [id, index] : index_of_) {
      ids.push_back(id);
    }
    for (std::size_t i = 0; i < after_.size(); ++i) {
      if (!after_[i].present()) {
        continue;
      }
      Operation& op = program_.operations[i];
      op.first_dependency = static_cast<std::uint32_t>(program_.dependencies.size());
      const std::vector<config::Node> items = after_[i].items();
      if (items.size() > std::numeric_limits<std::uint16_t>::max()) {
        after_[i].error("more than 65535 dependencies", "use a mark that collects them");
        continue;
      }
      for (const config::Node& item : items) {
        read_dependency(item, ids);
      }
      op.dependency_count = static_cast<std::uint16_t>(program_.dependencies.size() - op.first_dependency);
    }
  }

  void read_dependency(const config::Node& node, const std::vector<std::string>& ids) {
    Dependency dependency;
    config::Node id = node;
    if (node.is_object()) {
      node.allow_only({"id", "edge"});
      id = node.require("id");
      dependency.edge = read_enum(node.get("edge"), EdgeKind::kLaunch, EdgeKind::kFinishToStart);
    }
    if (!id.present()) {
      return;
    }
    const std::string name = id.text();
    const auto at = index_of_.find(name);
    if (at != index_of_.end()) {
      dependency.operation = at->second;
      program_.dependencies.push_back(dependency);
    } else if (id.is_text()) {
      id.error(fmt::format("unknown operation {}", config::in_quotes(name)), suggest_for(id, name, ids));
    }
  }

  SlotTable& slots_;
  Program& program_;
  bool declared_ = false;
  std::map<std::string, std::uint32_t, std::less<>> index_of_;
  std::vector<config::Node> after_;  // by operation
};

}  // namespace

void read_operations(const config::Node& program_node, SlotTable& slots, Program& program) {
  OperationsReader(slots, program).run(program_node);
}

}  // namespace stepcast::program
