#include "collective/algorithms/hierarchy.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <functional>
#include <map>
#include <numeric>
#include <utility>

#include <fmt/format.h>

#include "base/suggestion.hpp"
#include "collective/algorithms/tree.hpp"

namespace stepcast::collective {
namespace {

constexpr std::int64_t kChunk = 4 << 20;  // bytes of the buffer that pass the levels together
constexpr std::int64_t kMostChunks = 64;

constexpr std::array<std::pair<std::string_view, LevelKind>, 5> kLevelKinds = {{
    {"ring", LevelKind::kRing},
    {"halving_doubling", LevelKind::kHalvingDoubling},
    {"tree", LevelKind::kTree},
    {"direct", LevelKind::kDirect},
    {"nvls", LevelKind::kNvls},
}};

/// Sizes of the levels: those asked for, or those of the fabric, of which the outermost are one when fewer
/// algorithms were asked for.
std::vector<std::uint32_t> sizes_of(const Places& places) {
  if (!places.shape().sizes.empty()) {
    return places.shape().sizes;
  }
  std::vector<std::uint32_t> sizes = places.levels();
  const std::size_t wanted = places.shape().algorithms.size();
  while (wanted > 0 && sizes.size() > wanted) {
    const std::uint32_t outer = sizes.back();
    sizes.pop_back();
    sizes.back() *= outer;
  }
  return sizes;
}

LevelKind usual_in(Kind kind) {
  return kind == Kind::kAllToAll ? LevelKind::kDirect : LevelKind::kRing;
}

/// Which of the two passes through the levels a kind makes.
bool scatters(Kind kind) {
  return kind == Kind::kAllReduce || kind == Kind::kReduceScatter;
}
bool gathers(Kind kind) {
  return kind == Kind::kAllReduce || kind == Kind::kAllGather;
}

/// The tree of a piece: a binary tree over the positions of a level with the piece's owner as root.
struct PieceTree {
  PieceTree(std::uint32_t size, std::uint32_t owner) : tree(binary_tree(size, false)), root(owner) {
    height.assign(size, 0);
    depth.assign(size, 0);
    for (std::uint32_t place = 0; place < size; ++place) {
      std::uint32_t hops = 0;
      for (std::uint32_t at = place; tree.parent[at] != Tree::kNone; at = tree.parent[at]) {
        ++hops;
        height[tree.parent[at]] = std::max(height[tree.parent[at]], hops);
      }
      depth[place] = hops;
    }
  }
  [[nodiscard]] std::uint32_t place(std::uint32_t position) const {
    return (position + static_cast<std::uint32_t>(height.size()) - root) %
           static_cast<std::uint32_t>(height.size());
  }
  [[nodiscard]] std::uint32_t position(std::uint32_t place) const {
    return (place + root) % static_cast<std::uint32_t>(height.size());
  }

  Tree tree;
  std::uint32_t root;
  std::vector<std::uint32_t> height;  // by place: hops from its deepest leaf
  std::vector<std::uint32_t> depth;   // by place: hops to the root
};

/// The part of a lane in one level: its group, and the chunks of each piece of what the group works on.
struct LevelPart {
  LevelKind kind = LevelKind::kRing;
  std::vector<std::uint32_t> order;  // member by position
  std::uint32_t position = 0;        // of the lane's member
  std::uint32_t nvswitch = 0;        // rank of the group's NVLink switch
  Buffer buffer = Buffer::kOutput;
  std::vector<std::vector<ChunkRange>> pieces;  // by position of the owner
  const std::vector<PieceTree>* trees = nullptr;

