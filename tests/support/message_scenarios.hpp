#pragma once

#include <cmath>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "base/check.hpp"
#include "compute/model.hpp"
#include "placement/placement.hpp"
#include "program/program.hpp"
#include "replay/executor.hpp"
#include "routing/router.hpp"
#include "topology/cluster.hpp"

// Scenarios of many messages on one fabric, with their times in closed form: LS(N), RING(N), A2A(N).
namespace stepcast::test {

inline constexpr std::int64_t kHopPs = 1'000'000;  ///< latency of a link of LS(N)
inline constexpr std::int64_t kPsPerByte = 20;     ///< 50e9 bytes/s
inline constexpr std::int64_t kRingBuffer = std::int64_t{1} << 30;
inline constexpr std::int64_t kPairBytes = std::int64_t{1} << 20;

/// sqrt(N). REQUIRES: N is a square.
[[nodiscard]] inline std::uint32_t side_of(std::uint32_t hosts) {
  const auto side = static_cast<std::uint32_t>(std::lround(std::sqrt(static_cast<double>(hosts))));
  STEPCAST_CHECK(side * side == hosts, "{} hosts are no square", hosts);
  return side;
}

/// LS(N): sqrt(N) leaves of sqrt(N) hosts of one GPU, sqrt(N) spines, one link of 50e9 bytes/s and 1 us for
/// each host and its leaf, and each leaf and spine. Messages cost nothing but their bytes and their path.
[[nodiscard]] inline topology::Cluster leaf_spine(std::uint32_t hosts) {
  using namespace literals;
  using topology::NodeKind;
  const std::uint32_t side = side_of(hosts);
  topology::Topology::Draft draft;
  const auto cable = [&draft](const char* tier) {
    return topology::Link{
        .capacity = 400_Gbps, .effective = 400_Gbps, .latency = 1_us, .tier = draft.tier(tier)};
  };
  const topology::Link host_link = cable("host-leaf");
  const topology::Link up_link = cable("leaf-spine");
  std::vector<NodeId> spines;
  for (std::uint32_t spine = 0; spine < side; ++spine) {
    spines.push_back(draft.add_node(
        {.kind = NodeKind::kSwitch, .tier = 1, .index = spine, .name = fmt::format("spine{}", spine)}));
  }
  std::vector<NodeId> leaves;
  for (std::uint32_t leaf = 0; leaf < side; ++leaf) {
    leaves.push_back(
        draft.add_node({.kind = NodeKind::kSwitch, .index = leaf, .name = fmt::format("leaf{}", leaf)}));
    for (const NodeId spine : spines) {
      draft.add_cable(leaves.back(), spine, up_link);
    }
  }
  for (std::uint32_t host = 0; host < hosts; ++host) {
    const NodeId gpu = draft.add_node(
        {.kind = NodeKind::kGpu, .host = host, .route_key = host, .name = fmt::format("h{}.gpu0", host)});
    draft.gpu_nics.emplace_back();
    draft.add_cable(gpu, leaves[host / side], host_link);
  }
  hardware::HostKind kind;
  kind.name = "one GPU";
  kind.gpus = 1;
  kind.collective.efficiency_ll = 1;
  kind.collective.efficiency_ll128 = 1;
  kind.collective.overlap_exponent = 1;
  return {.name = fmt::format("LS({})", hosts),
          .description = "",
          .host = kind,
          .hosts = hosts,
          .topology = topology::Topology::build(std::move(draft)),
          .storage = {},
          .faults = {}};
}

/// Programs of `ranks` ranks that all run one program.
[[nodiscard]] inline program::Programs one_program(std::uint32_t ranks, program::Program program) {
  program::Programs programs;
  programs.ranks = ranks;
  programs.programs.push_back(std::move(program));
  programs.program_of.assign(ranks, 0);
  programs.slot_values.resize(ranks);
  return programs;
}

[[nodiscard]] inline program::Operation message(program::OpKind kind,
                                                std::uint32_t slot,
                                                std::uint16_t stream,
                                                std::int64_t bytes) {
  program::Operation op;
  op.kind = kind;
  op.flags = kind == program::OpKind::kSend ? program::Operation::kEager : std::uint8_t{0};
  op.stream = stream;
  op.target = slot;
  op.bytes = bytes;
  return op;
}

/// RING(N): all-reduce of `buffer` bytes in 2(N-1) steps of buffer / N bytes, rank r to r + 1. A rank
/// starts step k when its own send k-1 has left and the chunk of step k-1 has arrived.
[[nodiscard]] inline program::Programs ring_messages(std::uint32_t ranks, std::int64_t buffer = kRingBuffer) {
  using program::OpKind;
  program::Program ring;
  ring.name = "ring";
  ring.streams = {{"send", program::StreamKind::kCommunication},
                  {"receive", program::StreamKind::kCommunication}};
  ring.slots = {{"next", program::SlotKind::kPeer}, {"before", program::SlotKind::kPeer}};
  const std::int64_t chunk = buffer / ranks;
  program::Operation loop;
  loop.kind = OpKind::kRepeat;
  loop.target = 2;
  loop.bytes = 2 * std::int64_t{ranks} - 3;
  ring.operations = {message(OpKind::kSend, 0, 0, chunk), loop, message(OpKind::kRecv, 1, 1, chunk),
                     message(OpKind::kSend, 0, 0, chunk), message(OpKind::kRecv, 1, 1, chunk)};
  ring.dependencies = {{2, program::EdgeKind::kFinishToStart}};
  ring.operations[3].dependency_count = 1;
  program::Programs programs = one_program(ranks, std::move(ring));
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    programs.slot_values[rank] = {(rank + 1) % ranks, (rank + ranks - 1) % ranks};
  }
  return programs;
}

