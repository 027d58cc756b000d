#include <algorithm>
#include <cctype>
#include <cstddef>
#include <numeric>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "topology/fabric.hpp"

namespace stepcast::topology {
namespace {

bool is_digit(char letter) {
  return std::isdigit(static_cast<unsigned char>(letter)) != 0;
}

/// "gpu2" before "gpu10": runs of digits compare as numbers, all else letter by letter.
bool comes_before(std::string_view a, std::string_view b) {
  const auto digits = [](std::string_view text, std::size_t at) {
    std::size_t first = at;
    while (first < text.size() && text[first] == '0') {
      ++first;  // leading zeros do not count
    }
    std::size_t last = first;
    while (last < text.size() && is_digit(text[last])) {
      ++last;
    }
    return std::pair(first, last - first);
  };
  std::size_t i = 0;
  std::size_t j = 0;
  while (i < a.size() && j < b.size()) {
    if (is_digit(a[i]) && is_digit(b[j])) {
      const auto [first_a, count_a] = digits(a, i);
      const auto [first_b, count_b] = digits(b, j);
      const auto key_a = std::pair(count_a, a.substr(first_a, count_a));
      const auto key_b = std::pair(count_b, b.substr(first_b, count_b));
      if (key_a != key_b) {
        return key_a < key_b;
      }
      i = first_a + count_a;
      j = first_b + count_b;
    } else if (a[i] != b[j]) {
      return static_cast<unsigned char>(a[i]) < static_cast<unsigned char>(b[j]);
    } else {
      ++i;
      ++j;
    }
  }
  const std::pair rest(a.size() - i, b.size() - j);
  return rest.first != rest.second ? rest.first < rest.second : a < b;  // "01" and "1" are two names
}

/// Kinds in the order from GPUs outwards, hosts before the fabric.
bool node_before(const Node& a, const Node& b) {
  const auto key = [](const Node& node) { return std::tuple(node.host, node.kind, node.tier, node.index); };
  return key(a) != key(b) ? key(a) < key(b) : comes_before(a.name, b.name);
}

/// Puts the nodes that follow `from` in order, with the NICs of their GPUs; returns the new ids of all nodes.
std::vector<NodeId> order_nodes(const DraftSize& from, Topology::Draft& draft) {
  std::vector<std::size_t> order(draft.nodes.size() - from.nodes);
  std::iota(order.begin(), order.end(), from.nodes);
  std::sort(order.begin(), order.end(),
            [&draft](std::size_t a, std::size_t b) { return node_before(draft.nodes[a], draft.nodes[b]); });
  std::vector<NodeId> renamed(draft.nodes.size());
  for (std::size_t i = 0; i < draft.nodes.size(); ++i) {
    renamed[i < from.nodes ? i : order[i - from.nodes]] = NodeId(i);
  }
  std::vector<std::size_t> gpu_of(draft.nodes.size(), 0);  // place in gpu_nics, by node
  std::size_t gpus = from.gpus;
  for (std::size_t i = from.nodes; i < draft.nodes.size(); ++i) {
    gpu_of[i] = gpus;
    gpus += draft.nodes[i].kind == NodeKind::kGpu ? 1 : 0;
  }
  std::vector<Node> nodes;
  std::vector<std::vector<NodeId>> nics;
  for (const std::size_t i : order) {
    if (draft.nodes[i].kind == NodeKind::kGpu) {
      nics.push_back(std::move(draft.gpu_nics[gpu_of[i]]));
      for (NodeId& nic : nics.back()) {
        nic = renamed[nic.index()];
      }
    }
    nodes.push_back(std::move(draft.nodes[i]));
  }
  std::move(nodes.begin(), nodes.end(), draft.nodes.begin() + static_cast<std::ptrdiff_t>(from.nodes));
  std::move(nics.begin(), nics.end(), draft.gpu_nics.begin() + static_cast<std::ptrdiff_t>(from.gpus));
  return renamed;
}

}  // namespace

DraftSize size_of(const Topology::Draft& draft) {
  return {draft.nodes.size(), draft.links.size(), draft.gpu_nics.size(), draft.tiers.size()};
}

void order_draft(const DraftSize& from, Topology::Draft& draft) {
  const std::vector<NodeId> renamed = order_nodes(from, draft);
  // A cable is two links, one after the other. Tiers are numbered again, as the ordered cables come.
  std::vector<std::pair<Link, std::string>> cables;
  for (std::size_t i = from.links; i < draft.links.size(); i += 2) {
    Link link = draft.links[i];
    const auto ends = std::minmax(renamed[link.from.index()], renamed[link.to.index()]);
    std::tie(link.from, link.to) = ends;
    cables.emplace_back(link, draft.tiers[link.tier]);
  }
  std::sort(cables.begin(), cables.end(), [](const auto& a, const auto& b) {
    const auto key = [](const Link& link, const std::string& tier) {
      return std::tuple(link.from, link.to, std::string_view(tier), link.capacity, link.effective,
                        link.latency, link.cost);
    };
    return key(a.first, a.second) < key(b.first, b.second);
  });
  draft.links.resize(from.links);
  draft.tiers.resize(from.tiers);
  for (auto& [link, tier] : cables) {
    link.tier = draft.tier(tier);
    draft.add_cable(link.from, link.to, link);
  }
}

}  // namespace stepcast::topology