  [[nodiscard]] std::uint32_t size() const { return static_cast<std::uint32_t>(order.size()); }
  [[nodiscard]] std::uint32_t before(std::uint32_t distance) const {
    return (position + size() - distance) % size();
  }
};

/// One step for each range of a piece; `from` and `to` are positions.
void add_steps(Lane& lane,
               const LevelPart& part,
               Action action,
               std::uint32_t piece,
               std::uint32_t from,
               std::uint32_t to) {
  for (const ChunkRange& range : part.pieces[piece]) {
    lane.steps.push_back({.action = action,
                          .receive_peer = receives(action) ? part.order[from] : 0,
                          .send_peer = sends(action) ? part.order[to] : 0,
                          .source = range,
                          .destination = range});
  }
}

void add_ring(Lane& lane, const LevelPart& part, bool gather) {
  const std::uint32_t from = part.before(1);
  const std::uint32_t to = (part.position + 1) % part.size();
  const std::uint32_t shift = gather ? 0 : 1;
  add_steps(lane, part, Action::kSend, part.before(shift), from, to);
  for (std::uint32_t distance = shift + 1; distance < part.size() - 1 + shift; ++distance) {
    add_steps(lane, part, gather ? Action::kRecvCopySend : Action::kRecvReduceSend, part.before(distance),
              from, to);
  }
  add_steps(lane, part, gather ? Action::kRecv : Action::kRecvReduceCopy,
            gather ? part.before(part.size() - 1) : part.position, from, to);
}

/// Exchanges with the position that differs in one bit: of the pieces on its side when halves are given away,
/// of all pieces on the own side when they are collected.
void add_halving(Lane& lane, const LevelPart& part, bool gather) {
  std::vector<std::uint32_t> bits;
  for (std::uint32_t bit = part.size() / 2; bit > 0; bit /= 2) {
    bits.push_back(bit);
  }
  if (gather) {
    std::reverse(bits.begin(), bits.end());
  }
  for (const std::uint32_t bit : bits) {
    const std::uint32_t peer = part.position ^ bit;
    // Pieces of the block of `bit` positions around a position.
    const auto block = [&](std::uint32_t around, Action action) {
      const std::uint32_t first = around / bit * bit;
      for (std::uint32_t piece = first; piece < first + bit; ++piece) {
        add_steps(lane, part, action, piece, peer, peer);
      }
    };
    block(gather ? part.position : peer, Action::kSend);
    block(gather ? peer : part.position, gather ? Action::kRecv : Action::kRecvReduceCopy);
  }
}

/// All pieces at once. Stage by stage, so that every two members meet in one order: in stage t those at
/// height (or depth) t send, then what they sent is received.
void add_trees(Lane& lane, const LevelPart& part, bool gather) {
  for (std::uint32_t stage = 0; stage < part.size(); ++stage) {
    for (std::uint32_t piece = 0; piece < part.size(); ++piece) {
      const PieceTree& tree = (*part.trees)[piece];
      const std::uint32_t place = tree.place(part.position);
      if (!gather && place != 0 && tree.height[place] == stage) {
        add_steps(lane, part, Action::kSend, piece, 0, tree.position(tree.tree.parent[place]));
      }
      if (gather && tree.depth[place] == stage) {
        for (const std::uint32_t child : tree.tree.children[place]) {
          add_steps(lane, part, Action::kSend, piece, 0, tree.position(child));
        }
      }
    }
    for (std::uint32_t piece = 0; piece < part.size(); ++piece) {
      const PieceTree& tree = (*part.trees)[piece];
      const std::uint32_t place = tree.place(part.position);
      if (gather && place != 0 && tree.depth[place] == stage + 1) {
        add_steps(lane, part, Action::kRecv, piece, tree.position(tree.tree.parent[place]), 0);
      }
      for (const std::uint32_t child : tree.tree.children[place]) {
        if (!gather && tree.height[child] == stage) {
          add_steps(lane, part, Action::kRecvReduceCopy, piece, tree.position(child), 0);
        }
      }
    }
  }
}

void add_direct(Lane& lane, const LevelPart& part, bool gather) {
  for (std::uint32_t distance = 1; distance < part.size(); ++distance) {
    const std::uint32_t to = (part.position + distance) % part.size();
    add_steps(lane, part, Action::kSend, gather ? part.position : to, 0, to);
  }
  for (std::uint32_t distance = 1; distance < part.size(); ++distance) {
    const std::uint32_t from = part.before(distance);
    add_steps(lane, part, gather ? Action::kRecv : Action::kRecvReduceCopy, gather ? from : part.position,
              from, 0);
  }
}

/// A member gives the switch all pieces to be added and gets its own; or gives its own and gets all.
void add_nvls(Lane& lane, const LevelPart& part, bool gather) {
  const auto step = [&](Action action, const ChunkRange& range) {
    lane.steps.push_back({.action = action,
                          .receive_peer = part.nvswitch,
                          .send_peer = part.nvswitch,
                          .source = range,
                          .destination = range});
  };
  for (std::uint32_t owner = 0; owner < part.size(); ++owner) {
    for (const ChunkRange& range : part.pieces[owner]) {
      if (!gather || owner == part.position) {
        step(Action::kSend, range);
      }
    }
  }
  for (std::uint32_t owner = 0; owner < part.size(); ++owner) {
    for (const ChunkRange& range : part.pieces[owner]) {
      if (gather || owner == part.position) {
        step(Action::kRecv, range);
      }
    }
  }
}

/// The switch's side of it, for the pieces of one group.
void add_nvls_switch(Lane& lane, const LevelPart& part, bool gather) {
  for (std::uint32_t owner = 0; owner < part.size(); ++owner) {
    for (ChunkRange range : part.pieces[owner]) {
      range.buffer = Buffer::kScratch;
      const auto step = [&](Action action, std::uint32_t from, std::uint32_t to) {
        lane.steps.push_back({.action = action,
                              .receive_peer = receives(action) ? part.order[from] : 0,
                              .send_peer = sends(action) ? part.order[to] : 0,
                              .source = range,
                              .destination = range});
      };
      if (gather) {
        step(Action::kRecv, owner, 0);
        for (std::uint32_t to = 0; to < part.size(); ++to) {
          step(Action::kSend, 0, to);
        }
        continue;
      }
      for (std::uint32_t from = 0; from < part.size(); ++from) {
        const bool last = from + 1 == part.size();
        step(from == 0 ? Action::kRecv
             : last    ? Action::kRecvReduceSend
                       : Action::kRecvReduceCopy,
             from, owner);
      }
    }
  }
}

void add_level(Lane& lane, const LevelPart& part, bool gather) {
  if (part.size() == 1) {
    return;
  }
  switch (part.kind) {
    case LevelKind::kRing: add_ring(lane, part, gather); break;
    case LevelKind::kHalvingDoubling: add_halving(lane, part, gather); break;
    case LevelKind::kTree: add_trees(lane, part, gather); break;
    case LevelKind::kDirect: add_direct(lane, part, gather); break;
    case LevelKind::kNvls: add_nvls(lane, part, gather); break;
  }
}

/// Builds the schedule of one kind.
class Maker {
 public:
  Maker(Kind kind, const Places& places, std::uint32_t channels)
      : kind_(kind), hierarchy_(places), channels_(channels) {
    for (const Level& level : hierarchy_.levels()) {
      std::vector<PieceTree>& trees = trees_.emplace_back();
      for (std::uint32_t owner = 0; level.kind == LevelKind::kTree && owner < level.size; ++owner) {
        trees.emplace_back(level.size, owner);
      }
    }
  }

