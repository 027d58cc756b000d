#include <algorithm>
#include <cstdint>
#include <vector>

#include "allocation/counted_new.hpp"
#include "base/random.hpp"
#include "engine/event_queue.hpp"
#include "network/flow_network.hpp"
#include "support/catch.hpp"
#include "support/message_scenarios.hpp"
#include "support/network_driver.hpp"

// No allocation per event once everything has reached its size.

using namespace stepcast;
using namespace stepcast::support;

namespace {

/// Ranks that compute, then send to the next over shared links, then compute again: what an executor does
/// with the queue and the network, and nothing else.
class Loop {
 public:
  Loop() {
    std::vector<ResourceId> links;
    for (std::uint32_t link = 0; link < kRanks / 4; ++link) {
      links.push_back(net_.add_resource(50e9));
    }
    for (std::uint32_t rank = 0; rank < kRanks; ++rank) {
      // Four ranks share a link out, and every fourth a link in.
      shapes_.push_back(
          add_shape(net_, {over(links[rank / 4]), over(links[(rank * 7 + 3) % links.size()], 2)}));
      compute(rank);
    }
    net_.resolve(at(0));
  }

  void run(std::uint64_t events) {
    for (std::uint64_t seen = 0; seen < events;) {
      const TimePoint now = std::min(queue_.next_time(), net_.next_completion());
      done_.clear();
      net_.take_completed(now, done_);
      for (const network::Completion& completion : done_) {
        now_ = now;
        compute(static_cast<std::uint32_t>(completion.tag));
      }
      seen += done_.size();
      for (; queue_.next_time() == now; ++seen) {
        const engine::Event event = queue_.pop();
        const auto bytes = 1'000'000 + static_cast<std::int64_t>(random_.below(1'000'000));
        net_.start(shapes_[event.first], bytes, now, event.first);
      }
      net_.resolve(now);
    }
  }

 private:
  static constexpr std::uint32_t kRanks = 64;

  void compute(std::uint32_t rank) {
    const auto time = Duration::from_ps(1'000'000 + static_cast<std::int64_t>(random_.below(50'000'000)));
    queue_.schedule(now_ + time, engine::Priority::kCompute, 0, rank, rank, rank, 0);
  }

  engine::EventQueue queue_;
  network::FlowNetwork net_;
  std::vector<ShapeId> shapes_;
  std::vector<network::Completion> done_;
  RandomStream random_{1, "allocation test"};
  TimePoint now_;
};

std::uint64_t allocations_of_ring(std::int64_t iterations) {
  const test::LeafSpineRun fabric(16);
  program::Programs ring = test::ring_messages(16);
  ring.programs[0].operations[1].bytes = iterations;
  const std::uint64_t before = test::allocations();
  const replay::Timeline timeline = fabric.every_rank(ring);
  CHECK(timeline.operations == 16 * 2 * (static_cast<std::uint64_t>(iterations) + 1));
  return test::allocations() - before;
}

}  // namespace

TEST_CASE("events, transfers and their sharing allocate nothing once every list has its size") {
  Loop loop;
  loop.run(20'000);
  const std::uint64_t before = test::allocations();
  loop.run(100'000);
  CHECK(test::allocations() - before == 0);
}

TEST_CASE("a run of ten times the messages allocates as often") {
  static_cast<void>(allocations_of_ring(10));  // tables that are made once
  CHECK(allocations_of_ring(10'000) == allocations_of_ring(1'000));
}

TEST_CASE("the count of allocations counts") {
  const std::uint64_t before = test::allocations();
  const std::vector<int> list(1000);
  CHECK(test::allocations() - before >= 1);
  CHECK(list.size() == 1000);
}