/// End of RING(N) on LS(N). The longest chain follows one chunk: 2(N-1) sends one after the other, each
/// c = buffer / N / rate on the wire and then the latency of its hop. Every link of the ring carries one
/// flow at a time, so nothing waits for bandwidth, and a send that waits for the one before waits no longer
/// than for the chunk. A turn of the ring crosses sqrt(N) leaves at 4 us and stays on one N - sqrt(N) times
/// at 2 us: 2N + 2 sqrt(N) us. Two turns less two hops of 2 us: 4N + 4 sqrt(N) - 4 us.
[[nodiscard]] inline std::int64_t ring_ps(std::uint32_t ranks, std::int64_t buffer = kRingBuffer) {
  const std::int64_t n = ranks;
  return 2 * (n - 1) * (buffer / n) * kPsPerByte + (4 * n + 4 * std::int64_t{side_of(ranks)} - 4) * kHopPs;
}

/// A2A(N): every rank sends `bytes` to every other, all at once (a stream for each send), and receives
/// them one by one.
[[nodiscard]] inline program::Programs all_to_all_messages(std::uint32_t ranks,
                                                           std::int64_t bytes = kPairBytes) {
  using program::OpKind;
  program::Program exchange;
  exchange.name = "all to all";
  exchange.streams = {{"receive", program::StreamKind::kCommunication}};
  for (std::uint32_t shift = 1; shift < ranks; ++shift) {
    // Slot shift - 1 is the rank `shift` further on: who sends to this one has slot N - shift - 1.
    exchange.slots.push_back({fmt::format("plus {}", shift), program::SlotKind::kPeer});
    exchange.streams.push_back({fmt::format("send {}", shift), program::StreamKind::kCommunication});
    exchange.operations.push_back(
        message(OpKind::kSend, shift - 1, static_cast<std::uint16_t>(shift), bytes));
    exchange.operations.push_back(message(OpKind::kRecv, ranks - shift - 1, 0, bytes));
  }
  program::Programs programs = one_program(ranks, std::move(exchange));
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    for (std::uint32_t shift = 1; shift < ranks; ++shift) {
      programs.slot_values[rank].push_back((rank + shift) % ranks);
    }
  }
  return programs;
}

/// End of A2A(N) on LS(N): a host link carries N - 1 flows each way, a leaf-spine link those of sqrt(N) hosts
/// to the sqrt(N) - 1 destinations of its spine on other leaves, N - sqrt(N): every flow gets 1/(N-1) of a
/// host link, all end together, and the last arrive 4 us later.
[[nodiscard]] inline std::int64_t all_to_all_ps(std::uint32_t ranks, std::int64_t bytes = kPairBytes) {
  return (std::int64_t{ranks} - 1) * bytes * kPsPerByte + 4 * kHopPs;
}

/// The ring of RING(N) as one all-reduce.
[[nodiscard]] inline program::Programs ring_collective(std::uint32_t ranks,
                                                       std::int64_t buffer = kRingBuffer) {
  program::Program reduce;
  reduce.name = "all-reduce";
  reduce.streams = {{"communication", program::StreamKind::kCommunication}};
  reduce.slots = {{"all", program::SlotKind::kGroup}};
  reduce.collectives.resize(1);
  reduce.collectives[0].protocol = "Simple";
  program::Operation op;
  op.kind = program::OpKind::kCollective;
  op.target = 0;
  op.detail = 0;
  op.bytes = buffer;
  reduce.operations = {op};
  program::Programs programs = one_program(ranks, std::move(reduce));
  programs.groups.push_back(program::Group::strided(0, {{1, ranks}}));
  programs.group_names.emplace_back("all");
  programs.slot_values.assign(ranks, {0});
  return programs;
}

/// Everything that a run on LS(N) needs, built once.
struct LeafSpineRun {
  explicit LeafSpineRun(std::uint32_t hosts) : cluster(leaf_spine(hosts)) {}

  /// Every rank run, every message simulated: nothing is folded and no steady state is skipped.
  [[nodiscard]] replay::Timeline every_rank(const program::Programs& programs) const {
    replay::ExecutorOptions options;
    options.fold = replay::Fold::kOff;
    options.steady_state = false;
    return execute(programs, placement::packed(cluster.topology, programs.ranks), router, *compute, options);
  }

  topology::Cluster cluster;
  routing::Router router{cluster, "dmodk"};
  std::unique_ptr<compute::Model> compute = compute::make_model("roofline");
};

}  // namespace stepcast::test