  Schedule make() {
    const std::vector<Level>& levels = hierarchy_.levels();
    const std::uint32_t n = hierarchy_.members();
    const bool switches = !levels.empty() && levels[0].kind == LevelKind::kNvls && n > 1;
    Schedule made;
    made.kind = kind_;
    made.members = n;
    made.switches = switches ? n / levels[0].size : 0;
    made.chunks = n * channels_;
    made.channels = channels_;
    for (std::uint32_t channel = 0; channel < channels_; ++channel) {
      for (std::uint32_t position = 0; position < n; ++position) {
        Lane lane{.rank = hierarchy_.member(position), .thread_block = channel, .channel = channel};
        for (std::size_t level = 0; scatters(kind_) && level < levels.size(); ++level) {
          add_level(lane, part(channel, position, level), false);
        }
        for (std::size_t level = levels.size(); gathers(kind_) && level-- > 0;) {
          add_level(lane, part(channel, position, level), true);
        }
        made.lanes.push_back(std::move(lane));
      }
      for (std::uint32_t host = 0; host < made.switches; ++host) {
        Lane lane{.rank = n + host, .thread_block = channel, .channel = channel};
        const LevelPart own = part(channel, host * levels[0].size, 0);
        if (scatters(kind_)) {
          add_nvls_switch(lane, own, false);
        }
        if (gathers(kind_)) {
          add_nvls_switch(lane, own, true);
        }
        made.lanes.push_back(std::move(lane));
      }
    }
    return made;
  }

