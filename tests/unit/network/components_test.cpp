#include <bit>
#include <vector>

#include "network/flow_network.hpp"
#include "support/catch.hpp"
#include "support/network_driver.hpp"

// What is solved when something changes: the component that it belongs to, however large the rest is.

using namespace stepcast;
using namespace stepcast::support;
using network::Completion;
using network::FlowNetwork;

namespace {

/// Components of `flows` flows over one link of their own and one that they share.
struct Components {
  Components(std::uint32_t components, std::uint32_t flows) {
    for (std::uint32_t component = 0; component < components; ++component) {
      const ResourceId shared = net.add_resource(1e9);
      for (std::uint32_t flow = 0; flow < flows; ++flow) {
        const ShapeId shape = add_shape(net, {over(shared), over(net.add_resource(1e9))});
        shapes.push_back(shape);
        // Flow f of component c has c x flows + f + 1 MB more to move than none: all finish apart.
        activities.push_back(net.start(shape,
                                       1'000'000'000 + 1'000'000LL * static_cast<std::int64_t>(shapes.size()),
                                       at(0), shapes.size() - 1));
      }
    }
    net.resolve(at(0));
  }
  FlowNetwork net;
  std::vector<ShapeId> shapes;
  std::vector<ActivityId> activities;
};

}  // namespace

TEST_CASE("a completion solves what shared its links and nothing else, in a small network and a large one") {
  for (const std::uint32_t components : {1U, 10U, 1000U}) {
    Components made(components, 5);
    CHECK(made.net.solved_activities() == std::uint64_t{components} * 5);
    const std::uint64_t before = made.net.solved_activities();
    const TimePoint now = made.net.next_completion();
    std::vector<Completion> done;
    made.net.take_completed(now, done);
    made.net.resolve(now);
    REQUIRE(done.size() == 1);
    CHECK(done[0].tag == 0);  // the least work of the first component
    CHECK(made.net.solved_activities() - before == 4);
    // The four that are left share the link; everybody else keeps a fifth of theirs, to the bit.
    for (std::size_t i = 1; i < made.activities.size(); ++i) {
      const double expected = i < 5 ? 1e9 / 4 : 1e9 / 5;
      CHECK(std::bit_cast<std::uint64_t>(made.net.rate(made.activities[i])) ==
            std::bit_cast<std::uint64_t>(expected));
    }
  }
}

TEST_CASE("a change of capacity solves the component of its resource, once for all changes of a picosecond") {
  Components made(20, 5);
  const std::uint64_t before = made.net.solved_activities();
  made.net.set_capacity(ResourceId{0}, 5e8, at(1000));
  made.net.set_capacity(ResourceId{1}, 5e8, at(1000));
  made.net.resolve(at(1000));
  CHECK(made.net.solved_activities() - before == 5);
  CHECK(made.net.rate(made.activities[0]) == 1e8);
  CHECK(made.net.rate(made.activities[5]) == 2e8);
}