 private:
  [[nodiscard]] LevelPart part(std::uint32_t channel, std::uint32_t position, std::size_t index) const {
    const Level& level = hierarchy_.levels()[index];
    LevelPart made;
    made.kind = level.kind;
    made.position = hierarchy_.coordinate(position, index);
    made.nvswitch = hierarchy_.members() + position / level.size;
    made.buffer = kind_ == Kind::kReduceScatter ? Buffer::kInput : Buffer::kOutput;
    made.trees = &trees_[index];
    for (std::uint32_t owner = 0; owner < level.size; ++owner) {
      const std::uint32_t at = hierarchy_.base(position, index) + owner * level.stride;
      made.order.push_back(hierarchy_.member(at));
      made.pieces.push_back(piece(channel, at, index, made.buffer));
    }
    return made;
  }

  /// Chunks that belong to the members which agree with a position in the levels up to `index`.
  [[nodiscard]] std::vector<ChunkRange> piece(std::uint32_t channel,
                                              std::uint32_t position,
                                              std::size_t index,
                                              Buffer buffer) const {
    const Level& level = hierarchy_.levels()[index];
    const std::uint32_t span = level.stride * level.size;  // positions that the levels up to here tell apart
    const std::uint32_t count = hierarchy_.members() / span;
    std::vector<ChunkRange> ranges;
    if (kind_ == Kind::kAllReduce) {
      // Any order of chunks will do: that in which pieces are one range.
      std::uint32_t first = 0;
      std::uint32_t left = hierarchy_.members();
      for (std::size_t i = 0; i <= index; ++i) {
        left /= hierarchy_.levels()[i].size;
        first += hierarchy_.coordinate(position, i) * left;
      }
      ranges.push_back({.buffer = buffer, .offset = channel * hierarchy_.members() + first, .count = count});
      return ranges;
    }
    for (std::uint32_t i = 0; i < count; ++i) {
      const std::uint32_t owner = hierarchy_.member(position % span + i * span);
      ranges.push_back({.buffer = buffer, .offset = owner * channels_ + channel, .count = 1});
    }
    return ranges;
  }

  Kind kind_;
  Hierarchy hierarchy_;
  std::uint32_t channels_;
  std::vector<std::vector<PieceTree>> trees_;  // by level and owner
};

/// All-to-all: in each level every block goes to the member of the group that stands where the block has to
/// go in this level. Blocks stand in scratch by the level coordinates that they still have to take, or come
/// from.
Schedule exchange_schedule(const Places& places, std::uint32_t channels) {
  const Hierarchy hierarchy(places);
  const std::uint32_t n = hierarchy.members();
  Schedule made;
  made.kind = Kind::kAllToAll;
  made.members = n;
  made.chunks = n * channels;
  made.channels = channels;
  made.in_place = false;
  for (std::uint32_t channel = 0; channel < channels; ++channel) {
    for (std::uint32_t position = 0; position < n; ++position) {
      Lane lane{.rank = hierarchy.member(position), .thread_block = channel, .channel = channel};
      const auto copies = [&](bool in) {
        for (std::uint32_t at = 0; at < n; ++at) {
          const ChunkRange user{.buffer = in ? Buffer::kInput : Buffer::kOutput,
                                .offset = hierarchy.member(at) * channels + channel,
                                .count = 1};
          const ChunkRange scratch{.buffer = Buffer::kScratch, .offset = channel * n + at, .count = 1};
          lane.steps.push_back(
              {.action = Action::kCopy, .source = in ? user : scratch, .destination = in ? scratch : user});
        }
      };
      copies(true);
      for (std::size_t index = 0; index < hierarchy.levels().size(); ++index) {
        const Level& level = hierarchy.levels()[index];
        const auto all = [&](Action action, std::uint32_t coordinate) {
          const std::uint32_t peer =
              hierarchy.member(hierarchy.base(position, index) + coordinate * level.stride);
          const std::uint32_t span = level.stride * level.size;
          for (std::uint32_t first = coordinate * level.stride; first < n; first += span) {
            const ChunkRange range{
                .buffer = Buffer::kScratch, .offset = channel * n + first, .count = level.stride};
            lane.steps.push_back({.action = action,
                                  .receive_peer = receives(action) ? peer : 0,
                                  .send_peer = sends(action) ? peer : 0,
                                  .source = range,
                                  .destination = range});
          }
        };
        const std::uint32_t own = hierarchy.coordinate(position, index);
        for (std::uint32_t distance = 1; distance < level.size; ++distance) {
          all(Action::kSend, (own + distance) % level.size);
        }
        for (std::uint32_t distance = 1; distance < level.size; ++distance) {
          all(Action::kRecv, (own + level.size - distance) % level.size);
        }
      }
      copies(false);
      made.lanes.push_back(std::move(lane));
    }
  }
  return made;
}

/// Positions that a level's algorithm sends between in a reduce-scatter, with the pieces that pass; in an
/// all-gather the same the other way (a ring keeps its direction).
std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> hops_of(const Level& level, bool gather) {
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> hops;
  const std::uint32_t size = level.size;
  for (std::uint32_t at = 0; at < size; ++at) {
    switch (level.kind) {
      case LevelKind::kRing: hops[{at, (at + 1) % size}] = size - 1; break;
      case LevelKind::kHalvingDoubling:
        for (std::uint32_t bit = size / 2; bit > 0; bit /= 2) {
          hops[{at, at ^ bit}] = bit;
        }
        break;
      case LevelKind::kTree: {
        const PieceTree tree(size, at);
        for (std::uint32_t place = 1; place < size; ++place) {
          const std::uint32_t child = tree.position(place);
          const std::uint32_t parent = tree.position(tree.tree.parent[place]);
          ++hops[gather ? std::pair(parent, child) : std::pair(child, parent)];
        }
        break;
      }
      case LevelKind::kDirect:
        for (std::uint32_t to = 0; to < size; ++to) {
          if (to != at) {
            hops[{at, to}] = 1;
          }
        }
        break;
      case LevelKind::kNvls: break;  // not between members
    }
  }
  return hops;
}

/// Edges of one level in one direction. `piece`: weight of a piece.
void add_edges(std::vector<Edge>& edges,
               const Hierarchy& hierarchy,
               std::size_t index,
               std::uint32_t channel,
               std::uint32_t piece,
               bool gather) {
  const Level& level = hierarchy.levels()[index];
  const auto hops = hops_of(level, gather);
  for (std::uint32_t position = 0; position < hierarchy.members(); ++position) {
    if (hierarchy.coordinate(position, index) != 0) {
      continue;
    }
    const auto at = [&](std::uint32_t coordinate) {
      return hierarchy.member(position + coordinate % level.size * level.stride);
    };
    for (const auto& [ends, pieces] : hops) {
      edges.push_back({.channel = channel,
                       .from = at(ends.first),
                       .to = at(ends.second),
                       .exit = at(ends.first),
                       .weight = pieces * piece});
    }
    if (level.kind == LevelKind::kNvls) {
      for (std::uint32_t i = 0; i < level.size; ++i) {
        const std::uint32_t whole = level.size * piece;
        edges.push_back({.channel = channel,
                         .from = at(i),
                         .to = at(i + 1),
                         .exit = at(i),
                         .weight = gather ? piece : whole,
                         .via = Via::kUp});
        edges.push_back({.channel = channel,
                         .from = at(i + 1),
                         .to = at(i),
                         .exit = at(i + 1),
                         .weight = gather ? whole : piece,
                         .via = Via::kDown});
      }
    }
  }
}

/// What passes one after the other for the first chunk: a level, and the ways it is used.
struct Pass {
  std::size_t level = 0;
  bool scatter = false;
  bool gather = false;
};

std::vector<Pass> passes_of(Kind kind, const Hierarchy& hierarchy) {
  std::vector<Pass> passes;
  const std::size_t count = hierarchy.levels().size();
  const bool both = kind == Kind::kAllReduce;
  for (std::size_t level = 0; level < count; ++level) {
    if (kind != Kind::kAllGather) {
      passes.push_back({level, true, both && level + 1 == count});
    }
  }
  for (std::size_t level = both ? count - 1 : count; gathers(kind) && level-- > 0;) {
    passes.push_back({level, false, true});
  }
  return passes;
}

/// Hops one after the other of one way through a level.
std::int64_t hops_in(Kind kind, const Level& level, std::uint32_t host_channels) {
  if (kind == Kind::kAllToAll) {
    constexpr std::int64_t kPeersPerChannel = 8;  // NCCL_MAX_DEV_WORK_P2P_PER_BATCH
    const std::int64_t at_once = kPeersPerChannel * host_channels;
    return (std::int64_t{level.size} - 1 + at_once - 1) / at_once;
  }
  switch (level.kind) {
    case LevelKind::kRing: return std::int64_t{level.size} - 1;
    case LevelKind::kHalvingDoubling: return std::countr_zero(level.size);
    case LevelKind::kTree: return binary_tree(level.size, false).depth();
    case LevelKind::kDirect:
    case LevelKind::kNvls: return 1;
  }
  return 1;
}

/// Weight of a piece of a level, in the n-th part of the buffer.
std::uint32_t piece_weight(Kind kind, const Hierarchy& hierarchy, const Level& level) {
  return hierarchy.members() / (kind == Kind::kAllToAll ? level.size : level.size * level.stride);
}

}  // namespace

Hierarchy::Hierarchy(const Places& places, LevelKind usual) {
  std::vector<std::uint32_t> sizes = sizes_of(places);
  member_ = places.levels().empty() ? std::vector<std::uint32_t>{} : places.in_order();
  if (member_.empty()) {
    member_.resize(places.members());
    std::iota(member_.begin(), member_.end(), 0U);
  }
  std::uint32_t stride = 1;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    Level level{.size = sizes[i], .stride = stride, .kind = usual};
    stride *= sizes[i];
    if (i < places.shape().algorithms.size()) {
      for (const auto& [name, kind] : kLevelKinds) {
        level.kind = name == places.shape().algorithms[i] ? kind : level.kind;
      }
    }
    for (std::uint32_t position = 0; position < member_.size(); ++position) {
      const std::uint32_t first = position - position / level.stride % level.size * level.stride;
      level.network = level.network || !places.together(member_[position], member_[first]);
    }
    if (level.size > 1) {  // a level of one has nothing to do
      levels_.push_back(level);
    }
  }
}

std::string hierarchy_problem(const Places& places) {
  const Shape& shape = places.shape();
  for (const std::string& algorithm : shape.algorithms) {
    std::vector<std::string> names;
    bool known = false;
    for (const auto& [name, kind] : kLevelKinds) {
      names.emplace_back(name);
      known = known || name == algorithm;
    }
    if (!known) {
      return fmt::format("unknown algorithm \"{}\" of a level; {}", algorithm, suggest(algorithm, names));
    }
  }
  if (shape.sizes.empty() && places.levels().empty()) {
    return "it needs hosts with equal numbers of members, or sizes of levels (hierarchical:4x2)";
  }
  if (shape.sizes.empty() && shape.algorithms.empty() && places.levels().size() < 2 &&
      places.host_count() == 1) {
    return "all members are in one host: it needs sizes of levels (hierarchical:4x2) or several hosts";
  }
  const std::vector<std::uint32_t> sizes = sizes_of(places);
  const std::uint64_t product =
      std::accumulate(sizes.begin(), sizes.end(), std::uint64_t{1}, std::multiplies<>());
  if (product != places.members()) {
    return fmt::format("levels of {} are {} members, and the group has {}", fmt::join(sizes, " x "), product,
                       places.members());
  }
  if (shape.algorithms.size() > sizes.size()) {
    return fmt::format("{} algorithms for the {} levels of this group ({})", shape.algorithms.size(),
                       sizes.size(), fmt::join(sizes, " x "));
  }
  for (std::size_t i = 0; i < shape.algorithms.size(); ++i) {
    const std::string& algorithm = shape.algorithms[i];
    if (algorithm == "halving_doubling" && !std::has_single_bit(sizes[i])) {
      return fmt::format("halving_doubling on a level of {}: it needs a power of two", sizes[i]);
    }
    if (algorithm == "nvls" && (i > 0 || places.largest_host() % sizes[i] != 0 || !places.equal())) {
      return "nvls adds up in the switches of a host: it can only be the innermost level, inside one host";
    }
  }
  return {};
}

std::string hierarchy_exchange_problem(const Places& places) {
  const std::vector<std::string>& names = places.shape().algorithms;
  const auto other =
      std::find_if(names.begin(), names.end(), [](const std::string& name) { return name != "direct"; });
  if (other != names.end()) {
    return fmt::format("algorithm \"{}\": the levels of an all-to-all exchange directly (direct)", *other);
  }
  return hierarchy_problem(places);
}

Schedule hierarchy_schedule(Kind kind, const Places& places, std::uint32_t channels) {
  return kind == Kind::kAllToAll ? exchange_schedule(places, channels) : Maker(kind, places, channels).make();
}

/// Phases: the first chunk in each level, then all levels together. Units: the n-th part of the buffer.
Pattern hierarchy_pattern(Kind kind, const Places& places, std::uint32_t channels) {
  const Hierarchy hierarchy(places, usual_in(kind));
  Pattern made;
  std::vector<Edge> all;
  for (const Pass& pass : passes_of(kind, hierarchy)) {
    std::vector<Edge>& edges = made.phases.emplace_back();
    const Level& level = hierarchy.levels()[pass.level];
    const std::uint32_t piece = piece_weight(kind, hierarchy, level);
    for (std::uint32_t channel = 0; channel < channels; ++channel) {
      for (const bool gather : {false, true}) {
        if (gather ? pass.gather : pass.scatter) {
          add_edges(edges, hierarchy, pass.level, channel, piece, gather);
        }
      }
    }
    all.insert(all.end(), edges.begin(), edges.end());
  }
  made.phases.push_back(std::move(all));
  return made;
}

std::vector<SteadyState> hierarchy_steady_states(Kind kind, const Setting& setting) {
  const Hierarchy hierarchy(setting.places, usual_in(kind));
  // The first chunk, then the rest; a last chunk may be smaller, so that time has no steps in bytes.
  const std::int64_t bytes = setting.bytes.count();
  std::int64_t chunk = 1;
  std::int64_t whole = 1;
  if (bytes > kMostChunks * kChunk) {
    whole = kMostChunks;
  } else if (bytes > kChunk) {
    chunk = kChunk;
    whole = bytes;
  }
  SteadyState all;
  all.share_numerator = whole - chunk;
  all.share_denominator = whole * hierarchy.members();
  all.port_weight = 0;
  std::vector<SteadyState> states;
  for (const Pass& pass : passes_of(kind, hierarchy)) {
    const Level& level = hierarchy.levels()[pass.level];
    const std::uint32_t ways = pass.scatter && pass.gather ? 2 : 1;
    SteadyState steady;
    steady.steps = ways * hops_in(kind, level, setting.host_channels);
    steady.network_steps = level.network ? steady.steps : 0;
    steady.share_numerator = chunk;
    steady.share_denominator = all.share_denominator;
    const std::uint32_t parts = level.kind == LevelKind::kNvls ? level.size : level.size - 1;
    steady.port_weight = setting.channels * ways * parts * piece_weight(kind, hierarchy, level);
    steady.efficiency = level.kind == LevelKind::kNvls ? setting.efficiency_nvls : 1;
    all.port_weight += steady.port_weight;
    states.push_back(steady);
  }
  states.push_back(all);
  return states;
}

double hierarchy_messages(Kind kind, const Places& places, std::uint32_t channels) {
  const Hierarchy hierarchy(places, usual_in(kind));
  const double n = hierarchy.members();
  double of_member = 0;
  for (const Pass& pass : passes_of(kind, hierarchy)) {
    const Level& level = hierarchy.levels()[pass.level];
    const double ranges = kind == Kind::kAllReduce ? 1 : n / (double{1} * level.size * level.stride);
    const double sent = level.kind == LevelKind::kNvls ? level.size + 1.0 : level.size - 1.0;
    of_member += (pass.scatter && pass.gather ? 2 : 1) * sent * ranges;
  }
  return channels * n * of_member;
}

std::uint32_t hierarchy_channels(const Places& /*places*/) {
  return 1;
}

}  // namespace stepcast::collective
